//! One request and its response, from the stream they came by to a pooled connection and back.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use bytes::Bytes;
use h2::client::ResponseFuture;
use h2::server::SendResponse;
use h2::{Reason, RecvStream};
use http::header::HOST;
use http::uri::{PathAndQuery, Scheme};
use http::{Request, Response, Uri};

use super::attempts::Attempts;
use super::body::{Broke, Pump, Source};
use super::pool::{Lease, Link, Pool};
use super::restraint::Restraint;
use super::send_problem;
use crate::failure::{Failure, Why};
use crate::metrics::{Account, Outcome, Requests, Side};
use crate::shared::Shared;

/// Where requests of one listener or one connection go, and where they are counted.
#[derive(Debug, Clone)]
pub(crate) struct Route {
    pub(crate) side: Side,
    pub(crate) pool: Arc<Pool>,
    pub(crate) requests: Arc<Requests>,
}

/// What came first while a response was awaited.
enum First {
    Response(Result<Response<RecvStream>, h2::Error>),
    Upload(Broke),
    /// The consumer does not want it any more.
    Reset(Reason),
    TimedOut,
}

/// Carries one request to its producer and the response back, whatever happens on the way.
pub(crate) async fn exchange(
    shared: &Shared,
    route: &Route,
    restraint: &Restraint,
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
) {
    let (mut parts, body) = request.into_parts();
    let mut account = route.requests.begin(parts.uri.path());
    if let Err(failure) = complete_uri(&mut parts.uri, &mut parts.headers, route) {
        account.ended(Outcome::Status(send_problem(
            shared,
            route.side,
            &mut respond,
            &failure,
        )));
        return;
    }
    let head = Request::from_parts(parts, ());
    let mut upload = (!body.is_end_stream()).then(|| Source::repeatable(body));
    let began = Instant::now();
    let until = began + shared.limits.request;
    let mut tick = pin!(shared.ticks.next());
    let mut attempts = Attempts::new(until);
    loop {
        let sent = send(route, &head, upload.is_none(), &mut attempts).await;
        let (link, response, sink) = match sent {
            Ok(sent) => sent,
            Err(failure) => {
                shared.complaints.log("answered in place of the producer", &failure);
                account.ended(Outcome::Status(send_problem(
                    shared,
                    route.side,
                    &mut respond,
                    &failure,
                )));
                return;
            }
        };
        account.handed();
        let mut up = match upload.take() {
            Some(source) => Upload::Body(Pump::new(source, sink)),
            None => Upload::Nothing(sink),
        };
        let first = {
            let mut response = response;
            poll_fn(|context| {
                if let Poll::Ready(response) = std::pin::Pin::new(&mut response).poll(context) {
                    return Poll::Ready(First::Response(response));
                }
                if let Upload::Body(pump) = &mut up
                    && let Poll::Ready(Err(broke)) = pump.poll(context)
                {
                    // The response tells better why, where one is there: a server may answer and stop reading.
                    return match std::pin::Pin::new(&mut response).poll(context) {
                        Poll::Ready(response) => Poll::Ready(First::Response(response)),
                        Poll::Pending => Poll::Ready(First::Upload(broke)),
                    };
                }
                if let Poll::Ready(reset) = respond.poll_reset(context) {
                    return Poll::Ready(First::Reset(reset.unwrap_or(Reason::CANCEL)));
                }
                while tick.as_mut().poll(context).is_ready() {
                    if Instant::now() >= until {
                        return Poll::Ready(First::TimedOut);
                    }
                    tick.set(shared.ticks.next());
                }
                Poll::Pending
            })
            .await
        };
        let failure = match first {
            First::Response(Ok(response)) => {
                account.arrived();
                restraint.answered();
                download(&mut account, response, up, &mut respond).await;
                return;
            }
            First::Reset(reason) => {
                up.reset(reason);
                restraint.taken_back(began);
                account.ended(Outcome::ConsumerReset);
                return;
            }
            First::TimedOut => {
                shared.metrics.limit_reached("request");
                up.reset(Reason::CANCEL);
                timed_out(shared, route, &link)
            }
            First::Upload(Broke::Source(error)) => {
                up.reset(error.reason().unwrap_or(Reason::CANCEL));
                restraint.taken_back(began);
                account.ended(Outcome::ConsumerReset);
                return;
            }
            First::Upload(Broke::Reset(reason)) => {
                account.ended(Outcome::ProducerReset);
                respond.send_reset(reason);
                return;
            }
            First::Upload(Broke::Sink(error)) | First::Response(Err(error)) => {
                route.pool.retire_if_closed(&link, &error);
                if let Some(reason) = unprocessed(&error)
                    && attempts.left()
                    && up.rewind(&mut upload)
                {
                    attempts.another().await;
                    shared.metrics.retry(route.side, route.pool.peer(), reason);
                    tracing::debug!(
                        peer = route.pool.peer(),
                        reason,
                        attempt = attempts.made(),
                        "request sent again"
                    );
                    continue;
                }
                if error.is_reset() && error.is_remote() {
                    account.ended(Outcome::ProducerReset);
                    respond.send_reset(error.reason().unwrap_or(Reason::CANCEL));
                    return;
                }
                broken(route, &link, &error)
            }
        };
        shared.complaints.log("answered in place of the producer", &failure);
        account.ended(Outcome::Status(send_problem(
            shared,
            route.side,
            &mut respond,
            &failure,
        )));
        return;
    }
}

type Sent = (Lease, ResponseFuture, h2::SendStream<Bytes>);

/// Puts the head of a request onto a connection, another one where the first turns out to be closed.
async fn send(route: &Route, head: &Request<()>, ends: bool, attempts: &mut Attempts) -> Result<Sent, Failure> {
    loop {
        let link = route.pool.link().await?;
        match link.send(head.clone(), ends).await {
            Ok((response, sink)) => return Ok((link, response, sink)),
            Err(error) => {
                route.pool.retire(&link);
                if !attempts.left() || error.is_library() {
                    return Err(broken(route, &link, &error));
                }
                attempts.another().await;
            }
        }
    }
}

/// The request's direction while and after its response is awaited.
enum Upload {
    Body(Pump),
    /// The head said it all; the stream is held so that it can be reset.
    Nothing(h2::SendStream<Bytes>),
}

impl Upload {
    fn reset(&mut self, reason: Reason) {
        match self {
            Self::Body(pump) => pump.reset(reason),
            Self::Nothing(stream) => stream.send_reset(reason),
        }
    }

    /// Gives the body back for another attempt; `false` where too much of it has gone.
    fn rewind(self, upload: &mut Option<Source>) -> bool {
        match self {
            Self::Nothing(_) => true,
            Self::Body(pump) => {
                let source = upload.insert(pump.into_source());
                source.rewind()
            }
        }
    }
}

/// Hands the response back, and the rest of the request on meanwhile.
async fn download(
    account: &mut Account,
    response: Response<RecvStream>,
    mut up: Upload,
    respond: &mut SendResponse<Bytes>,
) {
    let (parts, body) = response.into_parts();
    let status = parts.status.as_u16();
    let ends = body.is_end_stream();
    let Ok(sink) = respond.send_response(Response::from_parts(parts, ()), ends) else {
        up.reset(Reason::CANCEL);
        account.ended(Outcome::ConsumerReset);
        return;
    };
    let mut down = (!ends).then(|| Pump::new(Source::once(body), sink));
    if let Upload::Body(pump) = &mut up {
        pump.source().forget();
    }
    let mut first = true;
    let outcome = poll_fn(|context| {
        let down_done = match &mut down {
            None => true,
            Some(pump) => match pump.poll(context) {
                Poll::Ready(Ok(())) => true,
                Poll::Ready(Err(broke)) => return Poll::Ready(Err(broke)),
                Poll::Pending => false,
            },
        };
        if first {
            first = false;
            account.answered();
        }
        let up_done = match &mut up {
            Upload::Nothing(_) => true,
            Upload::Body(pump) => pump.done() || pump.poll(context).is_ready(),
        };
        // A producer may answer in full and reset the rest of the request with NO_ERROR (RFC 9113, section 8.1): that ends its
        // pump, and our own stream is closed the same way when it is dropped.
        if down_done && up_done {
            Poll::Ready(Ok(()))
        } else {
            Poll::Pending
        }
    })
    .await;
    match outcome {
        Ok(()) => account.ended(Outcome::Status(status)),
        Err(Broke::Reset(reason)) => {
            up.reset(reason);
            account.ended(Outcome::ConsumerReset);
        }
        Err(Broke::Sink(_)) => {
            up.reset(Reason::CANCEL);
            account.ended(Outcome::ConsumerReset);
        }
        Err(Broke::Source(error)) => {
            let (outcome, reason) = if error.is_reset() && error.is_remote() {
                (Outcome::ProducerReset, error.reason().unwrap_or(Reason::CANCEL))
            } else {
                (Outcome::Broken, Reason::INTERNAL_ERROR)
            };
            respond.send_reset(reason);
            account.ended(outcome);
        }
    }
}

/// HTTP/2 lets a request leave `:authority` out and name its host by Host (RFC 9113, section 8.3.1); a request to be sent needs
/// one or the other as its authority. Everything else of the head passes untouched.
fn complete_uri(uri: &mut Uri, headers: &mut http::HeaderMap, route: &Route) -> Result<(), Failure> {
    if uri.authority().is_some() {
        return Ok(());
    }
    let unusable = || Failure {
        peer: route.pool.peer().to_owned(),
        why: Why::NoRoute,
        detail: "the request has neither an :authority nor a Host that could be one".to_owned(),
        hint: "the network function must name the producer's host in its requests".to_owned(),
    };
    let host = headers.remove(HOST).ok_or_else(unusable)?;
    let mut parts = std::mem::take(uri).into_parts();
    parts.authority = Some(host.as_bytes().try_into().map_err(|_| unusable())?);
    parts.scheme = Some(Scheme::HTTP);
    if parts.path_and_query.is_none() {
        parts.path_and_query = Some(PathAndQuery::from_static("/"));
    }
    *uri = Uri::from_parts(parts).map_err(|_| unusable())?;
    Ok(())
}

/// Whether the producer's side has said that it did nothing with the request (RFC 9113, sections 6.8 and 8.7).
fn unprocessed(error: &h2::Error) -> Option<&'static str> {
    if !error.is_remote() {
        None
    } else if error.is_go_away() {
        // Streams at or below its last stream id do not see the GOAWAY as their error.
        Some("goaway")
    } else if error.is_reset() && error.reason() == Some(Reason::REFUSED_STREAM) {
        Some("refused-stream")
    } else {
        None
    }
}

fn timed_out(shared: &Shared, route: &Route, link: &Link) -> Failure {
    let peer = route.pool.peer().to_owned();
    match link.refusal() {
        Some(refused) => Failure::refused(&peer, refused),
        None => Failure {
            why: Why::RequestTimedOut,
            detail: format!("no response within {:?}", shared.limits.request),
            hint: format!(
                "is the network function of {} overloaded? `limits: {{ request: ... }}` sets how long is waited",
                route.pool.producer()
            ),
            peer,
        },
    }
}

fn broken(route: &Route, link: &Link, error: &h2::Error) -> Failure {
    let peer = route.pool.peer().to_owned();
    match link.refusal() {
        Some(refused) => Failure::refused(&peer, refused),
        None => Failure {
            why: Why::Broken,
            detail: format!("the connection to {} broke: {error}", route.pool.producer()),
            hint: "the request may have been processed, so it was not sent again; see the log of the other side"
                .to_owned(),
            peer,
        },
    }
}
