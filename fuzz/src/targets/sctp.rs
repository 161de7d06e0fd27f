//! Packets of one SCTP association in both directions; the first byte of each says which.

use bartizan_wire::sctp::{Tracker, packet};
use bartizan_wire::{Ending, Moment, Timestamp};

use super::slices;

pub(super) fn run(bytes: &[u8]) {
    let ends = ["10.0.0.1:1000".parse().unwrap(), "10.0.0.2:2000".parse().unwrap()];
    let mut tracker: Option<Tracker> = None;
    for (number, slice) in slices(bytes).enumerate() {
        let at = Moment {
            packet: number as u64 + 1,
            time: Timestamp(number as u64),
        };
        let Some((direction, Some(read))) = slice.split_first().map(|(first, rest)| (first & 1, packet(rest, 0)))
        else {
            continue;
        };
        let tracker = tracker.get_or_insert_with(|| Tracker::new(1, ends[0], ends[1], &read, at));
        tracker.packet(&read, direction.into(), (ends[0].ip(), ends[1].ip()), at, None, |_| {});
    }
    if let Some(tracker) = tracker {
        tracker.finish(Ending::Open, |_| {});
    }
}
