//! A connection that requests come by.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bartizan_http2::{Code, Event, Fault, Fields, Role, Unsent};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{sleep, timeout};

use super::budget::Reader;
use super::caller::Caller;
use super::connection::Version;
use super::exchange::{self, Consumer, Exchange, Origin, Route};
use super::link::{GOODBYE, Link, Touched};
use super::port::{Inbox, Progress, Stop, Turn};
use super::resets::ResetAllowance;
use crate::answers::failure::Failure;
use crate::life::drain::{Guard, Phase};
use crate::metrics::Side;
use crate::shared::Shared;

/// Longest time that draining waits for a client to show that it knows. A client that never reads
/// between its requests (libcurl) would hold draining to its bound.
const ANSWERING: Duration = Duration::from_millis(250);

/// Errors that end a client's connection.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Ended {
    /// The preface arrived, and nothing after it.
    #[error("no HTTP/2 SETTINGS in time")]
    NoSettings,
    /// The client broke off.
    #[error("{0}")]
    Broken(String),
    /// It broke the rules.
    #[error("{}", .0.why)]
    Fault(Fault),
    /// It reset too many of its requests.
    #[error("requests are reset as soon as they are sent")]
    RapidReset,
}

impl Ended {
    /// A word for metrics: the error code (RFC 9113, section 7), where HTTP/2 has one.
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Self::NoSettings => "settings-timeout",
            Self::RapidReset => "enhance-your-calm",
            Self::Broken(_) => "broken",
            Self::Fault(fault) => match fault.code {
                Code::PROTOCOL_ERROR => "protocol-error",
                Code::FLOW_CONTROL_ERROR => "flow-control-error",
                Code::STREAM_CLOSED => "stream-closed",
                Code::FRAME_SIZE_ERROR => "frame-size-error",
                Code::COMPRESSION_ERROR => "compression-error",
                Code::ENHANCE_YOUR_CALM => "enhance-your-calm",
                _ => "other",
            },
        }
    }
}

/// Handling of a connection's requests.
pub(crate) struct Service<'a, R> {
    /// State that all connections share.
    pub(crate) shared: &'a Arc<Shared>,
    /// Direction of the requests.
    pub(crate) side: Side,
    /// Reader that is charged for data waiting for the client, and for its requests.
    pub(crate) reader: Rc<Reader>,
    /// Resets that the client has left.
    pub(crate) resets: Rc<ResetAllowance>,
    /// The route of each, or why it has none.
    pub(crate) route: R,
    /// The client as the targets of requests see it.
    pub(crate) caller: Caller,
    /// True if the first request is the last.
    pub(crate) refuses: bool,
}

/// Serves the requests of one connection, whose first bytes were read, until it is closed or drained.
///
/// Draining sends GOAWAY and lets requests end; a client that resets too many requests gets ENHANCE_YOUR_CALM. In HTTP/1.1 the response under way announces
/// that it is the last.
pub(crate) async fn serve<IO, R>(
    service: Service<'_, R>,
    version: Version,
    stream: IO,
    first: Vec<u8>,
    guard: Guard,
) -> Result<(), Ended>
where
    IO: AsyncRead + AsyncWrite + Unpin + 'static,
    R: Fn(&Fields) -> Result<Route, Failure>,
{
    let shared = service.shared;
    let bounds = super::bounds(&shared.limits);
    let port = Rc::new(Consumer::new(
        (version, Role::Server),
        bounds,
        stream,
        Rc::clone(&service.reader),
    ));
    let mut session = Session {
        service: &service,
        port: &port,
        touched: Touched::default(),
    };
    let mut inbox = Inbox::new(first);
    let mut closing = guard.clone();
    let mut draining = guard;
    let mut drained = pin!(async move { draining.reached(Phase::Draining).await });
    let mut closed = pin!(async move { closing.reached(Phase::Closing).await });
    let mut tick = pin!(shared.ticks.next());
    let mut settling = pin!(sleep(shared.limits.handshake));
    let mut answering = pin!(sleep(ANSWERING));
    let mut running = true;
    let mut awaited = false;
    // A client that has closed its half may have gone altogether, and holds the function.
    let half_closed = shared.limits.request / 8;
    let mut leaving = pin!(sleep(half_closed));
    let mut left = false;
    let ended = poll_fn(|context| {
        drop(port.enter(context));
        if running && drained.as_mut().poll(context).is_ready() {
            running = false;
            port.inside().connection.drain();
            answering.as_mut().reset(tokio::time::Instant::now() + ANSWERING);
            awaited = true;
        }
        if awaited && answering.as_mut().poll(context).is_ready() {
            awaited = false;
            port.inside().connection.conclude();
        }
        if !running && closed.as_mut().poll(context).is_ready() {
            return Poll::Ready(Ok(()));
        }
        let polled = session.turn(context, &mut inbox);
        if polled.is_pending() {
            let settled = port.inside().connection.is_settled();
            if !settled && settling.as_mut().poll(context).is_ready() {
                return Poll::Ready(Err(Ended::NoSettings));
            }
            if inbox.ended && !left {
                left = true;
                leaving.as_mut().reset(tokio::time::Instant::now() + half_closed);
            }
            while left && leaving.as_mut().poll(context).is_ready() {
                // It reads what has begun to come, or its socket will refuse that.
                let mut inside = port.inside();
                if inside.connection.all().any(|(_, exchange)| exchange.status.is_some()) {
                    leaving.as_mut().reset(tokio::time::Instant::now() + half_closed);
                    continue;
                }
                return Poll::Ready(Err(Ended::Broken("the client closed in the middle".to_owned())));
            }
            session.keep_to_budget();
            while session.needs_ticks() && tick.as_mut().poll(context).is_ready() {
                session.look_at_deadlines();
                tick.set(shared.ticks.next());
            }
        }
        session.flush_touched();
        polled
    })
    .await;
    let code = match &ended {
        Err(Ended::Fault(fault)) => Some(fault.code),
        Err(Ended::RapidReset) => Some(Code::ENHANCE_YOUR_CALM),
        Err(Ended::NoSettings) => Some(Code::PROTOCOL_ERROR),
        Err(Ended::Broken(_)) | Ok(()) => None,
    };
    if let (Some(code), Err(ended)) = (code, &ended) {
        port.inside().connection.fail(code, &ended.to_string());
    }
    // No client is left to answer: requests still under way are reset at the other end.
    for exchange in port.end() {
        let carried = exchange.cancel(Code::CANCEL);
        if let Some(link) = carried {
            link.port.flush();
        }
    }
    let _ = timeout(GOODBYE, port.shutdown()).await;
    ended
}

/// State that the task of a connection needs in its turns.
struct Session<'a, R> {
    service: &'a Service<'a, R>,
    port: &'a Rc<Consumer>,
    touched: Touched<Link>,
}

impl<R> Session<'_, R>
where
    R: Fn(&Fields) -> Result<Route, Failure>,
{
    /// Reads and hands on as long as there is something and the turn allows.
    fn turn(&mut self, context: &mut Context<'_>, inbox: &mut Inbox<Box<Exchange>>) -> Poll<Result<(), Ended>> {
        let port = self.port;
        let broken = |error: std::io::Error| Err(Ended::Broken(error.to_string()));
        let mut turn = Turn::new();
        loop {
            let received = port.poll_receive(context, &mut turn, inbox, |event, input| self.take(event, input));
            if self.service.side == Side::Outbound && self.service.resets.is_exhausted() {
                return Poll::Ready(Err(Ended::RapidReset));
            }
            match received {
                Poll::Pending | Poll::Ready(Ok(Progress::Yielded)) => {
                    if let Poll::Ready(Err(error)) =
                        port.poll_flush(context, inbox, |event, input| self.take(event, input))
                    {
                        return Poll::Ready(broken(error));
                    }
                    return if port.inside().connection.is_drained() {
                        Poll::Ready(Ok(()))
                    } else {
                        Poll::Pending
                    };
                }
                Poll::Ready(Ok(Progress::Data)) => self.flush_touched(),
                Poll::Ready(Ok(Progress::End { clean })) => {
                    let idle = port.inside().connection.open_streams() == 0;
                    return Poll::Ready(if clean && idle {
                        Ok(())
                    } else {
                        Err(Ended::Broken("the client closed in the middle".to_owned()))
                    });
                }
                Poll::Ready(Err(Stop::Broken(error))) => return Poll::Ready(broken(error)),
                Poll::Ready(Err(Stop::Fault(fault))) => return Poll::Ready(Err(Ended::Fault(fault))),
            }
        }
    }

    fn flush_touched(&mut self) {
        self.touched.each(|link| link.port.flush());
    }

    /// Takes a part of a request to the connection that carries it on.
    fn take(&mut self, event: Event<Box<Exchange>>, input: &[u8]) {
        match event {
            Event::Head {
                stream, fields, end, ..
            } => self.begin(stream, fields, end),
            Event::Data { stream, from, to, end } => self.body(stream, &input[from..to], end),
            Event::Trailers { stream, mut fields } => {
                // Some servers put trailers and headers together.
                self.service.caller.strip(&mut fields);
                let carrier = {
                    let mut inside = self.port.inside();
                    let Some(exchange) = inside.connection.kept(stream) else {
                        return;
                    };
                    if exchange.kept.is_some() {
                        exchange.tail = exchange::Tail::Trailers(fields.clone());
                    }
                    exchange.carried()
                };
                if let Some((link, id)) = carrier {
                    let sent = link.port.inside().connection.send_trailers(id, fields);
                    self.handed_on(stream, &link, id, sent);
                }
            }
            Event::Reset { code, by, kept } => {
                let Some(exchange) = kept else { return };
                let code = if by == Role::Client { code } else { Code::CANCEL };
                if let Some(link) = exchange.cancel(code) {
                    self.touched.add(&link);
                }
            }
            // Event of servers only.
            Event::Unprocessed { .. } => {}
            Event::Moved { stream, bytes } => {
                let carrier = {
                    let mut inside = self.port.inside();
                    let exchange = inside.connection.kept(stream);
                    exchange.and_then(|exchange| exchange.carried())
                };
                if let Some((link, id)) = carrier {
                    link.port.inside().connection.release(id, bytes);
                    self.touched.add(&link);
                }
            }
        }
    }

    fn begin(&mut self, stream: u32, mut fields: Fields, end: bool) {
        let shared = self.service.shared;
        self.service.caller.name_in(&mut fields);
        let resets = &self.service.resets;
        let lost = self.service.side == Side::Outbound && resets.is_exhausted();
        if lost || !self.port.inside().connection.is_open(stream) {
            // Its reset arrived with it: nothing was forwarded yet.
            resets.count(Instant::now());
            return;
        }
        if self.service.side == Side::Inbound && !resets.admits(Instant::now()) {
            // Others of that peer share the connection.
            shared.metrics.limit_reached("resets");
            self.port.inside().connection.reset(stream, Code::REFUSED_STREAM);
            return;
        }
        let is_connect = fields.value(b":method") == Some(b"CONNECT");
        let routed = (self.service.route)(&fields).and_then(|route| match is_connect {
            true => Err(Failure::connect(&route.pool.peer)),
            false => Ok(route),
        });
        let route = match routed {
            Ok(route) => route,
            Err(failure) => {
                if !self.service.refuses {
                    shared.failure_log.log("answered in place of the producer", &failure);
                }
                let mut inside = self.port.inside();
                exchange::answer(shared, self.service.side, &mut inside, stream, &failure);
                if self.service.refuses {
                    inside.connection.drain();
                }
                return;
            }
        };
        let side = route.side;
        match Exchange::new(self.service.shared, route, (&self.service.reader, resets), fields, end) {
            Ok(exchange) => self.port.inside().connection.keep(stream, exchange),
            Err((exchange, failure)) => {
                let mut inside = self.port.inside();
                inside.connection.keep(stream, exchange);
                return exchange::answer(shared, side, &mut inside, stream, &failure);
            }
        };
        let consumer = Rc::clone(self.port);
        if let Some(link) = exchange::send(Origin { consumer, stream }) {
            self.touched.add(&link);
        }
    }

    fn body(&mut self, stream: u32, bytes: &[u8], end: bool) {
        let (link, id) = {
            let mut inside = self.port.inside();
            let Some(exchange) = inside.connection.kept(stream) else {
                return inside.connection.release(stream, bytes.len());
            };
            exchange.keep(bytes, end);
            match exchange.carried() {
                Some(carried) => carried,
                // Given back when something carries it.
                None => return,
            }
        };
        let sent = link.port.inside().connection.send_data(id, bytes, end);
        if let Some(sent) = self.handed_on(stream, &link, id, sent) {
            self.port.inside().connection.release(stream, sent);
        }
    }

    /// The outcome of handing a part of a request on. Where as much waits for the producer as may, its stream is reset: what it does not
    /// take is bounded here, whatever it is.
    fn handed_on<S>(&mut self, stream: u32, link: &Rc<Link>, id: u32, sent: Result<S, Unsent>) -> Option<S> {
        self.touched.add(link);
        match sent {
            Ok(sent) => Some(sent),
            Err(Unsent::Over) => {
                // The rest of a request whose response has ended: it is read, and goes nowhere.
                let mut inside = self.port.inside();
                inside
                    .connection
                    .refuse_rest(stream, Code::NO_ERROR, exchange::REST_AT_MOST);
                None
            }
            Err(Unsent::Full) => {
                link.not_taken(id, "waiting");
                None
            }
        }
    }

    fn needs_ticks(&self) -> bool {
        let inside = self.port.inside();
        inside.connection.open_streams() > 0 || inside.connection.needs_sweeps()
    }

    /// Answers those that have waited for too long, and ends those whose responses are not taken.
    fn look_at_deadlines(&mut self) {
        let (now, shared) = (Instant::now(), self.service.shared);
        let (late, stalled) = {
            let mut inside = self.port.inside();
            let late: Vec<u32> = inside
                .connection
                .all()
                .filter(|(_, exchange)| exchange.status.is_none() && !exchange.ended && now >= exchange.until)
                .map(|(stream, _)| stream)
                .collect();
            (late, inside.sweep(&shared.limits))
        };
        for stream in late {
            if let Some(link) = exchange::timed_out(self.port, stream) {
                self.touched.add(&link);
            }
        }
        for stream in stalled {
            if let Some(link) = exchange::not_taken(shared, self.port, stream, "stall") {
                self.touched.add(&link);
            }
        }
        self.port.flush();
    }

    /// Gives up the largest requests that are kept, then responses that wait for longest, where
    /// more waits for this client than may.
    fn keep_to_budget(&mut self) {
        loop {
            let (largest, longest) = {
                let mut inside = self.port.inside();
                inside.charge();
                if !inside.reader().is_over() {
                    return;
                }
                let kept = inside.connection.all();
                let kept = kept.filter_map(|(stream, exchange)| Some((exchange.kept.as_ref()?.size(), stream)));
                (kept.max(), inside.connection.longest_waiting())
            };
            if let Some((_, stream)) = largest {
                if let Some(link) = exchange::give_up(self.service.shared, self.port, stream) {
                    self.touched.add(&link);
                }
                continue;
            }
            let Some(stream) = longest else { return };
            if let Some(link) = exchange::not_taken(self.service.shared, self.port, stream, "waiting") {
                self.touched.add(&link);
            }
        }
    }
}
