//! QUIC of OpenSSL's client with the key log that it wrote: what is behind the Initial packets is
//! opened, and an end's proof is reported.

use std::sync::Arc;

use bartizan_keys::{Format, KeyLog, Keyring};
use bartizan_posture::{Answer, Ledgers, Posture, Verdict, datagrams_posture};
use bartizan_wire::datagrams::Datagrams;
use bartizan_wire::{CaptureReader, Connection, Limits, Observer, Packet, Sink};

const CAPTURE: &[u8] = include_bytes!("../../wire/tests/data/quic-keys.pcap");
const LOG: &str = include_str!("../../wire/tests/data/quic-keys.log");
/// Server ports, by cipher suite: AES-128-GCM, AES-256-GCM, ChaCha20-Poly1305.
const SUITES: [(u16, u16); 3] = [(4521, 0x1301), (4522, 0x1302), (4523, 0x1303)];

#[derive(Default)]
struct Seen(Vec<(Datagrams, Posture)>);

impl Sink for Seen {
    fn connection(&mut self, _: Connection) {}

    fn datagrams(&mut self, datagrams: Datagrams) {
        let posture = datagrams_posture(&datagrams, &Ledgers::default());
        self.0.push((datagrams, posture));
    }
}

/// The connections by port, with the secrets of this key log; packets for which `keep` says no are lost.
fn opened(log: &str, keep: impl Fn(u64) -> bool) -> Vec<(Datagrams, Posture)> {
    let keyring = Keyring::new();
    let mut reading = KeyLog::new(Format::Tls);
    keyring.add("quic.log", &mut reading, Some(log.as_bytes()));
    keyring.add("quic.log", &mut reading, None);
    let mut observer = Observer::new(Limits::default()).with_keys(Arc::new(keyring));
    let mut reader = CaptureReader::new();
    reader.push(CAPTURE);
    let mut seen = Seen::default();
    while let Ok(Some(packet)) = reader.next_packet() {
        if keep(packet.number) {
            observer.observe(&packet, &mut seen);
        }
    }
    observer.finish_into(&mut seen);
    seen.0.sort_by_key(|(one, _)| one.server.port());
    seen.0
}

#[test]
fn with_its_key_log_a_handshake_shows_who_proved_what_and_application_data_open() {
    let found = opened(LOG, |_| true);
    assert_eq!(found.len(), SUITES.len());
    for ((datagrams, posture), (port, suite)) in found.iter().zip(SUITES) {
        let quic = datagrams.quic.as_deref().unwrap();
        assert_eq!(datagrams.server.port(), Some(port));
        assert_eq!(quic.tls.server_hello.as_ref().unwrap().value.cipher_suite, suite);
        let shown = quic.tls.opened.as_deref().unwrap_or_else(|| panic!("{port}"));
        assert_eq!(shown.alpn.as_ref().unwrap().value, "line", "{port}");
        assert_eq!(shown.server_certificates.as_ref().unwrap().value.len(), 1, "{port}");
        assert!(
            shown.server_signature.is_some() && shown.server_finished.is_some(),
            "{port}"
        );
        assert!(shown.client_finished.is_some() && shown.wrong.is_empty(), "{port}");
        assert!(quic.opened_handshake.iter().all(|count| *count > 0), "{port}: {quic:?}");
        assert!(quic.opened_short.iter().all(|count| *count > 0), "{port}: {quic:?}");
        assert_eq!(posture.confidentiality.verdict(), Verdict::QuantumSafe);
        assert_eq!(posture.server_authenticated.answer(), Answer::Yes);
        assert!(
            posture
                .server_authenticated
                .because()
                .contains("as the keys given show")
        );
        // The server did not ask the client.
        assert_eq!(posture.client_authenticated.answer(), Answer::No);
        assert_eq!(posture.authenticity.verdict(), Verdict::Vulnerable);
    }
}

#[test]
fn without_its_keys_nothing_of_a_connection_opens_and_its_verdict_is_the_same() {
    for (datagrams, posture) in opened("", |_| true) {
        let quic = datagrams.quic.as_deref().unwrap();
        assert!(quic.tls.opened.is_none() && quic.opened_handshake == [0; 2] && quic.opened_short == [0; 2]);
        assert_eq!(posture.confidentiality.verdict(), Verdict::QuantumSafe);
        assert_eq!(posture.authenticity.verdict(), Verdict::NotObservable);
    }
}

#[test]
fn a_secret_that_opens_nothing_is_reported_by_its_line() {
    let line = LOG
        .lines()
        .position(|line| line.starts_with("SERVER_HANDSHAKE"))
        .unwrap();
    let mut lines: Vec<String> = LOG.lines().map(str::to_owned).collect();
    let last = if lines[line].ends_with('0') { "1" } else { "0" };
    let length = lines[line].len();
    lines[line].replace_range(length - 1.., last);
    let found = opened(&(lines.join("\n") + "\n"), |_| true);
    let reported: Vec<_> = found.iter().flat_map(|(_, posture)| &posture.contradictions).collect();
    assert_eq!(reported.len(), 1, "{reported:?}");
    assert!(
        reported[0].what.contains(&format!("line {} of quic.log", line + 1)),
        "{}",
        reported[0].what
    );
}

#[test]
fn any_packet_may_be_missing() {
    let count = (1..)
        .find(|number| opened(LOG, |other| other >= *number).is_empty())
        .unwrap()
        - 1;
    for lost in 1..=count {
        for (datagrams, posture) in opened(LOG, |number| number != lost) {
            let shown = datagrams.quic.as_deref().and_then(|quic| quic.tls.opened.as_deref());
            let wrong = shown.map_or(0, |shown| shown.wrong.len());
            assert_eq!(wrong, 0, "a right secret is called wrong without packet {lost}");
            assert_ne!(posture.authenticity.verdict(), Verdict::QuantumSafe);
        }
    }
}

/// Verdicts where packets with short headers of servers have at most so many bytes.
fn with_short_answers(longest: usize) -> Vec<Verdict> {
    /// Ethernet, IPv4 and UDP.
    const HEADERS: usize = 14 + 20 + 8;
    let mut observer = Observer::new(Limits::default()).with_keys(Arc::new(Keyring::new()));
    let mut reader = CaptureReader::new();
    reader.push(CAPTURE);
    let mut seen = Seen::default();
    while let Ok(Some(packet)) = reader.next_packet() {
        let mut data = packet.data.to_vec();
        let from = u16::from_be_bytes([data[34], data[35]]);
        let is_server = SUITES.iter().any(|(port, _)| *port == from);
        if is_server && data[HEADERS] & 0x80 == 0 && data.len() > HEADERS + longest {
            data.truncate(HEADERS + longest);
            let length = |from: usize| u16::try_from(data.len() - from).unwrap().to_be_bytes();
            let (ip, udp) = (length(14), length(34));
            data[16..18].copy_from_slice(&ip);
            data[38..40].copy_from_slice(&udp);
            // Without a checksum.
            data[40..42].fill(0);
        }
        let packet = Packet {
            data: &data,
            original_length: u32::try_from(data.len()).unwrap(),
            ..packet
        };
        observer.observe(&packet, &mut seen);
    }
    observer.finish_into(&mut seen);
    seen.0.sort_by_key(|(one, _)| one.server.port());
    seen.0
        .iter()
        .map(|(_, posture)| posture.confidentiality.verdict())
        .collect()
}

#[test]
fn one_short_answer_to_the_clients_finished_may_be_a_refusal_and_a_long_one_is_none() {
    assert_eq!(with_short_answers(1500), [Verdict::QuantumSafe; 3]);
    // The third server answers twice.
    assert_eq!(with_short_answers(40)[..2], [Verdict::NotSeen; 2]);
}
