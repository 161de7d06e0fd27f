//! `/metrics` over HTTP, for Prometheus: one request per connection, nothing else is served.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use crate::Failure;

/// How long a client may take for its request, and for the answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The longest head of a request that is read, in bytes.
const LONGEST: usize = 8192;

/// A bound endpoint.
pub(crate) struct Endpoint(TcpListener);

impl Endpoint {
    pub(crate) fn bind(address: SocketAddr) -> Result<Self, Failure> {
        let failed =
            |error| Failure::new(format!("--metrics {address}: {error}")).hint("choose a free port of this host");
        let listener = TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        Ok(Self(listener))
    }

    pub(crate) fn address(&self) -> Option<SocketAddr> {
        self.0.local_addr().ok()
    }

    /// Answers with what `metrics` gives, in the text format of Prometheus (OpenMetrics), until `stop` says so.
    pub(crate) fn serve(&self, metrics: &dyn Fn() -> String, stop: &dyn Fn() -> bool) {
        while !stop() {
            match self.0.accept() {
                // A client that breaks off costs nobody else anything.
                Ok((stream, _)) => drop(answer(stream, metrics)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::sleep(Duration::from_millis(50)),
                // Out of descriptors, for example: what is there must end first.
                Err(_) => std::thread::sleep(Duration::from_millis(500)),
            }
        }
    }
}

fn answer(mut stream: TcpStream, metrics: &dyn Fn() -> String) -> std::io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut head = Vec::new();
    let mut buffer = [0; 1024];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") && head.len() < LONGEST {
        match stream.read(&mut buffer)? {
            0 => return Ok(()),
            read => head.extend_from_slice(&buffer[..read]),
        }
    }
    let (status, body) = if head.starts_with(b"GET /metrics ") {
        ("200 OK", metrics())
    } else {
        ("404 Not Found", "only GET /metrics is served here\n".to_owned())
    };
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}
