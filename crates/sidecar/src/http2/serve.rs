//! The server side of an HTTP/2 connection.

use std::future::Future;
use std::pin::pin;
use std::task::Poll;

use bartizan_deployment::Limits;
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use h2::server::SendResponse;
use h2::{Reason, RecvStream};
use http::Request;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;

use super::restraint::Restraint;
use super::turn::in_turns;
use crate::drain::{Guard, Phase};
use crate::metrics::Side;

/// How a client's connection ended that did not end well.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Ended {
    /// The preface came, and nothing after it.
    #[error("no HTTP/2 SETTINGS in time")]
    NoSettings,
    /// The client broke off, or broke the rules.
    #[error("{0}")]
    Broken(#[from] h2::Error),
    /// It took too many of its requests back.
    #[error("requests are reset as soon as they are sent")]
    Unrestrained,
}

impl Ended {
    /// A word for metrics: the error code (RFC 9113, section 7), where HTTP/2 has one.
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Self::NoSettings => "settings-timeout",
            Self::Unrestrained => "enhance-your-calm",
            Self::Broken(error) => match error.reason() {
                Some(Reason::PROTOCOL_ERROR) => "protocol-error",
                Some(Reason::FLOW_CONTROL_ERROR) => "flow-control-error",
                Some(Reason::STREAM_CLOSED) => "stream-closed",
                Some(Reason::FRAME_SIZE_ERROR) => "frame-size-error",
                Some(Reason::COMPRESSION_ERROR) => "compression-error",
                Some(Reason::ENHANCE_YOUR_CALM) => "enhance-your-calm",
                Some(_) => "other",
                None => "broken",
            },
        }
    }
}

/// Serves the requests of one connection until it is closed or drained.
///
/// The requests run inside the connection's own task: a response needs no second wake-up to reach the socket. Draining sends
/// GOAWAY and lets them end; a client without `restraint` is sent away.
pub(crate) async fn serve<IO, H, F>(
    stream: IO,
    side: Side,
    limits: &Limits,
    guard: Guard,
    restraint: &Restraint,
    handle: H,
) -> Result<(), Ended>
where
    IO: AsyncRead + AsyncWrite + Unpin,
    H: Fn(Request<RecvStream>, SendResponse<Bytes>) -> F,
    F: Future<Output = ()>,
{
    let begun = timeout(limits.handshake, super::server(limits, side).handshake(stream)).await;
    let mut connection = begun.map_err(|_| Ended::NoSettings)??;
    let mut requests = FuturesUnordered::new();
    let mut closing = guard.clone();
    let mut draining = guard;
    let mut drained = pin!(async move { draining.reached(Phase::Draining).await });
    let mut closed = pin!(async move { closing.reached(Phase::Closing).await });
    let mut running = true;
    let mut restrained = true;
    in_turns(|context| {
        if running && drained.as_mut().poll(context).is_ready() {
            running = false;
            connection.graceful_shutdown();
        }
        if !running && closed.as_mut().poll(context).is_ready() {
            return Poll::Ready(Ok(()));
        }
        loop {
            // Requests first: what they have to say leaves with the one flush that follows.
            while let Poll::Ready(Some(())) = requests.poll_next_unpin(context) {}
            if restrained && side == Side::Outbound && restraint.is_lost() {
                restrained = false;
                connection.abrupt_shutdown(Reason::ENHANCE_YOUR_CALM);
            }
            let mut fresh = false;
            loop {
                match connection.poll_accept(context) {
                    Poll::Ready(Some(Ok((request, respond)))) => {
                        requests.push(handle(request, respond));
                        fresh = true;
                    }
                    Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(error.into())),
                    // Nobody is left to answer: what is still under way is dropped, which resets it at the other end.
                    Poll::Ready(None) if restrained => return Poll::Ready(Ok(())),
                    Poll::Ready(None) => return Poll::Ready(Err(Ended::Unrestrained)),
                    Poll::Pending => break,
                }
            }
            if !fresh {
                return Poll::Pending;
            }
        }
    })
    .await
}
