//! Traffic of a CHILD_SA (RFC 7296, section 3.13).

use std::net::IpAddr;

use bartizan_wire::ike::TrafficSelector;

/// Types of traffic selectors (RFC 7296, section 3.13.1).
const IPV4_RANGE: u8 = 7;
const IPV6_RANGE: u8 = 8;

bartizan_registry::made! {
    /// Packets of a protocol from or to a range of addresses and ports.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct Selector,
    /// Everything from or to these addresses.
    pub of(first: IpAddr, last: IpAddr) {
        /// IP protocol; zero is any.
        pub protocol: u8 = 0,
        /// First and last port; of any they are 0 and 65535.
        pub ports: (u16, u16) = (0, u16::MAX),
        /// First and last address, of one version.
        pub addresses: (IpAddr, IpAddr) = (first, last),
    }
}

impl Selector {
    /// Traffic that both contain; none if that is empty.
    pub fn intersection(&self, other: &Self) -> Option<Self> {
        if self.addresses.0.is_ipv4() != other.addresses.0.is_ipv4() {
            return None;
        }
        let protocol = match (self.protocol, other.protocol) {
            (0, protocol) | (protocol, 0) => protocol,
            (one, another) if one == another => one,
            _ => return None,
        };
        let ports = (self.ports.0.max(other.ports.0), self.ports.1.min(other.ports.1));
        let addresses = (
            self.addresses.0.max(other.addresses.0),
            self.addresses.1.min(other.addresses.1),
        );
        (ports.0 <= ports.1 && addresses.0 <= addresses.1).then_some(Self {
            protocol,
            ports,
            addresses,
        })
    }

    /// Returns true if it contains all traffic of the other.
    #[must_use]
    pub fn contains(&self, other: &Self) -> bool {
        self.intersection(other) == Some(*other)
    }

    fn has_ports(&self) -> bool {
        self.ports != (0, u16::MAX)
    }

    /// Number of variable bits in its addresses.
    fn open_bits(&self) -> u32 {
        match self.addresses {
            (IpAddr::V4(first), IpAddr::V4(last)) => 32 - (first.to_bits() ^ last.to_bits()).leading_zeros(),
            (IpAddr::V6(first), IpAddr::V6(last)) => 128 - (first.to_bits() ^ last.to_bits()).leading_zeros(),
            _ => 128,
        }
    }

    /// Its type, and ports and addresses as they stand on the wire.
    pub(crate) fn encode(&self) -> (u8, Vec<u8>) {
        let mut bytes = Vec::new();
        bytes.extend(self.ports.0.to_be_bytes());
        bytes.extend(self.ports.1.to_be_bytes());
        for address in [self.addresses.0, self.addresses.1] {
            match address {
                IpAddr::V4(address) => bytes.extend(address.octets()),
                IpAddr::V6(address) => bytes.extend(address.octets()),
            }
        }
        let kind = if self.addresses.0.is_ipv4() {
            IPV4_RANGE
        } else {
            IPV6_RANGE
        };
        (kind, bytes)
    }

    /// Reads one; none where it is of another type, or its range is none.
    pub(crate) fn read(selector: &TrafficSelector<'_>) -> Option<Self> {
        let (&[a, b, c, d], rest) = selector.range.split_first_chunk::<4>()?;
        let addresses = match (selector.kind, rest.len()) {
            (IPV4_RANGE, 8) => {
                let (first, last) = rest.split_first_chunk::<4>()?;
                (IpAddr::from(*first), IpAddr::from(*last.first_chunk::<4>()?))
            }
            (IPV6_RANGE, 32) => {
                let (first, last) = rest.split_first_chunk::<16>()?;
                (IpAddr::from(*first), IpAddr::from(*last.first_chunk::<16>()?))
            }
            _ => return None,
        };
        let ports = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        // Ports that run backwards stand for OPAQUE (RFC 7296, section 3.13.1), which nothing here selects.
        (ports.0 <= ports.1 && addresses.0 <= addresses.1).then_some(Self {
            protocol: selector.protocol,
            ports,
            addresses,
        })
    }
}

/// The order in which CHILD_SAs are asked whether a packet is of them. Both ends have the same:
/// what one sends by an SA, the other expects by it, and the kernel drops what comes by another
/// one.
///
/// The narrower traffic comes first. A packet from a port to the same port, as nodes send GTP-U and
/// PFCP, is of two CHILD_SAs that are equally narrow, one for the port of each end: that of the end
/// whose addresses are lower comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    is_second: bool,
}

impl Order {
    /// Order of the ends of a CHILD_SA, independent of which end is this one.
    pub fn between(one: &[Selector], other: &[Selector]) -> Self {
        let has_ports = |end: &[Selector]| end.iter().any(Selector::has_ports);
        let lowest = |end: &[Selector]| end.iter().map(|selector| selector.addresses.0).min();
        let is_second = match (has_ports(one), has_ports(other)) {
            (true, false) => lowest(one) > lowest(other),
            (false, true) => lowest(other) > lowest(one),
            _ => false,
        };
        Self { is_second }
    }

    /// The rank of one pair of its selectors, below 2,000: the lower is asked first.
    pub fn rank(self, one: &Selector, other: &Selector) -> u32 {
        let ends = [one, other];
        let open = ends.map(|end| 2 * end.open_bits() + u32::from(!end.has_ports()));
        let is_all = ends.iter().all(|end| end.protocol == 0);
        4 * open.iter().sum::<u32>() + 2 * u32::from(self.is_second) + u32::from(is_all)
    }

    /// The rank of its narrowest pair.
    pub fn least_rank(one: &[Selector], other: &[Selector]) -> u32 {
        let order = Self::between(one, other);
        let pairs = one
            .iter()
            .flat_map(|one| other.iter().map(move |other| order.rank(one, other)));
        pairs.min().unwrap_or_default()
    }
}

/// The allowed part of the offered selectors; unreadable selectors allow nothing.
pub(crate) fn narrow(offered: &[TrafficSelector<'_>], allowed: &[Selector]) -> Vec<Selector> {
    let mut narrowed = Vec::new();
    for offered in offered.iter().filter_map(Selector::read) {
        for selector in allowed.iter().filter_map(|allowed| allowed.intersection(&offered)) {
            if !narrowed.contains(&selector) {
                narrowed.push(selector);
            }
        }
    }
    narrowed
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn selector() -> impl Strategy<Value = Selector> {
        let v4 = (0..8_u8, 0..8_u8).prop_map(|(a, b)| [[10, 0, 0, a.min(b)], [10, 0, 0, a.max(b)]].map(IpAddr::from));
        let v6 = (0..8_u8, 0..8_u8).prop_map(|(a, b)| [a.min(b), a.max(b)].map(|last| IpAddr::from([last; 16])));
        (prop_oneof![v4, v6], 0..3_u8, 0..8_u16, 0..8_u16).prop_map(|([first, last], protocol, a, b)| Selector {
            protocol,
            ports: (a.min(b), a.max(b)),
            addresses: (first, last),
        })
    }

    proptest! {
        #[test]
        fn what_both_contain_is_in_both(one in selector(), other in selector()) {
            prop_assert_eq!(one.intersection(&other), other.intersection(&one));
            if let Some(both) = one.intersection(&other) {
                prop_assert!(one.contains(&both) && other.contains(&both));
            }
            prop_assert!(one.contains(&one));
        }

        #[test]
        fn what_is_written_is_read(one in selector()) {
            let (kind, range) = one.encode();
            let read = Selector::read(&TrafficSelector { kind, protocol: one.protocol, range: &range });
            prop_assert_eq!(read, Some(one));
        }
    }
}
