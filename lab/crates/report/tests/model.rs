//! Statements of a report, compared with calculations by hand.

mod synthetic;

use std::collections::BTreeMap;

use bartizan_estimators::Interval;
use bartizan_report::{ComparisonResult, Direction, File, Measured, Report, Verdict, compare, markdown, samples_csv};
use bartizan_workbench::Experiment;
use bartizan_workbench::runner::experiment::Collection;
use bartizan_workbench::runner::published::Bound;
use bartizan_workbench::runner::trial::{Calibration, Damage, Outcome, Record, Records, Steal};
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
        (added.value, added.effect.direction, added.n),
        (Some(90.0), Direction::Worse, (8, 8))
    );
    let interval = added.interval.unwrap();
    assert_eq!((interval.low, interval.high), (90.0, 90.0));
    assert_eq!(added.within, levels(&[("connection", "kept")]));
    let unmeasured = comparisons
        .iter()
        .find(|comparison| comparison.id == "http2-over-haproxy")
        .unwrap();
    assert_eq!((unmeasured.value, unmeasured.effect.verdict), (None, Verdict::TooFew));
}

#[test]
fn three_trials_have_a_median_but_no_interval_and_no_verdict() {
    let report = report(
        &synthetic::experiment(),
        trials(&[10.0, 11.0, 12.0], &[100.0, 101.0, 102.0]),
    );
    let added = &report.part("latency").unwrap().comparisons[0];
    assert_eq!(
        (added.value, added.interval, added.effect.verdict),
        (Some(90.0), None, Verdict::TooFew)
    );
    assert!(report.warnings.iter().any(|warning| warning.kind == "few trials"));
}

#[test]
fn every_published_value_has_something_next_to_it_in_its_own_unit() {
    let report = report(&synthetic::experiment(), trials(&[10.0; 7], &[100.0; 7]));
    let published = report.published.as_ref().unwrap();
    let row = |id: &str| published.rows.iter().find(|row| row.value.id == id).unwrap();
    let Measured::Measured { value, n, ratio, .. } = &row("median").measured else {
        panic!("{:?}", row("median").measured);
    };
    assert!((value - 0.1).abs() < 1e-12 && *n == 7 && (ratio.unwrap() - 0.1 / 54.05).abs() < 1e-9);
    assert_eq!(row("median").relation().unwrap(), "1/540 of it");
    let reason = |id: &str| match &row(id).measured {
        Measured::Nothing { reason } => reason.clone(),
        measured => panic!("{measured:?}"),
    };
    assert_eq!(reason("energy"), "not measured here");
    assert_eq!(reason("strange"), "measured in µs, printed in bytes: not comparable");
    assert_eq!(reason("splice-over-nginx"), "no trial was measured");
    assert_eq!(row("range").relation().unwrap(), "below by a factor of 55");
    let results = ["median", "range", "strange", "energy"].map(|id| row(id).result());
    assert_eq!(results[..2], [ComparisonResult::Compared; 2]);
    assert_eq!(results[2..], [ComparisonResult::NotMeasured; 2]);
    assert_eq!(row("energy").note().unwrap(), "needs a meter");
    assert_eq!(published.rows.len(), synthetic::published().values.len());
    assert_eq!(published.conflicts.len(), 1);
}

/// The words of a measurement with this median and interval next to a printed range or bound.
fn relation(median: f64, interval: Option<(f64, f64)>, low: Option<f64>, high: Option<f64>) -> String {
    let report = report(&synthetic::experiment(), trials(&[10.0; 7], &[100.0; 7]));
    let mut row = report.published.unwrap().rows.remove(0);
    let bound = if low.is_some() { Bound::AtLeast } else { Bound::AtMost };
    row.value.bound = (low.is_none() || high.is_none()).then_some(bound);
    row.value.value = low.or(high).unwrap();
    row.value.to = low.and(high);
    row.measured = Measured::Measured {
        value: median,
        interval: interval.map(|(low, high)| Interval { low, high }),
        n: 7,
        ratio: None,
    };
    row.relation().unwrap()
}

#[test]
fn a_range_is_met_or_missed_by_a_factor_and_an_interval_that_reaches_it_is_no_difference() {
    let range = |median, interval| relation(median, interval, Some(5.5), Some(6.0));
    assert_eq!(range(5.7, None), "inside");
    assert_eq!(range(0.112, Some((0.110, 0.113))), "below by a factor of 49.1");
    assert_eq!(range(60.0, Some((50.0, 70.0))), "above by a factor of 10");
    assert_eq!(range(5.0, Some((4.0, 5.6))), "no difference");
    assert_eq!(range(6.5, Some((5.9, 7.0))), "no difference");
    assert_eq!(range(-1.0, None), "below it");
    assert_eq!(relation(4.88, Some((3.37, 5.63)), Some(5.0), None), "no difference");
    assert_eq!(relation(4.88, Some((3.37, 4.9)), Some(4.0), None), "inside");
    assert_eq!(relation(2100.0, None, None, Some(525.0)), "above by a factor of 4");
}

fn about<'a>(report: &'a Report, kind: &'static str) -> impl Iterator<Item = &'a str> {
    let of_kind = report.warnings.iter().filter(move |warning| warning.kind == kind);
    of_kind.map(|warning| warning.text.as_str())
}

#[test]
fn drift_is_reported_of_all_combinations_together_and_warm_up_of_each() {
    // Each by itself moves by less than its noise; together they show where the machine slowed down.
    let at = |index: usize, typical: f64, odd: usize| {
        let noise = (index * odd % 11) as f64 - 5.0;
        typical * (1.0 + 0.01 * noise) * if index >= 21 { 1.08 } else { 1.0 }
    };
    let slower = |typical, odd| -> Vec<f64> { (0..60).map(|index| at(index, typical, odd)).collect() };
    let drifted = report(&synthetic::experiment(), trials(&slower(10.0, 7), &slower(100.0, 5)));
    let reported: Vec<&str> = about(&drifted, "drift").collect();
    let [reported] = reported.as_slice() else {
        panic!("{:?}", drifted.warnings);
    };
    assert!(
        reported.starts_with("latency changed on the way") && reported.contains("from repetition 21 on"),
        "{reported}"
    );
    let step = &drifted.noise.steps[0];
    assert!((step.change - 0.08).abs() < 0.02, "{step:?}");

    let slow_first: Vec<f64> = (0..30)
        .map(|index| 100.0 + (index * 7 % 5) as f64 * 0.1 + if index < 3 { 40.0 - index as f64 } else { 0.0 })
        .collect();
    let level: Vec<f64> = (0..30).map(|index| 10.0 + (index * 3 % 7) as f64 * 0.01).collect();
    let report = report(&synthetic::experiment(), trials(&level, &slow_first));
    assert!(
        about(&report, "warm-up").any(|text| text.contains("proxy splice")),
        "{:?}",
        report.warnings
    );
    assert!(about(&report, "drift").next().is_none(), "{:?}", report.warnings);
}

/// The same trials, each with what fixed work took before it.
fn calibrated(mut trials: Vec<Record>, pace: impl Fn(&Record) -> f64) -> Vec<Record> {
    for record in &mut trials {
        let pace = pace(record);
        record.calibration = vec![Calibration {
            processor: 1,
            arithmetic: 300.0 * pace,
            memory: 40.0 * pace,
            system: 20.0 * pace,
        }];
        record.steal = Some(Steal {
            before: 100.0,
            after: 100.0,
        });
    }
    trials
}

#[test]
fn trials_of_a_machine_with_two_modes_are_distinguished_by_what_fixed_work_took_before_them() {
    // A quarter of the repetitions is half as slow again for everything; splice adds 90 to ten.
    let slow = |repetition: usize| repetition % 4 == 3;
    let wobble = |index: usize| 1.0 + 0.001 * (index * 7 % 13) as f64;
    let of = |typical: f64| -> Vec<f64> {
        let factor = |index| if slow(index) { 1.5 } else { 1.0 };
        (0..40).map(|index| typical * wobble(index) * factor(index)).collect()
    };
    let records = calibrated(trials(&of(10.0), &of(100.0)), |record| {
        let factor = if slow(record.repetition) { 1.5 } else { 1.0 };
        factor * (1.0 + 0.002 * (record.trial * 11 % 17) as f64)
    });
    let report = report(&synthetic::experiment(), records);
    let reported: Vec<&str> = about(&report, "two modes").collect();
    assert_eq!(reported.len(), 1, "{reported:?}");
    assert!(
        reported[0].contains("25\u{a0}%") && reported[0].contains("1.5"),
        "{reported:?}"
    );
    let with = levels(&[("proxy", "splice"), ("connection", "kept")]);
    let part = report.part("latency").unwrap();
    let statistics = part.table("latency").unwrap().row(&with).unwrap().statistics.unwrap();
    let (fast, slow) = (statistics.fast.unwrap(), statistics.slow.unwrap());
    assert_eq!((fast.trials, slow.trials), (30, 10));
    assert!((slow.median / fast.median - 1.5).abs() < 0.02, "{statistics:?}");
    assert!(statistics.modes.is_some());
    let added = part.comparisons.iter().find(|one| one.value.is_some()).unwrap();
    let [fast, slow] = added.by_speed.map(|at| at.unwrap());
    assert!(
        (fast.value - 90.5).abs() < 1.0 && (slow.value - 135.5).abs() < 2.0,
        "{added:?}"
    );
    assert!(
        report
            .noise
            .cannot
            .iter()
            .all(|sentence| !sentence.contains("calibration"))
    );
    assert!(markdown(&report).contains("| fast mode [95 %], n | slow mode [95 %], n |"));
}

#[test]
fn a_machine_with_one_mode_has_no_strata_and_a_record_without_calibration_says_what_it_cannot_tell() {
    let of = |typical: f64| -> Vec<f64> { (0..40).map(|index| typical + f64::from(index * 7 % 13)).collect() };
    let steady = calibrated(trials(&of(10.0), &of(100.0)), |record| {
        1.0 + 0.002 * (record.trial * 11 % 17) as f64
    });
    let one = report(&synthetic::experiment(), steady);
    assert!(about(&one, "two modes").next().is_none(), "{:?}", one.warnings);
    assert!(!markdown(&one).contains("fast mode"));
    let before = report(&synthetic::experiment(), trials(&of(10.0), &of(100.0)));
    for what in ["commit", "mode", "hypervisor", "Whether two of the same differ"] {
        assert!(
            before.noise.cannot.iter().any(|sentence| sentence.contains(what)),
            "{what}: {:?}",
            before.noise.cannot
        );
    }
}

/// A twin of `splice` that takes so much longer.
fn with_twin(longer: f64) -> Report {
    let splice: Vec<f64> = (0..20).map(|index| 100.0 + f64::from(index * 7 % 5)).collect();
    let direct: Vec<f64> = splice.iter().map(|value| value - 4.0).collect();
    let mut all = trials(&direct, &splice);
    let twins: Vec<Record> = all
        .iter()
        .filter(|record| record.levels.level("proxy") == Some("splice"))
        .map(|record| {
            let mut twin = record.clone();
            (twin.twin, twin.trial) = (true, record.trial + 1000);
            if let Outcome::Measured { values, .. } = &mut twin.outcome {
                for value in values.values_mut().flatten() {
                    *value += longer * if record.repetition % 2 == 0 { 1.0 } else { 0.9 };
                }
            }
            twin
        })
        .collect();
    all.extend(twins);
    let mut experiment = synthetic::experiment();
    experiment.parts[0].controls = vec![levels(&[("proxy", "splice"), ("connection", "kept")])];
    report(&experiment, all)
}

#[test]
fn a_difference_is_one_where_two_of_the_same_differ_by_less() {
    let of = |report: &Report| {
        let comparisons = &report.part("latency").unwrap().comparisons;
        comparisons.iter().find(|one| one.value.is_some()).unwrap().clone()
    };
    let (quiet, noisy) = (with_twin(0.1), with_twin(5.0));
    assert_eq!(of(&quiet).effect.verdict, Verdict::More);
    let words = of(&quiet).effect.words();
    assert!(
        words.starts_with("4.1\u{a0}% more (worse); two of the same: up to 0.1"),
        "{words}"
    );
    assert_eq!(of(&noisy).effect.verdict, Verdict::WithinControl);
    // The twin is no trial of its combination, and a control that differs says so.
    let part = noisy.part("latency").unwrap();
    assert_eq!(
        part.tables[0]
            .rows
            .iter()
            .filter_map(|row| row.statistics)
            .map(|one| one.trials)
            .max(),
        Some(20)
    );
    assert_eq!(
        (part.controls.len(), part.controls[0].effect.verdict),
        (1, Verdict::More)
    );
    assert_eq!(part.controls[0].n, 20);
}

#[test]
fn fewer_repetitions_than_the_experiment_declares_are_reported() {
    let reported = |n| {
        let report = report(&synthetic::experiment(), trials(&vec![10.0; n], &vec![100.0; n]));
        about(&report, "fewer repetitions")
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(reported(24), ["than the experiment declares: latency 24 of 30"]);
    assert!(reported(30).is_empty());
}

#[test]
fn stacked_parts_add_up_to_the_whole() {
    let experiment = synthetic::experiment();
    let mut file = synthetic::file(&experiment, 12, 3);
    // A whole with something next to its parts.
    for record in &mut file.records.trials {
        if let Outcome::Measured { values, .. } = &mut record.outcome
            && let [Some(client), Some(server)] =
                ["client-proxy", "server-proxy"].map(|name| values.get(name).map(|v| v[0]))
        {
            values.insert("latency".to_owned(), vec![client + server + 10.0]);
        }
    }
    let report = Report::of(&experiment, None, &[file]);
    let part = report.part("latency").unwrap();
    let drawn = part
        .figures
        .iter()
        .find(|figure| figure.kind == "stacked")
        .unwrap()
        .drawing
        .inline();
    for row in &part.table("latency").unwrap().rows {
        let total = row.statistics.unwrap().median;
        let shown = report
            .part("latency")
            .unwrap()
            .table("latency")
            .unwrap()
            .shown
            .number(total);
        assert!(drawn.contains(&shown), "{shown} is the number of no bar: {drawn}");
    }
    assert!(drawn.contains("rest of latency"));
}

#[test]
fn a_steady_run_warns_of_nothing_but_what_was_not_run() {
    let experiment = synthetic::experiment();
    let report = Report::of(&experiment, None, &[synthetic::file(&experiment, 30, 7)]);
    let kinds: Vec<&str> = report
        .warnings
        .iter()
        .map(|warning| warning.kind)
        .filter(|kind| !["wide", "dependence"].contains(kind))
        .collect();
    assert_eq!(kinds, [""; 0], "{:?}", report.warnings);
}

#[test]
fn load_priority_failures_and_mixtures_are_reported() {
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
    let reported: Vec<&str> = report
        .warnings
        .iter()
        .filter(|warning| warning.kind == "records")
        .map(|warning| warning.text.as_str())
        .collect();
    assert_eq!(
        reported,
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
    let same = compare(&experiment, &before, &before, 0.0);
    // Ten combinations of three metrics and twelve of two.
    assert_eq!(same.len(), 54);
    assert!(
        same.iter()
            .all(|change| change.changed.effect.verdict == Verdict::NoDifference)
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
    for change in compare(&experiment, &before, &after, 0.03) {
        let slower = change.levels.level("proxy") == Some("http2");
        let expected = match (slower, change.metric.name) {
            (false, _) => Direction::Neither,
            (true, "throughput") => Direction::Better,
            (true, _) => Direction::Worse,
        };
        assert_eq!(change.changed.effect.direction, expected, "{change:?}");
    }
    // A threshold above what changed leaves nothing changed.
    assert!(
        compare(&experiment, &before, &after, 0.5)
            .iter()
            .all(|change| change.changed.effect.direction == Direction::Neither)
    );
}

#[test]
fn samples_as_a_table_have_a_row_each_in_their_order() {
    let experiment = synthetic::experiment();
    let report = report(&experiment, trials(&[10.0], &[]));
    let table = samples_csv(&report);
    let rows: Vec<&str> = table.lines().collect();
    assert_eq!(
        rows[0],
        "experiment,run,quick,part,trial,repetition,position,twin,began,load,steal_ms,calibration_us,connection,proxy,metric,sample,value,error"
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
            // Each value names what it is compared with: a file that does not is refused.
            let known = ["not measured here", "no trial was measured"];
            let expected = matches!(&row.measured, Measured::Nothing { reason } if known.contains(&reason.as_str()));
            assert!(expected, "{id}, {}: {:?}", row.value.id, row.measured);
            seen += 1;
        }
    }
    assert!(seen > 0);
}
