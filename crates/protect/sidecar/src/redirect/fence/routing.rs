//! Rules and a table of policy routing, as `ip` writes them and lists them in JSON.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

use bartizan_deployment::Network;
use bartizan_host::{Error as Host, Finished, Program};
use serde_json::{Map, Value, json};

use crate::redirect::Error;
use crate::redirect::plan::Plan;

/// Number of the routing table.
const TABLE: u32 = 7443;
/// Names our rules among those of others: a number that no routing daemon is registered for.
const PROTOCOL: u32 = 74;
/// TCP and SCTP by their numbers, which take no file of names.
const TCP: u8 = 6;
const SCTP: u8 = 132;
/// How long `ip` may take.
const PATIENCE: Duration = Duration::from_secs(30);

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

/// The last preference that is ours.
const LAST: u64 = Rank::Behind as u64;

/// What the batches for `ip -4` and `ip -6` have.
pub(super) fn batches(plan: &Plan) -> [String; 2] {
    [Family::V4, Family::V6].map(|family| family.batch(plan))
}

pub(super) fn install(plan: &Plan) -> Result<(), Error> {
    for family in [Family::V4, Family::V6] {
        let batch = family.batch(plan);
        if !batch.is_empty() {
            let ip = ip().arguments([family.option(), "-batch", "-"]).text(&batch)?;
            ip.run(PATIENCE).map_err(classified)?;
        }
    }
    Ok(())
}

pub(super) fn remove() -> Result<(), Error> {
    let (table, protocol) = (TABLE.to_string(), PROTOCOL.to_string());
    for family in [Family::V4, Family::V6] {
        for selector in [["protocol", protocol.as_str()], ["table", &table]] {
            family.ip(&["rule", "flush", selector[0], selector[1]])?;
        }
        // A table that was never filled is not there, which `flush` calls an error.
        none_where_absent(family.ip(&["route", "flush", "table", &table]))?;
    }
    Ok(())
}

/// Whether anything is installed, and how it differs from what it should be.
pub(super) fn differences(plan: &Plan) -> Result<(bool, Vec<String>), Error> {
    let (mut any, mut found) = (false, Vec::new());
    for family in [Family::V4, Family::V6] {
        let wanted = family.rules(plan);
        let listed = list(family.ip(&["-j", "rule", "show"]))?;
        let (ours, others): (Vec<_>, Vec<_>) = listed.into_iter().partition(is_ours);
        any |= !ours.is_empty();
        compare(family, &ours, &wanted, &mut found);
        let before = |rule: &&Value| rule["priority"].as_u64() <= Some(LAST) && !is_of_local(rule);
        if !wanted.is_empty() {
            let others = others.iter().filter(before);
            found.extend(others.map(|rule| format!("the {family} rule {rule} comes before those of the fence")));
        }
        let table = TABLE.to_string();
        let routes = list(none_where_absent(family.ip(&["-j", "route", "show", "table", &table])))?;
        any |= !routes.is_empty();
        let wanted: Vec<_> = (!wanted.is_empty())
            .then(|| json!({ "dst": "default", "dev": "lo" }))
            .into_iter()
            .collect();
        for route in wanted.iter().filter(|route| !routes.contains(route)) {
            found.push(format!("the {family} route {route} is missing from table {TABLE}"));
        }
        for route in routes.iter().filter(|route| !wanted.contains(route)) {
            found.push(format!("the {family} table {TABLE} also has the route {route}"));
        }
    }
    Ok((any, found))
}

fn compare(family: Family, ours: &[Value], wanted: &[Value], found: &mut Vec<String>) {
    let times = |rules: &[Value], rule: &Value| rules.iter().filter(|other| *other == rule).count();
    for rule in wanted.iter().filter(|rule| times(ours, rule) < times(wanted, rule)) {
        found.push(format!("the {family} rule {rule} is missing"));
    }
    for rule in ours.iter().filter(|rule| times(wanted, rule) < times(ours, rule)) {
        found.push(format!("a {family} rule {rule} was added"));
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    V4,
    V6,
}

impl std::fmt::Display for Family {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::V4 => "IPv4",
            Self::V6 => "IPv6",
        })
    }
}

impl Family {
    const fn option(self) -> &'static str {
        match self {
            Self::V4 => "-4",
            Self::V6 => "-6",
        }
    }

    fn of(self, address: &SocketAddr) -> bool {
        address.is_ipv4() == (self == Self::V4)
    }

    fn ip(self, arguments: &[&str]) -> Result<String, Error> {
        let done: Result<Finished, Host> = ip().argument(self.option()).arguments(arguments).run(PATIENCE);
        Ok(done.map_err(classified)?.text())
    }

    /// The rules as they are listed: what goes to a peer's function, and what the own function answers, whoever asked.
    fn rules(self, plan: &Plan) -> Vec<Value> {
        let addresses = plan.addresses();
        let to = addresses.iter().filter(|address| self.of(address));
        let called = |address: &SocketAddr, protocol: u8| json!({ "dst": address.ip().to_string(), "dport": address.port(), "ipproto": protocol.to_string() });
        let answers = |port: &u16, protocol: u8| json!({ "iif": "lo", "sport": port, "ipproto": protocol.to_string() });
        let to = to.map(|address| called(address, TCP));
        let from = plan.ports.iter().map(|port| answers(port, TCP));
        let gateway = &plan.gateway;
        let to_services = gateway.services.keys().filter(|service| self.of(service));
        let to_services = to_services.map(|service| called(service, SCTP));
        let to_peers = gateway.peers.iter().filter(|peer| peer.is_ipv4() == (self == Self::V4));
        let to_peers = to_peers.map(|peer| json!({ "dst": peer.to_string(), "ipproto": SCTP.to_string() }));
        let to = to.chain(to_services).chain(to_peers);
        let from = from.chain(gateway.ports.iter().map(|port| answers(port, SCTP)));
        let mut rules = self.passing(plan);
        for (selector, is_answer) in to.map(|to| (to, false)).chain(from.map(|from| (from, true))) {
            let rule = |rank: Rank, key: &str, value: &str| {
                let mut rule = selector.clone();
                rule["priority"] = json!(rank as u32);
                rule["src"] = json!("all");
                rule["protocol"] = json!(PROTOCOL.to_string());
                rule[key] = json!(value);
                rule
            };
            if is_answer {
                rules.push(rule(Rank::Local, "table", "local"));
            }
            rules.push(rule(Rank::Loopback, "table", &TABLE.to_string()));
            rules.push(rule(Rank::Nowhere, "action", "unreachable"));
        }
        rules
    }

    /// Answers to peers that no sidecar protects pass all of it by.
    fn passing(self, plan: &Plan) -> Vec<Value> {
        let mut rules = Vec::new();
        let own = |rule: Value, rank: Rank| {
            let mut rule = rule;
            rule["priority"] = json!(rank as u32);
            rule["src"] = json!("all");
            rule["protocol"] = json!(PROTOCOL.to_string());
            rule
        };
        let mut pass = |peer: &Network, port: u16, protocol: u8| {
            let (address, bits) = (peer.address().to_string(), peer.bits());
            let mut answer = json!({
                "dst": address, "iif": "lo", "ipproto": protocol.to_string(), "sport": port, "goto": Rank::Behind as u32
            });
            if *peer != Network::of_host(peer.address()) {
                answer["dstlen"] = json!(bits);
            }
            rules.push(own(answer, Rank::Local));
        };
        for bystander in &plan.bystanders {
            for peer in bystander.networks_of(self == Self::V4) {
                for port in &bystander.ports {
                    pass(peer, *port, TCP);
                }
            }
        }
        let passed = plan.gateway.passed.iter();
        for peer in passed.filter(|peer| peer.address().is_ipv4() == (self == Self::V4)) {
            for port in &plan.gateway.ports {
                pass(peer, *port, SCTP);
            }
        }
        if !rules.is_empty() {
            // Where a rule leads that is not there yet, it leads nowhere.
            rules.insert(0, own(json!({ "nop": Value::Null }), Rank::Behind));
        }
        rules
    }

    fn batch(self, plan: &Plan) -> String {
        let mut batch = String::new();
        for rule in self.rules(plan) {
            let text = |key: &str| match &rule[key] {
                Value::String(text) => text.clone(),
                value => value.to_string(),
            };
            let _ = write!(batch, "rule add pref {}", text("priority"));
            for (key, word) in [
                ("dst", "to"),
                ("iif", "iif"),
                ("ipproto", "ipproto"),
                ("sport", "sport"),
                ("dport", "dport"),
            ] {
                if rule.get(key).is_some() {
                    let _ = write!(batch, " {word} {}", text(key));
                }
                if let ("dst", Some(bits)) = (key, rule.get("dstlen")) {
                    let _ = write!(batch, "/{bits}");
                }
            }
            let does = if rule.get("table").is_some() {
                format!("lookup {}", text("table"))
            } else if rule.get("goto").is_some() {
                format!("goto {}", text("goto"))
            } else if rule.get("nop").is_some() {
                "nop".to_owned()
            } else {
                text("action")
            };
            let _ = writeln!(batch, " {does} protocol {PROTOCOL}");
        }
        if !batch.is_empty() {
            // The way out comes before the rules that lead to it: an empty table would be passed over.
            batch.insert_str(0, &format!("route replace default dev lo table {TABLE}\n"));
        }
        batch
    }
}

/// Rules and routes in a form that does not depend on the version of `ip`, or on a host's files of names.
fn list(listed: Result<String, Error>) -> Result<Vec<Value>, Error> {
    let text = listed?;
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let unreadable = |error: serde_json::Error| Host::Unfit {
        what: "what `ip -j` prints".to_owned(),
        reason: error.to_string(),
    };
    let listed: Vec<Map<String, Value>> = serde_json::from_str(&text).map_err(unreadable)?;
    let plain = listed.into_iter().map(|mut object| {
        for unimportant in ["flags", "metric", "pref", "scope"] {
            object.remove(unimportant);
        }
        // iproute2 6.15 lists which bits of a port count, where the kernel (6.15) knows of such masks; all of them where none was given.
        for mask in ["sport_mask", "dport_mask"] {
            if object.get(mask).and_then(Value::as_str) == Some("0xffff") {
                object.remove(mask);
            }
        }
        if let Some(name) = object.get("ipproto").and_then(Value::as_str) {
            let number = match name {
                "tcp" => TCP.to_string(),
                "sctp" => SCTP.to_string(),
                other => other.trim_start_matches("ipproto-").to_owned(),
            };
            object.insert("ipproto".to_owned(), json!(number));
        }
        if object.get("table").and_then(Value::as_str) == Some("255") {
            object.insert("table".to_owned(), json!("local"));
        }
        Value::Object(object)
    });
    Ok(plain.collect())
}

fn is_ours(rule: &Value) -> bool {
    let is = |key: &str, number: u32| rule[key].as_str().is_some_and(|text| text == number.to_string());
    is("protocol", PROTOCOL) || is("table", TABLE)
}

/// The rule that every host has first: it finds addresses of this host alone.
fn is_of_local(rule: &Value) -> bool {
    rule["table"] == "local"
}

fn none_where_absent(done: Result<String, Error>) -> Result<String, Error> {
    match done {
        Err(Error::Host(Host::Failed { tail, .. })) if tail.contains("does not exist") => Ok(String::new()),
        done => done,
    }
}

pub(super) fn ip() -> Program {
    Program::of_system("ip").package("iproute2").environment("LC_ALL", "C")
}

/// A refusal for want of a right is one of its own.
pub(super) fn classified(error: Host) -> Error {
    let is_of_rights = |tail: &str| {
        ["Operation not permitted", "Permission denied"]
            .iter()
            .any(|words| tail.contains(words))
    };
    Error::Host(match error {
        Host::Failed { tail, .. } if is_of_rights(&tail) => Host::NotPermitted {
            action: "changing this host's routing".to_owned(),
        },
        error => error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As iproute2 6.15 lists it on Linux 6.18, and as 6.1 does.
    #[test]
    fn rules_are_the_same_whether_or_not_ip_lists_the_masks_of_ports() {
        let rule = |more: &str| {
            let text = format!(
                r#"[{{"priority":2,"src":"all","dst":"10.0.0.2","ipproto":"tcp","dport":8000{more},"table":"7443","protocol":"74"}}]"#
            );
            list(Ok(text)).unwrap()
        };
        assert_eq!(rule(r#","dport_mask":"0xffff""#), rule(""));
        // One that leads other ports as well is another rule.
        assert_ne!(rule(r#","dport_mask":"0xfff0""#), rule(""));
    }
}
