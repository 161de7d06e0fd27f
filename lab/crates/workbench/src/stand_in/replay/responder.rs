//! The network functions that were called.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bytes::Bytes;
use h2::server::{Connection, SendResponse};
use h2::{Reason, RecvStream};
use http::{Request, Response, StatusCode};
use tokio::net::TcpStream;
use tokio::runtime;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::clock::Clock;
use super::lingering::Lingering;
use super::script::{Key, Script};
use super::{Error, Targets};
use crate::Exchange;

/// A larger body than any that was recorded is not read to its end, in bytes.
const LARGEST_BODY: usize = 16 << 20;

/// SETTINGS of the recorded servers (Go's net/http2 as free5GC sets it up).
const MAX_CONCURRENT_STREAMS: u32 = 250;
const WINDOW: u32 = 1 << 20;
const MAX_FRAME_SIZE: u32 = 1 << 20;
const MAX_HEADER_LIST_SIZE: u32 = 1_048_896;

/// Behaviour of the responder other than its answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Behaviour {
    /// Time of its answers.
    pub think: Think,
    /// Treatment of a connection without streams.
    pub idle: Idle,
}

/// Time of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Think {
    /// As long after the request as it took the recorded network function.
    #[default]
    Recorded,
    /// At once.
    None,
}

/// Treatment of a connection without streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Idle {
    /// It stays.
    #[default]
    Keep,
    /// It gets a GOAWAY (NO_ERROR) after so long, even before its first stream, and is closed a second later. The
    /// network functions of free5GC do this after one millisecond.
    GoAway(Duration),
}

impl Idle {
    /// As free5GC v4.2 sets up its servers.
    pub const FREE5GC: Self = Self::GoAway(Duration::from_millis(1));
}

/// Counters of a responder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Answered {
    /// TCP connections accepted.
    pub connections: u64,
    /// Requests answered as recorded.
    pub requests: u64,
    /// Requests that were not recorded, answered with 404 or 413 and a ProblemDetails.
    pub unknown: u64,
    /// Idle connections that were sent a GOAWAY.
    pub goaways: u64,
}

/// HTTP/2 servers (unencrypted, prior knowledge), one for each network function of an exchange, on one thread.
/// Dropping it closes all connections at once.
#[derive(Debug)]
pub struct Responder {
    addresses: Targets,
    tally: Arc<Tally>,
    /// Dropped to stop.
    running: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Tally {
    connections: AtomicU64,
    requests: AtomicU64,
    unknown: AtomicU64,
    goaways: AtomicU64,
}

/// State shared by the connections of one network function.
#[derive(Clone)]
struct Role {
    server: Arc<str>,
    script: Arc<Script>,
    behaviour: Behaviour,
    clock: Clock,
    tally: Arc<Tally>,
}

impl Responder {
    /// Serves on sockets that are already bound, by the type of the network function each stands for; in a network
    /// namespace, when they were bound there.
    ///
    /// # Errors
    ///
    /// Fails if a network function of the exchange has no socket, or threads cannot be started.
    pub fn start(
        exchange: &Exchange,
        listeners: BTreeMap<String, TcpListener>,
        behaviour: Behaviour,
    ) -> Result<Self, Error> {
        if let Some(server) = exchange
            .servers()
            .into_iter()
            .find(|server| !listeners.contains_key(*server))
        {
            return Err(Error::NoAddress {
                server: server.to_owned(),
            });
        }
        let listening = || Error::io("listening for the players of an exchange");
        let mut addresses = Targets::new();
        for (server, listener) in &listeners {
            addresses.insert(server.clone(), listener.local_addr().map_err(listening())?);
            listener.set_nonblocking(true).map_err(listening())?;
        }
        let tally = Arc::new(Tally::default());
        let role = Role {
            server: "".into(),
            script: Arc::new(Script::of(exchange)),
            behaviour,
            clock: Clock::start().map_err(Error::io("starting the clock"))?,
            tally: Arc::clone(&tally),
        };
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(Error::io("starting the responder"))?;
        let listeners: Vec<_> = {
            let _context = runtime.enter();
            listeners
                .into_iter()
                .map(|(server, listener)| Ok((server, tokio::net::TcpListener::from_std(listener)?)))
                .collect::<Result<_, _>>()
                .map_err(listening())?
        };
        let (running, stopped) = oneshot::channel();
        let thread = thread::Builder::new()
            .name("responder".to_owned())
            .spawn(move || {
                for (server, listener) in listeners {
                    runtime.spawn(accept(
                        listener,
                        Role {
                            server: server.into(),
                            ..role.clone()
                        },
                    ));
                }
                // Ends when the sender is dropped; with the runtime go all tasks and their sockets.
                let _ = runtime.block_on(stopped);
            })
            .map_err(Error::io("starting the responder"))?;
        Ok(Self {
            addresses,
            tally,
            running: Some(running),
            thread: Some(thread),
        })
    }

    /// Serves on free ports of 127.0.0.1.
    ///
    /// # Errors
    ///
    /// Those of [`Responder::start`], and when there is no free port.
    pub fn on_loopback(exchange: &Exchange, behaviour: Behaviour) -> Result<Self, Error> {
        let listeners = exchange
            .servers()
            .into_iter()
            .map(|server| Ok((server.to_owned(), TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?)))
            .collect::<Result<_, _>>()
            .map_err(Error::io("listening for the players of an exchange"))?;
        Self::start(exchange, listeners, behaviour)
    }

    /// Address of each network function: the targets of a player without proxies.
    #[must_use]
    pub fn addresses(&self) -> &Targets {
        &self.addresses
    }

    /// Address of one network function.
    #[must_use]
    pub fn address(&self, server: &str) -> Option<SocketAddr> {
        self.addresses.get(server).copied()
    }

    /// Counters so far.
    #[must_use]
    pub fn answered(&self) -> Answered {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Answered {
            connections: read(&self.tally.connections),
            requests: read(&self.tally.requests),
            unknown: read(&self.tally.unknown),
            goaways: read(&self.tally.goaways),
        }
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        drop(self.running.take());
        if let Some(thread) = self.thread.take() {
            // The thread has printed its panic already; `drop` has no caller that could handle it.
            let _ = thread.join();
        }
    }
}

async fn accept(listener: tokio::net::TcpListener, role: Role) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                role.tally.connections.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(serve(stream, role.clone()));
            }
            // Out of descriptors, or a peer that is gone already: others may still come.
            Err(_) => sleep(Duration::from_millis(10)).await,
        }
    }
}

async fn serve(stream: TcpStream, role: Role) {
    // Without it small frames wait for acknowledgements.
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let handshake = h2::server::Builder::new()
        .max_concurrent_streams(MAX_CONCURRENT_STREAMS)
        .initial_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        .max_frame_size(MAX_FRAME_SIZE)
        .max_header_list_size(MAX_HEADER_LIST_SIZE)
        .handshake::<_, Bytes>(Lingering::new(stream));
    // A client that does not speak HTTP/2, or disconnects, is not served.
    let Ok(mut connection) = handshake.await else { return };
    let mut streams = JoinSet::new();
    loop {
        tokio::select! {
            request = connection.accept() => match request {
                Some(Ok((request, respond))) => {
                    streams.spawn(answer(request, respond, role.clone()));
                }
                Some(Err(_)) | None => break,
            },
            Some(_) = streams.join_next() => {}
            () = idle(role.behaviour.idle), if streams.is_empty() => {
                role.tally.goaways.fetch_add(1, Ordering::Relaxed);
                go_away(&mut connection).await;
                break;
            }
        }
    }
}

async fn idle(idle: Idle) {
    match idle {
        Idle::Keep => std::future::pending().await,
        Idle::GoAway(after) => sleep(after).await,
    }
}

/// Sends GOAWAY with the last stream that was answered; the socket lingers.
async fn go_away(connection: &mut Connection<Lingering, Bytes>) {
    connection.abrupt_shutdown(Reason::NO_ERROR);
    // Streams that came too late are refused by the GOAWAY; ends when it is written.
    while let Some(Ok(_)) = connection.accept().await {}
}

async fn answer(request: Request<RecvStream>, respond: SendResponse<Bytes>, role: Role) {
    let (head, body) = request.into_parts();
    let Ok(body) = read(body).await else {
        // The peer has taken the request back.
        return;
    };
    let complete = Instant::now();
    let Some(body) = body else {
        role.tally.unknown.fetch_add(1, Ordering::Relaxed);
        return send(
            respond,
            problem(StatusCode::PAYLOAD_TOO_LARGE, "larger than any recorded request"),
        );
    };
    let path = head.uri.path_and_query().map_or_else(String::new, ToString::to_string);
    let key = Key {
        server: role.server.to_string(),
        method: head.method,
        path,
        body,
    };
    let Some(line) = role.script.next(&key) else {
        role.tally.unknown.fetch_add(1, Ordering::Relaxed);
        let detail = format!(
            "{} was not asked {} {} with this body",
            key.server, key.method, key.path
        );
        return send(respond, problem(StatusCode::NOT_FOUND, &detail));
    };
    if role.behaviour.think == Think::Recorded {
        role.clock.until(complete + line.think).await;
    }
    let mut response = Response::new(line.answer.body.clone());
    *response.status_mut() = line.answer.status;
    *response.headers_mut() = line.answer.headers.clone();
    role.tally.requests.fetch_add(1, Ordering::Relaxed);
    send(respond, response);
}

/// The whole body, or `None` when it is too large.
async fn read(mut body: RecvStream) -> Result<Option<Bytes>, h2::Error> {
    let mut whole = Vec::new();
    while let Some(part) = body.data().await {
        let part = part?;
        body.flow_control().release_capacity(part.len())?;
        if whole.len() + part.len() > LARGEST_BODY {
            return Ok(None);
        }
        whole.extend_from_slice(&part);
    }
    Ok(Some(whole.into()))
}

/// h2 keeps what the peer's window does not take yet; answers are small.
fn send(mut respond: SendResponse<Bytes>, response: Response<Bytes>) {
    let (head, body) = response.into_parts();
    let Ok(mut stream) = respond.send_response(Response::from_parts(head, ()), body.is_empty()) else {
        // The peer has reset the stream or is gone: it does not want the answer.
        return;
    };
    if !body.is_empty() {
        let _ = stream.send_data(body, true);
    }
}

/// ProblemDetails (TS 29.500 clause 5.2.7, RFC 9457).
fn problem(status: StatusCode, detail: &str) -> Response<Bytes> {
    let body = serde_json::json!({ "title": "not recorded", "status": status.as_u16(), "detail": detail });
    let mut response = Response::new(Bytes::from(body.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(
        http::header::CONTENT_TYPE,
        http::HeaderValue::from_static("application/problem+json"),
    );
    response
}
