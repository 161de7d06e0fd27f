//! HTTP/2 connections to one target, kept open and shared by requests.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bartizan_deployment::Path;
use bartizan_tls::Refused;
use bytes::Bytes;
use h2::SendStream;
use h2::client::{ResponseFuture, SendRequest};
use http::Request;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Notify;

use super::opening::Opening;
use crate::backoff::Backoff;
use crate::drain::Phase;
use crate::failure::{Failure, Why};
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
}

/// One connection of a pool.
#[derive(Debug)]
pub(crate) struct Link {
    sender: SendRequest<Bytes>,
    /// Streams under way or waiting.
    active: AtomicUsize,
    retired: AtomicBool,
    /// Present where the connection is to a peer.
    session: Option<Arc<Session>>,
}

/// A connection with a stream of it spoken for.
#[derive(Debug)]
pub(crate) struct Lease(Arc<Link>);

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
            streams: links.iter().map(|link| link.active.load(Ordering::Relaxed)).sum(),
        }
    }

    fn links(&self) -> MutexGuard<'_, Vec<Arc<Link>>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection with room for a stream. Dials where there is none.
    pub(crate) async fn link(self: &Arc<Self>) -> Result<Lease, Failure> {
        if let Some(link) = self.pick() {
            return Ok(link);
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
        dialled.map(|link| Lease::new(&link))
    }

    /// An open connection with room, or the one with the fewest streams where there are as many connections as there may be.
    fn pick(&self) -> Option<Lease> {
        let links = self.links();
        let room = links
            .iter()
            .find(|link| link.active.load(Ordering::Relaxed) < link.sender.current_max_send_streams());
        match room {
            Some(link) => Some(Lease::new(link)),
            None if links.len() < LINKS_AT_MOST => None,
            None => {
                self.shared.metrics.limit_reached("streams");
                links
                    .iter()
                    .min_by_key(|link| link.active.load(Ordering::Relaxed))
                    .map(Lease::new)
            }
        }
    }

    async fn dial(self: &Arc<Self>) -> Result<Arc<Link>, Failure> {
        match &self.target {
            Target::Peer(door) => {
                let generation = self.shared.endpoint.generation();
                let channel = handshake::connect(&self.shared, door, Path::Http2).await?;
                let session = Arc::clone(channel.session());
                let link = self.start(channel, Some(session)).await?;
                // One begun before a reload carries the request that waits for it, and no other.
                if generation != self.shared.endpoint.generation() {
                    self.retire(&link);
                }
                Ok(link)
            }
            Target::Function(address) => {
                let stream = function::dial(&self.shared, *address).await?;
                self.start(stream, None).await
            }
        }
    }

    /// Begins HTTP/2 on a connection and drives it from a task of its own.
    async fn start<IO>(self: &Arc<Self>, stream: IO, session: Option<Arc<Session>>) -> Result<Arc<Link>, Failure>
    where
        IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let begun = super::client(&self.shared.limits).handshake(Opening::new(stream)).await;
        let (sender, connection) = begun.map_err(|error| match session.as_deref().and_then(Session::refusal) {
            Some(refused) => Failure::refused(&self.peer, refused),
            None => Failure {
                peer: self.peer.clone(),
                why: Why::Broken,
                detail: format!("the connection to {} broke at once: {error}", self.producer()),
                hint: "see the log of the other side".to_owned(),
            },
        })?;
        let link = Arc::new(Link {
            sender,
            active: AtomicUsize::new(0),
            retired: AtomicBool::new(false),
            session,
        });
        self.links().push(Arc::clone(&link));
        let (pool, driven) = (Arc::clone(self), Arc::downgrade(&link));
        tokio::spawn(async move {
            let ended = connection.await;
            if let Some(link) = driven.upgrade() {
                pool.retire(&link);
            }
            if let Err(error) = ended {
                tracing::debug!(target = %pool.producer(), %error, "pooled connection ended");
            }
        });
        Ok(link)
    }

    /// Takes a connection out of the pool; requests under way on it go on.
    pub(crate) fn retire(&self, link: &Arc<Link>) {
        link.retired.store(true, Ordering::Relaxed);
        self.links().retain(|pooled| !Arc::ptr_eq(pooled, link));
        self.lost.notify_one();
    }

    /// The same, where `error` concerns the connection rather than one stream of it.
    pub(crate) fn retire_if_closed(&self, link: &Arc<Link>, error: &h2::Error) {
        if error.is_go_away() || error.is_io() {
            self.retire(link);
        }
    }

    /// Lets all connections go; each closes once its requests have ended.
    pub(crate) fn close(&self) {
        self.links().clear();
    }

    /// Replaces connections to a peer: certificates or policies have changed. Requests under way on them go on.
    pub(crate) fn renew(&self) {
        if matches!(self.target, Target::Peer(_)) {
            let retired = std::mem::take(&mut *self.links());
            for link in retired {
                link.retired.store(true, Ordering::Relaxed);
            }
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

impl Link {
    /// Sends the head of a request.
    pub(super) async fn send(
        &self,
        head: Request<()>,
        ends: bool,
    ) -> Result<(ResponseFuture, SendStream<Bytes>), h2::Error> {
        let mut sender = self.sender.clone();
        poll_fn(|context| sender.poll_ready(context)).await?;
        let sent = sender.send_request(head, ends)?;
        if let Some(session) = &self.session {
            session.request();
        }
        Ok(sent)
    }

    /// Why the peer ended the connection before it said anything.
    pub(super) fn refusal(&self) -> Option<&Refused> {
        self.session.as_deref().and_then(Session::refusal)
    }

    fn is_retired(&self) -> bool {
        self.retired.load(Ordering::Relaxed)
    }

    fn heard(&self) -> bool {
        self.session.as_ref().is_none_or(|session| session.heard())
    }
}

impl Lease {
    fn new(link: &Arc<Link>) -> Self {
        link.active.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(link))
    }
}

impl Deref for Lease {
    type Target = Arc<Link>;

    fn deref(&self) -> &Arc<Link> {
        &self.0
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.0.active.fetch_sub(1, Ordering::Relaxed);
    }
}
