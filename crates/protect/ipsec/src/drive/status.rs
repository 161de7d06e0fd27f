//! The state of a node's links as charon has it, joined with what the policy says of it.

use std::time::SystemTime;

use bartizan_deployment::day_of;
use bartizan_ledger::Verdict;
use time::Date;

use super::{list_connections, list_sas};
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
    let today = day_of(SystemTime::now());
    let links = expectations.iter().map(|expected| LinkStatus {
        connection: expected.connection.clone(),
        peer: expected.peer.clone(),
        loaded: loaded.contains(&expected.connection),
        ike: of_connection(&sas, expected)
            .map(|sa| (sa.clone(), expectations.judge_ike(sa, today)))
            .collect(),
        children: children(&sas, expectations, expected, today),
    });
    Ok(links.collect())
}

fn of_connection<'a>(sas: &'a [IkeSa], expected: &'a Expectation) -> impl Iterator<Item = &'a IkeSa> {
    let of_it = |sa: &&IkeSa| sa.connection == expected.connection && sa.key.is_some();
    sas.iter().filter(of_it)
}

fn children(sas: &[IkeSa], expectations: &Expectations, expected: &Expectation, today: Date) -> Vec<ChildStatus> {
    let status = expected.children.iter().map(|wanted| {
        let established = of_connection(sas, expected).flat_map(|sa| {
            let of_it = sa
                .children
                .iter()
                .filter(|child| child.name == wanted.name && child.stands());
            of_it.map(move |child| {
                let verdict = expectations.judge_child(sa, child, sa.keyed_later(child), today);
                (child.clone(), verdict)
            })
        });
        ChildStatus {
            name: wanted.name.clone(),
            interface: wanted.interface.name(),
            sas: established.collect(),
        }
    });
    status.collect()
}
