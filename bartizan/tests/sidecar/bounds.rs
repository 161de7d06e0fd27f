//! Effect of each bound: it is counted, and others are not disturbed.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use bartizan_host::Program;
use bartizan_testing::{connect_from, is_closed, is_open};
use serde_json::Value;

use crate::stage::{By, Node, PATIENCE, Pair, Stage, ask, get, until};
use crate::stalls::resident;

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream
}

/// A connection to a function over HTTP/2 that is in use: its SETTINGS came back.
fn in_use(outbound: SocketAddr) -> TcpStream {
    let mut stream = connect(outbound);
    stream
        .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")
        .expect("it reads");
    stream.read_exact(&mut [0; 9]).expect("an answer");
    stream
}

fn reached(node: &Node, limit: &str) -> f64 {
    let counted = node.metric(
        "bartizan_sidecar_limits_reached_total",
        &[&format!("limit=\"{limit}\"")],
    );
    counted.unwrap_or_default()
}

#[test]
fn silent_connections_are_evicted_for_new_ones_and_counted() {
    for by in [By::Splice, By::Http2] {
        let mut stage = Stage::new();
        stage.write("hello", "hello");
        let pair = Pair {
            limits: "connections: 2".to_owned(),
            ..Pair::new(by, by)
        };
        let _function = stage.nghttpd(pair.ports.function, &[]);
        let running = stage.run(&pair);
        let [longest, second] = [connect(pair.ports.outbound), connect(pair.ports.outbound)];
        assert_eq!(get(&format!("http://{}/hello", pair.ports.outbound)).0, 200, "{by:?}");
        assert!(is_closed(longest));
        assert!(reached(&running.amf, "connections") >= 1.0);
        second.set_nonblocking(true).expect("a socket");
        let open = (&second).read(&mut [0]);
        assert_eq!(open.expect_err("it is open").kind(), std::io::ErrorKind::WouldBlock);
    }
}

#[test]
fn connections_in_use_are_never_evicted_and_a_slot_given_back_is_used_again() {
    let mut stage = Stage::new();
    stage.write("hello", "hello");
    let pair = Pair {
        limits: "connections: 2".to_owned(),
        warm: 0,
        ..Pair::new(By::Splice, By::Splice)
    };
    let _function = stage.nghttpd(pair.ports.function, &[]);
    let running = stage.run(&pair);
    let held = [(); 2].map(|()| in_use(pair.ports.outbound));
    assert!(is_closed(connect(pair.ports.outbound)));
    until("the count", || reached(&running.amf, "connections") >= 1.0);
    drop(held);
    let url = format!("http://{}/hello", pair.ports.outbound);
    until("an answer", || {
        let client = Program::new("curl").arguments(["-s", "--http2-prior-knowledge", "--max-time", "20", &url]);
        client.run(PATIENCE).is_ok_and(|answer| answer.text() == "hello")
    });
}

#[test]
fn many_connections_are_shown_in_pages_and_their_memory_is_given_back() {
    const MANY: usize = 400;
    let mut stage = Stage::new();
    let pair = Pair {
        warm: 0,
        ..Pair::new(By::Splice, By::Splice)
    };
    let _function = stage.nghttpd(pair.ports.function, &[]);
    let running = stage.run(&pair);
    let nodes = [&running.amf, &running.nrf];
    let before = nodes.map(resident);
    let held: Vec<_> = (0..MANY).map(|_| in_use(pair.ports.outbound)).collect();

    let (mut pages, mut shown) = (vec!["/connections?limit=150".to_owned()], BTreeSet::new());
    while let Some(page) = pages.last().filter(|page| !page.is_empty()) {
        let page: Value = serde_json::from_str(&running.amf.admin(page).1).expect("JSON");
        assert_eq!(page["open"], MANY);
        let connections = page["connections"].as_array().expect("a list");
        shown.extend(connections.iter().map(|one| one["client_random"].to_string()));
        pages.push(page["next"].as_str().unwrap_or_default().to_owned());
    }
    assert_eq!((pages.len(), shown.len()), (4, MANY));
    assert_eq!(running.amf.admin("/connections?limit=no").0, 400);

    let most = nodes.map(resident);
    drop(held);
    for ((node, before), most) in nodes.into_iter().zip(before).zip(most) {
        let kept = before + (most - before) / 2.0;
        until("the memory", || resident(node) < kept);
    }
}

#[test]
fn an_address_with_too_many_handshakes_evicts_its_own_connections_alone() {
    let mut stage = Stage::new();
    stage.write("hello", "hello");
    let pair = Pair {
        limits: "handshakes-per-address: 3, handshake: 1m".to_owned(),
        ..Pair::new(By::Http2, By::Http2)
    };
    let _function = stage.nghttpd(pair.ports.function, &[]);
    let running = stage.run(&pair);
    let url = format!("http://{}/hello", running.ports.outbound);
    assert_eq!(get(&url).0, 200);
    let from = |last: u8| connect_from([127, 0, 0, last], pair.ports.inbound);
    let other = from(9);
    let mut flood: Vec<_> = (0..8).map(|_| from(8)).collect();
    until("the count", || reached(&running.nrf, "handshakes-per-address") >= 5.0);
    let held = flood.split_off(5);
    for gone in flood {
        assert!(is_closed(gone));
    }
    for open in held.into_iter().chain([other]) {
        assert!(is_open(&open));
    }
    assert_eq!(get(&url).0, 200);
}

#[test]
fn an_address_with_too_many_connections_gets_no_more_and_others_do() {
    let mut stage = Stage::new();
    stage.write("hello", "hello");
    let pair = Pair {
        limits: "connections-per-address: 2".to_owned(),
        warm: 2,
        ..Pair::new(By::Splice, By::Splice)
    };
    let _function = stage.nghttpd(pair.ports.function, &[]);
    let running = stage.run(&pair);
    until("both that are kept ready", || running.nrf.connections().len() == 2);
    // The consumer's sidecar has 127.0.0.1, and its two connections are established: this one is not let in.
    assert!(is_closed(connect(pair.ports.inbound)));
    until("the count", || reached(&running.nrf, "connections-per-address") >= 1.0);
    assert!(is_open(&connect_from([127, 0, 0, 9], pair.ports.inbound)));
    assert_eq!(running.nrf.connections().len(), 2);
}

#[test]
fn connections_that_carry_nothing_end_after_a_while_and_the_next_request_is_served() {
    for by in [By::Splice, By::Http2] {
        let mut stage = Stage::new();
        stage.write("hello", "hello");
        let pair = Pair {
            limits: "idle: 3s, drain: 1s".to_owned(),
            ..Pair::new(by, by)
        };
        let _function = stage.nghttpd(pair.ports.function, &[]);
        let running = stage.run(&pair);
        let url = format!("http://{}/hello", pair.ports.outbound);
        assert_eq!(get(&url).0, 200);
        let silent = connect(pair.ports.outbound);
        // One in use, on which nothing more is said; nghttpd ends none by itself.
        let mut used = connect(pair.ports.outbound);
        used.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")
            .expect("it reads");
        used.read_exact(&mut [0; 9]).expect("an answer");
        assert!(is_closed(silent), "{by:?}");
        until("the count of the consumer's", || reached(&running.amf, "idle") >= 1.0);
        until("the count of the producer's", || reached(&running.nrf, "idle") >= 1.0);
        if by == By::Splice {
            assert!(is_closed(used));
        }
        for _ in 0..20 {
            assert_eq!(get(&url).0, 200, "{by:?}");
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
    }
}

#[test]
fn unauthenticated_connections_with_nothing_or_nonsense_are_recorded_and_disturb_nobody() {
    let mut stage = Stage::new();
    stage.write("hello", "hello");
    let pair = Pair {
        limits: "handshake: 1s".to_owned(),
        ..Pair::new(By::Http2, By::Http2)
    };
    let _function = stage.nghttpd(pair.ports.function, &[]);
    let running = stage.run(&pair);
    // The bound is that of the sidecars' own handshakes too: the one that is to carry the requests
    // is over, however often it was begun.
    until("a connection", || !running.nrf.connections().is_empty());
    let silent: Vec<_> = (0..50).map(|_| connect(pair.ports.inbound)).collect();
    let mut garbage = connect(pair.ports.inbound);
    garbage.write_all(&[0x5a; 4096]).expect("it reads");
    let url = format!("http://{}/hello", pair.ports.outbound);
    assert_eq!(get(&url).0, 200);
    assert!(is_closed(garbage));
    for stream in silent {
        assert!(is_closed(stream));
    }
    running.nrf.refused("timed-out");
    running.nrf.refused("malformed");
    until("fifty counts", || reached(&running.nrf, "handshake") >= 50.0);
    assert_eq!(get(&url).0, 200);

    // A consumer that begins HTTP/2 and stops in the middle of its preface.
    let mut half = connect(pair.ports.outbound);
    half.write_all(b"PRI * HTTP/2.0\r\n").expect("it reads");
    assert!(is_closed(half));
}

#[test]
fn a_header_list_that_is_too_large_is_answered_with_431() {
    let mut stage = Stage::new();
    stage.write("hello", "hello");
    let pair = Pair {
        limits: "header-bytes: 2048".to_owned(),
        ..Pair::new(By::Http2, By::Http2)
    };
    let _function = stage.nghttpd(pair.ports.function, &[]);
    let running = stage.run(&pair);
    let url = format!("http://{}/hello", running.ports.outbound);
    let large = format!("x-large: {}", "v".repeat(4_000));
    assert_eq!(ask(&["--http2-prior-knowledge", "--header", &large, &url]).0, 431);
    assert_eq!(get(&url).0, 200);
}

#[test]
fn more_streams_than_one_connection_takes_go_over_several_and_none_is_lost() {
    let mut stage = Stage::new();
    stage.write("hello", "hello");
    let pair = Pair {
        limits: "streams: 4".to_owned(),
        ..Pair::new(By::Http2, By::Http2)
    };
    let _function = stage.nghttpd(pair.ports.function, &[]);
    let running = stage.run(&pair);
    let load = Program::new("h2load")
        .package("nghttp2-client")
        .arguments(["-n", "2000", "-c", "8", "-m", "4"])
        .argument(format!("http://{}/hello", running.ports.outbound));
    let report = load.run(PATIENCE).expect("h2load succeeds").text();
    assert!(
        report.contains("2000 succeeded, 0 failed, 0 errored, 0 timeout"),
        "{report}"
    );
}

#[test]
fn a_connection_to_a_peer_ends_in_order_after_the_requests_it_may_carry() {
    let mut stage = Stage::new();
    stage.write("hello", "hello");
    let pair = Pair {
        limits: "requests-per-connection: 10".to_owned(),
        warm: 0,
        ..Pair::new(By::Http2, By::Http2)
    };
    let _function = stage.nghttpd(pair.ports.function, &[]);
    let running = stage.run(&pair);
    let load = Program::new("h2load")
        .package("nghttp2-client")
        .arguments(["-n", "100", "-c", "1", "-m", "1"])
        .argument(format!("http://{}/hello", running.ports.outbound));
    let report = load.run(PATIENCE).expect("h2load succeeds").text();
    assert!(report.contains("100 succeeded, 0 failed"), "{report}");
    let handshakes = || {
        running
            .nrf
            .metric("bartizan_sidecar_handshakes_total", &["side=\"inbound\""])
    };
    assert_eq!(handshakes(), Some(10.0));
    until("the last to end", || {
        running
            .nrf
            .metric("bartizan_sidecar_connections", &["side=\"inbound\""])
            .unwrap_or_default()
            == 0.0
    });
}
