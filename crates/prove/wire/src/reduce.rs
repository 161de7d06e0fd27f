//! Packets without the bytes of which only their number matters ([`Observer::counted`](crate::Observer::counted)).
//!
//! A run of such bytes becomes a [`Hole`]: constant filler, distributed as encrypted bytes are,
//! behind two bytes that keep the one's complement sum unchanged. An Internet checksum over the
//! packet therefore stays as right or as wrong as it was (RFC 1071: the sum does not depend on the
//! place in the packet at which a run of even length begins).

use std::ops::Range;

use crate::checksum::folded;

/// Bytes of a hole that are kept: they make up the sum.
pub const SUM: usize = 2;
/// Shorter runs are not worth a hole.
const SHORTEST: usize = 32;

/// A run of bytes whose content is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hole {
    /// Its place in the packet; an even number of bytes.
    pub place: Range<usize>,
    /// New value of its first bytes.
    pub sum: [u8; SUM],
}

impl Hole {
    /// Replaces a run of bytes of this packet; none if the run is short.
    pub fn of(packet: &[u8], run: Range<usize>) -> Option<Self> {
        let length = run.len() & !1;
        let place = run.start..run.start + length;
        let bytes = packet.get(place.clone()).filter(|_| length >= SHORTEST)?;
        let filler = Vec::from_iter((0..length).map(|place| if place < SUM { 0 } else { filler(place) }));
        // The sum of the removed bytes minus that of the filler, in one's complement.
        let sum = folded(u64::from(folded(words(bytes))) + u64::from(0xffff - folded(words(&filler)))).to_be_bytes();
        Some(Self { place, sum })
    }

    /// Writes it into the packet; nothing where it is not within.
    pub fn write(&self, packet: &mut [u8]) {
        if let Some(bytes) = packet.get_mut(self.place.clone()) {
            fill(bytes);
            if let Some(sum) = bytes.first_chunk_mut() {
                *sum = self.sum;
            }
        }
    }
}

/// Filler at this place behind the sum: each value once in 256 bytes.
fn filler(place: usize) -> u8 {
    (place as u8).wrapping_mul(167).wrapping_add(13)
}

/// Writes what a hole, which these bytes are, holds behind its sum.
pub fn fill(hole: &mut [u8]) {
    for (place, byte) in hole.iter_mut().enumerate().skip(SUM) {
        *byte = filler(place);
    }
}

/// The sum of the 16-bit words of so few bytes as a packet has.
fn words(bytes: &[u8]) -> u64 {
    let words = bytes.as_chunks::<2>().0.iter();
    words.map(|word| u64::from(u16::from_be_bytes(*word))).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::checksum;

    #[test]
    fn short_runs_stay_and_odd_ones_keep_their_last_byte() {
        let packet = [7; 100];
        assert_eq!(Hole::of(&packet, 3..20), None);
        assert_eq!(Hole::of(&packet, 90..130), None);
        assert_eq!(Hole::of(&packet, 3..44).unwrap().place, 3..43);
    }

    proptest! {
        #[test]
        fn a_checksum_is_as_right_or_wrong_as_before(
            mut bytes in prop::collection::vec(any::<u8>(), 120..200),
            start in 20usize..60, length in 32usize..60, right in any::<bool>(),
        ) {
            let [source, destination] = [[10, 0, 0, 1], [10, 0, 0, 2]].map(Into::into);
            if right {
                bytes[16..18].fill(0);
                let header = [&[10, 0, 0, 1, 10, 0, 0, 2, 0, 6, 0, bytes.len() as u8][..], &bytes, &[0]].concat();
                let words = header.as_chunks::<2>().0.iter();
                let sum: u32 = words.map(|word| u32::from(u16::from_be_bytes(*word))).sum();
                let sum = (sum & 0xffff) + (sum >> 16);
                let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
                bytes[16..18].copy_from_slice(&sum.to_be_bytes());
                prop_assert_eq!(checksum::tcp(source, destination, &bytes, 0), checksum::Checksum::Right);
            }
            let before = checksum::tcp(source, destination, &bytes, 0);
            let hole = Hole::of(&bytes, start..start + length).unwrap();
            hole.write(&mut bytes);
            prop_assert_eq!(checksum::tcp(source, destination, &bytes, 0), before);
            let left = (SUM..hole.place.len()).all(|place| bytes[hole.place.start + place] == filler(place));
            prop_assert!(left);
            prop_assert_eq!(Hole::of(&bytes, hole.place.clone()).map(|hole| hole.sum), Some(hole.sum));
        }
    }
}
