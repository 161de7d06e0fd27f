//! What leads packets of the links to the device: a routing table of its own, and a rule for each pair of selectors.

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use bartizan_host::Program;
use bartizan_host::netlink::{Family, Request};
use bartizan_ike::Selector;

use super::MARK;
use crate::reqid::fingerprint;
use crate::xfrm::Error;

/// How long `ip` may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// Before the rules of the host, of which the first is that for its own addresses.
const PRIORITY: u32 = 218;
/// From linux/fib_rules.h: the action that looks in a table, the flag that is said of [`Rule::add_for_any_source`], attributes.
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
/// The longest name of a network device.
const NAME: usize = 15;

/// The device of a node: as short as a device's name must be, and the same each time.
#[must_use]
pub fn device_name(node: &str) -> String {
    let is_plain = node.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let name = format!("esp-{node}");
    if is_plain && name.len() <= NAME {
        return name;
    }
    format!("esp_{:08x}", fingerprint(node))
}

/// The number of a device's routing table; those below 2^16 are other programs'.
fn table(device: &str) -> u32 {
    0x6200_0000 | fingerprint(device) & 0x00ff_ffff
}

/// The rules and routes of a device; they go with this value.
#[derive(Debug)]
pub(super) struct Routes {
    device: String,
    rules: BTreeSet<Rule>,
    /// Networks of peers that the table has a route to by an address of this host, for sockets that have none.
    sources: BTreeSet<Network>,
}

impl Routes {
    /// Brings the device up, with a table that leads to it and that no rule uses yet. Rules that a process which was killed has left are
    /// removed: they led to no device.
    pub(super) fn lay(device: &str, mtu: u16) -> Result<Self, Error> {
        // No address of its own, and none asked for: what it carries is the links'.
        let folder = format!("/proc/sys/net/ipv6/conf/{device}");
        for (name, value) in [("addr_gen_mode", "1"), ("accept_ra", "0"), ("disable_ipv6", "0")] {
            // A kernel without IPv6 has no such files.
            let _ = fs::write(format!("{folder}/{name}"), value);
        }
        remove_leftover(device)?;
        let table = table(device);
        ip(&format!(
            "link set dev {device} mtu {mtu} up\nroute replace default dev {device} table {table}\n"
        ))?;
        if fs::exists(&folder).unwrap_or(false) {
            // Without IPv6 at this host no packet of it is sent.
            let _ = ip(&format!("-6 route replace default dev {device} table {table}\n"));
        }
        Ok(Self {
            device: device.to_owned(),
            rules: BTreeSet::new(),
            sources: BTreeSet::new(),
        })
    }

    pub(super) fn set_mtu(&self, mtu: u16) -> Result<(), Error> {
        ip(&format!("link set dev {} mtu {mtu}\n", self.device))
    }

    /// Leads what is between these to the device.
    pub(super) fn add(&mut self, local: &[Selector], remote: &[Selector]) -> Result<(), Error> {
        let table = table(&self.device);
        let mut new = rules(local, remote);
        new.retain(|rule| !self.rules.contains(rule));
        let of_v4 = new.iter().filter(|rule| rule.is_v4());
        let lines: String = of_v4.clone().map(|rule| rule.line("add", table)).collect();
        ip(&lines)?;
        for rule in new.iter().filter(|rule| !rule.is_v4()) {
            rule.add_for_any_source(table)?;
        }
        self.rules.extend(new.iter().copied());
        for rule in of_v4 {
            self.lead_unbound(rule)?;
        }
        Ok(())
    }

    /// The same of IPv4 packets whose route is looked for before their sender is known, as those of a socket that is bound to no address: they
    /// get the address of this host that the rule is for, where there is one. For IPv6 rules have a flag ([`Rule::add_for_any_source`]).
    fn lead_unbound(&mut self, rule: &Rule) -> Result<(), Error> {
        let unbound = rule.unbound();
        // Where all of the world is behind the peer, what has no sender yet is not the link's alone.
        if rule.to.bits == 0 || self.rules.contains(&unbound) {
            return Ok(());
        }
        let (device, to, table) = (&self.device, rule.to, table(&self.device));
        if !self.sources.contains(&to) {
            let Some(source) = own_address(rule.from) else {
                return Ok(());
            };
            ip(&format!("route replace {to} dev {device} src {source} table {table}\n"))?;
            self.sources.insert(to);
        }
        ip(&unbound.line("add", table))?;
        self.rules.insert(unbound);
        Ok(())
    }

    /// Ends that.
    pub(super) fn remove(&mut self, local: &[Selector], remote: &[Selector]) -> Result<(), Error> {
        let mut gone = rules(local, remote);
        gone.retain(|rule| self.rules.remove(rule));
        let bound = |rule: &&Rule| **rule != rule.unbound();
        let needed: BTreeSet<Rule> = self.rules.iter().filter(bound).map(Rule::unbound).collect();
        let unbound: BTreeSet<Rule> = gone.iter().map(Rule::unbound).collect();
        gone.extend(unbound.difference(&needed).filter(|rule| self.rules.remove(*rule)));
        let table = table(&self.device);
        let lines: String = gone.iter().map(|rule| rule.line("delete", table)).collect();
        ip(&lines)
    }
}

impl Drop for Routes {
    fn drop(&mut self) {
        let table = table(&self.device);
        let lines: String = self.rules.iter().map(|rule| rule.line("delete", table)).collect();
        // Where it fails, they lead to a device that is gone.
        let _ = ip(&lines);
    }
}

/// Addresses with a common beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Network {
    first: IpAddr,
    bits: u32,
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.bits)
    }
}

/// Which packets a rule leads to the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rule {
    from: Network,
    to: Network,
    /// Zero for all.
    protocol: u8,
    /// Of sender and receiver.
    ports: [(u16, u16); 2],
}

/// A rule for each pair of selectors of one family.
fn rules(local: &[Selector], remote: &[Selector]) -> Vec<Rule> {
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
    fn is_v4(&self) -> bool {
        self.from.first.is_ipv4()
    }

    /// The rule for such packets of which the sender is not known yet.
    fn unbound(&self) -> Self {
        let from = Network {
            first: Ipv4Addr::UNSPECIFIED.into(),
            bits: 32,
        };
        Self { from, ..*self }
    }

    /// A line of a batch of `ip`. What carries the tunnel itself is not led into it.
    fn line(&self, action: &str, table: u32) -> String {
        let Self {
            from,
            to,
            protocol,
            ports,
        } = self;
        let family = if self.is_v4() { "-4" } else { "-6" };
        let mut line = format!("{family} rule {action} priority {PRIORITY} from {from} to {to} fwmark 0/{MARK:#x}");
        if *protocol != 0 {
            // Writing to a string cannot fail.
            let _ = write!(line, " ipproto {protocol}");
        }
        for (word, (first, last)) in ["sport", "dport"].into_iter().zip(ports) {
            if (*first, *last) != (0, u16::MAX) {
                let _ = write!(line, " {word} {first}-{last}");
            }
        }
        let _ = writeln!(line, " table {table}");
        line
    }

    /// Adds a rule of IPv6 that also takes packets whose route is looked for before their sender is known, where the sender that the kernel then chooses is of
    /// the rule. `ip` has no word for that.
    fn add_for_any_source(&self, table: u32) -> Result<(), Error> {
        let Self {
            from,
            to,
            protocol,
            ports,
        } = self;
        let bits = [to, from].map(|network| network.bits as u8);
        // `fib_rule_hdr`: family, bits of receiver and sender, no class, no table of a byte, two reserved, action, flags.
        let mut fixed = vec![libc::AF_INET6 as u8, bits[0], bits[1], 0, 0, 0, 0, TO_TABLE];
        fixed.extend(FIND_SOURCE.to_ne_bytes());
        let mut request = Request::new(Family::Route, libc::RTM_NEWRULE, &fixed);
        for (kind, network) in [(DESTINATION, to), (SOURCE, from)] {
            if let IpAddr::V6(address) = network.first {
                request = request.attribute(kind, &address.octets());
            }
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
        let added = request.order((libc::NLM_F_CREATE | libc::NLM_F_EXCL) as u16);
        added.map_err(|refused| Error::Userspace(format!("a rule of routing from {from} to {to}: {refused}")))
    }
}

/// The first address of this host in a network, where it has one.
fn own_address(network: Network) -> Option<IpAddr> {
    let listed = Program::new("ip")
        .package("iproute2")
        .arguments(["-oneline", "address", "show", "to", &network.to_string()])
        .run(PATIENCE);
    let listed = listed.ok()?.text();
    let mut words = listed.split_whitespace().skip_while(|word| *word != "inet");
    words.nth(1)?.split('/').next()?.parse().ok()
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

/// Removes the rules of a device that a process which was killed has left.
///
/// # Errors
///
/// Where `ip` is missing or may not.
pub fn remove_leftover(device: &str) -> Result<(), Error> {
    let table = table(device).to_string();
    for family in ["-4", "-6"] {
        let left = || -> Result<bool, Error> {
            let listed = Program::new("ip")
                .package("iproute2")
                .arguments([family, "rule", "list", "table", &table])
                .run(PATIENCE)
                .map(|listed| listed.text());
            Ok(match listed {
                Ok(listed) => !listed.trim().is_empty(),
                // A kernel without IPv6.
                Err(bartizan_host::Error::Failed { .. }) => false,
                Err(error) => return Err(Error::Userspace(error.to_string())),
            })
        };
        // Each call removes one.
        while left()? {
            ip(&format!("{family} rule delete table {table}\n"))?;
        }
    }
    Ok(())
}

fn ip(lines: &str) -> Result<(), Error> {
    if lines.is_empty() {
        return Ok(());
    }
    // `-4` and `-6` are no words of a line.
    for family in ["-4", "-6"] {
        let of_family: String = lines
            .lines()
            .filter_map(|line| match line.strip_prefix("-6 ") {
                Some(rest) => (family == "-6").then_some(rest),
                None => (family == "-4").then_some(line.strip_prefix("-4 ").unwrap_or(line)),
            })
            .flat_map(|line| [line, "\n"])
            .collect();
        if of_family.is_empty() {
            continue;
        }
        let run = Program::new("ip")
            .package("iproute2")
            .environment("LC_ALL", "C")
            .arguments([family, "-batch", "-"])
            .text(&of_family)
            .and_then(|program| program.run(PATIENCE));
        run.map_err(|error| Error::Userspace(error.to_string()))?;
    }
    Ok(())
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
    fn a_rule_is_for_all_that_its_selectors_have_and_not_for_what_carries_the_tunnel() {
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
        let rest = "to 10.78.0.2/32 fwmark 0/0x2000000 ipproto 17 dport 2152-2152 table 7\n";
        assert_eq!(
            rule.line("add", 7),
            format!("-4 rule add priority 218 from 10.78.0.1/32 {rest}")
        );
        assert_eq!(
            rule.unbound().line("delete", 7),
            format!("-4 rule delete priority 218 from 0.0.0.0/32 {rest}")
        );
    }

    #[test]
    fn a_device_has_the_name_of_its_node_where_that_is_short_and_a_number_where_it_is_not() {
        assert_eq!(device_name("cu"), "esp-cu");
        let long = device_name("near-rt-ric-of-the-north");
        assert!(long.starts_with("esp_") && long.len() <= NAME, "{long}");
        assert_ne!(long, device_name("near-rt-ric-of-the-south"));
    }
}
