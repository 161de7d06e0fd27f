//! Captures as damage leaves them: what a network may do to segments changes nothing, and what a capture lacks makes nothing
//! safe.

use std::collections::BTreeMap;

use bartizan_posture::Judgement;

use super::frame::{Capture, Frame, Packet};
use super::judged::{Judged, answers, is_safe, judge};

/// SplitMix64 (Steele, Lea, Flood, 2014).
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound.max(1) as u64) as usize
    }
}

/// Times that each kind of damage is done, by another seed each.
const ROUNDS: u64 = 6;
/// Number of packets out of which one is lost, swapped, doubled or cut in two.
const ONE_OF: [usize; 3] = [3, 10, 40];
/// Snap lengths, in bytes of a frame.
pub(crate) const SNAP: [usize; 8] = [54, 80, 120, 200, 320, 500, 800, 1200];

/// Segments and datagrams of one direction swapped, doubled, overlapping: everything is judged as it was.
pub(crate) fn assert_borne(name: &str, file: &[u8]) {
    let (capture, before) = (Capture::read(file), judge(file));
    for seed in 0..ROUNDS {
        let one_of = ONE_OF[seed as usize % ONE_OF.len()];
        let mut chance = Chance::new(seed);
        for (what, packets) in [
            ("swapped", swapped(&capture, &mut chance, one_of)),
            ("doubled", doubled(&capture, &mut chance, one_of)),
            ("overlapping", overlapping(&capture, &mut chance, one_of)),
        ] {
            let possible = what != "overlapping" || has_segments(&capture);
            assert_eq!(packets != capture.packets, possible, "{name}: {what}");
            let after = judge(&capture.with(packets).file());
            assert_same(&before, &after, &format!("{name}, {what}, seed {seed}"));
        }
    }
}

/// Packets lost, cut, and the file cut anywhere: no verdict becomes safe, and none becomes
/// vulnerable.
pub(crate) fn assert_no_rise(name: &str, file: &[u8]) {
    let (capture, before) = (Capture::read(file), judge(file));
    let check = |file: &[u8], what: String| {
        let after = judge(file);
        let what = format!("{name}, {what}");
        after.assert_no_better(&before, &what);
        assert_no_accusation(&before, &after, &what);
        after.safe()
    };
    for seed in 0..ROUNDS {
        let one_of = ONE_OF[seed as usize % ONE_OF.len()];
        let mut chance = Chance::new(seed ^ 0x5eed);
        let mut packets = capture.packets.clone();
        packets.retain(|_| chance.below(one_of) > 0);
        check(
            &capture.with(packets).file(),
            format!("one of {one_of} lost, seed {seed}"),
        );
        let cut = chance.below(file.len());
        check(&file[..cut], format!("cut at {cut}"));
    }
    let of = |length: usize| {
        let packets = capture.packets.iter().map(|packet| packet.snapped(length)).collect();
        check(&capture.with(packets).file(), format!("snapped at {length}"))
    };
    let safe = SNAP.map(of);
    assert_eq!(safe[0], 0, "{name}: of headers alone nothing is safe");
}

/// Returns true if two consecutive packets are of one direction that may bring them in any order.
fn may_swap(one: &Packet, two: &Packet) -> bool {
    let (one, two) = (Frame::read(&one.bytes), Frame::read(&two.bytes));
    let stream = |frame: &Frame<'_>| match frame.protocol {
        6 => !frame.begins_or_ends(),
        // The first ESP packet to arrive shows if the association's beginning was seen.
        17 => frame.is_on(500) || frame.payload().starts_with(&[0; 4]),
        _ => false,
    };
    one.ends.is_some() && one.ends == two.ends && stream(&one) && stream(&two)
}

pub(crate) fn swapped(capture: &Capture, chance: &mut Chance, one_of: usize) -> Vec<Packet> {
    let mut packets = capture.packets.clone();
    let pairs: Vec<usize> = (1..packets.len())
        .filter(|&at| may_swap(&packets[at - 1], &packets[at]))
        .collect();
    // At least one, each packet at most once.
    let mut next = 0;
    for (nth, &at) in pairs.iter().enumerate() {
        if at > next && (nth == 0 || chance.below(one_of) == 0) {
            packets.swap(at - 1, at);
            next = at + 1;
        }
    }
    packets
}

fn has_segments(capture: &Capture) -> bool {
    let mut packets = capture.packets.iter();
    packets.any(|packet| Frame::read(&packet.bytes).protocol == 6)
}

pub(crate) fn doubled(capture: &Capture, chance: &mut Chance, one_of: usize) -> Vec<Packet> {
    let mut packets = Vec::new();
    for packet in &capture.packets {
        packets.push(packet.clone());
        if chance.below(one_of) == 0 {
            packets.push(packet.clone());
        }
    }
    packets
}

/// Segments in two pieces that have a third of its bytes in common; of IP fragments and datagrams there is no such thing.
pub(crate) fn overlapping(capture: &Capture, chance: &mut Chance, one_of: usize) -> Vec<Packet> {
    let mut packets = Vec::new();
    let mut done = false;
    for packet in &capture.packets {
        let frame = Frame::read(&packet.bytes);
        let length = frame.payload().len();
        if frame.protocol != 6 || frame.begins_or_ends() || length < 3 || (done && chance.below(one_of) > 0) {
            packets.push(packet.clone());
            continue;
        }
        done = true;
        packets.push(packet.with(frame.with_payload(&frame.payload()[..length * 2 / 3])));
        let by = u32::try_from(length / 3).unwrap();
        packets.push(packet.with(frame.moved(by, &frame.payload()[length / 3..])));
    }
    packets
}

fn assert_same(before: &Judged, after: &Judged, what: &str) {
    let essence = |judged: &Judged| -> BTreeMap<_, _> {
        let of = judged.postures.iter().map(|(subject, posture)| {
            let verdicts = [&posture.confidentiality, &posture.authenticity].map(Judgement::verdict);
            let exchanged = (posture.group, posture.key_exchanges.clone());
            (*subject, (posture.kind, verdicts, answers(posture), exchanged))
        });
        of.collect()
    };
    let (before, after) = (essence(before), essence(after));
    for (subject, was) in &before {
        assert_eq!(Some(was), after.get(subject), "{what}: {subject:?}");
    }
    assert_eq!(before.len(), after.len(), "{what}");
}

/// A safe verdict becomes unknown at worst: a missing packet is no evidence of a weakness.
fn assert_no_accusation(before: &Judged, after: &Judged, what: &str) {
    for (subject, is) in &after.postures {
        let was = before.postures.get(subject);
        let accused = is.confidentiality.verdict().is_vulnerable();
        if accused && was.is_some_and(is_safe) {
            panic!("{what}: {subject:?}: {}", is.confidentiality.because());
        }
    }
}
