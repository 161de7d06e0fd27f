//! The ends of what is no TCP connection: hosts, with ports where the protocol has them, and
//! stations of frames without IP.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use crate::frames::Station;

/// Address of an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Address {
    /// An IP address.
    Ip(IpAddr),
    /// A station's, of frames that carry no IP.
    Station(Station),
}

impl Address {
    /// The IP address, if it is one.
    pub fn ip(self) -> Option<IpAddr> {
        match self {
            Self::Ip(address) => Some(address),
            Self::Station(_) => None,
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(address) => address.fmt(f),
            Self::Station(station) => station.fmt(f),
        }
    }
}

impl From<IpAddr> for Address {
    fn from(address: IpAddr) -> Self {
        Self::Ip(address)
    }
}

/// One end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum End {
    /// A port of a host.
    Socket(SocketAddr),
    /// A host.
    Host(IpAddr),
    /// A station.
    Station(Station),
}

impl End {
    /// The address without a port.
    pub fn address(self) -> Address {
        match self {
            Self::Socket(socket) => Address::Ip(socket.ip()),
            Self::Host(address) => Address::Ip(address),
            Self::Station(station) => Address::Station(station),
        }
    }

    /// Its port, if it has one.
    pub fn port(self) -> Option<u16> {
        match self {
            Self::Socket(socket) => Some(socket.port()),
            Self::Host(_) | Self::Station(_) => None,
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(socket) => socket.fmt(f),
            Self::Host(address) => address.fmt(f),
            Self::Station(station) => station.fmt(f),
        }
    }
}
