//! How many requests a client may take back.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// Requests beyond those answered that a client may take back at once. Each that is answered allows for another.
const TAKEN_BACK_AT_MOST: u32 = 200;
/// A request taken back later than this has held one of the connection's streams for that long, which bounds their number already.
const AT_ONCE: Duration = Duration::from_secs(1);

/// What a connection may still take back. A client that sends requests and resets them at once makes us and the producer work
/// without ever holding a stream (CVE-2023-44487, "rapid reset").
#[derive(Debug)]
pub(crate) struct Restraint(Cell<u32>);

impl Restraint {
    pub(crate) fn new() -> Self {
        Self(Cell::new(TAKEN_BACK_AT_MOST))
    }

    /// A request that began then was reset by the client before its response.
    pub(super) fn taken_back(&self, began: Instant) {
        if began.elapsed() < AT_ONCE {
            self.0.set(self.0.get().saturating_sub(1));
        }
    }

    /// A request was answered.
    pub(super) fn answered(&self) {
        self.0.set((self.0.get() + 1).min(TAKEN_BACK_AT_MOST));
    }

    pub(super) fn is_lost(&self) -> bool {
        self.0.get() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_taken_back_at_once_are_bounded_and_answers_allow_for_more() {
        let restraint = Restraint::new();
        for _ in 1..TAKEN_BACK_AT_MOST {
            restraint.taken_back(Instant::now());
        }
        assert!(!restraint.is_lost());
        restraint.answered();
        restraint.taken_back(Instant::now());
        assert!(!restraint.is_lost());
        restraint.taken_back(Instant::now());
        assert!(restraint.is_lost());
    }

    #[test]
    fn requests_given_up_after_a_while_do_not_count() {
        let restraint = Restraint::new();
        let Some(long_ago) = Instant::now().checked_sub(AT_ONCE) else {
            return;
        };
        for _ in 0..TAKEN_BACK_AT_MOST {
            restraint.taken_back(long_ago);
        }
        assert!(!restraint.is_lost());
    }
}
