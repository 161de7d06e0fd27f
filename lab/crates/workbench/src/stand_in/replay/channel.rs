//! One client connection: opened, asked, and opened again where the server has refused.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use h2::Reason;
use h2::client::{ResponseFuture, SendRequest};
use http::uri::Parts;
use http::{Request, Uri};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::stand_in::exchange::{self, Answer};

/// SETTINGS of the recorded clients (Go's net/http2).
const WINDOW: u32 = 4 << 20;
const CONNECTION_WINDOW: u32 = 1 << 30;
const MAX_HEADER_LIST_SIZE: u32 = 10 << 20;

/// Time limit for opening a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Time limit for an answer beyond the recorded processing time: the limit of free5GC's AMF for a
/// request.
const PATIENCE: Duration = Duration::from_secs(10);

/// Time limit for closing a connection.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct Channel {
    sender: SendRequest<Bytes>,
    driver: JoinHandle<Result<(), h2::Error>>,
    /// From the begin of the TCP handshake until a request could be sent.
    pub(super) setup: Duration,
}

/// Reason for a missing answer.
#[derive(Debug)]
pub(super) enum Silence {
    /// The server has certainly not processed the request: it may be sent again (RFC 9113 section 8.7).
    Unprocessed(String),
    /// Anything else.
    Failed(String),
}

impl Channel {
    pub(super) async fn open(address: SocketAddr) -> Result<Self, String> {
        let begun = Instant::now();
        let opening = async {
            let stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
            // Without it small frames wait for acknowledgements.
            stream.set_nodelay(true).map_err(|error| error.to_string())?;
            h2::client::Builder::new()
                .enable_push(false)
                .initial_window_size(WINDOW)
                .initial_connection_window_size(CONNECTION_WINDOW)
                .max_header_list_size(MAX_HEADER_LIST_SIZE)
                .handshake::<_, Bytes>(stream)
                .await
                .map_err(|error| error.to_string())
        };
        let (sender, connection) = match timeout(CONNECT_TIMEOUT, opening).await {
            Ok(opened) => opened.map_err(|error| format!("connecting to {address}: {error}"))?,
            Err(_) => return Err(format!("connecting to {address}: not within {CONNECT_TIMEOUT:?}")),
        };
        Ok(Self {
            sender,
            driver: tokio::spawn(connection),
            setup: begun.elapsed(),
        })
    }

    /// Sends a request and reads its answer to the end; the answer's times are those since the request was handed
    /// over.
    pub(super) async fn ask(&self, request: &exchange::Request) -> Result<Answer, Silence> {
        let limit = PATIENCE + request.think().unwrap_or_default();
        match timeout(limit, self.ask_patiently(request)).await {
            Ok(answer) => answer,
            Err(_) => Err(Silence::Failed(format!("no answer within {limit:?}"))),
        }
    }

    async fn ask_patiently(&self, request: &exchange::Request) -> Result<Answer, Silence> {
        let head = head_of(request).map_err(Silence::Failed)?;
        // Nothing has been sent before `ready` returns, whatever its error.
        let mut sender = self
            .sender
            .clone()
            .ready()
            .await
            .map_err(|error| Silence::Unprocessed(error.to_string()))?;
        let begun = Instant::now();
        let (response, mut stream) = sender
            .send_request(head, request.body.is_empty())
            .map_err(|error| silence(&error))?;
        if !request.body.is_empty() {
            stream
                .send_data(request.body.clone(), true)
                .map_err(|error| silence(&error))?;
        }
        read(response, begun).await.map_err(|error| silence(&error))
    }

    /// Lets the connection end: GOAWAY, and the socket closed.
    pub(super) async fn close(self) {
        drop(self.sender);
        let abort = self.driver.abort_handle();
        // A driver that ends with an error has already reported it to the requester. One that does
        // not end is dropped.
        if timeout(CLOSE_TIMEOUT, self.driver).await.is_err() {
            abort.abort();
        }
    }
}

async fn read(response: ResponseFuture, begun: Instant) -> Result<Answer, h2::Error> {
    let (head, mut stream) = response.await?.into_parts();
    let sent = begun.elapsed();
    let mut body = Vec::new();
    while let Some(part) = stream.data().await {
        let part = part?;
        stream.flow_control().release_capacity(part.len())?;
        body.extend_from_slice(&part);
    }
    Ok(Answer {
        sent,
        complete: begun.elapsed(),
        status: head.status,
        headers: head.headers,
        body: body.into(),
    })
}

/// Classifies an error. A GOAWAY that ends before the stream, or REFUSED_STREAM, shows that the
/// server has not processed it.
fn silence(error: &h2::Error) -> Silence {
    let refused = error.is_remote()
        && (error.is_go_away() && error.reason() == Some(Reason::NO_ERROR)
            || error.is_reset() && error.reason() == Some(Reason::REFUSED_STREAM));
    if refused {
        Silence::Unprocessed(error.to_string())
    } else {
        Silence::Failed(error.to_string())
    }
}

fn head_of(request: &exchange::Request) -> Result<Request<()>, String> {
    let mut parts = Parts::default();
    parts.scheme = Some(request.scheme.clone());
    parts.authority = Some(request.authority.clone());
    parts.path_and_query = Some(request.path.clone());
    let mut head = Request::new(());
    *head.method_mut() = request.method.clone();
    *head.uri_mut() = Uri::from_parts(parts).map_err(|error| error.to_string())?;
    *head.headers_mut() = request.headers.clone();
    Ok(head)
}
