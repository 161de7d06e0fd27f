//! What leads packets of the links to the device: a routing table of its own, and a rule for each pair of selectors.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::net::IpAddr;
use std::time::Duration;

use bartizan_host::Program;
use bartizan_ike::Selector;

use super::MARK;
use crate::reqid::fingerprint;
use crate::xfrm::Error;

/// How long `ip` may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// Before the rules of the host, of which the first is that for its own addresses.
const PRIORITY: u32 = 218;
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
    rules: BTreeSet<String>,
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
        })
    }

    pub(super) fn set_mtu(&self, mtu: u16) -> Result<(), Error> {
        ip(&format!("link set dev {} mtu {mtu}\n", self.device))
    }

    /// Leads what is between these to the device.
    pub(super) fn add(&mut self, local: &[Selector], remote: &[Selector]) -> Result<(), Error> {
        let new: Vec<_> = self
            .of(local, remote)
            .into_iter()
            .filter(|rule| !self.rules.contains(rule))
            .collect();
        let lines: String = new.iter().map(|rule| line(rule, "add")).collect();
        ip(&lines)?;
        self.rules.extend(new);
        Ok(())
    }

    /// Ends that.
    pub(super) fn remove(&mut self, local: &[Selector], remote: &[Selector]) -> Result<(), Error> {
        let mut gone = self.of(local, remote);
        gone.retain(|rule| self.rules.remove(rule));
        let lines: String = gone.iter().map(|rule| line(rule, "delete")).collect();
        ip(&lines)
    }

    /// A rule for each pair of selectors, without its beginning.
    fn of(&self, local: &[Selector], remote: &[Selector]) -> Vec<String> {
        let pairs = local
            .iter()
            .flat_map(|local| remote.iter().map(move |remote| (local, remote)));
        let mut rules = Vec::new();
        for (local, remote) in pairs.filter(|(local, remote)| is_v4(local) == is_v4(remote)) {
            let networks = |selector: &Selector| networks(selector.addresses);
            for from in networks(local) {
                for to in networks(remote) {
                    let mut rule = format!("{} {from} {to}", if is_v4(local) { "-4" } else { "-6" });
                    let protocol = local.protocol.max(remote.protocol);
                    if protocol != 0 {
                        // Writing to a string cannot fail.
                        let _ = write!(rule, " ipproto {protocol}");
                    }
                    for (word, ports) in [("sport", local.ports), ("dport", remote.ports)] {
                        if ports != (0, u16::MAX) {
                            let _ = write!(rule, " {word} {}-{}", ports.0, ports.1);
                        }
                    }
                    let _ = write!(rule, " table {}", table(&self.device));
                    rules.push(rule);
                }
            }
        }
        rules
    }
}

impl Drop for Routes {
    fn drop(&mut self) {
        let lines: String = self.rules.iter().map(|rule| line(rule, "delete")).collect();
        // Where it fails, they lead to a device that is gone.
        let _ = ip(&lines);
    }
}

/// A line of a batch of `ip`: of a rule that starts with family, sender and receiver. What carries the tunnel itself is not led into it.
fn line(rule: &str, action: &str) -> String {
    let mut parts = rule.splitn(4, ' ');
    let mut part = || parts.next().unwrap_or_default();
    let (family, from, to, rest) = (part(), part(), part(), part());
    format!("{family} rule {action} priority {PRIORITY} from {from} to {to} fwmark 0/{MARK:#x} {rest}\n")
}

fn is_v4(selector: &Selector) -> bool {
    selector.addresses.0.is_ipv4()
}

/// The networks that a range of addresses is made of.
fn networks((first, last): (IpAddr, IpAddr)) -> Vec<String> {
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
        let address = match width {
            32 => IpAddr::from((next as u32).to_be_bytes()),
            _ => IpAddr::from(next.to_be_bytes()),
        };
        networks.push(format!("{address}/{}", width - bits));
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
        let of = |first: &str, last: &str| networks((first.parse().unwrap(), last.parse().unwrap()));
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
    fn a_device_has_the_name_of_its_node_where_that_is_short_and_a_number_where_it_is_not() {
        assert_eq!(device_name("cu"), "esp-cu");
        let long = device_name("near-rt-ric-of-the-north");
        assert!(long.starts_with("esp_") && long.len() <= NAME, "{long}");
        assert_ne!(long, device_name("near-rt-ric-of-the-south"));
    }
}
