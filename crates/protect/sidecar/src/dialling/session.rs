//! Established TLS connections: what each negotiated and carried.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant, SystemTime};

use bartizan_deployment::{InterfaceKind, NodeName, Path};
use bartizan_ledger::{
    self as ledger, Bytes, Certificate, Closed, Direction, Event, Handshake, Key, Negotiated, Times, Verdict,
};
use bartizan_tls::{Established, Reason, Refusal, Refused, SessionFacts};
use prometheus_client::metrics::counter::Counter;
use tokio::sync::watch;

use crate::answers::failure::Failure;
use crate::life::drain::Phase;
use crate::life::review::{self, End};
use crate::metrics::Side;
use crate::shared::Shared;

/// The established connections of a sidecar.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    next: AtomicU64,
    open: Mutex<BTreeMap<u64, Weak<Session>>>,
    /// The most that were open at once since that was asked last.
    most: AtomicUsize,
}

/// Direction, interface, path and addresses of a connection, with the times of its setup.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Leg {
    pub(crate) direction: Direction,
    /// That of the listener.
    pub(crate) interface: InterfaceKind,
    pub(crate) path: Path,
    pub(crate) local_address: SocketAddr,
    pub(crate) peer_address: SocketAddr,
    /// TCP set-up; zero where the peer connected.
    pub(crate) connect: Duration,
    /// First byte to the end of the TLS handshake.
    pub(crate) handshake: Duration,
}

/// One established TLS connection. Its end goes to the ledger when the last holder drops it.
#[derive(Debug)]
pub(crate) struct Session {
    shared: Arc<Shared>,
    number: u64,
    pub(crate) peer: NodeName,
    pub(crate) negotiated: Arc<Negotiated>,
    pub(crate) verdict: Verdict,
    /// Subject and end of the leaf the peer showed.
    pub(crate) leaf: Option<Certificate>,
    pub(crate) key: Option<Key>,
    pub(crate) leg: Leg,
    /// That of the endpoint that judged it.
    generation: u64,
    pub(crate) since: SystemTime,
    pub(crate) began: Instant,
    requests: AtomicU64,
    sent: AtomicU64,
    received: AtomicU64,
    total_sent: Counter,
    total_received: Counter,
    /// Why the peer ended it before its first byte, where it did.
    refused: OnceLock<Box<Refused>>,
    /// By what it is judged again.
    pub(crate) facts: SessionFacts,
    /// When the first certificate of the peer's chain ends.
    pub(crate) end: End,
    /// Why it is no longer admitted, where it is not.
    fallen: OnceLock<Refusal>,
    /// Phase of this connection's own end, where it must end before the others.
    dismissal: watch::Sender<Phase>,
}

impl From<Direction> for Side {
    fn from(direction: Direction) -> Self {
        match direction {
            Direction::Inbound => Self::Inbound,
            Direction::Outbound => Self::Outbound,
        }
    }
}

impl Session {
    /// Takes an accepted handshake into metrics, ledger and the list of connections.
    ///
    /// `generation` is that of the endpoint that judged it: where a reload was in between, it is judged again.
    pub(crate) fn open(shared: &Arc<Shared>, established: Established, leg: Leg, generation: u64) -> Arc<Self> {
        let side = Side::from(leg.direction);
        let peer = established.peer.as_str();
        let (total_sent, total_received) = shared.metrics.bytes(side, peer);
        let begun = Event::Handshake(Box::new(Handshake {
            key: established.key,
            interface: leg.interface.name().to_owned(),
            direction: leg.direction,
            peer: Some(peer.to_owned()),
            local_address: leg.local_address,
            peer_address: leg.peer_address,
            negotiated: Some(established.negotiated.clone()),
            chain: established.chain.to_vec(),
            local_chain: established.local_chain.to_vec(),
            bytes: established.bytes,
            times: leg.times(),
            verdict: established.verdict.clone(),
        }));
        let ends = established.chain.iter().map(|certificate| certificate.not_after).min();
        let ends = ends.and_then(|seconds| u64::try_from(seconds).ok()).unwrap_or_default();
        let ends = SystemTime::UNIX_EPOCH
            .checked_add(Duration::from_secs(ends))
            .unwrap_or(SystemTime::UNIX_EPOCH);
        let number = shared.sessions.next.fetch_add(1, Ordering::Relaxed);
        let session = Arc::new(Self {
            shared: Arc::clone(shared),
            number,
            peer: established.peer,
            negotiated: Arc::new(established.negotiated),
            verdict: established.verdict,
            leaf: established.chain.first().cloned(),
            key: established.key,
            leg,
            generation,
            since: SystemTime::now(),
            began: Instant::now(),
            requests: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
            total_sent,
            total_received,
            refused: OnceLock::new(),
            facts: established.facts,
            end: End::new(ends),
            fallen: OnceLock::new(),
            dismissal: watch::Sender::new(Phase::Running),
        });
        // A server has judged its client by now; a client is judged after its handshake, and learns it with the first record.
        if leg.direction == Direction::Inbound {
            session.admitted();
        }
        shared.sessions.insert(number, &session);
        // After it is listed, and its end before it is removed: the ledger is closed when none is
        // listed.
        shared.recorder.record(begun);
        // After it is listed: a reload either finds it there or is seen here.
        if generation != shared.endpoint.generation()
            && let Some(refusal) = review::judge(shared, &session)
        {
            tracing::debug!(peer = %session.peer, %refusal, "a reload during a handshake");
        }
        session
    }

    /// Has this connection end: well, then at once. Never back.
    pub(crate) fn dismiss(&self, phase: Phase) {
        self.dismissal.send_if_modified(|now| {
            let forward = phase > *now;
            if forward {
                *now = phase;
            }
            forward
        });
    }

    /// Returns true if it has to end.
    pub(crate) fn is_dismissed(&self) -> bool {
        *self.dismissal.borrow() > Phase::Running
    }

    /// Keeps why it has to end, for the ledger.
    pub(crate) fn no_longer_admitted(&self, refusal: &Refusal) {
        let _ = self.fallen.set(refusal.clone());
    }

    /// Returns true if both ends are known to have accepted the handshake.
    pub(crate) fn is_admitted(&self) -> bool {
        self.leg.direction == Direction::Inbound || self.heard()
    }

    /// The judgement that a reload during the handshake, or since, has brought.
    pub(crate) fn fallen(&self) -> Option<&Refusal> {
        self.fallen.get()
    }

    /// Learns when it has to end.
    pub(crate) fn dismissal(&self) -> watch::Receiver<Phase> {
        self.dismissal.subscribe()
    }

    /// Counts plain text sent to the peer.
    pub(crate) fn sent(&self, bytes: usize) {
        self.sent.fetch_add(bytes as u64, Ordering::Relaxed);
        self.total_sent.inc_by(bytes as u64);
    }

    /// Counts plain text received from the peer.
    pub(crate) fn received(&self, bytes: usize) {
        let before = self.received.fetch_add(bytes as u64, Ordering::Relaxed);
        if before == 0 && bytes > 0 && self.leg.direction == Direction::Outbound {
            self.admitted();
        }
        self.total_received.inc_by(bytes as u64);
    }

    /// Both ends have accepted the handshake: it is counted.
    fn admitted(&self) {
        self.shared.endpoint.succeeded(self.generation);
        self.shared
            .refusing
            .admitted(self.peer.as_str(), self.leg.interface.name());
        self.shared.metrics.handshake(
            Side::from(self.leg.direction),
            self.peer.as_str(),
            &self.negotiated,
            matches!(self.verdict, Verdict::Excepted { .. }),
            self.leg.handshake.as_secs_f64(),
        );
    }

    /// Counts a request carried.
    pub(crate) fn request(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    pub(crate) fn bytes(&self) -> Bytes {
        Bytes {
            sent: self.sent.load(Ordering::Relaxed),
            received: self.received.load(Ordering::Relaxed),
        }
    }

    /// Returns true once the peer has sent anything.
    pub(crate) fn heard(&self) -> bool {
        self.received.load(Ordering::Relaxed) > 0
    }

    /// The peer ended the connection before its first byte: a TLS 1.3 client has finished its handshake before the server
    /// judges it, so this is how a refusal shows. Only the first call counts.
    pub(crate) fn refuse(&self, refused: Box<Refused>) {
        let mut first = false;
        let refused = self.refused.get_or_init(|| {
            first = true;
            refused
        });
        // A peer that only closes may have been restarted; one that sends an alert has judged us.
        if !first || refused.reason != Reason::PeerRefused {
            return;
        }
        let side = Side::from(self.leg.direction);
        self.shared
            .metrics
            .handshake_failed(side, self.peer.as_str(), refused.reason.as_str());
        self.shared.metrics.refused(self.peer.as_str(), refused.reason.as_str());
        self.shared.refusing.refused(
            self.leg.interface.name(),
            self.generation,
            Failure::refused(self.peer.as_str(), refused),
            Instant::now(),
        );
        self.shared.recorder.refuse(Event::Handshake(Box::new(Handshake {
            key: self.key,
            interface: self.leg.interface.name().to_owned(),
            direction: self.leg.direction,
            peer: Some(self.peer.to_string()),
            local_address: self.leg.local_address,
            peer_address: self.leg.peer_address,
            negotiated: Some(Negotiated::clone(&self.negotiated)),
            chain: self.leaf.clone().into_iter().collect(),
            local_chain: Vec::new(),
            bytes: refused.bytes,
            times: self.leg.times(),
            verdict: Verdict::Refused {
                reason: refused.reason.as_str().to_owned(),
                detail: refused.detail.clone(),
            },
        })));
    }

    /// Why the peer ended it before its first byte.
    pub(crate) fn refusal(&self) -> Option<&Refused> {
        self.refused.get().map(|refused| &**refused)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.shared.recorder.record(Event::Closed(Closed {
            key: self.key,
            bytes: self.bytes(),
            lasted_us: microseconds(self.began.elapsed()),
            refused: self.fallen.get().map(|refusal| ledger::Refusal {
                reason: refusal.reason.as_str().to_owned(),
                detail: refusal.detail.clone(),
            }),
        }));
        self.shared.sessions.lock().remove(&self.number);
    }
}

impl Leg {
    pub(crate) fn times(&self) -> Times {
        Times {
            connect_us: microseconds(self.connect),
            handshake_us: microseconds(self.handshake),
        }
    }
}

fn microseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

impl Sessions {
    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, Weak<Session>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn insert(&self, number: u64, session: &Arc<Session>) {
        let mut open = self.lock();
        open.insert(number, Arc::downgrade(session));
        self.most.fetch_max(open.len(), Ordering::Relaxed);
    }

    /// Number of those open now.
    pub(crate) fn count(&self) -> usize {
        self.lock().len()
    }

    /// Number of those open now, and the most that were since this was called last.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let open = self.count();
        (open, self.most.swap(open, Ordering::Relaxed).max(open))
    }

    /// At most `limit` of those open now, oldest first, from the number `from` on, and the number to continue from.
    pub(crate) fn page(&self, from: u64, limit: usize) -> (Vec<Arc<Session>>, Option<u64>) {
        let open = self.lock();
        let mut those = open.range(from..);
        let page: Vec<_> = those.by_ref().take(limit).map(|(_, session)| session.clone()).collect();
        let next = those.next().map(|(number, _)| *number);
        drop(open);
        (page.iter().filter_map(Weak::upgrade).collect(), next)
    }

    /// Those open now, oldest first.
    pub(crate) fn list(&self) -> Vec<Arc<Session>> {
        // Upgraded outside the lock: letting the last holder go takes the lock again.
        let open: Vec<_> = self.lock().values().cloned().collect();
        open.iter().filter_map(Weak::upgrade).collect()
    }
}
