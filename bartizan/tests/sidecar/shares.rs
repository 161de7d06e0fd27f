//! Share of one peer in common resources, with any number of connections.

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::raw::{DATA, HEADERS, INITIAL_WINDOW_SIZE, Raw, frame};
use crate::stage::{By, Pair, Papers, Stage, until};

/// Far beyond what a test takes: nothing here goes on because a bound in time ended something else.
const NO_END: &str = "stall: 1h, request: 1h";

/// A third node whose function's connections reach the NRF's sidecar each as a connection of its own.
fn with_third(stage: &Stage, file: &PathBuf, third: &Papers, outbound: SocketAddr) -> PathBuf {
    let text = std::fs::read_to_string(file).expect("the file");
    let node = format!(
        "  smf:
    function: SMF
    address: 127.0.0.1
    names: {{ dns: [smf.5gc] }}
    certificate: {}
    key: {}
    sidecar:
      outbound: [ {{ listen: '{outbound}', to: nrf, path: splice, warm: 0 }} ]
interfaces:
  - {{ kind: SBI, between: [smf, nrf], with: sidecar }}
",
        third.certificate.display(),
        third.key.display()
    );
    stage.write("three.yaml", text.replace("interfaces:\n", &node))
}

/// Streams on a function's first connection, in the order of their heads, with the bytes of each.
type Got = Arc<Mutex<Vec<(u32, usize)>>>;

/// Takes one connection and opens the windows of its streams, and never that of the connection.
fn takes_one_window(address: SocketAddr) -> Got {
    let got = Got::default();
    let (listener, taken) = (
        TcpListener::bind(address).expect("the function's port"),
        Arc::clone(&got),
    );
    thread::spawn(move || {
        let (stream, _) = listener.accept().expect("the sidecar dials");
        let mut raw = Raw::server(stream, &[(INITIAL_WINDOW_SIZE, 1 << 20)]).expect("HTTP/2");
        while let Ok(frame) = raw.read() {
            let mut got = taken.lock().expect("nobody panicked");
            match frame.kind {
                HEADERS => got.push((frame.stream, 0)),
                DATA => {
                    let stream = got.iter_mut().find(|(stream, _)| *stream == frame.stream);
                    stream.expect("its head came first").1 += frame.payload.len();
                }
                _ => {}
            }
        }
    });
    got
}

/// Takes connections of one stream each and answers nothing; gives the number of requests so far.
fn answers_nothing(address: SocketAddr) -> Arc<Mutex<usize>> {
    const MAX_CONCURRENT_STREAMS: u16 = 0x03;
    let got = Arc::new(Mutex::new(0));
    let (listener, counted) = (
        TcpListener::bind(address).expect("the function's port"),
        Arc::clone(&got),
    );
    thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            let counted = Arc::clone(&counted);
            thread::spawn(move || {
                let Ok(mut raw) = Raw::server(stream, &[(MAX_CONCURRENT_STREAMS, 1)]) else {
                    return;
                };
                while let Ok(frame) = raw.read() {
                    *counted.lock().expect("a count") += usize::from(frame.kind == HEADERS);
                }
            });
        }
    });
    got
}

/// One peer's requests held all streams of a network function, and those of others waited for as long as they did.
#[test]
fn a_peer_whose_requests_wait_leaves_streams_of_the_function_to_another() {
    // The largest share of 32 connections with a stream each: twice as many as are left.
    const SHARE: usize = 22;
    let mut stage = Stage::new();
    let pair = Pair {
        limits: NO_END.to_owned(),
        ..Pair::new(By::Http2, By::Http2)
    };
    let [outbound] = bartizan_testing::loopback_addresses().expect("a free port");
    let (amf, nrf, smf) = (stage.issue("amf"), stage.issue("nrf"), stage.issue("smf"));
    let file = with_third(&stage, &stage.deployment("pair", &pair, &amf, &nrf), &smf, outbound);
    let got = answers_nothing(pair.ports.function);
    let so_far = || *got.lock().expect("a count");
    let _nrf = stage.start(&file, "nrf", pair.ports.nrf_admin);
    let _amf = stage.start(&file, "amf", pair.ports.amf_admin);
    let _smf = stage.start(&file, "smf", pair.ports.nrf_admin);
    let mut greedy = Raw::client(pair.ports.outbound, &[]);
    // The function says once how many streams a connection has.
    greedy.ask(1, "GET", "/greedy");
    until("the first request", || so_far() == 1);
    for stream in 1..40 {
        greedy.ask(2 * stream + 1, "GET", "/greedy");
    }
    until("as many as it may have", || so_far() >= SHARE);
    let mut other = Raw::client(outbound, &[]);
    other.ask(1, "GET", "/other");
    until("the other peer's request", || so_far() == SHARE + 1);
}

/// Shares of a link's window were by connection: a peer with a dozen connections had a dozen, and
/// left nothing to another peer.
#[test]
fn a_peer_with_a_dozen_connections_has_one_share_of_the_window_to_a_function() {
    const CONNECTIONS: usize = 12;
    // Initial flow-control window of a client (RFC 9113, section 6.9.2), here and to the function.
    const WINDOW: usize = 65_535;
    let mut stage = Stage::new();
    let pair = Pair {
        limits: NO_END.to_owned(),
        ..Pair::new(By::Http2, By::Http2)
    };
    let [outbound] = bartizan_testing::loopback_addresses().expect("a free port");
    let (amf, nrf, smf) = (stage.issue("amf"), stage.issue("nrf"), stage.issue("smf"));
    let file = with_third(&stage, &stage.deployment("pair", &pair, &amf, &nrf), &smf, outbound);
    let got = takes_one_window(pair.ports.function);
    let nrf = stage.start(&file, "nrf", pair.ports.nrf_admin);
    let _amf = stage.start(&file, "amf", pair.ports.amf_admin);
    let _smf = stage.start(&file, "smf", pair.ports.nrf_admin);
    let piece = |stream| frame(DATA, 0, stream, &[b'x'; 1000]);
    let so_far = || got.lock().expect("nobody panicked").clone();

    let mut honest = Raw::client(pair.ports.outbound, &[]);
    honest.ask(1, "POST", "/honest");
    honest.send(&piece(1));
    until("the first of it", || matches!(so_far()[..], [(_, 1000)]));
    let hostile: Vec<Raw> = (0..CONNECTIONS)
        .map(|_| {
            let mut client = Raw::client(outbound, &[]);
            client.ask(1, "POST", "/hostile");
            for _ in 0..60 {
                client.send(&piece(1));
            }
            client
        })
        .collect();
    // As much of it has arrived as ever will: twice as much as is left.
    let sum = || so_far().iter().map(|(_, bytes)| bytes).sum::<usize>();
    until("all requests, and two thirds of the window", || {
        so_far().len() == 1 + CONNECTIONS && sum() >= WINDOW / 2
    });
    let mut before = 0;
    until("nothing more to come", || {
        thread::sleep(Duration::from_millis(300));
        std::mem::replace(&mut before, sum()) == before
    });
    assert_eq!(
        nrf.connections().len(),
        1 + CONNECTIONS,
        "each has a connection of its own"
    );
    let left = WINDOW - sum();
    assert!(
        left > WINDOW / 4,
        "{CONNECTIONS} connections of one peer left {left} of {WINDOW}"
    );
    for _ in 0..10 {
        honest.send(&piece(1));
    }
    until("the rest of the other peer's body", || so_far()[0].1 == 11_000);
    drop(hostile);
}
