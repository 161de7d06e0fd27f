//! What leads packets of the links to the device: a routing table of its own, and rules that lead to that.

use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use bartizan_host::netlink::{Family, Request, attributes};
use bartizan_host::{Program, interface_number};
use bartizan_ike::Selector;

use super::rule::{Network, Rule, rules};
use crate::reqid::fingerprint;
use crate::xfrm::Error;

/// How long `ip` may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// From linux/rtnetlink.h: who has made a route, how far it reaches, its type; attributes of routes and of addresses.
const BY_A_PROGRAM: u8 = 3;
const LINK: u8 = 253;
const UNICAST: u8 = 1;
const DESTINATION: u16 = 1;
const OUT: u16 = 4;
const PREFERRED_SOURCE: u16 = 7;
const TABLE: u16 = 15;
const LOCAL: u16 = 2;
/// Bytes in front of the attributes of an address (`struct ifaddrmsg`).
const ADDRESS: usize = 8;
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
        for rule in new {
            rule.add(table)?;
            self.rules.insert(rule);
            if rule.is_v4() {
                self.lead_unbound(&rule)?;
            }
        }
        Ok(())
    }

    /// The same of IPv4 packets whose route is looked for before their sender is known, as those of a socket that is bound to no address: they
    /// get the address of this host that the rule is for, where there is one. Rules of IPv6 have a flag for that.
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
            route(device, to, source, table)?;
            self.sources.insert(to);
        }
        unbound.add(table)?;
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
        gone.iter().try_for_each(|rule| rule.remove(table))
    }
}

impl Drop for Routes {
    fn drop(&mut self) {
        let table = table(&self.device);
        for rule in &self.rules {
            // Where it fails, it leads to a device that is gone.
            let _ = rule.remove(table);
        }
    }
}

/// The first address of this host in a network, where it has one.
fn own_address(network: Network) -> Option<Ipv4Addr> {
    let IpAddr::V4(first) = network.first else {
        return None;
    };
    let mut found = None;
    let mut fixed = [0; ADDRESS];
    fixed[0] = libc::AF_INET as u8;
    let listed = Request::new(Family::Route, libc::RTM_GETADDR, &fixed).list(&mut |message| {
        let local = attributes(message.get(ADDRESS..).unwrap_or_default()).find(|(kind, _)| *kind == LOCAL);
        let address = local.and_then(|(_, bytes)| Some(Ipv4Addr::from(*bytes.first_chunk::<4>()?)));
        let shared = u32::MAX.checked_shl(32 - network.bits).unwrap_or(0);
        let is_in = |address: &Ipv4Addr| address.to_bits() & shared == first.to_bits() & shared;
        found = found.or(address.filter(is_in));
    });
    listed.ok()?;
    found
}

/// Makes the way to a network lead to the device, and what is sent by it have this address where it has none.
fn route(device: &str, to: Network, source: Ipv4Addr, table: u32) -> Result<(), Error> {
    let number =
        interface_number(device, "looking for the device").map_err(|error| Error::Userspace(error.to_string()))?;
    let IpAddr::V4(first) = to.first else {
        return Ok(());
    };
    // `rtmsg`: family, bits of receiver and sender, no class, no table of a byte, who made it, how far it reaches, its type, no flags.
    let fixed = [
        libc::AF_INET as u8,
        to.bits as u8,
        0,
        0,
        0,
        BY_A_PROGRAM,
        LINK,
        UNICAST,
        0,
        0,
        0,
        0,
    ];
    let request = Request::new(Family::Route, libc::RTM_NEWROUTE, &fixed)
        .attribute(DESTINATION, &first.octets())
        .attribute(OUT, &number.to_ne_bytes())
        .attribute(PREFERRED_SOURCE, &source.octets())
        .attribute(TABLE, &table.to_ne_bytes());
    let replaced = request.order((libc::NLM_F_CREATE | libc::NLM_F_REPLACE) as u16);
    replaced.map_err(|refused| Error::Userspace(format!("a route to {to}: {refused}")))
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
    fn a_device_has_the_name_of_its_node_where_that_is_short_and_a_number_where_it_is_not() {
        assert_eq!(device_name("cu"), "esp-cu");
        let long = device_name("near-rt-ric-of-the-north");
        assert!(long.starts_with("esp_") && long.len() <= NAME, "{long}");
        assert_ne!(long, device_name("near-rt-ric-of-the-south"));
    }
}
