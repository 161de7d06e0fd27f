//! Protocols of packets without a connection.

use std::borrow::Cow;

use bartizan_registry::UDP_APPLICATIONS;

use super::named::{Named, named};

use crate::frames::FrameProtocol;
use crate::path::Encapsulation;
use crate::udp::Udp;
use crate::{dtls, quic};

/// A protocol whose packets belong to no connection, or to none that is read.
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
    /// DTLS (RFC 9147).
    Dtls,
    /// A protocol over UDP, or in frames, that is named and not read.
    Named(Named),
    /// EAP over LANs (IEEE 802.1X), without MKA.
    Eapol,
    /// EAP in RADIUS (RFC 3579): what a port passes on between its peer and the server.
    EapInRadius,
    /// MACsec Key Agreement (IEEE 802.1X).
    Mka,
    /// MACsec (IEEE 802.1AE) that encrypts.
    MacSec,
    /// UDP that nothing recognises.
    Udp,
    /// Another IP protocol, by its number.
    Ip(u8),
    /// IP packets of which the header of this protocol was not captured, or cannot be right.
    Unreadable(u8),
    /// Parts of IP packets of this protocol that were not put together: the rest did not come, or contradicted them.
    Fragments(u8),
    /// Bytes of IP packets, or behind them in their frames, to which no header and no length leads.
    Surplus,
    /// Frames that carry no IP.
    Frame(FrameProtocol),
    /// A tunnel, what is in it is not read.
    Tunnel(Encapsulation),
}

impl DatagramProtocol {
    /// Its name.
    pub fn name(self) -> Cow<'static, str> {
        match self {
            Self::GtpU => "GTP-U".into(),
            Self::Pfcp => "PFCP".into(),
            Self::GtpC => "GTPv2-C".into(),
            Self::Quic => "QUIC".into(),
            Self::Dtls => "DTLS".into(),
            Self::Named(named) => named.name().into(),
            Self::Eapol => "EAPOL".into(),
            Self::EapInRadius => "EAP in RADIUS".into(),
            Self::Mka => "MKA".into(),
            Self::MacSec => "MACsec".into(),
            Self::Udp => "UDP".into(),
            Self::Ip(number) => ip_name(number),
            Self::Unreadable(number) => format!("{} without a whole header", ip_name(number)).into(),
            Self::Fragments(number) => format!("{} fragments", ip_name(number)).into(),
            Self::Surplus => "bytes that no length covers".into(),
            Self::Frame(protocol) => protocol.name(),
            Self::Tunnel(encapsulation) => encapsulation.name().into(),
        }
    }

    /// IP protocols that are named where they are not read.
    pub fn named_ip() -> impl Iterator<Item = Self> {
        IP_PROTOCOLS.iter().map(|(number, _)| Self::Ip(*number))
    }

    /// The port that it is looked for on, as the registry has it; none where it is recognised by structure alone.
    pub fn port(self) -> Option<u16> {
        let known = UDP_APPLICATIONS.iter().find(|known| self.name() == known.protocol)?;
        Some(known.port)
    }

    /// Returns true if its ends are sockets. Other protocols have a fixed port, or none.
    pub(crate) fn has_ports(self) -> bool {
        matches!(self, Self::Quic | Self::Dtls | Self::Udp)
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

    /// Returns true if a datagram begins with a header of this protocol: version, and a length that
    /// fits.
    fn is_header(self, udp: &Udp<'_>) -> bool {
        let Some(&[first, kind, high, low]) = udp.payload.first_chunk::<4>() else {
            return false;
        };
        let length = usize::from(u16::from_be_bytes([high, low]));
        let sent = udp.payload.len() + udp.missing;
        // The message's length counts from behind its first eight (GTP-U) or four octets.
        match self {
            // Version 1, protocol type GTP (TS 29.281, section 5.1).
            Self::GtpU => {
                first & 0xf0 == 0x30 && (length + 8 == sent || is_padded(udp.payload, kind, length + 8, sent))
            }
            Self::Pfcp => fills(udp.payload, sent, pfcp),
            Self::GtpC => fills(udp.payload, sent, gtp_c),
            _ => false,
        }
    }
}

/// IP protocols by name (IANA).
const IP_PROTOCOLS: &[(u8, &str)] = &[
    (0, "IPv6 hop-by-hop options"),
    (1, "ICMP"),
    (4, "IP in IP"),
    (6, "TCP"),
    (8, "EGP"),
    (9, "IGP"),
    (17, "UDP"),
    (33, "DCCP"),
    (41, "IPv6 in IP"),
    (46, "RSVP"),
    (47, "GRE"),
    (50, "ESP"),
    (51, "AH"),
    (58, "ICMPv6"),
    (59, "IPv6 without a next header"),
    (60, "IPv6 destination options"),
    (88, "EIGRP"),
    (89, "OSPF"),
    (97, "EtherIP"),
    (103, "PIM"),
    (108, "IPComp"),
    (112, "VRRP"),
    (115, "L2TP"),
    (132, "SCTP"),
    (136, "UDP-Lite"),
    (137, "MPLS in IP"),
];

fn ip_name(number: u8) -> Cow<'static, str> {
    match IP_PROTOCOLS.iter().find(|(known, _)| *known == number) {
        Some((_, name)) => (*name).into(),
        None => format!("IP protocol {number}").into(),
    }
}

/// True where a message of GTP-U that is known by its type has a few bytes behind it: padding of a
/// sender or of a link.
fn is_padded(payload: &[u8], kind: u8, message: usize, sent: usize) -> bool {
    /// Bytes of padding at most: those of the least frame of Ethernet.
    const PADDING: usize = 46;
    let known = matches!(kind, 1 | 2 | 26 | 31 | 254 | 255);
    known && payload[0] & 0x08 == 0 && (message..=message + PADDING).contains(&sent)
}

/// Bytes of a message, and whether another follows it in the datagram.
type Message = Option<(usize, bool)>;

/// A message of PFCP, version 1 (TS 29.244, sections 7.2.2.1 and 7.2.2.4): those of nodes have no
/// session, and the others have one.
fn pfcp([first, kind, high, low]: [u8; 4]) -> Message {
    let of_session = first & 0x01 != 0;
    let kinds = if of_session { 50..=99 } else { 1..=49 };
    let least = if of_session { 12 } else { 4 };
    let length = usize::from(u16::from_be_bytes([high, low]));
    (first & 0xf8 == 0x20 && kinds.contains(&kind) && length >= least).then_some((length + 4, first & 0x04 != 0))
}

/// A message of GTPv2-C, with a tunnel or without one (TS 29.274, section 5.1).
fn gtp_c([first, kind, high, low]: [u8; 4]) -> Message {
    let least = if first & 0x08 != 0 { 8 } else { 4 };
    let length = usize::from(u16::from_be_bytes([high, low]));
    (first & 0xe3 == 0x40 && kind != 0 && length >= least).then_some((length + 4, first & 0x10 != 0))
}

/// Returns true if messages fill a datagram, as far as it was captured.
fn fills(mut payload: &[u8], mut sent: usize, message: fn([u8; 4]) -> Message) -> bool {
    /// Messages that are looked at.
    const MOST: usize = 16;
    for _ in 0..MOST {
        let Some(&header) = payload.first_chunk() else {
            return payload.len() < sent;
        };
        match message(header) {
            Some((length, _)) if length == sent => return true,
            Some((length, true)) if length < sent => {
                payload = payload.get(length..).unwrap_or_default();
                sent -= length;
            }
            _ => return false,
        }
    }
    true
}

/// The protocol of a datagram; of QUIC only packets with a long header show it.
pub fn recognise(udp: &Udp<'_>) -> Option<DatagramProtocol> {
    if let Some(known) = DatagramProtocol::by_port(udp) {
        return Some(known);
    }
    if !quic::versions(udp.payload).is_empty() {
        return Some(DatagramProtocol::Quic);
    }
    if dtls::begins(udp) {
        return Some(DatagramProtocol::Dtls);
    }
    named(udp).map(DatagramProtocol::Named)
}

/// EtherTypes of eCPRI and of PTP (IEEE 1588, annex E).
pub const ETHERTYPE_ECPRI: u16 = 0xaefe;
/// See [`ETHERTYPE_ECPRI`].
pub const ETHERTYPE_PTP: u16 = 0x88f7;

/// The protocol of a frame's payload that is named by its EtherType, if it begins with a header of it.
pub(crate) fn of_frame(kind: u16, payload: &[u8]) -> Option<DatagramProtocol> {
    let &[first, second, high, low] = payload.first_chunk::<4>()?;
    let length = u16::from_be_bytes([high, low]);
    /// The header that all messages of PTP have (IEEE 1588, clause 13.3).
    const PTP_HEADER: u16 = 34;
    match kind {
        // Revision 1, reserved bits, and something behind the header.
        ETHERTYPE_ECPRI if first & 0xfe == 0x10 && length > 0 => Some(DatagramProtocol::Named(Named::Ecpri)),
        ETHERTYPE_PTP if second & 0x0f == 2 && length >= PTP_HEADER => Some(DatagramProtocol::Named(Named::Ptp)),
        _ => None,
    }
}
