//! Connections that were open before the rules were.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use super::NOTHING;
use crate::redirect_stage::{LONG, Stage};

#[test]
fn unencrypted_connection_from_before_the_rules_is_cut() {
    let stage = Stage::new();
    let listener = stage
        .nrf
        .enter(|| TcpListener::bind("10.88.0.2:8000").unwrap())
        .unwrap();
    let mut consumer = stage
        .amf
        .enter(|| TcpStream::connect("10.88.0.2:8000").unwrap())
        .unwrap();
    let (mut function, _) = listener.accept().unwrap();
    consumer.write_all(b"before").unwrap();
    function.read_exact(&mut [0; 6]).unwrap();
    stage.install();
    let seen = stage.watch(|| {
        // The first of the two gets the error.
        let failed = consumer.write_all(b"after").is_err();
        assert!(failed || consumer.read(&mut [0; 1]).is_err(), "not cut");
    });
    assert_eq!(seen, NOTHING);
}

/// Three of 1,200 requests waited 15 s for an answer that the rules had dropped.
#[test]
fn both_ends_of_a_connection_from_before_the_rules_get_a_reset_at_once() {
    let stage = Stage::new();
    let listen =
        |space: &bartizan_host::Namespace, address: &str| space.enter(|| TcpListener::bind(address).unwrap()).unwrap();
    let call =
        |space: &bartizan_host::Namespace, address: &str| space.enter(|| TcpStream::connect(address).unwrap()).unwrap();
    let mut ends = Vec::new();
    for (function, consumer, address) in [
        (&stage.nrf, &stage.amf, "10.88.0.2:8000"),
        (&stage.nrf, &stage.amf, "[fd88::2]:8000"),
        (&stage.amf, &stage.nrf, "10.88.0.1:8000"),
        (&stage.amf, &stage.nrf, "[fd88::1]:8000"),
    ] {
        let listener = listen(function, address);
        ends.push(call(consumer, address));
        ends.push(listener.accept().unwrap().0);
    }
    for end in &mut ends {
        end.set_read_timeout(Some(LONG)).unwrap();
    }
    // A sidecar's connection to its own function is none of them.
    let function = listen(&stage.amf, "10.88.0.1:8000");
    let mut sidecar = call(&stage.amf, "10.88.0.1:8000");
    let (mut accepted, _) = function.accept().unwrap();
    let said = stage.install().text();
    assert!(said.contains("reset 4 connections that were open before"), "{said}");
    for end in &mut ends {
        let error = end.read(&mut [0; 1]).expect_err("no reset");
        let kind = error.kind();
        assert!(
            matches!(
                kind,
                std::io::ErrorKind::ConnectionReset | std::io::ErrorKind::ConnectionAborted
            ),
            "{error}"
        );
    }
    sidecar.write_all(b"on").unwrap();
    accepted.read_exact(&mut [0; 2]).unwrap();

    // Neither are connections that are redirected, when the rules are installed anew.
    let listener = listen(&stage.amf, "127.0.0.1:15001");
    let mut consumer = call(&stage.amf, "10.88.0.2:8000");
    let (mut redirected, _) = listener.accept().unwrap();
    let said = stage.install().text();
    assert!(!said.contains("reset"), "{said}");
    consumer.write_all(b"on").unwrap();
    redirected.read_exact(&mut [0; 2]).unwrap();
}
