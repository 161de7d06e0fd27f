//! Strict: what a function sends to addresses that the file does not list is refused, and counted.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use bartizan_deployment::{Allowed, Deployment, Network, Node, Protection};
use bartizan_host::nftables::{Listing, Table};

use super::plan::Plan;
use super::ruleset::STRICT;

/// Bounds of the memory of refused addresses, of each family: their number, and the time.
const REMEMBERED: usize = 1024;
const REMEMBERED_FOR: &str = "1d";
const REFUSED: &str = "refused";

/// Packets that were refused since the table is installed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Refused {
    /// Number of packets.
    pub packets: u64,
    /// Their destinations in the last day: address, protocol, port.
    pub to: Vec<String>,
    /// Number of packets that each of the file's names let pass.
    pub allowed: Vec<(String, u64)>,
}

/// Traffic that may leave besides that through the sidecar.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Listed {
    /// Networks of peers on interfaces that do not run over TCP, or over IPsec.
    pub(super) networks: BTreeSet<String>,
    pub(super) allowed: Vec<Allowed>,
}

impl Listed {
    pub(super) fn of(deployment: &Deployment, node: &Node) -> Self {
        let mut networks = BTreeSet::new();
        let others = deployment.joined(node.name.as_str());
        // Over TCP no other protocol is the interface's own; IKE and ESP of a link that they protect are.
        // SCTP that a gateway carries leaves as its TLS alone.
        let others = others.filter(|(_, interface)| interface.protection != Protection::Gateway);
        for (peer, interface) in others.filter(|(_, interface)| !interface.kind.over_tcp() || interface.ipsec.is_some())
        {
            networks.insert(peer.address.to_string());
            let link = interface
                .ipsec
                .as_ref()
                .and_then(|link| link.ends_from(node.name.as_str()));
            if let Some((_, there)) = link {
                // One that a NAT hides begins, and is answered.
                networks.extend(there.reached_at().map(|address| address.to_string()));
                networks.extend(there.inner.iter().map(Network::to_string));
            }
        }
        let allowed = node.sidecar.as_ref().map(|sidecar| sidecar.allow.clone());
        Self {
            networks,
            allowed: allowed.unwrap_or_default(),
        }
    }
}

/// The table, with the comment that names its rules.
pub(super) fn table(plan: &Plan, mark: &str) -> Table {
    let mut text = String::new();
    let names: BTreeSet<_> = plan
        .listed
        .allowed
        .iter()
        .map(|allowed| allowed.name.as_str())
        .collect();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "\tcounter {REFUSED} {{ }}");
    for name in names {
        let _ = writeln!(text, "\tcounter {} {{ }}", counter(name));
    }
    for (version, kind) in [("v4", "ipv4_addr"), ("v6", "ipv6_addr")] {
        let _ = writeln!(
            text,
            "\tset {REFUSED}-{version} {{\n\t\ttype {kind} . inet_proto . inet_service\n\t\tsize {REMEMBERED}\n\t\tflags dynamic,timeout\n\t\ttimeout {REMEMBERED_FOR}\n\t}}"
        );
    }
    let _ = writeln!(
        text,
        "\tchain output {{\n\t\ttype filter hook output priority 10; policy accept;"
    );
    for rule in rules(plan, mark) {
        let _ = writeln!(text, "\t\t{rule}");
    }
    let _ = writeln!(text, "\t}}");
    Table::new(STRICT, &text)
}

fn rules(plan: &Plan, mark: &str) -> Vec<String> {
    let mut rules = vec![
        format!("fib daddr type local accept comment \"{mark}\""),
        format!("meta skuid {} accept comment \"the sidecar itself\"", plan.user),
        "ct direction reply accept comment \"answers\"".to_owned(),
        // ICMP and ICMPv6 by their numbers: nft has no name of its own for the latter, and a host need not have /etc/protocols.
        "meta l4proto { 1, 58 } accept".to_owned(),
        "tcp flags & rst == rst accept comment \"an end, and nothing else\"".to_owned(),
    ];
    for unprotected in &plan.unprotected_peers {
        let time = unprotected
            .ends()
            .map(|end| format!(" meta time < {end}"))
            .unwrap_or_default();
        for peer in &unprotected.networks {
            let peer = peer.to_string();
            rules.push(format!("{} daddr {peer} meta l4proto tcp{time} accept", family(&peer)));
        }
    }
    for network in &plan.listed.networks {
        rules.push(format!(
            "{} daddr {network} meta l4proto {{ udp, esp, sctp }} accept",
            family(network)
        ));
    }
    for allowed in &plan.listed.allowed {
        let to = allowed.to.to_string();
        rules.push(format!(
            "{} daddr {to} {} dport {} counter name {} accept",
            family(&to),
            allowed.protocol.name(),
            allowed.port,
            counter(&allowed.name)
        ));
    }
    for (family, version) in [("ip", "v4"), ("ip6", "v6")] {
        rules.push(format!(
            "update @{REFUSED}-{version} {{ {family} daddr . meta l4proto . th dport }}"
        ));
    }
    rules.push(format!("meta l4proto tcp counter name {REFUSED} reject with tcp reset"));
    rules.push(format!(
        "counter name {REFUSED} reject with icmpx type admin-prohibited"
    ));
    rules
}

fn counter(name: &str) -> String {
    format!("allowed-{name}")
}

fn family(network: &str) -> &'static str {
    if network.contains(':') { "ip6" } else { "ip" }
}

/// Packets that were refused and let pass, by a listing of the table.
pub(super) fn refused(plan: &Plan, listing: &Listing) -> Refused {
    let names: BTreeSet<_> = plan.listed.allowed.iter().map(|allowed| allowed.name.clone()).collect();
    let count = |counter: &str| listing.packets(counter).unwrap_or(0);
    let to = ["v4", "v6"]
        .iter()
        .flat_map(|version| listing.members(&format!("{REFUSED}-{version}")));
    Refused {
        packets: count(REFUSED),
        to: to.collect(),
        allowed: names
            .into_iter()
            .map(|name| (name.clone(), count(&counter(&name))))
            .collect(),
    }
}
