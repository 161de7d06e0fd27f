//! Two modes: a machine that is sometimes faster and sometimes slower, for everything at once.

use serde::Serialize;

use crate::dip::OneMode;
use crate::{Error, Sample};

/// Below this size no dip is unlikely enough.
const LEAST: usize = 12;
/// A mode has at least this share of the values: less are outliers.
const SMALLEST: f64 = 0.1;

/// Two modes of positive values, parted where their logarithms lie closest to the medians of both sides.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Modes {
    /// Probability that values of one mode dip as much (Hartigan and Hartigan).
    pub p: f64,
    /// Values up to this one are of the lower mode.
    pub boundary: f64,
    /// Medians of the lower and of the upper mode.
    pub medians: [f64; 2],
    /// Share of the values in the upper mode.
    pub upper: f64,
}

impl Modes {
    /// The upper median over the lower.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.medians[1] / self.medians[0]
    }

    /// Returns true if this value is of the upper mode.
    #[must_use]
    pub fn is_upper(&self, value: f64) -> bool {
        value > self.boundary
    }

    /// Parts values, all above 0, at the place where their logarithms lie closest to the medians of
    /// both sides (sum of distances); each side has a tenth of them at least. `one` is the
    /// distribution of the dip without two modes, of samples of this size.
    ///
    /// That there are two modes is what `p` says, and not the parting, which finds a place in any sample.
    ///
    /// # Errors
    /// [`Error::TooFew`] below twelve values; [`Error::NotPositive`].
    pub fn of(sample: &Sample, one: &OneMode) -> Result<Self, Error> {
        let n = sample.n();
        if n < LEAST {
            return Err(Error::TooFew { n });
        }
        if sample.sorted()[0] <= 0.0 {
            return Err(Error::NotPositive);
        }
        let logs: Vec<f64> = sample.sorted().iter().map(|value| value.ln()).collect();
        let least = ((SMALLEST * n as f64).ceil() as usize).max(3);
        let sums = Sums::of(&logs);
        let at = (least..=n - least).min_by(|one, other| {
            let cost = |at: usize| sums.distance(&logs, 0, at) + sums.distance(&logs, at, n);
            cost(*one).total_cmp(&cost(*other))
        });
        let at = at.ok_or(Error::TooFew { n })?;
        let log_sample = Sample::new(logs.iter().copied())?;
        let part = |values: &[f64]| Ok::<f64, Error>(Sample::new(values.iter().copied())?.median());
        let values = sample.sorted();
        Ok(Self {
            p: one.p(&log_sample),
            // In the middle of the gap, by its logarithm.
            boundary: (0.5 * (logs[at - 1] + logs[at])).exp(),
            medians: [part(&values[..at])?, part(&values[at..])?],
            upper: (n - at) as f64 / n as f64,
        })
    }
}

/// Sums of the first so many sorted values.
struct Sums(Vec<f64>);

impl Sums {
    fn of(sorted: &[f64]) -> Self {
        let mut sums = vec![0.0];
        let mut sum = 0.0;
        for value in sorted {
            sum += value;
            sums.push(sum);
        }
        Self(sums)
    }

    /// Sum of the distances from their median, for the values from one index to before another.
    fn distance(&self, sorted: &[f64], from: usize, to: usize) -> f64 {
        let middle = from + (to - from) / 2;
        let median = sorted[middle];
        let below = median * (middle - from) as f64 - (self.0[middle] - self.0[from]);
        let above = (self.0[to] - self.0[middle]) - median * (to - middle) as f64;
        below + above
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    /// About normal logarithms of this spread around each of two places, the second one with this share.
    fn two(random: &mut Random, n: usize, places: [f64; 2], share: f64, spread: f64) -> Vec<f64> {
        (0..n)
            .map(|_| {
                let slow = (random.below(1000) as f64) < share * 1000.0;
                let noise = (0..12).map(|_| random.below(1000) as f64 / 1000.0).sum::<f64>() - 6.0;
                places[usize::from(slow)] * (spread * noise).exp()
            })
            .collect()
    }

    #[test]
    fn a_quarter_of_trials_that_run_half_as_fast_again_is_found_and_parted() {
        let mut random = Random::seeded(1);
        let one = OneMode::of_size(200, 1);
        let mut found = 0;
        for _ in 0..50 {
            let values = two(&mut random, 200, [9.0, 13.5], 0.25, 0.05);
            let modes = Modes::of(&Sample::new(values.iter().copied()).unwrap(), &one).unwrap();
            found += usize::from(modes.p < 0.01);
            assert!((modes.ratio() - 1.5).abs() < 0.1, "{modes:?}");
            assert!(modes.boundary > 9.9 && modes.boundary < 12.4, "{modes:?}");
            assert!(modes.is_upper(13.0) && !modes.is_upper(9.5));
        }
        assert!(found >= 48, "{found} of 50");
    }

    #[test]
    fn a_long_tail_is_no_second_mode() {
        let mut random = Random::seeded(2);
        let one = OneMode::of_size(200, 1);
        // Log-normal with a spread of a quarter, and a twentieth of the values as outliers.
        let wrong = (0..200)
            .filter(|_| {
                let mut values = two(&mut random, 200, [10.0, 10.0], 0.0, 0.25);
                for value in values.iter_mut().take(10) {
                    *value *= 3.0;
                }
                Modes::of(&Sample::new(values).unwrap(), &one).unwrap().p < 0.01
            })
            .count();
        assert!(wrong <= 2, "{wrong} of 200");
    }

    #[test]
    fn few_values_and_values_that_are_no_times_have_no_modes() {
        let one = OneMode::of_size(11, 1);
        let of = |values: &[f64]| Modes::of(&Sample::new(values.iter().copied()).unwrap(), &one);
        assert_eq!(of(&[1.0; 11]), Err(Error::TooFew { n: 11 }));
        assert_eq!(of(&[0.0; 12]), Err(Error::NotPositive));
        assert_eq!(of(&[1.0; 12]).unwrap().p, 1.0);
    }
}
