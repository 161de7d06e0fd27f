//! SCTP associations.

use std::collections::VecDeque;
use std::net::SocketAddr;

use super::demux::Unreadable;
use super::keyed::Table;
use super::memory::{Bounds, Memory};
use super::paths::PathId;
use super::{Arrived, FlowKind, Omitted, Sink, Unread};
use crate::checksum;
use crate::sctp::{self, Init, Packet, Tracker, kind};
use crate::{Ending, Timestamp};

/// Ended associations remembered, so that their last packets do not look like new ones.
const ENDED: usize = 1 << 12;

/// Bytes of an association with some user messages, measured.
const PROMISED: usize = 1600;

/// Ports and verification tag of one direction's packets: addresses may change, these do not (RFC
/// 9260, section 8.5).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Lane {
    tag: u32,
    source_port: u16,
    destination_port: u16,
}

#[derive(Clone, Copy)]
enum Slot {
    Live { number: u64, direction: usize },
    Ended,
}

/// Two ends, the lesser first, and what their packets are carried in: networks may overlap.
type Between = (PathId, SocketAddr, SocketAddr);

#[derive(Default)]
pub(super) struct Associations {
    trackers: Table<u64, Box<Tracker>>,
    lanes: Table<Lane, Slot>,
    /// The newest association between two ends, the lesser first: to find it before both tags are known.
    by_ends: Table<Between, u64>,
    /// Lanes in state `Ended`, oldest first.
    ended: VecDeque<Lane>,
}

impl Associations {
    pub(super) fn packet(
        &mut self,
        arrived: &Arrived<'_>,
        bounds: &mut Bounds<'_>,
        sink: &mut impl Sink,
    ) -> Result<(), Unreadable> {
        let datagram = &arrived.datagram;
        let packet = sctp::packet(datagram.payload, datagram.missing).ok_or(Unreadable)?;
        let source = SocketAddr::new(datagram.source, packet.source_port);
        let destination = SocketAddr::new(datagram.destination, packet.destination_port);
        let found = match self.find(&packet, source, destination, arrived.path) {
            Found::Live { number, direction } => Some((number, direction)),
            // A repeated end of an ended association carries no data.
            Found::Ended if !packet.has_more() && !packet.chunks().any(carries_data) => {
                return stray(&packet, arrived, bounds);
            }
            Found::Ended | Found::Unknown => None,
        };
        let (number, direction) = match found {
            Some(found) => found,
            None => {
                if !begins(&packet) {
                    return stray(&packet, arrived, bounds);
                }
                let growth = self.trackers.growth() + self.by_ends.growth() + self.lanes.growth();
                if self.trackers.len() >= bounds.limits.associations || !bounds.memory.has_room(PROMISED + growth) {
                    bounds.omit(omitted(arrived), arrived.captured);
                    return Ok(());
                }
                bounds.totals.associations += 1;
                *bounds.begun += 1;
                let number = *bounds.begun;
                let mut tracker = Box::new(Tracker::new(number, source, destination, &packet, arrived.first));
                tracker.carried_in(bounds.paths.path(arrived.path), arrived.path.0);
                let direction = tracker.direction_of(source, destination).unwrap_or(0);
                bounds.memory.arrived(tracker.held());
                self.trackers.insert(number, tracker);
                self.by_ends.insert(between(arrived.path, source, destination), number);
                self.trackers.grown(bounds.memory);
                self.by_ends.grown(bounds.memory);
                (number, direction)
            }
        };
        let Some(tracker) = self.trackers.get_mut(&number) else {
            return Err(Unreadable);
        };
        tracker.arrived(arrived.captured);
        if !tracker.admits(
            &packet,
            direction,
            checksum::sctp(datagram.payload, datagram.missing),
            arrived.at,
        ) {
            return Ok(());
        }
        let addresses = (source.ip(), destination.ip());
        let before = tracker.held();
        let ending = tracker.packet(&packet, direction, addresses, arrived.at, bounds.keys, |event| {
            sink.in_association(number, event);
        });
        let after = tracker.held();
        bounds.memory.changed(before, after);
        let full = after > before && bounds.memory.is_exceeded();
        if full {
            tracker.without(arrived.captured);
        }
        self.learn(number, direction, &packet);
        self.lanes.grown(bounds.memory);
        let mut ending = ending;
        if full {
            // It is given as far as it was read.
            bounds.omit(omitted(arrived), arrived.captured);
            ending = ending.or(Some(Ending::Open));
        }
        if let Some(ending) = ending {
            bounds.memory.gone(after);
            self.end(number, ending, sink);
        }
        Ok(())
    }

    /// Gives all that are still there, in the order of first packets.
    pub(super) fn finish(&mut self, sink: &mut impl Sink) {
        let mut trackers: Vec<_> = self.trackers.drain().map(|(_, tracker)| tracker).collect();
        trackers.sort_unstable_by_key(|tracker| tracker.number);
        for tracker in trackers {
            let number = tracker.number;
            let association = tracker.finish(Ending::Open, |event| sink.in_association(number, event));
            sink.association(association);
        }
        *self = Self::default();
    }

    /// Gives all of them as they are now, in the order of first packets.
    pub(super) fn live_into(&self, sink: &mut impl Sink) {
        let mut trackers: Vec<_> = self.trackers.values().collect();
        trackers.sort_unstable_by_key(|tracker| tracker.number);
        for tracker in trackers {
            sink.association((**tracker).clone().finish(Ending::Open, |_| {}));
        }
    }

    /// Gives those whose last packet came before `since`, and forgets them.
    pub(super) fn forget_idle(&mut self, since: Timestamp, memory: &mut Memory, sink: &mut impl Sink) {
        let idle = self.trackers.values().filter(|tracker| tracker.last.time < since);
        let mut idle: Vec<u64> = idle.map(|tracker| tracker.number).collect();
        if idle.is_empty() {
            return;
        }
        idle.sort_unstable();
        for &number in &idle {
            if let Some(tracker) = self.trackers.remove(&number) {
                memory.gone(tracker.held());
                let association = tracker.finish(Ending::Open, |event| sink.in_association(number, event));
                sink.association(association);
            }
        }
        let gone = |number: &u64| idle.binary_search(number).is_ok();
        self.by_ends.retain(|_, number| !gone(number));
        // A lane that is remembered as ended would swallow packets that come yet.
        self.lanes
            .retain(|_, slot| !matches!(slot, Slot::Live { number, .. } if gone(number)));
        self.trackers.shrink(memory);
        self.by_ends.shrink(memory);
        self.lanes.shrink(memory);
    }

    /// Returns true if the association that a packet is of was followed.
    pub(super) fn has(&self, packet: &Packet<'_>, [source, destination]: [SocketAddr; 2], path: PathId) -> bool {
        !matches!(self.find(packet, source, destination, path), Found::Unknown)
            || self.by_ends.contains_key(&between(path, source, destination))
    }

    pub(super) fn live(&self) -> usize {
        self.trackers.len()
    }

    fn find(&self, packet: &Packet<'_>, source: SocketAddr, destination: SocketAddr, path: PathId) -> Found {
        let slot = |tag, source_port, destination_port| {
            self.lanes
                .get(&Lane {
                    tag,
                    source_port,
                    destination_port,
                })
                .copied()
        };
        let first = packet.chunks().next();
        let init = first.as_ref().and_then(Init::read);
        if let Some(init) = &init
            && packet.tag == 0
        {
            // An INIT carries no tag and names the one its answers carry: a repeated INIT names the same.
            return match slot(init.tag, packet.destination_port, packet.source_port) {
                Some(Slot::Live { number, direction }) => Found::Live {
                    number,
                    direction: 1 - direction,
                },
                _ => Found::Unknown,
            };
        }
        match slot(packet.tag, packet.source_port, packet.destination_port) {
            Some(Slot::Live { number, direction }) => return Found::Live { number, direction },
            Some(Slot::Ended) => return Found::Ended,
            None => {}
        }
        // ABORT and SHUTDOWN COMPLETE may carry the tag of the other direction, and say so by a flag (section 8.5.1).
        const REFLECTED: u8 = 1;
        if let Some(chunk) = first
            && matches!(chunk.kind, kind::ABORT | kind::SHUTDOWN_COMPLETE)
            && chunk.flags & REFLECTED != 0
        {
            match slot(packet.tag, packet.destination_port, packet.source_port) {
                Some(Slot::Live { number, direction }) => {
                    return Found::Live {
                        number,
                        direction: 1 - direction,
                    };
                }
                Some(Slot::Ended) => return Found::Ended,
                None => {}
            }
        }
        // A direction whose tag was not seen yet, between ends that were.
        let known = self
            .by_ends
            .get(&between(path, source, destination))
            .and_then(|number| {
                let tracker = self.trackers.get(number)?;
                let direction = tracker.direction_of(source, destination)?;
                tracker.tag(direction).is_none().then_some((*number, direction))
            });
        match known {
            Some((number, direction)) => Found::Live { number, direction },
            None => Found::Unknown,
        }
    }

    /// Remembers by which tags packets of the association are found.
    fn learn(&mut self, number: u64, direction: usize, packet: &Packet<'_>) {
        let Some(tracker) = self.trackers.get(&number) else {
            return;
        };
        let ports = [
            (packet.source_port, packet.destination_port),
            (packet.destination_port, packet.source_port),
        ];
        for (direction, (source_port, destination_port)) in [direction, 1 - direction].into_iter().zip(ports) {
            if let Some(tag) = tracker.tag(direction) {
                let lane = Lane {
                    tag,
                    source_port,
                    destination_port,
                };
                self.lanes.entry(lane).or_insert(Slot::Live { number, direction });
            }
        }
    }

    fn end(&mut self, number: u64, ending: Ending, sink: &mut impl Sink) {
        let Some(tracker) = self.trackers.remove(&number) else {
            return;
        };
        let tags = [tracker.tag(0), tracker.tag(1)];
        let path = PathId(tracker.path_number);
        let association = tracker.finish(ending, |event| sink.in_association(number, event));
        let (from, to) = (association.initiator, association.responder);
        let key = between(path, from, to);
        if self.by_ends.get(&key) == Some(&number) {
            self.by_ends.remove(&key);
        }
        for (tag, (source, destination)) in tags.into_iter().zip([(from, to), (to, from)]) {
            let Some(tag) = tag else { continue };
            let lane = Lane {
                tag,
                source_port: source.port(),
                destination_port: destination.port(),
            };
            self.lanes.insert(lane, Slot::Ended);
            self.ended.push_back(lane);
        }
        while self.ended.len() > ENDED {
            if let Some(oldest) = self.ended.pop_front()
                && matches!(self.lanes.get(&oldest), Some(Slot::Ended))
            {
                self.lanes.remove(&oldest);
            }
        }
        sink.association(association);
    }
}

enum Found {
    Live { number: u64, direction: usize },
    Ended,
    Unknown,
}

/// Returns true if an association is worth remembering from this packet on: it begins, or shows a
/// live one.
fn begins(packet: &Packet<'_>) -> bool {
    packet.chunks().any(|chunk| {
        matches!(
            chunk.kind,
            kind::DATA
                | kind::I_DATA
                | kind::INIT
                | kind::INIT_ACK
                | kind::SACK
                | kind::HEARTBEAT
                | kind::COOKIE_ECHO
                | kind::DTLS
        )
    })
}

fn carries_data(chunk: sctp::Chunk<'_>) -> bool {
    !chunk.is_control()
}

/// A packet of no association. Without data it needs no judgement, with data it is unreadable.
fn stray(packet: &Packet<'_>, arrived: &Arrived<'_>, bounds: &mut Bounds<'_>) -> Result<(), Unreadable> {
    if packet.has_more() || packet.chunks().any(carries_data) {
        return Err(Unreadable);
    }
    bounds.unread(Unread::SctpControl, arrived.captured);
    Ok(())
}

fn between(path: PathId, one: SocketAddr, other: SocketAddr) -> Between {
    (path, one.min(other), one.max(other))
}

fn omitted(arrived: &Arrived<'_>) -> Omitted {
    Omitted {
        flow: FlowKind::Association,
        source: arrived.datagram.source.into(),
        destination: arrived.datagram.destination.into(),
        at: arrived.at,
    }
}
