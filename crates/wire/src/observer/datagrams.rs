//! Protocols over UDP beside IKE and ESP.

use std::collections::hash_map::Entry;
use std::net::SocketAddr;

use super::keyed::Table;
use super::memory::{Bounds, Memory};
use super::{Arrived, FlowKind, Omitted, Sink, Unread};
use crate::Timestamp;
use crate::datagrams::{self, DatagramProtocol, Datagrams as Seen};
use crate::udp::{self, Udp};

/// A protocol, and the ends it is spoken between, the lesser first. Ports count for QUIC only.
type Pair = (DatagramProtocol, SocketAddr, SocketAddr);

#[derive(Default)]
pub(super) struct Datagrams {
    /// They never end.
    seen: Table<Pair, Seen>,
}

impl Datagrams {
    /// Takes a packet of UDP that is neither IKE nor ESP.
    pub(super) fn packet(&mut self, arrived: &Arrived<'_>, bounds: &mut Bounds<'_>) -> Option<Unread> {
        let datagram = &arrived.datagram;
        let Some(udp) = udp::udp(datagram.payload, datagram.missing) else {
            return Some(Unread::Malformed);
        };
        let source = SocketAddr::new(datagram.source, udp.source_port);
        let destination = SocketAddr::new(datagram.destination, udp.destination_port);
        let Some(pair) = self.pair(&udp, source, destination) else {
            return Some(Unread::Udp);
        };
        let room = bounds.memory.has_room(self.seen.growth());
        let known = self.seen.len();
        let seen = match self.seen.entry(pair) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) if room => {
                *bounds.begun += 1;
                entry.insert(Seen::new(*bounds.begun, pair.0, source, destination, arrived.first))
            }
            Entry::Vacant(_) => {
                let omitted = Omitted {
                    flow: FlowKind::Datagrams(pair.0),
                    source: datagram.source,
                    destination: datagram.destination,
                    at: arrived.at,
                };
                bounds.omit(omitted, arrived.packets.into());
                return None;
            }
        };
        let before = seen.messages.held();
        seen.datagram(source, &udp, arrived.at);
        bounds.memory.changed(before, seen.messages.held());
        if known < self.seen.len() {
            self.seen.grown(bounds.memory);
        }
        None
    }

    /// What a datagram belongs to. QUIC's packets with a short header are told by those with a long one before them.
    fn pair(&self, udp: &Udp<'_>, source: SocketAddr, destination: SocketAddr) -> Option<Pair> {
        let pair = |protocol| {
            let [one, other] = match protocol {
                DatagramProtocol::Quic => [source, destination],
                _ => [source, destination].map(|end| SocketAddr::new(end.ip(), 0)),
            };
            (protocol, one.min(other), one.max(other))
        };
        if let Some(protocol) = datagrams::recognise(udp) {
            return Some(pair(protocol));
        }
        let quic = pair(DatagramProtocol::Quic);
        self.seen.contains_key(&quic).then_some(quic)
    }

    /// Gives all of them as they are now, in the order of first packets.
    pub(super) fn live_into(&self, sink: &mut impl Sink) {
        let mut seen: Vec<&Seen> = self.seen.values().collect();
        seen.sort_unstable_by_key(|seen| seen.number);
        seen.into_iter().for_each(|seen| sink.datagrams(seen.clone()));
    }

    /// Gives those whose last packet came before `since`, and forgets them.
    pub(super) fn forget_idle(&mut self, since: Timestamp, memory: &mut Memory, sink: &mut impl Sink) {
        let mut idle: Vec<Seen> = self
            .seen
            .extract_if(|_, seen| seen.last.time < since)
            .map(|(_, seen)| seen)
            .collect();
        idle.sort_unstable_by_key(|seen| seen.number);
        for seen in idle {
            memory.gone(seen.messages.held());
            sink.datagrams(seen);
        }
        self.seen.shrink(memory);
    }

    /// How many there are.
    pub(super) fn live(&self) -> usize {
        self.seen.len()
    }

    /// Gives all of them, in the order of first packets.
    pub(super) fn finish(&mut self, sink: &mut impl Sink) {
        let mut seen: Vec<Seen> = self.seen.drain().map(|(_, seen)| seen).collect();
        seen.sort_unstable_by_key(|seen| seen.number);
        for seen in seen {
            sink.datagrams(seen);
        }
    }
}
