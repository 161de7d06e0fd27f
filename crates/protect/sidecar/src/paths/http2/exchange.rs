//! One request and its response: what is kept of them between the connection that they arrived by and the one that carries them.

use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bartizan_deployment::Limits;
use bartizan_http1::{Unopened, is_repeatable};
use bartizan_http2::{Code, Fields, Indexing};
use bartizan_server::contained;
use tokio::task::{AbortHandle, spawn_local};

use super::attempts::Attempts;
use super::budget::{Kept, Place, Reader};
use super::link::Link;
use super::pool::{Pool, Wants};
use super::port::{Inside, Port};
use super::resets::ResetAllowance;
use crate::answers::failure::{Failure, Why};
use crate::answers::problem::Problem;
use crate::dialling::session::Session;
use crate::metrics::{Account, Outcome, Requests, Side};
use crate::routing::authority::Authority;
use crate::runtime::ticks::TICK;
use crate::shared::Shared;

/// Largest request body that is kept until its response begins, so that it can be sent again where
/// the connection turns out not to have processed it. SBI requests are smaller (a UE registration's
/// largest has 4 kB).
pub(super) const KEPT_AT_MOST: usize = 64 * 1024;

/// Bytes that are read of the rest of a request that was answered in the producer's place. Clients
/// are known that lose an answer when they get RST_STREAM with NO_ERROR; larger bodies than this
/// get it all the same (RFC 9113, section 8.1).
pub(super) const REST_AT_MOST: usize = 4 * 1024 * 1024;

/// A connection that requests come by.
pub(super) type Consumer = Port<Box<Exchange>>;

/// Destination and counters of the requests of one listener or one connection.
#[derive(Debug, Clone)]
pub(crate) struct Route {
    pub(crate) side: Side,
    pub(crate) pool: Rc<Pool>,
    pub(crate) requests: Arc<Requests>,
    /// The connection over TLS that requests come by, where they come by one.
    pub(crate) session: Option<Arc<Session>>,
}

/// The consumer's stream behind the request on a producer's stream.
#[derive(Debug, Clone)]
pub(super) struct Origin {
    pub(super) consumer: Rc<Consumer>,
    pub(super) stream: u32,
}

impl Origin {
    /// Since when its response is waited for, where none has begun.
    pub(super) fn waits_since(&self) -> Option<Instant> {
        let mut inside = self.consumer.inside();
        let exchange = inside.connection.kept(self.stream)?;
        exchange.status.is_none().then_some(exchange.began)
    }
}

/// One request under way. It is counted when it is dropped, which its stream does however it ends.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) shared: Arc<Shared>,
    pub(super) route: Route,
    pub(super) resets: Rc<ResetAllowance>,
    pub(super) account: Account,
    pub(super) began: Instant,
    pub(super) until: Instant,
    pub(super) attempts: Attempts,
    pub(super) carrier: Carrier,
    /// The head of the request, until its response begins.
    pub(super) head: Fields,
    /// The body so far, until its response begins or it is too long.
    pub(super) kept: Option<Kept>,
    pub(super) tail: Tail,
    /// Status of the final response, once it has begun.
    pub(super) status: Option<u16>,
    /// The response has been handed back to its end.
    pub(super) ended: bool,
}

/// Carrier of a request.
#[derive(Debug)]
pub(super) enum Carrier {
    /// Nothing yet.
    None,
    /// A task that waits for a connection.
    Waiting { _task: Task, _place: Place },
    /// This stream of this connection.
    On(Rc<Link>, u32),
}

/// A task that ends when this is dropped: nothing waits or dials for a request that was reset.
#[derive(Debug)]
pub(super) struct Task(AbortHandle);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// End of a request, as far as it is known.
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
        (reader, resets): (&Rc<Reader>, &Rc<ResetAllowance>),
        mut head: Fields,
        end: bool,
    ) -> Result<Box<Self>, (Box<Self>, Failure)> {
        let path = head.value(b":path").and_then(|path| std::str::from_utf8(path).ok());
        let mut account = route.requests.begin(path.unwrap_or_default());
        let tracer = shared.tracer.as_ref();
        if let Some(hop) = tracer.and_then(|tracer| tracer.begin(&mut head, route.side)) {
            account.traced(hop, route.session.as_deref());
        }
        if route.pool.leads_to_own_tls() {
            head.replace(b":scheme", b"https");
        }
        let began = Instant::now();
        let until = began + patience(&shared.limits, route.side);
        let mut this = Box::new(Self {
            shared: Arc::clone(shared),
            resets: Rc::clone(resets),
            account,
            began,
            until,
            attempts: Attempts::new(until),
            carrier: Carrier::None,
            kept: Some(Kept::new(reader, head.size())),
            head,
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
                let detail = "the request has neither an :authority nor a Host that could be one";
                let hint = "the network function must name the producer's host in its requests";
                let failure = Failure::new(&*this.route.pool.peer, Why::NoRoute, detail, hint);
                Err((this, failure))
            }
        }
    }

    /// A piece of the request's body arrived.
    pub(super) fn keep(&mut self, bytes: &[u8], end: bool) {
        if end {
            self.tail = Tail::End;
        }
        let waiting = !self.is_settled();
        if let Some(kept) = &mut self.kept {
            // A body without a settled carrier must be kept whatever its length, which the stream's
            // window and the budget of its reader bound.
            if waiting || kept.body.len() + bytes.len() <= KEPT_AT_MOST {
                kept.extend(bytes);
            } else {
                self.kept = None;
            }
        }
    }

    /// The connection that carries it, and its stream there.
    pub(super) fn carried(&self) -> Option<(Rc<Link>, u32)> {
        match &self.carrier {
            Carrier::On(link, stream) => Some((Rc::clone(link), *stream)),
            Carrier::None | Carrier::Waiting { .. } => None,
        }
    }

    /// Returns true if a connection carries it that has spoken: until then it may turn out to speak
    /// another version, and takes 65,535 bytes.
    fn is_settled(&self) -> bool {
        matches!(&self.carrier, Carrier::On(link, _) if link.settled.get())
    }

    /// The final response begins: the request will not be sent again.
    pub(super) fn begins_to_be_answered(&mut self, status: u16) {
        self.account.arrived();
        self.resets.answered();
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

    /// Requirements on the connection that carries it.
    fn wants(&self, owner: u64) -> Wants {
        let kept = self.kept.as_ref().is_some_and(|kept| !kept.body.is_empty());
        Wants {
            body: kept || !matches!(self.tail, Tail::End),
            owner,
            repeatable: self.route.pool.speaks_http1() && self.head.value(b":method").is_some_and(is_repeatable),
        }
    }

    /// Returns true if it may be sent once more, and nothing is missing for it.
    pub(super) fn may_go_again(&self) -> bool {
        self.status.is_none() && self.kept.is_some() && self.attempts.left()
    }

    /// The consumer does not want the response any more; gives the connection that has to hear of it.
    pub(super) fn cancel(mut self: Box<Self>, code: Code) -> Option<Rc<Link>> {
        if !self.ended {
            self.account.ended(Outcome::ConsumerReset);
            if self.status.is_none() {
                self.resets.count(self.began);
            }
        }
        self.reset_carrier(code)
    }

    /// Ends it because the consumer did not take the waiting data. Gives the connection to flush.
    pub(super) fn not_taken(mut self: Box<Self>) -> Option<Rc<Link>> {
        self.account.ended(Outcome::Stalled);
        self.reset_carrier(Code::CANCEL)
    }

    fn reset_carrier(&self, code: Code) -> Option<Rc<Link>> {
        let (link, stream) = self.carried()?;
        link.port.inside().connection.reset(stream, code);
        Some(link)
    }
}

/// Longest wait for the head of a response. The sidecar of the producer times out first: it knows
/// more, and its answer reaches the consumer before the consumer's own sidecar blames the peer as a
/// whole.
fn patience(limits: &Limits, side: Side) -> Duration {
    match side {
        Side::Inbound => limits.request * 9 / 10,
        Side::Outbound => limits.request + TICK,
    }
}

/// Answers a request in the place of the producer. It is no longer under way then; the rest of it
/// is read for a while and discarded.
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
    let connection = &mut consumer.connection;
    if let Some(mut exchange) = connection.take_kept(stream) {
        exchange.account.answered_in_place(problem.status, failure.why.as_str());
    }
    let response = problem.head(shared.node.as_str(), body.len());
    let mut head = Fields::new();
    head.push(b":status", response.status().as_str().as_bytes(), Indexing::Plain);
    for (name, value) in response.headers() {
        head.push(name.as_str().as_bytes(), value.as_bytes(), Indexing::Plain);
    }
    connection.refuse_rest(stream, Code::NO_ERROR, REST_AT_MOST);
    // A stream that is over has no consumer waiting for the answer.
    if connection.send_head(stream, &head, false).is_ok() {
        let _ = connection.send_data(stream, &body, true);
    }
}

/// The same where the failure is worth a line in the log.
pub(super) fn complain(exchange: &Exchange, failure: &Failure) {
    exchange
        .shared
        .failure_log
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

/// Has a request go on its way that nothing carries: at once where there is a connection with room for it, else once there is.
pub(super) fn send(origin: Origin) -> Option<Rc<Link>> {
    let found = {
        let mut inside = origin.consumer.inside();
        let owner = inside.reader().number();
        let exchange = inside.connection.kept(origin.stream);
        exchange.map(|exchange| (Rc::clone(&exchange.route.pool), exchange.wants(owner)))
    };
    let (pool, wants) = found?;
    if let Some(link) = pool.pick(wants)
        && hand_over(&origin, &link)
    {
        return Some(link);
    }
    wait(&origin, false);
    None
}

/// Has a task wait for a connection. A reader's requests that do so are bounded, whatever its
/// connections: so is the memory for them, and the number of those that the others' wait behind.
fn wait(origin: &Origin, again: bool) {
    let mut inside = origin.consumer.inside();
    let reader = Rc::clone(inside.reader());
    let Some(exchange) = inside.connection.kept(origin.stream) else {
        return;
    };
    match reader.place(2 * exchange.shared.limits.streams as usize) {
        Some(place) => {
            let task = spawn_local(contained(carry(origin.clone(), again)));
            exchange.carrier = Carrier::Waiting {
                _task: Task(task.abort_handle()),
                _place: place,
            };
        }
        None => {
            exchange.shared.metrics.limit_reached("streams");
            refuse(&mut inside, origin.stream);
        }
    }
}

/// Resets a request that was not processed. Gives the connection that has to hear of it.
fn refuse(inside: &mut Inside<Box<Exchange>>, stream: u32) -> Option<Rc<Link>> {
    let mut exchange = inside.connection.reset(stream, Code::REFUSED_STREAM)?;
    exchange.account.ended(Outcome::ProducerReset);
    exchange.reset_carrier(Code::CANCEL)
}

/// Drops the kept part of a request: a copy where a connection that has spoken carries it, else
/// the request itself. Gives the connection to flush.
pub(super) fn give_up(shared: &Shared, consumer: &Consumer, stream: u32) -> Option<Rc<Link>> {
    let mut inside = consumer.inside();
    let exchange = inside.connection.kept(stream)?;
    if exchange.is_settled() {
        exchange.kept = None;
        return None;
    }
    shared.metrics.limit_reached("waiting");
    refuse(&mut inside, stream)
}

/// The same where a connection has to be waited for; `again` where the request was on its way before.
async fn carry(origin: Origin, again: bool) {
    let Origin { consumer, stream } = &origin;
    let found = {
        let mut inside = consumer.inside();
        let owner = inside.reader().number();
        let exchange = inside.connection.kept(*stream);
        exchange.map(|exchange| (exchange.route.clone(), exchange.attempts, exchange.wants(owner)))
    };
    let Some((route, mut attempts, wants)) = found else {
        return;
    };
    if again {
        attempts.another().await;
        if let Some(exchange) = consumer.inside().connection.kept(*stream) {
            exchange.attempts = attempts;
        }
    }
    loop {
        let link = match route.pool.link(wants).await {
            Ok(link) => link,
            Err(failure) => {
                {
                    let mut inside = consumer.inside();
                    if let Some(exchange) = inside.connection.kept(*stream) {
                        let shared = Arc::clone(&exchange.shared);
                        complain(exchange, &failure);
                        answer(&shared, route.side, &mut inside, *stream, &failure);
                    }
                }
                return consumer.flush();
            }
        };
        if hand_over(&origin, &link) {
            link.port.flush();
            return consumer.flush();
        }
    }
}

/// Writes a request that nothing carries to a connection, as far as it has come, or answers why it
/// cannot be written. Returns false if the connection takes no more requests.
///
/// Not a step of it waits for anything, and no other thread has either end: so nothing comes between that would belong to one of them
/// alone.
fn hand_over(origin: &Origin, link: &Rc<Link>) -> bool {
    let Origin { consumer, stream } = origin;
    let (head, body, tail, pool) = {
        let mut inside = consumer.inside();
        match inside.connection.kept(*stream) {
            Some(exchange) if !matches!(exchange.carrier, Carrier::On(..)) => {
                let body = exchange.kept.as_ref().map(|kept| kept.body.clone()).unwrap_or_default();
                let head = std::mem::take(&mut exchange.head);
                (head, body, exchange.tail.clone(), Rc::clone(&exchange.route.pool))
            }
            _ => return true,
        }
    };
    let ends = body.is_empty() && matches!(tail, Tail::End);
    let opened = pool.open_on(link, &head, ends, origin);
    let id = {
        let mut inside = consumer.inside();
        let Some(exchange) = inside.connection.kept(*stream) else {
            return true;
        };
        let id = match opened {
            Ok(id) => id,
            Err(Unopened::NoRoom) => {
                exchange.head = head;
                return false;
            }
            Err(Unopened::Unwritable) => {
                let failure = Failure::unwritable(&pool.peer);
                complain(exchange, &failure);
                let (shared, side) = (Arc::clone(&exchange.shared), exchange.route.side);
                answer(&shared, side, &mut inside, *stream, &failure);
                return true;
            }
        };
        exchange.head = head;
        exchange.carrier = Carrier::On(Rc::clone(link), id);
        exchange.account.handed(link.session.as_deref());
        if body.len() > KEPT_AT_MOST && link.settled.get() {
            exchange.kept = None;
        }
        id
    };
    if body.is_empty() && !matches!(tail, Tail::Trailers(_)) {
        return true;
    }
    let sent = {
        let mut inside = link.port.inside();
        let ends_with_body = !body.is_empty() && matches!(tail, Tail::End);
        // Within what may wait: it is what the consumer's window let through.
        let sent = match body.is_empty() {
            true => Ok(0),
            false => inside.connection.send_data(id, &body, ends_with_body),
        };
        if let Tail::Trailers(trailers) = tail {
            let _ = inside.connection.send_trailers(id, trailers);
        }
        sent
    };
    let sent = sent.unwrap_or(body.len());
    consumer.inside().connection.release(*stream, sent);
    true
}

/// Sends a request again that its producer's side has not processed, or answers why that cannot be.
pub(super) fn again(origin: Origin, link: &Link, reason: &'static str) -> Option<Rc<Consumer>> {
    let mut inside = origin.consumer.inside();
    let exchange = inside.connection.kept(origin.stream)?;
    let is_spared = reason == "refused-stream" && !exchange.attempts.left_after_refusal();
    if exchange.may_go_again() && !is_spared {
        exchange.carrier = Carrier::None;
        let route = &exchange.route;
        exchange.shared.metrics.retry(route.side, &route.pool.peer, reason);
        let attempt = exchange.attempts.made;
        tracing::debug!(peer = &route.pool.peer, reason, attempt, "request sent again");
        drop(inside);
        wait(&origin, true);
        return Some(origin.consumer);
    }
    drop(inside);
    match reason {
        "refused-stream" => reset_by_producer(&origin, Code::REFUSED_STREAM),
        "version" => broken(&origin, link, "it speaks another version of HTTP"),
        "closed" => broken(&origin, link, "it was closed without an answer"),
        _ => broken(&origin, link, "the peer has ended it (GOAWAY)"),
    }
    Some(origin.consumer)
}

/// The producer's side has reset its stream.
pub(super) fn reset_by_producer(origin: &Origin, code: Code) {
    let mut inside = origin.consumer.inside();
    let Some(exchange) = inside.connection.kept(origin.stream) else {
        return;
    };
    if exchange.ended {
        // A producer may answer in full and refuse the rest of the request (RFC 9113, section 8.1).
        inside.connection.take_kept(origin.stream);
        inside.connection.refuse_rest(origin.stream, code, REST_AT_MOST);
        return;
    }
    exchange.account.ended(Outcome::ProducerReset);
    inside.connection.reset(origin.stream, code);
}

/// The connection that carried a request is no more, or what it carried was no response.
pub(super) fn broken(origin: &Origin, link: &Link, why: &str) {
    let mut inside = origin.consumer.inside();
    let Some(exchange) = inside.connection.kept(origin.stream) else {
        return;
    };
    if exchange.ended {
        inside.connection.take_kept(origin.stream);
        inside
            .connection
            .refuse_rest(origin.stream, Code::NO_ERROR, REST_AT_MOST);
    } else if exchange.status.is_some() {
        exchange.account.ended(Outcome::Broken);
        inside.connection.reset(origin.stream, Code::INTERNAL_ERROR);
    } else {
        let pool = &exchange.route.pool;
        let peer = pool.peer.to_owned();
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
pub(super) fn timed_out(consumer: &Consumer, stream: u32) -> Option<Rc<Link>> {
    let (pool, carrier) = {
        let mut inside = consumer.inside();
        let exchange = inside.connection.kept(stream)?;
        let carrier = std::mem::replace(&mut exchange.carrier, Carrier::None);
        (Rc::clone(&exchange.route.pool), carrier)
    };
    let refusal = match &carrier {
        Carrier::On(link, _) => link.refusal(),
        Carrier::None | Carrier::Waiting { .. } => None,
    };
    // Looked up while nothing is borrowed: it asks other connections.
    let waits_for = refusal.is_none().then(|| pool.waits_for()).flatten();
    let mut inside = consumer.inside();
    let exchange = inside.connection.kept(stream)?;
    let (shared, side) = (Arc::clone(&exchange.shared), exchange.route.side);
    shared.metrics.limit_reached("request");
    let peer = pool.peer.to_owned();
    let within = format!("no response within {:?}", patience(&shared.limits, side));
    let failure = match (refusal, waits_for) {
        (Some(refused), _) => Failure::refused(&peer, refused),
        (None, Some(waits_for)) => Failure {
            why: Why::RequestTimedOut,
            hint: format!(
                "it may be {} that is late: see the log of its sidecar and of that of {peer}",
                waits_for.peer
            ),
            detail: format!("{within}: {peer} itself waits for {waits_for}"),
            peer,
        },
        (None, None) => Failure {
            why: Why::RequestTimedOut,
            detail: within,
            hint: format!(
                "is {} overloaded? `limits: {{ request: ... }}` sets how long is waited",
                pool.producer()
            ),
            peer,
        },
    };
    complain(exchange, &failure);
    answer(&shared, side, &mut inside, stream, &failure);
    drop(inside);
    match carrier {
        Carrier::On(link, id) => {
            let carried = link.port.inside().connection.reset(id, Code::CANCEL);
            let heard = link.port.inside().heard;
            // Nothing came by it since: it may have died without a word, and another would be
            // answered.
            if !link.is_retired() && carried.is_some_and(|carried| carried.heard == heard) {
                pool.retire(&link);
            }
            Some(link)
        }
        Carrier::None | Carrier::Waiting { .. } => None,
    }
}

/// Ends a stream whose waiting data the consumer did not take in time, or that is too much: `limit`
/// names the bound. Gives the connection to flush.
pub(super) fn not_taken(shared: &Shared, consumer: &Consumer, stream: u32, limit: &'static str) -> Option<Rc<Link>> {
    shared.metrics.limit_reached(limit);
    tracing::debug!(stream, limit, "the response is not taken, and its stream is reset");
    let exchange = consumer.inside().connection.reset(stream, Code::ENHANCE_YOUR_CALM)?;
    exchange.not_taken()
}
