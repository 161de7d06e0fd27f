//! Which nodes an entry of `interfaces` joins: two, each of some with each of others, or each of some with each other.

use std::collections::HashSet;

use crate::error::Fault;
use crate::node::NodeName;
use crate::raw::{RawEnd, RawInterface};

/// The two ends of each link of an entry, in its order: at most `most`. `find` knows the file's nodes.
pub(crate) fn links(
    entry: &RawInterface,
    most: usize,
    find: &impl Fn(&str) -> Result<NodeName, Fault>,
) -> Result<Vec<[NodeName; 2]>, Fault> {
    match (&entry.between, &entry.among) {
        (Some(ends), None) => between(ends, most, find),
        (None, Some(names)) => among(names, most, find),
        (Some(_), Some(_)) => Err(Fault::new(
            "among",
            "stands next to `between`",
            "write one of the two, or two entries",
        )),
        (None, None) => Err(Fault::new(
            "",
            "joins no nodes",
            "name two, between: [amf, nrf], or join each of several to each other, among: [amf, nrf, smf]",
        )),
    }
}

fn between(
    ends: &[RawEnd],
    most: usize,
    find: &impl Fn(&str) -> Result<NodeName, Fault>,
) -> Result<Vec<[NodeName; 2]>, Fault> {
    let [one, other] = ends else {
        let cause = format!("joins two nodes, not {}", ends.len());
        let hint = "write two: [amf, nrf]; each of some to each of others: [[amf, smf], nrf]; each to each other: among: [...]";
        return Err(Fault::new("between", cause, hint));
    };
    let nodes = |at: usize, end: &RawEnd| match end {
        RawEnd::Node(name) => find(name)
            .map(|node| vec![node])
            .map_err(|fault| fault.within("between")),
        RawEnd::Nodes(names) => several(names, 1, find).map_err(|fault| fault.within(&format!("between[{at}]"))),
    };
    let (one, other) = (nodes(0, one)?, nodes(1, other)?);
    let others: HashSet<_> = other.iter().collect();
    if let Some(both) = one.iter().find(|node| others.contains(node)) {
        let cause = if one.len() + other.len() == 2 {
            "joins a node to itself".to_owned()
        } else {
            format!("joins {both} to itself: it stands at both ends")
        };
        return Err(Fault::new("between", cause, "name two nodes"));
    }
    bounded("between", one.len().saturating_mul(other.len()), most)?;
    let pairs = one
        .iter()
        .flat_map(|one| other.iter().map(|other| [one.clone(), other.clone()]));
    Ok(pairs.collect())
}

fn among(
    names: &[String],
    most: usize,
    find: &impl Fn(&str) -> Result<NodeName, Fault>,
) -> Result<Vec<[NodeName; 2]>, Fault> {
    let nodes = several(names, 2, find).map_err(|fault| fault.within("among"))?;
    bounded("among", nodes.len().saturating_mul(nodes.len() - 1) / 2, most)?;
    let pairs = nodes
        .iter()
        .enumerate()
        .flat_map(|(at, one)| nodes[at + 1..].iter().map(|other| [one.clone(), other.clone()]));
    Ok(pairs.collect())
}

/// Nodes of a list: at least as many, none twice.
fn several(
    names: &[String],
    at_least: usize,
    find: &impl Fn(&str) -> Result<NodeName, Fault>,
) -> Result<Vec<NodeName>, Fault> {
    if names.len() < at_least {
        let cause = format!("names {} nodes, and {at_least} are needed", names.len());
        return Err(Fault::new("", cause, "name more, or remove the entry"));
    }
    let (mut nodes, mut seen) = (Vec::new(), HashSet::new());
    for (index, name) in names.iter().enumerate() {
        let place = format!("[{index}]");
        if !seen.insert(name) {
            return Err(Fault::new(place, format!("{name} stands there twice"), "remove one"));
        }
        nodes.push(find(name).map_err(|fault| fault.within(&place))?);
    }
    Ok(nodes)
}

fn bounded(place: &str, links: usize, most: usize) -> Result<(), Fault> {
    if links <= most {
        return Ok(());
    }
    let cause = format!("makes {links} links, and the file may make {most} more");
    let hint = "join the nodes that talk to each other, or describe each region by a file of its own";
    Err(Fault::new(place, cause, hint))
}
