//! Fragments behind the first, which have no ports: they go where the first went (RFC 4301, section 7.3).

use std::collections::VecDeque;
use std::net::IpAddr;

use crate::flow::Flow;

/// Packets in fragments that are remembered; an older one is forgotten for a newer one.
const MOST: usize = 256;

/// The packet that a fragment is of.
type Key = (IpAddr, IpAddr, u8, u32);

/// The SAs that first fragments were of, by their SPIs.
#[derive(Debug)]
pub(crate) struct Fragments(VecDeque<(Key, u32)>);

impl Default for Fragments {
    fn default() -> Self {
        // All of it at once: nothing is allocated for a packet.
        Self(VecDeque::with_capacity(MOST))
    }
}

impl Fragments {
    /// Remembers the SA of a first fragment.
    pub(crate) fn remember(&mut self, flow: &Flow, spi: u32) {
        let Some((key, true)) = key(flow) else { return };
        if let Some(known) = self.0.iter_mut().find(|(known, _)| *known == key) {
            known.1 = spi;
            return;
        }
        if self.0.len() >= MOST {
            self.0.pop_front();
        }
        self.0.push_back((key, spi));
    }

    /// The SA of the first fragment of the packet that this is a later one of.
    pub(crate) fn of(&self, flow: &Flow) -> Option<u32> {
        let (key, false) = key(flow)? else { return None };
        let mut known = self.0.iter().rev();
        known.find(|(known, _)| *known == key).map(|(_, spi)| *spi)
    }

    /// Returns true if a fragment behind the first is of a packet whose first was of this SA.
    pub(crate) fn is_of(&self, flow: &Flow, spi: u32) -> bool {
        self.of(flow) == Some(spi)
    }
}

fn key(flow: &Flow) -> Option<(Key, bool)> {
    let (number, is_first) = flow.fragment?;
    Some(((flow.source, flow.destination, flow.protocol, number), is_first))
}
