//! Frames between stations that are read: EAP and MKA at a port, MACsec, and the planes of the open fronthaul.

use super::{Datagrams, Key, Reader};
use crate::datagrams::{self, DatagramProtocol};
use crate::end::End;
use crate::frames::Station;
use crate::link::ETHERTYPE_MACSEC;
use crate::macsec::{self, Keying};
use crate::observer::Sink;
use crate::observer::demux::Origin;
use crate::observer::keyed::Table;
use crate::observer::memory::{Bounds, Memory};
use crate::observer::paths::PathId;
use crate::{Side, Timestamp, eap, eapol};

/// Knowledge about stations.
#[derive(Default)]
pub(super) struct Stations {
    /// The two that send to whatever is at the other end of a port.
    ports: Table<PathId, Port>,
    /// Keying of each station's frames, with the time of its last frame.
    keying: Table<Station, (Keying, Timestamp)>,
}

/// A port as a bystander between its ends sees it.
#[derive(Clone, Copy)]
struct Port {
    first: Station,
    /// The group address to which the first one sent.
    group: Station,
    second: Option<Station>,
    last: Timestamp,
}

impl Stations {
    /// Forgets those that sent nothing since `since`.
    pub(super) fn forget_idle(&mut self, since: Timestamp, memory: &mut Memory) {
        self.ports.retain(|_, port| port.last >= since);
        self.keying.retain(|_, (_, last)| *last >= since);
        self.ports.shrink(memory);
        self.keying.shrink(memory);
    }

    /// Between which two a frame of EAPOL is, its sender first; and what the conversation of the other was between before that was known.
    fn ends(
        &mut self,
        [sender, receiver]: [Station; 2],
        path: PathId,
        at: Timestamp,
        memory: &mut Memory,
    ) -> ([Station; 2], Option<[Station; 2]>) {
        let as_sent = ([sender, receiver], None);
        if !eapol::is_for_port(receiver) {
            return as_sent;
        }
        if let Some(port) = self.ports.get_mut(&path) {
            port.last = port.last.max(at);
            return match port.second {
                _ if port.first == sender => ([sender, port.second.unwrap_or(receiver)], None),
                Some(second) if second == sender => ([sender, port.first], None),
                Some(_) => as_sent,
                None => {
                    port.second = Some(sender);
                    ([sender, port.first], Some([port.first, port.group]))
                }
            };
        }
        if memory.has_room(self.ports.growth()) {
            let port = Port {
                first: sender,
                group: receiver,
                second: None,
                last: at,
            };
            self.ports.insert(path, port);
            self.ports.grown(memory);
        }
        as_sent
    }

    /// Keying of a station, if it may be written to.
    fn keying_mut(&mut self, station: Station, at: Timestamp, memory: &mut Memory) -> Option<&mut Keying> {
        if !self.keying.contains_key(&station) && !memory.has_room(self.keying.growth()) {
            return None;
        }
        self.keying.entry(station).or_default();
        self.keying.grown(memory);
        let (keying, last) = self.keying.get_mut(&station)?;
        *last = at.max(*last);
        Some(keying)
    }

    fn keying(&self, station: Station) -> Option<Keying> {
        self.keying.get(&station).map(|(keying, _)| *keying)
    }
}

impl Datagrams {
    /// Takes the payload of a frame between two stations, its sender first; says whether it is of a protocol that is read.
    #[expect(
        clippy::too_many_arguments,
        reason = "a frame, where it came from, and what limits it"
    )]
    pub(in crate::observer) fn frame(
        &mut self,
        kind: u16,
        stations: [Station; 2],
        payload: &[u8],
        path: PathId,
        origin: &Origin,
        bounds: &mut Bounds<'_>,
        sink: &mut impl Sink,
    ) -> bool {
        match kind {
            eapol::ETHERTYPE => self.eapol(stations, payload, path, origin, bounds, sink),
            ETHERTYPE_MACSEC => self.macsec(stations, payload, path, origin, bounds),
            _ => match datagrams::of_frame(kind, payload) {
                Some(protocol) => {
                    let ends = stations.map(End::Station);
                    if let Some(conversation) = self.of(Key::new(protocol, path, ends), ends, origin, bounds) {
                        let before = conversation.held();
                        conversation.seen.frame(ends[0], payload, origin.at);
                        let after = conversation.held();
                        bounds.memory.changed(before, after);
                    }
                    true
                }
                None => false,
            },
        }
    }

    fn eapol(
        &mut self,
        stations: [Station; 2],
        payload: &[u8],
        path: PathId,
        origin: &Origin,
        bounds: &mut Bounds<'_>,
        sink: &mut impl Sink,
    ) -> bool {
        use eapol::kind::{EAP, KEY, LOGOFF, MKA, START};
        let Some(pdu) = eapol::pdu(payload) else { return false };
        let protocol = match pdu.kind {
            EAP | START | LOGOFF | KEY => DatagramProtocol::Eapol,
            MKA if pdu.missing == 0 => DatagramProtocol::Mka,
            _ => return false,
        };
        let (pair, before) = self.stations.ends(stations, path, origin.at.time, bounds.memory);
        if let Some(before) = before {
            self.settle(before, pair[0], path, bounds.memory);
        }
        let ends = pair.map(End::Station);
        let key = Key::new(protocol, path, ends);
        for _ in 0..2 {
            let Some(conversation) = self.of(key, ends, origin, bounds) else {
                return true;
            };
            let held = conversation.held();
            let from = conversation.from(ends);
            let at = origin.at;
            let mut known: Option<Keying> = None;
            match &mut conversation.reader {
                Reader::Eap(session) => {
                    if session.take(&pdu, from, at, bounds.keys) == eap::Taken::Another {
                        // It begins another handshake, and belongs there.
                        conversation.seen.captured.remove(origin.captured);
                        self.end(key, bounds.memory, sink);
                        continue;
                    }
                    known = session.agreed().map(|agreed| Keying {
                        eap: Some(agreed),
                        ..Keying::default()
                    });
                }
                Reader::Mka(mka) => {
                    known = mka.take(from, pdu.body, at).then(|| {
                        let given = mka.latest();
                        Keying {
                            agreed: Some(at),
                            named: mka.named(),
                            suite: given.map(|given| given.suite),
                            confidentiality_offset: given.and_then(|given| given.confidentiality_offset),
                            eap: None,
                        }
                    });
                }
                _ => {}
            }
            let side = if from == 0 { Side::Client } else { Side::Server };
            let bytes = (pdu.body.len() + pdu.missing) as u64;
            conversation.seen.sent(side, bytes, at);
            let after = conversation.held();
            bounds.memory.changed(held, after);
            if let Some(known) = known {
                self.learn(pair, known, origin.at.time, bounds.memory);
            }
            if after > held && bounds.memory.is_exceeded() {
                if let Some(conversation) = self.seen.get_mut(&key) {
                    // It is counted there.
                    conversation.seen.captured.remove(origin.captured);
                }
                self.give_up(key, ends, origin, bounds, sink);
            }
            return true;
        }
        true
    }

    /// The other end of a port is known now: what its first end sent is between the two.
    fn settle(&mut self, before: [Station; 2], second: Station, path: PathId, memory: &mut Memory) {
        for protocol in [DatagramProtocol::Eapol, DatagramProtocol::Mka] {
            let old = Key::new(protocol, path, before.map(End::Station));
            let new = Key::new(protocol, path, [before[0], second].map(End::Station));
            if self.seen.contains_key(&new) {
                continue;
            }
            if let Some(mut conversation) = self.seen.remove(&old) {
                conversation.seen.server = End::Station(second);
                self.seen.insert(new, conversation);
                self.seen.grown(memory);
            }
        }
    }

    /// Records the keying seen at a port for both of its stations.
    fn learn(&mut self, pair: [Station; 2], seen: Keying, at: Timestamp, memory: &mut Memory) {
        for station in pair {
            if eapol::is_for_port(station) {
                continue;
            }
            if let Some(keying) = self.stations.keying_mut(station, at, memory) {
                keying.agreed = keying.agreed.or(seen.agreed);
                for (known, named) in keying.named.iter_mut().zip(seen.named) {
                    *known = named.or(*known);
                }
                keying.eap = seen.eap.or(keying.eap);
                if seen.suite.is_some() {
                    keying.suite = seen.suite;
                    keying.confidentiality_offset = seen.confidentiality_offset;
                }
            }
        }
    }

    fn macsec(
        &mut self,
        stations: [Station; 2],
        payload: &[u8],
        path: PathId,
        origin: &Origin,
        bounds: &mut Bounds<'_>,
    ) -> bool {
        let Some((tag, body)) = macsec::tag(payload) else {
            return false;
        };
        let ends = stations.map(End::Station);
        let sender = tag.channel.map_or(stations[0], macsec::Sci::station);
        let keying = self
            .stations
            .keying(sender)
            .or_else(|| self.stations.keying(stations[0]));
        let Some(conversation) = self.of(Key::new(DatagramProtocol::MacSec, path, ends), ends, origin, bounds) else {
            return true;
        };
        let before = conversation.held();
        if let Reader::MacSec(seen) = &mut conversation.reader {
            if let Some(keying) = keying {
                seen.keyed(keying);
            }
            seen.take(stations[0], &tag, (body, origin.missing), origin.at);
        }
        conversation.seen.packet(ends[0], payload.len() as u64, origin.at);
        let after = conversation.held();
        bounds.memory.changed(before, after);
        true
    }
}
