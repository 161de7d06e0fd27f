//! Estimates and their intervals.

use serde::Serialize;

/// A closed interval, in the unit of the sample or a ratio without unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

impl Interval {
    /// Returns true if this value lies in it.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Returns true if all of it lies between these two, ends included.
    #[must_use]
    pub fn lies_inside(&self, low: f64, high: f64) -> bool {
        low <= self.low && self.high <= high
    }
}

/// An estimate with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// The estimate itself.
    pub value: f64,
    /// Interval of the true value, with the confidence that was asked for.
    pub interval: Interval,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_that_reaches_out_does_not_lie_inside() {
        let interval = Interval { low: 0.98, high: 1.02 };
        assert!(interval.lies_inside(0.97, 1.03) && interval.contains(1.0));
        assert!(!interval.lies_inside(0.99, 1.03) && !interval.lies_inside(0.97, 1.01) && !interval.contains(1.03));
    }
}
