//! What happens at each bound: it is counted, and others are not disturbed.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use bartizan_host::Program;

use crate::stage::{By, Node, PATIENCE, Pair, Stage, ask, get, until};

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream
}

/// Whether the other side closes the connection, whatever it says before.
fn is_closed(mut stream: TcpStream) -> bool {
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).is_ok() || stream.write_all(b"x").is_err()
}

fn reached(node: &Node, limit: &str) -> f64 {
    let counted = node.metric(
        "bartizan_sidecar_limits_reached_total",
        &[&format!("limit=\"{limit}\"")],
    );
    counted.unwrap_or_default()
}

#[test]
fn silent_connections_give_way_to_new_ones_and_are_counted() {
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
fn connections_in_use_give_way_to_none_and_a_place_given_back_is_used_again() {
    let mut stage = Stage::new();
    stage.write("hello", "hello");
    let pair = Pair {
        limits: "connections: 2".to_owned(),
        warm: 0,
        ..Pair::new(By::Splice, By::Splice)
    };
    let _function = stage.nghttpd(pair.ports.function, &[]);
    let running = stage.run(&pair);
    let held = [(); 2].map(|()| {
        let mut stream = connect(pair.ports.outbound);
        // The function's SETTINGS come back: the connection is in use.
        stream
            .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")
            .expect("it reads");
        stream.read_exact(&mut [0; 9]).expect("an answer");
        stream
    });
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
fn strangers_that_say_nothing_or_nonsense_are_recorded_and_disturb_nobody() {
    let mut stage = Stage::new();
    stage.write("hello", "hello");
    let pair = Pair {
        limits: "handshake: 400ms".to_owned(),
        ..Pair::new(By::Http2, By::Http2)
    };
    let _function = stage.nghttpd(pair.ports.function, &[]);
    let running = stage.run(&pair);
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
