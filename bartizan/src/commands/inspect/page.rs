//! The report as a page with a map.

use bartizan_deployment::Deployment;
use bartizan_inspect::Report;
use bartizan_inspect::text::counted;
use bartizan_page::network::{Answer, Reported, Survey, Unseen, survey_html};

use super::accepted::Settled;
use crate::commands::accept::Acceptance;

/// All reports as one page.
pub(super) fn render(reports: &[Report], deployment: Option<&Deployment>, settled: &Settled<'_>) -> String {
    let of_reports = reports.iter().zip(&settled.acceptances);
    let surveys = of_reports.map(|(report, acceptances)| survey(report, deployment, acceptances));
    let mut surveys: Vec<Survey<'_>> = surveys.collect();
    if let Some(first) = surveys.first_mut() {
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
    let totals = report.totals();
    let listed = deployment.map_or(&[][..], Deployment::interfaces);
    let unseen = report.network().unseen.iter().filter_map(|&place| listed.get(place));
    Survey {
        name: report.name().to_string(),
        sha256: report.sha256().map(str::to_owned),
        packets: totals.packets,
        first_ns: totals.first.map(|moment| moment.time.0),
        last_ns: totals.last.map(|moment| moment.time.0),
        damage: report.damage().map(ToString::to_string),
        network: report.network(),
        unseen: unseen
            .map(|listed| Unseen {
                interface: listed.kind.name().to_owned(),
                ends: listed.between.clone().map(|node| node.to_string()),
            })
            .collect(),
        answer: answer(report),
        findings: report
            .findings()
            .into_iter()
            .zip(acceptances)
            .map(|(finding, acceptance)| Reported {
                severity: finding.severity().name(),
                remedy: finding.remedy,
                concern: finding.concern.name(),
                words: format!("{}: {}", counted(finding.count, finding.unit), finding.because),
                example: finding.example,
                accepted: acceptance.as_ref().map(Acceptance::text),
            })
            .collect(),
        notes: report.notes(),
    }
}

fn answer(report: &Report) -> Answer {
    let answer = report.answer();
    let coverage = answer.coverage;
    let severities = answer.severities.iter();
    Answer {
        links: answer.links,
        without_data: answer.without_data,
        judged: coverage.percent(),
        bytes: [coverage.wanted(), coverage.unproven, coverage.not_read],
        severities: severities.map(|(severity, count)| (severity.name(), *count)).collect(),
        steps: answer.steps.into_iter().map(|step| (step.remedy, step.mends)).collect(),
    }
}
