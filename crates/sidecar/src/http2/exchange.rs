//! One request and its response: what is remembered of them between the connection they came by and the one that carries them.

use std::sync::Arc;
use std::time::Instant;

use bartizan_http2::{Code, Fields, Indexing};

use super::attempts::Attempts;
use super::link::Link;
use super::pool::Pool;
use super::port::{Inside, Port};
use super::restraint::Restraint;
use crate::authority::Authority;
use crate::failure::{Failure, Why};
use crate::metrics::{Account, Outcome, Requests, Side};
use crate::problem::Problem;
use crate::shared::Shared;

/// How much of a request's body is kept until its response begins, so that it can be sent again where the connection turns out
/// not to have processed it. SBI requests are smaller (a UE registration's largest has 4 kB).
pub(super) const KEPT_AT_MOST: usize = 64 * 1024;

/// A connection that requests come by.
pub(super) type Consumer = Port<Box<Exchange>>;

/// Where requests of one listener or one connection go, and where they are counted.
#[derive(Debug, Clone)]
pub(crate) struct Route {
    pub(crate) side: Side,
    pub(crate) pool: Arc<Pool>,
    pub(crate) requests: Arc<Requests>,
}

/// Where the request on a producer's stream came from.
#[derive(Debug, Clone)]
pub(super) struct Origin {
    pub(super) consumer: Arc<Consumer>,
    pub(super) stream: u32,
}

/// One request under way.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) shared: Arc<Shared>,
    pub(super) route: Route,
    pub(super) restraint: Arc<Restraint>,
    pub(super) account: Account,
    pub(super) began: Instant,
    pub(super) until: Instant,
    pub(super) attempts: Attempts,
    pub(super) way: Way,
    /// The head of the request, until its response begins.
    pub(super) head: Fields,
    /// The body so far, until its response begins or it is too long.
    pub(super) kept: Option<Vec<u8>>,
    pub(super) tail: Tail,
    /// Status of the final response, once it has begun.
    pub(super) status: Option<u16>,
    /// The response has been handed back to its end.
    pub(super) ended: bool,
}

/// Who carries a request.
#[derive(Debug, Clone)]
pub(super) enum Way {
    /// Nobody yet.
    Waiting,
    /// This stream of this connection.
    On(Arc<Link>, u32),
    /// It was answered in the producer's place.
    Answered,
}

/// How a request ends, as far as is known.
#[derive(Debug, Clone)]
pub(super) enum Tail {
    Open,
    End,
    Trailers(Fields),
}

impl Exchange {
    /// A request whose head has been read; `head` with an authority, or why it cannot have one.
    pub(super) fn new(
        shared: &Arc<Shared>,
        route: Route,
        restraint: &Arc<Restraint>,
        head: Fields,
        end: bool,
    ) -> Result<Box<Self>, (Box<Self>, Failure)> {
        let path = head.value(b":path").and_then(|path| std::str::from_utf8(path).ok());
        let account = route.requests.begin(path.unwrap_or_default());
        let began = Instant::now();
        let until = began + shared.limits.request;
        let mut this = Box::new(Self {
            shared: Arc::clone(shared),
            restraint: Arc::clone(restraint),
            account,
            began,
            until,
            attempts: Attempts::new(until),
            way: Way::Waiting,
            head,
            kept: Some(Vec::new()),
            tail: if end { Tail::End } else { Tail::Open },
            status: None,
            ended: false,
            route,
        });
        if this
            .head
            .value(b":authority")
            .is_some_and(|authority| !authority.is_empty())
        {
            return Ok(this);
        }
        match with_authority(&this.head) {
            Some(head) => {
                this.head = head;
                Ok(this)
            }
            None => {
                let failure = Failure {
                    peer: this.route.pool.peer().to_owned(),
                    why: Why::NoRoute,
                    detail: "the request has neither an :authority nor a Host that could be one".to_owned(),
                    hint: "the network function must name the producer's host in its requests".to_owned(),
                };
                Err((this, failure))
            }
        }
    }

    /// A piece of the request's body came.
    pub(super) fn keep(&mut self, bytes: &[u8], end: bool) {
        if end {
            self.tail = Tail::End;
        }
        let waiting = matches!(self.way, Way::Waiting);
        if let Some(kept) = &mut self.kept {
            // What nobody carries yet must be kept whatever its length, which the stream's window bounds.
            if waiting || kept.len() + bytes.len() <= KEPT_AT_MOST {
                kept.extend_from_slice(bytes);
            } else {
                self.kept = None;
            }
        }
    }

    /// The final response begins: the request will not be sent again.
    pub(super) fn begins_to_be_answered(&mut self, status: u16) {
        self.account.arrived();
        self.restraint.answered();
        self.status = Some(status);
        self.kept = None;
        self.head = Fields::new();
    }

    /// The response is complete.
    pub(super) fn has_ended(&mut self) {
        self.ended = true;
        if let Some(status) = self.status {
            self.account.ended(Outcome::Status(status));
        }
    }

    /// Whether it may be sent once more, and nothing is missing for it.
    pub(super) fn may_go_again(&self) -> bool {
        self.status.is_none() && self.kept.is_some() && self.attempts.left()
    }

    /// The consumer does not want the response any more; gives the connection that has to hear of it.
    pub(super) fn taken_back(mut self: Box<Self>, code: Code) -> Option<Arc<Link>> {
        if !self.ended {
            self.account.ended(Outcome::ConsumerReset);
            if self.status.is_none() {
                self.restraint.taken_back(self.began);
            }
        }
        let Way::On(link, stream) = &self.way else { return None };
        let link = Arc::clone(link);
        link.port.lock().connection.reset(*stream, code);
        Some(link)
    }
}

/// Answers a request in the place of the producer.
pub(super) fn answer(
    shared: &Shared,
    side: Side,
    consumer: &mut Inside<Box<Exchange>>,
    stream: u32,
    failure: &Failure,
) {
    shared.metrics.problem(side, &failure.peer, failure.why.as_str());
    let problem = Problem::of(failure);
    let body = problem.body();
    if let Some(exchange) = consumer.connection.kept(stream) {
        exchange.way = Way::Answered;
        exchange.kept = None;
        exchange.ended = true;
        exchange.account.ended(Outcome::Status(problem.status()));
    }
    let response = problem.head(shared.node.as_str(), body.len());
    let mut head = Fields::new();
    head.push(b":status", response.status().as_str().as_bytes(), Indexing::Plain);
    for (name, value) in response.headers() {
        head.push(name.as_str().as_bytes(), value.as_bytes(), Indexing::Plain);
    }
    let connection = &mut consumer.connection;
    // What is missing of the request is not needed (RFC 9113, section 8.1).
    connection.abandon(stream, Code::NO_ERROR);
    if connection.send_head(stream, &head, false) {
        connection.send_data(stream, &body, true);
    }
}

/// The same where the failure is worth a line in the log.
pub(super) fn complain(exchange: &Exchange, failure: &Failure) {
    exchange
        .shared
        .complaints
        .log("answered in place of the producer", failure);
}

/// HTTP/2 lets a request leave `:authority` out and name its host by Host; a proxy makes the one from the other (RFC 9113,
/// section 8.3.1). Everything else of the head passes untouched.
fn with_authority(head: &Fields) -> Option<Fields> {
    let host = head.value(b"host")?;
    Authority::parse(std::str::from_utf8(host).ok()?)?;
    let mut completed = Fields::new();
    completed.push(b":authority", host, Indexing::Kept);
    for (name, value, indexing) in head.iter() {
        if name != b"host" && name != b":authority" {
            completed.push(name, value, indexing);
        }
    }
    Some(completed)
}

/// Has a request that nobody carries go on its way, once there is a connection with room for it.
pub(super) async fn carry(origin: Origin, again: bool) {
    let Origin { consumer, stream } = &origin;
    let found = consumer
        .lock()
        .connection
        .kept(*stream)
        .map(|exchange| (exchange.route.clone(), exchange.attempts));
    let Some((route, mut attempts)) = found else { return };
    if again {
        attempts.another().await;
    }
    loop {
        let link = match route.pool.link().await {
            Ok(link) => link,
            Err(failure) => {
                let mut inside = consumer.lock();
                if let Some(exchange) = inside.connection.kept(*stream) {
                    let shared = Arc::clone(&exchange.shared);
                    complain(exchange, &failure);
                    answer(&shared, route.side, &mut inside, *stream, &failure);
                }
                drop(inside);
                return consumer.flush();
            }
        };
        let (head, body, tail) = {
            let mut inside = consumer.lock();
            match inside.connection.kept(*stream) {
                Some(exchange) if matches!(exchange.way, Way::Waiting) => {
                    let body = exchange.kept.clone().unwrap_or_default();
                    (std::mem::take(&mut exchange.head), body, exchange.tail.clone())
                }
                // It was taken back, or waited for too long.
                _ => return,
            }
        };
        let ends = body.is_empty() && matches!(tail, Tail::End);
        let opened = route.pool.open_on(&link, &head, ends, &origin);
        let handed = {
            let mut inside = consumer.lock();
            let Some(exchange) = inside.connection.kept(*stream) else {
                return;
            };
            exchange.head = head;
            exchange.attempts = attempts;
            if let Some(id) = opened {
                exchange.way = Way::On(Arc::clone(&link), id);
                exchange.account.handed();
                if body.len() > KEPT_AT_MOST {
                    exchange.kept = None;
                }
            }
            opened
        };
        let Some(id) = handed else { continue };
        let sent = {
            let mut inside = link.port.lock();
            let ends_with_body = !body.is_empty() && matches!(tail, Tail::End);
            let sent = inside.connection.send_data(id, &body, ends_with_body);
            if let Tail::Trailers(trailers) = tail {
                inside.connection.send_trailers(id, trailers);
            }
            sent
        };
        link.port.flush();
        consumer.lock().connection.release(*stream, sent.unwrap_or(body.len()));
        return consumer.flush();
    }
}

/// Sends a request again that its producer's side has not processed, or says why that cannot be.
pub(super) fn again(origin: Origin, link: &Link, reason: &'static str) -> Option<Arc<Consumer>> {
    let mut inside = origin.consumer.lock();
    let exchange = inside.connection.kept(origin.stream)?;
    if exchange.may_go_again() {
        exchange.way = Way::Waiting;
        let route = &exchange.route;
        exchange.shared.metrics.retry(route.side, route.pool.peer(), reason);
        let attempt = exchange.attempts.made();
        tracing::debug!(peer = route.pool.peer(), reason, attempt, "request sent again");
        drop(inside);
        tokio::spawn(carry(origin, true));
        return None;
    }
    drop(inside);
    match reason {
        "refused-stream" => reset_by_producer(&origin, Code::REFUSED_STREAM),
        _ => broken(&origin, link, "the peer has ended it (GOAWAY)"),
    }
    Some(origin.consumer)
}

/// The producer's side has reset its stream.
pub(super) fn reset_by_producer(origin: &Origin, code: Code) {
    let mut inside = origin.consumer.lock();
    let Some(exchange) = inside.connection.kept(origin.stream) else {
        return;
    };
    if exchange.ended {
        // A producer may answer in full and refuse the rest of the request (RFC 9113, section 8.1).
        exchange.way = Way::Answered;
        inside.connection.abandon(origin.stream, code);
        return;
    }
    exchange.account.ended(Outcome::ProducerReset);
    inside.connection.reset(origin.stream, code);
}

/// The connection that carried a request is no more, or what came over it was no response.
pub(super) fn broken(origin: &Origin, link: &Link, why: &str) {
    let mut inside = origin.consumer.lock();
    let Some(exchange) = inside.connection.kept(origin.stream) else {
        return;
    };
    if exchange.ended {
        exchange.way = Way::Answered;
        inside.connection.abandon(origin.stream, Code::NO_ERROR);
    } else if exchange.status.is_some() {
        exchange.account.ended(Outcome::Broken);
        inside.connection.reset(origin.stream, Code::INTERNAL_ERROR);
    } else {
        let pool = &exchange.route.pool;
        let peer = pool.peer().to_owned();
        let failure = match link.refusal() {
            Some(refused) => Failure::refused(&peer, refused),
            None => Failure {
                why: Why::Broken,
                detail: format!("the connection to {} broke: {why}", pool.producer()),
                hint: "the request may have been processed, so it was not sent again; see the log of the other side"
                    .to_owned(),
                peer,
            },
        };
        complain(exchange, &failure);
        let (shared, side) = (Arc::clone(&exchange.shared), exchange.route.side);
        answer(&shared, side, &mut inside, origin.stream, &failure);
    }
}

/// No response has begun in time. Gives the connection that has to hear of it.
pub(super) fn timed_out(consumer: &Consumer, stream: u32) -> Option<Arc<Link>> {
    let mut inside = consumer.lock();
    let exchange = inside.connection.kept(stream)?;
    exchange.shared.metrics.limit_reached("request");
    let pool = &exchange.route.pool;
    let peer = pool.peer().to_owned();
    let way = std::mem::replace(&mut exchange.way, Way::Answered);
    let refusal = match &way {
        Way::On(link, _) => link.refusal(),
        Way::Waiting | Way::Answered => None,
    };
    let failure = match refusal {
        Some(refused) => Failure::refused(&peer, refused),
        None => Failure {
            why: Why::RequestTimedOut,
            detail: format!("no response within {:?}", exchange.shared.limits.request),
            hint: format!(
                "is the network function of {} overloaded? `limits: {{ request: ... }}` sets how long is waited",
                pool.producer()
            ),
            peer,
        },
    };
    complain(exchange, &failure);
    let (shared, side) = (Arc::clone(&exchange.shared), exchange.route.side);
    answer(&shared, side, &mut inside, stream, &failure);
    drop(inside);
    match way {
        Way::On(link, id) => {
            link.port.lock().connection.reset(id, Code::CANCEL);
            Some(link)
        }
        Way::Waiting | Way::Answered => None,
    }
}
