//! Hash tables that every packet is looked up in.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::ops::{Deref, DerefMut};

use super::memory::Memory;

/// A table with a hash that costs a few nanoseconds. An attacker chooses addresses, ports and SPIs:
/// a random key of the hash keeps it from choosing those that collide. The table counts its memory.
pub(super) struct Table<K, V> {
    entries: HashMap<K, V, Keyed>,
    /// The most places it has had since it last gave any back: it counts those of removed entries as room only later.
    places: usize,
}

impl<K, V> Default for Table<K, V> {
    fn default() -> Self {
        Self {
            entries: HashMap::default(),
            places: 0,
        }
    }
}

impl<K, V> Deref for Table<K, V> {
    type Target = HashMap<K, V, Keyed>;

    fn deref(&self) -> &Self::Target {
        &self.entries
    }
}

impl<K, V> DerefMut for Table<K, V> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.entries
    }
}

impl<K, V> Table<K, V> {
    /// Bytes that another entry may take: none where there is a place, else a table twice as large next to this one.
    pub(super) fn growth(&self) -> usize {
        if self.entries.len() < self.entries.capacity() {
            return 0;
        }
        Self::bytes(2 * self.places.max(2))
    }

    /// Counts what it has grown by.
    pub(super) fn grown(&mut self, memory: &mut Memory) {
        let capacity = self.entries.capacity();
        // A power of two, of which an eighth stays empty.
        let places = match capacity {
            0 => 0,
            _ => (capacity + capacity / 7).next_power_of_two(),
        };
        if places > self.places {
            memory.changed(Self::bytes(self.places), Self::bytes(places));
            self.places = places;
        }
    }

    /// One byte of control for each place.
    fn bytes(places: usize) -> usize {
        places * (size_of::<(K, V)>() + 1)
    }
}

impl<K: Eq + Hash, V> Table<K, V> {
    /// Gives places back once three of four are empty.
    pub(super) fn shrink(&mut self, memory: &mut Memory) {
        if 4 * self.entries.len() >= self.places {
            return;
        }
        self.entries.shrink_to_fit();
        let before = std::mem::take(&mut self.places);
        memory.gone(Self::bytes(before));
        self.grown(memory);
    }
}

/// Two keys, other ones in each observer.
#[derive(Clone)]
pub(super) struct Keyed([u64; 2]);

impl Default for Keyed {
    fn default() -> Self {
        let chance = RandomState::new();
        // Odd, so that multiplying by the first loses nothing.
        Self([chance.hash_one(0) | 1, chance.hash_one(1)])
    }
}

impl BuildHasher for Keyed {
    type Hasher = Folded;

    fn build_hasher(&self) -> Folded {
        Folded {
            factor: self.0[0],
            state: self.0[1],
        }
    }
}

/// Multiplies to 128 bits and folds the halves, word by word, as wyhash does.
pub(super) struct Folded {
    factor: u64,
    state: u64,
}

impl Hasher for Folded {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.write_u64(value.into());
    }

    fn write_u16(&mut self, value: u16) {
        self.write_u64(value.into());
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(value.into());
    }

    fn write_u64(&mut self, value: u64) {
        self.state = folded(self.state ^ value, self.factor).wrapping_add(self.factor);
    }

    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }

    fn finish(&self) -> u64 {
        // One multiplication leaves keys that follow each other at equal distances.
        let state = folded(self.state ^ (self.state >> 32), GOLDEN);
        folded(state ^ (state >> 29), GOLDEN)
    }
}

/// 2^64 divided by the golden ratio, an odd number.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

fn folded(one: u64, other: u64) -> u64 {
    let wide = u128::from(one) * u128::from(other);
    wide as u64 ^ (wide >> 64) as u64
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn neighbouring_keys_spread_over_low_and_high_bits_alike() {
        for seed in 0..200u64 {
            let keyed = Keyed([folded(seed + 1, GOLDEN) | 1, folded(seed + 7, GOLDEN)]);
            for shift in [0, 20, 48] {
                let places: BTreeSet<u64> = (0..4096u64).map(|key| keyed.hash_one(key) >> shift & 0xffff).collect();
                // Chance gives 3970 of 65536 places, give or take 11; a hash that folds keys together far fewer.
                assert!(places.len() > 3850, "{} at {shift} by {seed}", places.len());
            }
        }
    }
}
