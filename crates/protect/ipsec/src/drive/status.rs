//! The state of a node's links as charon has it, joined with what the policy says of it.

use std::collections::{HashMap, HashSet};
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
    /// Its IKE_SAs, each with the policy's verdict if it is established. More than one for a moment
    /// during a rekey or re-authentication.
    pub ike: Vec<(IkeSa, Option<Verdict>)>,
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
    /// Its established CHILD_SAs, with the policy's verdict on each.
    pub sas: Vec<(ChildSa, Verdict)>,
}

impl LinkStatus {
    /// Returns true if charon has it, every CHILD_SA stands and nothing that stands breaks the
    /// policy. SAs of a connection that is not loaded any more, as a `down` that was interrupted
    /// leaves them, are not taken up again when they end.
    #[must_use]
    pub fn is_well(&self) -> bool {
        let refused = |verdict: &Verdict| matches!(verdict, Verdict::Refused { .. });
        let verdicts = self.ike.iter().filter_map(|(_, verdict)| verdict.as_ref());
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
/// Fails if charon does not answer.
pub fn status(client: &mut Client, expectations: &Expectations) -> Result<Vec<LinkStatus>, Error> {
    let loaded = list_connections(client)?;
    let sas = list_sas(client)?;
    Ok(of(&loaded, &sas, expectations, day_of(SystemTime::now())))
}

/// The same, of what charon has listed.
fn of(loaded: &[String], sas: &[IkeSa], expectations: &Expectations, today: Date) -> Vec<LinkStatus> {
    let loaded: HashSet<&str> = loaded.iter().map(String::as_str).collect();
    let mut by_connection: HashMap<&str, Vec<&IkeSa>> = HashMap::new();
    for sa in sas.iter().filter(|sa| sa.key.is_some()) {
        by_connection.entry(&sa.connection).or_default().push(sa);
    }
    let links = expectations.iter().map(|expected| {
        let sas = by_connection
            .get(expected.connection.as_str())
            .map_or(&[][..], Vec::as_slice);
        LinkStatus {
            connection: expected.connection.clone(),
            peer: expected.peer.clone(),
            loaded: loaded.contains(expected.connection.as_str()),
            children: children(sas, expectations, expected, today),
            ike: sas
                .iter()
                .map(|&sa| (sa.clone(), sa.stands().then(|| expectations.judge_ike(sa, today))))
                .collect(),
        }
    });
    links.collect()
}

fn children(sas: &[&IkeSa], expectations: &Expectations, expected: &Expectation, today: Date) -> Vec<ChildStatus> {
    let status = expected.children.iter().map(|wanted| {
        let of_it = sas.iter().filter(|sa| !sa.is_being_set_up());
        let established = of_it.flat_map(|sa| {
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

#[cfg(test)]
mod tests {
    use bartizan_deployment::{InterfaceKind, Policy};
    use time::macros::date;

    use super::*;
    use crate::vici::Section;
    use crate::watch::ExpectedChild;

    const TODAY: Date = date!(2026 - 11 - 29);

    /// One link with a CHILD_SA, and an IKE_SA in this state with this key exchange.
    fn listed(state: &str, key_exchange: Option<&str>) -> Vec<LinkStatus> {
        let expectation = Expectation {
            connection: "cu--ric".to_owned(),
            peer: "ric".to_owned(),
            policy: Policy::hybrid(),
            ends: None,
            requires_ppk: false,
            decides: true,
            reauthentication: None,
            children: vec![ExpectedChild {
                name: "E2".to_owned(),
                interface: InterfaceKind::E2,
                policy: Policy::hybrid(),
                form: None,
            }],
        };
        let child = Section::new()
            .with("name", "E2")
            .with("uniqueid", "2")
            .with("state", "INSTALLED")
            .with("spi-in", "42ebcaae")
            .with("spi-out", "0adfb4cf");
        let mut sa = Section::new()
            .with("uniqueid", "1")
            .with("state", state)
            .with("initiator-spi", "9f815c2206ce1954")
            .with("responder-spi", "eef74d6b20dd86e3");
        if let Some(name) = key_exchange {
            sa = sa
                .with("encr-alg", "AES_GCM_16")
                .with("encr-keysize", "256")
                .with("dh-group", name);
        }
        let sa = sa.with_section("child-sas", Section::new().with_section("E2-2", child));
        let sas = [IkeSa::read("cu--ric", &sa).unwrap()];
        let expectations = Expectations::new(vec![expectation]);
        of(&["cu--ric".to_owned()], &sas, &expectations, TODAY)
    }

    #[test]
    fn an_ike_sa_is_judged_while_it_stands_and_in_no_other_state_of_either_engine() {
        // charon's states (ike_sa_state_t); the engine of Bartizan has five of them.
        for (state, is_judged, has_child) in [
            ("CREATED", false, false),
            ("CONNECTING", false, false),
            ("ESTABLISHED", true, true),
            ("PASSIVE", false, true),
            ("REKEYING", true, true),
            ("REKEYED", false, true),
            ("DELETING", false, true),
            ("DESTROYING", false, true),
        ] {
            for key_exchange in [None, Some("CURVE_25519")] {
                let links = listed(state, key_exchange);
                let [(_, verdict)] = &links[0].ike[..] else {
                    panic!("{state}: one IKE_SA is listed");
                };
                assert_eq!(verdict.is_some(), is_judged, "{state}");
                assert!(
                    verdict
                        .as_ref()
                        .is_none_or(|verdict| matches!(verdict, Verdict::Refused { .. })),
                    "{state}"
                );
                assert_eq!(!links[0].children[0].sas.is_empty(), has_child, "{state}");
                assert!(!links[0].is_well(), "{state}");
            }
        }
    }
}
