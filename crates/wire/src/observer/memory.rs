//! How much of what is watched there may be.

use super::{Limits, Totals};
use crate::keys::Keys;

/// What an entry in a table costs beyond key and value: tables are seven eighths full at most, and half full after they
/// have grown.
pub(super) const ENTRY: usize = 48;

/// Bytes that live flows hold, and those they may.
pub(super) struct Memory {
    used: usize,
    limit: usize,
}

impl Memory {
    pub(super) fn new(limit: usize) -> Self {
        Self { used: 0, limit }
    }

    /// Whether another flow may begin.
    pub(super) fn has_room(&self) -> bool {
        self.used < self.limit
    }

    pub(super) fn came(&mut self, held: usize) {
        self.used += held;
    }

    pub(super) fn gone(&mut self, held: usize) {
        self.used = self.used.saturating_sub(held);
    }

    pub(super) fn changed(&mut self, before: usize, after: usize) {
        self.used = (self.used + after).saturating_sub(before);
    }

    pub(super) fn clear(&mut self) {
        self.used = 0;
    }
}

/// What flows of all kinds share when one begins.
pub(super) struct Bounds<'a> {
    pub(super) limits: &'a Limits,
    pub(super) memory: &'a mut Memory,
    /// Connections and associations of all kinds that have begun.
    pub(super) begun: &'a mut u64,
    pub(super) totals: &'a mut Totals,
    pub(super) keys: Option<&'a dyn Keys>,
}
