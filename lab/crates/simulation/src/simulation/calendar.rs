//! Queue of coming events.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Happening {
    /// A site does what is due.
    Act,
    /// A request has arrived at the gateway, whole.
    Arrive,
    /// A core of the gateway is done with a request.
    Finished,
    /// The answer has arrived at the site, whole.
    Answered,
    /// A request for a cookie has arrived at the site.
    Cookie,
    /// The site has waited long enough for an answer.
    Timeout,
    /// The gateway has waited long enough for the next request of a half-open set-up.
    Expire,
}

/// One of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Event {
    pub(super) what: Happening,
    pub(super) site: u32,
    /// Number of the site's exchange, attempt or plan that it belongs to. The event has no effect
    /// if the site has moved on to another number.
    pub(super) serial: u32,
    /// For a timeout: which sending of the request it is about.
    pub(super) tries: u8,
}

struct Entry {
    at: u64,
    number: u64,
    event: Event,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.number) == (other.at, other.number)
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

/// Events in order of time; of the same time, in the order in which they were entered, which makes a run repeatable.
#[derive(Default)]
pub(super) struct Calendar {
    entries: BinaryHeap<Reverse<Entry>>,
    entered: u64,
}

impl Calendar {
    pub(super) fn enter(&mut self, at: u64, event: Event) {
        let number = self.entered;
        self.entered += 1;
        self.entries.push(Reverse(Entry { at, number, event }));
    }

    /// The next one, in nanoseconds since the beginning.
    pub(super) fn next(&mut self) -> Option<(u64, Event)> {
        self.entries.pop().map(|Reverse(entry)| (entry.at, entry.event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_and_then_in_the_order_of_their_entry() {
        let mut calendar = Calendar::default();
        let event = |site| Event {
            what: Happening::Act,
            site,
            serial: 0,
            tries: 0,
        };
        for (at, site) in [(5, 1), (3, 2), (5, 3), (3, 4)] {
            calendar.enter(at, event(site));
        }
        let order: Vec<_> = std::iter::from_fn(|| calendar.next())
            .map(|(at, event)| (at, event.site))
            .collect();
        assert_eq!(order, [(3, 2), (3, 4), (5, 1), (5, 3)]);
    }
}
