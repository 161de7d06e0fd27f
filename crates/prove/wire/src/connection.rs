//! A TCP connection as packets showed it.

use std::net::SocketAddr;

use crate::http1::Http1;
use crate::http2::Http2;
use crate::opening::Opening;
use crate::path::Path;
use crate::plaintext::Spoken;
use crate::proxy::Hop;
use crate::ssh::Ssh;
use crate::tcp::StreamCounts;
use crate::tls::Tls;
use crate::{Moment, Start};

/// End of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ending {
    /// Both ends said FIN.
    Closed,
    /// One end said RST.
    Reset,
    /// The same addresses and ports began a new one.
    Replaced,
    /// It was still there when the capture ended.
    Open,
}

/// Evidence that distinguishes client and server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Roles {
    /// By who sent SYN.
    Syn,
    /// Content (a ClientHello, a request). It outweighs SYN: in a call home (RFC 8071) the TLS
    /// client is the end that accepted the connection.
    Content,
    /// By the lower port number: a guess.
    Port,
}

/// Packets of the capture, put together from which it was or not, and those of their bytes that are
/// in it. Each packet belongs to one conversation, or to what a report counts by name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Captured {
    /// Packets.
    pub packets: u64,
    /// Bytes of their frames.
    pub bytes: u64,
}

impl Captured {
    pub(crate) fn add(&mut self, other: Self) {
        self.packets += other.packets;
        self.bytes += other.bytes;
    }

    /// Counts what is counted elsewhere.
    pub(crate) fn remove(&mut self, other: Self) {
        self.packets -= other.packets;
        self.bytes -= other.bytes;
    }
}

/// Traffic of one end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Packets, with and without payload.
    pub packets: u64,
    /// Byte counts of TCP reassembly.
    pub stream: StreamCounts,
}

/// Content of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// No payload.
    Nothing,
    /// TLS.
    Tls(Box<Tls>),
    /// HTTP/2 in plaintext.
    Http2(Box<Http2>),
    /// HTTP/1 in plaintext.
    Http1(Box<Http1>),
    /// SSH.
    Ssh(Box<Ssh>),
    /// IKE and ESP in TCP, which are given by themselves; with the packet from which on they could
    /// not be found.
    IkeInTcp(Option<Moment>),
    /// A protocol that is known by name, in plaintext to its end.
    Plaintext(Spoken),
    /// A negotiation with a proxy behind which nothing is, or nothing is read.
    Proxy(Box<Hop>),
    /// None of these.
    Unknown(Opening),
}

/// A TCP connection, at its end or at the capture's. Only an [`Observer`](crate::Observer) makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connection {
    /// Its place in the order of first packets, from 1.
    pub number: u64,
    /// The end that asks.
    pub client: SocketAddr,
    /// The end that answers.
    pub server: SocketAddr,
    /// Evidence that distinguishes client and server.
    pub roles: Roles,
    /// First packet.
    pub first: Moment,
    /// Last packet.
    pub last: Moment,
    /// Start: seen from the first packet, or in midstream.
    pub start: Start,
    /// End of the connection.
    pub ending: Ending,
    /// Traffic from the client.
    pub from_client: Traffic,
    /// Traffic from the server.
    pub from_server: Traffic,
    /// Segments were taken whose checksum is wrong, before others of their sender had right ones.
    pub sums_changed: bool,
    /// Encapsulation on the way to the first receiver.
    pub path: Path,
    /// The same on the way back, where it differs.
    pub path_back: Option<Path>,
    /// Packets of the capture that belong to it.
    pub captured: Captured,
    /// Negotiations with proxies, in order, that precede what it carried.
    pub proxies: Vec<Hop>,
    /// Content.
    pub content: Content,
}

impl Connection {
    /// All negotiations with proxies, also one behind which nothing is read.
    pub fn negotiations(&self) -> impl Iterator<Item = &Hop> {
        self.proxies.iter().chain(self.content.negotiation())
    }
}

impl Content {
    /// A negotiation with a proxy behind which nothing is read, where it is that.
    pub(crate) fn negotiation(&self) -> Option<&Hop> {
        match self {
            Self::Proxy(hop) => Some(hop),
            _ => None,
        }
    }
}
