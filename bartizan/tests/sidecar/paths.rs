//! Both paths, alone and mixed, with curl and h2load at one end and nghttpd or nginx at the other.

use bartizan_host::Program;
use bartizan_ledger::{Event, Verdict};

use crate::stage::{By, PAIRS, PATIENCE, Pair, Stage, ask, finish, get, problem, until};

#[test]
fn a_request_goes_through_every_pair_of_paths_and_both_sides_say_what_was_negotiated() {
    for (outbound, inbound) in PAIRS {
        let mut stage = Stage::new();
        stage.write("hello", "hello from the producer\n");
        let pair = Pair::new(outbound, inbound);
        let _function = stage.nghttpd(pair.ports.function, &[]);
        let running = stage.run(&pair);
        let (status, _, body) = get(&format!("http://{}/hello", running.ports.outbound));
        assert_eq!((status, body.as_str()), (200, "hello from the producer\n"), "{pair:?}");

        for (node, peer, direction) in [(&running.amf, "nrf", "outbound"), (&running.nrf, "amf", "inbound")] {
            // A splice's connection ends with the client's; the next one dialled ahead is open already.
            let mut connections = Vec::new();
            until("a connection", || {
                connections = node.connections();
                !connections.is_empty()
            });
            let used = &connections[0];
            assert_eq!(used["peer"], peer);
            assert_eq!(used["direction"], direction);
            assert_eq!(used["group"], "X25519MLKEM768");
            assert_eq!(used["local_signature"], "mldsa65");
            assert_eq!(used["peer_signature"], "mldsa65");
            assert_eq!(used["version"], "TLS 1.3");
            assert_eq!(used["resumed"], false);
            assert_eq!(used["verdict"], "accepted");
            let handshakes = node.handshakes(|handshake| {
                handshake.key.is_some()
                    && format!("{:?}", handshake.key).contains(used["client_random"].as_str().expect("hex"))
            });
            let handshake = &handshakes[0];
            assert_eq!(handshake.peer.as_deref(), Some(peer));
            assert_eq!(handshake.interface, "SBI");
            assert_eq!(handshake.verdict, Verdict::Accepted);
            let negotiated = handshake.negotiated.as_ref().expect("what was negotiated");
            assert_eq!(negotiated.group.code, 0x11ec);
            assert_eq!(negotiated.peer_signature.as_ref().expect("a signature").code, 0x0905);
            assert!(handshake.times.handshake_us > 0);
            // Certificate and CertificateVerify alone are over 8 kB each way with ML-DSA-65.
            assert!(handshake.bytes.sent > 8_000 && handshake.bytes.received > 8_000);
            let counted = node.metric(
                "bartizan_sidecar_handshakes_total",
                &["group=\"X25519MLKEM768\"", "signature=\"mldsa65\"", "resumed=\"no\""],
            );
            assert!(counted >= Some(1.0), "{counted:?}");
        }
    }
}

#[test]
fn h2load_loses_nothing_through_either_path_with_many_streams() {
    for by in [By::Splice, By::Http2] {
        let mut stage = Stage::new();
        stage.write("index.html", "x".repeat(300));
        let pair = Pair::new(by, by);
        let _function = stage.nghttpd(pair.ports.function, &[]);
        let running = stage.run(&pair);
        let load = Program::new("h2load")
            .package("nghttp2-client")
            .arguments(["-n", "2000", "-c", "4", "-m", "16"])
            .argument(format!("http://{}/index.html", running.ports.outbound));
        let report = load.run(PATIENCE).expect("h2load succeeds").text();
        assert!(
            report.contains("2000 succeeded, 0 failed, 0 errored, 0 timeout"),
            "{report}"
        );
        let labels = [
            "side=\"inbound\"",
            "consumer=\"amf\"",
            "producer=\"nrf\"",
            "service=\"index.html\"",
        ];
        let counts = [
            (&running.amf, "bartizan_sidecar_requests_total", &["status=\"200\""][..]),
            (&running.nrf, "bartizan_sidecar_requests_total", &labels),
            (
                &running.nrf,
                "bartizan_sidecar_request_own_seconds_count",
                &["consumer=\"amf\""],
            ),
        ];
        for (node, metric, labels) in counts {
            match by {
                // The last may be counted after its answer has arrived.
                By::Http2 => until(metric, || node.metric(metric, labels) == Some(2000.0)),
                By::Splice => assert_eq!(node.metric(metric, labels), None),
            }
        }
    }
}

#[test]
fn requests_are_routed_by_target_api_root_then_authority() {
    let mut stage = Stage::new();
    stage.write("hello", "hello");
    let pair = Pair {
        to: String::new(),
        ..Pair::new(By::Http2, By::Http2)
    };
    let _function = stage.nghttpd(pair.ports.function, &[]);
    let running = stage.run(&pair);
    let outbound = running.ports.outbound;
    let url = format!("http://{outbound}/hello");
    for header in [
        "3gpp-Sbi-Target-apiRoot: http://nrf:29510",
        "3gpp-Sbi-Target-apiRoot: https://nrf.5gc/prefix",
        "Host: nrf",
        "Host: NRF.5gc:8000",
        "Host: 127.0.0.1",
    ] {
        let (status, _, body) = ask(&["--http2-prior-knowledge", "--header", header, &url]);
        assert_eq!((status, body.as_str()), (200, "hello"), "{header}");
    }
    let answer = ask(&["--http2-prior-knowledge", "--header", "Host: unknown.example", &url]);
    assert_eq!(answer.0, 400);
    let problem = problem(&answer);
    assert_eq!(problem["cause"], "NF_DISCOVERY_FAILURE");
    assert_eq!(problem["reason"], "no-route");
    assert!(problem["detail"].as_str().expect("text").contains("unknown.example"));
}

#[test]
fn connections_dialled_ahead_hold_nothing_of_the_network_function() {
    let mut stage = Stage::new();
    let pair = Pair {
        warm: 3,
        ..Pair::new(By::Splice, By::Splice)
    };
    // No function listens, and no error occurs until a request comes.
    let running = stage.run(&pair);
    until("three connections", || running.nrf.connections().len() == 3);
    assert_eq!(
        running
            .amf
            .metric("bartizan_sidecar_ready_connections", &["peer=\"nrf\""]),
        Some(3.0)
    );
    assert_eq!(
        running.nrf.metric("bartizan_sidecar_local_connections_total", &[]),
        None
    );
    let answer = get(&format!("http://{}/hello", running.ports.outbound));
    assert_eq!(answer.0, 504);
    let problem = problem(&answer);
    assert_eq!(problem["reason"], "function-unreachable");
    assert_eq!(problem["peer"], "nrf");
}

#[test]
fn the_ledger_records_what_each_connection_carried() {
    let mut stage = Stage::new();
    stage.write("big", vec![b'x'; 100_000]);
    let pair = Pair {
        warm: 0,
        ..Pair::new(By::Splice, By::Splice)
    };
    let _function = stage.nghttpd(pair.ports.function, &[]);
    let running = stage.run(&pair);
    let (status, _, body) = get(&format!("http://{}/big", running.ports.outbound));
    assert_eq!((status, body.len()), (200, 100_000));
    until("the end of the connection", || {
        running.amf.records().iter().any(|record| match &record.event {
            Event::Closed(closed) => closed.bytes.received > 100_000 && closed.bytes.sent > 0 && closed.key.is_some(),
            _ => false,
        })
    });
}

#[test]
fn nghttp_gets_trailers_and_a_large_header() {
    for (outbound, inbound) in PAIRS {
        let mut stage = Stage::new();
        stage.write("hello", "hello");
        let pair = Pair::new(outbound, inbound);
        let _function = stage.nghttpd(pair.ports.function, &["--trailer", "checksum: 42"]);
        let running = stage.run(&pair);
        let client = Program::new("nghttp")
            .package("nghttp2-client")
            .arguments(["-v", "--no-dep", "--trailer", "asked: yes", "-H"])
            .argument(format!("x-large: {}", "v".repeat(8_000)))
            .argument("-d")
            .argument(stage.path("hello"))
            .argument(format!("http://{}/hello", running.ports.outbound));
        let report = finish(client).text();
        assert!(report.contains("checksum: 42"), "{pair:?}: {report}");
        assert!(report.contains(":status: 200"), "{report}");
    }
}
