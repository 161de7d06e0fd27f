//! The report as a page with a map.

use bartizan_deployment::Deployment;
use bartizan_inspect::Report;
use bartizan_inspect::text::counted;
use bartizan_page::network::{Answer, Reported, Survey, Unseen, survey_html};

/// All reports as one page.
pub(super) fn render(reports: &[Report], deployment: Option<&Deployment>) -> String {
    let surveys: Vec<Survey<'_>> = reports.iter().map(|report| survey(report, deployment)).collect();
    survey_html(&surveys)
}

fn survey<'a>(report: &'a Report, deployment: Option<&Deployment>) -> Survey<'a> {
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
            .map(|finding| Reported {
                severity: finding.severity().name(),
                remedy: finding.remedy,
                concern: finding.concern.name(),
                words: format!("{}: {}", counted(finding.count, finding.unit), finding.because),
                example: finding.example,
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
