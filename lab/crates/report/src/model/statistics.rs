//! Statistics of a combination's trials.

use bartizan_estimators::{
    Confidence, Estimate, Interval, Modes, Sample, repetitions_for_estimate, serial_median, t_interval,
};
use serde::Serialize;

use super::pace::{Speed, two_modes};
use super::samples::{Trial, medians};

/// Fewer trials cannot show 95 %: six values lie all on one side of their median once in 32 times.
pub(crate) const LEAST: usize = 6;
/// A percentile is given where at least so many samples lie beyond it: of fewer it is their chance that is seen.
const BEYOND: f64 = 5.0;
/// Trials of a combination have two modes where they are this unlikely to have one.
const SURE: f64 = 0.05;

/// Statistics of some trials. The unit of observation is the trial: single samples of one trial
/// depend on each other.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Statistics {
    /// Trials.
    pub trials: usize,
    /// Samples of all of them.
    pub samples: usize,
    /// The median of the trials' medians.
    pub median: f64,
    /// The 95 % interval of the median, by the sign test with the dependence of trials that follow
    /// each other; absent below six trials.
    pub interval: Option<Interval>,
    /// By how much that dependence multiplies the variance: 1 where there is none; absent below six trials.
    pub dependence: Option<f64>,
    /// True if dependence makes the interval the whole range of the trials, which may still be too
    /// narrow.
    pub whole: bool,
    /// Two modes of the trials' medians, where they have them.
    pub modes: Option<Modes>,
    /// Trials that met the fast mode of the machine; absent if it had one only, or the mode is
    /// unknown.
    pub fast: Option<Mode>,
    /// Trials that met its slow mode.
    pub slow: Option<Mode>,
    /// Quartiles of the trials' medians.
    pub quartiles: Interval,
    /// The mean of the trials' medians with Student's interval, as published experiments report it;
    /// absent for one trial.
    pub student: Option<Estimate>,
    /// The mean of the trials' means.
    pub mean: f64,
    /// The median over trials of what a trial's samples add up to.
    pub total: f64,
    /// Quantiles of all samples: 5, 25, 50, 75, 95 and 99 %; each where five samples at least lie beyond it.
    pub spread: [Option<f64>; 6],
    /// About how many trials would bring the interval within 5 % of the median to either side.
    pub enough: Option<usize>,
}

/// Trials that met one mode of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Mode {
    /// Number of trials.
    pub trials: usize,
    /// The median of their medians.
    pub median: f64,
    /// As [`Statistics::interval`].
    pub interval: Option<Interval>,
}

impl Statistics {
    pub(crate) fn of(trials: &[Trial]) -> Option<Self> {
        let in_order = medians(trials);
        let medians = Sample::new(in_order.iter().copied()).ok()?;
        let all = Sample::new(trials.iter().flat_map(|trial| trial.values.iter().copied())).ok()?;
        let mean = |trial: &Trial| trial.values.iter().sum::<f64>() / trial.values.len() as f64;
        let totals = Sample::new(trials.iter().map(|trial| trial.values.iter().sum())).ok()?;
        let serial = serial_median(&in_order, Confidence::P95).ok();
        Some(Self {
            trials: medians.n(),
            samples: all.n(),
            median: medians.median(),
            interval: serial.map(|serial| serial.estimate.interval),
            dependence: serial.map(|serial| serial.factor),
            whole: serial.is_some_and(|serial| serial.whole),
            modes: two_modes(&medians, SURE).ok().flatten(),
            fast: Mode::of(trials, Speed::Fast),
            slow: Mode::of(trials, Speed::Slow),
            quartiles: Interval {
                low: medians.quantile(0.25),
                high: medians.quantile(0.75),
            },
            student: t_interval(&medians, Confidence::P95).ok(),
            mean: trials.iter().map(mean).sum::<f64>() / trials.len() as f64,
            total: totals.median(),
            spread: [0.05, 0.25, 0.5, 0.75, 0.95, 0.99].map(|share| percentile(&all, share)),
            enough: serial.and_then(|serial| repetitions_for_estimate(&serial.estimate, medians.n(), 0.05)),
        })
    }
}

/// The quantile of all samples, where enough of them lie beyond it.
fn percentile(all: &Sample, share: f64) -> Option<f64> {
    let beyond = all.n() as f64 * share.min(1.0 - share);
    // The term allows for rounding of binary fractions: the product may be just below a whole
    // number.
    (beyond + 1e-9 >= BEYOND || share == 0.5).then(|| all.quantile(share))
}

impl Mode {
    fn of(trials: &[Trial], speed: Speed) -> Option<Self> {
        let met: Vec<f64> = trials
            .iter()
            .filter(|trial| trial.speed == Some(speed))
            .map(|trial| trial.median)
            .collect();
        let serial = serial_median(&met, Confidence::P95).ok();
        Some(Self {
            trials: met.len(),
            median: Sample::new(met).ok()?.median(),
            interval: serial.map(|serial| serial.estimate.interval),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_needs_five_samples_beyond_it() {
        let sample = |n: u32| Sample::new((0..n).map(f64::from)).unwrap();
        for (n, share, given) in [
            (19, 0.25, false),
            (20, 0.25, true),
            (99, 0.95, false),
            (100, 0.95, true),
            (100, 0.05, true),
            (499, 0.99, false),
            (500, 0.99, true),
            (1, 0.5, true),
        ] {
            assert_eq!(percentile(&sample(n), share).is_some(), given, "{n} {share}");
        }
    }
}
