//! The ways to peers that a sidecar's outbound listeners share: pools and stocks, one of each per door.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use tokio::task::spawn_local;

use crate::admin::state::State;
use crate::dialling::warm::Stock;
use crate::metrics::{Requests, Side};
use crate::paths::http2::{Pool, Route, Target};
use crate::routing::peers::Door;
use crate::worker::Worker;

/// Collects what outbound listeners need, while they are set up.
#[derive(Debug)]
pub(crate) struct Ways<'a> {
    worker: &'a Rc<Worker>,
    state: &'a State,
    routes: HashMap<Door, Route>,
    stocks: HashMap<Door, Arc<Stock>>,
}

impl<'a> Ways<'a> {
    pub(crate) fn new(worker: &'a Rc<Worker>, state: &'a State) -> Self {
        Self {
            worker,
            state,
            routes: HashMap::new(),
            stocks: HashMap::new(),
        }
    }

    /// The pool that leads to `door`, with at least `warm` connections kept open.
    pub(crate) fn route(&mut self, door: &Door, warm: usize) -> Route {
        let route = self.routes.entry(door.clone()).or_insert_with(|| {
            let shared = &self.worker.shared;
            let pool = Pool::new(self.worker, Target::Peer(door.clone()));
            self.worker.add(&pool);
            self.state.add_pool(pool.occupancy());
            let (consumer, producer) = (shared.node.as_str(), door.peer.as_str());
            let requests = Requests::new(&shared.metrics, Side::Outbound, consumer, producer);
            Route {
                side: Side::Outbound,
                pool,
                requests: Arc::new(requests),
            }
        });
        route.pool.want_ready(warm);
        route.clone()
    }

    /// The stock of connections to `door`, of which at least `warm` are kept ready.
    pub(crate) fn stock(&mut self, door: &Door, warm: usize) -> Arc<Stock> {
        let stock = self.stocks.entry(door.clone()).or_insert_with(|| {
            let stock = Stock::new(&self.worker.shared, door.clone());
            self.state.add_stock(&stock);
            stock
        });
        stock.want_ready(warm);
        Arc::clone(stock)
    }

    /// Begins to keep connections open and ready.
    pub(crate) fn keep(self) {
        for route in self.routes.into_values() {
            spawn_local(route.pool.keep());
        }
        for stock in self.stocks.into_values() {
            tokio::spawn(stock.keep());
        }
    }
}
