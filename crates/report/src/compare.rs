//! Two runs of an experiment against each other.

use bartizan_lab::Experiment;
use bartizan_lab::experiment::{Form, Levels};
use bartizan_lab::trial::Record;
use bartizan_lab::workload::MetricKind;
use bartizan_stats::{Confidence, Estimate, Interval, shift};
use serde::Serialize;

use crate::model::samples::medians;
use crate::model::{Samples, Verdict, comparison};
use crate::quantity::Shown;

/// What changed from one run to another.
#[derive(Debug, Clone)]
pub struct Change {
    /// Id of the part.
    pub part: String,
    /// The metric.
    pub metric: &'static MetricKind,
    /// Which combination.
    pub levels: Levels,
    /// Whether it is the path without anything: where that changed, the machine did.
    pub floor: bool,
    /// By how much.
    pub changed: Changed,
}

/// By how much a combination changed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Changed {
    /// Trials before and after.
    pub n: (usize, usize),
    /// Median of the trials' medians before and after, in the metric's unit.
    pub medians: (f64, f64),
    /// After less before (Hodges and Lehmann) at 95 %; absent where trials are too few.
    pub shift: Option<Estimate>,
    /// After over before at 95 %; absent where trials are too few or before is 0.
    pub ratio: Option<Estimate>,
    /// What that means, with the error of all combinations together kept at 5 % (Bonferroni).
    pub verdict: Verdict,
}

impl Change {
    /// The unit in which both medians are easily read.
    #[must_use]
    pub fn shown(&self) -> Shown {
        Shown::for_values(
            self.metric.unit,
            self.changed.medians.0.abs().max(self.changed.medians.1.abs()),
        )
    }
}

/// Every combination and metric that both runs measured, in the order of the experiment.
#[must_use]
pub fn compare(experiment: &Experiment, before: &[Record], after: &[Record]) -> Vec<Change> {
    let (before, after) = (Samples::of(before), Samples::of(after));
    let mut changes = Vec::new();
    for part in &experiment.parts {
        for metric in &part.metrics {
            for levels in &part.combinations {
                let [one, other] = [&before, &after].map(|samples| samples.trials(&part.id, levels, metric.name));
                let (Some(old), Some(new)) = (medians(one), medians(other)) else {
                    continue;
                };
                // Runs are not paired: their repetitions have nothing to do with each other.
                let ratio = comparison::apart(other, one);
                let estimate = |value: Option<f64>, interval: Option<Interval>| {
                    Some(Estimate {
                        value: value?,
                        interval: interval?,
                    })
                };
                let difference = comparison::judge(Form::Shift, other, one);
                changes.push(Change {
                    part: part.id.clone(),
                    metric,
                    levels: levels.clone(),
                    floor: part.floor.as_ref().is_some_and(|floor| levels.matches(floor)),
                    changed: Changed {
                        n: (old.n(), new.n()),
                        medians: (old.median(), new.median()),
                        shift: estimate(difference.value, difference.interval),
                        ratio: estimate(ratio.value, ratio.interval),
                        verdict: Verdict::Unknown,
                    },
                });
            }
        }
    }
    let error = 0.05 / changes.len().max(1) as f64;
    for change in &mut changes {
        let [one, other] =
            [&before, &after].map(|samples| medians(samples.trials(&change.part, &change.levels, change.metric.name)));
        let interval = Confidence::new(1.0 - error)
            .and_then(|confidence| shift(&other?, &one?, confidence).ok())
            .map(|estimate| estimate.interval);
        change.changed.verdict = Verdict::of(interval, 0.0, change.metric.better);
    }
    changes
}
