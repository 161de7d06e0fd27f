//! The `http2` path: requests one by one over pooled connections; in HTTP/2 between sidecars, in whichever version network functions speak.
//!
//! A request is read, its head decoded, checked, routed and written to a connection of the pool within one turn of one task; the
//! response likewise. What is between is in [`exchange`]; the protocols themselves are `bartizan-http2` and `bartizan-http1`, without sockets.

mod attempts;
mod budget;
mod caller;
mod connection;
mod exchange;
mod link;
mod pool;
mod port;
mod resets;
mod serve;
mod shares;
#[cfg(test)]
mod tests;

use std::rc::Rc;
use std::sync::Arc;

use bartizan_deployment::Limits;
use bartizan_http2::{Bounds, Sweeps};
use tokio::io::{AsyncRead, AsyncWrite};

pub(crate) use budget::{Budget, Location, Reader};
pub(crate) use caller::Caller;
pub(crate) use connection::Version;
pub(crate) use exchange::Route;
pub(crate) use pool::{Occupancy, Pool, Target, WaitsFor};
pub(crate) use resets::ResetAllowance;
pub(crate) use serve::{Ended, Service, serve};

use crate::answers::failure::Failure;
use crate::metrics::Side;
use crate::runtime::ticks;
use crate::shared::Shared;

/// Bytes that one stream may send ahead of its reader. A slow reader of a response makes the
/// sidecar hold this much, no more.
const STREAM_WINDOW: u32 = 256 * 1024;
/// Bytes that one connection may have under way.
const CONNECTION_WINDOW: u32 = 4 * 1024 * 1024;
/// Longest time to read the rest of a request that was answered in the producer's place, in ticks:
/// two seconds.
const REFUSED_TICKS: u32 = 10;

/// Bounds of the memory that one connection may use.
fn bounds(limits: &Limits) -> Bounds {
    Bounds {
        streams: limits.streams,
        header_bytes: limits.header_bytes,
        stream_window: STREAM_WINDOW,
        connection_window: CONNECTION_WINDOW,
        // A body within its window, and heads before and trailers after it.
        waiting: STREAM_WINDOW as usize + 2 * limits.header_bytes as usize,
    }
}

/// After how many ticks a stream has been still for long enough. The sidecar of the node whose reader stalls ends it, not the one at the
/// other end of the link, whose own bound is the same and would blame the sidecar between them.
fn sweeps(limits: &Limits, location: Location) -> Sweeps {
    let stall = match location {
        Location::Local => limits.stall,
        Location::Remote => limits.stall + limits.stall / 2 + 2 * ticks::TICK,
    };
    Sweeps {
        stalled: ticks::within(stall),
        refused: REFUSED_TICKS,
    }
}

/// Answers every request of a connection with the same failure, and sends GOAWAY.
pub(crate) async fn refuse<IO>(
    shared: &Arc<Shared>,
    side: Side,
    stream: IO,
    first: Vec<u8>,
    failure: &Failure,
) -> Result<(), Ended>
where
    IO: AsyncRead + AsyncWrite + Unpin + 'static,
{
    let service = Service {
        shared,
        side,
        // It answers with a few hundred bytes.
        reader: Reader::new(&Rc::default(), Location::Local),
        resets: Rc::new(ResetAllowance::new()),
        route: |_: &_| Err(failure.clone()),
        caller: Caller::Function,
        refuses: true,
    };
    serve(service, Version::Http2, stream, first, shared.drain.guard()).await
}
