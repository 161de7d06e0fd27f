//! Published values next to measured ones.

use bartizan_stats::Interval;
use bartizan_workbench::Published;
use bartizan_workbench::runner::experiment::{Form, Levels, Publication};
use bartizan_workbench::runner::published::{Bound, Conflict, PublishedValue, Statistic};
use serde::Serialize;

use super::{Comparison, Part, Samples, Statistics};
use bartizan_page::quantity::{Shown, convert, words};

/// Everything an experiment has of a publication.
#[derive(Debug, Clone)]
pub struct PublishedValues {
    /// The publication.
    pub paper: Publication,
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
    pub(crate) fn of(published: &Published, samples: &Samples, parts: &[Part]) -> Self {
        let rows = published
            .values
            .iter()
            .map(|value| {
                let incomparable = value.incomparable.clone().or_else(|| of_a_guest(value, samples));
                let mut measured = measured(value, samples, parts);
                // Over a bound a ratio says nothing, nor over what is not comparable.
                if let Measured::Measured { ratio, .. } = &mut measured
                    && (value.bound.is_some() || incomparable.is_some())
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

    /// Further information for a reader, and the reason if the value cannot be compared.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        let incomparable = self
            .value
            .incomparable
            .as_ref()
            .map(|reason| format!("not comparable: {reason}"));
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
        let bound = match self.value.bound {
            Some(Bound::AtLeast) => "at least ",
            Some(Bound::AtMost) => "at most ",
            None => "",
        };
        let number = format!("{bound}{}", self.value.value).replace('-', "\u{2212}");
        if self.value.unit.is_empty() {
            number
        } else {
            format!("{number}\u{a0}{}", self.shown().symbol)
        }
    }

    /// Display of the measurement: in the unit of the publication, so that both are in one unit.
    #[must_use]
    pub fn shown(&self) -> Shown {
        Shown::in_unit(&self.value.unit)
    }

    /// The measurement, in the unit of the publication; absent if there is none.
    #[must_use]
    pub fn measured(&self) -> Option<String> {
        let Measured::Measured { value, interval, .. } = &self.measured else {
            return None;
        };
        Some(self.shown().estimate(*value, *interval))
    }

    /// Measured over published, in words: `1/520 of it`, `0.93 of it`, `1.4 times it`; of a bound whether it is kept.
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
        if let Some(bound) = self.value.bound {
            let kept = match bound {
                Bound::AtLeast => *value >= self.value.value,
                Bound::AtMost => *value <= self.value.value,
            };
            return Some(if kept { "within it" } else { "beyond it" }.to_owned());
        }
        if self.value.statistic == Statistic::Difference && interval.is_some_and(|interval| interval.contains(0.0)) {
            return Some("no difference seen".to_owned());
        }
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

fn measured(value: &PublishedValue, samples: &Samples, parts: &[Part]) -> Measured {
    let nothing = |reason: &str| Measured::Nothing {
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

/// Times and rates of a guest's kernel are not those of the machine it runs on.
fn of_a_guest(value: &PublishedValue, samples: &Samples) -> Option<String> {
    let (part, metric) = (value.part.as_ref()?, value.metric.as_ref()?);
    let trials = samples.matching(part, &Levels::default(), metric);
    let speed = value.unit.ends_with("/s") || value.unit.contains("b/s") || convert(1.0, &value.unit, "s").is_some();
    (speed && trials.iter().any(|trial| trial.guest))
        .then(|| "measured on a guest's kernel, whose speed is not the machine's".to_owned())
}

/// The comparison that the value names, of the pair that has its levels.
fn compared(value: &PublishedValue, part: &Part, metric: &str) -> Measured {
    let nothing = |reason: &str| Measured::Nothing {
        reason: reason.to_owned(),
    };
    let wanted = value.comparison.as_ref().unwrap_or(&value.id);
    let ratio = value.statistic == Statistic::Ratio;
    let has = |comparison: &&Comparison| {
        let level = |factor: &str| comparison.of.level(factor).or(comparison.within.level(factor));
        value
            .levels
            .iter()
            .all(|(factor, own)| level(factor).is_none_or(|level| level == own))
    };
    let comparison = part
        .comparisons
        .iter()
        .filter(|one| one.id == *wanted && one.metric.name == metric && (one.form == Form::Ratio) == ratio)
        .find(has);
    // The file is refused where this is not there, so that no reader meets it.
    let Some(comparison) = comparison else {
        return nothing("no comparison of the experiment gives it");
    };
    let Some(measured) = comparison.value else {
        return nothing("no trial was measured");
    };
    let unit = if ratio { &value.unit } else { comparison.metric.unit };
    let n = comparison.n.0.min(comparison.n.1);
    in_its_unit(value, measured, comparison.interval, n, unit)
}

fn in_its_unit(value: &PublishedValue, measured: f64, interval: Option<Interval>, n: usize, unit: &str) -> Measured {
    let converted = |number: f64| convert(number, unit, &value.unit);
    let Some(measured) = converted(measured) else {
        return Measured::Nothing {
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
    Measured::Measured {
        value: measured,
        interval,
        n,
        ratio: ratio.is_finite().then_some(ratio),
    }
}
