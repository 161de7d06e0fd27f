//! A table of a metric, and what its rows say.

use bartizan_lab::experiment::{Levels, Part};
use bartizan_lab::workload::{Better, MetricKind};
use bartizan_stats::{
    Confidence, Estimate, Interval, Resampling, Sample, median_interval, repetitions_for_estimate, t_interval,
};
use serde::Serialize;

use super::Samples;
use super::samples::{Trial, medians};
use crate::quantity::Shown;

/// Fewer trials cannot show 95 %: six values lie all on one side of their median once in 32 times.
pub(crate) const LEAST: usize = 6;

/// How intervals of medians are resampled. The same trials give the same report.
pub(crate) fn resampling() -> Resampling {
    Resampling {
        resamples: 4000,
        ..Resampling::seeded(1)
    }
}

/// One metric of a part.
#[derive(Debug, Clone)]
pub struct Table {
    /// The metric.
    pub metric: &'static MetricKind,
    /// How its values are shown.
    pub shown: Shown,
    /// Names of the factors, in the order of the part.
    pub factors: Vec<String>,
    /// A row for every combination.
    pub rows: Vec<Cell>,
}

/// One combination.
#[derive(Debug, Clone)]
pub struct Cell {
    /// Which.
    pub levels: Levels,
    /// What came out; absent where no trial was measured.
    pub statistics: Option<Statistics>,
    /// The median of each trial, in order.
    pub trials: Vec<f64>,
    /// Every sample.
    pub samples: Option<Sample>,
    /// Trials that failed.
    pub failed: usize,
    /// Whether this is the path without anything.
    pub floor: bool,
}

/// What can be said about some trials. The unit of observation is the trial: single samples of one trial depend on each other.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Statistics {
    /// Trials.
    pub trials: usize,
    /// Samples of all of them.
    pub samples: usize,
    /// The median of the trials' medians.
    pub median: f64,
    /// Where it lies at 95 %, by bootstrap over trials; absent below six trials.
    pub interval: Option<Interval>,
    /// Quartiles of the trials' medians.
    pub quartiles: Interval,
    /// The mean of the trials' medians with Student's interval, as published experiments report it; absent for one trial.
    pub student: Option<Estimate>,
    /// The mean of the trials' means.
    pub mean: f64,
    /// The median over trials of what a trial's samples add up to.
    pub total: f64,
    /// Quantiles of all samples: 5, 25, 50, 75, 95 and 99 %.
    pub spread: [f64; 6],
    /// About how many trials would bring the interval within 5 % of the median to either side.
    pub enough: Option<usize>,
}

impl Statistics {
    pub(crate) fn of(trials: &[Trial]) -> Option<Self> {
        let medians = medians(trials)?;
        let all = Sample::new(trials.iter().flat_map(|trial| trial.values.iter().copied())).ok()?;
        let mean = |trial: &Trial| trial.values.iter().sum::<f64>() / trial.values.len() as f64;
        let totals = Sample::new(trials.iter().map(|trial| trial.values.iter().sum())).ok()?;
        let estimate = (medians.n() >= LEAST).then(|| median_interval(&medians, &resampling()));
        Some(Self {
            trials: medians.n(),
            samples: all.n(),
            median: medians.median(),
            interval: estimate.map(|estimate| estimate.interval),
            quartiles: Interval {
                low: medians.quantile(0.25),
                high: medians.quantile(0.75),
            },
            student: t_interval(&medians, Confidence::P95).ok(),
            mean: trials.iter().map(mean).sum::<f64>() / trials.len() as f64,
            total: totals.median(),
            spread: [0.05, 0.25, 0.5, 0.75, 0.95, 0.99].map(|share| all.quantile(share)),
            enough: estimate.and_then(|estimate| repetitions_for_estimate(&estimate, medians.n(), 0.05)),
        })
    }
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
            shown: Shown::for_values(metric.unit, typical),
            factors: part.factors.iter().map(|factor| factor.name.clone()).collect(),
            rows,
        }
    }

    /// The row of this combination.
    #[must_use]
    pub fn row(&self, levels: &Levels) -> Option<&Cell> {
        self.rows.iter().find(|row| row.levels == *levels)
    }

    /// Which way is good, in words; nothing where it depends.
    #[must_use]
    pub fn direction(&self) -> &'static str {
        match self.metric.better {
            Better::Lower => "lower is better",
            Better::Higher => "higher is better",
            Better::Neither => "",
        }
    }
}
