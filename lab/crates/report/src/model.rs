//! Contents of a report, before it is arranged.

mod answer;
mod cell;
pub(crate) mod comparison;
mod conditions;
pub(crate) mod effect;
mod figures;
mod noise;
pub(crate) mod pace;
mod part;
mod published;
mod repeat;
pub(crate) mod samples;
mod statistics;
mod warnings;

use bartizan_workbench::Published;
use bartizan_workbench::runner::experiment;
use bartizan_workbench::runner::experiment::{Experiment, Source};
use bartizan_workbench::runner::trial::{LeftOut, Record, Records};
use pace::Paces;
use serde::Serialize;

pub use answer::AnswerPiece;
pub use cell::{Cell, Table};
pub use comparison::{AtSpeed, Comparison, Control};
pub use conditions::Condition;
pub use effect::{Direction, Effect, Verdict};
pub use figures::Figure;
pub use noise::Noise;
pub use pace::{Pace, Speed};
pub use part::Part;
pub use published::{ComparisonResult, Measured, PublishedRow, PublishedValues};
pub use samples::Samples;
pub use statistics::{Mode, Statistics};
pub use warnings::Warning;

/// A file of records with what was read from it.
#[derive(Debug, Clone)]
pub struct File {
    /// Its name as a reader shall see it.
    pub name: String,
    /// Records in the file.
    pub records: Records,
}

/// Everything a reader is shown.
#[derive(Debug, Clone)]
pub struct Report {
    /// The question and its source.
    pub heading: Heading,
    /// The sentence that answers it; empty where the experiment has none.
    pub answer: Vec<AnswerPiece>,
    /// Full or quick run.
    pub quickness: Quickness,
    /// Next to a publication.
    pub published: Option<PublishedValues>,
    /// In the order of the experiment.
    pub parts: Vec<Part>,
    /// Warnings for a reader.
    pub warnings: Vec<Warning>,
    /// Noise of the machine meanwhile, and its effect on the figures.
    pub noise: Noise,
    /// Conditions of the measurement.
    pub conditions: Vec<Condition>,
    /// Commands that repeat the measurement, one in a line.
    pub repeat: Vec<String>,
    /// Combinations that could not run.
    pub left_out: Vec<LeftOut>,
    /// The trials it rests on.
    pub trials: Vec<Record>,
    /// Files they are from: name, trials used, lines left out.
    pub files: Vec<(String, usize, usize)>,
}

/// Question of a report and its source.
#[derive(Debug, Clone, Serialize)]
pub struct Heading {
    /// Name of the experiment.
    pub id: String,
    /// One line.
    pub title: String,
    /// The question.
    pub question: String,
    /// The publication that measured it before.
    #[serde(skip)]
    pub source: Option<Source>,
    /// Conditions that would make the result invalid.
    pub invalid: Vec<String>,
    /// SHA-256 of the experiment's file.
    pub digest: String,
    /// Begin of the first and of the last trial, by RFC 3339.
    pub span: Option<(String, String)>,
}

/// Full or quick run. Results of a quick run have little weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quickness {
    /// As the experiment wants it.
    Full,
    /// A look.
    Quick,
}

impl Report {
    /// The report of an experiment by the trials in these files.
    #[must_use]
    pub fn of(experiment: &Experiment, published: Option<&Published>, files: &[File]) -> Self {
        let chosen = Chosen::among(experiment, files);
        let paces = Paces::of(&chosen.trials);
        let samples = Samples::of(&chosen.trials, &paces);
        let mut parts: Vec<Part> = experiment.parts.iter().map(|part| Part::of(part, &samples)).collect();
        let published = published.map(|published| PublishedValues::of(published, &samples, experiment));
        for (part, of) in parts.iter_mut().zip(&experiment.parts) {
            part.draw(of, &samples, published.as_ref());
        }
        let mut left_out: Vec<LeftOut> = Vec::new();
        for missing in files
            .iter()
            .flat_map(|file| &file.records.runs)
            .flat_map(|run| &run.left_out)
        {
            if experiment.part(&missing.part).is_some() && !left_out.contains(missing) {
                left_out.push(missing.clone());
            }
        }
        let mut warnings = chosen.warnings;
        warnings.extend(warnings::of(experiment, &samples, &chosen.trials, &left_out, files));
        let noise = Noise::of(experiment, &chosen.trials, &samples, &parts, &paces);
        warnings.extend(noise.warnings());
        let began = |record: &Record| record.began.clone();
        Self {
            heading: Heading {
                id: experiment.id.clone(),
                title: experiment.title.clone(),
                question: experiment.question.clone(),
                source: experiment.source.clone(),
                invalid: experiment.invalid.clone(),
                digest: experiment.digest.clone(),
                span: chosen.trials.first().map(began).zip(chosen.trials.last().map(began)),
            },
            answer: answer::of(experiment, &samples, &parts),
            quickness: if chosen.trials.iter().any(|record| record.quick) {
                Quickness::Quick
            } else {
                Quickness::Full
            },
            published,
            repeat: repeat::of(experiment, &chosen.trials, files),
            conditions: conditions::of(&chosen.trials, files),
            noise,
            parts,
            warnings,
            left_out,
            trials: chosen.trials,
            files: chosen.files,
        }
    }

    /// The part of this name.
    #[must_use]
    pub fn part(&self, id: &str) -> Option<&Part> {
        self.parts.iter().find(|part| part.id == id)
    }
}

/// Apparent differences of a part's controls in these trials, as in its report.
#[must_use]
pub fn controls(part: &experiment::Part, trials: &[Record]) -> Vec<Control> {
    Control::of(part, &Samples::of(trials, &Paces::of(trials)))
}

/// The trials a report rests on, in the order they were taken.
struct Chosen {
    trials: Vec<Record>,
    warnings: Vec<Warning>,
    files: Vec<(String, usize, usize)>,
}

impl Chosen {
    /// Trials of this experiment, of one version of its file, quick ones only where there are no others, each once.
    fn among(experiment: &Experiment, files: &[File]) -> Self {
        let mut warnings = Vec::new();
        let all = || files.iter().flat_map(|file| &file.records.trials);
        let own = || all().filter(|record| record.experiment == experiment.id);
        let others = all().count() - own().count();
        if others > 0 {
            warnings.push(Warning::records(format!(
                "{others} trials of other experiments were left out"
            )));
        }
        let newest = own().max_by(|one, other| one.began.cmp(&other.began));
        let current = own().any(|record| experiment.is_of(&record.digest));
        let chosen = |record: &Record| {
            if current {
                experiment.is_of(&record.digest)
            } else {
                newest.is_some_and(|newest| newest.digest == record.digest)
            }
        };
        if newest.is_some() && !current {
            warnings.push(Warning::records(
                "the trials were made by another version of the experiment's file than the one shown here: run it again".to_owned(),
            ));
        }
        let older = own().filter(|record| !chosen(record)).count();
        if older > 0 {
            warnings.push(Warning::records(format!(
                "{older} trials made by another version of the experiment's file were left out"
            )));
        }
        let quick = own().filter(|record| chosen(record)).all(|record| record.quick);
        let dropped = own().filter(|record| chosen(record) && record.quick && !quick).count();
        if dropped > 0 {
            warnings.push(Warning::records(format!(
                "{dropped} trials of quick runs were left out, because there are full ones"
            )));
        }
        let mut trials: Vec<&Record> = Vec::new();
        let mut used = Vec::new();
        let mut seen = std::collections::BTreeSet::new();
        for file in files {
            let before = trials.len();
            trials.extend(file.records.trials.iter().filter(|record| {
                let fits = record.experiment == experiment.id && chosen(record) && record.quick == quick;
                fits && seen.insert((&record.run, &record.part, record.trial))
            }));
            for damage in &file.records.damage {
                warnings.push(Warning::records(format!(
                    "{}, line {}: {}",
                    file.name, damage.line, damage.cause
                )));
            }
            used.push((file.name.clone(), trials.len() - before, file.records.damage.len()));
        }
        trials.sort_by(|one, other| one.began.cmp(&other.began).then(one.trial.cmp(&other.trial)));
        let unknown = trials.iter().filter(|record| !is_known(experiment, record)).count();
        if unknown > 0 {
            warnings.push(Warning::records(format!(
                "{unknown} trials are of parts or combinations that the experiment does not have"
            )));
        }
        Self {
            trials: trials.into_iter().cloned().collect(),
            warnings,
            files: used,
        }
    }
}

/// The part under which the runner records what it takes itself.
pub(crate) const RUNNER: &str = "runner";

fn is_known(experiment: &Experiment, record: &Record) -> bool {
    record.part == RUNNER
        || experiment
            .part(&record.part)
            .is_some_and(|part: &experiment::Part| part.combinations.contains(&record.levels))
}
