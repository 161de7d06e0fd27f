//! The thread that sends: log records as they are queued, metrics each interval. Neither waits for the other.

use std::sync::Arc;
use std::time::Duration;

use bartizan_inspect::follow::otlp;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use super::Shared;
use crate::event_writer::since_1970;
use crate::metrics::Metrics;
use bartizan_otlp::{Backoff, Client, Outcome, chance, partial_success};

/// Log records of a request.
const BATCH: usize = 512;
/// Events come several at a time: so long is waited for more.
const GATHERING: Duration = Duration::from_millis(100);
/// Interval of forcing written records to the disk.
const SYNCING: Duration = Duration::from_secs(1);
/// Time to deliver waiting and in-flight records at the end of the process.
pub(super) const FAREWELL: Duration = Duration::from_secs(5);

/// State of the sending thread.
pub(super) struct Sender {
    pub(super) shared: Arc<Shared>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) client: Client,
    pub(super) resource: String,
    pub(super) interval: Duration,
    /// Becomes true when the process is to end.
    pub(super) ending: watch::Receiver<bool>,
}

impl Sender {
    /// Sends until the process is to end, and then what waits, but for no longer than [`FAREWELL`].
    pub(super) async fn run(self) {
        let mut ending = self.ending.clone();
        let metrics = metrics(
            Arc::clone(&self.shared),
            Arc::clone(&self.metrics),
            self.client.another(),
            self.resource,
            self.interval,
            self.ending.clone(),
        );
        let sending = async {
            tokio::join!(logs(&self.shared, self.client, self.ending), metrics);
        };
        let late = async {
            // A sender that is gone ends it too.
            let _ = ending.wait_for(|ending| *ending).await;
            sleep(FAREWELL).await;
        };
        tokio::select! {
            () = sending => {}
            () = sync(&self.shared) => {}
            () = late => {}
        }
    }
}

async fn logs(shared: &Shared, mut client: Client, mut ending: watch::Receiver<bool>) {
    let mut backoff = Backoff::default();
    let mut size = BATCH;
    loop {
        let Some(batch) = shared.queue().batch(size) else {
            if *ending.borrow() {
                return;
            }
            tokio::select! {
                () = shared.queued.notified() => sleep(GATHERING).await,
                _ = ending.changed() => {}
            }
            continue;
        };
        let records = batch.records.len();
        let body = otlp::logs(&batch.head, &batch.records);
        drop(batch);
        match client.post("logs", body).await {
            Outcome::Taken(answer) => {
                let part = partial_success(&answer);
                let refused = part.as_ref().map_or(0, |part| part.rejected.min(records as u64));
                shared.queue().acknowledge(refused);
                match part {
                    // Were that a success, the report of what it lost would be lost in the same way, and make another one.
                    Some(part) if refused == records as u64 => {
                        shared.refused("logs", format!("it takes none of them: {}", part.message));
                    }
                    part => shared.taken(records as u64 - refused, part.map(|part| part.message)),
                }
                backoff.reset();
                size = BATCH;
            }
            // Half of it may be small enough.
            Outcome::Refused { status, .. } if status.as_u16() == 413 && records > 1 => {
                shared.queue().release();
                size = records / 2;
            }
            Outcome::Refused { why, .. } => {
                shared.queue().acknowledge(records as u64);
                shared.refused("logs", why);
                backoff.reset();
            }
            Outcome::Later { why, pause } => {
                shared.queue().release();
                shared.postponed("logs", why);
                if *ending.borrow() {
                    return;
                }
                let pause = backoff.pause(chance(), pause);
                // One more attempt is made when the process is to end.
                let _ = timeout(pause, ending.wait_for(|ending| *ending)).await;
            }
        }
    }
}

async fn metrics(
    shared: Arc<Shared>,
    metrics: Arc<Metrics>,
    mut client: Client,
    resource: String,
    every: Duration,
    mut ending: watch::Receiver<bool>,
) {
    let since = since_1970();
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // The first one is at once, when nothing was read yet.
    ticks.tick().await;
    loop {
        let last = tokio::select! {
            _ = ticks.tick() => false,
            _ = ending.wait_for(|ending| *ending) => true,
        };
        let body = otlp::metrics(&resource, &metrics.all(), since, since_1970());
        match client.post("metrics", body).await {
            Outcome::Taken(_) => shared.taken_metrics(),
            Outcome::Refused { why, .. } => shared.refused("metrics", why),
            // They are cumulative: the next ones say as much.
            Outcome::Later { why, .. } => shared.postponed("metrics", why),
        }
        if last {
            return;
        }
    }
}

/// Forces what was queued to the disk, on threads of their own.
async fn sync(shared: &Shared) {
    loop {
        sleep(SYNCING).await;
        let files = shared.queue().unsynced();
        if files.is_empty() {
            continue;
        }
        // A write error of the disk recurs at the next write.
        let _ = tokio::task::spawn_blocking(move || files.iter().for_each(|file| drop(file.sync_data()))).await;
    }
}
