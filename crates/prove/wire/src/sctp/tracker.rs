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

bartizan_registry::made! {
    /// Follows both directions of an association. Directions are numbered: 0 is from the initiator.
    #[derive(Clone)]
    pub struct Tracker,
    /// An association whose first packet, not yet taken, is this.
    pub new(number: u64, source: SocketAddr, destination: SocketAddr, packet: &Packet<'_>, at: Moment) {
        let init = packet.chunks().next().map(|chunk| chunk.kind);
        let (ends, roles, begun) = match init {
            Some(kind::INIT) => ([source, destination], Roles::Init, Begun::Init),
            Some(kind::INIT_ACK) => ([destination, source], Roles::Init, Begun::Init),
            _ if source.port() < destination.port() => ([destination, source], Roles::Port, Begun::Midstream),
            _ => ([source, destination], Roles::Port, Begun::Midstream),
        };
        pub(crate) number: u64 = number,
        pub(super) ends: [SocketAddr; 2] = ends,
        pub(super) path: Path = Path::default(),
        /// The number of that path among those of the observer.
        pub(crate) path_number: u32 = 0,
        pub(super) captured: Captured = Captured::default(),
        pub(super) addresses: [Vec<IpAddr>; 2] = ends.map(|end| vec![end.ip()]),
        pub(super) roles: Roles = roles,
        pub(super) begun: Begun = begun,
        pub(super) established: bool = false,
        pub(super) first: Moment = at,
        pub(crate) last: Moment = at,
        /// The tag that packets *to* this end carry.
        pub(super) tags: [Option<u32>; 2] = [None; 2],
        pub(super) directions: [Direction; 2] = Default::default(),
        pub(super) dtls: dtls::Reader = dtls::Reader::default(),
        pub(super) ssh: ssh::Reader = ssh::Reader::default(),
        pub(super) sums: [Sums; 2] = Default::default(),
        pub(super) plain: u64 = 0,
        pub(super) first_plain: Option<Moment> = None,
        pub(super) exposed: Sightings = Sightings::default(),
    }
}

impl Tracker {
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
    pub fn finish(self, ending: Ending, give: impl FnMut(Event)) -> Association {
        Association::of(self, ending, give)
    }
}
