//! One association while it lives.

use std::net::{IpAddr, SocketAddr};

use super::sent::Direction;
use super::{Association, Begun, Chunk, Data, Event, Init, Packet, Roles, Sack, dtls, kind, ssh};
use crate::allocation::allocated;
use crate::checksum::{Checksum, Sums};
use crate::exposed::Sightings;
use crate::keys::Keys;
use crate::path::Path;
use crate::{Captured, Ending, Moment};

/// Addresses of an end that are kept.
const ADDRESSES: usize = 16;

/// Follows both directions of an association. Directions are numbered: 0 is from the initiator.
#[derive(Clone)]
pub struct Tracker {
    number: u64,
    ends: [SocketAddr; 2],
    path: Path,
    /// The number of that path among those of the observer.
    path_number: u32,
    captured: Captured,
    addresses: [Vec<IpAddr>; 2],
    roles: Roles,
    begun: Begun,
    established: bool,
    first: Moment,
    last: Moment,
    /// The tag that packets *to* this end carry.
    tags: [Option<u32>; 2],
    directions: [Direction; 2],
    dtls: dtls::Reader,
    ssh: ssh::Reader,
    sums: [Sums; 2],
    plain: u64,
    first_plain: Option<Moment>,
    exposed: Sightings,
}

impl Tracker {
    /// An association whose first packet, not yet taken, is this.
    pub fn new(number: u64, source: SocketAddr, destination: SocketAddr, packet: &Packet<'_>, at: Moment) -> Self {
        let init = packet.chunks().next().map(|chunk| chunk.kind);
        let (ends, roles, begun) = match init {
            Some(kind::INIT) => ([source, destination], Roles::Init, Begun::Init),
            Some(kind::INIT_ACK) => ([destination, source], Roles::Init, Begun::Init),
            _ if source.port() < destination.port() => ([destination, source], Roles::Port, Begun::Midstream),
            _ => ([source, destination], Roles::Port, Begun::Midstream),
        };
        Self {
            number,
            ends,
            path: Path::default(),
            path_number: 0,
            captured: Captured::default(),
            addresses: ends.map(|end| vec![end.ip()]),
            roles,
            begun,
            established: false,
            first: at,
            last: at,
            tags: [None; 2],
            directions: Default::default(),
            dtls: dtls::Reader::default(),
            ssh: ssh::Reader::default(),
            sums: Default::default(),
            plain: 0,
            first_plain: None,
            exposed: Sightings::default(),
        }
    }

    /// Its place in the order of first packets.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Its last packet so far.
    pub fn last(&self) -> Moment {
        self.last
    }

    /// Bytes it holds, about.
    pub fn held(&self) -> usize {
        let addresses = self
            .addresses
            .iter()
            .map(|known| allocated(known.capacity() * size_of::<IpAddr>()));
        let directions = self.directions.iter().map(Direction::held);
        allocated(size_of::<Self>())
            + addresses.sum::<usize>()
            + directions.sum::<usize>()
            + self.dtls.held()
            + self.ssh.held()
    }

    /// Its first packet was carried in this, which has this number.
    pub(crate) fn carried_in(&mut self, path: Path, number: u32) {
        self.path = path;
        self.path_number = number;
    }

    /// The number of what its first packet was carried in.
    pub(crate) fn path_number(&self) -> u32 {
        self.path_number
    }

    /// These packets, of those that came, are counted elsewhere.
    pub(crate) fn without(&mut self, captured: Captured) {
        self.captured.packets -= captured.packets;
        self.captured.bytes -= captured.bytes;
    }

    /// Packets of the capture that brought one of it.
    pub(crate) fn arrived(&mut self, captured: Captured) {
        self.captured.add(captured);
    }

    /// Direction of a packet between its first two addresses; none for one between others, or where both ends have
    /// the same.
    #[must_use]
    pub fn direction_of(&self, source: SocketAddr, destination: SocketAddr) -> Option<usize> {
        let forward = self.ends == [source, destination];
        let back = self.ends == [destination, source];
        (forward != back).then_some(usize::from(back))
    }

    /// Returns true if the receiver takes a packet of a direction with this checksum; one that it
    /// drops is counted.
    pub(crate) fn admits(&mut self, packet: &Packet<'_>, direction: usize, checksum: Checksum, at: Moment) -> bool {
        let from = direction.min(1);
        let control = |chunk: Chunk<'_>| matches!(chunk.kind, kind::SACK | kind::HEARTBEAT | kind::HEARTBEAT_ACK);
        let admitted = self.sums[from].admit(checksum, !packet.chunks().all(control));
        let sent = &mut self.directions[from].sent;
        sent.sums_changed = self.sums[from].have_changed();
        if !admitted {
            sent.packets += 1;
            sent.corrupt += 1;
            self.last = at;
        }
        admitted
    }

    /// The tag that packets of this direction carry, where it is known.
    #[must_use]
    pub fn tag(&self, direction: usize) -> Option<u32> {
        self.tags[1 - direction.min(1)]
    }

    /// Takes a packet of a direction; says how the association ended, if it did. `keys` read certificates.
    pub fn packet(
        &mut self,
        packet: &Packet<'_>,
        direction: usize,
        (source, destination): (IpAddr, IpAddr),
        at: Moment,
        keys: Option<&dyn Keys>,
        mut give: impl FnMut(Event),
    ) -> Option<Ending> {
        let (from, to) = (direction.min(1), 1 - direction.min(1));
        self.last = at;
        self.address(from, source);
        self.address(to, destination);
        self.directions[from].sent.packets += 1;
        if packet.tag != 0 {
            self.tags[to].get_or_insert(packet.tag);
        }
        self.directions[from].sent.unread += u64::from(packet.has_more());
        let mut ending = None;
        for chunk in packet.chunks() {
            ending = ending.or(self.chunk(&chunk, from, at, keys, &mut give));
        }
        ending
    }

    fn chunk(
        &mut self,
        chunk: &Chunk<'_>,
        from: usize,
        at: Moment,
        keys: Option<&dyn Keys>,
        give: &mut impl FnMut(Event),
    ) -> Option<Ending> {
        let is_data = matches!(chunk.kind, kind::DATA | kind::I_DATA | kind::DTLS);
        self.directions[from].sent.unread += u64::from(!is_data && !chunk.is_control());
        match chunk.kind {
            kind::DATA | kind::I_DATA => {
                self.established = true;
                match Data::read(chunk) {
                    Some(data) => self.data(&data, from, at, keys, give),
                    None => self.directions[from].sent.unread += 1,
                }
            }
            kind::SACK => {
                if let Some(sack) = Sack::read(chunk) {
                    self.directions[1 - from].acknowledged(&sack, 1 - from, at, give);
                }
            }
            kind::INIT | kind::INIT_ACK => {
                if let Some(init) = Init::read(chunk) {
                    self.tags[from] = Some(init.tag);
                    self.directions[from].begin(init.tsn);
                    for address in init.addresses {
                        self.address(from, address);
                    }
                }
            }
            kind::HEARTBEAT => self.directions[from].sent.heartbeats += 1,
            kind::DTLS => self.directions[from].sent.dtls_chunks += 1,
            kind::COOKIE_ACK => self.established = true,
            kind::FORWARD_TSN | kind::I_FORWARD_TSN => {
                if let Some(tsn) = chunk.value.first_chunk::<4>() {
                    self.directions[from].forward(u32::from_be_bytes(*tsn), from, give);
                }
            }
            kind::ABORT => return Some(Ending::Reset),
            kind::SHUTDOWN_COMPLETE => return Some(Ending::Closed),
            _ => {}
        }
        None
    }

    fn data(
        &mut self,
        data: &Data<'_>,
        from: usize,
        at: Moment,
        keys: Option<&dyn Keys>,
        give: &mut impl FnMut(Event),
    ) {
        if !self.directions[from].data(data, from, at, give) {
            return;
        }
        if data.begins {
            self.message(data, from, at);
        }
        self.ssh.chunk(data, from, self.directions[from].begins_at(), at);
        // If anything was unencrypted, the DTLS handshake no longer matters.
        if self.plain == 0 {
            self.dtls.chunk(data, from, at, keys);
        }
    }

    /// A user message begins.
    fn message(&mut self, data: &Data<'_>, from: usize, at: Moment) {
        let opening = &mut self.directions[from].sent.opening;
        if opening.bytes().is_empty() {
            opening.fill(data.payload);
        }
        if !self.dtls.message(data.payload, at) {
            self.plain += 1;
            self.dtls.give_up();
            self.first_plain.get_or_insert(at);
            self.exposed.ngap(data.payload, at);
        }
    }

    fn address(&mut self, end: usize, address: IpAddr) {
        let known = &mut self.addresses[end];
        if !known.contains(&address) && known.len() < ADDRESSES {
            known.push(address);
        }
    }

    /// Ends the association and returns it.
    pub fn finish(self, ending: Ending, mut give: impl FnMut(Event)) -> Association {
        let [initiator, responder] = self.directions;
        let [initiator_addresses, responder_addresses] = self.addresses;
        Association {
            number: self.number,
            initiator: self.ends[0],
            responder: self.ends[1],
            path: self.path,
            captured: self.captured,
            roles: self.roles,
            initiator_addresses,
            responder_addresses,
            initiator_tag: self.tags[0],
            responder_tag: self.tags[1],
            begun: self.begun,
            established: self.established,
            ending,
            first: self.first,
            last: self.last,
            from_initiator: initiator.finish(0, &mut give),
            from_responder: responder.finish(1, &mut give),
            dtls: self.dtls.outcome(),
            ssh: self.ssh.outcome(),
            plain_messages: self.plain,
            first_plain: self.first_plain,
            exposed: self.exposed,
        }
    }
}
