//! Sequence numbers that an inbound SA has seen (RFC 4303, section 3.4.3), and the upper halves
//! that packets do not carry (appendix A).

use crate::error::{OpenError, Unusable};
use crate::suite::SequenceNumbers;

/// A window of the newest numbers, one bit each, in a ring of words: it moves by clearing what it passes (RFC 6479).
pub(crate) struct Window {
    /// A power of two of them, at least one more than the window has.
    words: Box<[u64]>,
    size: u64,
    /// The largest number that was proven; zero before the first.
    pub(crate) highest: u64,
    numbers: SequenceNumbers,
}

impl Window {
    pub(crate) fn new(size: u16, numbers: SequenceNumbers) -> Result<Self, Unusable> {
        if !(64..=4096).contains(&size) {
            return Err(Unusable::Window(size));
        }
        let words = usize::from(size).div_ceil(64) + 1;
        Ok(Self {
            words: vec![0; words.next_power_of_two()].into(),
            size: size.into(),
            highest: 0,
            numbers,
        })
    }

    pub(crate) fn starting_after(&mut self, sequence: u64) {
        self.highest = sequence;
        self.words.fill(u64::MAX);
        // Those behind it in its own word are still to come.
        let word = self.word(sequence);
        self.words[word] = u64::MAX >> (63 - (sequence & 63));
    }

    /// The whole number of a packet that carries this half: the one nearest the window, which never
    /// lies more than 2^32 ahead of its lower end (RFC 4303, appendix A2.2). None before the first
    /// number there is.
    pub(crate) fn whole(&self, lower: u32) -> Option<u64> {
        if self.numbers == SequenceNumbers::Bits32 {
            return Some(lower.into());
        }
        let (upper, behind) = (self.highest >> 32, (self.size - 1) as u32);
        let highest = self.highest as u32;
        let upper = match highest.checked_sub(behind) {
            Some(bottom) if lower >= bottom => upper,
            Some(_) => upper.checked_add(1).filter(|upper| *upper <= u64::from(u32::MAX))?,
            // The window reaches into the numbers before.
            None if lower >= highest.wrapping_sub(behind) => upper.checked_sub(1)?,
            None => upper,
        };
        Some(upper << 32 | u64::from(lower))
    }

    /// Checks that a packet with this number may be new: before it is proven, which costs more.
    pub(crate) fn check(&self, sequence: u64) -> Result<(), OpenError> {
        if sequence == 0 {
            // The first is 1 (RFC 4303, section 3.3.3).
            return Err(OpenError::Late);
        }
        match self.highest.checked_sub(sequence) {
            None => Ok(()),
            Some(behind) if behind >= self.size => Err(OpenError::Late),
            Some(_) if self.words[self.word(sequence)] & bit(sequence) != 0 => Err(OpenError::Replayed(sequence)),
            Some(_) => Ok(()),
        }
    }

    /// Takes the number of a packet that was proven.
    pub(crate) fn accept(&mut self, sequence: u64) {
        if sequence > self.highest {
            let passed = (sequence >> 6) - (self.highest >> 6);
            for step in 1..=passed.min(self.words.len() as u64) {
                let word = self.word((self.highest & !63).wrapping_add(step << 6));
                self.words[word] = 0;
            }
            self.highest = sequence;
        }
        let word = self.word(sequence);
        self.words[word] |= bit(sequence);
    }

    fn word(&self, sequence: u64) -> usize {
        (sequence >> 6) as usize & (self.words.len() - 1)
    }
}

fn bit(sequence: u64) -> u64 {
    1 << (sequence & 63)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_window_has_64_to_4096_packets() {
        for size in [0, 63, 4097, u16::MAX] {
            assert_eq!(
                Window::new(size, SequenceNumbers::Bits32).err(),
                Some(Unusable::Window(size))
            );
        }
        for size in [64, 65, 1000, 4096] {
            assert!(Window::new(size, SequenceNumbers::Extended).is_ok());
        }
    }

    #[test]
    fn the_upper_half_is_found_on_both_sides_of_a_wrap() {
        let mut window = Window::new(64, SequenceNumbers::Extended).unwrap();
        // Before anything came, what lies behind zero is no packet.
        assert_eq!(window.whole(u32::MAX), None);
        assert_eq!(window.whole(1), Some(1));
        window.accept(0xffff_fff0);
        assert_eq!(window.whole(0xffff_fff1), Some(0xffff_fff1));
        assert_eq!(window.whole(3), Some(0x1_0000_0003));
        window.accept(0x1_0000_0003);
        assert_eq!(window.whole(0xffff_fff1), Some(0xffff_fff1));
        assert_eq!(window.whole(4), Some(0x1_0000_0004));
        window.accept(u64::MAX);
        assert_eq!(window.whole(5), None);
    }

    #[test]
    fn numbers_proven_before_a_hand_over_are_not_taken_again() {
        let mut window = Window::new(128, SequenceNumbers::Bits32).unwrap();
        window.starting_after(1000);
        assert_eq!(window.check(1000), Err(OpenError::Replayed(1000)));
        assert_eq!(window.check(873), Err(OpenError::Replayed(873)));
        assert_eq!(window.check(872), Err(OpenError::Late));
        for next in [1003, 1001, 1002] {
            assert_eq!(window.check(next), Ok(()), "{next}");
            window.accept(next);
            assert_eq!(window.check(next), Err(OpenError::Replayed(next)));
        }
    }

    proptest! {
        /// Against a set of all that came: what is taken is new and in the window, and nothing that
        /// is new and in the window is refused.
        #[test]
        fn a_window_takes_each_number_once(
            size in 64_u16..=4096,
            start in prop_oneof![Just(0_u64), 0..1_u64 << 40],
            steps in prop::collection::vec((any::<bool>(), prop_oneof![0_u64..200, 0_u64..10_000, any::<u32>().prop_map(u64::from)]), 1..400),
        ) {
            let mut window = Window::new(size, SequenceNumbers::Extended).unwrap();
            let (mut seen, mut highest) = (BTreeSet::new(), 0);
            for (index, (ahead, by)) in steps.into_iter().enumerate() {
                let sequence = match (index, ahead) {
                    (0, _) => start + 1,
                    (_, true) => highest + by,
                    (_, false) => highest.saturating_sub(by),
                };
                let expected = match sequence {
                    0 => Err(OpenError::Late),
                    _ if sequence + u64::from(size) <= highest => Err(OpenError::Late),
                    _ if seen.contains(&sequence) => Err(OpenError::Replayed(sequence)),
                    _ => Ok(()),
                };
                prop_assert_eq!(window.check(sequence), expected);
                if expected.is_ok() {
                    window.accept(sequence);
                    seen.insert(sequence);
                    highest = highest.max(sequence);
                }
            }
        }

        /// A sender's numbers are found again from their lower halves while the receiver misses
        /// fewer than 2^32 less the window.
        #[test]
        fn whole_numbers_are_found_from_their_lower_halves(
            size in 64_u16..=4096,
            start in 1_u64..1 << 60,
            jumps in prop::collection::vec((0_u64..(1 << 32) - 4096, 0_u64..4096), 1..50),
        ) {
            let mut window = Window::new(size, SequenceNumbers::Extended).unwrap();
            window.starting_after(start);
            let mut sent = start;
            for (jump, back) in jumps {
                sent += jump + 1;
                prop_assert_eq!(window.whole(sent as u32), Some(sent));
                window.accept(sent);
                let earlier = sent - back % u64::from(size);
                if earlier > 0 {
                    prop_assert_eq!(window.whole(earlier as u32), Some(earlier));
                }
            }
        }
    }
}
