//! Handshakes that fail, as a rate: what decides whether those of new connections wait for all other work.

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bartizan_server::network;

/// As many failures at once are a misconfigured peer that retries, or a rollout.
const BURST: f64 = 10.0;
/// And as many per second for good.
const PER_SECOND: f64 = 2.0;
/// Addresses whose handshakes succeeded; a core has some hundreds of network functions.
const ADDRESSES: usize = 4096;

/// A leaky bucket of failed handshakes ([`BURST`] fill it, [`PER_SECOND`] drain), and the addresses whose last handshake succeeded: a
/// flood of others' failures does not delay them.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    failures: f64,
    at: Option<Instant>,
    succeeded: HashSet<IpAddr>,
}

/// A handshake under way, which has failed if it is dropped before it [`succeeds`](Attempt::succeeds).
#[derive(Debug)]
pub(crate) struct Attempt<'a> {
    failures: &'a Failures,
    address: IpAddr,
    deferral: Deferral,
    succeeded: bool,
}

/// Priority of a handshake in relation to all other work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deferral {
    /// It does not: few fail, or its address is known.
    None,
    /// It does. Its failure does not count: on a busy machine it may be ours, and a flood is still seen by those that are not deferred.
    Deferred,
}

impl Failures {
    /// The deferral of a new connection from this address.
    pub(crate) fn deferral(&self, from: IpAddr, now: Instant) -> Deferral {
        let mut state = self.lock();
        if state.drain(now) < BURST || state.succeeded.contains(&network(from)) {
            Deferral::None
        } else {
            Deferral::Deferred
        }
    }

    pub(crate) fn attempt(&self, from: IpAddr, deferral: Deferral) -> Attempt<'_> {
        Attempt {
            failures: self,
            address: network(from),
            deferral,
            succeeded: false,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The bucket's level now.
    fn drain(&mut self, now: Instant) -> f64 {
        let since = self.at.map_or(Duration::ZERO, |at| now.saturating_duration_since(at));
        self.failures = PER_SECOND.mul_add(-since.as_secs_f64(), self.failures).max(0.0);
        self.at = Some(now);
        self.failures
    }

    fn failed(&mut self, address: IpAddr, now: Instant) {
        // Twice the burst: five seconds after the last failure of a flood handshakes are as before.
        self.failures = (self.drain(now) + 1.0).min(2.0 * BURST);
        self.succeeded.remove(&address);
    }

    fn succeeded(&mut self, address: IpAddr) {
        if self.succeeded.len() >= ADDRESSES {
            self.succeeded.clear();
        }
        self.succeeded.insert(address);
    }
}

impl Attempt<'_> {
    /// The peer is authenticated.
    pub(crate) fn succeeds(mut self) {
        self.succeeded = true;
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        if self.succeeded {
            self.failures.lock().succeeded(self.address);
        } else if self.deferral == Deferral::None {
            self.failures.lock().failed(self.address, Instant::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const KNOWN: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
    const OTHER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 66));

    fn fail(failures: &Failures, times: usize, now: Instant) {
        for _ in 0..times {
            failures.lock().failed(OTHER, now);
        }
    }

    #[test]
    fn two_failures_a_second_defer_nobody_and_ten_at_once_defer_new_connections() {
        let failures = Failures::default();
        let began = Instant::now();
        for second in 0..60 {
            let now = began + Duration::from_secs(second);
            fail(&failures, 2, now);
            assert_eq!(failures.deferral(OTHER, now), Deferral::None, "after {second} s");
        }
        let now = began + Duration::from_secs(70);
        fail(&failures, 9, now);
        assert_eq!(failures.deferral(OTHER, now), Deferral::None);
        fail(&failures, 1, now);
        assert_eq!(failures.deferral(OTHER, now), Deferral::Deferred);
    }

    #[test]
    fn a_flood_is_over_five_seconds_after_its_last_failure() {
        let failures = Failures::default();
        let began = Instant::now();
        fail(&failures, 1000, began);
        let after = |milliseconds| failures.deferral(OTHER, began + Duration::from_millis(milliseconds));
        assert_eq!(after(4_900), Deferral::Deferred);
        assert_eq!(after(5_100), Deferral::None);
    }

    #[test]
    fn an_address_whose_last_handshake_succeeded_is_not_deferred_by_the_failures_of_others() {
        let failures = Failures::default();
        let now = Instant::now();
        failures.attempt(KNOWN, Deferral::None).succeeds();
        fail(&failures, 20, now);
        assert_eq!(failures.deferral(KNOWN, now), Deferral::None);
        drop(failures.attempt(KNOWN, Deferral::None));
        assert_eq!(failures.deferral(KNOWN, now), Deferral::Deferred);
        // It is known again by a handshake that was deferred.
        failures.attempt(KNOWN, Deferral::Deferred).succeeds();
        assert_eq!(failures.deferral(KNOWN, now), Deferral::None);
    }

    #[test]
    fn a_deferred_handshake_that_fails_does_not_keep_others_deferred() {
        let failures = Failures::default();
        for _ in 0..50 {
            drop(failures.attempt(OTHER, Deferral::Deferred));
        }
        assert_eq!(failures.deferral(OTHER, Instant::now()), Deferral::None);
    }

    #[test]
    fn addresses_that_are_remembered_are_bounded() {
        let failures = Failures::default();
        for number in 0..3 * ADDRESSES {
            let address = IpAddr::V4(Ipv4Addr::from_bits(number as u32));
            failures.attempt(address, Deferral::None).succeeds();
        }
        assert!(failures.lock().succeeded.len() <= ADDRESSES);
    }
}
