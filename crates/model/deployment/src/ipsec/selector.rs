//! Which packets a link protects.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;

use bartizan_registry::{SCTP_APPLICATIONS, UDP_APPLICATIONS};

use super::end_named;
use crate::error::Fault;
use crate::interface::InterfaceKind;
use crate::node::{NodeName, not_of_a_host};
use crate::raw::RawSelector;
use crate::word::{Word, words};

/// Most selectors of one link.
const MOST: usize = 16;

bartizan_registry::named! {
    /// Protocol over IP.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum TrafficProtocol, name {
        /// SCTP.
        Sctp = "sctp",
        /// UDP.
        Udp = "udp",
        /// TCP.
        Tcp = "tcp",
        /// Everything.
        Any = "any",
    }
}

/// At which end of a link the selector's port is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Side {
    /// At this node: the one that listens.
    At(NodeName),
    /// At either: both may listen, so both directions of asking are protected, by an SA each.
    Either,
}

/// Packets between the inner addresses of a link's ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selector {
    /// Their protocol.
    pub protocol: TrafficProtocol,
    /// The port on the side that listens; the other side may have any. None stands for every port on both.
    pub port: Option<u16>,
    /// End that has the port.
    pub side: Side,
}

bartizan_registry::made! {
    /// Addresses with a common beginning.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub struct Network,
    /// One address.
    pub of_host(address: IpAddr) {
        address: IpAddr,
        bits: u8 = width(address),
    }
}

words!(TrafficProtocol);

impl Selector {
    /// Returns true if some packet matches both selectors.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        let protocols = self.protocol == other.protocol
            || self.protocol == TrafficProtocol::Any
            || other.protocol == TrafficProtocol::Any;
        let ports = match (self.port, other.port) {
            (Some(one), Some(another)) => one == another,
            _ => true,
        };
        protocols && ports
    }

    /// Returns true if this selector of a file protects the traffic that a standard gives an
    /// interface. A port of its own is where the function listens instead.
    pub(super) fn protects(&self, standard: &Self) -> bool {
        let any = [self, standard].iter().any(|one| one.protocol == TrafficProtocol::Any);
        let moved = self.port != standard.port;
        // A file may say which end of SCTP listens where the functions do not; GTP-U needs both.
        let configured = standard.side == Side::Either && standard.protocol == TrafficProtocol::Sctp;
        any || self.protocol == standard.protocol
            && (moved || configured || self.side == Side::Either || self.side == standard.side)
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.protocol.name();
        match (self.port, &self.side) {
            (None, _) => f.pad(name),
            (Some(port), Side::At(node)) => f.pad(&format!("{name}/{port} at {node}")),
            (Some(port), Side::Either) => f.pad(&format!("{name}/{port} at either end")),
        }
    }
}

impl Network {
    /// Its first address.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// Bits that all its addresses begin with.
    pub fn bits(&self) -> u8 {
        self.bits
    }

    /// Returns true if some address is in both networks.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        let bits = self.bits.min(other.bits);
        self.address.is_ipv4() == other.address.is_ipv4() && masked(self.address, bits) == masked(other.address, bits)
    }

    /// Returns true if every address of the other network is also in this one.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        self.bits <= other.bits && self.overlaps(other)
    }

    /// The networks of fewer bits that cover this one, the widest first.
    pub(crate) fn wider(self) -> impl Iterator<Item = Self> {
        (0..self.bits).map(move |bits| Self {
            address: unmasked(masked(self.address, bits), self.address),
            bits,
        })
    }

    /// In the order of networks, the first and the last that this one covers.
    pub(crate) fn covered(self) -> RangeInclusive<Self> {
        let bits = width(self.address);
        let last = masked(self.address, bits) | u128::MAX.checked_shr(self.bits.into()).unwrap_or(0);
        let address = unmasked(last, self.address);
        self..=Self { address, bits }
    }

    pub(crate) fn parse(text: &str) -> Result<Self, Fault> {
        let shown: String = text.chars().take(64).collect();
        let refuse = |hint: &str| Fault::new("", format!("`{shown}` is not a network"), hint);
        let (address, bits) = match text.split_once('/') {
            None => (text, None),
            Some((address, bits)) => (address, Some(bits)),
        };
        let hint = "write an address, 10.78.1.1, or a network, 10.78.1.0/24";
        let address: IpAddr = address.parse().map_err(|_| refuse(hint))?;
        let bits = match bits {
            None => width(address),
            Some(bits) => bits.parse().map_err(|_| refuse(hint))?,
        };
        if bits > width(address) {
            return Err(refuse(hint));
        }
        // IPv4 in IPv6's form is IPv4, in packets too.
        let (address, bits) = match (address.to_canonical(), bits.checked_sub(96)) {
            (mapped @ IpAddr::V4(_), Some(bits)) if address.is_ipv6() => (mapped, bits),
            _ => (address, bits),
        };
        // Functions send to groups and to all of their link.
        let is_of_several = |address: IpAddr| {
            address.is_multicast() || matches!(address, IpAddr::V4(address) if address.is_broadcast())
        };
        if bits == width(address)
            && !is_of_several(address)
            && let Some(cause) = not_of_a_host(address)
        {
            return Err(Fault::new("", cause, hint));
        }
        if masked(address, bits) != masked(address, width(address)) {
            return Err(refuse("the bits behind the prefix are zero, as in 10.78.1.0/24"));
        }
        Ok(Self { address, bits })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}/{}", self.address, self.bits))
    }
}

fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// The first bits of an address, as the upper ones of 128.
fn masked(address: IpAddr, bits: u8) -> u128 {
    let value = match address {
        IpAddr::V4(address) => u128::from(address.to_bits()) << 96,
        IpAddr::V6(address) => address.to_bits(),
    };
    match bits {
        0 => 0,
        bits => value & (u128::MAX << (128 - u32::from(bits.min(128)))),
    }
}

/// The address whose bits are the upper ones of these 128, of the family of `like`.
fn unmasked(bits: u128, like: IpAddr) -> IpAddr {
    match like {
        IpAddr::V4(_) => Ipv4Addr::from_bits((bits >> 96) as u32).into(),
        IpAddr::V6(_) => Ipv6Addr::from_bits(bits).into(),
    }
}

/// The selectors of a link: those of the file, or its interface's traffic by the standard.
pub(super) fn parse(
    raw: Option<&[RawSelector]>,
    standard: Vec<Selector>,
    between: &[NodeName; 2],
) -> Result<Vec<Selector>, Fault> {
    let Some(raw) = raw else {
        return Ok(standard);
    };
    if raw.is_empty() || raw.len() > MOST {
        let hint = format!("list 1 to {MOST} selectors, or leave it out");
        return Err(Fault::new("selectors", "is empty or too long", hint));
    }
    let mut selectors: Vec<Selector> = Vec::new();
    for (index, raw) in raw.iter().enumerate() {
        let place = format!("selectors[{index}]");
        let selector = one(raw, between).map_err(|fault| fault.within(&place))?;
        if let Some(other) = selectors.iter().find(|other| other.overlaps(&selector)) {
            let cause = format!("{selector} and {other} claim the same packets");
            return Err(Fault::new(place, cause, "remove one"));
        }
        selectors.push(selector);
    }
    Ok(selectors)
}

fn one(raw: &RawSelector, between: &[NodeName; 2]) -> Result<Selector, Fault> {
    let protocol = TrafficProtocol::read("protocol", Some(&raw.protocol), TrafficProtocol::Any)?;
    match (raw.port, &raw.at) {
        (Some(0), _) => Err(Fault::new("port", "0 is no port", "leave it out for every port")),
        (Some(_), _) if protocol == TrafficProtocol::Any => {
            let hint = "name the protocol, or leave the port out";
            Err(Fault::new("port", "stands next to `protocol: any`", hint))
        }
        (None, Some(_)) => Err(Fault::new("at", "names an end, and there is no port", "add `port`")),
        (port, at) => {
            let side = match at {
                None => Side::Either,
                Some(name) => Side::At(end_named(name, between).map_err(|fault| fault.within("at"))?),
            };
            Ok(Selector { protocol, port, side })
        }
    }
}

/// Returns the standard's traffic of an interface: SCTP with its application's port, GTP-U and
/// PFCP. Returns all traffic if the standard names neither.
pub(super) fn of_standard(kind: InterfaceKind, between: &[NodeName; 2], functions: [&str; 2]) -> Vec<Selector> {
    // F1-C and F1-U are one interface of two planes; Xn has both in one.
    let sctp = match kind {
        InterfaceKind::F1C => Some("F1"),
        InterfaceKind::N2 | InterfaceKind::E1 | InterfaceKind::E2 | InterfaceKind::Xn => Some(kind.name()),
        _ => None,
    };
    let sctp = SCTP_APPLICATIONS
        .iter()
        .filter(|known| Some(known.interface) == sctp)
        .filter_map(|known| Some((TrafficProtocol::Sctp, known.port?)));
    let udp = UDP_APPLICATIONS
        .iter()
        .filter(|known| known.interfaces.contains(&kind.name()))
        .map(|known| (TrafficProtocol::Udp, known.port));
    let selectors: Vec<_> = sctp
        .chain(udp)
        .map(|(protocol, port)| Selector {
            protocol,
            port: Some(port),
            side: match protocol {
                TrafficProtocol::Sctp => listening(kind, between, functions),
                // GTP-U and PFCP send to the port from either end.
                _ => Side::Either,
            },
        })
        .collect();
    if selectors.is_empty() {
        return vec![Selector {
            protocol: TrafficProtocol::Any,
            port: None,
            side: Side::Either,
        }];
    }
    selectors
}

/// Which end listens, where the standard says so and the nodes' functions tell which is which: the near-RT RIC on E2
/// (O-RAN E2GAP), the AMF on N2 (TS 38.412), the CU on F1-C (TS 38.472). On E1 and Xn either end may begin.
fn listening(kind: InterfaceKind, between: &[NodeName; 2], functions: [&str; 2]) -> Side {
    let listener = match kind {
        InterfaceKind::E2 => "RIC",
        InterfaceKind::N2 => "AMF",
        InterfaceKind::F1C => "CU",
        _ => return Side::Either,
    };
    let is_listener = |function: &str| {
        function
            .split(|c: char| !c.is_ascii_alphanumeric())
            .any(|word| word.eq_ignore_ascii_case(listener))
    };
    match functions.map(is_listener) {
        [true, false] => Side::At(between[0].clone()),
        [false, true] => Side::At(between[1].clone()),
        _ => Side::Either,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Networks that differ in few bits, so that many overlap.
    fn network() -> impl Strategy<Value = Network> {
        (any::<bool>(), 0..4_u128, 0..16_u128, 0..=32_u8).prop_map(|(v4, upper, lower, bits)| {
            let like: IpAddr = if v4 {
                Ipv4Addr::UNSPECIFIED.into()
            } else {
                Ipv6Addr::UNSPECIFIED.into()
            };
            let bits = if v4 { bits } else { bits * 4 };
            let value = upper << 126 | lower << (128 - u32::from(width(like)));
            let address = unmasked(masked(unmasked(value, like), bits), like);
            Network { address, bits }
        })
    }

    proptest! {
        #[test]
        fn networks_that_overlap_are_found_in_their_order(one in network(), other in network()) {
            let found = one.wider().any(|wider| wider == other) || one.covered().contains(&other);
            prop_assert_eq!(found, one.overlaps(&other), "{} {}", one, other);
        }
    }

    #[test]
    fn networks_are_read_compared_and_written() {
        let network = |text| Network::parse(text).unwrap();
        assert_eq!(network("10.78.1.1").to_string(), "10.78.1.1/32");
        assert_eq!(network("fd00::/64").to_string(), "fd00::/64");
        assert!(network("10.78.0.0/16").overlaps(&network("10.78.1.1")));
        assert!(network("0.0.0.0/0").overlaps(&network("10.78.1.1")));
        assert!(!network("10.78.0.0/24").overlaps(&network("10.78.1.1")));
        assert!(network("10.78.0.0/16").covers(&network("10.78.1.0/24")));
        assert!(!network("10.78.1.0/24").covers(&network("10.78.0.0/16")));
        assert!(!network("::/0").overlaps(&network("0.0.0.0/0")));
        for wrong in [
            "10.78.1.1/24",
            "10.78.1.1/33",
            "10.78.1",
            "10.0.0.0/",
            "ric",
            "10.0.0.0/-1",
            "",
            "0.0.0.1",
            "fe80::1",
        ] {
            assert!(Network::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_listening_end_is_known_by_function() {
        let between = ["a", "b"].map(|name| NodeName::parse(name).unwrap());
        let side = |kind, functions| listening(kind, &between, functions);
        let at = |index: usize| Side::At(between[index].clone());
        assert_eq!(side(InterfaceKind::E2, ["O-CU-CP", "near-RT RIC"]), at(1));
        assert_eq!(side(InterfaceKind::N2, ["AMF", "gNB"]), at(0));
        assert_eq!(side(InterfaceKind::F1C, ["O-DU", "O-CU-CP"]), at(1));
        assert_eq!(side(InterfaceKind::F1C, ["CU", "CU"]), Side::Either);
        assert_eq!(side(InterfaceKind::Xn, ["gNB", "gNB"]), Side::Either);
    }
}
