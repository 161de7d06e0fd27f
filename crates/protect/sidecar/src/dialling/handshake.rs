//! TLS handshakes of both directions: bounded in time, judged, recorded.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bartizan_deployment::{InterfaceKind, NodeName, Path};
use bartizan_ledger::{Bytes, Direction, Event, Handshake, Times, Verdict};
use bartizan_server::network;
use bartizan_tls::{Accepting, Connecting, PeerIdentity, Reason, Refused};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::rustls::server::Acceptor;
use tokio_rustls::server::TlsStream;
use tokio_rustls::{LazyConfigAcceptor, TlsConnector};

use crate::answers::failure::{Failure, Why};
use crate::dialling::channel::Channel;
use crate::dialling::session::{Leg, Session};
use crate::dialling::tap::Tap;
use crate::dialling::turns::in_turn;
use crate::listening::socket;
use crate::metrics::Side;
use crate::routing::peers::Upstream;
use crate::shared::Shared;

/// Longest wait for a refused peer's last bytes, so that closing the socket does not destroy the
/// alert on its way.
const LINGER: Duration = Duration::from_millis(500);
/// Largest number of these bytes that is read.
const LINGER_BYTES: usize = 64 * 1024;

/// Dials the sidecar of a peer and completes the handshake.
pub(crate) async fn connect(shared: &Arc<Shared>, upstream: &Upstream, path: Path) -> Result<Channel, Failure> {
    let peer = upstream.peer.as_str();
    let failed = |why: Why, detail: String, hint: &str| Failure::new(peer, why, detail, hint);
    // Before the endpoint is taken: a reload in between is then seen as one.
    let generation = shared.endpoint.generation();
    shared
        .refusing
        .may_dial(peer, upstream.interface.name(), generation, Instant::now())?;
    let connecting = shared
        .endpoint
        .endpoint()
        .connect(peer, upstream.interface)
        .map_err(|error| {
            failed(
                Why::Peer(Reason::Ours),
                error.to_string(),
                error.hint().unwrap_or("see the log of this sidecar"),
            )
        })?;
    let unreachable = Why::Peer(Reason::Unreachable);
    let hint = || {
        let (end, address) = (upstream.end(), upstream.address);
        format!("is {end} running, and can {address} be reached from here?")
    };
    let began = Instant::now();
    let dialled = match timeout(shared.limits.connect, TcpStream::connect(upstream.address)).await {
        Ok(dialled) => {
            dialled.map_err(|error| Failure::undialled(peer, (upstream.address, &error), unreachable, hint()))
        }
        Err(_) => {
            shared.metrics.limit_reached("connect");
            let waited = shared.limits.connect;
            let detail = format!("{}: no answer to TCP within {waited:?}", upstream.address);
            Err(failed(unreachable, detail, &hint()))
        }
    };
    let stream = dialled.inspect_err(|failure| {
        let reason = failure.why.as_str();
        shared.metrics.handshake_failed(Side::Outbound, peer, reason);
    })?;
    let connect = began.elapsed();
    if path == Path::Http2 {
        socket::expect_acknowledgements(&stream, shared.limits.stall);
    }
    let prepared = socket::prepare(&stream).and_then(|()| stream.local_addr());
    let local_address = prepared.map_err(|error| {
        let hint = format!("the connection went away at once; see the log of {}", upstream.end());
        failed(unreachable, format!("{}: {error}", upstream.address), &hint)
    })?;
    let leg = Leg {
        direction: Direction::Outbound,
        interface: upstream.interface,
        path,
        local_address,
        peer_address: upstream.address,
        connect,
        handshake: Duration::ZERO,
    };
    let channel = handshake_out(shared, stream, connecting, leg, generation)
        .await
        .map_err(|refused| refused_out(shared, &refused, leg, upstream, generation))?;
    still_admitted(channel.session(), upstream)?;
    Ok(channel)
}

/// Refuses a connection that a reload during its handshake no longer admits; the end of the session
/// has the reason in the ledger.
pub(crate) fn still_admitted(session: &Session, upstream: &Upstream) -> Result<(), Failure> {
    match session.fallen() {
        None => Ok(()),
        Some(refusal) => {
            let why = Why::Peer(refusal.reason);
            Err(Failure::new(
                upstream.peer.as_str(),
                why,
                &refusal.detail,
                &refusal.hint,
            ))
        }
    }
}

/// A handshake that this sidecar began was refused, by either end: the next waits.
pub(crate) fn refused_out(
    shared: &Shared,
    refused: &Refused,
    leg: Leg,
    upstream: &Upstream,
    generation: u64,
) -> Failure {
    record_refusal(shared, refused, leg, Some(upstream));
    let failure = Failure::refused(upstream.peer.as_str(), refused);
    if is_judged(refused.reason) {
        shared
            .refusing
            .refused(leg.interface.name(), generation, failure.clone(), Instant::now());
    }
    failure
}

/// Tells whether either end decided; a connection that broke off may have met a restart.
fn is_judged(reason: Reason) -> bool {
    !matches!(reason, Reason::Closed | Reason::TimedOut | Reason::Unreachable)
}

async fn handshake_out(
    shared: &Arc<Shared>,
    stream: TcpStream,
    connecting: Connecting,
    mut leg: Leg,
    generation: u64,
) -> Result<Channel, Box<Refused>> {
    let Connecting { config, name, watch } = connecting;
    let began = Instant::now();
    let tap = Tap::new(stream, watch.clone());
    let tls = match timeout(shared.limits.handshake, TlsConnector::from(config).connect(name, tap)).await {
        Ok(tls) => tls.map_err(|error| watch.failed(&error))?,
        Err(_) => {
            shared.metrics.limit_reached("handshake");
            return Err(watch.timed_out());
        }
    };
    let mut tls = tls;
    let established = watch.finish_client(tls.get_ref().1)?;
    tls.get_mut().0.handshake_ended();
    leg.handshake = began.elapsed();
    let session = Session::open(shared, established, leg, generation);
    Ok(Channel::new(tls.into(), session, watch))
}

/// Completes the handshake of a sidecar that connected. What goes wrong is recorded here: no caller could report it.
pub(crate) async fn accept(
    shared: &Arc<Shared>,
    stream: TcpStream,
    peer_address: SocketAddr,
    interface: InterfaceKind,
    path: Path,
) -> Option<Channel> {
    let local_address = match stream.local_addr() {
        Ok(address) => address,
        Err(error) => {
            tracing::debug!(%peer_address, %error, "connection went away before its handshake");
            return None;
        }
    };
    if path == Path::Http2 {
        socket::expect_acknowledgements(&stream, shared.limits.stall);
    }
    let mut leg = Leg {
        direction: Direction::Inbound,
        interface,
        path,
        local_address,
        peer_address,
        connect: Duration::ZERO,
        handshake: Duration::ZERO,
    };
    let generation = shared.endpoint.generation();
    let accepting = shared.endpoint.endpoint().accept_any(interface);
    let watch = accepting.watch.clone();
    let tap = Tap::new(stream, watch.clone());
    let began = Instant::now();
    let refused = match timeout(shared.limits.handshake, answer_hello(&accepting, tap)).await {
        Ok(Ok(mut tls)) => match watch.finish_server(tls.get_ref().1) {
            Ok(established) => {
                tls.get_mut().0.handshake_ended();
                leg.handshake = began.elapsed();
                let session = Session::open(shared, established, leg, generation);
                let admitted = session.fallen().is_none();
                return admitted.then(|| Channel::new(tls.into(), session, watch));
            }
            Err(refused) => {
                leg.handshake = began.elapsed();
                record_refusal(shared, &refused, leg, None);
                // The best a finished handshake allows: close_notify, and the reason in our ledger.
                linger(tls).await;
                return None;
            }
        },
        Ok(Err((error, tap))) => {
            let refused = watch.failed(&error);
            leg.handshake = began.elapsed();
            record_refusal(shared, &refused, leg, None);
            if let Some(tap) = tap {
                linger(tap).await;
            }
            return None;
        }
        Err(_) => {
            shared.metrics.limit_reached("handshake");
            watch.timed_out()
        }
    };
    leg.handshake = began.elapsed();
    record_refusal(shared, &refused, leg, None);
    None
}

/// Reads the hello first: which groups are offered to a client depends on whether it has a post-quantum one.
async fn answer_hello(
    accepting: &Accepting,
    tap: Tap<TcpStream>,
) -> Result<TlsStream<Tap<TcpStream>>, (io::Error, Option<Tap<TcpStream>>)> {
    let mut hello = LazyConfigAcceptor::new(Acceptor::default(), tap);
    let start = match (&mut hello).await {
        Ok(start) => start,
        Err(error) => return Err((error, hello.take_io())),
    };
    let config = accepting.config_for(&start.client_hello());
    let answered = in_turn(start.into_stream(config).into_fallible()).await;
    answered.map_err(|(error, tap)| (error, Some(tap)))
}

/// Closes our half and reads what the peer has under way: a socket closed with bytes unread answers with a reset, and a reset
/// overtakes the alert with the reason.
async fn linger<IO: AsyncReadExt + AsyncWriteExt + Unpin>(mut stream: IO) {
    let rest = async {
        stream.shutdown().await?;
        let mut buffer = [0; 1024];
        let mut left = LINGER_BYTES;
        while left > 0 {
            match stream.read(&mut buffer).await? {
                0 => break,
                read => left = left.saturating_sub(read),
            }
        }
        io::Result::Ok(())
    };
    // In every case the refusal is in the ledger.
    let _ = timeout(LINGER, rest).await;
}

pub(crate) fn record_refusal(shared: &Shared, refused: &Refused, leg: Leg, upstream: Option<&Upstream>) {
    let side = Side::from(leg.direction);
    let peer = refused
        .peer
        .as_ref()
        .map(NodeName::as_str)
        .or(upstream.map(|upstream| upstream.peer.as_str()));
    shared
        .metrics
        .handshake_failed(side, peer.unwrap_or("unknown"), refused.reason.as_str());
    if let Some(peer) = peer.filter(|_| is_judged(refused.reason)) {
        shared.metrics.refused(peer, refused.reason.as_str());
    }
    let event = Event::Handshake(Box::new(Handshake {
        key: refused.key,
        interface: leg.interface.name().to_owned(),
        direction: leg.direction,
        peer: peer.map(str::to_owned),
        local_address: leg.local_address,
        peer_address: leg.peer_address,
        negotiated: refused.negotiated.clone(),
        chain: refused.chain.clone(),
        local_chain: Vec::new(),
        bytes: Bytes { ..refused.bytes },
        times: Times { ..leg.times() },
        verdict: Verdict::Refused {
            reason: refused.reason.as_str().to_owned(),
            detail: refused.detail.clone(),
        },
    }));
    match (refused.identity, leg.direction) {
        (PeerIdentity::Proven, Direction::Inbound) => shared.recorder.record(event),
        // Our own network function's requests cause them, in any number.
        _ => shared.recorder.refuse(event),
    }
    if leg.direction == Direction::Inbound {
        // One host has a network of IPv6 to itself.
        let who = peer.map_or_else(|| network(leg.peer_address.ip()).to_string(), str::to_owned);
        shared
            .failure_log
            .log(what_happened(refused.reason), &Failure::refused(&who, refused));
    }
}

/// Log line for a handshake that another sidecar began, by the party that ended it.
fn what_happened(reason: Reason) -> &'static str {
    match reason {
        Reason::PeerRefused => "a sidecar that connected refused this one",
        Reason::Closed => "a connection ended before its handshake",
        Reason::TimedOut => "a handshake did not end in time",
        Reason::Ours => "a handshake failed by a fault of this sidecar",
        _ => "refused a sidecar",
    }
}
