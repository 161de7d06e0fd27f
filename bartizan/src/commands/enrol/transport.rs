//! One message over HTTP and its answer (RFC 9811): a connection for each, without keeping it.

use std::fmt;
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::str::FromStr;
use std::time::{Duration, Instant};

use bartizan_enrol::LARGEST;

use crate::outcome::Failure;

/// For a connection, and for an answer.
const PATIENCE: Duration = Duration::from_secs(30);
const LONGEST_HEAD: usize = 16 * 1024;
const PATH: &str = "/.well-known/cmp";

/// Address of the authority.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Server {
    host: String,
    port: u16,
    path: String,
}

impl FromStr for Server {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let uri: http::Uri = text.parse().map_err(|error| format!("{error}"))?;
        match uri.scheme_str() {
            Some("http") => {}
            Some("https") => {
                return Err("http:// is meant: CMP protects its messages itself, and TLS adds no trust".to_owned());
            }
            _ => return Err("a URL such as http://ca.5gc:8829".to_owned()),
        }
        let host = uri.host().filter(|host| !host.is_empty()).ok_or("no host in it")?;
        if uri
            .authority()
            .is_some_and(|authority| authority.as_str().contains('@'))
        {
            return Err("a user has no place in it".to_owned());
        }
        Ok(Self {
            host: host.trim_start_matches('[').trim_end_matches(']').to_owned(),
            port: uri.port_u16().unwrap_or(80),
            path: match uri.path() {
                "" | "/" => PATH.to_owned(),
                path => path.to_owned(),
            },
        })
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

impl Server {
    /// Sends a message and gives the one that answers it.
    pub(super) fn post(&self, message: &[u8]) -> Result<Vec<u8>, Failure> {
        let failed = |error: std::io::Error| {
            Failure::new(format!("{self}: {error}"))
                .hint("is `bartizan ca serve` running there, and reachable from here?")
        };
        let mut stream = self.connect().map_err(failed)?;
        stream.set_write_timeout(Some(PATIENCE)).map_err(failed)?;
        // HTTP/1.0: the answer ends with the connection, and never comes in chunks.
        let head = format!(
            "POST {} HTTP/1.0\r\nHost: {self}\r\nContent-Type: application/pkixcmp\r\nContent-Length: {}\r\n\r\n",
            self.path,
            message.len()
        );
        stream
            .write_all(head.as_bytes())
            .and_then(|()| stream.write_all(message))
            .map_err(failed)?;
        let answer = read_all(&mut stream).map_err(failed)?;
        parse(&answer).map_err(|reason| Failure::new(format!("{self}{}: {reason}", self.path)))
    }

    fn connect(&self) -> std::io::Result<TcpStream> {
        let mut last = std::io::Error::from(std::io::ErrorKind::AddrNotAvailable);
        for address in (self.host.as_str(), self.port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, PATIENCE) {
                Ok(stream) => return Ok(stream),
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

/// All that comes until the end of the connection, within the time and the size of an answer.
fn read_all(stream: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let deadline = Instant::now() + PATIENCE;
    let mut answer = Vec::new();
    let mut buffer = [0; 16 * 1024];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(std::io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut buffer)? {
            0 => return Ok(answer),
            read => answer.extend_from_slice(&buffer[..read]),
        }
        if answer.len() > LONGEST_HEAD + LARGEST {
            return Err(std::io::Error::other("the answer is longer than any message"));
        }
        if let Ok((_, _, body, Some(length))) = split(&answer)
            && answer.len() - body >= length
        {
            return Ok(answer);
        }
    }
}

/// Status, media type, where the body begins, and how long it is, of an answer whose head is whole.
fn split(answer: &[u8]) -> Result<(u16, String, usize, Option<usize>), String> {
    let mut fields = [httparse::EMPTY_HEADER; 64];
    let mut head = httparse::Response::new(&mut fields);
    let body = match head.parse(answer).map_err(|error| format!("no HTTP: {error}"))? {
        httparse::Status::Complete(body) => body,
        httparse::Status::Partial => return Err("the answer broke off".to_owned()),
    };
    let field = |name: &str| {
        head.headers
            .iter()
            .find(|field| field.name.eq_ignore_ascii_case(name))
            .and_then(|field| std::str::from_utf8(field.value).ok())
            .map(str::trim)
    };
    let length = field("content-length").and_then(|length| length.parse().ok());
    let kind = field("content-type").unwrap_or_default().to_owned();
    Ok((head.code.unwrap_or_default(), kind, body, length))
}

fn parse(answer: &[u8]) -> Result<Vec<u8>, String> {
    let (status, kind, at, length) = split(answer)?;
    let body = &answer[at..];
    let body = match length {
        Some(length) if length > body.len() => return Err("the answer broke off".to_owned()),
        Some(length) => &body[..length],
        None => body,
    };
    let is_cmp = kind
        .split(';')
        .next()
        .is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/pkixcmp"));
    // Some authorities send their refusals with a status of HTTP: the message says more.
    if is_cmp && !body.is_empty() {
        return Ok(body.to_vec());
    }
    let said: String = String::from_utf8_lossy(body)
        .lines()
        .next()
        .unwrap_or_default()
        .chars()
        .filter(|c| !c.is_control())
        .take(200)
        .collect();
    Err(format!("HTTP status {status}, no message of CMP: {said}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_read() {
        let read = |text: &str| text.parse::<Server>().map(|server| (server.to_string(), server.path));
        assert_eq!(
            read("http://ca.5gc:8829"),
            Ok(("ca.5gc:8829".to_owned(), PATH.to_owned()))
        );
        assert_eq!(
            read("http://[fd00::1]/pkix/"),
            Ok(("[fd00::1]:80".to_owned(), "/pkix/".to_owned()))
        );
        for wrong in ["https://ca.5gc", "ca.5gc:8829", "http://user@ca.5gc", "http:///", ""] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_answer_is_a_message_or_a_line() {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Type: application/pkixcmp\r\nContent-Length: 3\r\n\r\nabcd";
        assert_eq!(parse(answer), Ok(b"abc".to_vec()));
        let busy = b"HTTP/1.1 429 Too Many Requests\r\nContent-Type: text/plain\r\n\r\nslowly\nplease";
        assert!(parse(busy).unwrap_err().contains("429") && parse(busy).unwrap_err().ends_with("slowly"));
        let broken = b"HTTP/1.1 200 OK\r\nContent-Type: application/pkixcmp\r\nContent-Length: 9\r\n\r\nabc";
        assert!(parse(broken).unwrap_err().contains("broke off"));
        assert!(parse(b"SSH-2.0-x\r\n").unwrap_err().contains("no HTTP"));
    }
}
