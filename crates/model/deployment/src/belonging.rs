//! Which interface each listener of a sidecar belongs to: two interfaces may join the same nodes under different policies, and the
//! weaker one must not be what decides.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::error::Fault;
use crate::interface::{Carrier, Interface, InterfaceKind};
use crate::node::NodeName;
use crate::raw::RawSidecar;
use crate::sidecar::{Inbound, Path, Route, Sidecar};

/// The interfaces with a sidecar that join a node to others.
#[derive(Debug)]
pub(crate) struct Joined<'a> {
    node: &'a NodeName,
    to: HashMap<&'a NodeName, BTreeSet<InterfaceKind>>,
    carriers: BTreeMap<InterfaceKind, BTreeSet<Carrier>>,
}

impl<'a> Joined<'a> {
    /// Those of `node` among its interfaces.
    pub(crate) fn of(node: &'a NodeName, interfaces: impl Iterator<Item = &'a Interface>) -> Self {
        let mut joined = Self {
            node,
            to: HashMap::new(),
            carriers: BTreeMap::new(),
        };
        for interface in interfaces.filter(|interface| interface.protection.is_by_sidecars()) {
            let [a, b] = &interface.between;
            let peer = if a == node { b } else { a };
            joined.to.entry(peer).or_default().insert(interface.kind);
            let carriers = joined.carriers.entry(interface.kind).or_default();
            carriers.insert(interface.carrier);
        }
        joined
    }

    fn kinds(&self, to: Option<&NodeName>) -> BTreeSet<InterfaceKind> {
        match to {
            Some(to) => self.to.get(to).cloned().unwrap_or_default(),
            None => self.carriers.keys().copied().collect(),
        }
    }

    /// The interface of a listener: the one it names, or the only one there is, towards `to` where it leads to one node. SCTP is
    /// carried by one path and TCP by the others, so the path leaves out what it cannot carry.
    fn interface(
        &self,
        named: Option<&str>,
        to: Option<&NodeName>,
        path: Path,
    ) -> Result<Option<InterfaceKind>, Fault> {
        let mut kinds = self.kinds(to);
        if kinds.iter().any(|kind| path.carries(*kind)) {
            kinds.retain(|kind| path.carries(*kind));
        }
        let list = |word: &str| kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(word);
        let ends = || match to {
            Some(to) => format!("joins {} and {to}", self.node),
            None => format!("joins {} to another node", self.node),
        };
        if let Some(named) = named {
            let kind = InterfaceKind::parse(named).map_err(|fault| Fault {
                place: "interface".to_owned(),
                ..fault
            })?;
            if kinds.is_empty() || kinds.contains(&kind) {
                return Ok(Some(kind));
            }
            let cause = format!("no {} interface with a sidecar {}", kind.name(), ends());
            return Err(Fault::new("interface", cause, format!("those that do: {}", list(", "))));
        }
        if kinds.len() > 1 {
            let cause = format!(
                "it cannot be determined whether this listener is for {}: each {}",
                list(" or "),
                ends()
            );
            let hint = format!(
                "name one, `interface: {}`; another one takes a listener of its own",
                kinds.iter().next().map_or("SBI", |kind| kind.name())
            );
            return Err(Fault::new("", cause, hint));
        }
        Ok(kinds.first().copied())
    }
}

impl Sidecar {
    /// Gives each listener its interface.
    pub(crate) fn belong(&mut self, raw: &RawSidecar, joined: &Joined<'_>) -> Result<(), Fault> {
        let named = raw.inbound.iter().map(|raw| raw.interface.as_deref());
        belong(&mut self.inbound, named, joined).map_err(|fault| fault.within("inbound"))?;
        for (index, (outbound, raw)) in self.outbound.iter_mut().zip(&raw.outbound).enumerate() {
            let (named, path) = (raw.interface.as_deref(), outbound.path);
            let found = match &outbound.route {
                Route::To(peer) => joined.interface(named, Some(peer), path),
                Route::ByAuthority => joined
                    .interface(named, None, path)
                    .map(|kind| kind.or(Some(InterfaceKind::Sbi))),
                Route::ByDestination if named.is_none() => Ok(None),
                Route::ByDestination => joined.interface(named, None, path),
            };
            outbound.interface = found.map_err(|fault| fault.within(&format!("outbound[{index}]")))?;
        }
        Ok(())
    }
}

/// Gives each inbound listener its interface: the one it names, or the only one there is.
pub(crate) fn belong<'a>(
    inbound: &mut [Inbound],
    named: impl Iterator<Item = Option<&'a str>>,
    joined: &Joined<'_>,
) -> Result<(), Fault> {
    for (index, (inbound, named)) in inbound.iter_mut().zip(named).enumerate() {
        let found = joined.interface(named, None, inbound.path);
        let found = found.map_err(|fault| fault.within(&format!("[{index}]")))?;
        inbound.interface = found.unwrap_or(InterfaceKind::Sbi);
        inbound.carriers = joined.carriers.get(&inbound.interface).cloned().unwrap_or_default();
        if inbound.carriers.is_empty() {
            inbound.carriers.insert(Carrier::default());
        }
    }
    services_apart(inbound)
}

/// No address others know a function at is that of two interfaces: a connection to it could be either.
fn services_apart(all: &[Inbound]) -> Result<(), Fault> {
    let mut known: HashMap<_, &Inbound> = HashMap::new();
    for (index, inbound) in all.iter().enumerate() {
        let other = *known.entry(inbound.service).or_insert(inbound);
        if other.interface != inbound.interface {
            let cause = format!(
                "{} is known to others for {} and for {}: a connection to it could be either",
                inbound.service,
                other.interface.name(),
                inbound.interface.name()
            );
            let hint = "give one of the two listeners a `service: ADDRESS:PORT` of its own";
            return Err(Fault::new(format!("[{index}].service"), cause, hint));
        }
    }
    Ok(())
}
