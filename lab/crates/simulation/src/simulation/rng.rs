//! Rng that is the same on every machine.

use bartizan_estimators::Random;

/// Numbers by a seed: every operation is exact in IEEE 754, so that no library of a system decides about a result.
#[derive(Debug, Clone)]
pub struct Rng(Random);

/// ln 2, correctly rounded.
const LN_2: f64 = std::f64::consts::LN_2;

impl Rng {
    /// The numbers of one purpose (`stream`) under a seed; purposes do not disturb each other, so
    /// that two plans that differ in cryptography meet the same round trips.
    #[must_use]
    pub fn seeded(seed: u64, stream: u64) -> Self {
        // Weyl steps by the golden ratio part the streams of neighbouring seeds.
        Self(Random::seeded(
            seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ stream.wrapping_mul(0xd1b5_4a32_d192_ed03),
        ))
    }

    /// At least 0, below 1, in steps of 2^-53.
    pub fn share(&mut self) -> f64 {
        // Two draws: a usize may have 32 bits.
        let high = self.0.below(1 << 26) as u64;
        let low = self.0.below(1 << 27) as u64;
        ((high << 27) | low) as f64 / (1_u64 << 53) as f64
    }

    /// Returns true with this probability.
    pub fn happens(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.share() < probability
    }

    /// Evenly between two whole numbers, the lower included; the lower one where they are in the wrong order.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        if high <= low {
            return low;
        }
        low + (self.share() * (high - low) as f64) as u64
    }

    /// An exponentially distributed time of this mean.
    pub fn exponential(&mut self, mean: u64) -> u64 {
        // 1 - share is above 0 and at most 1.
        (-logarithm(1.0 - self.share()) * mean as f64) as u64
    }

    /// Number of successes in `n` independent draws with this probability.
    pub fn binomial(&mut self, n: u16, probability: f64) -> u16 {
        if probability <= 0.0 {
            return 0;
        }
        (0..n).map(|_| u16::from(self.share() < probability)).sum()
    }
}

/// The natural logarithm of a number above 0 and at most 1, by additions, multiplications and divisions alone.
fn logarithm(x: f64) -> f64 {
    // x = mantissa * 2^exponent with a mantissa from 1 to 2, then from 1/sqrt(2) to sqrt(2): the
    // series converges fast there.
    let bits = x.to_bits();
    let mut exponent = ((bits >> 52) & 0x7ff) as i64 - 1023;
    let mut mantissa = f64::from_bits((bits & 0x000f_ffff_ffff_ffff) | 0x3ff0_0000_0000_0000);
    if mantissa > std::f64::consts::SQRT_2 {
        mantissa /= 2.0;
        exponent += 1;
    }
    // ln m = 2 artanh((m - 1) / (m + 1)); |s| <= 0.172, so that the term of s^25 is below the last bit.
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let square = s * s;
    let mut term = s;
    let mut sum = s;
    let mut odd = 1.0;
    while odd < 25.0 {
        odd += 2.0;
        term *= square;
        sum += term / odd;
    }
    2.0 * sum + exponent as f64 * LN_2
}

#[cfg(test)]
mod tests {
    use super::{Rng, logarithm};
    use proptest::prelude::*;

    #[test]
    fn a_seed_and_a_stream_give_the_same_numbers_for_ever() {
        let mut chance = Rng::seeded(7, 1);
        let first: Vec<u64> = (0..4).map(|_| chance.between(0, 1_000_000)).collect();
        let mut again = Rng::seeded(7, 1);
        assert_eq!(first, (0..4).map(|_| again.between(0, 1_000_000)).collect::<Vec<_>>());
        let mut other = Rng::seeded(7, 2);
        assert_ne!(first, (0..4).map(|_| other.between(0, 1_000_000)).collect::<Vec<_>>());
    }

    #[test]
    fn exponential_times_have_their_mean_and_their_spread() {
        let mut chance = Rng::seeded(3, 0);
        let n = 200_000;
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..n {
            let value = chance.exponential(1_000_000) as f64 / 1e6;
            sum += value;
            squares += value * value;
        }
        // Five standard errors of a mean of 200,000 with deviation 1 are 0.011; of the second
        // moment, whose deviation is sqrt(20), 0.05.
        assert!((sum / f64::from(n) - 1.0).abs() < 0.012, "{}", sum / f64::from(n));
        assert!(
            (squares / f64::from(n) - 2.0).abs() < 0.05,
            "{}",
            squares / f64::from(n)
        );
    }

    #[test]
    fn nothing_is_lost_with_probability_zero_and_all_with_one() {
        let mut chance = Rng::seeded(1, 0);
        assert_eq!(chance.binomial(30, 0.0), 0);
        assert_eq!(chance.binomial(30, 1.0), 30);
        assert_eq!(chance.between(5, 5), 5);
        assert_eq!(chance.between(6, 5), 6);
    }

    proptest! {
        #[test]
        fn the_logarithm_is_that_of_the_library_to_the_last_digits(x in 1e-16..1.0_f64) {
            let (ours, theirs) = (logarithm(x), x.ln());
            prop_assert!((ours - theirs).abs() <= 1e-14 * theirs.abs().max(1e-3), "{ours} {theirs}");
        }
    }
}
