//! Addresses of a link's ends, and the address by which each end knows the other.

use std::net::IpAddr;

use super::{Mode, Network, end_named};
use crate::error::Fault;
use crate::node::{NodeName, not_of_a_host};
use crate::raw::{RawIpsecLink, RawNode};

/// Most networks behind one end.
const MOST_INNER: usize = 64;

/// Addresses of one end of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// The node.
    pub node: NodeName,
    /// Its own address in the outer header, where its IKE daemon listens.
    pub outer: IpAddr,
    /// Under which address the other end reaches it.
    pub external: External,
    /// The addresses its traffic comes from; its outer address where the file names none.
    pub inner: Vec<Network>,
}

/// Under which address an end is reached by its peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum External {
    /// Its own: no NAT is between them.
    Same,
    /// This one: a NAT maps it, or its UDP ports 500 and 4500, to the end's own.
    At(IpAddr),
    /// One that is not known beforehand: a NAT gives the end's packets an address and a port when it begins (masquerade, CGN). It cannot
    /// be called.
    Any,
}

impl End {
    /// The address to which the other end sends, and from which it hears this one; none where the file does not know it.
    pub fn reached_at(&self) -> Option<IpAddr> {
        match self.external {
            External::Same => Some(self.outer),
            External::At(address) => Some(address),
            External::Any => None,
        }
    }
}

impl External {
    /// Reads it for an end with this address of its own.
    pub(crate) fn parse(text: &str, own: IpAddr) -> Result<Self, Fault> {
        if text == "any" {
            return Ok(Self::Any);
        }
        let hint = "write the address under which its peers reach it, or `any` where a NAT hides it";
        let Ok(address) = text.parse::<IpAddr>().map(|address| address.to_canonical()) else {
            let shown: String = text.chars().take(64).collect();
            return Err(Fault::new("", format!("`{shown}` is no address"), hint));
        };
        if let Some(cause) = not_of_a_host(address) {
            return Err(Fault::new("", cause, hint));
        }
        if address.is_ipv4() != own.is_ipv4() {
            let cause = format!("{address} and its own address {own} are of different families");
            return Err(Fault::new("", cause, "IKE and ESP keep their family on the way"));
        }
        Ok(if address == own { Self::Same } else { Self::At(address) })
    }
}

/// Both ends of a link. `nodes` are the raw nodes, in the order of `between`.
pub(super) fn both(
    raw: &RawIpsecLink,
    mode: Mode,
    between: &[NodeName; 2],
    nodes: [&RawNode; 2],
) -> Result<[End; 2], Fault> {
    for (place, names) in [
        ("outer", raw.outer.keys().collect::<Vec<_>>()),
        ("external", raw.external.keys().collect()),
        ("inner", raw.inner.keys().collect()),
    ] {
        for name in names {
            end_named(name, between).map_err(|fault| fault.within(place))?;
        }
    }
    let end = |index: usize| one(raw, mode, &between[index], nodes[index]);
    let ends = [end(0)?, end(1)?];
    let [one, other] = &ends;
    if one.outer.is_ipv4() != other.outer.is_ipv4() {
        let cause = format!("{} and {} are of different families", one.outer, other.outer);
        return Err(Fault::new("outer", cause, "give both an IPv4 or both an IPv6 address"));
    }
    match (one.reached_at(), other.reached_at()) {
        (None, None) => {
            let cause = format!(
                "neither {} nor {} can be called: both are behind a NAT",
                one.node, other.node
            );
            let hint = "one end needs an address that its NAT maps to it: static NAT, or UDP 500 and 4500 forwarded";
            return Err(Fault::new("external", cause, hint));
        }
        (Some(address), Some(the_same)) if address == the_same => {
            let cause = format!("both ends are at {address}");
            let hint = match one.external {
                External::Same => "give each its own address",
                _ => {
                    "no NAT is between two nodes behind the same one: name their own addresses in the link's `external`"
                }
            };
            let place = if one.external == External::Same {
                "outer"
            } else {
                "external"
            };
            return Err(Fault::new(place, cause, hint));
        }
        _ => {}
    }
    let translated = ends.iter().find(|end| end.external != External::Same);
    if let Some(end) = translated.filter(|_| mode == Mode::Transport) {
        let cause = format!(
            "a NAT is before {}, and packets of transport mode have no addresses but the outer ones",
            end.node
        );
        return Err(Fault::new("mode", cause, "write `mode: tunnel`"));
    }
    let mut pairs = one
        .inner
        .iter()
        .flat_map(|mine| other.inner.iter().map(move |theirs| (mine, theirs)));
    if let Some((mine, theirs)) = pairs.find(|(mine, theirs)| mine.overlaps(theirs)) {
        let cause = format!("{mine} of {} and {theirs} of {} overlap", one.node, other.node);
        return Err(Fault::new("inner", cause, "an address is at one end of a link"));
    }
    Ok(ends)
}

fn one(raw: &RawIpsecLink, mode: Mode, node: &NodeName, of_file: &RawNode) -> Result<End, Fault> {
    let name = node.as_str();
    let outer = *raw.outer.get(name).unwrap_or(&of_file.address);
    if let Some(cause) = not_of_a_host(outer) {
        let hint = "write the address the node's IKE daemon listens at";
        return Err(Fault::new(format!("outer.{name}"), cause, hint));
    }
    let of_node = of_file.ipsec.as_ref().and_then(|ipsec| ipsec.external.as_ref());
    let external = match raw.external.get(name).or(of_node) {
        None => External::Same,
        Some(text) => External::parse(text, outer).map_err(|fault| fault.within(&format!("external.{name}")))?,
    };
    let inner = match raw.inner.get(name) {
        None => vec![Network::of_host(outer)],
        Some(_) if mode == Mode::Transport => {
            let hint = "remove it, or write `mode: tunnel`";
            let cause = "transport mode has no other addresses than the nodes' own";
            return Err(Fault::new(format!("inner.{name}"), cause, hint));
        }
        Some(networks) if networks.is_empty() || networks.len() > MOST_INNER => {
            let hint = format!("list 1 to {MOST_INNER} networks, or leave it out");
            return Err(Fault::new(format!("inner.{name}"), "is empty or too long", hint));
        }
        Some(networks) => {
            let read = |(at, network): (usize, &String)| {
                Network::parse(network).map_err(|fault| fault.within(&format!("inner.{name}[{at}]")))
            };
            networks.iter().enumerate().map(read).collect::<Result<_, _>>()?
        }
    };
    Ok(End {
        node: node.clone(),
        outer,
        external,
        inner,
    })
}

/// The end that sets SAs up: the one that cannot be called, else the one that the file names, else the first.
pub(super) fn initiator(raw: &RawIpsecLink, between: &[NodeName; 2], ends: &[End; 2]) -> Result<NodeName, Fault> {
    let named = raw.initiator.as_ref().map(|name| end_named(name, between));
    let named = named.transpose().map_err(|fault| fault.within("initiator"))?;
    let hidden = ends.iter().find(|end| end.external == External::Any);
    match (named, hidden) {
        (Some(named), Some(hidden)) if named != hidden.node => {
            let cause = format!("{named} cannot call {}, which has `external: any`", hidden.node);
            let hint = format!("write {}, or leave it out", hidden.node);
            Err(Fault::new("initiator", cause, hint))
        }
        (named, hidden) => Ok(hidden
            .map(|hidden| hidden.node.clone())
            .or(named)
            .unwrap_or_else(|| between[0].clone())),
    }
}
