//! Findings from packets, as SARIF.

use std::path::PathBuf;

use bartizan_inspect::text::counted;
use bartizan_inspect::{Finding, Report, Severity};
use bartizan_posture::Concern;
use serde_json::json;

use super::accepted::Settled;
use crate::Failure;
use crate::commands::sarif::{Found, Level, Rule, document};

/// The findings of all reports, and what was not read.
pub(super) fn render(reports: &[Report], settled: &Settled<'_>, unread: &[Failure]) -> Result<String, Failure> {
    let rules = Concern::ALL.map(|concern| Rule {
        id: concern.name().replace(' ', "-"),
        sentence: concern.sentence(),
        tags: Vec::new(),
    });
    let of_reports: Vec<(PathBuf, Vec<Finding>)> = reports
        .iter()
        .map(|report| (PathBuf::from(report.name()), report.findings()))
        .collect();
    let of_reports = of_reports.iter().zip(&settled.acceptances);
    let found = of_reports.flat_map(|((file, findings), acceptances)| {
        findings.iter().zip(acceptances).map(move |(finding, acceptance)| {
            let count = counted(finding.count, finding.unit);
            let remedy = &finding.remedy;
            Found {
                rule: Concern::ALL
                    .iter()
                    .position(|concern| *concern == finding.concern)
                    .unwrap_or_default(),
                level: match finding.severity() {
                    Severity::Critical | Severity::High => Level::Error,
                    Severity::Medium => Level::Warning,
                },
                message: format!("{count}: {}. Remedy: {}.", finding.because, remedy.what),
                file,
                about: finding.example.as_deref(),
                // A number of a packet is another one in each capture.
                same: finding.because.split(", from packet ").next().unwrap_or_default(),
                properties: json!({
                    "severity": finding.severity().name(),
                    "remedy": remedy.what,
                    "changes": remedy.changes,
                    "command": remedy.command,
                    "frameworks": remedy.asked(),
                }),
                accepted: acceptance.clone(),
            }
        })
    });
    document(rules.into(), found.collect(), settled.accepted, unread)
}
