use super::*;
use crate::bench::{Environment, SCHEMA};

fn record(what: What, route: Option<(Proxy, Mode)>, repetition: usize, measured: Measured) -> Record {
    Record {
        schema: SCHEMA,
        at_us: 0,
        seed: 1,
        quick: false,
        what,
        proxy: route.map(|route| route.0),
        mode: route.map(|route| route.1),
        placement: Placement::OneCore,
        cores: vec![1],
        repetition,
        position: 0,
        load: None,
        environment: Environment {
            bartizan: String::new(),
            kernel: String::new(),
            cpu: None,
            processors: vec![0, 1],
            priority: String::new(),
            autogroup: None,
            programs: Vec::new(),
        },
        measured,
    }
}

fn latencies(us: f64) -> Measured {
    let ns = (us * 1e3) as u64;
    Measured::Latencies {
        latencies_ns: vec![ns - 1000, ns, ns + 50_000],
        cpu: Some(Cpu {
            consumer_ns: 30_000,
            producer_ns: 60_000,
        }),
        requests: 3,
    }
}

const SPLICE: Option<(Proxy, Mode)> = Some((Proxy::Splice, Mode::PostQuantum));
const CLASSICAL: Option<(Proxy, Mode)> = Some((Proxy::Splice, Mode::Classical));

/// Repetitions in which the machine gets slower and slower, and splice adds 40 to 49 us.
fn drifting(repetitions: usize) -> Vec<Record> {
    (0..repetitions)
        .flat_map(|repetition| {
            let direct = 20.0 + repetition as f64;
            let added = 40.0 + (repetition % 10) as f64;
            [(None, direct), (SPLICE, direct + added), (CLASSICAL, direct + added)]
                .map(|(route, us)| record(What::Latency, route, repetition, latencies(us)))
        })
        .collect()
}

fn named(figures: &[Figure], name: Name) -> &Figure {
    figures.iter().find(|figure| figure.figure == name).unwrap()
}

#[test]
fn what_is_added_is_taken_against_the_direct_way_of_the_same_repetition() {
    let figures = figures(&drifting(100));
    let added = named(&figures, Name::Added);
    // Against the direct route of all repetitions the quartiles would lie fifty apart.
    assert_eq!((added.summary.n, added.summary.median), (100, 44.5));
    assert_eq!(
        (added.summary.lower_quartile, added.summary.upper_quartile),
        (42.0, 47.0)
    );
    assert!(added.interval.contains(44.5), "{:?}", added.interval);
    assert_eq!(added.cpu_us, Some(30.0));
    assert_eq!(named(&figures, Name::RoundTrip).summary.median, 69.5);
}

#[test]
fn a_repetition_without_its_direct_way_adds_nothing() {
    let mut records = drifting(10);
    records.retain(|record| record.proxy.is_some() || record.repetition >= 4);
    assert_eq!(named(&figures(&records), Name::Added).summary.n, 6);
}

#[test]
fn the_ratio_is_judged_from_a_hundred_repetitions_on() {
    let of = |repetitions| named(&figures(&drifting(repetitions)), Name::Ratio).verdict.clone();
    assert!(matches!(of(99), Verdict::NotJudged(_)));
    assert_eq!(of(100), Verdict::Reached);
}

#[test]
fn targets_are_of_our_own_post_quantum_paths_alone() {
    let mut records = drifting(10);
    records.extend((0..10).map(|repetition| {
        let route = Some((Proxy::Stunnel, Mode::PostQuantum));
        record(What::Latency, route, repetition, latencies(900.0))
    }));
    for figure in figures(&records).iter().filter(|figure| figure.figure == Name::Added) {
        let ours = (figure.proxy, figure.mode) == (Some(Proxy::Splice), Some(Mode::PostQuantum));
        let expected = if ours { Verdict::Reached } else { Verdict::NoTarget };
        assert_eq!(figure.verdict, expected, "{figure:?}");
    }
}

#[test]
fn a_figure_that_falls_short_says_so_and_a_quick_one_is_not_judged() {
    let handshakes = |quick| {
        let measured = Measured::Handshakes {
            over: Over::Memory,
            handshakes: 100,
            server_cpu_ns: 50_000_000,
        };
        let mut record = record(What::Handshakes, SPLICE, 0, measured);
        record.quick = quick;
        named(&figures(&[record]), Name::HandshakesInMemory).clone()
    };
    assert_eq!(handshakes(false).summary.median, 2000.0);
    assert_eq!(handshakes(false).verdict, Verdict::NotReached);
    assert_eq!(handshakes(true).verdict, Verdict::NotJudged("a quick run".to_owned()));
}

#[test]
fn handshakes_of_ends_that_never_met_are_a_figure_of_their_own() {
    let of = |over, server_cpu_ns| {
        let measured = Measured::Handshakes {
            over,
            handshakes: 100,
            server_cpu_ns,
        };
        record(What::Handshakes, SPLICE, 0, measured)
    };
    let records = [of(Over::Memory, 40_000_000), of(Over::MemoryFirstContact, 80_000_000)];
    let figures = figures(&records);
    assert_eq!(named(&figures, Name::HandshakesInMemory).summary.median, 2500.0);
    let first = named(&figures, Name::FirstContactsInMemory);
    assert_eq!(first.summary.median, 1250.0);
    assert_eq!(first.verdict, Verdict::NoTarget);
}

#[test]
fn new_connections_that_the_ledger_does_not_show_as_full_handshakes_are_not_judged() {
    let verdict = |full_handshakes, others| {
        let ledger = Measured::Ledger {
            connections: 21,
            full_handshakes,
            others,
        };
        let records = [
            record(What::NewConnection, SPLICE, 0, latencies(900.0)),
            record(What::NewConnection, SPLICE, 1, ledger),
        ];
        named(&figures(&records), Name::NewConnection).verdict.clone()
    };
    assert_eq!(verdict(21, 0), Verdict::Reached);
    assert!(matches!(verdict(20, 0), Verdict::NotJudged(_)));
    assert!(matches!(verdict(21, 1), Verdict::NotJudged(_)));
}

#[test]
fn failed_trials_are_left_out_and_counted() {
    let mut records = drifting(10);
    let error = Measured::Failed {
        error: "the connection broke".to_owned(),
    };
    records.push(record(What::Latency, SPLICE, 10, error));
    let figures = figures(&records);
    let added: Vec<_> = figures.iter().filter(|figure| figure.figure == Name::Added).collect();
    let failed: Vec<_> = added.iter().map(|figure| (figure.mode, figure.failed)).collect();
    assert_eq!(failed, [(Some(Mode::Classical), 0), (Some(Mode::PostQuantum), 1)]);
}

#[test]
fn the_larger_of_two_proxies_is_the_memory_that_counts() {
    let measured = Measured::Memory {
        requests: 1,
        consumer_bytes: 9_000_000,
        producer_bytes: 12_000_000,
    };
    let figure = named(&figures(&[record(What::Memory, SPLICE, 0, measured)]), Name::Memory).clone();
    assert_eq!((figure.summary.median, figure.verdict), (12.0, Verdict::NotReached));
}

#[test]
fn no_records_give_no_figures() {
    assert!(figures(&[]).is_empty());
}

#[test]
fn another_build_is_compared_by_what_both_add_in_the_same_repetitions() {
    let other = Some((Proxy::SpliceBeside, Mode::PostQuantum));
    let mut records = drifting(100);
    for repetition in 0..100 {
        let direct = 20.0 + repetition as f64;
        let added = 40.0 + (repetition % 10) as f64;
        records.push(record(
            What::Latency,
            other,
            repetition,
            latencies(direct + added / 1.25),
        ));
    }
    let figures = figures(&records);
    let figure = named(&figures, Name::BesideAdded);
    assert!((figure.summary.median - 1.25).abs() < 0.01, "{figure:?}");
    assert_eq!(figure.verdict, Verdict::NotReached);
    assert_eq!((figure.proxy, figure.summary.n), (Some(Proxy::Splice), 100));
    // Nothing is asked of the other build itself.
    let mut own = figures
        .iter()
        .filter(|figure| figure.proxy == Some(Proxy::SpliceBeside));
    assert!(own.all(|figure| figure.target.is_none() || figure.figure == Name::Ratio));
}
