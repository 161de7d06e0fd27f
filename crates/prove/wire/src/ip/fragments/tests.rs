use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;

use super::*;
use crate::Timestamp;

fn at(packet: u64) -> Moment {
    Moment {
        packet,
        time: Timestamp(packet * 1_000_000),
    }
}

fn part(identification: u32, offset: u32, bytes: &[u8], more: bool) -> Datagram<'_> {
    Datagram {
        source: Ipv4Addr::new(10, 0, 0, 1).into(),
        destination: Ipv4Addr::new(10, 0, 0, 2).into(),
        protocol: 17,
        payload: bytes,
        missing: 0,
        length: bytes.len() + 20,
        fragment: Fragment::Part {
            identification,
            offset,
            more,
        },
    }
}

#[test]
fn a_packet_in_three_parts_is_whole_whatever_their_order() {
    let payload: Vec<u8> = (0..40).collect();
    let parts = [
        (0u32, &payload[..16], true),
        (16, &payload[16..32], true),
        (32, &payload[32..], false),
    ];
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [2, 0, 1]] {
        let mut fragments = Fragments::new(FragmentLimits::default());
        let mut last = Taken::Refused;
        for (number, &index) in order.iter().enumerate() {
            let (offset, bytes, more) = parts[index];
            last = fragments.take(&part(7, offset, bytes, more), at(number as u64 + 1));
        }
        let expected = Taken::Whole {
            payload: payload.clone(),
            protocol: 17,
            parts: 3,
            length: 100,
            first: at(1),
            captured: last_captured(&last),
        };
        assert_eq!(last, expected, "{order:?}");
        assert_eq!((fragments.held, given_up(&mut fragments)), (0, 0));
    }
}

/// Packets given up since the last call.
fn given_up(fragments: &mut Fragments) -> u64 {
    fragments.take_abandoned().iter().map(|one| one.captured.packets).sum()
}

fn last_captured(taken: &Taken) -> Captured {
    match taken {
        Taken::Whole { captured, .. } => *captured,
        _ => Captured::default(),
    }
}

#[test]
fn a_packet_names_all_that_brought_it_and_what_is_given_up_names_its_hosts() {
    let mut fragments = Fragments::new(FragmentLimits::default());
    fragments.take(&part(7, 0, &[1; 8], true), at(1));
    fragments.take(&part(7, 0, &[1; 8], true), at(2));
    let whole = fragments.take(&part(7, 8, &[2; 3], false), at(3));
    assert_eq!(last_captured(&whole).packets, 3);
    let one = part(8, 0, &[1; 8], true);
    fragments.take_in(5, &one, at(4), Captured { packets: 1, bytes: 60 });
    fragments.finish();
    let [given_up] = fragments.take_abandoned()[..] else {
        panic!("one packet")
    };
    assert_eq!((given_up.source, given_up.destination), (one.source, one.destination));
    assert_eq!((given_up.path, given_up.captured.bytes, given_up.first), (5, 60, at(4)));
}

#[test]
fn what_is_whole_leaves_nothing_behind_though_no_time_passes() {
    let mut fragments = Fragments::new(FragmentLimits::default());
    for identification in 0..20_000 {
        fragments.take(&part(identification, 0, &[1; 8], true), at(1));
        let whole = fragments.take(&part(identification, 8, &[2; 3], false), at(1));
        assert!(matches!(whole, Taken::Whole { .. }));
    }
    assert!(fragments.order.len() <= TIDY, "{} places", fragments.order.len());
    assert_eq!((fragments.held, fragments.partials.len()), (0, 0));
}

#[test]
fn parts_in_two_tunnels_do_not_make_one_packet() {
    let mut fragments = Fragments::new(FragmentLimits::default());
    let captured = Captured { packets: 1, bytes: 28 };
    fragments.take_in(1, &part(7, 0, &[1; 8], true), at(1), captured);
    let taken = fragments.take_in(2, &part(7, 8, &[2; 3], false), at(2), captured);
    assert_eq!(taken, Taken::Held);
    assert!(matches!(
        fragments.take_in(1, &part(7, 8, &[2; 3], false), at(3), captured),
        Taken::Whole { .. }
    ));
}

#[test]
fn a_doubled_part_changes_nothing() {
    let mut fragments = Fragments::new(FragmentLimits::default());
    assert_eq!(fragments.take(&part(7, 0, &[1; 8], true), at(1)), Taken::Held);
    assert_eq!(fragments.take(&part(7, 0, &[1; 8], true), at(2)), Taken::Held);
    let whole = fragments.take(&part(7, 8, &[2; 3], false), at(3));
    assert!(matches!(whole, Taken::Whole { parts: 2, .. }), "{whole:?}");
}

#[test]
fn a_packet_comes_as_often_as_all_of_its_parts_and_a_part_alone_brings_it_twice_at_most() {
    let payload: Vec<u8> = (0..40).collect();
    let parts = [(0u32, &payload[..32], true), (32, &payload[32..], false)];
    let whole = |order: &[usize]| {
        let mut fragments = Fragments::new(FragmentLimits::default());
        let mut taken = |(number, &index): (usize, &usize)| {
            let (offset, bytes, more) = parts[index];
            let taken = fragments.take(&part(7, offset, bytes, more), at(number as u64 + 1));
            matches!(taken, Taken::Whole { .. })
        };
        order.iter().enumerate().map(&mut taken).filter(|whole| *whole).count()
    };
    // Each packet doubled, all of them doubled, and a sender that repeats a part.
    assert_eq!(whole(&[0, 0, 1, 1]), 2);
    assert_eq!(whole(&[1, 1, 0, 0]), 2);
    assert_eq!(whole(&[0, 1, 0, 1]), 2);
    assert_eq!(whole(&[0, 1, 1, 1, 1, 1]), 2);
}

#[test]
fn parts_that_overlap_are_refused_with_their_packet() {
    for (offset, bytes, more) in [(8, [9; 8], true), (0, [9; 8], true), (8, [9; 8], false)] {
        let mut fragments = Fragments::new(FragmentLimits::default());
        fragments.take(&part(7, 0, &[1; 16], true), at(1));
        assert_eq!(fragments.take(&part(7, offset, &bytes, more), at(2)), Taken::Refused);
        // A later fragment completes nothing.
        assert_eq!(fragments.take(&part(7, 16, &[1; 4], false), at(3)), Taken::Held);
        fragments.finish();
        assert_eq!((fragments.held, given_up(&mut fragments)), (0, 3));
    }
}

#[test]
fn a_part_behind_the_end_is_refused() {
    let mut fragments = Fragments::new(FragmentLimits::default());
    fragments.take(&part(7, 8, &[1; 4], false), at(1));
    assert_eq!(fragments.take(&part(7, 16, &[1; 8], true), at(2)), Taken::Refused);
}

#[test]
fn a_packet_that_is_not_whole_in_time_is_given_up() {
    let limits = FragmentLimits {
        lifetime: 5_000_000,
        ..FragmentLimits::default()
    };
    let mut fragments = Fragments::new(limits);
    fragments.take(&part(7, 0, &[1; 8], true), at(1));
    assert_eq!(fragments.take(&part(7, 8, &[1; 8], false), at(10)), Taken::Held);
    assert_eq!(given_up(&mut fragments), 1);
}

#[test]
fn a_flood_of_first_parts_stays_within_its_bounds() {
    let limits = FragmentLimits {
        packets: 100,
        bytes: 1 << 20,
        ..FragmentLimits::default()
    };
    let mut fragments = Fragments::new(limits);
    for number in 0..10_000 {
        fragments.take(&part(number, 0, &[0; 1400], true), at(u64::from(number)));
    }
    assert_eq!(fragments.partials.len(), 100);
    assert!(fragments.held <= 1 << 20);
    assert!(fragments.order.len() <= 100);
    assert_eq!(given_up(&mut fragments), 9_900);
    fragments.finish();
    assert_eq!((fragments.held, given_up(&mut fragments)), (0, 100));
}

/// A part of an IPv6 packet whose fragment header names this protocol.
fn ipv6_part(protocol: u8, offset: u32, bytes: &[u8], more: bool) -> Datagram<'_> {
    Datagram {
        source: Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into(),
        destination: Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2).into(),
        protocol,
        ..part(7, offset, bytes, more)
    }
}

#[test]
fn the_first_part_of_an_ipv6_packet_alone_says_what_it_carries() {
    for order in [[0, 1], [1, 0]] {
        let parts = [ipv6_part(6, 0, &[1; 24], true), ipv6_part(58, 24, &[2; 8], false)];
        let mut fragments = Fragments::new(FragmentLimits::default());
        fragments.take(&parts[order[0]], at(1));
        let taken = fragments.take(&parts[order[1]], at(2));
        assert!(
            matches!(taken, Taken::Whole { protocol: 6, .. }),
            "{order:?}: {taken:?}"
        );
    }
}

#[test]
fn parts_of_an_ipv6_packet_without_the_first_are_not_what_they_claim() {
    let protocol = |parts: &[Datagram<'_>]| {
        let mut fragments = Fragments::new(FragmentLimits::default());
        for (part, number) in parts.iter().zip(1..) {
            fragments.take(part, at(number));
        }
        fragments.finish();
        let given_up = fragments.take_abandoned();
        assert_eq!(given_up.len(), 1);
        given_up[0].protocol
    };
    assert_eq!(protocol(&[ipv6_part(58, 24, &[2; 8], false)]), 44);
    assert_eq!(protocol(&[ipv6_part(58, 0, &[2; 8], true)]), 58);
    // Two first parts: which of them the receiver takes is not shown.
    assert_eq!(
        protocol(&[ipv6_part(58, 0, &[2; 8], true), ipv6_part(6, 0, &[2; 8], true)]),
        44
    );
    // In IPv4 each fragment names it.
    let of_ipv4 = Datagram {
        protocol: 1,
        ..part(7, 24, &[2; 8], false)
    };
    assert_eq!(protocol(&[of_ipv4]), 1);
}

#[test]
fn a_part_that_was_not_captured_whole_is_refused() {
    let mut fragments = Fragments::new(FragmentLimits::default());
    let cut = Datagram {
        missing: 1,
        ..part(7, 0, &[1; 8], true)
    };
    assert_eq!(fragments.take(&cut, at(1)), Taken::Refused);
}

proptest! {
    #[test]
    fn any_parts_in_any_order_never_panic_and_stay_within_bounds(
        parts in proptest::collection::vec((0..3u32, 0..40u32, 0..40usize, any::<bool>()), 0..200)
    ) {
        let limits = FragmentLimits { packets: 2, bytes: 1000, lifetime: 20_000_000 };
        let mut fragments = Fragments::new(limits);
        let bytes = [7; 64];
        for (number, (identification, offset, length, more)) in parts.into_iter().enumerate() {
            fragments.take(&part(identification, offset * 8, &bytes[..length], more), at(number as u64));
            prop_assert!(fragments.partials.len() <= 2);
            prop_assert!(fragments.held <= 1000 + 64 + PART_COST);
        }
        fragments.finish();
        prop_assert_eq!(fragments.held, 0);
    }

    #[test]
    fn a_payload_cut_anywhere_comes_back(payload in proptest::collection::vec(any::<u8>(), 9..3000), size in 1..40usize) {
        let size = size * 8;
        prop_assume!(payload.len().div_ceil(size) <= PARTS);
        let mut fragments = Fragments::new(FragmentLimits::default());
        let mut whole = None;
        let count = payload.len().div_ceil(size);
        for (index, bytes) in payload.chunks(size).enumerate() {
            let taken = fragments.take(&part(1, (index * size) as u32, bytes, index + 1 < count), at(index as u64));
            if let Taken::Whole { payload, .. } = taken {
                whole = Some(payload);
            }
        }
        prop_assert_eq!(whole, Some(payload));
    }
}
