//! One TCP connection while it lives.

use std::net::SocketAddr;

use super::paths::PathId;
use super::{Arrived, Before};
use crate::allocation::allocated;
use crate::application::Application;
use crate::checksum::{self, Sums};
use crate::connection::Captured;
use crate::keys::Keys;
use crate::path::Path;
use crate::proxy::Hop;
use crate::tcp::{Budget, Segment, Stream};
use crate::{Connection, Content, Ending, Moment, Roles, Side, Start, Traffic};

/// Bytes for a connection with a TLS handshake of today, measured: X25519MLKEM768, 30 cipher suites, ML-DSA offered.
pub(super) const PROMISED: usize = 2000;

bartizan_registry::made! {
    /// Both streams of a connection and what is read from them. Directions are numbered: 0 is from the sender of the first
    /// packet seen.
    #[derive(Clone)]
    pub(super) struct Flow,
    /// A connection whose first packet is `segment`, which is not yet taken.
    pub(super) new(
        number: u64,
        source: SocketAddr,
        destination: SocketAddr,
        segment: &Segment<'_>,
        arrived: &Arrived<'_>,
    ) {
        let at = arrived.at;
        let (start, client) = match (segment.flags.syn(), segment.flags.ack()) {
            (true, false) => (Start::Syn, (0, Roles::Syn)),
            (true, true) => (Start::Syn, (1, Roles::Syn)),
            (false, _) => {
                let server = usize::from(segment.destination_port <= segment.source_port);
                (Start::Midstream, (1 - server, Roles::Port))
            }
        };
        pub(super) number: u64 = number,
        pub(super) ends: [SocketAddr; 2] = [source, destination],
        /// The direction of the client, and how that is known.
        client: (usize, Roles) = client,
        first: Moment = at,
        pub(super) last: Moment = at,
        /// Encapsulation of direction 0, and of the other.
        pub(super) paths: [PathId; 2] = [arrived.path; 2],
        captured: Captured = Captured::default(),
        start: Start = start,
        streams: [Stream; 2] = [Stream::default(), Stream::default()],
        packets: [u64; 2] = [0; 2],
        sums: [Sums; 2] = Default::default(),
        /// The unencrypted part of the key exchange is over.
        settled: bool = false,
        application: Application = Application::new(start),
    }
}

/// The rest of an ended connection: it distinguishes late segments from those that the connection
/// cannot have sent.
#[derive(Clone, Copy)]
pub(super) struct Rest {
    /// The sequence number behind all that came from each end, the lesser first.
    furthest: [Option<u32>; 2],
    /// The end that said RST.
    reset: Option<usize>,
}

/// Bytes that may still be in flight when the receiver has sent RST.
const UNDER_WAY: u32 = 1 << 20;

impl Rest {
    /// Returns true if a segment between these ends, its sender first, does not belong to the ended
    /// connection: it has new data of an end that was over, or data of one that goes on and on.
    pub(super) fn is_gone_beyond(&self, source: SocketAddr, destination: SocketAddr, segment: &Segment<'_>) -> bool {
        let length = (segment.payload.len() + segment.missing) as u32;
        let end = usize::from(source > destination);
        if length == 0 {
            return false;
        }
        let Some(furthest) = self.furthest[end] else {
            return true;
        };
        let beyond = segment
            .sequence
            .wrapping_add(length)
            .wrapping_sub(furthest)
            .cast_signed();
        match self.reset {
            Some(reset) if reset != end => beyond.unsigned_abs() > UNDER_WAY,
            _ => beyond > 0 || beyond.unsigned_abs() > UNDER_WAY,
        }
    }
}

impl Flow {
    /// Bytes it holds. Until the protocol is decided, at least those it may yet need: a new flow
    /// must not find the memory full when its handshake comes. Bytes held back by its streams are
    /// in their budget.
    pub(super) fn held(&self) -> usize {
        let kept = self.streams.iter().map(Stream::held).sum::<usize>();
        let held = allocated(size_of::<Self>()) + self.application.held() + kept;
        if self.application.is_open() {
            held.max(PROMISED)
        } else {
            held
        }
    }

    /// These packets, of those it took, are counted elsewhere.
    pub(super) fn without(&mut self, captured: Captured) {
        self.captured.packets -= captured.packets;
        self.captured.bytes -= captured.bytes;
    }

    /// Returns true if a SYN begins another connection between the same ports.
    pub(super) fn is_replaced_by(&self, source: SocketAddr, segment: &Segment<'_>) -> bool {
        let stream = &self.streams[self.direction(source)];
        segment.flags.syn()
            && (!stream.begun() && self.start == Start::Midstream || !stream.begins_with(segment.sequence))
    }

    /// Returns true if a segment with the same ends in another encapsulation may be the first of
    /// the missing direction: it acknowledges bytes of the other direction.
    pub(super) fn lacks(&self, source: SocketAddr, segment: &Segment<'_>) -> bool {
        let direction = self.direction(source);
        self.packets[direction] == 0
            && segment.flags.ack()
            && self.streams[1 - direction].is_acknowledged_by(segment.acknowledgement)
    }

    /// The direction that nothing came of is carried in this.
    pub(super) fn comes_back_in(&mut self, source: SocketAddr, path: PathId) {
        self.paths[self.direction(source)] = path;
    }

    /// The sequence numbers behind all that came, the lesser end's first, and who said RST.
    pub(super) fn rest(&self, reset: Option<SocketAddr>) -> Rest {
        let turned = self.ends[0] > self.ends[1];
        let furthest = |end: usize| self.streams[end ^ usize::from(turned)].furthest();
        Rest {
            furthest: [furthest(0), furthest(1)],
            reset: reset.map(|source| self.direction(source) ^ usize::from(turned)),
        }
    }

    /// Returns true if only one direction was captured.
    pub(super) fn is_half(&self) -> bool {
        self.packets.contains(&0)
    }

    /// Takes a segment; says how the connection ended, if it did.
    pub(super) fn segment(
        &mut self,
        source: SocketAddr,
        segment: &Segment<'_>,
        arrived: &Arrived<'_>,
        budget: &mut Budget,
        keys: Option<&dyn Keys>,
    ) -> Option<Ending> {
        let (direction, at) = (self.direction(source), arrived.at);
        self.last = at;
        self.captured.add(arrived.captured);
        self.packets[direction] += 1;
        let Self {
            streams,
            application,
            client,
            settled,
            ..
        } = self;
        if !*settled {
            let datagram = &arrived.datagram;
            let checksum = checksum::tcp(
                datagram.source,
                datagram.destination,
                datagram.payload,
                datagram.missing,
            );
            let tells = !segment.payload.is_empty() || segment.flags.syn();
            if !self.sums[direction].admit(checksum, tells) {
                streams[direction].corrupt();
                return None;
            }
        }
        if segment.flags.ack() && !segment.flags.rst() {
            streams[1 - direction].acknowledged(segment.acknowledgement);
        }
        if segment.flags.rst() {
            if !segment.payload.is_empty() || segment.missing > 0 {
                streams[direction].stray();
            }
            return streams[direction]
                .is_reset_at(segment.sequence)
                .then_some(Ending::Reset);
        }
        streams[direction].segment(segment, at, budget, |delivery| {
            application.take(direction, delivery, client, keys);
        });
        if !*settled && application.is_settled() {
            *settled = true;
            streams.iter_mut().for_each(Stream::settle);
        }
        self.streams.iter().all(Stream::ended).then_some(Ending::Closed)
    }

    /// True where messages of IKE and ESP came since they were taken.
    pub(super) fn has_messages(&self) -> bool {
        self.application.has_messages()
    }

    /// Messages of IKE and ESP that came since the last call, with the sockets of their senders and
    /// receivers.
    pub(super) fn messages(&mut self) -> Vec<([SocketAddr; 2], Vec<u8>)> {
        let (client, server) = (self.ends[self.client.0], self.ends[1 - self.client.0]);
        let ends = |side| match side {
            Side::Client => [client, server],
            Side::Server => [server, client],
        };
        let messages = self.application.messages().into_iter();
        messages.map(|(side, message)| (ends(side), message)).collect()
    }

    /// The parts of a segment's payload of which only their number matters.
    pub(super) fn counted(
        &self,
        source: SocketAddr,
        segment: &Segment<'_>,
        before: Before,
        mut give: impl FnMut(&[u8]),
    ) {
        let direction = self.direction(source);
        let stream = &self.streams[direction];
        if segment.flags.syn() || segment.flags.rst() {
            return;
        }
        let known = before == Before::All || self.start == Start::Syn || stream.has_gone_on();
        if !known {
            return;
        }
        if stream.has_all_of(segment) {
            return give(segment.payload);
        }
        if stream.takes_at_once(segment) {
            let side = match direction == self.client.0 {
                true => Side::Client,
                false => Side::Server,
            };
            self.application.counted(side, segment.payload, &mut give);
        }
    }

    /// Ends the flow and returns its connection; `paths` are those of its directions.
    pub(super) fn end(
        mut self,
        ending: Ending,
        paths: [Path; 2],
        budget: &mut Budget,
        keys: Option<&dyn Keys>,
    ) -> Connection {
        let Self {
            streams,
            application,
            client,
            ..
        } = &mut self;
        for (direction, stream) in streams.iter_mut().enumerate() {
            stream.finish(budget, |delivery| application.take(direction, delivery, client, keys));
        }
        application.decide(client, keys);
        let (client, roles) = self.client;
        let server = 1 - client;
        let traffic = |direction: usize| Traffic {
            packets: self.packets[direction],
            stream: self.streams[direction].counts(),
        };
        // Data that was captured in part, or not at all, is still data.
        let silent = |stream: &Stream| {
            let counts = stream.counts();
            counts.sent() == 0 && counts.stray == 0 && counts.corrupt == 0
        };
        let (content, proxies) = if self.streams.iter().all(silent) {
            (Content::Nothing, Vec::new())
        } else {
            self.application
                .outcome(if client == 0 { Side::Client } else { Side::Server })
        };
        let [zero, one] = paths;
        let (path, back) = if client == 0 { (zero, one) } else { (one, zero) };
        let through = |path: Path| path.through(proxies.iter().map(Hop::through));
        let (path, back) = (through(path), through(back));
        Connection {
            number: self.number,
            client: self.ends[client],
            server: self.ends[server],
            roles,
            first: self.first,
            last: self.last,
            start: self.start,
            ending,
            from_client: traffic(client),
            from_server: traffic(server),
            sums_changed: self.sums.iter().any(Sums::have_changed),
            path_back: (back != path).then_some(back),
            path,
            captured: self.captured,
            proxies,
            content,
        }
    }

    fn direction(&self, source: SocketAddr) -> usize {
        usize::from(source != self.ends[0])
    }
}
