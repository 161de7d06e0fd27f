//! Peers that a node may talk to.

use bartizan_deployment::{Deployment, Identity, InterfaceKind, NodeName, Policy};

/// A node this one may talk to, with its names and the policy of the interface between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// The node.
    pub node: NodeName,
    /// The interface that joins the two.
    pub interface: InterfaceKind,
    /// The names its certificate must carry.
    pub identity: Identity,
    /// Policy of handshakes on this interface: they are configured from it and judged by it.
    pub policy: Policy,
}

impl Peer {
    pub(crate) fn is(&self, node: &str, interface: InterfaceKind) -> bool {
        self.node.as_str() == node && self.interface == interface
    }

    /// Unique key of the peer: two interfaces may lead to one node.
    pub(crate) fn link(&self) -> (NodeName, InterfaceKind) {
        (self.node.clone(), self.interface)
    }
}

/// The nodes that interfaces with a sidecar join to `node`, in the order of the file.
pub fn peers(deployment: &Deployment, node: &str) -> Vec<Peer> {
    deployment
        .sidecar_peers(node)
        .map(|(peer, interface)| Peer {
            node: peer.name.clone(),
            interface: interface.kind,
            identity: peer.identity.clone(),
            policy: Policy::clone(&interface.policy),
        })
        .collect()
}
