//! One exchange: a request and its response, each of one message or of several IKE fragments.

use std::num::NonZeroU32;

use super::{ExchangeType, Header, Party};
use crate::Moment;
use crate::allocation::allocated;

/// Most fragments of one message that are distinguished. FrodoKEM-1344 in fragments of 576 bytes has 40.
const FRAGMENTS: u16 = 128;

bartizan_registry::made! {
    /// A request or a response.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Half, pub(super) new(arrival: &super::Arrival) {
        /// The packet with its first byte.
        pub first: Moment = arrival.first,
        /// The packet that made it complete, or the newest of a message that is not complete.
        pub last: Moment = arrival.at,
        /// IP packets, repeated ones and parts of fragmented ones included.
        pub packets: u32 = 0,
        /// Number of IP fragments among them.
        pub ip_fragments: u32 = 0,
        /// Bytes of IKE messages without repeated ones: headers, and all that is encrypted.
        pub bytes: u64 = 0,
        /// Bytes of all IP packets as sent, headers included.
        pub ip_bytes: u64 = 0,
        /// IKE fragments it came in; zero where it came in one message.
        pub fragments: u16 = 0,
        /// Messages that were seen before: retransmissions.
        pub repeated: u32 = 0,
        pub(super) complete: bool = false,
    }
}

impl Half {
    /// Returns true if every fragment of it was seen.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// Bytes that its encrypted payloads can have at most.
    pub fn capacity(&self) -> u64 {
        let messages = u64::from(self.fragments.max(1));
        self.bytes.saturating_sub(messages * (Header::LENGTH as u64 + 4))
    }

    /// Takes a message or a fragment of it, of which `step` says what it adds.
    pub(super) fn take(&mut self, bytes: u64, step: Step, arrival: &super::Arrival) {
        self.packets = self.packets.saturating_add(arrival.packets);
        self.ip_bytes += arrival.ip_bytes;
        if arrival.packets > 1 {
            self.ip_fragments = self.ip_fragments.saturating_add(arrival.packets);
        }
        if step.anew {
            self.bytes = 0;
        }
        self.fragments = step.fragments;
        self.complete = step.complete;
        if step.repeated {
            self.repeated = self.repeated.saturating_add(1);
        } else {
            self.bytes += bytes;
            self.last = arrival.at;
        }
    }
}

/// The parts of a request or a response that were seen.
#[derive(Debug, Clone, Default)]
pub(super) struct Assembly {
    fragments: u16,
    complete: bool,
    /// Digest of its content, if it came as one message.
    pub(super) digest: Option<NonZeroU32>,
    /// None where no fragment came: most messages are whole, and idle IKE_SAs many.
    pieces: Option<Box<Pieces>>,
}

/// The fragments that came.
#[derive(Debug, Clone, Default)]
struct Pieces {
    /// A bit for each, as long as some are missing.
    seen: u128,
    /// Number, total and digest of each.
    digests: Vec<(u16, u16, u32)>,
}

/// The parts that a message, or a fragment of it, adds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    /// It was there before, or is not to be counted.
    pub(super) repeated: bool,
    /// The message begins anew, cut otherwise.
    anew: bool,
    fragments: u16,
    complete: bool,
}

impl Assembly {
    pub(super) fn is_complete(&self) -> bool {
        self.complete
    }

    /// Bytes it holds besides its own.
    pub(super) fn held(&self) -> usize {
        self.pieces.as_ref().map_or(0, |pieces| {
            allocated(size_of::<Pieces>()) + allocated(pieces.digests.capacity() * size_of::<(u16, u16, u32)>())
        })
    }

    /// Returns true if a fragment differs from an earlier one with its number. A message that was
    /// fragmented anew has other numbers.
    pub(super) fn differs(&mut self, (number, total): (u16, u16), digest: u32) -> bool {
        let digests = &mut self.pieces.get_or_insert_default().digests;
        let mut known = digests.iter();
        if let Some((.., before)) = known.find(|known| (known.0, known.1) == (number, total)) {
            return *before != digest;
        }
        if digests.len() < usize::from(FRAGMENTS) {
            digests.push((number, total, digest));
        }
        false
    }

    /// Takes a message, or the fragment with this number of so many.
    pub(super) fn take(&mut self, fragment: Option<(u16, u16)>) -> Step {
        let (number, total) = fragment.unwrap_or((1, 0));
        let mut seen = self.pieces.as_ref().map_or(0, |pieces| pieces.seen);
        // A sender may cut a message anew, into smaller and so into more fragments (RFC 7383, section 2.5.2).
        let anew = total > self.fragments && !self.complete;
        if anew {
            self.fragments = total;
            seen = 0;
        }
        let bit = 1u128.checked_shl(u32::from(number - 1)).unwrap_or(0);
        let stale = total < self.fragments;
        let repeated = self.complete || stale || bit == 0 || seen & bit != 0;
        if !repeated {
            seen |= bit;
            self.complete = total <= FRAGMENTS && seen.count_ones() >= u32::from(total.max(1));
        }
        let missing = if self.complete { 0 } else { seen };
        if missing != 0 || self.pieces.is_some() {
            self.pieces.get_or_insert_default().seen = missing;
        }
        Step {
            repeated,
            anew,
            fragments: self.fragments,
            complete: self.complete,
        }
    }
}

/// A request and its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// Exchange type.
    pub kind: ExchangeType,
    /// Its number among the requests of its sender.
    pub message_id: u32,
    /// Party that sent the request.
    pub requester: Party,
    /// The request, if the capture has it.
    pub request: Option<Half>,
    /// The response, if the capture has it.
    pub response: Option<Half>,
}

impl Exchange {
    /// From the request's first byte to the response's last, in nanoseconds; none unless both are complete.
    pub fn duration(&self) -> Option<u64> {
        let (request, response) = (self.request.as_ref()?, self.response.as_ref()?);
        let complete = request.complete && response.complete;
        complete.then(|| response.last.time.since(request.first.time))
    }

    /// Bytes that the encrypted payloads of either half can have at most: a key exchange whose data are longer is not
    /// in it. None where a half is missing or incomplete.
    pub fn capacity(&self) -> Option<(u64, u64)> {
        let (request, response) = (self.request.as_ref()?, self.response.as_ref()?);
        (request.complete && response.complete).then(|| (request.capacity(), response.capacity()))
    }

    /// The first packet of either half.
    pub fn first(&self) -> Option<Moment> {
        self.request.or(self.response).map(|half| half.first)
    }

    /// The last packet of either half.
    pub fn last(&self) -> Option<Moment> {
        self.response.or(self.request).map(|half| half.last)
    }
}

bartizan_registry::made! {
    /// A CREATE_CHILD_SA and the exchanges that follow it up: another CHILD_SA, or a rekey of one
    /// or of the IKE_SA. The kind and the methods are encrypted; sizes and the exchanges themselves
    /// are not.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Rekey,
    /// A CREATE_CHILD_SA that nothing followed yet; none where neither half of it was seen.
    pub(super) of(create: &Exchange) -> Option<Self> {
        let refused = create
            .response
            .is_some_and(|response| response.complete && response.bytes < Self::SMALLEST_AGREEMENT);
        /// The first packet of the CREATE_CHILD_SA.
        pub first: Moment = create.first()?,
        /// The last packet of the last of them.
        pub last: Moment = create.last()?,
        /// Its IKE_FOLLOWUP_KE, one for each additional key exchange.
        pub follow_ups: u8 = 0,
        refused: bool,
        capacity: Option<(u64, u64)> = create.capacity(),
    }
}

impl Rekey {
    /// Fewest bytes of a response that agrees to something: the header; SK with an eight-byte IV, a byte of padding
    /// length and an eight-byte check; SA with one proposal of a four-byte SPI and two transforms, one of them with a
    /// key length; a nonce of 16 bytes. A response below that is a refusal.
    const SMALLEST_AGREEMENT: u64 = 28 + (4 + 8 + 1 + 8) + (4 + 8 + 4 + 12 + 8) + (4 + 16);
    /// Additional key exchanges of one rekey: ADDKE1 to ADDKE7.
    const FOLLOW_UPS: u8 = 7;

    /// Takes an IKE_FOLLOWUP_KE.
    pub(super) fn follow(&mut self, exchange: &Exchange) {
        if self.follow_ups == Self::FOLLOW_UPS {
            return;
        }
        self.follow_ups += 1;
        self.last = exchange.last().unwrap_or(self.last);
        if let (Some(best), Some(next)) = (&mut self.capacity, exchange.capacity())
            && next.0.min(next.1) > best.0.min(best.1)
        {
            *best = next;
        }
    }

    /// Returns true if the response is too short to agree to anything (TEMPORARY_FAILURE,
    /// INVALID_KE_PAYLOAD, ...).
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.refused
    }

    /// The roomiest of its exchanges: bytes its request and its response have for encrypted payloads. None where the
    /// CREATE_CHILD_SA was not seen whole.
    pub fn capacity(&self) -> Option<(u64, u64)> {
        self.capacity
    }
}
