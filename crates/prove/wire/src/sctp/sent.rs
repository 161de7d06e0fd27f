//! Data of one end of an association: chunks put in order, messages counted, acknowledgements
//! timed.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::{Data, Event, Sack};
use crate::allocation::allocated;
use crate::opening::Prefix;
use crate::{Moment, work};

/// DATA chunks that wait for an earlier one. Linux's default window holds fewer.
const EARLY: usize = 512;
/// DATA chunks that wait for their acknowledgement.
const UNACKNOWLEDGED: usize = 1024;
/// Room that stays for these once all are acknowledged.
const RESTING: usize = 8;
/// A TSN this far from the expected one is outside the association.
const WINDOW: u32 = 1 << 20;
/// Payload protocols distinguished.
const PROTOCOLS: usize = 8;

/// Delay of acknowledgements, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Delays {
    /// Number of timed chunks.
    pub count: u64,
    /// Shortest.
    pub least: u64,
    /// Longest.
    pub most: u64,
    /// All together.
    pub total: u64,
}

impl Delays {
    fn take(&mut self, delay: u64) {
        self.least = if self.count == 0 { delay } else { self.least.min(delay) };
        self.most = self.most.max(delay);
        self.total = self.total.saturating_add(delay);
        self.count += 1;
    }
}

/// Data of one end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sent {
    /// SCTP packets.
    pub packets: u64,
    /// DATA and I-DATA chunks, each TSN once.
    pub chunks: u64,
    /// Bytes of user messages in these.
    pub bytes: u64,
    /// Whole user messages, counted in the order of their TSNs.
    pub messages: u64,
    /// Messages in more than one chunk.
    pub fragmented: u64,
    /// Bytes of the longest whole one.
    pub longest: u64,
    /// Chunks whose TSN was seen before: retransmissions.
    pub repeated: u64,
    /// The first packet with a chunk that was sent before with other bytes, and not acknowledged yet.
    pub contradicted: Option<Moment>,
    /// TSNs that were given up: they are not in the capture.
    pub missing: u64,
    /// Payload protocol identifiers, and chunks of each; chunks of more than eight are not counted.
    pub payload_protocols: Vec<(u32, u64)>,
    /// Packets that were not read, because their checksum is wrong where others of this end have
    /// right ones: their receiver drops them.
    pub corrupt: u64,
    /// Packets were read whose checksum is wrong, before others of this end had right ones.
    pub sums_changed: bool,
    /// Chunks that may carry data and were not read: of an unknown type, truncated, or with a TSN
    /// outside any window; and packets with more than the chunks that are read.
    pub unread: u64,
    /// HEARTBEAT chunks.
    pub heartbeats: u64,
    /// DTLS chunks (not DTLS in user messages).
    pub dtls_chunks: u64,
    /// From each DATA chunk of this end, sent once, to the SACK of the other that acknowledges it.
    pub acknowledged_after: Delays,
    /// The first bytes of the first user message.
    pub opening: Prefix,
}

/// A chunk in the order of TSNs, without its bytes.
#[derive(Debug, Clone, Copy)]
struct Piece {
    stream: u16,
    payload_protocol: Option<u32>,
    begins: bool,
    ends: bool,
    length: u64,
    at: Moment,
}

/// A message that has begun.
#[derive(Debug, Clone, Copy)]
struct Open {
    first: Piece,
    bytes: u64,
    chunks: u32,
}

#[derive(Debug, Clone, Copy)]
struct Waiting {
    tsn: u32,
    at: Moment,
    /// Count of its captured bytes, and whether they are all.
    said: Said,
    /// Retransmitted: it is unknown which of the two was acknowledged.
    again: bool,
    acknowledged: bool,
}

/// Tells chunks apart that have one TSN: by chance alone two are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Said {
    digest: u32,
    captured: u16,
    whole: bool,
}

impl Said {
    fn of(data: &Data<'_>) -> Self {
        let mut hasher = DefaultHasher::new();
        data.payload.hash(&mut hasher);
        Self {
            digest: hasher.finish() as u32,
            // A chunk has a length of two octets.
            captured: data.payload.len() as u16,
            whole: data.missing == 0,
        }
    }

    /// True where two chunks cannot be one: more of one than of the other may have been captured.
    fn differs(&self, other: &Self) -> bool {
        let comparable = self.captured == other.captured || self.whole && other.whole;
        comparable && self.digest != other.digest
    }
}

/// One direction of an association while it lives.
#[derive(Clone, Default)]
pub(super) struct Direction {
    pub(super) sent: Sent,
    /// The TSN of the first chunk: as INIT says, or of the first in the capture.
    begins_at: Option<u32>,
    /// The TSN that is next in order.
    next: Option<u32>,
    early: BTreeMap<u32, Piece>,
    open: Option<Open>,
    waiting: VecDeque<Waiting>,
}

impl Direction {
    /// Bytes it holds on the heap, about.
    pub(super) fn held(&self) -> usize {
        self.early.len() * (size_of::<(u32, Piece)>() + 8)
            + allocated(self.waiting.capacity() * size_of::<Waiting>())
            + allocated(self.sent.payload_protocols.capacity() * size_of::<(u32, u64)>())
    }

    /// The first TSN, as INIT says.
    pub(super) fn begin(&mut self, tsn: u32) {
        self.begins_at.get_or_insert(tsn);
        self.next.get_or_insert(tsn);
    }

    /// The TSN of its first chunk, where one is known.
    pub(super) fn begins_at(&self) -> Option<u32> {
        self.begins_at
    }

    /// Takes a DATA chunk; says whether its TSN is new.
    pub(super) fn data(&mut self, data: &Data<'_>, from: usize, at: Moment, give: &mut impl FnMut(Event)) -> bool {
        self.begin(data.tsn);
        let next = self.next.unwrap_or(data.tsn);
        let ahead = data.tsn.wrapping_sub(next);
        let behind = next.wrapping_sub(data.tsn);
        if ahead > WINDOW && behind > WINDOW {
            self.sent.unread += 1;
            return false;
        }
        let early = ahead <= WINDOW;
        if !early || self.early.contains_key(&data.tsn) {
            self.sent.repeated += 1;
            work::steps(self.waiting.len());
            if let Some(waiting) = self.waiting.iter_mut().find(|waiting| waiting.tsn == data.tsn) {
                waiting.again = true;
                if waiting.said.differs(&Said::of(data)) {
                    self.sent.contradicted.get_or_insert(at);
                }
            }
            return false;
        }
        self.sent.chunks += 1;
        self.sent.bytes += data.length() as u64;
        if let Some(protocol) = data.payload_protocol {
            self.count(protocol);
        }
        if self.waiting.len() == UNACKNOWLEDGED {
            self.waiting.pop_front();
        }
        self.waiting.push_back(Waiting {
            tsn: data.tsn,
            at,
            said: Said::of(data),
            again: false,
            acknowledged: false,
        });
        let piece = Piece {
            stream: data.stream,
            payload_protocol: data.payload_protocol,
            begins: data.begins,
            ends: data.ends,
            length: data.length() as u64,
            at,
        };
        if ahead == 0 {
            self.next = Some(next.wrapping_add(1));
            self.place(piece, from, give);
            if self.early.is_empty() {
                return true;
            }
        } else {
            self.early.insert(data.tsn, piece);
        }
        self.release(from, give);
        if self.early.len() > EARLY {
            self.skip(from, give);
        }
        true
    }

    /// Takes the other end's acknowledgement of what this one sent.
    pub(super) fn acknowledged(&mut self, sack: &Sack<'_>, from: usize, at: Moment, give: &mut impl FnMut(Event)) {
        let Self { waiting, sent, .. } = self;
        for entry in waiting.iter_mut() {
            work::steps(1);
            if entry.acknowledged || !sack.acknowledges(entry.tsn) {
                // Without gap blocks nothing behind the cumulative TSN is acknowledged, and all before it is gone.
                if !entry.acknowledged && !sack.has_gaps() {
                    break;
                }
                continue;
            }
            entry.acknowledged = true;
            if !entry.again {
                sent.acknowledged_after.take(at.time.since(entry.at.time));
                give(Event::Acknowledged {
                    from,
                    tsn: entry.tsn,
                    data: entry.at,
                    sack: at,
                });
            }
        }
        while waiting.front().is_some_and(|entry| entry.acknowledged) {
            waiting.pop_front();
        }
        // A burst long ago must not be paid for as long as the association lives.
        if waiting.is_empty() && waiting.capacity() > RESTING {
            waiting.shrink_to(RESTING);
        }
    }

    /// The sender will not send what is before this TSN (FORWARD TSN).
    pub(super) fn forward(&mut self, tsn: u32, from: usize, give: &mut impl FnMut(Event)) {
        let Some(next) = self.next else { return };
        let ahead = tsn.wrapping_sub(next).wrapping_add(1);
        if ahead == 0 || ahead > WINDOW {
            return;
        }
        self.open = None;
        let last = tsn.wrapping_add(1);
        self.early.retain(|&early, _| early.wrapping_sub(last) <= WINDOW);
        self.next = Some(last);
        self.release(from, give);
    }

    /// Nothing more will come.
    pub(super) fn finish(mut self, from: usize, give: &mut impl FnMut(Event)) -> Sent {
        while !self.early.is_empty() {
            self.skip(from, give);
        }
        self.sent
    }

    /// Gives up the hole before the earliest chunk that waits.
    fn skip(&mut self, from: usize, give: &mut impl FnMut(Event)) {
        let Some(next) = self.next else { return };
        work::steps(self.early.len());
        let Some(first) = self.early.keys().copied().min_by_key(|tsn| tsn.wrapping_sub(next)) else {
            return;
        };
        self.sent.missing += u64::from(first.wrapping_sub(next));
        self.open = None;
        self.next = Some(first);
        self.release(from, give);
    }

    fn release(&mut self, from: usize, give: &mut impl FnMut(Event)) {
        while let Some(next) = self.next
            && let Some(piece) = self.early.remove(&next)
        {
            self.next = Some(next.wrapping_add(1));
            self.place(piece, from, give);
        }
    }

    /// The next chunk in order.
    fn place(&mut self, piece: Piece, from: usize, give: &mut impl FnMut(Event)) {
        if piece.begins {
            self.open = Some(Open {
                first: piece,
                bytes: 0,
                chunks: 0,
            });
        }
        let Some(open) = &mut self.open else {
            // The beginning of this message was before the capture, or is missing from it.
            return;
        };
        open.bytes += piece.length;
        open.chunks = open.chunks.saturating_add(1);
        if piece.ends {
            let Open { first, bytes, chunks } = *open;
            self.open = None;
            self.sent.messages += 1;
            self.sent.fragmented += u64::from(chunks > 1);
            self.sent.longest = self.sent.longest.max(bytes);
            give(Event::Message {
                from,
                stream: first.stream,
                payload_protocol: first.payload_protocol,
                bytes,
                chunks,
                first: first.at,
                last: piece.at,
            });
        }
    }

    fn count(&mut self, protocol: u32) {
        let known = &mut self.sent.payload_protocols;
        if let Some((_, count)) = known.iter_mut().find(|(known, _)| *known == protocol) {
            *count += 1;
        } else if known.len() < PROTOCOLS {
            known.push((protocol, 1));
        }
    }
}
