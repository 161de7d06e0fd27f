//! Connection policy of the HTTP endpoints: bounded places, and eviction in favour of newcomers.
//!
//! Opening a connection costs a client nothing, and probes of the kubelet wait only for seconds. When no place is left, the address with
//! the most connections loses one: its oldest without a complete request, or else its oldest.

use std::collections::{HashMap, VecDeque};
use std::future::pending;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::{Instant, sleep};

/// Grace of a new connection: its client is about to ask.
const ABOUT_TO_ASK: Duration = Duration::from_millis(100);
/// An answer has left by then, unless its client does not read it.
const ANSWERED: Duration = Duration::from_secs(1);

/// The connections that are open.
#[derive(Debug)]
pub struct Connections {
    places: Arc<Semaphore>,
    /// The oldest first; some may have ended.
    open: VecDeque<One>,
    most: usize,
}

#[derive(Debug)]
struct One {
    from: Option<IpAddr>,
    since: Instant,
    asked: Arc<AtomicBool>,
    evict: oneshot::Sender<()>,
}

/// A connection's place, until it is dropped.
#[derive(Debug)]
pub struct Place {
    _permit: Option<OwnedSemaphorePermit>,
    asked: Arc<AtomicBool>,
    evicted: oneshot::Receiver<()>,
}

impl Connections {
    /// At most so many.
    pub fn new(most: usize) -> Self {
        Self {
            places: Arc::new(Semaphore::new(most)),
            open: VecDeque::new(),
            most,
        }
    }

    /// Place for an accepted connection whose address does not count.
    pub async fn place(&mut self) -> Place {
        self.place_for(None).await
    }

    /// Place for an accepted connection of an address.
    pub async fn place_of(&mut self, from: IpAddr) -> Place {
        self.place_for(Some(network(from))).await
    }

    /// Ends when no connection is open.
    pub async fn all_ended(&self) {
        // At most 2^32 places, and the semaphore is never closed.
        let _ = self
            .places
            .acquire_many(u32::try_from(self.most).unwrap_or(u32::MAX))
            .await;
    }

    async fn place_for(&mut self, from: Option<IpAddr>) -> Place {
        let permit = loop {
            if let Ok(permit) = Arc::clone(&self.places).try_acquire_owned() {
                break Some(permit);
            }
            if self.evict().await {
                // The semaphore is never closed.
                break Arc::clone(&self.places).acquire_owned().await.ok();
            }
        };
        if self.open.len() >= 2 * self.most {
            self.open.retain(|one| !one.evict.is_closed());
        }
        let asked = Arc::new(AtomicBool::new(false));
        let (evict, evicted) = oneshot::channel();
        self.open.push_back(One {
            from,
            since: Instant::now(),
            asked: Arc::clone(&asked),
            evict,
        });
        Place {
            _permit: permit,
            asked,
            evicted,
        }
    }

    /// Ends one, and says so; or waits until one may be ended.
    async fn evict(&mut self) -> bool {
        self.open.retain(|one| !one.evict.is_closed());
        let place = self.of_the_most().unwrap_or(0);
        let asked = self
            .open
            .get(place)
            .is_some_and(|one| one.asked.load(Ordering::Relaxed));
        let patience = if asked { ANSWERED } else { ABOUT_TO_ASK };
        let left = self
            .open
            .get(place)
            .map(|one| patience.saturating_sub(one.since.elapsed()));
        match left {
            Some(left) if left.is_zero() => self.open.remove(place).is_some_and(|one| one.evict.send(()).is_ok()),
            left => {
                sleep(left.unwrap_or(ABOUT_TO_ASK)).await;
                false
            }
        }
    }
}

impl Connections {
    /// The connection that is evicted next.
    fn of_the_most(&self) -> Option<usize> {
        let mut counts: HashMap<Option<IpAddr>, usize> = HashMap::new();
        for one in &self.open {
            *counts.entry(one.from).or_default() += 1;
        }
        let most = counts.values().max().copied();
        let of_it = || {
            let open = self.open.iter().enumerate();
            open.filter(|(_, one)| counts.get(&one.from).copied() == most)
        };
        let silent = of_it().find(|(_, one)| !one.asked.load(Ordering::Relaxed));
        silent.or_else(|| of_it().next()).map(|(place, _)| place)
    }
}

/// The host behind an address: the address itself, or the /64 of IPv6, which one host has to itself.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((u128::from(address) & !u128::from(u64::MAX)).into()),
        v4 => v4,
    }
}

impl Place {
    /// Raised while a complete request is being answered.
    pub fn asked(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.asked)
    }

    /// Until another connection has its place.
    pub async fn evicted(&mut self) {
        if (&mut self.evicted).await.is_err() {
            pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "current_thread", start_paused = true)]
    async fn what_has_not_asked_makes_room_first_and_then_the_oldest() {
        let mut connections = Connections::new(2);
        let [mut asked, mut silent] = [connections.place().await, connections.place().await];
        asked.asked().store(true, Ordering::Relaxed);
        let ends = tokio::spawn(async move { silent.evicted().await });
        let third = connections.place().await;
        assert!(ends.is_finished());
        third.asked().store(true, Ordering::Relaxed);
        let ends = tokio::spawn(async move { asked.evicted().await });
        let _fourth = connections.place().await;
        assert!(ends.is_finished());
        // A connection that ends by itself leaves its place.
        drop(third);
        let _fifth = connections.place().await;
    }

    #[tokio::test(flavor = "current_thread", start_paused = true)]
    async fn the_address_with_the_most_connections_makes_room() {
        let mut connections = Connections::new(4);
        let (few, many) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        let mut first = connections.place_of(few).await;
        let mut rest = Vec::new();
        for _ in 0..3 {
            rest.push(connections.place_of(many).await);
        }
        let mut second = rest.remove(0);
        let kept = tokio::spawn(async move { first.evicted().await });
        let ends = tokio::spawn(async move { second.evicted().await });
        let third = connections.place_of(IpAddr::from([10, 0, 0, 3])).await;
        assert!(ends.is_finished() && !kept.is_finished());
        // Complete requests do not help an address that has the most.
        for place in &rest {
            place.asked().store(true, Ordering::Relaxed);
        }
        let mut oldest = rest.remove(0);
        let ends = tokio::spawn(async move { oldest.evicted().await });
        let _fourth = connections.place_of(IpAddr::from([10, 0, 0, 4])).await;
        assert!(ends.is_finished() && !kept.is_finished());
        drop((third, rest));
    }

    #[test]
    fn a_host_is_an_address_or_a_network_of_ipv6() {
        let of = |text: &str| network(text.parse().unwrap());
        assert_eq!(of("fd00::1"), of("fd00::2"));
        assert_ne!(of("fd00::1"), of("fd00:0:0:1::1"));
        assert_eq!(of("::ffff:10.0.0.1"), of("10.0.0.1"));
    }
}
