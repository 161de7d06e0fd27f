//! The `sctp` path: associations of network functions, each carried whole over a connection of its own, TLS over TCP or QUIC.
//!
//! [`bartizan_gateway`] decides what follows from what; here are its sockets: the function's association in the kernel, the
//! connection to the peer's sidecar, and what is recorded of the two.

mod account;
mod carrier;
mod carry;
mod continuing;
mod function;
mod seat;
mod streams;

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use self::account::Account;
pub(crate) use self::account::Accounts;
pub(crate) use self::carrier::Carrier;
use self::carry::{Carrying, Function, Redial};
pub(crate) use self::continuing::{Takers, takes_over_inbound, takes_over_outbound};
pub(crate) use self::function::{FunctionSocket, listen, listens};
use self::seat::{Most, Next, Seat, Seats, Unseated};
pub(crate) use self::streams::Streams as QuicStreams;
use crate::answers::failure::Why;
use crate::dialling::channel::Channel;
use crate::dialling::quic::QuicChannel;
use crate::dialling::warm::{Dialled, WarmPool};
use crate::life::drain::{Guard, Phase};
use crate::listening::admission::{Slot, refused};
use crate::metrics::Side;
use crate::runtime::until::until;
use crate::shared::Shared;
use bartizan_gateway::{Association, Cause, Command, End, Ending, Patience, Streams, Token, Totals};
use bartizan_ledger::Direction;
use bartizan_server::contained;
use bartizan_tls::Reason;
use rustix::rand::{GetRandomFlags, getrandom};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

/// A peer's sidecar says something at least every third of this. After it, another connection is
/// dialled.
const SILENCE: Duration = Duration::from_secs(9);
/// For a peer that the file does not name any more: the default of the file.
const PATIENCE: Duration = Duration::from_secs(63);
/// Time for another connection after the peer's system has closed one: a sidecar that has ended
/// knows nothing of it, and one that goes on dials at once.
const CLOSED: Duration = Duration::from_millis(750);
const _: () = assert!(CLOSED.as_secs() < 1, "functions learn of a crash within a second");
/// Between two attempts to dial a connection for an association that has none.
const BETWEEN: Duration = Duration::from_millis(500);
/// The same after attempts that a peer has refused.
const BETWEEN_REFUSED: Duration = Duration::from_secs(8);
/// Longest time that messages received for a function wait for it before an abort.
const ABORT: Duration = Duration::from_secs(2);
/// Longest time for the last frames and the end of the connection.
const GOODBYE: Duration = Duration::from_millis(500);

/// The associations that peers can continue over other connections, by carrier.
#[derive(Debug, Default)]
pub(crate) struct AllSeats {
    tls: Seats<Channel>,
    quic: Seats<QuicStreams>,
}

/// Returns true if an address is this host's own: SCTP to and from others would leave it
/// unencrypted.
///
/// The route decides: packets to an own address come from it. A socket could be bound to any address
/// where `ip_nonlocal_bind` is set.
fn is_of_this_host(address: IpAddr) -> bool {
    let any: IpAddr = match address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    // Nothing is sent.
    let from = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.connect((address, 9))?;
        socket.local_addr()
    });
    address.is_loopback() || from.is_ok_and(|from| from.ip() == address)
}

/// A connection from a pool that becomes the carrier of one association.
pub(crate) trait Carries: Dialled {
    /// The carrier that it becomes.
    type Carrier: Carrier + Send + 'static;

    /// The thread of its associations.
    fn carriers(shared: &Shared) -> io::Result<Handle>;

    /// Has the event loop of that thread watch it.
    fn into_carrier(self, carriers: &Handle) -> io::Result<Self::Carrier>;
}

impl Carries for Channel {
    type Carrier = Self;

    fn carriers(shared: &Shared) -> io::Result<Handle> {
        shared.carriers.tls()
    }

    fn into_carrier(self, carriers: &Handle) -> io::Result<Self> {
        self.detach()?.attach_to(carriers)
    }
}

impl Carries for QuicChannel {
    type Carrier = QuicStreams;

    fn carriers(shared: &Shared) -> io::Result<Handle> {
        shared.carriers.quic()
    }

    fn into_carrier(self, _: &Handle) -> io::Result<QuicStreams> {
        Ok(QuicStreams::new(self))
    }
}

/// Serves an association that the node's own function has opened at an outbound listener: finds the
/// peer, and has the thread of its carrier do the rest.
pub(crate) async fn outbound<C: Carries + 'static>(
    shared: Arc<Shared>,
    warm_pool: Arc<WarmPool<C>>,
    (socket, carriers): (FunctionSocket, Handle),
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
    let carrier = match connection.into_carrier(&carriers) {
        Ok(carrier) => carrier,
        Err(error) => {
            let ending = Ending::CarrierLost(format!("its socket cannot be watched: {error}"));
            return refuse(&account, socket, ending, Some(streams));
        }
    };
    let mut token = Token([0; Token::LENGTH]);
    if let Err(error) = getrandom(&mut token.0, GetRandomFlags::empty()) {
        let ending = Ending::NoCarrier(format!("the system gives no random octets: {error}"));
        return refuse(&account, socket, ending, Some(streams));
    }
    // The peer dials its function meanwhile.
    let patience = patience(&shared, &account.peer, account.interface, 2 * shared.limits.connect);
    let association = Association::initiator(token, streams, C::Carrier::CARRIAGE, patience, Instant::now());
    let seat = Arc::default();
    let redial = redial(&shared, warm_pool, &seat, &carriers);
    let function = Function::Here(socket);
    let carrying = Carrying::new(account, association, seat, function, Some(redial));
    carriers.spawn(contained(async move {
        carrying.carry(Some(carrier), None, guard).await;
        drop(slot);
    }));
}

/// Waiting times of an association.
fn patience(shared: &Shared, peer: &str, interface: &'static str, opening: Duration) -> Patience {
    Patience {
        opening,
        silence: SILENCE,
        resume: shared.patience(peer, interface).unwrap_or(PATIENCE),
        closed: CLOSED,
        abort: ABORT,
    }
}

/// Dials another connection for an association, on the event loop of the calling thread, until
/// there is one or the association has ended.
fn redial<C: Carries + 'static>(
    shared: &Arc<Shared>,
    warm_pool: Arc<WarmPool<C>>,
    seat: &Arc<Seat<C::Carrier>>,
    carriers: &Handle,
) -> Redial {
    let (shared, seat, carriers) = (Arc::clone(shared), Arc::downgrade(seat), carriers.clone());
    let (handle, last) = (Handle::current(), Arc::new(Mutex::new(None::<Instant>)));
    Box::new(move || {
        let (shared, seat, carriers) = (Arc::clone(&shared), Weak::clone(&seat), carriers.clone());
        let (warm_pool, last) = (Arc::clone(&warm_pool), Arc::clone(&last));
        handle.spawn(contained(async move {
            let mut pause = BETWEEN;
            // One that ends as soon as it is there is not replaced at once again and again.
            let before = last
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .replace(Instant::now());
            let early = before.map(|before| BETWEEN.saturating_sub(before.elapsed()));
            sleep(early.unwrap_or_default()).await;
            while seat.strong_count() > 0 {
                match Box::pin(warm_pool.dial()).await {
                    Ok(connection) => {
                        let mut guard = shared.drain.guard();
                        guard.join(connection.session().dismissal());
                        if let (Ok(carrier), Some(seat)) = (connection.into_carrier(&carriers), seat.upgrade()) {
                            return seat.put(Next {
                                carrier,
                                guard,
                                slot: None,
                                resume: None,
                                held: None,
                            });
                        }
                    }
                    Err(failure) => {
                        shared
                            .failure_log
                            .log("no connection over which an association could continue", &failure);
                        if failure.why != Why::Peer(Reason::Unreachable) {
                            pause = (2 * pause).min(BETWEEN_REFUSED);
                        }
                    }
                }
                sleep(pause).await;
            }
        }));
    })
}

/// Serves a connection of a peer's sidecar on the event loop of its carrier: an association that
/// the peer's function has opened, towards this node's at `forward`, or one that continues over
/// another connection.
pub(crate) async fn inbound<C: Carrier + Send + 'static>(
    shared: Arc<Shared>,
    forward: SocketAddr,
    mut carrier: C,
    mut guard: Guard,
    slot: Slot,
    held: Option<mpsc::Sender<Infallible>>,
) {
    let session = Arc::clone(carrier.session());
    let (interface, peer) = (session.leg.interface.name(), session.peer.as_str());
    let patience = patience(&shared, peer, interface, shared.limits.connect);
    let mut association = Association::responder(C::CARRIAGE, patience, Instant::now());
    let greeted = poll_fn(|context| carrier.poll_greeted(&mut association, context, Instant::now()));
    let greeted = until(timeout(shared.limits.connect, greeted), guard.reached(Phase::Closing)).await;
    if !matches!(greeted, Some(Ok(Ok(())))) {
        return;
    }
    if let Some(resume) = association.resumes().cloned() {
        match C::seats(&shared).find(peer, forward, resume.token) {
            Some(seat) => seat.put(Next {
                carrier,
                guard,
                slot: Some(slot),
                resume: Some(resume),
                held,
            }),
            // Closed without a word: the peer comes back.
            None if shared.is_one_of_two() => {}
            None => {
                association.refuse_resume(Instant::now());
                let _ = timeout(GOODBYE, carrier.goodbye(&association)).await;
            }
        }
        return;
    }
    let account = Account::open(&shared, Direction::Inbound, interface, peer, forward);
    let seat = Arc::default();
    // Known to its peer for as long as it is carried.
    let most = Most {
        of_peer: shared.limits.connections_per_address,
        all: shared.limits.connections,
    };
    let known = association
        .token()
        .map(|token| C::seats(&shared).add(peer, forward, token, &seat, most));
    if is_of_this_host(forward.ip()) {
        shared.metrics.local_connection(Side::Inbound, "sctp");
    } else {
        let why = format!("{forward} is not on the host of its sidecar: SCTP to it would not be encrypted");
        association.dismiss(&why, Instant::now());
    }
    if let Some(Err(why)) = &known {
        association.dismiss(why.as_str(), Instant::now());
        if let Unseated::TooMany(bound) = why {
            refused(&shared, peer, *bound, why.as_str(), "an association is aborted");
        }
    }
    let mut carrying = Carrying::new(account, association, seat, Function::At(forward), None);
    carrying.held = held;
    carrying.carry(Some(carrier), Some(slot), guard).await;
}

/// Last command for a function's socket when its association has ended.
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

#[cfg(test)]
mod tests {
    mod as_root {
        use bartizan_host::Namespace;

        use super::super::is_of_this_host;

        #[test]
        fn addresses_of_other_hosts_are_not_this_host_s_where_any_can_be_bound() {
            let host = Namespace::create("nonlocal").unwrap();
            let test = || {
                for version in ["ipv4", "ipv6"] {
                    std::fs::write(format!("/proc/sys/net/{version}/ip_nonlocal_bind"), "1").unwrap();
                }
                let own = |address: &str| is_of_this_host(address.parse().unwrap());
                assert!(own("127.0.0.1") && own("127.8.0.1") && own("::1"));
                assert!(!own("192.0.2.1") && !own("2001:db8::1"));
            };
            host.enter(test).unwrap();
        }
    }
}
