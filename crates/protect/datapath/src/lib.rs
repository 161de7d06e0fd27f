//! ESP of a node's CHILD_SAs in tunnel mode, without sockets or devices: IP packets in, ESP packets
//! with the way that they take out, and back.
//!
//! [`Outgoing`] finds by its selectors which SA a packet is for and seals it there; [`Incoming`]
//! finds by its SPI which SA an ESP packet is of, opens it, and gives what is in it only where the
//! selectors of that SA allow it (RFC 4301, section 5.2). A packet that no SA is for is never given
//! back: there is no way through that is not sealed.
//!
//! SAs are added and deleted between two packets. A new one takes over what it is for from those
//! before, which go on receiving until they are deleted: a rekey loses nothing.
#![forbid(unsafe_code)]

mod batch;
mod coalesce;
mod flow;
mod fragments;
mod headers;
mod incoming;
mod offload;
mod outgoing;
mod required;
mod segments;
#[cfg(test)]
mod tests;

use std::slice::from_ref;

use bartizan_ike::{Order, Selector};

pub use batch::Batch;
pub use coalesce::Coalesced;
pub use flow::Flow;
pub use incoming::{Incoming, Refused};
pub use offload::Offload;
pub use outgoing::{Outgoing, Sealed, Unsent};

/// Counters of an SA.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counted {
    /// Bytes of the packets that it protects.
    pub bytes: u64,
    /// Packets.
    pub packets: u64,
    /// Packets that came again, or too late.
    pub replayed: u32,
    /// Packets with a wrong integrity check value.
    pub failed: u32,
}

/// The traffic of both ends that an SA, or the requirement to have one, is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traffic {
    /// Selectors of this end.
    pub local: Vec<Selector>,
    /// Selectors of the peer.
    pub remote: Vec<Selector>,
}

impl Traffic {
    /// Returns true if a packet from this end is of it; one from the peer is to be reversed before.
    fn has(&self, flow: &Flow) -> bool {
        flow.is_between(&self.local, &self.remote)
    }

    /// Every pair of selectors of this end and of the peer.
    fn pairs(&self) -> impl Iterator<Item = (&Selector, &Selector)> {
        let with = |local| self.remote.iter().map(move |remote| (local, remote));
        self.local.iter().flat_map(with)
    }

    /// Returns true if a packet can be of both.
    fn overlaps(&self, other: &Self) -> bool {
        let meet = |one: &[Selector], other: &[Selector]| {
            let with = |one: &Selector| other.iter().any(|other| one.intersection(other).is_some());
            one.iter().any(with)
        };
        meet(&self.local, &other.local) && meet(&self.remote, &other.remote)
    }

    /// The rank of its narrowest pair that has a packet.
    fn rank_of(&self, flow: &Flow) -> Option<u32> {
        let order = Order::between(&self.local, &self.remote);
        let is_of = |(local, remote): &(&Selector, &Selector)| flow.is_between(from_ref(*local), from_ref(*remote));
        let of_it = self.pairs().filter(is_of);
        of_it.map(|(local, remote)| order.rank(local, remote)).min()
    }

    /// Its rank in the order of the SAs that a packet may be of.
    fn rank(&self) -> u32 {
        Order::least_rank(&self.local, &self.remote)
    }

    /// Returns true if it is for some ports alone, so that a fragment without ports is known by its
    /// first one.
    fn has_ports(&self) -> bool {
        let mut all = self.local.iter().chain(&self.remote);
        all.any(|selector| selector.ports != (0, u16::MAX))
    }
}
