//! A proxy that is reached by TLS, with the key log of its client: what it is asked for is in it,
//! and what goes on from it is judged.

use std::sync::Arc;

use bartizan_keys::{Format, KeyLog, Keyring};
use bartizan_posture::{Evidence, Kind, Ledgers, Verdict};
use bartizan_wire::{CaptureReader, Content, Limits, Observer};

const CAPTURE: &[u8] = include_bytes!("../../wire/tests/data/proxies.pcap");
const LOG: &[u8] = include_bytes!("../../wire/tests/data/proxies-keys.log");
/// Port of tinyproxy for TLS.
const PORT: u16 = 5106;

#[test]
fn a_tunnel_within_tls_that_keys_open_is_followed_and_what_goes_on_from_its_proxy_is_judged() {
    let keyring = Keyring::new();
    let mut reading = KeyLog::new(Format::Tls);
    keyring.add("curl.log", &mut reading, Some(LOG));
    keyring.add("curl.log", &mut reading, None);
    let mut observer = Observer::new(Limits::default()).with_keys(Arc::new(keyring));
    let mut reader = CaptureReader::new();
    reader.push(CAPTURE);
    let mut seen = Vec::new();
    while let Ok(Some(packet)) = reader.next_packet() {
        observer.packet(&packet, |connection| seen.push(connection));
    }
    observer.finish(|connection| seen.push(connection));
    let connection = seen.iter().find(|connection| connection.server.port() == PORT).unwrap();
    let Content::Tls(tls) = &connection.content else {
        panic!("{:?}", connection.content)
    };
    let tunnel = tls.opened.as_ref().unwrap().tunnel.as_ref().unwrap();
    let asked: Vec<String> = tunnel.negotiations().map(ToString::to_string).collect();
    assert_eq!(asked, ["HTTP CONNECT to server.example.test:4444"]);
    assert!(matches!(tunnel.content, Content::Tls(_)), "{:?}", tunnel.content);
    let posture = Evidence::new(connection, &Ledgers::default()).posture();
    assert_eq!(
        (posture.kind, posture.confidentiality.verdict()),
        (Kind::Tls13, Verdict::QuantumSafe)
    );
    let [hole] = &posture.holes[..] else {
        panic!("{:?}", posture.holes)
    };
    assert_eq!(hole.judgement.verdict(), Verdict::Vulnerable);
    assert_eq!(
        hole.judgement.because(),
        "behind HTTP CONNECT within TLS: x25519 negotiated: a classical key exchange"
    );
}
