//! Live state of an observer: its results so far, and the eviction of idle flows.

use std::net::IpAddr;

use super::{Observer, Sink, Slot};
use crate::{Ending, Timestamp};

/// Live flows of an [`Observer`], and their memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Holding {
    /// TCP connections.
    pub connections: usize,
    /// SCTP associations.
    pub associations: usize,
    /// IKE_SAs.
    pub ike_sas: usize,
    /// ESP security associations.
    pub esp_sas: usize,
    /// Protocols over UDP between two ends.
    pub datagrams: usize,
    /// Bytes that these and the tables they are found in take, with what is held back for segments
    /// out of order and what is remembered of ended ones.
    pub bytes: usize,
}

impl Observer {
    /// Gives all live flows as [`finish_into`](Self::finish_into) would give them now, each kind in
    /// the order of first packets, and goes on with them. Encrypted content is shown as far as it
    /// was decrypted: segments that still wait for an earlier one are not decrypted for it.
    /// Fragments of a packet wait for the rest, or until they are dropped, before they are shown.
    pub fn live_into(&self, sink: &mut impl Sink) {
        let mut flows: Vec<_> = self
            .slots
            .values()
            .filter_map(|slot| match slot {
                Slot::Live(flow) => Some(flow),
                Slot::Other(_) | Slot::Ended(_) => None,
            })
            .collect();
        flows.sort_unstable_by_key(|flow| flow.number);
        // The copy returns bytes that it never took from the budget.
        let mut budget = self.budget;
        for flow in flows {
            let before = budget;
            let paths = flow.paths.map(|path| self.paths.path(path));
            sink.connection((**flow).clone().end(Ending::Open, paths, &mut budget, None));
            budget = before;
        }
        self.associations.live_into(sink);
        self.ipsec.live_into(sink);
        self.datagrams.live_into(sink);
    }

    /// Gives all flows whose last packet came before `since` as if the capture ended here, and
    /// forgets them. Their later packets count as those of a flow picked up in mid-stream. All
    /// IPsec between two hosts is judged together and is forgotten together.
    pub fn forget_idle(&mut self, since: Timestamp, sink: &mut impl Sink) {
        let idle = self.slots.iter().filter_map(|(ends, slot)| match slot {
            Slot::Live(flow) if flow.last.time < since => Some((flow.number, *ends)),
            _ => None,
        });
        let mut idle: Vec<_> = idle.collect();
        idle.sort_unstable_by_key(|(number, _)| *number);
        for (_, ends) in idle {
            if let Some(Slot::Live(flow)) = self.slots.remove(&ends) {
                self.leave(&flow);
                sink.connection(self.ended(*flow, Ending::Open));
            }
        }
        self.slots.shrink(&mut self.memory);
        self.halves.shrink(&mut self.memory);
        self.associations.forget_idle(since, &mut self.memory, sink);
        self.ipsec.forget_idle(since, &mut self.memory, sink);
        self.datagrams.forget_idle(since, &mut self.memory, sink);
        self.paths.forget_idle(since, &mut self.memory);
    }

    /// Parts of packets that have waited for the rest for longer than the limits let them are given
    /// up, as they are where another comes; without a time all are: nothing more will come.
    /// [`Self::live_into`] shows them from then on.
    pub fn give_up_fragments(&mut self, now: Option<Timestamp>) {
        match now {
            Some(now) => self.fragments.expire(now),
            None => self.fragments.finish(),
        }
        self.abandoned();
    }

    /// Live flows and their memory.
    pub fn holding(&self) -> Holding {
        let (ike_sas, esp_sas) = self.ipsec.live();
        Holding {
            connections: self.live,
            associations: self.associations.live(),
            ike_sas,
            esp_sas,
            datagrams: self.datagrams.live(),
            bytes: self.memory.used + self.budget.used(),
        }
    }
}

/// The hosts at both ends of IPsec, the lesser first.
pub(super) fn hosts(one: IpAddr, other: IpAddr) -> [IpAddr; 2] {
    [one.min(other), one.max(other)]
}
