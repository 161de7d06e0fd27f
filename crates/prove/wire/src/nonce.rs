//! Nonces of recent packets under one key. Two different packets under one key and nonce are
//! readable by a recorder of both, without the key (SP 800-38D, section 8). Identical packets are
//! copies that the network made.
//!
//! One rule for ESP, IKE and MACsec: one packet under a nonce that another had is a contradiction,
//! because either may be injected; from two such packets on it is the sender. In a longer flow the
//! first and the newest [`PLACES`] packets are compared, in bounded memory.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZeroU32;

use crate::Moment;
use crate::allocation::allocated;

/// Places of a table at first and at most; half of them keep the first packet that came there, the others the last.
const PLACES: [usize; 2] = [2, 1024];
/// Bytes compared of the beginning of a packet: a nonce and what is behind it.
const HEAD: usize = 24;
/// Bytes compared of its end: a check value among them, which differs wherever any byte does.
pub(crate) const TAIL: usize = 64;

/// Parts of a packet that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Digest {
    nonce: u64,
    /// Covers its length and its beginning.
    head: u32,
    /// Covers its end; none where that was not captured.
    tail: Option<u32>,
}

impl Digest {
    /// True where both cannot be one packet, as far as they were captured.
    fn differs(&self, other: &Self) -> bool {
        let tails = self.tail.zip(other.tail);
        self.head != other.head || tails.is_some_and(|(ours, theirs)| ours != theirs)
    }
}

/// Nonces that came before with other packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reuse {
    /// The first packet under a nonce that another packet had.
    pub first: Moment,
    /// True for two such packets or more: one alone may be injected.
    pub several: bool,
}

/// Packets under one key, within a bound.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Nonces {
    places: Vec<Option<Digest>>,
    packets: u64,
    /// Packets under a nonce that another packet had.
    conflicts: u64,
    reuse: Option<Reuse>,
}

impl Nonces {
    /// Takes a packet from its nonce on, of which `missing` more bytes were sent; says whether its
    /// nonce came before with another packet.
    pub(crate) fn take(&mut self, nonce: u64, packet: &[u8], missing: usize, at: Moment) -> bool {
        let Some(head) = packet.get(..HEAD.min(packet.len() + missing)) else {
            return false;
        };
        let tail = &packet[packet.len().saturating_sub(TAIL)..];
        let digest = Digest {
            nonce,
            head: hash(&(packet.len() + missing, head)),
            tail: (missing == 0).then(|| hash(&tail)),
        };
        self.packets += 1;
        if self.packets > self.places.len() as u64 && self.places.len() < PLACES[1] {
            self.grow();
        }
        let reused = self.put(digest);
        if reused {
            self.conflicts += 1;
            let several = self.conflicts > 1;
            let first = Reuse { first: at, several };
            self.reuse.get_or_insert(first).several |= several;
        }
        reused
    }

    /// Nonces used twice, under this key or one before it.
    pub(crate) fn reuse(&self) -> Option<Reuse> {
        self.reuse
    }

    /// Another key protects what comes.
    pub(crate) fn forget(&mut self) {
        *self = Self {
            conflicts: self.conflicts,
            reuse: self.reuse,
            ..Self::default()
        };
    }

    /// Bytes it holds on the heap.
    pub(crate) fn held(&self) -> usize {
        allocated(self.places.capacity() * size_of::<Option<Digest>>())
    }

    fn grow(&mut self) {
        let size = (2 * self.places.len()).clamp(PLACES[0], PLACES[1]);
        let before = std::mem::replace(&mut self.places, vec![None; size]);
        for digest in before.into_iter().flatten() {
            self.put(digest);
        }
    }

    fn put(&mut self, digest: Digest) -> bool {
        let half = self.places.len() / 2;
        let place = hash(&digest.nonce) as usize % half;
        let known = [place, half + place].into_iter().filter_map(|place| self.places[place]);
        let same_nonce: Vec<Digest> = known.filter(|known| known.nonce == digest.nonce).collect();
        // A copy of either packet that is kept is no further packet.
        let reused = !same_nonce.is_empty() && same_nonce.iter().all(|known| known.differs(&digest));
        self.places[place].get_or_insert(digest);
        self.places[half + place] = Some(digest);
        reused
    }
}

/// A digest of a packet's length and beginning, never 0; none where too little was captured.
pub(crate) fn beginning(packet: &[u8], missing: usize) -> Option<NonZeroU32> {
    let head = packet.get(..HEAD.min(packet.len() + missing))?;
    NonZeroU32::new(hash(&(packet.len() + missing, head)) | 1)
}

fn hash(value: &impl Hash) -> u32 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish() as u32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Timestamp;

    fn at(packet: u64) -> Moment {
        Moment {
            packet,
            time: Timestamp(0),
        }
    }

    fn packet(nonce: u64, content: u8) -> Vec<u8> {
        [&nonce.to_be_bytes()[..], &[content; 90]].concat()
    }

    #[test]
    fn copies_are_none_and_another_packet_under_the_nonce_is_one() {
        let mut nonces = Nonces::default();
        for nonce in 1..40 {
            assert!(!nonces.take(nonce, &packet(nonce, 1), 0, at(1)));
            assert!(!nonces.take(nonce, &packet(nonce, 1), 0, at(1)), "a copy");
        }
        assert!(nonces.take(1, &packet(1, 2), 0, at(1)));
        assert!(!nonces.take(1, &packet(1, 2), 0, at(1)), "a copy of the other");
        assert!(!nonces.reuse().unwrap().several, "one packet");
        assert!(nonces.take(1, &packet(1, 3), 0, at(1)), "a nonce that never changes");
        assert!(nonces.reuse().unwrap().several);
        nonces.forget();
        assert!(!nonces.take(1, &packet(1, 3), 0, at(1)), "under another key");
        assert!(nonces.reuse().unwrap().several, "it stays so");
    }

    #[test]
    fn one_packet_under_each_of_many_keys_is_several() {
        let mut nonces = Nonces::default();
        for _ in 0..2 {
            assert!(!nonces.take(1, &packet(1, 1), 0, at(1)));
            assert!(nonces.take(1, &packet(1, 2), 0, at(1)));
            nonces.forget();
        }
        assert!(nonces.reuse().unwrap().several);
    }

    #[test]
    fn a_copy_captured_in_part_is_a_copy_and_another_packet_is_none() {
        let mut nonces = Nonces::default();
        assert!(!nonces.take(7, &packet(7, 1), 0, at(1)));
        assert!(!nonces.take(7, &packet(7, 1)[..40], 58, at(1)));
        assert!(nonces.take(7, &packet(7, 2)[..40], 58, at(1)));
        assert!(!nonces.take(7, &packet(7, 2)[..10], 88, at(1)), "too little is left");
    }

    #[test]
    fn a_counter_that_begins_again_behind_many_packets_is_noticed() {
        let mut nonces = Nonces::default();
        for nonce in 1..100_000u64 {
            assert!(!nonces.take(nonce, &packet(nonce, 1), 0, at(1)));
        }
        assert!((1..100).any(|nonce| nonces.take(nonce, &packet(nonce, 2), 0, at(1))));
        assert!(nonces.held() <= 40 * PLACES[1]);
    }

    proptest! {
        #[test]
        fn no_packet_panics(packet in prop::collection::vec(any::<u8>(), 0..120), missing in 0usize..2000, nonce: u64) {
            let mut nonces = Nonces::default();
            nonces.take(nonce, &packet, missing, at(1));
            prop_assert!(!nonces.take(nonce, &packet, missing, at(1)));
        }
    }
}
