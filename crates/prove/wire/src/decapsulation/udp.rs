//! Tunnels in UDP, by port and header.

use super::frame::Carried;
use super::tunnel::{Tunnel, l2tp_session};
use super::{IPV4, IPV6, MPLS_UNICAST, NSH, TRANSPARENT_ETHERNET, looks_like_ip};
use crate::datagrams;
use crate::path::{Encapsulation, Layer};
use crate::udp::{self, Udp};

/// Ports of IANA's, and that of VXLAN before it had one.
pub(super) mod port {
    pub(in crate::decapsulation) const VXLAN: u16 = 4789;
    pub(in crate::decapsulation) const VXLAN_OF_LINUX: u16 = 8472;
    pub(in crate::decapsulation) const VXLAN_GPE: u16 = 4790;
    pub(in crate::decapsulation) const GENEVE: u16 = 6081;
    pub(in crate::decapsulation) const GUE: u16 = 6080;
    pub(in crate::decapsulation) const MPLS: u16 = 6635;
    pub(in crate::decapsulation) const L2TP: u16 = 1701;
    pub(in crate::decapsulation) const LISP: u16 = 4341;
    pub(in crate::decapsulation) const TEREDO: u16 = 3544;
    pub(in crate::decapsulation) const TZSP: u16 = 37008;
    pub(in crate::decapsulation) const GTP_U: u16 = 2152;
}

/// Opens the tunnel that a datagram is of.
pub(super) fn open(bytes: &[u8], missing: usize) -> Option<Tunnel<'_>> {
    let udp = udp::udp(bytes, missing)?;
    // Most tunnels choose the sender's port by the conversation inside; L2TP, Teredo and GTP-U may
    // answer from anywhere.
    let carried = match udp.destination_port {
        port::VXLAN | port::VXLAN_OF_LINUX => vxlan(udp.payload),
        port::VXLAN_GPE => vxlan_gpe(udp.payload),
        port::GENEVE => geneve(udp.payload),
        port::GUE => gue(udp.payload),
        port::MPLS => Some(Tunnel::new(
            Layer::new(Encapsulation::MplsInIp, None),
            Carried::Typed(MPLS_UNICAST, udp.payload),
        )),
        port::LISP => lisp(udp.payload),
        port::TZSP => tzsp(udp.payload),
        _ => None,
    };
    let is_of = |port| [udp.destination_port, udp.source_port].contains(&port);
    carried.or_else(|| match () {
        () if is_of(port::GTP_U) => gtp_u(&udp),
        () if is_of(port::L2TP) => l2tp(udp.payload),
        () if is_of(port::TEREDO) => teredo(udp.payload),
        () => None,
    })
}

/// RFC 7348, section 5: a flag says that the identifier counts. Bits that other drafts gave a
/// meaning (a group policy) may be set.
fn vxlan(payload: &[u8]) -> Option<Tunnel<'_>> {
    let (header, frame) = payload.split_first_chunk::<8>()?;
    let vni = u32::from_be_bytes([0, header[4], header[5], header[6]]);
    (header[0] & 0x08 != 0 && frame.len() >= 14)
        .then(|| Tunnel::new(Layer::new(Encapsulation::Vxlan, vni), Carried::Ethernet(frame)))
}

/// draft-ietf-nvo3-vxlan-gpe, section 3: the last octet of the first word names what follows, where a flag says so.
fn vxlan_gpe(payload: &[u8]) -> Option<Tunnel<'_>> {
    let (header, rest) = payload.split_first_chunk::<8>()?;
    let vni = u32::from_be_bytes([0, header[4], header[5], header[6]]);
    let carried = match (header[0] & 0x04 != 0, header[3]) {
        (true, 1 | 2) => Carried::Ip(rest),
        (true, 3) | (false, _) => Carried::Ethernet(rest),
        (true, 4) => Carried::Typed(NSH, rest),
        (true, 5) => Carried::Typed(MPLS_UNICAST, rest),
        (true, _) => return None,
    };
    Some(Tunnel::new(Layer::new(Encapsulation::VxlanGpe, vni), carried))
}

/// RFC 8926, section 3.4: version, length of options in four octets, an EtherType.
fn geneve(payload: &[u8]) -> Option<Tunnel<'_>> {
    let (header, rest) = payload.split_first_chunk::<8>()?;
    let options = usize::from(header[0] & 0x3f) * 4;
    let kind = u16::from_be_bytes([header[2], header[3]]);
    let vni = u32::from_be_bytes([0, header[4], header[5], header[6]]);
    let inner = rest.get(options..)?;
    let carried = match kind {
        TRANSPARENT_ETHERNET => Carried::Ethernet(inner),
        IPV4 | IPV6 => Carried::Ip(inner),
        kind => Carried::Typed(kind, inner),
    };
    (header[0] >> 6 == 0).then(|| Tunnel::new(Layer::new(Encapsulation::Geneve, vni), carried))
}

/// draft-ietf-intarea-gue: version 0 with a header that names an IP protocol; version 1 is an IP packet itself.
fn gue(payload: &[u8]) -> Option<Tunnel<'_>> {
    let layer = Layer::new(Encapsulation::Gue, None);
    let &[first, protocol, ..] = payload.first_chunk::<4>()?;
    if first >> 6 == 1 {
        return Some(Tunnel::new(layer, Carried::Ip(payload)));
    }
    let control = first & 0x20 != 0;
    let inner = payload.get(4 + usize::from(first & 0x1f) * 4..)?;
    let carried = match protocol {
        _ if control || first >> 6 != 0 => return None,
        4 | 41 => Carried::Ip(inner),
        97 => Carried::Ethernet(inner.strip_prefix(&[0x30, 0])?),
        143 => Carried::Ethernet(inner),
        137 => Carried::Typed(MPLS_UNICAST, inner),
        // GRE of version 0 without any options.
        47 => match *inner.first_chunk::<4>()? {
            [0, 0, high, low] => match u16::from_be_bytes([high, low]) {
                IPV4 | IPV6 => Carried::Ip(&inner[4..]),
                TRANSPARENT_ETHERNET => Carried::Ethernet(&inner[4..]),
                _ => return None,
            },
            _ => return None,
        },
        _ => return None,
    };
    Some(Tunnel::new(layer, carried))
}

/// RFC 9300, section 5.1: an IP packet behind eight octets, in which a flag says whether there is an instance.
fn lisp(payload: &[u8]) -> Option<Tunnel<'_>> {
    let (header, packet) = payload.split_first_chunk::<8>()?;
    let instance = (header[0] & 0x08 != 0).then(|| u32::from_be_bytes([0, header[4], header[5], header[6]]));
    looks_like_ip(packet).then(|| Tunnel::new(Layer::new(Encapsulation::Lisp, instance), Carried::Ip(packet)))
}

/// RFC 4380, section 5.1.1: an IPv6 packet, behind an authentication and an origin that may be there.
fn teredo(payload: &[u8]) -> Option<Tunnel<'_>> {
    let mut rest = payload;
    if let [0, 1, client, authentication, ..] = *rest {
        // A nonce and a confirmation stand behind both.
        rest = rest.get(4 + usize::from(client) + usize::from(authentication) + 9..)?;
    }
    if let [0, 0, ..] = *rest {
        rest = rest.get(8..)?;
    }
    let is_ipv6 = rest.first().is_some_and(|first| first >> 4 == 6) && rest.len() >= 40;
    is_ipv6.then(|| Tunnel::new(Layer::new(Encapsulation::Teredo, None), Carried::Ip(rest)))
}

/// The packets of a sensor: version 1, Ethernet, tags up to one that ends them.
fn tzsp(payload: &[u8]) -> Option<Tunnel<'_>> {
    const TAGS: usize = 32;
    let (header, mut rest) = payload.split_first_chunk::<4>()?;
    // Received or for transmission, of Ethernet.
    if header[0] != 1 || header[1] > 1 || header[2..] != [0, 1] {
        return None;
    }
    for _ in 0..TAGS {
        let (&tag, behind) = rest.split_first()?;
        rest = match tag {
            0 => behind,
            1 => {
                return Some(Tunnel::new(
                    Layer::new(Encapsulation::Tzsp, None),
                    Carried::Ethernet(behind),
                ));
            }
            _ => {
                let (&length, behind) = behind.split_first()?;
                behind.get(usize::from(length)..)?
            }
        };
    }
    None
}

/// L2TP version 2 (RFC 2661, section 3.1) with PPP in its sessions, and version 3 (RFC 3931,
/// section 4.1.2). Control carries nothing.
fn l2tp(payload: &[u8]) -> Option<Tunnel<'_>> {
    const CONTROL: u8 = 0x80;
    const LENGTH: u8 = 0x40;
    const SEQUENCE: u8 = 0x08;
    const OFFSET: u8 = 0x02;
    let (&[flags, version], mut rest) = payload.split_first_chunk::<2>()?;
    if flags & CONTROL != 0 {
        return None;
    }
    match version & 0x0f {
        2 => {
            if flags & LENGTH != 0 {
                rest = rest.get(2..)?;
            }
            let (&[_, _, high, low], mut rest) = rest.split_first_chunk::<4>()?;
            let session = u32::from(u16::from_be_bytes([high, low]));
            if flags & SEQUENCE != 0 {
                rest = rest.get(4..)?;
            }
            if flags & OFFSET != 0 {
                let (size, behind) = rest.split_first_chunk::<2>()?;
                rest = behind.get(usize::from(u16::from_be_bytes(*size))..)?;
            }
            Some(Tunnel::new(
                Layer::new(Encapsulation::L2tp, session),
                Carried::Ppp(rest),
            ))
        }
        3 => {
            let (session, rest) = rest.get(2..)?.split_first_chunk::<4>()?;
            l2tp_session(u32::from_be_bytes(*session), rest)
        }
        _ => None,
    }
}

/// A user's packet (TS 29.281, section 5.1), or the frame of a user's Ethernet.
fn gtp_u<'a>(udp: &Udp<'a>) -> Option<Tunnel<'a>> {
    let (tunnel, carried, missing) = datagrams::carried_by(udp)?;
    let layer = Layer::new(Encapsulation::GtpU, tunnel);
    if datagrams::is_ip(carried, missing) {
        return Some(Tunnel::new(layer, Carried::Ip(carried)));
    }
    // PDCP, of F1-U and Xn-U, may be anything: a frame of the user's is one that leads to a whole packet.
    let packet = match carried.get(12..14)? {
        [0x08, 0x00] | [0x86, 0xdd] => &carried[14..],
        [0x81, 0x00] if matches!(carried.get(16..18)?, [0x08, 0x00] | [0x86, 0xdd]) => &carried[18..],
        _ => return None,
    };
    let is_whole = match packet.first()? >> 4 {
        4 => looks_like_ip(packet),
        _ => datagrams::is_ip(packet, missing),
    };
    is_whole.then(|| Tunnel::new(layer, Carried::Ethernet(carried)))
}
