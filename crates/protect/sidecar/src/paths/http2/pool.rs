//! HTTP/2 connections to one target, kept open and shared by requests.

use std::cell::{Cell, OnceCell, RefCell};
use std::fmt;
use std::net::SocketAddr;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use bartizan_deployment::Path;
use bartizan_http1::Unopened;
use bartizan_http2::{self as http2, Fields, Role};
use bartizan_server::contained;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Mutex, Notify, OwnedMutexGuard};
use tokio::task::spawn_local;
use tokio::time::timeout;

use super::budget::{Location, Reader};
use super::connection::Version;
use super::exchange::Origin;
use super::link::{self, Carried, Link};
use super::port::Port;
use super::shares::{Share, Shares};
use crate::answers::failure::Failure;
use crate::dialling::backoff::Backoff;
use crate::dialling::handshake;
use crate::dialling::session::Session;
use crate::life::drain::Phase;
use crate::listening::socket;
use crate::paths::function;
use crate::routing::peers::Upstream;
use crate::runtime::until::until;
use crate::shared::Shared;
use crate::worker::Worker;

/// Connections to one target beyond which requests queue for a stream instead. Of HTTP/1.1, where each carries one request at a time,
/// there may be as many as streams. Several workers share both, rounded up.
const LINKS_AT_MOST: usize = 32;
/// Connections of HTTP/1.1 that are kept without a request.
const IDLE_AT_MOST: usize = 8;

/// Target of a pool's connections.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    /// A peer's sidecar or function, over TLS.
    Peer(Upstream),
    /// Our own network function, without TLS.
    Function(SocketAddr),
}

/// HTTP/2 connections to one target.
#[derive(Debug)]
pub(crate) struct Pool {
    worker: Weak<Worker>,
    shared: Arc<Shared>,
    target: Target,
    /// The node at the other end; our own where the target is our network function.
    pub(crate) peer: String,
    /// Reader that is charged for data waiting for the target.
    reader: Rc<Reader>,
    links: RefCell<Vec<Rc<Link>>>,
    /// Held while dialling, so that a hundred requests that find no connection make one.
    dialling: Arc<Mutex<Option<Failure>>>,
    /// Dials that have ended.
    dialled: Cell<usize>,
    /// Number of connections to keep ready.
    ready: Cell<usize>,
    /// A connection was lost.
    lost: Notify,
    /// Requests that wait for a stream of any connection.
    pub(super) waiting: Cell<usize>,
    /// There may be one.
    room: Notify,
    /// HTTP version of the target, as far as it is known: HTTP/2 until it turns out otherwise (TS
    /// 29.500, clause 5.2).
    version: Cell<Version>,
    pub(crate) occupancy: Arc<Occupancy>,
    /// Readers' shares of a network function's streams.
    shares: Shares,
}

/// State of a pool for a scrape, readable by every thread that answers one.
#[derive(Debug, Default)]
pub(crate) struct Occupancy {
    /// The target in words.
    pub(crate) target: String,
    connections: AtomicUsize,
    streams: AtomicUsize,
}

/// Requests of a network function's own that have no response yet.
#[derive(Debug, Clone)]
pub(crate) struct WaitsFor {
    /// Peer of the oldest request.
    pub(super) peer: String,
    requests: usize,
    since: Instant,
}

impl fmt::Display for WaitsFor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waited = self.since.elapsed().as_secs_f64();
        match self.requests {
            1 => write!(f, "{}, for {waited:.1} s", self.peer),
            all => write!(
                f,
                "{all} responses, for longest for that of {}, {waited:.1} s",
                self.peer
            ),
        }
    }
}

/// Requirements of a request on the connection that carries it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wants {
    /// It has a body, which a closed window would keep.
    pub(super) body: bool,
    /// It does the same when it is done twice. Looked at only where the target speaks HTTP/1.1, `false` elsewhere.
    pub(super) repeatable: bool,
    /// The reader whose request it is.
    pub(super) owner: u64,
}

/// One request on a connection of a pool, while it is there.
#[derive(Debug)]
pub(super) struct Counted {
    occupancy: Arc<Occupancy>,
    _share: Option<Share>,
}

impl WaitsFor {
    /// Both together.
    pub(crate) fn and(self, other: Self) -> Self {
        let requests = self.requests + other.requests;
        let oldest = if self.since <= other.since { self } else { other };
        Self { requests, ..oldest }
    }
}

impl Occupancy {
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    pub(crate) fn streams(&self) -> usize {
        self.streams.load(Ordering::Relaxed)
    }
}

/// One request that waits for a stream, until it is dropped: a reset of it ends its task.
struct Waits<'a>(&'a Cell<usize>);

impl<'a> Waits<'a> {
    fn begin(waiting: &'a Cell<usize>) -> Self {
        waiting.set(waiting.get() + 1);
        Self(waiting)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.occupancy.streams.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Pool {
    pub(crate) fn new(worker: &Rc<Worker>, target: Target) -> Rc<Self> {
        let (peer, words, location) = match &target {
            Target::Peer(upstream) => (
                upstream.peer.to_string(),
                format!("{} at {}", upstream.peer, upstream.address),
                Location::Remote,
            ),
            Target::Function(address) => (
                worker.shared.node.to_string(),
                format!("the network function at {address}"),
                Location::Local,
            ),
        };
        Rc::new(Self {
            worker: Rc::downgrade(worker),
            shared: Arc::clone(&worker.shared),
            target,
            peer,
            reader: Reader::new(&worker.budget, location),
            links: RefCell::default(),
            dialling: Arc::default(),
            dialled: Cell::new(0),
            ready: Cell::new(0),
            lost: Notify::new(),
            waiting: Cell::new(0),
            room: Notify::new(),
            version: Cell::new(Version::Http2),
            shares: Shares::default(),
            occupancy: Arc::new(Occupancy {
                target: words,
                ..Occupancy::default()
            }),
        })
    }

    pub(crate) fn leads_to_a_peer(&self) -> bool {
        matches!(self.target, Target::Peer(_))
    }

    /// Returns true if TLS ends at the peer's function itself.
    pub(super) fn leads_to_own_tls(&self) -> bool {
        matches!(&self.target, Target::Peer(upstream) if upstream.own_tls)
    }

    /// Requests of the network function behind this pool that have no response yet, as far as this
    /// sidecar carries them.
    pub(super) fn waits_for(&self) -> Option<WaitsFor> {
        match self.target {
            Target::Function(_) => self.worker.upgrade()?.waits_for(),
            Target::Peer(_) => None,
        }
    }

    /// Requests to this pool's target that have no response yet.
    pub(crate) fn unanswered(&self) -> Option<WaitsFor> {
        let links = self.links.borrow().clone();
        let mut began = Vec::new();
        for link in links {
            let origins: Vec<Origin> = {
                let mut inside = link.port.inside();
                inside
                    .connection
                    .all()
                    .map(|(_, carried)| carried.origin.clone())
                    .collect()
            };
            began.extend(origins.iter().filter_map(Origin::waits_since));
        }
        Some(WaitsFor {
            peer: self.peer.clone(),
            requests: began.len(),
            since: began.into_iter().min()?,
        })
    }

    /// The target in words.
    pub(crate) fn producer(&self) -> &str {
        &self.occupancy.target
    }

    /// Changes the list of connections.
    fn with_links<R>(&self, change: impl FnOnce(&mut Vec<Rc<Link>>) -> R) -> R {
        let mut links = self.links.borrow_mut();
        let changed = change(&mut links);
        self.occupancy.connections.store(links.len(), Ordering::Relaxed);
        changed
    }

    fn count(&self, owner: u64) -> Counted {
        self.occupancy.streams.fetch_add(1, Ordering::Relaxed);
        Counted {
            occupancy: Arc::clone(&self.occupancy),
            _share: (!self.leads_to_a_peer()).then(|| self.shares.take(owner)),
        }
    }

    /// Tells whether a reader may have one more stream ([`Shares::allow`]).
    fn has_share(&self, owner: u64) -> bool {
        if self.leads_to_a_peer() {
            return true;
        }
        let first = self.links.borrow().first().map(Rc::clone);
        let of_one = match (self.version.get(), first) {
            (Version::Http1, _) => 1,
            (Version::Http2, Some(link)) => link.port.inside().connection.streams_at_most(),
            (Version::Http2, None) => self.shared.limits.streams as usize,
        };
        let all = self.links_at_most().saturating_mul(of_one);
        self.shares.allow(owner, self.occupancy.streams(), all)
    }

    /// Sends the head of a request on a connection; the stream it is on.
    pub(super) fn open_on(&self, link: &Rc<Link>, head: &Fields, end: bool, origin: &Origin) -> Result<u32, Unopened> {
        // Requests of one reader share what they may have of the link's window: a peer's, however many connections it makes.
        let reader = Rc::clone(origin.consumer.inside().reader());
        let owner = reader.number();
        let opened = {
            let mut inside = link.port.inside();
            if !inside.has_room() {
                return Err(Unopened::NoRoom);
            }
            inside.used();
            let carried = Carried {
                origin: origin.clone(),
                heard: inside.heard,
                _counted: self.count(owner),
            };
            inside.connection.open(head, end, owner, carried)?
        };
        link.owner.get_or_init(|| reader);
        let carried = link.carried.get() + 1;
        link.carried.set(carried);
        if let Some(session) = &link.session {
            session.request();
            if self
                .shared
                .limits
                .requests_per_connection
                .is_some_and(|most| carried >= most.get())
            {
                self.retire(link);
            }
        }
        Ok(opened)
    }

    /// A connection with room for a stream. Dials where there is none, and waits where there are as many connections as there
    /// may be.
    pub(super) async fn link(self: &Rc<Self>, wants: Wants) -> Result<Rc<Link>, Failure> {
        let mut waited = false;
        loop {
            if let Some(link) = self.pick(wants) {
                return Ok(link);
            }
            let is_full = || self.links.borrow().len() >= self.links_at_most() && !self.make_room();
            if !self.has_share(wants.owner) || is_full() {
                if !std::mem::replace(&mut waited, true) {
                    self.shared.metrics.limit_reached("streams");
                }
                let _waits = Waits::begin(&self.waiting);
                tokio::select! {
                    () = self.room.notified() => {}
                    // A connection may have gone without notice.
                    () = self.shared.ticks.next() => {}
                }
                continue;
            }
            let before = self.dialled.get();
            let last = Arc::clone(&self.dialling).lock_owned().await;
            if let Some(link) = self.pick(wants) {
                return Ok(link);
            }
            // Another task dialled while this one waited: its failure is ours.
            if self.dialled.get() != before
                && let Some(failure) = last.as_ref()
            {
                return Err(failure.clone());
            }
            // Those that dialled meanwhile may have taken this reader's share, or the last place.
            if !self.has_share(wants.owner) || is_full() {
                continue;
            }
            // A task of its own: requests that wait behind this one need the connection where this
            // one is reset.
            let dialled = spawn_local(contained(Rc::clone(self).dial_alone(last)));
            return match dialled.await {
                Ok(dialled) => dialled,
                // It panicked. The request is answered once it is late.
                Err(_) => std::future::pending().await,
            };
        }
    }

    /// Dials, and lets those that wait for it know the outcome.
    async fn dial_alone(self: Rc<Self>, mut last: OwnedMutexGuard<Option<Failure>>) -> Result<Rc<Link>, Failure> {
        let dialled = self.dial().await;
        *last = dialled.as_ref().err().cloned();
        self.dialled.set(self.dialled.get() + 1);
        dialled
    }

    /// An open connection with room for a stream, and for a request with a body one whose other end takes bodies: where one consumer's
    /// are not read, those of others go by another connection. Where there are as many connections as there may be, any with room.
    pub(super) fn pick(&self, wants: Wants) -> Option<Rc<Link>> {
        if !self.has_share(wants.owner) {
            return None;
        }
        let links = self.links.borrow();
        let mut shut = None;
        for link in links.iter() {
            let mut inside = link.port.inside();
            if !inside.has_room() {
                continue;
            }
            // A connection of HTTP/1.1 may have been ended before the request reaches it, and nothing would say so: what must not be done
            // twice goes by one on which nothing was asked yet (RFC 9112, section 9.3.1).
            let is_kept = link.carried.get() > 0 && inside.connection.version() == Version::Http1;
            if is_kept && !(wants.repeatable && self.may_share(link, wants.owner)) {
                continue;
            }
            if !wants.body || inside.connection.is_window_open() {
                return Some(Rc::clone(link));
            }
            shut = shut.or(Some(link));
        }
        shut.filter(|_| links.len() >= self.shared.workers.share(LINKS_AT_MOST))
            .map(Rc::clone)
    }

    /// Returns true if a reader's request may follow those before it on a connection of HTTP/1.1.
    /// Requests have no numbers there: what an endpoint of the function sends beyond its response,
    /// in a later segment, is the response to the next request for all that can be seen. So each
    /// peer has connections of its own, and can have its own requests answered wrongly alone. The
    /// network function itself is behind all readers of a pool that leads to a peer.
    fn may_share(&self, link: &Link, owner: u64) -> bool {
        self.leads_to_a_peer() || link.owner.get().is_none_or(|reader| reader.number() == owner)
    }

    pub(super) fn speaks_http1(&self) -> bool {
        self.version.get() == Version::Http1
    }

    fn links_at_most(&self) -> usize {
        self.shared.workers.share(match self.version.get() {
            Version::Http1 => self.shared.limits.streams as usize,
            Version::Http2 => LINKS_AT_MOST,
        })
    }

    /// Lets a connection of HTTP/1.1 go that carries nothing, for another.
    fn make_room(&self) -> bool {
        let idle = self.idle_http1().next();
        idle.is_some_and(|link| {
            self.retire(&link);
            true
        })
    }

    /// Connections of HTTP/1.1 that have carried something and carry nothing now.
    fn idle_http1(&self) -> impl Iterator<Item = Rc<Link>> {
        let links = match self.version.get() {
            Version::Http1 => self.links.borrow().clone(),
            Version::Http2 => Vec::new(),
        };
        links.into_iter().filter(|link| {
            let inside = link.port.inside();
            link.carried.get() > 0 && inside.connection.version() == Version::Http1 && inside.connection.is_idle()
        })
    }

    /// The target answered in another version of HTTP than this one.
    pub(super) fn speaks_another_version_than(&self, version: Version) {
        let other = match version {
            Version::Http1 => Version::Http2,
            Version::Http2 => Version::Http1,
        };
        if self.version.replace(other) != other {
            tracing::info!(target = %self.producer(), version = %other, "requests are sent in the version of HTTP that it speaks");
        }
    }

    /// Returns true if a function ends a connection of HTTP/2 without a byte, before anything is
    /// asked, as servers of HTTP/1.1 alone do that are made with hyper. Such a server has processed
    /// no request behind a preface. One that went away with a request under way starts with
    /// SETTINGS once it is back.
    pub(super) async fn closes_at_the_preface(&self) -> bool {
        let Target::Function(address) = self.target else {
            return false;
        };
        let asked = async {
            let mut stream = function::dial(&self.shared, address).await.ok()?;
            let opening = http2::Connection::<()>::new(Role::Client, super::bounds(&self.shared.limits));
            stream.write_all(opening.output()).await.ok()?;
            Some(!matches!(stream.read(&mut [0; 1]).await, Ok(1)))
        };
        timeout(self.shared.limits.handshake, asked).await == Ok(Some(true))
    }

    /// Streams of a connection may have ended that requests wait for.
    pub(super) fn has_room(&self, link: &Link) {
        if self.waiting.get() > 0 && link.port.inside().has_room() {
            self.room.notify_waiters();
        }
        if self.speaks_http1() && !link.is_retired() && self.idle_http1().nth(IDLE_AT_MOST).is_some() {
            self.make_room();
        }
    }

    async fn dial(self: &Rc<Self>) -> Result<Rc<Link>, Failure> {
        match &self.target {
            Target::Peer(upstream) => {
                let generation = self.shared.endpoint.generation();
                let channel = handshake::connect(&self.shared, upstream, Path::Http2).await?;
                let session = Arc::clone(channel.session());
                let link = self.start(channel, Some(session));
                // One begun before a reload carries the request that waits for it, and no other.
                if generation != self.shared.endpoint.generation() {
                    self.retire(&link);
                }
                Ok(link)
            }
            Target::Function(address) => {
                let dialled = function::dial(&self.shared, *address).await;
                if dialled.is_err() {
                    // The function that comes up in its place may be another.
                    self.version.set(Version::Http2);
                }
                let stream = dialled?;
                socket::expect_acknowledgements(&stream, self.shared.limits.stall);
                Ok(self.start(stream, None))
            }
        }
    }

    /// Begins HTTP/2 on a connection and drives it from a task of its own. What a client says first leaves with the first
    /// request: until then a connection holds nothing at the other end, where a millisecond of idle time may count from the preface.
    fn start<IO>(self: &Rc<Self>, stream: IO, session: Option<Arc<Session>>) -> Rc<Link>
    where
        IO: AsyncRead + AsyncWrite + Unpin + 'static,
    {
        let bounds = super::bounds(&self.shared.limits);
        let link = Rc::new(Link {
            shared: Arc::clone(&self.shared),
            port: Port::new(
                (self.version.get(), Role::Client),
                bounds,
                stream,
                Rc::clone(&self.reader),
            ),
            retired: Cell::new(false),
            carried: Cell::new(0),
            owner: OnceCell::new(),
            session,
            mistaken: Cell::new(false),
            settled: Cell::new(self.version.get() == Version::Http1),
        });
        self.with_links(|links| links.push(Rc::clone(&link)));
        spawn_local(contained(link::drive(Rc::clone(self), Rc::clone(&link))));
        link
    }

    /// Takes a connection out of the pool; requests under way on it go on.
    pub(super) fn retire(&self, link: &Rc<Link>) {
        self.with_links(|links| links.retain(|pooled| !Rc::ptr_eq(pooled, link)));
        link.retire();
        self.lost.notify_one();
    }

    /// Lets all connections go; each closes once its requests have ended.
    pub(crate) fn close(&self) {
        let closed = self.with_links(std::mem::take);
        closed.iter().for_each(|link| link.retire());
    }

    /// Replaces connections to a peer: certificates or policies have changed. Requests under way on them go on.
    pub(crate) fn renew(&self) {
        if matches!(self.target, Target::Peer(_)) {
            let retired = self.with_links(std::mem::take);
            retired.iter().for_each(|link| link.retire());
            self.lost.notify_one();
        }
    }

    /// Asks for at least this many connections to be kept ready.
    pub(crate) fn want_ready(&self, connections: usize) {
        self.ready.set(self.ready.get().max(connections));
    }

    /// Keeps as many connections open as are wanted, until draining begins.
    pub(crate) async fn keep(self: Rc<Self>) {
        let ready = self.ready.get();
        let mut guard = self.shared.drain.guard();
        let mut backoff = Backoff::default();
        while guard.phase() == Phase::Running {
            let open = self.links.borrow().clone();
            if open.len() >= ready {
                tokio::select! {
                    () = self.lost.notified() => {}
                    () = guard.reached(Phase::Draining) => return,
                }
                // A connection that ended without a word would be dialled and refused for ever.
                let ended = open.iter().filter(|link| link.is_retired());
                let silent = ended.filter_map(|link| link.silent_for()).min();
                drop(open);
                if let Some(lasted) = silent {
                    backoff.lasted(lasted);
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
            let dialled = async {
                let last = Arc::clone(&self.dialling).lock_owned().await;
                Rc::clone(&self).dial_alone(last).await
            };
            // Draining waits for no handshake that no request waits for; one that does dials itself.
            let Some(dialled) = until(dialled, guard.reached(Phase::Draining)).await else {
                return;
            };
            if let Err(failure) = dialled
                && guard.phase() == Phase::Running
            {
                self.shared.failure_log.log("no connection kept ready", &failure);
                tokio::select! {
                    () = backoff.wait() => {}
                    () = guard.reached(Phase::Draining) => return,
                }
            }
        }
    }
}
