//! What of a part is shown, and what is set against what.

use crate::runner::experiment::Levels;
use crate::workload::MetricKind;

/// Two groups of trials of a part, set against each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Its name within the part.
    pub id: String,
    /// What is compared.
    pub metric: &'static MetricKind,
    /// The levels of the one.
    pub of: Levels,
    /// The levels of what it is set against.
    pub over: Levels,
    /// What is said.
    pub form: Form,
}

/// What a comparison says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// How far the one is from the other within a repetition (Hodges and Lehmann, of pairs).
    Shift,
    /// How many times the other the one is within a repetition, in the same way.
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
    /// What is drawn.
    pub kind: PlotKind,
    /// Which of the part's combinations; empty for all.
    pub only: Levels,
}

/// A bound of what is drawn, measured by itself: the median of a metric of any part of the experiment, for each bar at the bar's level.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// Id of the part.
    pub part: String,
    /// Of that part, in the unit of what is drawn.
    pub metric: &'static MetricKind,
    /// Which of its combinations, next to the bar's level.
    pub only: Levels,
}

/// What is drawn. Factors are those of the part; metrics are among those it records.
#[derive(Debug, Clone, PartialEq)]
pub enum PlotKind {
    /// Every value as a point, with quartiles.
    Distribution {
        /// What.
        metric: &'static MetricKind,
        /// One column for each level of this factor.
        by: String,
    },
    /// The share of values up to each.
    Ecdf {
        /// What.
        metric: &'static MetricKind,
        /// One line for each level of this factor.
        by: String,
    },
    /// Medians with their intervals.
    Bars {
        /// What.
        metric: &'static MetricKind,
        /// One bar for each level of this factor.
        by: String,
        /// What no bar can pass, each a line across the bars.
        limits: Vec<Limit>,
    },
    /// Medians by two factors.
    HeatMap {
        /// What.
        metric: &'static MetricKind,
        /// The factor down.
        rows: String,
        /// The factor across.
        columns: String,
    },
    /// What a whole is made of: several metrics of each trial, and what is left of the whole.
    Stacked {
        /// From the left.
        metrics: Vec<&'static MetricKind>,
        /// What they are parts of; their sum where it is not given.
        total: Option<&'static MetricKind>,
        /// One column for each level of this factor.
        by: String,
    },
    /// Medians over a factor whose levels are numbers.
    Lines {
        /// What.
        metric: &'static MetricKind,
        /// The factor across.
        x: String,
        /// One line for each level of this factor.
        by: String,
    },
}
