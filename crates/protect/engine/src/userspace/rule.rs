//! Which packets are led to the device: a rule of routing for each pair of selectors.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

use bartizan_host::routing::{self, Version};
use bartizan_ike::Selector;

use super::MARK;

/// Before the rules of the host, of which the first is that for its own addresses.
const PRIORITY: u32 = 218;

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
    /// Ports of sender and receiver.
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

    /// The rule as the kernel has it, leading to this table. What carries the tunnel itself is not
    /// led into it. A rule of IPv6 takes packets too whose
    /// route is looked for before their sender is known, where the sender that the kernel then
    /// chooses is of the rule.
    pub(super) fn of_kernel(&self, table: u32) -> routing::Rule {
        let Self {
            from,
            to,
            protocol,
            ports,
        } = self;
        let mut rule = routing::Rule::new(Version::of(to.first), PRIORITY)
            .to(to.first, to.bits as u8)
            .from(from.first, from.bits as u8)
            .unmarked(MARK)
            .lookup(table);
        if !self.is_v4() {
            rule = rule.finding_source();
        }
        if *protocol != 0 {
            rule = rule.protocol(*protocol);
        }
        let [source, destination] = *ports;
        if source != (0, u16::MAX) {
            rule = rule.source_ports(source);
        }
        if destination != (0, u16::MAX) {
            rule = rule.destination_ports(destination);
        }
        rule
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
