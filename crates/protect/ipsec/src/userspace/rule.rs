//! Which packets are led to the device: a rule of routing for each pair of selectors.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

use bartizan_host::netlink::{Family, Refused, Request};
use bartizan_ike::Selector;

use super::MARK;
use crate::xfrm::Error;

/// Before the rules of the host, of which the first is that for its own addresses.
const PRIORITY: u32 = 218;
/// From linux/fib_rules.h: the action that looks in a table, the flag of rules of IPv6, attributes.
const TO_TABLE: u8 = 1;
const FIND_SOURCE: u32 = 0x0001_0000;
const DESTINATION: u16 = 1;
const SOURCE: u16 = 2;
const RANK: u16 = 6;
const MARKED: u16 = 10;
const TABLE: u16 = 15;
const MASK: u16 = 16;
const PROTOCOL: u16 = 22;
const SOURCE_PORTS: u16 = 23;
const DESTINATION_PORTS: u16 = 24;

/// Addresses with a common beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Network {
    pub(super) first: IpAddr,
    pub(super) bits: u32,
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.bits)
    }
}

/// Which packets a rule leads to the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rule {
    pub(super) from: Network,
    pub(super) to: Network,
    /// Zero for all.
    protocol: u8,
    /// Of sender and receiver.
    ports: [(u16, u16); 2],
}

/// A rule for each pair of selectors of one family.
pub(super) fn rules(local: &[Selector], remote: &[Selector]) -> Vec<Rule> {
    let pairs = local
        .iter()
        .flat_map(|local| remote.iter().map(move |remote| (local, remote)));
    let is_v4 = |selector: &Selector| selector.addresses.0.is_ipv4();
    let mut rules = Vec::new();
    for (local, remote) in pairs.filter(|(local, remote)| is_v4(local) == is_v4(remote)) {
        for from in networks(local.addresses) {
            for to in networks(remote.addresses) {
                let rule = Rule {
                    from,
                    to,
                    protocol: local.protocol.max(remote.protocol),
                    ports: [local.ports, remote.ports],
                };
                if !rules.contains(&rule) {
                    rules.push(rule);
                }
            }
        }
    }
    rules
}

impl Rule {
    pub(super) fn is_v4(&self) -> bool {
        self.from.first.is_ipv4()
    }

    /// The rule for such packets of which the sender is not known yet.
    pub(super) fn unbound(&self) -> Self {
        let from = Network {
            first: Ipv4Addr::UNSPECIFIED.into(),
            bits: 32,
        };
        Self { from, ..*self }
    }

    /// Adds it, to lead to this table. What carries the tunnel itself is not led into it.
    pub(super) fn add(&self, table: u32) -> Result<(), Error> {
        let added = self
            .request(libc::RTM_NEWRULE, table)
            .order((libc::NLM_F_CREATE | libc::NLM_F_EXCL) as u16);
        added.map_err(|refused| self.failed(&refused))
    }

    /// Removes it. One that is gone already is no error.
    pub(super) fn remove(&self, table: u32) -> Result<(), Error> {
        match self.request(libc::RTM_DELRULE, table).order(0) {
            Err(refused) if refused.source.raw_os_error() != Some(libc::ENOENT) => Err(self.failed(&refused)),
            _ => Ok(()),
        }
    }

    fn failed(&self, refused: &Refused) -> Error {
        Error::Userspace(format!(
            "a rule of routing from {} to {}: {refused}",
            self.from, self.to
        ))
    }

    /// Written to the kernel, since a process of `ip` for each takes milliseconds. A rule of IPv6 takes packets too whose route is looked for before their
    /// sender is known, where the sender that the kernel then chooses is of the rule; `ip` has no word for that.
    fn request(&self, kind: u16, table: u32) -> Request {
        let Self {
            from,
            to,
            protocol,
            ports,
        } = self;
        let (family, flags) = match self.is_v4() {
            true => (libc::AF_INET, 0),
            false => (libc::AF_INET6, FIND_SOURCE),
        };
        let bits = [to, from].map(|network| network.bits as u8);
        // `fib_rule_hdr`: family, bits of receiver and sender, no class, no table of a byte, two reserved, action, flags.
        let mut fixed = vec![family as u8, bits[0], bits[1], 0, 0, 0, 0, TO_TABLE];
        fixed.extend(flags.to_ne_bytes());
        let mut request = Request::new(Family::Route, kind, &fixed);
        for (kind, network) in [(DESTINATION, to), (SOURCE, from)] {
            // A rule for all addresses names none.
            request = match network.first {
                _ if network.bits == 0 => request,
                IpAddr::V4(address) => request.attribute(kind, &address.octets()),
                IpAddr::V6(address) => request.attribute(kind, &address.octets()),
            };
        }
        for (kind, value) in [(RANK, PRIORITY), (MARKED, 0), (MASK, MARK), (TABLE, table)] {
            request = request.attribute(kind, &value.to_ne_bytes());
        }
        if *protocol != 0 {
            request = request.attribute(PROTOCOL, &[*protocol]);
        }
        for (kind, (first, last)) in [SOURCE_PORTS, DESTINATION_PORTS].into_iter().zip(ports) {
            if (*first, *last) != (0, u16::MAX) {
                let range = [first.to_ne_bytes(), last.to_ne_bytes()].concat();
                request = request.attribute(kind, &range);
            }
        }
        request
    }
}

/// The networks that a range of addresses is made of.
fn networks((first, last): (IpAddr, IpAddr)) -> Vec<Network> {
    let (mut next, end, width) = match (first, last) {
        (IpAddr::V4(first), IpAddr::V4(last)) => (u128::from(first.to_bits()), u128::from(last.to_bits()), 32),
        (IpAddr::V6(first), IpAddr::V6(last)) => (first.to_bits(), last.to_bits(), 128),
        _ => return Vec::new(),
    };
    let mut networks = Vec::new();
    while next <= end {
        // The largest that begins here and ends within.
        let mut bits = next.trailing_zeros().min(width);
        while bits > 0 && last_of(next, bits).is_none_or(|last| last > end) {
            bits -= 1;
        }
        let first = match width {
            32 => IpAddr::from((next as u32).to_be_bytes()),
            _ => IpAddr::from(next.to_be_bytes()),
        };
        networks.push(Network {
            first,
            bits: width - bits,
        });
        match last_of(next, bits).and_then(|last| last.checked_add(1)) {
            Some(behind) => next = behind,
            None => break,
        }
    }
    networks
}

/// The last address of the network of so many open bits that begins here.
fn last_of(first: u128, bits: u32) -> Option<u128> {
    let open = u128::MAX.checked_shr(u128::BITS - bits).unwrap_or(0);
    first.checked_add(open)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_the_networks_it_is_made_of() {
        let of = |first: &str, last: &str| -> Vec<String> {
            let all = networks((first.parse().unwrap(), last.parse().unwrap()));
            all.iter().map(ToString::to_string).collect()
        };
        assert_eq!(of("10.78.0.1", "10.78.0.1"), ["10.78.0.1/32"]);
        assert_eq!(of("10.78.0.0", "10.78.255.255"), ["10.78.0.0/16"]);
        assert_eq!(of("0.0.0.0", "255.255.255.255"), ["0.0.0.0/0"]);
        assert_eq!(
            of("10.0.0.1", "10.0.0.4"),
            ["10.0.0.1/32", "10.0.0.2/31", "10.0.0.4/32"]
        );
        assert_eq!(of("::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"), ["::/0"]);
        assert_eq!(of("fd00::", "fd00::ffff"), ["fd00::/112"]);
        assert_eq!(of("255.255.255.254", "255.255.255.255"), ["255.255.255.254/31"]);
    }

    #[test]
    fn a_rule_is_for_all_that_its_selectors_have() {
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        let of = |text: &str| Selector::of(address(text), address(text));
        let remote = Selector {
            protocol: 17,
            ports: (2152, 2152),
            ..of("10.78.0.2")
        };
        // One of another family has no part in it.
        let rules = rules(&[of("10.78.0.1"), of("fd78::1")], &[remote]);
        let [rule] = rules[..] else { panic!("{rules:?}") };
        assert_eq!(
            (rule.from.to_string(), rule.to.to_string(), rule.protocol, rule.ports),
            (
                "10.78.0.1/32".to_owned(),
                "10.78.0.2/32".to_owned(),
                17,
                [(0, u16::MAX), (2152, 2152)]
            )
        );
        let unbound = rule.unbound();
        assert_eq!(
            (unbound.from.to_string(), unbound.to),
            ("0.0.0.0/32".to_owned(), rule.to)
        );
    }
}
