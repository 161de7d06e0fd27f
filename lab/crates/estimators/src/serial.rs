//! Medians of trials that follow each other: what one trial meets, the next one often meets too,
//! and an interval that takes them for independent is too narrow.

use serde::Serialize;

use crate::median::median_in_place;
use crate::student::t_quantile;
use crate::{Confidence, Error, Estimate, Interval};

/// Below six values even the whole range holds the median less often than 95 times of 100.
const LEAST: usize = 6;

/// The median of values in the order in which they were taken.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SerialMedian {
    /// The median with its interval.
    pub estimate: Estimate,
    /// By how much dependence between neighbours multiplies the variance of a count of values below
    /// the median: 1 where there is none.
    pub factor: f64,
    /// True if the interval would have to reach beyond the sample: it is the whole range then, and
    /// may still be too narrow.
    pub whole: bool,
}

/// The median with the interval between two order statistics whose ranks are n/2 less and more
/// Student's quantile times sqrt(n f) / 2, where f is the factor by which dependence multiplies the
/// variance of the number of values below the median.
///
/// That number is what the sign test counts, so nothing is assumed of the distribution: an interval
/// over two modes reaches from one to the other where it has to. f is one plus twice the
/// autocorrelations of the signs, weighted by Bartlett up to the lag 4 (n / 100)^(2/9) (Newey and
/// West, 1994), each raised by the 1/n that it is too low without dependence, and no less than one.
///
/// # Errors
/// [`Error::TooFew`] below six values; [`Error::NotFinite`].
pub fn serial_median(values: &[f64], confidence: Confidence) -> Result<SerialMedian, Error> {
    if let Some(index) = values.iter().position(|value| !value.is_finite()) {
        return Err(Error::NotFinite { index });
    }
    let n = values.len();
    if n < LEAST {
        return Err(Error::TooFew { n });
    }
    let mut sorted = values.to_vec();
    let median = median_in_place(&mut sorted);
    sorted.sort_by(f64::total_cmp);
    let signs: Vec<f64> = values.iter().map(|value| sign(value - median)).collect();
    let factor = variance_factor(&signs);
    let half = n as f64 / 2.0;
    let reach = t_quantile(1.0 - confidence.tail(), n as f64 - 1.0) * (n as f64 * factor).sqrt() / 2.0;
    // Ranks are counted from 0; the lower end is rounded down and the upper one up.
    let low = (half - reach).floor().max(0.0) as usize;
    let high = ((half + reach).ceil() as usize).min(n - 1);
    Ok(SerialMedian {
        estimate: Estimate {
            value: median,
            interval: Interval {
                low: sorted[low.min(n - 1)],
                high: sorted[high],
            },
        },
        factor,
        // Half a rank is what rounding makes of it.
        whole: half - reach < -0.5,
    })
}

/// By how much dependence between neighbours multiplies the variance of the sum of these, whose
/// mean is taken for 0: no less than 1.
pub(crate) fn variance_factor(centred: &[f64]) -> f64 {
    let n = centred.len();
    let power: f64 = centred.iter().map(|value| value * value).sum();
    if power <= 0.0 {
        return 1.0;
    }
    let lags = ((4.0 * (n as f64 / 100.0).powf(2.0 / 9.0)).floor() as usize)
        .min(n / 4)
        .max(1);
    let sum: f64 = (1..=lags.min(n.saturating_sub(1)))
        .map(|lag| {
            let product: f64 = centred
                .iter()
                .zip(&centred[lag..])
                .map(|(one, later)| one * later)
                .sum();
            let weight = 1.0 - lag as f64 / (lags + 1) as f64;
            weight * (product / power + 1.0 / n as f64)
        })
        .sum();
    (1.0 + 2.0 * sum).max(1.0)
}

/// -1, 0 or 1.
fn sign(value: f64) -> f64 {
    if value == 0.0 { 0.0 } else { value.signum() }
}

/// First less second, of two medians that have nothing to do with each other, such as those of two
/// runs. The ends of the interval are as far away as those of both together (method of variance
/// estimates recovery, Zou and Donner, 2008).
#[must_use]
pub fn difference(first: &Estimate, second: &Estimate) -> Estimate {
    let value = first.value - second.value;
    let together = |one: f64, other: f64| one.hypot(other);
    let (one, other) = (&first.interval, &second.interval);
    Estimate {
        value,
        interval: Interval {
            low: value - together(first.value - one.low, other.high - second.value),
            high: value + together(one.high - first.value, second.value - other.low),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    /// Normal enough: the sum of twelve numbers from 0 to 1, less 6.
    fn normal(random: &mut Random) -> f64 {
        (0..12)
            .map(|_| random.below(1 << 30) as f64 / f64::from(1 << 30))
            .sum::<f64>()
            - 6.0
    }

    /// Each value keeps so much of the one before.
    fn dependent(random: &mut Random, n: usize, keeps: f64) -> Vec<f64> {
        let mut value = normal(random) / (1.0 - keeps * keeps).sqrt();
        (0..n)
            .map(|_| {
                value = keeps * value + normal(random);
                value
            })
            .collect()
    }

    /// Number of a thousand intervals that hold the true median, 0.
    fn held(n: usize, keeps: f64) -> usize {
        let mut random = Random::seeded(7);
        (0..1000)
            .filter(|_| {
                let values = dependent(&mut random, n, keeps);
                serial_median(&values, Confidence::P95)
                    .unwrap()
                    .estimate
                    .interval
                    .contains(0.0)
            })
            .count()
    }

    #[test]
    fn intervals_hold_the_median_of_values_that_depend_on_each_other() {
        // Three standard deviations of a binomial of 1000 and 0.95 are 21. The effect of the
        // records' noise on it stands in `recorded_noise` of the report.
        for (n, keeps) in [
            (6, 0.0),
            (10, 0.0),
            (30, 0.0),
            (100, 0.0),
            (30, 0.3),
            (100, 0.3),
            (100, 0.5),
        ] {
            let held = held(n, keeps);
            assert!(held >= 929, "{held} of 1000 intervals of {n} values that keep {keeps}");
        }
    }

    #[test]
    fn neighbours_that_are_alike_widen_the_interval_and_the_order_alone_decides() {
        let mut random = Random::seeded(3);
        let alike = dependent(&mut random, 100, 0.8);
        let mut shuffled = alike.clone();
        crate::shuffle(&mut random, &mut shuffled);
        let of = |values: &[f64]| serial_median(values, Confidence::P95).unwrap();
        let (alike, shuffled) = (of(&alike), of(&shuffled));
        assert_eq!(alike.estimate.value, shuffled.estimate.value);
        assert!(alike.factor > 2.0 && shuffled.factor < 1.7, "{alike:?} {shuffled:?}");
        let width = |median: &SerialMedian| median.estimate.interval.high - median.estimate.interval.low;
        assert!(width(&alike) > 1.3 * width(&shuffled));
    }

    #[test]
    fn six_values_have_their_whole_range_and_five_have_none() {
        let six = serial_median(&[3.0, 1.0, 6.0, 2.0, 5.0, 4.0], Confidence::P95).unwrap();
        assert_eq!((six.estimate.value, six.whole), (3.5, false));
        assert_eq!(six.estimate.interval, Interval { low: 1.0, high: 6.0 });
        assert_eq!(serial_median(&[1.0; 5], Confidence::P95), Err(Error::TooFew { n: 5 }));
        let risen: Vec<f64> = (0..8).map(f64::from).collect();
        assert!(serial_median(&risen, Confidence::P95).unwrap().whole);
    }

    #[test]
    fn values_that_never_change_have_an_interval_of_no_width() {
        let same = serial_median(&[2.0; 20], Confidence::P95).unwrap();
        assert_eq!(
            (same.estimate.interval, same.factor),
            (Interval { low: 2.0, high: 2.0 }, 1.0)
        );
    }

    #[test]
    fn a_difference_of_two_medians_is_as_wide_as_both() {
        let of = |value, low, high| Estimate {
            value,
            interval: Interval { low, high },
        };
        let got = difference(&of(10.0, 7.0, 14.0), &of(4.0, 0.0, 7.0));
        assert_eq!(got, of(6.0, 6.0 - 18.0_f64.sqrt(), 6.0 + 32.0_f64.sqrt()));
    }
}
