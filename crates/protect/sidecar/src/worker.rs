//! State that one thread serves by, and no other thread touches.
//!
//! A request is read from one connection and leaves by another in the same turn of one task; the
//! states of two connections must agree in between. So everything that requests pass through
//! belongs to one thread, by its types: it is held by `Rc`, and the compiler refuses to send it to
//! another. More cores take more workers, each with its own runtime, routes and pools; they share
//! listening sockets, certificates, counters and the ledger, which are made for it ([`Shared`]).
//! [`Spread`] decides once which worker serves a connection. The first worker is the thread that
//! starts the sidecar: it also accepts the function's connections, answers the admin port, and does
//! the common work (reload, review, draining).

pub(crate) mod listeners;
pub(crate) mod spread;
pub(crate) mod threads;

use std::cell::RefCell;
use std::num::NonZeroUsize;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use crate::paths::http2::{Budget, Pool, WaitsFor};
use crate::shared::Shared;
use crate::worker::spread::Spread;

/// State that one thread serves by.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) shared: Arc<Shared>,
    /// Which of the workers it is, from 0.
    number: usize,
    /// Bytes that the readers of all its connections may leave waiting.
    pub(crate) budget: Rc<Budget>,
    pools: RefCell<Vec<Rc<Pool>>>,
}

bartizan_registry::made! {
    /// State that the workers of a sidecar share with each other.
    #[derive(Debug)]
    pub(crate) struct Workers, pub(crate) new(count: NonZeroUsize) {
        let others = if count.get() > 1 { count.get() } else { 0 };
        pub(crate) spread: Arc<Spread> = Spread::new(count),
        /// Requests of the network function that wait at each of them, as of the last tick. Empty where
        /// there is one worker.
        waits_for: Vec<Mutex<Option<WaitsFor>>> = (0..others).map(|_| Mutex::default()).collect(),
    }
}

impl Workers {
    /// Number of workers.
    pub(crate) fn count(&self) -> usize {
        self.spread.workers()
    }

    /// One worker's share of what the whole sidecar may have, rounded up.
    pub(crate) fn share(&self, all: usize) -> usize {
        all.div_ceil(self.count())
    }

    /// Requests of the network function that wait at the workers other than this one.
    fn others_wait_for(&self, number: usize) -> Option<WaitsFor> {
        let others = self.waits_for.iter().enumerate().filter(|(other, _)| *other != number);
        let waits_for = others.filter_map(|(_, other)| other.lock().unwrap_or_else(PoisonError::into_inner).clone());
        waits_for.reduce(WaitsFor::and)
    }
}

impl Worker {
    pub(crate) fn new(shared: &Arc<Shared>, number: usize) -> Rc<Self> {
        Rc::new(Self {
            shared: Arc::clone(shared),
            number,
            budget: Rc::new(Budget::shared_by(shared.workers.count())),
            pools: RefCell::default(),
        })
    }

    /// Has the pool renewed and closed with the others.
    pub(crate) fn add(&self, pool: &Rc<Pool>) {
        self.pools.borrow_mut().push(Rc::clone(pool));
    }

    /// Replaces pooled connections to peers: certificates or policies have changed.
    pub(crate) fn renew(&self) {
        self.pools.borrow().iter().for_each(|pool| pool.renew());
    }

    /// Requests of the node's own network function that wait at any worker: at this one now, at
    /// others as of the last tick.
    pub(crate) fn waits_for(&self) -> Option<WaitsFor> {
        let others = self.shared.workers.others_wait_for(self.number);
        self.own_waits_for().into_iter().chain(others).reduce(WaitsFor::and)
    }

    fn own_waits_for(&self) -> Option<WaitsFor> {
        let pools = self.pools.borrow();
        let to_peers = pools.iter().filter(|pool| pool.leads_to_a_peer());
        to_peers.filter_map(|pool| pool.unanswered()).reduce(WaitsFor::and)
    }

    /// Has the other workers know at each tick what the network function waits for by this one. Ends at once where there are no others.
    pub(crate) async fn say_what_is_waited_for(self: Rc<Self>) {
        let Some(said) = self.shared.workers.waits_for.get(self.number) else {
            return;
        };
        loop {
            self.shared.ticks.next().await;
            *said.lock().unwrap_or_else(PoisonError::into_inner) = self.own_waits_for();
        }
    }

    /// Closes pooled connections, each once its requests have ended.
    pub(crate) fn close(&self) {
        self.pools.borrow().iter().for_each(|pool| pool.close());
    }
}
