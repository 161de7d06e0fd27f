//! The connections a listener holds: a bounded number, of which strangers give way first.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// A bounded number of places for connections.
///
/// Where all are taken, or all that strangers may have, the connection that has been a stranger for longest gives way to a new
/// one: one that has not shown yet that it is worth its place, by a handshake or a request. So those who only hold places keep
/// nobody out; who completes what it began before as many others arrive gets through. Connections that have shown it are never
/// ended for others.
#[derive(Debug)]
pub(crate) struct Places {
    at_most: usize,
    strangers_at_most: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    count: usize,
    next: u64,
    /// In the order in which they came.
    strangers: BTreeMap<u64, Arc<Notify>>,
}

/// A taken place, given back when dropped.
#[derive(Debug)]
pub(crate) struct Place {
    places: Arc<Places>,
    number: u64,
    known: AtomicBool,
}

/// Ends when a place has to be given to another.
#[derive(Debug)]
pub(crate) struct GivesWay(Arc<Notify>);

/// What taking a place meant for others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    Left,
    /// A stranger had to go: there were too many of them.
    OfStrangers,
    /// A stranger had to go: there were too many connections.
    OfAll,
}

impl Places {
    pub(crate) fn new(at_most: usize, strangers_at_most: usize) -> Arc<Self> {
        Arc::new(Self {
            at_most,
            strangers_at_most,
            taken: Mutex::default(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a stranger; none where all are taken by those who are none.
    pub(crate) fn take(self: &Arc<Self>) -> Option<(Place, GivesWay, Room)> {
        let mut taken = self.lock();
        let room = if taken.count >= self.at_most {
            Room::OfAll
        } else if taken.strangers.len() >= self.strangers_at_most {
            Room::OfStrangers
        } else {
            Room::Left
        };
        if room != Room::Left {
            let (_, longest) = taken.strangers.pop_first()?;
            longest.notify_one();
            // It counts no longer, although its task has yet to end.
            taken.count -= 1;
        }
        taken.count += 1;
        let number = taken.next;
        taken.next += 1;
        let gives_way = Arc::new(Notify::new());
        taken.strangers.insert(number, Arc::clone(&gives_way));
        let place = Place {
            places: Arc::clone(self),
            number,
            known: AtomicBool::new(false),
        };
        Some((place, GivesWay(gives_way), room))
    }
}

impl Place {
    /// The connection has shown that it is worth its place.
    pub(crate) fn known(&self) {
        if !self.known.load(Ordering::Relaxed) && self.places.lock().strangers.remove(&self.number).is_some() {
            self.known.store(true, Ordering::Relaxed);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.lock();
        let was_stranger = taken.strangers.remove(&self.number).is_some();
        // One that gave way was subtracted then.
        if was_stranger || self.known.load(Ordering::Relaxed) {
            taken.count -= 1;
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

    #[tokio::test]
    async fn the_oldest_stranger_gives_way_and_places_come_back() {
        let places = Places::new(2, 2);
        let (first, first_gives_way, room) = places.take().unwrap();
        assert_eq!(room, Room::Left);
        let (second, second_gives_way, _) = places.take().unwrap();
        let (third, _, room) = places.take().unwrap();
        assert_eq!(room, Room::OfAll);
        first_gives_way.now().await;
        drop(first);
        second.known();
        third.known();
        assert!(places.take().is_none(), "nobody is ended who is known");
        drop(second);
        let (fourth, ..) = places.take().unwrap();
        assert_eq!(places.lock().count, 2);
        drop((third, fourth));
        assert_eq!(places.lock().count, 0);
        assert!(places.lock().strangers.is_empty());
        drop(second_gives_way);
    }

    #[test]
    fn strangers_have_a_bound_of_their_own() {
        let places = Places::new(3, 1);
        let (first, ..) = places.take().unwrap();
        first.known();
        let (_second, _, room) = places.take().unwrap();
        assert_eq!(room, Room::Left);
        let (_third, _, room) = places.take().unwrap();
        assert_eq!(room, Room::OfStrangers);
        assert_eq!(places.lock().count, 2);
    }

    #[test]
    fn one_that_has_given_way_is_not_counted_twice_when_it_becomes_known_too_late() {
        let places = Places::new(1, 1);
        let (first, ..) = places.take().unwrap();
        let (_second, ..) = places.take().unwrap();
        first.known();
        drop(first);
        assert_eq!(places.lock().count, 1);
    }
}
