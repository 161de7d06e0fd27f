//! Rules and tables of policy routing: a rule for each port that peers' functions are called at,
//! whose table has a route for each peer, so that a
//! packet of this host passes as many rules however many peers there are.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use bartizan_deployment::Network;
use bartizan_host::Error as Host;
use bartizan_host::netlink::Refused;
use bartizan_host::routing::{self, Filter, Route, Rule, Version};

use crate::Error;
use crate::plan::Plan;

/// The table for answers of the own function.
const TABLE: u32 = 7443;
/// The table of all addresses of this host.
const LOCAL: u32 = 255;
/// Names our rules and routes among those of others: a number that no routing daemon is registered
/// for.
const PROTOCOL: u8 = 74;
/// TCP and SCTP by their numbers.
const TCP: u8 = 6;
const SCTP: u8 = 132;
/// The metric of routes that make a peer unreachable for sockets that are bound to a device. Behind
/// the way to loopback.
const BEHIND: u32 = 1;
/// Times that rules are installed or removed before another program that changes them wins.
const TRIES: usize = 4;

/// The place of a rule among those of the namespace: after the table `local` (0), before all that others add, such as those of VRFs (1000)
/// and of container networks.
#[derive(Debug, Clone, Copy)]
enum Rank {
    /// Destinations on this host, also where an operator moved the table `local` further down.
    Local = 1,
    /// To loopback.
    Loopback = 2,
    /// And nowhere else.
    Nowhere = 3,
    /// Behind all of it: what is let pass goes on here.
    Behind = 4,
}

/// Rules and routes.
#[derive(Debug, Default)]
struct Fence {
    routes: Vec<Route>,
    rules: Vec<Rule>,
}

/// The table with a route for each peer that is called at a port by a protocol; port 0 stands for
/// all of them.
fn table_of(protocol: u8, port: u16) -> u32 {
    let first = if protocol == SCTP { TABLE + 1 } else { TABLE };
    first << 16 | u32::from(port)
}

fn is_ours(rule: &Rule) -> bool {
    let is_of_ours = |table: u32| table == TABLE || [TABLE, TABLE + 1].contains(&(table >> 16));
    rule.maker() == Some(PROTOCOL) || rule.table().is_some_and(is_of_ours)
}

fn rule(version: Version, rank: Rank) -> Rule {
    Rule::new(version, rank as u32).made_by(PROTOCOL)
}

fn answers(rule: Rule, protocol: u8, port: u16) -> Rule {
    rule.input("lo").protocol(protocol).source_ports((port, port))
}

fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

impl Fence {
    /// The rules and routes for calls of peers' functions and for answers of the own function.
    fn of(plan: &Plan, version: Version) -> Self {
        let mut fence = Self::default();
        let gateway = &plan.gateway;
        let mut called: BTreeMap<(u8, u16), BTreeSet<IpAddr>> = BTreeMap::new();
        let tcp = plan
            .addresses()
            .into_iter()
            .map(|service| (TCP, service.port(), service.ip()));
        let sctp = gateway
            .services
            .keys()
            .map(|service| (SCTP, service.port(), service.ip()));
        let peers = gateway.peers.iter().map(|peer| (SCTP, 0, *peer));
        for (protocol, port, address) in tcp.chain(sctp).chain(peers) {
            if Version::of(address) == version {
                called.entry((protocol, port)).or_default().insert(address);
            }
        }
        let of_tcp = plan.ports.iter().map(|port| (TCP, *port));
        let own: Vec<_> = of_tcp.chain(gateway.ports.iter().map(|port| (SCTP, *port))).collect();
        fence.pass(plan, version);
        for (place, addresses) in &called {
            fence.call(version, *place, addresses);
        }
        for (protocol, port) in &own {
            let of = |rank| answers(rule(version, rank), *protocol, *port);
            fence.rules.push(of(Rank::Local).lookup(LOCAL));
            fence.rules.push(of(Rank::Loopback).lookup(TABLE));
            fence.rules.push(of(Rank::Nowhere).unreachable());
        }
        if !own.is_empty() {
            fence.routes.push(Route::loopback(version, TABLE).made_by(PROTOCOL));
        }
        fence
    }

    /// Peers called at a port. A route by loopback is none for a socket that is bound to another
    /// device: IPv4 finds the unreachable one then, and
    /// IPv6, whose unreachable routes belong to loopback too, a rule.
    fn call(&mut self, version: Version, (protocol, port): (u8, u16), addresses: &BTreeSet<IpAddr>) {
        let table = table_of(protocol, port);
        let of = |rank: Rank| {
            let rule = rule(version, rank).protocol(protocol);
            if port == 0 {
                rule
            } else {
                rule.destination_ports((port, port))
            }
        };
        self.rules.push(of(Rank::Loopback).lookup(table));
        for address in addresses {
            let route = Route::loopback(version, table).to(*address, bits(*address));
            self.routes.push(route.made_by(PROTOCOL));
            match version {
                Version::V4 => {
                    let nowhere = Route::unreachable(table, BEHIND).to(*address, bits(*address));
                    self.routes.push(nowhere.made_by(PROTOCOL));
                }
                Version::V6 => self
                    .rules
                    .push(of(Rank::Nowhere).to(*address, bits(*address)).unreachable()),
            }
        }
    }

    /// Answers to peers that no sidecar protects pass all of it by.
    fn pass(&mut self, plan: &Plan, version: Version) {
        let mut pass = |peer: &Network, ports: &BTreeSet<u16>, protocol: u8| {
            if Version::of(peer.address()) != version {
                return;
            }
            for port in ports {
                let rule = answers(rule(version, Rank::Local), protocol, *port);
                let to = rule.to(peer.address(), peer.bits());
                self.rules.push(to.goto(Rank::Behind as u32));
            }
        };
        for unprotected in &plan.unprotected_peers {
            for peer in &unprotected.networks {
                pass(peer, &unprotected.ports, TCP);
            }
        }
        for (peer, ports) in &plan.gateway.passed {
            pass(peer, ports, SCTP);
        }
        if !self.rules.is_empty() {
            // A rule that leads to a rule not there yet leads nowhere.
            self.rules.insert(0, rule(version, Rank::Behind));
        }
        // A rule is there once, and two unprotected_peers may have one network.
        let mut known = BTreeSet::new();
        self.rules.retain(|rule| known.insert(rule.clone()));
    }

    /// Our rules and routes that are there, in these tables and elsewhere, and rules of others.
    fn installed(version: Version, tables: &BTreeSet<u32>) -> Result<(Self, Vec<Rule>), Error> {
        let (rules, others) = Rule::list(version).map_err(refused)?.into_iter().partition(is_ours);
        let mut routes = BTreeSet::new();
        let of_tables = tables.iter().map(|table| Filter::Table(*table));
        for filter in of_tables.chain([Filter::MadeBy(PROTOCOL)]) {
            routes.extend(Route::list(version, filter).map_err(refused)?);
        }
        let routes = routes.into_iter().collect();
        Ok((Self { routes, rules }, others))
    }

    fn tables(&self) -> BTreeSet<u32> {
        let tables = self.routes.iter().map(Route::table);
        tables.chain([TABLE]).collect()
    }

    /// Makes this what is installed: what is right already is not touched. What the kernel then has
    /// is compared with what was asked for.
    fn put(self, version: Version) -> Result<(), Error> {
        let tables = self.tables();
        let mut left = 0;
        for _ in 0..TRIES {
            let (here, _) = Self::installed(version, &tables)?;
            let (missing_routes, added_routes) = routing::differences(self.routes.clone(), here.routes);
            let (missing, added) = routing::differences(self.rules.clone(), here.rules);
            left = missing_routes.len() + added_routes.len() + missing.len() + added.len();
            if left == 0 {
                return Ok(());
            }
            let change = || -> Result<(), Refused> {
                // The way out comes before the rules that lead to it: an empty table would be
                // passed over.
                missing_routes.iter().try_for_each(Route::put)?;
                // In their order: those that are let pass come first.
                let missing = self.rules.iter().filter(|rule| missing.binary_search(rule).is_ok());
                missing.into_iter().try_for_each(add)?;
                added.iter().try_for_each(Rule::remove)?;
                added_routes.iter().try_for_each(Route::remove)
            };
            change().map_err(refused)?;
        }
        Err(Error::Host(Host::Unfit {
            what: format!("the {version} routing of this network namespace"),
            reason: format!(
                "{left} rules or routes are not as they were written, {TRIES} times: another program changes them"
            ),
        }))
    }
}

/// One that another program has added meanwhile is there.
fn add(rule: &Rule) -> Result<(), Refused> {
    match rule.add() {
        Err(refused) if refused.source.raw_os_error() == Some(libc::EEXIST) => Ok(()),
        added => added,
    }
}

/// The batches for `ip -4` and `ip -6` that would make it.
pub(super) fn batches(plan: &Plan) -> [String; 2] {
    Version::BOTH.map(|version| {
        let Fence { routes, rules } = Fence::of(plan, version);
        let routes = routes.iter().map(|route| format!("route replace {route}\n"));
        let rules = rules.iter().map(|rule| format!("rule add {rule}\n"));
        routes.chain(rules).collect()
    })
}

pub(super) fn install(plan: &Plan) -> Result<(), Error> {
    Version::BOTH
        .into_iter()
        .try_for_each(|version| Fence::of(plan, version).put(version))
}

pub(super) fn remove() -> Result<(), Error> {
    Version::BOTH
        .into_iter()
        .try_for_each(|version| Fence::default().put(version))
}

/// Returns true if any part is installed, with its differences from the plan.
pub(super) fn differences(plan: &Plan) -> Result<(bool, Vec<String>), Error> {
    let (mut any, mut found) = (false, Vec::new());
    for version in Version::BOTH {
        let wanted = Fence::of(plan, version);
        let (here, others) = Fence::installed(version, &wanted.tables())?;
        any |= !here.routes.is_empty() || !here.rules.is_empty();
        // The rule that every host has first finds addresses of this host alone.
        let before = |rule: &&Rule| rule.priority() <= Rank::Behind as u32 && rule.table() != Some(LOCAL);
        if !wanted.rules.is_empty() {
            let others = others.iter().filter(before);
            found.extend(others.map(|rule| format!("the {version} rule {rule} comes before those of the fence")));
        }
        let (missing, added) = routing::differences(wanted.rules, here.rules);
        found.extend(
            missing
                .iter()
                .map(|rule| format!("the {version} rule {rule} is missing")),
        );
        found.extend(added.iter().map(|rule| format!("a {version} rule {rule} was added")));
        let (missing, added) = routing::differences(wanted.routes, here.routes);
        found.extend(
            missing
                .iter()
                .map(|route| format!("the {version} route {route} is missing")),
        );
        found.extend(added.iter().map(|route| format!("a {version} route {route} was added")));
    }
    Ok((any, found))
}

/// A refusal for want of a right is one of its own.
pub(super) fn refused(refused: Refused) -> Error {
    let action = match &refused.words {
        Some(words) => format!("changing this host's routing ({words})"),
        None => "changing this host's routing".to_owned(),
    };
    Error::Host(match refused.source.raw_os_error() {
        Some(libc::EPERM) => Host::NotPermitted(action),
        _ => Host::Io {
            action,
            source: refused.source,
        },
    })
}
