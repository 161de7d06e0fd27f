//! Errors of costs.

use thiserror::Error;

/// Reason why there is no cost.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum CostError {
    /// The text is no record of this kind.
    #[error("no record of costs: {0}")]
    NotRead(String),
    /// It is one of another schema.
    #[error("schema {found}: this reads {expected}")]
    Schema {
        /// Schema in the record.
        found: String,
        /// Accepted schema.
        expected: &'static str,
    },
    /// A number in it cannot be a time.
    #[error("{what}: {value} microseconds; a time is above 0 and at most 10 s")]
    NoTime {
        /// Name of the figure.
        what: String,
        /// Its value.
        value: f64,
    },
    /// A number in it cannot be the memory of an SA.
    #[error("{what}: {bytes} bytes of an SA; it is between 1 and {most}")]
    NoMemory {
        /// Name of the figure.
        what: String,
        /// Its value.
        bytes: u64,
        /// The most that is taken.
        most: u64,
    },
    /// It has no such entry.
    #[error("the record of costs has no {0}; take one with `bartizan plan calibrate`")]
    Missing(String),
    /// No record has a set-up of this engine from which its own share could be determined.
    #[error("no record of {engine} has a set-up with {what}")]
    NotMeasured {
        /// The engine.
        engine: &'static str,
        /// Properties that the set-up must have.
        what: String,
    },
    /// Something that is not known by this name.
    #[error("{what} {given} is not known: {known}")]
    Unknown {
        /// Kind of the name.
        what: &'static str,
        /// The given name.
        given: String,
        /// Known names.
        known: String,
    },
    /// A ratio out of bounds.
    #[error("a ratio of {0} between machines: between 0.01 and 100")]
    Ratio(f64),
}
