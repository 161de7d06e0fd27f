//! Numbers of repetitions that are enough.

use crate::student::t_quantile;
use crate::{Confidence, Error, Estimate, Sample, standard_deviation};

/// Upper bound on repetitions of an experiment: there is no answer if more would be needed.
const MOST: usize = 1_000_000;

/// Number of repetitions with which Student's interval of the mean reaches no further than this
/// share of the mean to either side, judged by the deviation of those there are; `None` where a
/// million are not enough or the mean is 0.
///
/// # Errors
/// [`Error::TooFew`] for a single value.
pub fn repetitions_for_mean(sample: &Sample, share: f64, confidence: Confidence) -> Result<Option<usize>, Error> {
    let deviation = standard_deviation(sample).ok_or(Error::TooFew { n: sample.n() })?;
    let wanted = share * sample.mean().abs();
    let reaches = |n: usize| {
        let n = n as f64;
        t_quantile(1.0 - confidence.tail(), n - 1.0) * deviation / n.sqrt() <= wanted
    };
    if wanted <= 0.0 || !reaches(MOST) {
        return Ok(None);
    }
    // The reach falls with every repetition: halve the bracket.
    let (mut few, mut enough) = (1, MOST);
    while enough - few > 1 {
        let middle = few + (enough - few) / 2;
        if reaches(middle) {
            enough = middle;
        } else {
            few = middle;
        }
    }
    Ok(Some(enough))
}

/// Number of repetitions with which an interval reaches no further than this share of its estimate,
/// judged by its reach with `n`: intervals of medians, shifts and ratios shrink with the square
/// root. `None` as above.
#[must_use]
pub fn repetitions_for_estimate(estimate: &Estimate, n: usize, share: f64) -> Option<usize> {
    let reach = (estimate.interval.high - estimate.interval.low) / 2.0;
    let needed = (n as f64 * (reach / (share * estimate.value.abs())).powi(2)).ceil();
    // Not a number where both are 0.
    (needed <= MOST as f64).then_some(needed as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Interval;

    #[test]
    fn half_the_reach_needs_four_times_the_repetitions() {
        let estimate = Estimate {
            value: 100.0,
            interval: Interval { low: 90.0, high: 110.0 },
        };
        assert_eq!(repetitions_for_estimate(&estimate, 30, 0.05), Some(120));
        assert_eq!(repetitions_for_estimate(&estimate, 30, 0.1), Some(30));
        assert_eq!(repetitions_for_estimate(&estimate, 30, 0.0), None);
        let nothing = Estimate {
            value: 0.0,
            interval: Interval { low: 0.0, high: 0.0 },
        };
        assert_eq!(repetitions_for_estimate(&nothing, 30, 0.05), None);
    }

    #[test]
    fn values_that_do_not_differ_need_two_and_a_mean_of_zero_has_no_share() {
        let same = Sample::new([3.0; 5]).unwrap();
        assert_eq!(repetitions_for_mean(&same, 0.01, Confidence::P95), Ok(Some(2)));
        let zero = Sample::new([-1.0, 1.0]).unwrap();
        assert_eq!(repetitions_for_mean(&zero, 0.01, Confidence::P95), Ok(None));
        let one = Sample::new([1.0]).unwrap();
        assert_eq!(
            repetitions_for_mean(&one, 0.01, Confidence::P95),
            Err(Error::TooFew { n: 1 })
        );
    }
}
