//! A coarse clock for request deadlines.

use std::sync::Weak;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use tokio::time::sleep;

use crate::shared::Shared;

/// Largest delay in noticing a deadline.
pub(crate) const TICK: Duration = Duration::from_millis(200);

/// Wakes the tasks that wait for a deadline five times a second.
///
/// A timer of its own for each request would wake the runtime's driver through a system call each time, 5 us of a request's
/// 65; registering here is a push to a list.
#[derive(Debug, Default)]
pub(crate) struct Ticks(Notify);

/// Number of ticks of a time, at least one.
pub(crate) fn within(time: Duration) -> u32 {
    u32::try_from(time.as_millis() / TICK.as_millis())
        .unwrap_or(u32::MAX)
        .max(1)
}

impl Ticks {
    /// The next tick.
    pub(crate) fn next(&self) -> Notified<'_> {
        self.0.notified()
    }

    /// Ticks for as long as the sidecar exists.
    pub(crate) async fn run(shared: Weak<Shared>) {
        while let Some(shared) = shared.upgrade() {
            shared.ticks.0.notify_waiters();
            drop(shared);
            sleep(TICK).await;
        }
    }
}
