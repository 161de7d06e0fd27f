//! Packets of one SCTP association in both directions; the first byte of each says which. Each TSN
//! that came is counted once.

use std::collections::BTreeSet;

use bartizan_wire::sctp::{Data, Tracker, packet};
use bartizan_wire::{Ending, Moment, Timestamp};

use super::slices;

pub(super) fn run(bytes: &[u8]) {
    let ends = ["10.0.0.1:1000".parse().unwrap(), "10.0.0.2:2000".parse().unwrap()];
    let mut tracker: Option<Tracker> = None;
    let (mut packets, mut chunks, mut length) = ([0u64; 2], [0u64; 2], [0u64; 2]);
    let mut numbers = [BTreeSet::new(), BTreeSet::new()];
    for (number, slice) in slices(bytes).enumerate() {
        let at = Moment {
            packet: number as u64 + 1,
            time: Timestamp(number as u64),
        };
        let Some((direction, Some(read))) = slice.split_first().map(|(first, rest)| (first & 1, packet(rest, 0)))
        else {
            continue;
        };
        let way = usize::from(direction);
        packets[way] += 1;
        for data in read.chunks().filter_map(|chunk| Data::read(&chunk)) {
            chunks[way] += 1;
            length[way] += (data.payload.len() + data.missing) as u64;
            numbers[way].insert(data.tsn);
        }
        let tracker = tracker.get_or_insert_with(|| Tracker::new(1, ends[0], ends[1], &read, at));
        tracker.packet(&read, way, (ends[0].ip(), ends[1].ip()), at, None, |_| {});
    }
    let Some(tracker) = tracker else { return };
    let association = tracker.finish(Ending::Open, |_| {});
    let sent = [&association.from_initiator, &association.from_responder];
    // The packets that arrived decide which end is the initiator.
    let sum = |of: fn(&bartizan_wire::sctp::Sent) -> u64| sent.iter().map(|sent| of(sent)).sum::<u64>();
    assert_eq!(sum(|sent| sent.packets), packets.iter().sum::<u64>());
    let distinct = numbers.iter().map(BTreeSet::len).sum::<usize>() as u64;
    assert!(sum(|sent| sent.chunks) <= distinct, "a TSN counts twice");
    assert!(sum(|sent| sent.chunks + sent.repeated) <= chunks.iter().sum());
    assert!(sum(|sent| sent.bytes) <= length.iter().sum());
    assert!(sum(|sent| sent.messages) <= sum(|sent| sent.chunks));
    assert!(
        sent.iter()
            .all(|sent| sent.fragmented <= sent.messages && sent.longest <= sent.bytes)
    );
    if distinct == chunks.iter().sum::<u64>() {
        assert!(
            sent.iter().all(|sent| sent.contradicted.is_none()),
            "what came once contradicts nothing"
        );
    }
}
