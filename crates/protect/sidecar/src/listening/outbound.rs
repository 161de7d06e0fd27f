//! Listeners for the node's own network function.

use std::collections::HashMap;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bartizan_http2::Fields;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::answers::answer::{PREFACE, Protocol, answer};
use crate::answers::failure::{Failure, Why};
use crate::dialling::warm::WarmPool;
use crate::life::drain::{Guard, Phase};
use crate::listening::admission::Slot;
use crate::listening::socket;
use crate::metrics::Side;
use crate::paths::http2::{self, Caller, Location, Reader, ResetAllowance, Route, Service};
use crate::paths::splice::{Ended, Splice};
use crate::routing::authority::Authority;
use crate::routing::peers::{NoUpstream, Upstream, Upstreams};
use crate::runtime::until::until;
use crate::shared::Shared;
use crate::worker::Worker;

/// The most that is read before the protocol of a local connection is decided on.
const FIRST_READ: usize = 16 * 1024;

/// Longest time to read a connection that has sent nothing yet once draining has begun: its first
/// request may be on its way.
pub(crate) const LAST_WORD: Duration = Duration::from_millis(250);

/// Destination of an `http2` listener's requests.
#[derive(Debug)]
pub(crate) enum Routing {
    /// All to one peer.
    To(Route),
    /// Each to the peer it names.
    ByAuthority {
        upstreams: Arc<Upstreams>,
        routes: HashMap<Upstream, Route>,
    },
}

/// Waits for the first bytes of the network function's connection. `None` where there will be none.
async fn first_bytes(local: &mut TcpStream, guard: &mut Guard) -> Option<Vec<u8>> {
    // An idle connection holds no buffer.
    let readable = tokio::select! {
        readable = local.readable() => readable.is_ok(),
        () = guard.reached(Phase::Draining) => timeout(LAST_WORD, local.readable()).await.is_ok_and(|ready| ready.is_ok()),
    };
    if !readable {
        return None;
    }
    let mut first = Vec::with_capacity(FIRST_READ);
    match local.read_buf(&mut first).await {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(first),
    }
}

/// Serves one local connection on the `splice` path.
pub(crate) async fn splice(
    shared: Arc<Shared>,
    warm_pool: Arc<WarmPool>,
    mut local: TcpStream,
    mut guard: Guard,
    slot: Slot,
) {
    shared.metrics.local_connection(Side::Outbound, "splice");
    // A peer's connection is taken only for a function that has sent something.
    let Some(first) = first_bytes(&mut local, &mut guard).await else {
        return;
    };
    slot.establish();
    let mut channel = match warm_pool.take().await {
        Ok(channel) => channel,
        Err(failure) => return answer(&shared, Side::Outbound, local, first, &failure).await,
    };
    guard.join(channel.session().dismissal());
    let splice = Splice::new(&mut local, &mut channel, first, shared.limits.request);
    let Some(ended) = until(splice, guard.reached(Phase::Closing)).await else {
        return;
    };
    match ended {
        Ended::Done => {}
        Ended::HalfClosed => shared.metrics.limit_reached("half-closed"),
        Ended::Broken(error) => {
            tracing::debug!(peer = warm_pool.peer(), %error, "the peer broke off");
        }
        Ended::Unanswered(sent, error) => {
            let failure = match channel.session().refusal() {
                Some(refused) => Failure::refused(warm_pool.peer(), refused),
                None => Failure {
                    peer: warm_pool.peer().to_owned(),
                    why: Why::Broken,
                    detail: format!("the connection ended before an answer came: {error}"),
                    hint: format!("see the log of {}", warm_pool.end()),
                },
            };
            drop(channel);
            match sent {
                Some(sent) => answer(&shared, Side::Outbound, local, sent, &failure).await,
                None => shared.failure_log.log("no answer, and too late to send one", &failure),
            }
        }
    }
}

/// Answers one local connection in place of a producer that it cannot be led to.
pub(crate) async fn refuse(shared: &Arc<Shared>, mut local: TcpStream, mut guard: Guard, failure: &Failure) {
    if let Some(first) = first_bytes(&mut local, &mut guard).await {
        answer(shared, Side::Outbound, local, first, failure).await;
    }
}

/// Serves one local connection on the `http2` path.
pub(crate) async fn http2(
    worker: Rc<Worker>,
    routing: Rc<Routing>,
    mut local: TcpStream,
    mut guard: Guard,
    slot: Slot,
) {
    let shared = &worker.shared;
    shared.metrics.local_connection(Side::Outbound, "http2");
    socket::expect_acknowledgements(&local, shared.limits.stall);
    let Some(mut first) = first_bytes(&mut local, &mut guard).await else {
        return;
    };
    let protocol = match decide(shared, &mut local, &mut first).await {
        Ok(protocol) => protocol,
        Err(error) => {
            tracing::debug!(%error, "local connection ended in its preface");
            return;
        }
    };
    let Some(version) = protocol.version() else {
        let failure = not_http(shared, Side::Outbound, routing.peer());
        return shared.failure_log.log("a connection closed", &failure);
    };
    let service = Service {
        shared,
        side: Side::Outbound,
        reader: Reader::new(&worker.budget, Location::Local),
        resets: Rc::new(ResetAllowance::new()),
        route: |head: &_| {
            slot.establish();
            routing.route(head)
        },
        caller: Caller::Function,
        refuses: false,
    };
    let served = http2::serve(service, version, local, first, guard).await;
    if let Err(error) = served {
        shared.metrics.client_error(Side::Outbound, error.reason());
        tracing::debug!(%error, "local connection ended");
    }
}

/// Reads on until the protocol is decided: the preface may come in pieces.
pub(crate) async fn decide<IO: AsyncReadExt + Unpin>(
    shared: &Shared,
    stream: &mut IO,
    first: &mut Vec<u8>,
) -> io::Result<Protocol> {
    let mut protocol = Protocol::of(first);
    while protocol == Protocol::Undecided && first.len() < PREFACE.len() {
        let read = timeout(shared.limits.handshake, stream.read_buf(first)).await;
        if read?? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        protocol = Protocol::of(first);
    }
    Ok(protocol)
}

/// The failure of a client that does not speak HTTP where requests are to be routed. There is no
/// answer that it would understand.
pub(crate) fn not_http(shared: &Shared, side: Side, peer: &str) -> Failure {
    shared.metrics.client_error(side, "not-http");
    Failure {
        peer: peer.to_owned(),
        why: Why::NotHttp,
        detail: "the client speaks something that is not HTTP, and this listener's path is http2".to_owned(),
        hint: "use HTTP/2 with prior knowledge (TS 29.500, clause 5.2) or HTTP/1.1, or give both ends of the link `path: splice`"
            .to_owned(),
    }
}

impl Routing {
    /// The peer of the connections, where it is known before the first request.
    fn peer(&self) -> &str {
        match self {
            Self::To(route) => &route.pool.peer,
            Self::ByAuthority { .. } => "unknown",
        }
    }

    /// The route of a request.
    fn route(&self, head: &Fields) -> Result<Route, Failure> {
        match self {
            Self::To(route) => Ok(route.clone()),
            Self::ByAuthority { upstreams, routes } => find(upstreams, routes, head).cloned(),
        }
    }
}

fn find<'a>(upstreams: &Upstreams, routes: &'a HashMap<Upstream, Route>, head: &Fields) -> Result<&'a Route, Failure> {
    let failed = |target: String, detail: String| {
        Failure {
        peer: target,
        why: Why::NoRoute,
        detail,
        hint: "targets are found by node name, DNS or IP name or address of the deployment file; add the node and an interface to it"
            .to_owned(),
    }
    };
    let target = Authority::of(head).map_err(|text| failed("unknown".to_owned(), format!("`{text}` names no host")))?;
    let upstream = upstreams
        .find(&target)
        .map_err(|error: NoUpstream| failed(error.peer().to_owned(), error.to_string()))?;
    routes
        .get(upstream)
        .ok_or_else(|| failed(upstream.peer.to_string(), format!("{target} has no route")))
}
