//! From the thread that accepts what the network function connects to the workers that serve it.

use std::future::Future;
use std::net::{SocketAddr, TcpStream as StdTcpStream};
use std::sync::Arc;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::spawn_local;

use crate::life::drain::Guard;
use crate::listening::accept::{Accepted, accept_all};
use crate::listening::admission::{Admission, Slot};
use crate::shared::Shared;
use crate::worker::spread::OfListener;

/// A connection that cannot be taken, in words.
const OF_FUNCTION: &str = "a connection of the network function";

/// A worker's source of the connections of an outbound listener.
#[derive(Debug)]
pub(crate) enum Arriving {
    /// The first worker accepts them, and hands out those that are for others.
    Accepted(TcpListener, HandOut),
    /// The others get theirs, as many at most as the listener holds.
    Handed(UnboundedReceiver<Accepted<StdTcpStream>>),
}

/// The way to the other workers.
#[derive(Debug)]
pub(crate) struct HandOut {
    spread: OfListener,
    /// To the second worker, and those after it.
    others: Vec<UnboundedSender<Accepted<StdTcpStream>>>,
}

impl Arriving {
    /// For each worker where it gets the connections of this listener.
    pub(crate) fn of(listener: TcpListener, spread: OfListener) -> Vec<Self> {
        let (others, handed): (_, Vec<_>) = (1..spread.workers()).map(|_| unbounded_channel()).unzip();
        let first = Self::Accepted(listener, HandOut { spread, others });
        std::iter::once(first)
            .chain(handed.into_iter().map(Self::Handed))
            .collect()
    }

    /// Serves the worker's connections of the listener until draining begins, each in a task of its own, on the calling thread.
    pub(crate) fn serve<S, F>(self, shared: Arc<Shared>, listener_name: String, serve: S)
    where
        S: Fn(TcpStream, SocketAddr, Guard, Slot) -> F + 'static,
        F: Future<Output = ()> + 'static,
    {
        match self {
            Self::Accepted(listener, hand_out) => {
                let of_sidecar = Arc::clone(&shared);
                let admission = Admission::of_this_host(shared.limits.connections);
                let take = move |accepted| match hand_out.keep(accepted) {
                    Ok(Some(own)) => own.serve(&serve),
                    Ok(None) => {}
                    Err(error) => of_sidecar.cannot_take(OF_FUNCTION, &error),
                };
                spawn_local(accept_all(shared, listener, listener_name, admission, take));
            }
            Self::Handed(mut handed) => {
                spawn_local(async move {
                    while let Some(accepted) = handed.recv().await {
                        match accepted.attach() {
                            Ok(accepted) => accepted.serve(&serve),
                            Err(error) => shared.cannot_take(OF_FUNCTION, &error),
                        }
                    }
                });
            }
        }
    }
}

impl HandOut {
    /// Gives a connection back that is for the worker that accepted it; any other has left.
    fn keep(&self, mut accepted: Accepted) -> std::io::Result<Option<Accepted>> {
        let (worker, load) = self.spread.next();
        accepted.slot.counts_as(load);
        let Some(other) = worker.checked_sub(1).and_then(|other| self.others.get(other)) else {
            return Ok(Some(accepted));
        };
        // The other end is gone only where everything ends.
        let _ = other.send(accepted.detach()?);
        Ok(None)
    }
}
