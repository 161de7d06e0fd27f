//! Progress on a terminal.

use bartizan_follow::metrics::SourceNumbers;
use indicatif::{HumanBytes, HumanCount, ProgressBar};

/// One line at the foot of the terminal; nothing where standard error is none.
pub(super) struct Progress(ProgressBar);

impl Progress {
    pub(super) fn new() -> Self {
        Self(crate::commands::spinner())
    }

    /// Writes elsewhere, with the line out of the way.
    pub(super) fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        self.0.suspend(write)
    }

    /// Shows counts of packets read, state held, and findings.
    pub(super) fn show(&self, sources: &[SourceNumbers], findings: u64) {
        let sources = sources.iter().map(|source| {
            let holding = &source.holding;
            let live =
                holding.connections + holding.associations + holding.ike_sas + holding.esp_sas + holding.datagrams;
            format!(
                "{}: {} packets, {} lost, {live} live in {}",
                source.name,
                HumanCount(source.packets),
                HumanCount(source.dropped),
                HumanBytes(holding.bytes as u64),
            )
        });
        let sources: Vec<String> = sources.collect();
        self.0
            .set_message(format!("{}; {findings} findings", sources.join("; ")));
    }

    pub(super) fn finish(&self) {
        self.0.finish_and_clear();
    }
}
