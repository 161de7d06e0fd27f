//! DTLS 1.3 over UDP as NSS 3.110 speaks it with itself. Groups are those that tshark 4.4.18 reads in the same capture.

use bartizan_posture::{Kind, Ledgers, Posture, Verdict, datagrams_posture};
use bartizan_wire::datagrams::Datagrams;
use bartizan_wire::tls::Version;
use bartizan_wire::{CaptureReader, Connection, Limits, Observer, Sink};

const CAPTURE: &[u8] = include_bytes!("../../wire/tests/data/dtls13.pcap");

#[derive(Default)]
struct Seen(Vec<Datagrams>);

impl Sink for Seen {
    fn connection(&mut self, _: Connection) {}

    fn datagrams(&mut self, datagrams: Datagrams) {
        self.0.push(datagrams);
    }
}

/// Posture of each conversation, by the port of its server; packets for which `keep` returns false
/// are lost.
fn judged(keep: impl Fn(u64) -> bool) -> Vec<(u16, Posture)> {
    let mut reader = CaptureReader::new();
    reader.push(CAPTURE);
    let mut observer = Observer::new(Limits::default());
    let mut seen = Seen::default();
    while let Ok(Some(packet)) = reader.next_packet() {
        if keep(packet.number) {
            observer.observe(&packet, &mut seen);
        }
    }
    observer.finish_into(&mut seen);
    let port = |datagrams: &Datagrams| {
        let ports = [datagrams.client, datagrams.server].map(|end| end.port().unwrap());
        ports[0].min(ports[1])
    };
    let mut judged: Vec<_> = seen
        .0
        .iter()
        .map(|one| (port(one), datagrams_posture(one, &Ledgers::default())))
        .collect();
    judged.sort_by_key(|(port, _)| *port);
    judged
}

#[test]
fn dtls_1_3_of_a_real_peer_is_judged_by_its_hellos() {
    let judged: Vec<_> = judged(|_| true)
        .into_iter()
        .map(|(port, posture)| {
            let group = posture.key_exchange().unwrap_or_default();
            (
                port,
                posture.kind,
                group,
                posture.confidentiality.verdict(),
                posture.contradictions.len(),
            )
        })
        .collect();
    let kind = Kind::Dtls(Version::DTLS13);
    let expected = [
        (4701, "X25519MLKEM768", Verdict::QuantumSafe),
        // A HelloRetryRequest from the hybrid to x25519.
        (4702, "x25519", Verdict::Vulnerable),
        (4703, "x25519", Verdict::Vulnerable),
        (4704, "secp384r1", Verdict::Vulnerable),
    ];
    let expected = expected.map(|(port, group, verdict)| (port, kind, group.to_owned(), verdict, 0));
    assert_eq!(judged, expected);
}

#[test]
fn without_any_one_of_its_packets_a_handshake_is_no_better() {
    let count = 1 + (2..).find(|number| judged(|other| other < *number).len() == 4).unwrap();
    assert!(count > 20, "{count}");
    for lost in 1..=count {
        for (port, posture) in judged(|number| number != lost) {
            let verdict = posture.confidentiality.verdict();
            assert!(
                port == 4701 || verdict != Verdict::QuantumSafe,
                "{port} without packet {lost}"
            );
        }
    }
    // The hellos of the first are in its first two packets.
    for lost in [1, 2] {
        let judged = judged(|number| number != lost);
        assert_ne!(
            judged[0].1.confidentiality.verdict(),
            Verdict::QuantumSafe,
            "without packet {lost}"
        );
    }
}
