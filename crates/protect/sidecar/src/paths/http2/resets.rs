//! Bound of the requests that a client may reset before their responses.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// Requests beyond those answered that a client may reset at once. Each that is answered allows for another.
const RESETS_AT_MOST: u32 = 200;
/// A request reset later than this has held one of the connection's streams for that long, which bounds their number already.
const AT_ONCE: Duration = Duration::from_secs(1);

/// Resets that a connection has left. A client that sends requests and resets them at once makes us
/// and the producer work without ever holding a stream (CVE-2023-44487, "rapid reset").
#[derive(Debug)]
pub(crate) struct ResetAllowance(Cell<u32>);

impl ResetAllowance {
    pub(crate) fn new() -> Self {
        Self(Cell::new(RESETS_AT_MOST))
    }

    /// A request that began then was reset by the client before its response.
    pub(super) fn count(&self, began: Instant) {
        if began.elapsed() < AT_ONCE {
            self.0.set(self.0.get().saturating_sub(1));
        }
    }

    /// A request was answered.
    pub(super) fn answered(&self) {
        self.0.set((self.0.get() + 1).min(RESETS_AT_MOST));
    }

    /// Returns true if the client resets too many.
    pub(super) fn is_exhausted(&self) -> bool {
        self.0.get() == 0
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
