//! Clear text in ESP packets: NULL encryption is agreed on where nobody sees it.

use crate::ip::{SCTP, UDP};

/// Bytes of the integrity checks in use: HMAC cut to 96 bits and more (RFC 2404, RFC 4868), GMAC (RFC 4543).
const CHECKS: [usize; 4] = [12, 16, 24, 32];
/// An IPv6 packet, as a trailer names it.
const IPV6: u8 = 41;

/// Whether an ESP packet holds what anyone can read, by NULL encryption, behind no initialization vector or the eight bytes of
/// GMAC's: an IPv4 packet, told by its checksum, first byte and length; or what the trailer says, told by both; or bytes that
/// are not spread as encrypted ones are.
pub(super) fn is_in_clear(packet: &[u8], missing: usize) -> bool {
    const HEADER: usize = 8;
    let holds = [0, 8].iter().any(|vector| {
        let Some(inner) = packet.get(HEADER + vector..) else {
            return false;
        };
        // Behind it come at least padding length and next header.
        let room = (inner.len() + missing).checked_sub(2);
        let by_trailer = || CHECKS.iter().any(|&check| is_as_its_trailer_says(inner, check));
        room.is_some_and(|room| is_ipv4(inner, room)) || missing == 0 && by_trailer()
    });
    holds || packet.get(HEADER + VECTOR..).is_some_and(is_skewed)
}

/// The longest initialization vector, AES-CBC's. A counter in it is no sign of anything.
const VECTOR: usize = 16;
/// Fewer bytes than these say nothing of how they are spread.
const SPREAD: usize = 64;

/// Whether one value takes a twelfth of the bytes, and ten of them at least. Among random bytes that happens once in
/// 2^25 packets at most (of 120 bytes); headers and ASN.1 are full of zeros.
fn is_skewed(bytes: &[u8]) -> bool {
    if bytes.len() < SPREAD {
        return false;
    }
    let mut counts = [0u16; 256];
    for &byte in bytes {
        let count = &mut counts[usize::from(byte)];
        *count = count.saturating_add(1);
    }
    let most = counts.iter().copied().max().map_or(0, usize::from);
    most >= (bytes.len() / 12).max(10)
}

fn is_ipv4(inner: &[u8], room: usize) -> bool {
    let Some(header) = inner.first_chunk::<20>() else {
        return false;
    };
    let total = usize::from(u16::from_be_bytes([header[2], header[3]]));
    if header[0] != 0x45 || total < 20 || total > room || room - total > 255 + 32 {
        return false;
    }
    let sum: u32 = header
        .chunks_exact(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])))
        .sum();
    // Ones' complement: carries come back in at the bottom.
    let sum = (sum & 0xffff) + (sum >> 16);
    (sum & 0xffff) + (sum >> 16) == 0xffff
}

/// Whether there is a trailer before a check of so many bytes, and what it names stands before it. Padding counts from 1 (RFC
/// 4303, section 2.4). Of packets of random bytes about one in 2^27 is such: padding and next header have to fit in a byte
/// each and the length in two, in one of eight places, for one of three protocols.
fn is_as_its_trailer_says(inner: &[u8], check: usize) -> bool {
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
    let word = |at: usize| Some(usize::from(u16::from_be_bytes([*held.get(at)?, *held.get(at + 1)?])));
    let counts = padding.iter().zip(1..=u8::MAX).all(|(byte, count)| *byte == count);
    counts
        && match next {
            UDP => word(4) == Some(length),
            IPV6 => held.first().is_some_and(|byte| byte >> 4 == 6) && word(4).map(|rest| 40 + rest) == Some(length),
            SCTP => is_chunks(held),
            _ => false,
        }
}

/// Whether chunks follow a common header of SCTP, and end where the packet does (RFC 9260, section 3).
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
