//! Which worker serves a connection.
//!
//! One that network functions keep open for hours stays where it was put, so what decides is how many each worker has, not whose turn
//! it is, nor which thread the kernel happens to wake (as it would be if each worker accepted for itself, by a socket of its own or by the
//! same one).

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The open connections of each worker.
#[derive(Debug)]
pub(crate) struct Spread {
    workers: NonZeroUsize,
    loads: Mutex<Loads>,
}

#[derive(Debug)]
struct Loads {
    /// By worker.
    all: Vec<usize>,
    /// By listener, then by worker.
    listeners: Vec<Vec<usize>>,
}

/// The part of one listener in it.
#[derive(Debug, Clone)]
pub(crate) struct OfListener {
    spread: Arc<Spread>,
    listener: usize,
}

/// One connection of a worker, which counts until this is dropped.
#[derive(Debug)]
pub(crate) struct Load {
    of_listener: OfListener,
    worker: usize,
}

impl Spread {
    pub(crate) fn new(workers: NonZeroUsize) -> Arc<Self> {
        Arc::new(Self {
            workers,
            loads: Mutex::new(Loads {
                all: vec![0; workers.get()],
                listeners: Vec::new(),
            }),
        })
    }

    pub(crate) fn workers(&self) -> usize {
        self.workers.get()
    }

    fn lock(&self) -> MutexGuard<'_, Loads> {
        self.loads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a listener in.
    pub(crate) fn of_listener(self: &Arc<Self>) -> OfListener {
        let mut loads = self.lock();
        let listener = loads.listeners.len();
        loads.listeners.push(vec![0; self.workers.get()]);
        OfListener {
            spread: Arc::clone(self),
            listener,
        }
    }

    /// Number of connections of each worker now.
    pub(crate) fn connections(&self) -> Vec<usize> {
        self.lock().all.clone()
    }
}

impl OfListener {
    /// Number of workers.
    pub(crate) fn workers(&self) -> usize {
        self.spread.workers()
    }

    /// The worker that takes the next connection: the one with the fewest of this listener; of several the one with the fewest of all, and the
    /// first of these. It has one more from now on.
    pub(crate) fn next(&self) -> (usize, Load) {
        let mut loads = self.spread.lock();
        let Loads { all, listeners } = &mut *loads;
        let own = &mut listeners[self.listener];
        let fewest = (0..all.len()).min_by_key(|&worker| (own[worker], all[worker]));
        let worker = fewest.unwrap_or_default();
        own[worker] += 1;
        all[worker] += 1;
        let load = Load {
            of_listener: self.clone(),
            worker,
        };
        (worker, load)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        let mut loads = self.of_listener.spread.lock();
        loads.all[self.worker] -= 1;
        loads.listeners[self.of_listener.listener][self.worker] -= 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn spread(workers: usize) -> Arc<Spread> {
        Spread::new(NonZeroUsize::new(workers).unwrap())
    }

    #[test]
    fn connections_of_a_listener_are_even_whatever_those_of_others_are() {
        let spread = spread(2);
        let [busy, quiet] = [(); 2].map(|()| spread.of_listener());
        let mut open: Vec<_> = (0..5).map(|_| busy.next()).collect();
        assert_eq!(
            open.iter().map(|(worker, _)| *worker).collect::<Vec<_>>(),
            [0, 1, 0, 1, 0]
        );
        // The first of another listener goes to the worker that has fewer altogether, the next to the one that has none of that listener.
        let others = [(); 3].map(|()| quiet.next());
        assert_eq!(others.each_ref().map(|(worker, _)| *worker), [1, 0, 1]);
        // The worker that lost the most gets the next: two make both even, and in total the first
        // worker has fewer then.
        open.retain(|(worker, _)| *worker == 1);
        let next = [(); 4].map(|()| busy.next());
        assert_eq!(next.each_ref().map(|(worker, _)| *worker), [0, 0, 0, 1]);
    }

    proptest! {
        #[test]
        fn what_is_opened_alone_is_even_and_what_is_closed_counts_no_longer(workers in 1usize..9, connections in 0usize..60) {
            let spread = spread(workers);
            let listener = spread.of_listener();
            let open: Vec<_> = (0..connections).map(|_| listener.next().1).collect();
            let counts = spread.connections();
            prop_assert_eq!(counts.iter().sum::<usize>(), connections);
            let (most, fewest) = (counts.iter().max().unwrap(), counts.iter().min().unwrap());
            prop_assert!(most - fewest <= 1);
            drop(open);
            prop_assert_eq!(spread.connections(), vec![0; workers]);
        }
    }
}
