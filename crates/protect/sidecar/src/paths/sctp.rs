//! The `sctp` path: associations of network functions, each carried whole over a connection of its own, TLS over TCP or QUIC.
//!
//! [`bartizan_gateway`] decides what follows from what; here are its sockets: the function's association in the kernel, the
//! connection to the peer's sidecar, and what is recorded of the two.

mod account;
mod carrier;
mod carry;
mod function;
mod streams;

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

use self::account::Account;
pub(crate) use self::account::Accounts;
pub(crate) use self::carrier::Carrier;
use self::carry::carry;
pub(crate) use self::function::{FunctionSocket, listen};
pub(crate) use self::streams::Streams as QuicStreams;
use crate::answers::failure::Failure;
use crate::dialling::channel::Channel;
use crate::dialling::quic::QuicChannel;
use crate::dialling::warm::{Dialled, WarmPool};
use crate::life::drain::Guard;
use crate::listening::admission::Slot;
use crate::metrics::Side;
use crate::runtime::reactor::{self, Reactor, within};
use crate::shared::Shared;
use bartizan_gateway::{Association, Cause, Command, End, Ending, Patience, Streams, Totals};
use bartizan_ledger::Direction;

/// A peer's sidecar says something at least every third of this. Documented (docs/gateway.md): the longest time in which a function
/// believes in a peer that is gone.
const SILENCE: Duration = Duration::from_secs(9);
/// How long what was received for a function waits for it before an abort.
const ABORT: Duration = Duration::from_secs(2);
/// How long the last frames and the end of the connection may take.
const GOODBYE: Duration = Duration::from_millis(500);

/// Whether an address is this host's own: SCTP to and from others would leave it unencrypted.
fn is_of_this_host(address: IpAddr) -> bool {
    address.is_loopback() || UdpSocket::bind((address, 0)).is_ok()
}

/// A connection from a pool that becomes the carrier of one association.
pub(crate) trait Carries: Dialled {
    /// What it becomes.
    type Carrier: Carrier + Send + 'static;

    /// The event loop of its associations.
    fn reactor(shared: &Shared) -> io::Result<Reactor>;

    /// Has that loop watch it.
    fn into_carrier(self, reactor: &Reactor) -> io::Result<Self::Carrier>;
}

impl Carries for Channel {
    type Carrier = Self;

    fn reactor(shared: &Shared) -> io::Result<Reactor> {
        shared.carriers.tls()
    }

    fn into_carrier(self, reactor: &Reactor) -> io::Result<Self> {
        self.detach()?.attach_to(reactor)
    }
}

impl Carries for QuicChannel {
    type Carrier = QuicStreams;

    fn reactor(shared: &Shared) -> io::Result<Reactor> {
        shared.carriers.quic()
    }

    fn into_carrier(self, _: &Reactor) -> io::Result<QuicStreams> {
        Ok(QuicStreams::new(self))
    }
}

/// Serves an association that the node's own function has opened at an outbound listener: finds the peer, and has the event loop of its
/// carrier do the rest.
pub(crate) async fn outbound<C: Carries>(
    shared: Arc<Shared>,
    warm_pool: Arc<WarmPool<C>>,
    (socket, reactor): (FunctionSocket, Reactor),
    from: SocketAddr,
    mut guard: Guard,
    slot: Slot,
) {
    shared.metrics.local_connection(Side::Outbound, "sctp");
    let (interface, peer) = (warm_pool.interface(), warm_pool.peer());
    let account = Account::open(&shared, Direction::Outbound, interface, peer, from);
    let refuse = |account: &Account, socket: FunctionSocket, ending: Ending, streams| {
        let end = End {
            ending,
            totals: Totals::default(),
        };
        account.close(&end, streams);
        socket.abort();
    };
    if !is_of_this_host(from.ip()) {
        let detail = format!("{from} is not on this host: its SCTP is not encrypted");
        return refuse(&account, socket, Ending::Dismissed(detail), None);
    }
    let streams = match socket.streams() {
        Ok(granted) => Streams {
            outbound: granted.inbound,
            inbound: granted.outbound,
        },
        Err(error) => {
            let cause = Cause::new(0, &error.to_string());
            return refuse(&account, socket, Ending::Aborted(cause), None);
        }
    };
    slot.establish();
    // On the heap while it is needed: what dials is larger than all that an association at rest holds.
    let connection = match Box::pin(warm_pool.take()).await {
        Ok(connection) => connection,
        Err(failure) => {
            shared.failure_log.log("an association is aborted", &failure);
            let ending = Ending::NoCarrier(format!("{}: {}", failure.why.as_str(), failure.detail));
            return refuse(&account, socket, ending, Some(streams));
        }
    };
    guard.join(connection.session().dismissal());
    account.carried_by(connection.session().key);
    let carrier = match connection.into_carrier(&reactor) {
        Ok(carrier) => carrier,
        Err(error) => {
            let ending = Ending::CarrierLost(format!("its socket cannot be watched: {error}"));
            return refuse(&account, socket, ending, Some(streams));
        }
    };
    let carried = carry_out(account, carrier, socket, streams, guard, reactor.clone());
    reactor.spawn(async move {
        carried.await;
        drop(slot);
    });
}

/// Carries what the node's own function has opened.
async fn carry_out<C: Carrier>(
    account: Arc<Account>,
    mut carrier: C,
    socket: FunctionSocket,
    streams: Streams,
    mut guard: Guard,
    reactor: Reactor,
) {
    let limits = &account.shared.limits;
    let patience = Patience {
        // The peer dials its function meanwhile.
        opening: limits.connect + limits.connect,
        silence: SILENCE,
        abort: ABORT,
    };
    let mut association = Association::initiator(streams, C::CARRIAGE, patience, reactor::now());
    carry(
        &account,
        &mut association,
        &mut carrier,
        (Some(socket), None),
        &mut guard,
        &reactor,
    )
    .await;
    account.finish(&mut carrier, &association, &reactor).await;
    if let Some(refused) = carrier.session().refusal() {
        account
            .shared
            .failure_log
            .log("an association is aborted", &Failure::refused(&account.peer, refused));
    }
}

/// Serves an association that a peer's function has opened, on the event loop of its carrier: makes the same towards this node's at `forward`.
pub(crate) async fn inbound<C: Carrier>(
    shared: Arc<Shared>,
    forward: SocketAddr,
    mut carrier: C,
    mut guard: Guard,
    reactor: Reactor,
) {
    let session = Arc::clone(carrier.session());
    let patience = Patience {
        opening: shared.limits.connect,
        silence: SILENCE,
        abort: ABORT,
    };
    let (interface, peer) = (session.leg.interface.name(), session.peer.as_str());
    let account = Account::open(&shared, Direction::Inbound, interface, peer, forward);
    account.carried_by(session.key);
    drop(session);
    let mut association = Association::responder(C::CARRIAGE, patience, reactor::now());
    if is_of_this_host(forward.ip()) {
        account.shared.metrics.local_connection(Side::Inbound, "sctp");
    } else {
        let why = format!("{forward} is not on the host of its sidecar: SCTP to it would not be encrypted");
        association.dismiss(&why, reactor::now());
    }
    let function = (None, Some(forward));
    carry(&account, &mut association, &mut carrier, function, &mut guard, &reactor).await;
    account.finish(&mut carrier, &association, &reactor).await;
}

impl Account {
    /// Records the end, and closes the connection once the peer has what is left for it.
    async fn finish(&self, carrier: &mut impl Carrier, association: &Association, reactor: &Reactor) {
        if let Some(end) = association.end() {
            self.close(&end, association.streams());
        }
        let _ = within(reactor, GOODBYE, carrier.goodbye(association)).await;
    }
}

/// What is still to be done by a function's socket when its association has ended.
fn last_command(association: &mut Association, now: Instant) -> Option<Cause> {
    while let Some(command) = association.command() {
        let aborted = match command {
            Command::Abort(cause) => Some(cause.clone()),
            _ => None,
        };
        association.command_done(now);
        if aborted.is_some() {
            return aborted;
        }
    }
    None
}
