//! IP and UDP headers as far as ESP stands between, reads and writes them.

use std::net::IpAddr;

use bartizan_registry::Header;
use bartizan_wire::checksum;
use bartizan_wire::ip::{ESP, UDP};

const IPV4: usize = Header::IPV4.bytes as usize;
const IPV6: usize = Header::IPV6.bytes as usize;
const UDP_HEADER: usize = Header::UDP.bytes as usize;
/// Extension headers of IPv6 that are followed.
const EXTENSIONS: usize = 8;

/// The carrier of ESP packets between two hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Carrier {
    /// IP, as protocol 50.
    Ip,
    /// UDP between these ports, so that network address translation can tell associations apart (RFC 3948).
    Udp {
        /// The sender's.
        source: u16,
        /// The receiver's.
        destination: u16,
    },
}

impl Carrier {
    /// Bytes of its header.
    pub(crate) fn header(self) -> usize {
        match self {
            Self::Ip => 0,
            Self::Udp { .. } => UDP_HEADER,
        }
    }

    /// Its number in an IP header.
    pub(crate) fn protocol(self) -> u8 {
        match self {
            Self::Ip => ESP,
            Self::Udp { .. } => UDP,
        }
    }

    /// Writes its header in front of an ESP packet, behind room for it. Over IPv4 it has no
    /// checksum (RFC 3948, section 2.1).
    pub(crate) fn write(self, datagram: &mut [u8], between: (IpAddr, IpAddr)) {
        let Self::Udp { source, destination } = self else {
            return;
        };
        let length = datagram.len() as u16;
        datagram[..2].copy_from_slice(&source.to_be_bytes());
        datagram[2..4].copy_from_slice(&destination.to_be_bytes());
        datagram[4..6].copy_from_slice(&length.to_be_bytes());
        datagram[6..8].fill(0);
        if between.0.is_ipv6() {
            let sum = checksum::over_addresses(between.0, between.1, UDP, datagram);
            datagram[6..8].copy_from_slice(&sum.to_be_bytes());
        }
    }
}

/// Places of the headers of an IP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Headers {
    /// Bytes of the packet as its header has them.
    pub(crate) total: usize,
    /// End of the headers and beginning of their payload.
    pub(crate) payload: usize,
    /// Place of the payload's protocol number, and the number.
    pub(crate) protocol_at: usize,
    pub(crate) protocol: u8,
    /// True if it is a part of a packet.
    pub(crate) is_fragment: bool,
    pub(crate) is_v6: bool,
}

impl Headers {
    /// Reads the headers of a packet that is whole; of IPv6 with the extension headers in front of
    /// ESP (RFC 4303, section 3.1.1).
    pub(crate) fn read(packet: &[u8]) -> Option<Self> {
        let read = match packet.first()? >> 4 {
            4 => {
                let header = packet.first_chunk::<IPV4>()?;
                let length = usize::from(header[0] & 0x0f) * 4;
                Self {
                    total: u16::from_be_bytes([header[2], header[3]]).into(),
                    payload: length,
                    protocol_at: 9,
                    protocol: header[9],
                    // More fragments, or an offset.
                    is_fragment: u16::from_be_bytes([header[6], header[7]]) & 0x3fff != 0,
                    is_v6: false,
                }
            }
            6 => Self::read_v6(packet)?,
            _ => return None,
        };
        let least = if read.is_v6 { IPV6 } else { IPV4 };
        (read.payload >= least && read.total >= read.payload && packet.len() >= read.total).then_some(read)
    }

    fn read_v6(packet: &[u8]) -> Option<Self> {
        let header = packet.first_chunk::<IPV6>()?;
        let mut read = Self {
            total: IPV6 + usize::from(u16::from_be_bytes([header[4], header[5]])),
            payload: IPV6,
            protocol_at: 6,
            protocol: header[6],
            is_fragment: false,
            is_v6: true,
        };
        for _ in 0..EXTENSIONS {
            // Hop-by-hop, destination options, routing: a length in units of eight bytes, not counting the first.
            let length = match read.protocol {
                0 | 43 | 60 => (usize::from(*packet.get(read.payload + 1)?) + 1) * 8,
                // A fragment header.
                44 => {
                    read.is_fragment = true;
                    break;
                }
                _ => break,
            };
            read.protocol = *packet.get(read.payload)?;
            read.protocol_at = read.payload;
            read.payload += length;
        }
        Some(read)
    }

    /// Sender and receiver.
    pub(crate) fn addresses(self, packet: &[u8]) -> Option<(IpAddr, IpAddr)> {
        Some(if self.is_v6 {
            let address = |at: usize| packet.get(at..)?.first_chunk::<16>().map(|bytes| IpAddr::from(*bytes));
            (address(8)?, address(24)?)
        } else {
            let address = |at: usize| packet.get(at..)?.first_chunk::<4>().map(|bytes| IpAddr::from(*bytes));
            (address(12)?, address(16)?)
        })
    }

    /// Gives a packet of which only protocol and length have changed both of them, and the checksum that follows.
    pub(crate) fn rewrite(self, packet: &mut [u8], protocol: u8) {
        packet[self.protocol_at] = protocol;
        let total = packet.len();
        if self.is_v6 {
            packet[4..6].copy_from_slice(&((total - IPV6) as u16).to_be_bytes());
        } else {
            packet[2..4].copy_from_slice(&(total as u16).to_be_bytes());
            write_checksum(&mut packet[..self.payload]);
        }
    }
}

/// Writes the checksum of an IPv4 header.
pub(crate) fn write_checksum(header: &mut [u8]) {
    header[10..12].fill(0);
    let sum = checksum::internet(header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
}

/// DSCP and ECN of an IP packet with a whole header.
pub(crate) fn traffic_class(packet: &[u8]) -> u8 {
    match packet[0] >> 4 {
        4 => packet[1],
        _ => packet[0] << 4 | packet[1] >> 4,
    }
}

/// Changes them.
pub(crate) fn set_traffic_class(packet: &mut [u8], class: u8) {
    if packet[0] >> 4 == 4 {
        packet[1] = class;
        let header = usize::from(packet[0] & 0x0f) * 4;
        write_checksum(&mut packet[..header]);
    } else {
        packet[0] = packet[0] & 0xf0 | class >> 4;
        packet[1] = packet[1] & 0x0f | class << 4;
    }
}

/// Writes an outer header, in front of `packet.len()` bytes of which it is the first `length`.
pub(crate) fn write_outer(
    packet: &mut [u8],
    between: (IpAddr, IpAddr),
    protocol: u8,
    (class, hop_limit): (u8, u8),
    (identification, dont_fragment): (u16, bool),
) {
    let total = packet.len();
    match between {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let header = &mut packet[..IPV4];
            header[..2].copy_from_slice(&[0x45, class]);
            header[2..4].copy_from_slice(&(total as u16).to_be_bytes());
            header[4..6].copy_from_slice(&identification.to_be_bytes());
            let flags: u16 = if dont_fragment { 0x4000 } else { 0 };
            header[6..8].copy_from_slice(&flags.to_be_bytes());
            header[8..10].copy_from_slice(&[hop_limit, protocol]);
            header[12..16].copy_from_slice(&source.octets());
            header[16..20].copy_from_slice(&destination.octets());
            write_checksum(header);
        }
        (source, destination) => {
            let header = &mut packet[..IPV6];
            header[..4].copy_from_slice(&[0x60 | class >> 4, class << 4, 0, 0]);
            header[4..6].copy_from_slice(&((total - IPV6) as u16).to_be_bytes());
            header[6..8].copy_from_slice(&[protocol, hop_limit]);
            let octets = |address: IpAddr| match address {
                IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
                IpAddr::V6(address) => address.octets(),
            };
            header[8..24].copy_from_slice(&octets(source));
            header[24..40].copy_from_slice(&octets(destination));
        }
    }
}

/// Bytes of an outer header between these addresses.
pub(crate) fn outer(between: (IpAddr, IpAddr)) -> usize {
    if between.0.is_ipv4() && between.1.is_ipv4() {
        IPV4
    } else {
        IPV6
    }
}
