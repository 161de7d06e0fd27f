//! A small HTTP/1.1 endpoint without TLS, read only: metrics for Prometheus, the page of what is followed.
//!
//! It has a thread of its own, so many connections at a time, and so much time for each: a client
//! that is slow, or gone, holds up no other client. Where there is no place left, the connection
//! that has asked for nothing the longest gives its place to a new one.

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use http::request::Parts;
use http::{Method, Request, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Semaphore, oneshot};
use tokio::time::{sleep, timeout};

use crate::answer::{Answer, not_allowed, plain, typed};
use crate::connections::Connections;
use crate::panics::contained;

/// Connections at a time; others wait in the listener's queue.
const CONNECTIONS: usize = 256;
/// Requests that are answered at a time: an answer may have megabytes.
const ANSWERS: usize = 16;
/// From accept to the end of the answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// For a request's head, and its longest, in bytes.
const HEAD: Duration = Duration::from_secs(5);
const LONGEST: usize = 16 * 1024;
/// A pause where accepting fails: out of descriptors, for example.
const BREATH: Duration = Duration::from_millis(50);

/// Handler of a request, by its head alone.
pub type Answering = Arc<dyn Fn(&Parts) -> Answer + Send + Sync>;

/// A bound endpoint.
#[derive(Debug)]
pub struct Endpoint {
    listener: TcpListener,
    runtime: Runtime,
}

/// One that serves, until it is dropped.
#[derive(Debug)]
pub struct Serving {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Endpoint {
    /// Binds the address.
    ///
    /// # Errors
    /// The system's, where it is taken or not of this host.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        Ok(Self { listener, runtime })
    }

    /// The bound address.
    pub fn address(&self) -> Option<SocketAddr> {
        self.listener.local_addr().ok()
    }

    /// Begins to answer, on a thread of its own.
    #[must_use]
    pub fn serve(self, answering: Answering) -> Serving {
        let (stop, stopped) = oneshot::channel::<()>();
        let Self { listener, runtime } = self;
        let thread = std::thread::spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = accept(listener, answering) => {}
                    _ = stopped => {}
                }
            });
            // Requests under way end with the runtime, which does not wait for a slow client.
        });
        Serving {
            stop: Some(stop),
            thread: Some(thread),
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has said so.
            let _ = thread.join();
        }
    }
}

async fn accept(listener: TcpListener, answering: Answering) {
    let listener = match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => return tracing::error!(%error, "an endpoint cannot be served"),
    };
    let mut connections = Connections::new(CONNECTIONS);
    let answers = Arc::new(Semaphore::new(ANSWERS));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(BREATH).await;
            continue;
        };
        let mut place = connections.place().await;
        let (answering, answers) = (Arc::clone(&answering), Arc::clone(&answers));
        tokio::spawn(contained(async move {
            let asked = place.asked();
            // Until the answer has left.
            let turn = Arc::new(Mutex::new(None));
            let service = service_fn(|request: Request<Incoming>| {
                asked.store(true, Ordering::Relaxed);
                let (head, _) = request.into_parts();
                let (answering, answers, turn) = (Arc::clone(&answering), Arc::clone(&answers), Arc::clone(&turn));
                async move {
                    let permit = answers.acquire_owned().await.ok();
                    *turn.lock().unwrap_or_else(PoisonError::into_inner) = permit;
                    Ok::<_, Infallible>(match head.method {
                        Method::GET | Method::HEAD => answering(&head),
                        _ => not_allowed("GET, HEAD"),
                    })
                }
            });
            let served = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD)
                .max_buf_size(LONGEST)
                .keep_alive(false)
                .serve_connection(TokioIo::new(stream), service);
            // A client that was too slow or disconnected may ask again.
            tokio::select! {
                _ = timeout(PATIENCE, served) => {}
                () = place.evicted() => {}
            }
        }));
    }
}

/// Answers `/metrics` with a text in the format of Prometheus (OpenMetrics).
pub fn metrics(text: impl Fn() -> String + Send + Sync + 'static) -> Answering {
    Arc::new(move |head: &Parts| match head.uri.path() {
        "/metrics" => typed(
            StatusCode::OK,
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
            text(),
        ),
        _ => plain(StatusCode::NOT_FOUND, "only GET /metrics is served here\n"),
    })
}
