//! By how much one way lies above another (Hodges and Lehmann, 1963).

use crate::median::median_in_place;
use crate::ranks::{rank_sum_bound, signed_rank_bound};
use crate::{Confidence, Error, Estimate, Interval, Pairs, Sample};

/// By how much values of the first sample lie above those of the second: the median of all
/// differences, with the interval that Mann and Whitney's test would not reject. Time and memory
/// grow with the product of the sizes.
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

/// By how much the first way lies above the second, pair by pair: the median of the averages of all
/// twos of differences (Walsh), with the interval that Wilcoxon's signed rank test would not
/// reject. Time and memory grow with the square of the number of pairs.
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

/// Ratio of the first way to the second, pair by pair: as [`paired_shift`], of the logarithms. If
/// the order within a pair was drawn, and the two are the same, the interval holds 1 as often as
/// its confidence says, however much pairs depend on each other: which of a pair is first is chance
/// (Fisher's randomisation).
///
/// # Errors
/// As [`shift`]; [`Error::NotPositive`].
pub fn paired_ratio(pairs: &Pairs, confidence: Confidence) -> Result<Estimate, Error> {
    if pairs.first().iter().chain(pairs.second()).any(|value| *value <= 0.0) {
        return Err(Error::NotPositive);
    }
    let logarithms = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<f64>>();
    let pairs = Pairs::new(&logarithms(pairs.first()), &logarithms(pairs.second()))?;
    let Estimate { value, interval } = paired_shift(&pairs, confidence)?;
    Ok(Estimate {
        value: value.exp(),
        interval: Interval {
            low: interval.low.exp(),
            high: interval.high.exp(),
        },
    })
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
    fn a_ratio_is_that_of_pairs_whatever_the_machine_does_to_both() {
        let second: Vec<f64> = (0..20).map(|index| f64::from(1 + index % 7)).collect();
        let first: Vec<f64> = second.iter().map(|value| 1.5 * value).collect();
        let ratio = paired_ratio(&Pairs::new(&first, &second).unwrap(), Confidence::P95).unwrap();
        assert!(
            (ratio.value - 1.5).abs() < 1e-12 && (ratio.interval.high - 1.5).abs() < 1e-12,
            "{ratio:?}"
        );
        let zero = Pairs::new(&[1.0; 6], &[0.0; 6]).unwrap();
        assert_eq!(paired_ratio(&zero, Confidence::P95), Err(Error::NotPositive));
    }

    #[test]
    fn two_of_the_same_drawn_in_random_order_differ_in_one_of_twenty_although_repetitions_depend_on_each_other() {
        // A machine that is slow for about five repetitions at a time, and a second of both that meets more of it.
        let mut random = crate::Random::seeded(9);
        let wrong = (0..400)
            .filter(|_| {
                let mut slow = 1.0;
                let pairs: Vec<(f64, f64)> = (0..30)
                    .map(|_| {
                        if random.below(5) == 0 {
                            slow = if random.below(4) == 0 { 1.5 } else { 1.0 };
                        }
                        let noise = |random: &mut crate::Random| slow * (10.0 + random.below(1000) as f64 / 1000.0);
                        let (earlier, later) = (noise(&mut random), 1.02 * noise(&mut random));
                        if random.below(2) == 0 {
                            (earlier, later)
                        } else {
                            (later, earlier)
                        }
                    })
                    .collect();
                let (first, second): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
                let ratio = paired_ratio(&Pairs::new(&first, &second).unwrap(), Confidence::P95).unwrap();
                !ratio.interval.contains(1.0)
            })
            .count();
        // Three standard deviations above 20 of 400.
        assert!(wrong <= 33, "{wrong} of 400");
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
