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
        let pause = self.next;
        self.next = (pause * 2).min(LONGEST);
        sleep(pause).await;
    }

    /// An attempt went well: the next pause is a short one again.
    pub(crate) fn reset(&mut self) {
        self.next = FIRST;
    }
}
