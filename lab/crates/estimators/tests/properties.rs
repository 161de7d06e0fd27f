//! Properties of every sample.

use bartizan_estimators::{
    Confidence, Error, Interval, Pairs, Resampling, Sample, first_against_rest, median_interval, paired_shift,
    ratio_of_medians, ratio_of_sample_medians, repetitions_for_estimate, repetitions_for_mean, shift, t_interval,
    trend,
};
use proptest::prelude::*;

fn lies_inside(interval: Interval, low: f64, high: f64) -> bool {
    low <= interval.low && interval.high <= high
}

fn values(least: usize) -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(1.0..1e6_f64, least..40)
}

fn resampling() -> Resampling {
    Resampling {
        resamples: 200,
        ..Resampling::seeded(1)
    }
}

proptest! {
    #[test]
    fn intervals_hold_their_estimate_and_stay_within_the_sample(values in values(8)) {
        let sample = Sample::new(values.iter().copied()).unwrap();
        let (least, greatest) = (sample.quantile(0.0), sample.quantile(1.0));
        let median = median_interval(&sample, &resampling());
        prop_assert!(lies_inside(median.interval, least, greatest));
        prop_assert!(least <= median.value && median.value <= greatest);
        let mean = t_interval(&sample, Confidence::P95).unwrap();
        prop_assert!(mean.interval.contains(mean.value));
        let other = Sample::new(values.iter().map(|value| value * 0.5)).unwrap();
        let shift = shift(&sample, &other, Confidence::P95).unwrap();
        prop_assert!(shift.interval.contains(shift.value));
    }

    #[test]
    fn more_confidence_is_never_narrower(values in values(12)) {
        let sample = Sample::new(values.iter().copied()).unwrap();
        let pairs = Pairs::new(&values, &vec![0.0; values.len()]).unwrap();
        let (less, more) = (Confidence::new(0.8).unwrap(), Confidence::P95);
        let narrow = [t_interval(&sample, less), paired_shift(&pairs, less)];
        let wide = [t_interval(&sample, more), paired_shift(&pairs, more)];
        for (narrow, wide) in narrow.into_iter().zip(wide) {
            let (narrow, wide) = (narrow.unwrap().interval, wide.unwrap().interval);
            prop_assert!(lies_inside(narrow, wide.low, wide.high));
        }
    }

    #[test]
    fn the_ratio_of_a_way_to_itself_is_one_for_certain(values in values(1)) {
        let pairs = Pairs::new(&values, &values).unwrap();
        let ratio = ratio_of_medians(&pairs, &resampling()).unwrap();
        prop_assert_eq!((ratio.value, ratio.interval.low, ratio.interval.high), (1.0, 1.0, 1.0));
    }

    #[test]
    fn no_numbers_make_an_estimator_panic(first: Vec<f64>, second: Vec<f64>) {
        if let Ok(sample) = Sample::new(first.iter().copied()) {
            let _ = (median_interval(&sample, &resampling()), t_interval(&sample, Confidence::P95));
            let _ = shift(&sample, &sample, Confidence::P95);
            let _ = (repetitions_for_mean(&sample, 0.05, Confidence::P95), ratio_of_sample_medians(&sample, &sample, &resampling()));
            let _ = repetitions_for_estimate(&median_interval(&sample, &resampling()), sample.n(), 0.05);
        }
        if let Ok(trend) = trend(&first, Confidence::P95) {
            prop_assert!((0.0..=1.0).contains(&trend.p));
            let _ = first_against_rest(&first, second.len(), Confidence::P95);
        }
        match Pairs::new(&first, &second) {
            Ok(pairs) => {
                let _ = (paired_shift(&pairs, Confidence::P95), ratio_of_medians(&pairs, &resampling()));
            }
            Err(Error::Unpaired { .. }) => prop_assert_ne!(first.len(), second.len()),
            Err(Error::Empty) => prop_assert!(first.is_empty()),
            Err(error) => prop_assert!(matches!(error, Error::NotFinite { .. }), "{}", error),
        }
    }
}
