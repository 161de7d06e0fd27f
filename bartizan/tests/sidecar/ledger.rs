//! A sidecar's ledger under unauthenticated connections, rotation and logrotate, written by a
//! process that has dropped its privileges.

use std::io::Write;
use std::net::TcpStream;

use bartizan_ledger::{Event, Verdict, files};

use crate::stage::{By, PATIENCE, Pair, Stage, get, until};

#[test]
fn unauthenticated_connections_leave_one_record_and_a_count_and_take_no_room_from_peers() {
    const UNAUTHENTICATED: u64 = 4000;
    let mut stage = Stage::new();
    let pair = Pair::new(By::Splice, By::Splice);
    stage.write("hello", "served");
    let _function = stage.nghttpd(pair.ports.function, &[]);
    let mut running = stage.run(&pair);
    let refusals = || {
        running
            .nrf
            .metric("bartizan_sidecar_handshake_failures_total", &["malformed"])
    };
    for number in 1..=UNAUTHENTICATED {
        let mut client = TcpStream::connect(pair.ports.inbound).expect("a connection");
        client.write_all(b"stray\n").expect("six bytes");
        // Fewer at once than one address may have: more would be evicted, not refused.
        if number % 100 == 0 {
            until("all of them", || refusals() == Some(number as f64));
        }
        if number % 1000 == 0 {
            assert_eq!(get(&format!("http://{}/hello", pair.ports.outbound)).2, "served");
        }
    }
    let accepted = running.amf.metric("bartizan_sidecar_handshakes_total", &[]);
    // A client has ended its handshake before the server has.
    until("the peer has ended as many", || {
        running.nrf.metric("bartizan_sidecar_handshakes_total", &[]) >= accepted
    });
    running.nrf.process.send(libc::SIGTERM);
    let status = running.nrf.process.wait_for_line("stopped", PATIENCE);
    status.expect("it stops");
    until("its count", || {
        std::fs::read_to_string(&running.nrf.ledger).is_ok_and(|text| text.contains("\"refusals\""))
    });
    let (mut whole, mut counted, mut well) = (0, 0, 0);
    for record in running.nrf.records() {
        match record.event {
            Event::Handshake(handshake) => match handshake.verdict {
                Verdict::Refused { reason, .. } if reason == "malformed" => whole += 1,
                Verdict::Refused { .. } => {}
                _ => well += 1,
            },
            Event::Refusals(refusals) if refusals.reason == "malformed" => {
                assert_eq!(refusals.from.to_string(), "127.0.0.1/32");
                counted += refusals.count;
            }
            Event::Lost(lost) => panic!("{lost:?}"),
            _ => {}
        }
    }
    assert_eq!((whole, counted), (1, UNAUTHENTICATED - 1));
    assert!(Some(f64::from(well)) >= accepted && well >= 4, "{well} of {accepted:?}");
}

#[test]
fn a_confined_sidecar_rotates_its_ledger_and_begins_one_that_was_moved_away_anew() {
    let mut stage = Stage::new();
    let pair = Pair::new(By::Splice, By::Splice);
    stage.write("hello", "served");
    let _function = stage.nghttpd(pair.ports.function, &[]);
    let (amf, nrf) = (stage.issue("amf"), stage.issue("nrf"));
    let file = stage.deployment("pair", &pair, &amf, &nrf);
    let ledger = stage.path("pair.nrf.ledger");
    let text = std::fs::read_to_string(&file).expect("the file");
    let bounded = format!("ledger: {{ file: {}, size: 64KiB }}", ledger.display());
    let text = text.replace(&format!("ledger: {}", ledger.display()), &bounded);
    std::fs::write(&file, text).expect("the file");
    let mut nrf = stage.start(&file, "nrf", pair.ports.nrf_admin);
    let amf = stage.start(&file, "amf", pair.ports.amf_admin);
    let url = format!("http://{}/hello", pair.ports.outbound);
    let rotated = stage.path("pair.nrf.ledger.000001");
    until("a rotation", || {
        assert_eq!(get(&url).2, "served");
        // The next is begun after the one before has its new name.
        rotated.exists() && ledger.exists()
    });
    assert!(std::fs::metadata(&rotated).expect("it").len() >= 64 << 10);

    let moved = stage.path("moved");
    std::fs::rename(&ledger, &moved).expect("a new name");
    nrf.process.send(libc::SIGHUP);
    until("a new ledger", || ledger.exists());
    assert_eq!(get(&url).2, "served");
    until("a record in it", || {
        std::fs::metadata(&ledger).is_ok_and(|now| now.len() > 0)
    });
    assert_eq!(files(&ledger).expect("its files"), [rotated, ledger]);
    assert_eq!(nrf.metric("bartizan_sidecar_ledger_lost_total", &[]), Some(0.0));
    // Every handshake of the peer has its record in one of the files.
    let key = |record: bartizan_ledger::Record| match record.event {
        Event::Handshake(handshake) => handshake.key,
        _ => None,
    };
    let moved = std::io::BufReader::new(std::fs::File::open(moved).expect("it"));
    let moved = bartizan_ledger::Reader::new(moved).map(|record| record.expect("whole"));
    let here: Vec<_> = nrf.records().into_iter().chain(moved).filter_map(key).collect();
    for record in amf.records() {
        let Event::Handshake(handshake) = record.event else {
            continue;
        };
        let Some(key) = handshake.key else { continue };
        until("its record", || {
            here.contains(&key)
                || nrf
                    .records()
                    .into_iter()
                    .any(|record| matches!(record.event, Event::Handshake(other) if other.key == Some(key)))
        });
    }
}
