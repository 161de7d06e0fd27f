//! Which interface of the deployment file a bundle of parts is.

use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, SocketAddr};

use bartizan_deployment::{Deployment, End, External, InterfaceKind, Node, NodeName, Protection};

use bartizan_registry::UDP_APPLICATIONS;

use bartizan_wire::Address;
use bartizan_wire::datagrams::{DatagramProtocol, Named};
use bartizan_wire::proxy::{Command, Place, ProxyProtocol, Through};

use super::LinkEnd;
use super::links::Key;
use super::part::{Carrier, Socket};
use crate::Interface;

/// Relation of a bundle to the deployment file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Match {
    /// There is none.
    NoDeployment,
    /// It is one of these interfaces, and nothing tells which where there are several.
    Listed(Vec<usize>),
    /// It is none of them.
    Unlisted,
    /// It stays within a node.
    Within(NodeName),
}

/// The nodes of a deployment file by where they are.
pub(super) struct Nodes<'a> {
    deployment: &'a Deployment,
    by_socket: HashMap<SocketAddr, &'a Node>,
    by_address: HashMap<IpAddr, Vec<&'a Node>>,
    /// Nodes by addresses of their IKE daemons that are no node's own: security gateways, of one
    /// node or of several.
    by_outer: HashMap<IpAddr, Vec<&'a Node>>,
    /// Nodes by the socket between their function and their sidecar.
    within: HashMap<SocketAddr, &'a Node>,
    /// By their names and those of their certificates; none where two nodes have one.
    by_name: HashMap<String, Option<&'a Node>>,
}

impl<'a> Nodes<'a> {
    pub(super) fn new(deployment: &'a Deployment) -> Self {
        let mut nodes = Self {
            deployment,
            by_socket: HashMap::new(),
            by_address: HashMap::new(),
            by_outer: HashMap::new(),
            within: HashMap::new(),
            by_name: HashMap::new(),
        };
        for node in deployment.nodes() {
            let own = node.name.as_str().to_ascii_lowercase();
            let mut names: Vec<String> = node.identity.dns().iter().cloned().chain([own]).collect();
            names.sort_unstable();
            names.dedup();
            for name in names {
                let known = nodes.by_name.entry(name).or_insert(Some(node));
                *known = known.filter(|known| known.name == node.name);
            }
            let mut addresses = vec![node.address];
            for inbound in node.inbound() {
                nodes.by_socket.insert(inbound.service, node);
                nodes.by_socket.insert(inbound.listen, node);
                addresses.push(inbound.listen.ip());
            }
            if let Some(sidecar) = &node.sidecar {
                let inbound = sidecar.inbound.iter().map(|inbound| inbound.forward);
                let own = inbound.chain(sidecar.outbound.iter().map(|outbound| outbound.listen));
                nodes.within.extend(own.map(|socket| (socket, node)));
            }
            addresses.sort_unstable();
            addresses.dedup();
            for address in addresses.into_iter().filter(|address| !address.is_unspecified()) {
                nodes.by_address.entry(address).or_default().push(node);
            }
        }
        for end in deployment
            .interfaces()
            .iter()
            .filter_map(|interface| interface.ipsec.as_ref())
            .flat_map(|link| &link.ends)
        {
            let Some(node) = deployment.node(end.node.as_str()) else {
                continue;
            };
            for address in [Some(end.outer), end.reached_at()].into_iter().flatten() {
                let known = nodes.by_outer.entry(address).or_default();
                if !known.iter().any(|other| other.name == node.name) {
                    known.push(node);
                }
            }
        }
        nodes
    }

    /// The node at a socket: by a listener of its own, else by an address that no other node has, else by a gateway that is for no
    /// other.
    pub(super) fn node(&self, socket: Socket) -> Option<&'a Node> {
        let address = socket.address.ip()?;
        let by_socket = socket
            .port
            .and_then(|port| self.by_socket.get(&SocketAddr::new(address, port)));
        let alone = |nodes: &[&'a Node]| match nodes {
            [node] => Some(*node),
            _ => None,
        };
        let at = |nodes: &HashMap<IpAddr, Vec<&'a Node>>| nodes.get(&address).map(|found| alone(found));
        by_socket
            .copied()
            .or_else(|| at(&self.by_address).or_else(|| at(&self.by_outer)).flatten())
    }

    /// The node at a place that a negotiation with a proxy names.
    fn node_at(&self, place: &Place) -> Option<&'a Node> {
        match place {
            Place::Socket(socket) => self.node((*socket).into()),
            Place::Host(address) => self.node((*address).into()),
            Place::Name(name, _) => {
                let name = name.trim_end_matches('.').to_ascii_lowercase();
                match name.parse::<IpAddr>() {
                    Ok(address) => self.node(address.into()),
                    Err(_) => self.by_name.get(&name).copied().flatten(),
                }
            }
            Place::Unix(_) => None,
        }
    }

    /// The nodes at the ends of parts with this key. Where their stream goes through proxies these are the ends that the negotiations
    /// name: the destination that the last one asks for, and the source that the last PROXY header speaks for.
    fn at_ends(&self, key: &Key) -> [Option<&'a Node>; 2] {
        let mut nodes = key.ends.map(|end| self.node(end));
        // The end that answers is the one with a port, and what a client asks for is behind it.
        let Some(answers) = key.ends.iter().position(|end| end.port.is_some()) else {
            return nodes;
        };
        let asks_for = |through: &&Through| through.command == Command::Connect;
        for through in key.path.proxies().iter().filter(asks_for) {
            match through.protocol {
                ProxyProtocol::ProxyV1 | ProxyProtocol::ProxyV2 => {
                    nodes[1 - answers] = through.from.as_ref().and_then(|source| self.node_at(source));
                }
                _ => nodes[answers] = through.to.as_ref().and_then(|place| self.node_at(place)),
            }
        }
        nodes
    }

    /// Matches parts with this key against the file.
    pub(super) fn find(&self, key: &Key) -> Match {
        if let Some(node) = self.within(key) {
            return Match::Within(node.name.clone());
        }
        let candidates = match key.carrier {
            Carrier::Ipsec => self.protected_between(key),
            // A proxy may be a node as well: where what it is asked for is not in the file, the link to it may be.
            _ => match self.between(self.at_ends(key), key.carrier) {
                found if found.is_empty() => self.between(key.ends.map(|end| self.node(end)), key.carrier),
                found => found,
            },
        };
        let named = |interface: Interface| -> Vec<usize> {
            let fits = |place: &&usize| is_named(self.deployment.interfaces()[**place].kind, interface.name);
            candidates.iter().filter(fits).copied().collect()
        };
        match key.hint {
            _ if candidates.is_empty() => Match::Unlisted,
            None => Match::Listed(candidates),
            Some(hint) => match named(hint) {
                fitting if !fitting.is_empty() => Match::Listed(fitting),
                // A declaration in packets outweighs another link between the same nodes; a port
                // does not.
                _ if hint.by.is_strong() => Match::Unlisted,
                _ => Match::Listed(candidates),
            },
        }
    }

    /// The ends of the interface at `place` as `key` shows them, in the order of the file.
    pub(super) fn ends(&self, place: usize, key: &Key) -> [LinkEnd; 2] {
        let interface = &self.deployment.interfaces()[place];
        let in_order = match &interface.ipsec {
            Some(link) if key.carrier == Carrier::Ipsec => {
                is_at(&link.ends[0], key.ends[0].address) || is_at(&link.ends[1], key.ends[1].address)
            }
            _ => {
                let [ours, theirs] = &interface.between;
                let is_first = |nodes: [Option<&Node>; 2]| {
                    let [one, other] = nodes.map(|node| node.map(|node| &node.name));
                    match (one, other) {
                        (Some(one), Some(other)) if (one, other) == (ours, theirs) => Some(true),
                        (Some(one), Some(other)) if (other, one) == (ours, theirs) => Some(false),
                        _ => None,
                    }
                };
                let by_packets = || is_first(key.ends.map(|end| self.node(end)));
                is_first(self.at_ends(key)).or_else(by_packets).unwrap_or(false)
            }
        };
        let sockets = if in_order { key.ends } else { [key.ends[1], key.ends[0]] };
        let same_host = key.ends[0].address == key.ends[1].address;
        [0, 1].map(|index| LinkEnd {
            address: sockets[index].address,
            port: sockets[index].port.filter(|_| same_host),
            node: Some(interface.between[index].clone()),
        })
    }

    /// The interfaces that are protected between the two addresses of `key`: their own outer ones, or those that a NAT gives them,
    /// whatever else is at them.
    fn protected_between(&self, key: &Key) -> Vec<usize> {
        let fitting = |places: &[usize], fits: &dyn Fn(&End, Address) -> bool| -> Vec<usize> {
            let found = places.iter().filter(|place| {
                let link = self.deployment.interfaces()[**place].ipsec.as_ref();
                link.is_some_and(|link| {
                    let [a, b] = &link.ends;
                    let [one, other] = key.ends.map(|end| end.address);
                    (fits(a, one) && fits(b, other)) || (fits(b, one) && fits(a, other))
                })
            });
            found.copied().collect()
        };
        // A link that fits ends at one of the two addresses, and where neither end is hidden at both.
        let [one, other] = key.ends.map(|end| self.ending_at(end.address));
        let named = fitting(if one.len() < other.len() { &one } else { &other }, &is_at);
        if !named.is_empty() {
            return named;
        }
        // An end behind a NAT may have any address that belongs to no node.
        let mut either = [one, other].concat();
        either.sort_unstable();
        either.dedup();
        let hidden = fitting(&either, &|end, address| {
            is_at(end, address) || end.external == External::Any && !self.is_known(address)
        });
        let nodes: BTreeSet<_> = hidden
            .iter()
            .map(|&place| &self.deployment.interfaces()[place].between)
            .collect();
        // Several candidates are ambiguous: none of them was seen to be protected.
        if nodes.len() == 1 { hidden } else { Vec::new() }
    }

    /// Positions of the interfaces of the nodes with an end of IPsec at this address, in the order of the file.
    fn ending_at(&self, address: Address) -> Vec<usize> {
        let nodes = address.ip().and_then(|address| self.by_outer.get(&address));
        let places = nodes.into_iter().flatten();
        let mut places: Vec<_> = places
            .flat_map(|node| self.deployment.joining(node.name.as_str()))
            .copied()
            .collect();
        places.sort_unstable();
        places.dedup();
        places
    }

    fn is_known(&self, address: Address) -> bool {
        address
            .ip()
            .is_some_and(|address| self.by_address.contains_key(&address) || self.by_outer.contains_key(&address))
    }

    /// The interfaces that join these nodes, where both are known, and may be carried so.
    fn between(&self, nodes: [Option<&Node>; 2], carrier: Carrier) -> Vec<usize> {
        let [Some(one), Some(other)] = nodes else {
            return Vec::new();
        };
        let [of_one, of_other] = [one, other].map(|node| self.deployment.joining(node.name.as_str()));
        // A hub has many; either end knows the links between the two.
        let places = if of_one.len() < of_other.len() {
            of_one
        } else {
            of_other
        }
        .iter()
        .copied();
        places
            .filter(|&place| self.joins(place, [one, other], carrier))
            .collect()
    }

    /// Returns true if the interface at `place` joins these nodes and may be carried so.
    fn joins(&self, place: usize, nodes: [&Node; 2], carrier: Carrier) -> bool {
        let interface = &self.deployment.interfaces()[place];
        let [a, b] = &interface.between;
        let [one, other] = nodes.map(|node| &node.name);
        let between = (a, b) == (one, other) || (b, a) == (one, other);
        between && may_be_carried(interface.kind, interface.protection, carrier)
    }

    /// The node within which parts stay: one end is where its function and its sidecar meet, and the other is the same
    /// host.
    fn within(&self, key: &Key) -> Option<&'a Node> {
        let [one, other] = key.ends;
        [(one, other), (other, one)].into_iter().find_map(|(listens, asks)| {
            let node = *self
                .within
                .get(&SocketAddr::new(listens.address.ip()?, listens.port?))?;
            let is_loopback = asks.address.ip().is_some_and(|address| address.is_loopback());
            let same_host = asks.address == listens.address || is_loopback || asks.address == node.address.into();
            same_host.then_some(node)
        })
    }
}

/// Returns true if packets with this address, before or behind a NAT, are this end's.
fn is_at(end: &End, address: Address) -> bool {
    address == end.outer.into() || end.reached_at().is_some_and(|reached| address == reached.into())
}

fn may_be_carried(kind: InterfaceKind, protection: Protection, carrier: Carrier) -> bool {
    match carrier {
        // Between two gateways TLS over TCP carries it.
        Carrier::Tcp => kind.over_tcp() || protection == Protection::Gateway,
        Carrier::Sctp => kind.over_sctp(),
        Carrier::Ipsec => protection == Protection::Ipsec,
        // And QUIC.
        Carrier::Udp(DatagramProtocol::Quic) => protection == Protection::Gateway,
        Carrier::Udp(DatagramProtocol::Named(Named::Ecpri | Named::Ptp)) => kind == InterfaceKind::OpenFronthaul,
        Carrier::Udp(protocol) => {
            let known = UDP_APPLICATIONS.iter().find(|known| protocol.name() == known.protocol);
            known.is_some_and(|known| known.interfaces.contains(&kind.name()))
        }
    }
}

/// Returns true if packets that call themselves `name` are of this kind.
fn is_named(kind: InterfaceKind, name: &str) -> bool {
    match kind {
        InterfaceKind::F1C => matches!(name, "F1" | "F1-C"),
        // N32-f forwards requests of the service-based interface as they are (TS 29.573, clause 5.3).
        InterfaceKind::N32 => matches!(name, "N32" | "SBI"),
        _ => kind.name() == name,
    }
}
