//! An experiment as data: what is asked, what is done to find out, and what is shown.
//!
//! [`Experiment::parse`] takes the text of an `experiment.yaml` and gives values that cannot be
//! wrong: every workload, factor, level, parameter and metric exists, every comparison has two
//! sides, every place in the answer's sentence can be filled.

mod answer;
pub mod bench;
mod collection;
mod earlier;
mod error;
mod plot;
mod publication;
mod raw;
mod resolve;
mod selection;

use std::path::Path;
use std::time::Duration;

use crate::workload::{Kind, MetricKind};
pub use crate::workload::{Levels, Parameters};

pub use answer::{Answer, Piece};
pub use collection::{Collection, CollectionError, Found};
pub use error::ExperimentError;
pub(crate) use error::{Fault, Place, read};
pub use plot::{Comparison, Form, Limit, Plot, PlotKind};
pub use publication::Publication;
pub(crate) use resolve::RUNNER;
pub use selection::{Chosen, Selection};

/// A question and how it is answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    /// Its name, which is that of its folder.
    pub id: String,
    /// One line.
    pub title: String,
    /// The question.
    pub question: String,
    /// The publication that measured it before.
    pub source: Option<Source>,
    /// Conditions that would make the result invalid, one sentence each.
    pub invalid: Vec<String>,
    /// The sentence that answers it.
    pub answer: Option<Answer>,
    /// In the order they are run.
    pub parts: Vec<Part>,
    /// SHA-256 of the file, in hexadecimal: records name it, so that they are not taken for those of another.
    pub digest: String,
    /// The same of earlier texts of the file that ask for the same trials, where their files are kept with the records.
    pub earlier: Vec<String>,
}

/// Publication that an experiment repeats.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// The publication.
    pub paper: Publication,
    /// Its title.
    pub title: String,
    /// Sections, figures and tables.
    #[serde(rename = "where")]
    pub place: String,
}

/// Trials that take turns.
#[derive(Debug, Clone)]
pub struct Part {
    /// Its name within the experiment.
    pub id: String,
    /// Its question, if it is less than the whole.
    pub question: Option<String>,
    /// Workload of its trials.
    pub workload: &'static Kind,
    /// Varied factors, in the order of the file.
    pub factors: Vec<Factor>,
    /// Every combination of levels that is run; the last factor varies fastest.
    pub combinations: Vec<Levels>,
    /// Parameters of the workload, complete.
    pub parameters: Parameters,
    /// Repetitions of each combination.
    pub repetitions: usize,
    /// Rounds before the first, which are not recorded.
    pub warm_up: usize,
    /// Changes for a quick run.
    pub quick: Quick,
    /// Time limit of a trial.
    pub bound: Duration,
    /// Recorded metrics.
    pub metrics: Vec<&'static MetricKind>,
    /// The combinations that are the path without anything, where there is one.
    pub floor: Option<Levels>,
    /// Combinations that are taken twice, by two that are started alike: what they seem to differ by is no difference.
    pub controls: Vec<Levels>,
    /// Comparisons between combinations.
    pub comparisons: Vec<Comparison>,
    /// Plots of the report.
    pub plots: Vec<Plot>,
}

impl PartialEq for Part {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
            && self.workload.name == other.workload.name
            && self.factors == other.factors
            && self.combinations == other.combinations
            && self.parameters == other.parameters
            && (self.repetitions, self.warm_up, self.bound) == (other.repetitions, other.warm_up, other.bound)
            && self.quick == other.quick
            && self.metrics == other.metrics
            && (&self.floor, &self.controls) == (&other.floor, &other.controls)
            && (&self.comparisons, &self.plots) == (&other.comparisons, &other.plots)
            && self.question == other.question
    }
}

/// Something that is varied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Factor {
    /// Its name.
    pub name: String,
    /// Its levels, in the order of the file.
    pub levels: Vec<String>,
}

/// Changes for a quick run.
#[derive(Debug, Clone, PartialEq)]
pub struct Quick {
    /// Repetitions of each combination.
    pub repetitions: usize,
    /// Parameters of the workload, complete.
    pub parameters: Parameters,
}

impl Experiment {
    /// Reads the text of an experiment's file; `file` names it in messages.
    ///
    /// # Errors
    /// [`ExperimentError`] with file, line, what is wrong there and what is known instead.
    pub fn parse(text: &str, file: &Path) -> Result<Self, ExperimentError> {
        resolve::experiment(text, file)
    }

    /// True if a record that names a file by this digest belongs to this experiment: the file is
    /// the same, or has only been reworded since.
    #[must_use]
    pub fn is_of(&self, digest: &str) -> bool {
        self.digest == digest || self.earlier.iter().any(|earlier| earlier == digest)
    }

    /// The part of this name.
    #[must_use]
    pub fn part(&self, id: &str) -> Option<&Part> {
        self.parts.iter().find(|part| part.id == id)
    }
}

impl Part {
    /// The factor of this name.
    #[must_use]
    pub fn factor(&self, name: &str) -> Option<&Factor> {
        self.factors.iter().find(|factor| factor.name == name)
    }

    /// The metric of this name, where the part records it.
    #[must_use]
    pub fn metric(&self, name: &str) -> Option<&'static MetricKind> {
        self.metrics.iter().copied().find(|metric| metric.name == name)
    }

    /// Combinations that have these levels.
    pub fn matching<'a>(&'a self, levels: &Levels) -> impl Iterator<Item = &'a Levels> {
        self.combinations
            .iter()
            .filter(move |combination| combination.matches(levels))
    }

    /// The two sides of a comparison: each combination of the one with those of the other that
    /// agree in every factor which neither side names.
    #[must_use]
    pub fn pairs(&self, of: &Levels, over: &Levels) -> Vec<(&Levels, &Levels)> {
        let rest = |levels: &Levels| {
            let mut rest = levels.clone();
            for (factor, _) in of.iter().chain(over.iter()) {
                rest = rest.without(factor);
            }
            rest
        };
        let mut pairs = Vec::new();
        for one in self.matching(of) {
            let agreeing = self
                .matching(over)
                .filter(|other| *other != one && rest(other) == rest(one));
            pairs.extend(agreeing.map(|other| (one, other)));
        }
        pairs
    }
}

#[cfg(test)]
mod tests;
