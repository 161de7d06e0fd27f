//! Plots and comparisons of a part.

use crate::runner::experiment::Levels;
use crate::workload::MetricKind;

/// Two groups of trials of a part, set against each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Its name within the part.
    pub id: String,
    /// The compared metric.
    pub metric: &'static MetricKind,
    /// The levels of the one.
    pub of: Levels,
    /// The levels of what it is set against.
    pub over: Levels,
    /// Form of the statement.
    pub form: Form,
}

/// Form of a comparison's statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Difference within a repetition (Hodges and Lehmann, of pairs).
    Shift,
    /// Ratio within a repetition, in the same way.
    Ratio,
    /// The same as a shift, of what is the other and something more: never of trials that are not paired.
    Added,
}

impl Form {
    /// Every one.
    pub const ALL: [Self; 3] = [Self::Shift, Self::Ratio, Self::Added];

    /// The word in an experiment's file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Shift => "shift",
            Self::Ratio => "ratio",
            Self::Added => "added",
        }
    }
}

/// A picture of a part.
#[derive(Debug, Clone, PartialEq)]
pub struct Plot {
    /// Kind of the picture.
    pub kind: PlotKind,
    /// Restriction to some of the part's combinations; empty for all.
    pub only: Levels,
}

/// A bound of what is drawn, measured by itself: the median of a metric of any part of the
/// experiment, for each bar at the bar's level.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// Id of the part.
    pub part: String,
    /// Metric of that part, in the unit of the plot.
    pub metric: &'static MetricKind,
    /// Restriction to some of its combinations, besides the bar's level.
    pub only: Levels,
}

/// Kind of a picture. Factors are those of the part; metrics are among those it records.
#[derive(Debug, Clone, PartialEq)]
pub enum PlotKind {
    /// Every value as a point, with quartiles.
    Distribution {
        /// The metric.
        metric: &'static MetricKind,
        /// One column for each level of this factor.
        by: String,
    },
    /// The share of values up to each.
    Ecdf {
        /// The metric.
        metric: &'static MetricKind,
        /// One line for each level of this factor.
        by: String,
    },
    /// Medians with their intervals.
    Bars {
        /// The metric.
        metric: &'static MetricKind,
        /// One bar for each level of this factor.
        by: String,
        /// Upper limits of the bars, each a line across them.
        limits: Vec<Limit>,
    },
    /// Medians by two factors.
    HeatMap {
        /// The metric.
        metric: &'static MetricKind,
        /// The factor down.
        rows: String,
        /// The factor across.
        columns: String,
    },
    /// Parts of a whole: several metrics of each trial, and the rest of the whole.
    Stacked {
        /// From the left.
        metrics: Vec<&'static MetricKind>,
        /// The whole; the sum of the parts by default.
        total: Option<&'static MetricKind>,
        /// One column for each level of this factor.
        by: String,
    },
    /// Medians over a factor whose levels are numbers.
    Lines {
        /// The metric.
        metric: &'static MetricKind,
        /// The factor across.
        x: String,
        /// One line for each level of this factor.
        by: String,
    },
}
