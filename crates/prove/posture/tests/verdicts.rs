//! Verdicts on real connections: OpenSSL 3.5.7 and free5GC, see the captures' README in crates/prove/wire/tests/data.

use bartizan_ledger as ledger;
use bartizan_posture::{Answer, Evidence, Kind, Ledgers, Posture, Reply, Source, Verdict};
use bartizan_registry::{GROUPS, NamedGroup, Safety, SignatureScheme};
use bartizan_wire::tls::{Fault, Tls, Version, is_null_cipher};
use bartizan_wire::{CaptureReader, Connection, Content, Limits, Observer, Seen, Side};
use proptest::prelude::*;

const OPENSSL: &[u8] = include_bytes!("../../wire/tests/data/openssl-3.5.7.pcap");
const FREE5GC: &[u8] = include_bytes!("../../wire/tests/data/sbi-free5gc-two-registrations.pcap");

fn connections(file: &[u8]) -> Vec<Connection> {
    let mut reader = CaptureReader::new();
    let mut observer = Observer::new(Limits::default());
    let mut connections = Vec::new();
    reader.push(file);
    while let Ok(Some(packet)) = reader.next_packet() {
        observer.packet(&packet, |connection| connections.push(connection));
    }
    observer.finish(|connection| connections.push(connection));
    connections.sort_by_key(|connection| connection.number);
    connections
}

fn at_port(file: &[u8], port: u16, index: usize) -> Connection {
    let mut connections = connections(file);
    connections.retain(|connection| connection.server.port() == port);
    connections.remove(index)
}

fn posture(connection: &Connection, records: Vec<ledger::Record>) -> Posture {
    let mut ledgers = Ledgers::default();
    for record in records {
        ledgers.add(record);
    }
    Evidence::new(connection, &ledgers).posture()
}

/// The random of a connection's ClientHello.
fn random(connection: &Connection) -> [u8; 32] {
    match &connection.content {
        Content::Tls(tls) => tls.client_hello.as_ref().unwrap().value.random,
        other => panic!("{other:?}"),
    }
}

fn certificate(key: &str, signature: &str) -> ledger::Certificate {
    ledger::Certificate {
        subject: "CN=nrf".into(),
        serial: "01".into(),
        names: vec!["dns:nrf.5gc".into()],
        public_key: key.into(),
        signature: signature.into(),
        not_after: 2_000_000_000,
        sha256: String::new(),
    }
}

/// Fields of a sidecar's record about the connection at port 4401.
struct Written {
    direction: ledger::Direction,
    group: NamedGroup,
    local: Option<SignatureScheme>,
    peer: Option<SignatureScheme>,
    resumed: bool,
    chain: Vec<ledger::Certificate>,
    local_chain: Vec<ledger::Certificate>,
    verdict: ledger::Verdict,
}

impl Written {
    fn by(direction: ledger::Direction) -> Self {
        Self {
            direction,
            group: NamedGroup::X25519MLKEM768,
            local: Some(SignatureScheme::MLDSA65),
            peer: Some(SignatureScheme::MLDSA65),
            resumed: false,
            chain: vec![certificate("id-ml-dsa-65", "id-ml-dsa-87")],
            local_chain: Vec::new(),
            verdict: ledger::Verdict::Accepted,
        }
    }

    fn record(self, connection: &Connection) -> ledger::Record {
        ledger::Record {
            v: ledger::VERSION,
            at_us: connection.last.time.0 / 1000,
            node: if self.direction == ledger::Direction::Outbound {
                "amf"
            } else {
                "nrf"
            }
            .into(),
            event: ledger::Event::Handshake(Box::new(ledger::Handshake {
                key: Some(ledger::Key::Tls {
                    client_random: ledger::Random(random(connection)),
                }),
                interface: "SBI".into(),
                direction: self.direction,
                peer: None,
                local_address: connection.client,
                peer_address: connection.server,
                negotiated: Some(ledger::Negotiated {
                    version: "TLS 1.3".into(),
                    cipher: ledger::Code {
                        code: 0x1302,
                        name: "TLS_AES_256_GCM_SHA384".into(),
                    },
                    group: self.group.into(),
                    local_signature: self.local.map(ledger::Code::from),
                    peer_signature: self.peer.map(ledger::Code::from),
                    resumed: self.resumed,
                    hello_retry: false,
                }),
                chain: self.chain,
                local_chain: self.local_chain,
                bytes: ledger::Bytes::default(),
                times: ledger::Times::default(),
                verdict: self.verdict,
            })),
        }
    }
}

use ledger::Direction::{Inbound, Outbound};

#[test]
fn each_situation_gets_the_verdicts_a_specialist_would_give() {
    use Verdict::{NotObservable, NotSeen, QuantumSafe, ReadableNow, Vulnerable};
    let legacy = Kind::TlsLegacy(Version::TLS12);
    for (port, index, kind, confidentiality, authenticity) in [
        (4401, 0, Kind::Tls13, QuantumSafe, NotObservable),
        (4402, 0, Kind::Tls13, QuantumSafe, NotObservable),
        (4403, 0, Kind::Tls13, Vulnerable, NotObservable),
        (4404, 0, legacy, Vulnerable, Vulnerable),
        (4405, 0, Kind::TlsNotAgreed, NotSeen, NotSeen),
        (4406, 0, Kind::Tls13, QuantumSafe, NotObservable),
        (4407, 0, Kind::Tls13, QuantumSafe, NotObservable),
        (4408, 0, Kind::Tls13, QuantumSafe, NotObservable),
        (4409, 0, Kind::Tls13, QuantumSafe, NotObservable),
        (4410, 0, Kind::Tls13, QuantumSafe, NotObservable),
        (4411, 0, legacy, ReadableNow, Vulnerable),
        (4412, 1, Kind::Tls13, QuantumSafe, NotObservable),
        // Early data is keyed by the session before, and a PSK alone by nothing else.
        (4412, 2, Kind::Tls13, NotObservable, NotObservable),
        (4413, 1, Kind::Tls13, NotObservable, NotObservable),
    ] {
        let posture = posture(&at_port(OPENSSL, port, index), Vec::new());
        let verdicts = (posture.confidentiality.verdict(), posture.authenticity.verdict());
        assert_eq!(
            (posture.kind, verdicts),
            (kind, (confidentiality, authenticity)),
            "port {port}, {index}"
        );
    }
}

#[test]
fn offered_preferred_and_negotiated_are_three_answers() {
    use Answer::{No, NotSeen, Yes};
    for (port, expected) in [
        (4401, [Yes, Yes, Yes]),
        (4402, [Yes, No, Yes]),
        (4403, [Yes, Yes, No]),
        (4404, [No, No, No]),
        (4405, [No, No, NotSeen]),
    ] {
        let posture = posture(&at_port(OPENSSL, port, 0), Vec::new());
        let answers = [&posture.offered, &posture.preferred, &posture.negotiated].map(Reply::answer);
        assert_eq!(answers, expected, "port {port}");
    }
}

#[test]
fn every_verdict_names_the_packets_it_rests_on() {
    for connection in connections(OPENSSL).iter().chain(&connections(FREE5GC)) {
        let posture = posture(connection, Vec::new());
        for judgement in [&posture.confidentiality, &posture.authenticity] {
            assert!(!judgement.because().is_empty());
            let Some(Source::Packets { first, last, .. }) = judgement.sources().first() else {
                panic!("{judgement:?}");
            };
            assert!(*first >= connection.first.packet && *last <= connection.last.packet && first <= last);
        }
    }
}

#[test]
fn clear_http_2_is_named_and_vulnerable_on_both_counts() {
    for connection in connections(FREE5GC) {
        let posture = posture(&connection, Vec::new());
        assert_eq!(posture.kind, Kind::ClearHttp2);
        assert_eq!(posture.confidentiality.verdict(), Verdict::ReadableNow);
        assert_eq!(posture.authenticity.verdict(), Verdict::Vulnerable);
        assert_eq!(posture.clear.answer(), Answer::Yes);
        assert!(posture.confidentiality.because().contains("HTTP/2 without TLS"));
    }
}

#[test]
fn one_ends_ledger_proves_the_other_end_and_both_prove_the_link() {
    let connection = at_port(OPENSSL, 4401, 0);
    let outbound = || Written::by(Outbound).record(&connection);
    let inbound = || Written::by(Inbound).record(&connection);
    let one = posture(&connection, vec![outbound()]);
    assert_eq!(one.server_authenticated.answer(), Answer::Yes);
    assert_eq!(one.server_signature, Some(SignatureScheme::MLDSA65));
    assert_eq!(one.authenticity.verdict(), Verdict::NotObservable);
    assert!(
        one.authenticity
            .because()
            .contains("its certificates are in no ledger given")
    );
    for records in [vec![outbound(), inbound()], vec![inbound(), outbound(), inbound()]] {
        let both = posture(&connection, records);
        assert_eq!(
            both.authenticity.verdict(),
            Verdict::QuantumSafe,
            "{:?}",
            both.authenticity
        );
        assert_eq!(both.authenticity.sources().len(), 2);
        assert_eq!(both.contradictions, []);
        assert!(both.in_ledger);
    }
}

#[test]
fn one_ends_ledger_with_the_chain_it_sent_proves_a_link_with_a_foreign_end() {
    use Verdict::{NotObservable, QuantumSafe, Vulnerable};
    let connection = at_port(OPENSSL, 4401, 0);
    let sent = |local_chain: &[ledger::Certificate]| {
        let mut written = Written::by(Outbound);
        written.local_chain = local_chain.to_vec();
        written.record(&connection)
    };
    let safe = certificate("id-ml-dsa-65", "id-ml-dsa-87");
    let classical = certificate("id-ml-dsa-65", "ecdsa-with-SHA384");
    let mut other = safe.clone();
    other.sha256 = "another".into();
    let inbound = Written::by(Inbound).record(&connection);
    for (records, verdict) in [
        (vec![sent(std::slice::from_ref(&safe))], QuantumSafe),
        (vec![sent(&[safe.clone(), classical])], Vulnerable),
        (vec![sent(&[safe]), inbound.clone()], QuantumSafe),
        // Two ledgers that name different certificates of one end.
        (vec![sent(&[other]), inbound], NotObservable),
    ] {
        let judged = posture(&connection, records).authenticity;
        assert_eq!(judged.verdict(), verdict, "{}", judged.because());
    }
}

#[test]
fn a_ledger_of_another_handshake_proves_nothing() {
    let connection = at_port(OPENSSL, 4401, 0);
    let other = at_port(OPENSSL, 4406, 0);
    let posture = posture(&connection, vec![Written::by(Outbound).record(&other)]);
    assert!(!posture.in_ledger);
    assert_eq!(posture.authenticity.verdict(), Verdict::NotObservable);
}

#[test]
fn a_classical_signature_anywhere_in_the_chain_makes_the_link_forgeable() {
    let connection = at_port(OPENSSL, 4401, 0);
    for (chain, verdict) in [
        (
            vec![certificate("id-ml-dsa-65", "ecdsa-with-SHA384")],
            Verdict::Vulnerable,
        ),
        (
            vec![
                certificate("id-ml-dsa-65", "id-ml-dsa-87"),
                certificate("id-ml-dsa-87", "ecdsa-with-SHA384"),
            ],
            Verdict::Vulnerable,
        ),
        (vec![certificate("id-ml-dsa-65", "1.2.3.4")], Verdict::NotObservable),
        (vec![certificate("unreadable", "unreadable")], Verdict::NotObservable),
    ] {
        let mut outbound = Written::by(Outbound);
        outbound.chain = chain.clone();
        let records = vec![outbound.record(&connection), Written::by(Inbound).record(&connection)];
        assert_eq!(
            posture(&connection, records).authenticity.verdict(),
            verdict,
            "{chain:?}"
        );
    }
}

#[test]
fn a_classical_signature_of_either_end_makes_the_link_forgeable() {
    let connection = at_port(OPENSSL, 4401, 0);
    let mut outbound = Written::by(Outbound);
    outbound.local = Some(SignatureScheme::ECDSA_SECP256R1_SHA256);
    let posture = posture(&connection, vec![outbound.record(&connection)]);
    assert_eq!(posture.client_signature, Some(SignatureScheme::ECDSA_SECP256R1_SHA256));
    assert_eq!(posture.authenticity.verdict(), Verdict::Vulnerable);
    assert_eq!(
        posture.confidentiality.verdict(),
        Verdict::QuantumSafe,
        "the two are never merged"
    );
}

#[test]
fn a_client_without_certificate_is_not_authenticated() {
    let connection = at_port(OPENSSL, 4401, 0);
    let mut inbound = Written::by(Inbound);
    inbound.peer = None;
    inbound.chain = Vec::new();
    let posture = posture(&connection, vec![inbound.record(&connection)]);
    assert_eq!(posture.client_authenticated.answer(), Answer::No);
    assert_eq!(posture.authenticity.verdict(), Verdict::Vulnerable);
}

#[test]
fn a_resumed_session_is_authenticated_by_the_chain_the_ledger_kept() {
    let connection = at_port(OPENSSL, 4412, 1);
    let written = |direction| {
        let mut written = Written::by(direction);
        (written.local, written.peer, written.resumed) = (None, None, true);
        written.record(&connection)
    };
    let posture = posture(&connection, vec![written(Outbound), written(Inbound)]);
    assert_eq!(
        posture.authenticity.verdict(),
        Verdict::QuantumSafe,
        "{:?}",
        posture.authenticity
    );
    assert_eq!(posture.contradictions, []);
}

#[test]
fn a_handshake_that_the_ledger_says_was_refused_is_no_finding() {
    let connection = at_port(OPENSSL, 4401, 0);
    let mut inbound = Written::by(Inbound);
    inbound.verdict = ledger::Verdict::Refused {
        reason: "unknown-ca".into(),
        detail: String::new(),
    };
    let posture = posture(&connection, vec![inbound.record(&connection)]);
    assert_eq!(posture.authenticity.verdict(), Verdict::NotSeen);
    assert!(posture.authenticity.because().contains("unknown-ca"));
}

#[test]
fn a_ledger_that_contradicts_the_packets_is_reported_and_not_followed() {
    let connection = at_port(OPENSSL, 4403, 0);
    let mut outbound = Written::by(Outbound);
    outbound.resumed = true;
    let posture = posture(&connection, vec![outbound.record(&connection)]);
    assert_eq!(posture.confidentiality.verdict(), Verdict::Vulnerable);
    let reported: Vec<_> = posture.contradictions.iter().map(|found| found.what.as_str()).collect();
    assert_eq!(
        reported,
        [
            "the packets show group x25519, the ledger of amf says X25519MLKEM768",
            "the packets show a full handshake, the ledger of amf says a resumed one"
        ]
    );
}

#[test]
fn two_ledgers_that_disagree_prove_nothing() {
    let connection = at_port(OPENSSL, 4401, 0);
    let mut inbound = Written::by(Inbound);
    inbound.peer = Some(SignatureScheme::MLDSA44);
    let records = vec![Written::by(Outbound).record(&connection), inbound.record(&connection)];
    let posture = posture(&connection, records);
    assert_eq!(posture.authenticity.verdict(), Verdict::NotObservable);
    assert_eq!(posture.contradictions.len(), 1, "{:?}", posture.contradictions);
    assert!(
        posture.contradictions[0]
            .what
            .contains("tell different things of one handshake")
    );
}

#[test]
fn a_record_of_another_time_is_none_of_this_handshake() {
    let connection = at_port(OPENSSL, 4401, 0);
    for days in [-1, 1] {
        let mut record = Written::by(Outbound).record(&connection);
        record.at_us = record.at_us.checked_add_signed(days * 86_400_000_000).unwrap();
        let posture = posture(&connection, vec![record]);
        assert_eq!(posture.server_authenticated.answer(), Answer::NotObservable);
        assert!(posture.contradictions[0].what.ends_with("at another time"));
    }
}

#[test]
fn a_ledger_does_not_say_what_group_the_client_did_not_offer() {
    let mut connection = at_port(OPENSSL, 4403, 0);
    let record = Written::by(Outbound).record(&connection);
    let Content::Tls(tls) = &mut connection.content else {
        panic!("TLS")
    };
    tls.server_hello = None;
    // Without the ServerHello a ledger tells of the group, if the client offered it.
    let offered = posture(&connection, vec![record.clone()]);
    assert_eq!(offered.confidentiality.verdict(), Verdict::QuantumSafe);
    let Content::Tls(tls) = &mut connection.content else {
        panic!("TLS")
    };
    let hello = &mut tls.client_hello.as_mut().unwrap().value;
    hello
        .supported_groups
        .retain(|group| *group != NamedGroup::X25519MLKEM768);
    let not_offered = posture(&connection, vec![record]);
    assert_eq!(not_offered.confidentiality.verdict(), Verdict::NotSeen);
}

#[test]
fn a_ledger_makes_nothing_safe_that_went_before_the_handshake_or_outside_of_records() {
    let whole = at_port(OPENSSL, 4403, 0);
    let record = Written::by(Outbound).record(&whole);
    let changed = |change: fn(&mut Tls)| {
        let mut connection = whole.clone();
        let Content::Tls(tls) = &mut connection.content else {
            panic!("TLS")
        };
        tls.server_hello = None;
        change(tls);
        posture(&connection, vec![record.clone()]).confidentiality
    };
    assert_eq!(changed(|_| {}).verdict(), Verdict::QuantumSafe);
    let early = changed(|tls| tls.client_hello.as_mut().unwrap().value.early_data = true);
    assert_eq!(early.verdict(), Verdict::NotObservable);
    assert!(early.is_by_earlier_keys());
    let stray = changed(|tls| {
        let at = tls.client_hello.as_ref().unwrap().last;
        let value = Fault::NotARecord { from: Side::Client };
        tls.faults.push(Seen {
            value,
            first: at,
            last: at,
        });
    });
    assert_eq!(stray.verdict(), Verdict::NotObservable);
}

#[test]
fn a_connection_that_went_on_was_not_refused_whatever_a_ledger_says() {
    let mut connection = at_port(OPENSSL, 4404, 0);
    connection.from_server.stream.bytes = 100_000;
    let mut inbound = Written::by(Inbound);
    inbound.verdict = ledger::Verdict::Refused {
        reason: "unknown-ca".into(),
        detail: String::new(),
    };
    let posture = posture(&connection, vec![inbound.record(&connection)]);
    assert_eq!(posture.authenticity.verdict(), Verdict::Vulnerable);
    let reported: Vec<_> = posture.contradictions.iter().map(|found| found.what.as_str()).collect();
    assert!(
        reported.iter().any(|what| what.contains("and it went on")),
        "{reported:?}"
    );
}

#[test]
fn segments_that_contradict_each_other_or_are_in_no_window_leave_nothing_safe() {
    let safe = at_port(OPENSSL, 4401, 0);
    assert_eq!(
        posture(&safe, Vec::new()).confidentiality.verdict(),
        Verdict::QuantumSafe
    );
    for doubt in [
        |connection: &mut Connection| connection.from_server.stream.contradicted = std::num::NonZeroU64::new(7),
        |connection: &mut Connection| connection.from_client.stream.stray = 1,
        |connection: &mut Connection| connection.sums_changed = true,
    ] {
        let mut connection = safe.clone();
        doubt(&mut connection);
        let posture = posture(&connection, Vec::new());
        assert_eq!(posture.confidentiality.verdict(), Verdict::NotObservable);
        assert_eq!(posture.contradictions.len(), 1);
    }
    // Bytes that the receiver dropped are a finding, and were not read.
    let mut connection = safe;
    connection.from_client.stream.corrupt = 1;
    let posture = posture(&connection, Vec::new());
    assert_eq!(posture.confidentiality.verdict(), Verdict::QuantumSafe);
    assert_eq!(posture.contradictions.len(), 1);
}

/// Offset in the file of the group in the ServerHello of port 4401.
fn server_share() -> usize {
    let mut needle = vec![0x00, 0x33, 0x04, 0x64];
    needle.extend(NamedGroup::X25519MLKEM768.0.to_be_bytes());
    needle.extend([0x04, 0x60]);
    let place = OPENSSL.windows(needle.len()).position(|window| window == needle);
    place.unwrap() + 4
}

#[test]
fn a_safe_capture_changed_to_any_group_that_is_not_safe_is_no_longer_called_safe() {
    let place = server_share();
    for code in 0..=u16::MAX {
        // Every group the registry knows, and every 97th number.
        let known = GROUPS.iter().find(|group| group.code.0 == code);
        if known.is_none() && code % 97 != 0 {
            continue;
        }
        let mut file = OPENSSL[..place + 30_000].to_vec();
        file[place..place + 2].copy_from_slice(&code.to_be_bytes());
        let verdict = posture(&at_port(&file, 4401, 0), Vec::new()).confidentiality.verdict();
        let expected = match known.map(|group| group.recording) {
            Some(Safety::QuantumSafe) if code == NamedGroup::X25519MLKEM768.0 => Verdict::QuantumSafe,
            Some(Safety::Vulnerable) => Verdict::Vulnerable,
            // A safe one that the client sent no share for was not exchanged.
            Some(Safety::QuantumSafe) | None => Verdict::NotObservable,
        };
        assert_eq!(verdict, expected, "0x{code:04x}");
    }
}

#[test]
fn a_version_nobody_knows_is_neither_safe_nor_vulnerable() {
    // supported_versions in the ServerHello, just before its key share.
    let place = server_share() - 4;
    let mut file = OPENSSL.to_vec();
    let version = file[..place]
        .windows(6)
        .rposition(|window| window == [0x00, 0x2b, 0x00, 0x02, 0x03, 0x04]);
    let version = version.unwrap() + 4;
    for (code, verdict) in [
        (0x0305_u16, Verdict::NotObservable),
        (0x7f1c, Verdict::NotObservable),
        (0x0303, Verdict::Vulnerable),
        (0x0304, Verdict::QuantumSafe),
    ] {
        file[version..version + 2].copy_from_slice(&code.to_be_bytes());
        let posture = posture(&at_port(&file, 4401, 0), Vec::new());
        assert_eq!(posture.confidentiality.verdict(), verdict, "0x{code:04x}");
    }
}

#[test]
fn bytes_among_the_records_that_are_none_take_the_safety_away() {
    let end = server_share() + 20_000;
    let mut spoiled = 0;
    for place in server_share()..end {
        if OPENSSL[place..place + 3] != [0x17, 0x03, 0x03] {
            continue;
        }
        let mut file = OPENSSL.to_vec();
        file[place] = b'G';
        let connection = at_port(&file, 4401, 0);
        let Content::Tls(tls) = &connection.content else {
            continue;
        };
        if !tls.faults.is_empty() {
            spoiled += 1;
            let posture = posture(&connection, Vec::new());
            assert_eq!(posture.confidentiality.verdict(), Verdict::NotObservable);
            assert_eq!(posture.clear.answer(), Answer::NotObservable);
        }
    }
    assert!(spoiled >= 5, "{spoiled}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// After any change of a capture, "quantum-safe" is said only if a safe group is in a TLS 1.3
    /// ServerHello.
    #[test]
    fn nothing_but_a_safe_group_negotiated_in_tls_1_3_is_called_quantum_safe(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..400),
    ) {
        let mut file = OPENSSL.to_vec();
        for (place, value) in changes {
            let place = place.index(file.len());
            file[place] = value;
        }
        for connection in connections(&file) {
            let posture = posture(&connection, Vec::new());
            prop_assert_ne!(posture.authenticity.verdict(), Verdict::QuantumSafe);
            if posture.confidentiality.verdict() == Verdict::QuantumSafe {
                let Content::Tls(tls) = &connection.content else {
                    return Err(TestCaseError::fail("not TLS"));
                };
                let hello = &tls.server_hello.as_ref().unwrap().value;
                let group = bartizan_registry::group(hello.key_share.unwrap().group).unwrap();
                prop_assert_eq!(hello.version, Version::TLS13);
                prop_assert!(!is_null_cipher(hello.cipher_suite));
                prop_assert_eq!(group.recording, Safety::QuantumSafe);
                prop_assert_eq!(group.server_share, hello.key_share.unwrap().length);
            }
        }
    }
}
