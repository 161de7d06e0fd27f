//! IP packets without a link header, one after another: each is behind its length in two bytes.
//! Fragments, UDP, TCP, SCTP, ESP and IKE are reached from here, with next to no memory allowed as
//! well.

use bartizan_wire::link::LinkType;
use bartizan_wire::{Limits, Observer, work};

use super::{Everything, packets};

/// Steps for a packet, and for each byte of it. The most that one takes is where each chunk of
/// SCTP, of 16 bytes, is looked for among the thousand that wait for their acknowledgement.
const STEPS: u64 = 300;

pub(super) fn run(bytes: &[u8]) {
    let limits = Limits::default();
    let tight = Limits {
        memory: limits.held_bytes + 3000,
        ..limits
    };
    let counts = [limits, tight].map(|limits| {
        let mut observer = Observer::new(limits);
        let mut everything = Everything::default();
        let before = work::taken();
        packets(bytes, LinkType::RAW, |packet| observer.observe(packet, &mut everything));
        observer.finish_into(&mut everything);
        let totals = observer.totals();
        let steps = work::taken() - before;
        assert!(
            steps <= STEPS * (totals.packets + totals.bytes),
            "{steps} steps for {} bytes",
            totals.bytes
        );
        let begun = totals.connections + totals.associations + totals.ike_sas + totals.esp_sas;
        let captured = everything.captured;
        assert_eq!(everything.judge(), begun, "all that began is given");
        let elsewhere = totals.unread.values().map(|one| one.packets);
        let omitted = totals.omitted.values().map(|one| one.packets);
        let accounted = captured + elsewhere.sum::<u64>() + omitted.sum::<u64>();
        assert_eq!(accounted, totals.packets, "each packet belongs to something");
        (totals.packets, totals.untracked)
    });
    assert_eq!(counts[0].0, counts[1].0);
    assert_eq!(counts[0].1, 0, "memory for all");
}
