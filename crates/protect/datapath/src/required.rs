//! Links whose packets must have an SA of their own. Of several that a packet is of the narrowest
//! decides, as of several policies of a kernel: an SA of a wider one does not carry the packet,
//! whether the narrower one has an SA or none.

use bartizan_ike::Order;

use crate::Traffic;
use crate::flow::Flow;

/// Traffic between one pair of a link's selectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Requirement {
    link: u32,
    traffic: Traffic,
    rank: u32,
}

/// The requirements of all links.
#[derive(Debug, Default)]
pub(crate) struct Required(Vec<Requirement>);

impl Required {
    pub(crate) fn add(&mut self, link: u32, traffic: &Traffic) {
        let order = Order::between(&traffic.local, &traffic.remote);
        for (local, remote) in traffic.pairs() {
            let requirement = Requirement {
                link,
                traffic: Traffic {
                    local: vec![*local],
                    remote: vec![*remote],
                },
                rank: order.rank(local, remote),
            };
            if !self.0.contains(&requirement) {
                self.0.push(requirement);
            }
        }
    }

    pub(crate) fn remove(&mut self, link: u32, traffic: &Traffic) {
        let is_gone = |known: &Requirement| {
            let mut gone = traffic.pairs();
            known.link == link && gone.any(|pair| known.traffic.pairs().eq([pair]))
        };
        self.0.retain(|known| !is_gone(known));
    }

    /// The link that a packet is of.
    pub(crate) fn link_of(&self, flow: &Flow) -> Option<u32> {
        let of_it = self.0.iter().filter(|known| known.traffic.has(flow));
        of_it.min_by_key(|known| known.rank).map(|known| known.link)
    }

    /// Requirements of other links that share packets with an SA of this one.
    pub(crate) fn shared(&self, link: u32, traffic: &Traffic) -> Vec<Requirement> {
        let others = self.0.iter().filter(|known| known.link != link);
        others
            .filter(|known| known.traffic.overlaps(traffic))
            .cloned()
            .collect()
    }
}

/// Returns true if a packet of an SA's traffic is of a narrower link that shares it.
pub(crate) fn is_of_narrower(shared: &[Requirement], traffic: &Traffic, flow: &Flow) -> bool {
    let is_narrower = |rank: u32| shared.iter().any(|known| known.rank < rank && known.traffic.has(flow));
    !shared.is_empty() && traffic.rank_of(flow).is_some_and(is_narrower)
}
