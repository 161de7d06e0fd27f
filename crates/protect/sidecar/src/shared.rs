//! State that all connections of a sidecar share.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use bartizan_deployment::{Limits, NodeName};
use bartizan_ledger::Recorder;
use bartizan_tls::Endpoint;
use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::answers::failure::Failure;
use crate::answers::failure_log::FailureLog;
use crate::dialling::refusing::Refusing;
use crate::dialling::session::Sessions;
use crate::life::drain::Drain;
use crate::life::handover::Successor;
use crate::metrics::Metrics;
use crate::paths::sctp::{Accounts, AllSeats, Takers};
use crate::runtime::thread::{Thread, spawn};
use crate::runtime::ticks::Ticks;
use crate::traces::Tracer;
use crate::worker::Workers;

/// State that all connections of a sidecar share.
#[derive(Debug)]
pub(crate) struct Shared {
    /// The node this sidecar serves.
    pub(crate) node: NodeName,
    pub(crate) endpoint: Current,
    pub(crate) limits: Limits,
    pub(crate) metrics: Metrics,
    pub(crate) sessions: Sessions,
    pub(crate) associations: Accounts,
    /// Associations that peers have opened, to be found by them.
    pub(crate) seats: AllSeats,
    /// Takes associations of the process before.
    pub(crate) takers: Takers,
    /// The process before.
    pub(crate) before: watch::Sender<Before>,
    /// The process that serves in the place of this one.
    pub(crate) successor: OnceLock<Successor>,
    /// Patience of associations that begin, which a reload replaces.
    pub(crate) patience: RwLock<Patience>,
    pub(crate) recorder: Recorder,
    pub(crate) drain: Drain,
    pub(crate) failure_log: FailureLog,
    pub(crate) refusing: Refusing,
    pub(crate) ticks: Ticks,
    pub(crate) carriers: Carriers,
    pub(crate) workers: Workers,
    /// Decides which requests have a span, where any may.
    pub(crate) tracer: Option<Tracer>,
    /// The first listener that ended before draining.
    pub(crate) failed_listener: OnceLock<String>,
}

/// The process that passed its sockets to this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Before {
    /// There is none any more.
    Ended,
    /// It drains, and gives its associations.
    Drains,
    /// The same, and it reads the sockets of UDP.
    Reads,
}

/// Patience of associations, by peer and interface.
pub(crate) type Patience = HashMap<(String, &'static str), Duration>;

impl Shared {
    /// Patience of associations with this peer; none for one that is not in the file.
    pub(crate) fn patience(&self, peer: &str, interface: &'static str) -> Option<Duration> {
        let patience = self.patience.read().unwrap_or_else(PoisonError::into_inner);
        patience.get(&(peer.to_owned(), interface)).copied()
    }

    /// Another process of this node may have an association that this one does not know.
    pub(crate) fn is_one_of_two(&self) -> bool {
        self.drain.has_succeeded() || *self.before.borrow() != Before::Ended
    }

    /// A listener accepts nothing any more: this sidecar is not ready.
    pub(crate) fn listener_failed(&self, name: &str) {
        let _ = self.failed_listener.set(name.to_owned());
    }

    /// A connection, of what is named, is not taken: the listener, or where its socket was to go,
    /// has no room for it.
    pub(crate) fn cannot_take(&self, what: &str, error: &io::Error) {
        self.metrics.limit_reached("accept");
        let failure = Failure::untaken(self.node.as_str(), what, error);
        self.failure_log.log("connections are not taken", &failure);
    }

    pub(crate) fn set_patience(&self, patience: Patience) {
        *self.patience.write().unwrap_or_else(PoisonError::into_inner) = patience;
    }
}

/// The threads that carry associations, each started when it is needed first.
///
/// Over QUIC they share it with the handshakes of other sidecars. Over TLS no unauthenticated peer
/// has a part of their thread.
#[derive(Debug, Default)]
pub(crate) struct Carriers {
    tls: Mutex<Option<Thread>>,
    quic: Mutex<Option<Thread>>,
}

impl Carriers {
    /// # Errors
    /// Fails if the system gives no thread.
    pub(crate) fn tls(&self) -> io::Result<Handle> {
        Self::begin(&self.tls, "carrier-tls")
    }

    /// # Errors
    /// Fails if the system gives no thread.
    pub(crate) fn quic(&self) -> io::Result<Handle> {
        Self::begin(&self.quic, "carrier-quic")
    }

    fn begin(begun: &Mutex<Option<Thread>>, name: &str) -> io::Result<Handle> {
        let mut begun = begun.lock().unwrap_or_else(PoisonError::into_inner);
        let thread = match begun.take() {
            Some(thread) => thread,
            None => spawn(name, 0, || ()).map_err(io::Error::other)?,
        };
        Ok(begun.insert(thread).handle.clone())
    }
}

bartizan_registry::made! {
    /// Certificates and policies in effect, which a reload replaces. Connections keep what they began with.
    #[derive(Debug)]
    pub(crate) struct Current, pub(crate) new(endpoint: Endpoint) {
        endpoint: RwLock<Endpoint> = RwLock::new(endpoint),
        generation: AtomicU64 = AtomicU64::new(0),
        /// The generation by which a handshake succeeded last, from 1.
        shown: AtomicU64 = AtomicU64::new(0),
    }
}

impl Current {
    pub(crate) fn endpoint(&self) -> Endpoint {
        self.endpoint.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Which one in the row of those in effect it is.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// A handshake succeeded that was judged by the endpoint of this generation.
    pub(crate) fn succeeded(&self, generation: u64) {
        self.shown.fetch_max(generation + 1, Ordering::AcqRel);
    }

    /// Returns true if a handshake has succeeded by the endpoint in effect.
    pub(crate) fn has_succeeded(&self) -> bool {
        self.shown.load(Ordering::Acquire) == self.generation() + 1
    }

    pub(crate) fn replace(&self, endpoint: Endpoint) {
        *self.endpoint.write().unwrap_or_else(PoisonError::into_inner) = endpoint;
        self.generation.fetch_add(1, Ordering::AcqRel);
    }
}
