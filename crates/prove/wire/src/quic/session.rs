//! Both directions of one QUIC connection.

use std::sync::Arc;

use bartizan_registry::{QuicVersion, quic_version};

use super::crypto::Crypto;
use super::header::{self, Cid, Kind, Long, varint};
use super::protected::Protected;
use super::segments::segments;
use super::{Close, Quic};
use crate::allocation::allocated;
use crate::cursor::Cursor;
use crate::keys::{Epoch, InitialKeys, Keys};
use crate::{Moment, Seen, Side, tls};

/// Sets of keys of one connection: before and behind a Retry, in two versions.
const KEYS: usize = 4;
/// Connection identifiers that are remembered of one connection.
const CIDS: usize = 8;
/// Turns with short headers behind which the server has accepted the client.
const ANSWERED: u8 = 4;
/// Bytes by which a CONNECTION_CLOSE that is sent again may be longer: its packet number grows.
const NUMBER: usize = 4;
/// A packet with a CONNECTION_CLOSE of a longer reason phrase than servers give: header, frame, 128 octets of it, tag.
const LONGEST_CLOSE: usize = 1 + 20 + 4 + 7 + 128 + 16;
/// Datagrams whose Initial packets are still opened behind the first packet with a short header: some may come late.
const BEHIND: u8 = 32;
/// Approximate memory of an [`InitialKeys`]: two contexts of AES-GCM and two of AES.
const HELD_KEYS: usize = 2400;

/// Outcome of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    /// It is of this connection.
    Here,
    /// It begins another one between the same sockets.
    Another,
}

/// Keys of Initial packets, and what they follow from.
#[derive(Clone)]
struct Known {
    version: u32,
    destination: Cid,
    keys: Arc<dyn InitialKeys>,
}

/// Packets with short headers of client and server in turn.
#[derive(Debug, Clone, Copy, Default)]
struct Turns {
    count: u8,
    /// Bytes of the server's first one: a server that refuses the client sends it again for what
    /// arrives later.
    first: usize,
}

impl Turns {
    fn take(&mut self, of_client: bool, bytes: usize) {
        // The client has every turn with an even number.
        if of_client != self.count.is_multiple_of(2) || self.count == ANSWERED {
            return;
        }
        if of_client {
            self.count += 1;
        } else if bytes > LONGEST_CLOSE || self.count > 1 && bytes.abs_diff(self.first) > NUMBER {
            self.count = ANSWERED;
        } else if self.count == 1 {
            self.first = bytes;
            self.count += 1;
        }
    }
}

bartizan_registry::made! {
    /// Reads one connection. Its ends are numbered: 0 sent first.
    #[derive(Clone)]
    pub(crate) struct Session, pub(crate) new() {
        shown: Quic = Quic::default(),
        tls: tls::Session = tls::Session::new(),
        known: Vec<Known> = Vec::new(),
        /// Number of these from before a Retry that the client has followed.
        before_retry: usize = 0,
        client: Option<usize> = None,
        /// The identifier that a Retry packet tells the client to send to.
        retried: Option<Cid> = None,
        /// True if an Initial packet of the server was opened.
        answered: bool = false,
        crypto: Box<[Crypto; 2]> = Box::default(),
        /// By end: the number behind the greatest that was opened.
        expected: [u64; 2] = [0; 2],
        /// Identifiers that its packets are sent to, as far as they are unencrypted, and how many of them were asked for.
        cids: Vec<Cid> = Vec::new(),
        new: usize = 0,
        protected: [u64; 2] = [0; 2],
        short: [u64; 2] = [0; 2],
        /// By the end that is the client: packets with a short header of the client and of the server in turn.
        turns: [Turns; 2] = Default::default(),
        later: Protected = Protected::default(),
        /// Datagrams that are still looked at for Initial packets.
        left: Option<u8> = None,
    }
}

impl Session {
    /// Takes the identifiers that came since it was last asked.
    pub(crate) fn take_new_cids(&mut self) -> Vec<Cid> {
        let new = self.cids[self.new..].to_vec();
        self.new = self.cids.len();
        new
    }

    /// Bytes it holds on the heap, with itself.
    pub(crate) fn held(&self) -> usize {
        let crypto = self.crypto.iter().map(Crypto::held).sum::<usize>();
        allocated(size_of::<Self>())
            + allocated(size_of::<[Crypto; 2]>())
            + self.tls.held()
            + crypto
            + self.known.len() * HELD_KEYS
            + self.later.held(HELD_KEYS / 2)
            + allocated(self.cids.capacity() * size_of::<Cid>())
    }

    /// Takes a datagram of an end, or several that it sent at once. One that begins another
    /// connection is not taken.
    pub(crate) fn datagram(
        &mut self,
        payload: &[u8],
        missing: usize,
        from: usize,
        at: Moment,
        keys: Option<&dyn Keys>,
    ) -> Taken {
        for (place, (segment, missing)) in segments(payload, missing, &self.cids).enumerate() {
            let taken = self.segment(segment, missing, from, at, keys);
            if place == 0 && taken == Taken::Another {
                return Taken::Another;
            }
        }
        Taken::Here
    }

    fn segment(&mut self, payload: &[u8], missing: usize, from: usize, at: Moment, keys: Option<&dyn Keys>) -> Taken {
        let mut bytes = payload;
        let mut first = true;
        while !bytes.is_empty() {
            let Some(long) = header::long(bytes).filter(|_| bytes[0] & 0x80 != 0) else {
                // Also what follows others in the datagram: padding is none of a packet.
                if bytes[0] != 0 {
                    self.short[from] += 1;
                    for (client, turns) in self.turns.iter_mut().enumerate() {
                        turns.take(from == client, bytes.len() + missing);
                    }
                    self.protected[from] += 1;
                    self.left.get_or_insert(BEHIND);
                    if let (Some(keys), 0) = (keys, missing) {
                        self.short(bytes, from, at, keys);
                    }
                }
                break;
            };
            if self.long(&long, from, at, keys, first) == Taken::Another {
                return Taken::Another;
            }
            first = false;
            if long.whole.is_none() && missing == 0 && long.known.is_some() {
                break;
            }
            bytes = long.behind;
        }
        if let Some(left) = &mut self.left {
            match left.checked_sub(1) {
                Some(less) => *left = less,
                None => {
                    self.known = Vec::new();
                    *self.crypto = Default::default();
                }
            }
        }
        Taken::Here
    }

    fn is_over(&self) -> bool {
        self.left == Some(0)
    }

    /// The server knows none of the version that the client began with: what it said counts no more.
    fn begin_again(&mut self) {
        self.known = Vec::new();
        self.before_retry = 0;
        self.client = None;
        self.expected = [0; 2];
        *self.crypto = Default::default();
        self.tls = tls::Session::new();
    }

    /// The client has followed a Retry. The server has kept nothing of what it said before (RFC 9000, section 8.1.2), and clients
    /// are known that say something else now, though they must not (section 17.2.5.3).
    fn begin_behind_retry(&mut self) {
        self.before_retry = self.known.len();
        *self.crypto = Default::default();
        self.tls = tls::Session::new();
    }

    fn long(&mut self, long: &Long<'_>, from: usize, at: Moment, keys: Option<&dyn Keys>, first: bool) -> Taken {
        match long.kind {
            Kind::Initial { number } => {
                if self.initial(long, number, from, at, keys, first) == Taken::Another {
                    return Taken::Another;
                }
            }
            Kind::EarlyData => {
                self.shown.early_data.get_or_insert(at);
                self.protected[from] += 1;
            }
            Kind::Handshake { number } => {
                self.protected[from] += 1;
                if let (Some(whole), Some(version), Some(keys)) = (long.whole, long.known, keys) {
                    self.handshake(whole, number, from, version, at, keys);
                }
            }
            Kind::Retry => {
                // Only before the server's first Initial packet, and once (RFC 9000, section 17.2.5.2).
                if !self.answered && self.retried.is_none() {
                    self.shown.retry = Some(at);
                    self.retried = Some(long.source);
                }
            }
            Kind::VersionNegotiation => {
                if !self.answered && self.client != Some(from) {
                    self.shown.version_negotiation.get_or_insert(at);
                    self.begin_again();
                }
                return Taken::Here;
            }
            Kind::Unknown => {
                self.shown.unopened += 1;
                self.protected[from] += 1;
            }
        }
        self.shown.version = Some(long.version);
        self.learn(long.source);
        if matches!(long.kind, Kind::Initial { .. } | Kind::EarlyData) {
            self.learn(long.destination);
        }
        Taken::Here
    }

    fn side(&self, from: usize) -> Option<Side> {
        let client = self.client?;
        Some(if client == from { Side::Client } else { Side::Server })
    }

    /// A Handshake packet, where its keys were given.
    fn handshake(
        &mut self,
        whole: &[u8],
        number: usize,
        from: usize,
        version: &QuicVersion,
        at: Moment,
        keys: &dyn Keys,
    ) {
        let Some(side) = self.side(from) else { return };
        self.tls.look_for_keys(keys);
        let lane = (side, Epoch::Handshake);
        let opened = self.later.open(whole, &[number], lane, (version, &self.tls), at, keys);
        if let Some((packet, frames)) = opened {
            self.shown.opened_handshake[side.index()] += 1;
            self.read(&packet[frames], side, Epoch::Handshake, at, Some(keys));
        }
    }

    /// A packet with a short header, where its keys were given: its number follows an identifier whose length only its receiver knows.
    fn short(&mut self, packet: &[u8], from: usize, at: Moment, keys: &dyn Keys) {
        let (Some(side), Some(version)) = (self.side(from), self.shown.version.and_then(quic_version)) else {
            return;
        };
        let behind = |cid: &Cid| packet[1..].starts_with(cid.bytes()).then(|| 1 + cid.bytes().len());
        let mut numbers: Vec<usize> = self.cids.iter().filter_map(behind).collect();
        numbers.push(1);
        let lane = (side, Epoch::Application);
        let opened = self.later.open(packet, &numbers, lane, (version, &self.tls), at, keys);
        self.shown.opened_short[side.index()] += u64::from(opened.is_some());
    }

    /// Remembers an identifier that packets are sent to. Short ones tell too little.
    fn learn(&mut self, cid: Cid) {
        if cid.bytes().len() >= 4 && self.cids.len() < CIDS && !self.cids.contains(&cid) {
            self.cids.push(cid);
        }
    }

    fn initial(
        &mut self,
        long: &Long<'_>,
        number: usize,
        from: usize,
        at: Moment,
        keys: Option<&dyn Keys>,
        first: bool,
    ) -> Taken {
        let (Some(whole), Some(version), Some(keys)) = (long.whole, long.known, keys) else {
            self.shown.unopened += 1;
            return Taken::Here;
        };
        let over = self.is_over();
        if over && self.cids.contains(&long.destination) {
            return Taken::Here;
        }
        let destination = long.destination;
        let follows_retry = self.before_retry == 0
            && !self.known.is_empty()
            && self.retried == Some(destination)
            && self.client.is_none_or(|client| client == from);
        if !over
            && !follows_retry
            && let Some((side, packet, frames)) = self.opened(whole, number, from, version, at, keys)
        {
            self.frames(&packet[frames], side, at, Some(keys));
            return Taken::Here;
        }
        // By its own identifier: the first packet, one behind a Retry, or the first of another connection.
        let begun = !self.known.is_empty() || self.short != [0; 2];
        let expected = !begun || self.retried == Some(destination);
        let own = Known {
            version: version.version,
            destination,
            keys: match keys.quic(version, destination.bytes()) {
                Some(keys) => keys,
                None => {
                    self.shown.unopened += 1;
                    return Taken::Here;
                }
            },
        };
        let mut packet = whole.to_vec();
        let Some((found, frames)) = own.keys.open(Side::Client, &mut packet, number, 0) else {
            self.shown.unopened += 1;
            return Taken::Here;
        };
        if !expected {
            // All packets of a datagram have the same identifier (RFC 9000, section 12.2).
            self.shown.unopened += u64::from(!first);
            return if first { Taken::Another } else { Taken::Here };
        }
        if follows_retry && self.known.len() < KEYS {
            self.begin_behind_retry();
        }
        if self.known.len() < KEYS {
            self.known.push(own);
        }
        self.client.get_or_insert(from);
        self.expected[from] = self.expected[from].max(found + 1);
        self.frames(&packet[frames], Side::Client, at, Some(keys));
        Taken::Here
    }

    /// Opens an Initial packet with the keys that are known, or with those that the same identifier makes in another version: which an
    /// end may change to on the way (RFC 9368, section 2.1).
    fn opened(
        &mut self,
        whole: &[u8],
        number: usize,
        from: usize,
        version: &'static QuicVersion,
        at: Moment,
        keys: &dyn Keys,
    ) -> Option<(Side, Vec<u8>, std::ops::Range<usize>)> {
        let same = |known: &&Known| known.version == version.version;
        if !self.known.is_empty() && !self.known.iter().any(|known| same(&known)) && self.known.len() < KEYS {
            let destination = self.known.last()?.destination;
            self.known.push(Known {
                version: version.version,
                destination,
                keys: keys.quic(version, destination.bytes())?,
            });
        }
        let side = if self.client == Some(from) {
            Side::Client
        } else {
            Side::Server
        };
        for (place, known) in self.known.iter().enumerate().rev().filter(|(_, known)| same(known)) {
            let mut packet = whole.to_vec();
            if let Some((found, frames)) = known.keys.open(side, &mut packet, number, self.expected[from]) {
                self.expected[from] = self.expected[from].max(found + 1);
                if place < self.before_retry {
                    // A server that answers what was said before its Retry has not sent one.
                    if side == Side::Server {
                        self.shown.contradicted.get_or_insert(at);
                    }
                    return Some((side, packet, 0..0));
                }
                self.answered |= side == Side::Server;
                return Some((side, packet, frames));
            }
        }
        None
    }

    /// The frames of an Initial packet (RFC 9000, section 12.4).
    fn frames(&mut self, frames: &[u8], from: Side, at: Moment, keys: Option<&dyn Keys>) {
        self.shown.opened += 1;
        self.read(frames, from, Epoch::Early, at, keys);
    }

    /// The frames of a packet of the handshake, or of an Initial one: what is before the handshake's keys.
    fn read(&mut self, frames: &[u8], from: Side, epoch: Epoch, at: Moment, keys: Option<&dyn Keys>) {
        let mut cursor = Cursor::new(frames);
        while let Some(kind) = varint(&mut cursor) {
            if self.frame(kind, &mut cursor, (from, epoch), at, keys).is_none() {
                break;
            }
        }
    }

    fn frame(
        &mut self,
        kind: u64,
        cursor: &mut Cursor<'_>,
        (from, epoch): (Side, Epoch),
        at: Moment,
        keys: Option<&dyn Keys>,
    ) -> Option<()> {
        match kind {
            // PADDING and PING.
            0x00 | 0x01 => {}
            // ACK, with and without counts of ECN.
            0x02 | 0x03 => {
                varint(cursor)?;
                varint(cursor)?;
                let ranges = varint(cursor)?;
                varint(cursor)?;
                for _ in 0..ranges {
                    varint(cursor)?;
                    varint(cursor)?;
                }
                if kind == 0x03 {
                    for _ in 0..3 {
                        varint(cursor)?;
                    }
                }
            }
            // CRYPTO.
            0x06 => {
                let offset = varint(cursor)?;
                let length = usize::try_from(varint(cursor)?).ok()?;
                let bytes = cursor.take(length)?;
                let tls = &mut self.tls;
                let pushed = match (epoch, keys) {
                    (Epoch::Handshake, Some(keys)) => {
                        self.later.crypto[from.index()].push(offset, bytes, at, |bytes, began| {
                            tls.opened_handshake(from, bytes, (began, at), keys);
                        })
                    }
                    _ => self.crypto[from.index()].push(offset, bytes, at, |bytes, began| {
                        tls.handshake(from, bytes, (began, at), keys);
                    }),
                };
                self.shown.omitted += pushed.omitted;
                if pushed.contradicts {
                    self.shown.contradicted.get_or_insert(at);
                }
            }
            // CONNECTION_CLOSE, of the transport and of the application.
            0x1c | 0x1d => {
                let code = varint(cursor)?;
                let close = Close { from, code };
                self.shown.closed.get_or_insert(Seen::new(close, at, at));
                return None;
            }
            _ => return None,
        }
        Some(())
    }

    /// Index of the client, if an Initial packet showed it.
    pub(crate) fn client(&self) -> Option<usize> {
        self.client
    }

    /// Observations of the session.
    pub(crate) fn outcome(mut self) -> Quic {
        let wrong: Vec<_> = self.later.wrong().cloned().collect();
        self.tls.wrong_secrets(wrong);
        let by_side = |[zero, one]: [u64; 2]| {
            if self.client == Some(1) {
                [one, zero]
            } else {
                [zero, one]
            }
        };
        Quic {
            tls: self.tls.outcome(),
            protected: by_side(self.protected),
            short: by_side(self.short),
            answered: self.turns[self.client.unwrap_or(0)].count == ANSWERED,
            ..self.shown
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_close_that_is_sent_again_does_not_accept_the_client() {
        let mut turns = Turns::default();
        for length in [60, 60, 61, 63] {
            turns.take(true, 900);
            turns.take(false, length);
        }
        assert_ne!(turns.count, ANSWERED);
        // Something else is no close.
        turns.take(true, 40);
        turns.take(false, 34);
        assert_eq!(turns.count, ANSWERED);
        let mut turns = Turns::default();
        turns.take(false, 1200);
        turns.take(true, 90);
        assert_ne!(turns.count, ANSWERED, "before the client's Finished");
        turns.take(false, 1200);
        assert_eq!(turns.count, ANSWERED);
    }
}
