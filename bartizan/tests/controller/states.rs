//! Sidecars that the controller asks what they carry: some answer well, some badly, some never.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bartizan_host::Process;
use bartizan_testing::{eventually, until};
use serde_json::json;

use crate::api_server::ApiServer;
use crate::authority::Place;

/// An admin port with this answer to everything; how often it was asked.
fn admin(answer: String, stays_open: bool) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut head = [0; 512];
            let read = stream.read(&mut head).unwrap_or_default();
            assert!(head[..read].starts_with(b"GET /state HTTP/1.1\r\n"));
            counted.fetch_add(1, Ordering::Relaxed);
            let _ = stream.write_all(answer.as_bytes());
            if stays_open {
                std::mem::forget(stream);
            }
        }
    });
    (address, asked)
}

fn http(body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

fn start(place: &Place, server: &ApiServer, more: &[&str]) -> Process {
    super::controller(place, server).arguments(more).start().unwrap()
}

#[test]
fn what_sidecars_carry_becomes_a_condition_and_one_that_never_answers_is_said() {
    let place = Place::new();
    place.ca_works("init --dir cluster-ca --algorithm ecdsa-p256");
    place.ca_works("issue --dir cluster-ca --name api --dns api.test --ip 127.0.0.1 --out cluster");
    place.ca_works("init --dir ca --algorithm ml-dsa-65");
    std::fs::write(place.path("token"), "a-token\n").unwrap();
    let server = ApiServer::start(&place.path("cluster"), &[]);
    let says = |reason: &str, text: &str| {
        eventually(&format!("Protected is {reason}: {text}"), || {
            let (found, message) = server.condition("Protected")?;
            (found == reason && message.contains(text)).then_some(())
        });
    };
    // One never answers, one is no HTTP, one never ends, one is of an older version.
    let (silent, asked) = admin(String::new(), true);
    server.put_pod("silent", "amf", silent);
    let running = start(&place, &server, &[]);
    says(
        "NotAsked",
        "0 of 1 sidecars that are ready said what they carry\nnodes.amf: no answer in time",
    );
    server.put_pod("broken", "amf", admin("nothing of HTTP\r\n\r\n".to_owned(), false).0);
    server.put_pod(
        "endless",
        "amf",
        admin(format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(1 << 20)), true).0,
    );
    server.put_pod(
        "older",
        "amf",
        admin("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_owned(), false).0,
    );
    let well = json!({ "node": "amf", "links": [{ "peer": "nrf", "interface": "SBI", "connections": 2, "excepted": 0, "classical": 0 }], "refused": [], "ledger_lost": 0 });
    server.put_pod("well", "amf", admin(http(&well.to_string()), false).0);
    says("NotAllAnswered", "1 of 5 sidecars that are ready said what they carry");
    let under =
        json!({ "links": [{ "peer": "amf", "interface": "SBI", "connections": 1, "excepted": 1, "classical": 1 }] });
    server.put_pod("excepted", "nrf", admin(http(&under.to_string()), false).0);
    says("Excepted", "nodes.nrf: SBI to amf: open under an exception");
    server.put_pod("lost", "nrf", admin(http("{\"ledger_lost\":3}"), false).0);
    says("LedgerLost", "nodes.nrf: 3 ledger records were lost");
    // A sidecar that was asked is not asked again at once, after any answer.
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    assert!(running.terminate(Duration::from_secs(120)).unwrap().success());

    let _without = start(&place, &server, &["--no-state"]);
    until("the condition is left out", || server.condition("Protected").is_none());
    assert!(server.condition("Ready").is_some());
    assert_eq!(asked.load(Ordering::Relaxed), 1);
}
