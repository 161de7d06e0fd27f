//! TLS behind STARTTLS and its kin as real servers speak it: Postfix, Dovecot, OpenLDAP, PostgreSQL and MariaDB of Debian 13, by OpenSSL and by
//! their own clients. Groups are those that tshark 4.4.18 reads in the same capture.

use bartizan_posture::{Answer, Evidence, Kind, Ledgers, Posture, Verdict};
use bartizan_wire::plaintext::Plaintext;
use bartizan_wire::tls::Version;
use bartizan_wire::{CaptureReader, Connection, Content, Limits, Observer};

const CAPTURE: &[u8] = include_bytes!("../../wire/tests/data/starttls.pcap");

/// Connections in the order of their first packets; frames as `change` leaves them, or without them.
fn connections(mut change: impl FnMut(u64, &[u8]) -> Vec<Vec<u8>>) -> Vec<Connection> {
    let mut reader = CaptureReader::new();
    reader.push(CAPTURE);
    let mut observer = Observer::new(Limits::default());
    let mut connections = Vec::new();
    while let Ok(Some(packet)) = reader.next_packet() {
        for frame in change(packet.number, packet.data) {
            let packet = bartizan_wire::Packet {
                data: &frame,
                original_length: frame.len() as u32,
                ..packet
            };
            observer.packet(&packet, |connection| connections.push(connection));
        }
    }
    observer.finish(|connection| connections.push(connection));
    connections.sort_by_key(|connection| connection.number);
    connections
}

fn posture(connection: &Connection) -> Posture {
    Evidence::new(connection, &Ledgers::default()).posture()
}

/// Port, what it is, the group, and the verdict on confidentiality.
const EXPECTED: [(u16, Kind, &str, Verdict); 13] = {
    use Verdict::{QuantumSafe, ReadableNow, Vulnerable};
    const HYBRID: &str = "X25519MLKEM768";
    [
        (25, Kind::Tls13, HYBRID, QuantumSafe),
        (25, Kind::TlsLegacy(Version::TLS12), "x25519", Vulnerable),
        (143, Kind::Tls13, HYBRID, QuantumSafe),
        (110, Kind::Tls13, "x25519", Vulnerable),
        (389, Kind::Tls13, HYBRID, QuantumSafe),
        // PostgreSQL 17 takes P-256 unless configured otherwise.
        (5432, Kind::Tls13, "secp256r1", Vulnerable),
        (3306, Kind::Tls13, HYBRID, QuantumSafe),
        (5432, Kind::Tls13, "secp256r1", Vulnerable),
        (5432, Kind::Plaintext(Plaintext::PostgreSql), "", ReadableNow),
        (3306, Kind::Tls13, HYBRID, QuantumSafe),
        (3306, Kind::Plaintext(Plaintext::MySql), "", ReadableNow),
        (389, Kind::Tls13, HYBRID, QuantumSafe),
        (389, Kind::Plaintext(Plaintext::Ldap), "", ReadableNow),
    ]
};

#[test]
fn tls_behind_starttls_of_real_servers_is_judged_and_what_has_none_is_readable_by_name() {
    let connections = connections(|_, frame| vec![frame.to_vec()]);
    let judged: Vec<_> = connections
        .iter()
        .map(|connection| {
            let posture = posture(connection);
            let group = posture.key_exchange().unwrap_or_default();
            let verdict = posture.confidentiality.verdict();
            (connection.server.port(), posture.kind, group, verdict)
        })
        .collect();
    let expected = EXPECTED.map(|(port, kind, group, verdict)| (port, kind, group.to_owned(), verdict));
    assert_eq!(judged, expected);
    // Plaintext before TLS is reported, and holds no password.
    for connection in connections.iter().filter(|one| matches!(one.content, Content::Tls(_))) {
        let clear = posture(connection).clear;
        assert_eq!(clear.answer(), Answer::No);
        assert!(clear.because().contains("went over to it"), "{}", clear.because());
    }
}

#[test]
fn what_was_said_before_tls_is_readable_unless_tls_needs_it() {
    let connections = connections(|_, frame| {
        let place = frame.windows(5).position(|window| window == b"EHLO ");
        let mut frame = frame.to_vec();
        if let Some(at) = place {
            let length = frame[at..].iter().position(|byte| *byte == b'\n').unwrap() + 1;
            let said = format!("EHLO {}\r\nDATA\r\n", "a".repeat(length - 13));
            frame[at..at + length].copy_from_slice(said.as_bytes());
        }
        vec![frame]
    });
    let mail = connections.iter().filter(|one| one.server.port() == 25);
    let postures: Vec<_> = mail.map(posture).collect();
    assert_eq!(postures.len(), 2);
    for posture in postures {
        assert_eq!(posture.confidentiality.verdict(), Verdict::ReadableNow);
        assert_eq!(posture.clear.answer(), Answer::Yes);
    }
}

#[test]
fn segments_cut_anywhere_are_judged_alike() {
    for cut in [1, 5, 24, 25, 31] {
        let connections = connections(|_, frame| in_two(frame, cut));
        for (connection, (port, kind, ..)) in connections.iter().zip(EXPECTED) {
            assert_eq!(
                (connection.server.port(), posture(connection).kind),
                (port, kind),
                "cut at {cut}"
            );
        }
    }
}

/// A segment in two of which the first has so many bytes; its checksums are left to a network card.
fn in_two(frame: &[u8], cut: usize) -> Vec<Vec<u8>> {
    let header = 34 + usize::from(frame[46] >> 4) * 4;
    let end = 14 + usize::from(u16::from_be_bytes([frame[16], frame[17]]));
    let payload = &frame[header..end];
    if payload.len() <= cut {
        return vec![frame.to_vec()];
    }
    let piece = |from: usize, bytes: &[u8]| {
        let mut piece = [&frame[..header], bytes].concat();
        let length = (piece.len() - 14) as u16;
        piece[16..18].copy_from_slice(&length.to_be_bytes());
        let sequence = u32::from_be_bytes(piece[38..42].try_into().unwrap()).wrapping_add(from as u32);
        piece[38..42].copy_from_slice(&sequence.to_be_bytes());
        piece[50..52].fill(0);
        piece
    };
    vec![piece(0, &payload[..cut]), piece(cut, &payload[cut..])]
}
