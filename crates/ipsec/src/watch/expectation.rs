//! Which connections a node's charon should have, and under which policy each SA stands.

use bartizan_deployment::{Deployment, InterfaceKind, Policy};

/// What is expected of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expectation {
    /// Its name in charon.
    pub connection: String,
    /// The node at the other end.
    pub peer: String,
    /// The policy of its IKE_SA.
    pub policy: Policy,
    /// Its CHILD_SAs by name, with the interface each protects and its policy.
    pub children: Vec<(String, InterfaceKind, Policy)>,
}

impl Expectation {
    /// The interface and policy of a CHILD_SA.
    #[must_use]
    pub fn child(&self, name: &str) -> Option<(InterfaceKind, &Policy)> {
        let known = self.children.iter().find(|(known, ..)| known == name);
        known.map(|(_, kind, policy)| (*kind, policy))
    }
}

/// The connections of a node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expectations(Vec<Expectation>);

impl Expectations {
    /// Of these connections.
    #[must_use]
    pub fn new(connections: Vec<Expectation>) -> Self {
        Self(connections)
    }

    /// Of connections by name, peer and CHILD_SAs (name and interface), as they were rendered for `node`. One that the file does
    /// not have is left out.
    pub fn of_deployment<'a>(
        deployment: &Deployment,
        node: &str,
        connections: impl IntoIterator<Item = (&'a str, &'a str, Vec<(&'a str, InterfaceKind)>)>,
    ) -> Self {
        let policy = |peer: &str, kind: Option<InterfaceKind>| {
            let mut links = deployment.ipsec_links(node);
            let found = links.find(|(other, interface, _)| {
                other.name.as_str() == peer && kind.is_none_or(|kind| interface.kind == kind)
            });
            found.map(|(_, interface, _)| interface.policy.clone())
        };
        let expectations = connections.into_iter().filter_map(|(name, peer, children)| {
            // The IKE_SA is made by the policy of the first interface that goes over it.
            let first = children.first().map(|(_, kind)| *kind);
            Some(Expectation {
                connection: name.to_owned(),
                peer: peer.to_owned(),
                policy: policy(peer, first)?,
                children: children
                    .into_iter()
                    .filter_map(|(child, kind)| Some((child.to_owned(), kind, policy(peer, Some(kind))?)))
                    .collect(),
            })
        });
        Self(expectations.collect())
    }

    /// What is expected of the connection of this name.
    #[must_use]
    pub fn of(&self, connection: &str) -> Option<&Expectation> {
        self.0.iter().find(|known| known.connection == connection)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Expectation> {
        self.0.iter()
    }
}
