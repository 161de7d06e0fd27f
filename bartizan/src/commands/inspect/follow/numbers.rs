//! Counts of a run.

use std::collections::BTreeMap;

use bartizan_follow::metrics::{Numbers, SERIES, SourceNumbers};
use bartizan_posture::Concern;

use super::run::Run;

impl Run<'_> {
    pub(super) fn numbers(&self) -> Numbers {
        let sources = self.watched.iter().map(|watched| {
            let totals = watched.stream.totals();
            SourceNumbers {
                name: watched.stream.name.clone(),
                packets: totals.packets,
                bytes: totals.bytes,
                passed: watched.source.is_interface().then_some(watched.stream.passed),
                dropped: watched.stream.dropped(),
                untracked: totals.untracked,
                newest_ns: totals.last.map(|last| last.time.0),
                holding: watched.stream.holding(),
            }
        });
        let mut numbers = Numbers {
            sources: sources.collect(),
            events: self.events.clone(),
            ledger_lines_damaged: self.growing.damaged,
            view_seconds: self.view_took.as_secs_f64(),
            ..Numbers::default()
        };
        for watched in &self.watched {
            for (link, confidentiality, authenticity) in watched.tracker.links() {
                let key = [
                    link.interface.unwrap_or("-"),
                    confidentiality.name(),
                    authenticity.name(),
                ];
                *numbers.links.entry(key).or_default() += 1;
                if numbers.each.len() < SERIES {
                    let name = watched.stream.name.clone();
                    numbers.each.push((name, link.clone(), confidentiality, authenticity));
                } else {
                    numbers.beyond += 1;
                }
            }
        }
        numbers.findings = self.open_findings();
        numbers
    }

    /// Findings that stand, by concern.
    pub(super) fn open_findings(&self) -> BTreeMap<&'static str, u64> {
        let mut open_findings = BTreeMap::new();
        for (concern, count) in self.watched.iter().flat_map(|watched| watched.tracker.open_findings()) {
            *open_findings.entry(concern.name()).or_default() += count;
        }
        if !self.unseen.is_empty() {
            open_findings.insert(Concern::Unseen.name(), self.unseen.len() as u64);
        }
        open_findings
    }
}
