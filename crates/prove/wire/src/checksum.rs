//! Checksums of what an IP packet carries: whether it reached its receiver as it was captured.
//!
//! A sender's own capture shows packets before its network card has computed their checksums
//! (offloading): the field then holds nothing, or the sum over the pseudo-header alone, which the
//! card takes as its beginning; and packets larger than any that cross a link. Those say nothing,
//! and are distinguished from wrong ones by that. See [`Checksum`].

mod crc32c;

use std::net::IpAddr;

use crate::ip;

/// Result of a checksum verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Checksum {
    /// It is right.
    Right,
    /// None was computed: left to the network card of the host that captured, or none is sent.
    Absent,
    /// It cannot be checked: a part of the packet was not captured, or the packet is several that were put together.
    Unknown,
    /// It is wrong: the receiver drops the packet.
    Wrong,
}

/// An IP packet's payload over this is larger than what crosses most links: segments put together
/// by the host that captured, or by its network card, whose checksum is that of the first, or none.
/// It says nothing of the sender's others, which a tool may have made wrong.
const LARGEST_ON_A_LINK: usize = 1500;

/// The checksums of one sender in one conversation.
///
/// A host that captures its own packets sees them before its network card has computed their
/// checksums, and tools that rewrite captures leave all of them wrong. So a wrong checksum says
/// that the receiver drops the packet only where the same sender has right ones, or such as are
/// left to its card: forged packets stand next to those of the host they are forged of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    /// One was right, or left to a network card.
    sound: bool,
    /// One was wrong before any was sound, and its packet was taken.
    wrong: bool,
}

impl Sums {
    /// Returns true if the receiver takes a packet with this checksum. `tells` is true for a packet
    /// on which a verdict rests.
    pub(crate) fn admit(&mut self, checksum: Checksum, tells: bool) -> bool {
        match checksum {
            Checksum::Right | Checksum::Absent => {
                self.sound = true;
                true
            }
            Checksum::Unknown => true,
            Checksum::Wrong => {
                self.wrong |= !self.sound && tells;
                !self.sound
            }
        }
    }

    /// Returns true if a packet with a wrong checksum was taken before the sender's checksums were
    /// known to be right.
    pub(crate) fn have_changed(&self) -> bool {
        self.sound && self.wrong
    }
}

/// The checksum of a TCP segment: `bytes` are its header and payload, of which `missing` more were not captured.
#[must_use]
pub fn tcp(source: IpAddr, destination: IpAddr, bytes: &[u8], missing: usize) -> Checksum {
    let Some(&[high, low]) = bytes.get(16..18).and_then(|field| field.first_chunk()) else {
        return Checksum::Unknown;
    };
    let field = u16::from_be_bytes([high, low]);
    over_pseudo_header(source, destination, ip::TCP, bytes, missing, field)
}

/// The checksum of a UDP datagram, in the same way; zero says that there is none (RFC 768).
#[must_use]
pub fn udp(source: IpAddr, destination: IpAddr, bytes: &[u8], missing: usize) -> Checksum {
    let Some(&[high, low, a, b]) = bytes.get(4..8).and_then(|field| field.first_chunk()) else {
        return Checksum::Unknown;
    };
    // Bytes beyond the datagram's own length are padding.
    let length = usize::from(u16::from_be_bytes([high, low]));
    let bytes = if length < 8 {
        bytes
    } else {
        &bytes[..length.min(bytes.len())]
    };
    let missing = if length < 8 {
        missing
    } else {
        length.saturating_sub(bytes.len())
    };
    over_pseudo_header(source, destination, ip::UDP, bytes, missing, u16::from_be_bytes([a, b]))
}

/// The checksum of an SCTP packet, a CRC32c over all of it with zeros in its place (RFC 9260,
/// section 6.8). A sender's own capture has zeros there, or what a network card begins with.
#[must_use]
pub fn sctp(bytes: &[u8], missing: usize) -> Checksum {
    const FIELD: std::ops::Range<usize> = 8..12;
    let Some(&field) = bytes.get(FIELD).and_then(|field| field.first_chunk::<4>()) else {
        return Checksum::Unknown;
    };
    let field = u32::from_le_bytes(field);
    // Linux leaves zeros, or all ones where it has begun and the card is to go on.
    if matches!(field, 0 | u32::MAX) {
        return Checksum::Absent;
    }
    if missing > 0 || bytes.len() + missing > LARGEST_ON_A_LINK {
        return Checksum::Unknown;
    }
    let before = crc32c::update(u32::MAX, &bytes[..FIELD.start]);
    let behind = crc32c::update(before, &[0; 4]);
    match !crc32c::update(behind, &bytes[FIELD.end..]) == field {
        true => Checksum::Right,
        false => Checksum::Wrong,
    }
}

/// CRC32c of these parts, one behind the other.
pub fn crc32c(parts: &[&[u8]]) -> u32 {
    !parts
        .iter()
        .fold(u32::MAX, |remainder, part| crc32c::update(remainder, part))
}

fn over_pseudo_header(
    source: IpAddr,
    destination: IpAddr,
    protocol: u8,
    bytes: &[u8],
    missing: usize,
    field: u16,
) -> Checksum {
    let length = bytes.len() + missing;
    let addresses = address(source) + address(destination) + u64::from(protocol);
    // Partial sums that a card with checksum offload receives; some drivers leave out the length.
    let partial = [addresses + length as u64, addresses].map(folded);
    if field == 0 || partial.contains(&field) {
        return Checksum::Absent;
    }
    if missing > 0 || length > LARGEST_ON_A_LINK {
        return Checksum::Unknown;
    }
    match folded(addresses + length as u64 + sum(bytes)) {
        0xffff => Checksum::Right,
        _ => Checksum::Wrong,
    }
}

/// The checksum of the Internet (RFC 1071) of bytes whose field for it is zero, as that field takes it.
pub fn internet(bytes: &[u8]) -> u16 {
    !folded(sum(bytes))
}

/// The same over a pseudo-header before them, as TCP and UDP compute it; zero is sent as all ones (RFC 768).
pub fn over_addresses(source: IpAddr, destination: IpAddr, protocol: u8, bytes: &[u8]) -> u16 {
    let pseudo = address(source) + address(destination) + u64::from(protocol) + bytes.len() as u64;
    match !folded(pseudo + sum(bytes)) {
        0 => u16::MAX,
        checksum => checksum,
    }
}

/// Returns true if bytes that hold their own Internet checksum sum to zero (RFC 1071).
pub(crate) fn is_right(bytes: &[u8]) -> bool {
    folded(sum(bytes)) == 0xffff
}

/// The same over a pseudo-header before them.
pub(crate) fn is_right_between(source: IpAddr, destination: IpAddr, protocol: u8, bytes: &[u8]) -> bool {
    let pseudo = address(source) + address(destination) + u64::from(protocol) + bytes.len() as u64;
    folded(pseudo + sum(bytes)) == 0xffff
}

fn address(address: IpAddr) -> u64 {
    match address {
        IpAddr::V4(address) => sum(&address.octets()),
        IpAddr::V6(address) => sum(&address.octets()),
    }
}

/// The sum of bytes as numbers of two, up to carries, which [`folded`] brings back in. In which
/// order a processor takes bytes makes no difference before the end (RFC 1071, section 2).
fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<4>();
    let mut sum: u64 = words.iter().map(|word| u64::from(u32::from_le_bytes(*word))).sum();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    sum += u64::from(u32::from_le_bytes(last));
    u64::from(folded(sum).swap_bytes())
}

/// Carries come back in at the bottom.
pub(crate) fn folded(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
    const B: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));

    fn segment(payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![
            0x9c, 0x40, 0x01, 0xbb, 0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x18, 1, 0, 0, 0, 0, 0,
        ];
        bytes.extend(payload);
        bytes
    }

    fn set(bytes: &mut [u8], field: u16) {
        bytes[16..18].copy_from_slice(&field.to_be_bytes());
    }

    #[test]
    fn the_sum_is_that_of_numbers_of_two_bytes() {
        let bytes: Vec<u8> = (0..=255_u8)
            .cycle()
            .map(|byte| byte.wrapping_mul(167))
            .take(4099)
            .collect();
        for length in (0..70).chain([1460, 4096, 4097, 4098, 4099]) {
            for bytes in [&bytes[..length], &vec![0xff; length], &vec![0; length]] {
                let two = |pair: &[u8]| u64::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u64::from(*low));
                let slow: u64 = bytes.chunks(2).map(two).sum();
                assert_eq!(folded(sum(bytes)), folded(slow), "{length}");
            }
        }
    }

    #[test]
    fn a_checksum_left_to_the_network_card_is_distinguished_from_a_wrong_one() {
        let mut bytes = segment(b"odd number");
        bytes.push(7);
        let pseudo = address(A) + address(B) + 6;
        let right = !folded(pseudo + bytes.len() as u64 + sum(&bytes));
        let with_length = folded(pseudo + bytes.len() as u64);
        for (field, expected) in [
            (right, Checksum::Right),
            (right ^ 0x0100, Checksum::Wrong),
            (0, Checksum::Absent),
            (with_length, Checksum::Absent),
            (folded(pseudo), Checksum::Absent),
        ] {
            set(&mut bytes, field);
            assert_eq!(tcp(A, B, &bytes, 0), expected, "{field:#06x}");
        }
        // A packet captured in part is unknown, unless its checksum is an offload partial sum.
        set(&mut bytes, right);
        assert_eq!(tcp(A, B, &bytes[..21], 10), Checksum::Unknown);
        set(&mut bytes, with_length);
        assert_eq!(tcp(A, B, &bytes[..21], 10), Checksum::Absent);
        assert_eq!(tcp(A, B, &bytes[..12], 0), Checksum::Unknown);
    }

    #[test]
    fn a_wrong_checksum_says_something_only_compared_with_others_of_its_sender() {
        let mut offloading = Sums::default();
        assert!(offloading.admit(Checksum::Absent, false));
        assert!(!offloading.admit(Checksum::Wrong, true), "its card computes right ones");
        let mut rewritten = Sums::default();
        assert!(
            (0..9).all(|_| rewritten.admit(Checksum::Wrong, true)),
            "all of them are wrong"
        );
        assert!(!rewritten.have_changed());
        assert!(rewritten.admit(Checksum::Right, false));
        assert!(rewritten.have_changed(), "what was taken before was none of its");
    }

    #[test]
    fn a_segment_that_no_link_carries_says_nothing_of_others() {
        let mut bytes = segment(&vec![7; 20_000]);
        set(&mut bytes, 0x1234);
        let large = tcp(A, B, &bytes, 0);
        assert_eq!(large, Checksum::Unknown);
        let mut rewritten = Sums::default();
        for checksum in [Checksum::Wrong, large, Checksum::Wrong] {
            assert!(rewritten.admit(checksum, true), "all that can be checked are wrong");
        }
        assert!(!rewritten.have_changed());
    }

    #[test]
    fn a_checksum_of_sctp_is_over_all_of_the_packet_and_zeros_are_none() {
        let mut bytes = vec![0x96, 0x0c, 0x96, 0x0c, 0, 0, 0, 7, 0, 0, 0, 0, 6, 0, 0, 4];
        let sum = !crc32c::update(u32::MAX, &bytes);
        assert_eq!(sctp(&bytes, 0), Checksum::Absent);
        bytes[8..12].copy_from_slice(&sum.to_le_bytes());
        assert_eq!(sctp(&bytes, 0), Checksum::Right);
        assert_eq!(sctp(&bytes, 5), Checksum::Unknown);
        bytes[13] ^= 1;
        assert_eq!(sctp(&bytes, 0), Checksum::Wrong);
        assert_eq!(sctp(&bytes[..11], 0), Checksum::Unknown);
        bytes.resize(3000, 7);
        assert_eq!(sctp(&bytes, 0), Checksum::Unknown, "no link carries it");
    }

    #[test]
    fn udp_without_a_checksum_is_not_wrong_and_padding_behind_it_is_not_of_it() {
        let mut bytes = vec![1, 0xf4, 1, 0xf4, 0, 11, 0, 0, b'a', b'b', b'c'];
        assert_eq!(udp(A, B, &bytes, 0), Checksum::Absent);
        let right = !folded(address(A) + address(B) + 17 + 11 + sum(&bytes));
        bytes[6..8].copy_from_slice(&right.to_be_bytes());
        bytes.extend([0; 9]);
        assert_eq!(udp(A, B, &bytes, 0), Checksum::Right);
        bytes[9] ^= 1;
        assert_eq!(udp(A, B, &bytes, 0), Checksum::Wrong);
        assert_eq!(udp(A, B, &bytes[..10], 0), Checksum::Unknown);
    }
}
