//! Sidecars are asked what they carry: each ready pod's admin port, once in five minutes, few at a time.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bartizan_controller::SidecarState;
use bytes::Bytes;
use http::header::HOST;
use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::client::conn::http1::handshake;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::timeout;

use crate::reflector::Change;
use crate::store::Store;

/// Between two questions to one sidecar.
const AGAIN: Duration = Duration::from_secs(300);
/// From connecting to the end of the answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// Asked at a time.
const FEW: usize = 16;
/// It is looked for sidecars to ask so often: with the above up to 32 in a second, fewer while a turn writes.
pub(crate) const PAUSE: Duration = Duration::from_millis(500);
/// An answer has at most so many bytes: a link takes some hundred.
const LONGEST: usize = 256 << 10;

/// A pod whose sidecar is to be asked.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) namespace: String,
    pub(crate) pod: String,
    pub(crate) address: SocketAddr,
}

bartizan_registry::made! {
    pub(crate) struct SidecarStatus, pub(crate) new(changes: mpsc::Sender<Change>) {
        places: Arc<Semaphore> = Arc::new(Semaphore::new(FEW)),
        changes: mpsc::Sender<Change>,
    }
}

impl SidecarStatus {
    /// Asks those whose turn it is; answers come as changes.
    pub(crate) fn ask(&self, store: &mut Store) {
        let targets = store.due(AGAIN, self.places.available_permits());
        for target in targets {
            let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
                return;
            };
            let changes = self.changes.clone();
            tokio::spawn(async move {
                let asked = timeout(PATIENCE, ask(target.address)).await;
                let said = asked.unwrap_or_else(|_| Err("no answer in time".to_owned()));
                drop(place);
                let _ = changes.send(Change::Said(target, said)).await;
            });
        }
    }
}

async fn ask(address: SocketAddr) -> Result<SidecarState, String> {
    let stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
    let (mut sender, connection) = handshake(TokioIo::new(stream))
        .await
        .map_err(|error| error.to_string())?;
    let request = Request::get("/state")
        .header(HOST, address.to_string())
        .body(Empty::<Bytes>::new())
        .map_err(|error| error.to_string())?;
    tokio::spawn(async move {
        // The task that awaits the answer sees the error, and this task ends with the request.
        let _ = connection.await;
    });
    let answer = sender.send_request(request).await.map_err(|error| error.to_string())?;
    match answer.status() {
        StatusCode::OK => {}
        StatusCode::NOT_FOUND => return Err("its sidecar is of a version without /state".to_owned()),
        other => return Err(format!("its admin port answers {other}")),
    }
    let body = Limited::new(answer.into_body(), LONGEST).collect().await;
    let text = body.map_err(|error| error.to_string())?.to_bytes();
    SidecarState::read(&text)
}
