//! Intervals by resampling (Efron's bootstrap, percentile method).
//!
//! The percentile method and not BCa: the acceleration of BCa comes from the jackknife, which is
//! inconsistent for a median (Efron, 1979).

use crate::{Confidence, Error, Estimate, Interval, Pairs, Random, Sample};
use bartizan_stats::quantile;

use crate::median::median_in_place;

/// Parameters of a bootstrap interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Resampling {
    /// Confidence of the interval.
    pub confidence: Confidence,
    /// Number of times that the sample is drawn again; at least one is.
    pub resamples: usize,
    /// The same seed gives the same interval.
    pub seed: u64,
}

impl Resampling {
    /// 95 % by 10,000 resamples: an end of the interval then lies within 0.4 % of its share of the
    /// distribution, two times out of three.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self {
            confidence: Confidence::P95,
            resamples: 10_000,
            seed,
        }
    }

    /// The percentiles of what `draw` gives.
    fn percentiles(&self, mut draw: impl FnMut(&mut Random) -> f64) -> Interval {
        let mut random = Random::seeded(self.seed);
        let mut drawn: Vec<f64> = (0..self.resamples.max(1)).map(|_| draw(&mut random)).collect();
        drawn.sort_by(f64::total_cmp);
        let tail = self.confidence.tail();
        Interval {
            low: quantile(&drawn, tail),
            high: quantile(&drawn, 1.0 - tail),
        }
    }
}

/// The median of a sample with its interval.
#[must_use]
pub fn median_interval(sample: &Sample, resampling: &Resampling) -> Estimate {
    let values = sample.sorted();
    let mut again = vec![0.0; values.len()];
    let interval = resampling.percentiles(|random| {
        again.fill_with(|| values[random.below(values.len())]);
        median_in_place(&mut again)
    });
    Estimate {
        value: sample.median(),
        interval,
    }
}

/// Median of the first way over median of the second, with its interval; whole pairs are drawn
/// again, so that what slowed both of a repetition stays together.
///
/// # Errors
/// [`Error::DividedByZero`] where the median of the second way, or of a resample of it, is 0.
pub fn ratio_of_medians(pairs: &Pairs, resampling: &Resampling) -> Result<Estimate, Error> {
    let (first, second) = (pairs.first(), pairs.second());
    let (mut above, mut below) = (first.to_vec(), second.to_vec());
    let value = median_in_place(&mut above) / median_in_place(&mut below);
    let interval = resampling.percentiles(|random| {
        for (one, other) in above.iter_mut().zip(&mut below) {
            let drawn = random.below(first.len());
            (*one, *other) = (first[drawn], second[drawn]);
        }
        median_in_place(&mut above) / median_in_place(&mut below)
    });
    finite(Estimate { value, interval })
}

/// Median of the first sample over median of the second, with its interval, where nothing pairs
/// their values: each sample is drawn again by itself.
///
/// # Errors
/// [`Error::DividedByZero`] as above.
pub fn ratio_of_sample_medians(first: &Sample, second: &Sample, resampling: &Resampling) -> Result<Estimate, Error> {
    let (mut above, mut below) = (first.sorted().to_vec(), second.sorted().to_vec());
    let value = first.median() / second.median();
    let interval = resampling.percentiles(|random| {
        above.fill_with(|| first.sorted()[random.below(first.n())]);
        below.fill_with(|| second.sorted()[random.below(second.n())]);
        median_in_place(&mut above) / median_in_place(&mut below)
    });
    finite(Estimate { value, interval })
}

fn finite(estimate: Estimate) -> Result<Estimate, Error> {
    let Estimate { value, interval } = estimate;
    if [value, interval.low, interval.high]
        .iter()
        .all(|number| number.is_finite())
    {
        Ok(estimate)
    } else {
        Err(Error::DividedByZero)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_interval_and_another_one_a_slightly_different() {
        let sample = Sample::new((0..101).map(|index| f64::from(index * index % 101))).unwrap();
        let of = |seed| {
            let resampling = Resampling {
                resamples: 300,
                ..Resampling::seeded(seed)
            };
            median_interval(&sample, &resampling)
        };
        assert_eq!(of(1), of(1));
        assert!((2..20).any(|seed| of(seed) != of(1)));
    }

    #[test]
    fn what_slowed_both_of_a_pair_does_not_widen_the_ratio() {
        // Repetitions differ by a factor of ten, the alternatives within each by exactly 2.
        let second: Vec<f64> = (0..60).map(|index| f64::from(1 + index % 10)).collect();
        let first: Vec<f64> = second.iter().map(|value| 2.0 * value).collect();
        let pairs = Pairs::new(&first, &second).unwrap();
        let ratio = ratio_of_medians(&pairs, &Resampling::seeded(1)).unwrap();
        assert_eq!(ratio.value, 2.0);
        assert_eq!(ratio.interval, Interval { low: 2.0, high: 2.0 });
    }

    #[test]
    fn a_median_of_zero_below_the_line_is_an_error() {
        let pairs = Pairs::new(&[1.0, 2.0], &[0.0, 0.0]).unwrap();
        assert_eq!(
            ratio_of_medians(&pairs, &Resampling::seeded(1)),
            Err(Error::DividedByZero)
        );
    }
}
