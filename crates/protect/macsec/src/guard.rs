//! What keeps everything but MACsec off a link's port, whatever becomes of the controller and of the keys.
//!
//! A MACsec device protects what is sent through it, and nothing else: a program, a route or a bridge that uses the port itself sends
//! unencrypted, and the kernel hands what arrives without a SecTAG to the port as ever. So a table of nftables stands at ingress and egress of
//! the port. It passes EAPOL, the exchange of keys and MACsec, with what the file names as exceptions, and drops all else in both
//! directions. It outlives the controller, `up` and `down`, and goes when it is removed by name.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use bartizan_deployment::{Cak, Deployment, Keying, Unencrypted};
use bartizan_host::{Error, PAE_GROUP_ADDRESS, nftables};
use bartizan_registry::ethertype;
use serde_json::Value;

/// The family of tables that stand at devices.
const FAMILY: &str = "netdev";
/// Each rule's comment begins with it.
const MARK: &str = "bartizan-macsec";

/// The rules for the ports of one node.
#[derive(Debug, Clone)]
pub struct Guard {
    name: String,
    ports: Vec<Port>,
}

/// A port, and what passes it besides EAPOL and MACsec.
#[derive(Debug, Clone)]
struct Port {
    name: String,
    /// Whether keys come from an exchange in frames of its own.
    exchange: bool,
    unencrypted: Vec<Unencrypted>,
}

/// What is installed of a node's rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GuardState {
    /// All of them.
    Installed(Vec<Dropped>),
    /// Something of them is missing or changed.
    Damaged(String),
    /// None: what does not go through the MACsec device passes unencrypted.
    Absent,
}

/// Frames that were dropped at a port since the rules are installed.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Dropped {
    /// The port.
    pub port: String,
    /// On their way out.
    pub leaving: u64,
    /// On their way in.
    pub arriving: u64,
}

impl Guard {
    /// The rules for every MACsec link of `node`.
    #[must_use]
    pub fn of(deployment: &Deployment, node: &str) -> Self {
        let links = deployment.macsec_links(node);
        let ports = links.filter_map(|(_, interface, link)| {
            let (port, _) = link.at(&interface.between, node)?;
            Some(Port {
                name: port.to_owned(),
                exchange: matches!(link.keying, Keying::Direct | Keying::Mka(Cak::Exchange)),
                unencrypted: link.unencrypted.clone(),
            })
        });
        Self {
            name: name(node),
            ports: ports.collect(),
        }
    }

    /// Installs them in this network namespace, in place of those of before, in one step; those that are installed stay, with their counts.
    ///
    /// # Errors
    ///
    /// Where `nft` is missing or may not, a port is not there, or the kernel has no hooks at devices.
    pub fn close(&self) -> Result<(), Error> {
        match self.state() {
            Ok(GuardState::Installed(_)) => Ok(()),
            _ => nftables::apply(&self.script()),
        }
    }

    /// Removes them; when they are not there it is done already.
    ///
    /// # Errors
    ///
    /// Where `nft` is missing or may not.
    pub fn open(&self) -> Result<(), Error> {
        nftables::apply(&removal(&self.name))
    }

    /// What is installed of them in this network namespace.
    ///
    /// # Errors
    ///
    /// Where `nft` is missing or may not.
    pub fn state(&self) -> Result<GuardState, Error> {
        let Some((listed, text)) = nftables::printed(FAMILY, &self.name)? else {
            return Ok(GuardState::Absent);
        };
        Ok(self.compare(listed["nftables"].as_array().map_or(&[][..], Vec::as_slice), &text))
    }

    fn compare(&self, objects: &[Value], text: &str) -> GuardState {
        let of_kind = |kind: &'static str| objects.iter().filter_map(move |object| object.get(kind));
        let mut comments: BTreeSet<_> = of_kind("rule").filter_map(|rule| rule["comment"].as_str()).collect();
        let mut dropped = Vec::new();
        for (number, at) in self.ports.iter().enumerate() {
            let port = &at.name;
            let mut counts = [0; 2];
            for (side, count) in Side::BOTH.into_iter().zip(&mut counts) {
                let name = side.chain(number);
                let chain = of_kind("chain").find(|chain| chain["name"] == name.as_str());
                let stands = |chain: &Value| {
                    let hook = side.hook();
                    let devices = [format!("device \"{port}\""), format!("devices = {{ \"{port}\" }}")];
                    let of_port = devices
                        .iter()
                        .any(|device| text.contains(&format!(" hook {hook} {device} ")));
                    of_port && chain["hook"] == hook && chain["policy"] == "drop"
                };
                if !chain.is_some_and(stands) {
                    let (words, hook) = (side.words(), side.hook());
                    return GuardState::Damaged(format!(
                        "nothing stands at the {hook} of {port}: frames {words} pass as they are"
                    ));
                }
                let rules = of_kind("rule").filter(|rule| rule["chain"] == name.as_str());
                let wanted = rules_of(number, side, at);
                if rules.count() != wanted.len() {
                    return GuardState::Damaged(format!("the chain {name} has other rules than ours"));
                }
                for (_, mark) in &wanted {
                    if !comments.remove(mark.as_str()) {
                        return GuardState::Damaged(format!("the rule `{mark}` is missing"));
                    }
                }
                let counter = of_kind("counter").find(|counter| counter["name"] == name.as_str());
                *count = counter
                    .and_then(|counter| counter["packets"].as_u64())
                    .unwrap_or_default();
            }
            let [leaving, arriving] = counts;
            dropped.push(Dropped {
                port: port.clone(),
                leaving,
                arriving,
            });
        }
        GuardState::Installed(dropped)
    }

    fn script(&self) -> String {
        let mut script = removal(&self.name);
        let _ = writeln!(script, "table {FAMILY} {} {{", self.name);
        for (number, at) in self.ports.iter().enumerate() {
            let port = &at.name;
            for side in Side::BOTH {
                let (chain, hook, priority) = (side.chain(number), side.hook(), side.priority());
                let _ = writeln!(script, "counter {chain} {{ }}\nchain {chain} {{");
                let _ = writeln!(
                    script,
                    "type filter hook {hook} device \"{port}\" priority {priority}; policy drop;"
                );
                for (rule, mark) in rules_of(number, side, at) {
                    let _ = writeln!(script, "{rule} comment \"{mark}\"");
                }
                script.push_str("}\n");
            }
        }
        script.push_str("}\n");
        script
    }
}

/// The rules of a chain, each with its comment.
fn rules_of(number: usize, side: Side, port: &Port) -> Vec<(String, String)> {
    let address = PAE_GROUP_ADDRESS.map(|octet| format!("{octet:02x}")).join(":");
    let chain = side.chain(number);
    let accept = |name: &str, kind: u16| {
        (
            format!("ether type {kind:#06x} accept"),
            format!("{MARK} {chain} {name}"),
        )
    };
    let mut rules = vec![accept("macsec", ethertype::MACSEC), accept("eapol", ethertype::EAPOL)];
    if port.exchange {
        let kind = ethertype::LOCAL_EXPERIMENTAL;
        rules.push((
            format!("ether type {kind:#06x} ether daddr {address} accept"),
            format!("{MARK} {chain} keys"),
        ));
    }
    rules.extend(
        port.unencrypted
            .iter()
            .map(|passed| accept(passed.name(), passed.ethertype())),
    );
    rules.push((format!("counter name {chain} drop"), format!("{MARK} {chain} drop")));
    rules
}

/// On which side of a port.
#[derive(Debug, Clone, Copy)]
enum Side {
    Leaving,
    Arriving,
}

impl Side {
    const BOTH: [Self; 2] = [Self::Leaving, Self::Arriving];

    fn chain(self, number: usize) -> String {
        match self {
            Self::Leaving => format!("leaving-{number}"),
            Self::Arriving => format!("arriving-{number}"),
        }
    }

    const fn hook(self) -> &'static str {
        match self {
            Self::Leaving => "egress",
            Self::Arriving => "ingress",
        }
    }

    /// The last on the way out, so that nothing behind it changes a frame; the first on the way in.
    const fn priority(self) -> i32 {
        match self {
            Self::Leaving => 500,
            Self::Arriving => -500,
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Leaving => "that leave",
            Self::Arriving => "that arrive",
        }
    }
}

fn name(node: &str) -> String {
    format!("{MARK}-{node}")
}

/// `table X` makes one where there is none, so that `delete table X` cannot fail.
fn removal(name: &str) -> String {
    format!("table {FAMILY} {name}\ndelete table {FAMILY} {name}\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn guard() -> Guard {
        Guard {
            name: name("odu"),
            ports: vec![Port {
                name: "eth0".to_owned(),
                exchange: true,
                unencrypted: vec![Unencrypted::Ptp],
            }],
        }
    }

    /// As `nft -j` lists what the script makes.
    fn listed() -> Vec<Value> {
        let mut objects = vec![json!({"table": {"family": "netdev"}})];
        for side in Side::BOTH {
            let chain = side.chain(0);
            objects.push(json!({"counter": {"name": chain, "packets": 7}}));
            objects.push(json!({"chain": {"name": chain, "hook": side.hook(), "policy": "drop"}}));
            for (_, mark) in rules_of(0, side, &guard().ports[0]) {
                objects.push(json!({"rule": {"chain": chain, "comment": mark}}));
            }
        }
        objects
    }

    #[test]
    fn script_passes_what_is_named_and_drops_the_rest_in_both_directions() {
        let script = guard().script();
        for line in [
            "type filter hook egress device \"eth0\" priority 500; policy drop;",
            "type filter hook ingress device \"eth0\" priority -500; policy drop;",
            "ether type 0x88e5 accept comment \"bartizan-macsec leaving-0 macsec\"",
            "ether type 0x88b5 ether daddr 01:80:c2:00:00:03 accept comment \"bartizan-macsec arriving-0 keys\"",
            "ether type 0x88f7 accept comment \"bartizan-macsec leaving-0 ptp\"",
            "counter name leaving-0 drop comment \"bartizan-macsec leaving-0 drop\"",
        ] {
            assert!(script.lines().any(|one| one == line), "no {line} in {script}");
        }
        let mut without = guard();
        without.ports[0].unencrypted.clear();
        without.ports[0].exchange = false;
        let script = without.script();
        assert!(!script.contains("0x88f7") && !script.contains("0x88b5"), "{script}");
    }

    #[test]
    fn what_is_missing_or_added_is_noticed() {
        let dropped = Dropped {
            port: "eth0".to_owned(),
            leaving: 7,
            arriving: 7,
        };
        let hooks = "hook egress device \"eth0\" priority\nhook ingress devices = { \"eth0\" } priority"
            .replace("hook", " hook");
        assert_eq!(guard().compare(&listed(), &hooks), GuardState::Installed(vec![dropped]));
        for index in 0..listed().len() {
            let mut objects = listed();
            let removed = objects.remove(index);
            if removed.get("rule").is_some() || removed.get("chain").is_some() {
                assert!(
                    matches!(guard().compare(&objects, &hooks), GuardState::Damaged(_)),
                    "{removed}"
                );
            }
        }
        let mut more = listed();
        more.push(json!({"rule": {"chain": "leaving-0", "comment": "accept all"}}));
        assert!(matches!(guard().compare(&more, &hooks), GuardState::Damaged(_)));
        let mut open = listed();
        open[2]["chain"]["policy"] = "accept".into();
        assert!(matches!(guard().compare(&open, &hooks), GuardState::Damaged(_)));
        let elsewhere = hooks.replace("eth0", "eth1");
        assert!(matches!(guard().compare(&listed(), &elsewhere), GuardState::Damaged(_)));
    }
}
