//! The connections a listener holds: a bounded number, of which strangers give way first.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// How many connections a listener holds at most.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) connections: usize,
    /// Of these, those that have not shown yet that they are worth their place.
    pub(crate) strangers: usize,
    /// The same two of one address.
    pub(crate) of_one_address: usize,
    pub(crate) strangers_of_one_address: usize,
}

/// A bounded number of places for connections.
///
/// Where all are taken, or all that strangers may have, the connection that has been a stranger for longest gives way to a new
/// one: one that has not shown yet that it is worth its place, by a handshake or a request. So those who only hold places keep
/// nobody out; who completes what it began before as many others arrive gets through. Connections that have shown it are never
/// ended for others. What one address may have is bounded too, and there its own connections give way, nobody else's.
#[derive(Debug)]
pub(crate) struct Places {
    bounds: Bounds,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    count: usize,
    next: u64,
    /// In the order in which they came.
    strangers: BTreeMap<u64, Stranger>,
    /// An address is in here while it has a connection.
    addresses: HashMap<IpAddr, OfOne>,
}

#[derive(Debug)]
struct Stranger {
    address: IpAddr,
    since: Instant,
    gives_way: Arc<Notify>,
}

/// The connections of one address.
#[derive(Debug, Default)]
struct OfOne {
    count: usize,
    strangers: BTreeSet<u64>,
}

/// A taken place, given back when dropped.
#[derive(Debug)]
pub(crate) struct Place {
    places: Arc<Places>,
    number: u64,
    address: IpAddr,
    known: AtomicBool,
}

/// Ends when a place has to be given to another.
#[derive(Debug)]
pub(crate) struct GivesWay(Arc<Notify>);

/// Which bound a new connection met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bound {
    Strangers,
    Connections,
    StrangersOfOneAddress,
    ConnectionsOfOneAddress,
}

impl Bound {
    /// A word for metrics and logs. It never changes.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Strangers => "strangers",
            Self::Connections => "connections",
            Self::StrangersOfOneAddress => "handshakes-per-address",
            Self::ConnectionsOfOneAddress => "connections-per-address",
        }
    }
}

impl Places {
    pub(crate) fn new(bounds: Bounds) -> Arc<Self> {
        Arc::new(Self {
            bounds,
            taken: Mutex::default(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a stranger from this address, and the bound for which another one had to go; an error where nobody can, since
    /// all are taken by those who are none.
    pub(crate) fn take(self: &Arc<Self>, from: IpAddr) -> Result<(Place, GivesWay, Option<Bound>), Bound> {
        let address = network(from);
        let mut taken = self.lock();
        let met = taken.bound_met(self.bounds, address);
        if let Some(bound) = met {
            let longest = match bound {
                Bound::Strangers | Bound::Connections => taken.strangers.keys().next(),
                Bound::StrangersOfOneAddress | Bound::ConnectionsOfOneAddress => {
                    taken.addresses.get(&address).and_then(|own| own.strangers.first())
                }
            };
            let longest = longest.copied().and_then(|number| taken.no_stranger(number));
            let longest = longest.ok_or(bound)?;
            longest.gives_way.notify_one();
            // It counts no longer, although its task has yet to end.
            taken.gone(longest.address);
        }
        taken.count += 1;
        let number = taken.next;
        taken.next += 1;
        let gives_way = Arc::new(Notify::new());
        let own = taken.addresses.entry(address).or_default();
        own.count += 1;
        own.strangers.insert(number);
        let stranger = Stranger {
            address,
            since: Instant::now(),
            gives_way: Arc::clone(&gives_way),
        };
        taken.strangers.insert(number, stranger);
        let place = Place {
            places: Arc::clone(self),
            number,
            address,
            known: AtomicBool::new(false),
        };
        Ok((place, GivesWay(gives_way), met))
    }

    /// Has every stranger go that has been one for this long, and gives their number.
    pub(crate) fn expire(&self, idle: Duration) -> usize {
        let mut taken = self.lock();
        let mut expired = 0;
        while let Some((&number, longest)) = taken.strangers.first_key_value()
            && longest.since.elapsed() >= idle
        {
            if let Some(longest) = taken.no_stranger(number) {
                longest.gives_way.notify_one();
                taken.gone(longest.address);
                expired += 1;
            }
        }
        expired
    }
}

impl Taken {
    fn bound_met(&self, bounds: Bounds, address: IpAddr) -> Option<Bound> {
        let (of_one, strangers_of_one) = self
            .addresses
            .get(&address)
            .map_or((0, 0), |own| (own.count, own.strangers.len()));
        if of_one >= bounds.of_one_address {
            Some(Bound::ConnectionsOfOneAddress)
        } else if strangers_of_one >= bounds.strangers_of_one_address {
            Some(Bound::StrangersOfOneAddress)
        } else if self.count >= bounds.connections {
            Some(Bound::Connections)
        } else if self.strangers.len() >= bounds.strangers {
            Some(Bound::Strangers)
        } else {
            None
        }
    }

    /// It is a stranger no longer, for whatever reason.
    fn no_stranger(&mut self, number: u64) -> Option<Stranger> {
        let stranger = self.strangers.remove(&number)?;
        if let Some(own) = self.addresses.get_mut(&stranger.address) {
            own.strangers.remove(&number);
        }
        Some(stranger)
    }

    /// One connection less.
    fn gone(&mut self, address: IpAddr) {
        self.count -= 1;
        if let Some(own) = self.addresses.get_mut(&address) {
            own.count -= 1;
            if own.count == 0 {
                self.addresses.remove(&address);
            }
        }
    }
}

/// Whose connections count together: those of an IPv4 address, of an IPv6 network of 64 bits, since a host chooses freely in it.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
        address @ IpAddr::V4(_) => address,
    }
}

impl Place {
    /// The connection has shown that it is worth its place; says whether it still has one.
    pub(crate) fn known(&self) -> bool {
        if !self.known.load(Ordering::Relaxed) && self.places.lock().no_stranger(self.number).is_some() {
            self.known.store(true, Ordering::Relaxed);
        }
        self.known.load(Ordering::Relaxed)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.lock();
        let was_stranger = taken.no_stranger(self.number).is_some();
        // One that gave way was subtracted then.
        if was_stranger || self.known.load(Ordering::Relaxed) {
            taken.gone(self.address);
        }
    }
}

impl GivesWay {
    pub(crate) async fn now(&self) {
        self.0.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    const OTHER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));

    fn places(connections: usize, strangers: usize) -> Arc<Places> {
        Places::new(Bounds {
            connections,
            strangers,
            of_one_address: usize::MAX,
            strangers_of_one_address: usize::MAX,
        })
    }

    #[tokio::test]
    async fn the_oldest_stranger_gives_way_and_places_come_back() {
        let places = places(2, 2);
        let (first, first_gives_way, met) = places.take(ONE).unwrap();
        assert_eq!(met, None);
        let (second, second_gives_way, _) = places.take(ONE).unwrap();
        let (third, _, met) = places.take(ONE).unwrap();
        assert_eq!(met, Some(Bound::Connections));
        first_gives_way.now().await;
        drop(first);
        second.known();
        third.known();
        let refused = places.take(ONE).unwrap_err();
        assert_eq!(refused, Bound::Connections, "nobody is ended who is known");
        drop(second);
        let (fourth, ..) = places.take(ONE).unwrap();
        assert_eq!(places.lock().count, 2);
        drop((third, fourth));
        assert_eq!(places.lock().count, 0);
        assert!(places.lock().strangers.is_empty());
        assert!(places.lock().addresses.is_empty());
        drop(second_gives_way);
    }

    #[test]
    fn strangers_have_a_bound_of_their_own() {
        let places = places(3, 1);
        let (first, ..) = places.take(ONE).unwrap();
        first.known();
        let (_second, _, met) = places.take(ONE).unwrap();
        assert_eq!(met, None);
        let (_third, _, met) = places.take(ONE).unwrap();
        assert_eq!(met, Some(Bound::Strangers));
        assert_eq!(places.lock().count, 2);
    }

    #[test]
    fn one_that_has_given_way_is_not_counted_twice_when_it_becomes_known_too_late() {
        let places = places(1, 1);
        let (first, ..) = places.take(ONE).unwrap();
        let (_second, ..) = places.take(ONE).unwrap();
        first.known();
        drop(first);
        assert_eq!(places.lock().count, 1);
    }

    #[tokio::test]
    async fn one_address_has_to_give_way_to_itself_and_takes_nothing_from_another() {
        let places = Places::new(Bounds {
            connections: 10,
            strangers: 10,
            of_one_address: 3,
            strangers_of_one_address: 2,
        });
        let (other, other_gives_way, _) = places.take(OTHER).unwrap();
        let (_first, first_gives_way, _) = places.take(ONE).unwrap();
        let (second, ..) = places.take(ONE).unwrap();
        let (third, _, met) = places.take(ONE).unwrap();
        assert_eq!(met, Some(Bound::StrangersOfOneAddress));
        first_gives_way.now().await;
        second.known();
        third.known();
        let (fourth, _, met) = places.take(ONE).unwrap();
        assert_eq!(met, None);
        let (fifth, _, met) = places.take(ONE).unwrap();
        assert_eq!(met, Some(Bound::ConnectionsOfOneAddress), "{fourth:?}");
        fifth.known();
        assert_eq!(places.take(ONE).unwrap_err(), Bound::ConnectionsOfOneAddress);
        assert!(places.take(OTHER).is_ok());
        tokio::select! {
            biased;
            () = other_gives_way.now() => panic!("it had to go for another address: {other:?}"),
            () = std::future::ready(()) => {}
        }
    }

    #[tokio::test]
    async fn strangers_go_after_a_while_and_those_who_are_known_stay() {
        let places = places(10, 10);
        let (first, first_gives_way, _) = places.take(ONE).unwrap();
        let (second, ..) = places.take(ONE).unwrap();
        second.known();
        assert_eq!(places.expire(Duration::from_secs(3600)), 0);
        assert_eq!(places.expire(Duration::ZERO), 1);
        first_gives_way.now().await;
        drop(first);
        assert_eq!(places.lock().count, 1);
    }

    #[test]
    fn addresses_of_one_ipv6_network_count_together() {
        let parse = |text: &str| network(text.parse().unwrap());
        assert_eq!(parse("2001:db8::1"), parse("2001:db8::ffff:2"));
        assert_ne!(parse("2001:db8::1"), parse("2001:db8:0:1::1"));
        assert_eq!(parse("::ffff:192.0.2.1"), ONE);
    }
}
