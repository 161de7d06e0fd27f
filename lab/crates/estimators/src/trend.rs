//! Test for values that drift in the order in which they were taken (Mann, 1945; Kendall, 1975),
//! and the size of the drift (Theil, 1950; Sen, 1968).

use serde::Serialize;

use crate::median::median_in_place;
use crate::normal::{normal_quantile, normal_upper_tail};
use crate::{Confidence, Error, Estimate, Interval, Sample, shift};

/// To this many values without ties the distribution of Kendall's statistic is computed and not approximated.
const EXACT: usize = 60;

/// Trend of values in their order.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Trend {
    /// Pairs in ascending order less pairs in descending order, over all pairs: 1 when every value
    /// lies above the one before.
    pub tau: f64,
    /// Probability that values without a trend look at least as ordered, either way.
    pub p: f64,
    /// By how much values rise from one to the next, in their unit, with the interval of Sen.
    pub slope: Estimate,
}

/// The trend of values in the order in which they were taken. Time and memory grow with the square of their number.
///
/// # Errors
/// [`Error::TooFew`] below four values, of which no order is unlikely; [`Error::NotFinite`].
pub fn trend(values: &[f64], confidence: Confidence) -> Result<Trend, Error> {
    let n = values.len();
    if let Some(index) = values.iter().position(|value| !value.is_finite()) {
        return Err(Error::NotFinite { index });
    }
    if n < 4 {
        return Err(Error::TooFew { n });
    }
    let (mut ascending, mut descending) = (0_i64, 0_i64);
    let mut slopes = Vec::with_capacity(n * (n - 1) / 2);
    for (index, before) in values.iter().enumerate() {
        for (steps, after) in values[index + 1..].iter().enumerate() {
            ascending += i64::from(after > before);
            descending += i64::from(after < before);
            slopes.push((after - before) / (steps + 1) as f64);
        }
    }
    let score = ascending - descending;
    let ties = ties(values);
    let variance = variance(n, &ties);
    let p = if ties.is_empty() && n <= EXACT {
        exact_p(n, ascending.min(descending) as usize)
    } else if variance > 0.0 {
        (2.0 * normal_upper_tail(score.abs() as f64 / variance.sqrt())).min(1.0)
    } else {
        1.0
    };
    let untied = ((ascending + descending) as f64 * slopes.len() as f64).sqrt();
    let tau = if untied > 0.0 { score as f64 / untied } else { 0.0 };
    Ok(Trend {
        tau,
        p,
        slope: slope(slopes, variance, confidence),
    })
}

/// By how much the first so many values lie above the rest, as [`shift`] says: a system that warms
/// up is slower at first.
///
/// # Errors
/// [`Error::TooFew`] where the first or the rest are too few for this confidence; [`Error::NotFinite`].
pub fn first_against_rest(values: &[f64], first: usize, confidence: Confidence) -> Result<Estimate, Error> {
    let (first, rest) = values.split_at(first.min(values.len()));
    let sample = |part: &[f64]| match Sample::new(part.iter().copied()) {
        Err(Error::Empty) => Err(Error::TooFew { n: 0 }),
        other => other,
    };
    shift(&sample(first)?, &sample(rest)?, confidence)
}

/// The sizes of the groups of equal values, those of one left out.
fn ties(values: &[f64]) -> Vec<usize> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
        .chunk_by(|one, other| one == other)
        .map(<[f64]>::len)
        .filter(|&size| size > 1)
        .collect()
}

/// Variance of Kendall's score when there is no trend (Kendall, Rank Correlation Methods, 4.4).
fn variance(n: usize, ties: &[usize]) -> f64 {
    let part = |size: usize| {
        let size = size as f64;
        size * (size - 1.0) * (2.0 * size + 5.0)
    };
    (part(n) - ties.iter().copied().map(part).sum::<f64>()) / 18.0
}

/// Twice the share of all orders of n values with at most so many inversions.
fn exact_p(n: usize, inversions: usize) -> f64 {
    // The probability of each number of inversions up to the one that matters, of growing prefixes.
    let mut probabilities = vec![0.0; inversions + 1];
    probabilities[0] = 1.0;
    for size in 2..=n {
        let before = probabilities.clone();
        for (count, probability) in probabilities.iter_mut().enumerate() {
            // The newest value jumps over none to all of those before it, each equally likely.
            let least = count.saturating_sub(size - 1);
            *probability = before[least..=count].iter().sum::<f64>() / size as f64;
        }
    }
    (2.0 * probabilities.iter().sum::<f64>()).min(1.0)
}

/// The median of all slopes, and those that Kendall's statistic would not reject.
fn slope(mut slopes: Vec<f64>, variance: f64, confidence: Confidence) -> Estimate {
    let value = median_in_place(&mut slopes);
    let all = slopes.len() as f64;
    let reach = -normal_quantile(confidence.tail()) * variance.sqrt();
    let last = slopes.len() - 1;
    // As SciPy's theilslopes takes them: ranks are counted from 1, rounded to the nearest, to the
    // even one when in doubt.
    let low = (((all - reach) / 2.0).round_ties_even() as i64 - 1).clamp(0, last as i64) as usize;
    let high = (((all + reach) / 2.0).round_ties_even() as i64).clamp(0, last as i64) as usize;
    let mut at = |rank: usize| *slopes.select_nth_unstable_by(rank, f64::total_cmp).1;
    Estimate {
        value,
        interval: Interval {
            low: at(low),
            high: at(high),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_values_in_order_are_as_unlikely_as_counted_by_hand() {
        // Among the 24 orders one ascends and one descends.
        let trend = trend(&[1.0, 2.0, 3.0, 4.0], Confidence::P95).unwrap();
        assert!((trend.p - 2.0 / 24.0).abs() < 1e-15, "{}", trend.p);
        assert_eq!((trend.tau, trend.slope.value), (1.0, 1.0));
    }

    #[test]
    fn values_that_never_change_have_no_trend() {
        let trend = trend(&[5.0; 20], Confidence::P95).unwrap();
        assert_eq!((trend.tau, trend.p, trend.slope.value), (0.0, 1.0, 0.0));
    }

    #[test]
    fn three_values_are_too_few_and_infinity_is_no_value() {
        assert_eq!(trend(&[1.0, 2.0, 3.0], Confidence::P95), Err(Error::TooFew { n: 3 }));
        assert_eq!(
            trend(&[1.0, 2.0, 3.0, f64::INFINITY], Confidence::P95),
            Err(Error::NotFinite { index: 3 })
        );
    }

    #[test]
    fn slow_first_values_stand_out_and_level_ones_do_not() {
        let mut values: Vec<f64> = (0..30).map(|index| 100.0 + f64::from(index * 7 % 11)).collect();
        assert!(
            first_against_rest(&values, 3, Confidence::P95)
                .unwrap()
                .interval
                .contains(0.0)
        );
        for (value, more) in values.iter_mut().zip([90.0, 60.0, 40.0]) {
            *value += more;
        }
        assert!(first_against_rest(&values, 3, Confidence::P95).unwrap().interval.low > 0.0);
        assert_eq!(
            first_against_rest(&values, 30, Confidence::P95),
            Err(Error::TooFew { n: 0 })
        );
    }
}
