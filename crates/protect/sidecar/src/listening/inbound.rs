//! Listeners for other sidecars.

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bartizan_deployment::{CallerHeader, NodeName, Path};
use bartizan_server::contained;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::spawn_local;
use tokio::time::timeout;

use crate::answers::answer::answer;
use crate::dialling::channel::Channel;
use crate::life::drain::{Guard, Phase};
use crate::listening::admission::Slot;
use crate::listening::handshake_threads::Authenticated;
use crate::listening::outbound::{LAST_WORD, decide, not_http};
use crate::metrics::{Requests, Side};
use crate::paths::function;
use crate::paths::http2::{self, Caller, Location, Pool, Reader, ResetAllowance, Route, Service};
use crate::paths::sctp;
use crate::paths::splice::{Ended, Splice};
use crate::runtime::until::until;
use crate::shared::Shared;
use crate::worker::Worker;

/// Longest time for close_notify.
const GOODBYE: Duration = Duration::from_millis(500);

bartizan_registry::made! {
    /// The network function behind an inbound listener.
    #[derive(Debug)]
    pub(crate) struct Function, pub(crate) new(address: SocketAddr, pool: Rc<Pool>, caller: CallerHeader) {
        pub(crate) address: SocketAddr,
        /// Connections to it, on the `http2` path.
        pub(crate) pool: Rc<Pool>,
        /// Header that names the sending peer in requests, if any.
        caller: CallerHeader,
        /// The nodes that requests come from.
        consumers: RefCell<HashMap<NodeName, Consumer>> = RefCell::default(),
    }
}

/// A node that requests come from, with all its connections.
#[derive(Debug, Clone)]
struct Consumer {
    requests: Arc<Requests>,
    reader: Rc<Reader>,
    resets: Rc<ResetAllowance>,
}

impl Function {
    fn consumer(&self, worker: &Worker, node: &NodeName) -> Consumer {
        let mut consumers = self.consumers.borrow_mut();
        let consumer = consumers.entry(node.clone()).or_insert_with(|| Consumer {
            requests: Arc::new(Requests::new(
                &worker.shared.metrics,
                Side::Inbound,
                node.as_str(),
                worker.shared.node.as_str(),
            )),
            reader: Reader::new(&worker.budget, Location::Remote),
            resets: Rc::new(ResetAllowance::new()),
        });
        consumer.clone()
    }
}

/// Serves the connections of other sidecars that were authenticated at a listener, until it is closed.
pub(crate) async fn serve_all(
    worker: Rc<Worker>,
    function: Rc<Function>,
    path: Path,
    mut arriving: UnboundedReceiver<Authenticated>,
) {
    while let Some(Authenticated { channel, guard, slot }) = arriving.recv().await {
        let channel = match channel.attach() {
            Ok(channel) => channel,
            Err(error) => {
                worker.shared.cannot_take("an authenticated connection", &error);
                continue;
            }
        };
        let (worker, function) = (Rc::clone(&worker), Rc::clone(&function));
        let used = used(channel, guard);
        // A task of each kind: associations are idle for days, and one of requests is several times as large.
        match path {
            Path::Sctp => spawn_local(contained(async move {
                if let Some((channel, guard)) = used.await {
                    serve_association(&worker.shared, function.address, channel, guard, slot);
                }
            })),
            Path::Splice => spawn_local(contained(async move {
                if let Some((channel, guard)) = used.await {
                    splice(&worker.shared, &function, channel, guard).await;
                }
                drop(slot);
            })),
            Path::Http2 => spawn_local(contained(async move {
                if let Some((channel, guard)) = used.await {
                    http2(&worker, &function, channel, guard).await;
                }
                drop(slot);
            })),
        };
    }
}

/// Hands the association of one connection of another sidecar to the event loop for it.
fn serve_association(shared: &Arc<Shared>, forward: SocketAddr, channel: Channel, guard: Guard, slot: Slot) {
    let carried = shared.carriers.tls().and_then(|carriers| {
        let channel = channel.detach()?.attach_to(&carriers)?;
        Ok((channel, carriers))
    });
    match carried {
        Ok((channel, carriers)) => {
            carriers.spawn(contained(sctp::inbound(
                Arc::clone(shared),
                forward,
                channel,
                guard,
                slot,
                None,
            )));
        }
        Err(error) => shared.cannot_take("an authenticated connection", &error),
    }
}

/// Waits until a connection is used; none where it ended before.
async fn used(mut channel: Channel, mut guard: Guard) -> Option<(Channel, Guard)> {
    guard.join(channel.session().dismissal());
    // Connections dialled ahead carry nothing until they are used, and hold nothing of the network function.
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
        return None;
    }
    Some((channel, guard))
}

async fn splice(shared: &Arc<Shared>, behind: &Function, mut channel: Channel, mut guard: Guard) {
    let mut local = match function::dial(shared, behind.address).await {
        Ok(local) => local,
        Err(failure) => {
            let mut first = Vec::new();
            // Bytes that were read belong to the answer's HTTP/2 server, so that it finds the
            // preface.
            if let Ok(bytes) = channel.fill_buf().await {
                first.extend_from_slice(bytes);
            }
            channel.consume(first.len());
            return answer(shared, Side::Inbound, channel, first, &failure).await;
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

async fn http2(worker: &Worker, function: &Function, mut channel: Channel, guard: Guard) {
    let shared = &worker.shared;
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
    let Some(version) = protocol.version() else {
        shared.failure_log.log(
            "a connection closed",
            &not_http(shared, Side::Inbound, session.peer.as_str()),
        );
        return;
    };
    shared.metrics.local_connection(Side::Inbound, "http2");
    let consumer = function.consumer(worker, &session.peer);
    let route = Route {
        side: Side::Inbound,
        pool: Rc::clone(&function.pool),
        requests: consumer.requests,
        session: Some(Arc::clone(&session)),
    };
    let service = Service {
        shared,
        side: Side::Inbound,
        reader: consumer.reader,
        resets: consumer.resets,
        route: |_: &_| {
            session.request();
            Ok(route.clone())
        },
        caller: match function.caller {
            CallerHeader::None => Caller::Peer(None),
            CallerHeader::XForwardedClientCert => Caller::named(session.leaf.as_ref()),
        },
        refuses: false,
    };
    let served = http2::serve(service, version, channel, first, guard).await;
    if let Err(error) = served {
        shared.metrics.client_error(Side::Inbound, error.reason());
        tracing::debug!(peer = %session.peer, %error, "the peer's connection ended");
    }
}
