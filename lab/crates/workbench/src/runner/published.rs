//! Values printed in a publication, with their place in it, and contradictions between them.
//!
//! No value here is read off a picture: where a curve has no printed values, there are none.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_saphyr::Spanned;

use crate::runner::experiment::{Experiment, ExperimentError, Fault, Levels, Part, Place, Publication, read};
use crate::workload::MetricKind;

/// The published values of an experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Published {
    /// The publication.
    pub paper: Publication,
    /// The publication's conditions and ours.
    pub conditions: Conditions,
    /// Need of a comparison, for values that name no part or that a guest's speed falsifies.
    pub needs: Option<String>,
    /// In the order of the file.
    pub values: Vec<PublishedValue>,
    /// Contradictions between printed values.
    pub conflicts: Vec<Conflict>,
}

/// Conditions of a publication's measurement and of ours, each in a reader's words.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Conditions {
    /// Machines, what connects them, and what runs on them.
    pub topology: Condition,
    /// Sizes of packets, messages or transfers.
    pub sizes: Condition,
    /// Time between packets, requests or connections.
    pub interval: Condition,
    /// Duration of one measurement.
    pub duration: Condition,
    /// Number of measurements.
    pub repetitions: Condition,
}

/// One condition.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// As the publication has it.
    pub paper: String,
    /// As the experiment has it.
    pub here: String,
}

impl Conditions {
    /// Every condition with its name.
    #[must_use]
    pub fn rows(&self) -> [(&'static str, &Condition); 5] {
        [
            ("topology", &self.topology),
            ("sizes", &self.sizes),
            ("interval", &self.interval),
            ("duration", &self.duration),
            ("repetitions", &self.repetitions),
        ]
    }
}

/// One value, or one range of values.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedValue {
    /// Its name within the file. Values of a publication with one name and one number are the same
    /// value, which several experiments may measure.
    pub id: String,
    /// The publication, if it is another than that of the file.
    pub paper: Option<Publication>,
    /// The part of the experiment that measures it; absent where none does, and `needs` says why.
    pub part: Option<String>,
    /// The metric of that part, or the sum of several: `ike-sa-init + ike-auth`.
    pub metric: Option<String>,
    /// Levels of the trials that the value describes.
    #[serde(default)]
    pub levels: Levels,
    /// Levels of the other side of a difference or a ratio, in place of those of the one side.
    #[serde(default)]
    pub over: Levels,
    /// Statistic of those trials.
    pub statistic: Statistic,
    /// As printed; of a range its lower end.
    pub value: f64,
    /// Upper end of a range.
    pub to: Option<f64>,
    /// As printed.
    pub unit: String,
    /// Kind of bound, if the value is printed as one.
    pub bound: Option<Bound>,
    /// One sentence: what a comparison of the value needs. The value is then listed without one.
    pub needs: Option<String>,
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
    conditions: Conditions,
    needs: Option<String>,
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
    let (mut values, needs): (Vec<PublishedValue>, _) = (Vec::new(), raw.needs);
    for raw in raw.values {
        let place = Place::of(&raw);
        let mut value = raw.value;
        if value.part.is_none() && value.needs.is_none() {
            value.needs.clone_from(&needs);
        }
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
        conditions: raw.conditions,
        needs,
        values,
        conflicts,
    })
}

impl PublishedValue {
    /// The ends of what is printed, if it is a range or a bound.
    #[must_use]
    pub fn range(&self) -> Option<(Option<f64>, Option<f64>)> {
        match (self.to, self.bound) {
            (Some(to), _) => Some((Some(self.value), Some(to))),
            (None, Some(Bound::AtLeast)) => Some((Some(self.value), None)),
            (None, Some(Bound::AtMost)) => Some((None, Some(self.value))),
            (None, None) => None,
        }
    }

    /// Levels of the other side of a difference or a ratio.
    #[must_use]
    pub fn other(&self) -> Levels {
        let own = self.levels.clone();
        self.over
            .iter()
            .fold(own, |levels, (factor, level)| levels.with(factor, level))
    }

    /// The metrics of the part that add up to the value.
    ///
    /// # Errors
    /// The name that the part does not have.
    pub fn metrics(&self, part: &Part) -> Result<Vec<&'static MetricKind>, String> {
        let names = self.metric.as_deref().unwrap_or_default().split(" + ");
        names
            .map(|name| part.metric(name).ok_or_else(|| name.to_owned()))
            .collect()
    }
}

/// Fails unless the experiment measures the named part and metric. A value that names none must
/// have a sentence with what it needs.
fn check(value: &PublishedValue, place: Place, experiment: &Experiment) -> Result<(), Fault> {
    if let Some(to) = value.to
        && (to <= value.value || value.bound.is_some())
    {
        let cause = format!("value `{}` is no range: {} to {to}", value.id, value.value);
        return Err(Fault::new(
            place,
            cause,
            "a range has two ends, the lower one first, and no bound",
        ));
    }
    let (Some(part), Some(metric)) = (&value.part, &value.metric) else {
        if value.needs.is_none() {
            let cause = format!("value `{}` belongs to no part and metric", value.id);
            let hint = "name both, or say in `needs` what measuring it needs";
            return Err(Fault::new(place, cause, hint));
        }
        return Ok(());
    };
    let known = experiment.parts.iter().map(|part| part.id.as_str());
    let part = experiment
        .part(part)
        .ok_or_else(|| Fault::unknown(place, "part", part, known))?;
    let metrics = value.metrics(part).map_err(|unknown| {
        let known = part.metrics.iter().map(|metric| metric.name);
        Fault::unknown(place, &format!("metric of part {}", part.id), &unknown, known)
    })?;
    if metrics.iter().any(|one| one.unit != metrics[0].unit) {
        let cause = format!("the metrics of `{metric}` have several units");
        return Err(Fault::new(place, cause, "a sum has one unit"));
    }
    let combinations = |levels: &Levels| part.matching(levels).count();
    if combinations(&value.levels) == 0 {
        return Err(no_combination(part, &value.levels, place));
    }
    let paired = matches!(value.statistic, Statistic::Difference | Statistic::Ratio);
    if paired == value.over.is_empty() {
        let cause = format!("value `{}` of statistic {:?}", value.id, value.statistic);
        return Err(Fault::new(
            place,
            cause,
            "differences and ratios, and only these, name levels in `over`",
        ));
    }
    if paired {
        for side in [&value.levels, &value.other()] {
            match combinations(side) {
                0 => return Err(no_combination(part, side, place)),
                1 => (),
                several => {
                    let cause = format!("{side} stands for {several} combinations of part {}", part.id);
                    return Err(Fault::new(place, cause, "name the levels of one"));
                }
            }
        }
    }
    Ok(())
}

fn no_combination(part: &Part, levels: &Levels, place: Place) -> Fault {
    let factors: Vec<String> = part
        .factors
        .iter()
        .map(|factor| format!("{}: {}", factor.name, factor.levels.join(", ")))
        .collect();
    let cause = format!("no combination of part {} has {levels}", part.id);
    Fault::new(place, cause, format!("its factors are {}", factors.join("; ")))
}
