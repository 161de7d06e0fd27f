//! Time and packet of an observation.

/// Time a packet was captured: nanoseconds since 1970-01-01 00:00 UTC, as the capture says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// Nanoseconds from `earlier` to this; zero where a capture's clock went back.
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// One packet of a capture, as evidence names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Moment {
    /// Number of the packet in its capture, from 1: the number Wireshark shows.
    pub packet: u64,
    /// Capture time.
    pub time: Timestamp,
}

impl Moment {
    /// Widens a span of time to this packet, unless it has no time.
    pub(crate) fn widen(self, earliest: &mut Option<Self>, latest: &mut Option<Self>) {
        if self.time.0 == 0 {
            return;
        }
        if earliest.is_none_or(|known| self.time < known.time) {
            *earliest = Some(self);
        }
        if latest.is_none_or(|known| self.time >= known.time) {
            *latest = Some(self);
        }
    }
}

/// A value read from the wire, with the packets that carried its first and its last byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen<T> {
    /// The value read.
    pub value: T,
    /// The packet with its first byte.
    pub first: Moment,
    /// The packet with its last byte; equal to `first` where one packet holds it all.
    pub last: Moment,
}

impl<T> Seen<T> {
    pub(crate) fn new(value: T, first: Moment, last: Moment) -> Self {
        Self { value, first, last }
    }
}
