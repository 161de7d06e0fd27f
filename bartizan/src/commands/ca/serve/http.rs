//! HTTP around the service (RFC 9811): who asks too much or too slowly is put off, and nothing of it is kept.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use bartizan_enrol::LARGEST;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Method, Request, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use super::est;
use super::rate::Rate;
use super::service::Service;
use crate::commands::http_answer::{Answer, body, not_allowed, plain, typed};
use crate::commands::places::Open;

/// Connections served at a time; others wait in the listener's queue.
const CONNECTIONS: usize = 64;
/// Of these, what one address may have: others are served next to one that keeps its connections.
const OF_AN_ADDRESS: usize = 8;
/// From accept to the end of the last answer on a connection.
const PATIENCE: Duration = Duration::from_secs(30);
/// For a request's head.
const HEAD: Duration = Duration::from_secs(5);
/// A pause where accepting fails.
const BREATH: Duration = Duration::from_millis(50);
/// RFC 9811, section 3.4.
const PKIX_CMP: &str = "application/pkixcmp";
/// RFC 5280, section 4.2.1.13: what a distribution point gives.
const PKIX_CRL: &str = "application/pkix-crl";
const PEM: &str = "application/x-pem-file";

/// Who asks, and by which way.
#[derive(Debug, Clone)]
struct Caller {
    from: IpAddr,
    /// By TLS, for EST: the certificate that was shown, DER, or none.
    est: Option<Option<Arc<[u8]>>>,
}

/// Requests of all listeners are counted together.
#[derive(Debug, Clone)]
pub(super) struct Limits {
    places: Arc<Semaphore>,
    open: Arc<Open>,
    rate: Arc<Mutex<Rate>>,
    /// Handshakes, each of which costs as much as a request and need not have one: twice as many, so that one who asks too often learns why.
    handshakes: Arc<Mutex<Rate>>,
}

impl Limits {
    pub(super) fn new(per_minute: u32) -> Self {
        Self {
            places: Arc::new(Semaphore::new(CONNECTIONS)),
            open: Arc::default(),
            rate: Arc::new(Mutex::new(Rate::new(per_minute))),
            handshakes: Arc::new(Mutex::new(Rate::new(per_minute.saturating_mul(2)))),
        }
    }
}

/// Which protocol a listener is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// HTTP with messages of CMP.
    Cmp,
    /// TLS with EST.
    Est,
}

/// Serves until it is dropped.
pub(super) async fn serve(listener: TcpListener, way: Way, service: Arc<Service>, limits: Limits) {
    while let Ok(place) = Arc::clone(&limits.places).acquire_owned().await {
        let (stream, from) = match listener.accept().await {
            Ok((stream, peer)) => (stream, peer.ip()),
            Err(error) => {
                tracing::debug!(%error, "cannot accept");
                sleep(BREATH).await;
                continue;
            }
        };
        // Closed at once: it is one of too many.
        let Some(held) = limits.open.hold(from, OF_AN_ADDRESS) else {
            continue;
        };
        let admits = |rate: &Mutex<Rate>| {
            let mut rate = rate.lock().unwrap_or_else(PoisonError::into_inner);
            rate.admits(from, Instant::now())
        };
        if way == Way::Est && !admits(&limits.handshakes) {
            continue;
        }
        let (service, rate) = (Arc::clone(&service), Arc::clone(&limits.rate));
        tokio::spawn(async move {
            let served = async {
                match way {
                    Way::Cmp => converse(stream, Caller { from, est: None }, service, rate).await,
                    Way::Est => {
                        let Ok(stream) = TlsAcceptor::from(service.tls()).accept(stream).await else {
                            return;
                        };
                        let shown = stream.get_ref().1.peer_certificates();
                        let shown = shown
                            .and_then(|chain| chain.first())
                            .map(|leaf| Arc::from(leaf.as_ref()));
                        let caller = Caller { from, est: Some(shown) };
                        converse(stream, caller, service, rate).await;
                    }
                }
            };
            // Whoever asked too slowly or went away may ask again.
            let _ = timeout(PATIENCE, served).await;
            drop((place, held));
        });
    }
}

async fn converse(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    caller: Caller,
    service: Arc<Service>,
    rate: Arc<Mutex<Rate>>,
) {
    let service = service_fn(move |request: Request<Incoming>| {
        let (caller, service, rate) = (caller.clone(), Arc::clone(&service), Arc::clone(&rate));
        async move { Ok::<_, Infallible>(answer(request, caller, service, &rate).await) }
    });
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(16 * 1024)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

async fn answer(request: Request<Incoming>, caller: Caller, service: Arc<Service>, rate: &Mutex<Rate>) -> Answer {
    if !rate
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .admits(caller.from, Instant::now())
    {
        let mut answer = plain(StatusCode::TOO_MANY_REQUESTS, "too many requests from this address\n");
        answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("60"));
        return answer;
    }
    let path = request.uri().path().to_owned();
    if let Some(certificate) = caller.est {
        return est::answer(request, caller.from, certificate, service).await;
    }
    let is_cmp = path == "/pkix" || path.starts_with("/pkix/") || is_under(&path, "/.well-known/cmp");
    match (request.method(), path.as_str()) {
        (&Method::POST, _) if is_cmp => cmp(request, caller.from, service).await,
        (_, _) if is_cmp => not_allowed("POST"),
        (&Method::GET | &Method::HEAD, "/ca.crt.pem" | "/crl.pem" | "/crl.der") => {
            let query = request.uri().query().and_then(|query| query.strip_prefix("issuer="));
            let issuer = query.map(str::to_owned);
            public(path, issuer, service).await
        }
        (_, "/ca.crt.pem" | "/crl.pem" | "/crl.der") => not_allowed("GET, HEAD"),
        _ => plain(
            StatusCode::NOT_FOUND,
            "POST /.well-known/cmp, GET /ca.crt.pem, /crl.pem, /crl.der\n",
        ),
    }
}

/// `/.well-known/cmp`, with a label of the authority's or an operation behind it or not.
fn is_under(path: &str, root: &str) -> bool {
    path.strip_prefix(root)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

async fn cmp(request: Request<Incoming>, from: IpAddr, service: Arc<Service>) -> Answer {
    let is_cmp = request
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| {
            value
                .split(';')
                .next()
                .is_some_and(|kind| kind.trim().eq_ignore_ascii_case(PKIX_CMP))
        });
    if !is_cmp {
        return plain(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "Content-Type: application/pkixcmp\n",
        );
    }
    let body = match body(request, LARGEST).await {
        Ok(body) => body,
        Err(answer) => return *answer,
    };
    let answered = tokio::task::spawn_blocking(move || service.cmp(from, &body, SystemTime::now())).await;
    match answered {
        Ok(Ok(der)) => typed(StatusCode::OK, PKIX_CMP, der),
        Ok(Err(error)) => failed(&error),
        Err(error) => failed(&error.to_string()),
    }
}

async fn public(path: String, issuer: Option<String>, service: Arc<Service>) -> Answer {
    match tokio::task::spawn_blocking(move || service.public(issuer.as_deref(), SystemTime::now())).await {
        Ok(Ok(public)) => match path.as_str() {
            "/ca.crt.pem" => typed(StatusCode::OK, PEM, public.roots),
            "/crl.pem" => typed(StatusCode::OK, PEM, public.lists),
            _ => match public.list {
                Some(der) => typed(StatusCode::OK, PKIX_CRL, der),
                None => plain(StatusCode::NOT_FOUND, "there is no list of this issuer\n"),
            },
        },
        Ok(Err(error)) => failed(&error),
        Err(error) => failed(&error.to_string()),
    }
}

/// What failed stands in our log; the other end learns that it may try again.
pub(super) fn failed(error: &str) -> Answer {
    tracing::error!(%error, "a request could not be answered");
    plain(
        StatusCode::SERVICE_UNAVAILABLE,
        "the authority cannot answer now; try again later\n",
    )
}
