//! Confidence of an interval.

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
}
