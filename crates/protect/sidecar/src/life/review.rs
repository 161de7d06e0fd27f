//! Open connections are judged again: at a reload, when the day changes, when a certificate of theirs ends, and every minute.
//!
//! Rules in effect for new handshakes are in effect for open connections, by the same code: a peer
//! that is no longer in the file, a root that was replaced, a certificate that was revoked or has
//! ended, a policy that was narrowed, an exception whose last day is over. Such a connection ends
//! as draining would have it, and is closed after `limits.drain`. The minute is for changes without
//! a moment of their own: a clock that was set, a root or a list that ran out.

use std::collections::BTreeMap;
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
/// The longest without any.
const EVERY: Duration = Duration::from_secs(60);
/// Connections judged before others have their turn: each takes some ten microseconds.
const AT_ONCE: usize = 16;

/// Judges open connections whenever there is a reason, for as long as the sidecar exists.
pub(crate) async fn keep(state: Weak<State>) {
    let (mut last, mut before) = (Instant::now(), SystemTime::now());
    while let Some(state) = state.upgrade() {
        let now = SystemTime::now();
        let ended = |session: &Arc<Session>| ends_between(before, session.ends, now) && !session.is_dismissed();
        let is_another_day = day_of(now) != day_of(before);
        if is_another_day || last.elapsed() >= EVERY || state.shared.sessions.list().iter().any(ended) {
            all(&state).await;
            last = Instant::now();
        }
        before = now;
        drop(state);
        sleep(LOOK).await;
    }
}

/// Returns true if a certificate has ended since the last look. One that ended before and was no
/// reason then is none now: a chain may hold one that nothing needs.
fn ends_between(before: SystemTime, ends: SystemTime, now: SystemTime) -> bool {
    before < ends && ends <= now
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

    /// An ended certificate that no path needs had every connection judged at each look.
    #[test]
    fn the_end_of_a_certificate_is_a_reason_once() {
        let ends = SystemTime::UNIX_EPOCH + 1000 * LOOK;
        let looks = (990..2000).filter(|&look| {
            let now = SystemTime::UNIX_EPOCH + look * LOOK;
            ends_between(now - LOOK, ends, now)
        });
        assert_eq!(looks.collect::<Vec<_>>(), [1000]);
    }
}
