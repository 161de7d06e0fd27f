//! What UDP carries on the interfaces of a mobile network beside IKE and ESP: GTP-U, PFCP and GTPv2-C, told by port and
//! header, and QUIC, told by its long header. Counted, never stored.

mod message;

use std::net::SocketAddr;

pub use message::Messages;

use bartizan_registry::{QUIC_VERSIONS, UDP_APPLICATIONS};

use crate::udp::Udp;
use crate::{Moment, Side};

/// A protocol over UDP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DatagramProtocol {
    /// GTP-U (TS 29.281): user packets in tunnels.
    GtpU,
    /// PFCP (TS 29.244): how user-plane functions are controlled.
    Pfcp,
    /// GTPv2-C (TS 29.274).
    GtpC,
    /// QUIC (RFC 9000).
    Quic,
}

impl DatagramProtocol {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::GtpU => "GTP-U",
            Self::Pfcp => "PFCP",
            Self::GtpC => "GTPv2-C",
            Self::Quic => "QUIC",
        }
    }

    /// The protocol of a datagram on a port that it is known by, if its header is one of it.
    fn by_port(udp: &Udp<'_>) -> Option<Self> {
        let ports = [udp.destination_port, udp.source_port];
        let known = ports
            .into_iter()
            .find_map(|port| UDP_APPLICATIONS.iter().find(|known| known.port == port))?;
        let protocol = [Self::GtpU, Self::Pfcp, Self::GtpC]
            .into_iter()
            .find(|protocol| protocol.name() == known.protocol)?;
        protocol.is_header(udp).then_some(protocol)
    }

    /// Whether a datagram begins with a header of this protocol: version, and a length that fits.
    fn is_header(self, udp: &Udp<'_>) -> bool {
        let Some(&[first, kind, high, low]) = udp.payload.first_chunk::<4>() else {
            return false;
        };
        let length = usize::from(u16::from_be_bytes([high, low]));
        let sent = udp.payload.len() + udp.missing;
        // The message's length counts from behind its first eight (GTP-U) or four octets.
        match self {
            // Version 1, protocol type GTP (TS 29.281, section 5.1).
            Self::GtpU => first & 0xf0 == 0x30 && length + 8 == sent,
            // Version 1; two messages may follow each other where bit 3 says so (TS 29.244, section 7.2.2.2).
            Self::Pfcp => first & 0xe0 == 0x20 && kind != 0 && fits(first & 0x04 != 0, length + 4, sent),
            // Version 2, and piggybacking (TS 29.274, section 5.1).
            Self::GtpC => first & 0xe0 == 0x40 && kind != 0 && fits(first & 0x10 != 0, length + 4, sent),
            Self::Quic => is_long_header(udp.payload),
        }
    }
}

/// Whether a message takes the whole datagram, or leaves room for the one that follows it.
fn fits(another_follows: bool, message: usize, sent: usize) -> bool {
    message == sent || (another_follows && message < sent)
}

/// A long header of a version that is known (RFC 8999, section 5.1), with connection identifiers of at most 20 bytes.
fn is_long_header(payload: &[u8]) -> bool {
    let Some(&[first, a, b, c, d, length]) = payload.first_chunk::<6>() else {
        return false;
    };
    let known = QUIC_VERSIONS.contains(&u32::from_be_bytes([a, b, c, d]));
    first & 0xc0 == 0xc0 && known && length <= 20 && payload.len() > 6 + usize::from(length)
}

/// The protocol of a datagram; of QUIC only packets with a long header show it.
#[must_use]
pub fn recognise(udp: &Udp<'_>) -> Option<DatagramProtocol> {
    DatagramProtocol::by_port(udp).or_else(|| is_long_header(udp.payload).then_some(DatagramProtocol::Quic))
}

/// One direction's datagrams.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DatagramsSent {
    /// Datagrams.
    pub packets: u64,
    /// Bytes of their payloads.
    pub bytes: u64,
}

/// Everything of one protocol between two ends: of GTP-U, PFCP and GTPv2-C between two hosts, of QUIC between two sockets.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Datagrams {
    /// Its place in the order of first packets, from 1, among everything an observer gives.
    pub number: u64,
    /// What it is.
    pub protocol: DatagramProtocol,
    /// The end that sent first.
    pub client: SocketAddr,
    /// The other end.
    pub server: SocketAddr,
    /// First packet.
    pub first: Moment,
    /// Last packet.
    pub last: Moment,
    /// What the client sent.
    pub from_client: DatagramsSent,
    /// What the server sent.
    pub from_server: DatagramsSent,
    /// Of GTP-U, PFCP and GTPv2-C the messages by type and by whom they are for.
    pub messages: Messages,
    /// Of GTP-U the messages that carry a user's packet (G-PDU).
    pub user_packets: u64,
    /// Of these, those in which an IP packet stands in clear.
    pub user_packets_in_clear: u64,
    /// The first of these.
    pub first_in_clear: Option<Moment>,
    /// Of PFCP the end that establishes sessions: the control plane's.
    pub controlled_by: Option<Side>,
}

impl Datagrams {
    pub(crate) fn new(
        number: u64,
        protocol: DatagramProtocol,
        source: SocketAddr,
        destination: SocketAddr,
        at: Moment,
    ) -> Self {
        Self {
            number,
            protocol,
            client: source,
            server: destination,
            first: at,
            last: at,
            from_client: DatagramsSent::default(),
            from_server: DatagramsSent::default(),
            messages: Messages::default(),
            user_packets: 0,
            user_packets_in_clear: 0,
            first_in_clear: None,
            controlled_by: None,
        }
    }

    /// Takes a datagram that one of the two ends sent.
    pub(crate) fn datagram(&mut self, source: SocketAddr, udp: &Udp<'_>, at: Moment) {
        let from_client =
            source.ip() == self.client.ip() && (self.protocol != DatagramProtocol::Quic || source == self.client);
        let (side, sent) = if from_client {
            (Side::Client, &mut self.from_client)
        } else {
            (Side::Server, &mut self.from_server)
        };
        sent.packets += 1;
        sent.bytes += (udp.payload.len() + udp.missing) as u64;
        self.last = at;
        for header in message::headers(self.protocol, udp.payload) {
            self.messages.take(header, side);
            if self.protocol == DatagramProtocol::Pfcp {
                self.controls(header.kind, side);
            }
        }
        if self.protocol == DatagramProtocol::GtpU
            && let Some(carried) = carried(udp.payload)
        {
            self.user_packets += 1;
            if is_ip(carried, udp.missing) {
                self.user_packets_in_clear += 1;
                self.first_in_clear.get_or_insert(at);
            }
        }
    }

    /// Who establishes sessions is the control plane.
    fn controls(&mut self, kind: u8, side: Side) {
        let other = match side {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        };
        match kind {
            // Session Establishment Request and its response (TS 29.244, table 7.3-1).
            50 => self.controlled_by = Some(side),
            51 => self.controlled_by = Some(other),
            _ => {}
        }
    }
}

/// What a G-PDU carries, behind its header and extension headers (TS 29.281, sections 5.1 and 5.2).
fn carried(message: &[u8]) -> Option<&[u8]> {
    const G_PDU: u8 = 255;
    const EXTENSIONS: usize = 8;
    let (header, mut rest) = message.split_first_chunk::<8>()?;
    if header[1] != G_PDU {
        return None;
    }
    if header[0] & 0x07 != 0 {
        let (optional, behind) = rest.split_first_chunk::<4>()?;
        rest = behind;
        let mut next = if header[0] & 0x04 != 0 { optional[3] } else { 0 };
        for _ in 0..EXTENSIONS {
            if next == 0 {
                break;
            }
            // Its length in units of four octets; its last octet is the type of the next.
            let length = usize::from(*rest.first()?) * 4;
            next = *rest.get(length.checked_sub(1)?)?;
            rest = &rest[length..];
        }
    }
    Some(rest)
}

/// Whether bytes are an IP packet, of which `missing` more were sent.
fn is_ip(bytes: &[u8], missing: usize) -> bool {
    let Some(header) = bytes.first_chunk::<20>() else {
        return false;
    };
    let room = bytes.len() + missing;
    match header[0] >> 4 {
        4 => header[0] & 0x0f >= 5 && usize::from(u16::from_be_bytes([header[2], header[3]])) == room,
        6 => usize::from(u16::from_be_bytes([header[4], header[5]])) + 40 == room,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
