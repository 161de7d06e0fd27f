//! The service: a thread per connection.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};

use super::http;
use super::operation::{Keys, Operation};

/// Serves until the process ends.
///
/// # Errors
/// Fails when connections can no longer be accepted, or if there is no key.
pub fn serve(listener: &TcpListener) -> io::Result<()> {
    let keys = Arc::new(Keys::generate().map_err(io::Error::other)?);
    loop {
        let (socket, _) = listener.accept()?;
        let keys = Arc::clone(&keys);
        // A peer that breaks off ends its own thread only.
        thread::Builder::new().spawn(move || connection(&socket, &keys))?;
    }
}

fn connection(socket: &TcpStream, keys: &Keys) -> io::Result<()> {
    socket.set_nodelay(true)?;
    while let Some(asked) = http::read(socket)? {
        let began = Instant::now();
        let (status, mut answer) = match answer(keys, &asked.line, &asked.body) {
            Ok(answer) => ("200 OK", answer),
            Err(reason) => ("400 Bad Request", json!({ "error": reason })),
        };
        // Time of the call within the service, including parsing and formatting.
        answer["us"] = (began.elapsed().as_nanos() as f64 / 1e3).into();
        http::write(socket, &format!("HTTP/1.1 {status}"), "", answer.to_string().as_bytes())?;
        if asked.closes {
            break;
        }
    }
    Ok(())
}

fn answer(keys: &Keys, line: &str, body: &[u8]) -> Result<Value, String> {
    let mut words = line.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    if method != "POST" {
        return Err("only POST is served".to_owned());
    }
    let operation = Operation::at(path).ok_or_else(|| format!("there is no operation {path}"))?;
    let asked: Value = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    keys.perform(operation, &asked)
}
