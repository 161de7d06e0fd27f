//! Listeners for other sidecars.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bartizan_deployment::{InterfaceKind, NodeName, Path};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::answer::{Protocol, answer};
use crate::channel::Channel;
use crate::drain::{Guard, Phase};
use crate::function;
use crate::handshake;
use crate::http2::{self, Pool, Route, Service};
use crate::metrics::{Requests, Side};
use crate::outbound::{LAST_WORD, decide, not_http2};
use crate::places::Place;
use crate::shared::Shared;
use crate::splice::{Ended, Splice};
use crate::until::until;

/// How long saying goodbye may take.
const GOODBYE: Duration = Duration::from_millis(500);

/// The network function behind an inbound listener.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) address: SocketAddr,
    /// Connections to it, on the `http2` path.
    pub(crate) pool: Arc<Pool>,
    /// Requests by the node they come from.
    consumers: Mutex<HashMap<NodeName, Arc<Requests>>>,
}

impl Function {
    pub(crate) fn new(address: SocketAddr, pool: Arc<Pool>) -> Self {
        Self {
            address,
            pool,
            consumers: Mutex::default(),
        }
    }

    fn route(&self, shared: &Shared, consumer: &NodeName) -> Route {
        let mut consumers = self.consumers.lock().unwrap_or_else(PoisonError::into_inner);
        let requests = consumers.entry(consumer.clone()).or_insert_with(|| {
            Arc::new(Requests::new(
                &shared.metrics,
                Side::Inbound,
                consumer.as_str(),
                shared.node.as_str(),
            ))
        });
        Route {
            side: Side::Inbound,
            pool: Arc::clone(&self.pool),
            requests: Arc::clone(requests),
        }
    }
}

/// Serves one connection of another sidecar.
pub(crate) async fn serve(
    shared: Arc<Shared>,
    function: Arc<Function>,
    (interface, path): (InterfaceKind, Path),
    stream: TcpStream,
    peer: SocketAddr,
    mut guard: Guard,
    place: Place,
) {
    let Some(mut channel) = handshake::accept(&shared, stream, peer, interface, path).await else {
        return;
    };
    place.known();
    guard.join(channel.session().dismissal());
    // Connections dialled ahead say nothing until they are used, and hold nothing of the network function.
    let spoken = tokio::select! {
        read = channel.fill_buf() => matches!(read, Ok(bytes) if !bytes.is_empty()),
        () = guard.reached(Phase::Draining) => {
            let read = timeout(LAST_WORD, channel.fill_buf()).await;
            matches!(read, Ok(Ok(bytes)) if !bytes.is_empty())
        }
    };
    if !spoken {
        // The other end keeps it ready: it must learn that this is an end, not an accident.
        let _ = timeout(GOODBYE, channel.shutdown()).await;
        return;
    }
    match path {
        Path::Splice => splice(&shared, &function, channel, guard).await,
        Path::Http2 => http2(&shared, &function, channel, guard).await,
    }
}

async fn splice(shared: &Arc<Shared>, behind: &Function, mut channel: Channel, mut guard: Guard) {
    let mut local = match function::dial(shared, behind.address).await {
        Ok(local) => local,
        Err(failure) => {
            let mut said = Vec::new();
            // What was read belongs to the answer's HTTP/2 server, so that it finds the preface.
            if let Ok(bytes) = channel.fill_buf().await {
                said.extend_from_slice(bytes);
            }
            channel.consume(said.len());
            return answer(shared, Side::Inbound, channel, said, &failure).await;
        }
    };
    shared.metrics.local_connection(Side::Inbound, "splice");
    let splice = Splice::new(&mut local, &mut channel, Vec::new(), shared.limits.request).answered();
    let Some(ended) = until(splice, guard.reached(Phase::Closing)).await else {
        return;
    };
    match ended {
        Ended::Done => {}
        Ended::HalfClosed => shared.metrics.limit_reached("half-closed"),
        Ended::Broken(error) | Ended::Unanswered(_, error) => {
            tracing::debug!(peer = %channel.session().peer, %error, "the peer broke off");
        }
    }
}

async fn http2(shared: &Arc<Shared>, function: &Function, mut channel: Channel, guard: Guard) {
    let mut first = Vec::new();
    let protocol = match channel.read_buf(&mut first).await {
        Ok(_) => decide(shared, &mut channel, &mut first).await,
        Err(error) => Err(error),
    };
    let session = Arc::clone(channel.session());
    let protocol = match protocol {
        Ok(protocol) => protocol,
        Err(error) => {
            tracing::debug!(peer = %session.peer, %error, "the peer broke off in its preface");
            return;
        }
    };
    if protocol != Protocol::Http2 {
        let failure = not_http2(shared, Side::Inbound, protocol);
        return answer(shared, Side::Inbound, channel, first, &failure).await;
    }
    shared.metrics.local_connection(Side::Inbound, "http2");
    let route = function.route(shared, &session.peer);
    let service = Service {
        shared,
        side: Side::Inbound,
        route: |_: &_| {
            session.request();
            Ok(route.clone())
        },
        refuses: false,
    };
    let served = http2::serve(service, channel, first, guard).await;
    if let Err(error) = served {
        shared.metrics.client_error(Side::Inbound, error.reason());
        tracing::debug!(peer = %session.peer, %error, "the peer's connection ended");
    }
}
