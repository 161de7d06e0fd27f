//! Listeners for associations of the node's own function.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bartizan_host::sctp::Listener;
use bartizan_server::contained;
use tokio::io::unix::AsyncFd;
use tokio::runtime::Handle;
use tokio::task::{spawn_local, yield_now};
use tokio::time::sleep;

use crate::dialling::warm::WarmPool;
use crate::life::drain::Phase;
use crate::listening::admission::Admission;
use crate::paths::sctp::{self, Carries, FunctionSocket};
use crate::runtime::until::until;
use crate::shared::Shared;

/// A pause where accepting fails for want of file descriptors or memory, which asking again at once would not cure.
const BREATH: Duration = Duration::from_millis(50);

/// Accepts associations until draining begins, and carries each in a task of its own to the peer that `warm_pool` leads to.
pub(crate) async fn accept_all<C: Carries + 'static>(
    shared: Arc<Shared>,
    listener: AsyncFd<Listener>,
    name: String,
    admission: Arc<Admission>,
    warm_pool: Arc<WarmPool<C>>,
) {
    let mut guard = shared.drain.guard();
    let carriers = match C::carriers(&shared) {
        Ok(carriers) => carriers,
        Err(error) => {
            tracing::error!(
                listener = %name, %error, hint = "raise the limits of threads and open files (TasksMax=, LimitNOFILE=)",
                "nothing is accepted"
            );
            shared.listener_failed(&name);
            return;
        }
    };
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener, &carriers) => accepted,
            () = guard.reached(Phase::Draining) => break,
        };
        let (socket, from) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                shared.cannot_take(&name, &error);
                sleep(BREATH).await;
                continue;
            }
        };
        match admission.place(&shared, &name, from, "an association is aborted") {
            Some((slot, eviction)) => {
                let (shared, warm_pool) = (Arc::clone(&shared), Arc::clone(&warm_pool));
                let served = sctp::outbound(shared, warm_pool, (socket, carriers.clone()), from, guard.clone(), slot);
                spawn_local(contained(async move { until(served, eviction.now()).await }));
            }
            None => socket.abort(),
        }
        yield_now().await;
    }
}

/// The next association. Asked only where the listener is readable: see [`Listener::accept`].
async fn accept(listener: &AsyncFd<Listener>, carriers: &Handle) -> io::Result<(FunctionSocket, SocketAddr)> {
    loop {
        let mut ready = listener.readable().await?;
        match listener.get_ref().accept() {
            Ok((association, from)) => return Ok((FunctionSocket::accepted(association, carriers)?, from)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => ready.clear_ready(),
            // It was gone before it was accepted.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::NotConnected
                ) => {}
            Err(error) => return Err(error),
        }
    }
}
