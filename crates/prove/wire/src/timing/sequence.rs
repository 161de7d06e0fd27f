//! Classification of one direction's segments by their sequence numbers: sent once, sent again, or
//! late.
//!
//! The words are Wireshark's (`tcp.analysis.*`), and so are the rules, so that both count alike.

use super::Seen;
use crate::Timestamp;

/// Within this time a segment behind the highest one is out of order rather than sent again, where
/// no round trip is known: what Wireshark takes.
const REORDERED_WITHIN_NS: u64 = 3_000_000;
/// A second copy that follows duplicate acknowledgements within this time is a fast retransmission,
/// whatever the round trip.
const FAST_WITHIN_NS: u64 = 20_000_000;

/// Packets of one end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sent {
    /// Packets.
    pub packets: u64,
    /// Bytes of their frames on the wire.
    pub frame_bytes: u64,
    /// Packets with payload.
    pub data_packets: u64,
    /// Bytes of payload, copies included.
    pub payload_bytes: u64,
    /// Segments sent again.
    pub retransmitted: u64,
    /// Segments that came behind a later one, too soon to have been sent again.
    pub out_of_order: u64,
    /// Segments whose predecessor was not captured when they came: lost on the way to where the
    /// capture was made, late, or missed by the capture.
    pub holes: u64,
}

/// One direction, while it lives.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sequence {
    pub(super) sent: Sent,
    /// The sequence number behind the highest byte sent.
    next: Option<u32>,
    /// Time at which that byte was sent.
    advanced: Timestamp,
    /// The last acknowledgement this end gave, how often in a row without data, and when.
    acknowledged: Option<u32>,
    duplicates: u32,
    acknowledged_at: Timestamp,
}

impl Sequence {
    /// Takes a packet of this direction; `other` is the opposite one.
    pub(super) fn packet(&mut self, seen: &Seen<'_>, other: &Self, round_trip_ns: Option<u64>) {
        let (segment, now) = (&seen.segment, seen.at.time);
        let length = segment.payload.len() + segment.missing;
        let flags = segment.flags;
        self.sent.packets += 1;
        self.sent.frame_bytes += u64::from(seen.length);
        if length > 0 {
            self.sent.data_packets += 1;
            self.sent.payload_bytes += length as u64;
        }
        let first = segment.sequence;
        // SYN and FIN take a number each; lengths are below 2^32.
        let occupied = (length as u32).wrapping_add(u32::from(flags.syn()) + u32::from(flags.fin()));
        let end = first.wrapping_add(occupied);
        if let (Some(next), true) = (self.next, occupied > 0) {
            // One byte before the next is what keep-alives repeat.
            let keep_alive = length <= 1 && !flags.syn() && !flags.fin() && first == next.wrapping_sub(1);
            let behind = before(first, next);
            // A copy of what is known to have arrived, even where the capture does not have the first.
            let known_to_receiver = other
                .acknowledged
                .is_some_and(|acknowledged| length > 0 && !before(acknowledged, first.wrapping_add(length as u32)));
            if keep_alive {
                // Neither lost nor late.
            } else if known_to_receiver {
                self.sent.retransmitted += 1;
            } else if behind {
                let since = now.since(self.advanced);
                let fast = other.duplicates >= 2
                    && other.acknowledged == Some(first)
                    && now.since(other.acknowledged_at) < FAST_WITHIN_NS;
                let threshold = round_trip_ns.unwrap_or(REORDERED_WITHIN_NS);
                if !fast && since < threshold && end != next {
                    self.sent.out_of_order += 1;
                } else {
                    self.sent.retransmitted += 1;
                }
            } else if before(next, first) && !flags.rst() {
                self.sent.holes += 1;
            }
        }
        if occupied > 0 && self.next.is_none_or(|next| before(next, end) || flags.syn()) {
            self.next = Some(end);
            self.advanced = now;
        }
        if flags.ack() {
            let again = self.acknowledged == Some(seen.acknowledgement) && occupied == 0;
            self.duplicates = if again { self.duplicates.saturating_add(1) } else { 0 };
            if self
                .acknowledged
                .is_none_or(|acknowledged| !before(seen.acknowledgement, acknowledged))
            {
                self.acknowledged = Some(seen.acknowledgement);
                self.acknowledged_at = now;
            }
        }
    }
}

/// Returns true if one sequence number lies before another (RFC 9293, section 3.4).
fn before(one: u32, other: u32) -> bool {
    one.wrapping_sub(other).cast_signed() < 0
}
