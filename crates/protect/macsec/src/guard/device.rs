//! The guard that stands at a port's device itself: a program that passes what the rules of nftables pass, and drops the rest.
//!
//! From Linux 6.16 on a chain of nftables stands at a name, so that a port is without one from the moment it is renamed; and `nft flush ruleset`,
//! as firewalls do when they are loaded again, removes chains on any kernel. A program stays with its interface through both, and is there while no
//! process of ours runs.

use std::io;

use aws_lc_rs::digest::{SHA256, digest};
use bartizan_host::device_program::{self, Attached, Hook, Passing};
use bartizan_host::{Error, PAE_GROUP_ADDRESS};
use bartizan_registry::ethertype;

use super::{Place, Port, Side};

/// Programs at the devices of a node's ports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stands {
    /// A program on both sides of each; what each dropped leaving and arriving, in the order of the ports.
    Everywhere(Vec<[u64; 2]>),
    /// None on this side of this interface.
    Not(Side, String),
    /// This kernel has none for this user.
    Never,
}

/// Puts a program on both sides of each interface that is a port, and takes ours off those that are none.
///
/// # Errors
///
/// The kernel's error, and an error if it has no such programs.
pub(super) fn put(node: &str, ports: &[Port], places: &[Place]) -> Result<(), Error> {
    // One that could not be found again could not be removed.
    if !ports.is_empty() && !device_program::is_taken() {
        return Err(Error::Unfit {
            what: "a program of BPF at a port".to_owned(),
            reason: "this kernel takes none, or lets this user not find it again".to_owned(),
        });
    }
    let own = of_node(node);
    let mut first = Ok(());
    for index in device_program::interfaces()? {
        let port = ports
            .iter()
            .zip(places)
            .find(|(_, place)| place.iter().any(|(number, _)| *number == index));
        for hook in Hook::BOTH {
            // A failure at one interface does not keep the programs off the others.
            first = first.and(put_at(index, hook, &own, port.map(|(port, _)| port)));
        }
    }
    first
}

/// The same at one side of one interface, which is this port or none.
fn put_at(index: u32, hook: Hook, own: &str, port: Option<&Port>) -> Result<(), Error> {
    let there = at(index, hook)?;
    let wanted = port.map(|port| port.program(own));
    if let (Some(port), Some(wanted)) = (port, &wanted)
        && !there.iter().any(|program| program.name == *wanted)
    {
        let passed = port.passed();
        let exchange = [(ethertype::LOCAL_EXPERIMENTAL, PAE_GROUP_ADDRESS)];
        let passing = Passing {
            any: &passed,
            to: if port.exchange { &exchange } else { &[] },
        };
        device_program::attach(index, hook, wanted, passing).map_err(failed("attaching", index))?;
    }
    // Programs of another file are removed once those of this one are there.
    let others = there
        .iter()
        .filter(|program| program.name.starts_with(own) && Some(&program.name) != wanted.as_ref());
    for other in others {
        device_program::detach(index, hook, other).map_err(failed("removing", index))?;
    }
    Ok(())
}

/// Takes those of a node off every interface of this network namespace.
///
/// # Errors
///
/// The kernel's error.
pub(super) fn remove(node: &str) -> Result<(), Error> {
    match put(node, &[], &[]) {
        // If no such program can be attached, none is.
        Err(_) if !device_program::is_taken() => Ok(()),
        removed => removed,
    }
}

/// State of the programs now.
pub(super) fn stands(node: &str, ports: &[Port], places: &[Place]) -> Stands {
    let own = of_node(node);
    let mut all = Vec::new();
    for (port, place) in ports.iter().zip(places) {
        let wanted = port.program(&own);
        let mut counts = [0; 2];
        for (index, name) in place {
            for (side, count) in Side::BOTH.into_iter().zip(&mut counts) {
                let Ok(there) = device_program::attached(*index, side.device_hook()) else {
                    return Stands::Never;
                };
                match there.into_iter().find(|program| program.name == wanted) {
                    Some(Attached { dropped, .. }) => *count += dropped,
                    None if device_program::is_taken() => return Stands::Not(side, name.clone()),
                    None => return Stands::Never,
                }
            }
        }
        all.push(counts);
    }
    Stands::Everywhere(all)
}

fn at(index: u32, hook: Hook) -> Result<Vec<Attached>, Error> {
    match device_program::attached(index, hook) {
        // It went since interfaces were listed.
        Err(error) if error.raw_os_error() == Some(nix::libc::ENODEV) => Ok(Vec::new()),
        there => there.map_err(failed("looking for", index)),
    }
}

fn failed(action: &str, index: u32) -> impl FnOnce(io::Error) -> Error {
    let action = format!("{action} the program of BPF at interface {index}");
    move |source| Error::Io { action, source }
}

/// Prefix of the names of this node's programs.
fn of_node(node: &str) -> String {
    format!("bz{}", short(node.as_bytes()))
}

/// Six digits by which one text is known from another.
fn short(text: &[u8]) -> String {
    let digest = digest(&SHA256, text);
    digest
        .as_ref()
        .iter()
        .take(3)
        .map(|octet| format!("{octet:02x}"))
        .collect()
}

impl Port {
    /// The name of its program: of the node, and of what it passes.
    fn program(&self, own: &str) -> String {
        let passed: Vec<u8> = self
            .passed()
            .iter()
            .flat_map(|kind| kind.to_be_bytes())
            .chain([u8::from(self.exchange)])
            .collect();
        format!("{own}{}", short(&passed))
    }

    /// Ethertypes that pass with any address.
    fn passed(&self) -> Vec<u16> {
        let exceptions = self.unencrypted.iter().map(|passed| passed.ethertype());
        [ethertype::MACSEC, ethertype::EAPOL]
            .into_iter()
            .chain(exceptions)
            .collect()
    }
}

impl Side {
    const fn device_hook(self) -> Hook {
        match self {
            Self::Leaving => Hook::Egress,
            Self::Arriving => Hook::Ingress,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use bartizan_deployment::Unencrypted;

    use super::*;

    #[test]
    fn programs_are_known_by_their_node_and_by_what_they_pass() {
        let port = |exchange, unencrypted| Port {
            name: "eth0".to_owned(),
            device: "macsec0".to_owned(),
            exchange,
            unencrypted,
        };
        let names = [
            port(true, Vec::new()).program(&of_node("odu")),
            port(false, Vec::new()).program(&of_node("odu")),
            port(true, vec![Unencrypted::Ptp]).program(&of_node("odu")),
            port(true, Vec::new()).program(&of_node("oru")),
        ];
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        assert!(names.iter().all(|name| name.len() == 14), "{names:?}");
        assert!(names[1].starts_with(&of_node("odu")) && !names[3].starts_with(&of_node("odu")));
    }
}
