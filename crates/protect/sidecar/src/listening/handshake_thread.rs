//! The thread that answers handshakes of other sidecars, so that those who serve never wait for one.
//!
//! Any client of an inbound listener makes this end accept, read, sign and refuse before its peer is authenticated. All of that belongs
//! to one thread of lower priority. A connection changes thread once, when its peer is authenticated; from then on the thread of its
//! [`Worker`](crate::worker::Worker) has it alone, and no byte of it crosses between the two.

use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;

use bartizan_deployment::{InterfaceKind, Path};
use tokio::net::TcpListener as TokioListener;
use tokio::runtime::Builder;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::{LocalSet, spawn_local};

use crate::dialling::channel::Detached;
use crate::dialling::handshake;
use crate::error::Error;
use crate::life::drain::Guard;
use crate::listening::accept::accept_all;
use crate::listening::admission::{Admission, Bounds, Slot};
use crate::shared::Shared;

/// What the thread adds to its nice value: requests under way go before handshakes where both wait for one processor, and
/// handshakes still get a quarter of it beside a thread that never rests (nice 5 weighs 335, nice 0 1024; sched(7)).
const NICER: i32 = 5;

/// An inbound listener, and where connections go that were made there.
#[derive(Debug)]
pub(crate) struct InboundListener {
    pub(crate) listener: TcpListener,
    pub(crate) name: String,
    pub(crate) bounds: Bounds,
    pub(crate) interface: InterfaceKind,
    pub(crate) path: Path,
    authenticated: UnboundedSender<Authenticated>,
}

/// A connection whose peer is authenticated, on its way to the thread that serves it.
#[derive(Debug)]
pub(crate) struct Authenticated {
    pub(crate) channel: Detached,
    pub(crate) guard: Guard,
    pub(crate) slot: Slot,
}

/// The thread, which ends when this is dropped.
#[derive(Debug)]
pub(crate) struct HandshakeThread {
    _ends: oneshot::Sender<()>,
}

impl InboundListener {
    /// The listener, and what comes of the handshakes there: as many at most as the listener holds connections.
    pub(crate) fn new(
        listener: TcpListener,
        name: String,
        bounds: Bounds,
        (interface, path): (InterfaceKind, Path),
    ) -> (Self, UnboundedReceiver<Authenticated>) {
        let (authenticated, arriving) = unbounded_channel();
        let inbound_listener = Self {
            listener,
            name,
            bounds,
            interface,
            path,
            authenticated,
        };
        (inbound_listener, arriving)
    }

    fn open(self, shared: &Arc<Shared>) -> io::Result<()> {
        let Self {
            listener,
            name,
            bounds,
            interface,
            path,
            authenticated,
        } = self;
        let listener = TokioListener::from_std(listener)?;
        let answering = Arc::clone(shared);
        let answer = move |stream, peer, guard, slot: Slot| {
            let (shared, authenticated) = (Arc::clone(&answering), authenticated.clone());
            async move {
                let Some(channel) = handshake::accept(&shared, stream, peer, interface, path).await else {
                    return;
                };
                if !slot.establish() {
                    // It was evicted in the same turn.
                    return;
                }
                match channel.detach() {
                    // The other end is gone only where everything ends.
                    Ok(channel) => drop(authenticated.send(Authenticated { channel, guard, slot })),
                    Err(error) => {
                        shared.metrics.limit_reached("accept");
                        tracing::warn!(
                            %peer, %error, hint = "raise the limit of open files (ulimit -n, LimitNOFILE=)",
                            "an authenticated connection is closed"
                        );
                    }
                }
            }
        };
        spawn_local(accept_all(
            Arc::clone(shared),
            listener,
            name,
            Admission::new(bounds),
            answer,
        ));
        Ok(())
    }
}

impl HandshakeThread {
    /// Starts the thread, which inherits what the calling thread is confined to.
    ///
    /// # Errors
    /// Where the system gives no thread, no event loop or takes a listener for none.
    pub(crate) fn start(shared: &Arc<Shared>, inbound_listeners: Vec<InboundListener>) -> Result<Self, Error> {
        let cannot = |source| Error::Thread { source };
        let runtime = Builder::new_current_thread().enable_all().build().map_err(cannot)?;
        let (ends, ended) = oneshot::channel::<()>();
        let shared = Arc::clone(shared);
        let serve = move || {
            lower_priority();
            LocalSet::new().block_on(&runtime, async move {
                for inbound_listener in inbound_listeners {
                    let name = inbound_listener.name.clone();
                    if let Err(error) = inbound_listener.open(&shared) {
                        tracing::error!(
                            listener = name, %error, hint = "raise the limit of open files (ulimit -n, LimitNOFILE=)",
                            "nothing is accepted"
                        );
                    }
                }
                drop(shared);
                let _ = ended.await;
            });
        };
        thread::Builder::new()
            .name("handshakes".to_owned())
            .spawn(serve)
            .map_err(cannot)?;
        Ok(Self { _ends: ends })
    }
}

/// Of this thread alone (Linux counts nice values by thread). Where it is not allowed, both are scheduled alike.
fn lower_priority() {
    if let Err(error) = rustix::process::nice(NICER) {
        tracing::debug!(%error, "handshakes keep the priority of requests");
    }
}
