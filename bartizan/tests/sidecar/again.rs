//! Open connections are judged again: what is in effect for new ones is in effect for those that are open.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use bartizan_ledger::Event;
use time::OffsetDateTime;
use time::format_description::FormatItem;
use time::macros::format_description;

use crate::stage::{By, Node, PATIENCE, Pair, Papers, Running, Stage, curl, get, openssl, problem, until};

/// Connections are closed this long after they were dismissed.
const DRAIN: &str = "drain: 300ms";

/// A pair in which each node goes by a file of its own.
fn run(stage: &mut Stage, pair: &Pair, amf: &Papers) -> (Running, [PathBuf; 2]) {
    let (nrf, spare) = (stage.issue("nrf"), stage.issue("amf"));
    let ours = stage.deployment("ours", pair, amf, &nrf);
    let theirs = stage.deployment("theirs", pair, &spare, &nrf);
    let running = Running {
        nrf: stage.start(&theirs, "nrf", pair.ports.nrf_admin),
        amf: stage.start(&ours, "amf", pair.ports.amf_admin),
        ports: pair.ports,
    };
    (running, [ours, theirs])
}

fn edit(file: &Path, from: &str, to: &str) {
    let text = std::fs::read_to_string(file).expect("the file");
    assert!(text.contains(from), "{text}");
    std::fs::write(file, text.replace(from, to)).expect("the file");
}

/// A connection of the network function that has said something and stays open.
fn hold(outbound: SocketAddr) -> TcpStream {
    let mut held = TcpStream::connect(outbound).expect("the outbound listener");
    held.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")
        .expect("a preface");
    held.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    held.read_exact(&mut [0; 9]).expect("the other side's SETTINGS");
    held
}

/// Reasons for which a node ended connections early, by its ledger.
fn reasons(node: &Node) -> BTreeSet<String> {
    let refused = |event| match event {
        Event::Closed(closed) => closed.refused.map(|refusal| refusal.reason),
        _ => None,
    };
    node.records()
        .into_iter()
        .filter_map(|record| refused(record.event))
        .collect()
}

/// Nothing of the old is left, nothing new comes in, and the ledger says why.
fn assert_ended(running: &Running, reason: &str) {
    until("the end of its connections", || running.nrf.connections().is_empty());
    let answer = get(&format!("http://{}/hello", running.ports.outbound));
    assert_eq!(problem(&answer)["reason"], "peer-refused", "{answer:?}");
    until("the reason", || reasons(&running.nrf).contains(reason));
    let counted = running.nrf.metric(
        "bartizan_sidecar_connections_dismissed_total",
        &["side=\"inbound\"", "peer=\"amf\"", &format!("reason=\"{reason}\"")],
    );
    assert!(counted >= Some(1.0), "{counted:?}");
    let log = running.nrf.process.stderr();
    assert!(
        log.contains("closes open connections: their peer would be refused now"),
        "{log}"
    );
}

/// Regression: only revoked certificates were dismissed on reload. Any other peer that was no
/// longer admitted went on being served on its open connection.
#[test]
fn an_open_connection_ends_when_a_reload_would_no_longer_admit_it() {
    let mut foreign = Stage::new();
    let other = foreign.issue("amf");
    for by in [By::Http2, By::Splice] {
        for (change, reason) in [
            ("interface", "wrong-name"),
            ("policy", "policy"),
            ("roots", "unknown-ca"),
        ] {
            let mut stage = Stage::new();
            stage.write("hello", "served");
            let pair = Pair {
                limits: DRAIN.to_owned(),
                ..Pair::new(by, by)
            };
            let _function = stage.nghttpd(pair.ports.function, &[]);
            let amf = stage.issue("amf");
            let (mut running, [_, theirs]) = run(&mut stage, &pair, &amf);
            let _held = hold(pair.ports.outbound);
            assert_eq!(
                get(&format!("http://{}/hello", pair.ports.outbound)).2,
                "served",
                "{by:?} {change}"
            );
            match change {
                "interface" => {
                    edit(
                        &theirs,
                        "between: [amf, nrf], with: sidecar",
                        "between: [amf, nrf], with: nothing",
                    );
                    // The outbound listeners of `amf` do not concern `nrf`, and would be refused
                    // now.
                    let text = std::fs::read_to_string(&theirs).expect("the file");
                    let kept = text
                        .lines()
                        .filter(|line| !line.contains("outbound:") && !line.contains("warm:"));
                    std::fs::write(&theirs, kept.collect::<Vec<_>>().join("\n")).expect("the file");
                }
                "names" => edit(&theirs, "names: { dns: [amf.5gc] }", "names: { dns: [other.5gc] }"),
                "policy" => edit(
                    &theirs,
                    "policy: hybrid",
                    "policy: { profile: hybrid, groups: [SecP256r1MLKEM768] }",
                ),
                _ => {
                    let text = std::fs::read_to_string(&theirs).expect("the file");
                    let roots = text
                        .split("roots: ")
                        .nth(1)
                        .and_then(|rest| rest.split([' ', ',']).next());
                    std::fs::copy(&other.roots, roots.expect("their roots")).expect("other roots");
                }
            }
            running.nrf.process.send(libc::SIGHUP);
            assert_ended(&running, reason);
        }
    }
}

#[test]
fn an_open_connection_ends_with_the_certificate_it_was_made_with() {
    let mut stage = Stage::new();
    stage.write("hello", "served");
    let pair = Pair {
        limits: DRAIN.to_owned(),
        ..Pair::new(By::Splice, By::Http2)
    };
    let _function = stage.nghttpd(pair.ports.function, &[]);
    // Longer and longer, until the machine has done all that comes before its end.
    for seconds in [8, 40, 200] {
        let ends = SystemTime::now() + Duration::from_secs(seconds);
        let amf = stage.issue_until("amf", ends);
        let (running, _) = run(&mut stage, &pair, &amf);
        let answer = get(&format!("http://{}/hello", pair.ports.outbound));
        if SystemTime::now() + Duration::from_secs(3) > ends {
            continue;
        }
        assert_eq!(answer.2, "served");
        let _held = hold(pair.ports.outbound);
        assert_ended(&running, "expired");
        return;
    }
    panic!("it was never served before its certificate ended");
}

/// A producer that answers later than any client waits.
fn slow(address: SocketAddr) {
    let listener = TcpListener::bind(address).expect("the producer's port");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut stream = stream;
                let _ = stream.write_all(b"\0\0\0\x04\0\0\0\0\0");
                let _ = stream.read_to_end(&mut Vec::new());
            });
        }
    });
}

#[test]
fn a_request_under_way_to_a_producer_that_is_no_longer_admitted_ends_with_drain() {
    let mut stage = Stage::new();
    let pair = Pair {
        limits: format!("{DRAIN}, request: 60s"),
        ..Pair::new(By::Http2, By::Http2)
    };
    slow(pair.ports.function);
    let amf = stage.issue("amf");
    let (mut running, [ours, _]) = run(&mut stage, &pair, &amf);
    let url = format!("http://{}/hello", pair.ports.outbound);
    let asked = curl(&["--http2-prior-knowledge", "--write-out", "%{http_code}", &url])
        .start()
        .expect("curl starts");
    until("the request", || {
        running
            .nrf
            .metric("bartizan_sidecar_requests_in_flight", &["side=\"inbound\""])
            == Some(1.0)
    });
    edit(
        &ours,
        "policy: hybrid",
        "policy: { profile: hybrid, groups: [SecP256r1MLKEM768] }",
    );
    running.amf.process.send(libc::SIGHUP);
    let answered = asked.finish(PATIENCE).expect("curl ends").text();
    assert!(
        answered.ends_with("504") && answered.contains("\"peer\":\"nrf\""),
        "{answered}"
    );
    until("the reason", || reasons(&running.amf).contains("policy"));
}

const DAY: &[FormatItem<'_>] = format_description!("[year]-[month]-[day]");

#[test]
fn what_an_exception_let_in_is_closed_when_its_last_day_is_over() {
    let mut stage = Stage::new();
    let last = OffsetDateTime::now_utc() + Duration::from_secs(2 * 86_400);
    let pair = Pair {
        policy: format!(
            "{{ profile: transition, reason: an old AMF, expires: {} }}",
            last.format(DAY).expect("a day")
        ),
        limits: DRAIN.to_owned(),
        ..Pair::new(By::Http2, By::Http2)
    };
    let (amf, nrf) = (stage.issue("amf"), stage.issue("nrf"));
    let file = stage.deployment("pair", &pair, &amf, &nrf);
    // Earlier and earlier, until the machine opens both connections before the day is over.
    let evenings = [
        time::macros::time!(23:59:52),
        time::macros::time!(23:59:20),
        time::macros::time!(23:56:00),
    ];
    let both = evenings
        .into_iter()
        .any(|evening| one_of_two_is_closed(&stage, &pair, &file, &amf, last.replace_time(evening)));
    assert!(both, "both connections were never open");
}

/// From this moment on, which is before the exception ends; false where it ended before both connections were open.
fn one_of_two_is_closed(stage: &Stage, pair: &Pair, file: &Path, amf: &Papers, evening: OffsetDateTime) -> bool {
    let theirs = stage.start_at(evening, file, "nrf", pair.ports.nrf_admin);
    let client = |groups: &str| {
        let client = openssl(pair.ports.inbound, groups, Some(amf)).argument("-ign_eof");
        client.start().expect("it starts")
    };
    let (mut excused, _other) = (client("X25519"), client("X25519MLKEM768"));
    let open = || {
        let groups = theirs.connections().into_iter().map(|open| open["group"].to_string());
        groups.collect::<BTreeSet<_>>()
    };
    let mut both = false;
    until("both connections, or the end of the one that is excused", || {
        both = open().len() == 2;
        both || excused.ended().expect("the kernel says").is_some()
    });
    if !both {
        return false;
    }
    until("the end of the one that was excused", || open().len() == 1);
    assert!(open().contains("\"X25519MLKEM768\""), "{:?}", open());
    until("the reason", || reasons(&theirs).contains("policy"));
    true
}
