//! Statistics held against the noise of real machines, as the committed records have it: two of the
//! same must not differ, and intervals must hold the median.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::OnceLock;

use bartizan_estimators::{Confidence, Random, Sample, serial_median};
use bartizan_report::{Verdict, controls};
use bartizan_workbench::runner::experiment::{Collection, Experiment, Levels, Part};
use bartizan_workbench::runner::run::runner_part;
use bartizan_workbench::runner::trial::{Outcome, Record, Records};
use bartizan_workbench::workload::KINDS;

const SEEDS: u64 = 100;
/// Metrics of a part that are looked at, the first ones: all would take minutes.
const METRICS: usize = 2;

/// Repetitions of an A/A experiment; fewer recorded ones are cut into shorter ones, where they have the trials for it.
const ROUNDS: usize = 12;
/// Workloads that no experiment with records takes: their noise is not known yet.
const UNRECORDED: &[&str] = &[
    "fronthaul-replay",
    "handshakes-in-memory",
    "new-connection",
    "proxies-hostile",
    "ramp",
    "steady",
];

/// Every experiment with the records that are kept of it, read once.
fn recorded() -> &'static [(Experiment, Vec<Record>)] {
    static RECORDED: OnceLock<Vec<(Experiment, Vec<Record>)>> = OnceLock::new();
    RECORDED.get_or_init(read)
}

fn read() -> Vec<(Experiment, Vec<Record>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let collection = Collection::find(Some(&folder));
    let mut all = Vec::new();
    for id in collection.ids().unwrap() {
        let mut experiment = collection.load(&id).unwrap().experiment;
        // Every run records the runner's own overhead; once is enough.
        if all.is_empty() {
            experiment.parts.push(runner_part());
        }
        let files = std::fs::read_dir(folder.join(&id).join("records"))
            .into_iter()
            .flatten()
            .flatten();
        let mut paths: Vec<_> = files.map(|file| file.path()).collect();
        paths.sort();
        let trials = paths
            .iter()
            .flat_map(|path| Records::read(path).unwrap().trials)
            .collect();
        all.push((experiment, trials));
    }
    all
}

fn values<'a>(record: &'a Record, metric: &str) -> Option<&'a Vec<f64>> {
    match &record.outcome {
        Outcome::Measured { values, .. } => values.get(metric),
        Outcome::Failed { .. } => None,
    }
}

fn median(values: &[f64]) -> f64 {
    Sample::new(values.iter().copied()).unwrap().median()
}

/// A trial's values of metrics over the usual values of its combination: noise, without the
/// measured effect.
struct Noise<'a> {
    record: &'a Record,
    /// The trial's median of each metric, which is the value that counts, over the combination's.
    values: BTreeMap<String, Vec<f64>>,
}

/// Trials of a part by repetition, in the order they were taken, as noise. Metrics that some trial
/// lacks, or whose values are not all above 0, are left out; so are those that never differ, which
/// cannot be mistaken for a difference.
fn noise<'a>(part: &Part, trials: &'a [Record]) -> Vec<Vec<Noise<'a>>> {
    let own = || trials.iter().filter(|record| record.part == part.id && !record.twin);
    let mut usual: BTreeMap<(&Levels, &str), f64> = BTreeMap::new();
    let mut metrics: Vec<&str> = Vec::new();
    for metric in &part.metrics {
        let mut by_levels: BTreeMap<&Levels, Vec<f64>> = BTreeMap::new();
        let whole = own().all(|record| {
            let Some(values) = values(record, metric.name) else {
                return false;
            };
            by_levels.entry(&record.levels).or_default().push(median(values));
            values.iter().all(|value| *value > 0.0)
        });
        let differs = by_levels
            .values()
            .any(|values| values.iter().any(|value| *value != values[0]));
        if whole && differs && metrics.len() < METRICS {
            metrics.push(metric.name);
            usual.extend(
                by_levels
                    .iter()
                    .map(|(levels, values)| ((*levels, metric.name), median(values))),
            );
        }
    }
    let mut rounds: Vec<((&str, usize), Vec<Noise<'a>>)> = Vec::new();
    for record in own() {
        let of = |metric: &&str| {
            let usual = usual[&(&record.levels, *metric)];
            let samples = values(record, metric).map_or(&[][..], Vec::as_slice);
            ((*metric).to_owned(), vec![median(samples) / usual])
        };
        let noise = Noise {
            record,
            values: metrics.iter().map(of).collect(),
        };
        let round = (record.run.as_str(), record.repetition);
        match rounds.iter_mut().find(|(known, _)| *known == round) {
            Some((_, trials)) => trials.push(noise),
            None => rounds.push((round, vec![noise])),
        }
    }
    cut(rounds.into_iter().map(|(_, trials)| trials).collect())
}

/// Repetitions of many trials, of which there are few, as more of fewer trials that followed each
/// other: two at the least.
fn cut(rounds: Vec<Vec<Noise<'_>>>) -> Vec<Vec<Noise<'_>>> {
    if rounds.is_empty() || rounds.len() >= ROUNDS {
        return rounds;
    }
    let pieces = ROUNDS.div_ceil(rounds.len());
    let mut shorter: Vec<Vec<Noise<'_>>> = Vec::new();
    let whole = rounds.iter().all(|round| round.len() >= 2);
    // In a part with one combination a repetition is one trial, and two of them are a pair.
    let rounds = if whole {
        rounds
    } else {
        vec![rounds.into_iter().flatten().collect()]
    };
    for mut round in rounds {
        let size = (round.len() / pieces).max(2);
        while round.len() >= 2 * size {
            let rest = round.split_off(size);
            shorter.push(std::mem::replace(&mut round, rest));
        }
        shorter.push(round);
    }
    shorter.retain(|round| round.len() >= 2);
    shorter
}

/// An experiment of two of the same: in each repetition two moments of the recorded one, drawn by the seed.
fn two_of_the_same(rounds: &[Vec<Noise<'_>>], levels: &Levels, seed: u64) -> Vec<Record> {
    let mut random = Random::seeded(seed);
    let mut records = Vec::new();
    for (repetition, round) in rounds.iter().enumerate() {
        let one = random.below(round.len());
        let other = (one + 1 + random.below(round.len() - 1)) % round.len();
        for (index, twin) in [(one, false), (other, true)] {
            let Noise { record, values } = &round[index];
            records.push(Record {
                repetition,
                levels: levels.clone(),
                twin,
                outcome: Outcome::Measured {
                    values: values.clone(),
                    facts: BTreeMap::new(),
                },
                ..(*record).clone()
            });
        }
    }
    records.sort_by(|one, other| one.began.cmp(&other.began).then(one.trial.cmp(&other.trial)));
    records
}

#[test]
fn two_of_the_same_show_no_difference_in_the_noise_of_any_recorded_workload() {
    let mut parts = 0;
    let mut workloads: BTreeSet<&str> = BTreeSet::new();
    for (experiment, trials) in recorded() {
        for part in &experiment.parts {
            let rounds = noise(part, trials);
            if rounds.is_empty() || rounds[0][0].values.is_empty() {
                continue;
            }
            let part = Part {
                controls: vec![part.combinations[0].clone()],
                ..part.clone()
            };
            let (mut reported, mut missed) = (0, 0);
            for seed in 0..SEEDS {
                let controls = controls(&part, &two_of_the_same(&rounds, &part.controls[0], seed));
                assert!(!controls.is_empty(), "{}/{}", experiment.id, part.id);
                reported += usize::from(
                    controls
                        .iter()
                        .any(|one| matches!(one.effect.verdict, Verdict::More | Verdict::Less)),
                );
                missed += usize::from(controls[0].interval.is_some_and(|interval| !interval.contains(0.0)));
            }
            // Findings are reported at 1 %, over all metrics together. The interval next to a
            // finding is at 95 %.
            assert!(
                reported <= 5,
                "{}/{}: a difference in {reported} of {SEEDS} seeds",
                experiment.id,
                part.id
            );
            assert!(
                missed <= 11,
                "{}/{}: {missed} of {SEEDS} intervals miss",
                experiment.id,
                part.id
            );
            parts += 1;
            workloads.insert(part.workload.name);
        }
    }
    assert!(parts >= 30, "{parts} parts were looked at");
    let all: BTreeSet<&str> = KINDS.iter().map(|kind| kind.name).collect();
    let missing: Vec<&str> = all.difference(&workloads).copied().collect();
    assert_eq!(
        missing, UNRECORDED,
        "on the left the workloads whose noise was not looked at"
    );
}

#[test]
fn intervals_of_medians_hold_the_median_in_recorded_noise() {
    let mut held = Vec::new();
    for (experiment, trials) in recorded() {
        for part in &experiment.parts {
            let rounds = noise(part, trials);
            let Some(metric) = rounds.first().and_then(|round| round[0].values.keys().next().cloned()) else {
                continue;
            };
            let series: Vec<Vec<f64>> = rounds
                .iter()
                .map(|round| round.iter().map(|noise| noise.values[&metric][0]).collect())
                .collect();
            if series.len() < 10 || part.id == "runner" {
                continue;
            }
            let truth = median(&series.concat());
            let mut random = Random::seeded(1);
            let hits = (0..SEEDS).filter(|_| {
                // The rounds as they followed each other, from one that is drawn on; of each a trial that is drawn.
                let start = random.below(series.len());
                let values: Vec<f64> = (0..series.len())
                    .map(|index| {
                        let round = &series[(start + index) % series.len()];
                        round[random.below(round.len())]
                    })
                    .collect();
                let interval = serial_median(&values, Confidence::P95).unwrap().estimate.interval;
                interval.contains(truth)
            });
            held.push((hits.count(), format!("{}/{} {metric}", experiment.id, part.id)));
        }
    }
    held.sort();
    assert!(held.len() >= 15, "{held:?}");
    let least = &held[0];
    assert!(least.0 >= 88, "{least:?}");
    assert!(held[held.len() / 2].0 >= 95, "{held:?}");
}
