//! A synthetic experiment with synthetic trials, for tests only.

use std::collections::BTreeMap;
use std::time::Duration;

use bartizan_estimators::Random;
use bartizan_report::File;
use bartizan_workbench::Error;
use bartizan_workbench::runner::experiment::{
    Answer, Comparison, Experiment, Factor, Form, Levels, Parameters, Part, Piece, Plot, PlotKind, Publication, Quick,
    Source,
};
use bartizan_workbench::runner::published::{Condition, Conditions, Conflict, Published, PublishedValue, Statistic};
use bartizan_workbench::runner::trial::{Environment, Outcome, RUN_SCHEMA, Record, Records, SCHEMA};
use bartizan_workbench::workload::{Better, Kind, MetricKind, Setting, Targets, Workload};
use serde_json::json;

const fn metric(name: &'static str, unit: &'static str, about: &'static str, better: Better) -> MetricKind {
    MetricKind {
        name,
        unit,
        about,
        better,
    }
}

pub(crate) static METRICS: [MetricKind; 5] = [
    metric(
        "latency",
        "us",
        "From request to answer, of each request.",
        Better::Lower,
    ),
    metric(
        "client-proxy",
        "us",
        "Spent in the consumer's proxy, of each trial.",
        Better::Lower,
    ),
    metric(
        "server-proxy",
        "us",
        "Spent in the producer's proxy, of each trial.",
        Better::Lower,
    ),
    metric(
        "throughput",
        "requests/s",
        "Requests answered, of each trial.",
        Better::Higher,
    ),
    metric("memory", "bytes", "Resident after load.", Better::Lower),
];

fn start(_: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    Err(Error::Configuration("nothing to measure".to_owned()))
}

static KIND: Kind = Kind {
    name: "synthetic",
    about: "a request to nobody, answered by chance",
    factors: &[],
    parameters: &[],
    metrics: &METRICS,
    targets: Targets::Own,
    lacks: |_, _| None,
    start,
};

pub(crate) fn levels(pairs: &[(&str, &str)]) -> Levels {
    pairs.iter().copied().collect()
}

fn factor(name: &str, levels: &[&str]) -> Factor {
    Factor {
        name: name.to_owned(),
        levels: levels.iter().map(|level| (*level).to_owned()).collect(),
    }
}

/// Every combination, the last factor fastest.
fn combinations(factors: &[Factor]) -> Vec<Levels> {
    factors.iter().fold(vec![Levels::default()], |all, factor| {
        all.iter()
            .flat_map(|levels| {
                factor
                    .levels
                    .iter()
                    .map(|level| levels.clone().with(&factor.name, level))
            })
            .collect()
    })
}

fn part(id: &str, factors: Vec<Factor>, metrics: &[usize]) -> Part {
    Part {
        id: id.to_owned(),
        question: Some(format!("What does {id} look like?")),
        workload: &KIND,
        combinations: combinations(&factors),
        factors,
        parameters: Parameters::from_iter([("requests".to_owned(), 40.into())]),
        repetitions: 30,
        warm_up: 1,
        quick: Quick {
            repetitions: 3,
            parameters: Parameters::default(),
        },
        bound: Duration::from_secs(60),
        metrics: metrics.iter().map(|index| &METRICS[*index]).collect(),
        floor: None,
        controls: Vec::new(),
        comparisons: Vec::new(),
        plots: Vec::new(),
    }
}

fn plot(kind: PlotKind) -> Plot {
    Plot {
        kind,
        only: Levels::default(),
    }
}

/// Two parts, every kind of plot, every form of comparison.
pub(crate) fn experiment() -> Experiment {
    let proxies = ["direct", "splice", "http2", "nginx-stream", "haproxy"];
    let mut latency = part(
        "latency",
        vec![factor("proxy", &proxies), factor("connection", &["kept", "new"])],
        &[0, 1, 2],
    );
    latency.floor = Some(levels(&[("proxy", "direct")]));
    let by = || "proxy".to_owned();
    latency.plots = vec![
        plot(PlotKind::Distribution {
            metric: &METRICS[0],
            by: by(),
        }),
        plot(PlotKind::Ecdf {
            metric: &METRICS[0],
            by: by(),
        }),
        plot(PlotKind::Bars {
            metric: &METRICS[0],
            by: by(),
            limits: Vec::new(),
        }),
        plot(PlotKind::HeatMap {
            metric: &METRICS[0],
            rows: by(),
            columns: "connection".to_owned(),
        }),
        plot(PlotKind::Stacked {
            metrics: vec![&METRICS[1], &METRICS[2]],
            total: Some(&METRICS[0]),
            by: by(),
        }),
    ];
    let comparison = |id: &str, form, of: &str, over: &str| Comparison {
        id: id.to_owned(),
        metric: &METRICS[0],
        of: levels(&[("proxy", of)]),
        over: levels(&[("proxy", over)]),
        form,
    };
    latency.comparisons = vec![
        comparison("splice-over-direct", Form::Added, "splice", "direct"),
        comparison("splice-over-nginx", Form::Ratio, "splice", "nginx-stream"),
        comparison("http2-over-haproxy", Form::Shift, "http2", "haproxy"),
    ];
    let mut load = part(
        "load",
        vec![
            factor("streams", &["1", "16", "64", "256"]),
            factor("proxy", &["splice", "http2", "nginx-stream"]),
        ],
        &[3, 4],
    );
    load.plots = vec![
        plot(PlotKind::Lines {
            metric: &METRICS[3],
            x: "streams".to_owned(),
            by: by(),
        }),
        plot(PlotKind::Bars {
            metric: &METRICS[4],
            by: by(),
            limits: Vec::new(),
        }),
    ];
    Experiment {
        id: "synthetic".to_owned(),
        title: "What a proxy of nobody costs".to_owned(),
        question: "How much latency does a proxy add that was never built, and does <b>markup</b> & such pass through as words?".to_owned(),
        source: Some(Source {
            paper: nobody(),
            title: "A paper that nobody wrote".to_owned(),
            place: "section VII, table II".to_owned(),
        }),
        invalid: vec!["Trials of a busy machine.".to_owned(), "A path that was not taken.".to_owned()],
        answer: Some(Answer {
            pieces: vec![
                Piece::Text("The spliced way takes ".to_owned()),
                Piece::Median {
                    part: "latency".to_owned(),
                    metric: "latency".to_owned(),
                    levels: levels(&[("proxy", "splice"), ("connection", "kept")]),
                },
                Piece::Text(" on a kept connection, and adds ".to_owned()),
                Piece::Comparison {
                    part: "latency".to_owned(),
                    id: "splice-over-direct".to_owned(),
                },
                Piece::Text(".".to_owned()),
            ],
        }),
        parts: vec![latency, load],
        digest: "d1".repeat(32),
        earlier: Vec::new(),
    }
}

/// A made-up publication.
fn nobody() -> Publication {
    serde_json::from_value(json!("Nobody et al. 2025")).unwrap()
}

fn value(id: &str, levels: Levels, statistic: Statistic, value: f64, unit: &str) -> PublishedValue {
    PublishedValue {
        id: id.to_owned(),
        part: Some("latency".to_owned()),
        metric: Some("latency".to_owned()),
        levels,
        statistic,
        value,
        unit: unit.to_owned(),
        bound: None,
        paper: None,
        over: Levels::default(),
        to: None,
        needs: None,
        place: "section VII".to_owned(),
        note: None,
    }
}

/// Values of every kind of statistic, and one that is not measured.
pub(crate) fn published() -> Published {
    let kept = || levels(&[("proxy", "splice"), ("connection", "kept")]);
    let mut unmeasured = value("energy", Levels::default(), Statistic::Total, 12.5, "J");
    (unmeasured.part, unmeasured.metric) = (None, None);
    unmeasured.needs = Some("a meter".to_owned());
    let mut ratio = value(
        "splice-over-nginx",
        levels(&[("connection", "kept"), ("proxy", "splice")]),
        Statistic::Ratio,
        0.98,
        "",
    );
    ratio.over = levels(&[("proxy", "nginx-stream")]);
    let mut range = value("range", kept(), Statistic::Median, 5.5, "ms");
    range.to = Some(6.0);
    let condition = |paper: &str| Condition {
        paper: paper.to_owned(),
        here: "other".to_owned(),
    };
    Published {
        paper: nobody(),
        conditions: Conditions {
            topology: condition("two machines"),
            sizes: condition("1 kB"),
            interval: condition("250 ms"),
            duration: condition("30 s"),
            repetitions: condition("100"),
        },
        needs: None,
        values: vec![
            value("median", kept(), Statistic::Median, 54.05, "ms"),
            value("low", kept(), Statistic::IntervalLow, 54.0, "ms"),
            value("third", kept(), Statistic::QuartileHigh, 0.000_155, "s"),
            ratio,
            range,
            value("strange", kept(), Statistic::Median, 3.0, "bytes"),
            unmeasured,
        ],
        conflicts: vec![Conflict {
            values: vec!["median".to_owned(), "low".to_owned()],
            note: "The abstract calls 54 ms \"below 1 ms\".".to_owned(),
        }],
    }
}

pub(crate) fn record(
    part: &str,
    trial: u64,
    repetition: usize,
    with: &Levels,
    values: BTreeMap<String, Vec<f64>>,
) -> Record {
    Record {
        schema: SCHEMA.to_owned(),
        experiment: "synthetic".to_owned(),
        digest: "d1".repeat(32),
        run: "2026-11-21T10-00-00".to_owned(),
        part: part.to_owned(),
        trial,
        repetition,
        position: 0,
        levels: with.clone(),
        twin: false,
        calibration: Vec::new(),
        steal: None,
        began: format!(
            "2026-11-21T10:{:02}:{:02}.{:03}Z",
            trial / 6000,
            trial / 100 % 60,
            trial % 100 * 10
        ),
        elapsed_ms: 12.5,
        seed: 7,
        quick: false,
        cores: vec![1],
        load: 0.4 + (trial % 10) as f64 * 0.05,
        under: None,
        environment: Environment {
            version: "0.1.0".to_owned(),
            kernel: "6.1.0".to_owned(),
            processor: Some("A processor".to_owned()),
            processors: vec![0, 1],
            priority: "nice -20".to_owned(),
            autogroup: Some(-20),
            namespace: "own".to_owned(),
            programs: vec!["nginx 1.26.3".to_owned(), "haproxy 3.0.11".to_owned()],
            ..Environment::default()
        },
        outcome: Outcome::Measured {
            values,
            facts: BTreeMap::new(),
        },
    }
}

/// About normal around 0 with deviation 1.
fn normal(random: &mut Random) -> f64 {
    (0..12)
        .map(|_| random.below(1 << 20) as f64 / f64::from(1 << 20))
        .sum::<f64>()
        - 6.0
}

/// So many repetitions of every combination, in turns, by this seed.
pub(crate) fn file(experiment: &Experiment, repetitions: usize, seed: u64) -> File {
    let mut random = Random::seeded(seed);
    let mut records = Records {
        runs: vec![
            serde_json::from_value(json!({
                "schema": RUN_SCHEMA, "experiment": experiment.id, "digest": experiment.digest,
                "run": "2026-11-21T10-00-00", "began": "2026-11-21T10:00:00Z", "seed": seed, "quick": false,
                "trials": 0, "left_out": [],
            }))
            .unwrap(),
        ],
        ..Records::default()
    };
    let mut trial = 0;
    for part in &experiment.parts {
        for repetition in 0..repetitions {
            let slow = 1.0 + 0.02 * normal(&mut random);
            for combination in &part.combinations {
                let mut values = BTreeMap::new();
                for metric in &part.metrics {
                    let (typical, count) = typical(metric.name, combination);
                    let own = slow * (1.0 + 0.01 * normal(&mut random));
                    let samples = (0..count)
                        .map(|_| typical * own * (0.08 * normal(&mut random)).exp().max(0.85))
                        .collect();
                    values.insert(metric.name.to_owned(), samples);
                }
                records
                    .trials
                    .push(record(&part.id, trial, repetition, combination, values));
                trial += 1;
            }
        }
    }
    File {
        name: "results/synthetic/2026-11-21T10-00-00.jsonl".to_owned(),
        records,
    }
}

/// Typical value of a metric in a combination, and number of samples in a trial.
fn typical(metric: &str, levels: &Levels) -> (f64, usize) {
    let proxy = match levels.level("proxy").unwrap_or_default() {
        "direct" => 17.0,
        "splice" => 92.0,
        "http2" => 131.0,
        "nginx-stream" => 104.0,
        _ => 158.0,
    };
    let connection = if levels.level("connection") == Some("new") {
        14.0
    } else {
        1.0
    };
    let streams: f64 = levels
        .level("streams")
        .and_then(|level| level.parse().ok())
        .unwrap_or(1.0);
    match metric {
        "latency" => (proxy * connection, 40),
        "client-proxy" => (proxy * 0.4, 1),
        "server-proxy" => (proxy * 0.35, 1),
        "throughput" => (1e6 / proxy * streams.sqrt(), 1),
        _ => (proxy * 1e5, 1),
    }
}
