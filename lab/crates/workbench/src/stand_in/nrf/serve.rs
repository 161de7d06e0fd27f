//! The NRF on a socket: HTTP/2 in plaintext (prior knowledge) or over TLS, one thread.

use std::cell::RefCell;
use std::io;
use std::net::TcpListener;
use std::rc::Rc;
use std::thread;
use std::time::Duration;

use bartizan_deployment::InterfaceKind;
use bartizan_tls::{Accepting, Endpoint};
use bytes::Bytes;
use h2::RecvStream;
use h2::server::SendResponse;
use http::header::{ALLOW, CONTENT_TYPE, HeaderValue, LOCATION};
use http::{Request, Response};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::runtime;
use tokio::task::{JoinSet, LocalSet, spawn_local};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use super::LARGEST_BODY;
use super::answer::{Answer, Asked};
use super::registry::Registry;

/// Time limit for a TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// Receive window of a stream and of a connection, in bytes.
const WINDOW: u32 = 1 << 20;
/// Streams at once on a connection.
const STREAMS: u32 = 1_000;

/// Behaviour of the server.
#[derive(Debug, Default)]
pub struct Manner {
    /// By TLS, both ends authenticated, as this endpoint has it; in plaintext without.
    pub tls: Option<Endpoint>,
    /// Processing time of each request. Requests are processed one after the other, as by a server
    /// of a known capacity.
    pub work: Duration,
}

/// Serves until the process ends.
///
/// # Errors
/// Fails if the socket cannot be used, or no runtime can be started.
pub fn serve(listener: TcpListener, manner: Manner) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    let server = Rc::new(Server {
        registry: RefCell::default(),
        manner,
    });
    LocalSet::new().block_on(&runtime, async {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    spawn_local(Rc::clone(&server).connection(stream));
                }
                // Out of descriptors, or a peer that is gone already: others may still come.
                Err(_) => sleep(Duration::from_millis(10)).await,
            }
        }
    })
}

struct Server {
    registry: RefCell<Registry>,
    manner: Manner,
}

impl Server {
    async fn connection(self: Rc<Self>, stream: TcpStream) {
        // Without it small frames wait for acknowledgements.
        if stream.set_nodelay(true).is_err() {
            return;
        }
        let Some(endpoint) = &self.manner.tls else {
            return self.http2(stream, "http").await;
        };
        let Accepting { config, watch } = endpoint.accept_any(InterfaceKind::Sbi);
        match timeout(HANDSHAKE, TlsAcceptor::from(config).accept(stream)).await {
            Ok(Ok(tls)) => match watch.finish_server(tls.get_ref().1) {
                Ok(_) => Rc::clone(&self).http2(tls, "https").await,
                Err(refused) => eprintln!("refused a client: {refused}"),
            },
            Ok(Err(error)) => eprintln!("refused a client: {}", watch.failed(&error)),
            Err(_) => eprintln!("refused a client: {}", watch.timed_out()),
        }
    }

    async fn http2(self: Rc<Self>, stream: impl AsyncRead + AsyncWrite + Unpin, scheme: &'static str) {
        let handshake = h2::server::Builder::new()
            .initial_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            .max_concurrent_streams(STREAMS)
            .handshake::<_, Bytes>(stream);
        // A client that does not speak HTTP/2, or disconnects, is not served.
        let Ok(mut connection) = handshake.await else { return };
        let mut streams = JoinSet::new();
        loop {
            tokio::select! {
                request = connection.accept() => match request {
                    Some(Ok((request, respond))) => {
                        streams.spawn_local(Rc::clone(&self).request(request, respond, scheme));
                    }
                    Some(Err(_)) | None => return,
                },
                Some(_) = streams.join_next() => {}
            }
        }
    }

    async fn request(self: Rc<Self>, request: Request<RecvStream>, respond: SendResponse<Bytes>, scheme: &str) {
        let (head, body) = request.into_parts();
        // The peer has taken the request back.
        let Ok(body) = read(body).await else { return };
        if !self.manner.work.is_zero() {
            // Nothing else is served meanwhile, which is what is wanted.
            thread::sleep(self.manner.work);
        }
        let answer = match &body {
            None => Answer::too_large(),
            Some(body) => {
                let authority = head.uri.authority().map_or("localhost", http::uri::Authority::as_str);
                let content_type = head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
                let content_type = content_type.and_then(|value| value.split(';').next());
                self.registry.borrow_mut().answer(&Asked {
                    method: &head.method,
                    root: &format!("{scheme}://{authority}"),
                    path: head.uri.path(),
                    query: head.uri.query().unwrap_or_default(),
                    content_type: content_type.unwrap_or_default().trim(),
                    body,
                })
            }
        };
        send(respond, answer);
    }
}

/// The whole body, or `None` when it is too large.
async fn read(mut body: RecvStream) -> Result<Option<Vec<u8>>, h2::Error> {
    let mut whole = Vec::new();
    while let Some(part) = body.data().await {
        let part = part?;
        body.flow_control().release_capacity(part.len())?;
        if whole.len() + part.len() > LARGEST_BODY {
            return Ok(None);
        }
        whole.extend_from_slice(&part);
    }
    Ok(Some(whole))
}

/// h2 keeps what the peer's window does not take yet.
fn send(mut respond: SendResponse<Bytes>, answer: Answer) {
    let mut response = Response::new(());
    *response.status_mut() = answer.status;
    let headers = response.headers_mut();
    let body = answer.body.map(|body| Bytes::from(body.to_string()));
    if body.is_some() {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(answer.content_type));
    }
    if let Some(allow) = answer.allow {
        headers.insert(ALLOW, HeaderValue::from_static(allow));
    }
    if let Some(location) = answer
        .location
        .and_then(|location| HeaderValue::try_from(location).ok())
    {
        headers.insert(LOCATION, location);
    }
    let Ok(mut stream) = respond.send_response(response, body.is_none()) else {
        // The peer has reset the stream or is gone: it does not want the answer.
        return;
    };
    if let Some(body) = body {
        let _ = stream.send_data(body, true);
    }
}
