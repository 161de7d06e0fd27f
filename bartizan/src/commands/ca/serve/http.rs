//! HTTP around the service (RFC 9811): who asks too much or too slowly is put off, and nothing of it is kept.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use bartizan_enrol::LARGEST;
use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use super::rate::Rate;
use super::service::Service;

/// Connections served at a time; others wait in the listener's queue.
const CONNECTIONS: usize = 64;
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

type Answer = Response<Full<Bytes>>;

/// Serves until it is dropped.
pub(super) async fn serve(listener: TcpListener, service: Arc<Service>, per_minute: u32) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let rate = Arc::new(Mutex::new(Rate::new(per_minute)));
    while let Ok(place) = Arc::clone(&places).acquire_owned().await {
        let (stream, from) = match listener.accept().await {
            Ok((stream, peer)) => (stream, peer.ip()),
            Err(error) => {
                tracing::debug!(%error, "cannot accept");
                sleep(BREATH).await;
                continue;
            }
        };
        let (service, rate) = (Arc::clone(&service), Arc::clone(&rate));
        tokio::spawn(async move {
            let service = service_fn(move |request: Request<Incoming>| {
                let (service, rate) = (Arc::clone(&service), Arc::clone(&rate));
                async move { Ok::<_, Infallible>(answer(request, from, service, &rate).await) }
            });
            let served = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD)
                .max_buf_size(16 * 1024)
                .serve_connection(TokioIo::new(stream), service);
            // Whoever asked too slowly or went away may ask again.
            let _ = timeout(PATIENCE, served).await;
            drop(place);
        });
    }
}

async fn answer(request: Request<Incoming>, from: IpAddr, service: Arc<Service>, rate: &Mutex<Rate>) -> Answer {
    if !rate
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .admits(from, Instant::now())
    {
        let mut answer = plain(StatusCode::TOO_MANY_REQUESTS, "too many requests from this address\n");
        answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("60"));
        return answer;
    }
    let path = request.uri().path().to_owned();
    let is_cmp = path == "/pkix" || path.starts_with("/pkix/") || is_under(&path, "/.well-known/cmp");
    match (request.method(), path.as_str()) {
        (&Method::POST, _) if is_cmp => cmp(request, from, service).await,
        (_, _) if is_cmp => not_allowed("POST"),
        (&Method::GET | &Method::HEAD, "/ca.crt.pem" | "/crl.pem" | "/crl.der") => public(path, service).await,
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
    let body = match Limited::new(request.into_body(), LARGEST).collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) if error.is::<http_body_util::LengthLimitError>() => {
            return plain(StatusCode::PAYLOAD_TOO_LARGE, "a message has at most 128 kB\n");
        }
        Err(_) => return plain(StatusCode::BAD_REQUEST, "the body broke off\n"),
    };
    let answered = tokio::task::spawn_blocking(move || service.cmp(from, &body, SystemTime::now())).await;
    match answered {
        Ok(Ok(der)) => typed(StatusCode::OK, PKIX_CMP, der),
        Ok(Err(error)) => failed(&error),
        Err(error) => failed(&error.to_string()),
    }
}

async fn public(path: String, service: Arc<Service>) -> Answer {
    match tokio::task::spawn_blocking(move || service.public(SystemTime::now())).await {
        Ok(Ok(public)) => match path.as_str() {
            "/ca.crt.pem" => typed(StatusCode::OK, PEM, public.root),
            "/crl.pem" => typed(StatusCode::OK, PEM, public.lists),
            _ => match public.list {
                Some(der) => typed(StatusCode::OK, PKIX_CRL, der),
                None => plain(StatusCode::NOT_FOUND, "no list was signed yet\n"),
            },
        },
        Ok(Err(error)) => failed(&error),
        Err(error) => failed(&error.to_string()),
    }
}

/// What failed stands in our log; the other end learns that it may try again.
fn failed(error: &str) -> Answer {
    tracing::error!(%error, "a request could not be answered");
    plain(
        StatusCode::SERVICE_UNAVAILABLE,
        "the authority cannot answer now; try again later\n",
    )
}

fn not_allowed(methods: &'static str) -> Answer {
    let mut answer = plain(StatusCode::METHOD_NOT_ALLOWED, format!("only {methods}\n"));
    answer.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
    answer
}

fn plain(status: StatusCode, body: impl Into<Bytes>) -> Answer {
    typed(status, "text/plain; charset=utf-8", body)
}

fn typed(status: StatusCode, media_type: &'static str, body: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(body.into()));
    *answer.status_mut() = status;
    answer
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    answer
}
