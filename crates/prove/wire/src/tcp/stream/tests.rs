use proptest::prelude::*;

use super::*;
use crate::Timestamp;
use crate::tcp::segment;

fn at(packet: u64) -> Moment {
    Moment {
        packet,
        time: Timestamp(packet),
    }
}

const FIN: u8 = 0x01;
const SYN: u8 = 0x02;

/// A direction under test: what it gave, gaps as `?`.
struct Under {
    stream: Stream,
    budget: Budget,
    given: Vec<u8>,
    gaps: Vec<(usize, u64)>,
    packet: u64,
}

impl Under {
    fn new() -> Self {
        Self {
            stream: Stream::default(),
            budget: Budget::new(1 << 30),
            given: Vec::new(),
            gaps: Vec::new(),
            packet: 0,
        }
    }

    fn take(&mut self, sequence: u32, flags: u8, payload: &[u8], missing: usize) {
        let mut bytes = vec![0; 20];
        bytes[4..8].copy_from_slice(&sequence.to_be_bytes());
        bytes[12] = 0x50;
        bytes[13] = flags;
        bytes.extend(payload);
        self.packet += 1;
        let Self {
            stream,
            budget,
            given,
            gaps,
            packet,
        } = self;
        stream.segment(&segment(&bytes, missing).unwrap(), at(*packet), budget, |delivery| {
            record(delivery, given, gaps);
        });
    }

    fn data(&mut self, sequence: u32, payload: &[u8]) {
        self.take(sequence, 0, payload, 0);
    }

    fn finish(&mut self) {
        let Self {
            stream,
            budget,
            given,
            gaps,
            ..
        } = self;
        stream.finish(budget, |delivery| record(delivery, given, gaps));
    }
}

fn record(delivery: Delivery<'_>, given: &mut Vec<u8>, gaps: &mut Vec<(usize, u64)>) {
    match delivery {
        Delivery::Data { bytes, .. } => given.extend(bytes),
        Delivery::Gap { bytes, .. } => gaps.push((given.len(), bytes)),
    }
}

#[test]
fn other_bytes_for_the_same_place_are_reported_whichever_come_first_and_however_they_are_cut() {
    for (segments, contradicted) in [
        (vec![(1, "abcdef"), (1, "abcdef"), (3, "cd"), (5, "efgh")], None),
        (vec![(1, "abcdef"), (1, "abXdef")], Some(2)),
        (vec![(1, "abcdef"), (4, "dXfgh")], Some(2)),
        // Held back for an earlier one: the same place, a longer and a shorter one, across its boundary.
        (vec![(4, "def"), (4, "dXf")], Some(2)),
        (vec![(4, "de"), (4, "dXfgh")], Some(2)),
        (vec![(4, "def"), (1, "abcX")], Some(1)),
        // A probe repeats the last byte, whatever it says.
        (vec![(1, "abc"), (3, "\0")], None),
        (vec![(1, "abc"), (2, "\0")], Some(2)),
    ] {
        let mut under = Under::new();
        under.take(0, SYN, b"", 0);
        for (sequence, payload) in &segments {
            under.data(*sequence, payload.as_bytes());
        }
        under.finish();
        let reported = under.stream.counts().contradicted.map(|packet| packet.get() - 1);
        assert_eq!(reported, contradicted, "{segments:?}");
    }
    let mut settled = Under::new();
    settled.data(1, b"abc");
    settled.stream.settle();
    settled.data(1, b"abX");
    assert_eq!(settled.stream.counts().contradicted, None);
    assert_eq!(settled.stream.held(), 0);
}

#[test]
fn bytes_that_acknowledgements_or_fin_tell_of_are_unseen() {
    let unseen = |acknowledgements: &[u32], fin: Option<u32>| {
        let mut under = Under::new();
        under.take(0, SYN, b"", 0);
        under.data(1, b"abc");
        acknowledgements
            .iter()
            .for_each(|number| under.stream.acknowledged(*number));
        if let Some(sequence) = fin {
            under.take(sequence, FIN, b"", 0);
        }
        under.finish();
        under.stream.counts().unseen
    };
    assert_eq!(unseen(&[1, 4], None), 0);
    assert_eq!(unseen(&[1, 5], None), 0, "FIN was acknowledged");
    assert_eq!(unseen(&[1, 104], None), 99);
    assert_eq!(unseen(&[1, 5], Some(4)), 0);
    assert_eq!(unseen(&[], Some(104)), 100);
}

#[test]
fn segments_in_any_order_come_out_in_the_order_sent() {
    let mut under = Under::new();
    under.take(100, SYN, b"", 0);
    under.data(107, b"ghi");
    under.data(104, b"def");
    assert_eq!(under.given, b"");
    under.data(101, b"abc");
    assert_eq!(under.given, b"abcdefghi");
    assert_eq!(under.stream.counts().early, 2);
}

#[test]
fn the_first_copy_of_a_byte_counts() {
    let mut under = Under::new();
    under.take(0, SYN, b"", 0);
    under.data(1, b"abcd");
    under.data(1, b"XXXX");
    under.data(3, b"YYef");
    assert_eq!(under.given, b"abcdef");
    assert_eq!(under.stream.counts().repeated, 6);
}

#[test]
fn a_longer_copy_of_a_held_segment_replaces_the_shorter() {
    let mut under = Under::new();
    under.take(0, SYN, b"", 0);
    under.data(3, b"c");
    under.data(3, b"cd");
    under.data(3, b"c");
    under.data(1, b"ab");
    assert_eq!(under.given, b"abcd");
}

#[test]
fn sequence_numbers_pass_through_zero() {
    let mut under = Under::new();
    under.take(u32::MAX - 2, SYN, b"", 0);
    under.data(u32::MAX - 1, b"abc");
    under.data(1, b"def");
    assert_eq!(under.given, b"abcdef");
    assert!(under.stream.begins_with(u32::MAX - 2));
    assert!(!under.stream.begins_with(77));
}

#[test]
fn data_on_syn_is_the_first_data() {
    let mut under = Under::new();
    under.take(9, SYN, b"early", 0);
    under.data(15, b" data");
    assert_eq!(under.given, b"early data");
}

#[test]
fn a_stream_without_syn_begins_with_its_first_payload() {
    let mut under = Under::new();
    under.take(41, 0x10, b"", 0);
    assert!(!under.stream.begun());
    under.data(42, b"middle");
    assert_eq!(under.given, b"middle");
}

#[test]
fn a_keep_alive_repeats_a_byte_and_gives_none() {
    let mut under = Under::new();
    under.take(0, SYN, b"", 0);
    under.data(1, b"abc");
    under.data(3, b"\0");
    under.data(4, b"d");
    assert_eq!(under.given, b"abcd");
}

#[test]
fn a_snapped_segment_gives_what_was_captured_and_a_gap_for_the_rest() {
    let mut under = Under::new();
    under.take(0, SYN, b"", 0);
    under.take(1, 0, b"head", 96);
    under.data(101, b"next");
    assert_eq!(under.given, b"headnext");
    assert_eq!(under.gaps, [(4, 96)]);
}

#[test]
fn a_hole_is_given_up_at_the_end_and_not_before() {
    let mut under = Under::new();
    under.take(0, SYN, b"", 0);
    under.data(1, b"a");
    under.data(12, b"b");
    assert_eq!(under.gaps, []);
    under.finish();
    assert_eq!(under.given, b"ab");
    assert_eq!(under.gaps, [(1, 10)]);
    assert_eq!(under.stream.counts().missing, 10);
}

#[test]
fn a_hole_that_holds_back_too_much_is_given_up_and_the_budget_is_whole_again() {
    let mut under = Under::new();
    under.budget = Budget::new(64 * 1024);
    under.take(0, SYN, b"", 0);
    let mut sequence = 1001;
    for _ in 0..200 {
        under.data(sequence, &[7; 1000]);
        sequence += 1000;
    }
    assert_eq!(under.gaps, [(0, 1000)]);
    assert_eq!(under.given.len(), 200_000);
    assert_eq!(under.budget.used, 0);
}

#[test]
fn segments_of_one_byte_do_not_hold_more_than_their_cost_allows() {
    let mut under = Under::new();
    under.take(0, SYN, b"", 0);
    for index in 0..100_000u32 {
        under.data(10 + 2 * index, b"x");
        assert!(under.stream.early.as_ref().map_or(0, |early| early.pending.len()) <= PENDING / SEGMENT_COST + 1);
    }
}

#[test]
fn fin_ends_a_stream_only_when_all_before_it_has_come() {
    let mut under = Under::new();
    under.take(0, SYN, b"", 0);
    under.take(4, FIN, b"def", 0);
    assert!(!under.stream.ended());
    under.data(1, b"abc");
    assert!(under.stream.ended());
    assert_eq!(under.given, b"abcdef");
}

#[test]
fn a_segment_outside_any_window_is_ignored() {
    let mut under = Under::new();
    under.take(0, SYN, b"", 0);
    under.data(0x7000_0000, b"stray");
    under.data(1, b"a");
    under.finish();
    assert_eq!(under.given, b"a");
    assert_eq!(under.stream.counts().stray, 1);
}

#[test]
fn what_both_ends_speak_of_is_of_the_stream_though_the_capture_lacks_gigabytes_before_it() {
    // Sequence numbers and acknowledgements as in a transfer of several rounds of 2^32 of which a
    // filter kept few packets.
    let mut under = Under::new();
    under.take(3_914_442_133, SYN, b"", 0);
    under.data(3_914_442_134, b"one");
    for (acknowledged, sequence, bytes) in [
        (3_914_442_137, 4_294_811_574, b"two"),
        (238_246, 238_246, b"thr"),
        (1_912_709_798, 1_912_709_798, b"fou"),
        (3_880_231_590, 3_880_231_590, b"fiv"),
        (4_294_943_398, 4_294_943_398, b"six"),
        // The same place of the next round.
        (238_246, 238_246, b"sev"),
        (238_249, 741_173_030, b"eig"),
    ] {
        under.stream.acknowledged(acknowledged);
        under.data(sequence, bytes);
    }
    under.finish();
    let counts = under.stream.counts();
    assert_eq!((counts.stray, counts.contradicted, counts.repeated), (0, None, 0));
    assert_eq!(under.given, b"onetwothrfoufivsixseveig");
}

#[test]
fn an_acknowledgement_alone_makes_no_segment_one_of_the_stream() {
    let mut under = Under::new();
    under.take(0, SYN, b"", 0);
    under.stream.acknowledged(1);
    under.stream.acknowledged(0x7000_0000);
    under.data(0x5000_0000, b"stray");
    under.data(1, b"a");
    under.finish();
    assert_eq!(under.given, b"a");
    assert_eq!(under.stream.counts().stray, 1);
}

proptest! {
    /// Cut a message anywhere, shuffle and repeat the pieces: it comes out whole.
    #[test]
    fn any_order_of_overlapping_segments_gives_the_message(
        message in prop::collection::vec(any::<u8>(), 1..400),
        start in any::<u32>(),
        pieces in prop::collection::vec((any::<prop::sample::Index>(), 1usize..80), 0..40),
        seed in any::<prop::sample::Selector>(),
    ) {
        // Pieces that surely cover it, and more that overlap them.
        let mut all: Vec<(usize, usize)> = (0..message.len()).step_by(37).map(|from| (from, 37)).collect();
        all.extend(pieces.iter().map(|(index, length)| (index.index(message.len()), *length)));
        let mut order: Vec<usize> = (0..all.len()).collect();
        let mut shuffled = Vec::new();
        while !order.is_empty() {
            let chosen = *seed.select(&order);
            order.retain(|index| *index != chosen);
            shuffled.push(all[chosen]);
        }
        let mut under = Under::new();
        under.take(start, SYN, b"", 0);
        for (from, length) in shuffled {
            let to = (from + length).min(message.len());
            under.data(start.wrapping_add(1).wrapping_add(from as u32), &message[from..to]);
        }
        prop_assert_eq!(&under.given, &message);
        prop_assert!(under.gaps.is_empty());
        prop_assert_eq!(under.budget.used, 0);
    }

    #[test]
    fn no_segments_make_a_stream_panic_or_lose_count(
        segments in prop::collection::vec((prop_oneof![0u32..600, any::<u32>()], any::<u8>(), prop::collection::vec(any::<u8>(), 0..50), 0usize..3000), 0..60),
    ) {
        let mut under = Under::new();
        for (sequence, flags, payload, missing) in &segments {
            under.take(*sequence, *flags, payload, *missing);
        }
        under.finish();
        let counts = under.stream.counts();
        prop_assert_eq!(counts.bytes, under.given.len() as u64);
        prop_assert_eq!(counts.missing, under.gaps.iter().map(|(_, bytes)| bytes).sum::<u64>());
        prop_assert_eq!(under.budget.used, 0);
        prop_assert_eq!(under.stream.cost(), 0);
    }
}

/// A receiver answers an RST elsewhere in its window with an acknowledgement, and goes on.
#[test]
fn a_reset_is_at_the_number_that_the_receiver_awaits() {
    let mut under = Under::new();
    assert!(under.stream.is_reset_at(77), "nothing came: a refused connection");
    under.take(0, SYN, b"", 0);
    under.data(1, b"abcd");
    under.stream.acknowledged(3);
    for (sequence, resets) in [(5, true), (3, true), (1005, false), (1, false), (u32::MAX, false)] {
        assert_eq!(under.stream.is_reset_at(sequence), resets, "{sequence}");
    }
    // Bytes that are held back were sent, and so was what follows a FIN.
    under.take(9, FIN, b"ij", 0);
    assert!(under.stream.is_reset_at(11) && under.stream.is_reset_at(12));
}
