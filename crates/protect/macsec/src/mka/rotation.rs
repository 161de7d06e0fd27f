//! When a CAK is replaced, and which key MKA has agreed on under it. No process, no kernel and no clock here: what is to be done comes out as
//! [`Order`]s.

use std::time::{Duration, Instant};

use super::in_use::InUse;
use super::{Cak, Ckn};
use crate::derive::Direction;
use crate::message::Message;
use crate::schedule::{Cause, Fault, Notice, Order, Terms};
use crate::{An, KeyId};

/// Time limit of MKA's agreement on a key: its hellos are two seconds apart, and a member that
/// falls silent is one for six (IEEE 802.1X, clause 9.4, MKA Hello Time and MKA Life Time).
pub(super) const AGREEMENT: Duration = Duration::from_secs(30);
/// Until wpa_supplicant that did not start is started again.
pub(super) const AGAIN: Duration = Duration::from_secs(5);

/// The kernel's state after MKA's agreement: the same key in both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Agreed {
    /// Association number.
    pub an: An,
    /// The name of the key: member identifier of the key server and number of the key (IEEE 802.1X, clause 9.8).
    pub key: KeyId,
    /// Frames that this end has protected with it.
    pub packets: u64,
}

impl Agreed {
    /// Which key of its key server it is, from 1. The kernel has the number as wpa_supplicant has it in memory.
    pub fn number(&self) -> u64 {
        let [.., a, b, c, d] = self.key.0;
        u32::from_ne_bytes([a, b, c, d]).into()
    }
}

bartizan_registry::made! {
    /// The CAK of one end, and the key under it.
    #[derive(Debug)]
    pub struct Rotation,
    /// State of one end, of which nothing is known yet.
    pub new(terms: Terms, direction: Direction) {
        terms: Terms,
        direction: Direction,
        /// The CAK that runs, where this process knows it.
        cak: Option<Cak> = None,
        /// Name of the CAK that wpa_supplicant runs under, and since when it runs.
        running: Option<(Ckn, Instant)> = None,
        /// Time at which the exchange or the file gave the CAK. A restart of wpa_supplicant does
        /// not change it.
        pub given: Option<Instant> = None,
        in_use: InUse = InUse::default(),
        /// Why the next key that is seen came about.
        cause: Cause = Cause::Found,
        wanted: Option<Cause> = None,
        renewing: Option<Instant> = None,
        /// Returns true if the peer answers, as far as is known.
        pub connected: bool = false,
        start_at: Option<Instant> = None,
        /// CAKs come from a file: a late one is reported, and its keys do not end.
        of_file: bool = false,
        outlived: bool = false,
    }
}

impl Rotation {
    /// The same with CAKs of a file.
    #[must_use]
    pub const fn of_file(mut self) -> Self {
        self.of_file = true;
        self
    }

    /// When the peer proved itself, and when the keys end unless it does again. A CAK is as old as
    /// the exchange that gave it.
    pub fn authentication(&self) -> (Option<Instant>, Option<Instant>) {
        let since = self.given.filter(|_| !self.of_file);
        (since, since.and_then(|since| since.checked_add(self.terms.lifetime)))
    }

    /// The authentication behind the CAK is over.
    pub fn end(&mut self) -> Vec<Order> {
        (self.cak, self.running, self.given) = (None, None, None);
        (self.start_at, self.wanted) = (None, None);
        self.in_use.end();
        self.lost();
        vec![Order::End]
    }

    /// A predecessor's wpa_supplicant runs under this CAK, which is as old as this.
    pub fn adopt(&mut self, ckn: Ckn, since: Instant, given: Instant) {
        (self.running, self.given) = (Some((ckn, since)), Some(given));
    }

    /// The name of the CAK that wpa_supplicant runs under.
    pub fn running(&self) -> Option<&Ckn> {
        self.running.as_ref().map(|(ckn, _)| ckn)
    }

    /// MKA offer to the peer: the CAK may stay if both offer the same. Empty if this end wants
    /// another.
    pub fn offer(&self) -> String {
        match (&self.running, self.wanted) {
            (Some((ckn, _)), None) => ckn.to_string(),
            _ => String::new(),
        }
    }

    /// An exchange ended well: its CAK is taken, unless both ends run under one CAK and want no other.
    pub fn connected(&mut self, cak: Cak, offered: &str, peers: &str, now: Instant) -> Vec<Order> {
        self.connected = true;
        self.renewing = None;
        if !offered.is_empty() && offered == peers {
            return self.advance(now);
        }
        self.cause = self.wanted.take().unwrap_or(Cause::Exchange);
        self.replace(cak, now)
    }

    /// A file has another CAK than before.
    pub fn given(&mut self, cak: Cak, now: Instant) -> Vec<Order> {
        if self.cak.is_none() && self.running.as_ref().is_some_and(|(ckn, _)| *ckn == cak.ckn) {
            // The running CAK is a predecessor's; its name came from the source of the key.
            self.cak = Some(cak);
            return Vec::new();
        }
        self.cause = Cause::Asked;
        self.replace(cak, now)
    }

    fn replace(&mut self, cak: Cak, now: Instant) -> Vec<Order> {
        (self.given, self.outlived) = (Some(now), false);
        self.start(cak)
    }

    /// wpa_supplicant begins under this CAK, whose age stays.
    fn start(&mut self, cak: Cak) -> Vec<Order> {
        self.cak = Some(cak.clone());
        (self.running, self.start_at) = (None, None);
        self.in_use.end();
        vec![Order::Supplicant(cak)]
    }

    /// wpa_supplicant was started under the CAK that was ordered.
    pub fn started(&mut self, now: Instant) {
        self.running = self.cak.as_ref().map(|cak| (cak.ckn.clone(), now));
    }

    /// It could not be started.
    pub fn not_started(&mut self, now: Instant) {
        (self.running, self.start_at) = (None, Some(now + AGAIN));
    }

    /// Handles an end of wpa_supplicant that this process did not cause: with a peer that answers
    /// another CAK is exchanged, otherwise it is started again under the same.
    pub fn ended(&mut self, now: Instant) -> Vec<Order> {
        self.running = None;
        if self.connected {
            self.wanted.get_or_insert(Cause::Exchange);
            return self.advance(now);
        }
        self.start_at = Some(now);
        self.advance(now)
    }

    /// The peer of EAP answers whenever it is asked: there is no connection to it.
    pub fn answers(&mut self) {
        self.connected = true;
    }

    /// The peer asks for another CAK.
    pub fn peer_asks(&mut self, now: Instant) -> Vec<Order> {
        self.wanted.get_or_insert(Cause::Peer);
        self.advance(now)
    }

    /// The connection to the peer is gone.
    pub fn lost(&mut self) {
        (self.connected, self.renewing) = (false, None);
    }

    /// Another CAK is asked for.
    pub fn rekey(&mut self, now: Instant) -> Vec<Order> {
        self.wanted.get_or_insert(Cause::Asked);
        self.advance(now)
    }

    /// The peer said something.
    ///
    /// # Errors
    ///
    /// [`Fault`]: the connection is of no use any more.
    pub fn received(&mut self, message: &Message, now: Instant) -> Result<Vec<Order>, Fault> {
        match message {
            Message::Alive => Ok(Vec::new()),
            Message::Renew if self.direction == Direction::FromClient => Ok(self.peer_asks(now)),
            _ => Err(Fault::OutOfTurn),
        }
    }

    /// Takes the kernel's state, read now and then. None if the two directions have no key in
    /// common.
    pub fn seen(&mut self, agreed: Option<Agreed>, now: Instant) -> Vec<Order> {
        let mut orders = Vec::new();
        if let Some(agreed) = agreed {
            let cause = match self.in_use.agreed() {
                // The same CAK, another key: the key server decided so.
                Some(_) => Cause::KeyServer,
                None => self.cause,
            };
            orders = self.in_use.seen(agreed, cause);
            if !orders.is_empty() {
                self.cause = Cause::KeyServer;
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

    /// Handles a key that is no longer in the kernel without a removal: MKA has lost the peer.
    pub fn gone(&mut self) {
        if self.in_use.end() {
            self.cause = Cause::KeyServer;
        }
    }

    fn passed(&mut self, now: Instant) -> Vec<Order> {
        let age = |since: Instant| now.saturating_duration_since(since);
        let mut orders = Vec::new();
        // Neither keys that the key server distributes under one CAK nor another start of
        // wpa_supplicant make it younger.
        if let Some(of_cak) = self.given.map(age) {
            let agreed = self.in_use.agreed();
            if of_cak >= self.terms.lifetime {
                let agreed = agreed.filter(|_| !std::mem::replace(&mut self.outlived, true));
                orders.extend(agreed.map(|agreed| {
                    Order::Notice(Notice::Outlived {
                        an: agreed.an,
                        key: agreed.key,
                        age: of_cak,
                        packets: agreed.packets,
                    })
                }));
                if !self.of_file {
                    orders.extend(self.end());
                    return orders;
                }
            }
            if agreed.is_some() && of_cak >= self.terms.rekey {
                self.wanted.get_or_insert(Cause::Time);
            }
        }
        if let (Some((_, since)), None) = (&self.running, self.in_use.agreed())
            && age(*since) >= AGREEMENT
        {
            self.wanted.get_or_insert(Cause::Exchange);
        }
        if self.renewing.is_some_and(|since| age(since) >= self.terms.patience) {
            self.lost();
            orders.push(Order::Drop);
        }
        orders.extend(self.advance(now));
        orders
    }

    fn advance(&mut self, now: Instant) -> Vec<Order> {
        if self.start_at.is_some_and(|at| at <= now)
            && let Some(cak) = self.cak.clone()
        {
            return self.start(cak);
        }
        if !self.connected || self.wanted.is_none() || self.renewing.is_some() {
            return Vec::new();
        }
        self.renewing = Some(now);
        vec![match self.direction {
            Direction::FromClient => Order::Exchange,
            Direction::FromServer => Order::Send(Message::Renew),
        }]
    }
}

#[cfg(test)]
mod tests {
    use zeroize::Zeroizing;

    use super::*;
    use crate::schedule::Notice;

    fn cak(number: u8) -> Cak {
        Cak::of(&Zeroizing::new([number; 32]), [number; 16])
    }

    fn agreed(number: u32) -> Agreed {
        let mut key = [7; 16];
        key[12..].copy_from_slice(&number.to_ne_bytes());
        Agreed {
            an: An::ALL[0],
            key: KeyId(key),
            packets: 5,
        }
    }

    fn rotation(direction: Direction) -> Rotation {
        Rotation::new(Terms::new(Duration::from_secs(60), 1), direction)
    }

    /// Both ends of a link, after an exchange.
    fn both(cak: &Cak, now: Instant) -> [Rotation; 2] {
        [Direction::FromClient, Direction::FromServer].map(|direction| {
            let mut one = rotation(direction);
            assert_eq!(
                one.connected(cak.clone(), "", "", now),
                [Order::Supplicant(cak.clone())]
            );
            one.started(now);
            one
        })
    }

    #[test]
    fn key_that_mka_agreed_on_is_noticed_once_with_its_cause_and_number() {
        let now = Instant::now();
        let [mut one, _] = both(&cak(1), now);
        let notices = one.seen(Some(agreed(1)), now);
        let Order::Notice(Notice::Sends {
            generation: 1,
            cause: Cause::Exchange,
            ..
        }) = notices[0]
        else {
            panic!("{notices:?}")
        };
        assert_eq!(notices.len(), 2);
        assert!(one.seen(Some(agreed(1)), now).is_empty());
        let next = one.seen(Some(agreed(2)), now);
        assert!(
            matches!(
                next[0],
                Order::Notice(Notice::Sends {
                    generation: 2,
                    cause: Cause::KeyServer,
                    ..
                })
            ),
            "{next:?}"
        );
    }

    #[test]
    fn cak_stays_where_both_ends_run_under_it_and_goes_where_one_wants_another() {
        let now = Instant::now();
        let [mut one, mut other] = both(&cak(1), now);
        for rotation in [&mut one, &mut other] {
            rotation.lost();
        }
        let offers = [one.offer(), other.offer()];
        assert_eq!(offers[0], cak(1).ckn.to_string());
        assert!(one.connected(cak(2), &offers[0], &offers[1], now).is_empty());
        assert!(other.connected(cak(2), &offers[1], &offers[0], now).is_empty());
        assert_eq!(other.rekey(now), [Order::Send(Message::Renew)]);
        assert_eq!(one.received(&Message::Renew, now), Ok(vec![Order::Exchange]));
        let offers = [one.offer(), other.offer()];
        assert_eq!(
            one.connected(cak(3), &offers[0], &offers[1], now),
            [Order::Supplicant(cak(3))]
        );
        assert_eq!(
            other.connected(cak(3), &offers[1], &offers[0], now),
            [Order::Supplicant(cak(3))]
        );
        // One that begins anew knows none: both take that of the exchange.
        let mut fresh = rotation(Direction::FromServer);
        one.started(now);
        let said = one.offer();
        assert_eq!(
            one.connected(cak(4), &said, &fresh.offer(), now),
            [Order::Supplicant(cak(4))]
        );
        assert_eq!(fresh.connected(cak(4), "", &said, now), [Order::Supplicant(cak(4))]);
    }

    #[test]
    fn cak_that_is_old_is_replaced_and_one_that_outlives_its_policy_ends_the_link() {
        let now = Instant::now();
        let [mut one, mut other] = both(&cak(1), now);
        for rotation in [&mut one, &mut other] {
            rotation.seen(Some(agreed(1)), now);
        }
        let late = now + Duration::from_secs(60);
        assert_eq!(one.seen(Some(agreed(1)), late), [Order::Exchange]);
        assert!(one.seen(Some(agreed(1)), late).is_empty(), "once");
        assert_eq!(one.offer(), "");
        // Its peer never comes: the connection goes, and the key with the CAK's last moment.
        let dropped = one.seen(Some(agreed(1)), late + Duration::from_secs(10));
        assert_eq!(dropped, [Order::Drop]);
        let outlived = one.seen(Some(agreed(1)), now + Duration::from_secs(120));
        assert!(
            matches!(
                outlived[..],
                [Order::Notice(Notice::Outlived { packets: 5, .. }), Order::End]
            ),
            "{outlived:?}"
        );
        assert_eq!((one.offer().as_str(), one.connected), ("", false));
        assert!(one.seen(None, now + Duration::from_secs(200)).is_empty());
        // The same where the key server gives another key each minute, and at a successor.
        let mut successor = rotation(Direction::FromServer);
        successor.adopt(cak(1).ckn, now, now);
        for one in [&mut other, &mut successor] {
            assert_eq!(one.authentication().1, Some(now + Duration::from_secs(120)));
            let mut orders = Vec::new();
            for minute in 0..=2 {
                orders = one.seen(
                    Some(agreed(2 + minute)),
                    now + Duration::from_secs(60 * u64::from(minute)),
                );
            }
            assert_eq!(orders.last(), Some(&Order::End), "{orders:?}");
        }
    }

    #[test]
    fn cak_of_a_file_that_stays_is_reported_once_and_its_link_goes_on() {
        let now = Instant::now();
        let mut one = rotation(Direction::FromClient).of_file();
        assert_eq!(one.given(cak(1), now), [Order::Supplicant(cak(1))]);
        one.started(now);
        one.seen(Some(agreed(1)), now);
        let outlived = one.seen(Some(agreed(1)), now + Duration::from_secs(120));
        assert!(
            matches!(outlived[..], [Order::Notice(Notice::Outlived { .. })]),
            "{outlived:?}"
        );
        assert!(one.seen(Some(agreed(1)), now + Duration::from_secs(500)).is_empty());
        assert_eq!(one.authentication(), (None, None));
    }

    #[test]
    fn daemon_that_ends_costs_another_exchange_or_is_started_again_where_nobody_answers() {
        let now = Instant::now();
        let [mut one, mut other] = both(&cak(1), now);
        assert_eq!(one.ended(now), [Order::Exchange]);
        other.lost();
        assert_eq!(other.ended(now), [Order::Supplicant(cak(1))]);
        other.not_started(now);
        assert!(other.seen(None, now).is_empty());
        assert_eq!(other.seen(None, now + AGAIN), [Order::Supplicant(cak(1))]);
    }

    #[test]
    fn deadline_is_that_of_the_exchange_however_often_the_daemon_is_started_under_its_cak() {
        let now = Instant::now();
        let deadline = Some(now + Duration::from_secs(120));
        let at = |seconds| now + Duration::from_secs(seconds);
        for starts in [true, false] {
            let [_, mut one] = both(&cak(1), now);
            one.seen(Some(agreed(1)), now);
            one.lost();
            let mut orders = one.ended(at(50));
            for second in 50..120 {
                assert_eq!(one.authentication(), (Some(now), deadline), "{second}");
                if orders == [Order::Supplicant(cak(1))] {
                    match starts {
                        true => one.started(at(second)),
                        false => one.not_started(at(second)),
                    }
                    orders = match second % 7 {
                        0 if starts => one.ended(at(second)),
                        _ => Vec::new(),
                    };
                } else {
                    orders = one.seen(starts.then(|| agreed(2)), at(second));
                }
            }
            let orders = one.seen(starts.then(|| agreed(2)), at(120));
            assert_eq!(orders.last(), Some(&Order::End), "{orders:?}");
            assert!(one.seen(None, at(500)).is_empty(), "no CAK is left to start with");
        }
    }

    #[test]
    fn mka_that_does_not_agree_costs_another_exchange() {
        let now = Instant::now();
        let [mut one, _] = both(&cak(1), now);
        assert!(one.seen(None, now + Duration::from_secs(29)).is_empty());
        assert_eq!(one.seen(None, now + AGREEMENT), [Order::Exchange]);
    }

    #[test]
    fn successor_keeps_a_cak_of_a_file_that_runs_and_takes_another() {
        let now = Instant::now();
        let mut one = rotation(Direction::FromClient);
        one.adopt(cak(1).ckn, now, now);
        assert!(one.given(cak(1), now).is_empty());
        let found = one.seen(Some(agreed(4)), now);
        assert!(
            matches!(
                found[0],
                Order::Notice(Notice::Sends {
                    cause: Cause::Found,
                    ..
                })
            ),
            "{found:?}"
        );
        assert_eq!(one.given(cak(2), now), [Order::Supplicant(cak(2))]);
    }
}
