//! Reasons why values are no sample.

/// Faults of the input that prevent an estimate: always the caller's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is no value.
    #[error("a sample needs at least one value")]
    Empty,
    /// A value is infinite or not a number.
    #[error("value {index} is not a finite number")]
    NotFinite {
        /// Its index, counted from 0.
        index: usize,
    },
    /// Pairs need as many values on one side as on the other.
    #[error("{first} values cannot be paired with {second}")]
    Unpaired {
        /// Values on the first side.
        first: usize,
        /// Values on the second side.
        second: usize,
    },
    /// The estimator says nothing about so few values.
    #[error("{n} values are too few for an interval of this confidence")]
    TooFew {
        /// Their number.
        n: usize,
    },
    /// A ratio with a median of 0 below the line has no value.
    #[error("the median to divide by is 0")]
    DividedByZero,
    /// Ratios and logarithms are of values above 0.
    #[error("a value is not above 0")]
    NotPositive,
}
