//! From a captured frame to the packet in it.

use crate::decapsulation::{Carried, Payload, reach};

/// Link type of a captured frame: a `LINKTYPE_` value of draft-ietf-opsawg-pcaplinktype.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkType(pub u16);

impl LinkType {
    /// BSD loopback: address family in the capturing host's byte order.
    pub const NULL: Self = Self(0);
    /// Ethernet.
    pub const ETHERNET: Self = Self(1);
    /// PPP.
    pub const PPP: Self = Self(9);
    /// PPP, or Cisco's HDLC, with address and control.
    pub const PPP_HDLC: Self = Self(50);
    /// PPP over Ethernet, from its header on.
    pub const PPP_ETHER: Self = Self(51);
    /// IP without a link header.
    pub const RAW: Self = Self(101);
    /// Cisco's HDLC.
    pub const C_HDLC: Self = Self(104);
    /// OpenBSD loopback: address family in network byte order.
    pub const LOOP: Self = Self(108);
    /// Linux "cooked" capture.
    pub const LINUX_SLL: Self = Self(113);
    /// PPP behind an octet that tells the direction.
    pub const PPP_WITH_DIRECTION: Self = Self(204);
    /// MPLS.
    pub const MPLS: Self = Self(219);
    /// IPv4 without a link header.
    pub const IPV4: Self = Self(228);
    /// IPv6 without a link header.
    pub const IPV6: Self = Self(229);
    /// Linux netfilter log.
    pub const NFLOG: Self = Self(239);
    /// Linux "cooked" capture, version 2.
    pub const LINUX_SLL2: Self = Self(276);

    /// `LINKTYPE_RAW` as some systems' own `DLT_RAW` values leak it into files.
    const DLT_RAW: [Self; 2] = [Self(12), Self(14)];
}

/// Payload of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network<'a> {
    /// An IPv4 or IPv6 packet; its first four bits say which.
    Ip(&'a [u8]),
    /// Something else.
    Other,
    /// The link type is not read.
    UnknownLink,
    /// The frame is shorter than its headers.
    Short,
}

/// EtherType of a MACsec frame (IEEE 802.1AE).
pub const ETHERTYPE_MACSEC: u16 = 0x88e5;
const PPPOE_SESSION: u16 = 0x8864;
const MPLS_UNICAST: u16 = 0x8847;

/// Reads the link header of `frame`, with all tags and labels behind it.
pub fn network(link: LinkType, frame: &[u8]) -> Network<'_> {
    match carried(link, frame) {
        Frame::UnknownLink => Network::UnknownLink,
        Frame::Short => Network::Short,
        Frame::Carries(carried) => match reach(carried, &mut Vec::new()) {
            Payload::Ip(packet) => Network::Ip(packet),
            Payload::Other(..) => Network::Other,
            Payload::Short => Network::Short,
        },
    }
}

/// Payload of a link header.
pub(crate) enum Frame<'a> {
    Carries(Carried<'a>),
    /// The link type is not read.
    UnknownLink,
    /// It ends before its header does.
    Short,
}

/// Reads a link's header; none where the frame ends before it does.
type Read = fn(&[u8]) -> Option<Carried<'_>>;

/// Link types that are read, the most frequent first, by name.
static READERS: &[(LinkType, &str, Read)] = &[
    (LinkType::ETHERNET, "Ethernet", |frame| Some(Carried::Ethernet(frame))),
    (LinkType::LINUX_SLL2, "Linux cooked v2", |frame| cooked(frame, 20, 0)),
    (LinkType::LINUX_SLL, "Linux cooked v1", |frame| cooked(frame, 16, 14)),
    (LinkType::RAW, "raw IP", ip),
    (LinkType::IPV4, "raw IPv4", ip),
    (LinkType::IPV6, "raw IPv6", ip),
    (LinkType::DLT_RAW[0], "raw IP", ip),
    (LinkType::DLT_RAW[1], "raw IP", ip),
    (LinkType::NULL, "BSD loopback", loopback),
    (LinkType::LOOP, "OpenBSD loopback", loopback),
    (LinkType::PPP, "PPP", |frame| Some(Carried::Ppp(frame))),
    (LinkType::PPP_WITH_DIRECTION, "PPP with direction", |frame| {
        frame.get(1..).map(Carried::Ppp)
    }),
    (LinkType::PPP_HDLC, "PPP in HDLC", hdlc),
    (LinkType::C_HDLC, "Cisco HDLC", hdlc),
    (LinkType::PPP_ETHER, "PPPoE", |frame| {
        Some(Carried::Typed(PPPOE_SESSION, frame))
    }),
    (LinkType::MPLS, "MPLS", |frame| {
        Some(Carried::Typed(MPLS_UNICAST, frame))
    }),
    (LinkType::NFLOG, "netfilter log", netfilter),
];

/// The link types that are read, by name.
pub fn link_types() -> impl Iterator<Item = (LinkType, &'static str)> {
    READERS.iter().map(|(link, name, _)| (*link, *name))
}

/// Reads the link header of `frame` alone.
pub(crate) fn carried(link: LinkType, frame: &[u8]) -> Frame<'_> {
    match READERS.iter().find(|(known, ..)| *known == link) {
        Some((_, _, read)) => read(frame).map_or(Frame::Short, Frame::Carries),
        None => Frame::UnknownLink,
    }
}

fn ip(frame: &[u8]) -> Option<Carried<'_>> {
    Some(Carried::Ip(frame))
}

/// A header of so many bytes with the EtherType at some place in it.
fn cooked(frame: &[u8], header: usize, kind: usize) -> Option<Carried<'_>> {
    let (header, rest) = frame.split_at_checked(header)?;
    let kind = u16::from_be_bytes(*header.get(kind..)?.first_chunk()?);
    Some(match kind {
        // Frames of Ethernet without an EtherType: LLC (linux/if_ether.h).
        0x0004 => Carried::Llc(rest),
        kind => Carried::Typed(kind, rest),
    })
}

fn loopback(frame: &[u8]) -> Option<Carried<'_>> {
    let (family, rest) = frame.split_first_chunk::<4>()?;
    // Address families are small numbers, so one byte of the four tells in either byte order. IPv6 is 10, 24, 28 or 30
    // by system.
    let small = family.iter().fold(0, |sum, byte| sum | byte);
    Some(match small {
        2 | 10 | 24 | 28 | 30 => Carried::Ip(rest),
        _ => Carried::Typed(0, rest),
    })
}

/// PPP with address and control, or Cisco's HDLC: an address of its own, a zero, an EtherType.
fn hdlc(frame: &[u8]) -> Option<Carried<'_>> {
    match *frame {
        [0x0f | 0x8f, 0, high, low, ..] => Some(Carried::Typed(u16::from_be_bytes([high, low]), frame.get(4..)?)),
        [] => None,
        _ => Some(Carried::Ppp(frame)),
    }
}

/// A packet in a log of netfilter: attributes, each behind its length and type in the byte order of the host.
fn netfilter(frame: &[u8]) -> Option<Carried<'_>> {
    const ATTRIBUTES: usize = 32;
    const PAYLOAD: u16 = 9;
    let mut rest = frame.get(4..)?;
    for _ in 0..ATTRIBUTES {
        let header = rest.first_chunk::<4>()?;
        let kinds = [u16::from_le_bytes, u16::from_be_bytes];
        // Types are small: the byte order in which this one is.
        let read = kinds[usize::from(u16::from_le_bytes([header[2], header[3]]) > 0xff)];
        let (length, kind) = (usize::from(read([header[0], header[1]])), read([header[2], header[3]]));
        if kind == PAYLOAD {
            return Some(Carried::Ip(rest.get(4..length.min(rest.len()))?));
        }
        rest = rest.get(length.max(4).next_multiple_of(4)..)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::FrameProtocol;

    fn ethernet_frame(types: &[u16], payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![0; 12];
        for (index, kind) in types.iter().enumerate() {
            if index > 0 {
                frame.extend([0, 7]);
            }
            frame.extend(kind.to_be_bytes());
        }
        frame.extend(payload);
        frame
    }

    #[test]
    fn two_vlan_tags_are_followed_to_the_packet() {
        let frame = ethernet_frame(&[0x88a8, 0x8100, 0x0800], b"packet");
        assert_eq!(network(LinkType::ETHERNET, &frame), Network::Ip(b"packet"));
    }

    #[test]
    fn endless_vlan_tags_end() {
        let frame = ethernet_frame(&[0x8100; 600], b"");
        assert_eq!(network(LinkType::ETHERNET, &frame), Network::Other);
    }

    #[test]
    fn macsec_is_named_by_its_ethertype() {
        // Encrypted and changed (IEEE 802.1AE, clause 9.5).
        let frame = ethernet_frame(&[ETHERTYPE_MACSEC], b"\x0c\x00sealed");
        let mut layers = Vec::new();
        let payload = reach(Carried::Ethernet(&frame), &mut layers);
        assert!(matches!(
            payload,
            Payload::Other(FrameProtocol::Type(ETHERTYPE_MACSEC), Some(_), _)
        ));
    }

    #[test]
    fn loopback_family_is_read_in_both_byte_orders() {
        assert_eq!(network(LinkType::NULL, &[2, 0, 0, 0, 0x45]), Network::Ip(&[0x45]));
        assert_eq!(network(LinkType::LOOP, &[0, 0, 0, 24, 0x60]), Network::Ip(&[0x60]));
    }

    #[test]
    fn cooked_captures_carry_their_ethertype_at_either_end() {
        let mut cooked = [0; 16];
        cooked[14] = 0x08;
        assert_eq!(
            network(LinkType::LINUX_SLL, &[&cooked[..], b"packet"].concat()),
            Network::Ip(b"packet")
        );
        let mut cooked = [0; 20];
        cooked[..2].copy_from_slice(&[0x86, 0xdd]);
        assert_eq!(
            network(LinkType::LINUX_SLL2, &[&cooked[..], b"packet"].concat()),
            Network::Ip(b"packet")
        );
    }

    #[test]
    fn a_frame_shorter_than_its_header_is_short() {
        for link in [
            LinkType::ETHERNET,
            LinkType::LINUX_SLL,
            LinkType::LINUX_SLL2,
            LinkType::NULL,
        ] {
            assert_eq!(network(link, &[0; 3]), Network::Short);
        }
    }
}
