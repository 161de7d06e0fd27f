//! Kernel states that a killed charon has left.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use bartizan_deployment::Deployment;
use bartizan_host::{Error, Program};

use crate::reqid;
use crate::traffic::pairs;

/// Repeats of `ip` for one selection of states.
const TRIES: u32 = 20;

/// Time limit of `ip`.
const PATIENCE: Duration = Duration::from_secs(20);

/// Removes the kernel's ESP states of a node's links. A charon that ends by itself removes its own; one that was killed
/// leaves them, with their keys, until their lifetime is over, and no other charon knows of them.
///
/// # Errors
///
/// Fails if `ip` is missing or lacks the permission. A kernel that has no such states has none to
/// remove.
pub fn remove_leftover(deployment: &Deployment, node: &str) -> Result<(), Error> {
    let all = selections(deployment, node);
    for _ in 0..TRIES {
        // That `ip` has deleted is not believed: what is there afterwards is compared.
        let here = established()?;
        let left: Vec<_> = all
            .iter()
            .filter(|selection| here.iter().any(|state| selection.has(state)))
            .collect();
        if left.is_empty() {
            return Ok(());
        }
        left.iter().try_for_each(|selection| remove(&selection.words()))?;
    }
    // Another program may have states to the address of a link behind a NAT; they stay.
    Ok(())
}

/// The two ends of a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    from: IpAddr,
    to: IpAddr,
}

/// Some of the kernel's states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Selection {
    /// Those between two addresses.
    Between(State),
    /// Those of a link's number to or from an address: its other end moves.
    Numbered { from: bool, address: IpAddr, number: u32 },
}

impl Selection {
    fn has(&self, state: &State) -> bool {
        match self {
            Self::Between(between) => between == state,
            Self::Numbered {
                from: true, address, ..
            } => state.from == *address,
            Self::Numbered {
                from: false, address, ..
            } => state.to == *address,
        }
    }

    fn words(&self) -> Vec<String> {
        let words = match self {
            Self::Between(State { from, to }) => format!("src {from} dst {to} proto esp"),
            Self::Numbered { from, address, number } => {
                let end = if *from { "src" } else { "dst" };
                format!("{end} {address} proto esp reqid {number}")
            }
        };
        words.split(' ').map(str::to_owned).collect()
    }
}

/// Those of a node's links.
fn selections(deployment: &Deployment, node: &str) -> BTreeSet<Selection> {
    let mut selections = BTreeSet::new();
    for (_, interface, link) in deployment.ipsec_links(node) {
        let Some((here, there)) = link.ends_from(node) else {
            continue;
        };
        if let Some(there) = there.reached_at() {
            let (from, to) = (here.outer, there);
            selections.extend([State { from, to }, State { from: to, to: from }].map(Selection::Between));
        }
        if link.crosses_nat() {
            let numbers = (0..pairs(node, link).len()).map(|index| reqid::of(interface, index));
            selections.extend(numbers.flat_map(|number| {
                [true, false].map(|from| Selection::Numbered {
                    from,
                    address: here.outer,
                    number,
                })
            }));
        }
    }
    selections
}

/// Address pairs of the kernel's ESP states: one query for all links, of which a node may have
/// hundreds.
fn established() -> Result<BTreeSet<State>, Error> {
    let listed = Program::new("ip")
        .package("iproute2")
        .arguments(["xfrm", "state", "list", "proto", "esp"])
        .run(PATIENCE);
    match listed {
        Ok(listed) => Ok(read(&listed.text())),
        // The kernel has no XFRM, and so no states.
        Err(Error::Failed { tail, .. }) if tail.contains("Protocol not supported") => Ok(BTreeSet::new()),
        Err(error) => Err(error),
    }
}

/// A state's first line is `src ADDRESS dst ADDRESS`; what follows is indented.
fn read(text: &str) -> BTreeSet<State> {
    let states = text.lines().filter_map(|line| {
        let (from, to) = line.strip_prefix("src ")?.split_once(" dst ")?;
        Some(State {
            from: from.trim().parse().ok()?,
            to: to.trim().parse().ok()?,
        })
    });
    states.collect()
}

fn remove(selection: &[String]) -> Result<(), Error> {
    let mut tries = 0;
    loop {
        tries += 1;
        let removed = Program::new("ip")
            .package("iproute2")
            .arguments(["xfrm", "state", "deleteall"])
            .arguments(selection)
            .run(PATIENCE);
        match removed {
            Ok(_) => return Ok(()),
            // `ip` lists them and deletes one by one: one that has gone by itself in between ends it before the others, with
            // "No such process" or without a reason.
            Err(Error::Failed { .. }) if tries < TRIES => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_read_from_what_ip_lists() {
        let text = "src 10.0.0.5 dst 198.51.100.1\n\tproto esp spi 0xc1 reqid 5 mode tunnel\n\tsel src 0.0.0.0/0 dst 0.0.0.0/0 \n\
                    src fd00::1 dst fd00::2\n\tproto esp spi 0xc2 reqid 6 mode tunnel\n";
        let state = |from: &str, to: &str| State {
            from: from.parse().unwrap(),
            to: to.parse().unwrap(),
        };
        assert_eq!(
            read(text),
            BTreeSet::from([state("10.0.0.5", "198.51.100.1"), state("fd00::1", "fd00::2")])
        );
    }

    #[test]
    fn states_of_a_peer_that_a_nat_hides_are_known_by_the_links_number() {
        let text = "policy: hybrid\nnodes:\n  gnb: { function: gNB, address: 192.168.1.2 }\n  \
                    ric: { function: near-RT RIC, address: 10.0.0.5 }\ninterfaces:\n  \
                    - { kind: E2, between: [gnb, ric], with: ipsec, ipsec: { external: { gnb: any, ric: 203.0.113.7 } } }\n";
        let deployment = Deployment::parse(text, "e2.yaml", std::path::Path::new("/")).unwrap();
        let words = |node: &str| -> Vec<_> {
            let selections = selections(&deployment, node);
            selections.iter().map(|selection| selection.words().join(" ")).collect()
        };
        let number = reqid::of(&deployment.interfaces()[0], 0);
        assert_eq!(
            words("ric"),
            [
                format!("dst 10.0.0.5 proto esp reqid {number}"),
                format!("src 10.0.0.5 proto esp reqid {number}")
            ]
        );
        assert_eq!(
            words("gnb"),
            [
                "src 192.168.1.2 dst 203.0.113.7 proto esp".to_owned(),
                "src 203.0.113.7 dst 192.168.1.2 proto esp".to_owned(),
                format!("dst 192.168.1.2 proto esp reqid {number}"),
                format!("src 192.168.1.2 proto esp reqid {number}")
            ]
        );
    }
}
