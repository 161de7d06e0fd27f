//! Counts over the rows of ledgers.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::row::{Outcome, Row};

/// Nodes and interfaces that are counted apart: a ledger may name any number of them.
const DISTINCT: usize = 1000;

/// Counts of records, and of those that are missing.
#[derive(Debug, Default, Serialize)]
pub struct Totals {
    /// Records read.
    pub records: u64,
    /// Nodes that wrote them.
    pub nodes: BTreeSet<String>,
    /// Records and counted refusals by interface.
    pub by_interface: BTreeMap<String, u64>,
    /// Records that meet the policy.
    pub accepted: u64,
    /// Records under a written exception.
    pub excepted: u64,
    /// Refusals and breaches.
    pub refused: u64,
    /// Ends without a verdict.
    pub ended: u64,
    /// Records that the writers could not write.
    pub lost: u64,
    /// Lines that are damaged or cut.
    pub damaged_lines: u64,
    /// Files that are missing between rotated ones.
    pub missing_files: u64,
}

impl Totals {
    /// Counts one more row.
    pub fn add(&mut self, row: &Row<'_>) {
        self.records += 1;
        if self.nodes.len() < DISTINCT && !self.nodes.contains(row.node) {
            self.nodes.insert(row.node.to_owned());
        }
        if let Some(interface) = &row.interface
            && (self.by_interface.len() < DISTINCT || self.by_interface.contains_key(interface))
        {
            let count = self.by_interface.entry(interface.clone()).or_default();
            *count = count.saturating_add(row.count);
        }
        let count = match row.verdict {
            Outcome::Accepted => &mut self.accepted,
            Outcome::Excepted => &mut self.excepted,
            Outcome::Refused => &mut self.refused,
            Outcome::Ended => &mut self.ended,
            Outcome::Lost => &mut self.lost,
        };
        *count = count.saturating_add(row.count);
    }

    /// Returns true if no record is known to be missing.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        self.lost == 0 && self.damaged_lines == 0 && self.missing_files == 0
    }
}
