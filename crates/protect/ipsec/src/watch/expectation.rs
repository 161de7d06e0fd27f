//! Expected connections of a node's charon, with the policy and the two ends of each SA.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use bartizan_deployment::{Deployment, Interface, InterfaceKind, Mode, NodeName, Policy};
use bartizan_ledger::Verdict;
use time::Date;

use crate::TrafficSelector;
use crate::judge;
use crate::render::{Child, Connection};
use crate::sa::{ChildSa, IkeSa};

/// Expectation of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expectation {
    /// Its name in charon.
    pub connection: String,
    /// The node at the other end.
    pub peer: String,
    /// The policy of its IKE_SA.
    pub policy: Policy,
    /// Its two ends. None if the configuration does not name them.
    pub ends: Option<Ends>,
    /// True if a PPK must go into the keys of its IKE_SA (RFC 8784).
    pub requires_ppk: bool,
    /// True if this end decides which of two IKE_SAs that stand side by side stays.
    pub decides: bool,
    /// Time after which both ends authenticate each other anew; none where they never do.
    pub reauthentication: Option<Duration>,
    /// Its CHILD_SAs.
    pub children: Vec<ExpectedChild>,
}

/// The two ends of an IKE_SA.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ends {
    /// The address of this end.
    pub local: IpAddr,
    /// That of the other as it is seen from here; none where the file does not know it, and any is right.
    pub remote: Option<IpAddr>,
    /// The peer's authenticated identity.
    pub identity: String,
}

/// Expectation of a CHILD_SA.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedChild {
    /// Its name in charon.
    pub name: String,
    /// The interface it protects.
    pub interface: InterfaceKind,
    /// Its policy.
    pub policy: Policy,
    /// Its mode and traffic. None if the configuration does not give them.
    pub form: Option<Form>,
}

bartizan_registry::made! {
    /// Mode and traffic of a CHILD_SA.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Form, of(child: &Child) {
        let read = |texts: &Vec<String>| texts.iter().filter_map(|text| TrafficSelector::parse(text)).collect();
        /// IPsec mode of its packets.
        pub mode: Mode = child.mode,
        /// Which packets at most, by their end here and there.
        pub traffic: [Vec<TrafficSelector>; 2] = child.traffic.each_ref().map(read),
    }
}

impl Expectation {
    /// The CHILD_SA of this name.
    pub fn child(&self, name: &str) -> Option<&ExpectedChild> {
        self.children.iter().find(|known| known.name == name)
    }
}

/// The connections of a node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expectations {
    connections: Vec<Expectation>,
    /// Positions by name.
    named: HashMap<String, usize>,
}

impl Expectations {
    /// Expects these connections.
    pub fn new(connections: Vec<Expectation>) -> Self {
        let mut named = HashMap::new();
        for (place, expected) in connections.iter().enumerate() {
            named.entry(expected.connection.clone()).or_insert(place);
        }
        Self { connections, named }
    }

    /// Expects connections as they were rendered for `node`. One that the file does not have is
    /// left out.
    pub fn of_deployment(deployment: &Deployment, node: &str, connections: &[Connection]) -> Self {
        let mut by_peer: HashMap<&NodeName, Vec<&Interface>> = HashMap::new();
        for (peer, interface, _) in deployment.ipsec_links(node) {
            by_peer.entry(&peer.name).or_default().push(interface);
        }
        let policy = |connection: &Connection, kind: Option<InterfaceKind>| {
            let mut with_peer = by_peer.get(&connection.peer)?.iter();
            let found = with_peer.find(|interface| kind.is_none_or(|kind| interface.kind == kind));
            found.map(|interface| Policy::clone(&interface.policy))
        };
        let expectations = connections.iter().filter_map(|connection| {
            let children = connection.children.iter().filter_map(|child| {
                Some(ExpectedChild {
                    name: child.name.clone(),
                    interface: child.interface,
                    policy: policy(connection, Some(child.interface))?,
                    form: Some(Form::of(child)),
                })
            });
            // The IKE_SA is made by the policy of the first interface that goes over it.
            let first = connection.children.first().map(|child| child.interface);
            Some(Expectation {
                connection: connection.name.clone(),
                peer: connection.peer.to_string(),
                policy: policy(connection, first)?,
                ends: Some(Ends {
                    local: connection.local,
                    remote: connection.remote,
                    identity: connection.identity.clone(),
                }),
                requires_ppk: connection.requires_ppk(),
                decides: connection.decides,
                reauthentication: connection.reauthentication(),
                children: children.collect(),
            })
        });
        Self::new(expectations.collect())
    }

    /// Expectation of the connection of this name.
    pub fn of(&self, connection: &str) -> Option<&Expectation> {
        self.named.get(connection).map(|place| &self.connections[*place])
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Expectation> {
        self.connections.iter()
    }

    /// Verdict of the policy in effect on this day, and of the rest of the file, on an IKE_SA.
    #[must_use]
    pub fn judge_ike(&self, sa: &IkeSa, today: Date) -> Verdict {
        let expected = self.of(&sa.connection);
        let policy = expected.map(|expected| expected.policy.in_effect(today));
        let verdict = judge::of_ike(sa, policy.as_ref());
        let verdict = match expected {
            Some(expected) if expected.requires_ppk => judge::with_ppk(verdict, sa),
            _ => verdict,
        };
        match expected.and_then(|expected| expected.ends.as_ref()) {
            Some(ends) => judge::between(verdict, sa, ends),
            None => verdict,
        }
    }

    /// The same of a CHILD_SA of it. `rekeyed` where it took the place of another.
    #[must_use]
    pub fn judge_child(&self, sa: &IkeSa, child: &ChildSa, rekeyed: bool, today: Date) -> Verdict {
        let expected = self.of(&sa.connection).and_then(|expected| expected.child(&child.name));
        let policy = expected.map(|expected| expected.policy.in_effect(today));
        let verdict = judge::of_child(child, rekeyed, &self.judge_ike(sa, today), policy.as_ref());
        match expected.and_then(|expected| expected.form.as_ref()) {
            Some(form) => judge::of_form(verdict, child, form),
            None => verdict,
        }
    }
}
