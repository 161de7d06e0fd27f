//! One group of trials set against another.

use bartizan_lab::experiment::{self, Form, Levels};
use bartizan_lab::workload::{Better, MetricKind};
use bartizan_stats::{Confidence, Estimate, Interval, paired_shift, ratio_of_medians, ratio_of_sample_medians, shift};
use serde::Serialize;

use super::Samples;
use super::cell::{LEAST, resampling};
use super::samples::{Trial, medians, paired};
use crate::quantity::Shown;

/// What a comparison of the experiment says about one pair of combinations.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// Its name within the part.
    pub id: String,
    /// What is compared.
    pub metric: &'static MetricKind,
    /// Shift, ratio or what is added.
    pub form: Form,
    /// The one.
    pub of: Levels,
    /// What it is set against.
    pub over: Levels,
    /// Levels that both share and the comparison does not name, where it stands for several pairs.
    pub within: Levels,
    /// Trials of the one and of the other, or pairs of them.
    pub n: (usize, usize),
    /// The value, in the metric's unit or without one; absent where either side has no trials.
    pub value: Option<f64>,
    /// Its 95 % interval; absent where trials are too few.
    pub interval: Option<Interval>,
    /// What that means.
    pub verdict: Verdict,
    /// How the value is shown.
    pub shown: Shown,
}

/// What a comparison means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Beyond the noise, the good way.
    Better,
    /// Beyond the noise, the bad way.
    Worse,
    /// Beyond the noise, and it depends whether that is good.
    More,
    /// The same, the other way.
    Less,
    /// The interval holds no difference.
    NoDifference,
    /// Too few trials to say.
    Unknown,
}

impl Verdict {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::More => "more",
            Self::Less => "less",
            Self::NoDifference => "no difference seen",
            Self::Unknown => "too few trials to say",
        }
    }

    /// What an interval says about a metric, where `none` is no difference.
    pub(crate) fn of(interval: Option<Interval>, none: f64, better: Better) -> Self {
        let Some(interval) = interval else {
            return Self::Unknown;
        };
        if interval.contains(none) {
            return Self::NoDifference;
        }
        match (better, interval.low > none) {
            (Better::Neither, true) => Self::More,
            (Better::Neither, false) => Self::Less,
            (Better::Higher, true) | (Better::Lower, false) => Self::Better,
            (Better::Higher, false) | (Better::Lower, true) => Self::Worse,
        }
    }
}

/// A value with its interval, where there are trials enough.
pub(crate) struct Judged {
    pub(crate) value: Option<f64>,
    pub(crate) interval: Option<Interval>,
    pub(crate) n: (usize, usize),
}

impl Judged {
    fn nothing(first: &[Trial], second: &[Trial]) -> Self {
        Self {
            value: None,
            interval: None,
            n: (first.len(), second.len()),
        }
    }

    fn ratio(n: (usize, usize), ratio: Result<Estimate, bartizan_stats::Error>) -> Self {
        let ratio = ratio.ok();
        Self {
            value: ratio.map(|ratio| ratio.value),
            interval: ratio.filter(|_| n.0.min(n.1) >= LEAST).map(|ratio| ratio.interval),
            n,
        }
    }

    /// The estimate at 95 %, or its value alone at the lesser confidence for which there are trials enough.
    fn estimate(n: (usize, usize), at: impl Fn(Confidence) -> Result<Estimate, bartizan_stats::Error>) -> Self {
        let sure = at(Confidence::P95).ok();
        let value = sure
            .or_else(|| at(Confidence::new(0.2)?).ok())
            .map(|estimate| estimate.value);
        Self {
            value,
            interval: sure.map(|estimate| estimate.interval),
            n,
        }
    }
}

/// One group of trials against another, by medians of trials.
pub(crate) fn judge(form: Form, first: &[Trial], second: &[Trial]) -> Judged {
    let (Some(one), Some(other)) = (medians(first), medians(second)) else {
        return Judged::nothing(first, second);
    };
    let pairs = paired(first, second);
    match form {
        Form::Shift => {
            let judged = Judged::estimate((one.n(), other.n()), |confidence| shift(&one, &other, confidence));
            Judged {
                value: judged.value.or(Some(one.median() - other.median())),
                ..judged
            }
        }
        Form::Added => match pairs {
            Some(pairs) => {
                let judged = Judged::estimate((pairs.n(), pairs.n()), |confidence| paired_shift(&pairs, confidence));
                Judged {
                    value: judged.value.or_else(|| pairs.differences().next()),
                    ..judged
                }
            }
            None => Judged::nothing(&[], &[]),
        },
        Form::Ratio => match pairs.filter(|pairs| pairs.n() == one.n() && pairs.n() == other.n()) {
            Some(pairs) => Judged::ratio((pairs.n(), pairs.n()), ratio_of_medians(&pairs, &resampling())),
            None => apart(first, second),
        },
    }
}

/// The ratio of the medians of two groups whose trials have nothing to do with each other.
pub(crate) fn apart(first: &[Trial], second: &[Trial]) -> Judged {
    match (medians(first), medians(second)) {
        (Some(one), Some(other)) => Judged::ratio(
            (one.n(), other.n()),
            ratio_of_sample_medians(&one, &other, &resampling()),
        ),
        _ => Judged::nothing(first, second),
    }
}

impl Comparison {
    /// Every pair of combinations that a comparison of the part stands for.
    pub(crate) fn of(part: &experiment::Part, comparison: &experiment::Comparison, samples: &Samples) -> Vec<Self> {
        let pairs = part.pairs(&comparison.of, &comparison.over);
        let several = pairs.len() > 1;
        pairs
            .into_iter()
            .map(|(of, over)| {
                let trials = |levels| samples.trials(&part.id, levels, comparison.metric.name);
                let judged = judge(comparison.form, trials(of), trials(over));
                let (shown, none) = match comparison.form {
                    Form::Ratio => (Shown::bare(), 1.0),
                    Form::Shift | Form::Added => (
                        Shown::for_values(comparison.metric.unit, judged.value.unwrap_or(0.0)),
                        0.0,
                    ),
                };
                let named =
                    |factor: &str| comparison.of.level(factor).is_some() || comparison.over.level(factor).is_some();
                let within = of.iter().filter(|(factor, _)| several && !named(factor)).collect();
                Self {
                    id: comparison.id.clone(),
                    metric: comparison.metric,
                    form: comparison.form,
                    of: comparison.of.clone(),
                    over: comparison.over.clone(),
                    within,
                    n: judged.n,
                    value: judged.value,
                    interval: judged.interval,
                    verdict: Verdict::of(judged.interval, none, comparison.metric.better),
                    shown,
                }
            })
            .collect()
    }

    /// The value with its interval, as it stands in a sentence: `+12.3 ms [12.1 to 12.4]`, `1.04 times [1.03 to 1.05]`.
    #[must_use]
    pub fn sentence(&self) -> Option<String> {
        let value = self.value?;
        let text = self.shown.estimate(value, self.interval);
        Some(match self.form {
            Form::Ratio => match text.split_once(" [") {
                Some((number, interval)) => format!("{number} times [{interval}"),
                None => format!("{text} times"),
            },
            Form::Shift | Form::Added if value > 0.0 => format!("+{text}"),
            Form::Shift | Form::Added => text,
        })
    }
}
