//! What one thread serves by, and no other thread touches.
//!
//! A request is read from one connection and leaves by another in the same turn of one task; what two connections know of each
//! other must agree in between. So everything that requests pass through belongs to one thread, by its types: it is held by `Rc`,
//! and the compiler refuses to send it to another. More cores take more workers, each with its own runtime, listeners
//! (`SO_REUSEPORT`) and pools; they share certificates, counters and the ledger, which are made for it ([`Shared`]).

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use crate::paths::http2::{Budget, Pool, WaitsFor};
use crate::shared::Shared;

/// What one thread serves by.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) shared: Arc<Shared>,
    /// What the readers of all its connections may leave waiting.
    pub(crate) budget: Rc<Budget>,
    pools: RefCell<Vec<Rc<Pool>>>,
}

impl Worker {
    pub(crate) fn new(shared: &Arc<Shared>) -> Rc<Self> {
        Rc::new(Self {
            shared: Arc::clone(shared),
            budget: Rc::default(),
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

    /// What the node's own network function waits for.
    pub(crate) fn waits_for(&self) -> Option<WaitsFor> {
        let pools = self.pools.borrow();
        let to_peers = pools.iter().filter(|pool| pool.leads_to_a_peer());
        to_peers.filter_map(|pool| pool.unanswered()).reduce(WaitsFor::and)
    }

    /// Closes pooled connections, each once its requests have ended.
    pub(crate) fn close(&self) {
        self.pools.borrow().iter().for_each(|pool| pool.close());
    }
}
