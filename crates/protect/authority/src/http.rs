//! HTTP around the service (RFC 9811): bounded connections, bodies and times.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
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

use crate::est;
use crate::rate::Rate;
use crate::service::Service;
use bartizan_server::{Answer, Connections, body, contained, containing, not_allowed, plain, typed};

/// Connections of a listener at a time; beyond them the address with the most loses one.
const CONNECTIONS: usize = 256;
/// Enrolments under way: they wait for the authority's lock, and roots and lists are served next to them.
const ENROLMENTS: usize = CONNECTIONS / 2;
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

/// The requester and its connection.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) from: IpAddr,
    /// Raised while a complete request is being answered.
    asked: Arc<AtomicBool>,
    /// By TLS, for EST: the certificate that was shown, DER, or none.
    est: Option<Option<Arc<[u8]>>>,
}

/// Requests of all listeners are counted together.
#[derive(Debug, Clone)]
pub struct Limits {
    enrolments: Arc<Semaphore>,
    rate: Arc<Mutex<Rate>>,
    /// Handshakes, each of which costs as much as a request and need not have one: twice as many, so that one who asks too often learns why.
    handshakes: Arc<Mutex<Rate>>,
}

impl Limits {
    /// So many requests of one address a minute.
    pub fn new(per_minute: u32) -> Self {
        Self {
            enrolments: Arc::new(Semaphore::new(ENROLMENTS)),
            rate: Arc::new(Mutex::new(Rate::new(per_minute))),
            handshakes: Arc::new(Mutex::new(Rate::new(per_minute.saturating_mul(2)))),
        }
    }
}

/// Protocol of a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP with messages of CMP.
    Cmp,
    /// TLS with EST.
    Est,
}

/// Serves until it is dropped.
pub async fn serve(listener: TcpListener, protocol: Protocol, service: Arc<Service>, limits: Limits) {
    let mut connections = Connections::new(CONNECTIONS);
    loop {
        let (stream, from) = match listener.accept().await {
            Ok((stream, peer)) => (stream, peer.ip()),
            Err(error) => {
                tracing::debug!(%error, "cannot accept");
                sleep(BREATH).await;
                continue;
            }
        };
        let admits = |rate: &Mutex<Rate>| {
            let mut rate = rate.lock().unwrap_or_else(PoisonError::into_inner);
            rate.admits(from, Instant::now())
        };
        if protocol == Protocol::Est && !admits(&limits.handshakes) {
            continue;
        }
        let mut place = connections.place_of(from).await;
        let (service, limits) = (Arc::clone(&service), limits.clone());
        tokio::spawn(contained(async move {
            let asked = place.asked();
            let caller = |est| Caller {
                from,
                asked: Arc::clone(&asked),
                est,
            };
            let served = async {
                match protocol {
                    Protocol::Cmp => converse(stream, caller(None), service, limits).await,
                    Protocol::Est => {
                        let Ok(stream) = TlsAcceptor::from(service.tls()).accept(stream).await else {
                            return;
                        };
                        let shown = stream.get_ref().1.peer_certificates();
                        let shown = shown
                            .and_then(|chain| chain.first())
                            .map(|leaf| Arc::from(leaf.as_ref()));
                        converse(stream, caller(Some(shown)), service, limits).await;
                    }
                }
            };
            let served = timeout(PATIENCE, served);
            // A requester that was too slow or evicted may ask again.
            tokio::select! {
                _ = served => {}
                () = place.evicted() => {}
            }
        }));
    }
}

async fn converse(stream: impl AsyncRead + AsyncWrite + Unpin, caller: Caller, service: Arc<Service>, limits: Limits) {
    let service = service_fn(move |request: Request<Incoming>| {
        let (caller, service, limits) = (caller.clone(), Arc::clone(&service), limits.clone());
        async move {
            let asked = Arc::clone(&caller.asked);
            let answer = answer(request, caller, service, &limits).await;
            asked.store(true, Ordering::Relaxed);
            Ok::<_, Infallible>(answer)
        }
    });
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(16 * 1024)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

async fn answer(request: Request<Incoming>, caller: Caller, service: Arc<Service>, limits: &Limits) -> Answer {
    if !limits
        .rate
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .admits(caller.from, Instant::now())
    {
        let mut answer = plain(StatusCode::TOO_MANY_REQUESTS, "too many requests from this address\n");
        answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("60"));
        return answer;
    }
    let path = request.uri().path().to_owned();
    if let Some(certificate) = caller.est.clone() {
        return est::answer(request, caller.clone(), certificate, service, limits).await;
    }
    let is_cmp = path == "/pkix" || path.starts_with("/pkix/") || is_under(&path, "/.well-known/cmp");
    match (request.method(), path.as_str()) {
        (&Method::POST, _) if is_cmp => cmp(request, &caller, service, limits).await,
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

async fn cmp(request: Request<Incoming>, caller: &Caller, service: Arc<Service>, limits: &Limits) -> Answer {
    if !is_of_type(&request, PKIX_CMP) {
        return plain(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "Content-Type: application/pkixcmp\n",
        );
    }
    let from = caller.from;
    let work = move |body: Vec<u8>| service.cmp(from, &body, SystemTime::now());
    match caller.work(request, LARGEST, limits, work).await {
        Ok(der) => typed(StatusCode::OK, PKIX_CMP, der),
        Err(answer) => *answer,
    }
}

impl Caller {
    /// Reads the body of a request and has a thread work on it; at most [`ENROLMENTS`] do.
    pub(crate) async fn work<T: Send + 'static>(
        &self,
        request: Request<Incoming>,
        most: usize,
        limits: &Limits,
        work: impl FnOnce(Vec<u8>) -> Result<T, String> + Send + 'static,
    ) -> Result<T, Box<Answer>> {
        self.asked.store(false, Ordering::Relaxed);
        let (body, _) = body(request.into_body(), most, None).await?;
        self.asked.store(true, Ordering::Relaxed);
        let Ok(slot) = Arc::clone(&limits.enrolments).try_acquire_owned() else {
            return Err(Box::new(failed("too many enrolments are under way")));
        };
        let worked = apart(move || {
            let worked = work(body);
            drop(slot);
            worked
        });
        worked.await.map_err(|error| Box::new(failed(&error)))
    }
}

/// Roots and lists: no lock and no slot is needed for them.
async fn public(path: String, issuer: Option<String>, service: Arc<Service>) -> Answer {
    let published = match apart(move || service.published()).await {
        Ok(published) => published,
        Err(error) => return failed(&error),
    };
    match path.as_str() {
        "/ca.crt.pem" => typed(StatusCode::OK, PEM, published.roots_pem.to_owned()),
        "/crl.pem" => typed(StatusCode::OK, PEM, published.lists_pem.to_owned()),
        _ => match published.list(issuer.as_deref()) {
            Some(der) => typed(StatusCode::OK, PKIX_CRL, der.to_vec()),
            None => plain(StatusCode::NOT_FOUND, "there is no list of this issuer\n"),
        },
    }
}

/// Does work that may block, on a thread of its own. A panic of it is an error.
pub(crate) async fn apart<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let worked = tokio::task::spawn_blocking(move || containing(work)).await;
    worked.map_err(|error| error.to_string()).flatten()
}

/// Returns true if the body of a request is of this media type.
pub(crate) fn is_of_type(request: &Request<Incoming>, wanted: &str) -> bool {
    let value = request
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let kind = value.and_then(|value| value.split(';').next());
    kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case(wanted))
}

/// Logs the error; the client only learns that it may try again.
pub(crate) fn failed(error: &str) -> Answer {
    tracing::error!(%error, "a request could not be answered");
    plain(
        StatusCode::SERVICE_UNAVAILABLE,
        "the authority cannot answer now; try again later\n",
    )
}
