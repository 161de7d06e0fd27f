//! By how much one way lies above another (Hodges and Lehmann, 1963).

use crate::quantile::median_in_place;
use crate::ranks::{rank_sum_bound, signed_rank_bound};
use crate::{Confidence, Error, Estimate, Interval, Pairs, Sample};

/// By how much values of the first sample lie above those of the second: the median of all differences, with the interval
/// that Mann and Whitney's test would not reject. Time and memory grow with the product of the sizes.
///
/// # Errors
/// [`Error::TooFew`] where even complete separation would not show so small a tail.
pub fn shift(first: &Sample, second: &Sample, confidence: Confidence) -> Result<Estimate, Error> {
    let bound = rank_sum_bound(first.n(), second.n(), confidence.tail());
    let n = first.n().min(second.n());
    let differences = first
        .sorted()
        .iter()
        .flat_map(|one| second.sorted().iter().map(move |other| one - other));
    estimate(differences.collect(), bound, n)
}

/// By how much the first way lies above the second, pair by pair: the median of the averages of all twos of differences
/// (Walsh), with the interval that Wilcoxon's signed rank test would not reject. Time and memory grow with the square of the
/// number of pairs.
///
/// # Errors
/// As [`shift`]: five pairs are too few for 95 %.
pub fn paired_shift(pairs: &Pairs, confidence: Confidence) -> Result<Estimate, Error> {
    let bound = signed_rank_bound(pairs.n(), confidence.tail());
    let differences: Vec<f64> = pairs.differences().collect();
    let averages = differences
        .iter()
        .enumerate()
        .flat_map(|(index, one)| differences[index..].iter().map(move |other| 0.5 * (one + other)));
    estimate(averages.collect(), bound, pairs.n())
}

/// The median of these, and the values that leave `bound - 1` of them out at either end.
fn estimate(mut all: Vec<f64>, bound: usize, n: usize) -> Result<Estimate, Error> {
    let last = bound.checked_sub(1).ok_or(Error::TooFew { n })?;
    let value = median_in_place(&mut all);
    let low = *all.select_nth_unstable_by(last, f64::total_cmp).1;
    let high = all.len() - 1 - last;
    let high = *all.select_nth_unstable_by(high, f64::total_cmp).1;
    Ok(Estimate {
        value,
        interval: Interval { low, high },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_pairs_are_too_few_and_six_are_enough() {
        let values: Vec<f64> = (0..6).map(f64::from).collect();
        let pairs = |n: usize| Pairs::new(&values[..n], &vec![0.0; n]).unwrap();
        assert_eq!(paired_shift(&pairs(5), Confidence::P95), Err(Error::TooFew { n: 5 }));
        let all = paired_shift(&pairs(6), Confidence::P95).unwrap();
        assert_eq!(all.interval, Interval { low: 0.0, high: 5.0 });
    }

    #[test]
    fn a_sample_moved_by_seven_is_shifted_by_seven() {
        let values: Vec<f64> = (0..40).map(|index| f64::from(index * 37 % 101)).collect();
        let one = Sample::new(values.iter().map(|value| value + 7.0)).unwrap();
        let other = Sample::new(values.iter().copied()).unwrap();
        let estimate = shift(&one, &other, Confidence::P95).unwrap();
        assert_eq!(estimate.value, 7.0);
        assert!(estimate.interval.contains(7.0));
        let reverse = shift(&other, &one, Confidence::P95).unwrap();
        assert_eq!(reverse.interval.low, -estimate.interval.high);
    }
}
