//! Listeners: bounded, and stopped by draining.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

use crate::drain::{Guard, Phase};
use crate::shared::Shared;

/// A pause where accepting fails for want of file descriptors or memory, which asking again at once would not cure.
const BREATH: Duration = Duration::from_millis(50);

/// Accepts connections until draining begins, and serves each in a task of its own. Beyond `limits.connections` a new
/// connection is closed at once and counted. Connections that were established before the listener closed are served too: for
/// those who made them they were accepted.
pub(crate) async fn accept_all<S, F>(shared: Arc<Shared>, listener: TcpListener, listener_name: String, serve: S)
where
    S: Fn(TcpStream, SocketAddr, Guard) -> F,
    F: Future<Output = ()> + Send + 'static,
{
    let mut guard = shared.drain.guard();
    let open = Arc::new(AtomicUsize::new(0));
    let take = |stream: TcpStream, peer: SocketAddr, guard: Guard| {
        let Some(place) = Place::take(&open, shared.limits.connections) else {
            shared.metrics.limit_reached("connections");
            tracing::debug!(listener = %listener_name, %peer, "connection closed: limits.connections is reached");
            return;
        };
        let served = serve(stream, peer, guard);
        tokio::spawn(async move {
            served.await;
            drop(place);
        });
    };
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = guard.reached(Phase::Draining) => break,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) if is_of_one_connection(&error) => continue,
            Err(error) => {
                shared.metrics.limit_reached("accept");
                tracing::warn!(
                    listener = %listener_name, %error, hint = "raise the limit of open files (ulimit -n, LimitNOFILE=)",
                    "cannot accept connections"
                );
                sleep(BREATH).await;
                continue;
            }
        };
        take(stream, peer, guard.clone());
    }
    for (stream, peer) in waiting(listener) {
        take(stream, peer, guard.clone());
    }
}

/// The connections of the listener's queue, which nobody has accepted yet; then the listener is closed.
fn waiting(listener: TcpListener) -> Vec<(TcpStream, SocketAddr)> {
    let Ok(listener) = listener.into_std() else {
        return Vec::new();
    };
    let mut waiting = Vec::new();
    while let Ok((stream, peer)) = listener.accept() {
        let stream = stream.set_nonblocking(true).and_then(|()| TcpStream::from_std(stream));
        waiting.extend(stream.map(|stream| (stream, peer)));
    }
    waiting
}

/// Errors of accept(2) that concern the connection that was to be accepted, not the listener.
fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionRefused
    )
}

/// One of a bounded number of places, given back when dropped.
#[derive(Debug)]
struct Place(Arc<AtomicUsize>);

impl Place {
    fn take(open: &Arc<AtomicUsize>, at_most: usize) -> Option<Self> {
        let taken = open.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |open| {
            (open < at_most).then_some(open + 1)
        });
        taken.ok().map(|_| Self(Arc::clone(open)))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_bounded_and_come_back() {
        let open = Arc::new(AtomicUsize::new(0));
        let first = Place::take(&open, 1);
        assert!(first.is_some());
        assert!(Place::take(&open, 1).is_none());
        drop(first);
        assert!(Place::take(&open, 1).is_some());
    }
}
