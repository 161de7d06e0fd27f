//! Frames: Ethernet with all that stands before the packet in it, LLC, PPP.

use super::{
    BACKBONE, DEPTH, FABRIC_PATH, IPV4, IPV6, LONGEST_LENGTH, MPLS_MULTICAST, MPLS_UNICAST, NSH, PPPOE_SESSION,
    REDUNDANCY_TAG, TRANSPARENT_ETHERNET, TRILL, VLANS, VN_TAG, mpls,
};
use crate::frames::{FrameProtocol, Station};
use crate::housekeeping::is_trailer;
use crate::link::ETHERTYPE_MACSEC;
use crate::path::{Encapsulation, Layer};

/// Content of a frame, a tag or a tunnel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Carried<'a> {
    /// An Ethernet frame without its check sequence.
    Ethernet(&'a [u8]),
    /// The payload of a frame, by its EtherType.
    Typed(u16, &'a [u8]),
    /// A frame of LLC (IEEE 802.2).
    Llc(&'a [u8]),
    /// An IP packet.
    Ip(&'a [u8]),
    /// A frame of PPP, with or without address and control.
    Ppp(&'a [u8]),
}

/// Payload of a frame behind all its tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Payload<'a> {
    /// To an IP packet.
    Ip(&'a [u8]),
    /// To something else, between two stations where these are known: sender, then receiver.
    Other(FrameProtocol, Option<[Station; 2]>, &'a [u8]),
    /// It ends before its headers do.
    Short,
}

/// Content behind one header.
pub(super) enum Step<'a> {
    /// Another, or a packet.
    On(Carried<'a>),
    /// A protocol that is not followed.
    Other(FrameProtocol, &'a [u8]),
}

/// Follows what a frame carries to the packet in it, and notes what it passes in `layers`.
pub(crate) fn reach<'a>(mut carried: Carried<'a>, layers: &mut Vec<Layer>) -> Payload<'a> {
    let mut stations = None;
    // Each step takes bytes; most of them note a layer.
    for _ in 0..2 * DEPTH {
        let step = match carried {
            Carried::Ip(packet) => return Payload::Ip(packet),
            Carried::Ethernet(frame) => {
                stations = between(frame).or(stations);
                ethernet(frame)
            }
            Carried::Typed(kind, rest) => typed(kind, rest, layers),
            Carried::Llc(frame) => llc(frame),
            Carried::Ppp(frame) => ppp(frame),
        };
        carried = match step {
            None => return Payload::Short,
            Some(Step::Other(protocol, rest)) => return Payload::Other(protocol, stations, rest),
            Some(Step::On(_)) if layers.len() >= DEPTH => return Payload::Other(FrameProtocol::Deep, stations, &[]),
            Some(Step::On(next)) => next,
        };
    }
    Payload::Other(FrameProtocol::Deep, stations, &[])
}

/// Sender and receiver of a frame.
fn between(frame: &[u8]) -> Option<[Station; 2]> {
    let (receiver, rest) = frame.split_first_chunk::<6>()?;
    Some([Station(*rest.first_chunk()?), Station(*receiver)])
}

fn ethernet(frame: &[u8]) -> Option<Step<'_>> {
    let (header, rest) = frame.split_first_chunk::<14>()?;
    let kind = u16::from_be_bytes([header[12], header[13]]);
    if kind <= LONGEST_LENGTH {
        return counted(kind, rest);
    }
    Some(Step::On(Carried::Typed(kind, rest)))
}

/// A frame of LLC behind its length. With more behind it than fills a frame, it is not what it says.
fn counted(length: u16, rest: &[u8]) -> Option<Step<'_>> {
    match rest.split_at_checked(length.into()) {
        Some((_, trailer)) if !is_trailer(trailer) => Some(Step::Other(FrameProtocol::Type(length), rest)),
        Some((frame, _)) => llc(frame),
        None => llc(rest),
    }
}

/// IEEE 802.2: two service access points and a control field, or an extension (SNAP, RFC 1042) that names an EtherType.
fn llc(rest: &[u8]) -> Option<Step<'_>> {
    let [destination, source, control] = *rest.first_chunk::<3>()?;
    if (destination, source, control) == (0xaa, 0xaa, 3) {
        let (header, inner) = rest.split_first_chunk::<8>()?;
        let kind = u16::from_be_bytes([header[6], header[7]]);
        return Some(match header[3..6] {
            // Encapsulated Ethernet, and that of bridges which translate it (IEEE 802.1H).
            [0, 0, 0] | [0, 0, 0xf8] => Step::On(Carried::Typed(kind, inner)),
            // Bridged Ethernet (RFC 2684): padding, then a frame.
            [0, 0x80, 0xc2] if matches!(kind, 1 | 7) => Step::On(Carried::Ethernet(inner.get(2..)?)),
            [0, 0, 0x0c] => Step::Other(FrameProtocol::Cisco(kind), inner),
            _ => Step::Other(FrameProtocol::Snap(kind), inner),
        });
    }
    match destination {
        // IP straight in LLC (RFC 948).
        0x06 => Some(Step::On(Carried::Ip(rest.get(3..)?))),
        _ => Some(Step::Other(FrameProtocol::Llc(destination), rest)),
    }
}

/// The payload of a frame by its EtherType.
fn typed<'a>(kind: u16, rest: &'a [u8], layers: &mut Vec<Layer>) -> Option<Step<'a>> {
    let inner_type = |at: usize| Some(u16::from_be_bytes(*rest.get(at..)?.first_chunk::<2>()?));
    let carried = match kind {
        IPV4 | IPV6 => Carried::Ip(rest),
        MPLS_UNICAST | MPLS_MULTICAST => return mpls::labels(rest, layers),
        TRANSPARENT_ETHERNET => Carried::Ethernet(rest),
        PPPOE_SESSION => {
            // Version and type, code (0 in a session), session, length (RFC 2516, section 4).
            let (header, inner) = rest.split_first_chunk::<6>()?;
            let session = u16::from_be_bytes([header[2], header[3]]);
            let length = usize::from(u16::from_be_bytes([header[4], header[5]]));
            if (header[0], header[1]) != (0x11, 0) || !is_trailer(inner.get(length..).unwrap_or_default()) {
                return Some(Step::Other(FrameProtocol::Type(kind), rest));
            }
            layers.push(Layer::new(Encapsulation::Pppoe, u32::from(session)));
            Carried::Ppp(inner.get(..length).unwrap_or(inner))
        }
        BACKBONE => {
            // Flags and service identifier, and then the customer's frame (IEEE 802.1Q, clause 9.7).
            let (tag, inner) = rest.split_first_chunk::<4>()?;
            let service = u32::from_be_bytes([0, tag[1], tag[2], tag[3]]);
            layers.push(Layer::new(Encapsulation::ProviderBackbone, service));
            Carried::Ethernet(inner)
        }
        VN_TAG => {
            let inner = inner_type(4)?;
            layers.push(Layer::new(Encapsulation::VnTag, None));
            Carried::Typed(inner, rest.get(6..)?)
        }
        REDUNDANCY_TAG => {
            let inner = inner_type(4)?;
            layers.push(Layer::new(Encapsulation::RedundancyTag, None));
            Carried::Typed(inner, rest.get(6..)?)
        }
        FABRIC_PATH => {
            // A tree and hops, and then the customer's frame (Cisco).
            layers.push(Layer::new(Encapsulation::FabricPath, None));
            Carried::Ethernet(rest.get(2..)?)
        }
        NSH => return network_service(rest, layers),
        TRILL => {
            // Version, hops and the length of options in four octets, two nicknames (RFC 6325, section 3).
            let flags = u16::from_be_bytes(*rest.first_chunk()?);
            let options = usize::from((flags >> 6) & 0x1f) * 4;
            layers.push(Layer::new(Encapsulation::Trill, None));
            Carried::Ethernet(rest.get(6 + options..)?)
        }
        ETHERTYPE_MACSEC => return macsec(rest, layers),
        tag if VLANS.contains(&tag) => {
            let (header, inner) = rest.split_first_chunk::<4>()?;
            let (tag, inner_kind) = (
                u16::from_be_bytes([header[0], header[1]]) & 0x0fff,
                u16::from_be_bytes([header[2], header[3]]),
            );
            // Zero is a priority without a VLAN.
            if tag != 0 {
                layers.push(Layer::new(Encapsulation::Vlan, u32::from(tag)));
            }
            if inner_kind <= LONGEST_LENGTH {
                return counted(inner_kind, inner);
            }
            Carried::Typed(inner_kind, inner)
        }
        other => return Some(Step::Other(FrameProtocol::Type(other), rest)),
    };
    Some(Step::On(carried))
}

/// A network service header (RFC 8300, section 2): its length in four octets, and the protocol behind it.
pub(super) fn network_service<'a>(rest: &'a [u8], layers: &mut Vec<Layer>) -> Option<Step<'a>> {
    let header = rest.first_chunk::<8>()?;
    let length = usize::from(header[1] & 0x3f) * 4;
    let path = u32::from_be_bytes([0, header[4], header[5], header[6]]);
    let inner = rest.get(length.max(8)..)?;
    layers.push(Layer::new(Encapsulation::Nsh, path));
    Some(match header[3] {
        1 | 2 => Step::On(Carried::Ip(inner)),
        3 => Step::On(Carried::Ethernet(inner)),
        4 => Step::On(Carried::Typed(NSH, inner)),
        5 => Step::On(Carried::Typed(MPLS_UNICAST, inner)),
        _ => Step::Other(FrameProtocol::Type(NSH), inner),
    })
}

/// MACsec (IEEE 802.1AE, clause 9): read on only where it does not encrypt.
fn macsec<'a>(rest: &'a [u8], layers: &mut Vec<Layer>) -> Option<Step<'a>> {
    const ENCRYPTED: u8 = 0x08;
    const CHANGED: u8 = 0x04;
    const EXPLICIT: u8 = 0x20;
    const CHECK: usize = 16;
    let header = rest.first_chunk::<6>()?;
    let length = if header[0] & EXPLICIT != 0 { 14 } else { 6 };
    if header[0] & (ENCRYPTED | CHANGED) != 0 {
        return Some(Step::Other(FrameProtocol::Type(ETHERTYPE_MACSEC), rest));
    }
    let inner = rest.get(length..)?;
    let (kind, inner) = inner.split_first_chunk::<2>()?;
    let inner = inner.get(..inner.len().saturating_sub(CHECK))?;
    layers.push(Layer::new(Encapsulation::MacSecUnencrypted, None));
    Some(Step::On(Carried::Typed(u16::from_be_bytes(*kind), inner)))
}

/// PPP (RFC 1661, section 2; RFC 1662): address and control may be left out, and so may the upper
/// octet of the protocol.
fn ppp(frame: &[u8]) -> Option<Step<'_>> {
    let frame = match frame {
        [0xff, 0x03, rest @ ..] => rest,
        rest => rest,
    };
    let (kind, inner) = match *frame {
        // Protocols are odd, and their upper octet is even.
        [low, ..] if low & 1 == 1 => (u16::from(low), &frame[1..]),
        [high, low, ..] => (u16::from_be_bytes([high, low]), &frame[2..]),
        _ => return None,
    };
    Some(match kind {
        0x0021 | 0x0057 => Step::On(Carried::Ip(inner)),
        0x0281 => Step::On(Carried::Typed(MPLS_UNICAST, inner)),
        0x0283 => Step::On(Carried::Typed(MPLS_MULTICAST, inner)),
        // Bridged frames (RFC 3518): flags and MAC type, and for Ethernet the frame behind.
        0x0031 if inner.get(1) == Some(&1) => Step::On(Carried::Ethernet(inner.get(2..)?)),
        other => Step::Other(FrameProtocol::Ppp(other), inner),
    })
}
