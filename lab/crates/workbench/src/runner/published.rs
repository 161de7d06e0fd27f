//! Values printed in a publication, with their place in it, and contradictions between them.
//!
//! No value here is read off a picture: where a curve has no printed values, there are none.

use std::path::Path;

use serde::Deserialize;
use serde_saphyr::Spanned;

use crate::runner::experiment::{Experiment, ExperimentError, Fault, Form, Levels, Part, Place, Publication, read};

/// The published values of an experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Published {
    /// The publication.
    pub paper: Publication,
    /// In the order of the file.
    pub values: Vec<PublishedValue>,
    /// Contradictions between printed values.
    pub conflicts: Vec<Conflict>,
}

/// One value.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedValue {
    /// Its name within the file.
    pub id: String,
    /// The part of the experiment that measures it; absent where we cannot, and the note says why.
    pub part: Option<String>,
    /// The metric of that part.
    pub metric: Option<String>,
    /// Levels of the trials that the value describes.
    #[serde(default)]
    pub levels: Levels,
    /// Statistic of those trials.
    pub statistic: Statistic,
    /// As printed.
    pub value: f64,
    /// As printed.
    pub unit: String,
    /// Kind of bound, if the value is printed as one.
    pub bound: Option<Bound>,
    /// Comparison of the part that gives a difference or a ratio; by default the comparison with
    /// this value's id.
    pub comparison: Option<String>,
    /// Reason why our measurement cannot be compared with the value. The value is then listed
    /// without a ratio.
    pub incomparable: Option<String>,
    /// Section, table or figure.
    pub place: String,
    /// Further information for a reader.
    pub note: Option<String>,
}

/// Statistic of a published value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Statistic {
    /// The median.
    Median,
    /// The mean.
    Mean,
    /// The lower end of an interval.
    IntervalLow,
    /// The upper end of an interval.
    IntervalHigh,
    /// The lower quartile.
    QuartileLow,
    /// The upper quartile.
    QuartileHigh,
    /// One less another.
    Difference,
    /// One over another.
    Ratio,
    /// All together.
    Total,
}

/// Direction of a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// All values are this or more.
    AtLeast,
    /// All values are this or less.
    AtMost,
}

/// Values of one publication that cannot all be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// Ids of the values.
    pub values: Vec<String>,
    /// In which way.
    pub note: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPublished {
    paper: Publication,
    values: Vec<Spanned<PublishedValue>>,
    #[serde(default)]
    conflicts: Vec<RawConflict>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawConflict {
    values: Vec<Spanned<String>>,
    note: String,
}

impl Published {
    /// Reads the text of a `published.yaml` and checks it against the experiment that it belongs
    /// to; `file` names it in messages.
    ///
    /// # Errors
    /// [`ExperimentError`] with file, line, what is wrong there and what is known instead.
    pub fn parse(text: &str, file: &Path, experiment: &Experiment) -> Result<Self, ExperimentError> {
        let raw: RawPublished = read(text, file)?;
        resolve(raw, experiment).map_err(|fault| fault.in_file(file, text))
    }

    /// The value of this name.
    #[must_use]
    pub fn value(&self, id: &str) -> Option<&PublishedValue> {
        self.values.iter().find(|value| value.id == id)
    }
}

fn resolve(raw: RawPublished, experiment: &Experiment) -> Result<Published, Fault> {
    let mut values: Vec<PublishedValue> = Vec::new();
    for raw in raw.values {
        let place = Place::of(&raw);
        let value = raw.value;
        if values.iter().any(|other| other.id == value.id) {
            let cause = format!("value `{}` is there twice", value.id);
            return Err(Fault::new(place, cause, "give one of the two another id"));
        }
        check(&value, place, experiment)?;
        values.push(value);
    }
    let conflicts = raw.conflicts.into_iter().map(|conflict| {
        for id in &conflict.values {
            let known = values.iter().map(|value| value.id.as_str());
            if !known.clone().any(|known| known == id.value) {
                return Err(Fault::unknown(Place::of(id), "value", &id.value, known));
            }
        }
        Ok(Conflict {
            values: conflict.values.into_iter().map(|id| id.value).collect(),
            note: conflict.note,
        })
    });
    let conflicts = conflicts.collect::<Result<_, _>>()?;
    Ok(Published {
        paper: raw.paper,
        values,
        conflicts,
    })
}

/// Fails unless the experiment measures the named part and metric. A value that names none must
/// have a note with the reason.
fn check(value: &PublishedValue, place: Place, experiment: &Experiment) -> Result<(), Fault> {
    let (Some(part), Some(metric)) = (&value.part, &value.metric) else {
        if value.note.is_none() {
            let cause = format!("value `{}` belongs to no part and metric", value.id);
            return Err(Fault::new(
                place,
                cause,
                "name both, or say in `note` why it cannot be measured",
            ));
        }
        return Ok(());
    };
    let known = experiment.parts.iter().map(|part| part.id.as_str());
    let part = experiment
        .part(part)
        .ok_or_else(|| Fault::unknown(place, "part", part, known))?;
    if part.metric(metric).is_none() {
        let known = part.metrics.iter().map(|metric| metric.name);
        return Err(Fault::unknown(
            place,
            &format!("metric of part {}", part.id),
            metric,
            known,
        ));
    }
    if part.matching(&value.levels).next().is_none() {
        let factors: Vec<String> = part
            .factors
            .iter()
            .map(|factor| format!("{}: {}", factor.name, factor.levels.join(", ")))
            .collect();
        let cause = format!("no combination of part {} has {}", part.id, value.levels);
        return Err(Fault::new(
            place,
            cause,
            format!("its factors are {}", factors.join("; ")),
        ));
    }
    compared(value, place, part)
}

/// A difference or a ratio names one comparison of its part, of its metric, and where that stands
/// for several pairs the levels of one.
fn compared(value: &PublishedValue, place: Place, part: &Part) -> Result<(), Fault> {
    if !matches!(value.statistic, Statistic::Difference | Statistic::Ratio) {
        return match &value.comparison {
            None => Ok(()),
            Some(_) => Err(Fault::new(
                place,
                format!("value `{}` names a comparison and is none", value.id),
                "differences and ratios have one",
            )),
        };
    }
    let ratio = value.statistic == Statistic::Ratio;
    let fitting = || {
        let of_metric = part
            .comparisons
            .iter()
            .filter(|one| Some(one.metric.name) == value.metric.as_deref());
        of_metric.filter(|one| (one.form == Form::Ratio) == ratio)
    };
    let wanted = value.comparison.as_deref().unwrap_or(&value.id);
    let known = fitting().map(|one| one.id.as_str());
    let comparison = fitting()
        .find(|one| one.id == wanted)
        .ok_or_else(|| Fault::unknown(place, &format!("comparison of part {}", part.id), wanted, known))?;
    let pairs = part.pairs(&comparison.of, &comparison.over);
    if pairs.iter().filter(|(of, _)| of.matches(&value.levels)).count() != 1 {
        return Err(Fault::new(
            place,
            format!(
                "`{wanted}` stands for {} pairs, of which {} tells no one apart",
                pairs.len(),
                value.levels
            ),
            "name levels that one of its pairs has",
        ));
    }
    Ok(())
}
