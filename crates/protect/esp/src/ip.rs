//! Headers of the IP packets in a tunnel.

use bartizan_registry::Header;
use bartizan_wire::checksum;

const IPV4: usize = Header::IPV4.bytes as usize;
const IPV6: usize = Header::IPV6.bytes as usize;
/// Extension headers of IPv6 that are followed.
const EXTENSIONS: usize = 8;

/// Length and version of an IP packet whose headers are whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Headers {
    /// Bytes of the packet as its header has them.
    pub(crate) total: usize,
    pub(crate) is_v6: bool,
}

impl Headers {
    /// Reads the headers of a packet that is whole; of IPv6 with its extension headers.
    pub(crate) fn read(packet: &[u8]) -> Option<Self> {
        let (total, payload, is_v6) = match packet.first()? >> 4 {
            4 => {
                let header = packet.first_chunk::<IPV4>()?;
                let total = u16::from_be_bytes([header[2], header[3]]).into();
                (total, usize::from(header[0] & 0x0f) * 4, false)
            }
            6 => {
                let header = packet.first_chunk::<IPV6>()?;
                let behind = usize::from(u16::from_be_bytes([header[4], header[5]]));
                (IPV6 + behind, behind_extensions(packet, header[6])?, true)
            }
            _ => return None,
        };
        let least = if is_v6 { IPV6 } else { IPV4 };
        (payload >= least && total >= payload && packet.len() >= total).then_some(Self { total, is_v6 })
    }
}

/// Place of the payload of an IPv6 packet whose first header has this number.
fn behind_extensions(packet: &[u8], mut protocol: u8) -> Option<usize> {
    let mut payload = IPV6;
    for _ in 0..EXTENSIONS {
        // Hop-by-hop, destination options, routing: a length in units of eight bytes, not counting the first.
        if !matches!(protocol, 0 | 43 | 60) {
            break;
        }
        let length = (usize::from(*packet.get(payload + 1)?) + 1) * 8;
        protocol = *packet.get(payload)?;
        payload += length;
    }
    Some(payload)
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
