//! Negotiations that precede another protocol in one TCP stream because a proxy is on the way:
//! SOCKS and HTTP CONNECT, in which a client asks a proxy for a destination, and the header in
//! which a proxy names the source that it speaks for (PROXY protocol).
//!
//! The ends of such a connection stay those of its packets. The names in a negotiation are one
//! end's claim, in plaintext.

mod begins;
mod connect;
mod header;
mod session;
mod socks;

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use crate::{Moment, Seen};

pub(crate) use begins::{CONNECT, recognise};
pub(crate) use session::{Ended, Rest, Session};

/// Negotiations that are read within one stream, one behind the other; what is behind more of them is not read.
pub(crate) const DEPTH: u8 = 8;

bartizan_registry::named! {
    /// Protocol by which a stream goes through a proxy.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum ProxyProtocol, name {
        /// SOCKS version 4.
        Socks4 = "SOCKS4",
        /// SOCKS version 4A: the proxy resolves the name.
        Socks4a = "SOCKS4a",
        /// SOCKS version 5 (RFC 1928).
        Socks5 = "SOCKS5",
        /// HTTP CONNECT (RFC 9110, section 9.3.6).
        HttpConnect = "HTTP CONNECT",
        /// PROXY protocol, version 1: a line.
        ProxyV1 = "PROXY v1",
        /// PROXY protocol, version 2: binary.
        ProxyV2 = "PROXY v2",
    }
}

impl ProxyProtocol {
    /// Feature by which it is recognised on any port.
    pub fn recognised_by(self) -> &'static str {
        match self {
            Self::Socks4 | Self::Socks4a | Self::Socks5 => "structure of the request and of its answer",
            Self::HttpConnect => "request method",
            Self::ProxyV1 | Self::ProxyV2 => "first bytes of the stream",
        }
    }
}

bartizan_registry::named! {
    /// Request of a client to a proxy.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Command, name {
        /// A connection to the destination; of the PROXY protocol, one that comes from the source.
        Connect = "CONNECT",
        /// A connection from the destination, which the proxy waits for.
        Bind = "BIND",
        /// Datagrams, by a relay.
        UdpAssociate = "UDP ASSOCIATE",
        /// Nothing: the proxy speaks for itself (LOCAL of PROXY protocol version 2).
        Local = "LOCAL",
    }
}

/// A place that a negotiation names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// An address and a port.
    Socket(SocketAddr),
    /// An address.
    Host(IpAddr),
    /// A domain name, or what stands in its place, and a port.
    Name(Box<str>, u16),
    /// A path of a Unix socket.
    Unix(Box<str>),
}

impl Place {
    /// Its port, if it has one.
    pub fn port(&self) -> Option<u16> {
        match self {
            Self::Socket(socket) => Some(socket.port()),
            Self::Name(_, port) => Some(*port),
            Self::Host(_) | Self::Unix(_) => None,
        }
    }

    /// The same without its port: a source's is chosen at random.
    pub(crate) fn without_port(self) -> Self {
        match self {
            Self::Socket(socket) => Self::Host(socket.ip()),
            other => other,
        }
    }

    /// A name as the peer sent it, printable.
    pub(crate) fn name(name: &[u8], port: u16) -> Self {
        Self::Name(printable(name), port)
    }

    fn held(&self) -> usize {
        match self {
            Self::Socket(_) | Self::Host(_) => 0,
            Self::Name(name, _) | Self::Unix(name) => name.len() + 16,
        }
    }
}

/// Text of an unauthenticated peer; what is not printable ASCII becomes a question mark.
pub(crate) fn printable(text: &[u8]) -> Box<str> {
    let shown = |byte: &u8| {
        if byte.is_ascii_graphic() {
            char::from(*byte)
        } else {
            '?'
        }
    };
    text.iter().map(shown).collect()
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(socket) => socket.fmt(f),
            Self::Host(address) => address.fmt(f),
            Self::Name(name, port) => write!(f, "{name}:{port}"),
            Self::Unix(path) => write!(f, "unix:{path}"),
        }
    }
}

/// Authentication of a client to a proxy, in plaintext. The secret itself is not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Secret {
    /// A user's name and password of SOCKS5 (RFC 1929).
    UserPassword,
    /// `Proxy-Authorization` or `Authorization` of an HTTP request, with this scheme.
    Http(Box<str>),
}

/// Progress of a negotiation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    /// To its end: what is behind it is another protocol.
    Open,
    /// The proxy refused, last with this code: the status of HTTP, the reply of SOCKS.
    Refused(u16),
    /// The capture ends before the proxy's answer.
    Unanswered,
    /// Bytes of it are missing from the capture.
    Missing,
    /// It is longer than what is read of one.
    TooLong,
    /// It does not follow its standard, or its checksum is wrong.
    Malformed,
    /// A method of SOCKS5 that may protect all that is behind it, by its number: GSSAPI (1), or
    /// another that is not read.
    Method(u8),
    /// Datagrams go to a relay.
    Relay,
}

impl Stage {
    /// As reports write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Refused(_) => "refused",
            Self::Unanswered => "not answered",
            Self::Missing => "bytes missing",
            Self::TooLong => "too long",
            Self::Malformed => "malformed",
            Self::Method(_) => "method not read",
            Self::Relay => "relay",
        }
    }
}

bartizan_registry::made! {
    /// One negotiation with a proxy, or one header of a proxy.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Hop, pub(crate) new(protocol: ProxyProtocol) {
        /// The protocol.
        pub protocol: ProxyProtocol = protocol,
        /// The client's request.
        pub command: Command = Command::Connect,
        /// The source that the proxy speaks for, as it claims (PROXY protocol).
        pub source: Option<Place> = None,
        /// The destination that was asked for; in the PROXY protocol the one that the source asked for.
        pub destination: Option<Place> = None,
        /// The address that the proxy names: where it sends from, waits, or relays datagrams.
        pub bound: Option<Place> = None,
        /// Authentication of the client in plaintext.
        pub secret: Option<Seen<Secret>> = None,
        /// Progress.
        pub stage: Stage = Stage::Unanswered,
        /// Refusals before: a client may ask again with what it proves itself with.
        pub refusals: u8 = 0,
        /// Bytes of the client, and of the server.
        pub bytes: [u64; 2] = [0; 2],
        /// Bytes behind it that are not read, because it did not come to its end.
        pub unread: u64 = 0,
        /// Its first packet and its last.
        pub span: Option<(Moment, Moment)> = None,
        /// The TLS session between client and proxy, as claimed by a PROXY header.
        pub tls: Option<Box<str>> = None,
        /// Names of the other fields of a PROXY header.
        pub fields: Vec<&'static str> = Vec::new(),
    }
}

impl Hop {
    /// Returns true if it is longer than the prefix that a stream compares with retransmissions.
    /// The bytes behind it are then not certain to be those that the receiver took.
    #[must_use]
    pub fn is_beyond_comparison(&self) -> bool {
        /// Half of what is kept of a stream: the hellos of TLS have the other half.
        const COMPARED: u64 = 8 << 10;
        self.bytes.iter().any(|bytes| *bytes > COMPARED)
    }

    /// Bytes it holds on the heap, about.
    pub fn held(&self) -> usize {
        let places = [&self.source, &self.destination, &self.bound];
        places.into_iter().flatten().map(Place::held).sum::<usize>()
            + self.tls.as_ref().map_or(0, |tls| tls.len() + 16)
            + self.fields.capacity() * size_of::<&str>()
    }

    /// As a path names it.
    pub(crate) fn through(&self) -> Through {
        Through {
            protocol: self.protocol,
            command: self.command,
            from: self.source.clone().map(Place::without_port),
            to: self.destination.clone(),
        }
    }
}

/// A proxy that a conversation went through, as its path names it: without what differs from connection to connection.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Through {
    /// The protocol.
    pub protocol: ProxyProtocol,
    /// The client's request.
    pub command: Command,
    /// The source that a proxy speaks for.
    pub from: Option<Place>,
    /// The destination.
    pub to: Option<Place>,
}

impl fmt::Display for Hop {
    /// As its path, and how far it came where that is not to its end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.through().fmt(f)?;
        match self.stage {
            Stage::Open => {}
            Stage::Refused(code) => write!(f, ", refused ({code})")?,
            stage => write!(f, ", {}", stage.name())?,
        }
        match &self.tls {
            Some(tls) => write!(f, ", TLS of its client: {tls}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Through {
    /// `SOCKS5 to nrf.example:443`, `PROXY v2 from 192.0.2.1 to 198.51.100.7:443`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.protocol.name())?;
        if self.command != Command::Connect {
            write!(f, " {}", self.command.name())?;
        }
        if let Some(from) = &self.from {
            write!(f, " from {from}")?;
        }
        match &self.to {
            Some(to) => write!(f, " to {to}"),
            None => Ok(()),
        }
    }
}
