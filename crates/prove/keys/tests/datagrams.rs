//! QUIC and DTLS over UDP between programs we did not write: what their handshakes are worth, whole, damaged and moved.

use std::collections::BTreeMap;
use std::sync::Arc;

use bartizan_keys::Keyring;
use bartizan_posture::{Kind, Ledgers, Posture, Verdict, datagrams_posture};
use bartizan_wire::datagrams::Datagrams;
use bartizan_wire::tls::Version;
use bartizan_wire::{CaptureReader, Connection, Limits, Observer, Packet, Sink};

const QUIC: &[u8] = include_bytes!("../../wire/tests/data/quic.pcap");
const DTLS: &[u8] = include_bytes!("../../wire/tests/data/dtls.pcap");
/// Place of the ports of UDP in a frame of Ethernet with IPv4.
const PORTS: usize = 14 + 20;

#[derive(Default)]
struct Seen(Vec<(Datagrams, Posture)>);

impl Sink for Seen {
    fn connection(&mut self, _: Connection) {}

    fn datagrams(&mut self, datagrams: Datagrams) {
        let posture = datagrams_posture(&datagrams, &Ledgers::default());
        self.0.push((datagrams, posture));
    }
}

/// The frames of a capture.
fn frames(file: &[u8]) -> Vec<Vec<u8>> {
    let mut reader = CaptureReader::new();
    reader.push(file);
    let mut frames = Vec::new();
    while let Ok(Some(packet)) = reader.next_packet() {
        frames.push(packet.data.to_vec());
    }
    frames
}

fn judged(frames: &[Vec<u8>], snap: usize) -> Seen {
    let mut observer = Observer::new(Limits::default()).with_keys(Arc::new(Keyring::new()));
    let mut seen = Seen::default();
    for (index, frame) in frames.iter().enumerate() {
        let number = index as u64 + 1;
        let packet = Packet {
            number,
            time: bartizan_wire::Timestamp(number * 1000),
            original_length: frame.len() as u32,
            data: &frame[..frame.len().min(snap)],
            link: bartizan_wire::link::LinkType::ETHERNET,
            interface: 0,
        };
        observer.observe(&packet, &mut seen);
    }
    observer.finish_into(&mut seen);
    let captured: u64 = seen.0.iter().map(|(one, _)| one.captured.packets).sum();
    assert_eq!(captured, frames.len() as u64, "each packet belongs to one conversation");
    seen
}

fn port(datagrams: &Datagrams) -> u16 {
    let ports = [datagrams.client.port(), datagrams.server.port()];
    ports
        .into_iter()
        .flatten()
        .find(|port| (4500..4700).contains(port))
        .unwrap_or(0)
}

/// Connections of each server port, in the order of first packets.
fn by_port(seen: &Seen) -> BTreeMap<u16, Vec<&(Datagrams, Posture)>> {
    let mut ports: BTreeMap<u16, Vec<_>> = BTreeMap::new();
    for one in &seen.0 {
        ports.entry(port(&one.0)).or_default().push(one);
    }
    ports
}

/// Kind, group, and whether it can be harvested now and decrypted later.
type Expected = (Kind, Option<&'static str>, Verdict);

fn assert_found(found: &[&(Datagrams, Posture)], expected: &[Expected], port: u16) {
    let group = |posture: &Posture| posture.group.map(|group| group.to_string());
    let found: Vec<_> = found
        .iter()
        .map(|(_, posture)| (posture.kind, group(posture), posture.confidentiality.verdict()))
        .collect();
    let expected: Vec<_> = expected
        .iter()
        .map(|(kind, group, verdict)| (*kind, group.map(str::to_owned), *verdict))
        .collect();
    assert_eq!(found, expected, "port {port}");
}

#[test]
fn each_quic_handshake_is_read_and_judged_by_its_hellos() {
    use Verdict::{NotObservable, NotSeen, QuantumSafe, Vulnerable};
    let seen = judged(&frames(QUIC), usize::MAX);
    let hybrid = (Kind::Quic, Some("X25519MLKEM768"), QuantumSafe);
    // By port: what the situations of scripts/capture-quic are.
    let expected: [(u16, &[Expected]); 12] = [
        (4501, &[hybrid]),
        (4502, &[(Kind::Quic, Some("x25519"), Vulnerable)]),
        (4503, &[hybrid]),
        (4504, &[hybrid]),
        (4505, &[hybrid]),
        (4506, &[(Kind::Quic, Some("secp256r1"), Vulnerable)]),
        // Two connections between the same sockets at a time, and two in turn; the second is resumed with early data.
        (4507, &[hybrid, (Kind::Quic, Some("X25519MLKEM768"), NotObservable)]),
        (4508, &[hybrid, (Kind::Quic, Some("X25519MLKEM768"), NotObservable)]),
        (4509, &[(Kind::QuicNotAgreed, None, NotSeen)]),
        (4510, &[hybrid]),
        (4511, &[hybrid]),
        (4512, &[(Kind::Quic, Some("SecP384r1MLKEM1024"), QuantumSafe)]),
    ];
    let ports = by_port(&seen);
    assert_eq!(ports.len(), expected.len());
    for (port, expected) in expected {
        assert_found(&ports[&port], expected, port);
        for (datagrams, posture) in &ports[&port] {
            assert_eq!(datagrams.server.port(), Some(port));
            assert!(
                posture.contradictions.is_empty(),
                "port {port}: {:?}",
                posture.contradictions
            );
        }
    }
    let of = |port: u16, which: usize| ports[&port][which].0.quic.as_ref().unwrap();
    assert!(of(4504, 0).retry.is_some() && of(4505, 0).version_negotiation.is_some());
    assert_eq!((of(4501, 0).version, of(4503, 0).version), (Some(1), Some(0x6b33_43cf)));
    assert!(of(4511, 0).tls.hello_retry_request.is_some() && of(4511, 0).tls.second_client_hello.is_some());
    assert!(of(4508, 1).early_data.is_some());
    assert_eq!(
        of(4509, 0)
            .closed
            .as_ref()
            .map(|closed| closed.value.to_string())
            .unwrap(),
        "handshake_failure from the server"
    );
}

#[test]
fn dtls_over_udp_is_read_and_judged_as_tls_is() {
    use Verdict::{NotObservable, NotSeen, ReadableNow, Vulnerable};
    let seen = judged(&frames(DTLS), usize::MAX);
    let new = Kind::Dtls(Version::DTLS12);
    let expected: [(u16, &[Expected]); 8] = [
        (4601, &[(new, Some("x25519"), Vulnerable)]),
        (4602, &[(Kind::Dtls(Version::DTLS10), Some("x25519"), Vulnerable)]),
        (4603, &[(new, Some("secp384r1"), Vulnerable)]),
        (4604, &[(new, None, NotObservable)]),
        (4605, &[(new, Some("x25519"), ReadableNow)]),
        (4606, &[(new, Some("secp256r1"), Vulnerable)]),
        (4607, &[(Kind::DtlsNotAgreed, None, NotSeen)]),
        // Two handshakes between the same sockets.
        (
            4608,
            &[(new, Some("x25519"), Vulnerable), (new, Some("x25519"), Vulnerable)],
        ),
    ];
    let ports = by_port(&seen);
    for (port, expected) in expected {
        assert_found(&ports[&port], expected, port);
    }
    let posture = |port: u16| &ports[&port][0].1;
    assert_eq!(posture(4605).clear.because(), "the cipher suite does not encrypt");
    assert!(posture(4603).client_authenticated.because().contains("signed with"));
    assert!(
        posture(4607)
            .confidentiality
            .because()
            .contains("handshake_failure from the server")
    );
}

fn rank(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::QuantumSafe => 0,
        Verdict::NotSeen => 1,
        Verdict::NotObservable => 2,
        Verdict::Vulnerable => 3,
        Verdict::ReadableNow => 4,
    }
}

/// The worst that was made of each port: of those that carry data.
fn worst(frames: &[Vec<u8>], snap: usize) -> BTreeMap<u16, Verdict> {
    let seen = judged(frames, snap);
    let mut worst: BTreeMap<u16, Verdict> = BTreeMap::new();
    for (datagrams, posture) in &seen.0 {
        if !posture.kind.carries_data() {
            continue;
        }
        let verdict = posture.confidentiality.verdict();
        let place = worst.entry(port(datagrams)).or_insert(verdict);
        if rank(verdict) > rank(*place) {
            *place = verdict;
        }
    }
    worst
}

#[test]
fn losing_repeating_and_reordering_packets_makes_nothing_safe_that_is_not() {
    for file in [QUIC, DTLS] {
        let frames = frames(file);
        let whole = worst(&frames, usize::MAX);
        let check = |damaged: &[Vec<u8>], what: &str| {
            for (port, verdict) in worst(damaged, usize::MAX) {
                let before = whole.get(&port).copied();
                assert!(
                    verdict != Verdict::QuantumSafe || before == Some(Verdict::QuantumSafe),
                    "{what}: port {port} was {before:?} and is {verdict:?}"
                );
            }
        };
        for index in 0..frames.len() {
            let mut lost = frames.clone();
            lost.remove(index);
            check(&lost, &format!("packet {} lost", index + 1));
            let mut twice = frames.clone();
            twice.insert(index, frames[index].clone());
            assert_eq!(worst(&twice, usize::MAX), whole, "packet {} twice", index + 1);
            let mut late = frames.clone();
            let frame = late.remove(index);
            late.insert((index + 3).min(late.len()), frame);
            check(&late, &format!("packet {} late", index + 1));
        }
    }
}

#[test]
fn initial_packets_that_are_cut_or_changed_are_not_seen_and_a_finding() {
    let frames = frames(QUIC);
    let all = worst(&frames, 600);
    assert!(all.values().all(|verdict| *verdict == Verdict::NotSeen), "{all:?}");
    let changed: Vec<Vec<u8>> = frames
        .iter()
        .map(|frame| {
            let mut frame = frame.clone();
            if let Some(byte) = frame.get_mut(PORTS + 8 + 100) {
                *byte ^= 1;
            }
            frame
        })
        .collect();
    let all = worst(&changed, usize::MAX);
    assert!(all.values().all(|verdict| *verdict == Verdict::NotSeen), "{all:?}");
}

#[test]
fn a_quic_connection_whose_client_moves_stays_one_by_its_identifiers() {
    let mut frames: Vec<Vec<u8>> = frames(QUIC);
    let is = |frame: &[u8], at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]) == 4501;
    frames.retain(|frame| is(frame, PORTS) || is(frame, PORTS + 2));
    let handshake = 3;
    for frame in &mut frames[handshake..] {
        // The client's address translation gives it another port.
        let at = if is(frame, PORTS) { PORTS + 2 } else { PORTS };
        frame[at..at + 2].copy_from_slice(&50_000u16.to_be_bytes());
    }
    let seen = judged(&frames, usize::MAX);
    assert_eq!(
        seen.0.len(),
        1,
        "{:?}",
        seen.0
            .iter()
            .map(|(one, _)| (one.client, one.server))
            .collect::<Vec<_>>()
    );
    assert_eq!(seen.0[0].1.confidentiality.verdict(), Verdict::QuantumSafe);
    // Without its beginning it is not seen, by name where its port is that of HTTP/3.
    let mut late = frames[handshake..].to_vec();
    for frame in &mut late {
        let at = if is(frame, PORTS) { PORTS } else { PORTS + 2 };
        frame[at..at + 2].copy_from_slice(&443u16.to_be_bytes());
    }
    let seen = judged(&late, usize::MAX);
    assert!(seen.0.iter().any(|(_, posture)| posture.kind == Kind::QuicNotSeen));
    assert!(seen.0.iter().all(|(_, posture)| posture.kind.carries_data()));
}

#[test]
fn text_between_the_sockets_of_a_quic_connection_is_none_of_it() {
    let mut frames = frames(QUIC);
    let mut text = frames[0][..PORTS + 8].to_vec();
    let said = b"GET /secret and other readable words, in plaintext";
    text.extend(said);
    text[16..18].copy_from_slice(&(28 + said.len() as u16).to_be_bytes());
    text[PORTS + 4..PORTS + 6].copy_from_slice(&(8 + said.len() as u16).to_be_bytes());
    frames.push(text);
    let seen = judged(&frames, usize::MAX);
    let ports = by_port(&seen);
    let port = ports
        .values()
        .find(|found| found.iter().any(|(one, _)| one.last.packet == frames.len() as u64))
        .unwrap();
    let (_, posture) = port
        .iter()
        .find(|(one, _)| one.last.packet == frames.len() as u64)
        .unwrap();
    assert_eq!(posture.confidentiality.verdict(), Verdict::NotObservable);
}
