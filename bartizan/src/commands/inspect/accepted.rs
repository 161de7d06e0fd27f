//! Findings of `inspect` that a file accepts.

use bartizan_inspect::text::{counted, printable};
use bartizan_inspect::{Finding, Report};
use serde::Serialize;

use crate::commands::accept::{Acceptance, Accepted, Fault, Links};
use crate::commands::severity::Severity;

bartizan_registry::made! {
    /// Findings of all reports, each with its acceptance, and the faults of the file.
    pub(in crate::commands) struct Settled<'a>, pub(super) of(reports: &[Report], accepted: &'a Accepted) {
        let takes = |finding: Finding| {
            let (concern, because) = (finding.concern.name(), &finding.because);
            let count = counted(finding.count, finding.unit);
            let lines = [
                format!("{concern}: {because}"),
                format!("{concern}: {count}: {because}"),
            ];
            let links = Links {
                all: &finding.links,
                has_further: finding.has_further_links,
            };
            accepted.takes(&lines.each_ref().map(String::as_str), finding.count, &links)
        };
        let of_report = |report: &Report| report.findings().into_iter().map(takes).collect();
        pub(super) accepted: &'a Accepted,
        /// By report and finding.
        pub(super) acceptances: Vec<Vec<Option<Acceptance>>> = reports.iter().map(of_report).collect(),
        pub(super) faults: Vec<Fault> = accepted.faults(),
    }
}

/// The file's part of the JSON form.
#[derive(Serialize)]
pub(super) struct Facts {
    accepted: Vec<Fact>,
    accept_faults: Vec<Fault>,
}

#[derive(Serialize)]
struct Fact {
    file: String,
    concern: &'static str,
    because: String,
    count: u64,
    links: Vec<String>,
    has_further_links: bool,
    #[serde(flatten)]
    acceptance: Acceptance,
}

impl<'a> Settled<'a> {
    /// Returns true if a finding that is not accepted is at least as severe. One that leaves
    /// something out counts with any severity, since others may be behind it.
    pub(super) fn finds(&self, reports: &[Report], least: Option<Severity>) -> bool {
        let counts = |finding: &Finding| Severity::from(finding.severity()).reaches(least) || finding.leaves_out();
        let of_reports = reports.iter().map(Report::findings).zip(&self.acceptances);
        let mut open = of_reports.flat_map(|(findings, acceptances)| {
            let open = findings.into_iter().zip(acceptances);
            open.filter_map(|(finding, acceptance)| acceptance.is_none().then_some(finding))
        });
        open.any(|finding| counts(&finding)) || self.faults.iter().any(|fault| fault.severity.reaches(least))
    }

    fn each(&self, reports: &[Report]) -> Vec<Fact> {
        let of_reports = reports.iter().zip(&self.acceptances);
        let facts = of_reports.flat_map(|(report, acceptances)| {
            let findings = report.findings().into_iter().zip(acceptances);
            findings.filter_map(|(finding, acceptance)| {
                Some(Fact {
                    file: report.name().to_string(),
                    concern: finding.concern.name(),
                    because: finding.because,
                    count: finding.count,
                    links: finding.links,
                    has_further_links: finding.has_further_links,
                    acceptance: acceptance.clone()?,
                })
            })
        });
        facts.collect()
    }

    pub(super) fn facts(&self, reports: &[Report]) -> Option<Facts> {
        self.accepted.file()?;
        Some(Facts {
            accepted: self.each(reports),
            accept_faults: self.faults.clone(),
        })
    }

    /// For people, behind the reports; nothing where no file is given.
    pub(super) fn text(&self, reports: &[Report]) -> Option<String> {
        self.accepted.file()?;
        let facts = self.each(reports);
        let mut lines = vec![format!("accepted findings: {}", facts.len())];
        lines.extend(facts.iter().map(|fact| {
            let Fact {
                file,
                concern,
                because,
                links,
                acceptance,
                ..
            } = fact;
            let of = match (&links[..], fact.has_further_links) {
                ([], _) => String::new(),
                (links, false) => format!(" (of {})", links.join(", ")),
                (links, true) => format!(" (of {} and others)", links.join(", ")),
            };
            format!("  {file}: {concern}: {because}{of}: {}", acceptance.text())
        }));
        for fault in &self.faults {
            lines.push(format!(
                "finding ({}): {}: {}",
                fault.severity.name(),
                fault.about,
                fault.finding
            ));
            lines.push(format!("hint: {}", fault.hint));
        }
        Some(lines.iter().map(|line| printable(line) + "\n").collect())
    }
}
