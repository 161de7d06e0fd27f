//! A worker's part of the connections of each listener.

use std::rc::Rc;
use std::sync::Arc;

use bartizan_deployment::{Carrier, Inbound, Limits, Outbound, Path, Route as RouteTo};
use bartizan_host::sctp;
use tokio::io::unix::AsyncFd;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::spawn_local;

use crate::admin::state::State;
use crate::listening::admission::{Admission, Bounds};
use crate::listening::associations;
use crate::listening::hand_out::Arriving;
use crate::listening::handshake_threads::Authenticated;
use crate::listening::inbound::{self, Function};
use crate::listening::outbound::{self, Routing};
use crate::listening::transparent::{self, Destinations};
use crate::paths::http2::{Pool, Target};
use crate::paths::sctp::takes_over_outbound;
use crate::routing::peers::Upstreams;
use crate::routing::routes::Routes;
use crate::worker::Worker;

/// TLS handshakes under way per listener; beyond, the oldest is evicted. Each holds about 50 kB.
const HANDSHAKES_AT_MOST: usize = 512;

/// Sources of one worker's connections: put together where listeners are opened, and sent to its
/// thread.
#[derive(Debug, Default)]
pub(crate) struct Listeners {
    pub(crate) inbound: Vec<(Inbound, UnboundedReceiver<Authenticated>)>,
    /// With the upstreams that a listener may dial.
    pub(crate) outbound: Vec<(Outbound, Arc<Upstreams>, Arriving)>,
}

impl Listeners {
    /// Begins to serve on the calling thread, which is the worker's. What is given back keeps connections ready.
    pub(crate) fn serve<'a>(self, worker: &'a Rc<Worker>, state: &'a State) -> Routes<'a> {
        for (inbound, arriving) in self.inbound {
            serve_inbound(worker, state, &inbound, arriving);
        }
        let mut routes = Routes::new(worker, state);
        for (outbound, upstreams, arriving) in self.outbound {
            serve_outbound(worker, &upstreams, &mut routes, &outbound, arriving);
        }
        routes
    }
}

fn serve_inbound(worker: &Rc<Worker>, state: &State, inbound: &Inbound, arriving: UnboundedReceiver<Authenticated>) {
    let pool = Pool::new(worker, Target::Function(inbound.forward));
    if inbound.path == Path::Http2 {
        worker.add(&pool);
        state.add_pool(&pool.occupancy);
    }
    let function = Rc::new(Function::new(inbound.forward, pool, inbound.caller));
    spawn_local(inbound::serve_all(Rc::clone(worker), function, inbound.path, arriving));
}

fn serve_outbound(
    worker: &Rc<Worker>,
    upstreams: &Arc<Upstreams>,
    routes: &mut Routes<'_>,
    outbound: &Outbound,
    arriving: Arriving,
) {
    let name = format!("outbound {}", outbound.listen);
    let (shared, served) = (Arc::clone(&worker.shared), Rc::clone(worker));
    let warm = shared.workers.share(outbound.warm);
    let routing = match (&outbound.route, outbound.path) {
        (RouteTo::ByDestination, path) => {
            let destinations = Rc::new(Destinations::new(upstreams, path, warm, routes));
            return arriving.serve(shared, name, move |stream, peer, guard, place| {
                transparent::serve(Rc::clone(&served), Rc::clone(&destinations), stream, peer, guard, place)
            });
        }
        (RouteTo::To(peer), path) => {
            // The deployment was refused where a peer routed to has no inbound listener.
            let Some(upstream) = upstreams.to(peer) else { return };
            // SCTP has listeners of its own.
            if path != Path::Http2 {
                let warm_pool = routes.warm_pool(upstream, warm);
                return arriving.serve(shared, name, move |stream, _, guard, place| {
                    outbound::splice(Arc::clone(&served.shared), Arc::clone(&warm_pool), stream, guard, place)
                });
            }
            Routing::To(routes.route(upstream, warm))
        }
        (RouteTo::ByAuthority, _) => Routing::ByAuthority {
            routes: upstreams
                .upstreams
                .iter()
                .map(|upstream| (upstream.clone(), routes.route(upstream, warm)))
                .collect(),
            upstreams: Arc::clone(upstreams),
        },
    };
    let routing = Rc::new(routing);
    arriving.serve(shared, name, move |stream, _, guard, place| {
        outbound::http2(Rc::clone(&served), Rc::clone(&routing), stream, guard, place)
    });
}

/// Carries the associations of the node's own function to the peer of an outbound listener. The first worker accepts all of them; a thread
/// that is neither's carries them.
pub(crate) fn serve_associations(
    worker: &Rc<Worker>,
    upstreams: &Arc<Upstreams>,
    routes: &mut Routes<'_>,
    outbound: &Outbound,
    listener: AsyncFd<sctp::Listener>,
) {
    let RouteTo::To(peer) = &outbound.route else { return };
    // The deployment was refused where a peer routed to has no inbound listener.
    let Some(upstream) = upstreams.to(peer) else { return };
    let shared = Arc::clone(&worker.shared);
    let admission = Admission::of_this_host(shared.limits.connections);
    let name = format!("outbound {}", outbound.listen);
    let address = listener.get_ref().address().unwrap_or(outbound.listen);
    match upstream.carrier {
        Carrier::Tls => {
            let pool = routes.warm_pool(upstream, outbound.warm);
            takes_over_outbound(&shared, &pool, &admission, address);
            spawn_local(associations::accept_all(shared, listener, name, admission, pool));
        }
        Carrier::Quic => {
            let pool = routes.quic_pool(upstream, outbound.warm);
            takes_over_outbound(&shared, &pool, &admission, address);
            spawn_local(associations::accept_all(shared, listener, name, admission, pool));
        }
    }
}

/// Bounds of a listener for other sidecars' connections. On the `sctp` path they bound associations
/// ([`crate::paths::sctp`]): each has two connections while it moves to another.
pub(crate) fn of_peers(limits: &Limits, path: Path) -> Bounds {
    let times = if path == Path::Sctp { 2 } else { 1 };
    Bounds {
        connections: limits.connections.saturating_mul(times),
        pending: HANDSHAKES_AT_MOST,
        of_one_address: limits.connections_per_address.saturating_mul(times),
        pending_of_one_address: limits.handshakes_per_address,
    }
}
