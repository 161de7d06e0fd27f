//! Concerns about a link, each by a named rule.

use bartizan_registry::{Asked, Subject, asked};
use serde::Serialize;

/// Severity of a concern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// An attacker on the path reads or changes it today.
    Critical,
    /// An attacker who records today reads it later with a quantum computer.
    High,
    /// An attacker with a quantum computer forges it later, nothing shows that it is safe, another
    /// protocol protects it than the standard names, or a budget is exceeded.
    Medium,
    /// A point to check.
    Low,
}

bartizan_registry::named! {
    /// The rules, by the names that SARIF and JSON carry.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Rule, name {
        /// The interface is protected by nothing.
        Unprotected = "unprotected",
        /// It is protected by another protocol than the standard names.
        OtherProtocol = "other-protocol",
        /// Its roles are not those of its ends.
        WrongEnds = "wrong-ends",
        /// Two nodes that the standards join by an interface have none in the file.
        Missing = "missing",
        /// Recorded traffic is readable with a quantum computer.
        Recording = "recording",
        /// An attacker with a quantum computer forges an end.
        Forgery = "forgery",
        /// The predicted delay passes the budget.
        Budget = "budget",
    }
}

impl Rule {
    /// Subject of the frameworks for post-quantum cryptography, where they say something of it. They
    /// are about algorithms: none says anything of a link without protection.
    pub const fn subject(self) -> Option<Subject> {
        match self {
            Self::Recording => Some(Subject::KeyExchange),
            Self::Forgery => Some(Subject::Signature),
            Self::Unprotected | Self::OtherProtocol | Self::WrongEnds | Self::Missing | Self::Budget => None,
        }
    }

    /// Requirements of the frameworks about this rule.
    pub fn asked(self) -> Vec<Asked> {
        self.subject().into_iter().flat_map(asked).collect()
    }

    /// One-sentence description of the rule.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Unprotected => "An interface that a standard asks to protect is protected by nothing.",
            Self::OtherProtocol => "An interface is protected by another protocol than the standard names.",
            Self::WrongEnds => "An interface joins nodes that it does not join by the standards.",
            Self::Missing => "Two nodes that the standards join by an interface have none in the file.",
            Self::Recording => {
                "A key exchange that a quantum computer breaks can be negotiated: harvest now, decrypt later."
            }
            Self::Forgery => "A signature that a quantum computer breaks is accepted.",
            Self::Budget => "The predicted delay or set-up time passes the budget of the interface.",
        }
    }
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Concern {
    /// By which rule.
    pub rule: Rule,
    /// Severity of the concern.
    pub severity: Severity,
    /// Subject of the concern: `E2 cu -- ric`.
    pub about: String,
    /// Description of the fault.
    pub finding: String,
    /// Remedy for the operator.
    pub hint: String,
    /// Document and clause, or the source of a prediction.
    pub source: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frameworks_about_algorithms_are_cited_for_what_a_quantum_computer_breaks_alone() {
        for rule in Rule::ALL {
            let broken = matches!(rule, Rule::Recording | Rule::Forgery);
            assert_eq!(!rule.asked().is_empty(), broken, "{}", rule.name());
        }
    }
}
