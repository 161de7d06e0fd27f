//! Protection between the association of a gNB and that of its AMF.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use crate::stand_in::e2::link::{Link, NODE, RIC};

/// Protection of N2, by its name as a level of a factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protection {
    /// Not: one association from host to host.
    None,
    /// Two socats, which copy what they read from SCTP into TLS of OpenSSL and back.
    Socat,
    /// Two sidecars, which carry the association over TLS.
    GatewayTls,
    /// The same over QUIC.
    GatewayQuic,
    /// ESP between the hosts, by two charons.
    Ipsec,
    /// A TCP connection in place of the association, not protected.
    Tcp,
    /// The same through two sidecars on path `splice`.
    Splice,
}

impl Protection {
    /// Every one.
    pub const ALL: [Self; 7] = [
        Self::None,
        Self::Socat,
        Self::GatewayTls,
        Self::GatewayQuic,
        Self::Ipsec,
        Self::Tcp,
        Self::Splice,
    ];

    /// The one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    /// The word in an experiment's file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Socat => "socat",
            Self::GatewayTls => "gateway-tls",
            Self::GatewayQuic => "gateway-quic",
            Self::Ipsec => "ipsec",
            Self::Tcp => "tcp",
            Self::Splice => "splice",
        }
    }

    /// True if two sidecars relay between the ends.
    #[must_use]
    pub const fn by_sidecars(self) -> bool {
        matches!(self, Self::GatewayTls | Self::GatewayQuic | Self::Splice)
    }

    /// True if two programs relay, each with its own connection to its function.
    #[must_use]
    pub const fn by_programs(self) -> bool {
        self.by_sidecars() || matches!(self, Self::Socat)
    }

    /// True if the ends speak TCP.
    #[must_use]
    pub const fn of_tcp(self) -> bool {
        matches!(self, Self::Tcp | Self::Splice)
    }

    /// True if SCTP is unreadable on the cable.
    #[must_use]
    pub const fn hides(self) -> bool {
        !matches!(self, Self::None | Self::Tcp)
    }
}

/// Addresses of a pair's parts. Each pair has its own ports, because several run at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Places {
    /// Address to which the gNB connects.
    pub entry: SocketAddr,
    /// Address on the AMF's host at which its program listens for the other one.
    pub middle: SocketAddr,
    /// Address at which the AMF listens.
    pub service: SocketAddr,
    /// Admin address of each program, on its own host.
    pub admin: SocketAddr,
}

/// The first port of the first pair, of four for each.
const FIRST: u16 = 38_500;

impl Places {
    /// Addresses of the pair of this number. Without programs, `protection` gives those of the
    /// association or connection itself.
    #[must_use]
    pub fn of(protection: Protection, number: u16) -> Self {
        let port = |one: u16| FIRST + 4 * number + one;
        let at = |address: Ipv4Addr, one| SocketAddr::new(IpAddr::V4(address), port(one));
        let (entry, service) = match protection {
            Protection::None | Protection::Ipsec => (Link::ric_address(), Link::ric_address()),
            Protection::Tcp => (at(RIC, 0), at(RIC, 0)),
            _ => (at(Ipv4Addr::LOCALHOST, 0), at(Ipv4Addr::LOCALHOST, 2)),
        };
        Self {
            entry,
            middle: at(RIC, 1),
            service,
            admin: at(Ipv4Addr::LOCALHOST, 3),
        }
    }

    /// From where the gNB dials.
    #[must_use]
    pub fn local(&self) -> SocketAddr {
        let address = if self.entry.ip().is_loopback() {
            Ipv4Addr::LOCALHOST
        } else {
            NODE
        };
        SocketAddr::new(IpAddr::V4(address), 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_and_pairs_share_no_port() {
        for one in Protection::ALL {
            assert_eq!(Protection::named(one.name()), Some(one));
        }
        let mut ports = std::collections::BTreeSet::new();
        for number in 0..20 {
            let places = Places::of(Protection::GatewayTls, number);
            for address in [places.entry, places.middle, places.service, places.admin] {
                assert!(ports.insert(address.port()), "{address}");
            }
        }
        assert!(Places::of(Protection::Socat, 0).local().ip().is_loopback());
        assert_eq!(Places::of(Protection::None, 0).local().ip(), IpAddr::V4(NODE));
    }
}
