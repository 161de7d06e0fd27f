//! The `http2` path: requests one by one over pooled connections.
//!
//! A request is read, its head decoded, checked, routed and written to a connection of the pool within one turn of one task; the
//! response likewise. What is between is in [`exchange`]; the protocol itself is `bartizan-http2`, without sockets.

mod attempts;
mod exchange;
mod link;
mod pool;
mod port;
mod restraint;
mod serve;

use std::sync::Arc;

use bartizan_deployment::Limits;
use bartizan_http2::Bounds;
use tokio::io::{AsyncRead, AsyncWrite};

pub(crate) use exchange::Route;
pub(crate) use pool::{Pool, Target};
pub(crate) use serve::{Ended, Service, serve};

use crate::failure::Failure;
use crate::metrics::Side;
use crate::shared::Shared;

/// What one stream may send ahead of its reader. A slow reader of a response makes the sidecar hold this much, no more.
const STREAM_WINDOW: u32 = 256 * 1024;
/// What one connection may send ahead of all its readers together.
const CONNECTION_WINDOW: u32 = 4 * 1024 * 1024;

/// What one connection may make us hold.
fn bounds(limits: &Limits) -> Bounds {
    Bounds {
        streams: limits.streams,
        header_bytes: limits.header_bytes,
        stream_window: STREAM_WINDOW,
        connection_window: CONNECTION_WINDOW,
    }
}

/// Answers every request of a connection with the same failure, and asks the client to come back with a new one.
pub(crate) async fn refuse<IO>(
    shared: &Arc<Shared>,
    side: Side,
    stream: IO,
    first: Vec<u8>,
    failure: &Failure,
) -> Result<(), Ended>
where
    IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = Service {
        shared,
        side,
        route: |_: &_| Err(failure.clone()),
        refuses: true,
    };
    serve(service, stream, first, shared.drain.guard()).await
}
