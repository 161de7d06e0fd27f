//! From the machine that was measured to another one.

use super::CostError;
use bartizan_budget::Source;

/// Ratio by which another machine is slower, with its source. There is no table of machines here: a
/// ratio without a source cannot be made.
#[derive(Debug, Clone, PartialEq)]
pub struct Scaling {
    ratio: f64,
    source: Option<Source>,
}

impl Scaling {
    /// The machine of the record itself.
    pub const NONE: Self = Self {
        ratio: 1.0,
        source: None,
    };

    /// A published or measured ratio: above 1 where the other machine is slower.
    ///
    /// # Errors
    /// [`CostError::Ratio`] outside of 0.01 to 100.
    pub fn new(ratio: f64, source: Source) -> Result<Self, CostError> {
        if !(0.01..=100.0).contains(&ratio) {
            return Err(CostError::Ratio(ratio));
        }
        Ok(Self {
            ratio,
            source: Some(source),
        })
    }

    /// Ratio by which it is slower.
    #[must_use]
    pub const fn ratio(&self) -> f64 {
        self.ratio
    }

    /// Source of the ratio; none for the machine of the record.
    #[must_use]
    pub const fn source(&self) -> Option<&Source> {
        self.source.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_has_a_source_and_bounds() {
        let source = || Source::paper("A. Author, A title", "table 1");
        assert_eq!(Scaling::new(2.5, source()).unwrap().ratio(), 2.5);
        for wrong in [0.0, -1.0, 1e3, f64::NAN] {
            assert!(Scaling::new(wrong, source()).is_err(), "{wrong}");
        }
        assert!(Scaling::NONE.source().is_none());
    }
}
