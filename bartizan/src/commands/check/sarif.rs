//! Findings of a deployment file, as SARIF.

use std::path::Path;

use bartizan_budget::network::{Concern, Rule, Severity};
use serde_json::json;

use crate::Failure;
use crate::commands::accept::{Acceptance, Accepted};
use crate::commands::sarif::{self, Found, Level};

/// The document of one run.
pub(super) fn document(
    file: &Path,
    concerns: &[Concern],
    acceptances: &[Option<Acceptance>],
    accepted: &Accepted,
) -> Result<String, Failure> {
    let rules = Rule::ALL.map(|rule| sarif::Rule {
        id: rule.name().to_owned(),
        sentence: rule.sentence(),
        tags: rule.asked().iter().map(|asked| asked.name).collect(),
    });
    let found = concerns.iter().zip(acceptances).map(|(concern, acceptance)| Found {
        rule: Rule::ALL
            .iter()
            .position(|rule| *rule == concern.rule)
            .unwrap_or_default(),
        level: match concern.severity {
            Severity::Critical | Severity::High => Level::Error,
            Severity::Medium => Level::Warning,
            Severity::Low => Level::Note,
        },
        message: format!(
            "{} {}. {} ({})",
            concern.about, concern.finding, concern.hint, concern.source
        ),
        file,
        about: Some(concern.about.as_str()),
        same: &concern.about,
        properties: json!({ "remedy": concern.hint, "frameworks": concern.rule.asked() }),
        accepted: acceptance.clone(),
    });
    sarif::document(rules.into(), found.collect(), accepted, &[])
}
