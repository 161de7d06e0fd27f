//! Two runs of an experiment against each other.

use bartizan_estimators::{Confidence, Estimate, Sample};
use bartizan_workbench::Experiment;
use bartizan_workbench::runner::experiment::{Form, Levels};
use bartizan_workbench::runner::trial::Record;
use bartizan_workbench::workload::MetricKind;
use serde::Serialize;

use crate::model::Samples;
use crate::model::comparison::apart;
use crate::model::effect::{Direction, Effect, Scale};
use crate::model::pace::Paces;
use crate::model::samples::medians;
use bartizan_page::quantity::Shown;

/// All comparisons of two runs together name a difference where there is none in one of twenty.
const TOGETHER: f64 = 0.05;

/// Change from one run to another.
#[derive(Debug, Clone)]
pub struct Change {
    /// Id of the part.
    pub part: String,
    /// The metric.
    pub metric: &'static MetricKind,
    /// Levels of the combination.
    pub levels: Levels,
    /// True for the path without proxies or protection. A change there is one of the machine.
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
    /// After less before at 95 %: of the medians, with the dependence of trials in each run; absent
    /// where trials are too few.
    pub shift: Option<Estimate>,
    /// After over before at 95 %; absent where trials are too few or a value is not above 0.
    pub ratio: Option<Estimate>,
    /// Meaning of the change, with the error of all combinations together kept at 5 % (Bonferroni).
    #[serde(flatten)]
    pub effect: Effect,
}

impl Change {
    /// The unit in which both medians are easily read.
    #[must_use]
    pub fn shown(&self) -> Shown {
        crate::quantity::for_values(
            self.metric.unit,
            self.changed.medians.0.abs().max(self.changed.medians.1.abs()),
        )
    }

    /// True if it goes in this direction beyond chance and the threshold.
    #[must_use]
    pub fn is(&self, direction: Direction) -> bool {
        self.changed.effect.direction == direction
    }
}

/// Every combination and metric that both runs measured, in the order of the experiment. What
/// changed by no more than `threshold`, a share of the value before, has not.
#[must_use]
pub fn compare(experiment: &Experiment, before: &[Record], after: &[Record], threshold: f64) -> Vec<Change> {
    let [before, after] = [before, after].map(|records| Samples::of(records, &Paces::of(records)));
    let common: Vec<_> = experiment
        .parts
        .iter()
        .flat_map(|part| part.metrics.iter().map(move |metric| (part, *metric)))
        .flat_map(|(part, metric)| part.combinations.iter().map(move |levels| (part, metric, levels)))
        .filter_map(|(part, metric, levels)| {
            let [old, new] = [&before, &after].map(|samples| samples.trials(&part.id, levels, metric.name));
            (!old.is_empty() && !new.is_empty()).then_some((part, metric, levels, old, new))
        })
        .collect();
    let sure = Confidence::new(1.0 - TOGETHER / common.len().max(1) as f64).unwrap_or(Confidence::P95);
    common
        .into_iter()
        .map(|(part, metric, levels, old, new)| {
            let median = |trials| Sample::new(medians(trials)).map_or(f64::NAN, |sample| sample.median());
            let at = |form, confidence| apart(form, new, old, confidence).ok();
            let shift = at(Form::Shift, Confidence::P95);
            let scale = Scale {
                none: 0.0,
                base: median(old),
            };
            let certain = at(Form::Shift, sure).map(|estimate| estimate.interval);
            Change {
                part: part.id.clone(),
                metric,
                levels: levels.clone(),
                floor: part.floor.as_ref().is_some_and(|floor| levels.matches(floor)),
                changed: Changed {
                    n: (old.len(), new.len()),
                    medians: (median(old), median(new)),
                    shift,
                    ratio: at(Form::Ratio, Confidence::P95),
                    effect: Effect::of(
                        shift.map(|shift| shift.value),
                        shift.map(|shift| shift.interval),
                        certain,
                        scale,
                        Some(threshold),
                        metric.better,
                    ),
                },
            }
        })
        .collect()
}
