//! A table of a metric.

use bartizan_estimators::Sample;
use bartizan_workbench::runner::experiment::{Levels, Part};
use bartizan_workbench::workload::{Better, MetricKind};

use super::{Samples, Speed, Statistics};
use bartizan_page::quantity::Shown;

/// One metric of a part.
#[derive(Debug, Clone)]
pub struct Table {
    /// The metric.
    pub metric: &'static MetricKind,
    /// Display of its values.
    pub shown: Shown,
    /// Names of the factors, in the order of the part.
    pub factors: Vec<String>,
    /// A row for every combination.
    pub rows: Vec<Cell>,
}

/// One combination.
#[derive(Debug, Clone)]
pub struct Cell {
    /// Levels of the combination.
    pub levels: Levels,
    /// Statistics of its trials; absent if no trial was measured.
    pub statistics: Option<Statistics>,
    /// The median of each trial, in order.
    pub trials: Vec<f64>,
    /// True for each of them that met the slow mode of the machine. Empty if it had one mode only,
    /// or the mode is unknown.
    pub slow: Vec<bool>,
    /// Every sample.
    pub samples: Option<Sample>,
    /// Trials that failed.
    pub failed: usize,
    /// True for the path without proxies or protection.
    pub floor: bool,
}

impl Table {
    pub(crate) fn of(part: &Part, metric: &'static MetricKind, samples: &Samples) -> Self {
        let rows: Vec<Cell> = part
            .combinations
            .iter()
            .map(|levels| {
                let trials = samples.trials(&part.id, levels, metric.name);
                Cell {
                    levels: levels.clone(),
                    statistics: Statistics::of(trials),
                    trials: trials.iter().map(|trial| trial.median).collect(),
                    slow: trials.iter().map(|trial| trial.speed == Some(Speed::Slow)).collect(),
                    samples: Sample::new(trials.iter().flat_map(|trial| trial.values.iter().copied())).ok(),
                    failed: samples.failures(&part.id, levels).len(),
                    floor: part.floor.as_ref().is_some_and(|floor| levels.matches(floor)),
                }
            })
            .collect();
        let typical = Sample::new(rows.iter().filter_map(|row| Some(row.statistics?.median.abs())))
            .map_or(0.0, |medians| medians.median());
        Self {
            metric,
            shown: crate::quantity::for_values(metric.unit, typical),
            factors: part.factors.iter().map(|factor| factor.name.clone()).collect(),
            rows,
        }
    }

    /// The row of this combination.
    #[must_use]
    pub fn row(&self, levels: &Levels) -> Option<&Cell> {
        self.rows.iter().find(|row| row.levels == *levels)
    }

    /// Direction of improvement, in words; empty if it depends.
    #[must_use]
    pub fn direction(&self) -> &'static str {
        match self.metric.better {
            Better::Lower => "lower is better",
            Better::Higher => "higher is better",
            Better::Neither => "",
        }
    }
}
