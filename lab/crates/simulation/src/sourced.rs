//! Values with their sources.

use bartizan_budget::Source;
use serde::Serialize;

/// A value with where it comes from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// Origin of the value.
    pub source: Source,
}

impl<T> Sourced<T> {
    /// A value and its source: there is no other way to make one.
    #[must_use]
    pub const fn new(value: T, source: Source) -> Self {
        Self { value, source }
    }
}
