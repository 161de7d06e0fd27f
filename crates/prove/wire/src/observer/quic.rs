//! Tables in which connections of QUIC are found: connection identifiers, and the sockets that used
//! them last.

use super::datagrams::Key;
use super::keyed::Table;
use super::memory::Memory;
use super::paths::PathId;
use crate::datagrams::DatagramProtocol;
use crate::end::End;
use crate::quic::{self, Cid};
use crate::udp::Udp;

/// Port of HTTP/3.
const HTTPS: u16 = 443;
/// An encrypted packet is no shorter: a packet number of one byte with what it numbers, and a tag,
/// behind an identifier of no length (RFC 9000, section 10.3 has 21 for what must look like one).
const SHORTEST: usize = 21;

#[derive(Default)]
pub(super) struct Places {
    /// The latest connection between two sockets.
    latest: Table<Key, u32>,
    /// The sockets that a connection has moved to, recognised by its identifiers: it may choose others there.
    moved: Table<Key, Key>,
    by_cid: Table<Cid, Key>,
    /// Lengths of the identifiers that are known, as bits.
    lengths: u32,
}

impl Places {
    /// Returns true if a datagram without a long header belongs to a known connection, or on the
    /// port of HTTP/3 looks like one of a connection that began before the capture.
    pub(super) fn has(&self, udp: &Udp<'_>, ends: [End; 2], path: PathId) -> bool {
        let Some(first) = udp.payload.first() else { return false };
        // QUIC sends nothing readable.
        let encrypted = || !quic::is_text(udp.payload);
        if let Some(long) = quic::long(udp.payload) {
            // The fixed bit of later packets may be greased (RFC 9287).
            let key = Key::new(DatagramProtocol::Quic, path, ends);
            return long.known.is_some() && self.latest.contains_key(&key)
                || self.by_cid(&long.destination, ends).is_some();
        }
        if self.latest.contains_key(&Key::new(DatagramProtocol::Quic, path, ends)) {
            // With a greased fixed bit, a connection identifier decides.
            let fixed = first & 0x40 != 0;
            return (fixed && encrypted()) || self.by_short(udp, ends).is_some();
        }
        if self.by_short(udp, ends).is_some() {
            return encrypted();
        }
        let moved = || self.moved.contains_key(&Key::new(DatagramProtocol::Quic, path, ends));
        if first & 0xc0 == 0x40 && !self.moved.is_empty() && moved() {
            return encrypted();
        }
        first & 0xc0 == 0x40
            && (udp.source_port == HTTPS || udp.destination_port == HTTPS)
            && udp.payload.len() + udp.missing >= SHORTEST
            && encrypted()
    }

    /// The connection that a datagram belongs to; one that is not there yet where none is known.
    pub(super) fn find(&self, udp: &Udp<'_>, ends: [End; 2], path: PathId) -> Key {
        let by_cid = match quic::long(udp.payload) {
            Some(long) => self.by_cid(&long.destination, ends),
            None => self.by_short(udp, ends),
        };
        by_cid.unwrap_or_else(|| {
            let key = Key::new(DatagramProtocol::Quic, path, ends);
            match (self.latest.get(&key), self.moved.get(&key)) {
                (Some(connection), _) => Key {
                    connection: *connection,
                    ..key
                },
                (None, Some(moved)) => *moved,
                (None, None) => key,
            }
        })
    }

    /// Another connection between the sockets of a datagram, behind the one that it was taken for.
    pub(super) fn another(&self, taken_for: Key, ends: [End; 2], path: PathId) -> Key {
        let key = Key::new(DatagramProtocol::Quic, path, ends);
        let latest = self.latest.get(&key).copied().unwrap_or(0);
        let same = Key {
            connection: 0,
            ..taken_for
        } == key;
        let before = if same { latest.max(taken_for.connection) } else { latest };
        let begun = same || self.latest.contains_key(&key);
        Key {
            connection: before + u32::from(begun),
            ..key
        }
    }

    /// A packet of a connection came, with identifiers that are new.
    pub(super) fn learn(&mut self, key: Key, ends: [End; 2], path: PathId, new: &[Cid], memory: &mut Memory) {
        let place = Key::new(DatagramProtocol::Quic, path, ends);
        let same = Key { connection: 0, ..key } == place;
        if same {
            let latest = self.latest.entry(place).or_default();
            *latest = key.connection.max(*latest);
            self.latest.grown(memory);
        } else {
            self.moved.insert(place, key);
            self.moved.grown(memory);
        }
        for cid in new {
            self.by_cid.insert(*cid, key);
            self.lengths |= 1 << cid.bytes().len();
        }
        if !new.is_empty() {
            self.by_cid.grown(memory);
        }
    }

    /// Forgets connections.
    pub(super) fn forget(&mut self, gone: impl Fn(&Key) -> bool, memory: &mut Memory) {
        let before = self.by_cid.len();
        self.by_cid.retain(|_, key| !gone(key));
        self.latest.retain(|place, connection| {
            !gone(&Key {
                connection: *connection,
                ..*place
            })
        });
        self.moved.retain(|_, key| !gone(key));
        self.moved.shrink(memory);
        if self.by_cid.len() < before {
            self.by_cid.shrink(memory);
        }
        self.latest.shrink(memory);
    }

    /// By the identifier behind the first byte of a packet with a short header, which says nothing of its length.
    fn by_short(&self, udp: &Udp<'_>, ends: [End; 2]) -> Option<Key> {
        let behind = udp.payload.get(1..).filter(|_| udp.payload[0] & 0x80 == 0)?;
        let mut lengths = self.lengths;
        while lengths != 0 {
            let length = lengths.trailing_zeros();
            lengths &= lengths - 1;
            let cid = behind.get(..length as usize).and_then(Cid::new);
            if let Some(key) = cid.and_then(|cid| self.by_cid(&cid, ends)) {
                return Some(key);
            }
        }
        None
    }

    fn by_cid(&self, cid: &Cid, [source, destination]: [End; 2]) -> Option<Key> {
        let key = self.by_cid.get(cid)?;
        let [source, destination] = [source, destination].map(|end| key.ends.contains(&end));
        // One end at most has moved since, and with it what carries the packets.
        (source || destination).then_some(*key)
    }
}
