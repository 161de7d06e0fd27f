//! Written records are read back, and a line that is not a record does not stop the reading.

use std::io::Cursor;
use std::net::SocketAddr;

use bartizan_ledger::{
    Bytes, Certificate, Closed, Code, Direction, Event, Handshake, Key, Lost, Negotiated, Prefix, Protocol, Random,
    Reader, Record, Refusal, Refusals, Times, VERSION, Verdict,
};
use proptest::prelude::*;

fn key() -> impl Strategy<Value = Option<Key>> {
    proptest::option::of(any::<[u8; 32]>().prop_map(|random| Key::Tls {
        client_random: Random(random),
    }))
}

fn code() -> impl Strategy<Value = Code> {
    (any::<u16>(), ".*").prop_map(|(code, name)| Code { code, name })
}

fn negotiated() -> impl Strategy<Value = Negotiated> {
    let codes = (
        code(),
        code(),
        proptest::option::of(code()),
        proptest::option::of(code()),
    );
    (".*", codes, any::<(bool, bool)>()).prop_map(|(version, codes, (resumed, hello_retry))| Negotiated {
        version,
        cipher: codes.0,
        group: codes.1,
        local_signature: codes.2,
        peer_signature: codes.3,
        resumed,
        hello_retry,
    })
}

fn certificate() -> impl Strategy<Value = Certificate> {
    let texts = (".*", ".*", prop::collection::vec(".*", 0..4), ".*", ".*", ".*");
    (texts, any::<i64>()).prop_map(|(texts, not_after)| Certificate {
        subject: texts.0,
        serial: texts.1,
        names: texts.2,
        public_key: texts.3,
        signature: texts.4,
        not_after,
        sha256: texts.5,
    })
}

fn verdict() -> impl Strategy<Value = Verdict> {
    prop_oneof![
        Just(Verdict::Accepted),
        ".*".prop_map(|reason| Verdict::Excepted { reason }),
        (".*", ".*").prop_map(|(reason, detail)| Verdict::Refused { reason, detail }),
    ]
}

fn bytes() -> impl Strategy<Value = Bytes> {
    any::<(u64, u64)>().prop_map(|(sent, received)| Bytes { sent, received })
}

fn handshake() -> impl Strategy<Value = Handshake> {
    let who = (
        key(),
        ".*",
        any::<bool>(),
        proptest::option::of(".*"),
        any::<(SocketAddr, SocketAddr)>(),
    );
    let what = (
        proptest::option::of(negotiated()),
        [
            prop::collection::vec(certificate(), 0..3),
            prop::collection::vec(certificate(), 0..3),
        ],
        bytes(),
        any::<(u64, u64)>(),
        verdict(),
    );
    (who, what).prop_map(|(who, what)| Handshake {
        key: who.0,
        interface: who.1,
        direction: if who.2 { Direction::Inbound } else { Direction::Outbound },
        peer: who.3,
        local_address: flat(who.4.0),
        peer_address: flat(who.4.1),
        negotiated: what.0,
        chain: what.1[0].clone(),
        local_chain: what.1[1].clone(),
        bytes: what.2,
        times: Times {
            connect_us: what.3.0,
            handshake_us: what.3.1,
        },
        verdict: what.4,
    })
}

/// Text has no place for the flow label of an IPv6 address.
fn flat(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip(), address.port())
}

fn refusals() -> impl Strategy<Value = Refusals> {
    let who = (any::<bool>(), any::<bool>(), ".*", proptest::option::of(".*"), ".*");
    let what = (any::<std::net::IpAddr>(), any::<u8>(), any::<(u64, u64, u64)>());
    (who, what).prop_map(|(who, what)| Refusals {
        protocol: if who.0 { Protocol::Tls } else { Protocol::Ike },
        direction: if who.1 { Direction::Inbound } else { Direction::Outbound },
        interface: who.2,
        peer: who.3,
        reason: who.4,
        from: Prefix::new(what.0, what.1),
        count: what.2.0,
        since_us: what.2.1,
        until_us: what.2.2,
    })
}

fn record() -> impl Strategy<Value = Record> {
    let event = prop_oneof![
        handshake().prop_map(|handshake| Event::Handshake(Box::new(handshake))),
        (key(), bytes(), any::<u64>(), proptest::option::of((".*", ".*"))).prop_map(
            |(key, bytes, lasted_us, refused)| {
                Event::Closed(Closed {
                    key,
                    bytes,
                    lasted_us,
                    refused: refused.map(|(reason, detail)| Refusal { reason, detail }),
                })
            }
        ),
        any::<u64>().prop_map(|records| Event::Lost(Lost { records })),
        refusals().prop_map(|refusals| Event::Refusals(Box::new(refusals))),
    ];
    (any::<u64>(), ".*", event).prop_map(|(at_us, node, event)| Record {
        v: VERSION,
        at_us,
        node,
        event,
    })
}

fn lost(records: u64) -> Record {
    Record {
        v: 1,
        at_us: 1_800_000_000_000_000,
        node: "nrf".into(),
        event: Event::Lost(Lost { records }),
    }
}

fn lines(records: &[Record]) -> String {
    let line = |record| serde_json::to_string(record).unwrap() + "\n";
    records.iter().map(line).collect()
}

/// Reads a text: each record's gap, or the complaint about its line.
fn read(text: &[u8]) -> Vec<Result<u64, String>> {
    Reader::new(Cursor::new(text))
        .map(|record| match record {
            Ok(Record {
                event: Event::Lost(lost),
                ..
            }) => Ok(lost.records),
            Ok(other) => panic!("{other:?}"),
            Err(damaged) => Err(damaged.to_string()),
        })
        .collect()
}

#[test]
fn a_cut_last_line_is_reported_and_what_stands_before_is_read() {
    let text = lines(&[lost(1), lost(2)]);
    let cut = &text.as_bytes()[..text.len() - 5];
    let complaint = "line 2: cut off: the writer stopped in the middle of it";
    assert_eq!(read(cut), [Ok(1), Err(complaint.into())]);
}

#[test]
fn a_last_line_that_lacks_only_its_end_is_a_record() {
    let text = lines(&[lost(1)]);
    assert_eq!(read(text.trim_end().as_bytes()), [Ok(1)]);
}

#[test]
fn a_damaged_line_in_the_middle_is_reported_by_number_and_reading_goes_on() {
    let text = lines(&[lost(1)]) + "{\"v\":1,\"at_us\":\x07garbage}\n\n" + &lines(&[lost(3)]);
    let said = read(text.as_bytes());
    assert_eq!((said[0].clone(), said[2].clone(), said.len()), (Ok(1), Ok(3), 3));
    assert!(
        said[1].as_ref().unwrap_err().starts_with("line 2: not a record: "),
        "{said:?}"
    );
}

#[test]
fn a_record_of_another_version_is_named_so_whatever_its_shape() {
    for version in [0, 2, 8] {
        let text = format!("{{\"v\":{version},\"when\":\"later\"}}\n") + &lines(&[lost(1)]);
        let refused = format!("line 1: version {version} is not known here");
        assert_eq!(read(text.as_bytes()), [Err(refused), Ok(1)]);
    }
}

#[test]
fn a_line_longer_than_any_record_is_skipped_without_being_held() {
    let mut text = vec![b'x'; 3 << 20];
    text.push(b'\n');
    text.extend(lines(&[lost(1)]).bytes());
    assert_eq!(read(&text), [Err("line 1: longer than any record".into()), Ok(1)]);
}

#[test]
fn a_client_random_is_64_digits_of_either_case() {
    let text = "0123456789abcdefABCDEF".to_owned() + &"00".repeat(21);
    assert_eq!(text.len(), 64);
    assert_eq!(Random::parse(&text).unwrap().to_string(), text.to_lowercase());
    for wrong in [
        "",
        "00",
        &text[1..],
        &format!("{text}00"),
        &text.replace('f', "g"),
        &"é".repeat(32),
    ] {
        assert_eq!(Random::parse(wrong), None, "{wrong}");
    }
}

/// The shape on disk is promised: a change of this text is a new version.
#[test]
fn a_handshake_is_written_in_the_shape_the_document_shows() {
    let document = include_str!("../../../../docs/ledger.md");
    let shown = document
        .split("```json\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next());
    let mut kinds = Vec::new();
    for text in shown {
        let record: Record = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in {text}"));
        let again: serde_json::Value = serde_json::to_value(&record).unwrap();
        let document: serde_json::Value = serde_json::from_str(text).unwrap();
        assert_eq!(
            again, document,
            "a field is missing from the document, or from the record"
        );
        assert_eq!(record.v, VERSION);
        kinds.push(match record.event {
            Event::Handshake(handshake) => format!("{:?}", handshake.verdict).split(' ').next().unwrap().to_owned(),
            Event::Closed(_) => "closed".into(),
            Event::Lost(_) => "lost".into(),
            Event::IkeSa(_) => "ike-sa".into(),
            Event::ChildSa(_) => "child-sa".into(),
            Event::SaClosed(_) => "sa-closed".into(),
            Event::SaRefused(_) => "sa-refused".into(),
            Event::Refusals(_) => "refusals".into(),
            Event::MacsecKey(_) => "macsec-key".into(),
            Event::MacsecOutlived(_) => "macsec-outlived".into(),
            Event::MacsecRefused(_) => "macsec-refused".into(),
            Event::MacsecNotRekeyed(_) => "macsec-not-rekeyed".into(),
            Event::Association(_) => "association".into(),
        });
    }
    assert_eq!(
        kinds,
        [
            "Accepted",
            "Excepted",
            "Refused",
            "closed",
            "closed",
            "ike-sa",
            "child-sa",
            "sa-closed",
            "sa-closed",
            "sa-refused",
            "refusals",
            "lost",
            "macsec-key",
            "macsec-key",
            "macsec-key",
            "macsec-outlived",
            "macsec-refused",
            "macsec-not-rekeyed",
            "association"
        ]
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_record_is_read_as_it_was_written(records in prop::collection::vec(record(), 0..4)) {
        let text = lines(&records);
        let back: Vec<_> = Reader::new(Cursor::new(text)).map(Result::unwrap).collect();
        prop_assert_eq!(back, records);
    }

    #[test]
    fn no_bytes_make_a_reader_panic_or_loop(text in prop::collection::vec(any::<u8>(), 0..2000)) {
        let lines = text.iter().filter(|&&byte| byte == b'\n').count() + 1;
        prop_assert!(Reader::new(Cursor::new(text)).count() <= lines);
    }

    #[test]
    fn a_record_with_bytes_changed_never_makes_a_reader_panic(
        record in record(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut text = lines(&[record]).into_bytes();
        for (index, byte) in changes {
            let at = index.index(text.len());
            text[at] = byte;
        }
        let _ = Reader::new(Cursor::new(text)).count();
    }

    #[test]
    fn a_client_random_is_read_as_it_was_written(random: [u8; 32]) {
        prop_assert_eq!(Random::parse(&Random(random).to_string()), Some(Random(random)));
    }

    #[test]
    fn no_text_makes_a_client_random_panic(text in ".*") {
        let _ = Random::parse(&text);
    }
}
