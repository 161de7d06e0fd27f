//! What belongs to no connection: protocols over UDP, and all that nothing recognises.

use std::collections::hash_map::Entry;
use std::net::SocketAddr;

use super::descent::Origin;
use super::keyed::Table;
use super::memory::{Bounds, Memory};
use super::paths::PathId;
use super::{Arrived, FlowKind, Omitted, Sink};
use crate::Timestamp;
use crate::datagrams::{self, DatagramProtocol, Datagrams as Seen};
use crate::end::End;
use crate::udp::Udp;

/// A protocol, what it is carried in, and the ends it is spoken between, the lesser first.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    protocol: DatagramProtocol,
    path: PathId,
    ends: [End; 2],
}

impl Key {
    fn new(protocol: DatagramProtocol, path: PathId, [one, other]: [End; 2]) -> Self {
        Self {
            protocol,
            path,
            ends: [one.min(other), one.max(other)],
        }
    }
}

#[derive(Default)]
pub(super) struct Datagrams {
    /// They never end.
    seen: Table<Key, Box<Seen>>,
}

impl Datagrams {
    /// Takes a packet of UDP that is neither IKE nor ESP.
    pub(super) fn packet(&mut self, udp: &Udp<'_>, arrived: &Arrived<'_>, bounds: &mut Bounds<'_>) {
        let datagram = &arrived.datagram;
        let sockets = [
            SocketAddr::new(datagram.source, udp.source_port),
            SocketAddr::new(datagram.destination, udp.destination_port),
        ];
        let protocol = datagrams::recognise(udp).unwrap_or_else(|| {
            // QUIC's packets with a short header are told by those with a long one before them.
            let quic = Key::new(DatagramProtocol::Quic, arrived.path, sockets.map(End::Socket));
            match self.seen.contains_key(&quic) {
                true => DatagramProtocol::Quic,
                false => DatagramProtocol::Udp,
            }
        });
        let ends = if protocol.has_ports() {
            sockets.map(End::Socket)
        } else {
            sockets.map(|socket| End::Host(socket.ip()))
        };
        let origin = Origin {
            at: arrived.at,
            first: arrived.first,
            captured: arrived.captured,
        };
        if let Some(seen) = self.of(protocol, ends, arrived.path, &origin, bounds) {
            let before = seen.messages.held();
            seen.datagram(ends[0], udp, arrived.at);
            let after = seen.messages.held();
            bounds.memory.changed(before, after);
        }
    }

    /// Takes a packet that nothing reads, with so many bytes between these ends, its sender first.
    pub(super) fn anonymous(
        &mut self,
        protocol: DatagramProtocol,
        ends: [End; 2],
        bytes: u64,
        path: PathId,
        origin: &Origin,
        bounds: &mut Bounds<'_>,
    ) {
        if let Some(seen) = self.of(protocol, ends, path, origin, bounds) {
            seen.packet(ends[0], bytes, origin.at);
        }
    }

    /// What a packet belongs to, with it counted; none where there is no room for another.
    fn of(
        &mut self,
        protocol: DatagramProtocol,
        ends: [End; 2],
        path: PathId,
        origin: &Origin,
        bounds: &mut Bounds<'_>,
    ) -> Option<&mut Seen> {
        let key = Key::new(protocol, path, ends);
        let held = super::allocated(size_of::<Seen>());
        let room = bounds.memory.has_room(self.seen.growth() + held);
        let known = self.seen.len();
        if !room && !self.seen.contains_key(&key) {
            let omitted = Omitted {
                flow: FlowKind::Datagrams(protocol),
                source: ends[0].address(),
                destination: ends[1].address(),
                at: origin.at,
            };
            bounds.omit(omitted, origin.captured);
            return None;
        }
        if let Entry::Vacant(entry) = self.seen.entry(key) {
            *bounds.begun += 1;
            let path = bounds.paths.path(path);
            entry.insert(Box::new(Seen::new(*bounds.begun, protocol, path, ends, origin.first)));
            bounds.memory.came(held);
        }
        if known < self.seen.len() {
            self.seen.grown(bounds.memory);
        }
        let seen = self.seen.get_mut(&key)?;
        seen.captured.add(origin.captured);
        Some(seen)
    }

    /// Gives all of them as they are now, in the order of first packets.
    pub(super) fn live_into(&self, sink: &mut impl Sink) {
        let mut seen: Vec<&Seen> = self.seen.values().map(Box::as_ref).collect();
        seen.sort_unstable_by_key(|seen| seen.number);
        seen.into_iter().for_each(|seen| sink.datagrams(seen.clone()));
    }

    /// Gives those whose last packet came before `since`, and forgets them.
    pub(super) fn forget_idle(&mut self, since: Timestamp, memory: &mut Memory, sink: &mut impl Sink) {
        let mut idle: Vec<Box<Seen>> = self
            .seen
            .extract_if(|_, seen| seen.last.time < since)
            .map(|(_, seen)| seen)
            .collect();
        idle.sort_unstable_by_key(|seen| seen.number);
        for seen in idle {
            memory.gone(seen.messages.held() + super::allocated(size_of::<Seen>()));
            sink.datagrams(*seen);
        }
        self.seen.shrink(memory);
    }

    /// How many there are.
    pub(super) fn live(&self) -> usize {
        self.seen.len()
    }

    /// Gives all of them, in the order of first packets.
    pub(super) fn finish(&mut self, sink: &mut impl Sink) {
        let mut seen: Vec<Box<Seen>> = self.seen.drain().map(|(_, seen)| seen).collect();
        seen.sort_unstable_by_key(|seen| seen.number);
        for seen in seen {
            sink.datagrams(*seen);
        }
    }
}
