//! Listeners that the packet filter redirects connections to: each goes on to its original destination.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use bartizan_deployment::Path;
use tokio::net::TcpStream;

use crate::answers::failure::{Failure, Why};
use crate::dialling::warm::WarmPool;
use crate::life::drain::Guard;
use crate::listening::admission::Slot;
use crate::listening::outbound::{self, Routing};
use crate::routing::peers::{Upstream, Upstreams};
use crate::routing::routes::Routes;
use crate::worker::Worker;
use bartizan_redirect as redirect;

bartizan_registry::made! {
    /// Destinations of a transparent listener's connections, by their original destination.
    #[derive(Debug)]
    pub(crate) struct Destinations,
    /// A route to each upstream of `upstreams` on `path`, each with `warm` connections kept ready.
    pub(crate) new(upstreams: &Arc<Upstreams>, path: Path, warm: usize, routes: &mut Routes<'_>) {
        // Only TCP is led here.
        let upstreams_over_tcp = upstreams
            .upstreams
            .iter()
            .filter(|upstream| path.carries(upstream.interface));
        let onward = upstreams_over_tcp.map(|upstream| {
            let onward = match path {
                // The file is refused where one would be for SCTP.
                Path::Splice | Path::Sctp => Onward::Splice(routes.warm_pool(upstream, warm)),
                Path::Http2 => Onward::Http2(Rc::new(Routing::To(routes.route(upstream, warm)))),
            };
            (upstream.clone(), onward)
        });
        upstreams: Arc<Upstreams> = Arc::clone(upstreams),
        onward: HashMap<Upstream, Onward> = onward.collect(),
    }
}

/// On one of the two paths.
#[derive(Debug)]
enum Onward {
    Splice(Arc<WarmPool>),
    Http2(Rc<Routing>),
}

impl Destinations {
    fn find(&self, destination: io::Result<SocketAddr>) -> Result<&Onward, Failure> {
        let refused = |peer: &str, detail: String, hint: &str| Failure::new(peer, Why::NoRoute, detail, hint);
        let destination = destination.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => refused(
                "unknown",
                error.to_string(),
                "send to the peer's own address: this listener is for what `bartizan sidecar redirect install` leads here",
            ),
            _ => refused(
                "unknown",
                format!("the original destination cannot be read: {error}"),
                "is nf_conntrack in this kernel? see `bartizan sidecar redirect show`",
            ),
        })?;
        let upstream = self.upstreams.at(destination).map_err(|error| {
            refused(
                error.peer(),
                error.to_string(),
                "destinations are the `service` addresses of inbound listeners in the deployment file; \
                 add the node, or an interface to it, then run `bartizan sidecar redirect install`",
            )
        })?;
        self.onward.get(upstream).ok_or_else(|| {
            refused(
                upstream.peer.as_str(),
                format!("{destination} has no route"),
                "restart this sidecar",
            )
        })
    }
}

/// Serves one connection that the packet filter redirected.
pub(crate) async fn serve(
    worker: Rc<Worker>,
    destinations: Rc<Destinations>,
    stream: TcpStream,
    peer: SocketAddr,
    guard: Guard,
    slot: Slot,
) {
    // Our own probe of the rules: that it was accepted is the answer.
    if redirect::is_probe(peer) {
        return;
    }
    match destinations.find(redirect::original_destination(&stream)) {
        Ok(Onward::Splice(warm_pool)) => {
            outbound::splice(Arc::clone(&worker.shared), Arc::clone(warm_pool), stream, guard, slot).await;
        }
        Ok(Onward::Http2(routing)) => outbound::http2(worker, Rc::clone(routing), stream, guard, slot).await,
        Err(failure) => outbound::refuse(&worker.shared, stream, guard, &failure).await,
    }
}
