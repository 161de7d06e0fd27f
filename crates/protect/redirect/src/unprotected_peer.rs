//! Links over TCP that no sidecar protects, by the file's choice: the rules let them pass, in both directions.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::time::SystemTime;

use bartizan_deployment::{Exception, Interface, InterfaceKind, Network, Node, NodeName, Protection};

/// A peer whose function is neither redirected to nor guarded, and whose requests the guard lets in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnprotectedPeer {
    /// The node of the function.
    pub node: NodeName,
    /// The interface that joins the two.
    pub kind: InterfaceKind,
    /// Protection of the link by the file.
    pub protection: Protection,
    /// Until when it may go unprotected, where the file sets a day; the rules close by themselves at the end of that day (UTC).
    pub until: Option<Exception>,
    /// Networks that its requests come from.
    pub(super) networks: Vec<Network>,
    /// Addresses at which its function is called.
    pub(super) services: BTreeSet<SocketAddr>,
    /// The ports of the own function on this interface.
    pub(super) ports: BTreeSet<u16>,
}

impl UnprotectedPeer {
    /// An interface between `node` and `peer` that passes next to the sidecars at `now`; nothing
    /// where it does not run over TCP, where a sidecar protects it, and where the exception for its
    /// being unprotected has ended.
    pub(super) fn of(interface: &Interface, node: &Node, peer: &Node, now: SystemTime) -> Option<Self> {
        if !interface.kind.over_tcp() || interface.protection == Protection::Sidecar {
            return None;
        }
        let until = match interface.protection {
            Protection::Nothing => interface.policy.exception.clone(),
            _ => None,
        };
        if until.as_ref().is_some_and(|exception| exception.days_left(now) == 0) {
            return None;
        }
        let inbound = |node: &Node| {
            let all = node.inbound().iter().cloned();
            let of_kind = all.filter(|inbound| inbound.interface == interface.kind);
            of_kind.collect::<Vec<_>>()
        };
        let (ours, theirs) = (inbound(node), inbound(peer));
        let own_tls = theirs.iter().filter(|_| peer.tls.is_some());
        let own_tls = own_tls.map(|inbound| inbound.listen);
        let services = theirs.iter().flat_map(|inbound| peer.called_at(inbound));
        Some(Self {
            node: peer.name.clone(),
            kind: interface.kind,
            protection: interface.protection,
            until,
            networks: networks(interface, node, peer),
            services: services.chain(own_tls).collect(),
            ports: ours
                .iter()
                .flat_map(|inbound| [inbound.forward.port(), inbound.service.port()])
                .collect(),
        })
    }

    /// Returns true if an address is its own.
    pub(super) fn has(&self, address: IpAddr) -> bool {
        let address = Network::of_host(address);
        self.networks.iter().any(|network| network.covers(&address))
    }

    /// The second from which on the file lets nothing pass any more.
    pub(super) fn ends(&self) -> Option<i64> {
        let day_after = self.until.as_ref()?.expires.next_day()?;
        Some(day_after.midnight().assume_utc().unix_timestamp())
    }
}

/// Networks that the traffic of `peer` to `node` over an interface comes from: its addresses, and
/// those behind it in an IPsec link.
pub(super) fn networks(interface: &Interface, node: &Node, peer: &Node) -> Vec<Network> {
    let link = interface
        .ipsec
        .as_ref()
        .and_then(|link| link.ends_from(node.name.as_str()));
    let inner = link.map(|(_, there)| there.inner.clone()).unwrap_or_default();
    let mut networks = Vec::new();
    let functions = peer
        .inbound()
        .iter()
        .filter(|inbound| inbound.interface == interface.kind);
    let called = functions.flat_map(|inbound| peer.called_at(inbound));
    let called = called.map(|one| one.ip()).filter(|address| !address.is_loopback());
    let addresses = called.chain(peer.addresses()).chain([peer.address]);
    for network in addresses.map(Network::of_host).chain(inner) {
        if !networks.contains(&network) {
            networks.push(network);
        }
    }
    networks
}
