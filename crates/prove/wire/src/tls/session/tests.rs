use proptest::prelude::*;

use super::*;
use crate::Timestamp;

fn at(packet: u64) -> Moment {
    Moment {
        packet,
        time: Timestamp(packet),
    }
}

fn record(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut record = vec![kind, 3, 3];
    record.extend(u16::try_from(body.len()).unwrap().to_be_bytes());
    record.extend(body);
    record
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut message = vec![kind];
    message.extend(&u32::try_from(body.len()).unwrap().to_be_bytes()[1..]);
    message.extend(body);
    message
}

fn client_hello(versions: &[u16]) -> Vec<u8> {
    let mut body = vec![3, 3];
    body.extend([0xaa; 32]);
    body.extend([0, 0, 2, 0x13, 1, 1, 0]);
    let list: Vec<u8> = versions.iter().copied().flat_map(u16::to_be_bytes).collect();
    let length = list.len() as u8;
    body.extend([0, length + 5, 0, 43, 0, length + 1, length]);
    body.extend(list);
    message(1, &body)
}

fn server_hello(version: u16, random: u8) -> Vec<u8> {
    let mut body = vec![3, 3];
    body.extend([random; 32]);
    body.extend([0, 0x13, 1, 0, 0, 6, 0, 43, 0, 2]);
    body.extend(version.to_be_bytes());
    message(2, &body)
}

/// A whole TLS 1.3 conversation: who speaks, and what.
fn conversation() -> Vec<(Side, Vec<u8>)> {
    vec![
        (Side::Client, record(22, &client_hello(&[0x0304, 0x0303]))),
        (
            Side::Server,
            [
                record(22, &server_hello(0x0304, 7)),
                record(20, &[1]),
                record(23, &[0; 3000]),
                record(23, &[0; 600]),
            ]
            .concat(),
        ),
        (Side::Client, [record(20, &[1]), record(23, &[0; 74])].concat()),
        (Side::Server, record(23, &[0; 16_640])),
    ]
}

fn read(pieces: &[(Side, Vec<u8>)]) -> Tls {
    let mut session = Session::new();
    for (index, (side, bytes)) in pieces.iter().enumerate() {
        session.data(*side, bytes, at(index as u64), None);
    }
    session.outcome()
}

#[test]
fn flights_count_bytes_and_records_of_each_side_in_turn() {
    let conversation = conversation();
    let tls = read(&conversation);
    let flights: Vec<_> = tls
        .flights
        .iter()
        .map(|flight| (flight.from, flight.bytes, flight.records))
        .collect();
    let bytes = |index: usize| conversation[index].1.len() as u64;
    assert_eq!(
        flights,
        [
            (Side::Client, bytes(0), 1),
            (Side::Server, bytes(1), 4),
            (Side::Client, bytes(2), 2),
        ],
        "what the server says behind the handshake is none of its flights"
    );
    assert_eq!(tls.handshake_flights().len(), 3);
    assert_eq!((tls.from_server.records, tls.from_server.bytes), (3, 20_240));
    assert_eq!((tls.from_client.records, tls.from_client.bytes), (1, 74));
    assert_eq!(tls.faults, []);
}

/// rustls sends its ChangeCipherSpec as soon as it has the ServerHello, while the rest of the
/// server's flight is under way.
#[test]
fn a_lone_change_cipher_spec_of_the_client_splits_no_flight_of_the_server() {
    let mut conversation = conversation();
    let server = conversation[1].1.clone();
    let finished = record(23, &[0; 74]);
    let (early, late) = server.split_at(200);
    conversation.splice(
        1..3,
        [
            (Side::Server, early.to_vec()),
            (Side::Client, record(20, &[1])),
            (Side::Server, late.to_vec()),
            (Side::Client, finished.clone()),
        ],
    );
    let tls = read(&conversation);
    let flights: Vec<_> = tls
        .flights
        .iter()
        .map(|one| (one.from, one.bytes, one.records, one.first.packet))
        .collect();
    let hello = conversation[0].1.len() as u64;
    assert_eq!(
        flights,
        [
            (Side::Client, hello, 1, 0),
            (Side::Server, server.len() as u64, 4, 1),
            (Side::Client, 6 + finished.len() as u64, 2, 4),
        ]
    );
    assert_eq!(tls.handshake_flights().len(), 3);
    assert_eq!(tls.faults, []);
}

#[test]
fn a_second_client_hello_behind_change_cipher_spec_is_read() {
    let retry = {
        let mut body = server_hello(0x0304, 0);
        body[6..38].copy_from_slice(&crate::tls::hello::HELLO_RETRY_REQUEST);
        body
    };
    let hello = client_hello(&[0x0304]);
    let tls = read(&[
        (Side::Client, record(22, &hello)),
        (Side::Server, [record(22, &retry), record(20, &[1])].concat()),
        (Side::Client, [record(20, &[1]), record(22, &hello)].concat()),
        (Side::Server, record(22, &server_hello(0x0304, 7))),
    ]);
    assert!(tls.hello_retry_request.is_some() && tls.second_client_hello.is_some() && tls.server_hello.is_some());
    assert_eq!(tls.handshake_flights().len(), 4);
    assert_eq!(tls.faults, []);
}

#[test]
fn a_second_hello_of_a_client_whose_server_is_not_in_the_capture_contradicts_nothing() {
    let hello = client_hello(&[0x0304]);
    let mut other = hello.clone();
    other[6] ^= 1;
    let again = |second: &[u8]| (Side::Client, [record(20, &[1]), record(22, second)].concat());
    let first = (Side::Client, record(22, &hello));
    let server = (Side::Server, record(22, &server_hello(0x0304, 7)));
    assert!(read(&[first.clone(), again(&hello)]).excess_hello.is_none());
    for pieces in [
        vec![first.clone(), again(&other)],
        vec![first.clone(), again(&hello), again(&hello)],
        vec![first.clone(), again(&hello), server.clone()],
        vec![first, server, again(&hello)],
    ] {
        let tls = read(&pieces);
        assert_eq!(
            tls.excess_hello.map(|seen| seen.value),
            Some(Side::Client),
            "{pieces:?}"
        );
    }
}

#[test]
fn behind_a_tls_1_2_change_cipher_spec_nothing_is_read_as_clear() {
    let tls = read(&[
        (Side::Client, record(22, &client_hello(&[0x0303]))),
        (Side::Server, record(22, &server_hello(0x0303, 7))),
        // An encrypted Finished that happens to look like a ClientHello, and an encrypted alert.
        (
            Side::Client,
            [
                record(20, &[1]),
                record(22, &client_hello(&[0x0303])),
                record(21, &[2, 40]),
            ]
            .concat(),
        ),
    ]);
    assert_eq!(tls.from_client.records, 2);
    assert_eq!(tls.alerts, []);
    assert_eq!(tls.faults, []);
}

#[test]
fn early_data_behind_a_compatibility_change_cipher_spec_does_not_hide_the_second_hello() {
    let hello = client_hello(&[0x0304]);
    let mut session = Session::new();
    session.data(
        Side::Client,
        &[record(22, &hello), record(20, &[1]), record(23, &[0; 40])].concat(),
        at(1),
        None,
    );
    let mut retry = server_hello(0x0304, 0);
    retry[6..38].copy_from_slice(&crate::tls::hello::HELLO_RETRY_REQUEST);
    session.data(Side::Server, &record(22, &retry), at(2), None);
    session.data(Side::Client, &record(22, &hello), at(3), None);
    assert!(session.outcome().second_client_hello.is_some());
}

#[test]
fn an_alert_in_plaintext_is_named_with_its_sender() {
    let tls = read(&[
        (Side::Client, record(22, &client_hello(&[0x0304]))),
        (Side::Server, record(21, &[2, 40])),
    ]);
    let alert = tls.alerts[0].value;
    assert_eq!(
        (alert.from, alert.level, alert_name(alert.description)),
        (Side::Server, 2, Some("handshake_failure"))
    );
}

#[test]
fn an_alert_split_between_its_bytes_is_read_with_both_packets() {
    let alert = record(21, &[1, 0]);
    let mut session = Session::new();
    session.data(Side::Client, &alert[..6], at(1), None);
    session.data(Side::Client, &alert[6..], at(2), None);
    let tls = session.outcome();
    let seen = &tls.alerts[0];
    assert_eq!((seen.first, seen.last), (at(1), at(2)));
    assert_eq!((seen.value.level, seen.value.description), (1, 0));
}

#[test]
fn a_gap_inside_a_record_body_costs_nothing_but_its_bytes() {
    let mut session = Session::new();
    for (index, (side, bytes)) in conversation().iter().take(3).enumerate() {
        session.data(*side, bytes, at(index as u64), None);
    }
    let last = record(23, &[0; 16_000]);
    session.data(Side::Server, &last[..1000], at(4), None);
    session.gap(Side::Server, 10_000, at(5));
    session.data(Side::Server, &last[11_000..], at(6), None);
    session.data(Side::Server, &record(23, &[0; 10]), at(7), None);
    let tls = session.outcome();
    assert_eq!(tls.faults, []);
    assert_eq!(tls.from_server.records, 4);
}

#[test]
fn what_follows_a_gap_inside_a_handshake_record_is_no_new_message() {
    // A certificate message of TLS 1.2 with a whole ServerHello planted in it, and a message behind
    // it.
    let planted = server_hello(0x0304, 9);
    let certificate = message(11, &[&[0; 100][..], &planted, &[0; 50]].concat());
    let done = server_hello(0x0303, 7);
    let all = record(22, &[&certificate[..], &done].concat());
    let hello_at = 5 + 4 + 100;
    for missing in [40, 90] {
        let mut session = Session::new();
        session.data(Side::Client, &record(22, &client_hello(&[0x0304, 0x0303])), at(1), None);
        session.data(Side::Server, &all[..hello_at - missing], at(2), None);
        session.gap(Side::Server, missing as u64, at(3));
        session.data(Side::Server, &all[hello_at..], at(4), None);
        let tls = session.outcome();
        assert_eq!(
            tls.server_hello.unwrap().value.random,
            [7; 32],
            "the message behind it, and not the one in it"
        );
        assert_eq!(tls.faults[0].value, Fault::Gap { from: Side::Server });
        assert_eq!(tls.server_certificates, None);
    }
    // The gap takes the header with it: nothing is read before the next record.
    let mut session = Session::new();
    session.data(Side::Server, &all[..5], at(1), None);
    session.gap(Side::Server, hello_at as u64 - 5, at(2));
    session.data(Side::Server, &all[hello_at..], at(3), None);
    session.data(Side::Server, &record(22, &done), at(4), None);
    assert_eq!(session.outcome().server_hello.unwrap().value.random, [7; 32]);
}

#[test]
fn after_a_gap_in_the_handshake_reading_goes_on_at_a_segment_that_begins_with_a_record() {
    let mut session = Session::new();
    session.data(Side::Client, &record(22, &client_hello(&[0x0304]))[..20], at(1), None);
    session.gap(Side::Client, 60, at(2));
    session.data(Side::Client, b"the rest of something", at(3), None);
    session.data(Side::Client, &record(23, &[0; 50]), at(4), None);
    let tls = session.outcome();
    assert_eq!(tls.faults[0].value, Fault::Gap { from: Side::Client });
    assert_eq!(tls.client_hello, None);
    assert_eq!((tls.from_client.records, tls.from_client.bytes), (1, 50));
}

/// A packet that is missing before them, or eight, must not hide them.
#[test]
fn readable_bytes_behind_missing_ones_are_no_record_however_much_is_missing() {
    let text = b"GET /nudm-sdm/v2/imsi-208930000000001 HTTP/1.1\r\n\r\n".to_vec();
    let binary = [[0x30; 40], [0x31; 40]].concat();
    let encrypted: Vec<u8> = (0..120u32)
        .map(|place| (place.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    for (bytes, is_stray) in [(text, true), (binary, true), (encrypted, false)] {
        for gaps in [1, KEPT + 1] {
            let mut session = Session::new();
            for (side, said) in conversation() {
                session.data(side, &said, at(1), None);
            }
            (0..gaps).for_each(|_| session.gap(Side::Server, 20_000, at(2)));
            let mut given = Vec::new();
            session.counted(Side::Server, &bytes, &mut |part| given.push(part.len()));
            assert_eq!(given.is_empty(), is_stray, "they stay in evidence of parts");
            session.data(Side::Server, &bytes, at(3), None);
            let stray = Fault::NotARecord { from: Side::Server };
            let strays = session
                .outcome()
                .faults
                .iter()
                .filter(|seen| seen.value == stray)
                .count();
            assert_eq!(strays, usize::from(is_stray), "{gaps}: {bytes:?}");
        }
    }
}

#[test]
fn bytes_that_are_no_record_are_said_once_and_stop_the_reader() {
    let tls = read(&[
        (Side::Client, b"\x16\x03\x01\xff\xff".to_vec()),
        (Side::Client, record(23, &[0; 9])),
    ]);
    assert_eq!(tls.faults.len(), 1);
    assert_eq!(tls.faults[0].value, Fault::NotARecord { from: Side::Client });
    assert_eq!(tls.from_client.records, 0);
}

#[test]
fn a_hello_longer_than_any_is_said_and_not_kept() {
    let mut bytes = Vec::new();
    let body = message(1, &vec![0; 70_000]);
    for part in body.chunks(16_000) {
        bytes.extend(record(22, part));
    }
    let tls = read(&[(Side::Client, bytes)]);
    assert_eq!(
        tls.faults[0].value,
        Fault::TooLong {
            from: Side::Client,
            length: 70_000
        }
    );
}

#[test]
fn flights_beyond_those_kept_are_not_added_to_the_last_one() {
    let mut session = Session::new();
    for index in 0..20 {
        let side = if index % 2 == 0 { Side::Client } else { Side::Server };
        session.data(side, &record(23, &[0; 10]), at(index), None);
    }
    let tls = session.outcome();
    assert_eq!(tls.flights.len(), 8);
    assert!(
        tls.flights
            .iter()
            .all(|flight| (flight.bytes, flight.records) == (15, 1))
    );
}

proptest! {
    /// However TCP cuts a conversation, the same is read, but for the packets that carried it.
    #[test]
    fn pieces_give_what_the_whole_gives(sizes in prop::collection::vec(1usize..700, 1..12)) {
        let mut pieces = Vec::new();
        let mut sizes = sizes.iter().cycle();
        for (side, bytes) in conversation() {
            let mut rest = bytes.as_slice();
            while !rest.is_empty() {
                let (piece, left) = rest.split_at((*sizes.next().unwrap()).min(rest.len()));
                pieces.push((side, piece.to_vec()));
                rest = left;
            }
        }
        let (whole, cut) = (read(&conversation()), read(&pieces));
        prop_assert_eq!(whole.client_hello.map(|seen| seen.value), cut.client_hello.map(|seen| seen.value));
        prop_assert_eq!(whole.server_hello.map(|seen| seen.value), cut.server_hello.map(|seen| seen.value));
        prop_assert_eq!((whole.from_client, whole.from_server), (cut.from_client, cut.from_server));
        let sizes = |flights: &[Flight]| flights.iter().map(|flight| (flight.from, flight.bytes, flight.records)).collect::<Vec<_>>();
        prop_assert_eq!(sizes(&whole.flights), sizes(&cut.flights));
        prop_assert!(cut.faults.is_empty());
    }

    #[test]
    fn no_bytes_make_a_session_panic_or_grow(
        steps in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 0..60), 0u64..40), 0..40),
        open in any::<bool>(),
    ) {
        let mut session = Session::new();
        if open {
            session.data(Side::Client, &record(22, &client_hello(&[0x0304])), at(0), None);
        }
        for (index, (client, bytes, gap)) in steps.iter().enumerate() {
            let side = if *client { Side::Client } else { Side::Server };
            session.data(side, bytes, at(index as u64), None);
            if *gap > 35 {
                session.gap(side, *gap, at(index as u64));
            }
        }
        let tls = session.outcome();
        prop_assert!(tls.flights.len() <= FLIGHTS && tls.faults.len() <= KEPT && tls.alerts.len() <= KEPT);
    }
}
