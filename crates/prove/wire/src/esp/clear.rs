//! Readable content of ESP packets: NULL encryption (RFC 2410) is negotiated in encrypted messages.
//!
//! Structure decides: an IP packet by its checksum and length, or behind a trailer that names it a
//! segment, datagram or message whose own lengths and checksums agree with that. The distribution
//! of bytes is a hint only.

use std::net::IpAddr;

use crate::ip::{ICMPV6, SCTP, TCP, UDP};
use crate::{checksum, spread};

/// Bytes of the integrity checks in use: HMAC cut to 96 bits and more (RFC 2404, RFC 4868), GMAC
/// (RFC 4543); none at all.
const CHECKS: [usize; 5] = [12, 16, 24, 32, 0];
/// Bytes of the initialization vectors before what is not encrypted: none, or GMAC's.
const VECTORS: [usize; 2] = [0, 8];
/// Bytes of ESP's own header.
const HEADER: usize = 8;
/// The largest padding, and the largest check behind it.
const LONGEST_TRAILER: usize = 255 + 2 + 32;

const ICMP: u8 = 1;
const IGMP: u8 = 2;
const IPV4: u8 = 4;
const IPV6: u8 = 41;
const GRE: u8 = 47;
const OSPF: u8 = 89;
/// Extension headers followed.
const EXTENSIONS: usize = 4;

/// Content of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// Readable structure. About one packet of random bytes in 2^27 has such.
    Structure,
    /// Ports and flags where a TCP segment that was captured in part has them: one in 2^19.
    Likely(u32),
    /// Nothing that can be determined.
    Nothing,
}

/// Looks at a packet between these hosts, of which `missing` more bytes were sent.
pub(super) fn look(packet: &[u8], missing: usize, source: IpAddr, destination: IpAddr) -> Found {
    let Some(protected) = packet.get(HEADER..) else {
        return Found::Nothing;
    };
    let mut found = Found::Nothing;
    for inner in VECTORS.iter().filter_map(|&vector| protected.get(vector..)) {
        // Behind it come at least padding length and next header.
        let Some(room) = (inner.len() + missing).checked_sub(2) else {
            continue;
        };
        if is_ipv4(inner, room) {
            return Found::Structure;
        }
        if missing == 0 {
            let by_trailer = |&check: &usize| is_as_its_trailer_says(inner, check, source, destination);
            if CHECKS.iter().any(by_trailer) {
                return Found::Structure;
            }
        } else if let Some(ports) = segment_ports(inner).filter(|_| found == Found::Nothing) {
            found = Found::Likely(ports);
        }
    }
    found
}

/// Returns true if the bytes of a packet are not spread as encrypted ones are; none if there are too
/// few.
pub(super) fn is_skewed(packet: &[u8]) -> Option<bool> {
    spread::is_skewed_behind_vector(packet.get(HEADER..)?)
}

/// An IPv4 packet with a checksum that is right, as long as there is room for it.
fn is_ipv4(inner: &[u8], room: usize) -> bool {
    let Some(first) = inner.first().filter(|first| *first >> 4 == 4) else {
        return false;
    };
    let length = usize::from(first & 0x0f) * 4;
    let Some(header) = inner.get(..length).filter(|header| header.len() >= 20) else {
        return false;
    };
    let total = usize::from(u16::from_be_bytes([header[2], header[3]]));
    total >= length && total <= room && room - total <= LONGEST_TRAILER && checksum::is_right(header)
}

/// Returns true if a trailer stands before an integrity check of `check` bytes, and the protocol
/// that it names before the trailer. Padding counts from 1 (RFC 4303, section 2.4): a trailer and
/// next header are right by chance once in 2^16 packets.
fn is_as_its_trailer_says(inner: &[u8], check: usize, source: IpAddr, destination: IpAddr) -> bool {
    let Some((sealed, _)) = inner
        .len()
        .checked_sub(check)
        .and_then(|end| inner.split_at_checked(end))
    else {
        return false;
    };
    let Some((padded, &[padding, next])) = sealed.split_last_chunk::<2>() else {
        return false;
    };
    let Some(length) = padded.len().checked_sub(padding.into()) else {
        return false;
    };
    let (held, padding) = padded.split_at(length);
    padding.iter().zip(1..=u8::MAX).all(|(byte, count)| *byte == count) && is_named(held, next, source, destination)
}

/// Returns true if bytes are a packet of this IP protocol number.
fn is_named(mut held: &[u8], mut next: u8, source: IpAddr, destination: IpAddr) -> bool {
    for _ in 0..EXTENSIONS {
        // Extension headers of IPv6 in transport mode.
        let length = match (next, held.get(1)) {
            (0 | 43 | 60 | 135, Some(&units)) => (usize::from(units) + 1) * 8,
            (44, Some(_)) => 8,
            _ => break,
        };
        let Some(rest) = held.get(length..) else { return false };
        (next, held) = (held[0], rest);
    }
    let word = |at: usize| Some(usize::from(u16::from_be_bytes([*held.get(at)?, *held.get(at + 1)?])));
    match next {
        IPV4 => is_ipv4(held, held.len()),
        IPV6 => held.first().is_some_and(|byte| byte >> 4 == 6) && word(4).map(|rest| 40 + rest) == Some(held.len()),
        UDP => word(4) == Some(held.len()),
        TCP => segment_ports(held).is_some() || checksum::is_right_between(source, destination, TCP, held),
        SCTP => is_chunks(held),
        ICMP | IGMP => held.len() >= 8 && checksum::is_right(held),
        ICMPV6 => held.len() >= 8 && checksum::is_right_between(source, destination, ICMPV6, held),
        // Version 0 and no unused bits; the first half byte of its content shows the protocol.
        GRE => is_gre(held),
        // Version 2 of OSPF, or 3, as long as it says.
        OSPF => held.first().is_some_and(|version| matches!(version, 2 | 3)) && word(2) == Some(held.len()),
        _ => false,
    }
}

/// The ports of a TCP segment, if the fields behind them are consistent: header length, no reserved
/// bits, flags that go together, and no urgent pointer without its flag. About one header of random
/// bytes in 2^19 passes.
fn segment_ports(bytes: &[u8]) -> Option<u32> {
    const FIN: u8 = 0x01;
    const SYN: u8 = 0x02;
    const RST: u8 = 0x04;
    const URG: u8 = 0x20;
    let header = bytes.first_chunk::<20>()?;
    let ports = u32::from_be_bytes([header[0], header[1], header[2], header[3]]);
    let (length, flags) = (usize::from(header[12] >> 4) * 4, header[13]);
    let ends = [FIN, SYN, RST].into_iter().filter(|flag| flags & flag != 0).count();
    let urgent = u16::from_be_bytes([header[18], header[19]]);
    let fits = length >= 20 && header[12] & 0x0f == 0 && ends <= 1 && flags & 0xc0 == 0 && flags & 0x3f != 0;
    let known = ports >> 16 != 0 && ports & 0xffff != 0;
    (fits && known && (urgent == 0 || flags & URG != 0)).then_some(ports)
}

fn is_gre(bytes: &[u8]) -> bool {
    let Some(&[flags, version, a, b]) = bytes.first_chunk() else {
        return false;
    };
    let options = [0x80, 0x20, 0x10].into_iter().filter(|flag| flags & flag != 0).count() * 4;
    let inner = bytes.get(4 + options..).unwrap_or_default();
    let length = |at: usize| Some(usize::from(u16::from_be_bytes([*inner.get(at)?, *inner.get(at + 1)?])));
    flags & 0x4f == 0
        && version == 0
        && match u16::from_be_bytes([a, b]) {
            0x0800 => is_ipv4(inner, inner.len()),
            0x86dd => length(4).map(|rest| rest + 40) == Some(inner.len()),
            0x6558 => matches!(length(12), Some(0x0800 | 0x86dd | 0x0806 | 0x8100)),
            _ => false,
        }
}

/// Returns true if chunks follow a common header of SCTP, and end where the packet does (RFC 9260,
/// section 3).
fn is_chunks(packet: &[u8]) -> bool {
    let mut rest = packet.get(12..).unwrap_or_default();
    if rest.is_empty() {
        return false;
    }
    while let Some([_, _, high, low]) = rest.first_chunk::<4>() {
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        match rest.get(length.next_multiple_of(4)..) {
            Some(behind) if length >= 4 => rest = behind,
            _ => return false,
        }
    }
    rest.is_empty()
}
