//! A connection that carries requests on: to a peer's sidecar, or to the network function.

use std::cell::{Cell, OnceCell};
use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bartizan_http2::{Code, Event, Role, Unsent};
use bartizan_tls::Refused;
use tokio::time::timeout;

use super::budget::Reader;
use super::connection::Version;
use super::exchange::{self, Consumer, Exchange, Origin};
use super::pool::{Counted, Pool};
use super::port::{Inbox, Inside, Port, Progress, Stop, Turn};
use crate::dialling::session::Session;
use crate::life::drain::Phase;
use crate::runtime::until::until;
use crate::shared::Shared;

/// Longest time for the end of a connection.
pub(super) const GOODBYE: Duration = Duration::from_millis(500);

/// A connection that carries requests on, as a port.
pub(super) type Producer = Port<Carried>;

/// State of a stream of a pool's connection: the origin of its request, and its count.
#[derive(Debug)]
pub(super) struct Carried {
    pub(super) origin: Origin,
    /// Reads of the connection until then.
    pub(super) heard: u64,
    pub(super) _counted: Counted,
}

/// One connection of a pool.
pub(crate) struct Link {
    pub(super) shared: Arc<Shared>,
    pub(super) port: Producer,
    pub(super) retired: Cell<bool>,
    /// Requests it has carried.
    pub(super) carried: Cell<u64>,
    /// Reader whose request was the first on it.
    pub(super) owner: OnceCell<Rc<Reader>>,
    /// Present where the connection is to a peer.
    pub(super) session: Option<Arc<Session>>,
    /// The other side speaks another version of HTTP: nothing on it was processed.
    pub(super) mistaken: Cell<bool>,
    /// It has spoken in the version that it was taken for, or needs not.
    pub(super) settled: Cell<bool>,
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link")
            .field("retired", &self.retired)
            .finish_non_exhaustive()
    }
}

/// Ports that were written to and not flushed yet.
#[derive(Debug)]
pub(super) struct Touched<P>(Vec<Rc<P>>);

impl<P> Default for Touched<P> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<P> Touched<P> {
    pub(super) fn add(&mut self, port: &Rc<P>) {
        // Mostly one, or one again and again.
        if !self.0.iter().rev().take(8).any(|known| Rc::ptr_eq(known, port)) {
            self.0.push(Rc::clone(port));
        }
    }

    pub(super) fn each(&mut self, flush: impl FnMut(Rc<P>)) {
        self.0.drain(..).for_each(flush);
    }
}

impl Link {
    /// Why the peer ended the connection before its first byte.
    pub(super) fn refusal(&self) -> Option<&Refused> {
        self.session.as_deref().and_then(Session::refusal)
    }

    pub(super) fn version(&self) -> Version {
        self.port.inside().connection.version()
    }

    pub(super) fn is_retired(&self) -> bool {
        self.retired.get()
    }

    /// Age of a connection to a peer that has sent nothing on it.
    pub(super) fn silent_for(&self) -> Option<Duration> {
        let session = self.session.as_ref().filter(|session| !session.heard())?;
        Some(session.began.elapsed())
    }

    /// Has it end when the requests on it have.
    pub(super) fn retire(&self) {
        self.retired.set(true);
        self.port.inside().leave();
    }

    /// Hands a part of a response to the connection its request came by. The one place where something is handed back: what its
    /// consumer does not take is bounded here, whatever it is.
    fn hand_back<R>(
        &self,
        origin: &Origin,
        touched: &mut Touched<Consumer>,
        part: impl FnOnce(&mut Inside<Box<Exchange>>) -> Result<R, Unsent>,
    ) -> Option<R> {
        let handed = part(&mut origin.consumer.inside());
        touched.add(&origin.consumer);
        match handed {
            Ok(handed) => Some(handed),
            Err(Unsent::Over) => None,
            Err(Unsent::Full) => {
                // It is this connection that carried it; it is flushed at the end of its turn.
                exchange::not_taken(&self.shared, &origin.consumer, origin.stream, "waiting");
                None
            }
        }
    }

    /// Takes what the other side did on a stream to the connection its request came by.
    fn take(&self, event: Event<Carried>, input: &[u8], touched: &mut Touched<Consumer>) {
        match event {
            Event::Head {
                stream,
                fields,
                status,
                end,
            } => {
                let Some(origin) = self.origin(stream) else { return };
                self.hand_back(&origin, touched, |inside| {
                    if let Some(exchange) = inside.connection.kept(origin.stream)
                        && status >= 200
                    {
                        // The answer to HEAD ends with its head, whatever the function sends behind
                        // it.
                        let ends = end || exchange.head.value(b":method") == Some(b"HEAD");
                        exchange.begins_to_be_answered(status);
                        // The head is written below, within a microsecond: what the stream ends with must be counted before.
                        exchange.account.answered();
                        if ends {
                            exchange.has_ended();
                        }
                    }
                    inside.connection.send_head(origin.stream, &fields, end)
                });
            }
            Event::Data { stream, from, to, end } => {
                let Some(origin) = self.origin(stream) else {
                    return self.port.inside().connection.release(stream, to - from);
                };
                let sent = self.hand_back(&origin, touched, |inside| {
                    if end && let Some(exchange) = inside.connection.kept(origin.stream) {
                        exchange.has_ended();
                    }
                    inside.connection.send_data(origin.stream, &input[from..to], end)
                });
                self.port.inside().connection.release(stream, sent.unwrap_or(to - from));
            }
            Event::Trailers { stream, fields } => {
                let Some(origin) = self.origin(stream) else { return };
                self.hand_back(&origin, touched, |inside| {
                    if let Some(exchange) = inside.connection.kept(origin.stream) {
                        exchange.has_ended();
                    }
                    inside.connection.send_trailers(origin.stream, fields)
                });
            }
            Event::Reset { code, by, kept } => {
                let Some(Carried { origin, .. }) = kept else { return };
                let unprocessed = code == Code::REFUSED_STREAM && self.waits(&origin);
                match by {
                    Role::Server if unprocessed => {
                        touched.0.extend(exchange::again(origin, self, "refused-stream"));
                        return;
                    }
                    Role::Server => exchange::reset_by_producer(&origin, code),
                    Role::Client if code == Code::ENHANCE_YOUR_CALM => {
                        self.shared.metrics.limit_reached("interim-responses");
                        exchange::broken(&origin, self, "it carried interim responses without end");
                    }
                    Role::Client => exchange::broken(&origin, self, "it carried what is no response"),
                }
                touched.add(&origin.consumer);
            }
            Event::Unprocessed { kept } => {
                let Some(Carried { origin, .. }) = kept else { return };
                let reason = match self.version() {
                    Version::Http1 => "closed",
                    Version::Http2 => "goaway",
                };
                touched.0.extend(exchange::again(origin, self, reason));
            }
            Event::Moved { stream, bytes } => {
                let Some(origin) = self.origin(stream) else { return };
                origin.consumer.inside().connection.release(origin.stream, bytes);
                touched.add(&origin.consumer);
            }
        }
    }

    fn origin(&self, stream: u32) -> Option<Origin> {
        let mut inside = self.port.inside();
        inside.connection.kept(stream).map(|carried| carried.origin.clone())
    }

    /// Returns true if no response has begun.
    fn waits(&self, origin: &Origin) -> bool {
        let mut inside = origin.consumer.inside();
        let exchange = inside.connection.kept(origin.stream);
        exchange.is_some_and(|exchange| exchange.status.is_none())
    }

    /// Has the requests end whose bodies the other side does not take.
    fn look_at_stalled(&self, touched: &mut Touched<Consumer>) {
        let stalled = self.port.inside().sweep(&self.shared.limits);
        for stream in stalled {
            touched.0.extend(self.not_taken(stream, "stall"));
        }
    }

    /// Has requests end whose bodies wait for longest, where more waits than may.
    fn keep_to_budget(&self, touched: &mut Touched<Consumer>) {
        loop {
            let longest = {
                let mut inside = self.port.inside();
                inside.charge();
                if !inside.is_over_budget() {
                    return;
                }
                inside.connection.longest_waiting()
            };
            let Some(stream) = longest else { return };
            touched.0.extend(self.not_taken(stream, "waiting"));
        }
    }

    /// Ends a stream whose waiting data the producer did not take in time, or that is too much:
    /// `limit` names the bound. Gives the connection to flush.
    pub(super) fn not_taken(&self, stream: u32, limit: &'static str) -> Option<Rc<Consumer>> {
        self.shared.metrics.limit_reached(limit);
        let carried = self.port.inside().connection.reset(stream, Code::CANCEL);
        let Carried { origin, .. } = carried?;
        exchange::broken(&origin, self, "the body of the request is not taken");
        Some(origin.consumer)
    }
}

/// Takes the connection out of the pool once it is dismissed, and ends when it has to be closed.
async fn dismissed(pool: &Pool, link: &Rc<Link>) {
    if let Some(session) = &link.session {
        let mut phase = session.dismissal();
        // The session holds the sender: neither wait ends by an error.
        if phase.wait_for(|now| *now >= Phase::Draining).await.is_ok() {
            if !link.is_retired() {
                pool.retire(link);
            }
            if phase.wait_for(|now| *now >= Phase::Closing).await.is_ok() {
                return;
            }
        }
    }
    std::future::pending::<()>().await;
}

/// Reads from a connection of a pool until it ends.
pub(super) async fn drive(pool: Rc<Pool>, link: Rc<Link>) {
    let mut inbox = Inbox::new(Vec::new());
    let mut touched = Touched::default();
    let shared = Arc::clone(&link.shared);
    let mut tick = pin!(shared.ticks.next());
    let driven = poll_fn(|context| {
        let leaving = link.port.enter(context).leaving;
        let polled = turn(&pool, &link, leaving, context, &mut inbox, &mut touched);
        if polled.is_pending() {
            // Acknowledgements and windows.
            let flushed = link.port.poll_flush(context, &mut inbox, |event, input| {
                link.take(event, input, &mut touched);
            });
            drop(flushed);
            link.keep_to_budget(&mut touched);
            while link.port.inside().connection.needs_sweeps() && tick.as_mut().poll(context).is_ready() {
                link.look_at_stalled(&mut touched);
                link.port.flush();
                tick.set(shared.ticks.next());
            }
            if !link.is_retired() && link.port.inside().connection.is_away() {
                pool.retire(&link);
            }
            pool.has_room(&link);
        }
        touched.each(|consumer| consumer.flush());
        polled
    });
    let ended: Result<(), String> = match until(driven, dismissed(&pool, &link)).await {
        Some(ended) => ended,
        None => Err("its peer is no longer admitted".to_owned()),
    };
    if !link.is_retired() {
        pool.retire(&link);
    }
    let why = ended.as_ref().err().map_or("", String::as_str);
    if !why.is_empty() {
        tracing::debug!(target = %pool.producer(), error = why, "pooled connection ended");
    }
    let is_silent = !link.settled.get() && inbox.is_empty() && link.carried.get() > 0;
    if is_silent && !link.mistaken.get() && pool.closes_at_the_preface().await {
        link.mistaken.set(true);
        pool.speaks_another_version_than(Version::Http2);
    }
    for Carried { origin, .. } in link.port.end() {
        if link.mistaken.get() {
            if let Some(consumer) = exchange::again(origin, &link, "version") {
                consumer.flush();
            }
            continue;
        }
        exchange::broken(&origin, &link, why);
        origin.consumer.flush();
    }
    let _ = timeout(GOODBYE, link.port.shutdown()).await;
}

/// Reads and hands back as long as there is something and the turn allows.
fn turn(
    pool: &Rc<Pool>,
    link: &Rc<Link>,
    leaving: bool,
    context: &mut Context<'_>,
    inbox: &mut Inbox<Carried>,
    touched: &mut Touched<Consumer>,
) -> Poll<Result<(), String>> {
    let mut turn = Turn::new();
    loop {
        // A write that fails is no end yet: what the peer sent before it closed is the better reason.
        let flushed = link
            .port
            .poll_flush(context, inbox, |event, input| link.take(event, input, touched));
        let idle = {
            let mut inside = link.port.inside();
            if inside.connection.is_broken_off() {
                return Poll::Ready(Err("the request was broken off".to_owned()));
            }
            let idle = (leaving || inside.connection.is_leaving()) && inside.connection.is_idle();
            if idle {
                inside.connection.drain();
            }
            idle
        };
        if idle && !flushed.is_pending() {
            return Poll::Ready(match link.version() == Version::Http1 && !inbox.is_empty() {
                true => Err("bytes that answer no request".to_owned()),
                false => Ok(()),
            });
        }
        let received = link.port.poll_receive(context, &mut turn, inbox, |event, input| {
            link.take(event, input, touched);
        });
        match received {
            Poll::Pending | Poll::Ready(Ok(Progress::Yielded)) => return Poll::Pending,
            Poll::Ready(Ok(Progress::Data)) => {
                if !link.settled.get() {
                    link.settled.set(link.port.inside().connection.is_settled());
                }
                if !link.is_retired() && link.port.inside().connection.is_away() {
                    pool.retire(link);
                }
            }
            Poll::Ready(Ok(Progress::End { .. })) => return Poll::Ready(Err("closed by the other side".to_owned())),
            Poll::Ready(Err(Stop::Broken(error))) => return Poll::Ready(Err(error.to_string())),
            Poll::Ready(Err(Stop::Fault(fault))) => {
                if fault.code == Code::HTTP_1_1_REQUIRED {
                    link.mistaken.set(true);
                    pool.speaks_another_version_than(link.version());
                }
                if fault.code == Code::ENHANCE_YOUR_CALM && link.version() == Version::Http1 {
                    link.shared.metrics.limit_reached("interim-responses");
                }
                link.port.inside().connection.fail(fault.code, fault.why);
                return Poll::Ready(Err(fault.why.to_owned()));
            }
        }
    }
}
