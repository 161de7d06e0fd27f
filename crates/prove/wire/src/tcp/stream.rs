//! One direction of a connection: segments in any order in, bytes in order out.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use super::Segment;
use crate::allocation::allocated;
use crate::{Moment, work};

/// Bytes a direction may hold back while it waits for an earlier segment. Twice the largest window seen on real SBI
/// links without loss.
const PENDING: usize = 256 * 1024;
/// Cost of a held segment beyond its bytes.
const SEGMENT_COST: usize = 128;
/// A segment this far from the expected one belongs to another connection, or to none: no window is
/// larger (RFC 7323, section 2.3).
const WINDOW: i64 = 1 << 30;
/// A segment this close to what the other end acknowledges is in its window: few are larger.
const NEAR: u32 = 1 << 24;

/// Bytes that all directions together may still hold back.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    limit: usize,
    used: usize,
}

impl Budget {
    /// A budget of so many bytes.
    pub fn new(bytes: usize) -> Self {
        Self { limit: bytes, used: 0 }
    }

    /// Bytes held back.
    pub fn used(&self) -> usize {
        self.used
    }

    fn is_exceeded(&self) -> bool {
        self.used > self.limit
    }
}

/// Output of a stream, in the order of the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery<'a> {
    /// The next bytes.
    Data {
        /// At least one.
        bytes: &'a [u8],
        /// The packet that carried them.
        at: Moment,
    },
    /// Bytes that were sent and are not in the capture.
    Gap {
        /// Number of bytes.
        bytes: u64,
        /// The packet at which they were given up.
        at: Moment,
    },
}

/// Counts of a direction's segments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StreamCounts {
    /// Bytes given, in order.
    pub bytes: u64,
    /// Bytes seen more than once: retransmissions and overlaps. The first copy counts.
    pub repeated: u64,
    /// Segments that came before an earlier one.
    pub early: u64,
    /// Holes given up.
    pub gaps: u64,
    /// Bytes in those holes.
    pub missing: u64,
    /// Segments with data outside any window, or with RST, where it is a remark about the reason
    /// (RFC 9293, section 3.5.3): nothing of them is given.
    pub stray: u32,
    /// Bytes that the sender's FIN or the other end's acknowledgements tell of, behind all that were given or given up.
    pub unseen: u64,
    /// The number of the first packet with bytes that differ from those that were given for the same place.
    pub contradicted: Option<NonZeroU64>,
    /// Segments whose checksum says that their receiver drops them: nothing of them is given.
    pub corrupt: u32,
}

impl StreamCounts {
    /// Bytes that were sent, as far as anything tells: given or not.
    pub fn sent(&self) -> u64 {
        self.bytes.saturating_add(self.missing).saturating_add(self.unseen)
    }
}

/// Bytes of a direction that are kept for comparison: both hellos of TLS 1.3, with chains of ML-DSA behind them.
const KEPT: usize = 16 << 10;
/// Runs without a gap that are kept.
const RUNS: usize = 8;

/// Delivered bytes, kept as long as a retransmission may contradict them: runs without a gap, each
/// behind the offset of its first byte.
#[derive(Clone, Default)]
struct Kept(Vec<(u64, Vec<u8>)>);

impl Kept {
    fn held(&self) -> usize {
        let bytes = self.0.iter().map(|(_, bytes)| allocated(bytes.capacity()));
        allocated(size_of::<Self>()) + allocated(self.0.capacity() * size_of::<(u64, Vec<u8>)>()) + bytes.sum::<usize>()
    }

    /// Returns true if no more bytes delivered from this offset on are kept.
    fn is_full(&self, offset: u64) -> bool {
        let follows = self
            .0
            .last()
            .is_some_and(|(from, run)| *from + run.len() as u64 == offset);
        let bytes: usize = self.0.iter().map(|(_, bytes)| bytes.len()).sum();
        bytes >= KEPT || self.0.len() >= RUNS && !follows
    }

    /// These bytes were given.
    fn give(&mut self, offset: u64, bytes: &[u8]) {
        let room = KEPT.saturating_sub(self.0.iter().map(|(_, bytes)| bytes.len()).sum());
        let bytes = &bytes[..bytes.len().min(room)];
        let more = self.0.len() < RUNS && !bytes.is_empty();
        match self.0.last_mut() {
            Some((from, run)) if *from + run.len() as u64 == offset => run.extend_from_slice(bytes),
            _ if more => self.0.push((offset, bytes.to_vec())),
            _ => {}
        }
    }

    /// Returns true if these bytes differ from those delivered from this offset on.
    fn contradicts(&self, begin: u64, bytes: &[u8]) -> bool {
        let end = begin + bytes.len() as u64;
        work::steps(self.0.len() + bytes.len());
        self.0.iter().any(|(from, run)| {
            let (first, last) = (begin.max(*from), end.min(from + run.len() as u64));
            let place = |start: u64| (first - start) as usize..(last - start) as usize;
            first < last && bytes[place(begin)] != run[place(*from)]
        })
    }
}

#[derive(Clone)]
struct Pending {
    bytes: Box<[u8]>,
    missing: usize,
    at: Moment,
}

impl Pending {
    fn length(&self) -> usize {
        self.bytes.len() + self.missing
    }

    fn cost(&self) -> usize {
        self.bytes.len() + SEGMENT_COST
    }
}

/// Segments that wait for an earlier one.
#[derive(Clone, Default)]
struct Early {
    /// By the offset of their first byte.
    pending: BTreeMap<u64, Pending>,
    cost: usize,
}

impl Early {
    /// Bytes from an offset to the end of the last.
    fn reach(&self, offset: u64) -> u64 {
        let last = self.pending.last_key_value();
        last.map_or(0, |(key, held)| (key + held.length() as u64).saturating_sub(offset))
    }
}

/// Puts one direction's segments in order. Holds back a bounded number of bytes; a hole that outlives the bound becomes
/// a gap.
#[derive(Clone, Default)]
pub struct Stream {
    /// The sequence number that `offset` has; none before the first segment.
    next: Option<u32>,
    /// Bytes given or given up so far.
    offset: u64,
    /// Segments that came early; most streams have none.
    early: Option<Box<Early>>,
    /// Offset at which the sender ends.
    end: Option<u64>,
    /// The first of the other end's acknowledgements, and the furthest.
    acknowledged: Option<(u32, u32)>,
    /// An acknowledgement further from these than any window: the capture may lack all between.
    jumped: Option<u32>,
    /// Delivered bytes, to be compared with retransmissions.
    kept: Option<Box<Kept>>,
    /// Nothing is compared any more.
    settled: bool,
    counts: StreamCounts,
}

impl Stream {
    /// Takes a segment and gives what is now in order. A stream begins with its SYN or, when that was not captured,
    /// with the first segment that has payload.
    pub fn segment(
        &mut self,
        segment: &Segment<'_>,
        at: Moment,
        budget: &mut Budget,
        mut deliver: impl FnMut(Delivery<'_>),
    ) {
        let length = segment.payload.len() + segment.missing;
        let first = segment.sequence.wrapping_add(u32::from(segment.flags.syn()));
        if self.next.is_none() && length == 0 && !segment.flags.syn() {
            return;
        }
        let next = *self.next.get_or_insert(first);
        let Some(distance) = self.distance(first, next) else {
            if length > 0 {
                self.stray();
            }
            return;
        };
        if segment.flags.fin()
            && let Some(end) = self.offset.checked_add_signed(distance + length as i64)
        {
            self.end.get_or_insert(end);
        }
        if length == 0 {
            return;
        }
        match u64::try_from(distance) {
            Ok(ahead) if ahead > 0 => self.hold(ahead, segment, at, budget, &mut deliver),
            _ => {
                let known = usize::try_from(-distance).unwrap_or(usize::MAX).min(length);
                self.counts.repeated += known as u64;
                // A probe repeats the last byte, and need not repeat it right (RFC 9293, section 3.8.4).
                if length > 1 || distance < -1 {
                    self.compare(self.offset.checked_add_signed(distance), segment.payload, known, at);
                }
                self.give(segment.payload, segment.missing, known, at, &mut deliver);
            }
        }
        self.release(budget, &mut deliver);
    }

    /// Distance from the expected byte to the one with this sequence number; none outside any
    /// window. A capture may lack more than a window: then the last segment that came is closer, or
    /// the other end acknowledges it.
    fn distance(&mut self, first: u32, next: u32) -> Option<i64> {
        let signed = |from: u32| i64::from(first.wrapping_sub(from).cast_signed());
        if signed(next).abs() <= WINDOW {
            return Some(signed(next));
        }
        let held = self.held_ahead();
        // Sequence numbers count modulo 2^32.
        let last = next.wrapping_add(held as u32);
        let behind = if signed(last).abs() <= WINDOW {
            signed(last)
        } else {
            let jumped = self.jumped?;
            if first.wrapping_sub(jumped).wrapping_add(NEAR) > 2 * NEAR {
                return None;
            }
            self.jumped = None;
            if let Some((_, furthest)) = &mut self.acknowledged {
                *furthest = jumped;
            }
            i64::from(first.wrapping_sub(last))
        };
        i64::try_from(held).ok()?.checked_add(behind)
    }

    /// Gives what is held back, holes as gaps: nothing more will come.
    pub fn finish(&mut self, budget: &mut Budget, mut deliver: impl FnMut(Delivery<'_>)) {
        while self.skip(&mut deliver) {
            self.release(budget, &mut deliver);
        }
        self.counts.unseen = self.unseen();
    }

    /// The other end has received all before this sequence number, as it says.
    pub fn acknowledged(&mut self, number: u32) {
        let (_, furthest) = self.acknowledged.get_or_insert((number, number));
        match i64::from(number.wrapping_sub(*furthest).cast_signed()) {
            1..=WINDOW => *furthest = number,
            // Anything within a window behind is old.
            ahead if ahead.abs() > WINDOW => self.jumped = Some(number),
            _ => {}
        }
    }

    /// Bytes behind all that came, by FIN and acknowledgements.
    fn unseen(&self) -> u64 {
        let (first, furthest) = self.acknowledged.unwrap_or_default();
        let begin = self.next.unwrap_or(first);
        let ahead = u64::try_from(furthest.wrapping_sub(begin).cast_signed()).unwrap_or(0);
        let ahead = if ahead > WINDOW.unsigned_abs() || self.acknowledged.is_none() {
            0
        } else {
            ahead
        };
        match self.end {
            Some(end) => end.saturating_sub(self.offset),
            // FIN has a number too, and may be what the capture lacks.
            None => ahead.saturating_sub(1),
        }
    }

    /// The sequence number behind all that came, in order or not.
    pub fn furthest(&self) -> Option<u32> {
        Some(self.next?.wrapping_add(self.held_ahead() as u32))
    }

    /// Bytes from the next in order to the last that is held back.
    fn held_ahead(&self) -> u64 {
        self.early.as_ref().map_or(0, |early| early.reach(self.offset))
    }

    /// Returns true if an RST with this sequence number ends the stream: it is the next that the
    /// receiver awaits. Elsewhere in the window it resets nothing (RFC 5961, section 3.2).
    #[must_use]
    pub fn is_reset_at(&self, sequence: u32) -> bool {
        let Some(next) = self.next else { return true };
        let awaited = [
            Some(next),
            self.furthest(),
            self.acknowledged.map(|(_, furthest)| furthest),
        ];
        // The number behind a FIN is one more.
        awaited
            .into_iter()
            .flatten()
            .any(|number| sequence.wrapping_sub(number) <= 1)
    }

    /// Stops the comparison of retransmissions with delivered bytes.
    pub fn settle(&mut self) {
        self.kept = None;
        self.settled = true;
    }

    /// Bytes that what was given holds, until it is settled.
    pub fn held(&self) -> usize {
        self.kept.as_ref().map_or(0, |kept| kept.held())
    }

    /// Nothing of a segment with data is taken, because it is none of the stream.
    pub fn stray(&mut self) {
        self.counts.stray = self.counts.stray.saturating_add(1);
    }

    /// Nothing of a segment is taken, because its receiver drops it.
    pub fn corrupt(&mut self) {
        self.counts.corrupt = self.counts.corrupt.saturating_add(1);
    }

    /// Compares the first `known` bytes of a segment with those that were given for the same place.
    fn compare(&mut self, begin: Option<u64>, payload: &[u8], known: usize, at: Moment) {
        if let (None, Some(begin), Some(kept)) = (self.counts.contradicted, begin, &self.kept)
            && kept.contradicts(begin, &payload[..known.min(payload.len())])
        {
            self.counts.contradicted = NonZeroU64::new(at.packet);
        }
    }

    /// Returns true if the sender's FIN and all bytes before it were delivered.
    #[must_use]
    pub fn ended(&self) -> bool {
        self.end.is_some_and(|end| self.offset >= end)
    }

    /// Returns true if a segment would be delivered at once and unchanged, and not be kept for
    /// comparison.
    pub(crate) fn takes_at_once(&self, segment: &Segment<'_>) -> bool {
        let kept = |kept: &Kept| kept.is_full(self.offset);
        self.next == Some(segment.sequence)
            && self.early.is_none()
            && (self.settled || self.kept.as_deref().is_some_and(kept))
    }

    /// Returns true if all of a segment was delivered or given up before, and nothing is compared
    /// with it.
    pub(crate) fn has_all_of(&self, segment: &Segment<'_>) -> bool {
        let length = (segment.payload.len() + segment.missing) as u32;
        let behind = self.next.map(|next| next.wrapping_sub(segment.sequence));
        // None is as far behind as what is ahead looks.
        self.settled && behind.is_some_and(|behind| behind >= length && behind < NEAR)
    }

    /// Returns true if so much was delivered in order that no segment from before the first that
    /// came can still be waited for.
    pub(crate) fn has_gone_on(&self) -> bool {
        self.counts.bytes > PENDING as u64 && self.counts.gaps == 0
    }

    /// Returns true if a first segment or SYN was seen.
    #[must_use]
    pub fn begun(&self) -> bool {
        self.next.is_some()
    }

    /// Counts so far.
    pub fn counts(&self) -> StreamCounts {
        self.counts
    }

    /// Returns true if an acknowledgement of the other end may be one of these bytes: it is within
    /// a window of the last one.
    #[must_use]
    pub fn is_acknowledged_by(&self, acknowledgement: u32) -> bool {
        self.next
            .is_some_and(|next| acknowledgement.wrapping_sub(next).wrapping_add(NEAR) <= 2 * NEAR)
    }

    /// Returns true if `sequence`, in a SYN, begins this stream (and is not that of a later
    /// connection with the same ports).
    #[must_use]
    pub fn begins_with(&self, sequence: u32) -> bool {
        self.next
            .is_none_or(|next| next.wrapping_sub(self.offset as u32) == sequence.wrapping_add(1))
    }

    /// Keeps a segment that is `ahead` of the expected one.
    fn hold(
        &mut self,
        ahead: u64,
        segment: &Segment<'_>,
        at: Moment,
        budget: &mut Budget,
        deliver: &mut impl FnMut(Delivery<'_>),
    ) {
        let key = self.offset + ahead;
        let length = segment.payload.len() + segment.missing;
        let early = self.early.get_or_insert_default();
        if let Some(held) = early.pending.get(&key) {
            let common = held.bytes.len().min(segment.payload.len());
            if held.bytes[..common] != segment.payload[..common] {
                self.counts.contradicted = self.counts.contradicted.or(NonZeroU64::new(at.packet));
            }
            if held.length() >= length {
                self.counts.repeated += length as u64;
                return;
            }
        }
        self.counts.early += 1;
        let held = Pending {
            bytes: segment.payload.into(),
            missing: segment.missing,
            at,
        };
        early.cost += held.cost();
        budget.used += held.cost();
        if let Some(shorter) = early.pending.insert(key, held) {
            self.counts.repeated += shorter.length() as u64;
            early.cost -= shorter.cost();
            budget.used -= shorter.cost();
        }
        // No window lets a sender fill a hole that is larger than one.
        let is_beyond = |one: &Self| one.held_ahead() > WINDOW.unsigned_abs();
        while (self.cost() > PENDING || budget.is_exceeded() || is_beyond(self)) && self.skip(deliver) {
            self.release(budget, deliver);
        }
    }

    /// Gives up the hole before the first held segment; says whether there was one.
    fn skip(&mut self, deliver: &mut impl FnMut(Delivery<'_>)) -> bool {
        let first = self.early.as_ref().and_then(|early| early.pending.first_key_value());
        let Some((key, at)) = first.map(|(key, held)| (*key, held.at)) else {
            return false;
        };
        let hole = key.saturating_sub(self.offset);
        if hole > 0 {
            self.gap(hole, at, deliver);
        }
        true
    }

    /// Gives every held segment that the expected offset has reached.
    fn release(&mut self, budget: &mut Budget, deliver: &mut impl FnMut(Delivery<'_>)) {
        while let Some(early) = &mut self.early
            && let Some(entry) = early.pending.first_entry()
            && *entry.key() <= self.offset
        {
            let begin = *entry.key();
            let known = usize::try_from(self.offset - begin).unwrap_or(usize::MAX);
            let held = entry.remove();
            early.cost -= held.cost();
            budget.used -= held.cost();
            let known = known.min(held.length());
            self.counts.repeated += known as u64;
            self.compare(Some(begin), &held.bytes, known, held.at);
            self.give(&held.bytes, held.missing, known, held.at, deliver);
        }
        if self.early.as_ref().is_some_and(|early| early.pending.is_empty()) {
            self.early = None;
        }
    }

    /// Memory cost of the held segments.
    fn cost(&self) -> usize {
        self.early.as_ref().map_or(0, |early| early.cost)
    }

    /// Gives a segment at the expected offset whose first `known` bytes were given before.
    fn give(
        &mut self,
        payload: &[u8],
        missing: usize,
        known: usize,
        at: Moment,
        deliver: &mut impl FnMut(Delivery<'_>),
    ) {
        let bytes = payload.get(known..).unwrap_or_default();
        if !bytes.is_empty() {
            if !self.settled {
                self.kept.get_or_insert_default().give(self.offset, bytes);
            }
            self.advance(bytes.len() as u64);
            self.counts.bytes += bytes.len() as u64;
            deliver(Delivery::Data { bytes, at });
        }
        let missing = missing.saturating_sub(known.saturating_sub(payload.len()));
        if missing > 0 {
            self.gap(missing as u64, at, deliver);
        }
    }

    fn gap(&mut self, bytes: u64, at: Moment, deliver: &mut impl FnMut(Delivery<'_>)) {
        self.advance(bytes);
        self.counts.gaps += 1;
        self.counts.missing += bytes;
        deliver(Delivery::Gap { bytes, at });
    }

    fn advance(&mut self, bytes: u64) {
        self.offset += bytes;
        // Sequence numbers count modulo 2^32: the upper half of a 64-bit offset is not part of them.
        self.next = self.next.map(|next| next.wrapping_add(bytes as u32));
    }
}

#[cfg(test)]
mod tests;
