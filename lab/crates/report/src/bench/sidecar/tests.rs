use std::collections::BTreeMap;

use bartizan_workbench::runner::experiment::bench::{SIDECAR, experiment};
use bartizan_workbench::runner::trial::{Environment, Outcome, Records, SCHEMA};

use super::*;

fn bench() -> Experiment {
    experiment(SIDECAR).unwrap().unwrap()
}

fn levels(proxy: &str, mode: &str) -> Levels {
    [("proxy", proxy), ("mode", mode), ("placement", "one-core")]
        .into_iter()
        .collect()
}

fn record(part: &str, levels: Levels, repetition: usize, outcome: Outcome) -> Record {
    Record {
        schema: SCHEMA.to_owned(),
        experiment: SIDECAR.to_owned(),
        digest: String::new(),
        run: "run".to_owned(),
        part: part.to_owned(),
        trial: 0,
        repetition,
        position: 0,
        levels,
        twin: false,
        began: String::new(),
        elapsed_ms: 1.0,
        seed: 1,
        quick: false,
        cores: vec![1],
        calibration: Vec::new(),
        steal: None,
        load: 0.0,
        under: None,
        environment: Environment::default(),
        outcome,
    }
}

fn measured<const N: usize>(values: [(&str, Vec<f64>); N]) -> Outcome {
    Outcome::Measured {
        values: values
            .into_iter()
            .map(|(metric, values)| (metric.to_owned(), values))
            .collect(),
        facts: BTreeMap::new(),
    }
}

/// Three requests, and 30 us of processor time for each.
fn latencies(us: f64) -> Outcome {
    measured([("latency", vec![us - 1.0, us, us + 50.0]), ("cpu", vec![0.030])])
}

const SPLICE: (&str, &str) = ("splice", "post-quantum");
const CLASSICAL: (&str, &str) = ("splice", "classical");
const DIRECT: (&str, &str) = ("direct", "clear");

fn latency((proxy, mode): (&str, &str), repetition: usize, us: f64) -> Record {
    record("latency", levels(proxy, mode), repetition, latencies(us))
}

/// Repetitions in which the machine gets slower and slower, and splice adds 40 to 49 us.
fn drifting(repetitions: usize) -> Vec<Record> {
    (0..repetitions)
        .flat_map(|repetition| {
            let direct = 20.0 + repetition as f64;
            let added = 40.0 + (repetition % 10) as f64;
            [(DIRECT, direct), (SPLICE, direct + added), (CLASSICAL, direct + added)]
                .map(|(route, us)| latency(route, repetition, us))
        })
        .collect()
}

fn of(records: &[Record]) -> Vec<Figure> {
    figures(&bench(), records)
}

fn named(figures: &[Figure], name: Name) -> &Figure {
    figures.iter().find(|figure| figure.figure == name).unwrap()
}

#[test]
fn what_is_added_is_taken_against_the_direct_route_of_the_same_repetition() {
    let figures = of(&drifting(100));
    let added = named(&figures, Name::Added);
    // Against the direct route of all repetitions the quartiles would lie fifty apart.
    assert_eq!((added.summary.n, added.summary.median), (100, 44.5));
    assert_eq!(
        (added.summary.lower_quartile, added.summary.upper_quartile),
        (42.0, 47.0)
    );
    assert!(added.interval.unwrap().contains(44.5), "{added:?}");
    assert!((added.cpu_us.unwrap() - 30.0).abs() < 1e-9);
    assert_eq!(named(&figures, Name::RoundTrip).summary.median, 69.5);
}

#[test]
fn figures_are_the_estimates_of_the_report_of_the_same_records() {
    let experiment = bench();
    let mut records = drifting(100);
    // The report takes trials of this version of the file only.
    for record in &mut records {
        record.digest.clone_from(&experiment.digest);
    }
    for (trial, record) in (0..).zip(&mut records) {
        record.trial = trial;
    }
    let figures = figures(&experiment, &records);
    let file = crate::File {
        name: String::new(),
        records: Records {
            trials: records,
            ..Records::default()
        },
    };
    let report = crate::Report::of(&experiment, None, &[file]);
    let part = report.part("latency").unwrap();
    let compared = |id: &str| {
        let comparison = part.comparisons.iter().find(|one| one.id == id && one.value.is_some());
        let comparison = comparison.unwrap();
        (comparison.value.unwrap(), comparison.interval)
    };
    let figure = |name| {
        let figure = figures.iter().rfind(|figure| figure.figure == name).unwrap();
        (figure.summary.median, figure.interval)
    };
    assert_eq!(figure(Name::Added), compared("splice-post-quantum-added"));
    assert_eq!(figure(Name::Ratio), compared("splice-ratio"));
    let direct = part.table("latency").unwrap().row(&levels("direct", "clear")).unwrap();
    let statistics = direct.statistics.unwrap();
    assert_eq!(figure(Name::RoundTrip), (statistics.median, statistics.interval));
}

#[test]
fn a_repetition_without_its_direct_route_adds_nothing() {
    let mut records = drifting(10);
    records.retain(|record| record.levels != levels("direct", "clear") || record.repetition >= 4);
    assert_eq!(named(&of(&records), Name::Added).summary.n, 6);
}

#[test]
fn the_ratio_is_judged_from_a_hundred_repetitions_on() {
    let of = |repetitions| named(&of(&drifting(repetitions)), Name::Ratio).verdict.clone();
    assert!(matches!(of(99), Verdict::NotJudged(_)));
    assert_eq!(of(100), Verdict::Reached);
}

#[test]
fn targets_are_of_our_own_post_quantum_paths_alone() {
    let mut records = drifting(10);
    records.extend((0..10).map(|repetition| latency(("stunnel", "post-quantum"), repetition, 900.0)));
    for figure in of(&records).iter().filter(|figure| figure.figure == Name::Added) {
        let ours = (figure.proxy, figure.mode) == (Some(Proxy::Splice), Some(Mode::PostQuantum));
        let expected = if ours { Verdict::Reached } else { Verdict::NoTarget };
        assert_eq!(figure.verdict, expected, "{figure:?}");
    }
}

fn in_memory(mode: &str, contact: &str, rate: f64) -> Record {
    let levels = [("mode", mode), ("contact", contact)].into_iter().collect();
    record(
        "handshakes-in-memory",
        levels,
        0,
        measured([("handshakes", vec![rate])]),
    )
}

#[test]
fn a_figure_that_falls_short_says_so_and_a_quick_one_is_not_judged() {
    let of = |quick| {
        let mut record = in_memory("post-quantum", "known", 2000.0);
        record.quick = quick;
        named(&of(&[record]), Name::HandshakesInMemory).clone()
    };
    assert_eq!(of(false).summary.median, 2000.0);
    assert_eq!(of(false).verdict, Verdict::NotReached);
    assert_eq!(of(true).verdict, Verdict::NotJudged("a quick run".to_owned()));
}

#[test]
fn handshakes_of_ends_that_never_met_are_a_figure_of_their_own() {
    let figures = of(&[
        in_memory("post-quantum", "known", 2500.0),
        in_memory("post-quantum", "first", 1250.0),
        in_memory("classical", "known", 9000.0),
    ]);
    let known: Vec<_> = figures
        .iter()
        .filter(|figure| figure.figure == Name::HandshakesInMemory)
        .map(|figure| (figure.mode, figure.summary.median, figure.target.is_some()))
        .collect();
    assert_eq!(
        known,
        [
            (Some(Mode::Classical), 9000.0, false),
            (Some(Mode::PostQuantum), 2500.0, true)
        ]
    );
    let first = named(&figures, Name::FirstContactsInMemory);
    assert_eq!(first.summary.median, 1250.0);
    assert_eq!(first.verdict, Verdict::NoTarget);
}

#[test]
fn failed_trials_are_left_out_and_counted() {
    let mut records = drifting(10);
    let error = Outcome::Failed {
        error: "the connection broke".to_owned(),
    };
    records.push(record("latency", levels(SPLICE.0, SPLICE.1), 10, error));
    let figures = of(&records);
    let added: Vec<_> = figures.iter().filter(|figure| figure.figure == Name::Added).collect();
    let failed: Vec<_> = added.iter().map(|figure| (figure.mode, figure.failed)).collect();
    assert_eq!(failed, [(Some(Mode::Classical), 0), (Some(Mode::PostQuantum), 1)]);
}

#[test]
fn the_larger_of_two_proxies_is_the_memory_that_counts() {
    let outcome = measured([
        ("memory", vec![12.0]),
        ("memory-consumer", vec![9.0]),
        ("memory-producer", vec![12.0]),
    ]);
    let figure = named(
        &of(&[record("memory", levels(SPLICE.0, SPLICE.1), 0, outcome)]),
        Name::Memory,
    )
    .clone();
    assert_eq!((figure.summary.median, figure.verdict), (12.0, Verdict::NotReached));
}

#[test]
fn a_request_on_a_new_connection_is_given_in_milliseconds() {
    let records: Vec<Record> = (0..6)
        .map(|repetition| {
            record(
                "new-connection",
                levels(SPLICE.0, SPLICE.1),
                repetition,
                latencies(900.0),
            )
        })
        .collect();
    let figure = named(&of(&records), Name::NewConnection).clone();
    assert!((figure.summary.median - 0.9).abs() < 1e-12, "{figure:?}");
    assert_eq!((figure.unit, figure.verdict), ("ms", Verdict::Reached));
}

#[test]
fn no_records_give_no_figures() {
    assert!(of(&[]).is_empty());
}

#[test]
fn another_build_is_compared_by_what_both_add_in_the_same_repetitions() {
    let mut records = drifting(100);
    for repetition in 0..100 {
        let direct = 20.0 + repetition as f64;
        let added = 40.0 + (repetition % 10) as f64;
        records.push(latency(
            ("splice-other", "post-quantum"),
            repetition,
            direct + added / 1.25,
        ));
    }
    let figures = of(&records);
    let figure = named(&figures, Name::OtherAdded);
    assert!((figure.summary.median - 1.25).abs() < 0.01, "{figure:?}");
    assert_eq!(figure.verdict, Verdict::NotReached);
    assert_eq!((figure.proxy, figure.summary.n), (Some(Proxy::Splice), 100));
    // Nothing is asked of the other build itself.
    let mut own = figures.iter().filter(|figure| figure.proxy == Some(Proxy::SpliceOther));
    assert!(own.all(|figure| figure.target.is_none()));
}
