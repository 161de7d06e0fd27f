//! The threads that answer handshakes of other sidecars, so that those who serve never wait for one.
//!
//! Any client of an inbound listener makes this end accept, read, sign and refuse before its peer is authenticated. All of that belongs
//! to one thread of lower priority, and while many handshakes fail new ones belong to a second one of the lowest. A connection changes to
//! the thread of its [`Worker`](crate::worker::Worker) once, when its peer is authenticated; from then on that thread has it alone, and no
//! byte of it crosses between threads.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Instant;

use bartizan_deployment::{InterfaceKind, Path};
use tokio::net::{TcpListener as TokioListener, TcpStream as TokioStream};
use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::spawn_local;

use crate::dialling::channel::Detached;
use crate::dialling::handshake;
use crate::error::Error;
use crate::life::drain::Guard;
use crate::listening::accept::accept_all;
use crate::listening::admission::{Admission, Bounds, Slot};
use crate::listening::failures::{Deferral, Failures};
use crate::shared::Shared;

/// What the thread adds to its nice value: requests under way go before handshakes where both wait for one processor, and
/// handshakes still get a quarter of it next to a thread that never rests (nice 5 weighs 335, nice 0 1024; sched(7)).
const NICER: i32 = 5;
/// The same for handshakes while many fail. One that runs is not interrupted by a request at nice 5 (it has its slice, 0.6 to 1.2 ms of
/// signing and key exchange, under Linux's EEVDF); at nice 19, of weight 15, mostly it is. Where nothing else wants the processor it is
/// as fast.
const NICEST: i32 = 19;

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

/// The threads, which end when this is dropped.
#[derive(Debug)]
pub(crate) struct HandshakeThreads {
    _ends: [oneshot::Sender<()>; 2],
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

    fn open(
        self,
        shared: &Arc<Shared>,
        failures: &Arc<Failures>,
        deferred: &UnboundedSender<Deferred>,
    ) -> io::Result<()> {
        let listener = TokioListener::from_std(self.listener)?;
        let answering = Arc::new(Answering {
            shared: Arc::clone(shared),
            interface: self.interface,
            path: self.path,
            authenticated: self.authenticated,
            failures: Arc::clone(failures),
        });
        let deferred = deferred.clone();
        let answer = move |stream, peer: SocketAddr, guard, slot: Slot| {
            let (answering, deferred) = (Arc::clone(&answering), deferred.clone());
            async move {
                match answering.failures.deferral(peer.ip(), Instant::now()) {
                    Deferral::None => answering.answer(stream, peer, guard, slot, Deferral::None).await,
                    Deferral::Deferred => answering.defer(stream, peer, guard, slot, &deferred).await,
                }
            }
        };
        spawn_local(accept_all(
            Arc::clone(shared),
            listener,
            self.name,
            Admission::new(self.bounds),
            answer,
        ));
        Ok(())
    }
}

/// What handshakes of one listener need.
#[derive(Debug)]
struct Answering {
    shared: Arc<Shared>,
    interface: InterfaceKind,
    path: Path,
    authenticated: UnboundedSender<Authenticated>,
    failures: Arc<Failures>,
}

/// A connection on its way to the thread of handshakes that can wait.
#[derive(Debug)]
struct Deferred {
    answering: Arc<Answering>,
    stream: TcpStream,
    peer: SocketAddr,
    guard: Guard,
    slot: Slot,
    /// Closed when the connection is evicted; dropped when its handshake has ended.
    under_way: oneshot::Sender<()>,
}

impl Answering {
    async fn answer(&self, stream: TokioStream, peer: SocketAddr, guard: Guard, slot: Slot, deferral: Deferral) {
        let attempt = self.failures.attempt(peer.ip(), deferral);
        let Some(channel) = handshake::accept(&self.shared, stream, peer, self.interface, self.path).await else {
            return;
        };
        attempt.succeeds();
        if !slot.establish() {
            // It was evicted in the same turn.
            return;
        }
        match channel.detach() {
            // The other end is gone only where everything ends.
            Ok(channel) => drop(self.authenticated.send(Authenticated { channel, guard, slot })),
            Err(error) => {
                self.shared.metrics.limit_reached("accept");
                tracing::warn!(
                    %peer, %error, hint = "raise the limit of open files (ulimit -n, LimitNOFILE=)",
                    "an authenticated connection is closed"
                );
            }
        }
    }

    /// Has the connection answered by the other thread, and waits for the end of that. Dropping the future ends the handshake.
    async fn defer(
        self: Arc<Self>,
        stream: TokioStream,
        peer: SocketAddr,
        guard: Guard,
        slot: Slot,
        deferred: &UnboundedSender<Deferred>,
    ) {
        self.shared.metrics.limit_reached("failed-handshakes");
        // A socket that cannot leave this event loop is closed: its peer dials again.
        let Ok(stream) = stream.into_std() else { return };
        let (under_way, ended) = oneshot::channel();
        let connection = Deferred {
            answering: self,
            stream,
            peer,
            guard,
            slot,
            under_way,
        };
        if deferred.send(connection).is_ok() {
            // An error: that end was dropped, which is what is waited for.
            let _ = ended.await;
        }
    }
}

impl Deferred {
    async fn answer(self) {
        let Self {
            answering,
            stream,
            peer,
            guard,
            slot,
            mut under_way,
        } = self;
        let Ok(stream) = TokioStream::from_std(stream) else {
            return;
        };
        tokio::select! {
            () = answering.answer(stream, peer, guard, slot, Deferral::Deferred) => {}
            () = under_way.closed() => {}
        }
    }
}

impl HandshakeThreads {
    /// Starts the threads, which inherit what the calling thread is confined to.
    ///
    /// # Errors
    /// Where the system gives no thread, no event loop or takes a listener for none.
    pub(crate) fn start(shared: &Arc<Shared>, inbound_listeners: Vec<InboundListener>) -> Result<Self, Error> {
        let failures = Arc::default();
        let (deferred, mut arriving) = unbounded_channel::<Deferred>();
        let shared = Arc::clone(shared);
        let first = spawn("handshakes", NICER, move || {
            for inbound_listener in inbound_listeners {
                let name = inbound_listener.name.clone();
                if let Err(error) = inbound_listener.open(&shared, &failures, &deferred) {
                    tracing::error!(
                        listener = name, %error, hint = "raise the limit of open files (ulimit -n, LimitNOFILE=)",
                        "nothing is accepted"
                    );
                }
            }
        })?;
        let second = spawn("handshakes-late", NICEST, move || {
            spawn_local(async move {
                while let Some(connection) = arriving.recv().await {
                    spawn_local(connection.answer());
                }
            });
        })?;
        Ok(Self { _ends: [first, second] })
    }
}

/// A thread with an event loop of its own, which runs what `open` spawns there until the sender is dropped.
pub(crate) fn spawn(
    name: &str,
    nicer: i32,
    open: impl FnOnce() + Send + 'static,
) -> Result<oneshot::Sender<()>, Error> {
    let cannot = |source| Error::Thread { source };
    let (ends, ended) = oneshot::channel::<()>();
    // An event loop belongs to the thread that makes it.
    let (made, outcome) = mpsc::channel();
    let serve = move || {
        lower_priority(nicer);
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build_local(LocalOptions::default());
        // Its reader waits for it.
        let runtime = match runtime {
            Ok(runtime) => {
                let _ = made.send(Ok(()));
                runtime
            }
            Err(error) => {
                let _ = made.send(Err(error));
                return;
            }
        };
        runtime.block_on(async move {
            open();
            let _ = ended.await;
        });
    };
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(serve)
        .map_err(cannot)?;
    let gone = || Err(io::Error::other("the thread ended"));
    outcome.recv().unwrap_or_else(|_| gone()).map_err(cannot)?;
    Ok(ends)
}

/// Of this thread alone (Linux counts nice values by thread). Where it is not allowed, both are scheduled alike.
fn lower_priority(nicer: i32) {
    if let Err(error) = rustix::process::nice(nicer) {
        tracing::debug!(%error, "handshakes keep the priority of requests");
    }
}
