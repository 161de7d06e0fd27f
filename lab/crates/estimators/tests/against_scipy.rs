//! Every estimator against what SciPy and NumPy say (`reference/reference.py` made `reference/reference.json`).

use bartizan_estimators::{
    Confidence, Estimate, Interval, OneMode, Pairs, Resampling, Sample, dip, interquartile_range, median_interval,
    paired_shift, ratio_of_medians, ratio_of_sample_medians, repetitions_for_mean, shift, standard_deviation,
    t_interval, trend,
};
use serde_json::Value;

fn reference(name: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(include_str!("reference/reference.json")).unwrap();
    let cases = all[name].as_array().unwrap_or_else(|| panic!("no {name}")).clone();
    assert!(!cases.is_empty(), "{name}");
    cases
}

fn numbers(value: &Value) -> Vec<f64> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|number| number.as_f64().unwrap())
        .collect()
}

fn number(case: &Value, name: &str) -> f64 {
    case[name].as_f64().unwrap_or_else(|| panic!("no {name} in {case}"))
}

fn sample(case: &Value, name: &str) -> Sample {
    Sample::new(numbers(&case[name])).unwrap()
}

fn pairs(case: &Value) -> Pairs {
    Pairs::new(&numbers(&case["first"]), &numbers(&case["second"])).unwrap()
}

fn confidence(case: &Value) -> Confidence {
    Confidence::new(number(case, "confidence")).unwrap()
}

#[track_caller]
fn assert_close(got: f64, expected: f64, relative: f64) {
    assert!(
        (got - expected).abs() <= relative * expected.abs().max(1e-9),
        "{got} instead of {expected}"
    );
}

#[track_caller]
fn assert_estimate(got: Estimate, case: &Value, relative: f64) {
    assert_close(got.value, number(case, "value"), 1e-12);
    assert_close(got.interval.low, number(case, "low"), relative);
    assert_close(got.interval.high, number(case, "high"), relative);
}

#[test]
fn quantiles_mean_and_deviation_are_those_of_numpy() {
    for case in reference("samples") {
        let sample = sample(&case, "values");
        for quantile in case["quantiles"].as_array().unwrap() {
            let quantile = numbers(quantile);
            assert_close(sample.quantile(quantile[0]), quantile[1], 1e-13);
        }
        assert_close(
            interquartile_range(&sample),
            number(&case, "interquartile_range"),
            1e-13,
        );
        assert_close(sample.mean(), number(&case, "mean"), 1e-13);
        match (standard_deviation(&sample), case["standard_deviation"].as_f64()) {
            (Some(got), Some(expected)) => assert_close(got, expected, 1e-13),
            (got, expected) => assert_eq!(got, expected, "{}", case["name"]),
        }
    }
}

#[test]
fn intervals_of_student_are_those_of_scipy() {
    let mut seen = 0;
    for case in reference("samples") {
        for expected in case["t_intervals"].as_array().into_iter().flatten().map(numbers) {
            let got = t_interval(&sample(&case, "values"), Confidence::new(expected[0]).unwrap()).unwrap();
            assert_close(got.interval.low, expected[1], 1e-9);
            assert_close(got.interval.high, expected[2], 1e-9);
            seen += 1;
        }
    }
    assert_eq!(seen, 25);
}

#[test]
fn interval_of_a_median_is_that_of_the_exact_bootstrap_distribution() {
    for case in reference("exact_bootstrap_medians") {
        // An end is the value at a step of the distribution: chance must stay away from the step, which a margin of
        // 0.002 is at this many resamples (four standard deviations of a share of 0.025 to 0.05).
        assert!(number(&case, "margin") > 0.002);
        let resampling = Resampling {
            confidence: confidence(&case),
            resamples: 100_000,
            seed: 1,
        };
        let got = median_interval(&sample(&case, "values"), &resampling).interval;
        assert_eq!(
            got,
            Interval {
                low: number(&case, "low"),
                high: number(&case, "high")
            }
        );
    }
}

#[test]
fn interval_of_a_ratio_of_medians_of_pairs_is_that_of_scipys_bootstrap() {
    for case in reference("bootstrap_ratios") {
        let resampling = Resampling {
            confidence: confidence(&case),
            ..Resampling::seeded(5)
        };
        // Two bootstraps differ by their draws: here by less than 0.3 % of intervals that are several per cent wide.
        assert_estimate(ratio_of_medians(&pairs(&case), &resampling).unwrap(), &case, 0.003);
    }
}

#[test]
fn shift_and_its_interval_are_what_mann_and_whitneys_test_of_scipy_does_not_reject() {
    for case in reference("shifts") {
        let got = shift(&sample(&case, "first"), &sample(&case, "second"), confidence(&case)).unwrap();
        assert_estimate(got, &case, 1e-12);
    }
}

#[test]
fn shift_of_pairs_and_its_interval_are_what_wilcoxons_test_of_scipy_does_not_reject() {
    for case in reference("paired_shifts") {
        assert_estimate(paired_shift(&pairs(&case), confidence(&case)).unwrap(), &case, 1e-9);
    }
}

#[test]
fn interval_of_a_ratio_of_medians_of_two_samples_is_that_of_scipys_bootstrap() {
    for case in reference("bootstrap_ratios_apart") {
        let resampling = Resampling {
            confidence: confidence(&case),
            resamples: 100_000,
            seed: 5,
        };
        let got = ratio_of_sample_medians(&sample(&case, "first"), &sample(&case, "second"), &resampling).unwrap();
        // Two bootstraps differ by their draws: here by less than 0.3 % of intervals that are several per cent wide.
        assert_estimate(got, &case, 0.003);
    }
}

#[test]
fn trends_are_those_of_kendalls_test_and_theils_slopes_of_scipy() {
    let cases = reference("trends");
    assert_eq!(cases.len(), 8);
    for case in cases {
        let got = trend(&numbers(&case["values"]), confidence(&case)).unwrap();
        assert_close(got.tau, number(&case, "tau"), 1e-12);
        assert_close(got.p, number(&case, "p"), 1e-10);
        assert_estimate(got.slope, &case, 1e-12);
    }
}

#[test]
fn repetitions_for_a_mean_are_those_found_by_trying_with_scipy() {
    for case in reference("repetitions") {
        let got = repetitions_for_mean(&sample(&case, "values"), number(&case, "reach"), confidence(&case));
        assert_eq!(got.unwrap(), case["repetitions"].as_u64().map(|count| count as usize));
    }
}

#[test]
fn dips_are_those_of_diptest() {
    for case in reference("dips") {
        let sample = sample(&case, "values");
        assert_close(dip(&sample), number(&case, "dip"), 1e-12);
        let (got, expected) = (OneMode::of_size(sample.n(), 1).p(&sample), number(&case, "p"));
        // Both are simulated: ours with 1000 samples, of which a share of a half varies by 0.016.
        assert!(
            (got - expected).abs() < 0.04,
            "{}: {got} instead of {expected}",
            case["name"]
        );
    }
}
