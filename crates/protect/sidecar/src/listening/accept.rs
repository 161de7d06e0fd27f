//! Listeners: bounded, and stopped by draining.

use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpStream as StdTcpStream};
use std::sync::Arc;
use std::time::Duration;

use bartizan_server::contained;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{spawn_local, yield_now};
use tokio::time::sleep;

use crate::life::drain::{Guard, Phase};
use crate::life::idle;
use crate::listening::admission::{Admission, Eviction, Slot};
use crate::runtime::until::until;
use crate::shared::Shared;

/// A pause where accepting fails for want of file descriptors or memory, which asking again at once would not cure.
const BREATH: Duration = Duration::from_millis(50);
/// Pauses of a listener that closes and cannot accept what waits.
const PAUSES: u32 = 100;

/// A connection that was accepted and holds a slot of its listener: its socket with an event loop, or without one on the way to another thread.
#[derive(Debug)]
pub(crate) struct Accepted<Stream = TcpStream> {
    stream: Stream,
    peer: SocketAddr,
    guard: Guard,
    pub(crate) slot: Slot,
    eviction: Eviction,
}

impl Accepted {
    /// Serves it in a task of its own, until it is evicted.
    pub(crate) fn serve<F>(self, serve: impl FnOnce(TcpStream, SocketAddr, Guard, Slot) -> F)
    where
        F: Future<Output = ()> + 'static,
    {
        let eviction = self.eviction;
        let served = serve(self.stream, self.peer, self.guard, self.slot);
        spawn_local(contained(async move { until(served, eviction.now()).await }));
    }

    /// Takes it from its event loop.
    pub(crate) fn detach(self) -> io::Result<Accepted<StdTcpStream>> {
        Ok(Accepted {
            stream: self.stream.into_std()?,
            peer: self.peer,
            guard: self.guard,
            slot: self.slot,
            eviction: self.eviction,
        })
    }
}

impl Accepted<StdTcpStream> {
    /// Gives it to the event loop of the calling thread.
    pub(crate) fn attach(self) -> io::Result<Accepted> {
        Ok(Accepted {
            stream: TcpStream::from_std(self.stream)?,
            peer: self.peer,
            guard: self.guard,
            slot: self.slot,
            eviction: self.eviction,
        })
    }
}

/// Accepts connections until draining begins, and gives each to `serve`. Beyond its bounds the connection that has been pending for
/// longest is evicted, or the new one closed where none is pending, and counted; so is one that is pending for `limits.idle`. Connections that were
/// established before the listener closed are served too: for those who made them they were accepted.
pub(crate) async fn accept_all(
    shared: Arc<Shared>,
    listener: TcpListener,
    listener_name: String,
    admission: Arc<Admission>,
    serve: impl Fn(Accepted),
) {
    let (mut guard, _open) = (shared.drain.guard(), shared.drain.listens());
    let take = |stream: TcpStream, peer: SocketAddr, guard: Guard| {
        let place = admission.place(&shared, &listener_name, peer, "a connection is closed");
        let Some((slot, eviction)) = place else { return };
        serve(Accepted {
            stream,
            peer,
            guard,
            slot,
            eviction,
        });
    };
    let idle = shared.limits.idle;
    let mut ticks = idle::ticks(idle);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = ticks.tick() => {
                for _ in 0..admission.expire(idle) {
                    shared.metrics.limit_reached("idle");
                }
                continue;
            }
            () = guard.reached(Phase::Refusing) => break,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) if is_of_one_connection(&error) => continue,
            Err(error) => {
                shared.cannot_take(&listener_name, &error);
                sleep(BREATH).await;
                continue;
            }
        };
        take(stream, peer, guard.clone());
        // One in each round of the runtime: requests under way get their turn after each, however many clients connect.
        yield_now().await;
    }
    // The kernel resets what still waits when the last process closes the socket. One that it
    // completes after the last look shares that fate.
    let Ok(listener) = listener.into_std() else { return };
    let mut pauses = PAUSES;
    loop {
        let accepted = listener.accept().and_then(|(stream, peer)| {
            stream.set_nonblocking(true)?;
            Ok((TcpStream::from_std(stream)?, peer))
        });
        match next(accepted.as_ref().err(), &mut pauses) {
            Next::Goes => {}
            Next::Pauses => sleep(BREATH).await,
            Next::Over => return,
        }
        if let Ok((stream, peer)) = accepted {
            take(stream, peer, guard.clone());
            yield_now().await;
        }
    }
}

/// Step after a look at the queue of a listener that closes.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    Goes,
    Pauses,
    Over,
}

/// An error of one connection is not the end of the queue. For want of descriptors the others are
/// waited for: they end, since the process drains.
fn next(error: Option<&io::Error>, pauses: &mut u32) -> Next {
    match error {
        None => Next::Goes,
        Some(error) if error.kind() == io::ErrorKind::WouldBlock => Next::Over,
        Some(error) if is_of_one_connection(error) => Next::Goes,
        Some(_) => match pauses.checked_sub(1) {
            Some(left) => {
                *pauses = left;
                Next::Pauses
            }
            None => Next::Over,
        },
    }
}

/// Closes whatever connects: that it was accepted is all there is to learn.
pub(crate) async fn accept_nothing(listener: TcpListener) {
    loop {
        if listener.accept().await.is_err() {
            sleep(BREATH).await;
        }
    }
}

/// Errors of accept(2) that concern the connection that was to be accepted, not the listener.
fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionRefused
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An aborted connection, or a moment without descriptors, ended the look at the queue: the
    /// kernel reset whatever waited behind it.
    #[test]
    fn queue_of_a_listener_that_closes_is_taken_whole_whatever_one_of_it_is() {
        let mut pauses = 2;
        let mut step = |code: i32| next(Some(&io::Error::from_raw_os_error(code)), &mut pauses);
        assert_eq!(step(libc::ECONNABORTED), Next::Goes);
        assert_eq!([step(libc::EMFILE), step(libc::ENFILE)], [Next::Pauses, Next::Pauses]);
        assert_eq!(step(libc::EMFILE), Next::Over, "it is bounded");
        assert_eq!(step(libc::EAGAIN), Next::Over);
        assert_eq!(next(None, &mut pauses), Next::Goes);
    }
}
