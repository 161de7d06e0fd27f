//! A socket with its connections, as those see it who dial and accept.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use quinn_proto::{
    ClientConfig, ConnectError, ConnectionError, ConnectionHandle, EndpointConfig, ServerConfig, Transmit,
};

use tokio::runtime::Handle;

use super::connection::{Connection, Link};
use super::driver::Driver;
use super::socket::Socket;

/// A socket and its connections. It lives until the last clone is dropped and the last connection has ended.
#[derive(Debug, Clone)]
pub(crate) struct Endpoint {
    pub(super) shared: Arc<Shared>,
    _open: Arc<Open>,
}

/// Somebody may dial or accept.
pub(super) struct Open(Arc<Shared>);

/// What connections, users and the driver of an endpoint have in common.
pub(super) struct Shared {
    pub(super) socket: Socket,
    state: Mutex<State>,
    /// Connections with something to do; none once nobody drives them.
    queue: Mutex<Option<Vec<Arc<Link>>>>,
    driver: Mutex<Option<Waker>>,
}

pub(super) struct State {
    pub(super) protocol: quinn_proto::Endpoint,
    pub(super) connections: HashMap<ConnectionHandle, Arc<Link>>,
    pub(super) incoming: VecDeque<quinn_proto::Incoming>,
    /// Who waits for the next connection.
    pub(super) accepts: Option<Waker>,
    /// Who waits for the end of the last one.
    idles: Option<Waker>,
    /// The driver is gone.
    lost: bool,
}

/// A connection that a peer wants to open.
pub(crate) struct Incoming {
    incoming: Option<quinn_proto::Incoming>,
    remote: SocketAddr,
    shared: Arc<Shared>,
}

impl fmt::Debug for Open {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Open").finish_non_exhaustive()
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("socket", &self.socket)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Incoming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Incoming")
            .field("remote", &self.remote)
            .finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Gives a connection a turn.
    pub(super) fn queue(&self, link: Arc<Link>) {
        if let Some(queue) = &mut *lock(&self.queue) {
            queue.push(link);
        }
        self.wake();
    }

    /// Those that have a turn.
    pub(super) fn take_queue(&self, into: &mut Vec<Arc<Link>>) {
        if let Some(queue) = &mut *lock(&self.queue) {
            into.append(queue);
        }
    }

    /// Who drives it.
    pub(super) fn is_driven_by(&self, waker: &Waker) {
        let mut driver = lock(&self.driver);
        if !driver.as_ref().is_some_and(|known| known.will_wake(waker)) {
            *driver = Some(waker.clone());
        }
    }

    fn wake(&self) {
        let driver = lock(&self.driver).clone();
        wake(driver);
    }

    /// Says something for nobody's connection. Where there is no room the peer asks again.
    pub(super) fn respond(&self, transmit: &Transmit, packet: &[u8]) {
        let _ = self.socket.send(transmit, &packet[..transmit.size]);
    }

    /// The driver carries nothing any more.
    pub(super) fn abandon(&self) {
        let mut state = self.lock();
        state.lost = true;
        let connections = std::mem::take(&mut state.connections);
        while let Some(incoming) = state.incoming.pop_front() {
            state.protocol.ignore(incoming);
        }
        let wakers = [state.accepts.take(), state.idles.take()];
        drop(state);
        let queue = lock(&self.queue).take();
        drop(queue);
        lock(&self.driver).take();
        connections.values().for_each(|link| link.abandon());
        wakers.into_iter().for_each(wake);
    }
}

impl State {
    /// A connection that is gone.
    pub(super) fn remove(&mut self, handle: ConnectionHandle) {
        self.connections.remove(&handle);
        if self.connections.is_empty() {
            wake(self.idles.take());
        }
    }

    fn insert(
        &mut self,
        handle: ConnectionHandle,
        protocol: quinn_proto::Connection,
        shared: &Arc<Shared>,
    ) -> Arc<Link> {
        let link = Link::new(handle, protocol, shared);
        self.connections.insert(handle, Arc::clone(&link));
        link
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.wake();
    }
}

impl Endpoint {
    /// An endpoint at this socket, on this thread; it accepts connections where it has a configuration for them.
    ///
    /// # Errors
    /// Where the system does not let the socket be used so.
    pub(crate) fn new(
        config: EndpointConfig,
        server: Option<ServerConfig>,
        socket: UdpSocket,
        runs_on: &Handle,
    ) -> io::Result<Self> {
        let socket = Socket::new(socket, runs_on)?;
        let (config, server) = (Arc::new(config), server.map(Arc::new));
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                protocol: quinn_proto::Endpoint::new(config, server, !socket.may_fragment(), None),
                connections: HashMap::new(),
                incoming: VecDeque::new(),
                accepts: None,
                idles: None,
                lost: false,
            }),
            socket,
            queue: Mutex::new(Some(Vec::new())),
            driver: Mutex::default(),
        });
        let open = Arc::new(Open(Arc::clone(&shared)));
        let mut driver = Driver::new(&shared, Arc::downgrade(&open));
        runs_on.spawn(poll_fn(move |context| driver.poll(context)));
        Ok(Self { shared, _open: open })
    }

    pub(crate) fn local_address(&self) -> io::Result<SocketAddr> {
        self.shared.socket.local_address()
    }

    /// Begins a connection.
    ///
    /// # Errors
    /// Where the configuration or the address serves none.
    pub(crate) fn connect(&self, config: ClientConfig, to: SocketAddr, name: &str) -> Result<Connection, ConnectError> {
        let mut state = self.shared.lock();
        if state.lost {
            return Err(ConnectError::EndpointStopping);
        }
        let (handle, protocol) = state.protocol.connect(Instant::now(), config, to, name)?;
        let link = state.insert(handle, protocol, &self.shared);
        drop(state);
        link.queue();
        Ok(Connection::new(link))
    }

    /// The next connection that a peer wants to open; none where nothing will come any more.
    pub(crate) async fn accept(&self) -> Option<Incoming> {
        poll_fn(|context| self.poll_accept(context)).await
    }

    fn poll_accept(&self, context: &Context<'_>) -> Poll<Option<Incoming>> {
        let mut state = self.shared.lock();
        if state.lost {
            return Poll::Ready(None);
        }
        match state.incoming.pop_front() {
            Some(incoming) => Poll::Ready(Some(Incoming {
                remote: incoming.remote_address(),
                incoming: Some(incoming),
                shared: Arc::clone(&self.shared),
            })),
            None => {
                state.accepts = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Refuses connections from here on.
    pub(crate) fn refuse_more(&self) {
        self.shared.lock().protocol.set_server_config(None);
    }

    /// Waits until peers know of the end of the last connection.
    pub(crate) async fn until_idle(&self) {
        poll_fn(|context| {
            let mut state = self.shared.lock();
            if state.connections.is_empty() {
                return Poll::Ready(());
            }
            state.idles = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

impl Incoming {
    pub(crate) const fn remote_address(&self) -> SocketAddr {
        self.remote
    }

    /// This host's address that the peer has used, where the system says so.
    pub(crate) fn local_ip(&self) -> Option<IpAddr> {
        self.incoming.as_ref().and_then(quinn_proto::Incoming::local_ip)
    }

    /// Whether the peer has shown that it receives what is sent to its address.
    pub(crate) fn remote_address_validated(&self) -> bool {
        self.incoming
            .as_ref()
            .is_some_and(quinn_proto::Incoming::remote_address_validated)
    }

    /// Begins the handshake.
    ///
    /// # Errors
    /// Why the first packet serves none.
    pub(crate) fn accept_with(mut self, config: Arc<ServerConfig>) -> Result<Connection, ConnectionError> {
        let Some(incoming) = self.incoming.take() else {
            return Err(ConnectionError::LocallyClosed);
        };
        let mut answer = Vec::new();
        let mut state = self.shared.lock();
        if state.lost {
            state.protocol.ignore(incoming);
            return Err(ConnectionError::LocallyClosed);
        }
        let accepted = state
            .protocol
            .accept(incoming, Instant::now(), &mut answer, Some(config));
        match accepted {
            Ok((handle, protocol)) => {
                let link = state.insert(handle, protocol, &self.shared);
                drop(state);
                // What came with the first packet has been heard already.
                let woken = link.lock().notice();
                wake(woken);
                link.queue();
                Ok(Connection::new(link))
            }
            Err(error) => {
                drop(state);
                if let Some(transmit) = error.response {
                    self.shared.respond(&transmit, &answer);
                }
                Err(error.cause)
            }
        }
    }

    /// Asks the peer to show that it receives what is sent to its address.
    pub(crate) fn retry(mut self) {
        if let Some(incoming) = self.incoming.take() {
            let mut answer = Vec::new();
            let asked = self.shared.lock().protocol.retry(incoming, &mut answer);
            match asked {
                Ok(transmit) => self.shared.respond(&transmit, &answer),
                Err(error) => self.incoming = Some(error.into_incoming()),
            }
        }
    }

    /// Says that it is not wanted.
    pub(crate) fn refuse(mut self) {
        if let Some(incoming) = self.incoming.take() {
            let mut answer = Vec::new();
            let transmit = self.shared.lock().protocol.refuse(incoming, &mut answer);
            self.shared.respond(&transmit, &answer);
        }
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        if let Some(incoming) = self.incoming.take() {
            self.shared.lock().protocol.ignore(incoming);
        }
    }
}
