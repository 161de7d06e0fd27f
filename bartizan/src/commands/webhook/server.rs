//! HTTPS around reviews: bounded connections, bodies and times.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use bartizan_inject::{LARGEST, Settings, Verdict, refuse_unread, review};
use http::header::{CONNECTION, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, Semaphore, watch};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::NamedGroup;

use super::identity::Identity;
use bartizan_server::{Answer, Connections, body, contained, not_allowed, plain, typed};

/// Connections at a time. An API server opens one for each review under way; beyond them the
/// address with the most loses one.
const CONNECTIONS: usize = 256;
/// For the first request of a connection: an API server opens one when it has a review to send.
const FIRST: Duration = Duration::from_secs(10);
/// Large bodies read at a time: with their bound, the memory that reviews take.
const BODIES: usize = 16;
const HANDSHAKE: Duration = Duration::from_secs(10);
/// For a request's head, and for a connection without a request: longer than the 90 seconds after which an API server closes one that it does not
/// use, so that none is closed while a review is on its way.
const IDLE: Duration = Duration::from_secs(120);
/// For a body. An API server waits 30 seconds for an answer at most.
const BODY: Duration = Duration::from_secs(10);
/// A pause where accepting fails.
const BREATH: Duration = Duration::from_millis(50);
/// Interval of checking the certificate's files.
const ROUND: Duration = Duration::from_secs(5);

/// Progress of the shutdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    Serving,
    /// It is not ready, and closes each connection after its next answer.
    Draining,
    /// It closes connections that have no request.
    Ending,
}

bartizan_registry::made! {
    pub(super) struct Server, pub(super) new(identity: Identity, settings: Settings, phase: watch::Receiver<Phase>) {
        identity: Identity,
        settings: Settings,
        connections: Mutex<Connections> = Mutex::new(Connections::new(CONNECTIONS)),
        bodies: Semaphore = Semaphore::new(BODIES),
        phase: watch::Receiver<Phase>,
        /// True if a key exchange without ML-KEM was logged.
        classical: AtomicBool = AtomicBool::new(false),
    }
}

impl Server {
    /// Serves until it is dropped; connections go on.
    pub(super) async fn accept(self: &Arc<Self>, listener: &TcpListener) -> Infallible {
        loop {
            match listener.accept().await {
                Ok((stream, peer)) => {
                    let mut place = self.connections.lock().await.place_of(peer.ip()).await;
                    let server = Arc::clone(self);
                    tokio::spawn(contained(async move {
                        let asked = place.asked();
                        tokio::select! {
                            () = server.converse(stream, asked) => {}
                            () = place.evicted() => {}
                        }
                    }));
                }
                Err(error) => {
                    tracing::debug!(%error, "cannot accept");
                    sleep(BREATH).await;
                }
            }
        }
    }

    /// Looks at the certificate's files again and again.
    pub(super) async fn keep_identity(&self) -> Infallible {
        loop {
            sleep(ROUND).await;
            self.identity.refresh();
        }
    }

    /// Ends when no connection is open.
    pub(super) async fn last_answers(&self) {
        self.connections.lock().await.all_ended().await;
    }

    async fn converse(self: &Arc<Self>, stream: TcpStream, asked: Arc<AtomicBool>) {
        // A certificate of a few kilobytes must not wait for an acknowledgement.
        let _ = stream.set_nodelay(true);
        let accepted = TlsAcceptor::from(self.identity.config()).accept(stream);
        let Ok(Ok(stream)) = timeout(HANDSHAKE, accepted).await else {
            return;
        };
        let group = stream.get_ref().1.negotiated_key_exchange_group();
        let is_classical = group.is_some_and(|group| group.name() == NamedGroup::X25519);
        if is_classical && !self.classical.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                hint = "Kubernetes from 1.33 on is built with a Go that offers X25519MLKEM768",
                "a client offered no ML-KEM: what it sends is exposed to harvest now, decrypt later"
            );
        }
        let heard = AtomicBool::new(false);
        let service = service_fn(|request| {
            heard.store(true, Ordering::Relaxed);
            let (server, asked) = (Arc::clone(self), Arc::clone(&asked));
            async move { Ok::<_, Infallible>(server.answer(request, &asked).await) }
        });
        let mut connection = pin!(
            http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(IDLE)
                .max_buf_size(16 * 1024)
                .serve_connection(TokioIo::new(stream), service)
        );
        let mut phase = self.phase.clone();
        tokio::select! {
            _ = connection.as_mut() => return,
            _ = phase.wait_for(|phase| *phase == Phase::Ending) => {}
            () = silence(&heard) => return,
        }
        connection.as_mut().graceful_shutdown();
        let _ = connection.await;
    }

    async fn answer(&self, request: Request<Incoming>, asked: &AtomicBool) -> Answer {
        let mut answer = self.route(request, asked).await;
        asked.store(true, Ordering::Relaxed);
        if *self.phase.borrow() != Phase::Serving {
            // The next review comes by a new connection, to another address.
            answer
                .headers_mut()
                .insert(CONNECTION, HeaderValue::from_static("close"));
        }
        answer
    }

    async fn route(&self, request: Request<Incoming>, asked: &AtomicBool) -> Answer {
        match (request.method(), request.uri().path()) {
            (&Method::POST, "/inject") => self.inject(request, asked).await,
            (_, "/inject") => not_allowed("POST"),
            (&Method::GET | &Method::HEAD, "/live") => plain(StatusCode::OK, "live\n"),
            (&Method::GET | &Method::HEAD, "/ready") => match self.unready() {
                None => plain(StatusCode::OK, "ready\n"),
                Some(reason) => plain(StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n")),
            },
            (_, "/live" | "/ready") => not_allowed("GET, HEAD"),
            _ => plain(StatusCode::NOT_FOUND, "POST /inject, GET /live, /ready\n"),
        }
    }

    fn unready(&self) -> Option<&'static str> {
        if *self.phase.borrow() != Phase::Serving {
            return Some("draining");
        }
        self.identity.flaw(SystemTime::now())
    }

    async fn inject(&self, request: Request<Incoming>, asked: &AtomicBool) -> Answer {
        let is_json = request
            .headers()
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.split(';').next())
            .is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"));
        if !is_json {
            return unread(StatusCode::UNSUPPORTED_MEDIA_TYPE, "a review comes as application/json");
        }
        asked.store(false, Ordering::Relaxed);
        let (body, permit) = match timeout(BODY, body(request.into_body(), LARGEST, Some(&self.bodies))).await {
            Ok(Ok(read)) => read,
            Ok(Err(answer)) if answer.status() == StatusCode::PAYLOAD_TOO_LARGE => {
                return unread(answer.status(), &format!("the review has more than {LARGEST} bytes"));
            }
            Ok(Err(answer)) if answer.status() == StatusCode::BAD_REQUEST => {
                return unread(answer.status(), "the review broke off");
            }
            Ok(Err(_)) | Err(_) => return unread(StatusCode::REQUEST_TIMEOUT, "the review did not come in time"),
        };
        // No longer than the handshake before it, so it is done on this thread.
        let answer = review(&body, &self.settings);
        drop((body, permit));
        let (pod, reason) = (&answer.about, answer.reason().unwrap_or_default());
        match &answer.verdict {
            Verdict::Injected(_) => tracing::info!(pod, "injected"),
            Verdict::Unchanged => tracing::info!(pod, "allowed as it is"),
            Verdict::LeftOut => tracing::warn!(pod, "left out by its annotation: it is unprotected"),
            Verdict::Refused(_) => tracing::warn!(pod, reason, "refused"),
            Verdict::Malformed(_) => tracing::warn!(pod, reason, "refused: no review of a pod"),
        }
        let status = if answer.is_of_a_review() {
            StatusCode::OK
        } else {
            StatusCode::BAD_REQUEST
        };
        typed(status, "application/json", answer.to_json())
    }
}

/// Ends where nothing was asked in time.
async fn silence(heard: &AtomicBool) {
    sleep(FIRST).await;
    if heard.load(Ordering::Relaxed) {
        std::future::pending::<()>().await;
    }
}

/// The refusal of what was not read as a whole: an AdmissionReview too, so that its reason is found where others are.
fn unread(status: StatusCode, reason: &str) -> Answer {
    typed(status, "application/json", refuse_unread(reason).to_json())
}
