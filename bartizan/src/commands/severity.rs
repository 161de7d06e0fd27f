//! Severity of findings, in the same words for `check` and `inspect`.

use serde::Serialize;

bartizan_registry::named! {
    /// Urgency of a finding; the worst first.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, clap::ValueEnum)]
    #[serde(rename_all = "kebab-case")]
    pub(crate) enum Severity, name {
        /// An attacker on the path can read it today.
        Critical = "critical",
        /// Harvest now, decrypt later; or it cannot work as the file has it.
        High = "high",
        /// Future forgery, nothing shows that it is safe, or it soon fails.
        Medium = "medium",
        /// A point to check.
        Low = "low",
    }
}

impl Severity {
    /// Returns true if it is at least as severe as the one of `--fail-on`; without one all are.
    pub(crate) fn reaches(self, least: Option<Self>) -> bool {
        least.is_none_or(|least| self <= least)
    }
}

#[cfg(feature = "full")]
impl From<bartizan_budget::network::Severity> for Severity {
    fn from(severity: bartizan_budget::network::Severity) -> Self {
        use bartizan_budget::network::Severity as Network;
        match severity {
            Network::Critical => Self::Critical,
            Network::High => Self::High,
            Network::Medium => Self::Medium,
            Network::Low => Self::Low,
        }
    }
}

#[cfg(feature = "full")]
impl From<bartizan_inspect::Severity> for Severity {
    fn from(severity: bartizan_inspect::Severity) -> Self {
        use bartizan_inspect::Severity as Inspected;
        match severity {
            Inspected::Critical => Self::Critical,
            Inspected::High => Self::High,
            Inspected::Medium => Self::Medium,
        }
    }
}
