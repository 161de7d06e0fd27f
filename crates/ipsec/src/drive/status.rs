//! The state of a node's links as charon has it, joined with what the policy says of it.

use std::time::SystemTime;

use bartizan_deployment::day_of;
use bartizan_ledger::Verdict;

use super::{list_connections, list_sas};
use crate::judge;
use crate::sa::{ChildSa, IkeSa};
use crate::vici::{Client, Error};
use crate::watch::{Expectation, Expectations};

/// A connection that the deployment file has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkStatus {
    /// Its name in charon.
    pub connection: String,
    /// The node at the other end.
    pub peer: String,
    /// charon has it loaded.
    pub loaded: bool,
    /// Its IKE_SAs with what the policy says of each: more than one for a moment while it is rekeyed or authenticated anew.
    pub ike: Vec<(IkeSa, Verdict)>,
    /// Its CHILD_SAs, each that is expected.
    pub children: Vec<ChildStatus>,
}

/// A CHILD_SA that the deployment file has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildStatus {
    /// Its name in charon.
    pub name: String,
    /// The interface it protects.
    pub interface: &'static str,
    /// What stands of it, with what the policy says of each.
    pub sas: Vec<(ChildSa, Verdict)>,
}

impl LinkStatus {
    /// Whether charon has it, every CHILD_SA stands and nothing that stands breaks the policy. SAs of a connection that is not loaded
    /// any more, as a `down` that was interrupted leaves them, are not taken up again when they end.
    #[must_use]
    pub fn is_well(&self) -> bool {
        let refused = |verdict: &Verdict| matches!(verdict, Verdict::Refused { .. });
        let verdicts = self.ike.iter().map(|(_, verdict)| verdict);
        let of_children = self
            .children
            .iter()
            .flat_map(|child| child.sas.iter().map(|(_, verdict)| verdict));
        self.loaded
            && self.children.iter().all(|child| !child.sas.is_empty())
            && !verdicts.chain(of_children).any(refused)
    }
}

/// The state of every connection that is expected.
///
/// # Errors
///
/// Where charon does not answer.
pub fn status(client: &mut Client, expectations: &Expectations) -> Result<Vec<LinkStatus>, Error> {
    let loaded = list_connections(client)?;
    let sas = list_sas(client)?;
    let links = expectations.iter().map(|expected| LinkStatus {
        connection: expected.connection.clone(),
        peer: expected.peer.clone(),
        loaded: loaded.contains(&expected.connection),
        ike: of_connection(&sas, expected)
            .map(|(sa, verdict)| (sa.clone(), verdict))
            .collect(),
        children: children(&sas, expected),
    });
    Ok(links.collect())
}

fn of_connection<'a>(sas: &'a [IkeSa], expected: &'a Expectation) -> impl Iterator<Item = (&'a IkeSa, Verdict)> {
    let policy = expected.policy.in_force(day_of(SystemTime::now()));
    let of_it = sas
        .iter()
        .filter(|sa| sa.connection == expected.connection && sa.key.is_some());
    of_it.map(move |sa| (sa, judge::of_ike(sa, Some(&policy))))
}

fn children(sas: &[IkeSa], expected: &Expectation) -> Vec<ChildStatus> {
    let today = day_of(SystemTime::now());
    let status = expected.children.iter().map(|(name, kind, policy)| {
        let policy = policy.in_force(today);
        let standing = of_connection(sas, expected).flat_map(|(sa, of_ike)| {
            let of_it = sa.children.iter().filter(|child| child.name == *name && child.stands());
            let judged = of_it.map(|child| {
                let verdict = judge::of_child(child, sa.keyed_later(child), &of_ike, Some(&policy));
                (child.clone(), verdict)
            });
            judged.collect::<Vec<_>>()
        });
        ChildStatus {
            name: name.clone(),
            interface: kind.name(),
            sas: standing.collect(),
        }
    });
    status.collect()
}
