//! A security gateway: its cores behind one queue, its link, its half-open set-ups.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Cores that serve one queue, first come first served. Times are nanoseconds since the beginning.
#[derive(Debug, Clone)]
pub struct Cores {
    /// Time at which each core is done with its work.
    free: BinaryHeap<Reverse<u64>>,
    /// Start times of the waiting requests, in order.
    starts: VecDeque<u64>,
    /// Time that cores have been given to do, in all.
    pub busy: u64,
    /// Requests that were served or will be.
    pub served: u64,
    /// Sum of their waiting times before they were begun.
    pub waited: u128,
    /// The most that waited at once.
    pub longest: u32,
}

impl Cores {
    /// So many cores, all idle; at least one.
    #[must_use]
    pub fn new(cores: u32) -> Self {
        Self {
            free: (0..cores.max(1)).map(|_| Reverse(0)).collect(),
            starts: VecDeque::new(),
            busy: 0,
            served: 0,
            waited: 0,
            longest: 0,
        }
    }

    /// Requests that wait at this time.
    pub fn waiting(&mut self, now: u64) -> usize {
        while self.starts.front().is_some_and(|start| *start <= now) {
            self.starts.pop_front();
        }
        self.starts.len()
    }

    /// Takes a request that is ready at a time (not before those taken earlier) and needs a core
    /// for so long; gives when it is done.
    pub fn take(&mut self, ready: u64, service: u64) -> u64 {
        let free = self.free.pop().map_or(0, |Reverse(free)| free);
        let start = free.max(ready);
        let done = start.saturating_add(service);
        self.free.push(Reverse(done));
        self.busy += service;
        self.served += 1;
        self.waited += u128::from(start - ready);
        if start > ready {
            self.starts.push_back(start);
            self.longest = self.longest.max(u32::try_from(self.starts.len()).unwrap_or(u32::MAX));
        }
        done
    }
}

/// One direction of a link: messages follow each other at its rate.
#[derive(Debug, Clone, Copy)]
pub struct Link {
    /// Bits per second.
    rate: u64,
    free: u64,
    /// Bytes that passed, in all.
    pub bytes: u64,
}

impl Link {
    /// An idle link of so many bits per second, at least one.
    #[must_use]
    pub fn new(rate: u64) -> Self {
        Self {
            rate: rate.max(1),
            free: 0,
            bytes: 0,
        }
    }

    /// Duration of this many bytes at a rate, in nanoseconds.
    #[must_use]
    pub fn time(bytes: u32, rate: u64) -> u64 {
        let bits = u128::from(bytes) * 8;
        u64::try_from(bits * 1_000_000_000 / u128::from(rate.max(1))).unwrap_or(u64::MAX)
    }

    /// Sends so many bytes behind what is being sent; gives when the last one has left.
    pub fn send(&mut self, now: u64, bytes: u32) -> u64 {
        self.free = self.free.max(now).saturating_add(Self::time(bytes, self.rate));
        self.bytes += u64::from(bytes);
        self.free
    }
}

#[derive(Debug, Clone)]
pub(super) struct Gateway {
    pub(super) cores: Cores,
    pub(super) up: Link,
    pub(super) down: Link,
    /// Set-ups whose first request was taken and whose last was not.
    pub(super) half_open: u32,
    pub(super) most_half_open: u32,
    /// Processor time by piece of the run.
    pub(super) work: Vec<u64>,
    /// Bytes in both directions by piece of the run.
    pub(super) load: Vec<u64>,
}

impl Gateway {
    pub(super) fn new(cores: u32, rate: u64, pieces: usize) -> Self {
        Self {
            cores: Cores::new(cores),
            up: Link::new(rate),
            down: Link::new(rate),
            half_open: 0,
            most_half_open: 0,
            work: vec![0; pieces],
            load: vec![0; pieces],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_cores_serve_three_requests_in_the_order_they_came() {
        let mut cores = Cores::new(2);
        assert_eq!([cores.take(0, 10), cores.take(0, 10), cores.take(1, 10)], [10, 10, 20]);
        assert_eq!((cores.waiting(5), cores.waiting(10)), (1, 0));
        assert_eq!((cores.waited, cores.served, cores.busy, cores.longest), (9, 3, 30, 1));
    }

    #[test]
    fn a_link_sends_one_message_after_the_other_at_its_rate() {
        let mut link = Link::new(8_000_000_000);
        // A byte is a nanosecond.
        assert_eq!(
            [link.send(0, 1500), link.send(0, 1500), link.send(9000, 100)],
            [1500, 3000, 9100]
        );
        assert_eq!(link.bytes, 3100);
        assert_eq!(
            (Link::time(u32::MAX, 0), Link::time(1_000_000_000, 0)),
            (u64::MAX, 8_000_000_000_000_000_000)
        );
    }
}
