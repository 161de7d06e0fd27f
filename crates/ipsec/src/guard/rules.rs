//! The rules as nftables reads them.

use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use bartizan_deployment::{Deployment, End, Network};
use bartizan_wire::{ip, udp};

use crate::traffic::{Traffic, pairs};

/// The counter of what would have left.
pub(super) const LEAVING: &str = "leaving";
/// The counter of what would have come in.
pub(super) const ARRIVING: &str = "arriving";

/// Without these no IPv6 neighbour is found, and so no peer: RFC 4861 speaks before any SA can.
const NEIGHBOURS: &str =
    "icmpv6 type { nd-router-solicit, nd-router-advert, nd-neighbor-solicit, nd-neighbor-advert } accept";

/// The script and what is known of it.
pub(super) struct Written {
    pub(super) script: String,
    pub(super) mark: String,
    pub(super) drops: usize,
}

/// Removes the table, also where there is none: `table X` makes one, so that `delete table X` cannot fail.
pub(super) fn cleared(table: &str) -> String {
    format!("table inet {table}\ndelete table inet {table}\n")
}

/// The table of a node.
pub(super) fn write(deployment: &Deployment, node: &str, table: &str) -> Written {
    let mut sides = [Side::new(LEAVING), Side::new(ARRIVING)];
    for (_, _, link) in deployment.ipsec_links(node) {
        let Some((here, there)) = link.ends_from(node) else {
            continue;
        };
        sides[0].pass(here, there);
        sides[1].pass(there, here);
        for [ours, theirs] in pairs(node, link) {
            sides[0].keep(&ours, &theirs);
            sides[1].keep(&theirs, &ours);
        }
    }
    let [leaving, arriving] = &sides;
    let text = |mark: &str| {
        format!(
            "{}table inet {table} {{\n  counter {LEAVING} {{ }}\n  counter {ARRIVING} {{ }}\n{}{}}}\n",
            cleared(table),
            // After routing, where the kernel has chosen an SA or none; `ipsec*` are the TUN devices of kernel-libipsec.
            leaving.chain(
                "postrouting",
                [
                    "oifname \"lo\" accept",
                    "oifname \"ipsec*\" accept",
                    "rt ipsec exists accept"
                ],
                mark
            ),
            arriving.chain(
                "prerouting",
                [
                    "iifname \"lo\" accept",
                    "iifname \"ipsec*\" accept",
                    "meta ipsec exists accept"
                ],
                mark
            ),
        )
    };
    let mut hasher = DefaultHasher::new();
    text("").hash(&mut hasher);
    let mark = format!("bartizan {:016x}", hasher.finish());
    let script = text(&mark);
    let drops = sides.iter().map(|side| side.drops.len()).sum();
    Written { script, mark, drops }
}

/// Packets of one direction.
struct Side {
    counter: &'static str,
    passes: Vec<String>,
    drops: Vec<String>,
}

impl Side {
    fn new(counter: &'static str) -> Self {
        Self {
            counter,
            passes: Vec::new(),
            drops: Vec::new(),
        }
    }

    /// IKE and ESP themselves, which a link for everything between two hosts would otherwise cover.
    fn pass(&mut self, from: &End, to: &End) {
        let (from, to) = (Network::of_host(from.outer), Network::of_host(to.outer));
        let Some(addresses) = addresses(&[from], &[to]).into_iter().next() else {
            return;
        };
        // A translator on the way may change the other end's port.
        let ours = if self.counter == LEAVING { "sport" } else { "dport" };
        let more = [
            format!("{addresses} meta l4proto {} accept", ip::ESP),
            format!("{addresses} udp {ours} {{ {}, {} }} accept", udp::IKE, udp::IKE_NAT),
        ];
        for rule in more {
            if !self.passes.contains(&rule) {
                self.passes.push(rule);
            }
        }
    }

    /// What a CHILD_SA is for is dropped where none protects it.
    fn keep(&mut self, from: &Traffic<'_>, to: &Traffic<'_>) {
        for addresses in addresses(from.networks, to.networks) {
            let of_protocol = from
                .protocol
                .map(|protocol| format!(" meta l4proto {protocol}"))
                .unwrap_or_default();
            let mut ports = String::new();
            for (name, port) in [("sport", from.port), ("dport", to.port)] {
                if let Some(port) = port {
                    // Writing to a string cannot fail.
                    let _ = write!(ports, " th {name} {port}");
                }
            }
            if !ports.is_empty() {
                // Fragments after the first have no ports.
                let later = if addresses.starts_with("ip6") {
                    "frag frag-off != 0"
                } else {
                    "ip frag-off & 0x1fff != 0"
                };
                self.drops.push(format!("{addresses}{of_protocol} {later}"));
            }
            self.drops.push(format!("{addresses}{of_protocol}{ports}"));
        }
    }

    fn chain(&self, hook: &str, protected: [&str; 3], mark: &str) -> String {
        let name = self.counter;
        let mut text = format!("  chain {name} {{\n    type filter hook {hook} priority 0; policy accept;\n");
        for rule in protected.into_iter().chain([NEIGHBOURS]) {
            let _ = writeln!(text, "    {rule}");
        }
        for rule in &self.passes {
            let _ = writeln!(text, "    {rule}");
        }
        for rule in &self.drops {
            let _ = writeln!(text, "    {rule} counter name {name} drop comment \"{mark}\"");
        }
        text + "  }\n"
    }
}

/// From some networks to others, for each family that both have.
fn addresses(from: &[Network], to: &[Network]) -> Vec<String> {
    let families = [("ip", true), ("ip6", false)];
    let both = families.into_iter().filter_map(|(family, v4)| {
        let (from, to) = (set(from, v4)?, set(to, v4)?);
        Some(format!("{family} saddr {from} {family} daddr {to}"))
    });
    both.collect()
}

/// The networks of a family; one that another covers is left out, since a set has each address once.
fn set(networks: &[Network], v4: bool) -> Option<String> {
    let of_family: Vec<_> = networks
        .iter()
        .filter(|network| network.address().is_ipv4() == v4)
        .collect();
    let mut kept: Vec<String> = Vec::new();
    for (index, network) in of_family.iter().enumerate() {
        let covered = of_family
            .iter()
            .enumerate()
            .any(|(other, by)| other != index && by.covers(network) && (!network.covers(by) || other < index));
        if !covered {
            kept.push(network.to_string());
        }
    }
    match kept.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        several => Some(format!("{{ {} }}", several.join(", "))),
    }
}
