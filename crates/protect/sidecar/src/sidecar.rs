//! Starting and stopping.

use std::net::{SocketAddr, UdpSocket};
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::sync::{Arc, OnceLock, RwLock};
use std::time::Duration;

use bartizan_deployment::{Carrier, Deployment, HttpUrl, Inbound, LedgerFile, Node, Outbound, Path, Route as RouteTo};
use bartizan_host::sctp;
use bartizan_ledger::{Bounds as LedgerBounds, Ledger};
use bartizan_tls::{Credentials, Endpoint, Flaw, Weight};
use prometheus_client::registry::Registry;
use tokio::io::unix::AsyncFd;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::spawn_local;
use tokio::time::{sleep, timeout};

use crate::admin::config;
use crate::admin::state::State;
use crate::admin::{self, Admin};
use crate::answers::failure_log::FailureLog;
use crate::dialling::refusing::Refusing;
use crate::dialling::session::Sessions;
use crate::error::Error;
use crate::life::drain::{Drain, Phase};
use crate::life::expiry;
use crate::life::handover::{LISTENER, Notify, SCTP, Sockets, Successor, UDP};
use crate::life::idle;
use crate::life::review;
use crate::life::shrink;
use crate::listening::accept::accept_nothing;
use crate::listening::hand_out::Arriving;
use crate::listening::handshake_threads::{HandshakeThreads, InboundListener};
use crate::listening::quic::{QuicListener, QuicListeners};
use crate::listening::socket;
use crate::metrics::Metrics;
use crate::paths;
use crate::paths::sctp::{Accounts, AllSeats, Takers};
use crate::routing::peers::Upstreams;
use crate::runtime::ticks::Ticks;
use crate::runtime::{files, pages};
use crate::shared::{Before, Carriers, Current, Patience, Shared};
use crate::traces::Tracer;
use crate::worker::listeners::{Listeners, of_peers, serve_associations};
use crate::worker::threads::WorkerThreads;
use crate::worker::{Worker, Workers};
use bartizan_redirect as redirect;

/// Longest time for the end of pooled connections once nothing uses them.
pub(crate) const GOODBYE: Duration = Duration::from_millis(500);

/// The sidecar of one node of a deployment.
#[derive(Debug)]
pub struct Sidecar;

/// A running sidecar. Dropping it without [`Running::drain`] closes everything at once.
#[derive(Debug)]
pub struct Running {
    /// Addresses that sidecars of other nodes connect to, in the order of the file.
    pub inbound: Vec<SocketAddr>,
    /// Addresses that the network function connects to, in the order of the file.
    pub outbound: Vec<SocketAddr>,
    /// Address of metrics and state.
    pub admin: Option<SocketAddr>,
    pub(crate) state: Arc<State>,
    /// The first worker.
    pub(crate) worker: Rc<Worker>,
    pub(crate) other_workers: WorkerThreads,
    ledger: Ledger,
    /// Settings that the listeners were set up by.
    pub(crate) settings: Option<bartizan_deployment::Sidecar>,
    /// The URL that revocation lists are fetched from.
    pub(crate) crl_url: Option<HttpUrl>,
    pub(crate) upstreams: Arc<Upstreams>,
    /// Sockets that a successor takes over.
    listening: Vec<(u8, OwnedFd)>,
    /// Threads that answer other sidecars' handshakes, if there is an inbound listener.
    handshakes: Option<HandshakeThreads>,
    /// Listeners for other sidecars' connections over QUIC, if there are any.
    quic: Option<QuicListeners>,
}

/// A sidecar whose ports are open and which serves no client yet: the moment to drop privileges.
///
/// Connections that come meanwhile wait. Dropping it closes the ports.
#[derive(Debug)]
pub struct Bound {
    deployment: Deployment,
    node: Node,
    settings: bartizan_deployment::Sidecar,
    endpoint: Endpoint,
    ports: Ports,
    workers: NonZeroUsize,
    tracer: Option<Tracer>,
    before: Before,
}

/// Everything that listens, before anything is served.
#[derive(Debug)]
struct Ports {
    inbound: Vec<InboundPorts>,
    outbound: Vec<(Outbound, TcpListener)>,
    /// Outbound listeners of the `sctp` path.
    associations: Vec<(Outbound, AsyncFd<sctp::Listener>)>,
    admin: Option<TcpListener>,
    /// Through which the sidecar asks whether the rules are installed, where no transparent listener can take the question.
    probed: Option<TcpListener>,
}

/// An inbound listener on the transports of its interface's carriers.
#[derive(Debug)]
struct InboundPorts {
    inbound: Inbound,
    tcp: Option<TcpListener>,
    udp: Option<UdpSocket>,
}

impl Sidecar {
    /// [`Sidecar::bind`] and [`Bound::serve`] in one, and like these within a [`tokio::runtime::LocalRuntime`].
    ///
    /// # Errors
    /// Fails if the file, the certificates, the ledger or a port cannot be used; no port is left
    /// open then.
    pub async fn start(deployment: &Deployment, node: &str) -> Result<Running, Error> {
        Self::bind(deployment, node)?.serve()
    }

    /// Checks file and certificates and opens the ports of `node`'s sidecar.
    ///
    /// Must be called within a tokio runtime.
    ///
    /// # Errors
    /// Fails if the file, the certificates or a port cannot be used; no port is left open then.
    pub fn bind(deployment: &Deployment, node: &str) -> Result<Bound, Error> {
        Self::bind_with(deployment, node, &mut Sockets::default(), &Notify::default())
    }

    /// The same with listening sockets that were passed: each is used for the port it listens at, and what is missing is opened. systemd,
    /// where it listens, is asked to keep all of them.
    ///
    /// # Errors
    /// As [`Sidecar::bind`].
    pub fn bind_with(
        deployment: &Deployment,
        node: &str,
        sockets: &mut Sockets,
        notify: &Notify,
    ) -> Result<Bound, Error> {
        files::raise();
        let node = find(deployment, node)?;
        let name = node.name.as_str();
        let no_sidecar = || Error::no_sidecar(node);
        let sidecar = node.sidecar.as_ref().ok_or_else(no_sidecar)?;
        let files = node.files.as_ref().ok_or_else(no_sidecar)?;
        let credentials = Credentials::load(files)?;
        credentials.check_identity(&node.identity)?;
        let endpoint = Endpoint::new(credentials, bartizan_tls::peers(deployment, name))?;
        Ok(Bound {
            ports: Ports::open(sidecar, sockets, notify)?,
            deployment: deployment.clone(),
            node: node.clone(),
            settings: sidecar.clone(),
            endpoint,
            workers: NonZeroUsize::MIN,
            tracer: None,
            before: if sockets.of_a_predecessor {
                Before::Reads
            } else {
                Before::Ended
            },
        })
    }
}

impl Bound {
    /// Has so many threads serve instead of one: the calling one and others, each with connections of its own. Handshakes of other sidecars
    /// are answered by as many threads again.
    #[must_use]
    pub fn with_workers(self, workers: NonZeroUsize) -> Self {
        Self { workers, ..self }
    }

    /// Has requests of the `http2` path have spans, as this tracer decides.
    #[must_use]
    pub fn with_traces(self, tracer: Tracer) -> Self {
        let tracer = Some(tracer);
        Self { tracer, ..self }
    }

    /// Opens the ledger and serves until [`Running::drain`].
    ///
    /// Must be called within a [`tokio::runtime::LocalRuntime`], whose thread serves it: a connection and what passes between it and others belong to
    /// one thread.
    ///
    /// # Errors
    /// Fails if the ledger cannot be written, or the system gives no thread.
    pub fn serve(self) -> Result<Running, Error> {
        let Self {
            deployment,
            node,
            settings,
            endpoint,
            ports,
            workers,
            tracer,
            before,
        } = self;
        let ledger = match &settings.ledger {
            Some(LedgerFile { file, size, keep }) => {
                let bounds = LedgerBounds {
                    size: *size,
                    keep: Some(keep.get()),
                };
                Ledger::open_within(file, node.name.as_str(), bounds)?
            }
            None => Ledger::none(),
        };
        let mut registry = Registry::default();
        let metrics = Metrics::new(&mut registry, env!("CARGO_PKG_VERSION"), bartizan_tls::module());
        if let Some(tracer) = &tracer {
            tracer.register(&mut registry);
        }
        let shared = Arc::new(Shared {
            node: node.name.clone(),
            endpoint: Current::new(endpoint),
            limits: settings.limits,
            metrics,
            sessions: Sessions::default(),
            associations: Accounts::default(),
            seats: AllSeats::default(),
            takers: Takers::default(),
            before: watch::Sender::new(before),
            successor: OnceLock::new(),
            patience: RwLock::new(patience(&deployment, node.name.as_str())),
            recorder: ledger.recorder(),
            drain: Drain::new(),
            failure_log: FailureLog::default(),
            failed_listener: OnceLock::new(),
            refusing: Refusing::default(),
            ticks: Ticks::default(),
            carriers: Carriers::default(),
            workers: Workers::new(workers),
            tracer,
        });
        tokio::spawn(Ticks::run(Arc::downgrade(&shared)));
        let endpoint = shared.endpoint.endpoint();
        log_certificates(&endpoint);
        log_flaws(&endpoint.flaws());
        remember_lists(endpoint.credentials());
        if node.files.as_ref().is_some_and(|files| files.crl.is_some())
            && endpoint.credentials().known_lists().is_none()
        {
            tracing::info!(
                hint = "name a folder that this user may write to: `trust: { state: FOLDER }`",
                "revocation lists are remembered by this process alone: an older list is accepted after a restart"
            );
        }
        tokio::spawn(expiry::warn(Arc::downgrade(&shared)));
        tokio::spawn(idle::watch(Arc::downgrade(&shared)));
        tokio::spawn(shrink::watch(Arc::downgrade(&shared)));
        let state = Arc::new(State::new(&shared));
        tokio::spawn(review::keep(Arc::downgrade(&state)));
        let worker = Worker::new(&shared, 0);
        let running = ports.serve(&deployment, &node, &worker, &state, registry, ledger)?;
        state.listening();
        pages::give_back_code();
        Ok(running)
    }
}

/// Patience towards each peer, by interface.
pub(crate) fn patience(deployment: &Deployment, node: &str) -> Patience {
    let peers = deployment.sidecar_peers(node);
    peers
        .map(|(peer, interface)| ((peer.name.to_string(), interface.kind.name()), interface.patience))
        .collect()
}

/// Logs the certificates that handshakes show from now on.
pub(crate) fn log_certificates(endpoint: &Endpoint) {
    let in_use: Vec<_> = endpoint.in_use().map(|own| own.place.as_str()).collect();
    for own in endpoint.credentials().own() {
        let Some(leaf) = own.chain().first() else { continue };
        let (not_before, not_after) = own.validity();
        let (not_before, not_after) = (config::moment(not_before), config::moment(not_after));
        let (serial, signature, subject) = (&leaf.serial, own.scheme(), &leaf.subject);
        let message = match in_use.contains(&own.place.as_str()) {
            true => "certificate in use",
            false => "certificate not in use: no policy accepts it now",
        };
        tracing::info!(%serial, %signature, not_before, not_after, %subject, "{message}");
    }
}

/// Logs what is wrong with the node's own files.
pub(crate) fn log_flaws(flaws: &[Flaw]) {
    for flaw in flaws {
        let (file, hint) = (&flaw.place, &flaw.hint);
        match flaw.weight {
            Weight::Fatal | Weight::FatalAmongEquals | Weight::Partial => {
                tracing::error!(%file, %hint, "{}", flaw.cause);
            }
            Weight::Warning => tracing::warn!(%file, %hint, "{}", flaw.cause),
        }
    }
}

/// Writes the newest revocation lists where they outlive the process. It serves without, as it does
/// where no folder is named.
pub(crate) fn remember_lists(credentials: &Credentials) {
    if let Err(error) = credentials.remember_lists() {
        let hint = error.hint().unwrap_or_default();
        tracing::error!(%error, hint, "the newest revocation lists are not remembered");
    }
}

pub(crate) fn find<'a>(deployment: &'a Deployment, node: &str) -> Result<&'a Node, Error> {
    deployment.node(node).ok_or_else(|| Error::UnknownNode {
        node: node.to_owned(),
        known: deployment
            .nodes()
            .filter(|node| node.sidecar.is_some())
            .map(|node| node.name.to_string())
            .collect(),
    })
}

impl Ports {
    fn open(sidecar: &bartizan_deployment::Sidecar, sockets: &mut Sockets, notify: &Notify) -> Result<Self, Error> {
        let open = |sockets: &mut Sockets, listener, address: SocketAddr| {
            let opened = match sockets.take(address) {
                Some(passed) => TcpListener::from_std(passed),
                None => socket::listen(address),
            };
            // The name is for people, and for taking the socket out again: no colon, which separates names.
            let called = format!("{listener}-{address}").replace([':', '[', ']', ' ', ','], "-");
            let opened = opened.inspect(|opened| notify.keep(&called, opened));
            opened.map_err(|source| Error::Listen {
                listener,
                address,
                source,
            })
        };
        let mut bound = Self {
            inbound: Vec::new(),
            outbound: Vec::new(),
            associations: Vec::new(),
            admin: None,
            probed: None,
        };
        for inbound in &sidecar.inbound {
            if inbound.path == Path::Sctp {
                // Better now than when the first peer's function calls.
                sctp::available().map_err(|source| Error::Listen {
                    listener: "SCTP behind the inbound",
                    address: inbound.listen,
                    source,
                })?;
            }
            let carried_by = |carrier| inbound.carriers.contains(&carrier);
            let tcp = carried_by(Carrier::Tls).then(|| open(sockets, "inbound", inbound.listen));
            let udp = carried_by(Carrier::Quic).then(|| match sockets.take_udp(inbound.listen) {
                Some(passed) => Ok(passed),
                None => UdpSocket::bind(inbound.listen),
            });
            bound.inbound.push(InboundPorts {
                inbound: inbound.clone(),
                tcp: tcp.transpose()?,
                udp: udp.transpose().map_err(|source| Error::Listen {
                    listener: "inbound QUIC",
                    address: inbound.listen,
                    source,
                })?,
            });
        }
        for outbound in &sidecar.outbound {
            if outbound.path == Path::Sctp {
                let address = outbound.listen;
                let opened = match sockets.take_sctp(address) {
                    Some(passed) => paths::sctp::listens(passed),
                    None => paths::sctp::listen(address),
                };
                let opened = opened.and_then(sctp::Listener::watched);
                let opened = opened.map_err(|source| Error::Listen {
                    listener: "SCTP",
                    address,
                    source,
                })?;
                bound.associations.push((outbound.clone(), opened));
                continue;
            }
            bound
                .outbound
                .push((outbound.clone(), open(sockets, "outbound", outbound.listen)?));
        }
        if let Some(address) = sidecar.admin {
            bound.admin = Some(open(sockets, "admin", address)?);
        }
        // By the file, as the rules are: a port of 0 is refused there.
        let transparent: Vec<_> = sidecar
            .outbound
            .iter()
            .filter(|outbound| outbound.route == RouteTo::ByDestination)
            .map(|outbound| outbound.listen)
            .collect();
        if let Some(probed) = redirect::probed(transparent.iter().copied()).map(SocketAddr::V4)
            && !transparent.contains(&probed)
        {
            bound.probed = Some(open(sockets, "probe of the rules, next to a transparent", probed)?);
        }
        Ok(bound)
    }

    /// The sockets once more, to be handed over.
    fn copies(&self) -> Result<Vec<(u8, OwnedFd)>, Error> {
        let nowhere = SocketAddr::from(([0; 4], 0));
        let tcp = self
            .inbound
            .iter()
            .filter_map(|ports| Some((ports.inbound.listen, ports.tcp.as_ref()?.as_fd())));
        let outbound = self
            .outbound
            .iter()
            .map(|(outbound, listener)| (outbound.listen, listener.as_fd()));
        let others = self
            .admin
            .iter()
            .chain(&self.probed)
            .map(|listener| (nowhere, listener.as_fd()));
        let udp = self
            .inbound
            .iter()
            .filter_map(|ports| Some((ports.inbound.listen, ports.udp.as_ref()?.as_fd())));
        let sctp = self
            .associations
            .iter()
            .map(|(outbound, listener)| (outbound.listen, listener.get_ref().as_fd()));
        let all = tcp
            .chain(outbound)
            .chain(others)
            .map(|(address, listener)| (LISTENER, address, listener));
        let all = all.chain(udp.map(|(address, socket)| (UDP, address, socket)));
        let all = all.chain(sctp.map(|(address, listener)| (SCTP, address, listener)));
        let copied = all.map(|(kind, address, listener)| {
            let copy = listener.try_clone_to_owned().map_err(|source| Error::Listen {
                listener: "handed over",
                address,
                source,
            })?;
            Ok((kind, copy))
        });
        copied.collect()
    }

    fn serve(
        self,
        deployment: &Deployment,
        node: &Node,
        worker: &Rc<Worker>,
        state: &Arc<State>,
        mut registry: Registry,
        ledger: Ledger,
    ) -> Result<Running, Error> {
        let shared = &worker.shared;
        let upstreams = |interface| Arc::new(Upstreams::of(deployment, node.name.as_str(), interface));
        let mut running = Running {
            inbound: Vec::new(),
            outbound: Vec::new(),
            admin: None,
            state: Arc::clone(state),
            worker: Rc::clone(worker),
            other_workers: WorkerThreads::default(),
            ledger,
            settings: node.sidecar.clone(),
            crl_url: node.files.as_ref().and_then(|files| files.crl_url.clone()),
            upstreams: upstreams(None),
            listening: self.copies()?,
            handshakes: None,
            quic: None,
        };
        let count = shared.workers.count();
        let spread = || shared.workers.spread.of_listener();
        let mut listeners: Vec<_> = (0..count).map(|_| Listeners::default()).collect();
        let (mut inbound_listeners, mut quic_listeners) = (Vec::new(), Vec::new());
        for InboundPorts { inbound, tcp, udp } in self.inbound {
            let over_tcp = tcp.as_ref().map(TcpListener::local_addr);
            let address = over_tcp.or_else(|| udp.as_ref().map(UdpSocket::local_addr));
            running
                .inbound
                .push(address.and_then(Result::ok).unwrap_or(inbound.listen));
            if let Some(listener) = tcp {
                let listener = listener.into_std().map_err(|source| Error::Listen {
                    listener: "inbound",
                    address: inbound.listen,
                    source,
                })?;
                let name = format!("inbound {}", inbound.listen);
                // Associations have a thread of their own, which the first worker gives them to.
                let spread = (inbound.path != Path::Sctp).then(spread);
                let kind = (inbound.interface, inbound.path);
                let (listener, arriving) =
                    InboundListener::new(listener, name, of_peers(&shared.limits, inbound.path), kind, spread);
                inbound_listeners.push(listener);
                for (of_worker, arriving) in listeners.iter_mut().zip(arriving) {
                    of_worker.inbound.push((inbound.clone(), arriving));
                }
            }
            if inbound.path == Path::Sctp {
                paths::sctp::takes_over_inbound(shared, &inbound);
            }
            quic_listeners.extend(udp.map(|socket| QuicListener {
                socket,
                name: format!("inbound QUIC {}", inbound.listen),
                bounds: of_peers(&shared.limits, Path::Sctp),
                interface: inbound.interface,
                forward: inbound.forward,
            }));
        }
        if !inbound_listeners.is_empty() {
            running.handshakes = Some(HandshakeThreads::start(shared, inbound_listeners)?);
        }
        if !quic_listeners.is_empty() {
            running.quic = Some(QuicListeners::start(shared, quic_listeners)?);
        }
        let mut transparent = Vec::new();
        for (outbound, listener) in self.outbound {
            let address = local_address(&listener, "outbound", outbound.listen)?;
            running.outbound.push(address);
            if outbound.route == RouteTo::ByDestination {
                transparent.push(address);
            }
            let upstreams = upstreams(outbound.interface);
            for (of_worker, arriving) in listeners.iter_mut().zip(Arriving::of(listener, spread())) {
                of_worker
                    .outbound
                    .push((outbound.clone(), Arc::clone(&upstreams), arriving));
            }
        }
        let mut listeners = listeners.into_iter();
        let mut routes = listeners.next().unwrap_or_default().serve(worker, state);
        running.other_workers = WorkerThreads::start(state, listeners)?;
        spawn_local(Rc::clone(worker).say_what_is_waited_for());
        for (outbound, listener) in self.associations {
            let address = listener.get_ref().address().unwrap_or(outbound.listen);
            running.outbound.push(address);
            serve_associations(worker, &upstreams(outbound.interface), &mut routes, &outbound, listener);
        }
        routes.keep();
        if let Some(listener) = self.probed {
            tokio::spawn(accept_nothing(listener));
        }
        state.rules.watch(&transparent, &shared.metrics, shared.drain.guard());
        let endpoint = shared.endpoint.endpoint();
        state.set_config(config::in_effect(
            deployment,
            node,
            &endpoint,
            node.sidecar.as_ref(),
            &[],
        ));
        registry.register_collector(Box::new(Arc::clone(state)));
        if let Some(listener) = self.admin {
            let address = node.sidecar.as_ref().and_then(|sidecar| sidecar.admin);
            let address = local_address(&listener, "admin", address.unwrap_or(SocketAddr::from(([0; 4], 0))))?;
            running.admin = Some(address);
            let admin = Admin::new(registry, Arc::clone(state));
            tokio::spawn(admin::serve(admin, listener));
        }
        Ok(running)
    }
}

fn local_address(listener: &TcpListener, name: &'static str, address: SocketAddr) -> Result<SocketAddr, Error> {
    listener.local_addr().map_err(|source| Error::Listen {
        listener: name,
        address,
        source,
    })
}

impl Running {
    /// Number of threads that serve.
    pub fn workers(&self) -> usize {
        self.state.shared.workers.count()
    }

    /// Ends once every thread that carries requests has taken a turn; never where one does not.
    pub async fn answers(&self) {
        self.other_workers.answer().await;
    }

    /// Returns `Ok` if traffic may be sent here.
    ///
    /// # Errors
    /// The reason where it may not, as the admin port's /ready gives it.
    pub fn ready(&self) -> Result<(), String> {
        self.state.ready()
    }

    /// The node it serves.
    pub fn node(&self) -> &str {
        self.state.shared.node.as_str()
    }

    /// Its listening sockets, by kind.
    pub(crate) fn listening(&self) -> impl Iterator<Item = &(u8, OwnedFd)> {
        self.listening.iter()
    }

    /// A successor serves in parallel with it: it leaves what comes to its admin port to that one from now on. It is to be drained then,
    /// which gives that one its associations.
    pub fn succeeded(&self, successor: Successor) {
        let shared = &self.state.shared;
        let _ = shared.successor.set(successor);
        shared.drain.succeed();
    }

    /// Looks whether the ledger's file was moved away, and begins a new one where it was.
    pub fn reopen_ledger(&self) {
        self.ledger.reopen();
    }

    /// Longest time that [`drain`](Self::drain) takes.
    pub fn drains_within(&self) -> Duration {
        self.state.shared.limits.drain + 4 * GOODBYE
    }

    /// Stops accepting, lets requests under way end within `limits.drain`, closes what is left and writes the ledger out.
    ///
    /// Gives how many connections had to be closed before they ended by themselves.
    pub async fn drain(mut self) -> usize {
        // As long as any process holds a socket, connections wait there for a process to accept
        // them.
        drop(self.listening);
        let shared = &self.state.shared;
        shared.drain.advance(Phase::Refusing);
        // One that lacks descriptors for its queue waits for connections to end.
        let _ = timeout(GOODBYE, shared.drain.refuses()).await;
        shared.drain.advance(Phase::Draining);
        if shared.drain.has_succeeded() {
            let released = self.quic.as_mut().map(QuicListeners::released);
            let shared = Arc::clone(shared);
            spawn_local(async move {
                if let Some(released) = released {
                    released.await;
                }
                if let Some(successor) = shared.successor.get() {
                    successor.release().await;
                }
            });
        }
        let late = match timeout(shared.limits.drain, shared.drain.done()).await {
            Ok(()) => 0,
            Err(_) => {
                let late = shared.drain.held();
                shared.drain.advance(Phase::Closing);
                // Tasks close at their next turn.
                let _ = timeout(GOODBYE, shared.drain.done()).await;
                late
            }
        };
        self.worker.close();
        self.other_workers.close();
        self.state.close();
        let goodbye = async {
            while shared.sessions.count() > 0 {
                sleep(Duration::from_millis(5)).await;
            }
        };
        let _ = timeout(GOODBYE, goodbye).await;
        if let Some(quic) = self.quic {
            quic.close().await;
        }
        drop(self.handshakes);
        drop(self.other_workers);
        drop(self.ledger);
        late
    }
}
