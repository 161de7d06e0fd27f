//! Memory limit of an observer.

use super::paths::Paths;
use super::{Limits, Omission, Omitted, Totals, Unread};
use crate::connection::Captured;
use crate::keys::Keys;

/// Bytes that live flows and the tables they are found in hold, and those they may.
pub(super) struct Memory {
    pub(super) used: usize,
    limit: usize,
}

impl Memory {
    pub(super) fn new(limit: usize) -> Self {
        Self { used: 0, limit }
    }

    /// Returns true if another flow of this size may begin. A sixteenth is left for existing flows.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        self.used + bytes <= self.limit - self.limit / 16
    }

    /// Returns true if the limit is exceeded: the flow that grew last must go.
    pub(super) fn is_exceeded(&self) -> bool {
        self.used > self.limit
    }

    pub(super) fn arrived(&mut self, held: usize) {
        self.used += held;
    }

    pub(super) fn gone(&mut self, held: usize) {
        self.used = self.used.saturating_sub(held);
    }

    pub(super) fn changed(&mut self, before: usize, after: usize) {
        self.used = (self.used + after).saturating_sub(before);
    }
}

/// Limits and counters shared by flows of all kinds when one begins.
pub(super) struct Bounds<'a> {
    pub(super) limits: &'a Limits,
    pub(super) memory: &'a mut Memory,
    /// Connections and associations of all kinds that have begun.
    pub(super) begun: &'a mut u64,
    pub(super) totals: &'a mut Totals,
    pub(super) keys: Option<&'a dyn Keys>,
    pub(super) paths: &'a Paths,
    /// The flows that this packet would have begun.
    pub(super) omitted: &'a mut Vec<Omitted>,
}

impl Bounds<'_> {
    /// Counts packets that are not read, for lack of memory.
    pub(super) fn omit(&mut self, omitted: Omitted, captured: Captured) {
        self.totals.omit(&omitted, captured);
        self.omitted.push(omitted);
    }

    /// Packets that belong to no conversation.
    pub(super) fn unread(&mut self, unread: Unread, captured: Captured) {
        self.totals.unread.entry(unread).or_default().add(captured);
    }
}

impl Totals {
    pub(super) fn omit(&mut self, omitted: &Omitted, captured: Captured) {
        self.untracked += captured.packets;
        let omission = self.omitted.entry(omitted.flow).or_insert(Omission {
            packets: 0,
            bytes: 0,
            first: omitted.at,
        });
        omission.packets += captured.packets;
        omission.bytes += captured.bytes;
    }
}
