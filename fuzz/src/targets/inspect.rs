//! A whole capture, inspected: each packet is answered for, nothing is let through unsaid, and a
//! packet lost, doubled or cut takes no finding and makes nothing better. The same with ledgers,
//! and with a deployment file, next to a recording.

use std::path::Path;

use bartizan_deployment::Deployment;
use bartizan_ledger::Reader;

use super::answered::{Answered, Known, Owned, packets};

/// Longer captures are read, and not damaged.
const LONGEST: usize = 200;

/// Packets, and all damage of one kind each.
pub(super) fn capture(bytes: &[u8]) {
    let packets = packets(bytes);
    let nothing = Known::nothing();
    let before = Answered::of_packets(&packets, &nothing);
    before.assert_accounted("as it is");
    before.assert_written();
    if packets.is_empty() || packets.len() > LONGEST {
        return;
    }
    let chosen = bytes.iter().fold(7usize, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(usize::from(*byte))
    });
    let place = chosen % packets.len();
    let mut lost = packets.clone();
    lost.remove(place);
    let mut doubled = packets.clone();
    doubled.insert(place, packets[place].clone());
    // Another packet with the same headers: an answer of another protocol, another nonce's or
    // another key's bytes.
    let mut altered = doubled.clone();
    if let Some(last) = altered[place].data.last_mut() {
        *last ^= 1 << (chosen >> 11 & 7);
    }
    let mut cut = packets.clone();
    let data = &mut cut[place].data;
    data.truncate(data.len() * (chosen >> 8 & 7) / 8);
    for (what, packets) in [("lost", lost), ("doubled", doubled), ("altered", altered), ("cut", cut)] {
        let after = Answered::of_packets(&packets, &nothing);
        after.assert_accounted(what);
        after.assert_no_better(&before, what);
    }
}

/// The handshake of the recording that the ledgers in the corpus tell of.
fn recorded() -> Vec<Owned> {
    let mut packets = packets(include_bytes!(
        "../../../crates/prove/wire/tests/data/sidecar-hybrid.pcap"
    ));
    packets.truncate(30);
    packets
}

/// Checks that, whatever ledgers say, packets that show a vulnerability stay vulnerable, and a
/// finding from packets stays a finding.
pub(super) fn ledgers(bytes: &[u8]) {
    let packets = recorded();
    let before = Answered::of_packets(&packets, &Known::nothing());
    let known = Known::of_records(Reader::new(bytes).flatten());
    let after = Answered::of_packets(&packets, &known);
    after.assert_accounted("with ledgers");
    after.assert_no_better(&before, "with ledgers");
}

/// Checks that, whatever a deployment file says, a link that is not safe is an objection, or passes
/// under an exception that is named.
pub(super) fn deployment(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(deployment) = Deployment::parse(text, "network.yaml", Path::new("")) else {
        return;
    };
    let after = Answered::of_packets(&recorded(), &Known::listed(deployment));
    after.assert_accounted("with a deployment file");
    after.assert_excused_by_name("with a deployment file");
}
