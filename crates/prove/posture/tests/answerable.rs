//! Questions that a protocol's wire can answer, by docs/verdicts.md, are answered with yes or no,
//! never with "not observable".

use bartizan_posture::{Answer, Evidence, Ipsec, Kind, Ledgers, Posture, Reply, association_posture};
use bartizan_wire::esp::EspSa;
use bartizan_wire::ike::{IkeSa, Origin};
use bartizan_wire::sctp::Association;
use bartizan_wire::{CaptureReader, Connection, Limits, Observer, Sink, Start};

const CAPTURES: [&[u8]; 8] = [
    include_bytes!("../../wire/tests/data/openssl-3.5.7.pcap"),
    include_bytes!("../../wire/tests/data/sidecar-hybrid.pcap"),
    include_bytes!("../../wire/tests/data/strongswan-6.1.0.pcap"),
    include_bytes!("../../wire/tests/data/openssh-10.0.pcap"),
    include_bytes!("../../wire/tests/data/dtls-1.2-in-sctp.pcap"),
    include_bytes!("../../wire/tests/data/e2-flexric-kpm.pcap"),
    include_bytes!("../../wire/tests/data/n2-free5gc-two-registrations.pcap"),
    include_bytes!("../../wire/tests/data/sbi-free5gc-two-registrations.pcap"),
];

#[derive(Default)]
struct Gathered {
    postures: Vec<Posture>,
    ipsec: Ipsec,
}

impl Sink for Gathered {
    fn connection(&mut self, connection: Connection) {
        assert_eq!(connection.start, Start::Syn);
        self.postures
            .push(Evidence::new(&connection, &Ledgers::default()).posture());
    }

    fn association(&mut self, association: Association) {
        self.postures.push(association_posture(&association));
    }

    fn ike_sa(&mut self, sa: IkeSa) {
        self.ipsec.add_ike(sa);
    }

    fn esp_sa(&mut self, sa: EspSa) {
        self.ipsec.add_esp(sa);
    }
}

fn postures() -> Vec<Posture> {
    let mut postures = Vec::new();
    for file in CAPTURES {
        let mut reader = CaptureReader::new();
        reader.push(file);
        let mut observer = Observer::new(Limits::default());
        let mut gathered = Gathered::default();
        while let Ok(Some(packet)) = reader.next_packet() {
            observer.observe(&packet, &mut gathered);
        }
        observer.finish_into(&mut gathered);
        let (ike, esp) = gathered.ipsec.judge(&Ledgers::default());
        // An IKE_SA that a rekey made has no IKE_SA_INIT of its own.
        let set_up = ike.into_iter().filter(|judged| judged.sa.origin == Origin::Init);
        postures.extend(set_up.map(|judged| judged.posture));
        postures.extend(esp.into_iter().map(|judged| judged.posture));
        postures.extend(gathered.postures);
    }
    postures
}

#[derive(Clone, Copy, PartialEq)]
enum Wire {
    Either,
    Yes,
    No,
    /// Not for the wire to answer.
    Silent,
}

/// The table: offered, preferred, negotiated, authenticated, stayed, clear.
fn row(kind: Kind) -> Option<[Wire; 6]> {
    use Wire::{Either, No, Silent, Yes};
    Some(match kind {
        Kind::Tls13 => [Either, Either, Either, Silent, Either, Either],
        Kind::TlsLegacy(_) => [Either, Either, No, Either, No, Either],
        Kind::ClearHttp2 | Kind::ClearSctp => [No, No, No, No, No, Yes],
        Kind::DtlsOverSctp => [Either, Either, No, Either, No, Either],
        Kind::Ssh => [Either, Either, Either, Silent, Silent, Either],
        Kind::Ike => [Either, Either, Either, Silent, Silent, Either],
        Kind::Esp => [Silent, Silent, Silent, Silent, Silent, Either],
        _ => return None,
    })
}

#[test]
fn what_the_wire_can_answer_is_answered() {
    let mut seen = std::collections::BTreeMap::<Kind, u64>::new();
    for posture in postures() {
        let Some(row) = row(posture.kind) else { continue };
        *seen.entry(posture.kind).or_default() += 1;
        if posture.kind == Kind::Ssh {
            // The server's signature is unencrypted; the client's is not.
            assert_eq!(posture.server_authenticated.answer(), Answer::Yes);
        }
        let resumed_alone = posture.resumed && posture.group.is_none();
        let ask = |question: &str, reply: &Reply, wire: Wire| {
            let answer = reply.answer();
            let because = format!(
                "{} {question}: {}: {}",
                posture.kind.name(),
                answer.name(),
                reply.because()
            );
            match wire {
                Wire::Silent => {}
                _ if resumed_alone && matches!(question, "negotiated" | "stayed") => {}
                // A TLS 1.2 handshake that was resumed shows no certificate.
                Wire::Either if answer == Answer::NotSeen && question.ends_with("authenticated") => {}
                Wire::Either => assert!(matches!(answer, Answer::Yes | Answer::No), "{because}"),
                Wire::Yes => assert_eq!(answer, Answer::Yes, "{because}"),
                Wire::No => assert_eq!(answer, Answer::No, "{because}"),
            }
            assert!(!reply.because().is_empty(), "{because}");
            assert!(!reply.sources().is_empty(), "{because}");
        };
        ask("offered", &posture.offered, row[0]);
        ask("preferred", &posture.preferred, row[1]);
        ask("negotiated", &posture.negotiated, row[2]);
        ask("server authenticated", &posture.server_authenticated, row[3]);
        ask("client authenticated", &posture.client_authenticated, row[3]);
        ask("stayed", &posture.stayed, row[4]);
        ask("clear", &posture.clear, row[5]);
    }
    let asked: Vec<String> = seen.keys().map(|kind| kind.name()).collect();
    for kind in [
        "TLS 1.3",
        "TLS 1.2",
        "HTTP/2 in plaintext",
        "SSH",
        "IKEv2",
        "ESP",
        "SCTP in plaintext",
        "DTLS over SCTP",
    ] {
        assert!(asked.iter().any(|name| name == kind), "no {kind} was asked");
    }
}
