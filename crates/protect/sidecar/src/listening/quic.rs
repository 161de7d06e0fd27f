//! Listeners for other sidecars over QUIC, on the thread that carries associations over QUIC.
//!
//! One socket takes the packets of handshakes and of established connections, so the two do not
//! have a thread each, as over TCP. What unauthenticated clients can hold up is bounded otherwise:
//! an address gets its handshake once it has shown that it receives what is sent to it, while many
//! fail those of unknown addresses run one after the other, and no request of another listener is
//! served on this thread.

use std::convert::Infallible;
use std::net::{SocketAddr, UdpSocket};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bartizan_deployment::InterfaceKind;
use bartizan_server::contained;
use quinn::{Incoming, ServerConfig};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{spawn_local, yield_now};
use tokio::time::timeout;

use crate::dialling::quic;
use crate::dialling::turns::Late;
use crate::error::Error;
use crate::life::drain::{Guard, Phase};
use crate::life::idle;
use crate::listening::admission::{Admission, Bounds, Slot, admit};
use crate::listening::failures::{Deferral, Failures};
use crate::paths::sctp::{self, QuicStreams};
use crate::runtime::until::until;
use crate::shared::{Before, Shared};
use crate::sidecar::GOODBYE;

/// An inbound listener over QUIC.
#[derive(Debug)]
pub(crate) struct QuicListener {
    pub(crate) socket: UdpSocket,
    pub(crate) name: String,
    pub(crate) bounds: Bounds,
    pub(crate) interface: InterfaceKind,
    /// The network function behind it.
    pub(crate) forward: SocketAddr,
}

/// The end of all of them. Each resolves when the connections of a listener are closed, at their
/// peers too.
#[derive(Debug)]
pub(crate) struct QuicListeners {
    ended: Vec<oneshot::Receiver<()>>,
    /// Each resolves when a listener that has a successor reads its socket no more.
    released: Vec<oneshot::Receiver<()>>,
}

/// Time for those that are not established yet to be handed over.
const OPENING: Duration = Duration::from_secs(1);

/// State that connections of one listener need.
#[derive(Debug)]
struct Answering {
    shared: Arc<Shared>,
    interface: InterfaceKind,
    forward: SocketAddr,
    listening_at: SocketAddr,
    config: ServerConfig,
    failures: Failures,
    /// Handshakes of unknown addresses while many fail.
    late: Late,
}

impl QuicListeners {
    /// Has the thread that carries associations serve these.
    ///
    /// # Errors
    /// Fails if the system gives no thread or no event loop.
    pub(crate) fn start(shared: &Arc<Shared>, listeners: Vec<QuicListener>) -> Result<Self, Error> {
        let carriers = shared.carriers.quic().map_err(|source| Error::Thread { source })?;
        let serve = |listener: QuicListener| {
            let (shared, (ends, ended), (releases, released)) =
                (Arc::clone(shared), oneshot::channel(), oneshot::channel());
            carriers.spawn(async move {
                spawn_local(listener.serve_all(shared, ends, releases));
            });
            (ended, released)
        };
        let (ended, released) = listeners.into_iter().map(serve).unzip();
        Ok(Self { ended, released })
    }

    /// Waits until none of them reads its socket, where a successor does.
    pub(crate) fn released(&mut self) -> impl Future<Output = ()> + use<> {
        let released = std::mem::take(&mut self.released);
        async move {
            for released in released {
                let _ = released.await;
            }
        }
    }

    /// Waits until peers know that their connections have ended, for a while.
    pub(crate) async fn close(self) {
        for closed in self.ended {
            let _ = timeout(GOODBYE, closed).await;
        }
    }
}

impl QuicListener {
    /// Accepts connections until draining begins, and serves each in a task of its own, within the bounds of every listener.
    async fn serve_all(self, shared: Arc<Shared>, _ends: oneshot::Sender<()>, releases: oneshot::Sender<()>) {
        let mut guard = shared.drain.guard();
        let mut before = shared.before.subscribe();
        let read_by_one = before.wait_for(|before| *before != Before::Reads);
        if until(read_by_one, guard.reached(Phase::Draining)).await.is_none() {
            return;
        }
        let config = quic::listening();
        let opened = self.socket.local_addr().and_then(|listening_at| {
            let carriers = shared.carriers.quic()?;
            let endpoint = quic::endpoint(&shared, self.socket, Some(config.clone()), &carriers)?;
            Ok((listening_at, endpoint))
        });
        let (listening_at, endpoint) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                tracing::error!(
                    listener = self.name, %error, hint = "raise the limit of open files (ulimit -n, LimitNOFILE=)",
                    "nothing is accepted"
                );
                shared.listener_failed(&self.name);
                return;
            }
        };
        let admission = Admission::new(self.bounds);
        let answering = Rc::new(Answering {
            shared: Arc::clone(&shared),
            interface: self.interface,
            forward: self.forward,
            listening_at,
            config,
            failures: Failures::default(),
            late: Late::default(),
        });
        // Held by what may still be handed over.
        let (held, mut all_given) = mpsc::channel::<Infallible>(1);
        let longest = shared.limits.idle;
        let mut ticks = idle::ticks(longest);
        loop {
            let incoming = tokio::select! {
                incoming = endpoint.accept() => incoming,
                _ = ticks.tick() => {
                    for _ in 0..admission.expire(longest) {
                        shared.metrics.limit_reached("idle");
                    }
                    continue;
                }
                () = guard.reached(Phase::Draining) => break,
            };
            let Some(incoming) = incoming else {
                tracing::error!(
                    listener = %self.name, hint = "restart the sidecar; its log has the socket's error",
                    "nothing more is accepted over QUIC"
                );
                shared.listener_failed(&self.name);
                break;
            };
            // A flight with ML-DSA is more than three times a ClientHello: a server that has not validated the address would have to
            // wait for the client in the middle of it (RFC 9000, section 8.1), so this costs no round trip more.
            if !incoming.remote_address_validated() {
                // It is the first packet of an address that is not validated.
                let _ = incoming.retry();
                continue;
            }
            let peer = incoming.remote_address();
            match admission.place(&shared, &self.name, peer, "a connection is closed") {
                Some((slot, eviction)) => {
                    let held = held.clone();
                    let served = Rc::clone(&answering).serve(incoming, guard.clone(), slot, held);
                    spawn_local(contained(async move { until(served, eviction.now()).await }));
                }
                None => incoming.refuse(),
            }
            // One, and then the associations.
            yield_now().await;
        }
        // Draining is over with the last connection's guard, not with this one.
        drop(guard);
        endpoint.set_server_config(None);
        if shared.drain.has_succeeded() {
            drop(held);
            let _ = timeout(OPENING, all_given.recv()).await;
            // An endpoint reads its socket and the one before.
            let elsewhere = || endpoint.rebind(UdpSocket::bind((listening_at.ip(), 0))?);
            if let Err(error) = elsewhere().and_then(|()| elsewhere()) {
                tracing::error!(listener = %self.name, %error, "the socket cannot be left to the new process alone");
                endpoint.close(0_u8.into(), b"");
            }
            drop(releases);
        }
        endpoint.wait_idle().await;
    }
}

impl Answering {
    /// Serves the association of one connection of another sidecar.
    async fn serve(self: Rc<Self>, incoming: Incoming, mut guard: Guard, slot: Slot, held: mpsc::Sender<Infallible>) {
        let peer = incoming.remote_address().ip();
        let deferral = self.failures.deferral(peer, Instant::now());
        let accepted = async {
            let attempt = self.failures.attempt(peer, deferral);
            let accepted = quic::accept(&self.shared, incoming, &self.config, self.listening_at, self.interface);
            let channel = accepted.await?;
            attempt.succeeds();
            Some(channel)
        };
        // On the heap while it is needed: what shakes hands is larger than all that an association at rest holds.
        let channel = match deferral {
            Deferral::None => Box::pin(accepted).await,
            Deferral::Deferred => {
                self.shared.metrics.limit_reached("failed-handshakes");
                Box::pin(self.late.in_turn(accepted)).await
            }
        };
        let Some(channel) = channel else { return };
        if !admit(&self.shared, &slot, channel.session()) {
            return;
        }
        guard.join(channel.session().dismissal());
        if let Some(carrier) = Box::pin(QuicStreams::accept(channel, &mut guard)).await {
            let shared = Arc::clone(&self.shared);
            let carried = sctp::inbound(shared, self.forward, carrier, guard, slot, Some(held));
            tokio::spawn(contained(carried));
        }
    }
}
