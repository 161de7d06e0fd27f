//! The connections a listener holds: a bounded number, of which pending ones are evicted first.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use bartizan_server::network;
use tokio::sync::Notify;

use crate::answers::failure::{Failure, Why};
use crate::dialling::session::Session;
use crate::metrics::UNAUTHENTICATED;
use crate::shared::Shared;
use crate::worker::spread::Load;

/// Largest numbers of connections of a listener.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) connections: usize,
    /// Share of pending connections: neither authenticated by a handshake, nor with a request of
    /// the own function.
    pub(crate) pending: usize,
    /// The same two of one address.
    pub(crate) of_one_address: usize,
    pub(crate) pending_of_one_address: usize,
}

/// A bounded number of slots for connections.
///
/// When all are taken, or all that pending connections may have, the one that has been pending for
/// longest is evicted for a new one. So clients that only hold slots keep no other client out: one
/// that completes a handshake, or sends a request, before as many others arrive gets through.
/// Established connections are never closed for others. The share of one address is bounded too,
/// and there only its own connections are evicted.
#[derive(Debug)]
pub(crate) struct Admission {
    bounds: Bounds,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    count: usize,
    next: u64,
    /// In the order in which they were accepted.
    pending: BTreeMap<u64, PendingConnection>,
    /// An address is in here while it has a connection.
    addresses: HashMap<IpAddr, OfOne>,
    /// Established connections by the node that authenticated.
    peers: HashMap<Box<str>, usize>,
}

#[derive(Debug)]
struct PendingConnection {
    address: IpAddr,
    since: Instant,
    eviction: Arc<Notify>,
}

/// The connections of one address.
#[derive(Debug, Default)]
struct OfOne {
    count: usize,
    pending: BTreeSet<u64>,
}

/// A slot that is taken, given back when dropped.
#[derive(Debug)]
pub(crate) struct Slot {
    admission: Arc<Admission>,
    number: u64,
    address: IpAddr,
    established: AtomicBool,
    /// The node that authenticated.
    peer: OnceLock<Box<str>>,
    /// Its load for the worker that serves it, once one does.
    load: Option<Load>,
}

/// Resolves when the connection has to be closed for another.
#[derive(Debug)]
pub(crate) struct Eviction(Arc<Notify>);

/// Which bound a new connection met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bound {
    Pending,
    Connections,
    PendingOfOneAddress,
    ConnectionsOfOneAddress,
    ConnectionsOfOnePeer,
}

impl Bound {
    /// A word for metrics and logs. It never changes.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => UNAUTHENTICATED,
            Self::Connections => "connections",
            Self::PendingOfOneAddress => "handshakes-per-address",
            Self::ConnectionsOfOneAddress => "connections-per-address",
            Self::ConnectionsOfOnePeer => "connections-per-peer",
        }
    }
}

impl Admission {
    pub(crate) fn new(bounds: Bounds) -> Arc<Self> {
        Arc::new(Self {
            bounds,
            taken: Mutex::default(),
        })
    }

    /// Slots for what comes from this host.
    pub(crate) fn of_this_host(all: usize) -> Arc<Self> {
        // The network function's own idle connections are no reason to close one before there are too many altogether.
        Self::new(Bounds {
            connections: all,
            pending: all,
            of_one_address: usize::MAX,
            pending_of_one_address: usize::MAX,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A slot for a pending connection from this address, and the bound for which another one was evicted; an error where none can be,
    /// since all are established.
    pub(crate) fn take(self: &Arc<Self>, from: IpAddr) -> Result<(Slot, Eviction, Option<Bound>), Bound> {
        let address = network(from);
        let mut taken = self.lock();
        let met = taken.bound_met(self.bounds, address);
        if let Some(bound) = met {
            let longest = match bound {
                Bound::Pending | Bound::Connections => taken.pending.keys().next(),
                // That of a peer is met once it is authenticated.
                Bound::PendingOfOneAddress | Bound::ConnectionsOfOneAddress | Bound::ConnectionsOfOnePeer => {
                    taken.addresses.get(&address).and_then(|own| own.pending.first())
                }
            };
            let longest = longest.copied().and_then(|number| taken.no_longer_pending(number));
            let longest = longest.ok_or(bound)?;
            longest.eviction.notify_one();
            // It counts no longer, although its task has yet to end.
            taken.gone(longest.address);
        }
        taken.count += 1;
        let number = taken.next;
        taken.next += 1;
        let eviction = Arc::new(Notify::new());
        let own = taken.addresses.entry(address).or_default();
        own.count += 1;
        own.pending.insert(number);
        let pending = PendingConnection {
            address,
            since: Instant::now(),
            eviction: Arc::clone(&eviction),
        };
        taken.pending.insert(number, pending);
        let slot = Slot {
            admission: Arc::clone(self),
            number,
            address,
            established: AtomicBool::new(false),
            peer: OnceLock::new(),
            load: None,
        };
        Ok((slot, Eviction(eviction), met))
    }

    /// [`Self::take`] for a listener: the bound that is met is counted and logged, with what becomes
    /// of the connection.
    pub(crate) fn place(
        self: &Arc<Self>,
        shared: &Shared,
        listener: &str,
        peer: SocketAddr,
        refused: &'static str,
    ) -> Option<(Slot, Eviction)> {
        let taken = self.take(peer.ip());
        let bound = taken.as_ref().map_or_else(|met| Some(*met), |(.., met)| *met);
        if let Some(bound) = bound.map(Bound::as_str) {
            shared.metrics.limit_reached(bound);
            tracing::debug!(listener, %peer, bound, "{refused}: too many are open");
        }
        taken.ok().map(|(slot, eviction, _)| (slot, eviction))
    }

    /// Evicts every connection that has been pending for this long, and gives their number.
    pub(crate) fn expire(&self, idle: Duration) -> usize {
        let mut taken = self.lock();
        let mut expired = 0;
        while let Some((&number, longest)) = taken.pending.first_key_value()
            && longest.since.elapsed() >= idle
        {
            if let Some(longest) = taken.no_longer_pending(number) {
                longest.eviction.notify_one();
                taken.gone(longest.address);
                expired += 1;
            }
        }
        expired
    }
}

impl Taken {
    fn bound_met(&self, bounds: Bounds, address: IpAddr) -> Option<Bound> {
        let (of_one, pending_of_one) = self
            .addresses
            .get(&address)
            .map_or((0, 0), |own| (own.count, own.pending.len()));
        if of_one >= bounds.of_one_address {
            Some(Bound::ConnectionsOfOneAddress)
        } else if pending_of_one >= bounds.pending_of_one_address {
            Some(Bound::PendingOfOneAddress)
        } else if self.count >= bounds.connections {
            Some(Bound::Connections)
        } else if self.pending.len() >= bounds.pending {
            Some(Bound::Pending)
        } else {
            None
        }
    }

    /// It is pending no longer, for whatever reason.
    fn no_longer_pending(&mut self, number: u64) -> Option<PendingConnection> {
        let pending = self.pending.remove(&number)?;
        if let Some(own) = self.addresses.get_mut(&pending.address) {
            own.pending.remove(&number);
        }
        Some(pending)
    }

    /// One connection less.
    fn gone(&mut self, address: IpAddr) {
        self.count -= 1;
        if let Some(own) = self.addresses.get_mut(&address) {
            own.count -= 1;
            if own.count == 0 {
                self.addresses.remove(&address);
            }
        }
    }
}

impl Slot {
    /// The connection is authenticated, or has sent a request; `false` where it was evicted before.
    pub(crate) fn establish(&self) -> bool {
        if !self.established.load(Ordering::Relaxed) && self.admission.lock().no_longer_pending(self.number).is_some() {
            self.established.store(true, Ordering::Relaxed);
        }
        self.established.load(Ordering::Relaxed)
    }

    /// The connection is authenticated as that of `peer`, which may have as many as one address may, from whatever addresses.
    ///
    /// # Errors
    /// The bound, where the peer has as many, or none, where the connection was evicted before.
    pub(crate) fn establish_as(&self, peer: &str) -> Result<(), Option<Bound>> {
        let mut taken = self.admission.lock();
        let own = taken.peers.get(peer).copied().unwrap_or(0);
        if own >= self.admission.bounds.of_one_address {
            return Err(Some(Bound::ConnectionsOfOnePeer));
        }
        if taken.no_longer_pending(self.number).is_none() {
            return Err(None);
        }
        self.established.store(true, Ordering::Relaxed);
        if self.peer.set(peer.into()).is_ok() {
            *taken.peers.entry(peer.into()).or_insert(0) += 1;
        }
        Ok(())
    }

    /// A worker has it, for as long as it is taken.
    pub(crate) fn counts_as(&mut self, load: Load) {
        self.load = Some(load);
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut taken = self.admission.lock();
        let was_pending = taken.no_longer_pending(self.number).is_some();
        // One that was evicted was subtracted then.
        if was_pending || self.established.load(Ordering::Relaxed) {
            taken.gone(self.address);
        }
        if let Some(peer) = self.peer.get()
            && let Some(own) = taken.peers.get_mut(peer)
        {
            *own -= 1;
            if *own == 0 {
                taken.peers.remove(peer);
            }
        }
    }
}

/// Lets an authenticated connection keep its slot; `false` where it has to be closed.
pub(crate) fn admit(shared: &Shared, slot: &Slot, session: &Session) -> bool {
    match slot.establish_as(session.peer.as_str()) {
        Ok(()) => true,
        // It was evicted in the same turn.
        Err(None) => false,
        Err(Some(bound)) => {
            let detail = "it has as many connections to this listener as one peer may, from all its addresses together";
            refused(shared, session.peer.as_str(), bound, detail, "a connection closed");
            false
        }
    }
}

/// Counts and logs what an authenticated peer has too many of, with its consequence.
pub(crate) fn refused(shared: &Shared, peer: &str, bound: Bound, detail: &str, consequence: &'static str) {
    shared.metrics.limit_reached(bound.as_str());
    let hint = match bound {
        Bound::Connections => "`limits: { connections: ... }` sets the bound",
        _ => "`limits: { connections-per-address: ... }` sets the bound",
    };
    let failure = Failure::new(peer, Why::TooMany(bound.as_str()), detail, hint);
    shared.failure_log.log(consequence, &failure);
}

impl Eviction {
    pub(crate) async fn now(&self) {
        self.0.notified().await;
    }
}

#[cfg(test)]
mod tests;
