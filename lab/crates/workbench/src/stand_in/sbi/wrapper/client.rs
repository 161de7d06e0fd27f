//! Client of the service.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::http;
use super::operation::Operation;
use crate::stand_in::sbi::{Connections, Error};

/// Time limit for a call.
const PATIENCE: Duration = Duration::from_secs(10);

/// Client of the service, with one kept connection or a new one for each call.
#[derive(Debug)]
pub struct Caller {
    address: SocketAddr,
    connections: Connections,
    kept: Option<TcpStream>,
}

/// A call that was answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Called {
    /// From before the connection or the request until the whole answer.
    pub took: Duration,
    /// The part of it within the service, by the service's clock.
    pub within: Duration,
    /// The answer.
    pub answer: Value,
}

impl Caller {
    /// One that has not connected yet.
    #[must_use]
    pub fn new(address: SocketAddr, connections: Connections) -> Self {
        Self {
            address,
            connections,
            kept: None,
        }
    }

    /// Has an operation done.
    ///
    /// # Errors
    /// Fails if the service cannot be reached, or refuses.
    pub fn call(&mut self, operation: Operation, body: &str) -> Result<Called, Error> {
        let url = format!("http://{}/{}", self.address, operation.name());
        let broken = |detail: String| Error::Broken {
            what: operation.name().to_owned(),
            url: url.clone(),
            detail,
        };
        let failed = |error: io::Error| broken(error.to_string());
        let began = Instant::now();
        let socket = match self.kept.take() {
            Some(socket) => socket,
            None => {
                let socket = TcpStream::connect(self.address).map_err(|source| Error::Unreachable {
                    url: url.clone(),
                    source,
                })?;
                socket.set_nodelay(true).map_err(failed)?;
                socket.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
                socket
            }
        };
        let closes = match self.connections {
            Connections::Kept => "",
            Connections::New => "Connection: close\r\n",
        };
        let line = format!("POST /{} HTTP/1.1", operation.name());
        let fields = format!("Host: {}\r\n{closes}", self.address);
        http::write(&socket, &line, &fields, body.as_bytes()).map_err(failed)?;
        let message = http::read(&socket).map_err(failed)?;
        let message = message.ok_or_else(|| broken("the connection was closed before the answer".to_owned()))?;
        let took = began.elapsed();
        let answer: Value = serde_json::from_slice(&message.body).map_err(|error| broken(error.to_string()))?;
        if !message.line.contains(" 200 ") || answer["valid"] == false {
            return Err(broken(format!("answered {}: {answer}", message.line)));
        }
        if self.connections == Connections::Kept {
            self.kept = Some(socket);
        }
        let within = answer["us"].as_f64().unwrap_or_default().max(0.0);
        Ok(Called {
            took,
            within: Duration::from_secs_f64(within / 1e6),
            answer,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::stand_in::sbi::wrapper::{Keys, serve};

    #[test]
    fn every_operation_is_called_on_kept_and_on_new_connections() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || serve(&listener));
        let bodies = Keys::generate().unwrap().bodies().unwrap();
        for connections in [Connections::Kept, Connections::New] {
            let mut caller = Caller::new(address, connections);
            for (operation, body) in Operation::ALL.into_iter().zip(&bodies) {
                let called = caller.call(operation, &body.to_string()).unwrap();
                assert!(called.within <= called.took, "{called:?}");
            }
            let error = caller.call(Operation::Verify, &bodies[4].to_string()).unwrap_err();
            assert!(error.to_string().contains("`publicKey` is missing"), "{error}");
        }
    }
}
