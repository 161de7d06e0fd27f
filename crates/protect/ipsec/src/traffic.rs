//! Which packets a link's CHILD_SAs are for, seen from one of its ends.

use bartizan_deployment::{End, IpsecLink, Network, Selector, Side, TrafficProtocol};
use bartizan_wire::ip;

use crate::TrafficSelector;
use crate::render::Means;

/// The packets of one end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Traffic<'a> {
    /// Networks of their source or destination.
    pub(crate) networks: &'a [Network],
    /// Their protocol's number; none for all of them.
    pub(crate) protocol: Option<u8>,
    /// Their port at this end; none for all of them.
    pub(crate) port: Option<u16>,
}

impl Traffic<'_> {
    /// In strongSwan's words, `10.78.1.1/32[132/36421]`. Protocols by number, since not every host has a file of their names; without
    /// ports that who does ESP does not find.
    pub(crate) fn texts(&self, means: Means) -> Vec<String> {
        let port = self
            .port
            .filter(|_| means.sctp_ports || self.protocol != Some(ip::SCTP));
        let of_protocol = match (self.protocol, port) {
            (None, _) => String::new(),
            (Some(protocol), None) => format!("[{protocol}]"),
            (Some(protocol), Some(port)) => format!("[{protocol}/{port}]"),
        };
        let networks = self.networks.iter();
        networks.map(|network| format!("{network}{of_protocol}")).collect()
    }

    /// The same as they are negotiated.
    pub(crate) fn selectors(&self, means: Means) -> Vec<bartizan_ike::Selector> {
        let texts = self.texts(means);
        texts
            .iter()
            .filter_map(|text| TrafficSelector::parse(text))
            .map(|read| read.negotiated())
            .collect()
    }
}

/// True if packets match both pairs, and these are equally narrow: from a port to the same port,
/// where each end has one of its own.
pub(crate) fn are_crossed(one: &[Traffic<'_>; 2], other: &[Traffic<'_>; 2]) -> bool {
    let [here, there] = one.map(|end| (end.protocol, end.port));
    here != there && [there, here] == other.map(|end| (end.protocol, end.port))
}

/// Traffic of each CHILD_SA of a link, that of `node` and that of its peer, in the same order at
/// both ends.
pub(crate) fn pairs<'a>(node: &str, link: &'a IpsecLink) -> Vec<[Traffic<'a>; 2]> {
    let Some((here, there)) = link.ends_from(node) else {
        return Vec::new();
    };
    let mut pairs = Vec::new();
    for selector in &link.selectors {
        let with = |end: &'a End| of(end, selector, selector.port);
        let without = |end: &'a End| of(end, selector, None);
        match (&selector.side, selector.port) {
            (_, None) => pairs.push([without(here), without(there)]),
            (Side::At(listener), Some(_)) if *listener == here.node => pairs.push([with(here), without(there)]),
            (Side::At(_), Some(_)) => pairs.push([without(here), with(there)]),
            (Side::Either, Some(_)) => {
                // One for what is asked of the file's second end, one for the other way.
                let asked = [[with(here), without(there)], [without(here), with(there)]];
                if link.ends[1].node == here.node {
                    pairs.extend(asked);
                } else {
                    pairs.extend(asked.into_iter().rev());
                }
            }
        }
    }
    pairs
}

fn of<'a>(end: &'a End, selector: &Selector, port: Option<u16>) -> Traffic<'a> {
    let protocol = match selector.protocol {
        TrafficProtocol::Sctp => Some(ip::SCTP),
        TrafficProtocol::Udp => Some(ip::UDP),
        TrafficProtocol::Tcp => Some(ip::TCP),
        TrafficProtocol::Any => None,
    };
    Traffic {
        networks: &end.inner,
        protocol,
        port,
    }
}
