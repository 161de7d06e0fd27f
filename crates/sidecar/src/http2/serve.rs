//! The server side of an HTTP/2 connection.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::task::Poll;

use bartizan_deployment::Limits;
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use h2::RecvStream;
use h2::server::SendResponse;
use http::Request;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;

use super::turn::in_turns;
use crate::drain::{Guard, Phase};

/// Serves the requests of one connection until it is closed or drained.
///
/// The requests run inside the connection's own task: a response needs no second wake-up to reach the socket. Draining sends
/// GOAWAY and lets them end.
pub(crate) async fn serve<IO, H, F>(stream: IO, limits: &Limits, guard: Guard, handle: H) -> io::Result<()>
where
    IO: AsyncRead + AsyncWrite + Unpin,
    H: Fn(Request<RecvStream>, SendResponse<Bytes>) -> F,
    F: Future<Output = ()>,
{
    let failed = |error: h2::Error| io::Error::other(error.to_string());
    let begun = timeout(limits.handshake, super::server(limits).handshake(stream)).await;
    let mut connection = begun
        .map_err(|_| io::Error::new(io::ErrorKind::TimedOut, "no HTTP/2 SETTINGS in time"))?
        .map_err(failed)?;
    let mut requests = FuturesUnordered::new();
    let mut closing = guard.clone();
    let mut draining = guard;
    let mut drained = pin!(async move { draining.reached(Phase::Draining).await });
    let mut closed = pin!(async move { closing.reached(Phase::Closing).await });
    let mut running = true;
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
            let mut fresh = false;
            loop {
                match connection.poll_accept(context) {
                    Poll::Ready(Some(Ok((request, respond)))) => {
                        requests.push(handle(request, respond));
                        fresh = true;
                    }
                    Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(failed(error))),
                    // Nobody is left to answer: what is still under way is dropped, which resets it at the other end.
                    Poll::Ready(None) => return Poll::Ready(Ok(())),
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
