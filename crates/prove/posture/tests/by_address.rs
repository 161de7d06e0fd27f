//! A capture begun late has no ClientHello: what a ledger has of the same addresses at that time tells of the handshake, where it can be
//! of no other. On the recording of two sidecars, with what both of them wrote.

use bartizan_ledger::{Event, Reader, Record, Verdict as PolicyVerdict};
use bartizan_posture::{Answer, Evidence, Ledgers, Posture, Verdict};
use bartizan_wire::link::LinkType;
use bartizan_wire::{CaptureReader, Connection, Content, Limits, Observer, Packet, Start};

const CAPTURE: &[u8] = include_bytes!("../../wire/tests/data/sidecar-hybrid.pcap");
const LEDGERS: [&[u8]; 2] = [
    include_bytes!("../../wire/tests/data/sidecar-hybrid.consumers.jsonl"),
    include_bytes!("../../wire/tests/data/sidecar-hybrid.nrf.jsonl"),
];

/// The rest of the recording's first connection after its handshake; in a VLAN if one is given.
fn begun_late(vlan: Option<u8>) -> Connection {
    let whole = connections(|_, frame| Some(frame.to_vec()));
    let Content::Tls(tls) = &whole[0].content else {
        panic!("TLS")
    };
    let behind = tls.flights.last().unwrap().last.packet;
    let left = connections(|number, frame| {
        let mut frame = frame.to_vec();
        if let Some(vlan) = vlan {
            frame.splice(12..12, [0x81, 0, 0, vlan]);
        }
        (number > behind).then_some(frame)
    });
    let ends = [whole[0].client, whole[0].server];
    let late = left
        .into_iter()
        .find(|one| ends.contains(&one.client) && ends.contains(&one.server));
    late.expect("the connection goes on behind its handshake")
}

fn connections(take: impl Fn(u64, &[u8]) -> Option<Vec<u8>>) -> Vec<Connection> {
    let mut reader = CaptureReader::new();
    reader.push(CAPTURE);
    let mut observer = Observer::new(Limits::default());
    let mut connections = Vec::new();
    while let Ok(Some(packet)) = reader.next_packet() {
        assert_eq!(packet.link, LinkType::ETHERNET);
        if let Some(frame) = take(packet.number, packet.data) {
            let packet = Packet {
                data: &frame,
                original_length: frame.len() as u32,
                ..packet
            };
            observer.packet(&packet, |connection| connections.push(connection));
        }
    }
    observer.finish(|connection| connections.push(connection));
    connections.sort_by_key(|connection| connection.number);
    connections
}

/// The records of both ends of that connection.
fn records(connection: &Connection) -> Vec<Record> {
    let all: Vec<Record> = LEDGERS
        .into_iter()
        .flat_map(|text| Reader::new(text).flatten())
        .collect();
    let ends = [connection.client, connection.server];
    let keys: Vec<_> = all
        .iter()
        .filter_map(|record| match &record.event {
            Event::Handshake(one) if ends.contains(&one.local_address) && ends.contains(&one.peer_address) => one.key,
            _ => None,
        })
        .collect();
    let of = |record: &Record| match &record.event {
        Event::Handshake(one) => keys.contains(one.key.as_ref().unwrap()),
        Event::Closed(one) => keys.contains(one.key.as_ref().unwrap()),
        _ => false,
    };
    all.into_iter().filter(of).collect()
}

fn posture(connection: &Connection, records: impl IntoIterator<Item = Record>) -> Posture {
    let mut ledgers = Ledgers::default();
    records.into_iter().for_each(|record| ledgers.add(record));
    Evidence::new(connection, &ledgers).posture()
}

fn is_closed(record: &Record) -> bool {
    matches!(record.event, Event::Closed(_))
}

/// The records as `change` leaves them.
fn changed(records: &[Record], change: impl Fn(&mut Record)) -> Vec<Record> {
    let mut records = records.to_vec();
    records.iter_mut().for_each(change);
    records
}

fn shifted(records: &[Record], by_us: i64) -> Vec<Record> {
    changed(records, |record| {
        record.at_us = record.at_us.checked_add_signed(by_us).unwrap();
    })
}

const SECOND: i64 = 1_000_000;
const HOUR: i64 = 3600 * SECOND;

#[test]
fn a_capture_begun_late_has_its_handshake_from_the_ledgers_of_its_ends() {
    let late = begun_late(None);
    assert_eq!(late.start, Start::Midstream);
    let records = records(&late);
    assert_eq!(records.len(), 4, "two handshakes, two ends");
    let alone = posture(&late, []);
    assert_eq!(alone.confidentiality.verdict(), Verdict::NotSeen);
    let joined = posture(&late, records.clone());
    assert_eq!(joined.confidentiality.verdict(), Verdict::QuantumSafe);
    assert!(
        joined.confidentiality.because().contains("these addresses"),
        "{}",
        joined.confidentiality.because()
    );
    assert_eq!(joined.authenticity.verdict(), Verdict::QuantumSafe);
    assert_eq!(
        [
            &joined.negotiated,
            &joined.stayed,
            &joined.server_authenticated,
            &joined.client_authenticated
        ]
        .map(bartizan_posture::Reply::answer),
        [Answer::Yes; 4]
    );
    assert_eq!(
        joined.offered.answer(),
        Answer::NotSeen,
        "what was offered no ledger says"
    );
    assert!(joined.in_ledger && joined.contradictions.is_empty());
    // One that still stood when the ledgers were read has no end in them.
    let established = records.iter().filter(|record| !is_closed(record)).cloned();
    assert_eq!(
        posture(&late, established).confidentiality.verdict(),
        Verdict::QuantumSafe
    );
}

#[test]
fn a_record_is_not_taken_where_times_sizes_or_addresses_do_not_allow_it() {
    let late = begun_late(None);
    let records = records(&late);
    let handshakes: Vec<Record> = records.iter().filter(|record| !is_closed(record)).cloned().collect();
    let not_after = |until: i64| {
        changed(&handshakes, |record| {
            if let Event::Handshake(one) = &mut record.event {
                one.chain.iter_mut().for_each(|leaf| leaf.not_after = until);
            }
        })
    };
    let mut lost = handshakes.clone();
    lost.push(Record {
        event: Event::Lost(bartizan_ledger::Lost { records: 1 }),
        ..handshakes[0].clone()
    });
    for (what, records) in [
        ("a handshake behind the capture", shifted(&records, 30 * SECOND)),
        ("one that had ended before", shifted(&records, -60 * SECOND)),
        ("a day before", shifted(&records, -24 * HOUR)),
        (
            "an end before the last packet",
            changed(&records, |record| {
                if is_closed(record) {
                    record.at_us -= 13_000_000;
                }
            }),
        ),
        (
            "fewer bytes than were seen",
            changed(&records, |record| match &mut record.event {
                Event::Handshake(one) => one.bytes = bartizan_ledger::Bytes::default(),
                Event::Closed(one) => one.bytes = bartizan_ledger::Bytes::default(),
                _ => {}
            }),
        ),
        (
            "the port of another",
            changed(&records, |record| {
                if let Event::Handshake(one) = &mut record.event {
                    let end = if one.local_address.port() == 8443 {
                        &mut one.peer_address
                    } else {
                        &mut one.local_address
                    };
                    end.set_port(end.port() ^ 1);
                }
            }),
        ),
        (
            "an address behind NAT",
            changed(&records, |record| {
                if let Event::Handshake(one) = &mut record.event {
                    let end = if one.local_address.port() == 8443 {
                        &mut one.peer_address
                    } else {
                        &mut one.local_address
                    };
                    end.set_ip([192, 0, 2, 1].into());
                }
            }),
        ),
        (
            "a refusal",
            changed(&records, |record| {
                if let Event::Handshake(one) = &mut record.event {
                    one.verdict = PolicyVerdict::Refused {
                        reason: "unknown-ca".into(),
                        detail: String::new(),
                    };
                }
            }),
        ),
        (
            "certificates that had ended, and no end of the connection",
            not_after(1),
        ),
        (
            "no certificates, and no end",
            changed(&handshakes, |record| {
                if let Event::Handshake(one) = &mut record.event {
                    one.chain.clear();
                }
            }),
        ),
        ("no end, in a ledger that lost records", lost),
    ] {
        let posture = posture(&late, records);
        assert_eq!(posture.confidentiality.verdict(), Verdict::NotSeen, "{what}");
        assert!(!posture.in_ledger, "{what}");
    }
}

#[test]
fn where_two_handshakes_have_its_addresses_neither_is_taken_and_it_is_said() {
    let late = begun_late(None);
    let records = records(&late);
    for by in [-HOUR / 2, HOUR / 2] {
        let mut rival = shifted(&records, by);
        for record in &mut rival {
            let key = match &mut record.event {
                Event::Handshake(one) => &mut one.key,
                Event::Closed(one) => &mut one.key,
                _ => unreachable!(),
            };
            if let Some(bartizan_ledger::Key::Tls { client_random }) = key {
                client_random.0[0] ^= 1;
            }
        }
        let posture = posture(&late, [records.clone(), rival].concat());
        assert_eq!(posture.confidentiality.verdict(), Verdict::NotSeen);
        let because = posture.confidentiality.because();
        assert!(because.contains("2 handshakes of these addresses"), "{because}");
    }
}

#[test]
fn in_a_vlan_the_same_addresses_may_be_of_another_network() {
    let tagged = begun_late(Some(7));
    let posture = posture(&tagged, records(&tagged));
    assert_eq!(posture.confidentiality.verdict(), Verdict::NotSeen);
}

#[test]
fn packets_that_contradict_each_other_are_not_made_safe_by_a_record() {
    let mut late = begun_late(None);
    late.from_client.stream.stray = 1;
    let posture = posture(&late, records(&late));
    assert_eq!(posture.confidentiality.verdict(), Verdict::NotObservable);
    assert!(!posture.contradictions.is_empty());
}

/// A suite that a ledger names and that encrypts nothing (RFC 9150), or that the registry does not know.
#[test]
fn a_ledger_makes_nothing_safe_by_a_group_with_a_suite_that_may_not_encrypt() {
    let late = begun_late(None);
    let records = records(&late);
    for (code, verdict) in [
        (0x1302, Verdict::QuantumSafe),
        (0xc0b4, Verdict::NotObservable),
        (0xeeee, Verdict::NotObservable),
    ] {
        let records = changed(&records, |record| {
            if let Event::Handshake(handshake) = &mut record.event {
                handshake.negotiated.as_mut().unwrap().cipher.code = code;
            }
        });
        let found = posture(&late, records).confidentiality;
        assert_eq!(found.verdict(), verdict, "{code:04x}: {}", found.because());
    }
}
