//! Connections of one probe, and their bounds.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use crate::Error;
use crate::tape::{FIN, From, Stream, Tape};

/// Connections of one probe, or requests over UDP.
pub(crate) const CONNECTIONS: u32 = 100;
/// Bytes that a server may send in one connection.
pub(crate) const BYTES: usize = 1 << 20;
/// Largest datagram (RFC 768).
pub(crate) const DATAGRAM: usize = 1 << 16;
/// Timeouts that a whole probe may last.
const TIMEOUTS: u32 = 20;

bartizan_registry::made! {
    /// One probe.
    pub struct Session<'a>,
    /// A probe of this server: `name` is what it is asked for, `progress` receives the number of
    /// the connection and its question.
    pub new(server: SocketAddr, name: Option<String>, timeout: Duration, progress: &'a mut dyn FnMut(u32, &str)) {
        pub(crate) server: SocketAddr,
        /// The name asked for; none where the user gave an address alone.
        pub(crate) name: Option<String>,
        pub(crate) timeout: Duration,
        ends: Instant = Instant::now() + timeout.saturating_mul(TIMEOUTS),
        pub(crate) connections: u32 = 0,
        progress: &'a mut dyn FnMut(u32, &str),
        pub(crate) tape: Tape = Tape::default(),
    }
}

impl<'a> Session<'a> {
    /// Counts one more connection, and gives its deadline.
    pub(crate) fn begin(&mut self, question: &str) -> Result<Instant, Error> {
        let now = Instant::now();
        if self.connections == CONNECTIONS || now >= self.ends {
            return Err(Error::Bound);
        }
        self.connections += 1;
        (self.progress)(self.connections, question);
        Ok(self.ends.min(now + self.timeout))
    }

    pub(crate) fn connect(&mut self, question: &str, taped: bool) -> Result<Connection<'_>, Error> {
        let deadline = self.begin(question)?;
        let stream = TcpStream::connect_timeout(&self.server, self.timeout).map_err(Error::unreachable)?;
        let client = stream.local_addr().map_err(Error::unreachable)?;
        let tape = taped.then(|| (self.tape.open(client, self.server), &mut self.tape));
        Ok(Connection {
            stream,
            tape,
            deadline,
            left: BYTES,
            ended: false,
        })
    }

    /// A socket over UDP that receives datagrams of the server alone.
    pub(crate) fn socket(&self) -> Result<UdpSocket, Error> {
        let any: IpAddr = match self.server {
            SocketAddr::V4(_) => [0; 4].into(),
            SocketAddr::V6(_) => [0; 16].into(),
        };
        let socket = UdpSocket::bind((any, 0)).map_err(Error::unreachable)?;
        socket.connect(self.server).map_err(Error::unreachable)?;
        Ok(socket)
    }

    /// The tape, and the number of connections.
    #[must_use]
    pub fn finish(self) -> (Tape, u32) {
        (self.tape, self.connections)
    }
}

/// Waits until `deadline` for a datagram, of at most this many bytes; none if there was none.
pub(crate) fn receive(socket: &UdpSocket, deadline: Instant, datagram: &mut [u8]) -> Result<Option<usize>, Error> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Ok(None);
    }
    socket.set_read_timeout(Some(left)).map_err(Error::unreachable)?;
    match socket.recv(datagram) {
        Ok(length) => Ok(Some(length)),
        Err(error) if is_timeout(&error) => Ok(None),
        Err(error) => Err(Error::unreachable(error)),
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// A connection with a deadline and a bound on its bytes.
pub(crate) struct Connection<'a> {
    stream: TcpStream,
    tape: Option<(Stream, &'a mut Tape)>,
    deadline: Instant,
    left: usize,
    ended: bool,
}

impl Connection<'_> {
    fn wait(&self) -> io::Result<Duration> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        match left.is_zero() {
            true => Err(ErrorKind::TimedOut.into()),
            false => Ok(left),
        }
    }

    /// Waits no longer than this for what follows.
    pub(crate) fn hurry(&mut self, longest: Duration) {
        self.deadline = self.deadline.min(Instant::now() + longest);
    }

    fn end(&mut self, from: From) {
        if let Some((stream, tape)) = &mut self.tape {
            tape.segment(stream, from, FIN, &[]);
        }
    }
}

impl Read for Connection<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(self.wait()?))?;
        let length = self.stream.read(buffer)?;
        self.left = self.left.checked_sub(length).ok_or(ErrorKind::FileTooLarge)?;
        if let Some((stream, tape)) = &mut self.tape {
            tape.bytes(stream, From::Server, &buffer[..length]);
        }
        if length == 0 && !buffer.is_empty() && !self.ended {
            self.ended = true;
            self.end(From::Server);
        }
        Ok(length)
    }
}

impl Write for Connection<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(self.wait()?))?;
        let length = self.stream.write(bytes)?;
        if let Some((stream, tape)) = &mut self.tape {
            tape.bytes(stream, From::Client, &bytes[..length]);
        }
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

impl Drop for Connection<'_> {
    fn drop(&mut self) {
        self.end(From::Client);
    }
}

impl Error {
    /// The fault that an error of the system tells of.
    pub(crate) fn of(error: &io::Error) -> Self {
        match error.kind() {
            _ if is_timeout(error) => Self::Silent,
            ErrorKind::FileTooLarge => Self::Endless,
            ErrorKind::UnexpectedEof
            | ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::BrokenPipe => Self::Closed,
            kind => Self::Unreachable(kind.into()),
        }
    }

    pub(crate) fn unreachable(error: io::Error) -> Self {
        match is_timeout(&error) {
            true => Self::Silent,
            false => Self::Unreachable(error),
        }
    }
}
