//! The report as a page with a map.

use bartizan_deployment::Deployment;
use bartizan_inspect::Report;
use bartizan_page::network::{Survey, Unseen, survey_html};

use super::accepted::Settled;
use crate::Failure;
use crate::commands::accept::Acceptance;

/// All reports as one page, which names what was not read.
pub(super) fn render(
    reports: &[Report],
    deployment: Option<&Deployment>,
    settled: &Settled<'_>,
    unread: &[Failure],
) -> String {
    let of_reports = reports.iter().zip(&settled.acceptances);
    let surveys = of_reports.map(|(report, acceptances)| survey(report, deployment, acceptances));
    let mut surveys: Vec<Survey<'_>> = surveys.collect();
    if let Some(first) = surveys.first_mut() {
        let unread = unread.iter();
        first
            .notes
            .extend(unread.map(|failure| format!("not read: {}", failure.message)));
        let faults = settled.faults.iter();
        first.notes.extend(faults.map(|fault| {
            let severity = fault.severity.name();
            format!(
                "finding ({severity}): {}: {}; {}",
                fault.about, fault.finding, fault.hint
            )
        }));
    }
    survey_html(&surveys)
}

fn survey<'a>(report: &'a Report, deployment: Option<&Deployment>, acceptances: &[Option<Acceptance>]) -> Survey<'a> {
    let listed = deployment.map_or(&[][..], Deployment::interfaces);
    let unseen = report.network().unseen.iter().filter_map(|&place| listed.get(place));
    let accepted = acceptances
        .iter()
        .map(|acceptance| acceptance.as_ref().map(Acceptance::text));
    Survey {
        report,
        unseen: unseen
            .map(|listed| Unseen {
                interface: listed.kind.name().to_owned(),
                ends: listed.between.clone().map(|node| node.to_string()),
            })
            .collect(),
        findings: report.findings().into_iter().zip(accepted).collect(),
        notes: report.notes(),
    }
}
