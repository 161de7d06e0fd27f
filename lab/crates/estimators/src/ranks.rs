//! The distributions of rank statistics when there is no difference.

use crate::normal::normal_quantile;

/// To this size of either sample the distribution of the rank sum is computed and not approximated.
const EXACT_RANK_SUM: usize = 50;
/// To this size that of the signed ranks.
const EXACT_SIGNED_RANK: usize = 200;

/// Number of the smallest and as many of the largest of all differences between two samples of
/// these sizes that lie outside the interval of their shift, plus one; 0 when the samples are too
/// small for so small a tail.
pub(crate) fn rank_sum_bound(first: usize, second: usize, tail: f64) -> usize {
    if first.max(second) <= EXACT_RANK_SUM {
        return bound(rank_sum(first, second).into_iter(), tail);
    }
    let (m, n) = (first as f64, second as f64);
    normal_bound(m * n / 2.0, (m * n * (m + n + 1.0) / 12.0).sqrt(), tail)
}

/// The same for the averages of all twos of the differences of so many pairs.
pub(crate) fn signed_rank_bound(pairs: usize, tail: f64) -> usize {
    if pairs <= EXACT_SIGNED_RANK {
        return bound(signed_rank(pairs).into_iter(), tail);
    }
    let n = pairs as f64;
    normal_bound(
        n * (n + 1.0) / 4.0,
        (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt(),
        tail,
    )
}

/// The most values of the statistic, counted from its least, that are together no likelier than `tail`.
fn bound(probabilities: impl Iterator<Item = f64>, tail: f64) -> usize {
    let mut sum = 0.0;
    probabilities
        .take_while(|probability| {
            sum += probability;
            sum <= tail
        })
        .count()
}

/// Rounded down, to the wider interval (Hollander and Wolfe, Nonparametric Statistical Methods, 3.3 and 4.3).
fn normal_bound(mean: f64, deviation: f64, tail: f64) -> usize {
    (mean + deviation * normal_quantile(tail)).max(0.0) as usize
}

/// The probability of each value from 0 to m n of Mann and Whitney's U.
fn rank_sum(m: usize, n: usize) -> Vec<f64> {
    // Row i holds U of (i, j) for every j; U of nothing and anything is 0 for certain.
    let mut row: Vec<Vec<f64>> = vec![vec![1.0]; n + 1];
    for i in 1..=m {
        row[0] = vec![1.0];
        for j in 1..=n {
            // The largest of all values is of the first sample, above j others, or of the second.
            let all = (i + j) as f64;
            let (of_first, of_second) = (i as f64 / all, j as f64 / all);
            let mut next = vec![0.0; i * j + 1];
            for (value, probability) in row[j].iter().enumerate() {
                next[value + j] += of_first * probability;
            }
            for (value, probability) in row[j - 1].iter().enumerate() {
                next[value] += of_second * probability;
            }
            row[j] = next;
        }
    }
    row.swap_remove(n)
}

/// The probability of each value from 0 to the middle, n (n + 1) / 4, of Wilcoxon's signed rank
/// sum, whose other half is the same.
fn signed_rank(n: usize) -> Vec<f64> {
    let mut probabilities = vec![0.0; n * (n + 1) / 4 + 1];
    probabilities[0] = 1.0;
    for rank in 1..=n {
        // Downwards, so that each value is read before it is replaced; ranks so far add up to no more.
        let most = (rank * (rank + 1) / 2).min(probabilities.len() - 1);
        for value in (0..=most).rev() {
            let with = value.checked_sub(rank).map_or(0.0, |before| probabilities[before]);
            probabilities[value] = 0.5 * (probabilities[value] + with);
        }
    }
    probabilities
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distributions_of_small_samples_are_those_counted_by_hand() {
        // The six orders of two and two values give U = 0, 1, 2, 2, 3, 4.
        let sixth = |count: f64| count / 6.0;
        let expected = [sixth(1.0), sixth(1.0), sixth(2.0), sixth(1.0), sixth(1.0)];
        for (got, expected) in rank_sum(2, 2).into_iter().zip(expected) {
            assert!((got - expected).abs() < 1e-15);
        }
        // The eight sets of signs of the ranks 1, 2, 3 give 0, 1, 2, 3, 3, 4, 5, 6.
        assert_eq!(signed_rank(3), [0.125, 0.125, 0.125, 0.25]);
    }

    #[test]
    fn probabilities_add_up_to_one() {
        for distribution in [rank_sum(50, 50), rank_sum(3, 40)] {
            assert!((distribution.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        }
        // Both halves, with the value between them once: 200 ranks add up to twice 10,050.
        let half = signed_rank(200);
        let all = 2.0 * half.iter().sum::<f64>() - half[10_050];
        assert!((all - 1.0).abs() < 1e-12, "{all}");
    }

    #[test]
    fn approximation_takes_over_without_a_step() {
        // Just where it begins it differs from the exact bound by one in thousands.
        let exact = bound(signed_rank(201).into_iter(), 0.025);
        assert!(exact.abs_diff(signed_rank_bound(201, 0.025)) <= 2, "{exact}");
        let exact = bound(rank_sum(51, 51).into_iter(), 0.025);
        assert!(exact.abs_diff(rank_sum_bound(51, 51, 0.025)) <= 2, "{exact}");
    }
}
