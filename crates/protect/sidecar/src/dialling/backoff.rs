//! Longer and longer pauses between attempts.

use std::time::Duration;

use tokio::time::sleep;

const FIRST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(10);

/// Pauses that double from a quarter of a second to ten seconds.
#[derive(Debug)]
pub(crate) struct Backoff {
    next: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { next: FIRST }
    }
}

impl Backoff {
    pub(crate) async fn wait(&mut self) {
        sleep(self.pause()).await;
    }

    fn pause(&mut self) -> Duration {
        let pause = self.next;
        self.next = (pause * 2).min(LONGEST);
        pause
    }

    /// A connection has ended after this time. One that outlasted every pause was no failed attempt.
    pub(crate) fn lasted(&mut self, time: Duration) {
        if time >= LONGEST {
            self.reset();
        }
    }

    /// An attempt went well: the next pause is a short one again.
    pub(crate) fn reset(&mut self) {
        self.next = FIRST;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A connection that the peer ended for idleness, once an hour, was missed for ten seconds.
    #[test]
    fn pauses_double_until_a_connection_has_lasted() {
        let mut backoff = Backoff::default();
        let pauses: Vec<u128> = (0..8).map(|_| backoff.pause().as_millis()).collect();
        assert_eq!(pauses, [250, 500, 1000, 2000, 4000, 8000, 10_000, 10_000]);
        for (lasted, next) in [(Duration::ZERO, LONGEST), (LONGEST, FIRST)] {
            backoff.lasted(lasted);
            assert_eq!(backoff.pause(), next);
        }
    }
}
