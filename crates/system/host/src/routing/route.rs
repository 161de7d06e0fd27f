//! Routes of a table.

use std::fmt;
use std::net::IpAddr;

use super::{Attributes, Version, listed, network, number, octets, with};
use crate::netlink::{Family, Refused, Request};

/// Bytes of `rtmsg`: IP version, bits of receiver and sender, class, table of a byte, maker, scope,
/// type, flags.
const HEADER: usize = 12;
/// From linux/rtnetlink.h: scopes, types, attributes.
const EVERYWHERE: u8 = 0;
const ON_LINK: u8 = 253;
const UNICAST: u8 = 1;
const UNREACHABLE: u8 = 7;
const DESTINATION: u16 = 1;
const OUT: u16 = 4;
const METRIC: u16 = 6;
const PREFERRED_SOURCE: u16 = 7;
const CACHE: u16 = 12;
const TABLE: u16 = 15;
const PREFERENCE: u16 = 20;
const PAD: u16 = 27;
/// The number of the loopback interface, in every network namespace.
const LOOPBACK: u32 = 1;
/// The metric of IPv6 routes that name none.
const METRIC_OF_IPV6: u32 = 1024;

/// A route in a table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[must_use]
pub struct Route {
    version: Version,
    bits: u8,
    maker: u8,
    scope: u8,
    kind: u8,
    attributes: Attributes,
}

/// Routes that are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filter {
    /// Those of a table.
    Table(u32),
    /// Those of all tables that a program of this number has made.
    MadeBy(u8),
}

impl Route {
    /// The route to everywhere by an interface, in a table; `metric` ranks it behind others to the
    /// same network.
    pub fn new(version: Version, table: u32, interface: u32, metric: u32) -> Self {
        let route = Self {
            version,
            bits: 0,
            maker: 0,
            scope: if version == Version::V4 { ON_LINK } else { EVERYWHERE },
            kind: UNICAST,
            attributes: Attributes::new(),
        };
        let metric = match (version, metric) {
            (Version::V6, 0) => METRIC_OF_IPV6,
            (_, metric) => metric,
        };
        let route = if metric == 0 {
            route
        } else {
            route.attribute(METRIC, &metric.to_ne_bytes())
        };
        route
            .attribute(TABLE, &table.to_ne_bytes())
            .attribute(OUT, &interface.to_ne_bytes())
    }

    /// The route by loopback.
    pub fn loopback(version: Version, table: u32) -> Self {
        Self::new(version, table, LOOPBACK, 0)
    }

    /// The IPv4 route that makes destinations unreachable, whichever interface a socket is bound
    /// to.
    pub fn unreachable(table: u32, metric: u32) -> Self {
        let mut route = Self::new(Version::V4, table, 0, metric);
        route.attributes.remove(&OUT);
        (route.kind, route.scope) = (UNREACHABLE, EVERYWHERE);
        route
    }

    fn attribute(mut self, kind: u16, content: &[u8]) -> Self {
        self.attributes.insert(kind, content.to_vec());
        self
    }

    /// To a network alone.
    pub fn to(mut self, address: IpAddr, bits: u8) -> Self {
        self.bits = bits;
        if bits == 0 {
            self
        } else {
            self.attribute(DESTINATION, &octets(address))
        }
    }

    /// Packets without a sender get this one.
    pub fn source(self, address: IpAddr) -> Self {
        self.attribute(PREFERRED_SOURCE, &octets(address))
    }

    /// Made by a program of this number.
    pub fn made_by(mut self, program: u8) -> Self {
        self.maker = program;
        self
    }

    /// Its IP version.
    pub fn version(&self) -> Version {
        self.version
    }

    /// The table that it is in.
    pub fn table(&self) -> u32 {
        self.number(TABLE).unwrap_or(0)
    }

    fn number(&self, kind: u16) -> Option<u32> {
        number(self.attributes.get(&kind)?)
    }

    /// Adds it, in place of one to the same network with the same metric.
    ///
    /// # Errors
    ///
    /// The kernel's.
    pub fn put(&self) -> Result<(), Refused> {
        self.request(libc::RTM_NEWROUTE)
            .order((libc::NLM_F_CREATE | libc::NLM_F_REPLACE) as u16)
    }

    /// Removes it; that there is none is no error.
    ///
    /// # Errors
    ///
    /// The kernel's.
    pub fn remove(&self) -> Result<(), Refused> {
        match self.request(libc::RTM_DELROUTE).order(0) {
            Err(refused) if matches!(refused.source.raw_os_error(), Some(libc::ENOENT | libc::ESRCH)) => Ok(()),
            removed => removed,
        }
    }

    /// Those of an IP version in this network namespace.
    ///
    /// # Errors
    ///
    /// The kernel's.
    pub fn list(version: Version, filter: Filter) -> Result<Vec<Self>, Refused> {
        let mut header = [0; HEADER];
        header[0] = version.family();
        if let Filter::MadeBy(program) = filter {
            header[5] = program;
        }
        let mut question = Request::new(Family::Route, libc::RTM_GETROUTE, &header).strict();
        if let Filter::Table(table) = filter {
            question = question.attribute(TABLE, &table.to_ne_bytes());
        }
        // A kernel that does not filter lists all it has.
        let wanted = |route: &Self| match filter {
            Filter::Table(table) => route.table() == table,
            Filter::MadeBy(program) => route.maker == program,
        };
        listed(question, HEADER, |header, attributes| {
            let read = (header[0] == version.family()).then(|| Self::read(version, header, attributes));
            read.filter(wanted)
        })
    }

    /// Without what the kernel adds to each: defaults that are written out, and its own state.
    fn read(version: Version, header: &[u8], mut attributes: Attributes) -> Self {
        attributes.retain(|kind, _| ![0, CACHE, PREFERENCE, PAD].contains(kind));
        Self {
            version,
            bits: header[1],
            maker: header[5],
            scope: header[6],
            kind: header[7],
            attributes,
        }
    }

    fn request(&self, kind: u16) -> Request {
        let header = [
            self.version.family(),
            self.bits,
            0,
            0,
            0,
            self.maker,
            self.scope,
            self.kind,
            0,
            0,
            0,
            0,
        ];
        with(Request::new(Family::Route, kind, &header), &self.attributes)
    }
}

impl fmt::Display for Route {
    /// In the words of `ip route`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            UNICAST => {}
            UNREACHABLE => f.write_str("unreachable ")?,
            other => write!(f, "type {other} ")?,
        }
        let to = self.attributes.get(&DESTINATION).and_then(|to| network(to, self.bits));
        f.write_str(to.as_deref().unwrap_or("default"))?;
        for (kind, content) in &self.attributes {
            match (*kind, number(content)) {
                (DESTINATION | TABLE | METRIC, _) => {}
                (OUT, Some(LOOPBACK)) => f.write_str(" dev lo")?,
                (OUT, Some(other)) => write!(f, " dev #{other}")?,
                (PREFERRED_SOURCE, _) => {
                    let bits = if self.version == Version::V4 { 32 } else { 128 };
                    write!(f, " src {}", network(content, bits).unwrap_or_default())?;
                }
                (kind, _) => write!(f, " attribute {kind} {content:02x?}")?,
            }
        }
        write!(f, " table {}", self.table())?;
        if let Some(metric) = self.number(METRIC) {
            write!(f, " metric {metric}")?;
        }
        match self.maker {
            0 => Ok(()),
            program => write!(f, " protocol {program}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn route_is_printed_in_the_words_of_ip() {
        let peer = "10.1.0.2".parse().unwrap();
        let route = Route::loopback(Version::V4, 7443).to(peer, 32).made_by(74);
        assert_eq!(route.to_string(), "10.1.0.2 dev lo table 7443 protocol 74");
        let route = Route::unreachable(7443, 1).to(peer, 32).made_by(74);
        assert_eq!(
            route.to_string(),
            "unreachable 10.1.0.2 table 7443 metric 1 protocol 74"
        );
        let route = Route::loopback(Version::V6, 9);
        assert_eq!(route.to_string(), "default dev lo table 9 metric 1024");
    }

    #[test]
    fn table_that_was_never_filled_has_no_routes() {
        assert_eq!(Route::list(Version::V4, Filter::Table(0x7fff_0001)).unwrap(), []);
        assert_eq!(Route::list(Version::V6, Filter::Table(0x7fff_0001)).unwrap(), []);
        let local = Route::list(Version::V4, Filter::Table(255)).unwrap();
        assert!(local.iter().all(|route| route.table() == 255), "{local:?}");
    }
}
