//! The network function on this host.

use std::net::SocketAddr;

use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::answers::failure::{Failure, Why};
use crate::listening::socket;
use crate::shared::Shared;

/// Connects to it.
pub(crate) async fn dial(shared: &Shared, address: SocketAddr) -> Result<TcpStream, Failure> {
    let (node, why) = (shared.node.as_str(), Why::FunctionUnreachable);
    let hint = || format!("is the network function running and listening on {address}?");
    let failed = |detail: String| Failure::new(node, why, detail, hint());
    match timeout(shared.limits.connect, TcpStream::connect(address)).await {
        Ok(Ok(stream)) => match socket::prepare(&stream) {
            Ok(()) => Ok(stream),
            Err(error) => Err(failed(format!("{address}: {error}"))),
        },
        Ok(Err(error)) => Err(Failure::undialled(node, (address, &error), why, hint())),
        Err(_) => {
            shared.metrics.limit_reached("connect");
            let waited = shared.limits.connect;
            Err(failed(format!("{address}: no answer to TCP within {waited:?}")))
        }
    }
}
