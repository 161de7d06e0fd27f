//! One group of trials set against another.

use bartizan_estimators::{
    Confidence, Error, Estimate, Interval, difference, paired_ratio, paired_shift, serial_median,
};
use bartizan_workbench::runner::experiment::{self, Form, Levels};
use bartizan_workbench::workload::MetricKind;

use super::Samples;
use super::effect::{Effect, Scale, signed};
use super::pace::Speed;
use super::samples::{Trial, medians, paired, paired_at};
use super::statistics::LEAST;
use bartizan_page::quantity::Shown;

/// All comparisons of a part together name a difference where there is none once in a hundred runs.
const TOGETHER: f64 = 0.01;

/// A comparison of the experiment for one pair of combinations.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// Its name within the part.
    pub id: String,
    /// The compared metric.
    pub metric: &'static MetricKind,
    /// Shift, ratio or what is added.
    pub form: Form,
    /// The one.
    pub of: Levels,
    /// Levels of the other.
    pub over: Levels,
    /// Levels that both share and the comparison does not name, where it stands for several pairs.
    pub within: Levels,
    /// Trials of the one and of the other, or pairs of them.
    pub n: (usize, usize),
    /// The value, in the metric's unit or without one; absent where either side has no trials.
    pub value: Option<f64>,
    /// Its 95 % interval; absent where trials are too few.
    pub interval: Option<Interval>,
    /// The same in repetitions in which both met the fast mode of the machine, and in which both met the slow one.
    pub by_speed: [Option<AtSpeed>; 2],
    /// Meaning of the difference.
    pub effect: Effect,
    /// Display of the value.
    pub shown: Shown,
}

/// A comparison in one mode of the machine.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct AtSpeed {
    /// Pairs of trials.
    pub n: usize,
    /// The value.
    pub value: f64,
    /// Its 95 % interval.
    pub interval: Interval,
}

/// Apparent difference of a combination from its identical twin. Nothing smaller is a difference.
#[derive(Debug, Clone)]
pub struct Control {
    /// Levels of the combination.
    pub levels: Levels,
    /// The compared metric.
    pub metric: &'static MetricKind,
    /// Pairs of trials.
    pub n: usize,
    /// Twin less combination, in the metric's unit.
    pub value: Option<f64>,
    /// Its 95 % interval.
    pub interval: Option<Interval>,
    /// Meaning of the difference: none, if the lab is right.
    pub effect: Effect,
    /// Display of the value.
    pub shown: Shown,
}

/// Confidence of each verdict among this number of comparisons.
pub(crate) fn sure(comparisons: usize) -> Confidence {
    Confidence::new(1.0 - TOGETHER / comparisons.max(1) as f64).unwrap_or(Confidence::P95)
}

/// A difference at one confidence.
fn estimate(form: Form, first: &[Trial], second: &[Trial], confidence: Confidence) -> Result<Estimate, Error> {
    let few = first.len().min(second.len());
    match paired(first, second) {
        // By repetition: whatever made the machine slow for a while did so to both.
        Some(pairs) if 2 * pairs.n() >= few => match form {
            Form::Ratio => paired_ratio(&pairs, confidence),
            Form::Shift | Form::Added => paired_shift(&pairs, confidence),
        },
        _ if form == Form::Added => Err(Error::TooFew { n: 0 }),
        // Trials of independent runs.
        _ => apart(form, first, second, confidence),
    }
}

/// A difference of two groups whose trials have nothing to do with each other.
pub(crate) fn apart(form: Form, first: &[Trial], second: &[Trial], confidence: Confidence) -> Result<Estimate, Error> {
    let of = |trials: &[Trial]| {
        let mut values = medians(trials);
        if form == Form::Ratio {
            if values.iter().any(|value| *value <= 0.0) {
                return Err(Error::NotPositive);
            }
            values = values.into_iter().map(f64::ln).collect();
        }
        Ok(serial_median(&values, confidence)?.estimate)
    };
    let Estimate { value, interval } = difference(&of(first)?, &of(second)?);
    Ok(match form {
        Form::Ratio => Estimate {
            value: value.exp(),
            interval: Interval {
                low: interval.low.exp(),
                high: interval.high.exp(),
            },
        },
        Form::Shift | Form::Added => Estimate { value, interval },
    })
}

/// The value and its interval at 95 %, or the value alone where trials are too few for that.
pub(crate) struct Judged {
    pub(crate) value: Option<f64>,
    pub(crate) interval: Option<Interval>,
    pub(crate) n: (usize, usize),
}

pub(crate) fn judge(form: Form, first: &[Trial], second: &[Trial]) -> Judged {
    let n = match paired(first, second) {
        Some(pairs) if 2 * pairs.n() >= first.len().min(second.len()) => (pairs.n(), pairs.n()),
        _ => (first.len(), second.len()),
    };
    let at = |confidence| estimate(form, first, second, confidence);
    let sure = at(Confidence::P95).ok().filter(|_| n.0.min(n.1) >= LEAST);
    let least = || Confidence::new(0.2).and_then(|confidence| at(confidence).ok());
    Judged {
        value: sure
            .or_else(least)
            .map(|estimate| estimate.value)
            .or_else(|| single(form, first, second)),
        interval: sure.map(|estimate| estimate.interval),
        n,
    }
}

/// The difference for one or two trials on a side.
fn single(form: Form, first: &[Trial], second: &[Trial]) -> Option<f64> {
    let pairs = paired(first, second)?;
    let (one, other) = (*pairs.first().first()?, *pairs.second().first()?);
    match form {
        Form::Ratio => (other > 0.0).then(|| one / other),
        Form::Shift | Form::Added => Some(one - other),
    }
}

/// The median of trials' medians, or 0.
fn typical(trials: &[Trial]) -> f64 {
    bartizan_estimators::Sample::new(medians(trials)).map_or(0.0, |sample| sample.median())
}

fn scale(form: Form, over: &[Trial]) -> Scale {
    match form {
        Form::Ratio => Scale { none: 1.0, base: 1.0 },
        Form::Shift | Form::Added => Scale {
            none: 0.0,
            base: typical(over),
        },
    }
}

impl Control {
    /// Every control of a part, by each metric it records.
    pub(crate) fn of(part: &experiment::Part, samples: &Samples) -> Vec<Self> {
        // Those the experiment names, and those that a run was asked for next to them.
        let controls = samples.controls(&part.id);
        let measured = |levels, metric: &MetricKind| {
            let (one, twin) = (
                samples.trials(&part.id, levels, metric.name),
                samples.twins(&part.id, levels, metric.name),
            );
            (!one.is_empty() && !twin.is_empty()).then_some((one, twin))
        };
        let all: Vec<_> = controls
            .into_iter()
            .flat_map(|levels| part.metrics.iter().map(move |metric| (levels, *metric)))
            .filter_map(|(levels, metric)| Some((levels, metric, measured(levels, metric)?)))
            .collect();
        let sure = sure(all.len());
        all.into_iter()
            .map(|(levels, metric, (one, twin))| {
                let judged = judge(Form::Shift, twin, one);
                let sure = estimate(Form::Shift, twin, one, sure)
                    .ok()
                    .map(|estimate| estimate.interval);
                let scale = scale(Form::Shift, one);
                Self {
                    levels: levels.clone(),
                    metric,
                    n: judged.n.0,
                    value: judged.value,
                    interval: judged.interval,
                    effect: Effect::of(judged.value, judged.interval, sure, scale, None, metric.better),
                    shown: crate::quantity::for_values(metric.unit, typical(one)),
                }
            })
            .collect()
    }

    /// The difference with its interval.
    #[must_use]
    pub fn sentence(&self) -> Option<String> {
        Some(signed(&self.shown, self.value?, self.interval))
    }
}

/// Reach of the intervals of a metric's controls, over their combinations.
fn threshold(controls: &[Control], metric: &MetricKind) -> Option<f64> {
    let reaches = controls
        .iter()
        .filter(|control| control.metric.name == metric.name)
        .filter_map(|control| control.effect.reach);
    reaches.reduce(f64::max)
}

impl Comparison {
    /// Every pair of combinations that the comparisons of a part stand for.
    pub(crate) fn of(part: &experiment::Part, samples: &Samples, controls: &[Control]) -> Vec<Self> {
        let pairs: Vec<_> = part
            .comparisons
            .iter()
            .flat_map(|comparison| {
                let pairs = part.pairs(&comparison.of, &comparison.over);
                let several = pairs.len() > 1;
                pairs.into_iter().map(move |(of, over)| (comparison, of, over, several))
            })
            .collect();
        let trials = |levels, metric: &MetricKind| samples.trials(&part.id, levels, metric.name);
        let measured = pairs.iter().filter(|(comparison, of, over, _)| {
            !trials(of, comparison.metric).is_empty() && !trials(over, comparison.metric).is_empty()
        });
        let sure = sure(measured.count());
        pairs
            .into_iter()
            .map(|(comparison, of, over, several)| {
                let (one, other) = (trials(of, comparison.metric), trials(over, comparison.metric));
                let judged = judge(comparison.form, one, other);
                let certain = estimate(comparison.form, one, other, sure)
                    .ok()
                    .map(|estimate| estimate.interval);
                let threshold = threshold(controls, comparison.metric);
                let scale = scale(comparison.form, other);
                let named =
                    |factor: &str| comparison.of.level(factor).is_some() || comparison.over.level(factor).is_some();
                Self {
                    id: comparison.id.clone(),
                    metric: comparison.metric,
                    form: comparison.form,
                    of: comparison.of.clone(),
                    over: comparison.over.clone(),
                    within: of.iter().filter(|(factor, _)| several && !named(factor)).collect(),
                    n: judged.n,
                    value: judged.value,
                    interval: judged.interval,
                    by_speed: [Speed::Fast, Speed::Slow].map(|speed| at_speed(comparison.form, one, other, speed)),
                    effect: Effect::of(
                        judged.value,
                        judged.interval,
                        certain,
                        scale,
                        threshold,
                        comparison.metric.better,
                    ),
                    shown: match comparison.form {
                        Form::Ratio => Shown::bare(),
                        Form::Shift | Form::Added => {
                            crate::quantity::for_values(comparison.metric.unit, judged.value.unwrap_or(0.0))
                        }
                    },
                }
            })
            .collect()
    }

    /// The value with its interval, as it stands in a sentence: `+12.3 ms [12.1 to 12.4]`, `1.04 times [1.03 to 1.05]`.
    #[must_use]
    pub fn sentence(&self) -> Option<String> {
        Some(self.said(self.value?, self.interval))
    }

    /// The same of one mode of the machine, with its pairs.
    #[must_use]
    pub fn sentence_at(&self, speed: &AtSpeed) -> String {
        format!("{}, n {}", self.said(speed.value, Some(speed.interval)), speed.n)
    }

    fn said(&self, value: f64, interval: Option<Interval>) -> String {
        match self.form {
            Form::Ratio => {
                let text = self.shown.estimate(value, interval);
                match text.split_once(" [") {
                    Some((number, interval)) => format!("{number} times [{interval}"),
                    None => format!("{text} times"),
                }
            }
            Form::Shift | Form::Added => signed(&self.shown, value, interval),
        }
    }
}

fn at_speed(form: Form, first: &[Trial], second: &[Trial], speed: Speed) -> Option<AtSpeed> {
    let pairs = paired_at(first, second, speed)?;
    let estimate = match form {
        Form::Ratio => paired_ratio(&pairs, Confidence::P95),
        Form::Shift | Form::Added => paired_shift(&pairs, Confidence::P95),
    };
    let estimate = estimate.ok().filter(|_| pairs.n() >= LEAST)?;
    Some(AtSpeed {
        n: pairs.n(),
        value: estimate.value,
        interval: estimate.interval,
    })
}
