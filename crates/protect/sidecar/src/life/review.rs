//! Open connections are judged again: at a reload, when the day changes, when a certificate of theirs ends, and every minute.
//!
//! Rules in effect for new handshakes are in effect for open connections, by the same code: a peer
//! that is no longer in the file, a root that was replaced, a certificate that was revoked or has
//! ended, a policy that was narrowed, an exception whose last day is over. Such a connection ends
//! as draining would have it, and is closed after `limits.drain`. The minute is for changes without
//! a moment of their own: a clock that was set, a root or a list that ran out.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant, SystemTime};

use bartizan_deployment::day_of;
use bartizan_tls::{Reason, Refusal};
use tokio::task::yield_now;
use tokio::time::sleep;

use crate::admin::state::State;
use crate::dialling::session::Session;
use crate::life::drain::Phase;
use crate::metrics::Side;
use crate::shared::Shared;

/// Interval between two looks for a reason.
const LOOK: Duration = Duration::from_secs(2);
const SECOND: Duration = Duration::from_secs(1);
/// The longest without any.
const EVERY: Duration = Duration::from_secs(60);
/// Connections judged before others have their turn: each takes some ten microseconds.
const AT_ONCE: usize = 16;

/// Judges open connections whenever there is a reason, for as long as the sidecar exists.
pub(crate) async fn keep(state: Weak<State>) {
    let (mut last, mut day) = (Instant::now(), day_of(SystemTime::now()));
    while let Some(state) = state.upgrade() {
        let now = SystemTime::now();
        let today = day_of(now);
        let sessions = state.shared.sessions.list();
        // Each is asked: an answer is given once.
        let ended = sessions
            .iter()
            .filter(|session| !session.is_dismissed() && session.end.is_reached(now))
            .count();
        if today != day || last.elapsed() >= EVERY || ended > 0 {
            all(&state).await;
            (last, day) = (Instant::now(), today);
        }
        drop((sessions, state));
        sleep(LOOK).await;
    }
}

/// The end of the first certificate of a chain, as a reason to judge its connection.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) not_after: SystemTime,
    is_reported: AtomicBool,
}

impl End {
    pub(crate) fn new(not_after: SystemTime) -> Self {
        Self {
            not_after,
            is_reported: AtomicBool::new(false),
        }
    }

    /// Returns true once, when the certificate is no longer valid. A chain may hold an ended one
    /// that no path needs. The second of `notAfter` belongs to the validity (RFC 5280, section
    /// 4.1.2.5).
    fn is_reached(&self, now: SystemTime) -> bool {
        now.duration_since(self.not_after).is_ok_and(|over| over >= SECOND)
            && !self.is_reported.swap(true, Ordering::Relaxed)
    }
}

/// Connections that end for one reason.
#[derive(Debug)]
struct Ended {
    refusal: Refusal,
    connections: usize,
}

/// Judges every open connection.
pub(crate) async fn all(state: &Arc<State>) {
    let shared = &state.shared;
    let mut ended = BTreeMap::<(String, &'static str, Reason), Ended>::new();
    for (number, session) in shared.sessions.list().iter().enumerate() {
        if let Some(refusal) = judge(shared, session) {
            let key = (session.peer.to_string(), session.leg.interface.name(), refusal.reason);
            let of_reason = ended.entry(key).or_insert(Ended {
                refusal,
                connections: 0,
            });
            of_reason.connections += 1;
        }
        if number % AT_ONCE == AT_ONCE - 1 {
            yield_now().await;
        }
    }
    if ended.is_empty() {
        return;
    }
    // Those that wait for their first use have no task that would notice.
    state.close_dismissed();
    for ((peer, interface, reason), ended) in ended {
        tracing::warn!(
            peer, interface, reason = reason.as_str(), detail = %ended.refusal.detail, hint = %ended.refusal.hint,
            connections = ended.connections, "closes open connections: their peer would be refused now"
        );
    }
}

/// Judges one connection, and has it end where it would not be admitted now. What is dismissed already is left alone.
pub(crate) fn judge(shared: &Arc<Shared>, session: &Arc<Session>) -> Option<Refusal> {
    if session.is_dismissed() {
        return None;
    }
    let refusal = shared.endpoint.endpoint().judge_again(&session.facts).err()?;
    let side = Side::from(session.leg.direction);
    shared
        .metrics
        .dismissed(side, session.peer.as_str(), refusal.reason.as_str());
    session.no_longer_admitted(&refusal);
    session.dismiss(Phase::Draining);
    let (late, grace) = (Arc::downgrade(session), shared.limits.drain);
    tokio::spawn(async move {
        sleep(grace).await;
        if let Some(session) = late.upgrade() {
            session.dismiss(Phase::Closing);
        }
    });
    Some(refusal)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ended certificate that no path needs had every connection judged at each look; later
    /// each was judged in the last second of its certificate, which was valid then, and not again.
    #[test]
    fn the_end_of_a_certificate_is_a_reason_once_and_after_its_last_second() {
        let ends = SystemTime::UNIX_EPOCH + 1000 * SECOND;
        for first in 0..4 {
            let end = End::new(ends);
            let reached: Vec<_> = (900 * 2 + first..1100 * 2)
                .step_by(4)
                .map(|half| SystemTime::UNIX_EPOCH + Duration::from_millis(500) * half)
                .filter(|&now| end.is_reached(now))
                .collect();
            assert!(
                matches!(reached[..], [at] if at >= ends + SECOND && at < ends + SECOND + LOOK),
                "{reached:?}"
            );
        }
    }
}
