use std::net::{Ipv4Addr, Ipv6Addr};

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn kind(reason: &str) -> Kind {
    Kind {
        protocol: Protocol::Tls,
        direction: Direction::Inbound,
        interface: "SBI".to_owned(),
        peer: None,
        reason: reason.to_owned(),
    }
}

fn address(number: u32) -> IpAddr {
    Ipv4Addr::from(0x0a00_0000 + number).into()
}

fn counts(events: &[Event]) -> Vec<(String, String, u64)> {
    let mut counts: Vec<_> = events
        .iter()
        .map(|event| match event {
            Event::Refusals(refusals) => (refusals.reason.clone(), refusals.from.to_string(), refusals.count),
            other => panic!("{other:?}"),
        })
        .collect();
    counts.sort();
    counts
}

#[test]
fn the_first_is_reported_whole_and_the_others_are_counted_by_reason_and_address() {
    let (mut counting, began) = (Counting::default(), Instant::now());
    let mut note = |reason, from, at_us| counting.note(kind(reason), from, began, at_us, true);
    assert_eq!(note("malformed", address(1), 1), Noted::Whole);
    for at_us in 2..=1000 {
        assert_eq!(note("malformed", address(1), at_us), Noted::Counted);
    }
    // Another reason, another address, another peer: each has a first of its own.
    assert_eq!(note("unknown-ca", address(1), 1001), Noted::Whole);
    assert_eq!(note("malformed", address(2), 1002), Noted::Whole);
    let revoked = Kind {
        peer: Some("amf".to_owned()),
        ..kind("revoked")
    };
    assert_eq!(counting.note(revoked, address(1), began, 1003, true), Noted::Whole);

    assert_eq!(counting.take_due(began), []);
    let due = counting.take_due(counting.due().unwrap());
    assert_eq!(counts(&due), [("malformed".into(), "10.0.0.1/32".into(), 999)]);
    let Event::Refusals(refusals) = &due[0] else { panic!() };
    assert_eq!((refusals.since_us, refusals.until_us), (2, 1000));
}

#[test]
fn a_kind_that_goes_on_is_written_ever_more_seldom_and_one_that_ended_begins_anew() {
    let (mut counting, began) = (Counting::default(), Instant::now());
    counting.note(kind("closed"), address(1), began, 0, true);
    let mut written = Vec::new();
    for second in 1..=3600 {
        let now = began + SECOND * second;
        counting.note(kind("closed"), address(1), now, 0, true);
        if !counting.take_due(now).is_empty() {
            written.push(second);
        }
    }
    assert_eq!(written, [10, 30, 70, 150, 310, 630, 1230, 1830, 2430, 3030]);
    // The hour's last counts, then nothing more: the kind is forgotten.
    let later = began + SECOND * 7200;
    assert_eq!(counting.take_due(later).len(), 1);
    assert_eq!(counting.take_due(later + LONGEST_INTERVAL), []);
    assert_eq!(counting.due(), None);
    assert_eq!(
        counting.note(kind("closed"), address(1), later + LONGEST_INTERVAL, 0, true),
        Noted::Whole
    );
}

#[test]
fn no_number_of_addresses_makes_it_write_or_remember_without_bound() {
    let (mut counting, began) = (Counting::default(), Instant::now());
    let (mut lines, mut counted, mut noted) = (0_u64, 0_u64, 0_u64);
    let hours = 6;
    for second in 0..3600 * hours {
        let now = began + SECOND * second;
        for _ in 0..20 {
            // Every address once: a first each, were there no bound.
            let from = address(u32::try_from(noted).unwrap());
            let from = if noted.is_multiple_of(2) {
                from
            } else {
                Ipv6Addr::from(u128::from(noted) << 64).into()
            };
            noted += 1;
            if counting.note(kind("closed"), from, now, 0, true) == Noted::Whole {
                lines += 1;
                counted += 1;
            }
        }
        for event in counting.take_due(now) {
            lines += 1;
            let Event::Refusals(refusals) = event else { panic!() };
            counted += refusals.count;
        }
        assert!(counting.kinds.len() <= KINDS);
    }
    assert!(lines <= u64::from(LINES) + u64::from(hours) * 360 + 1, "{lines} lines");
    for event in counting.take_all() {
        let Event::Refusals(refusals) = event else { panic!() };
        counted += refusals.count;
    }
    // Each is in a record or in a count: none is forgotten, none counted twice.
    assert_eq!(counted, noted);
}

#[test]
fn many_addresses_are_distinguished_by_site_and_then_by_family() {
    let (mut counting, began) = (Counting::default(), Instant::now());
    for number in 0..10_000 {
        counting.note(kind("closed"), address(number * 256), began, 0, true);
        counting.note(kind("closed"), address(number * 256), began, 0, true);
    }
    let counts = counts(&counting.take_all());
    let with = |length: &str| counts.iter().filter(|(_, from, _)| from.ends_with(length)).count();
    assert_eq!((with("/32"), with("/24"), with("/0")), (128, 64, 1));
}

#[test]
fn kinds_are_bounded_however_many_peers_and_reasons_there_are() {
    let (mut counting, began) = (Counting::default(), Instant::now());
    for number in 0..5000 {
        let kind = Kind {
            peer: Some(format!("node-{number}")),
            ..kind("revoked")
        };
        counting.note(kind, address(number), began, 0, true);
    }
    assert_eq!(counting.kinds.len(), KINDS + 1);
}

#[test]
fn without_room_for_a_record_of_its_own_the_first_is_counted_too() {
    let (mut counting, began) = (Counting::default(), Instant::now());
    assert_eq!(counting.note(kind("closed"), address(1), began, 7, false), Noted::Begun);
    assert_eq!(
        counting.note(kind("closed"), address(1), began, 8, true),
        Noted::Counted
    );
    assert_eq!(
        counts(&counting.take_all()),
        [("closed".into(), "10.0.0.1/32".into(), 2)]
    );
}
