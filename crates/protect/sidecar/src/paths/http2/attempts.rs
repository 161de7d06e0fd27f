//! Repetitions of a request that no producer processed.

use std::time::{Duration, Instant};

use tokio::time::sleep;

/// Attempts after which there is no other. Free5GC's servers end a connection after an idle millisecond: on a busy machine that
/// can be the fate of several connections before a request gets through, and each has GOAWAY say so.
const AT_MOST: u32 = 64;
/// The same where a stream was refused (REFUSED_STREAM): that is what an overloaded producer says, and both sidecars of a request hear it.
const REFUSED_AT_MOST: u32 = 6;
/// Attempts that follow each other at once.
const AT_ONCE: u32 = 4;
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(32);

bartizan_registry::made! {
    /// The attempts to send one request.
    #[derive(Debug, Clone, Copy)]
    pub(super) struct Attempts,
    /// The first is being made; none begins after `until`.
    pub(super) new(until: Instant) {
        pub(super) made: u32 = 1,
        until: Instant,
        pause: Duration = FIRST_PAUSE,
    }
}

impl Attempts {
    /// Returns true if another attempt is allowed.
    pub(super) fn left(&self) -> bool {
        self.made < AT_MOST && Instant::now() < self.until
    }

    /// Returns true if another attempt is allowed after the last one was refused.
    pub(super) fn left_after_refusal(&self) -> bool {
        self.made < REFUSED_AT_MOST && self.left()
    }

    /// Counts another, after a pause where the former followed each other at once.
    pub(super) async fn another(&mut self) {
        self.made += 1;
        if self.made > AT_ONCE {
            sleep(self.pause).await;
            self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn attempts_are_bounded_in_number_and_in_time() {
        let mut attempts = Attempts::new(Instant::now() + Duration::from_secs(3600));
        while attempts.left() {
            attempts.another().await;
        }
        assert_eq!(attempts.made, AT_MOST);
        let mut refused = Attempts::new(Instant::now() + Duration::from_secs(3600));
        while refused.left_after_refusal() {
            refused.another().await;
        }
        assert_eq!(refused.made, REFUSED_AT_MOST);
        assert!(!Attempts::new(Instant::now()).left());
    }
}
