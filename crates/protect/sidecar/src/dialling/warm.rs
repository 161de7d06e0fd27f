//! Connections to one peer that are dialled ahead for the `splice` and `sctp` paths, over TCP or QUIC, and watched until they are used.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bartizan_deployment::Path;
use tokio::io::AsyncBufRead;
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::answers::failure::Failure;
use crate::dialling::backoff::Backoff;
use crate::dialling::channel::Channel;
use crate::dialling::handshake;
use crate::dialling::session::Session;
use crate::life::drain::Phase;
use crate::routing::peers::Upstream;
use crate::runtime::until::until;
use crate::shared::Shared;

/// A connection of a pool.
pub(crate) trait Dialled: Send + Sized {
    /// State that connections of a pool share before they are dialled.
    type Dialler: std::fmt::Debug + Default + Send + Sync;

    /// Dials one and completes its handshake.
    fn dial(
        shared: &Arc<Shared>,
        dialler: &Self::Dialler,
        upstream: &Upstream,
        path: Path,
    ) -> impl Future<Output = Result<Self, Failure>> + Send;

    /// The session with its negotiated parameters and counts.
    fn session(&self) -> &Arc<Session>;

    /// Returns ready once the peer has closed it, or refused us: a TLS 1.3 client learns that only
    /// after its handshake.
    fn poll_ended(&mut self, context: &mut Context<'_>) -> Poll<()>;

    /// Reports that the peer is there, by a sign of life where no system reports its end.
    fn is_alive(&mut self) -> impl Future<Output = bool> + Send {
        async { true }
    }
}

/// A pool, whatever its connections are.
pub(crate) trait Kept: std::fmt::Debug + Send + Sync {
    /// The peer that its connections lead to.
    fn peer(&self) -> &str;
    /// Number of connections that are ready now.
    fn ready(&self) -> usize;
    /// Replaces those that are ready: certificates or policies have changed.
    fn renew(&self);
    /// Closes those that are no longer admitted.
    fn close_dismissed(&self);
    /// Closes all.
    fn close(&self);
}

/// Connections to one peer, ready for use.
#[derive(Debug)]
pub(crate) struct WarmPool<C: Dialled = Channel> {
    shared: Arc<Shared>,
    dialler: C::Dialler,
    upstream: Upstream,
    /// Purpose of its connections.
    path: Path,
    /// Number of connections to keep ready.
    wanted: AtomicUsize,
    ready: Mutex<Vec<C>>,
    /// One was taken.
    taken: Notify,
}

impl<C: Dialled> WarmPool<C> {
    pub(crate) fn new(shared: &Arc<Shared>, upstream: Upstream) -> Arc<Self> {
        Arc::new(Self {
            shared: Arc::clone(shared),
            dialler: C::Dialler::default(),
            path: if Path::Sctp.carries(upstream.interface) {
                Path::Sctp
            } else {
                Path::Splice
            },
            upstream,
            wanted: AtomicUsize::new(0),
            ready: Mutex::default(),
            taken: Notify::new(),
        })
    }

    pub(crate) fn peer(&self) -> &str {
        self.upstream.peer.as_str()
    }

    /// The other end, in words.
    pub(crate) fn end(&self) -> String {
        self.upstream.end()
    }

    /// The interface of the standards.
    pub(crate) fn interface(&self) -> &'static str {
        self.upstream.interface.name()
    }

    /// Asks for at least this many connections to be kept ready.
    pub(crate) fn want_ready(&self, connections: usize) {
        self.wanted.fetch_max(connections, Ordering::Relaxed);
    }

    /// Number of connections that are ready now.
    pub(crate) fn ready(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<C>> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection to the peer: one that is ready, or a new one.
    pub(crate) async fn take(&self) -> Result<C, Failure> {
        let ready = poll_fn(|context| {
            let mut ready = self.lock();
            while let Some(mut channel) = ready.pop() {
                // The newest first; one that has ended since it was last looked at is of no use, nor one that is no longer admitted.
                if !channel.session().is_dismissed() && channel.poll_ended(context).is_pending() {
                    return Poll::Ready(Some(channel));
                }
            }
            Poll::Ready(None)
        })
        .await;
        self.taken.notify_one();
        if let Some(mut channel) = ready {
            if channel.is_alive().await {
                return Ok(channel);
            }
            // The others are older.
            self.close();
        }
        self.dial().await
    }

    /// A new connection to the peer.
    pub(crate) async fn dial(&self) -> Result<C, Failure> {
        C::dial(&self.shared, &self.dialler, &self.upstream, self.path).await
    }

    fn close(&self) {
        self.lock().clear();
    }

    /// Keeps as many ready as are wanted until draining begins.
    pub(crate) async fn keep(self: Arc<Self>) {
        let mut guard = self.shared.drain.guard();
        let mut backoff = Backoff::default();
        while guard.phase() == Phase::Running {
            if self.ready() < self.wanted.load(Ordering::Relaxed) {
                let generation = self.shared.endpoint.generation();
                // Draining waits for no handshake of a connection that is not used yet.
                let Some(dialled) = until(self.dial(), guard.reached(Phase::Draining)).await else {
                    break;
                };
                let failure = match dialled {
                    Ok(channel) => {
                        // One begun before a reload would be kept with what was replaced.
                        if generation == self.shared.endpoint.generation() {
                            self.lock().push(channel);
                        }
                        continue;
                    }
                    Err(failure) => failure,
                };
                if guard.phase() == Phase::Running {
                    self.shared.failure_log.log("no connection kept ready", &failure);
                }
                tokio::select! {
                    () = backoff.wait() => {}
                    () = guard.reached(Phase::Draining) => break,
                }
                continue;
            }
            let stale = self.until_stale();
            let ended = tokio::select! {
                ended = poll_fn(|context| self.poll_ended(context)) => ended,
                () = sleep(stale) => {
                    drop(self.oldest());
                    continue;
                }
                () = self.taken.notified() => {
                    backoff.reset();
                    continue;
                }
                () = guard.reached(Phase::Draining) => break,
            };
            if let Some(refused) = ended.session().refusal() {
                let failure = Failure::refused(self.peer(), refused);
                self.shared
                    .failure_log
                    .log("a connection kept ready was closed", &failure);
            }
            backoff.lasted(ended.session().began.elapsed());
            drop(ended);
            tokio::select! {
                () = backoff.wait() => {}
                () = guard.reached(Phase::Draining) => break,
            }
        }
        self.close();
    }

    /// Time until the oldest is to be replaced: before the peer, whose bound is the same by
    /// default, ends it for idleness.
    fn until_stale(&self) -> Duration {
        let oldest = self.lock().iter().map(|channel| channel.session().began).min();
        let age = oldest.map(|began| began.elapsed()).unwrap_or_default();
        (self.shared.limits.idle / 2).saturating_sub(age)
    }

    /// Takes the oldest out.
    fn oldest(&self) -> Option<C> {
        let mut ready = self.lock();
        let oldest = (0..ready.len()).min_by_key(|&index| ready[index].session().began)?;
        Some(ready.swap_remove(oldest))
    }

    /// One that has ended without being used.
    fn poll_ended(&self, context: &mut Context<'_>) -> Poll<C> {
        let mut ready = self.lock();
        let ended = (0..ready.len()).find(|&index| ready[index].poll_ended(context).is_ready());
        match ended {
            Some(index) => Poll::Ready(ready.swap_remove(index)),
            None => Poll::Pending,
        }
    }
}

impl Dialled for Channel {
    type Dialler = ();

    async fn dial(shared: &Arc<Shared>, (): &(), upstream: &Upstream, path: Path) -> Result<Self, Failure> {
        handshake::connect(shared, upstream, path).await
    }

    fn session(&self) -> &Arc<Session> {
        Self::session(self)
    }

    fn poll_ended(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match Pin::new(self).poll_fill_buf(context) {
            Poll::Pending => Poll::Pending,
            // A server that speaks first is as good as any.
            Poll::Ready(Ok(bytes)) if !bytes.is_empty() => Poll::Pending,
            Poll::Ready(_) => Poll::Ready(()),
        }
    }
}

impl<C: Dialled + std::fmt::Debug> Kept for WarmPool<C> {
    fn peer(&self) -> &str {
        Self::peer(self)
    }

    fn ready(&self) -> usize {
        Self::ready(self)
    }

    fn renew(&self) {
        Self::close(self);
        self.taken.notify_one();
    }

    fn close_dismissed(&self) {
        self.lock().retain(|channel| !channel.session().is_dismissed());
        self.taken.notify_one();
    }

    fn close(&self) {
        Self::close(self);
    }
}
