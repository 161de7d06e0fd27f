//! The answer: how many links are worth what, how much was judged, and what to do first.

use bartizan_posture::Verdict;

use crate::coverage::Coverage;
use crate::findings::Finding;
use crate::remedy::Severity;
use crate::report::{Report, Tally};

/// Steps named.
const STEPS: usize = 3;

/// The answer, which a reader must know before anything else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Links, also those that carried nothing.
    pub links: u64,
    /// Those that were refused throughout, or carried nothing.
    pub without_data: u64,
    /// Links that carried something, by their confidentiality.
    pub confidentiality: Tally,
    /// The same by their authenticity.
    pub authenticity: Tally,
    /// Share of the capture that was judged.
    pub coverage: Coverage,
    /// Packets that were captured in part: they are judged by what is left of them.
    pub snapped: u64,
    /// Findings by severity, the worst first; none of those there are none of.
    pub severities: Vec<(Severity, u64)>,
    /// First steps: remedies of the worst findings, each once.
    pub steps: Vec<Step>,
}

/// A remedy with what it is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Its remedy.
    pub remedy: &'static str,
    /// The first finding that it mends, and how many.
    pub mends: String,
}

impl Answer {
    pub(crate) fn of(report: &Report, findings: &[Finding]) -> Self {
        Self::from(std::slice::from_ref(report), findings)
    }

    /// The one answer of several captures: what one of them shows is so, whatever others show. A
    /// finding that several have is one.
    pub fn joint(reports: &[Report]) -> Self {
        let mut findings: Vec<Finding> = Vec::new();
        for finding in reports.iter().flat_map(Report::findings) {
            let alike = |known: &&mut Finding| {
                (known.concern, known.unit, &known.because, known.remedy)
                    == (finding.concern, finding.unit, &finding.because, finding.remedy)
            };
            match findings.iter_mut().find(alike) {
                Some(known) => known.count += finding.count,
                None => findings.push(finding),
            }
        }
        findings.sort_by_key(|finding| (finding.severity(), finding.concern));
        Self::from(reports, &findings)
    }

    fn from(reports: &[Report], findings: &[Finding]) -> Self {
        let links = || reports.iter().flat_map(|report| &report.network().links);
        let (mut confidentiality, mut authenticity) = (Tally::default(), Tally::default());
        for link in links().filter(|link| link.carried()) {
            confidentiality.count(link.confidentiality.verdict());
            authenticity.count(link.authenticity.verdict());
        }
        let mut severities: Vec<(Severity, u64)> = Vec::new();
        let mut steps: Vec<Step> = Vec::new();
        for finding in findings {
            let severity = finding.severity();
            match severities.iter_mut().find(|(known, _)| *known == severity) {
                Some((_, count)) => *count += 1,
                None => severities.push((severity, 1)),
            }
            if steps.len() < STEPS && steps.iter().all(|step| step.remedy != finding.remedy.what) {
                let count = crate::text::counted(finding.count, finding.unit);
                steps.push(Step {
                    remedy: finding.remedy.what,
                    mends: format!("{}: {count}", finding.concern.name()),
                });
            }
        }
        Self {
            links: links().count() as u64,
            without_data: links().filter(|link| !link.carried()).count() as u64,
            confidentiality,
            authenticity,
            coverage: reports
                .iter()
                .map(Report::coverage)
                .fold(Coverage::default(), Coverage::and),
            snapped: reports.iter().map(|report| report.totals().snapped).sum(),
            severities,
            steps,
        }
    }

    /// Links by what a recorder can do with them, as reports write it; the worst first, none of
    /// those there are none of.
    #[must_use]
    pub fn readable(&self) -> Vec<(u64, &'static str, Verdict)> {
        let Tally {
            readable_now,
            vulnerable,
            not_observable,
            not_seen,
            quantum_safe,
        } = self.confidentiality;
        let all = [
            (readable_now, "readable now", Verdict::ReadableNow),
            (vulnerable, "readable later", Verdict::Vulnerable),
            (not_observable, "not observable", Verdict::NotObservable),
            (not_seen, "not seen", Verdict::NotSeen),
            (quantum_safe, "quantum-safe", Verdict::QuantumSafe),
        ];
        all.into_iter().filter(|(count, ..)| *count > 0).collect()
    }
}
