//! Packets put together from their fragments (RFC 791, section 3.2; RFC 8200, section 4.5).

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;

use super::{Datagram, Fragment};
use crate::{Captured, Moment, Timestamp};

/// Largest payload of an IP packet that is not a jumbogram, in bytes.
const LARGEST: u32 = 65_535;
/// Cost of a held fragment beyond its bytes.
const PART_COST: usize = 64;
/// A packet in more parts is given up. A payload of 65535 bytes over the smallest MTU of IPv6 has 54; over the 68 bytes
/// of IPv4 no real network runs.
const PARTS: usize = 64;
/// Places of packets that have gone are kept up to so many, or up to the number of those that are there.
const TIDY: usize = 1024;
/// Packets put together last whose completing part may come again, and for how long, in
/// nanoseconds: a mirrored port doubles each packet, so a copy of that part comes behind it.
const DONE: usize = 64;
const COPIED: u64 = 1_000_000_000;

/// Limits of [`Fragments`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FragmentLimits {
    /// Packets in the making at a time. The oldest is evicted for a new one.
    pub packets: usize,
    /// Bytes of all parts held. The oldest packets are evicted.
    pub bytes: usize,
    /// Lifetime of a packet from its first captured fragment, in nanoseconds of the capture's
    /// clock.
    pub lifetime: u64,
}

impl Default for FragmentLimits {
    /// 4096 packets, 16 MiB, and the 60 seconds of RFC 8200 (section 4.5).
    fn default() -> Self {
        Self {
            packets: 4096,
            bytes: 16 << 20,
            lifetime: 60_000_000_000,
        }
    }
}

/// Parts of one packet that were given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abandoned {
    /// Sender.
    pub source: IpAddr,
    /// Receiver.
    pub destination: IpAddr,
    /// Protocol of the packet. In IPv6 only the first fragment names it: without it this is the
    /// fragment header.
    pub protocol: u8,
    /// Encapsulation, by the number that [`Fragments::take_in`] was given.
    pub path: u32,
    /// Packets of the capture, and their bytes.
    pub captured: Captured,
    /// The first of them.
    pub first: Moment,
    /// The last.
    pub last: Moment,
}

/// Result of taking a fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taken {
    /// It is kept until the rest comes.
    Held,
    /// It was the last: the payload of the whole packet.
    Whole {
        /// All of it.
        payload: Vec<u8>,
        /// Protocol of the packet.
        protocol: u8,
        /// Parts it came in.
        parts: u32,
        /// Bytes of all parts as they were sent, IP headers included.
        length: usize,
        /// Packets of the capture that brought it, parts that came twice included, and their bytes.
        captured: Captured,
        /// The packet with the part that was captured first.
        first: Moment,
    },
    /// It, and what was held of its packet, cannot be used.
    Refused,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    source: IpAddr,
    destination: IpAddr,
    /// IPv4 only. Fragments of one IPv6 packet may name different ones, and that of the first
    /// counts (RFC 8200, section 4.5).
    protocol: Option<u8>,
    identification: u32,
    path: u32,
}

struct Part {
    offset: u32,
    bytes: Box<[u8]>,
}

bartizan_registry::made! {
    struct Partial, new(first: Moment) {
        parts: Vec<Part> = Vec::new(),
        protocol: Carried = Carried::Unsaid,
        /// Bytes of the whole payload, once the last part has come.
        total: Option<u32> = None,
        held: usize = 0,
        length: usize = 0,
        first: Moment = first,
        last: Moment = first,
        /// Since they were last given up.
        captured: Captured = Captured::default(),
        /// Parts that overlap: nothing more is taken (RFC 5722; for IPv4 the same, as no honest sender overlaps).
        refused: bool = false,
    }
}

/// Protocol that the fragments of a packet name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Carried {
    /// The part that says so has not come.
    Unsaid,
    Protocol(u8),
    /// Two first parts say different things.
    Contradictory,
}

bartizan_registry::made! {
    /// Puts fragmented packets together. Holds a bounded number of parts for a bounded time; parts that overlap are
    /// refused with their packet, because two readers of such a packet may read two things.
    pub struct Fragments,
    /// With nothing held.
    pub new(limits: FragmentLimits) {
        limits: FragmentLimits = limits,
        partials: HashMap<Key, Partial> = HashMap::new(),
        /// Keys in the order of their first parts; a key that has gone is skipped.
        order: VecDeque<(Key, Moment)> = VecDeque::new(),
        held: usize = 0,
        abandoned: Vec<Abandoned> = Vec::new(),
        /// Packets put together last, the newest at the end.
        done: VecDeque<Done> = VecDeque::new(),
    }
}

/// A packet that was put together.
#[derive(Clone)]
struct Done {
    key: Key,
    protocol: u8,
    payload: Vec<u8>,
    /// Begin and end of the part that completed it.
    last: (u32, u32),
    parts: u32,
    length: usize,
    at: Moment,
}

impl Done {
    /// Returns true if it was completed by this part.
    fn ended_with(&self, offset: u32, bytes: &[u8], more: bool) -> bool {
        let end = offset + bytes.len() as u32;
        let is_end = end as usize == self.payload.len();
        self.last == (offset, end) && more != is_end && self.payload[offset as usize..end as usize] == *bytes
    }

    /// The packet, brought by these packets of the capture.
    fn whole(self, first: Moment, captured: Captured) -> Taken {
        Taken::Whole {
            payload: self.payload,
            protocol: self.protocol,
            parts: self.parts,
            length: self.length,
            captured,
            first,
        }
    }
}

impl Fragments {
    /// Packets whose parts were given up since the last call, because the rest did not come in
    /// time, or the bounds were reached, or a part overlapped another.
    pub fn take_abandoned(&mut self) -> Vec<Abandoned> {
        std::mem::take(&mut self.abandoned)
    }

    /// Gives up all that is held: nothing more will come.
    pub fn finish(&mut self) {
        while let Some((key, _)) = self.order.pop_front() {
            self.abandon(&key);
        }
    }

    /// Takes a part; a datagram that is whole is refused.
    pub fn take(&mut self, datagram: &Datagram<'_>, at: Moment) -> Taken {
        let captured = Captured {
            packets: 1,
            bytes: datagram.length as u64,
        };
        self.take_in(0, datagram, at, captured)
    }

    /// Takes a part of a packet that was carried in something: parts of packets in other tunnels are none of it.
    pub fn take_in(&mut self, path: u32, datagram: &Datagram<'_>, at: Moment, captured: Captured) -> Taken {
        let Fragment::Part {
            identification,
            offset,
            more,
        } = datagram.fragment
        else {
            return Taken::Refused;
        };
        self.expire(at.time);
        let bytes = datagram.payload;
        let end = offset as usize + bytes.len();
        // All parts but the last are multiples of eight bytes; an empty part would be held for nothing.
        let sound = datagram.missing == 0
            && !bytes.is_empty()
            && end <= LARGEST as usize
            && (!more || bytes.len().is_multiple_of(8));
        let key = Key {
            source: datagram.source,
            destination: datagram.destination,
            protocol: datagram.source.is_ipv4().then_some(datagram.protocol),
            identification,
            path,
        };
        let says = (offset == 0 || datagram.source.is_ipv4()).then_some(datagram.protocol);
        if self.limits.packets == 0 {
            let carried = says.map_or(Carried::Unsaid, Carried::Protocol);
            self.give_up(&key, carried, captured, at, at);
            return Taken::Refused;
        }
        if !self.partials.contains_key(&key) {
            // Once at most: a small part that is sent again and again has no large packet read each time.
            let done = self.done.iter().position(|done| done.key == key);
            if let Some(done) = done.and_then(|place| self.done.remove(place))
                && sound
                && says.is_none_or(|protocol| protocol == done.protocol)
                && at.time.since(done.at.time) <= COPIED
                && done.ended_with(offset, bytes, more)
            {
                return done.whole(at, captured);
            }
            while self.partials.len() >= self.limits.packets && self.evict_oldest() {}
            self.order.push_back((key, at));
            self.partials.insert(key, Partial::new(at));
        }
        if let Some(partial) = self.partials.get_mut(&key) {
            partial.captured.add(captured);
            partial.last = at;
            partial.says(says);
        }
        let contradictory = |partial: &Partial| partial.protocol == Carried::Contradictory;
        if !sound || self.partials.get(&key).is_some_and(contradictory) {
            self.refuse(&key);
            return Taken::Refused;
        }
        let cost = bytes.len() + PART_COST;
        let Some(partial) = self.partials.get_mut(&key) else {
            return Taken::Refused;
        };
        if partial.refused {
            return Taken::Held;
        }
        let end = end as u32;
        match partial.place(offset, bytes, end, more) {
            Placed::Again => return Taken::Held,
            Placed::Overlap => {
                self.refuse(&key);
                return Taken::Refused;
            }
            Placed::New => {}
        }
        partial.held += cost;
        partial.length += datagram.length;
        self.held += cost;
        if let (Some(payload), Carried::Protocol(protocol)) = (partial.whole(), partial.protocol) {
            let (first, captured) = (partial.first, partial.captured);
            let done = Done {
                key,
                protocol,
                payload,
                last: (offset, end),
                parts: partial.parts.len() as u32,
                length: partial.length,
                at,
            };
            self.held -= partial.held;
            self.partials.remove(&key);
            self.tidy();
            if self.done.len() == DONE {
                self.done.pop_front();
            }
            self.done.push_back(done.clone());
            return done.whole(first, captured);
        }
        while self.held > self.limits.bytes && self.evict_oldest() {}
        Taken::Held
    }

    /// Forgets the places of packets that have gone, once most have: in a capture without times none of them grows old.
    fn tidy(&mut self) {
        if self.order.len() < 2 * self.partials.len() + TIDY {
            return;
        }
        let partials = &self.partials;
        self.order
            .retain(|(key, first)| partials.get(key).is_some_and(|partial| partial.first == *first));
    }

    /// Gives up packets that are older than their lifetime.
    pub fn expire(&mut self, now: Timestamp) {
        while let Some(&(key, first)) = self.order.front() {
            let gone = self.partials.get(&key).is_none_or(|partial| partial.first != first);
            if !gone && now.since(first.time) <= self.limits.lifetime {
                break;
            }
            self.order.pop_front();
            if !gone {
                self.abandon(&key);
            }
        }
    }

    /// Gives up the oldest packet; says whether there was one.
    fn evict_oldest(&mut self) -> bool {
        while let Some((key, first)) = self.order.pop_front() {
            if self.partials.get(&key).is_some_and(|partial| partial.first == first) {
                self.abandon(&key);
                return true;
            }
        }
        false
    }

    fn abandon(&mut self, key: &Key) {
        if let Some(partial) = self.partials.remove(key) {
            self.held -= partial.held;
            self.give_up(key, partial.protocol, partial.captured, partial.first, partial.last);
        }
    }

    /// These packets belong to nothing that will be put together.
    fn give_up(&mut self, key: &Key, carried: Carried, captured: Captured, first: Moment, last: Moment) {
        let protocol = match carried {
            Carried::Protocol(protocol) => protocol,
            Carried::Unsaid | Carried::Contradictory => super::IPV6_FRAGMENT,
        };
        self.abandoned.push(Abandoned {
            source: key.source,
            destination: key.destination,
            protocol,
            path: key.path,
            captured,
            first,
            last,
        });
    }

    /// Releases what is held of a packet and remembers to take no more of it.
    fn refuse(&mut self, key: &Key) {
        if let Some(partial) = self.partials.get_mut(key) {
            self.held -= partial.held;
            partial.held = 0;
            partial.parts = Vec::new();
            partial.refused = true;
        }
    }
}

enum Placed {
    New,
    /// The same bytes at the same place: a capture of two interfaces, or a network that doubles.
    Again,
    Overlap,
}

impl Partial {
    /// A part says that the packet carries this.
    fn says(&mut self, protocol: Option<u8>) {
        if let Some(protocol) = protocol {
            self.protocol = match self.protocol {
                Carried::Unsaid => Carried::Protocol(protocol),
                Carried::Protocol(known) if known == protocol => self.protocol,
                Carried::Protocol(_) | Carried::Contradictory => Carried::Contradictory,
            };
        }
    }

    fn place(&mut self, offset: u32, bytes: &[u8], end: u32, more: bool) -> Placed {
        let at = self.parts.partition_point(|part| part.offset < offset);
        if let Some(next) = self.parts.get(at) {
            if next.offset == offset && *next.bytes == *bytes && (more || self.total == Some(end)) {
                return Placed::Again;
            }
            if next.offset < end {
                return Placed::Overlap;
            }
        }
        if at > 0 && self.parts[at - 1].end() > offset {
            return Placed::Overlap;
        }
        let beyond = match (more, self.total) {
            (false, Some(_)) => true,
            (false, None) => self.parts.last().is_some_and(|last| last.end() > end),
            (true, Some(total)) => end > total,
            (true, None) => false,
        };
        if beyond || self.parts.len() >= PARTS {
            return Placed::Overlap;
        }
        if !more {
            self.total = Some(end);
        }
        let bytes = bytes.into();
        self.parts.insert(at, Part { offset, bytes });
        Placed::New
    }

    fn whole(&self) -> Option<Vec<u8>> {
        let total = self.total? as usize;
        let there: usize = self.parts.iter().map(|part| part.bytes.len()).sum();
        // Parts do not overlap and none reaches beyond the end: as many bytes as the whole has leave no hole.
        (there == total).then(|| self.parts.iter().flat_map(|part| part.bytes.iter().copied()).collect())
    }
}

impl Part {
    fn end(&self) -> u32 {
        self.offset + self.bytes.len() as u32
    }
}

#[cfg(test)]
mod tests;
