//! QUIC connections to other sidecars: dialled, accepted, judged and recorded as those over TCP.
//!
//! One carries one association, as a TLS connection does: its handshake's key in the ledger, its review, its end for idleness and its
//! congestion are those of the association alone, and one that breaks the protocol takes no other with it.

mod congestion;
mod reset;

use std::future::Future;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use bartizan_deployment::{InterfaceKind, Path};
use bartizan_gateway::WINDOW;
use bartizan_ledger::Direction;
use bartizan_tls::{ConnectingQuic, QuicHandshake, Reason, Refused, listening_quic};
use quinn::{
    ClientConfig, Connection, ConnectionError, Endpoint, EndpointConfig, IdleTimeout, Incoming, ServerConfig,
    TokioRuntime, TransportConfig, VarInt,
};
use tokio::runtime::Handle;
use tokio::time::timeout;

use self::congestion::Signalling;
use self::reset::{ResetKey, resettable};
use crate::answers::failure::{Failure, Why};
use crate::dialling::handshake::{record_refusal, refused_out, still_admitted};
use crate::dialling::session::{Leg, Session};
use crate::dialling::warm::Dialled;
use crate::metrics::Side;
use crate::routing::peers::Upstream;
use crate::shared::Shared;

/// A connection says something that often: a path that is gone is noticed, and a peer's sidecar
/// that was started anew, which resets it, within a second.
const KEEP_ALIVE: Duration = Duration::from_millis(800);
/// Time for a sign of life beyond three round trips.
const LIFE: Duration = Duration::from_millis(100);
/// Nothing at all was received for so long. Longer than an association waits for its peer node, which has the better word for it.
const SILENCE: Duration = Duration::from_secs(12);
/// Streams of messages that a peer may have open: each of the 64 of an association with its ordered and its unordered messages.
pub(crate) const LANES: u32 = 2 * 64;
/// As many as it may have open at first: the protocol keeps a place for each, and most associations use two.
pub(crate) const FIRST_LANES: u32 = 16;
/// Room that the frames' own headers, and those of the association's life, take on top of a window
/// of messages.
const OVERHEAD: u32 = 64 * 1024;
/// Bytes of a handshake that may be there while others before them are missing: a chain of ML-DSA has 10 to 20 kB.
const CRYPTO: usize = 64 * 1024;
/// Packets of connections that are not accepted yet, each.
const INCOMING: u64 = 16 * 1024;
/// The same of all of them.
const INCOMING_ALL: u64 = 4 * 1024 * 1024;
/// Connections that wait to be accepted.
const BACKLOG: usize = 1024;

bartizan_registry::made! {
    /// An established QUIC connection and its account.
    pub(crate) struct QuicChannel, new(connection: Connection, session: Arc<Session>, handshake: QuicHandshake) {
        pub(crate) connection: Connection,
        session: Arc<Session>,
        /// Set until the peer's first byte.
        handshake: Option<QuicHandshake> = Some(handshake),
        /// Awaited while it is kept ready.
        closed: Option<Pin<Box<dyn Future<Output = ConnectionError> + Send>>> = None,
    }
}

impl std::fmt::Debug for QuicChannel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("QuicChannel")
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}

/// The socket that connections to a peer are dialled from.
#[derive(Debug, Default)]
pub(crate) struct Dialler {
    endpoint: Mutex<Option<Endpoint>>,
}

/// Windows of messages are the gateway's; QUIC's are as large, so that none of its streams waits for another's reader.
fn transport() -> Arc<TransportConfig> {
    // Both are far below 2^62.
    let window = VarInt::from_u32(WINDOW as u32 + OVERHEAD);
    let mut transport = TransportConfig::default();
    transport
        .max_concurrent_bidi_streams(VarInt::from_u32(1))
        .max_concurrent_uni_streams(VarInt::from_u32(FIRST_LANES))
        .stream_receive_window(window)
        .receive_window(window)
        .send_window(2 * WINDOW as u64)
        .datagram_receive_buffer_size(None)
        .keep_alive_interval(Some(KEEP_ALIVE))
        .max_idle_timeout(IdleTimeout::try_from(SILENCE).ok())
        .crypto_buffer_size(CRYPTO)
        .congestion_controller_factory(Arc::new(Signalling))
        // Signalling is small: one system call for several packets would save nothing, and captures show packets as they are.
        .enable_segmentation_offload(false)
        // No observer on the path needs to learn round trip times.
        .allow_spin(false);
    Arc::new(transport)
}

/// Configuration of a listener, which answers packets that belong to no connection; each connection
/// has its own keys in place of none.
pub(crate) fn listening() -> ServerConfig {
    let mut config = ServerConfig::with_crypto(listening_quic());
    config
        .transport_config(transport())
        .max_incoming(BACKLOG)
        .incoming_buffer_size(INCOMING)
        .incoming_buffer_size_total(INCOMING_ALL)
        // A node's address is in the deployment file.
        .migration(false);
    config
}

/// An endpoint at this socket. `carriers` runs it and its connections.
pub(crate) fn endpoint(
    shared: &Arc<Shared>,
    socket: UdpSocket,
    server: Option<ServerConfig>,
    carriers: &Handle,
) -> io::Result<Endpoint> {
    // A dialler has another port in each process.
    let mut config = if server.is_some() {
        resettable(ResetKey::of(shared, socket.local_addr()?))
    } else {
        EndpointConfig::default()
    };
    // A packet with another fixed bit (RFC 9287) is one that an observer of the link cannot account for.
    config.grease_quic_bit(false);
    let _context = carriers.enter();
    Endpoint::new(config, server, socket, Arc::new(TokioRuntime))
}

impl Dialler {
    /// The endpoint to dial `to` from, and its address: by the source address that the host's routes give now.
    fn endpoint(&self, to: SocketAddr, shared: &Arc<Shared>, carriers: &Handle) -> io::Result<(Endpoint, SocketAddr)> {
        let any = match to {
            SocketAddr::V4(_) => SocketAddr::from(([0; 4], 0)),
            SocketAddr::V6(_) => SocketAddr::from(([0; 16], 0)),
        };
        let probe = UdpSocket::bind(any)?;
        probe.connect(to)?;
        let source = probe.local_addr()?.ip();
        drop(probe);
        let mut known = self.endpoint.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(endpoint) = known.as_ref()
            && let Ok(address) = endpoint.local_addr()
            && address.ip() == source
        {
            return Ok((endpoint.clone(), address));
        }
        let fresh = endpoint(shared, UdpSocket::bind((source, 0))?, None, carriers)?;
        let address = fresh.local_addr()?;
        *known = Some(fresh.clone());
        Ok((fresh, address))
    }

    /// Has the next connection dialled from another socket.
    fn forget(&self) {
        *self.endpoint.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Dialled for QuicChannel {
    type Dialler = Dialler;

    fn session(&self) -> &Arc<Session> {
        Self::session(self)
    }

    fn poll_ended(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if let Some(error) = self.connection.close_reason() {
            self.note_end(&error);
            return Poll::Ready(());
        }
        let closed = self.closed.get_or_insert_with(|| {
            let connection = self.connection.clone();
            Box::pin(async move { connection.closed().await })
        });
        let error = ready!(closed.as_mut().poll(context));
        self.closed = None;
        self.note_end(&error);
        Poll::Ready(())
    }

    async fn is_alive(&mut self) -> bool {
        let time = 3 * self.connection.rtt() + LIFE;
        timeout(time, is_acknowledged(&self.connection)).await.unwrap_or(false)
    }

    async fn dial(
        shared: &Arc<Shared>,
        dialler: &Self::Dialler,
        upstream: &Upstream,
        path: Path,
    ) -> Result<Self, Failure> {
        connect(shared, dialler, upstream, path).await
    }
}

impl QuicChannel {
    /// The session with its negotiated parameters and counts.
    pub(crate) const fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// Counts what was received.
    pub(crate) fn heard(&mut self, bytes: usize) {
        self.session.received(bytes);
        if self.handshake.is_some() {
            self.handshake = None;
        }
    }

    /// The connection has ended: before the peer's first byte that is how a refusal shows.
    pub(crate) fn note_end(&mut self, error: &ConnectionError) {
        if let Some(handshake) = self.handshake.take()
            && self.session.leg.direction == Direction::Outbound
        {
            self.session.refuse(why(&handshake, error));
        }
    }
}

/// Waits until the peer acknowledges a stream without octets; false where the connection has ended.
pub(crate) async fn is_acknowledged(connection: &Connection) -> bool {
    let Ok(mut stream) = connection.open_uni().await else {
        return false;
    };
    stream.finish().is_ok() && stream.stopped().await.is_ok()
}

/// Why a handshake failed, or a connection whose peer refused it after.
fn why(handshake: &QuicHandshake, error: &ConnectionError) -> Box<Refused> {
    match error {
        ConnectionError::ConnectionClosed(close) => match u64::from(close.error_code) {
            code @ 0x100..=0x1ff => handshake.refused_by((code & 0xff) as u8),
            _ => handshake.watch().failed(&io::Error::other(error.to_string())),
        },
        ConnectionError::TimedOut => handshake.watch().timed_out(),
        _ => {
            let closed = io::Error::new(io::ErrorKind::UnexpectedEof, "closed by the peer");
            handshake.watch().failed(&closed)
        }
    }
}

/// Dials the sidecar of a peer and completes the handshake.
pub(crate) async fn connect(
    shared: &Arc<Shared>,
    dialler: &Dialler,
    upstream: &Upstream,
    path: Path,
) -> Result<QuicChannel, Failure> {
    let peer = upstream.peer.as_str();
    let failed = |why: Why, detail: String, hint: &str| Failure::new(peer, why, detail, hint);
    // Before the endpoint is taken: a reload in between is then seen as one.
    let generation = shared.endpoint.generation();
    shared
        .refusing
        .may_dial(peer, upstream.interface.name(), generation, Instant::now())?;
    let current = shared.endpoint.endpoint();
    let ConnectingQuic { config, handshake } = current.connect_quic(peer, upstream.interface).map_err(|error| {
        let hint = error.hint().unwrap_or("see the log of this sidecar");
        failed(Why::Peer(Reason::Ours), error.to_string(), hint)
    })?;
    let counted = |failure: Failure| {
        let reason = failure.why.as_str();
        shared.metrics.handshake_failed(Side::Outbound, peer, reason);
        failure
    };
    let reason = Why::Peer(Reason::Unreachable);
    let hint = || {
        let address = upstream.address;
        format!("is the sidecar of {peer} running, has it `carrier: quic`, and does UDP reach {address} from here?")
    };
    let unreachable = |detail: String| counted(failed(reason, detail, &hint()));
    let carriers = shared.carriers.quic();
    let ready = carriers.and_then(|carriers| {
        let (endpoint, address) = dialler.endpoint(upstream.address, shared, &carriers)?;
        Ok((carriers, endpoint, address))
    });
    let (carriers, endpoint, local_address) =
        ready.map_err(|error| counted(Failure::undialled(peer, (upstream.address, &error), reason, hint())))?;
    let began = Instant::now();
    let mut config = ClientConfig::new(config);
    config.transport_config(transport());
    // The name is in the configuration: this one is not used.
    let begun = {
        let _context = carriers.enter();
        endpoint.connect_with(config, upstream.address, peer)
    };
    let mut connecting = begun.map_err(|error| {
        // An endpoint whose socket failed takes no connection any more.
        dialler.forget();
        unreachable(format!("{}: {error}", upstream.address))
    })?;
    let mut leg = Leg {
        direction: Direction::Outbound,
        interface: upstream.interface,
        path,
        local_address,
        peer_address: upstream.address,
        connect: Duration::ZERO,
        handshake: Duration::ZERO,
    };
    // The peer's first flight shows that a sidecar answers; an end before it shows below.
    if timeout(shared.limits.connect, connecting.handshake_data())
        .await
        .is_err()
    {
        shared.metrics.limit_reached("connect");
        let waited = shared.limits.connect;
        return Err(unreachable(format!(
            "{}: no answer to QUIC within {waited:?}",
            upstream.address
        )));
    }
    let outcome = match timeout(shared.limits.handshake, connecting).await {
        Ok(Ok(connection)) => Ok(connection),
        Ok(Err(error)) => Err(why(&handshake, &error)),
        Err(_) => {
            shared.metrics.limit_reached("handshake");
            Err(handshake.watch().timed_out())
        }
    };
    leg.handshake = began.elapsed();
    let channel = finish(shared, outcome, handshake, leg, generation)
        .map_err(|refused| refused_out(shared, &refused, leg, upstream, generation))?;
    still_admitted(channel.session(), upstream)?;
    Ok(channel)
}

/// The judgement of the handshake decides.
fn finish(
    shared: &Arc<Shared>,
    outcome: Result<Connection, Box<Refused>>,
    handshake: QuicHandshake,
    leg: Leg,
    generation: u64,
) -> Result<QuicChannel, Box<Refused>> {
    let established = match handshake.judged() {
        Some(Ok(established)) => established,
        Some(Err(refused)) => return Err(refused),
        // Nothing was judged: whatever there is of a connection is closed.
        None => return Err(outcome.err().unwrap_or_else(|| handshake.watch().timed_out())),
    };
    let connection = outcome?;
    let session = Session::open(shared, established, leg, generation);
    Ok(QuicChannel::new(connection, session, handshake))
}

/// Completes the handshake of a sidecar that connected. What goes wrong is recorded here: no caller could report it.
pub(crate) async fn accept(
    shared: &Arc<Shared>,
    incoming: Incoming,
    listening: &ServerConfig,
    listening_at: SocketAddr,
    interface: InterfaceKind,
) -> Option<QuicChannel> {
    let peer_address = incoming.remote_address();
    let local_address = match incoming.local_ip() {
        Some(ip) => SocketAddr::new(ip, listening_at.port()),
        None => listening_at,
    };
    let mut leg = Leg {
        direction: Direction::Inbound,
        interface,
        path: Path::Sctp,
        local_address,
        peer_address,
        connect: Duration::ZERO,
        handshake: Duration::ZERO,
    };
    let generation = shared.endpoint.generation();
    let accepting = shared.endpoint.endpoint().accept_any_quic(interface);
    let handshake = accepting.handshake;
    let began = Instant::now();
    let mut config = listening.clone();
    config.crypto = accepting.config;
    let outcome = match incoming.accept_with(Arc::new(config)) {
        Ok(connecting) => match timeout(shared.limits.handshake, connecting).await {
            Ok(Ok(connection)) => Ok(connection),
            Ok(Err(error)) => Err(why(&handshake, &error)),
            Err(_) => {
                shared.metrics.limit_reached("handshake");
                Err(handshake.watch().timed_out())
            }
        },
        Err(error) => Err(why(&handshake, &error)),
    };
    leg.handshake = began.elapsed();
    match finish(shared, outcome, handshake, leg, generation) {
        Ok(channel) => Some(channel).filter(|channel| channel.session().fallen().is_none()),
        Err(refused) => {
            record_refusal(shared, &refused, leg, None);
            None
        }
    }
}

#[cfg(test)]
mod tests;
