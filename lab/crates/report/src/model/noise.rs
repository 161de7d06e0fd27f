//! Noise of the machine during trials (modes, steps, steal), and limits of the figures because of
//! it.

use std::collections::BTreeMap;

use bartizan_estimators::{Sample, step};
use bartizan_workbench::runner::experiment::Experiment;
use bartizan_workbench::runner::trial::{KernelKind, Record, Steal};
use bartizan_workbench::workload::MetricKind;
use serde::Serialize;

use super::pace::{Pace, Paces};
use super::samples::Trial;
use super::{Part, RUNNER, Samples, Verdict, Warning};
use crate::quantity::{percent, signed_percent};
use bartizan_page::quantity::Shown;

/// Steps below this share are not worth a word, however certain.
const WORTH: f64 = 0.03;
/// A step is reported where values without one look as parted once in so many parts.
const SURE: f64 = 0.01;
/// Steal above this share of the time of trials is reported.
const STOLEN: f64 = 0.005;
/// Trials are called dependent from this factor of the variance on.
const DEPENDENT: f64 = 2.0;
/// Maximum number of named items of a kind. The rest is counted.
const NAMED: usize = 4;

/// Noise of the machine, as recorded.
#[derive(Debug, Clone, Serialize)]
pub struct Noise {
    /// Fixed work before each trial, on the host and on guests.
    pub paces: Vec<MachinePace>,
    /// Processor time taken by the hypervisor; absent if no record has it.
    pub stolen: Option<Stolen>,
    /// Combinations whose trials have two modes.
    pub bimodal: Vec<Bimodal>,
    /// Steps at which a part as a whole became faster or slower.
    pub steps: Vec<Changed>,
    /// Combinations whose trials depend on each other: part and metric, how many of how many, and the largest factor.
    pub dependent: Vec<Dependent>,
    /// Limits of the figures, one sentence each.
    pub cannot: Vec<String>,
}

/// The pace of one machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MachinePace {
    /// Machine's or guest's kernel.
    pub kernel: KernelKind,
    /// Modes by its calibrations.
    #[serde(flatten)]
    pub pace: Pace,
}

/// Processor time that a hypervisor took during trials.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Stolen {
    /// Trials that say so.
    pub trials: usize,
    /// Trials among these during which the counter moved.
    pub touched: usize,
    /// Over the time of all of them, a share of one processor.
    pub share: f64,
    /// Most in one trial, in milliseconds.
    pub most: f64,
}

/// Combinations of a metric whose trials have two modes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bimodal {
    /// Id of the part.
    pub part: String,
    /// The metric.
    pub metric: &'static str,
    /// Combinations with two modes.
    pub combinations: usize,
    /// Combinations with trials enough to tell.
    pub of: usize,
    /// The upper mode over the lower one, the median of those combinations.
    pub ratio: f64,
}

/// A step of a part.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Changed {
    /// Id of the part.
    pub part: String,
    /// The metric.
    pub metric: &'static str,
    /// The first repetition after it, counted from 0 over all runs.
    pub repetition: usize,
    /// Relative change of the values from there on: 0.2 for a fifth more.
    pub change: f64,
    /// Probability that a part without a step looks as parted.
    pub p: f64,
}

/// Combinations of a metric whose trials depend on each other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Dependent {
    /// Id of the part.
    pub part: String,
    /// The metric.
    pub metric: &'static str,
    /// Combinations whose variance is twice that of independent trials or more.
    pub combinations: usize,
    /// Combinations among these whose interval is the whole range of their trials.
    pub whole: usize,
    /// Combinations with an interval.
    pub of: usize,
}

impl Noise {
    pub(crate) fn of(
        experiment: &Experiment,
        records: &[Record],
        samples: &Samples,
        parts: &[Part],
        paces: &Paces,
    ) -> Self {
        let mut noise = Self {
            paces: paces
                .iter()
                .map(|(kernel, pace)| MachinePace {
                    kernel,
                    pace: pace.clone(),
                })
                .collect(),
            stolen: Stolen::of(records),
            bimodal: parts.iter().flat_map(bimodal).collect(),
            steps: experiment.parts.iter().flat_map(|part| steps(part, samples)).collect(),
            dependent: parts.iter().flat_map(dependent).collect(),
            cannot: Vec::new(),
        };
        noise.cannot = cannot(records, parts, &noise);
        noise
    }

    /// Noise of the machine, in sentences.
    pub fn sentences(&self) -> impl Iterator<Item = String> + '_ {
        let paces = self.paces.iter().filter_map(|MachinePace { kernel, pace }| {
            let whose = capitalised(whose(*kernel));
            let number = |value: f64| Shown::bare().number(value);
            Some(match pace {
                Pace::NotRecorded => return None,
                Pace::TooFew => format!("{whose}: too few trials were calibrated to tell modes."),
                Pace::One { trials, spread } => format!(
                    "{whose} had one mode by fixed work before {trials} trials: {} us, 5 to 95 % {} to {}.",
                    number(spread[1]),
                    number(spread[0]),
                    number(spread[2])
                ),
                Pace::Two { trials, found } => format!(
                    "{whose} had two modes by fixed work before {trials} trials: {} us and {} us, the slow one in {} of them (that it is one \
                     mode: p {}).",
                    number(found.medians[0]),
                    number(found.medians[1]),
                    percent(found.upper),
                    number(found.p)
                ),
            })
        });
        let stolen = self.stolen.iter().map(|stolen| {
            format!(
                "The hypervisor gave {} of a processor to others while trials ran: in {} of {} trials, up to {} ms in one.",
                percent(stolen.share),
                stolen.touched,
                stolen.trials,
                Shown::bare().number(stolen.most)
            )
        });
        paces.chain(stolen)
    }

    /// Warnings for a reader.
    pub(crate) fn warnings(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let mut add = |kind: &'static str, text: String| warnings.push(Warning { kind, text });
        for MachinePace { kernel, pace } in &self.paces {
            if let Pace::Two { trials, found } = pace {
                let (slow, ratio) = (percent(found.upper), Shown::bare().number(found.ratio()));
                let whose = whose(*kernel);
                add(
                    "two modes",
                    format!(
                        "{whose} was {ratio} times as slow in {slow} of {trials} trials, by fixed work before each: tables and comparisons \
                         give both modes apart"
                    ),
                );
            }
        }
        let unexplained = self.paces.iter().all(|one| !matches!(one.pace, Pace::Two { .. }));
        if unexplained && !self.bimodal.is_empty() {
            let names = self.bimodal.iter().map(|one| {
                let ratio = Shown::bare().number(one.ratio);
                let Bimodal {
                    part,
                    metric,
                    combinations,
                    of,
                    ..
                } = one;
                format!("{metric} of {part} in {combinations} of {of} combinations ({ratio} times)")
            });
            add(
                "two modes",
                format!(
                    "trials lie in two groups, and nothing recorded says which is which: {}",
                    listed(names)
                ),
            );
        }
        let mut by_part: BTreeMap<&str, Vec<&Changed>> = BTreeMap::new();
        for step in &self.steps {
            by_part.entry(&step.part).or_default().push(step);
        }
        for (part, mut steps) in by_part {
            steps.sort_by(|one, other| other.change.abs().total_cmp(&one.change.abs()));
            let names = steps.iter().map(|step| {
                format!(
                    "{} {} from repetition {} on",
                    step.metric,
                    signed_percent(step.change),
                    step.repetition
                )
            });
            add(
                "drift",
                format!(
                    "{part} changed on the way, all combinations together: {}",
                    listed(names)
                ),
            );
        }
        if !self.dependent.is_empty() {
            let names = self.dependent.iter().map(|one| {
                let Dependent {
                    part,
                    metric,
                    combinations,
                    whole,
                    of,
                } = one;
                let range = match whole {
                    0 => String::new(),
                    whole => format!(", of which {whole} have no interval but their range"),
                };
                format!("{metric} of {part} in {combinations} of {of} combinations{range}")
            });
            add(
                "dependence",
                format!(
                    "trials that follow each other are alike, which their intervals count in: {}",
                    listed(names)
                ),
            );
        }
        if let Some(stolen) = self.stolen.filter(|stolen| stolen.share > STOLEN) {
            add(
                "steal",
                format!(
                    "the hypervisor gave {} of a processor to others while trials ran (in {} of {} trials, up to {} ms in one)",
                    percent(stolen.share),
                    stolen.touched,
                    stolen.trials,
                    Shown::bare().number(stolen.most)
                ),
            );
        }
        warnings
    }
}

pub(crate) fn whose(kernel: KernelKind) -> &'static str {
    match kernel {
        KernelKind::Host => "the machine",
        KernelKind::Guest => "the guest",
    }
}

impl Stolen {
    fn of(records: &[Record]) -> Option<Self> {
        // Steal of the machine under a guest, if recorded.
        let of = |record: &Record| match record.under {
            Some(under) => under.steal,
            None => record.steal,
        };
        let all: Vec<(f64, f64)> = records
            .iter()
            .filter_map(|record| Some((of(record).as_ref().map(Steal::during)?, record.elapsed_ms)))
            .collect();
        let (stolen, elapsed) = all
            .iter()
            .fold((0.0, 0.0), |(stolen, elapsed), one| (stolen + one.0, elapsed + one.1));
        (!all.is_empty()).then(|| Self {
            trials: all.len(),
            touched: all.iter().filter(|(stolen, _)| *stolen > 0.0).count(),
            share: if elapsed > 0.0 { stolen / elapsed } else { 0.0 },
            most: all.iter().map(|(stolen, _)| *stolen).fold(0.0, f64::max),
        })
    }
}

fn bimodal(part: &Part) -> impl Iterator<Item = Bimodal> + '_ {
    part.tables.iter().filter_map(|table| {
        let reported = table
            .rows
            .iter()
            .filter_map(|row| row.statistics)
            .filter(|one| one.trials >= 12);
        let ratios: Vec<f64> = reported.clone().filter_map(|one| Some(one.modes?.ratio())).collect();
        Some(Bimodal {
            part: part.id.clone(),
            metric: table.metric.name,
            combinations: ratios.len(),
            of: reported.count(),
            ratio: Sample::new(ratios).ok()?.median(),
        })
    })
}

fn dependent(part: &Part) -> impl Iterator<Item = Dependent> + '_ {
    part.tables.iter().filter_map(|table| {
        let factors: Vec<(f64, bool)> = table
            .rows
            .iter()
            .filter_map(|row| Some((row.statistics?.dependence?, row.statistics?.whole)))
            .collect();
        let high = || factors.iter().filter(|(factor, _)| *factor >= DEPENDENT);
        // By chance a tenth of few trials look so.
        (4 * high().count() > factors.len()).then(|| Dependent {
            part: part.id.clone(),
            metric: table.metric.name,
            combinations: high().count(),
            whole: high().filter(|(_, whole)| *whole).count(),
            of: factors.len(),
        })
    })
}

/// The step of each metric of a part: values over their combination's median, of all combinations
/// of a repetition together.
fn steps<'a>(
    part: &'a bartizan_workbench::runner::experiment::Part,
    samples: &'a Samples,
) -> impl Iterator<Item = Changed> + 'a {
    part.metrics.iter().filter_map(move |metric| {
        let rounds = rounds(part, metric, samples);
        let found = step(&rounds).ok()?;
        let change = found.change.exp() - 1.0;
        (found.p < SURE && change.abs() > WORTH).then(|| Changed {
            part: part.id.clone(),
            metric: metric.name,
            repetition: found.at,
            change,
            p: found.p,
        })
    })
}

/// Logarithms of values over their combination's median: the median of each repetition, in the
/// order they were taken. Empty where a combination has values that are not above 0.
fn rounds(part: &bartizan_workbench::runner::experiment::Part, metric: &MetricKind, samples: &Samples) -> Vec<f64> {
    let mut rounds: BTreeMap<(usize, (String, usize)), Vec<f64>> = BTreeMap::new();
    let mut first: BTreeMap<(String, usize), usize> = BTreeMap::new();
    let of = |trials: &[Trial]| -> Option<(f64, Vec<Trial>)> {
        let median = Sample::new(trials.iter().map(|trial| trial.median)).ok()?.median();
        let positive = median > 0.0 && trials.iter().all(|trial| trial.median > 0.0);
        positive.then(|| (median, trials.to_vec()))
    };
    for levels in &part.combinations {
        let trials = samples.trials(&part.id, levels, metric.name);
        if trials.is_empty() {
            continue;
        }
        let Some((median, trials)) = of(trials) else {
            return Vec::new();
        };
        for trial in trials {
            let place = *first.entry(trial.repetition.clone()).or_insert(trial.place);
            let round = rounds.entry((place, trial.repetition)).or_default();
            round.push((trial.median / median).ln());
        }
    }
    rounds
        .into_values()
        .filter_map(|values| Some(Sample::new(values).ok()?.median()))
        .collect()
}

fn cannot(records: &[Record], parts: &[Part], noise: &Noise) -> Vec<String> {
    let mut cannot = Vec::new();
    let trials: Vec<&Record> = records.iter().filter(|record| record.part != RUNNER).collect();
    if trials.is_empty() {
        return cannot;
    }
    let without = |has: fn(&Record) -> bool| trials.iter().filter(|record| !has(record)).count();
    let all = trials.len();
    let mut missing = |has: fn(&Record) -> bool, sentence: &str| match without(has) {
        0 => {}
        count if count == all => cannot.push(format!("{sentence}.")),
        count => cannot.push(format!("{sentence}: {count} of {all} trials do not record it.")),
    };
    missing(
        |record| {
            record
                .environment
                .build
                .as_ref()
                .is_some_and(|build| build.commit.is_some())
        },
        "Which commit was measured; the records do not name it",
    );
    missing(
        |record| !record.calibration.is_empty(),
        "Whether the machine was in its fast or in its slow mode during a trial; no calibration was recorded",
    );
    missing(
        |record| record.steal.is_some() || record.under.is_some_and(|under| under.steal.is_some()),
        "What the hypervisor gave to others; steal was not recorded",
    );
    let uncontrolled: Vec<String> = parts
        .iter()
        .filter(|part| part.controls.is_empty() && part.comparisons.iter().any(|one| one.value.is_some()))
        .map(|part| part.id.clone())
        .collect();
    if !uncontrolled.is_empty() {
        cannot.push(format!(
            "Whether two of the same differ as much; nothing was taken twice in {}.",
            uncontrolled.join(", ")
        ));
    }
    let few = parts.iter().flat_map(|part| &part.comparisons);
    let few = few
        .filter(|one| one.value.is_some() && one.effect.verdict == Verdict::TooFew)
        .count();
    if few > 0 {
        cannot.push(format!(
            "Whether {few} of the comparisons are differences: their trials are too few."
        ));
    }
    let one = noise.paces.iter().any(|one| matches!(one.pace, Pace::One { .. }));
    if one && !noise.bimodal.is_empty() {
        cannot.push(
            "Why trials of some combinations lie in two groups although fixed work before them does not: see the warning.".to_owned(),
        );
    }
    cannot
}

fn capitalised(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next();
    first.map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// The first few, and how many more.
pub(crate) fn listed(all: impl Iterator<Item = String>) -> String {
    let all: Vec<String> = all.collect();
    let named = all.iter().take(NAMED).cloned().collect::<Vec<_>>().join("; ");
    match all.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named}; and {more} more"),
    }
}
