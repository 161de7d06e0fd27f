//! A policy as `ip xfrm policy` takes and prints it.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;

use bartizan_deployment::{Deployment, Network};
use bartizan_wire::ip;

use crate::selector::protocol_named;
use crate::traffic::{Traffic, pairs};

/// Leaving, arriving for this host, and arriving for another behind it.
pub(super) const DIRECTIONS: [&str; 3] = ["out", "in", "fwd"];

/// The kernel keeps one policy of the same packets, direction and mark, whatever its priority: charon's would take the place of ours.
/// So ours ask for this bit of a packet's mark, one policy for each value it may have.
const MARK: u32 = 1 << 31;

/// Without these no IPv6 neighbour is found, and so no peer (RFC 4861): router solicitation and advertisement, neighbour solicitation
/// and advertisement.
const NEIGHBOURS: [u16; 4] = [133, 134, 135, 136];

/// A policy's action on its packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Does {
    Pass,
    /// Drops what arrives.
    Block,
    /// Drops what would leave, for want of an SA: of IPComp, which no IKE daemon is asked for. `Block` would not do: where a route is
    /// refused for the address that a program is bound to, SCTP of Linux sends by the route of another address (6.12, `sctp_v4_get_dst`);
    /// a route that waits for an SA is taken, and leads nowhere.
    Hold,
}

/// One policy, without its priority.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Policy {
    /// `src 10.78.0.1/32 dst 10.78.0.2/32 proto 132 dport 36421`.
    packets: String,
    direction: String,
    mark: u32,
    does: Does,
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            packets,
            direction,
            mark,
            ..
        } = self;
        write!(f, "{packets} dir {direction} mark {mark:#x} mask {MARK:#x}")
    }
}

impl Policy {
    /// The words that say what it does, of this priority.
    pub(super) fn with_priority(&self, priority: u32) -> String {
        let any = if self.packets.contains(':') { "::" } else { "0.0.0.0" };
        match self.does {
            Does::Pass => format!("action allow priority {priority}"),
            Does::Block => format!("action block priority {priority}"),
            // No SA has the number of a policy of ours.
            Does::Hold => format!(
                "action allow priority {priority} tmpl src {any} dst {any} proto comp reqid {priority} mode transport"
            ),
        }
    }

    /// Those in a listing.
    pub(super) fn listed(text: &str) -> Vec<Self> {
        let mut policies: Vec<Vec<&str>> = Vec::new();
        for line in text.lines() {
            let words = line.split_whitespace();
            match policies.last_mut() {
                // Details of a policy are indented.
                Some(last) if line.starts_with(char::is_whitespace) => last.extend(words),
                _ => policies.push(words.collect()),
            }
        }
        policies.iter().filter_map(|words| Self::read(words)).collect()
    }

    /// The same packets in the same direction, without a mark.
    pub(super) fn unmarked(&self) -> String {
        let Self { packets, direction, .. } = self;
        format!("{packets} dir {direction}")
    }

    fn read(words: &[&str]) -> Option<Self> {
        let template = words.iter().position(|word| *word == "tmpl");
        let (words, template) = words.split_at(template.unwrap_or(words.len()));
        let does = match template {
            [] if words.contains(&"block") => Does::Block,
            [] => Does::Pass,
            _ if template.contains(&"comp") => Does::Hold,
            _ => return None,
        };
        let after = |name: &str| {
            let place = words.iter().position(|word| *word == name)?;
            words.get(place + 1).copied()
        };
        let mut packets = format!("src {} dst {}", network(after("src")?), network(after("dst")?));
        if let Some(name) = after("proto") {
            packets += &format!(" proto {}", protocol(name));
        }
        for name in ["sport", "dport", "type"] {
            if let Some(value) = after(name) {
                packets += &format!(" {name} {value}");
            }
        }
        let (mark, mask) = after("mark").unwrap_or("0/0").split_once('/')?;
        Some(Self {
            packets,
            direction: after("dir")?.to_owned(),
            mark: hexadecimal(mark).filter(|_| hexadecimal(mask) == Some(MARK))?,
            does,
        })
    }
}

/// `0` or `0x80000000`.
fn hexadecimal(text: &str) -> Option<u32> {
    u32::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16).ok()
}

/// As Rust writes it.
fn network(text: &str) -> String {
    let parsed = text
        .split_once('/')
        .and_then(|(address, bits)| Some(format!("{}/{bits}", address.parse::<IpAddr>().ok()?)));
    parsed.unwrap_or_else(|| text.to_owned())
}

/// By its number, which `ip` prints only where this host has no file of names.
fn protocol(word: &str) -> String {
    protocol_named(word).map_or_else(|| word.to_owned(), |number| number.to_string())
}

/// The policies that pass and those that drop, for every IPsec link of `node`.
pub(super) fn of(deployment: &Deployment, node: &str) -> (BTreeSet<Policy>, BTreeSet<Policy>) {
    let (mut passed, mut dropped) = (BTreeSet::new(), BTreeSet::new());
    for (_, _, link) in deployment.ipsec_links(node) {
        for [ours, theirs] in pairs(node, link) {
            for direction in DIRECTIONS {
                let (from, to) = match direction {
                    "out" => (&ours, &theirs),
                    _ => (&theirs, &ours),
                };
                for addresses in addresses(from, to) {
                    let of_protocol = match from.protocol {
                        Some(protocol) => format!(" proto {protocol}"),
                        None => String::new(),
                    };
                    let ports = [("sport", from.port), ("dport", to.port)];
                    let ports = ports.map(|(name, port)| port.map_or(String::new(), |port| format!(" {name} {port}")));
                    let does = match direction {
                        "out" => Does::Hold,
                        _ => Does::Block,
                    };
                    let packets = addresses.clone() + &of_protocol + &ports.concat();
                    insert(&mut dropped, &packets, direction, does);
                    if from.protocol.is_none() && addresses.contains(':') {
                        for kind in NEIGHBOURS {
                            let packets = format!("{addresses} proto {} type {kind}", ip::ICMPV6);
                            insert(&mut passed, &packets, direction, Does::Pass);
                        }
                    }
                }
            }
        }
    }
    (passed, dropped)
}

fn insert(policies: &mut BTreeSet<Policy>, packets: &str, direction: &str, does: Does) {
    policies.extend([0, MARK].map(|mark| Policy {
        packets: packets.to_owned(),
        direction: direction.to_owned(),
        mark,
        does,
    }));
}

/// From each network to each other one of its family.
fn addresses(from: &Traffic<'_>, to: &Traffic<'_>) -> Vec<String> {
    let of_family = |one: &Network, other: &Network| one.address().is_ipv4() == other.address().is_ipv4();
    let both = from.networks.iter().flat_map(|from| {
        let others = to.networks.iter().filter(move |to| of_family(from, to));
        others.map(move |to| format!("src {from} dst {to}"))
    });
    both.collect()
}
