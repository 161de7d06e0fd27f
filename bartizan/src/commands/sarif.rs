//! Findings as SARIF 2.1.0 (OASIS), as code scanning of forges reads it.

use std::collections::HashMap;
use std::path::Path;

use serde_json::{Value, json};

use super::accept::{Acceptance, Accepted};
use crate::Failure;

/// A kind of finding.
pub(super) struct Rule {
    pub(super) id: String,
    /// Description, in a sentence.
    pub(super) sentence: &'static str,
    /// The frameworks that it is about.
    pub(super) tags: Vec<&'static str>,
}

/// One finding.
pub(super) struct Found<'a> {
    /// The place of its rule.
    pub(super) rule: usize,
    pub(super) level: Level,
    pub(super) message: String,
    pub(super) file: &'a Path,
    /// Subject of the finding in the file, if it has a name.
    pub(super) about: Option<&'a str>,
    /// Part that is the same in another run: no number, time or day.
    pub(super) same: &'a str,
    pub(super) properties: Value,
    /// None where it is not accepted.
    pub(super) accepted: Option<Acceptance>,
}

bartizan_registry::named! {
    /// Level of a finding (SARIF 2.1.0, section 3.27.10).
    #[derive(Debug, Clone, Copy)]
    pub(super) enum Level, name {
        Error = "error",
        Warning = "warning",
        Note = "note",
    }
}

/// The document of one run. Faults of the file of accepted findings are results by a rule of their
/// own. With something `unread` the run has not succeeded.
pub(super) fn document(
    mut rules: Vec<Rule>,
    found: Vec<Found<'_>>,
    accepted: &Accepted,
    unread: &[Failure],
) -> Result<String, Failure> {
    let faults = accepted.faults();
    // Those of the file live no longer than this.
    let mut found: Vec<Found<'_>> = found;
    if let Some(file) = accepted.file() {
        found.extend(faults.iter().map(|fault| Found {
            rule: rules.len(),
            level: Level::Note,
            message: format!("{}: {}. {}", fault.about, fault.finding, fault.hint),
            file,
            about: Some(&fault.about),
            same: &fault.about,
            properties: json!({ "severity": fault.severity, "remedy": fault.hint }),
            accepted: None,
        }));
        rules.push(Rule {
            id: "accepted".to_owned(),
            sentence: "An entry of the file of accepted findings has ended, or accepts nothing or too little.",
            tags: Vec::new(),
        });
    }
    // Numbers over all files: two of them may have the same finding.
    let mut alike: HashMap<_, u64> = HashMap::new();
    let rules = &rules;
    let results = found.iter().map(|found| {
        let number = alike.entry((found.rule, found.same)).or_default();
        *number += 1;
        let fingerprint = format!("{}:{}:{number}", rules[found.rule].id, found.same);
        let mut location = json!({ "physicalLocation": { "artifactLocation": { "uri": uri(found.file) } } });
        if let Some(about) = found.about {
            location["logicalLocations"] = json!([{ "fullyQualifiedName": about }]);
        }
        let mut result = json!({
            "ruleId": rules[found.rule].id,
            "ruleIndex": found.rule,
            "level": found.level.name(),
            "message": { "text": found.message },
            "locations": [location],
            "partialFingerprints": { "bartizan/v1": fingerprint },
            "properties": found.properties,
        });
        // Section 3.27.23: present, and empty, where suppressions were looked for and there is none.
        if accepted.file().is_some() {
            let suppressed = found.accepted.iter().map(|acceptance| {
                let justification = format!("{} (until {})", acceptance.reason, acceptance.expires);
                json!({ "kind": "external", "status": "accepted", "justification": justification })
            });
            result["suppressions"] = suppressed.collect();
        }
        result
    });
    let rules = rules.iter().map(|rule| {
        json!({
            "id": rule.id,
            "shortDescription": { "text": rule.sentence },
            "properties": { "tags": rule.tags },
        })
    });
    let mut document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "bartizan",
                "version": env!("CARGO_PKG_VERSION"),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules.collect::<Vec<_>>(),
            } },
            "results": results.collect::<Vec<_>>(),
        }],
    });
    if !unread.is_empty() {
        let notifications = unread
            .iter()
            .map(|failure| json!({ "level": "error", "message": { "text": failure.message } }));
        document["runs"][0]["invocations"] = json!([{
            "executionSuccessful": false,
            "toolExecutionNotifications": notifications.collect::<Vec<_>>(),
        }]);
    }
    Ok(serde_json::to_string_pretty(&document).map_err(Failure::new)? + "\n")
}

/// A path as a relative reference of RFC 3986.
pub(super) fn uri(file: &Path) -> String {
    let mut uri = String::new();
    for byte in file.to_string_lossy().bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri
}
