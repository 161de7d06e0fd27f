//! TCP Fast Open as Linux does it: data in the SYN are part of the stream where the server takes them, and come again where it does not.

use bartizan_posture::{Evidence, Kind, Ledgers, Verdict};
use bartizan_wire::{CaptureReader, Connection, Limits, Observer, Start};

const CAPTURE: &[u8] = include_bytes!("../../wire/tests/data/tcp-fast-open.pcap");

/// Connections by the port of their server; packets for which `keep` says no are lost.
fn connections(keep: impl Fn(u64) -> bool) -> Vec<Connection> {
    let mut reader = CaptureReader::new();
    reader.push(CAPTURE);
    let mut observer = Observer::new(Limits::default());
    let mut connections = Vec::new();
    while let Ok(Some(packet)) = reader.next_packet() {
        if keep(packet.number) {
            observer.packet(&packet, |connection| connections.push(connection));
        }
    }
    observer.finish(|connection| connections.push(connection));
    connections.sort_by_key(|connection| connection.server.port());
    connections
}

#[test]
fn a_hello_that_begins_in_the_syn_is_read_from_its_first_byte() {
    use Verdict::{QuantumSafe, Vulnerable};
    let connections = connections(|_| true);
    let expected = [
        (4601, QuantumSafe),
        (4602, QuantumSafe),
        (4603, Vulnerable),
        (4604, QuantumSafe),
    ];
    assert_eq!(connections.len(), expected.len());
    for (connection, (port, verdict)) in connections.iter().zip(expected) {
        let ledgers = Ledgers::default();
        let posture = Evidence::new(connection, &ledgers).posture();
        assert_eq!((connection.server.port(), connection.start), (port, Start::Syn));
        assert_eq!(posture.kind, Kind::Tls13, "{port}");
        assert_eq!(posture.confidentiality.verdict(), verdict, "{port}");
        assert!(
            posture.contradictions.is_empty(),
            "{port}: {:?}",
            posture.contradictions
        );
        for stream in [connection.from_client.stream, connection.from_server.stream] {
            assert_eq!((stream.gaps, stream.stray), (0, 0), "{port}");
        }
    }
    // The server of 4604 had the data of the SYN only with the segment that brought them again.
    assert_eq!(connections[3].from_client.stream.repeated, 1420);
    assert_eq!(connections[1].from_client.stream.repeated, 0);
}

#[test]
fn without_the_syn_that_began_the_hello_nothing_is_called_safe() {
    let whole = connections(|_| true);
    for connection in &whole[1..3] {
        let lost = connection.first.packet;
        let port = connection.server.port();
        for left in connections(|number| number != lost)
            .iter()
            .filter(|left| left.server.port() == port)
        {
            let ledgers = Ledgers::default();
            let posture = Evidence::new(left, &ledgers).posture();
            assert_ne!(posture.confidentiality.verdict(), Verdict::QuantumSafe, "{port}");
        }
    }
}
