//! The part of a deployment that a check is about: the whole of it, or one node and its links.

use std::collections::BTreeMap;

use bartizan_deployment::{Deployment, Interface, Node};
use serde::Serialize;

/// Numbers of nodes, interfaces and findings that do not concern the node of the report.
#[derive(Serialize)]
pub(super) struct LeftOut {
    pub(super) nodes: usize,
    pub(super) interfaces: usize,
    pub(super) findings: usize,
}

/// A deployment, or one of its nodes.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    pub(super) deployment: &'a Deployment,
    /// None for the whole deployment.
    pub(super) node: Option<&'a Node>,
}

impl<'a> Scope<'a> {
    /// The interfaces that join the node to others.
    pub(super) fn interfaces(self) -> impl Iterator<Item = &'a Interface> {
        let all = self.deployment.interfaces();
        let of_node = self.node.map(|node| self.deployment.joining(node.name.as_str()));
        let whole = of_node.is_none().then_some(all);
        let joining = of_node.into_iter().flatten().filter_map(|&place| all.get(place));
        whole.into_iter().flatten().chain(joining)
    }

    /// The node alone.
    pub(super) fn nodes(self) -> impl Iterator<Item = &'a Node> {
        let whole = self.node.is_none().then(|| self.deployment.nodes());
        whole.into_iter().flatten().chain(self.node)
    }

    /// The node, and those at the other ends of its links: what they lack leaves the links
    /// unprotected.
    pub(super) fn ends(self) -> impl Iterator<Item = &'a Node> {
        let peers = self.node.into_iter().flat_map(|node| {
            let peers = self.deployment.joined(node.name.as_str());
            let once: BTreeMap<_, _> = peers.map(|(peer, _)| (peer.name.as_str(), peer)).collect();
            once.into_values()
        });
        self.nodes().chain(peers)
    }

    /// Returns true if a link between these two is part of it.
    pub(super) fn joins(self, one: &Node, other: &str) -> bool {
        let is = |name: &str| self.node.is_some_and(|node| node.name.as_str() == name);
        self.node.is_none() || is(one.name.as_str()) || is(other)
    }

    /// The rest of the deployment, where this is about one node with so many findings.
    pub(super) fn left_out(self, findings: usize, of: impl Fn(Self) -> usize) -> Option<LeftOut> {
        self.node?;
        let whole = Self { node: None, ..self };
        Some(LeftOut {
            nodes: whole.nodes().count() - self.nodes().count(),
            interfaces: whole.interfaces().count() - self.interfaces().count(),
            findings: of(whole).saturating_sub(findings),
        })
    }
}
