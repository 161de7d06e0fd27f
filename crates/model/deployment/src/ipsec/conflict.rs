//! IPsec links of a file that contradict each other.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use super::{External, IpsecLink, Network};
use crate::error::Fault;
use crate::interface::Interface;
use crate::node::NodeName;
use crate::parse::Deployment;

/// A link with the entry of the file that it comes from.
#[derive(Clone, Copy)]
struct Placed<'a> {
    entry: usize,
    interface: &'a Interface,
    link: &'a IpsecLink,
}

/// By what two links share an IKE_SA: where both ends are, and who they are where an address does not say it.
type Ends<'a> = [(IpAddr, Option<&'a NodeName>); 2];

/// Links to one network behind peers, by the networks of their own end: a node may have tens of
/// thousands, of which few overlap.
#[derive(Default)]
struct ByOwn<'a>(BTreeMap<Network, Vec<Placed<'a>>>);

impl<'a> ByOwn<'a> {
    fn add(&mut self, own: &[Network], link: Placed<'a>) {
        for network in own {
            self.0.entry(*network).or_default().push(link);
        }
    }

    /// Those with a network that overlaps one of these, in the order of the file.
    fn overlapping(&self, own: &[Network]) -> Vec<Placed<'a>> {
        let mut found = Vec::new();
        if !self.0.is_empty() {
            for network in own {
                found.extend(
                    network
                        .wider()
                        .filter_map(|wider| self.0.get(&wider))
                        .flatten()
                        .copied(),
                );
                found.extend(self.0.range(network.covered()).flat_map(|(_, links)| links).copied());
            }
        }
        found.sort_by_key(|link| link.entry);
        found
    }
}

/// Every IPsec link has peers that IKE can name, and no two of them contradict each other. `entries` has the entry of each interface.
pub(crate) fn check(deployment: &Deployment, entries: &[usize]) -> Result<(), Fault> {
    let interfaces = deployment.interfaces().iter().zip(entries);
    let links = interfaces.filter_map(|(interface, entry)| {
        Some(Placed {
            entry: *entry,
            interface,
            link: interface.ipsec.as_deref()?,
        })
    });
    let mut by_ends: HashMap<Ends<'_>, Vec<Placed<'_>>> = HashMap::new();
    let mut by_network: HashMap<(&NodeName, Network), ByOwn<'_>> = HashMap::new();
    let mut by_ppk: HashMap<(&NodeName, &str), Placed<'_>> = HashMap::new();
    for link in links {
        identified(deployment, link)?;
        let placed = by_ends.entry(ends(link.link)).or_default();
        for other in placed.iter() {
            same_ends(link, *other)?;
        }
        placed.push(link);
        let [one, other] = &link.link.ends;
        if let Some(ppk) = &link.link.ppk {
            for end in [one, other] {
                let known = by_ppk.entry((&end.node, &ppk.identity)).or_insert(link);
                same_key(link, *known, &end.node)?;
            }
        }
        for (here, there) in [(one, other), (other, one)] {
            for network in &there.inner {
                let known = by_network.entry((&here.node, *network)).or_default();
                for before in known.overlapping(&here.inner) {
                    other_ends(link, before, &here.node, *network)?;
                }
                known.add(&here.inner, link);
            }
        }
    }
    Ok(())
}

fn ends(link: &IpsecLink) -> Ends<'_> {
    let mut ends = link.ends.each_ref().map(|end| {
        let named = (end.external != External::Same).then_some(&end.node);
        (end.outer, named)
    });
    ends.sort_unstable();
    ends
}

fn identified(deployment: &Deployment, link: Placed<'_>) -> Result<(), Fault> {
    let nodes = link.interface.between.iter();
    for node in nodes.filter_map(|name| deployment.node(name.as_str())) {
        if node.identity.dns().is_empty() && node.identity.ip().is_empty() {
            let cause = "has neither a DNS name nor an address that IKE could know it by";
            let hint = "add dns or ip: IKE peers name themselves by one of the two";
            return Err(Fault::new(format!("nodes.{}.names", node.name), cause, hint));
        }
    }
    Ok(())
}

/// Two links of a node whose pre-shared keys have one name: IKE says nothing else of them.
fn same_key(link: Placed<'_>, other: Placed<'_>, node: &NodeName) -> Result<(), Fault> {
    let (Some(one), Some(two)) = (&link.link.ppk, &other.link.ppk) else {
        return Ok(());
    };
    if one.file == two.file {
        return Ok(());
    }
    let cause = format!(
        "`{}` is {} here and {} in interfaces[{}], both of {node}",
        one.identity,
        one.file.display(),
        two.file.display(),
        other.entry
    );
    let hint = "give each key a name of its own, at both ends";
    Err(Fault::new(format!("interfaces[{}].ipsec.ppk", link.entry), cause, hint))
}

/// Two links between the same addresses: they share an IKE_SA.
fn same_ends(link: Placed<'_>, other: Placed<'_>) -> Result<(), Fault> {
    let place = format!("interfaces[{}].ipsec", link.entry);
    let names = || {
        let [one, two] = [link, other].map(|link| link.interface.kind.name());
        format!("{one} and {two} (interfaces[{}])", other.entry)
    };
    if !link.link.shares_ike_with(other.link) || link.interface.policy != other.interface.policy {
        let cause = format!(
            "{} join the same addresses and ask different things of one IKE_SA",
            names()
        );
        let hint = "give both the same policy, initiator, rekey-ike, reauth, dpd, ike-dscp, ike-fragments, mtu and ppk, or one other `outer` addresses";
        return Err(Fault::new(place, cause, hint));
    }
    if link.link.claims_packets_of(other.link) {
        let cause = format!("{} claim the same packets", names());
        let hint = "give them selectors or `inner` addresses that tell them apart";
        return Err(Fault::new(place, cause, hint));
    }
    Ok(())
}

/// Two links of a node to peers behind which the same network is: nothing would say to which of them a packet goes. Private addresses
/// behind two NATs are the common case.
fn other_ends(link: Placed<'_>, other: Placed<'_>, node: &NodeName, network: Network) -> Result<(), Fault> {
    let (Some((here, one)), Some((also_here, two))) =
        (link.link.ends_from(node.as_str()), other.link.ends_from(node.as_str()))
    else {
        return Ok(());
    };
    let of_own = here.inner.iter().any(|a| also_here.inner.iter().any(|b| a.overlaps(b)));
    let mut selectors = link.link.selectors.iter();
    let of_both = selectors.any(|a| other.link.selectors.iter().any(|b| a.overlaps(b)));
    if ends(link.link) == ends(other.link) || !of_own || !of_both {
        return Ok(());
    }
    let cause = format!(
        "{network} is behind {} and behind {} (interfaces[{}]), for {node}",
        one.node, two.node, other.entry
    );
    let hint = "give each an `inner` address of its own: behind NAT, nodes may have the same private address";
    Err(Fault::new(format!("interfaces[{}].ipsec", link.entry), cause, hint))
}
