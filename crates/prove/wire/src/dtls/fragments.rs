//! Handshake messages put together from their fragments (RFC 6347, section 4.2.3).

use std::collections::BTreeMap;

use crate::Moment;
use crate::allocation::allocated;
use crate::tls::LONGEST_MESSAGE;

/// Bytes of a handshake message's header.
const HEADER: usize = 12;
/// Messages of one end that wait for fragments at a time.
const MESSAGES: usize = 8;
/// Fragments of one message that wait.
const FRAGMENTS: usize = 64;
/// Messages and fragments of one record.
const IN_ONE_RECORD: usize = 16;

/// The messages of one end, until all of one is there.
#[derive(Clone, Default)]
pub(super) struct Fragments(BTreeMap<u16, Partial>);

#[derive(Clone)]
struct Partial {
    kind: u8,
    length: usize,
    /// Pieces by their first byte.
    pieces: BTreeMap<usize, Vec<u8>>,
    bytes: usize,
    first: Moment,
}

/// A whole message.
pub(super) struct Message<'a> {
    pub(super) kind: u8,
    /// Its place in the order of the sender's messages.
    pub(super) sequence: u16,
    pub(super) body: &'a [u8],
    pub(super) first: Moment,
    pub(super) last: Moment,
}

impl Fragments {
    /// Takes the body of a record; gives each message it completes of these `kinds`.
    pub(super) fn push(
        &mut self,
        mut record: &[u8],
        kinds: &[u8],
        (first, last): (Moment, Moment),
        mut give: impl FnMut(Message<'_>),
    ) {
        for _ in 0..IN_ONE_RECORD {
            let Some((header, rest)) = record.split_first_chunk::<HEADER>() else {
                return;
            };
            let three = |at: usize| u32::from_be_bytes([0, header[at], header[at + 1], header[at + 2]]) as usize;
            let (kind, length, offset, part) = (header[0], three(1), three(6), three(9));
            let sequence = u16::from_be_bytes([header[4], header[5]]);
            let Some((bytes, behind)) = rest.split_at_checked(part) else {
                return;
            };
            record = behind;
            if offset + part > length || length > LONGEST_MESSAGE || !kinds.contains(&kind) {
                continue;
            }
            if part == length {
                let body = bytes;
                give(Message {
                    kind,
                    sequence,
                    body,
                    first,
                    last,
                });
                continue;
            }
            if part == 0 || !self.has_room(sequence, part) {
                continue;
            }
            let partial = self.0.entry(sequence).or_insert_with(|| Partial {
                kind,
                length,
                pieces: BTreeMap::new(),
                bytes: 0,
                first,
            });
            if (partial.kind, partial.length) != (kind, length) {
                // Two messages under one number: it is unknown which of them the other end took.
                self.0.remove(&sequence);
                continue;
            }
            let whole = match partial.take(offset, bytes) {
                true => partial.whole(),
                false => Whole::Contradictory,
            };
            match whole {
                Whole::Wanting => {}
                Whole::Contradictory => drop(self.0.remove(&sequence)),
                Whole::There(body) => {
                    let first = partial.first;
                    self.0.remove(&sequence);
                    give(Message {
                        kind,
                        sequence,
                        body: &body,
                        first,
                        last,
                    });
                }
            }
        }
    }

    /// Returns true if a fragment may wait. Fragments that are never completed are not evicted: an
    /// end that sends such has no handshake to be read.
    fn has_room(&self, sequence: u16, part: usize) -> bool {
        let bytes: usize = self.0.values().map(|partial| partial.bytes).sum();
        let (known, others) = match self.0.get(&sequence) {
            Some(partial) => (partial.pieces.len(), 0),
            None => (0, self.0.len()),
        };
        known < FRAGMENTS && others < MESSAGES && bytes + part <= 2 * LONGEST_MESSAGE
    }

    /// Bytes it holds on the heap, about.
    pub(super) fn held(&self) -> usize {
        let pieces = |partial: &Partial| {
            let bytes = partial.pieces.values().map(|piece| allocated(piece.capacity()));
            bytes.sum::<usize>() + partial.pieces.len() * (size_of::<(usize, Vec<u8>)>() + 8)
        };
        let partials = self.0.values().map(pieces).sum::<usize>();
        partials + self.0.len() * (size_of::<(u16, Partial)>() + 8)
    }
}

enum Whole {
    Wanting,
    /// Two fragments say different things of the same bytes.
    Contradictory,
    There(Vec<u8>),
}

impl Partial {
    /// Takes a fragment; returns true if it agrees with one that begins at the same place. The
    /// longer of the two is kept: a retransmission may be fragmented differently.
    fn take(&mut self, offset: usize, bytes: &[u8]) -> bool {
        let known = self.pieces.get(&offset).map_or(&[][..], Vec::as_slice);
        let both = known.len().min(bytes.len());
        if known[..both] != bytes[..both] {
            return false;
        }
        if known.len() < bytes.len() {
            self.bytes += bytes.len() - known.len();
            self.pieces.insert(offset, bytes.to_vec());
        }
        true
    }

    fn whole(&self) -> Whole {
        let mut reaches = 0;
        for (&offset, piece) in &self.pieces {
            if offset > reaches {
                return Whole::Wanting;
            }
            reaches = reaches.max(offset + piece.len());
        }
        if reaches < self.length {
            return Whole::Wanting;
        }
        let mut body = Vec::with_capacity(self.length);
        for (&offset, piece) in &self.pieces {
            let known = body.len() - offset;
            let (again, new) = piece.split_at(known.min(piece.len()));
            if body[offset..offset + again.len()] != *again {
                return Whole::Contradictory;
            }
            body.extend_from_slice(new);
        }
        Whole::There(body)
    }
}
