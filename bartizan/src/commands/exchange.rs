//! One HTTP/1.0 request on a connection of its own, and its answer, bounded in size and time.

use std::io::{self, Error, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Most octets of an answer besides its body.
const LONGEST_HEAD: usize = 16 << 10;
/// Least time for a connection to one of several addresses.
const LEAST: Duration = Duration::from_secs(1);

/// An answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// Media type without parameters.
    pub(super) kind: String,
    pub(super) body: Vec<u8>,
}

/// A request.
pub(super) struct Request<'a> {
    /// `GET /path`.
    pub(super) line: &'a str,
    pub(super) host: &'a str,
    /// Media type and body of a request that has one.
    pub(super) body: Option<(&'a str, &'a [u8])>,
    /// Most octets of the answer's body.
    pub(super) largest: usize,
    /// For the whole exchange.
    pub(super) patience: Duration,
}

impl Request<'_> {
    /// Sends it to the first of these addresses that can be reached.
    ///
    /// # Errors
    /// Fails if none is reached, if time or size are exceeded, and if the answer is not HTTP.
    pub(super) fn send(&self, to: &[SocketAddr]) -> io::Result<Answer> {
        let deadline = Instant::now() + self.patience;
        let left = || match deadline.saturating_duration_since(Instant::now()) {
            Duration::ZERO => Err(Error::from(ErrorKind::TimedOut)),
            left => Ok(left),
        };
        let mut stream = reach(to, left, TcpStream::connect_timeout)?;
        stream.set_write_timeout(Some(left()?))?;
        // HTTP/1.0: the answer ends with the connection, and never comes in chunks.
        let mut head = format!("{} HTTP/1.0\r\nHost: {}\r\n", self.line, self.host);
        if let Some((kind, body)) = self.body {
            head += &format!("Content-Type: {kind}\r\nContent-Length: {}\r\n", body.len());
        }
        stream.write_all(head.as_bytes())?;
        stream.write_all(b"\r\n")?;
        stream.write_all(self.body.map_or(&[], |(_, body)| body))?;
        let mut answer = Vec::new();
        let mut buffer = [0; 16 << 10];
        loop {
            stream.set_read_timeout(Some(left()?))?;
            let read = stream.read(&mut buffer)?;
            answer.extend_from_slice(&buffer[..read]);
            if answer.len() > LONGEST_HEAD + self.largest {
                let cause = format!("the answer has more than {} octets", self.largest);
                return Err(Error::other(cause));
            }
            let whole = parse(&answer, read == 0).map_err(|cause| Error::new(ErrorKind::InvalidData, cause))?;
            if let Some(answer) = whole {
                return Ok(answer);
            }
        }
    }
}

/// Connects to the first address that can be reached. Each gets its part of the time that is left:
/// one that drops packets leaves some to the others.
fn reach<S>(
    to: &[SocketAddr],
    left: impl Fn() -> io::Result<Duration>,
    connect: impl Fn(&SocketAddr, Duration) -> io::Result<S>,
) -> io::Result<S> {
    let mut reached = Err(ErrorKind::AddrNotAvailable.into());
    for (place, address) in to.iter().enumerate() {
        let Ok(left) = left() else { break };
        let waiting = u32::try_from(to.len() - place).unwrap_or(u32::MAX);
        let part = (left / waiting).max(LEAST).min(left);
        reached = connect(address, part);
        if reached.is_ok() {
            break;
        }
    }
    reached
}

/// The answer, once it is whole; `ended` where no more octets come.
fn parse(text: &[u8], ended: bool) -> Result<Option<Answer>, String> {
    let mut fields = [httparse::EMPTY_HEADER; 64];
    let mut head = httparse::Response::new(&mut fields);
    let at = match head.parse(text).map_err(|error| format!("no HTTP: {error}"))? {
        httparse::Status::Complete(at) => at,
        httparse::Status::Partial if ended => return Err("the answer broke off".to_owned()),
        httparse::Status::Partial if text.len() > LONGEST_HEAD => return Err("its head does not end".to_owned()),
        httparse::Status::Partial => return Ok(None),
    };
    let field = |name: &str| {
        let found = head.headers.iter().find(|field| field.name.eq_ignore_ascii_case(name));
        found.and_then(|field| std::str::from_utf8(field.value).ok())
    };
    let body = &text[at..];
    let body = match field("content-length").and_then(|length| length.trim().parse().ok()) {
        Some(length) if length <= body.len() => &body[..length],
        Some(_) if ended => return Err("the answer broke off".to_owned()),
        None if ended => body,
        _ => return Ok(None),
    };
    let kind = field("content-type").and_then(|kind| kind.split(';').next());
    Ok(Some(Answer {
        status: head.code.unwrap_or_default(),
        kind: kind.unwrap_or_default().trim().to_ascii_lowercase(),
        body: body.to_vec(),
    }))
}

impl Answer {
    /// The first line of the body, for a message.
    pub(super) fn first_line(&self) -> String {
        let text = String::from_utf8_lossy(&self.body);
        let line = text.lines().next().unwrap_or_default().chars();
        line.filter(|c| !c.is_control()).take(200).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// A name with a dead address of IPv6 was never reached.
    #[test]
    fn an_address_that_drops_packets_leaves_time_to_the_others() {
        let time = Cell::new(Duration::from_secs(20));
        let left = || match time.get() {
            Duration::ZERO => Err(Error::from(ErrorKind::TimedOut)),
            left => Ok(left),
        };
        let to = ["[fd00::1]:1", "192.0.2.1:2", "192.0.2.2:3"].map(|to| to.parse().unwrap());
        let serving = |port: u16| {
            time.set(Duration::from_secs(20));
            reach(&to, left, |address, part| match address.port() == port {
                true => Ok(port),
                false => {
                    time.set(time.get() - part);
                    Err(Error::other(address.to_string()))
                }
            })
        };
        assert_eq!(serving(3).unwrap(), 3);
        assert!(left().unwrap() > Duration::from_secs(6), "{:?}", left());
        assert_eq!(serving(4).unwrap_err().to_string(), "192.0.2.2:3");
    }

    #[test]
    fn an_answer_ends_with_its_length_or_its_connection() {
        let whole = b"HTTP/1.1 200 OK\r\nContent-Type: Application/pkixcmp; a=b\r\nContent-Length: 3\r\n\r\nabcd";
        let answer = parse(whole, false).unwrap().expect("it is whole");
        assert_eq!((answer.status, answer.kind.as_str()), (200, "application/pkixcmp"));
        assert_eq!(answer.body, b"abc");
        let open = b"HTTP/1.1 429 Too Many Requests\r\n\r\nslowly\nplease";
        assert_eq!(parse(open, false), Ok(None));
        let answer = parse(open, true).unwrap().expect("it has ended");
        assert_eq!((answer.status, answer.first_line().as_str()), (429, "slowly"));
        let broken = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc";
        assert_eq!(parse(broken, false), Ok(None));
        for broken in [&broken[..], b"HTTP/1.1 2", b""] {
            assert!(parse(broken, true).unwrap_err().contains("broke off"));
        }
        assert!(parse(b"SSH-2.0-x\r\n", false).unwrap_err().contains("no HTTP"));
        let endless = [b"HTTP/1.1 200 OK\r\na: ".to_vec(), vec![b'a'; LONGEST_HEAD]].concat();
        assert!(parse(&endless, false).unwrap_err().contains("does not end"));
    }
}
