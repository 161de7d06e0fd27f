//! A traffic selector as charon prints it: `10.78.1.1/32[132/36421]`.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::OnceLock;

use bartizan_wire::ip;

bartizan_registry::made! {
    /// Packets by an address, protocol and port of one end (RFC 7296, section 3.13.1).
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct TrafficSelector,
    /// Reads one; none where it is none, or one that names no addresses (`dynamic`) or an opaque port.
    #[must_use]
    pub parse(text: &str) -> Option<Self> {
        let (addresses, more) = match text.split_once('[') {
            Some((addresses, more)) => (addresses, more.strip_suffix(']')?),
            None => (text, ""),
        };
        let (protocol, port) = more.split_once('/').unwrap_or((more, ""));
        let protocol = match protocol {
            "" | "0" => None,
            word => Some(protocol_named(word)?),
        };
        let ports = match port {
            "" => [0, u16::MAX],
            word => match word.split_once('-') {
                Some((first, last)) if first.parse::<u16>().is_ok() => [first.parse().ok()?, last.parse().ok()?],
                _ => [word.parse().ok().or_else(|| service(word, protocol?))?; 2],
            },
        };
        /// First and last address, both of it.
        addresses: [IpAddr; 2] = range(addresses)?,
        /// None for all of them.
        pub(crate) protocol: Option<u8>,
        /// First and last port, both of it.
        pub(crate) ports: [u16; 2],
    }
}

impl TrafficSelector {
    /// As the engine negotiates it.
    pub fn negotiated(&self) -> bartizan_ike::Selector {
        bartizan_ike::Selector {
            protocol: self.protocol.unwrap_or(0),
            ports: (self.ports[0], self.ports[1]),
            addresses: (self.addresses[0], self.addresses[1]),
        }
    }

    /// Its address, where it is of one alone; else `likely`, where that is among them.
    pub(crate) fn address(&self, likely: Option<IpAddr>) -> Option<IpAddr> {
        let [first, last] = self.addresses;
        let is_within = |ip: &IpAddr| ip.is_ipv4() == first.is_ipv4() && first <= *ip && *ip <= last;
        if first == last {
            Some(first)
        } else {
            likely.filter(is_within)
        }
    }

    /// Returns true if every packet of the other is of this one too.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        let [first, last] = self.addresses;
        let [other_first, other_last] = other.addresses;
        let addresses = first.is_ipv4() == other_first.is_ipv4() && first <= other_first && other_last <= last;
        let protocol = self.protocol.is_none() || self.protocol == other.protocol;
        let ports = self.ports[0] <= other.ports[0] && other.ports[1] <= self.ports[1];
        addresses && protocol && ports
    }
}

/// The number of a protocol by its name in /etc/protocols, where a host has that, or by its number.
pub(crate) fn protocol_named(word: &str) -> Option<u8> {
    match word {
        "tcp" => Some(ip::TCP),
        "udp" => Some(ip::UDP),
        "ipv6-icmp" => Some(ip::ICMPV6),
        "sctp" => Some(ip::SCTP),
        number => number.parse().ok(),
    }
}

/// `10.78.1.0/24` or `10.78.1.1..10.78.1.9`.
fn range(text: &str) -> Option<[IpAddr; 2]> {
    if let Some((first, last)) = text.split_once("..") {
        return Some([first.parse().ok()?, last.parse().ok()?]);
    }
    let (address, bits) = match text.split_once('/') {
        Some((address, bits)) => (address, Some(bits.parse::<u32>().ok()?)),
        None => (text, None),
    };
    Some(match address.parse().ok()? {
        IpAddr::V4(address) => {
            let open = u32::MAX.checked_shr(bits.unwrap_or(32)).unwrap_or(0);
            let first = address.to_bits() & !open;
            [first, first | open].map(|address| IpAddr::V4(Ipv4Addr::from_bits(address)))
        }
        IpAddr::V6(address) => {
            let open = u128::MAX.checked_shr(bits.unwrap_or(128)).unwrap_or(0);
            let first = address.to_bits() & !open;
            [first, first | open].map(|address| IpAddr::V6(Ipv6Addr::from_bits(address)))
        }
    })
}

/// The port of a service, which charon calls by its name where its host knows one.
fn service(name: &str, protocol: u8) -> Option<u16> {
    static SERVICES: OnceLock<String> = OnceLock::new();
    let services = SERVICES.get_or_init(|| fs::read_to_string("/etc/services").unwrap_or_default());
    port_in(services, name, protocol)
}

/// `gtp-user 2152/udp` of services(5).
fn port_in(services: &str, name: &str, protocol: u8) -> Option<u16> {
    services.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let (known, port) = (words.next()?, words.next()?);
        let (port, of) = port.split_once('/')?;
        (known == name && protocol_named(of) == Some(protocol)).then(|| port.parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selector(text: &str) -> TrafficSelector {
        TrafficSelector::parse(text).unwrap_or_else(|| panic!("{text}"))
    }

    #[test]
    fn one_covers_another_by_addresses_protocol_and_ports() {
        for (wide, narrow) in [
            ("10.78.0.0/16", "10.78.1.1/32"),
            ("10.78.0.0/16", "10.78.1.1/32[132/36421]"),
            ("10.78.0.0/16[sctp]", "10.78.0.0/16[132/36421]"),
            ("10.78.0.1/32[132/36421]", "10.78.0.1/32[sctp/36421]"),
            ("0.0.0.0/0[17/1000-2000]", "10.0.0.1..10.0.0.9[udp/1500]"),
            ("10.0.0.0/8", "10.0.0.1..10.0.0.9"),
            ("fd00::/64", "fd00::1/128[tcp]"),
            ("::/0", "fd00::1"),
        ] {
            assert!(selector(wide).covers(&selector(narrow)), "{wide} {narrow}");
            assert!(
                !selector(narrow).covers(&selector(wide)) || selector(narrow) == selector(wide),
                "{wide} {narrow}"
            );
        }
        for (one, other) in [
            ("10.78.0.0/24", "10.78.1.1/32"),
            ("10.78.0.0/24[132]", "10.78.0.1/32"),
            ("10.78.0.0/24[132]", "10.78.0.1/32[17]"),
            ("10.78.0.0/24[132/36421]", "10.78.0.1/32[132/36422]"),
            ("0.0.0.0/0", "::/0"),
            ("10.0.0.1..10.0.0.9", "10.0.0.0/28"),
        ] {
            assert!(!selector(one).covers(&selector(other)), "{one} {other}");
        }
    }

    #[test]
    fn what_is_no_selector_is_none() {
        for text in [
            "",
            "dynamic",
            "dynamic[132]",
            "10.0.0.1/32[132",
            "10.0.0.1/x",
            "10.0.0.1/32[132/OPAQUE]",
            "10.0.0.1/32[nobody]",
            "10.0.0.1..",
        ] {
            assert_eq!(TrafficSelector::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_service_is_known_by_its_name_and_protocol() {
        let services = "# services\ngtp-user\t2152/tcp\ngtp-user\t2153/udp\t# GTP-U\n\nodd\n";
        assert_eq!(port_in(services, "gtp-user", ip::UDP), Some(2153));
        assert_eq!(port_in(services, "gtp-user", ip::SCTP), None);
        assert_eq!(port_in(services, "odd", ip::UDP), None);
    }
}
