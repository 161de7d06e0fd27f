//! One message over HTTP and its answer (RFC 9811): a connection for each, without keeping it.

use std::net::ToSocketAddrs as _;
use std::time::Duration;

use bartizan_deployment::HttpUrl;
use bartizan_enrol::LARGEST;

use crate::commands::exchange::Request;
use crate::outcome::Failure;

const PATIENCE: Duration = Duration::from_secs(30);
const PATH: &str = "/.well-known/cmp";
const KIND: &str = "application/pkixcmp";

/// Sends a message and gives the one that answers it.
pub(super) fn post(server: &HttpUrl, message: &[u8]) -> Result<Vec<u8>, Failure> {
    let path = match server.path.as_str() {
        "/" => PATH,
        path => path,
    };
    let host = server.authority();
    let request = Request {
        line: &format!("POST {path}"),
        host: &host,
        body: Some((KIND, message)),
        largest: LARGEST,
        patience: PATIENCE,
    };
    let addresses = (server.host.as_str(), server.port).to_socket_addrs();
    let answer = addresses.and_then(|addresses| request.send(&addresses.collect::<Vec<_>>()));
    let answer = answer.map_err(|error| {
        Failure::new(format!("{host}{path}: {error}"))
            .hint("is `bartizan ca serve` running there, and reachable from here?")
    })?;
    // Some authorities send their refusals with a status of HTTP: the message says more.
    if answer.kind == KIND && !answer.body.is_empty() {
        return Ok(answer.body);
    }
    let (status, text) = (answer.status, answer.first_line());
    Err(Failure::new(format!(
        "{host}{path}: HTTP status {status}, no message of CMP: {text}"
    )))
}
