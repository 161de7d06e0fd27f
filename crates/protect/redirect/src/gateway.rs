//! SCTP of the links that a gateway carries: led to the sidecar's listener, and refused wherever it would leave or reach this host
//! unencrypted.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write as _;
use std::net::{IpAddr, SocketAddr};

use bartizan_deployment::{Deployment, Inbound, Interface, Network, Node, NodeName, Path, Protection, Route, Sidecar};
use bartizan_host::nftables::Table;

use super::unprotected_peer::networks;

/// The table that leads SCTP to the sidecar and refuses what is not led there.
pub(super) const GATEWAY: &str = "bartizan-gateway";

/// SCTP that is redirected and refused in the network namespace of one node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Gateway {
    /// Addresses at which peers' functions are called.
    pub(super) services: BTreeMap<SocketAddr, Association>,
    /// Peers with which no SCTP passes at all: no other link of the file between the two runs over it.
    pub(super) peers: BTreeSet<IpAddr>,
    /// The ports of the node's own functions.
    pub(super) ports: BTreeSet<u16>,
    /// Peers that call own functions over links that no gateway carries (by IPsec, or unprotected by
    /// the file), each with the ports of those functions. A carried link of the same peer stays shut.
    pub(super) passed: Vec<(Network, BTreeSet<u16>)>,
}

/// A peer's function that is called by SCTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Association {
    /// The node of the function.
    pub node: NodeName,
    /// The listener that this is led to; where the file has none, it is refused.
    pub listener: Option<SocketAddr>,
}

impl Gateway {
    pub(super) fn of(deployment: &Deployment, node: &Node, sidecar: &Sidecar) -> Self {
        let mut gateway = Self {
            ports: over_sctp(sidecar).flat_map(ports_of).collect(),
            ..Self::default()
        };
        let links = deployment.joined(node.name.as_str());
        let (carried, others): (Vec<_>, Vec<_>) = links
            .filter(|(_, link)| link.kind.over_sctp())
            .partition(|(_, link)| link.protection == Protection::Gateway);
        let by_other_means: HashSet<_> = others.iter().map(|(peer, _)| &peer.name).collect();
        for (peer, link) in carried {
            gateway.close(link, sidecar, peer, by_other_means.contains(&peer.name));
        }
        // Traffic within this host does not leave it.
        gateway.services.retain(|service, _| !service.ip().is_loopback());
        gateway.peers.retain(|peer| !peer.is_loopback());
        for (peer, link) in others {
            let called = over_sctp(sidecar).filter(|inbound| inbound.interface == link.kind);
            let ports: BTreeSet<u16> = called.flat_map(ports_of).collect();
            let passed = networks(link, node, peer)
                .into_iter()
                .map(|network| (network, ports.clone()));
            gateway.passed.extend(passed.filter(|(_, ports)| !ports.is_empty()));
        }
        gateway
    }

    /// Nothing passes to and from a peer but by the sidecars.
    fn close(&mut self, link: &Interface, sidecar: &Sidecar, peer: &Node, others: bool) {
        let inbound = || peer.sidecar.iter().flat_map(over_sctp);
        if !others {
            let called = inbound().flat_map(|inbound| peer.called_at(inbound));
            self.peers.extend(called.map(|one| one.ip()).chain(peer.addresses()));
            self.peers.insert(peer.address);
        }
        for inbound in inbound().filter(|inbound| inbound.interface == link.kind) {
            for service in peer.called_at(inbound) {
                let taken = sidecar.outbound.iter().find(|outbound| {
                    outbound.path == Path::Sctp
                        && matches!(&outbound.route, Route::To(to) if *to == peer.name)
                        && outbound.interface.is_none_or(|kind| kind == link.kind)
                        && outbound.listen.is_ipv4() == service.is_ipv4()
                });
                let association = Association {
                    node: peer.name.clone(),
                    listener: taken.map(|outbound| outbound.listen),
                };
                if service == inbound.service {
                    self.services.insert(service, association);
                } else {
                    self.services.entry(service).or_insert(association);
                }
            }
        }
    }

    /// Returns true if no link of the node is carried by a gateway.
    pub(super) fn is_empty(&self) -> bool {
        self.services.is_empty() && self.peers.is_empty() && self.ports.is_empty()
    }

    /// The table, with the comment that names its rules.
    pub(super) fn table(&self, mark: &str) -> Table {
        let mut text = String::new();
        let chains = [
            ("destination", "type nat hook output priority -100", self.redirect()),
            ("source", "type nat hook postrouting priority 100", self.source()),
            ("output", "type filter hook output priority filter", self.output(mark)),
            ("input", "type filter hook input priority filter", self.input()),
        ];
        for (name, hook, rules) in chains {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "\tchain {name} {{\n\t\t{hook}; policy accept;");
            for rule in rules {
                let _ = writeln!(text, "\t\t{rule}");
            }
            let _ = writeln!(text, "\t}}");
        }
        Table::new(GATEWAY, &text)
    }

    fn redirect(&self) -> Vec<String> {
        let redirected = self.services.iter().filter_map(|(service, association)| {
            let listener = association.listener?;
            Some(format!(
                "{} daddr {} sctp dport {} counter dnat {} to {listener}",
                family(service.ip()),
                service.ip(),
                service.port(),
                family(service.ip())
            ))
        });
        redirected.collect()
    }

    /// A loopback address has no association with another (scopes, RFC 4960 section 3.3.2.1): Linux drops such an INIT. So the function's
    /// address becomes one too, on its way to a listener on loopback.
    fn source(&self) -> Vec<String> {
        let listeners = self.services.values().filter_map(|association| association.listener);
        let on_loopback: BTreeSet<_> = listeners.filter(|listener| listener.ip().is_loopback()).collect();
        let rule = |listener: &SocketAddr| {
            let (family, own) = (
                family(listener.ip()),
                if listener.is_ipv4() { "127.0.0.0/8" } else { "::1" },
            );
            format!(
                "oifname \"lo\" {family} daddr {} {family} saddr != {own} sctp dport {} counter snat {family} to {}",
                listener.ip(),
                listener.port(),
                listener.ip()
            )
        };
        on_loopback.iter().map(rule).collect()
    }

    fn output(&self, mark: &str) -> Vec<String> {
        let mut rules = vec![format!("oifname \"lo\" accept comment \"{mark}\"")];
        rules.extend(self.passing("daddr", "sport"));
        for service in self.services.keys() {
            let (address, port) = (service.ip(), service.port());
            rules.push(format!(
                "{} daddr {address} sctp dport {port} {} comment \"unencrypted to a peer's function\"",
                family(address),
                refused(address)
            ));
        }
        for peer in &self.peers {
            rules.push(format!(
                "{} daddr {peer} meta l4proto sctp {} comment \"unencrypted to a peer\"",
                family(*peer),
                refused(*peer)
            ));
        }
        rules.extend(
            at("sport", &self.ports)
                .map(|answers| format!("{answers} counter drop comment \"unencrypted answers of the own function\"")),
        );
        rules
    }

    fn input(&self) -> Vec<String> {
        let mut rules = vec!["iifname \"lo\" accept".to_owned()];
        rules.extend(self.passing("saddr", "dport"));
        for peer in &self.peers {
            rules.push(format!(
                "{} saddr {peer} meta l4proto sctp counter drop comment \"unencrypted from a peer\"",
                family(*peer)
            ));
        }
        rules.extend(at("dport", &self.ports).map(|called| {
            format!(
                "{called} counter reject with icmpx type admin-prohibited comment \"unencrypted to the own function from the network\""
            )
        }));
        rules
    }

    fn passing(&self, address: &str, port: &str) -> Vec<String> {
        let rule = |(network, ports): &(Network, BTreeSet<u16>)| {
            let own = at(port, ports)?;
            Some(format!(
                "{} {address} {network} {own} counter accept comment \"no gateway carries this link\"",
                family(network.address())
            ))
        };
        self.passed.iter().filter_map(rule).collect()
    }
}

/// SCTP at these ports; none where there are none.
fn at(port: &str, ports: &BTreeSet<u16>) -> Option<String> {
    let ports: Vec<_> = ports.iter().map(u16::to_string).collect();
    (!ports.is_empty()).then(|| format!("sctp {port} {{ {} }}", ports.join(", ")))
}

fn ports_of(inbound: &Inbound) -> [u16; 2] {
    [inbound.forward.port(), inbound.service.port()]
}

fn over_sctp(sidecar: &Sidecar) -> impl Iterator<Item = &Inbound> {
    sidecar.inbound.iter().filter(|inbound| inbound.path == Path::Sctp)
}

fn family(address: IpAddr) -> &'static str {
    if address.is_ipv4() { "ip" } else { "ip6" }
}

/// An answer that a function understands at once. nftables takes the name for both families only in rules that are of neither.
fn refused(address: IpAddr) -> &'static str {
    if address.is_ipv4() {
        "counter reject with icmp type admin-prohibited"
    } else {
        "counter reject with icmpv6 type admin-prohibited"
    }
}
