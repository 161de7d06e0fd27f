//! The end of a link that is authenticated by EAP: wpa_supplicant answers the authenticator and derives the CAK, and what came of it is what the kernel
//! has. No process, no kernel and no clock here.
//!
//! **Frames of EAP are evidence of nothing.** Any host on the wire can send EAP-Failure or
//! EAP-Success (RFC 3748, section 7.3; RFC 4137, section 4). Keys end at this end's own deadline,
//! or when MKA loses the authenticator, which removes its own where it refuses this end.
//!
//! **Authentication is not a rekey.** wpa_supplicant 2.10 that is authenticated again, at the authenticator's wish, derives another CAK and goes on
//! under the key that it has: its logs look well, and only the name of the key shows it. So each success is followed by a look at that name, and
//! where it stays the same this end begins anew.

use std::time::{Duration, Instant};

use super::Agreed;
use super::in_use::InUse;
use super::rotation::{AGAIN, AGREEMENT};
use crate::schedule::{Cause, Notice, Order, Terms};

/// Time limit of MKA from a success to another key, while it has one: an old channel goes with the
/// life time of its member, six seconds, and the rest takes as long as the first time.
const ANOTHER: Duration = Duration::from_secs(20);

/// Time limit of MKA if the key is gone after a success. wpa_supplicant 2.10 makes no channel under
/// another CAK while an old one is there, and forgets the CAK after as long as that stays: it may
/// not agree at all.
const SOON: Duration = Duration::from_secs(5);

bartizan_registry::made! {
    /// The authenticated end of a link.
    #[derive(Debug)]
    pub struct Authentication,
    /// An end at which nothing runs yet: wpa_supplicant is started at the first look.
    pub new(terms: Terms, now: Instant) {
        terms: Terms,
        /// Since when wpa_supplicant runs.
        pub running: Option<Instant> = None,
        in_use: InUse = InUse::default(),
        /// Why the next key that is seen came about.
        cause: Cause = Cause::Exchange,
        start_at: Option<Instant> = Some(now),
        /// When authentication ended well while a key was in use, which was not replaced since.
        succeeded: Option<Instant> = None,
        /// Since when no key is agreed on, and how long that may last.
        without: Instant = now,
        patience: Duration = AGREEMENT,
        /// Number of authentications that ended well without another key.
        pub not_rekeyed: u64 = 0,
    }
}

impl Authentication {
    /// A predecessor's wpa_supplicant runs, since then.
    pub fn adopt(&mut self, since: Instant) {
        (self.running, self.start_at, self.cause) = (Some(since), None, Cause::Found);
    }

    /// When this end began to be authenticated, and when it begins anew.
    pub fn authentication(&self) -> (Option<Instant>, Option<Instant>) {
        let ends = self.running.and_then(|since| since.checked_add(self.terms.rekey));
        (self.running, ends)
    }

    /// wpa_supplicant was started.
    pub fn started(&mut self, now: Instant) {
        (self.running, self.start_at) = (Some(now), None);
        (self.without, self.patience) = (now, AGREEMENT);
        self.succeeded = None;
        self.in_use.end();
    }

    /// It could not be.
    pub fn not_started(&mut self, now: Instant) {
        (self.running, self.start_at) = (None, Some(now + AGAIN));
    }

    /// Handles an end of wpa_supplicant that this process did not cause.
    pub fn ended(&mut self, now: Instant) {
        (self.running, self.start_at) = (None, Some(now));
        self.cause = Cause::Exchange;
    }

    /// wpa_supplicant says that authentication ended well.
    pub fn succeeded(&mut self, now: Instant) {
        match self.in_use.agreed() {
            // The first of several counts.
            Some(_) => {
                self.succeeded.get_or_insert(now);
                self.cause = Cause::Peer;
            }
            None => self.without = now,
        }
    }

    /// Another key is asked for.
    pub fn rekey(&mut self) -> Vec<Order> {
        self.begin(Cause::Asked)
    }

    /// Takes the kernel's state, read now and then. None if the two directions have no key in
    /// common.
    pub fn seen(&mut self, agreed: Option<Agreed>, now: Instant) -> Vec<Order> {
        let mut orders = Vec::new();
        if let Some(agreed) = agreed {
            orders = self.in_use.seen(agreed, self.cause);
            if !orders.is_empty() {
                // A further key without an authentication comes from the key server.
                (self.cause, self.succeeded) = (Cause::KeyServer, None);
            }
        }
        orders.extend(self.passed(now));
        orders
    }

    /// Returns true if a key that MKA has agreed on is in the kernel.
    #[must_use]
    pub fn is_agreed(&self) -> bool {
        self.in_use.agreed().is_some()
    }

    /// Handles a key that is no longer in the kernel without a removal: MKA has lost the
    /// authenticator.
    pub fn gone(&mut self, now: Instant) {
        if self.in_use.end() {
            let (patience, cause) = match self.succeeded.take() {
                Some(_) => (SOON, Cause::Peer),
                None => (AGREEMENT, Cause::Exchange),
            };
            (self.without, self.patience, self.cause) = (now, patience, cause);
        }
    }

    fn passed(&mut self, now: Instant) -> Vec<Order> {
        let age = |since: Instant| now.saturating_duration_since(since);
        if self.start_at.is_some_and(|at| at <= now) {
            self.start_at = None;
            return vec![Order::Authenticate];
        }
        if self.start_at.is_some() {
            return Vec::new();
        }
        if let (Some(key), Some(since)) = (self.in_use.agreed(), self.succeeded)
            && age(since) >= ANOTHER
        {
            let (an, key) = (key.an, key.key);
            self.not_rekeyed += 1;
            let mut orders = vec![Order::Notice(Notice::NotRekeyed { an, key })];
            orders.extend(self.begin(Cause::Peer));
            return orders;
        }
        // Another key of the key server proves nothing.
        let of_authentication = self.running.map(age);
        match self.in_use.agreed().and(of_authentication) {
            Some(of_authentication) if of_authentication >= self.terms.rekey => self.begin(Cause::Time),
            None if age(self.without) >= self.patience => self.begin(match self.cause {
                Cause::Found => Cause::Exchange,
                cause => cause,
            }),
            _ => Vec::new(),
        }
    }

    /// wpa_supplicant begins anew, and with it authentication and MKA.
    fn begin(&mut self, cause: Cause) -> Vec<Order> {
        (self.cause, self.start_at) = (cause, None);
        self.succeeded = None;
        vec![Order::Authenticate]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{An, KeyId};

    fn agreed(number: u8) -> Agreed {
        Agreed {
            an: An::ALL[0],
            key: KeyId([number; 16]),
            packets: 5,
        }
    }

    fn causes(orders: &[Order]) -> Vec<Cause> {
        let cause = |order: &Order| match order {
            Order::Notice(Notice::Sends { cause, .. }) => Some(*cause),
            _ => None,
        };
        orders.iter().filter_map(cause).collect()
    }

    /// An end with a key.
    fn up(now: Instant) -> Authentication {
        let mut one = Authentication::new(Terms::new(Duration::from_secs(60), 1), now);
        assert_eq!(one.seen(None, now), [Order::Authenticate]);
        one.started(now);
        one.succeeded(now);
        assert_eq!(causes(&one.seen(Some(agreed(1)), now)), [Cause::Exchange]);
        one
    }

    #[test]
    fn success_after_which_the_key_stays_the_same_is_reported_and_this_end_begins_anew() {
        let now = Instant::now();
        let mut one = up(now);
        let again = now + Duration::from_secs(5);
        one.succeeded(again);
        one.succeeded(again + Duration::from_secs(15));
        assert!(one.seen(Some(agreed(1)), again + Duration::from_secs(19)).is_empty());
        let late = again + ANOTHER;
        let orders = one.seen(Some(agreed(1)), late);
        assert!(
            matches!(
                orders[..],
                [Order::Notice(Notice::NotRekeyed { .. }), Order::Authenticate]
            ),
            "{orders:?}"
        );
        assert_eq!(one.not_rekeyed, 1);
        one.started(late);
        assert_eq!(causes(&one.seen(Some(agreed(2)), late)), [Cause::Peer]);
        assert!(one.seen(Some(agreed(2)), late + Duration::from_secs(30)).is_empty());
    }

    #[test]
    fn success_that_another_key_follows_is_a_rekey_of_the_peers() {
        let now = Instant::now();
        let mut one = up(now);
        one.succeeded(now);
        assert_eq!(causes(&one.seen(Some(agreed(2)), now)), [Cause::Peer]);
        assert!(one.seen(Some(agreed(2)), now + Duration::from_secs(30)).is_empty());
        assert_eq!(causes(&one.seen(Some(agreed(3)), now)), [Cause::KeyServer]);
    }

    #[test]
    fn key_that_is_old_or_gone_and_a_daemon_that_ends_or_does_not_start_begin_anew() {
        let now = Instant::now();
        let mut one = up(now);
        let old = now + Duration::from_secs(60);
        assert_eq!(one.seen(Some(agreed(1)), old), [Order::Authenticate]);
        one.not_started(old);
        assert!(one.seen(Some(agreed(1)), old + Duration::from_secs(4)).is_empty());
        assert_eq!(one.seen(Some(agreed(1)), old + AGAIN), [Order::Authenticate]);
        one.started(old + AGAIN);
        assert_eq!(causes(&one.seen(Some(agreed(2)), old + AGAIN)), [Cause::Time]);
        one.gone(old + AGAIN);
        assert!(!one.is_agreed() && one.seen(None, old + AGAIN).is_empty());
        assert_eq!(one.seen(None, old + AGAIN + AGREEMENT), [Order::Authenticate]);
        one.started(old + AGAIN + AGREEMENT);
        one.ended(old + AGAIN + AGREEMENT);
        assert_eq!(one.seen(None, old + AGAIN + AGREEMENT), [Order::Authenticate]);
        assert_eq!(one.rekey(), [Order::Authenticate]);
    }

    #[test]
    fn key_that_is_gone_after_a_success_is_not_waited_for_as_long() {
        let now = Instant::now();
        let mut one = up(now);
        one.succeeded(now);
        one.gone(now);
        assert!(one.seen(None, now + Duration::from_secs(4)).is_empty());
        assert_eq!(one.seen(None, now + SOON), [Order::Authenticate]);
        one.started(now + SOON);
        assert_eq!(causes(&one.seen(Some(agreed(2)), now + SOON)), [Cause::Peer]);
    }

    #[test]
    fn authentication_is_as_old_as_its_process_whatever_the_key_server_and_packets_say() {
        let now = Instant::now();
        let mut one = Authentication::new(Terms::new(Duration::from_secs(60), 1), now);
        assert_eq!(one.seen(None, now), [Order::Authenticate]);
        one.adopt(now);
        assert_eq!(causes(&one.seen(Some(agreed(1)), now)), [Cause::Found]);
        for second in 1..60u8 {
            let at = now + Duration::from_secs(second.into());
            one.succeeded(at);
            assert_eq!(
                causes(&one.seen(Some(agreed(second)), at)).len(),
                usize::from(second > 1)
            );
        }
        let orders = one.seen(Some(agreed(59)), now + Duration::from_secs(60));
        assert_eq!(orders, [Order::Authenticate]);
    }
}
