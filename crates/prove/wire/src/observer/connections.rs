//! TCP connections.

use std::net::{IpAddr, SocketAddr};

use super::demux::Parts;
use super::flow::{self, Flow, Rest};
use super::paths::PathId;
use super::{Arrived, FlowKind, Observer, Unread};
use crate::end::Address;
use crate::tcp::Segment;
use crate::{Connection, Ending};

/// Ended connections remembered, so that their last acknowledgements do not look like new ones.
const ENDED: usize = 1 << 16;

bartizan_registry::made! {
    /// A connection's two ends, the lesser first, in as few bytes as a million of them should have.
    #[derive(Clone, Copy, PartialEq, Eq, Hash)]
    pub(super) struct Ends, pub(super) between(source: SocketAddr, destination: SocketAddr, path: PathId) {
        let (one, other) = if source <= destination {
            (source, destination)
        } else {
            (destination, source)
        };
        let words = |address: IpAddr| match address {
            IpAddr::V4(address) => [u64::from(address.to_bits()), 0],
            IpAddr::V6(address) => [(address.to_bits() >> 64) as u64, address.to_bits() as u64],
        };
        let ([a, b], [c, d]) = (words(one.ip()), words(other.ip()));
        /// Two words each; of IPv4 the first holds all of it.
        addresses: [u64; 4] = [a, b, c, d],
        ports: [u16; 2] = [one.port(), other.port()],
        /// Encapsulation; the lowest bit is set for IPv6.
        path: u32 = path.0 << 1 | u32::from(one.is_ipv6()),
    }
}

/// State of a pair of ends.
pub(super) enum Slot {
    Live(Box<Flow>),
    /// The other direction of one whose first packet was carried in this.
    Other(PathId),
    Ended(Rest),
}

impl Observer {
    /// Takes a segment; gives the connections it ends.
    pub(super) fn segment(&mut self, arrived: &Arrived<'_>, segment: &Segment<'_>, mut give: impl FnMut(Connection)) {
        self.totals.segments += 1;
        let source = SocketAddr::new(arrived.datagram.source, segment.source_port);
        let destination = SocketAddr::new(arrived.datagram.destination, segment.destination_port);
        let ends = self.ends_of(source, destination, segment, arrived.path);
        let mut in_stream = false;
        let ended = match self.slots.get_mut(&ends) {
            Some(Slot::Live(flow)) if !flow.is_replaced_by(source, segment) => {
                let (before, half) = (flow.held(), flow.is_half());
                let ended = flow.segment(source, segment, arrived, &mut self.budget, self.keys.as_deref());
                let after = flow.held();
                in_stream = flow.has_messages();
                self.memory.changed(before, after);
                if half && !flow.is_half() {
                    let path = flow.paths[0];
                    self.halves.end(self.paths.bare(path), [source, destination], path);
                }
                if after > before && ended.is_none() && self.memory.is_exceeded() {
                    self.give_up(&ends, source, destination, arrived, &mut give);
                    return;
                }
                ended
            }
            Some(Slot::Ended(rest)) if !segment.flags.syn() && !rest.is_gone_beyond(source, destination, segment) => {
                return self.unread(Unread::TcpControl, arrived.captured);
            }
            Some(_) => self.begin(ends, (source, destination), segment, arrived, &mut give),
            // A connection is worth remembering once it says something: an acknowledgement alone may belong to one that
            // has ended.
            None if !segment.flags.syn() && segment.payload.is_empty() && segment.missing == 0 => {
                return self.unread(Unread::TcpControl, arrived.captured);
            }
            None => self.begin(ends, (source, destination), segment, arrived, &mut give),
        };
        if in_stream {
            self.in_stream(&ends, arrived);
        }
        if let Some(ending) = ended {
            let reset = segment.flags.rst().then_some(source);
            self.close(ends, ending, reset, &mut give);
        }
    }

    /// Takes the messages of IKE and ESP that a segment completed; the packet is counted with the
    /// first of them.
    fn in_stream(&mut self, ends: &Ends, arrived: &Arrived<'_>) {
        let Some(Slot::Live(flow)) = self.slots.get_mut(ends) else {
            return;
        };
        let messages = flow.messages();
        if messages.is_empty() {
            return;
        }
        flow.without(arrived.captured);
        let mut captured = arrived.captured;
        for (ends, message) in messages {
            let arrived = Arrived {
                captured: std::mem::take(&mut captured),
                ..*arrived
            };
            let Parts { ipsec, mut bounds, .. } = self.parts();
            ipsec.in_stream(&message, ends, &arrived, &mut bounds);
        }
    }

    /// The ends under which the connection of a segment is found: with the encapsulation of its
    /// first packet.
    fn ends_of(&mut self, source: SocketAddr, destination: SocketAddr, segment: &Segment<'_>, path: PathId) -> Ends {
        let ends = Ends::between(source, destination, path);
        match self.slots.get(&ends) {
            Some(Slot::Other(first)) => return Ends::between(source, destination, *first),
            Some(_) => return ends,
            None => {}
        }
        // All packets of one direction came in this encapsulation, and none of the other direction
        // yet.
        let bare = self.paths.bare(path);
        let plain = (bare == Default::default() && path != PathId::default()).then(PathId::default);
        let room = self.memory.has_room(self.slots.growth());
        let candidates = [self.halves.find(bare, source, destination), plain];
        for first in candidates.into_iter().flatten() {
            let other = Ends::between(source, destination, first);
            if let Some(Slot::Live(flow)) = self.slots.get_mut(&other)
                && flow.lacks(source, segment)
                && room
            {
                flow.comes_back_in(source, path);
                self.slots.insert(ends, Slot::Other(first));
                self.slots.grown(&mut self.memory);
                return other;
            }
        }
        ends
    }

    /// A connection whose first segment this is, in the place of one that had the same ends; says
    /// how it ended, if it did at once.
    fn begin(
        &mut self,
        ends: Ends,
        (source, destination): (SocketAddr, SocketAddr),
        segment: &Segment<'_>,
        arrived: &Arrived<'_>,
        give: &mut impl FnMut(Connection),
    ) -> Option<Ending> {
        if let Some(Slot::Live(old)) = self.slots.remove(&ends) {
            self.leave(&old);
            give(self.ended(*old, Ending::Replaced));
        }
        let bytes = flow::PROMISED + self.slots.growth();
        if self.live >= self.limits.connections || !self.memory.has_room(bytes) {
            self.omit_connection(source, destination, arrived);
            return None;
        }
        self.live += 1;
        self.totals.connections += 1;
        self.begun += 1;
        let mut flow = Box::new(Flow::new(self.begun, source, destination, segment, arrived));
        let ended = flow.segment(source, segment, arrived, &mut self.budget, self.keys.as_deref());
        self.memory.arrived(flow.held());
        if arrived.path != PathId::default() {
            let bare = self.paths.bare(arrived.path);
            let ends = [source, destination];
            self.halves.begin(bare, ends, arrived.path, &mut self.memory);
        }
        self.slots.insert(ends, Slot::Live(flow));
        self.slots.grown(&mut self.memory);
        self.in_stream(&ends, arrived);
        ended
    }

    /// A connection is not followed any more.
    pub(super) fn leave(&mut self, flow: &Flow) {
        self.live -= 1;
        self.memory.gone(flow.held());
        let ([path, back], [one, other]) = (flow.paths, flow.ends);
        if back != path {
            self.slots.remove(&Ends::between(one, other, back));
        }
        if flow.is_half() {
            self.halves.end(self.paths.bare(path), [one, other], path);
        }
    }

    /// The connection between these ends has grown beyond what there may be: it is given as far as it was read, and not
    /// followed any more.
    fn give_up(
        &mut self,
        ends: &Ends,
        source: SocketAddr,
        destination: SocketAddr,
        arrived: &Arrived<'_>,
        give: &mut impl FnMut(Connection),
    ) {
        if let Some(Slot::Live(mut flow)) = self.slots.remove(ends) {
            self.leave(&flow);
            flow.without(arrived.captured);
            give(self.ended(*flow, Ending::Open));
        }
        self.omit_connection(source, destination, arrived);
    }

    /// A segment of a connection that has no room.
    fn omit_connection(&mut self, source: SocketAddr, destination: SocketAddr, arrived: &Arrived<'_>) {
        let ends = [source, destination].map(|end| Address::from(end.ip()));
        self.omit(FlowKind::Connection, ends, arrived.at, arrived.captured);
    }

    /// The connection between these ends has ended.
    fn close(&mut self, ends: Ends, ending: Ending, reset: Option<SocketAddr>, give: &mut impl FnMut(Connection)) {
        if let Some(Slot::Live(flow)) = self.slots.remove(&ends) {
            let rest = flow.rest(reset);
            self.slots.insert(ends, Slot::Ended(rest));
            self.leave(&flow);
            let ([path, back], [one, other]) = (flow.paths, flow.ends);
            if back != path {
                // Packets of both directions may come yet.
                let back = Ends::between(one, other, back);
                self.slots.insert(back, Slot::Ended(rest));
                self.remember(back);
            }
            give(self.ended(*flow, ending));
        }
        self.remember(ends);
    }

    /// These ends had a connection that has ended; those of the oldest are forgotten.
    fn remember(&mut self, ends: Ends) {
        let before = self.ended.capacity();
        self.ended.push_back(ends);
        let bytes = |capacity| capacity * size_of::<Ends>();
        self.memory.changed(bytes(before), bytes(self.ended.capacity()));
        if self.ended.len() > ENDED
            && let Some(oldest) = self.ended.pop_front()
            && matches!(self.slots.get(&oldest), Some(Slot::Ended(_)))
        {
            self.slots.remove(&oldest);
        }
    }
}
