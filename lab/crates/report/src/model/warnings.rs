//! Warnings for the reader of a result.

use std::collections::{BTreeMap, BTreeSet};

use bartizan_estimators::{Confidence, Pairs, Sample, first_against_rest, paired_shift};
use bartizan_workbench::runner::experiment::{Experiment, Levels};
use bartizan_workbench::runner::trial::{KernelKind, LeftOut, Record};
use serde::Serialize;

use super::noise::listed;
use super::samples::Trial;
use super::statistics::LEAST;
use super::{File, RUNNER, Samples, Statistics};
use crate::quantity::{percent, signed_percent, words};

/// Warm-up below this share of the median is not worth a word, however certain.
const WORTH: f64 = 0.03;
/// Differences of all trials with each other are taken.
const MOST: usize = 1000;

/// One warning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// Kind of the warning, in a word or two.
    pub kind: &'static str,
    /// Description of the problem.
    pub text: String,
}

impl Warning {
    pub(crate) fn records(text: String) -> Self {
        Self { kind: "records", text }
    }
}

pub(crate) fn of(
    experiment: &Experiment,
    samples: &Samples,
    trials: &[Record],
    left_out: &[LeftOut],
    files: &[File],
) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if trials.is_empty() {
        warnings.push(Warning::records("there are no trials".to_owned()));
        return warnings;
    }
    failures(samples, &mut warnings);
    missing(experiment, samples, left_out, &mut warnings);
    short(experiment, samples, trials, files, &mut warnings);
    built(trials, &mut warnings);
    machine(trials, &mut warnings);
    series(experiment, samples, &mut warnings);
    warnings
}

fn failures(samples: &Samples, warnings: &mut Vec<Warning>) {
    let mut reasons: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (part, levels, errors) in samples.all_failures() {
        for error in errors {
            reasons
                .entry(error)
                .or_default()
                .push(format!("{part}: {}", words(levels)));
        }
    }
    for (error, mut places) in reasons {
        let count = places.len();
        places.dedup();
        let some = listed(places.into_iter());
        let trials = if count == 1 { "trial" } else { "trials" };
        warnings.push(Warning {
            kind: "failed",
            text: format!("{count} {trials} failed: {error} ({some})"),
        });
    }
}

fn missing(experiment: &Experiment, samples: &Samples, left_out: &[LeftOut], warnings: &mut Vec<Warning>) {
    let (mut absent, mut few) = (Vec::new(), Vec::new());
    for part in &experiment.parts {
        for levels in &part.combinations {
            let most = part
                .metrics
                .iter()
                .map(|metric| samples.trials(&part.id, levels, metric.name).len())
                .max();
            let known = |left: &LeftOut| left.part == part.id && left.levels == *levels;
            match most.unwrap_or(0) {
                0 if !left_out.iter().any(known) => absent.push(format!("{}: {}", part.id, words(levels))),
                0 => {}
                n if n < LEAST => few.push(format!("{}: {} ({n})", part.id, words(levels))),
                _ => {}
            }
        }
    }
    if !absent.is_empty() {
        warnings.push(Warning {
            kind: "missing",
            text: format!("no trial was measured of {}", listed(absent.into_iter())),
        });
    }
    if !few.is_empty() {
        warnings.push(Warning {
            kind: "few trials",
            text: format!(
                "fewer than {LEAST} trials give no 95 % interval: {}",
                listed(few.into_iter())
            ),
        });
    }
}

/// Parts with fewer repetitions than the experiment, or the user who ran it, wanted.
fn short(experiment: &Experiment, samples: &Samples, trials: &[Record], files: &[File], warnings: &mut Vec<Warning>) {
    let runs: BTreeSet<&str> = trials.iter().map(|record| record.run.as_str()).collect();
    let quick = trials.iter().any(|record| record.quick);
    let mut names = Vec::new();
    for part in &experiment.parts {
        let declared = if quick {
            part.quick.repetitions
        } else {
            part.repetitions
        };
        let taken = |levels: &Levels| {
            let metrics = part.metrics.iter();
            let measured = metrics.map(|metric| samples.trials(&part.id, levels, metric.name).len());
            measured.max().unwrap_or(0) + samples.failures(&part.id, levels).len()
        };
        let taken = || part.combinations.iter().map(taken).filter(|count| *count > 0);
        let (least, most) = (taken().min().unwrap_or(0), taken().max().unwrap_or(0));
        if most > 0 && least < declared {
            let range = if least == most {
                least.to_string()
            } else {
                format!("{least} to {most}")
            };
            names.push(format!("{} {range} of {declared}", part.id));
        }
    }
    if names.is_empty() {
        return;
    }
    let asked: BTreeSet<usize> = files
        .iter()
        .flat_map(|file| &file.records.runs)
        .filter(|run| runs.contains(run.run.as_str()))
        .filter_map(|run| run.repetitions)
        .collect();
    let asked: Vec<String> = asked.iter().map(ToString::to_string).collect();
    let why = if asked.is_empty() {
        String::new()
    } else {
        format!(" (the run was asked for {})", asked.join(", "))
    };
    warnings.push(Warning {
        kind: "fewer repetitions",
        text: format!("than the experiment declares{why}: {}", listed(names.into_iter())),
    });
}

/// Warnings about the build.
fn built(trials: &[Record], warnings: &mut Vec<Warning>) {
    let builds = || {
        let own = trials.iter().filter(|record| record.part != RUNNER);
        own.filter_map(|record| record.environment.build.as_ref())
    };
    let mut add = |text: &str, count: usize| {
        if count > 0 {
            warnings.push(Warning {
                kind: "build",
                text: format!("{count} trials were taken by {text}"),
            });
        }
    };
    add(
        "a debug build",
        builds().filter(|build| build.profile.starts_with("debug")).count(),
    );
    add(
        "a build whose sources differ from its commit",
        builds().filter(|build| build.modified == Some(true)).count(),
    );
}

fn machine(trials: &[Record], warnings: &mut Vec<Warning>) {
    let mut add = |kind: &'static str, text: String| warnings.push(Warning { kind, text });
    // Load of the machine under a guest, if recorded: a guest sees itself only.
    let load = |record: &Record| match record.under {
        Some(under) => (under.load, under.processors),
        None => (record.load, record.environment.processors.len()),
    };
    let loaded = trials
        .iter()
        .map(load)
        .filter(|(load, processors)| *load > (*processors).max(1) as f64);
    let loaded: Vec<f64> = loaded.map(|(load, _)| load).collect();
    if loaded.len() * 20 > trials.len() {
        let most = loaded.iter().copied().fold(0.0, f64::max);
        add(
            "load",
            format!(
                "{} of {} trials began at a load average above the number of processors (up to {most:.2}): other programs ran too",
                loaded.len(),
                trials.len()
            ),
        );
    }
    let low: Vec<&Record> = trials
        .iter()
        .filter(|record| !record.environment.priority.starts_with("nice -"))
        .collect();
    if let Some(one) = low.first() {
        let text = format!(
            "{} trials did not go before other programs: {}",
            low.len(),
            one.environment.priority
        );
        add("priority", text);
    }
    let guests = trials
        .iter()
        .filter(|record| record.environment.kernel_kind == KernelKind::Guest)
        .count();
    if guests > 0 {
        add(
            "guest",
            format!("{guests} trials ran on a guest's kernel: their speed is not the machine's"),
        );
    }
    for (name, value) in [
        (
            "versions of Bartizan",
            (|record: &Record| record.environment.version.clone()) as fn(&Record) -> String,
        ),
        ("commits", |record| {
            let build = record.environment.build.as_ref();
            build.and_then(|build| build.commit.clone()).unwrap_or_default()
        }),
        ("kernels", |record| record.environment.kernel.clone()),
        ("processors", |record| {
            record.environment.processor.clone().unwrap_or_default()
        }),
    ] {
        let values: BTreeSet<String> = trials.iter().map(value).collect();
        if values.len() > 1 {
            let values: Vec<String> = values.into_iter().collect();
            add(
                "mixed",
                format!("trials of different {name} are mixed: {}", values.join(", ")),
            );
        }
    }
}

/// Warnings about the order of trials and of samples. The error of all tests together is kept at 5
/// % (Bonferroni).
fn series(experiment: &Experiment, samples: &Samples, warnings: &mut Vec<Warning>) {
    let all: Vec<(String, Vec<Trial>)> = experiment
        .parts
        .iter()
        .flat_map(|part| {
            part.combinations.iter().flat_map(move |levels: &Levels| {
                part.metrics.iter().map(move |metric| {
                    let name = format!("{} of {}, {}", metric.name, part.id, words(levels));
                    (name, samples.trials(&part.id, levels, metric.name).to_vec())
                })
            })
        })
        .filter(|(_, trials)| !trials.is_empty())
        .collect();
    let error = 0.05 / all.len().max(1) as f64;
    let (mut first, mut within, mut wide) = (Vec::new(), Vec::new(), Vec::new());
    for (name, trials) in &all {
        let medians: Vec<f64> = trials.iter().take(MOST).map(|trial| trial.median).collect();
        let Some(statistics) = Statistics::of(trials) else {
            continue;
        };
        let share = |value: f64| value / statistics.median.abs();
        if let Some(change) = warm_up_of_trials(&medians, error)
            .map(share)
            .filter(|change| change.abs() > WORTH)
        {
            first.push((change.abs(), format!("{name} by {}", signed_percent(change))));
        }
        if let Some(change) = warm_up_within(trials, error)
            .map(share)
            .filter(|change| change.abs() > WORTH)
        {
            within.push((change.abs(), format!("{name} by {}", signed_percent(change))));
        }
        if let (Some(interval), Some(enough)) = (statistics.interval, statistics.enough)
            && enough > statistics.trials
        {
            let reach = share((interval.high - interval.low) / 2.0);
            wide.push((
                reach,
                format!("{name} (\u{b1}{}; about {enough} trials)", percent(reach)),
            ));
        }
    }
    let mut add = |kind: &'static str, what: &str, mut found: Vec<(f64, String)>| {
        found.sort_by(|one, other| other.0.total_cmp(&one.0));
        if !found.is_empty() {
            let names = found.into_iter().map(|(_, name)| name);
            warnings.push(Warning {
                kind,
                text: format!("{what}: {}", listed(names)),
            });
        }
    };
    add("warm-up", "the first tenth of the trials differs from the rest", first);
    add(
        "warm-up",
        "within trials the first tenth of the samples differs from the rest",
        within,
    );
    add("wide", "the 95 % interval reaches beyond 5 % of the median", wide);
}

/// By how much the first tenth of the trials, three at least, lies above the rest, where that is certain.
fn warm_up_of_trials(medians: &[f64], error: f64) -> Option<f64> {
    let confidence = Confidence::new(1.0 - error)?;
    let estimate = first_against_rest(medians, (medians.len() / 10).max(3), confidence).ok()?;
    (!estimate.interval.contains(0.0)).then_some(estimate.value)
}

/// By how much the first tenth of a trial's samples lies above the rest of the same trial, where that is certain.
fn warm_up_within(trials: &[Trial], error: f64) -> Option<f64> {
    let confidence = Confidence::new(1.0 - error)?;
    let middle = |values: &[f64]| Some(Sample::new(values.iter().copied()).ok()?.median());
    let (first, rest): (Vec<f64>, Vec<f64>) = trials
        .iter()
        .take(MOST)
        .filter(|trial| trial.values.len() >= 20)
        .filter_map(|trial| {
            let (first, rest) = trial.values.split_at(trial.values.len() / 10);
            Some((middle(first)?, middle(rest)?))
        })
        .unzip();
    let estimate = paired_shift(&Pairs::new(&first, &rest).ok()?, confidence).ok()?;
    (!estimate.interval.contains(0.0)).then_some(estimate.value)
}
