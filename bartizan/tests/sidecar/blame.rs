//! Blame: if several wait for each other with the same bounds, the answer names the one that is
//! late.

use std::net::{SocketAddr, TcpListener};
use std::thread;

use crate::raw::{END_HEADERS, END_STREAM, HEADERS, Raw, frame};
use crate::stage::{By, Pair, Running, Stage, ask, problem};

/// Accepts requests and never answers one; before that it asks `first`, where that is given, and waits for the answer.
fn silent(address: SocketAddr, first: Option<SocketAddr>) {
    let listener = TcpListener::bind(address).expect("the producer's port");
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || {
                let Ok(mut raw) = Raw::server(stream, &[]) else { return };
                let asked = raw.until(|frame| frame.kind == HEADERS);
                if let Some(first) = first {
                    let mut client = Raw::client(first, &[]);
                    client.ask(1, "GET", "/nested");
                    client.until(|frame| frame.kind == HEADERS);
                    raw.send(&frame(HEADERS, END_HEADERS | END_STREAM, asked.stream, b"\x8e"));
                }
                while raw.read().is_ok() {}
            });
        }
    });
}

fn pair(request: &str) -> Pair {
    Pair {
        limits: format!("request: {request}"),
        ..Pair::new(By::Http2, By::Http2)
    }
}

/// Both sidecars waited for as long, and that of the consumer was always first.
#[test]
fn the_sidecar_next_to_a_function_that_is_late_answers_before_that_of_the_consumer() {
    let mut stage = Stage::new();
    // The tenth of it is what the second may be late by.
    let pair = pair("20s");
    silent(pair.ports.function, None);
    let running = stage.run(&pair);
    let url = format!("http://{}/late", running.ports.outbound);
    let answer = ask(&["--http2-prior-knowledge", "--dump-header", "-", &url]);
    assert_eq!(answer.0, 504);
    assert!(answer.2.contains("server: bartizan (nrf)"), "{answer:?}");
}

/// Regression: `amf` asks `nrf`, whose function asks `amf`'s, which is silent: with equal bounds
/// all answers blamed `nrf`.
#[test]
fn a_function_that_waits_for_another_is_not_blamed_for_it() {
    nested(&[]);
}

/// Requests of the function and requests to it are on different workers: the first connection of
/// each listener goes to the worker that has fewer.
#[test]
fn what_a_function_waits_for_is_known_to_all_workers() {
    nested(&["--workers", "2"]);
}

/// With these arguments to the sidecar of `nrf`.
fn nested(arguments: &[&str]) {
    let mut stage = Stage::new();
    let pair = pair("1s");
    let [outbound, inbound, late] = bartizan_testing::loopback_addresses().expect("free ports");
    let (amf, nrf) = (stage.issue("amf"), stage.issue("nrf"));
    let file = stage.deployment("pair", &pair, &amf, &nrf);
    let text = std::fs::read_to_string(&file).expect("the file");
    let of_amf = format!("      inbound:\n        - {{ listen: '{inbound}', forward: '{late}' }}\n      outbound:\n");
    let of_nrf = format!("      outbound:\n        - {{ listen: '{outbound}', to: amf }}\n      inbound:\n");
    // The first of two equal bounds to be noticed is a matter of chance: that of `amf` is longer,
    // so that `nrf` has to report it.
    let text = text
        .replacen("      outbound:\n", &of_amf, 1)
        .replacen("request: 1s", "request: 30s", 1);
    let (before, after) = text.rsplit_once("      inbound:\n").expect("nrf's listeners");
    let file = stage.write("nested.yaml", format!("{before}{of_nrf}{after}"));
    silent(pair.ports.function, Some(outbound));
    silent(late, None);
    let running = Running {
        nrf: stage.start_with(&file, "nrf", pair.ports.nrf_admin, arguments),
        amf: stage.start(&file, "amf", pair.ports.amf_admin),
        ports: pair.ports,
    };
    let answer = ask(&[
        "--http2-prior-knowledge",
        &format!("http://{}/late", running.ports.outbound),
    ]);
    assert_eq!(answer.0, 504);
    let problem = problem(&answer);
    assert_eq!(problem["peer"], "nrf");
    let detail = problem["detail"].as_str().expect("text");
    // The waiting time by then depends on the machine, and is less than the bound that `amf` has.
    assert!(detail.contains("nrf itself waits for amf, for "), "{detail}");
}
