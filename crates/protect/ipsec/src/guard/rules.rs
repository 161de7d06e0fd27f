//! The rules as nftables reads them.
//!
//! A packet is judged where nothing changes its addresses any more: leaving behind every SNAT, arriving before every DNAT and again behind it,
//! for this host and for those behind it. One whose addresses NAT has changed on its way out is judged by those it had before as well.

use std::fmt::Write as _;
use std::net::IpAddr;

use bartizan_deployment::{Deployment, Network};
use bartizan_host::nftables::{Table, fingerprint};
use bartizan_wire::{ip, udp};

use crate::device::device_name;
use crate::reqid;
use crate::traffic::{Traffic, pairs};

/// Behind everything that other tables do at the same hook; the kernel's own connection tracking alone comes later.
const LAST: i32 = i32::MAX - 1;
/// Before other tables hand a connection that is forwarded over to a flowtable, which passes every hook behind.
const EARLY: i32 = i32::MIN + 1;
/// Before connection tracking, and so before every DNAT; behind the reassembly of fragments (-400).
const FIRST: i32 = -300;
/// The comment that says which state of which rules a table is begins with it.
pub(super) const MARK: &str = "bartizan ";

/// Without these no IPv6 neighbour is found, and so no peer: RFC 4861 speaks before any SA can.
const NEIGHBOURS: &str =
    "icmpv6 type { nd-router-solicit, nd-router-advert, nd-neighbor-solicit, nd-neighbor-advert } accept";

/// ICMP errors that quote a packet (RFC 792, RFC 4443), with the place of its protocol: they show what
/// an SA protected, and are none of the link's traffic themselves.
fn errors(v4: bool, protocol: u8) -> String {
    match v4 {
        true => {
            format!(" icmp type {{ destination-unreachable, time-exceeded, parameter-problem }} @th,136,8 {protocol}")
        }
        false => format!(
            " icmpv6 type {{ destination-unreachable, packet-too-big, time-exceeded, parameter-problem }} @th,112,8 {protocol}"
        ),
    }
}

/// By what a packet is known to be protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// That an SA of its own link protects it: by the number that the link's CHILD_SAs have in the kernel (`ipsec out reqid`, Linux 5.0).
    ByLink,
    /// Protection by any SA, whichever link it belongs to: a kernel without `nft_xfrm` reports no
    /// more.
    ByAnySa,
}

/// Devices that packets pass on their way to the one that encrypts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Devices {
    None,
    /// Those of kernel-libipsec, `ipsec0` and so on.
    Tun,
    /// That of the node, where the engine of Bartizan does ESP itself.
    Own,
}

/// One way to write the table, and what is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) table: Table,
    /// The comment of its first rule: names the content of all of them.
    pub(super) mark: String,
    pub(super) known: Known,
    pub(super) devices: Devices,
}

/// The links of a node as counters name them: `ric-E2`.
pub(super) fn links(deployment: &Deployment, node: &str) -> Vec<String> {
    let links = deployment.ipsec_links(node);
    let names = links.map(|(peer, interface, _)| format!("{}-{}", peer.name, interface.kind.name()));
    names.collect()
}

/// Counts a link's packets that found no SA on their way out.
pub(super) fn leaving(link: &str) -> String {
    format!("leaving-{link}")
}

/// Counts those whose addresses NAT has changed, so that no SA is for them.
pub(super) fn translated(link: &str) -> String {
    format!("translated-{link}")
}

/// Counts those that arrived unprotected.
pub(super) fn arriving(link: &str) -> String {
    format!("arriving-{link}")
}

/// The table of a node.
pub(super) fn write(deployment: &Deployment, node: &str, name: &str, known: Known, devices: Devices) -> Written {
    let own = match devices {
        Devices::None => None,
        Devices::Tun => Some("ipsec*".to_owned()),
        Devices::Own => Some(device_name(node)),
    };
    let (mut out, mut into) = (Side::default(), Side::default());
    for ((_, interface, link), name) in deployment.ipsec_links(node).zip(links(deployment, node)) {
        let Some((here, there)) = link.ends_from(node) else {
            continue;
        };
        let (local, remote) = (Some(here.outer), there.reached_at());
        out.pass([local, remote], "sport");
        into.pass([remote, local], "dport");
        let mut numbers = Vec::new();
        for (index, [ours, theirs]) in pairs(node, link).iter().enumerate() {
            numbers.push(reqid::of(interface, index).to_string());
            out.keep(ours, theirs, &leaving(&name));
            out.keep_translated(ours, theirs, &translated(&name));
            into.keep(theirs, ours, &arriving(&name));
        }
        let protected = |direction, any| match known {
            Known::ByLink => format!("ipsec {direction} reqid {}", braced(&numbers)),
            Known::ByAnySa => format!("{any} ipsec exists"),
        };
        for counter in [leaving(&name), translated(&name)] {
            out.ends.push((counter, protected("out", "rt")));
        }
        into.ends.push((arriving(&name), protected("in", "meta")));
    }
    let mark = format!("{MARK}{:016x}", fingerprint(&body(&out, &into, own.as_deref(), "")));
    Written {
        table: Table::new(name, &body(&out, &into, own.as_deref(), &mark)),
        mark,
        known,
        devices,
    }
}

/// The table without its name: counters, the chains of links, and those at the hooks.
fn body(out: &Side, into: &Side, own: Option<&str>, mark: &str) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    for (counter, _) in out.ends.iter().chain(&into.ends) {
        let _ = writeln!(text, "  counter {counter} {{ }}");
    }
    // A chain comes before those that lead to it.
    for (counter, protected) in out.ends.iter().chain(&into.ends) {
        let _ = writeln!(
            text,
            "  chain {counter} {{\n    {protected} accept\n    counter name {counter} drop\n  }}"
        );
    }
    out.chain(&mut text, "outgoing", "oifname", own, mark);
    into.chain(&mut text, "arriving", "iifname", own, mark);
    for (name, at, priority, judged, rules) in [
        // By the route that was found for them, which has an SA or none: behind SNAT that is looked for again.
        ("handed-on", "forward", EARLY, "outgoing", &[][..]),
        ("leaving", "postrouting", LAST, "outgoing", &out.translated),
        ("arrived", "prerouting", FIRST, "arriving", &[]),
        ("delivered", "input", LAST, "arriving", &[]),
        ("forwarded", "forward", LAST, "arriving", &[]),
    ] {
        let _ = writeln!(
            text,
            "  chain {name} {{\n    type filter hook {at} priority {priority}; policy accept;\n    jump {judged}"
        );
        for rule in rules {
            let _ = writeln!(text, "    {rule}");
        }
        let _ = writeln!(text, "  }}");
    }
    text
}

/// Packets of one direction.
#[derive(Default)]
struct Side {
    passes: Vec<String>,
    /// Rules that lead a link's packets to the chain that judges them.
    matches: Vec<String>,
    /// The same by what packets were before NAT.
    translated: Vec<String>,
    /// Chains, named as their counters, each with what protects its packets.
    ends: Vec<(String, String)>,
}

impl Side {
    /// IKE and ESP themselves, which a link for everything between two hosts would otherwise cover.
    /// A peer behind a NAT is never addressed directly, and its packets come from no address of the
    /// link.
    fn pass(&mut self, [from, to]: [Option<IpAddr>; 2], ours: &str) {
        let (Some(from), Some(to)) = (from.map(Network::of_host), to.map(Network::of_host)) else {
            return;
        };
        let Some((_, addresses)) = addresses(&[from], &[to], "").into_iter().next() else {
            return;
        };
        // A translator on the way may change the other end's port.
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

    /// Sends the traffic of a CHILD_SA to `chain` for judgement.
    fn keep(&mut self, from: &Traffic<'_>, to: &Traffic<'_>, chain: &str) {
        for (v4, addresses) in addresses(from.networks, to.networks, "") {
            let of_protocol = of_protocol(from);
            let ports = ports([("th sport", from.port), ("th dport", to.port)]);
            if !ports.is_empty() {
                // Fragments after the first have no ports.
                let later = if v4 {
                    "ip frag-off & 0x1fff != 0"
                } else {
                    "frag frag-off != 0"
                };
                self.matches
                    .push(format!("{addresses}{of_protocol} {later} goto {chain}"));
            }
            if let Some(protocol) = from.protocol {
                self.matches
                    .push(format!("{addresses}{} goto {chain}", errors(v4, protocol)));
            }
            self.matches
                .push(format!("{addresses}{of_protocol}{ports} goto {chain}"));
        }
    }

    /// The same by the addresses that a packet had before NAT changed them: a packet that was the link's is not let go under another name.
    fn keep_translated(&mut self, from: &Traffic<'_>, to: &Traffic<'_>, chain: &str) {
        for (_, addresses) in addresses(from.networks, to.networks, "ct original ") {
            let ports = ports([("ct original proto-src", from.port), ("ct original proto-dst", to.port)]);
            self.translated.push(format!(
                "ct direction original {addresses}{}{ports} goto {chain}",
                of_protocol(from)
            ));
        }
    }

    fn chain(&self, text: &mut String, name: &str, device: &str, own: Option<&str>, mark: &str) {
        let _ = writeln!(text, "  chain {name} {{");
        let _ = writeln!(text, "    {device} \"lo\" accept comment \"{mark}\"");
        if let Some(own) = own {
            let _ = writeln!(text, "    {device} \"{own}\" accept");
        }
        for rule in [NEIGHBOURS].into_iter().chain(self.passes.iter().map(String::as_str)) {
            let _ = writeln!(text, "    {rule}");
        }
        for rule in &self.matches {
            let _ = writeln!(text, "    {rule}");
        }
        let _ = writeln!(text, "  }}");
    }
}

fn of_protocol(traffic: &Traffic<'_>) -> String {
    let protocol = traffic.protocol;
    protocol
        .map(|protocol| format!(" meta l4proto {protocol}"))
        .unwrap_or_default()
}

fn ports(ports: [(&str, Option<u16>); 2]) -> String {
    let given = ports
        .into_iter()
        .filter_map(|(name, port)| Some(format!(" {name} {}", port?)));
    given.collect()
}

/// From some networks to others, for each family that both have, and whether it is IPv4.
fn addresses(from: &[Network], to: &[Network], prefix: &str) -> Vec<(bool, String)> {
    let families = [("ip", true), ("ip6", false)];
    let both = families.into_iter().filter_map(|(family, v4)| {
        let (from, to) = (set(from, v4)?, set(to, v4)?);
        let text = format!("{prefix}{family} saddr {from} {prefix}{family} daddr {to}");
        Some((v4, text))
    });
    both.collect()
}

/// The networks of a family; one that another covers is left out, since a set has each address once.
fn set(networks: &[Network], v4: bool) -> Option<String> {
    let of_family: Vec<_> = networks
        .iter()
        .filter(|network| network.address().is_ipv4() == v4)
        .collect();
    let mut kept = Vec::new();
    for (index, network) in of_family.iter().enumerate() {
        let covered = of_family
            .iter()
            .enumerate()
            .any(|(other, by)| other != index && by.covers(network) && (!network.covers(by) || other < index));
        if !covered {
            kept.push(network.to_string());
        }
    }
    (!kept.is_empty()).then(|| braced(&kept))
}

/// One by itself, several as a set.
fn braced(values: &[String]) -> String {
    match values {
        [one] => one.clone(),
        several => format!("{{ {} }}", several.join(", ")),
    }
}
