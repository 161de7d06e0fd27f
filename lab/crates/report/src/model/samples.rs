//! The trials of an experiment by part, combination and metric.

use std::collections::{BTreeMap, BTreeSet};

use bartizan_estimators::{Pairs, Sample};
use bartizan_workbench::runner::experiment::Levels;
use bartizan_workbench::runner::trial::{KernelKind, Outcome, Record};

use super::pace::{Paces, Speed};

/// Samples of one metric in one trial: at least one, all finite.
#[derive(Debug, Clone)]
pub struct Trial {
    /// Its place in the order in which all trials were taken.
    pub place: usize,
    /// Run and number of the repetition.
    pub repetition: (String, usize),
    /// In the order they were taken.
    pub values: Vec<f64>,
    /// Their median.
    pub median: f64,
    /// Mode of the machine that it met, if the machine had two.
    pub speed: Option<Speed>,
    /// True if it ran on a guest's kernel, whose speed is not the machine's.
    pub guest: bool,
}

/// Part, levels, true for the twin, and metric.
type Key = (String, Levels, bool, String);

/// Trials by part, combination and metric, in the order they were taken.
#[derive(Debug, Clone, Default)]
pub struct Samples {
    measured: BTreeMap<Key, Vec<Trial>>,
    failed: BTreeMap<(String, Levels), Vec<String>>,
}

impl Samples {
    pub(crate) fn of(records: &[Record], paces: &Paces) -> Self {
        let mut samples = Self::default();
        for (place, record) in records.iter().enumerate() {
            match &record.outcome {
                Outcome::Failed { error } => {
                    let key = (record.part.clone(), record.levels.clone());
                    samples.failed.entry(key).or_default().push(error.clone());
                }
                Outcome::Measured { values, .. } => {
                    let speed = paces.speed(record);
                    for (metric, values) in values {
                        let Ok(sample) = Sample::new(values.iter().copied()) else {
                            continue;
                        };
                        let key = (record.part.clone(), record.levels.clone(), record.twin, metric.clone());
                        samples.measured.entry(key).or_default().push(Trial {
                            place,
                            repetition: (record.run.clone(), record.repetition),
                            values: values.clone(),
                            median: sample.median(),
                            speed,
                            guest: record.environment.kernel_kind == KernelKind::Guest,
                        });
                    }
                }
            }
        }
        samples
    }

    /// The trials of a combination.
    #[must_use]
    pub fn trials(&self, part: &str, levels: &Levels, metric: &str) -> &[Trial] {
        self.get(part, levels, false, metric)
    }

    /// The trials of its twin.
    #[must_use]
    pub fn twins(&self, part: &str, levels: &Levels, metric: &str) -> &[Trial] {
        self.get(part, levels, true, metric)
    }

    /// Combinations of a part of which a twin was measured.
    pub(crate) fn controls(&self, part: &str) -> BTreeSet<&Levels> {
        let twins = self.measured.keys().filter(|(of, _, twin, _)| *twin && of == part);
        twins.map(|(_, levels, ..)| levels).collect()
    }

    fn get(&self, part: &str, levels: &Levels, twin: bool, metric: &str) -> &[Trial] {
        let key = (part.to_owned(), levels.clone(), twin, metric.to_owned());
        self.measured.get(&key).map_or(&[], Vec::as_slice)
    }

    /// The trials of every combination that has these levels, twins left out.
    pub(crate) fn matching(&self, part: &str, levels: &Levels, metric: &str) -> Vec<Trial> {
        let mut trials: Vec<Trial> = self
            .measured
            .iter()
            .filter(|((of, with, twin, what), _)| of == part && what == metric && !twin && with.matches(levels))
            .flat_map(|(_, trials)| trials.iter().cloned())
            .collect();
        trials.sort_by_key(|trial| trial.place);
        trials
    }

    /// The same of several metrics, whose medians add up in each trial.
    pub(crate) fn sums(&self, part: &str, levels: &Levels, metrics: &[&str]) -> Vec<Trial> {
        let [first, rest @ ..] = metrics else { return Vec::new() };
        let mut trials = self.matching(part, levels, first);
        for metric in rest {
            let others = self.matching(part, levels, metric);
            trials.retain_mut(|trial| {
                let other = others.iter().find(|other| other.place == trial.place);
                if let Some(other) = other {
                    trial.median += other.median;
                    trial.values = vec![trial.median];
                }
                other.is_some()
            });
        }
        trials
    }

    /// Errors of a combination's failed trials, including those of its twin.
    #[must_use]
    pub fn failures(&self, part: &str, levels: &Levels) -> &[String] {
        let key = (part.to_owned(), levels.clone());
        self.failed.get(&key).map_or(&[], Vec::as_slice)
    }

    /// Every failed trial: part, combination and reason.
    pub(crate) fn all_failures(&self) -> impl Iterator<Item = (&str, &Levels, &[String])> {
        self.failed
            .iter()
            .map(|((part, levels), errors)| (part.as_str(), levels, errors.as_slice()))
    }
}

/// Medians of two groups of trials in the repetitions that both have.
pub(crate) fn paired(first: &[Trial], second: &[Trial]) -> Option<Pairs> {
    together(first, second, |_, _| true)
}

/// The same, of repetitions in which both met this mode of the machine.
pub(crate) fn paired_at(first: &[Trial], second: &[Trial], speed: Speed) -> Option<Pairs> {
    together(first, second, |one, other| {
        one.speed == Some(speed) && other.speed == Some(speed)
    })
}

fn together(first: &[Trial], second: &[Trial], fits: impl Fn(&Trial, &Trial) -> bool) -> Option<Pairs> {
    let by_repetition: BTreeMap<&(String, usize), &Trial> =
        second.iter().map(|trial| (&trial.repetition, trial)).collect();
    let (above, below): (Vec<f64>, Vec<f64>) = first
        .iter()
        .filter_map(|trial| {
            let other = by_repetition.get(&trial.repetition)?;
            fits(trial, other).then_some((trial.median, other.median))
        })
        .unzip();
    Pairs::new(&above, &below).ok()
}

/// The medians of trials, in the order they were taken.
pub(crate) fn medians(trials: &[Trial]) -> Vec<f64> {
    trials.iter().map(|trial| trial.median).collect()
}
