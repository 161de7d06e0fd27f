//! The trials of an experiment by part, combination and metric.

use std::collections::BTreeMap;

use bartizan_lab::experiment::Levels;
use bartizan_lab::trial::{Outcome, Record};
use bartizan_stats::{Pairs, Sample};

/// What one trial gave of one metric: at least one sample, all finite.
#[derive(Debug, Clone)]
pub struct Trial {
    /// Which repetition of which run.
    pub repetition: (String, usize),
    /// In the order they were taken.
    pub values: Vec<f64>,
    /// Their median.
    pub median: f64,
}

/// Trials by part, combination and metric, in the order they were taken.
#[derive(Debug, Clone, Default)]
pub struct Samples {
    measured: BTreeMap<(String, Levels, String), Vec<Trial>>,
    failed: BTreeMap<(String, Levels), Vec<String>>,
}

impl Samples {
    pub(crate) fn of(records: &[Record]) -> Self {
        let mut samples = Self::default();
        for record in records {
            match &record.outcome {
                Outcome::Failed { error } => {
                    let key = (record.part.clone(), record.levels.clone());
                    samples.failed.entry(key).or_default().push(error.clone());
                }
                Outcome::Measured { values, .. } => {
                    for (metric, values) in values {
                        let Ok(sample) = Sample::new(values.iter().copied()) else {
                            continue;
                        };
                        let key = (record.part.clone(), record.levels.clone(), metric.clone());
                        samples.measured.entry(key).or_default().push(Trial {
                            repetition: (record.run.clone(), record.repetition),
                            values: values.clone(),
                            median: sample.median(),
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
        let key = (part.to_owned(), levels.clone(), metric.to_owned());
        self.measured.get(&key).map_or(&[], Vec::as_slice)
    }

    /// The trials of every combination that has these levels.
    pub(crate) fn matching(&self, part: &str, levels: &Levels, metric: &str) -> Vec<Trial> {
        self.measured
            .iter()
            .filter(|((of, with, what), _)| of == part && what == metric && with.matches(levels))
            .flat_map(|(_, trials)| trials.iter().cloned())
            .collect()
    }

    /// Why trials of a combination failed.
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
    let by_repetition: BTreeMap<&(String, usize), f64> =
        second.iter().map(|trial| (&trial.repetition, trial.median)).collect();
    let (above, below): (Vec<f64>, Vec<f64>) = first
        .iter()
        .filter_map(|trial| Some((trial.median, *by_repetition.get(&trial.repetition)?)))
        .unzip();
    Pairs::new(&above, &below).ok()
}

/// The medians of trials.
pub(crate) fn medians(trials: &[Trial]) -> Option<Sample> {
    Sample::new(trials.iter().map(|trial| trial.median)).ok()
}
