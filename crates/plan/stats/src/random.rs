//! Chance that can be repeated.

use rand_core::{Rng as _, SeedableRng as _};
use rand_pcg::Pcg64;

/// Random numbers by PCG XSL RR 128/64, the same for the same seed in every version: a recorded
/// seed repeats the order of an experiment and the resamples of an interval.
#[derive(Debug, Clone)]
pub struct Random(Pcg64);

impl Random {
    /// The numbers of this seed.
    pub fn seeded(seed: u64) -> Self {
        Self(Pcg64::seed_from_u64(seed))
    }

    /// A number below `bound`, each equally likely; 0 when `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        let bound = bound as u64;
        loop {
            // Lemire, 2019: multiply, and reject the few low words that would make some results likelier.
            let wide = u128::from(self.0.next_u64()) * u128::from(bound);
            let (high, low) = ((wide >> 64) as u64, wide as u64);
            if bound == 0 || low >= bound || low >= bound.wrapping_neg() % bound {
                // Below `bound`, which was a usize.
                return high as usize;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_numbers_for_ever() {
        // A change here makes recorded seeds worthless: records would need a new schema version.
        let mut random = Random::seeded(7);
        let numbers: Vec<usize> = (0..8).map(|_| random.below(1000)).collect();
        assert_eq!(numbers, [0, 231, 901, 835, 491, 591, 89, 323]);
    }

    #[test]
    fn every_number_below_the_bound_comes_up_about_as_often() {
        let mut random = Random::seeded(1);
        let mut seen = [0_i32; 7];
        for _ in 0..70_000 {
            seen[random.below(7)] += 1;
        }
        // Five standard deviations of a binomial of 70,000 and 1/7 are 463.
        assert!(seen.iter().all(|count| (count - 10_000).abs() < 463), "{seen:?}");
    }

    #[test]
    fn nothing_to_choose_from_is_no_endless_loop() {
        let mut random = Random::seeded(3);
        assert_eq!((random.below(0), random.below(1)), (0, 0));
    }
}
