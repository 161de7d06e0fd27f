//! Findings as SARIF 2.1.0 (OASIS), as code scanning of forges reads it.

use std::path::Path;

use bartizan_plan::network::{Concern, Rule, Severity};
use serde_json::{Value, json};

use crate::Failure;

/// The document of one run.
pub(super) fn document(file: &Path, concerns: &[Concern]) -> Result<String, Failure> {
    let rules: Vec<Value> = Rule::ALL
        .iter()
        .map(|rule| {
            json!({
                "id": rule.name(),
                "shortDescription": { "text": rule.sentence() },
            })
        })
        .collect();
    let uri = uri(file);
    let results: Vec<Value> = concerns
        .iter()
        .map(|concern| {
            json!({
                "ruleId": concern.rule.name(),
                "ruleIndex": Rule::ALL.iter().position(|rule| *rule == concern.rule),
                "level": level(concern.severity),
                "message": { "text": format!("{} {}. {} ({})", concern.about, concern.finding, concern.hint, concern.source) },
                "locations": [{
                    "physicalLocation": { "artifactLocation": { "uri": uri } },
                    "logicalLocations": [{ "fullyQualifiedName": concern.about }],
                }],
            })
        })
        .collect();
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "bartizan",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            } },
            "results": results,
        }],
    });
    Ok(serde_json::to_string_pretty(&document).map_err(Failure::new)? + "\n")
}

const fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::High => "error",
        Severity::Medium => "warning",
        Severity::Low => "note",
    }
}

/// A path as a relative reference of RFC 3986.
fn uri(file: &Path) -> String {
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
