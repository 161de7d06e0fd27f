//! A connection that carries requests on: to a peer's sidecar, or to the network function.

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use bartizan_http2::{Code, Event, Role};
use bartizan_tls::Refused;
use tokio::time::timeout;

use super::exchange::{self, Consumer, Origin};
use super::pool::Pool;
use super::port::{Inbox, Port, Stop, Turn};
use crate::drain::Phase;
use crate::session::Session;

/// Reads in one turn of a task; then others have theirs.
pub(super) const READS: u32 = 16;
/// How long saying goodbye may take.
pub(super) const GOODBYE: Duration = Duration::from_millis(500);

/// A connection that carries requests on, as a port.
pub(super) type Producer = Port<Origin>;

/// One connection of a pool.
pub(crate) struct Link {
    pub(super) port: Producer,
    pub(super) retired: AtomicBool,
    /// Requests it has carried.
    pub(super) carried: AtomicU64,
    /// Present where the connection is to a peer.
    pub(super) session: Option<Arc<Session>>,
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
pub(super) struct Touched<P>(Vec<Arc<P>>);

impl<P> Default for Touched<P> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<P> Touched<P> {
    pub(super) fn add(&mut self, port: &Arc<P>) {
        // Mostly one, or one again and again.
        if !self.0.iter().rev().take(8).any(|known| Arc::ptr_eq(known, port)) {
            self.0.push(Arc::clone(port));
        }
    }

    pub(super) fn each(&mut self, flush: impl FnMut(Arc<P>)) {
        self.0.drain(..).for_each(flush);
    }
}

impl Link {
    /// Why the peer ended the connection before it said anything.
    pub(super) fn refusal(&self) -> Option<&Refused> {
        self.session.as_deref().and_then(Session::refusal)
    }

    pub(super) fn is_retired(&self) -> bool {
        self.retired.load(Ordering::Relaxed)
    }

    pub(super) fn heard(&self) -> bool {
        self.session.as_ref().is_none_or(|session| session.heard())
    }

    /// Has it end when the requests on it have.
    pub(super) fn retire(&self) {
        self.retired.store(true, Ordering::Relaxed);
        self.port.lock().leave();
    }

    /// Hands a part of a response to the connection its request came by.
    fn take(&self, event: Event<Origin>, input: &[u8], touched: &mut Touched<Consumer>) {
        match event {
            Event::Head {
                stream,
                fields,
                status,
                end,
            } => {
                let Some(origin) = self.origin(stream) else { return };
                let mut inside = origin.consumer.lock();
                if let Some(exchange) = inside.connection.kept(origin.stream) {
                    if status >= 200 {
                        exchange.begins_to_be_answered(status);
                        // The head is written below, within a microsecond: what the stream ends with must be counted before.
                        exchange.account.answered();
                        if end {
                            exchange.has_ended();
                        }
                    }
                    inside.connection.send_head(origin.stream, &fields, end);
                }
                drop(inside);
                touched.add(&origin.consumer);
            }
            Event::Data { stream, from, to, end } => {
                let Some(origin) = self.origin(stream) else {
                    return self.port.lock().connection.release(stream, to - from);
                };
                let mut inside = origin.consumer.lock();
                if end && let Some(exchange) = inside.connection.kept(origin.stream) {
                    exchange.has_ended();
                }
                let sent = inside.connection.send_data(origin.stream, &input[from..to], end);
                drop(inside);
                touched.add(&origin.consumer);
                self.port.lock().connection.release(stream, sent.unwrap_or(to - from));
            }
            Event::Trailers { stream, fields } => {
                let Some(origin) = self.origin(stream) else { return };
                let mut inside = origin.consumer.lock();
                if let Some(exchange) = inside.connection.kept(origin.stream) {
                    exchange.has_ended();
                }
                inside.connection.send_trailers(origin.stream, fields);
                drop(inside);
                touched.add(&origin.consumer);
            }
            Event::Reset { code, by, kept } => {
                let Some(origin) = kept else { return };
                let unprocessed = code == Code::REFUSED_STREAM && self.waits(&origin);
                match by {
                    Role::Server if unprocessed => {
                        touched.0.extend(exchange::again(origin, self, "refused-stream"));
                        return;
                    }
                    Role::Server => exchange::reset_by_producer(&origin, code),
                    Role::Client => exchange::broken(&origin, self, "it carried what is no response"),
                }
                touched.add(&origin.consumer);
            }
            Event::Unprocessed { kept } => {
                let Some(origin) = kept else { return };
                touched.0.extend(exchange::again(origin, self, "goaway"));
            }
            Event::Moved { stream, bytes, over } => {
                let Some(origin) = over.or_else(|| self.origin(stream)) else {
                    return;
                };
                origin.consumer.lock().connection.release(origin.stream, bytes);
                touched.add(&origin.consumer);
            }
        }
    }

    fn origin(&self, stream: u32) -> Option<Origin> {
        self.port.lock().connection.kept(stream).cloned()
    }

    /// Whether no response has begun.
    fn waits(&self, origin: &Origin) -> bool {
        let mut inside = origin.consumer.lock();
        let exchange = inside.connection.kept(origin.stream);
        exchange.is_some_and(|exchange| exchange.status.is_none())
    }
}

/// Takes the connection out of the pool once it is told to end, and ends when it has to be closed.
async fn dismissed(pool: &Pool, link: &Arc<Link>) {
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

/// Reads what a connection of a pool has to say, until it ends.
pub(super) async fn drive(pool: Arc<Pool>, link: Arc<Link>) {
    let mut inbox = Inbox::new(Vec::new());
    let mut touched = Touched::default();
    let driven = poll_fn(|context| {
        let mut polled = Poll::Pending;
        let leaving = link.port.enter(context).leaving;
        let mut reads = 0;
        loop {
            reads += 1;
            if reads > READS {
                context.waker().wake_by_ref();
                break;
            }
            // A write that fails is no end yet: what the peer said before it closed is the better reason.
            let flushed = link.port.poll_flush(context, &mut inbox, |event, input| {
                link.take(event, input, &mut touched);
            });
            let idle = {
                let mut inside = link.port.lock();
                let idle = leaving && inside.connection.is_idle();
                if idle {
                    inside.connection.drain();
                }
                idle
            };
            if idle && !flushed.is_pending() {
                polled = Poll::Ready(Ok(()));
                break;
            }
            let received = link.port.poll_receive(context, &mut inbox, |event, input| {
                link.take(event, input, &mut touched);
            });
            match received {
                Poll::Pending => break,
                Poll::Ready(Ok(Turn::Read)) => {
                    if !link.is_retired() && link.port.lock().connection.away().is_some() {
                        pool.retire(&link);
                    }
                }
                Poll::Ready(Ok(Turn::End { .. })) => {
                    polled = Poll::Ready(Err("closed by the other side".to_owned()));
                    break;
                }
                Poll::Ready(Err(Stop::Broken(error))) => {
                    polled = Poll::Ready(Err(error.to_string()));
                    break;
                }
                Poll::Ready(Err(Stop::Fault(fault))) => {
                    link.port.lock().connection.fail(fault.code);
                    polled = Poll::Ready(Err(fault.why.to_owned()));
                    break;
                }
            }
        }
        if polled.is_pending() {
            // Acknowledgements and windows.
            let flushed = link.port.poll_flush(context, &mut inbox, |event, input| {
                link.take(event, input, &mut touched);
            });
            drop(flushed);
            pool.has_room(&link);
        }
        touched.each(|consumer| consumer.flush());
        polled
    });
    let ended: Result<(), String> = tokio::select! {
        ended = driven => ended,
        () = dismissed(&pool, &link) => Err("its peer is no longer admitted".to_owned()),
    };
    if !link.is_retired() {
        pool.retire(&link);
    }
    let why = ended.as_ref().err().map_or("", String::as_str);
    if !why.is_empty() {
        tracing::debug!(target = %pool.producer(), error = why, "pooled connection ended");
    }
    for origin in link.port.end() {
        exchange::broken(&origin, &link, why);
        origin.consumer.flush();
    }
    let _ = timeout(GOODBYE, link.port.shutdown()).await;
}
