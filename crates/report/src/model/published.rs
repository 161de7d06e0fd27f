//! What a publication printed beside what was measured here.

use bartizan_lab::Published;
use bartizan_lab::experiment::Form;
use bartizan_lab::published::{Conflict, PublishedValue, Statistic};
use bartizan_stats::Interval;
use serde::Serialize;

use super::{Comparison, Part, Samples, Statistics};
use crate::quantity::{Shown, convert, words};

/// Everything an experiment has of a publication.
#[derive(Debug, Clone)]
pub struct PublishedValues {
    /// Its number among the five that Bartizan stands on.
    pub paper: u8,
    /// Every value, in the order of the file.
    pub rows: Vec<PublishedRow>,
    /// Where it disagrees with itself.
    pub conflicts: Vec<Conflict>,
}

/// One value.
#[derive(Debug, Clone)]
pub struct PublishedRow {
    /// As printed.
    pub value: PublishedValue,
    /// What stands beside it.
    pub beside: MeasuredBeside,
}

/// What was measured of a published value, in the unit of the publication.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MeasuredBeside {
    /// The same statistic of our own trials.
    Measured {
        /// In the published unit.
        value: f64,
        /// Its 95 % interval, where the statistic has one.
        interval: Option<Interval>,
        /// Trials.
        n: usize,
        /// Measured over published; absent where published is 0.
        ratio: Option<f64>,
    },
    /// Nothing is, and why.
    Nothing {
        /// Why.
        reason: String,
    },
}

impl PublishedValues {
    pub(crate) fn of(published: &Published, samples: &Samples, parts: &[Part]) -> Self {
        let rows = published
            .values
            .iter()
            .map(|value| PublishedRow {
                value: value.clone(),
                beside: beside(value, samples, parts),
            })
            .collect();
        Self {
            paper: published.paper,
            rows,
            conflicts: published.conflicts.clone(),
        }
    }
}

impl PublishedRow {
    /// What is published, in words.
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

    /// Of what: metric and levels.
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
        let number = self.value.value.to_string().replace('-', "\u{2212}");
        if self.value.unit.is_empty() {
            number
        } else {
            format!("{number}\u{a0}{}", self.value.unit)
        }
    }

    /// What was measured, in the unit in which it is easily read; absent where nothing was.
    #[must_use]
    pub fn measured(&self) -> Option<String> {
        let MeasuredBeside::Measured { value, interval, .. } = &self.beside else {
            return None;
        };
        Some(Shown::for_values(&self.value.unit, *value).estimate(*value, *interval))
    }

    /// Measured over published, in words: `1/520 of it`, `0.93 of it`, `1.4 times it`.
    #[must_use]
    pub fn relation(&self) -> Option<String> {
        let MeasuredBeside::Measured { ratio, .. } = &self.beside else {
            return None;
        };
        let ratio = (*ratio)?;
        let number = |value: f64| Shown::bare().number(value);
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

fn beside(value: &PublishedValue, samples: &Samples, parts: &[Part]) -> MeasuredBeside {
    let nothing = |reason: &str| MeasuredBeside::Nothing {
        reason: reason.to_owned(),
    };
    let (Some(part), Some(metric)) = (&value.part, &value.metric) else {
        return nothing("not measured here");
    };
    let Some((part, table)) = parts
        .iter()
        .find(|candidate| candidate.id == *part)
        .and_then(|part| Some((part, part.table(metric)?)))
    else {
        return nothing("the experiment does not have it");
    };
    if matches!(value.statistic, Statistic::Difference | Statistic::Ratio) {
        return compared(value, part, metric);
    }
    let Some(statistics) = Statistics::of(&samples.matching(&part.id, &value.levels, metric)) else {
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
    in_its_unit(value, measured, interval, statistics.trials, table.metric.unit)
}

/// Whether the one side of a comparison has the levels of a value.
fn has(comparison: &Comparison, value: &PublishedValue) -> bool {
    let levels = |factor: &str| comparison.of.level(factor).or(comparison.within.level(factor));
    value.levels.iter().all(|(factor, level)| levels(factor) == Some(level))
}

/// The comparison of the same name, or the only one that fits.
fn compared(value: &PublishedValue, part: &Part, metric: &str) -> MeasuredBeside {
    let fits = |form: Form| (value.statistic == Statistic::Ratio) == (form == Form::Ratio);
    let candidates = || {
        part.comparisons.iter().filter(|comparison| {
            comparison.metric.name == metric
                && fits(comparison.form)
                && comparison.within.matches(
                    &value
                        .levels
                        .iter()
                        .filter(|(factor, _)| comparison.within.level(factor).is_some())
                        .collect(),
                )
        })
    };
    let named: Vec<_> = candidates().filter(|comparison| comparison.id == value.id).collect();
    let found: Vec<_> = if named.is_empty() {
        candidates()
            .filter(|comparison| !value.levels.is_empty() && has(comparison, value))
            .collect()
    } else {
        named
    };
    let nothing = |reason: &str| MeasuredBeside::Nothing {
        reason: reason.to_owned(),
    };
    match found.as_slice() {
        [] => nothing("no comparison of the experiment gives it"),
        [comparison] => match comparison.value {
            Some(measured) => {
                let unit = if value.statistic == Statistic::Ratio {
                    &value.unit
                } else {
                    comparison.metric.unit
                };
                in_its_unit(
                    value,
                    measured,
                    comparison.interval,
                    comparison.n.0.min(comparison.n.1),
                    unit,
                )
            }
            None => nothing("no trial was measured"),
        },
        _ => nothing("several comparisons fit: name one of them like the value"),
    }
}

fn in_its_unit(
    value: &PublishedValue,
    measured: f64,
    interval: Option<Interval>,
    n: usize,
    unit: &str,
) -> MeasuredBeside {
    let converted = |number: f64| convert(number, unit, &value.unit);
    let Some(measured) = converted(measured) else {
        return MeasuredBeside::Nothing {
            reason: format!(
                "measured in {}, printed in {}: not comparable",
                Shown::for_values(unit, 0.0).symbol,
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
    MeasuredBeside::Measured {
        value: measured,
        interval,
        n,
        ratio: ratio.is_finite().then_some(ratio),
    }
}
