//! Bound of the requests that a client may reset before their responses.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// Requests beyond those answered that a client may reset at once. Each that is answered allows for another.
const RESETS_AT_MOST: i64 = 200;
/// A request reset later than this has held one of the connection's streams for that long, which bounds their number already.
const AT_ONCE: Duration = Duration::from_secs(1);
/// Time after which a peer that reset too many may reset another.
const REGAINED: Duration = Duration::from_millis(5);

bartizan_registry::made! {
    /// Resets that a connection of the network function, or a peer with all its connections, has left.
    /// A client that sends requests and resets them at once makes us and the producer work without ever
    /// holding a stream (CVE-2023-44487, "rapid reset").
    #[derive(Debug)]
    pub(crate) struct ResetAllowance, pub(crate) new() {
        /// Below zero for those that were under way already when none was left.
        left: Cell<i64> = Cell::new(RESETS_AT_MOST),
        /// Since when time has not been counted, where none is left.
        since: Cell<Instant> = Cell::new(Instant::now()),
    }
}

impl ResetAllowance {
    /// A request that began then was reset by the client before its response.
    pub(super) fn count(&self, began: Instant) {
        if began.elapsed() < AT_ONCE && self.left.replace(self.left.get() - 1) == 1 {
            self.since.set(Instant::now());
        }
    }

    /// A request was answered.
    pub(super) fn answered(&self) {
        self.left.set((self.left.get() + 1).min(RESETS_AT_MOST));
    }

    /// Returns true if the client resets too many.
    pub(super) fn is_exhausted(&self) -> bool {
        self.left.get() <= 0
    }

    /// Returns true if another request may begin. For a client whose connections go on, because
    /// others share them: time allows for more resets.
    pub(super) fn admits(&self, now: Instant) -> bool {
        if self.is_exhausted() {
            let regained = now.saturating_duration_since(self.since.get()).as_millis() / REGAINED.as_millis();
            if regained > 0 {
                let regained = i64::try_from(regained).unwrap_or(i64::MAX);
                self.left
                    .set(self.left.get().saturating_add(regained).min(RESETS_AT_MOST));
                self.since.set(now);
            }
        }
        !self.is_exhausted()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_reset_at_once_are_bounded_and_answers_allow_for_more() {
        let resets = ResetAllowance::new();
        for _ in 1..RESETS_AT_MOST {
            resets.count(Instant::now());
        }
        assert!(!resets.is_exhausted());
        resets.answered();
        resets.count(Instant::now());
        assert!(!resets.is_exhausted());
        resets.count(Instant::now());
        assert!(resets.is_exhausted());
    }

    #[test]
    fn time_allows_for_more_requests() {
        let resets = ResetAllowance::new();
        for _ in 0..RESETS_AT_MOST + 999 {
            resets.count(Instant::now());
        }
        let since = resets.since.get();
        assert!(!resets.admits(since + 999 * REGAINED));
        assert!(resets.admits(since + 1000 * REGAINED));
        assert_eq!(resets.left.get(), 1);
    }

    #[test]
    fn requests_reset_after_a_while_do_not_count() {
        let resets = ResetAllowance::new();
        let Some(long_ago) = Instant::now().checked_sub(AT_ONCE) else {
            return;
        };
        for _ in 0..RESETS_AT_MOST {
            resets.count(long_ago);
        }
        assert!(!resets.is_exhausted());
    }
}
