//! The outcome of each step.

/// The outcome of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// In effect, in full.
    Done(String),
    /// In effect, with something left out.
    Partly(String),
    /// This kernel or this start does not offer it.
    Unavailable(String),
    /// It was asked for and refused: the process has more than it should have.
    Failed(String),
}

/// One step of dropping privileges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Name of the step.
    pub name: &'static str,
    /// Result of the step.
    pub outcome: Outcome,
}

/// The outcomes of all steps, in the order they were taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// All steps, in the order they were taken.
    pub steps: Vec<Step>,
}

impl Outcome {
    /// A word for logs: `done`, `partly`, `unavailable`, `failed`.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Done(_) => "done",
            Self::Partly(_) => "partly",
            Self::Unavailable(_) => "unavailable",
            Self::Failed(_) => "failed",
        }
    }

    /// Details of the result, or the reason why the step was left out or failed.
    pub fn detail(&self) -> &str {
        match self {
            Self::Done(detail) | Self::Partly(detail) | Self::Unavailable(detail) | Self::Failed(detail) => detail,
        }
    }
}

impl Step {
    pub(super) const fn new(name: &'static str, outcome: Outcome) -> Self {
        Self { name, outcome }
    }
}

impl Report {
    pub(super) const fn new(steps: Vec<Step>) -> Self {
        Self { steps }
    }

    /// The first step that failed: the process must not go on.
    pub fn failed(&self) -> Option<&Step> {
        self.steps
            .iter()
            .find(|step| matches!(step.outcome, Outcome::Failed(_)))
    }
}
