//! IKE_SAs and ESP security associations.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::{IpAddr, SocketAddr};

use super::demux::Unreadable;
use super::keyed::Table;
use super::live::hosts;
use super::memory::{Bounds, Memory};
use super::paths::PathId;
use super::{Arrived, FlowKind, Omitted, Sink, Unread};
use crate::Timestamp;
use crate::allocation::allocated;
use crate::checksum::{self, Checksum};
use crate::esp::{self, Carrier, EspSa};
use crate::ike::{Arrival, ExchangeType, Header, Session};
use crate::udp::{self, Encapsulated, Udp};

/// An IKE_SA that the responder has not agreed to yet: it may be found by the initiator's SPI only between the two
/// addresses it was asked between.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct HalfOpen {
    initiator_spi: u64,
    /// The lesser first.
    addresses: [IpAddr; 2],
}

/// Bytes that an IKE_SA takes at first; it has its exchanges yet to make.
const PROMISED: usize = 2000;

#[derive(Default)]
pub(super) struct Ipsec {
    sessions: Table<u64, Box<Session>>,
    by_spis: Table<(u64, u64), u64>,
    half_open: Table<HalfOpen, u64>,
    /// A table has twice the places it needs at times: what is in them is kept elsewhere.
    associations: Table<(PathId, IpAddr, IpAddr, u32), Box<EspSa>>,
    /// IKE_SAs that moved to other addresses, the newest last: their ESP security associations
    /// moved with them.
    moved: Vec<u64>,
}

/// IKE_SAs that moved of which ESP security associations are followed.
const MOVED: usize = 64;

/// Bytes that an ESP security association takes in addition to its place.
fn held_by_esp() -> usize {
    allocated(size_of::<EspSa>())
}

impl Ipsec {
    /// Takes a datagram that is IKE or ESP; says whether it is one.
    pub(super) fn udp(&mut self, udp: &Udp<'_>, arrived: &Arrived<'_>, bounds: &mut Bounds<'_>) -> bool {
        let datagram = &arrived.datagram;
        let ports = [udp.source_port, udp.destination_port];
        let source = SocketAddr::new(datagram.source, udp.source_port);
        let destination = SocketAddr::new(datagram.destination, udp.destination_port);
        let message = if ports.contains(&udp::IKE_NAT) {
            match udp::encapsulated(udp.payload) {
                Encapsulated::Ike(message) => message,
                Encapsulated::KeepAlive => {
                    bounds.totals.keep_alives += 1;
                    bounds.unread(Unread::KeepAlive, arrived.captured);
                    return true;
                }
                Encapsulated::Esp(packet) => {
                    let carrier = Carrier::Udp {
                        source: udp.source_port,
                        destination: udp.destination_port,
                    };
                    let mut captured = arrived.captured;
                    for (packet, missing) in esp::packets(packet, udp.missing) {
                        let arrived = Arrived {
                            captured: std::mem::take(&mut captured),
                            ..*arrived
                        };
                        let ends = (source, destination);
                        if self.packet(packet, missing, ends, carrier, &arrived, bounds).is_err() {
                            return false;
                        }
                    }
                    return true;
                }
                Encapsulated::Unknown => return false,
            }
        } else if ports.contains(&udp::IKE) {
            udp.payload
        } else {
            return false;
        };
        let checksum = checksum::udp(
            datagram.source,
            datagram.destination,
            datagram.payload,
            datagram.missing,
        );
        let length = datagram.length as u64;
        self.ike(
            message,
            udp.missing,
            [source, destination],
            (checksum, length),
            arrived,
            bounds,
        )
    }

    /// Takes a message of IKE or ESP between these sockets that came in TCP.
    pub(super) fn in_stream(
        &mut self,
        message: &[u8],
        [source, destination]: [SocketAddr; 2],
        arrived: &Arrived<'_>,
        bounds: &mut Bounds<'_>,
    ) {
        let taken = match udp::encapsulated(message) {
            Encapsulated::Ike(ike) => {
                let length = message.len() as u64;
                // That of the segment was looked at.
                let checksum = Checksum::Unknown;
                self.ike(ike, 0, [source, destination], (checksum, length), arrived, bounds)
            }
            Encapsulated::Esp(packet) => {
                let carrier = Carrier::Tcp {
                    source: source.port(),
                    destination: destination.port(),
                };
                self.packet(packet, 0, (source, destination), carrier, arrived, bounds)
                    .is_ok()
            }
            Encapsulated::KeepAlive | Encapsulated::Unknown => false,
        };
        if !taken {
            bounds.unread(Unread::KeepAlive, arrived.captured);
        }
    }

    /// Takes a message of IKE, of which `missing` more bytes were sent; says whether it is one.
    fn ike(
        &mut self,
        message: &[u8],
        missing: usize,
        [source, destination]: [SocketAddr; 2],
        (checksum, ip_bytes): (Checksum, u64),
        arrived: &Arrived<'_>,
        bounds: &mut Bounds<'_>,
    ) -> bool {
        let Ok(header) = Header::read(message) else {
            return false;
        };
        let length = header.length as usize;
        if !matches!(header.major, 1 | 2) || length > message.len() + missing {
            return false;
        }
        let arrival = Arrival {
            at: arrived.at,
            first: arrived.first,
            source,
            destination,
            packets: arrived.captured.packets as u32,
            ip_bytes,
            whole: length <= message.len(),
        };
        let message = message.get(..length).unwrap_or(message);
        let keys = bounds.keys;
        // Every exchange of an IKE_SA is kept, up to some number.
        let session = if bounds.memory.is_exceeded() {
            None
        } else {
            self.session(&header, &arrival, bounds)
        };
        let Some(session) = session else {
            bounds.omit(omitted(FlowKind::IkeSa, arrived), arrived.captured);
            return true;
        };
        let before = session.held();
        session.arrived(&header, &arrival, arrived.captured, || bounds.paths.path(arrived.path));
        if !session.admits(&header, &arrival, checksum) {
            bounds.memory.changed(before, session.held());
            return true;
        }
        let moves = session.moved().len();
        session.message(&header, message, &arrival);
        if let Some(keys) = keys {
            session.open(&header, message, &arrival, keys);
        }
        let after = session.held();
        bounds.memory.changed(before, after);
        if session.moved().len() > moves {
            let number = session.number();
            self.moved.retain(|known| *known != number);
            if self.moved.len() == MOVED {
                self.moved.remove(0);
            }
            self.moved.push(number);
        }
        true
    }

    /// Returns true if a datagram is of an ESP security association or an IKE_SA that is followed.
    pub(super) fn has(&self, udp: &Udp<'_>, [source, destination]: [IpAddr; 2], path: PathId) -> bool {
        let ports = [udp.source_port, udp.destination_port];
        let message = match udp::encapsulated(udp.payload) {
            Encapsulated::Ike(message) if ports.contains(&udp::IKE_NAT) => message,
            Encapsulated::Esp(packet) if ports.contains(&udp::IKE_NAT) => {
                return self.has_esp(packet, [source, destination], path);
            }
            _ if ports.contains(&udp::IKE) => udp.payload,
            _ => return false,
        };
        let initiator_spi = message.first_chunk().copied().map(u64::from_be_bytes);
        initiator_spi.is_some_and(|initiator_spi| {
            let addresses = [source.min(destination), source.max(destination)];
            self.half_open.contains_key(&HalfOpen {
                initiator_spi,
                addresses,
            })
        })
    }

    /// The same of a packet of ESP.
    pub(super) fn has_esp(&self, packet: &[u8], [source, destination]: [IpAddr; 2], path: PathId) -> bool {
        let header = esp::header(packet);
        header.is_some_and(|header| self.associations.contains_key(&(path, source, destination, header.spi)))
    }

    pub(super) fn esp(&mut self, arrived: &Arrived<'_>, bounds: &mut Bounds<'_>) -> Result<(), Unreadable> {
        let datagram = &arrived.datagram;
        let end = |address| SocketAddr::new(address, 0);
        let ends = (end(datagram.source), end(datagram.destination));
        self.packet(datagram.payload, datagram.missing, ends, Carrier::Ip, arrived, bounds)
    }

    /// Gives all of them, in the order of first packets.
    pub(super) fn finish(&mut self, sink: &mut impl Sink) {
        let mut sessions: Vec<_> = self.sessions.drain().map(|(_, session)| session).collect();
        self.by_spis = Table::default();
        self.half_open = Table::default();
        sessions.sort_unstable_by_key(|session| session.number());
        for session in sessions {
            sink.ike_sa(session.finish());
        }
        let mut associations: Vec<_> = self.associations.drain().map(|(_, sa)| sa).collect();
        associations.sort_unstable_by_key(|sa| sa.number);
        for sa in associations {
            sink.esp_sa(*sa);
        }
    }

    /// Gives all of them as they are now, in the order of first packets.
    pub(super) fn live_into(&self, sink: &mut impl Sink) {
        let mut sessions: Vec<_> = self.sessions.values().collect();
        sessions.sort_unstable_by_key(|session| session.number());
        for session in sessions {
            sink.ike_sa((**session).clone().finish());
        }
        let mut associations: Vec<_> = self.associations.values().collect();
        associations.sort_unstable_by_key(|sa| sa.number);
        for sa in associations {
            sink.esp_sa((**sa).clone());
        }
    }

    /// Gives what is between hosts that exchanged nothing since `since`, and forgets it: what an
    /// ESP security association is worth hangs on all IKE between its hosts, and on how many there
    /// were.
    pub(super) fn forget_idle(&mut self, since: Timestamp, memory: &mut Memory, sink: &mut impl Sink) {
        let mut last: HashMap<[IpAddr; 2], Timestamp> = HashMap::new();
        let mut seen = |hosts, time| {
            let known = last.entry(hosts).or_insert(time);
            *known = time.max(*known);
        };
        for session in self.sessions.values() {
            let [one, other] = session.hosts();
            seen(hosts(one, other), session.last().time);
        }
        for sa in self.associations.values() {
            seen(hosts(sa.source, sa.destination), sa.last.time);
        }
        last.retain(|_, last| *last < since);
        if last.is_empty() {
            return;
        }
        let gone = |[one, other]: [IpAddr; 2]| last.contains_key(&hosts(one, other));
        let sessions = self.sessions.extract_if(|_, session| gone(session.hosts()));
        let mut sessions: Vec<_> = sessions.map(|(_, session)| session).collect();
        sessions.sort_unstable_by_key(|session| session.number());
        for session in sessions {
            memory.gone(session.held());
            sink.ike_sa(session.finish());
        }
        let known = &self.sessions;
        self.by_spis.retain(|_, number| known.contains_key(number));
        self.half_open.retain(|_, number| known.contains_key(number));
        let associations = self.associations.extract_if(|_, sa| gone([sa.source, sa.destination]));
        let mut associations: Vec<_> = associations.map(|(_, sa)| sa).collect();
        associations.sort_unstable_by_key(|sa| sa.number);
        for sa in associations {
            memory.gone(held_by_esp() + sa.held());
            sink.esp_sa(*sa);
        }
        self.sessions.shrink(memory);
        self.by_spis.shrink(memory);
        self.half_open.shrink(memory);
        self.associations.shrink(memory);
    }

    /// IKE_SAs and ESP security associations that live.
    pub(super) fn live(&self) -> (usize, usize) {
        (self.sessions.len(), self.associations.len())
    }

    fn packet(
        &mut self,
        packet: &[u8],
        missing: usize,
        (source, destination): (SocketAddr, SocketAddr),
        carrier: Carrier,
        arrived: &Arrived<'_>,
        bounds: &mut Bounds<'_>,
    ) -> Result<(), Unreadable> {
        let header = esp::header(packet).ok_or(Unreadable)?;
        let key = self.moved_from(
            (arrived.path, source.ip(), destination.ip(), header.spi),
            header.sequence,
        );
        let room = self.associations.len() < bounds.limits.esp_sas
            && bounds.memory.has_room(self.associations.growth() + held_by_esp());
        let known = self.associations.len();
        let sa = match self.associations.entry(key) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) if room => {
                bounds.totals.esp_sas += 1;
                *bounds.begun += 1;
                bounds.memory.arrived(held_by_esp());
                entry.insert(Box::new(EspSa::new(
                    *bounds.begun,
                    source,
                    destination,
                    carrier,
                    header,
                    arrived.first,
                )))
            }
            Entry::Vacant(_) => {
                bounds.omit(omitted(FlowKind::EspSa, arrived), arrived.captured);
                return Ok(());
            }
        };
        if sa.packets == 0 {
            sa.path = bounds.paths.path(arrived.path);
        }
        sa.captured.add(arrived.captured);
        let before = sa.held();
        sa.packet(header, packet, missing, arrived.at);
        bounds.memory.changed(before, sa.held());
        if known < self.associations.len() {
            self.associations.grown(bounds.memory);
        }
        Ok(())
    }

    /// The place of an ESP security association: its own, or that which it had before its IKE_SA
    /// moved, where its numbers go on.
    fn moved_from(&self, key: (PathId, IpAddr, IpAddr, u32), sequence: u32) -> (PathId, IpAddr, IpAddr, u32) {
        /// Numbers by which an association may be ahead, with packets lost on the way.
        const AHEAD: u32 = 1 << 20;
        /// Numbers by which a packet may come late. Another association of this SPI begins with 1.
        const LATE: u32 = 64;
        let (path, source, destination, spi) = key;
        if self.moved.is_empty() || self.associations.contains_key(&key) {
            return key;
        }
        let sessions = self.moved.iter().rev().filter_map(|number| self.sessions.get(number));
        for session in sessions {
            let ends = std::iter::once(session.hosts()).chain(session.moved().iter().copied());
            let ends: Vec<[IpAddr; 2]> = ends.collect();
            for turned in [false, true] {
                let way = |[initiator, responder]: [IpAddr; 2]| match turned {
                    true => (responder, initiator),
                    false => (initiator, responder),
                };
                if !ends.iter().any(|ends| way(*ends) == (source, destination)) {
                    continue;
                }
                let before = ends.iter().map(|ends| way(*ends)).find_map(|(source, destination)| {
                    let key = (path, source, destination, spi);
                    let known = self.associations.get(&key)?;
                    let ahead = sequence.wrapping_sub(known.highest_sequence);
                    let goes_on = ahead < AHEAD || ahead.wrapping_neg() <= LATE;
                    (goes_on && sequence > 1).then_some(key)
                });
                if let Some(key) = before {
                    return key;
                }
            }
        }
        key
    }

    /// The IKE_SA a message belongs to; none where there is no room for another.
    fn session(&mut self, header: &Header, arrival: &Arrival, bounds: &mut Bounds<'_>) -> Option<&mut Session> {
        let spis = (header.initiator_spi, header.responder_spi);
        let [one, other] = [arrival.source.ip(), arrival.destination.ip()];
        let half_open = HalfOpen {
            initiator_spi: header.initiator_spi,
            addresses: [one.min(other), one.max(other)],
        };
        let init = header.exchange == ExchangeType::IKE_SA_INIT || header.major == 1;
        let known = self.by_spis.get(&spis).copied();
        // IKE_SA_INIT may come behind the messages that follow it.
        let known = known.or_else(|| {
            let number = *self.half_open.get(&half_open)?;
            let waits = self.sessions.get(&number).is_some_and(|session| !session.is_agreed());
            (init || waits).then_some(number)
        });
        let number = match known {
            Some(number) => number,
            None => {
                let growth = self.sessions.growth() + self.by_spis.growth() + self.half_open.growth();
                if self.sessions.len() >= bounds.limits.ike_sas || !bounds.memory.has_room(PROMISED + growth) {
                    return None;
                }
                bounds.totals.ike_sas += 1;
                *bounds.begun += 1;
                let session = Box::new(Session::new(*bounds.begun, header, arrival));
                bounds.memory.arrived(session.held());
                self.sessions.insert(*bounds.begun, session);
                self.half_open.insert(half_open, *bounds.begun);
                self.sessions.grown(bounds.memory);
                self.half_open.grown(bounds.memory);
                *bounds.begun
            }
        };
        if header.responder_spi != 0 {
            self.by_spis.entry(spis).or_insert(number);
            self.by_spis.grown(bounds.memory);
        }
        self.sessions.get_mut(&number).map(Box::as_mut)
    }
}

fn omitted(flow: FlowKind, arrived: &Arrived<'_>) -> Omitted {
    Omitted {
        flow,
        source: arrived.datagram.source.into(),
        destination: arrived.datagram.destination.into(),
        at: arrived.at,
    }
}
