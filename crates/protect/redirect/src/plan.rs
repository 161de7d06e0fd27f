//! From the deployment file to what is redirected and what is guarded on one host.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{SocketAddr, SocketAddrV4, SocketAddrV6};
use std::time::SystemTime;

use bartizan_deployment::{Deployment, Inbound, Interface, Node, NodeName, Path, Route, Sidecar};

use super::gateway::{Association, Gateway};
use super::strict::Listed;
use super::{Error, UnprotectedPeer, probe};

/// Services that are redirected and guarded in the network namespace of one node. It can be
/// installed as it is: no listener is missing, no rule catches the sidecar's own TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The node it is for.
    pub node: NodeName,
    pub(super) user: u32,
    /// Takes what was going to IPv4 addresses.
    pub(super) listener_v4: Option<SocketAddrV4>,
    pub(super) listener_v6: Option<SocketAddrV6>,
    /// Address at which the sidecar probes the rules; none where it has no transparent listener,
    /// and SCTP alone is led to it.
    pub(super) probed: Option<SocketAddrV4>,
    /// Services that are redirected and guarded.
    pub services: Vec<Service>,
    /// Listeners at which peers' functions terminate TLS themselves: for the sidecar alone.
    pub(super) own_tls: BTreeMap<SocketAddr, NodeName>,
    /// Peers that are neither redirected nor guarded.
    pub unprotected_peers: Vec<UnprotectedPeer>,
    /// Further destinations that may leave, where nothing else may.
    pub(super) listed: Listed,
    /// Addresses of the node's own function that the sidecar hands requests to.
    pub(super) forwards: BTreeSet<SocketAddr>,
    /// The ports of the node's own function.
    pub(super) ports: BTreeSet<u16>,
    /// SCTP that gateways carry.
    pub(super) gateway: Gateway,
}

/// A peer's network function where others call it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Service {
    /// Address and port that it registers with the NRF.
    pub address: SocketAddr,
    /// The node of the function.
    pub node: NodeName,
}

impl Plan {
    /// Plans for `node`, whose sidecar runs as `user` (a numeric user id), as the file is in effect at `now`.
    ///
    /// Every other node with an inbound listener is guarded, also those the file joins by no interface: the sidecar refuses
    /// these by name, which is better than plaintext. So is a link whose exception has ended.
    ///
    /// # Errors
    /// [`Error::Configuration`] where the file describes a way in that would not hold.
    pub fn new(deployment: &Deployment, node: &str, user: u32, now: SystemTime) -> Result<Self, Error> {
        let (node, sidecar) = find(deployment, node)?;
        let place = format!("nodes.{}.sidecar", node.name);
        if user == 0 {
            let cause = "root cannot be the sidecar's user: network functions that run as root would be exempt with it";
            return Err(refused(
                "--user",
                cause,
                "give the sidecar a user of its own: `--user bartizan`",
            ));
        }
        let (listener_v4, listener_v6) = listeners(sidecar);
        let transparent = [listener_v4.map(SocketAddr::V4), listener_v6.map(SocketAddr::V6)];
        let probed = probe::listener(transparent.into_iter().flatten());
        let gateway = Gateway::of(deployment, node, sidecar);
        if probed.is_none() && gateway.is_empty() {
            let hint = "add `{ listen: '127.0.0.1:15001', transparent: true }`";
            return Err(refused(
                &format!("{place}.outbound"),
                "has no transparent listener",
                hint,
            ));
        }
        // TCP that no transparent listener takes is not refused: it goes through listeners that functions are pointed at.
        let over_tcp = || over_tcp(sidecar).filter(|_| probed.is_some());
        let mut plan = Self {
            node: node.name.clone(),
            user,
            listener_v4,
            listener_v6,
            probed,
            services: Vec::new(),
            own_tls: BTreeMap::new(),
            unprotected_peers: Vec::new(),
            listed: Listed::of(deployment, node),
            forwards: over_tcp().map(|inbound| inbound.forward).collect(),
            ports: over_tcp()
                .flat_map(|inbound| [inbound.forward.port(), inbound.service.port()])
                .collect(),
            gateway,
        };
        let peers = deployment.nodes().filter(|peer| peer.name != node.name);
        let mut links: BTreeMap<&str, Vec<&Interface>> = BTreeMap::new();
        for (peer, interface) in deployment.joined(node.name.as_str()) {
            links.entry(peer.name.as_str()).or_default().push(interface);
        }
        let mut further = Vec::new();
        for peer in peers.filter(|_| probed.is_some()) {
            let links = links.get(peer.name.as_str()).map_or(&[][..], Vec::as_slice);
            plan.add(links, node, peer, now, &mut further)?;
        }
        plan.check(deployment, sidecar, &place)?;
        let taken: BTreeSet<_> = deployment.nodes().flat_map(taken).collect();
        further.retain(|service| !taken.contains(&service.address));
        plan.services.append(&mut further);
        plan.services.sort();
        plan.services.dedup_by_key(|service| service.address);
        Ok(plan)
    }

    /// Listeners of peers' own TLS, which the sidecar alone may call. A function is redirected where
    /// it calls their `service`, if that is another address.
    pub fn own_tls(&self) -> impl Iterator<Item = (SocketAddr, &NodeName)> {
        self.own_tls.iter().map(|(address, node)| (*address, node))
    }

    /// Addresses at which functions of peers are called by SCTP that a gateway carries.
    pub fn associations(&self) -> impl Iterator<Item = (SocketAddr, &Association)> {
        self.gateway
            .services
            .iter()
            .map(|(service, association)| (*service, association))
    }

    /// Adds a peer, which these links join to the node. The addresses of its functions other than
    /// `service` are `further`: they need no listener of their family.
    fn add(
        &mut self,
        links: &[&Interface],
        node: &Node,
        peer: &Node,
        now: SystemTime,
        further: &mut Vec<Service>,
    ) -> Result<(), Error> {
        let unprotected_peers: Vec<_> = links
            .iter()
            .filter_map(|interface| UnprotectedPeer::of(interface, node, peer, now))
            .collect();
        for (index, inbound) in peer.inbound().iter().enumerate() {
            if inbound.path == Path::Sctp {
                continue;
            }
            if unprotected_peers
                .iter()
                .any(|unprotected| unprotected.kind == inbound.interface)
            {
                continue;
            }
            let address = inbound.service;
            let on_this_host = |address: SocketAddr| address.ip().is_loopback() || address.ip() == node.address;
            if peer.tls.is_some() {
                if !on_this_host(inbound.listen) {
                    self.own_tls.insert(inbound.listen, peer.name.clone());
                }
                // The fence cannot distinguish TLS from plaintext at one address.
                if address == inbound.listen {
                    continue;
                }
            }
            if on_this_host(address) {
                let cause = format!(
                    "{} is on the host of {}: rules cannot distinguish the two",
                    address, node.name
                );
                let hint = "give each node a network namespace and an address of its own, or use explicit listeners \
                            (`to:`) on this host";
                let place = format!("nodes.{}.{}[{index}]", peer.name, listeners_of(peer));
                return Err(refused(&place, &cause, hint));
            }
            let service = |address| Service {
                address,
                node: peer.name.clone(),
            };
            self.services.push(service(address));
            let called_at = peer.called_at(inbound).into_iter();
            further.extend(called_at.filter(|address| !on_this_host(*address)).map(service));
        }
        self.unprotected_peers.extend(unprotected_peers);
        Ok(())
    }

    /// Refuses a plan whose rules would catch too much or too little.
    fn check(&self, deployment: &Deployment, sidecar: &Sidecar, place: &str) -> Result<(), Error> {
        if self.services.is_empty() && self.unprotected_peers.is_empty() && self.gateway.is_empty() {
            let hint = match self.own_tls.is_empty() {
                true => {
                    "give the peers inbound listeners and join them by `{ kind: SBI, between: [..], with: sidecar }`"
                }
                false => "give peers with `tls` a `service: ADDRESS:PORT` where functions call them, or use `to:`",
            };
            return Err(refused(place, "no other node has a function to redirect to", hint));
        }
        for (ipv6, taken, hint) in [
            (
                true,
                self.listener_v6.is_some(),
                "add `{ listen: '[::1]:15001', transparent: true }`: IPv6 cannot be redirected to 127.0.0.1",
            ),
            (
                false,
                self.listener_v4.is_some(),
                "add `{ listen: '127.0.0.1:15001', transparent: true }`: IPv4 cannot be redirected to ::1",
            ),
        ] {
            let service = self.services.iter().find(|service| service.address.is_ipv6() == ipv6);
            if let Some(service) = service.filter(|_| !taken) {
                let cause = format!("nothing takes what goes to {} ({})", service.address, service.node);
                return Err(refused(&format!("{place}.outbound"), &cause, hint));
            }
        }
        let addresses = self.addresses();
        for peer in deployment.nodes() {
            for inbound in peer.inbound() {
                let upstream = upstream(peer, inbound);
                if addresses.contains(&upstream) {
                    let cause = match peer.tls {
                        Some(_) => format!("{} accepts TLS at {upstream}, where a function is called", peer.name),
                        None => format!(
                            "the sidecar of {} listens at {upstream}, where its function is called",
                            peer.name
                        ),
                    };
                    let hint = "give `listen` another port: rules cannot distinguish TLS from plaintext by address";
                    let place = format!("nodes.{}.{}", peer.name, listeners_of(peer));
                    return Err(refused(&place, &cause, hint));
                }
            }
        }
        if let Some(inbound) = sidecar
            .inbound
            .iter()
            .find(|inbound| self.ports.contains(&inbound.listen.port()))
        {
            let cause = format!("listens on the port of its own function, {}", inbound.listen.port());
            let hint = "give `listen` another port: the guard closes the function's port to the network";
            return Err(refused(&format!("{place}.inbound"), &cause, hint));
        }
        Ok(())
    }
}

fn find<'a>(deployment: &'a Deployment, name: &str) -> Result<(&'a Node, &'a Sidecar), Error> {
    let node = deployment.node(name).ok_or_else(|| {
        let known: Vec<_> = deployment.nodes().map(|node| node.name.as_str()).collect();
        let hint = format!("nodes are {}", known.join(", "));
        refused("--node", &format!("no node is called `{name}`"), &hint)
    })?;
    let sidecar = node.sidecar.as_ref().ok_or_else(|| {
        let hint = match node.tls {
            Some(_) => node.without_sidecar(),
            None => {
                "add `sidecar: { outbound: [ { listen: '127.0.0.1:15001', transparent: true } ] }` to it".to_owned()
            }
        };
        refused(&format!("nodes.{name}"), "has no sidecar", &hint)
    })?;
    Ok((node, sidecar))
}

/// The transparent listeners: the first of each family.
fn listeners(sidecar: &Sidecar) -> (Option<SocketAddrV4>, Option<SocketAddrV6>) {
    let (mut v4, mut v6) = (None, None);
    for outbound in &sidecar.outbound {
        if outbound.route != Route::ByDestination {
            continue;
        }
        match outbound.listen {
            SocketAddr::V4(address) => v4.get_or_insert(address).port(),
            SocketAddr::V6(address) => v6.get_or_insert(address).port(),
        };
    }
    (v4, v6)
}

/// The field of a node that has its inbound listeners.
fn listeners_of(node: &Node) -> &'static str {
    match node.tls {
        Some(_) => "tls",
        None => "sidecar.inbound",
    }
}

/// Addresses of a node that belong to its functions, its TLS listeners and its admin port alone.
fn taken(node: &Node) -> Vec<SocketAddr> {
    let services = node.inbound().iter().map(|inbound| inbound.service);
    let listeners = node.inbound().iter().map(|inbound| inbound.listen);
    let admin = node.sidecar.as_ref().and_then(|sidecar| sidecar.admin);
    let listeners = listeners.chain(admin).flat_map(|listen| {
        let all = node
            .addresses()
            .into_iter()
            .filter(move |_| listen.ip().is_unspecified());
        all.chain([listen.ip()])
            .map(move |ip| SocketAddr::new(ip, listen.port()))
    });
    services.chain(listeners).collect()
}

/// Address of the sidecar behind an inbound listener.
fn upstream(node: &Node, inbound: &Inbound) -> SocketAddr {
    if inbound.listen.ip().is_unspecified() {
        SocketAddr::new(node.address, inbound.listen.port())
    } else {
        inbound.listen
    }
}

fn refused(place: &str, cause: &str, hint: &str) -> Error {
    Error::Configuration {
        place: place.to_owned(),
        cause: cause.to_owned(),
        hint: hint.to_owned(),
    }
}

/// Inbound listeners whose function is called over TCP.
fn over_tcp(sidecar: &Sidecar) -> impl Iterator<Item = &Inbound> {
    sidecar.inbound.iter().filter(|inbound| inbound.path != Path::Sctp)
}
