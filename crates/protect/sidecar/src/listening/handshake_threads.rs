//! The threads that answer handshakes of other sidecars, so that those who serve never wait for one.
//!
//! Any client of an inbound listener makes this end accept, read, sign and refuse before its peer is authenticated. All of that belongs
//! to threads of lower priority, one for each worker, and while many handshakes fail new ones belong to one more of the lowest. All of them
//! accept at the same sockets: whichever has time takes the next connection. It changes to the thread of its
//! [`Worker`](crate::worker::Worker) once, when its peer is authenticated; from then on that thread has it alone, and no
//! byte of it crosses between threads.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Instant;

use bartizan_deployment::{InterfaceKind, Path};
use bartizan_server::contained;
use tokio::net::{TcpListener as TokioListener, TcpStream as TokioStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::spawn_local;

use crate::dialling::channel::Detached;
use crate::dialling::handshake;
use crate::error::Error;
use crate::life::drain::Guard;
use crate::listening::accept::accept_all;
use crate::listening::admission::{Admission, Bounds, Slot, admit};
use crate::listening::failures::{Deferral, Failures};
use crate::listening::waiting::Waiting;
use crate::runtime::thread::{Thread, spawn};
use crate::shared::Shared;
use crate::worker::spread::OfListener;

/// Amount that a thread adds to its nice value: requests under way go before handshakes where both
/// wait for one processor, and handshakes still get a quarter of it next to a thread that never
/// rests (nice 5 weighs 335, nice 0 1024; sched(7)).
const NICER: i32 = 5;
/// The same for handshakes while many fail. One that runs is not interrupted by a request at nice 5 (it has its slice, 0.6 to 1.2 ms of
/// signing and key exchange, under Linux's EEVDF); at nice 19, of weight 15, mostly it is. Where nothing else wants the processor it is
/// as fast.
const NICEST: i32 = 19;

/// An inbound listener, and where connections go that were made there.
#[derive(Debug)]
pub(crate) struct InboundListener {
    listener: TcpListener,
    name: String,
    admission: Arc<Admission>,
    interface: InterfaceKind,
    path: Path,
    authenticated: Arc<Authenticating>,
}

/// The way from the threads of handshakes to the workers.
#[derive(Debug)]
struct Authenticating {
    /// To each of the workers that may serve a connection.
    to: Vec<UnboundedSender<Authenticated>>,
    /// Which of them does; the first where there is none.
    spread: Option<OfListener>,
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
    _threads: Vec<Thread>,
}

impl InboundListener {
    /// The listener, and for each worker what comes of the handshakes there: as many at most as the listener holds connections. With a
    /// `spread` all its workers serve them, without one the first does.
    pub(crate) fn new(
        listener: TcpListener,
        name: String,
        bounds: Bounds,
        (interface, path): (InterfaceKind, Path),
        spread: Option<OfListener>,
    ) -> (Self, Vec<UnboundedReceiver<Authenticated>>) {
        let workers = spread.as_ref().map_or(1, OfListener::workers);
        let (to, arriving) = (0..workers).map(|_| unbounded_channel()).unzip();
        let inbound_listener = Self {
            listener,
            name,
            admission: Admission::new(bounds),
            interface,
            path,
            authenticated: Arc::new(Authenticating { to, spread }),
        };
        (inbound_listener, arriving)
    }

    /// The same listening socket, bounds and ways once more, for another thread.
    fn copy(&self) -> io::Result<Self> {
        Ok(Self {
            listener: self.listener.try_clone()?,
            name: self.name.clone(),
            admission: Arc::clone(&self.admission),
            interface: self.interface,
            path: self.path,
            authenticated: Arc::clone(&self.authenticated),
        })
    }

    fn open(
        self,
        shared: &Arc<Shared>,
        failures: &Arc<Failures>,
        deferred: &UnboundedSender<Waiting<Deferred>>,
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
            self.admission,
            move |accepted| accepted.serve(&answer),
        ));
        Ok(())
    }
}

/// State that handshakes of one listener need.
#[derive(Debug)]
struct Answering {
    shared: Arc<Shared>,
    interface: InterfaceKind,
    path: Path,
    authenticated: Arc<Authenticating>,
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

impl Authenticating {
    /// Has a worker serve it.
    fn send(&self, mut connection: Authenticated) {
        let worker = self.spread.as_ref().map_or(0, |spread| {
            let (worker, load) = spread.next();
            connection.slot.counts_as(load);
            worker
        });
        // The other end is gone only where everything ends.
        if let Some(to) = self.to.get(worker) {
            drop(to.send(connection));
        }
    }
}

impl Answering {
    async fn answer(&self, stream: TokioStream, peer: SocketAddr, guard: Guard, slot: Slot, deferral: Deferral) {
        let attempt = self.failures.attempt(peer.ip(), deferral);
        let Some(channel) = handshake::accept(&self.shared, stream, peer, self.interface, self.path).await else {
            return;
        };
        attempt.succeeds();
        if !admit(&self.shared, &slot, channel.session()) {
            return;
        }
        match channel.detach() {
            Ok(channel) => self.authenticated.send(Authenticated { channel, guard, slot }),
            Err(error) => self.shared.cannot_take("an authenticated connection", &error),
        }
    }

    /// Has the connection answered by the other thread, and waits for the end of that. Dropping the future ends the handshake.
    async fn defer(
        self: Arc<Self>,
        stream: TokioStream,
        peer: SocketAddr,
        guard: Guard,
        slot: Slot,
        deferred: &UnboundedSender<Waiting<Deferred>>,
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
        let (waiting, _evicted) = Waiting::new(connection);
        if deferred.send(waiting).is_ok() {
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
    /// Starts as many threads as there are workers, and the one for handshakes that can wait. They inherit what the calling thread is confined to.
    ///
    /// # Errors
    /// Fails if the system gives no thread, no event loop or no other descriptor of a listener.
    pub(crate) fn start(shared: &Arc<Shared>, inbound_listeners: Vec<InboundListener>) -> Result<Self, Error> {
        let failures = Arc::default();
        let (deferred, arriving) = unbounded_channel::<Waiting<Deferred>>();
        let mut threads = Vec::new();
        for number in 1..shared.workers.count() {
            let copies = inbound_listeners.iter().map(InboundListener::copy);
            let copies = copies.collect::<Result<_, _>>();
            let copies = copies.map_err(|source| Error::Thread { source })?;
            threads.push(answer(
                &format!("handshakes-{number}"),
                shared,
                copies,
                &failures,
                &deferred,
            )?);
        }
        threads.push(answer("handshakes", shared, inbound_listeners, &failures, &deferred)?);
        threads.push(answer_late(arriving)?);
        Ok(Self { _threads: threads })
    }
}

/// A thread that answers handshakes.
fn answer(
    name: &str,
    shared: &Arc<Shared>,
    inbound_listeners: Vec<InboundListener>,
    failures: &Arc<Failures>,
    deferred: &UnboundedSender<Waiting<Deferred>>,
) -> Result<Thread, Error> {
    let (shared, failures, deferred) = (Arc::clone(shared), Arc::clone(failures), deferred.clone());
    spawn(name, NICER, move || {
        for inbound_listener in inbound_listeners {
            let name = inbound_listener.name.clone();
            if let Err(error) = inbound_listener.open(&shared, &failures, &deferred) {
                tracing::error!(
                    listener = name, %error, hint = "raise the limit of open files (ulimit -n, LimitNOFILE=)",
                    "nothing is accepted"
                );
                shared.listener_failed(&name);
            }
        }
    })
}

/// The thread that answers those that can wait.
fn answer_late(mut arriving: UnboundedReceiver<Waiting<Deferred>>) -> Result<Thread, Error> {
    spawn("handshakes-late", NICEST, move || {
        spawn_local(async move {
            while let Some(connection) = arriving.recv().await {
                // One that was evicted meanwhile is gone.
                if let Some(connection) = connection.take() {
                    spawn_local(contained(connection.answer()));
                }
            }
        });
    })
}
