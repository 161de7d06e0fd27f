//! Many peers of one sidecar: each with a source address, an endpoint and sessions of its own.

use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use bartizan_deployment::InterfaceKind;
use bartizan_tls::Endpoint;
use bytes::Bytes;
use tokio::net::TcpSocket;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::ClientConnection;

use super::stage::PRODUCER;
use crate::workload::Error;

/// Pause of a peer before its next attempt.
const AGAIN: Duration = Duration::from_millis(200);
/// Time limit for one attempt: the sidecar's limit for a handshake, and a margin.
const ATTEMPT: Duration = Duration::from_secs(10);

pub(super) struct Peer {
    endpoint: Endpoint,
    source: Ipv4Addr,
}

/// A connection of HTTP/2 over TLS that is there.
pub(super) struct Held {
    sender: h2::client::SendRequest<Bytes>,
    driver: JoinHandle<()>,
    /// True if the handshake resumed a session.
    pub(super) resumed: bool,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// Result of a peer that came back.
pub(super) struct Served {
    /// From the beginning of the storm until its request was answered.
    pub(super) after: Duration,
    pub(super) resumed: bool,
    /// Attempts that failed before, each with its reason.
    pub(super) failures: Vec<String>,
    /// Open until the storm is over.
    _held: Held,
}

impl Peer {
    /// The peer of this number, below 62 500: loopback has an address for each.
    pub(super) fn new(number: usize, endpoint: Endpoint) -> Self {
        let (third, fourth) = (number / 250 % 250, number % 250);
        // Both are below 250.
        let source = Ipv4Addr::new(127, 64, third as u8, fourth as u8 + 1);
        Self { endpoint, source }
    }

    /// A connection with its HTTP/2 preface exchanged.
    pub(super) async fn connect(&self, address: SocketAddr) -> Result<Held, Error> {
        let failed = |source| Error::Connection { address, source };
        let ours = |error: &dyn std::fmt::Display| Error::Handshake(error.to_string());
        let socket = TcpSocket::new_v4().map_err(failed)?;
        // A source port is chosen when it connects, so that one port can serve many sources.
        socket.bind((self.source, 0).into()).map_err(failed)?;
        let stream = socket.connect(address).await.map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        let connecting = self
            .endpoint
            .connect(PRODUCER, InterfaceKind::Sbi)
            .map_err(|error| ours(&error))?;
        let tls = TlsConnector::from(connecting.config)
            .connect(connecting.name, stream)
            .await
            .map_err(|error| ours(&error))?;
        let connection: &ClientConnection = tls.get_ref().1;
        let established = connecting
            .watch
            .finish_client(connection)
            .map_err(|refused| ours(&refused))?;
        let (sender, connection) = h2::client::handshake(tls).await.map_err(|error| ours(&error))?;
        let driver = tokio::spawn(async move {
            // Its end is seen where a request fails.
            let _ = connection.await;
        });
        Ok(Held {
            sender,
            driver,
            resumed: established.negotiated.resumed,
        })
    }

    /// Comes back and asks, again and again until it is answered.
    pub(super) async fn come_back(
        &self,
        address: SocketAddr,
        began: Instant,
        deadline: Instant,
    ) -> Result<Served, Error> {
        let mut failures = Vec::new();
        loop {
            let attempt = async {
                let mut held = self.connect(address).await?;
                held.exchange().await?;
                Ok::<_, Error>(held)
            };
            let error = match tokio::time::timeout(ATTEMPT, attempt).await {
                Ok(Ok(held)) => {
                    return Ok(Served {
                        after: began.elapsed(),
                        resumed: held.resumed,
                        failures,
                        _held: held,
                    });
                }
                Ok(Err(error)) => error,
                Err(_) => Error::Handshake("no answer in time".to_owned()),
            };
            if Instant::now() + AGAIN >= deadline {
                return Err(error);
            }
            failures.push(error.to_string());
            tokio::time::sleep(AGAIN).await;
        }
    }
}

impl Held {
    /// A request and its whole answer; gives the time it took.
    pub(super) async fn exchange(&mut self) -> Result<Duration, Error> {
        let began = Instant::now();
        exchange(&mut self.sender, "/").await?;
        Ok(began.elapsed())
    }

    /// True if the connection is still open.
    pub(super) fn is_open(&self) -> bool {
        !self.driver.is_finished()
    }
}

/// A request for this path and its whole answer; gives the bytes of its body.
pub(super) async fn exchange(sender: &mut h2::client::SendRequest<Bytes>, path: &str) -> Result<usize, Error> {
    let wrong = |error: h2::Error| Error::Protocol(error.to_string());
    let request = http::Request::get(format!("http://producer{path}"))
        .body(())
        .map_err(|error| Error::Configuration(error.to_string()))?;
    let mut ready = sender.clone().ready().await.map_err(wrong)?;
    let (response, _) = ready.send_request(request, true).map_err(wrong)?;
    let response = response.await.map_err(wrong)?;
    if response.status() != http::StatusCode::OK {
        return Err(Error::Protocol(format!("status {}", response.status())));
    }
    let mut body = response.into_body();
    let mut bytes = 0;
    while let Some(data) = body.data().await {
        let length = data.map_err(wrong)?.len();
        bytes += length;
        body.flow_control().release_capacity(length).map_err(wrong)?;
    }
    Ok(bytes)
}

/// A runtime of one thread: what peers do is done on one processor at a time.
pub(super) fn runtime() -> Result<tokio::runtime::Runtime, Error> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Error::Broken)
}

/// Does this for every peer at once, and gives what came of each in their order.
pub(super) async fn all<'a, T, F: Future<Output = Result<T, Error>>>(
    peers: &'a [Peer],
    what: impl Fn(&'a Peer) -> F,
) -> Result<Vec<T>, Error> {
    futures_util::future::try_join_all(peers.iter().map(what)).await
}
