//! Packets without a connection: protocols over UDP and unrecognised packets. QUIC and DTLS are
//! read.

mod radius;
mod stations;

use std::collections::hash_map::Entry;
use std::net::SocketAddr;

use super::demux::Origin;
use super::keyed::Table;
use super::memory::{Bounds, Memory};
use super::paths::PathId;
use super::quic::Places;
use super::{Arrived, FlowKind, Omitted, Sink};
use crate::allocation::allocated;
use crate::datagrams::{self, Answers, DatagramProtocol, Datagrams as Seen, Named, Numbered, Port};
use crate::end::End;
use crate::macsec::MacSec;
use crate::mka::Mka;
use crate::udp::Udp;
use crate::{Side, Timestamp, dtls, eap, quic};
use stations::Stations;

bartizan_registry::made! {
    /// A protocol, what it is carried in, and the ends it is spoken between, the lesser first.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    pub(super) struct Key, pub(super) new(protocol: DatagramProtocol, path: PathId, [one, other]: [End; 2]) {
        pub(super) protocol: DatagramProtocol = protocol,
        pub(super) path: PathId = path,
        pub(super) ends: [End; 2] = [one.min(other), one.max(other)],
        /// The connection among those of the same sockets for QUIC; the supplicant for EAP in RADIUS.
        pub(super) connection: u32 = 0,
    }
}

/// Reader of the packets.
#[derive(Clone)]
enum Reader {
    /// They are counted.
    None,
    /// UDP that nothing recognises, unless its packets are numbered as those of RTP.
    Udp(Numbered),
    /// A protocol whose name needs an answer.
    Named(Box<Answers>),
    Quic(Box<quic::Session>),
    Dtls(Box<dtls::Session>),
    Eap(Box<eap::Session>),
    Mka(Box<Mka>),
    MacSec(Box<MacSec>),
}

/// One conversation.
#[derive(Clone)]
struct Conversation {
    seen: Seen,
    reader: Reader,
}

/// Bytes that one takes before anything is read.
const HELD: usize = size_of::<Conversation>() + 16;
/// Bytes for a handshake of today over UDP.
const PROMISED: usize = 6000;

impl Conversation {
    fn new(seen: Seen) -> Self {
        let reader = match seen.protocol {
            DatagramProtocol::Quic => Reader::Quic(Box::new(quic::Session::new())),
            DatagramProtocol::Dtls => Reader::Dtls(Box::default()),
            DatagramProtocol::Udp => Reader::Udp(Numbered::default()),
            DatagramProtocol::Eapol | DatagramProtocol::EapInRadius => Reader::Eap(Box::default()),
            DatagramProtocol::Mka => Reader::Mka(Box::default()),
            DatagramProtocol::MacSec => Reader::MacSec(Box::default()),
            protocol => Answers::of(protocol).map_or(Reader::None, |answers| Reader::Named(Box::new(answers))),
        };
        Self { seen, reader }
    }

    /// Bytes it holds.
    fn held(&self) -> usize {
        let reader = match &self.reader {
            Reader::None | Reader::Udp(_) => 0,
            Reader::Named(answers) => allocated(size_of::<Answers>()) + answers.held(),
            Reader::Quic(session) => session.held(),
            Reader::Dtls(session) => session.held(),
            Reader::Eap(session) => allocated(size_of::<eap::Session>()) + session.held(),
            Reader::Mka(mka) => allocated(size_of::<Mka>()) + mka.held(),
            Reader::MacSec(seen) => allocated(size_of::<MacSec>()) + seen.held(),
        };
        HELD + reader + self.seen.messages.held()
    }

    /// Which of its ends sent a packet: 0 the one that sent first. Of a connection that moved one end may be another.
    fn from(&self, [source, destination]: [End; 2]) -> usize {
        let (client, server) = (self.seen.client, self.seen.server);
        usize::from(source != client && (source == server || destination == client))
    }

    /// Observations of the reader.
    fn outcome(self) -> Seen {
        let mut seen = self.seen;
        let client = match self.reader {
            Reader::None => None,
            Reader::Named(answers) => {
                answers.judge(&mut seen);
                None
            }
            Reader::Udp(numbered) => {
                if numbered.is_rtp() {
                    seen.protocol = DatagramProtocol::Named(Named::Rtp);
                }
                None
            }
            Reader::Quic(session) => {
                let client = session.client();
                seen.quic = Some(Box::new(session.outcome()));
                client
            }
            Reader::Dtls(session) => {
                let mut shown = session.outcome();
                let client = shown.client;
                if client == Some(1) {
                    shown.protected.reverse();
                    shown.alerts.reverse();
                    shown.client = Some(0);
                }
                seen.dtls = Some(Box::new(shown));
                client
            }
            Reader::Eap(session) => {
                let client = session.authenticator().map(|authenticator| 1 - authenticator);
                seen.port = Some(Box::new(Port::Eap(session.outcome())));
                client
            }
            Reader::Mka(mka) => {
                seen.port = Some(Box::new(Port::Mka(*mka)));
                None
            }
            Reader::MacSec(shown) => {
                seen.port = Some(Box::new(Port::MacSec(*shown)));
                None
            }
        };
        if client == Some(1) {
            std::mem::swap(&mut seen.client, &mut seen.server);
            std::mem::swap(&mut seen.from_client, &mut seen.from_server);
        }
        seen
    }
}

#[derive(Default)]
pub(super) struct Datagrams {
    /// They end where another begins in their place, or not at all.
    seen: Table<Key, Box<Conversation>>,
    /// By which connections of QUIC are found.
    places: Places,
    /// The stations of ports.
    stations: Stations,
    /// Requests of RADIUS with EAP that are not answered.
    asked: radius::Asked,
}

impl Datagrams {
    /// Takes a packet of UDP that is neither IKE nor ESP.
    pub(super) fn packet(
        &mut self,
        udp: &Udp<'_>,
        arrived: &Arrived<'_>,
        bounds: &mut Bounds<'_>,
        sink: &mut impl Sink,
    ) {
        let datagram = &arrived.datagram;
        let sockets = [
            SocketAddr::new(datagram.source, udp.source_port),
            SocketAddr::new(datagram.destination, udp.destination_port),
        ];
        let ends = sockets.map(End::Socket);
        let (path, origin) = (
            arrived.path,
            Origin {
                at: arrived.at,
                first: arrived.first,
                captured: arrived.captured,
                missing: udp.missing,
            },
        );
        let protocol = match datagrams::recognise(udp) {
            Some(DatagramProtocol::Named(named)) if named.is_weak() && self.is_other(named, ends, path) => {
                DatagramProtocol::Udp
            }
            Some(protocol) => protocol,
            None => self.continued(udp, ends, path),
        };
        match protocol {
            DatagramProtocol::Quic => self.quic(udp, ends, path, &origin, bounds, sink),
            DatagramProtocol::Dtls => self.dtls(udp, ends, path, &origin, bounds, sink),
            _ => {
                let ends = if protocol.has_ports() {
                    ends
                } else {
                    sockets.map(|socket| End::Host(socket.ip()))
                };
                let key = Key::new(protocol, path, ends);
                if let Some(conversation) = self.of(key, ends, &origin, bounds) {
                    let before = conversation.held();
                    if let Reader::Udp(numbered) = &mut conversation.reader {
                        let from = usize::from(ends[0] != conversation.seen.client);
                        numbered.take(udp.payload, from);
                    }
                    let side = conversation.seen.datagram(ends[0], udp, origin.at);
                    if let Reader::Named(answers) = &mut conversation.reader {
                        answers.take(protocol, udp.payload, side);
                    }
                    let after = conversation.held();
                    bounds.memory.changed(before, after);
                }
                if protocol == DatagramProtocol::Named(Named::Radius) {
                    self.radius(udp, sockets.map(End::Socket), path, &origin, bounds, sink);
                }
            }
        }
    }

    /// Returns true if datagrams between these sockets, or of this protocol between their hosts,
    /// were taken before.
    pub(super) fn has(&self, udp: &Udp<'_>, sockets: [SocketAddr; 2], path: PathId) -> bool {
        let ends = sockets.map(End::Socket);
        let is_taken = |protocol: DatagramProtocol| {
            let hosts = sockets.map(|socket| End::Host(socket.ip()));
            let ends = if protocol.has_ports() { ends } else { hosts };
            self.seen.contains_key(&Key::new(protocol, path, ends))
        };
        self.places.has(udp, ends, path)
            || [DatagramProtocol::Udp, DatagramProtocol::Dtls, DatagramProtocol::Quic]
                .into_iter()
                .any(is_taken)
            || datagrams::recognise(udp).is_some_and(is_taken)
    }

    /// Protocol of a datagram that shows nothing by itself, by those before it.
    fn continued(&self, udp: &Udp<'_>, ends: [End; 2], path: PathId) -> DatagramProtocol {
        if self.places.has(udp, ends, path) {
            return DatagramProtocol::Quic;
        }
        let dtls = Key::new(DatagramProtocol::Dtls, path, ends);
        match self.seen.get(&dtls).map(|one| &one.reader) {
            Some(Reader::Dtls(session)) if session.has(udp.payload) => DatagramProtocol::Dtls,
            _ => DatagramProtocol::Udp,
        }
    }

    /// True where the datagrams before between these sockets are of no known protocol: one that
    /// looks like a known one is no proof against them.
    fn is_other(&self, named: Named, ends: [End; 2], path: PathId) -> bool {
        let unknown = Key::new(DatagramProtocol::Udp, path, ends);
        match self.seen.get(&unknown).map(|one| &one.reader) {
            Some(Reader::Udp(numbered)) => named != Named::Rtcp || !numbered.may_be_rtp(),
            _ => false,
        }
    }

    fn quic(
        &mut self,
        udp: &Udp<'_>,
        ends: [End; 2],
        path: PathId,
        origin: &Origin,
        bounds: &mut Bounds<'_>,
        sink: &mut impl Sink,
    ) {
        let mut key = self.places.find(udp, ends, path);
        for _ in 0..2 {
            let known = self.seen.contains_key(&key);
            if !known && self.of(key, ends, &origin.uncounted(), bounds).is_none() {
                // No room for the conversation, even without captured packets: it is counted as
                // omitted.
                return bounds.omit(omitted(key, ends, origin), origin.captured);
            }
            let Some(conversation) = self.seen.get_mut(&key) else {
                return;
            };
            let from = conversation.from(ends);
            let Reader::Quic(session) = &mut conversation.reader else {
                return;
            };
            let before = session.held();
            let taken = session.datagram(udp.payload, udp.missing, from, origin.at, bounds.keys);
            let after = session.held();
            bounds.memory.changed(before, after);
            if taken == quic::Taken::Another {
                key = self.places.another(key, ends, path);
                continue;
            }
            let new = session.take_new_cids();
            let side = if from == 0 { Side::Client } else { Side::Server };
            conversation
                .seen
                .sent(side, (udp.payload.len() + udp.missing) as u64, origin.at);
            conversation.seen.captured.add(origin.captured);
            self.places.learn(key, ends, path, &new, bounds.memory);
            if after > before && bounds.memory.is_exceeded() {
                self.give_up(key, ends, origin, bounds, sink);
            }
            return;
        }
    }

    fn dtls(
        &mut self,
        udp: &Udp<'_>,
        ends: [End; 2],
        path: PathId,
        origin: &Origin,
        bounds: &mut Bounds<'_>,
        sink: &mut impl Sink,
    ) {
        let key = Key::new(DatagramProtocol::Dtls, path, ends);
        let mut follows = None;
        if let Some(conversation) = self.seen.get(&key)
            && let Reader::Dtls(session) = &conversation.reader
            && session.ends_at(udp.payload)
        {
            follows = Some(dtls::Session::behind(session));
            self.end(key, bounds.memory, sink);
        }
        let Some(conversation) = self.of(key, ends, origin, bounds) else {
            return;
        };
        let before = conversation.held();
        let from = conversation.from(ends);
        let side = if from == 0 { Side::Client } else { Side::Server };
        conversation
            .seen
            .sent(side, (udp.payload.len() + udp.missing) as u64, origin.at);
        if let Reader::Dtls(session) = &mut conversation.reader {
            if let Some(follows) = follows {
                **session = follows;
            }
            session.datagram(udp.payload, from, origin.at, bounds.keys);
        }
        let after = conversation.held();
        bounds.memory.changed(before, after);
        if after > before && bounds.memory.is_exceeded() {
            if let Some(conversation) = self.seen.get_mut(&key) {
                // It is counted there.
                conversation.seen.captured.remove(origin.captured);
            }
            self.give_up(key, ends, origin, bounds, sink);
        }
    }

    /// Gives a conversation as far as it was read.
    fn end(&mut self, key: Key, memory: &mut Memory, sink: &mut impl Sink) {
        if let Some(conversation) = self.seen.remove(&key) {
            memory.gone(conversation.held());
            sink.datagrams(conversation.outcome());
        }
    }

    /// A conversation has grown beyond what there may be: it is given as far as it was read.
    fn give_up(&mut self, key: Key, ends: [End; 2], origin: &Origin, bounds: &mut Bounds<'_>, sink: &mut impl Sink) {
        self.end(key, bounds.memory, sink);
        bounds.omit(omitted(key, ends, origin), origin.captured);
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
        if let Some(conversation) = self.of(Key::new(protocol, path, ends), ends, origin, bounds) {
            conversation.seen.packet(ends[0], bytes, origin.at);
        }
    }

    /// Conversation of a packet, which is counted in it; none if there is no room for another.
    fn of(&mut self, key: Key, ends: [End; 2], origin: &Origin, bounds: &mut Bounds<'_>) -> Option<&mut Conversation> {
        let promised = match key.protocol {
            DatagramProtocol::Quic
            | DatagramProtocol::Dtls
            | DatagramProtocol::Eapol
            | DatagramProtocol::EapInRadius => PROMISED,
            _ => 0,
        };
        let room = bounds.memory.has_room(self.seen.growth() + HELD + promised);
        let known = self.seen.len();
        if !room && !self.seen.contains_key(&key) {
            bounds.omit(omitted(key, ends, origin), origin.captured);
            return None;
        }
        if let Entry::Vacant(entry) = self.seen.entry(key) {
            *bounds.begun += 1;
            let path = bounds.paths.path(key.path);
            let seen = Seen::new(*bounds.begun, key.protocol, path, ends, origin.first);
            let conversation = Box::new(Conversation::new(seen));
            bounds.memory.arrived(conversation.held());
            entry.insert(conversation);
        }
        if known < self.seen.len() {
            self.seen.grown(bounds.memory);
        }
        let conversation = self.seen.get_mut(&key)?;
        conversation.seen.captured.add(origin.captured);
        Some(conversation)
    }

    /// Gives all of them as they are now, in the order of first packets.
    pub(super) fn live_into(&self, sink: &mut impl Sink) {
        let mut seen: Vec<&Conversation> = self.seen.values().map(Box::as_ref).collect();
        seen.sort_unstable_by_key(|one| one.seen.number);
        seen.into_iter().for_each(|one| sink.datagrams(one.clone().outcome()));
    }

    /// Gives those whose last packet came before `since`, and forgets them.
    pub(super) fn forget_idle(&mut self, since: Timestamp, memory: &mut Memory, sink: &mut impl Sink) {
        self.stations.forget_idle(since, memory);
        let mut idle: Vec<Box<Conversation>> = self
            .seen
            .extract_if(|_, one| one.seen.last.time < since)
            .map(|(_, one)| one)
            .collect();
        if idle.is_empty() {
            return;
        }
        idle.sort_unstable_by_key(|one| one.seen.number);
        for one in idle {
            memory.gone(one.held());
            sink.datagrams(one.outcome());
        }
        let seen = &self.seen;
        self.places.forget(|key| !seen.contains_key(key), memory);
        self.seen.shrink(memory);
    }

    pub(super) fn live(&self) -> usize {
        self.seen.len()
    }

    /// Gives all of them, in the order of first packets.
    pub(super) fn finish(&mut self, sink: &mut impl Sink) {
        let mut seen: Vec<Box<Conversation>> = self.seen.drain().map(|(_, one)| one).collect();
        self.places = Places::default();
        self.stations = Stations::default();
        self.asked = radius::Asked::default();
        seen.sort_unstable_by_key(|one| one.seen.number);
        for one in seen {
            sink.datagrams(one.outcome());
        }
    }
}

fn omitted(key: Key, ends: [End; 2], origin: &Origin) -> Omitted {
    Omitted {
        flow: FlowKind::Datagrams(key.protocol),
        source: ends[0].address(),
        destination: ends[1].address(),
        at: origin.at,
    }
}
