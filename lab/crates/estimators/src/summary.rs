//! A sample in four numbers.

use serde::Serialize;

use bartizan_stats::quantile;

/// Size, median and quartiles of a sample; quantiles by linear interpolation between order statistics (type 7 of
/// Hyndman and Fan, 1996: what R and NumPy do by default).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Summary {
    /// Number of values.
    pub n: usize,
    /// First quartile, in the unit of the values.
    pub lower_quartile: f64,
    /// Median, in the unit of the values.
    pub median: f64,
    /// Third quartile, in the unit of the values.
    pub upper_quartile: f64,
}

impl Summary {
    /// The summary of these values; `None` when there is none, or one is not a number.
    #[must_use]
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        if values.is_empty() || values.iter().any(|value| value.is_nan()) {
            return None;
        }
        values.sort_by(f64::total_cmp);
        Some(Self {
            n: values.len(),
            lower_quartile: quantile(&values, 0.25),
            median: quantile(&values, 0.5),
            upper_quartile: quantile(&values, 0.75),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quartiles_are_those_of_r() {
        // R 4: quantile(c(1, 2, 3, 4), c(.25, .5, .75)) and quantile(c(7, 1, 3, 10, 2), ...)
        let summary = Summary::of([4.0, 1.0, 3.0, 2.0]).unwrap();
        assert_eq!(
            (
                summary.n,
                summary.lower_quartile,
                summary.median,
                summary.upper_quartile
            ),
            (4, 1.75, 2.5, 3.25)
        );
        let summary = Summary::of([7.0, 1.0, 3.0, 10.0, 2.0]).unwrap();
        assert_eq!(
            (
                summary.n,
                summary.lower_quartile,
                summary.median,
                summary.upper_quartile
            ),
            (5, 2.0, 3.0, 7.0)
        );
    }

    #[test]
    fn nothing_has_no_summary() {
        assert_eq!(Summary::of([]), None);
        assert_eq!(Summary::of([1.0, f64::NAN]), None);
    }

    proptest! {
        #[test]
        fn quartiles_are_in_order_and_within_the_sample(values in prop::collection::vec(-1e12..1e12, 1..50)) {
            let summary = Summary::of(values.iter().copied()).unwrap();
            let least = values.iter().copied().fold(f64::INFINITY, f64::min);
            let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            prop_assert!(least <= summary.lower_quartile && summary.lower_quartile <= summary.median);
            prop_assert!(summary.median <= summary.upper_quartile && summary.upper_quartile <= greatest);
        }
    }
}
