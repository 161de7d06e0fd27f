//! What a report says, worked out by hand.

mod synthetic;

use std::collections::BTreeMap;

use bartizan_lab::Experiment;
use bartizan_lab::experiment::Collection;
use bartizan_lab::trial::{Damage, Outcome, Record, Records};
use bartizan_report::{File, MeasuredBeside, Report, Verdict, compare, samples_csv};
use synthetic::{levels, record};

fn file(trials: Vec<Record>) -> File {
    File {
        name: "trials.jsonl".to_owned(),
        records: Records {
            trials,
            ..Records::default()
        },
    }
}

/// Trials of `direct` and `splice` on a kept connection, three samples each around these medians.
fn trials(direct: &[f64], splice: &[f64]) -> Vec<Record> {
    let mut trials = Vec::new();
    for (proxy, medians) in [("direct", direct), ("splice", splice)] {
        for (repetition, median) in medians.iter().enumerate() {
            let with = levels(&[("proxy", proxy), ("connection", "kept")]);
            let samples = vec![median + 5.0, *median, median - 1.0];
            let values = BTreeMap::from([("latency".to_owned(), samples)]);
            trials.push(record("latency", trials.len() as u64, repetition, &with, values));
        }
    }
    trials
}

fn report(experiment: &Experiment, trials: Vec<Record>) -> Report {
    Report::of(experiment, Some(&synthetic::published()), &[file(trials)])
}

#[test]
fn statistics_of_known_trials_are_those_worked_out_by_hand() {
    let splice = [100.0, 104.0, 102.0, 98.0, 110.0, 96.0, 101.0];
    let report = report(&synthetic::experiment(), trials(&[10.0; 7], &splice));
    let table = report.part("latency").unwrap().table("latency").unwrap();
    let row = table
        .row(&levels(&[("proxy", "splice"), ("connection", "kept")]))
        .unwrap();
    let statistics = row.statistics.unwrap();
    // In order: 96 98 100 101 102 104 110; their sum is 711.
    assert_eq!(
        (statistics.trials, statistics.samples, statistics.median),
        (7, 21, 101.0)
    );
    assert_eq!((statistics.quartiles.low, statistics.quartiles.high), (99.0, 103.0));
    let student = statistics.student.unwrap();
    assert!((student.value - 711.0 / 7.0).abs() < 1e-12);
    // Deviation 4.5408, of squares that add up to 123.714; 2.4469 is Student's 97.5 % quantile at 6 degrees.
    assert!(
        (student.interval.high - student.value - 2.446_9 * 4.540_8 / 7_f64.sqrt()).abs() < 1e-3,
        "{student:?}"
    );
    assert_eq!(statistics.total, 307.0);
    let interval = statistics.interval.unwrap();
    assert!(interval.low >= 96.0 && interval.high <= 110.0 && interval.contains(101.0));
    // The order of trials is kept: drift is seen in it.
    assert_eq!(row.trials, splice);
}

#[test]
fn comparisons_are_paired_by_repetition() {
    // The machine got slower, the difference stayed at 90.
    let direct: Vec<f64> = (0..8).map(|index| 10.0 + 10.0 * f64::from(index)).collect();
    let splice: Vec<f64> = direct.iter().map(|value| value + 90.0).collect();
    let report = report(&synthetic::experiment(), trials(&direct, &splice));
    let comparisons = &report.part("latency").unwrap().comparisons;
    let added = comparisons
        .iter()
        .find(|comparison| comparison.id == "splice-over-direct" && comparison.value.is_some())
        .unwrap();
    assert_eq!(
        (added.value, added.verdict, added.n),
        (Some(90.0), Verdict::Worse, (8, 8))
    );
    let interval = added.interval.unwrap();
    assert_eq!((interval.low, interval.high), (90.0, 90.0));
    assert_eq!(added.within, levels(&[("connection", "kept")]));
    let unmeasured = comparisons
        .iter()
        .find(|comparison| comparison.id == "http2-over-haproxy")
        .unwrap();
    assert_eq!((unmeasured.value, unmeasured.verdict), (None, Verdict::Unknown));
}

#[test]
fn three_trials_have_a_median_but_no_interval_and_no_verdict() {
    let report = report(
        &synthetic::experiment(),
        trials(&[10.0, 11.0, 12.0], &[100.0, 101.0, 102.0]),
    );
    let added = &report.part("latency").unwrap().comparisons[0];
    assert_eq!(
        (added.value, added.interval, added.verdict),
        (Some(90.0), None, Verdict::Unknown)
    );
    assert!(report.warnings.iter().any(|warning| warning.kind == "few trials"));
}

#[test]
fn every_published_value_has_something_beside_it_in_its_own_unit() {
    let report = report(&synthetic::experiment(), trials(&[10.0; 7], &[100.0; 7]));
    let published = report.published.as_ref().unwrap();
    let row = |id: &str| published.rows.iter().find(|row| row.value.id == id).unwrap();
    let MeasuredBeside::Measured { value, n, ratio, .. } = &row("median").beside else {
        panic!("{:?}", row("median").beside);
    };
    assert!((value - 0.1).abs() < 1e-12 && *n == 7 && (ratio.unwrap() - 0.1 / 54.05).abs() < 1e-9);
    assert_eq!(row("median").relation().unwrap(), "1/540 of it");
    let reason = |id: &str| match &row(id).beside {
        MeasuredBeside::Nothing { reason } => reason.clone(),
        measured => panic!("{measured:?}"),
    };
    assert_eq!(reason("energy"), "not measured here");
    assert_eq!(reason("strange"), "measured in µs, printed in bytes: not comparable");
    assert_eq!(reason("splice-over-nginx"), "no trial was measured");
    assert_eq!(published.rows.len(), synthetic::published().values.len());
    assert_eq!(published.conflicts.len(), 1);
}

#[test]
fn drift_and_warm_up_are_told() {
    let rising: Vec<f64> = (0..30).map(|index| 100.0 + f64::from(index)).collect();
    let mut slow_first = vec![100.0; 30];
    for (index, value) in slow_first.iter_mut().enumerate() {
        *value += (index * 7 % 5) as f64 * 0.1 + if index < 3 { 40.0 - index as f64 } else { 0.0 };
    }
    let report = report(&synthetic::experiment(), trials(&slow_first, &rising));
    let about = |kind: &str, name: &str| {
        report
            .warnings
            .iter()
            .any(|warning| warning.kind == kind && warning.text.contains(name))
    };
    assert!(about("drift", "proxy splice"), "{:?}", report.warnings);
    assert!(about("warm-up", "proxy direct"), "{:?}", report.warnings);
    assert!(
        !report
            .warnings
            .iter()
            .any(|warning| warning.kind == "drift" && warning.text.contains("proxy direct"))
    );
}

#[test]
fn a_steady_run_warns_of_nothing_but_what_was_not_run() {
    let experiment = synthetic::experiment();
    let report = Report::of(&experiment, None, &[synthetic::file(&experiment, 30, 7)]);
    let kinds: Vec<&str> = report
        .warnings
        .iter()
        .map(|warning| warning.kind)
        .filter(|kind| *kind != "wide")
        .collect();
    assert_eq!(kinds, [""; 0], "{:?}", report.warnings);
}

#[test]
fn load_priority_failures_and_mixtures_are_told() {
    let experiment = synthetic::experiment();
    let mut trials = trials(&[10.0; 7], &[100.0; 7]);
    trials[0].load = 7.5;
    trials[1].environment.priority = "not raised: no right".to_owned();
    trials[2].environment.kernel = "6.12.0".to_owned();
    trials[3].outcome = Outcome::Failed {
        error: "the proxy died".to_owned(),
    };
    let report = report(&experiment, trials);
    for kind in ["load", "priority", "mixed", "failed", "missing"] {
        assert!(
            report.warnings.iter().any(|warning| warning.kind == kind),
            "{kind}: {:?}",
            report.warnings
        );
    }
}

#[test]
fn files_are_merged_once_each_trial_and_damage_is_named() {
    let experiment = synthetic::experiment();
    let all = trials(&[10.0; 7], &[100.0; 7]);
    let mut other = file(all[..5].to_vec());
    other.records.damage.push(Damage {
        line: 6,
        offset: 900,
        cause: "it is cut off".to_owned(),
        cut: true,
    });
    let mut old = all[0].clone();
    (old.digest, old.run) = ("00".repeat(32), "older".to_owned());
    let mut quick = all[0].clone();
    (quick.quick, quick.run) = (true, "a look".to_owned());
    let report = Report::of(&experiment, None, &[file(all.clone()), other, file(vec![old, quick])]);
    assert_eq!(report.trials.len(), all.len());
    let told: Vec<&str> = report
        .warnings
        .iter()
        .filter(|warning| warning.kind == "records")
        .map(|warning| warning.text.as_str())
        .collect();
    assert_eq!(
        told,
        [
            "1 trials made by another version of the experiment's file were left out",
            "1 trials of quick runs were left out, because there are full ones",
            "trials.jsonl, line 6: it is cut off",
        ]
    );
    assert_eq!(
        report
            .files
            .iter()
            .map(|(_, used, damaged)| (*used, *damaged))
            .collect::<Vec<_>>(),
        [(14, 0), (0, 1), (0, 0)]
    );
}

#[test]
fn a_run_compared_with_itself_has_not_changed_and_with_a_slower_one_is_worse() {
    let experiment = synthetic::experiment();
    let before = synthetic::file(&experiment, 20, 1).records.trials;
    let same = compare(&experiment, &before, &before);
    // Ten combinations of three metrics and twelve of two.
    assert_eq!(same.len(), 54);
    assert!(
        same.iter()
            .all(|change| change.changed.verdict == Verdict::NoDifference)
    );
    let mut after = synthetic::file(&experiment, 20, 2).records.trials;
    for record in after
        .iter_mut()
        .filter(|record| record.levels.level("proxy") == Some("http2"))
    {
        if let Outcome::Measured { values, .. } = &mut record.outcome {
            for value in values.values_mut().flatten() {
                *value *= 1.3;
            }
        }
    }
    for change in compare(&experiment, &before, &after) {
        let slower = change.levels.level("proxy") == Some("http2");
        let expected = match (slower, change.metric.name) {
            (false, _) => Verdict::NoDifference,
            (true, "throughput") => Verdict::Better,
            (true, _) => Verdict::Worse,
        };
        assert_eq!(change.changed.verdict, expected, "{change:?}");
    }
}

#[test]
fn samples_as_a_table_have_a_row_each_in_their_order() {
    let experiment = synthetic::experiment();
    let report = report(&experiment, trials(&[10.0], &[]));
    let table = samples_csv(&report);
    let rows: Vec<&str> = table.lines().collect();
    assert_eq!(
        rows[0],
        "experiment,run,quick,part,trial,repetition,position,began,load,connection,proxy,metric,sample,value,error"
    );
    let tails: Vec<&str> = rows[1..]
        .iter()
        .map(|row| row.split_once("kept,direct,").unwrap().1)
        .collect();
    assert_eq!(tails, ["latency,0,15,", "latency,1,10,", "latency,2,9,"]);
}

#[test]
fn every_published_value_of_the_experiments_has_its_place() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let collection = Collection::find(Some(&folder));
    let mut seen = 0;
    for id in collection.ids().unwrap() {
        let found = collection.load(&id).unwrap();
        let Some(published) = &found.published else { continue };
        let report = Report::of(&found.experiment, Some(published), &[]);
        let rows = &report.published.as_ref().unwrap().rows;
        assert_eq!(rows.len(), published.values.len());
        for row in rows {
            let MeasuredBeside::Nothing { reason } = &row.beside else {
                panic!("{id}: {row:?} without a trial");
            };
            // A difference that no comparison gives, or several do, stands there with the reason, and the file says why.
            let known = ["not measured here", "no trial was measured"].contains(&reason.as_str());
            let told = reason.contains("comparison") && row.value.note.is_some();
            assert!(known || told, "{id}, {}: {reason}", row.value.id);
            seen += 1;
        }
    }
    assert!(seen > 0);
}
