//! GRE (RFC 2784, RFC 2890), and what is carried in it.

use super::frame::Carried;
use super::tunnel::Tunnel;
use super::{IPV4, IPV6, MPLS_MULTICAST, MPLS_UNICAST, NSH, TRANSPARENT_ETHERNET};
use crate::housekeeping::is_trailer;
use crate::path::{Encapsulation, Layer};

const CHECKSUM: u8 = 0x80;
const ROUTING: u8 = 0x40;
const KEY: u8 = 0x20;
const SEQUENCE: u8 = 0x10;
/// PPP, of PPTP (RFC 2637, section 4.1).
pub(super) const PPP: u16 = 0x880b;
pub(super) const ERSPAN_2: u16 = 0x88be;
pub(super) const ERSPAN_3: u16 = 0x22eb;
/// Web cache redirection: IP, behind a header of its own in version 2.
const WCCP: u16 = 0x883e;

/// Opens a packet of GRE; none where what it carries is not followed.
pub(super) fn open(packet: &[u8]) -> Option<Tunnel<'_>> {
    let (&[flags, version, high, low], mut rest) = packet.split_first_chunk::<4>()?;
    let kind = u16::from_be_bytes([high, low]);
    if version & 7 == 1 && kind == PPP {
        return pptp(flags, version, rest);
    }
    // Source routes are of RFC 1701, and gone since.
    if version & 7 != 0 || flags & ROUTING != 0 {
        return None;
    }
    if flags & CHECKSUM != 0 {
        rest = rest.get(4..)?;
    }
    let mut key = None;
    if flags & KEY != 0 {
        let (word, behind) = rest.split_first_chunk::<4>()?;
        key = Some(u32::from_be_bytes(*word));
        rest = behind;
    }
    if flags & SEQUENCE != 0 {
        rest = rest.get(4..)?;
    }
    let carried = match kind {
        IPV4 | IPV6 => Carried::Ip(rest),
        WCCP if rest.first().is_some_and(|first| first >> 4 == 4) => Carried::Ip(rest),
        WCCP => Carried::Ip(rest.get(4..)?),
        TRANSPARENT_ETHERNET => Carried::Ethernet(rest),
        MPLS_UNICAST | MPLS_MULTICAST | NSH => Carried::Typed(kind, rest),
        ERSPAN_2 | ERSPAN_3 => return erspan(kind, flags, rest),
        _ => return None,
    };
    Some(Tunnel::new(Layer::new(Encapsulation::Gre, key), carried))
}

/// Enhanced GRE: the key is a length and a call, and an acknowledgement may follow the sequence
/// number. A packet that only acknowledges carries nothing.
fn pptp(flags: u8, version: u8, rest: &[u8]) -> Option<Tunnel<'_>> {
    const ACKNOWLEDGEMENT: u8 = 0x80;
    let (key, mut rest) = rest.split_first_chunk::<4>()?;
    let length = usize::from(u16::from_be_bytes([key[0], key[1]]));
    let call = u16::from_be_bytes([key[2], key[3]]);
    for present in [flags & SEQUENCE != 0, version & ACKNOWLEDGEMENT != 0] {
        if present {
            rest = rest.get(4..)?;
        }
    }
    let (rest, behind) = rest.split_at(length.min(rest.len()));
    (!rest.is_empty() && is_trailer(behind))
        .then(|| Tunnel::new(Layer::new(Encapsulation::Pptp, u32::from(call)), Carried::Ppp(rest)))
}

/// A mirrored frame: type I has no header of its own and GRE no sequence number, type II has eight
/// octets, type III twelve and eight more where its last bit says so.
fn erspan(kind: u16, flags: u8, rest: &[u8]) -> Option<Tunnel<'_>> {
    if kind == ERSPAN_2 && flags & SEQUENCE == 0 {
        return Some(Tunnel::new(
            Layer::new(Encapsulation::Erspan, None),
            Carried::Ethernet(rest),
        ));
    }
    let header = rest.first_chunk::<4>()?;
    let session = u32::from(u16::from_be_bytes([header[2], header[3]]) & 0x03ff);
    let length = match kind {
        ERSPAN_2 => 8,
        _ => 12 + 8 * usize::from(*rest.get(11)? & 1),
    };
    let frame = rest.get(length..)?;
    Some(Tunnel::new(
        Layer::new(Encapsulation::Erspan, session),
        Carried::Ethernet(frame),
    ))
}
