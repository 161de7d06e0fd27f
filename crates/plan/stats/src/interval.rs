//! Intervals and how sure they are.

use serde::Serialize;

/// The share of intervals that hold the true value when the experiment is repeated: above 0, below 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Confidence(f64);

impl Confidence {
    /// 95 %.
    pub const P95: Self = Self(0.95);

    /// `None` unless above 0 and below 1.
    #[must_use]
    pub fn new(share: f64) -> Option<Self> {
        (share > 0.0 && share < 1.0).then_some(Self(share))
    }

    /// As a share of 1.
    #[must_use]
    pub fn share(self) -> f64 {
        self.0
    }

    /// The share left out at each end.
    #[must_use]
    pub(crate) fn tail(self) -> f64 {
        (1.0 - self.0) / 2.0
    }
}

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
    fn confidence_is_a_share_between_none_and_all() {
        assert_eq!(Confidence::new(0.95), Some(Confidence::P95));
        for wrong in [0.0, 1.0, -0.1, 95.0, f64::NAN] {
            assert_eq!(Confidence::new(wrong), None);
        }
    }

    #[test]
    fn an_interval_that_reaches_out_does_not_lie_inside() {
        let interval = Interval { low: 0.98, high: 1.02 };
        assert!(interval.lies_inside(0.97, 1.03) && interval.contains(1.0));
        assert!(!interval.lies_inside(0.99, 1.03) && !interval.lies_inside(0.97, 1.01) && !interval.contains(1.03));
    }
}
