//! TLS connections that carry nothing for too long.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant, SystemTime};

use bartizan_deployment::Path;
use bartizan_ledger::Direction;
use tokio::time::{Interval, MissedTickBehavior, interval, sleep};

use crate::dialling::session::Session;
use crate::life::drain::Phase;
use crate::shared::Shared;

/// Longest interval between two looks at connections: several times within the bound, and not for
/// nothing.
const AT_MOST: Duration = Duration::from_secs(60);
const AT_LEAST: Duration = Duration::from_millis(50);

/// One connection as it was last seen to change.
struct Seen {
    bytes: u64,
    changed: Instant,
    /// When it was dismissed.
    dismissed: Option<Instant>,
}

/// Times of the looks for a bound of `idle`.
pub(crate) fn ticks(idle: Duration) -> Interval {
    let mut ticks = interval(every(idle));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

/// Interval between two looks for a bound of `idle`.
fn every(idle: Duration) -> Duration {
    (idle / 8).clamp(AT_LEAST, AT_MOST)
}

/// Has each connection end that carries nothing for `limits.idle`, as draining would have it: well, and closed after
/// `limits.drain`. Looking on costs a connection nothing while it carries something.
pub(crate) async fn watch(shared: Weak<Shared>) {
    // By address and beginning: an address alone may belong to another one by the next time.
    let mut seen: HashMap<(usize, SystemTime), Seen> = HashMap::new();
    while let Some(shared) = shared.upgrade() {
        let (idle, drain) = (shared.limits.idle, shared.limits.drain);
        let mut still = HashMap::new();
        for session in shared
            .sessions
            .list()
            .iter()
            .filter(|session| ends_for_idleness(session))
        {
            let key = (Arc::as_ptr(session) as usize, session.since);
            let bytes = session.bytes();
            let bytes = bytes.sent + bytes.received;
            let now = Instant::now();
            let mut last = seen.remove(&key).unwrap_or(Seen {
                bytes,
                changed: now,
                dismissed: None,
            });
            if last.bytes != bytes {
                (last.bytes, last.changed) = (bytes, now);
            }
            match last.dismissed {
                None if last.changed.elapsed() >= idle => {
                    shared.metrics.limit_reached("idle");
                    tracing::debug!(peer = %session.peer, "a connection that carries nothing is ended");
                    session.dismiss(Phase::Draining);
                    last.dismissed = Some(now);
                }
                // Bytes that it sends at its end are no reason to keep it.
                Some(at) if at.elapsed() >= drain => session.dismiss(Phase::Closing),
                None | Some(_) => {}
            }
            still.insert(key, last);
        }
        seen = still;
        drop(shared);
        sleep(every(idle)).await;
    }
}

/// Those that a peer holds, and those of a network function's own connection. What this sidecar keeps ready itself it renews.
fn ends_for_idleness(session: &Session) -> bool {
    match session.leg.direction {
        Direction::Inbound => true,
        Direction::Outbound => session.leg.path == Path::Splice && session.bytes().sent > 0,
    }
}
