//! Routes of the links' packets to the device: a routing table of its own, and rules that lead to
//! that.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use bartizan_host::netlink::{Family, Refused, Request, attributes};
use bartizan_host::routing::{self, Filter, Route, Version};
use bartizan_host::{Interface, Program};
use bartizan_ike::Selector;

use super::rule::{Network, Rule, rules};
use bartizan_ipsec::fingerprint;
use bartizan_ipsec::xfrm::Error;

/// Time limit of `ip`.
const PATIENCE: Duration = Duration::from_secs(20);
/// From linux/rtnetlink.h: the maker of routes that no daemon has made; the attribute with an
/// interface's own address, and bytes in front of the attributes of an address.
const BY_A_PROGRAM: u8 = 3;
const LOCAL: u16 = 2;
const ADDRESS: usize = 8;
/// The number of a device's routing table; those below 2^16 are other programs'.
fn table(device: &str) -> u32 {
    0x6200_0000 | fingerprint(device) & 0x00ff_ffff
}

/// The rules and routes of a device; they go with this value.
#[derive(Debug)]
pub(super) struct Routes {
    device: String,
    mtu: u16,
    rules: BTreeSet<Rule>,
    /// Networks of peers that the table has a route to by an address of this host, for sockets that have none.
    sources: BTreeMap<Network, Ipv4Addr>,
    /// IP versions that the table has a route of.
    versions: Vec<Version>,
    /// Times that something was gone and was installed again, and what that was the last time.
    pub(super) restored: u64,
    pub(super) last: Option<String>,
}

/// Differences from what was installed.
#[derive(Debug, Default)]
struct Lost {
    link: Option<String>,
    routes: Vec<Route>,
    rules: Vec<routing::Rule>,
    added_routes: Vec<Route>,
    added_rules: Vec<routing::Rule>,
}

impl Lost {
    fn sentences(&self) -> Vec<String> {
        let routes = [(&self.routes, "is missing"), (&self.added_routes, "was added")];
        let rules = [(&self.rules, "is missing"), (&self.added_rules, "was added")];
        let routes = routes.into_iter().flat_map(|(routes, how)| {
            let sentence = move |route: &Route| format!("the {} route {route} {how}", route.version());
            routes.iter().map(sentence)
        });
        let rules = rules.into_iter().flat_map(|(rules, how)| {
            let sentence = move |rule: &routing::Rule| format!("the {} rule {rule} {how}", rule.version());
            rules.iter().map(sentence)
        });
        self.link.clone().into_iter().chain(routes).chain(rules).collect()
    }
}

fn failed(doing: &'static str) -> impl Fn(Refused) -> Error {
    move |refused| Error::Userspace(format!("{doing}: {refused}"))
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
        let mut routes = Self {
            device: device.to_owned(),
            mtu,
            rules: BTreeSet::new(),
            sources: BTreeMap::new(),
            versions: vec![Version::V4],
            restored: 0,
            last: None,
        };
        routes.set_mtu(mtu)?;
        let number = routes.interface()?.index;
        routes
            .default(Version::V4, number)
            .put()
            .map_err(failed("a route to the device"))?;
        routes.lead_v6(number);
        Ok(routes)
    }

    /// Leads IPv6 to the device, where this host has it: without it no packet of it is sent.
    fn lead_v6(&mut self, device: u32) {
        if !self.versions.contains(&Version::V6) && self.default(Version::V6, device).put().is_ok() {
            self.versions.push(Version::V6);
        }
    }

    /// Expects no route of IPv6 any more where this host refuses it and no link is of IPv6. Returns
    /// true where that changed.
    fn gives_up_v6(&mut self, lost: &Lost) -> bool {
        let refused = |route: &Route| route.version() == Version::V6 && route.put().is_err();
        let gone = lost.routes.iter().any(refused) && self.rules.iter().all(Rule::is_v4);
        if gone {
            self.versions.retain(|version| *version == Version::V4);
        }
        gone
    }

    fn table(&self) -> u32 {
        table(&self.device)
    }

    fn interface(&self) -> Result<Interface, Error> {
        let failed = |error: String| Error::Userspace(format!("looking for the device {}: {error}", self.device));
        let found = Interface::find(&self.device).map_err(|error| failed(error.to_string()))?;
        found.ok_or_else(|| failed("there is none".to_owned()))
    }

    fn default(&self, version: Version, device: u32) -> Route {
        Route::new(version, self.table(), device, 0).made_by(BY_A_PROGRAM)
    }

    /// The route by which packets to a network get a sender where they have none.
    fn sourced(&self, to: Network, source: Ipv4Addr, device: u32) -> Route {
        self.default(Version::V4, device)
            .to(to.first, to.bits as u8)
            .source(source.into())
    }

    /// Brings the device up with this MTU.
    pub(super) fn set_mtu(&mut self, mtu: u16) -> Result<(), Error> {
        self.mtu = mtu;
        let run = Program::new("ip")
            .package("iproute2")
            .environment("LC_ALL", "C")
            .arguments(["link", "set", "dev", &self.device, "mtu", &mtu.to_string(), "up"])
            .run(PATIENCE);
        run.map(drop).map_err(|error| Error::Userspace(error.to_string()))
    }

    /// Leads what is between these to the device.
    pub(super) fn add(&mut self, local: &[Selector], remote: &[Selector]) -> Result<(), Error> {
        let mut new = rules(local, remote);
        new.retain(|rule| !self.rules.contains(rule));
        if !new.iter().all(Rule::is_v4) {
            self.lead_v6(self.interface()?.index);
        }
        for rule in new {
            self.install(rule)?;
            if rule.is_v4() {
                self.lead_unbound(&rule)?;
            }
        }
        Ok(())
    }

    fn install(&mut self, rule: Rule) -> Result<(), Error> {
        rule.of_kernel(self.table())
            .add()
            .map_err(failed("a rule of routing"))?;
        self.rules.insert(rule);
        Ok(())
    }

    /// The same of IPv4 packets whose route is looked for before their sender is known, as those of a socket that is bound to no address: they
    /// get the address of this host that the rule is for, where there is one. Rules of IPv6 have a flag for that.
    fn lead_unbound(&mut self, rule: &Rule) -> Result<(), Error> {
        let unbound = rule.unbound();
        // If the peer's side is the whole address space, packets without a source address are not
        // the link's alone.
        if rule.to.bits == 0 || self.rules.contains(&unbound) {
            return Ok(());
        }
        if !self.sources.contains_key(&rule.to) {
            let Some(source) = own_address(rule.from) else {
                return Ok(());
            };
            let route = self.sourced(rule.to, source, self.interface()?.index);
            route.put().map_err(failed("a route to the device"))?;
            self.sources.insert(rule.to, source);
        }
        self.install(unbound)
    }

    /// Ends that.
    pub(super) fn remove(&mut self, local: &[Selector], remote: &[Selector]) -> Result<(), Error> {
        let mut gone = rules(local, remote);
        gone.retain(|rule| self.rules.remove(rule));
        let bound = |rule: &&Rule| **rule != rule.unbound();
        let needed: BTreeSet<Rule> = self.rules.iter().filter(bound).map(Rule::unbound).collect();
        let unbound: BTreeSet<Rule> = gone.iter().map(Rule::unbound).collect();
        gone.extend(unbound.difference(&needed).filter(|rule| self.rules.remove(*rule)));
        let table = self.table();
        let removed = gone.iter().try_for_each(|rule| rule.of_kernel(table).remove());
        removed.map_err(failed("removing a rule of routing"))
    }

    /// Differences of device, table and rules from what was installed, as sentences.
    pub(super) fn differences(&self) -> Result<Vec<String>, Error> {
        Ok(self.lost()?.sentences())
    }

    /// Compares device, table and rules with what was installed, and installs again what is gone.
    /// Returns true where something was.
    pub(super) fn keep(&mut self) -> Result<bool, Error> {
        let lost = self.lost()?;
        let sentences = lost.sentences();
        if sentences.is_empty() {
            return Ok(false);
        }
        self.last = Some(sentences.join("; "));
        if lost.link.is_some() {
            self.set_mtu(self.mtu)?;
        }
        // Routes of a device that was down are gone too, and those to networks need none of the
        // others.
        let mut again = self.lost()?;
        if self.gives_up_v6(&again) {
            again = self.lost()?;
            if lost.link.is_none() && again.sentences().is_empty() {
                return Ok(false);
            }
        }
        // Each is tried, whatever became of the others: a rule is not lost for want of a route of the
        // other family.
        let put = again.routes.iter().map(Route::put);
        let added = again.rules.iter().map(routing::Rule::add);
        let removed = again.added_rules.iter().map(routing::Rule::remove);
        let taken = again.added_routes.iter().map(Route::remove);
        let restored: Vec<Result<(), Refused>> = put.chain(added).chain(removed).chain(taken).collect();
        let refused = restored.into_iter().find_map(Result::err);
        refused
            .map_or(Ok(()), Err)
            .map_err(failed("installing routes and rules again"))?;
        match self.lost()?.sentences().as_slice() {
            [] => {
                self.restored += 1;
                Ok(true)
            }
            left => Err(Error::Userspace(format!(
                "installed again in vain: {}",
                left.join("; ")
            ))),
        }
    }

    fn lost(&self) -> Result<Lost, Error> {
        let interface = self.interface()?;
        let link = match (interface.is_up, interface.mtu == u32::from(self.mtu)) {
            (false, _) => Some(format!("the device {} is down", self.device)),
            (true, false) => Some(format!(
                "the device {} has an MTU of {} octets and not {}",
                self.device, interface.mtu, self.mtu
            )),
            (true, true) => None,
        };
        let table = self.table();
        let default = |version: &Version| self.default(*version, interface.index);
        let sources = self.sources.iter();
        let sources = sources.map(|(to, source)| self.sourced(*to, *source, interface.index));
        let wanted_routes = self.versions.iter().map(default).chain(sources).collect();
        let wanted_rules = self.rules.iter().map(|rule| rule.of_kernel(table)).collect();
        let (mut routes, mut rules) = (Vec::new(), Vec::new());
        for version in Version::BOTH {
            routes.extend(Route::list(version, Filter::Table(table)).map_err(failed("reading routes"))?);
            let listed = routing::Rule::list(version).map_err(failed("reading rules of routing"))?;
            rules.extend(listed.into_iter().filter(|rule| rule.table() == Some(table)));
        }
        let (routes, added_routes) = routing::differences(wanted_routes, routes);
        let (rules, added_rules) = routing::differences(wanted_rules, rules);
        Ok(Lost {
            link,
            routes,
            rules,
            added_routes,
            added_rules,
        })
    }
}

impl Drop for Routes {
    fn drop(&mut self) {
        let table = self.table();
        for rule in &self.rules {
            // A rule that cannot be removed leads to a device that is gone.
            let _ = rule.of_kernel(table).remove();
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

/// Removes the rules of a device that a process which was killed has left.
///
/// # Errors
///
/// The kernel's refusal, or another program that adds them again and again.
pub fn remove_leftover(device: &str) -> Result<(), Error> {
    /// Listings after which it is given up.
    const TRIES: usize = 4;
    let table = table(device);
    for version in Version::BOTH {
        for tries in 0.. {
            let mut rules = routing::Rule::list(version).map_err(failed("reading rules of routing"))?;
            rules.retain(|rule| rule.table() == Some(table));
            if rules.is_empty() {
                break;
            }
            if tries == TRIES {
                let left = rules.len();
                return Err(Error::Userspace(format!(
                    "{left} rules of an earlier process cannot be removed"
                )));
            }
            let removed = rules.iter().try_for_each(routing::Rule::remove);
            removed.map_err(failed("removing rules of an earlier process"))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    mod as_root {
        use bartizan_host::Namespace;

        use super::*;

        /// It was installed again in vain every two seconds, and `status` found a fault.
        #[test]
        fn ipv6_that_is_disabled_later_costs_links_of_ipv4_nothing() {
            let host = Namespace::create("routes").unwrap();
            let test = || {
                let device = "esp-x";
                let ip = Program::new("ip").arguments(["tuntap", "add", "dev", device, "mode", "tun"]);
                ip.run(PATIENCE).unwrap();
                let mut routes = Routes::lay(device, 1400).unwrap();
                assert_eq!(routes.versions, Version::BOTH);
                let disable =
                    |value| fs::write(format!("/proc/sys/net/ipv6/conf/{device}/disable_ipv6"), value).unwrap();
                disable("1");
                assert!(!routes.keep().unwrap());
                assert_eq!((&routes.versions[..], routes.restored), (&[Version::V4][..], 0));
                assert_eq!(routes.differences().unwrap(), Vec::<String>::new());
                disable("0");
                let selector = |address: &str| Selector::of(address.parse().unwrap(), address.parse().unwrap());
                routes.add(&[selector("fd00:1::1")], &[selector("fd00:2::1")]).unwrap();
                assert_eq!(routes.versions, Version::BOTH);
                // A link of IPv6 that cannot be is a fault.
                disable("1");
                assert!(routes.keep().is_err());
            };
            host.enter(test).unwrap();
        }
    }
}
