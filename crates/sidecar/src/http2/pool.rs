//! HTTP/2 connections to one target, kept open and shared by requests.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bartizan_deployment::Path;
use bartizan_http2::{Fields, Role};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Notify;

use super::exchange::Origin;
use super::link::{self, Link};
use super::port::Port;
use crate::backoff::Backoff;
use crate::drain::Phase;
use crate::failure::Failure;
use crate::function;
use crate::handshake;
use crate::peers::Door;
use crate::session::Session;
use crate::shared::Shared;

/// Connections to one target beyond which requests queue for a stream instead.
const LINKS_AT_MOST: usize = 32;

/// Whom a pool's connections lead to.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    /// A peer's sidecar, over TLS.
    Peer(Door),
    /// Our own network function, in clear.
    Function(SocketAddr),
}

/// HTTP/2 connections to one target.
#[derive(Debug)]
pub(crate) struct Pool {
    shared: Arc<Shared>,
    target: Target,
    peer: String,
    links: Mutex<Vec<Arc<Link>>>,
    /// Held while dialling, so that a hundred requests that find no connection make one.
    dialling: tokio::sync::Mutex<Option<Failure>>,
    /// Dials that have ended.
    dialled: AtomicUsize,
    /// How many connections are kept ready.
    ready: AtomicUsize,
    /// A connection was lost.
    lost: Notify,
    /// Requests that wait for a stream of any connection.
    waiting: AtomicUsize,
    /// There may be one.
    room: Notify,
}

/// What a scrape wants to know of a pool.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Occupancy {
    pub(crate) connections: usize,
    pub(crate) streams: usize,
}

impl Pool {
    pub(crate) fn new(shared: &Arc<Shared>, target: Target) -> Arc<Self> {
        let peer = match &target {
            Target::Peer(door) => door.peer.to_string(),
            Target::Function(_) => shared.node.to_string(),
        };
        Arc::new(Self {
            shared: Arc::clone(shared),
            target,
            peer,
            links: Mutex::default(),
            dialling: tokio::sync::Mutex::default(),
            dialled: AtomicUsize::new(0),
            ready: AtomicUsize::new(0),
            lost: Notify::new(),
            waiting: AtomicUsize::new(0),
            room: Notify::new(),
        })
    }

    /// The node at the other end; our own where the target is our network function.
    pub(crate) fn peer(&self) -> &str {
        &self.peer
    }

    /// The target in words.
    pub(crate) fn producer(&self) -> String {
        match &self.target {
            Target::Peer(door) => format!("{} at {}", door.peer, door.address),
            Target::Function(address) => format!("the network function at {address}"),
        }
    }

    pub(crate) fn occupancy(&self) -> Occupancy {
        let links = self.links();
        Occupancy {
            connections: links.len(),
            streams: links
                .iter()
                .map(|link| link.port.lock().connection.open_streams())
                .sum(),
        }
    }

    fn links(&self) -> MutexGuard<'_, Vec<Arc<Link>>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends the head of a request on an open connection with room; the stream it is on. `None` where there is none.
    pub(super) fn open(&self, head: &Fields, end: bool, origin: &Origin) -> Option<(Arc<Link>, u32)> {
        let link = self.pick()?;
        let stream = self.open_on(&link, head, end, origin)?;
        Some((link, stream))
    }

    /// The same on this connection.
    pub(super) fn open_on(&self, link: &Arc<Link>, head: &Fields, end: bool, origin: &Origin) -> Option<u32> {
        let opened = {
            let mut inside = link.port.lock();
            if !inside.has_room() {
                return None;
            }
            inside.used();
            inside.connection.open(head, end, origin.clone())?
        };
        if let Some(session) = &link.session {
            session.request();
            let carried = 1 + link.carried.fetch_add(1, Ordering::Relaxed);
            if self
                .shared
                .limits
                .requests_per_connection
                .is_some_and(|most| carried >= most.get())
            {
                self.retire(link);
            }
        }
        Some(opened)
    }

    /// A connection with room for a stream. Dials where there is none, and waits where there are as many connections as there
    /// may be.
    pub(super) async fn link(self: &Arc<Self>) -> Result<Arc<Link>, Failure> {
        let mut waited = false;
        loop {
            if let Some(link) = self.pick() {
                return Ok(link);
            }
            if self.links().len() >= LINKS_AT_MOST {
                if !std::mem::replace(&mut waited, true) {
                    self.shared.metrics.limit_reached("streams");
                }
                self.waiting.fetch_add(1, Ordering::Relaxed);
                tokio::select! {
                    () = self.room.notified() => {}
                    // A connection may have gone that nobody told of.
                    () = self.shared.ticks.next() => {}
                }
                self.waiting.fetch_sub(1, Ordering::Relaxed);
                continue;
            }
            let before = self.dialled.load(Ordering::Acquire);
            let mut last = self.dialling.lock().await;
            if let Some(link) = self.pick() {
                return Ok(link);
            }
            // Somebody dialled while this one waited: their failure is ours.
            if self.dialled.load(Ordering::Acquire) != before
                && let Some(failure) = last.as_ref()
            {
                return Err(failure.clone());
            }
            let dialled = self.dial().await;
            *last = dialled.as_ref().err().cloned();
            self.dialled.fetch_add(1, Ordering::AcqRel);
            return dialled;
        }
    }

    /// An open connection with room.
    fn pick(&self) -> Option<Arc<Link>> {
        let links = self.links();
        links.iter().find(|link| link.port.lock().has_room()).map(Arc::clone)
    }

    /// Streams of a connection may have ended that requests wait for.
    pub(super) fn has_room(&self, link: &Link) {
        if self.waiting.load(Ordering::Relaxed) > 0 && link.port.lock().has_room() {
            self.room.notify_waiters();
        }
    }

    async fn dial(self: &Arc<Self>) -> Result<Arc<Link>, Failure> {
        match &self.target {
            Target::Peer(door) => {
                let generation = self.shared.endpoint.generation();
                let channel = handshake::connect(&self.shared, door, Path::Http2).await?;
                let session = Arc::clone(channel.session());
                let link = self.start(channel, Some(session));
                // One begun before a reload carries the request that waits for it, and no other.
                if generation != self.shared.endpoint.generation() {
                    self.retire(&link);
                }
                Ok(link)
            }
            Target::Function(address) => {
                let stream = function::dial(&self.shared, *address).await?;
                Ok(self.start(stream, None))
            }
        }
    }

    /// Begins HTTP/2 on a connection and drives it from a task of its own. What a client says first leaves with the first
    /// request: until then a connection holds nothing at the other end, where a millisecond of idle time may count from the preface.
    fn start<IO>(self: &Arc<Self>, stream: IO, session: Option<Arc<Session>>) -> Arc<Link>
    where
        IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let link = Arc::new(Link {
            port: Port::new(Role::Client, super::bounds(&self.shared.limits), stream),
            retired: AtomicBool::new(false),
            carried: AtomicU64::new(0),
            session,
        });
        self.links().push(Arc::clone(&link));
        tokio::spawn(link::drive(Arc::clone(self), Arc::clone(&link)));
        link
    }

    /// Takes a connection out of the pool; requests under way on it go on.
    pub(super) fn retire(&self, link: &Arc<Link>) {
        self.links().retain(|pooled| !Arc::ptr_eq(pooled, link));
        link.retire();
        self.lost.notify_one();
    }

    /// Lets all connections go; each closes once its requests have ended.
    pub(crate) fn close(&self) {
        let closed = std::mem::take(&mut *self.links());
        closed.iter().for_each(|link| link.retire());
    }

    /// Replaces connections to a peer: certificates or policies have changed. Requests under way on them go on.
    pub(crate) fn renew(&self) {
        if matches!(self.target, Target::Peer(_)) {
            let retired = std::mem::take(&mut *self.links());
            retired.iter().for_each(|link| link.retire());
            self.lost.notify_one();
        }
    }

    /// Asks for at least this many connections to be kept ready.
    pub(crate) fn want_ready(&self, connections: usize) {
        self.ready.fetch_max(connections, Ordering::Relaxed);
    }

    /// Keeps as many connections open as are wanted, until draining begins.
    pub(crate) async fn keep(self: Arc<Self>) {
        let ready = self.ready.load(Ordering::Relaxed);
        let mut guard = self.shared.drain.guard();
        let mut backoff = Backoff::default();
        while guard.phase() == Phase::Running {
            let open = self.links().clone();
            if open.len() >= ready {
                tokio::select! {
                    () = self.lost.notified() => {}
                    () = guard.reached(Phase::Draining) => return,
                }
                // A connection that ended without a word would be dialled and refused for ever.
                let silent = open.iter().any(|link| link.is_retired() && !link.heard());
                drop(open);
                if silent {
                    tokio::select! {
                        () = backoff.wait() => {}
                        () = guard.reached(Phase::Draining) => return,
                    }
                } else {
                    backoff.reset();
                }
                continue;
            }
            drop(open);
            let dialled = {
                let mut last = self.dialling.lock().await;
                let dialled = self.dial().await;
                *last = dialled.as_ref().err().cloned();
                self.dialled.fetch_add(1, Ordering::AcqRel);
                dialled
            };
            if let Err(failure) = dialled
                && guard.phase() == Phase::Running
            {
                self.shared.complaints.log("no connection kept ready", &failure);
                tokio::select! {
                    () = backoff.wait() => {}
                    () = guard.reached(Phase::Draining) => return,
                }
            }
        }
    }
}
