//! Requirements of a stand-in.

use bartizan_host::Feature;

/// A requirement of a combination that this machine does not meet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lack {
    /// The missing thing.
    pub what: String,
    /// Reason for its absence.
    pub reason: String,
    /// Hint how to get it.
    pub hint: String,
    /// The kernel feature that is missing, if it is one. A guest's kernel has it.
    pub feature: Option<Feature>,
}
