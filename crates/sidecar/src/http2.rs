//! The `http2` path: requests one by one over pooled connections.

mod attempts;
mod body;
mod exchange;
mod opening;
mod pool;
mod restraint;
mod serve;
mod turn;

use std::io;
use std::sync::Arc;

use bartizan_deployment::Limits;
use bytes::Bytes;
use h2::server::SendResponse;
use tokio::io::{AsyncRead, AsyncWrite};

pub(crate) use exchange::{Route, exchange};
pub(crate) use pool::{Pool, Target};
pub(crate) use restraint::Restraint;
pub(crate) use serve::serve;

use crate::failure::Failure;
use crate::metrics::Side;
use crate::problem::Problem;
use crate::shared::Shared;

/// What one stream may send ahead of its reader. A slow reader of a response makes the sidecar hold this much, no more.
const STREAM_WINDOW: u32 = 256 * 1024;
/// What one connection may send ahead of all its readers together.
const CONNECTION_WINDOW: u32 = 4 * 1024 * 1024;
/// What one stream may have waiting to be written before its sender is asked to wait.
const SEND_BUFFER: usize = 128 * 1024;

/// Requests of a peer's sidecar that may arrive together with their resets. It carries those of several functions, and answers
/// for them by a restraint of its own: a connection ended for one would take the requests of all.
const PEER_RESETS_WAITING: usize = 4096;

/// Settings towards a client: the network function, or a peer's sidecar.
fn server(limits: &Limits, side: Side) -> h2::server::Builder {
    let mut builder = h2::server::Builder::new();
    builder
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_concurrent_streams(limits.streams)
        .max_header_list_size(limits.header_bytes)
        .max_send_buffer_size(SEND_BUFFER);
    if side == Side::Inbound {
        builder.max_pending_accept_reset_streams(PEER_RESETS_WAITING);
    }
    builder
}

/// Settings towards a server: a peer's sidecar, or the network function.
fn client(limits: &Limits) -> h2::client::Builder {
    let mut builder = h2::client::Builder::new();
    builder
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .initial_max_send_streams(limits.streams as usize)
        .max_header_list_size(limits.header_bytes)
        .max_send_buffer_size(SEND_BUFFER)
        .enable_push(false);
    builder
}

/// Answers every request of a connection with the same failure, and asks the client to come back with a new one.
pub(crate) async fn refuse<IO>(shared: &Arc<Shared>, side: Side, stream: IO, failure: &Failure) -> io::Result<()>
where
    IO: AsyncRead + AsyncWrite + Unpin,
{
    let failed = |error: h2::Error| io::Error::other(error.to_string());
    let mut connection = server(&shared.limits, side).handshake(stream).await.map_err(failed)?;
    while let Some(accepted) = connection.accept().await {
        let (_request, mut respond) = accepted.map_err(failed)?;
        send_problem(shared, side, &mut respond, failure);
        connection.graceful_shutdown();
    }
    Ok(())
}

/// Answers one request in the place of the producer. Gives the status code.
pub(crate) fn send_problem(shared: &Shared, side: Side, respond: &mut SendResponse<Bytes>, failure: &Failure) -> u16 {
    shared.metrics.problem(side, &failure.peer, failure.why.as_str());
    let problem = Problem::of(failure);
    let body = problem.body();
    let head = problem.head(shared.node.as_str(), body.len());
    // A consumer that has gone does not need the answer.
    if let Ok(mut stream) = respond.send_response(head, false) {
        let _ = stream.send_data(body, true);
    }
    problem.status()
}
