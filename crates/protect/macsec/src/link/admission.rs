//! Admission of exchanges that the other end begins. Any host on the wire can begin one, each
//! ClientHello costs this end a signature, and all links of a node share one thread.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bartizan_ike::{Allowance, Pace};
use bartizan_tls::Established;

use crate::derive::Secret;
use crate::session::Session;

/// Pace at which one port admits exchanges. A peer sends its first segment again until it is
/// admitted.
const PACE: Pace = Pace {
    at_once: 8,
    each: Duration::from_millis(100),
};
/// Exchanges that peers may have begun and not authenticated. At the pace above each has two
/// seconds before another takes its place.
pub(super) const MOST: usize = 32;

/// An exchange that is not that of the link yet.
#[derive(Debug)]
pub(super) struct Beginning {
    pub(super) session: Session,
    pub(super) established: Option<(Box<Established>, Secret)>,
    /// MKA offer of this end.
    pub(super) offered: Option<String>,
}

impl Beginning {
    pub(super) const fn of(session: Session) -> Self {
        Self {
            session,
            established: None,
            offered: None,
        }
    }
}

/// Admission at one port.
#[derive(Debug)]
pub(super) struct Admission(Allowance);

impl Admission {
    pub(super) fn new(now: Instant) -> Self {
        Self(Allowance::new(PACE, now))
    }

    /// Admits another exchange, or not, by the pace. Makes room for it: the one that began first
    /// has had the most time.
    pub(super) fn admits(&mut self, beginning: &mut BTreeMap<u64, Beginning>, now: Instant) -> bool {
        if !self.0.take(now) {
            return false;
        }
        while beginning.len() >= MOST {
            let unauthenticated = beginning.iter().filter(|(_, one)| one.established.is_none());
            let oldest = unauthenticated
                .min_by_key(|(_, one)| one.session.began)
                .map(|(&conversation, _)| conversation);
            let Some(oldest) = oldest.or_else(|| beginning.keys().next().copied()) else {
                break;
            };
            beginning.remove(&oldest);
        }
        true
    }
}
