//! What a stand-in needs of the machine.

use bartizan_host::Feature;

/// What a combination needs and is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lack {
    /// What.
    pub what: String,
    /// Why it is not there.
    pub reason: String,
    /// How to get it.
    pub hint: String,
    /// What the kernel lacks, where it is that: a guest's has it.
    pub feature: Option<Feature>,
}
