//! Published values next to measured ones.

use crate::quantity::{convert, words};
use bartizan_estimators::Interval;
use bartizan_page::quantity::Shown;
use bartizan_workbench::Published;
use bartizan_workbench::runner::experiment::{Experiment, Form, Levels, Publication};
use bartizan_workbench::runner::published::{Conditions, Conflict, PublishedValue, Statistic};
use serde::Serialize;

use super::comparison::judge;
use super::pace::Paces;
use super::samples::Trial;
use super::{Chosen, File, Samples, Statistics};

/// Everything an experiment has of a publication.
#[derive(Debug, Clone)]
pub struct PublishedValues {
    /// The publication.
    pub paper: Publication,
    /// Its conditions and ours.
    pub conditions: Conditions,
    /// Every value, in the order of the file.
    pub rows: Vec<PublishedRow>,
    /// Contradictions between printed values.
    pub conflicts: Vec<Conflict>,
}

/// One value.
#[derive(Debug, Clone)]
pub struct PublishedRow {
    /// As printed.
    pub value: PublishedValue,
    /// The corresponding measurement.
    pub measured: Measured,
    /// Reason why the two cannot be compared, if so.
    pub incomparable: Option<String>,
}

/// Result of setting a published value against our measurement, the best last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ComparisonResult {
    /// No trial measured it.
    NotMeasured,
    /// Measured under other terms.
    NotComparable,
    /// Compared.
    Compared,
}

/// Measurement for a published value, in the unit of the publication.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measured {
    /// The same statistic of our own trials.
    Measured {
        /// In the published unit.
        value: f64,
        /// Its 95 % interval, where the statistic has one.
        interval: Option<Interval>,
        /// Trials.
        n: usize,
        /// Measured over published; absent where published is 0 or a bound, or the two cannot be compared.
        ratio: Option<f64>,
    },
    /// Nothing is, and why.
    Nothing {
        /// Reason.
        reason: String,
    },
}

impl PublishedValues {
    /// The published values of an experiment next to the trials in these files.
    #[must_use]
    pub fn of_files(experiment: &Experiment, published: &Published, files: &[File]) -> Self {
        let trials = Chosen::among(experiment, files).trials;
        Self::of(published, &Samples::of(&trials, &Paces::of(&trials)), experiment)
    }

    pub(crate) fn of(published: &Published, samples: &Samples, experiment: &Experiment) -> Self {
        let rows = published
            .values
            .iter()
            .map(|value| {
                let of_a_guest = || {
                    let guest = of_a_guest(value, samples)?;
                    Some(match &published.needs {
                        Some(needs) => format!("{guest}; needs {needs}"),
                        None => guest,
                    })
                };
                let needs = value.needs.as_ref().map(|needs| format!("needs {needs}"));
                let incomparable = needs.or_else(of_a_guest);
                let mut measured = measured(value, samples, experiment);
                // Over a range a ratio says nothing, nor over what is not comparable.
                if let Measured::Measured { ratio, .. } = &mut measured
                    && (value.range().is_some() || incomparable.is_some())
                {
                    *ratio = None;
                }
                PublishedRow {
                    value: value.clone(),
                    measured,
                    incomparable,
                }
            })
            .collect();
        Self {
            paper: published.paper.clone(),
            conditions: published.conditions.clone(),
            rows,
            conflicts: published.conflicts.clone(),
        }
    }
}

impl PublishedRow {
    /// Name of the published statistic.
    #[must_use]
    pub fn statistic(&self) -> &'static str {
        match self.value.statistic {
            Statistic::Median => "median",
            Statistic::Mean => "mean",
            Statistic::IntervalLow => "95 % interval, low",
            Statistic::IntervalHigh => "95 % interval, high",
            Statistic::QuartileLow => "first quartile",
            Statistic::QuartileHigh => "third quartile",
            Statistic::Difference => "difference",
            Statistic::Ratio => "ratio",
            Statistic::Total => "total",
        }
    }

    /// Result of the comparison.
    #[must_use]
    pub fn result(&self) -> ComparisonResult {
        match (&self.measured, &self.incomparable) {
            (Measured::Nothing { .. }, _) => ComparisonResult::NotMeasured,
            (_, Some(_)) => ComparisonResult::NotComparable,
            (_, None) => ComparisonResult::Compared,
        }
    }

    /// Place of the value, with the publication if it is not that of the file.
    #[must_use]
    pub fn place(&self) -> String {
        match &self.value.paper {
            Some(paper) => format!("{} of {paper}", self.value.place),
            None => self.value.place.clone(),
        }
    }

    /// Further information for a reader, and the reason if the value is not compared.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        let incomparable = self.incomparable.as_ref().map(|reason| match self.result() {
            ComparisonResult::NotMeasured => reason.clone(),
            _ => format!("not comparable: {reason}"),
        });
        match (incomparable, &self.value.note) {
            (Some(reason), Some(note)) => Some(format!("{reason}; {note}")),
            (reason, note) => reason.or_else(|| note.clone()),
        }
    }

    /// Subject of the value: metric and levels.
    #[must_use]
    pub fn subject(&self) -> String {
        let metric = self.value.metric.as_deref();
        match (metric, self.value.levels.is_empty()) {
            (Some(metric), true) => metric.to_owned(),
            (Some(metric), false) => format!("{metric}, {}", words(&self.value.levels)),
            (None, true) => self.value.id.clone(),
            (None, false) => format!("{}, {}", self.value.id, words(&self.value.levels)),
        }
    }

    /// As printed, with its unit.
    #[must_use]
    pub fn printed(&self) -> String {
        let value = self.value.value;
        let number = match self.value.range() {
            Some((Some(low), Some(high))) => format!("{low} to {high}"),
            Some((Some(low), None)) => format!("at least {low}"),
            Some((None, Some(high))) => format!("at most {high}"),
            _ => value.to_string(),
        };
        let number = number.replace('-', "\u{2212}");
        if self.value.unit.is_empty() {
            number
        } else {
            format!("{number}\u{a0}{}", self.shown().symbol)
        }
    }

    /// Display of the measurement: in the unit of the publication, so that both are in one unit.
    #[must_use]
    pub fn shown(&self) -> Shown {
        crate::quantity::in_unit(&self.value.unit)
    }

    /// The measurement, in the unit of the publication; absent if there is none.
    #[must_use]
    pub fn measured(&self) -> Option<String> {
        let Measured::Measured { value, interval, .. } = &self.measured else {
            return None;
        };
        Some(self.shown().estimate(*value, *interval))
    }

    /// Measured over published, in words: `1/520 of it`, `0.93 of it`, `1.4 times it`; of a range
    /// or a bound `inside`, or the factor by which the measurement is below or above.
    #[must_use]
    pub fn relation(&self) -> Option<String> {
        let Measured::Measured {
            value, ratio, interval, ..
        } = &self.measured
        else {
            return None;
        };
        if self.incomparable.is_some() {
            return Some("not comparable".to_owned());
        }
        let number = |value: f64| Shown::bare().number(value);
        if let Some((low, high)) = self.value.range() {
            // An interval that reaches the range shows no difference from it.
            let reached = |bound: f64| interval.is_some_and(|interval| interval.contains(bound));
            let by = |side: &str, factor: f64| match factor.is_finite() && factor > 1.0 {
                true => format!("{side} by a factor of {}", number(factor)),
                false => format!("{side} it"),
            };
            return Some(match (low, high) {
                (Some(low), _) if *value < low && !reached(low) => by("below", low / value),
                (_, Some(high)) if *value > high && !reached(high) => by("above", value / high),
                (Some(low), _) if *value < low => "no difference".to_owned(),
                (_, Some(high)) if *value > high => "no difference".to_owned(),
                _ => "inside".to_owned(),
            });
        }
        if self.value.statistic == Statistic::Difference && interval.is_some_and(|interval| interval.contains(0.0)) {
            return Some("no difference seen".to_owned());
        }
        if *value == self.value.value {
            return Some("the same".to_owned());
        }
        let ratio = (*ratio)?;
        Some(if ratio > 1.0 {
            format!("{} times it", number(ratio))
        } else if ratio > 0.1 {
            format!("{} of it", number(ratio))
        } else if ratio > 0.0 {
            format!("1/{} of it", number(1.0 / ratio))
        } else {
            "of the other sign".to_owned()
        })
    }
}

fn nothing(reason: &str) -> Measured {
    Measured::Nothing {
        reason: reason.to_owned(),
    }
}

fn measured(value: &PublishedValue, samples: &Samples, experiment: &Experiment) -> Measured {
    let (Some(part), Some(_)) = (&value.part, &value.metric) else {
        return nothing("not measured here");
    };
    let Some((part, Ok(metrics))) = experiment.part(part).map(|part| (part, value.metrics(part))) else {
        return nothing("the experiment does not have it");
    };
    let names: Vec<&str> = metrics.iter().map(|metric| metric.name).collect();
    let unit = metrics[0].unit;
    let trials = samples.sums(&part.id, &value.levels, &names);
    if let Statistic::Difference | Statistic::Ratio = value.statistic {
        return compared(value, &trials, &samples.sums(&part.id, &value.other(), &names), unit);
    }
    let Some(statistics) = Statistics::of(&trials) else {
        return nothing("no trial was measured");
    };
    let plain = |value: f64| (value, None);
    let (measured, interval) = match value.statistic {
        Statistic::Median => (statistics.median, statistics.interval),
        Statistic::Mean => plain(statistics.mean),
        Statistic::QuartileLow => plain(statistics.quartiles.low),
        Statistic::QuartileHigh => plain(statistics.quartiles.high),
        Statistic::Total => plain(statistics.total),
        Statistic::IntervalLow | Statistic::IntervalHigh => match statistics.student {
            Some(student) if value.statistic == Statistic::IntervalLow => plain(student.interval.low),
            Some(student) => plain(student.interval.high),
            None => return nothing("one trial has no interval"),
        },
        Statistic::Difference | Statistic::Ratio => return nothing("no comparison gives it"),
    };
    in_its_unit(value, measured, interval, statistics.trials, unit)
}

/// Times and rates of a guest's kernel are not those of the machine it runs on.
fn of_a_guest(value: &PublishedValue, samples: &Samples) -> Option<String> {
    let (part, metric) = (value.part.as_ref()?, value.metric.as_ref()?.split(" + ").next()?);
    let trials = samples.matching(part, &Levels::default(), metric);
    let speed = value.unit.ends_with("/s") || value.unit.contains("b/s") || convert(1.0, &value.unit, "s").is_some();
    (speed && trials.iter().any(|trial| trial.guest))
        .then(|| "measured on a guest's kernel, whose speed is not the machine's".to_owned())
}

/// The trials of the one side set against those of the other.
fn compared(value: &PublishedValue, of: &[Trial], over: &[Trial], unit: &str) -> Measured {
    let (form, unit) = match value.statistic {
        Statistic::Ratio => (Form::Ratio, value.unit.as_str()),
        _ => (Form::Shift, unit),
    };
    let judged = judge(form, of, over);
    match judged.value {
        Some(measured) => in_its_unit(value, measured, judged.interval, judged.n.0.min(judged.n.1), unit),
        None => nothing("no trial was measured"),
    }
}

fn in_its_unit(value: &PublishedValue, measured: f64, interval: Option<Interval>, n: usize, unit: &str) -> Measured {
    let converted = |number: f64| convert(number, unit, &value.unit);
    let Some(measured) = converted(measured) else {
        return Measured::Nothing {
            reason: format!(
                "measured in {}, printed in {}: not comparable",
                crate::quantity::for_values(unit, 0.0).symbol,
                value.unit
            ),
        };
    };
    let interval = interval.and_then(|interval| {
        Some(Interval {
            low: converted(interval.low)?,
            high: converted(interval.high)?,
        })
    });
    let ratio = measured / value.value;
    Measured::Measured {
        value: measured,
        interval,
        n,
        ratio: ratio.is_finite().then_some(ratio),
    }
}
