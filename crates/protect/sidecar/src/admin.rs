//! The admin port: HTTP/1.1 without TLS, read only.

pub(crate) mod config;
mod page;
mod paging;
pub(crate) mod process;
pub(crate) mod rules;
pub(crate) mod state;

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bartizan_server::{Answer, Connections, browser, contained, plain, typed};
use http::header::{ALLOW, VARY};
use http::{HeaderValue, Method, Request, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use prometheus_client::encoding::text;
use prometheus_client::registry::Registry;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};

use crate::admin::paging::Page;
use crate::admin::state::State;

/// Connections at a time.
const CONNECTIONS: usize = 256;
/// From accept to the end of the answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// A pause where accepting fails.
const BREATH: Duration = Duration::from_millis(50);
/// Media type that Prometheus asks for (OpenMetrics 1.0).
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// State that the admin port answers from.
#[derive(Debug)]
pub(crate) struct Admin {
    registry: Registry,
    state: Arc<State>,
}

impl Admin {
    pub(crate) fn new(registry: Registry, state: Arc<State>) -> Arc<Self> {
        Arc::new(Self { registry, state })
    }

    fn answer<B>(&self, request: &Request<B>) -> Answer {
        let mut answer = self.found(request);
        browser::protect(&mut answer);
        answer.headers_mut().insert(VARY, HeaderValue::from_static("accept"));
        answer
    }

    fn found<B>(&self, request: &Request<B>) -> Answer {
        let method = request.method();
        if method != Method::GET && method != Method::HEAD {
            let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD\n");
            response
                .headers_mut()
                .insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return response;
        }
        let path = request.uri().path();
        // Prometheus and probes ask by whatever name leads here.
        let for_any_name = matches!(path, "/metrics" | "/live" | "/ready");
        if !for_any_name && !browser::is_meant(request.uri(), request.headers(), &[]) {
            return plain(
                StatusCode::MISDIRECTED_REQUEST,
                "this host goes by its address or by localhost here; /metrics, /live and /ready answer to any name\n",
            );
        }
        match path {
            "/metrics" => {
                let mut metrics = String::new();
                match text::encode(&mut metrics, &self.registry) {
                    Ok(()) => typed(StatusCode::OK, OPEN_METRICS, metrics),
                    Err(_) => plain(StatusCode::INTERNAL_SERVER_ERROR, "metrics cannot be written\n"),
                }
            }
            "/live" => plain(StatusCode::OK, "live\n"),
            "/ready" => match self.state.ready() {
                Ok(()) => plain(StatusCode::OK, format!("ready\n{}", self.state.remarks())),
                Err(reason) => plain(StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n")),
            },
            "/connections" => match Page::of(request.uri().query()) {
                Some(page) => json(&self.state.connections(page)),
                None => plain(StatusCode::BAD_REQUEST, Page::USAGE),
            },
            "/state" => json(&self.state.links()),
            "/config" => json(&self.state.config()),
            "/page" => typed(StatusCode::OK, "text/html; charset=utf-8", page::HTML),
            "/page.css" => typed(StatusCode::OK, "text/css; charset=utf-8", page::STYLE),
            "/page.js" => typed(StatusCode::OK, "text/javascript; charset=utf-8", page::SCRIPT),
            "/" if page::is_wanted(request.headers()) => typed(StatusCode::OK, "text/html; charset=utf-8", page::HTML),
            "/" => plain(
                StatusCode::OK,
                "/metrics\n/live\n/ready\n/connections\n/state\n/config\n/page\n",
            ),
            _ => plain(StatusCode::NOT_FOUND, "see / for what there is\n"),
        }
    }
}

fn json(value: &Value) -> Answer {
    typed(StatusCode::OK, "application/json", format!("{value:#}\n"))
}

/// Serves until the process ends: an operator looks on while a sidecar drains. Where a successor has taken the port over, it is that one
/// that answers.
pub(crate) async fn serve(admin: Arc<Admin>, listener: TcpListener) {
    let mut connections = Connections::new(CONNECTIONS);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = admin.state.shared.drain.succeeded() => break,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::debug!(%error, "admin port cannot accept");
                sleep(BREATH).await;
                continue;
            }
        };
        let admin = Arc::clone(&admin);
        let mut place = connections.place().await;
        tokio::spawn(contained(async move {
            let asked = place.asked();
            let service = service_fn(move |request: Request<Incoming>| {
                asked.store(true, Ordering::Relaxed);
                let answer = admin.answer(&request);
                async move { Ok::<_, Infallible>(answer) }
            });
            let served = http1::Builder::new()
                .keep_alive(false)
                .serve_connection(TokioIo::new(stream), service);
            // A client that asked too slowly or went away may ask again.
            tokio::select! {
                _ = timeout(PATIENCE, served) => {}
                () = place.evicted() => {}
            }
        }));
    }
}
