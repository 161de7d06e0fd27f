//! Routes to upstreams that a sidecar's outbound listeners share: pools of the `http2` path and warm pools of the `splice` path, one of each per upstream.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use tokio::task::spawn_local;

use crate::admin::state::State;
use crate::dialling::quic::QuicChannel;
use crate::dialling::warm::WarmPool;
use crate::metrics::{Requests, Side};
use crate::paths::http2::{Pool, Route, Target};
use crate::routing::peers::Upstream;
use crate::worker::Worker;

bartizan_registry::made! {
    /// Collects what outbound listeners need, while they are set up.
    #[derive(Debug)]
    pub(crate) struct Routes<'a>, pub(crate) new(worker: &'a Rc<Worker>, state: &'a State) {
        worker: &'a Rc<Worker>,
        state: &'a State,
        routes: HashMap<Upstream, Route> = HashMap::new(),
        warm_pools: HashMap<Upstream, Arc<WarmPool>> = HashMap::new(),
        quic_pools: HashMap<Upstream, Arc<WarmPool<QuicChannel>>> = HashMap::new(),
    }
}

impl<'a> Routes<'a> {
    /// The pool that leads to `upstream`, with at least `warm` connections kept open.
    pub(crate) fn route(&mut self, upstream: &Upstream, warm: usize) -> Route {
        let route = self.routes.entry(upstream.clone()).or_insert_with(|| {
            let shared = &self.worker.shared;
            let pool = Pool::new(self.worker, Target::Peer(upstream.clone()));
            self.worker.add(&pool);
            self.state.add_pool(&pool.occupancy);
            let (consumer, producer) = (shared.node.as_str(), upstream.peer.as_str());
            let requests = Requests::new(&shared.metrics, Side::Outbound, consumer, producer);
            Route {
                side: Side::Outbound,
                pool,
                requests: Arc::new(requests),
                session: None,
            }
        });
        route.pool.want_ready(warm);
        route.clone()
    }

    /// The warm_pool of connections to `upstream`, of which at least `warm` are kept ready.
    pub(crate) fn warm_pool(&mut self, upstream: &Upstream, warm: usize) -> Arc<WarmPool> {
        let warm_pool = self.warm_pools.entry(upstream.clone()).or_insert_with(|| {
            let warm_pool = WarmPool::new(&self.worker.shared, upstream.clone());
            self.state.add_warm_pool(Arc::clone(&warm_pool) as _);
            warm_pool
        });
        warm_pool.want_ready(warm);
        Arc::clone(warm_pool)
    }

    /// The same of connections over QUIC.
    pub(crate) fn quic_pool(&mut self, upstream: &Upstream, warm: usize) -> Arc<WarmPool<QuicChannel>> {
        let pool = self.quic_pools.entry(upstream.clone()).or_insert_with(|| {
            let pool = WarmPool::new(&self.worker.shared, upstream.clone());
            self.state.add_warm_pool(Arc::clone(&pool) as _);
            pool
        });
        pool.want_ready(warm);
        Arc::clone(pool)
    }

    /// Begins to keep connections open and ready.
    pub(crate) fn keep(self) {
        for route in self.routes.into_values() {
            spawn_local(route.pool.keep());
        }
        for warm_pool in self.warm_pools.into_values() {
            tokio::spawn(warm_pool.keep());
        }
        for pool in self.quic_pools.into_values() {
            tokio::spawn(pool.keep());
        }
    }
}
