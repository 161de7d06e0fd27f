//! Associations that continue in the process that takes over from the one that carries them.
//!
//! The connection to the peer does not change hands: the new process resumes over another one, whose
//! handshake is judged as any. The one before stays open and silent until the peer has left it.

use std::collections::HashMap;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bartizan_deployment::{Carrier as CarrierKind, Inbound};
use bartizan_gateway::{Association, Carriage, Side};
use bartizan_host::sctp;
use bartizan_ledger::Direction;
use bartizan_server::contained;
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::account::{Account, Beginning};
use super::carrier::Carrier;
use super::carry::{Carrying, Function};
use super::function::FunctionSocket;
use super::seat::{Most, Unseated};
use super::{Carries, GOODBYE, patience, redial};
use crate::dialling::channel::Channel;
use crate::dialling::quic::QuicChannel;
use crate::dialling::warm::WarmPool;
use crate::life::drain::{Guard, Phase};
use crate::listening::admission::Admission;
use crate::metrics;
use crate::runtime::until::until;
use crate::shared::Shared;

/// An association besides its state.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    direction: Direction,
    interface: String,
    peer: String,
    function: SocketAddr,
    quic: bool,
    since_us: u64,
    lasted_us: u64,
}

/// An association of the process before.
pub(crate) struct Offered {
    head: Head,
    state: Vec<u8>,
    association: sctp::Association,
}

/// Begins to carry what was taken.
pub(crate) type Start = Box<dyn FnOnce()>;
/// Takes an association, or gives a word why not.
type Taker = Box<dyn Fn(&Arc<Shared>, Offered) -> Result<Start, &'static str> + Send>;
/// The listener of an outbound one, the function of an inbound one, and if its carrier is QUIC.
type Key = (bool, SocketAddr, bool);

/// Listeners that take associations of the process before, while there is one.
#[derive(Default)]
pub(crate) struct Takers(Mutex<HashMap<Key, Taker>>);

impl std::fmt::Debug for Takers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Takers").finish_non_exhaustive()
    }
}

const fn key(direction: Direction, address: SocketAddr, quic: bool) -> Key {
    (matches!(direction, Direction::Inbound), address, quic)
}

impl Takers {
    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Taker>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn clear(&self) {
        let takers = std::mem::take(&mut *self.lock());
        drop(takers);
    }

    /// Takes an association where the file, its peer and its state allow it. What is given begins to
    /// carry it.
    pub(crate) fn offer(
        &self,
        shared: &Arc<Shared>,
        association: sctp::Association,
        head: &[u8],
        state: Vec<u8>,
    ) -> Option<Start> {
        let head: Head = match serde_json::from_slice(head) {
            Ok(head) => head,
            Err(error) => {
                tracing::warn!(%error, "an association of the process before is not taken over");
                return None;
            }
        };
        let (side, peer, function) = (metrics::Side::from(head.direction), head.peer.clone(), head.function);
        let address = match head.direction {
            Direction::Inbound => Ok(function),
            Direction::Outbound => association.local_address(),
        };
        let takers = self.lock();
        let taker = address
            .ok()
            .and_then(|address| takers.get(&key(head.direction, address, head.quic)));
        let offered = Offered {
            head,
            state,
            association,
        };
        let taken = taker.ok_or(NO_LISTENER).and_then(|taker| taker(shared, offered));
        let counted = Arc::clone(shared);
        match taken {
            Ok(start) => Some(Box::new(move || {
                counted.metrics.takeover(side, &peer, "taken");
                start();
            })),
            Err(why) => {
                counted.metrics.takeover(side, &peer, why);
                tracing::warn!(
                    peer, %function, why, hint = "it ends with the process before, as where a sidecar stops",
                    "an association of the process before is not taken over"
                );
                None
            }
        }
    }
}

/// Reasons for which an association is not taken over. They never change.
const NO_LISTENER: &str = "no-listener";
const NO_PEER: &str = "no-peer";
const NO_STATE: &str = "no-state";
const NO_ROOM: &str = "no-room";

/// The parts of an association that was taken.
struct Taken {
    association: Association,
    socket: FunctionSocket,
    beginning: Beginning,
    function: SocketAddr,
    peer: String,
}

impl Offered {
    /// Makes the parts that continue it on this side, by the files in effect now.
    fn take<C: Carrier>(
        self,
        shared: &Shared,
        side: Side,
        interface: &'static str,
        carriers: &Handle,
    ) -> Result<Taken, &'static str> {
        let Head {
            peer,
            function,
            since_us,
            lasted_us,
            interface: of_head,
            ..
        } = self.head;
        if of_head != interface || shared.patience(&peer, interface).is_none() {
            return Err(NO_PEER);
        }
        let patience = patience(shared, &peer, interface, 2 * shared.limits.connect);
        let association = Association::taken_over(&self.state, patience, Instant::now())
            .filter(|association| association.side() == side && association.carriage() == C::CARRIAGE)
            .ok_or(NO_STATE)?;
        let beginning = Beginning::before(Duration::from_micros(lasted_us), Duration::from_micros(since_us));
        let socket = FunctionSocket::continued(self.association, carriers).map_err(|_| NO_ROOM)?;
        Ok(Taken {
            association,
            socket,
            beginning,
            function,
            peer,
        })
    }
}

/// Has an outbound listener take associations of the process before.
pub(crate) fn takes_over_outbound<C: Carries + 'static>(
    shared: &Shared,
    pool: &Arc<WarmPool<C>>,
    admission: &Arc<Admission>,
    listener: SocketAddr,
) {
    if !shared.is_one_of_two() {
        return;
    }
    let (pool, admission) = (Arc::clone(pool), Arc::clone(admission));
    let quic = C::Carrier::CARRIAGE == Carriage::Streams;
    let take = move |shared: &Arc<Shared>, offered: Offered| -> Result<Start, &'static str> {
        if offered.head.peer != pool.peer() {
            return Err(NO_PEER);
        }
        let carriers = C::carriers(shared).map_err(|_| NO_ROOM)?;
        let (slot, _, _) = admission.take(offered.head.function.ip()).map_err(|_| NO_ROOM)?;
        slot.establish();
        let interface = pool.interface();
        let taken = offered.take::<C::Carrier>(shared, Side::Initiator, interface, &carriers)?;
        let (shared, pool) = (Arc::clone(shared), Arc::clone(&pool));
        Ok(Box::new(move || {
            let account = taken.account(&shared, Direction::Outbound, interface);
            let seat = Arc::default();
            let redial = redial(&shared, pool, &seat, &carriers);
            let function = Function::Here(taken.socket);
            let carrying = Carrying::new(account, taken.association, seat, function, Some(redial));
            let guard = shared.drain.guard();
            carriers.spawn(contained(async move {
                carrying.carry(None, None, guard).await;
                drop(slot);
            }));
        }))
    };
    let key = key(Direction::Outbound, listener, quic);
    shared.takers.lock().insert(key, Box::new(take));
}

/// Has an inbound listener take associations of the process before.
pub(crate) fn takes_over_inbound(shared: &Shared, inbound: &Inbound) {
    if !shared.is_one_of_two() {
        return;
    }
    for carrier in &inbound.carriers {
        let (interface, forward) = (inbound.interface.name(), inbound.forward);
        match carrier {
            CarrierKind::Tls => takes_over_to::<Channel>(shared, forward, interface),
            CarrierKind::Quic => takes_over_to::<QuicChannel>(shared, forward, interface),
        }
    }
}

fn takes_over_to<C: Carries + 'static>(shared: &Shared, forward: SocketAddr, interface: &'static str) {
    let quic = C::Carrier::CARRIAGE == Carriage::Streams;
    let take = move |shared: &Arc<Shared>, offered: Offered| -> Result<Start, &'static str> {
        let carriers = C::carriers(shared).map_err(|_| NO_ROOM)?;
        let taken = offered.take::<C::Carrier>(shared, Side::Responder, interface, &carriers)?;
        let shared = Arc::clone(shared);
        Ok(Box::new(move || {
            let account = taken.account(&shared, Direction::Inbound, interface);
            let guard = shared.drain.guard();
            carriers.spawn(contained(async move {
                let seat = Arc::default();
                let (peer, mut association) = (taken.peer, taken.association);
                let seats = C::Carrier::seats(&shared);
                // The process before has admitted it.
                let most = Most {
                    of_peer: usize::MAX,
                    all: usize::MAX,
                };
                let known = association.token();
                let known = known.map(|token| seats.add(&peer, forward, token, &seat, most));
                if !matches!(known, Some(Ok(_))) {
                    association.dismiss(Unseated::Known.as_str(), Instant::now());
                }
                let function = Function::Open(taken.socket, forward);
                let carrying = Carrying::new(account, association, seat, function, None);
                carrying.carry(None, None, guard).await;
            }));
        }))
    };
    let key = key(Direction::Inbound, forward, quic);
    shared.takers.lock().insert(key, Box::new(take));
}

impl Taken {
    fn account(&self, shared: &Arc<Shared>, direction: Direction, interface: &'static str) -> Arc<Account> {
        let account = Account::begun(shared, direction, interface, &self.peer, self.function, self.beginning);
        account.continues(self.association.streams(), &self.association.totals());
        account
    }
}

impl<C: Carrier> Carrying<C> {
    /// Gives the association to the process that takes over, and waits until the peer has left the
    /// connection. False where the association goes on here.
    pub(super) async fn hand_over(&mut self, guard: &mut Guard) -> bool {
        let shared = Arc::clone(&self.account.shared);
        let (Some(successor), Some(function), Some(state)) =
            (shared.successor.get(), &self.function, self.association.hand_over())
        else {
            return false;
        };
        self.stays = true;
        let Beginning { since, began } = self.account.beginning;
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let head = Head {
            direction: self.account.direction,
            interface: self.account.interface.to_owned(),
            peer: self.account.peer.clone(),
            function: self.account.function,
            quic: C::CARRIAGE == Carriage::Streams,
            since_us: micros(since.duration_since(UNIX_EPOCH).unwrap_or_default()),
            lasted_us: micros(began.elapsed()),
        };
        let copy = function.as_fd().try_clone_to_owned();
        let (Ok(copy), Ok(head)) = (copy, serde_json::to_vec(&head)) else {
            return false;
        };
        if !successor.give(copy, &head, &state).await {
            return false;
        }
        // The record and the counts are the other process's.
        self.recorded = true;
        self.function = None;
        self.seat.close();
        self.association.handed_over();
        if let Some(mut carrier) = self.carrier.take() {
            let written = poll_fn(|context| match carrier.poll_write(&mut self.association, context) {
                Ok(_) if !carrier.is_flushed() || !self.association.is_written() => Poll::Pending,
                _ => Poll::Ready(()),
            });
            let _ = timeout(GOODBYE, written).await;
            let _ = timeout(GOODBYE, carrier.reached()).await;
            self.held = None;
            until(carrier.ended(), guard.reached(Phase::Closing)).await;
        }
        true
    }
}

impl Beginning {
    /// The beginning of an association that has lasted so long, since this time after 1970.
    fn before(lasted: Duration, since: Duration) -> Self {
        let (now, today) = (Instant::now(), SystemTime::now());
        Self {
            began: now.checked_sub(lasted).unwrap_or(now),
            since: UNIX_EPOCH.checked_add(since).unwrap_or(today),
        }
    }
}
