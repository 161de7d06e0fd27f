//! SSH: verdicts on real connections of OpenSSH 10.0, see the captures' README in crates/prove/wire/tests/data.

use bartizan_posture::{Answer, Evidence, Hint, Kind, Ledgers, Links, Part, Posture, Reply, Verdict};
use bartizan_wire::{CaptureReader, Connection, Limits, Observer};

const OPENSSH: &[u8] = include_bytes!("../../wire/tests/data/openssh-10.0.pcap");

/// The connections whose packets `keep` lets through, with what follows from each.
fn judged(keep: impl Fn(u64) -> bool) -> Vec<(Connection, Posture)> {
    let mut reader = CaptureReader::new();
    let mut observer = Observer::new(Limits::default());
    let mut connections = Vec::new();
    reader.push(OPENSSH);
    while let Ok(Some(packet)) = reader.next_packet() {
        if keep(packet.number) {
            observer.packet(&packet, |connection| connections.push(connection));
        }
    }
    observer.finish(|connection| connections.push(connection));
    let ledgers = Ledgers::default();
    let judge = |connection: Connection| {
        let posture = Evidence::new(&connection, &ledgers).posture();
        (connection, posture)
    };
    connections.into_iter().map(judge).collect()
}

fn at_port(port: u16) -> Posture {
    let mut found = judged(|_| true);
    found.retain(|(connection, _)| connection.server.port() == port);
    assert_eq!(found.len(), 1);
    found.remove(0).1
}

#[test]
fn a_hybrid_method_is_safe_from_recording_and_a_classical_host_key_open_to_forgery() {
    for (port, method, signature) in [
        (830, "mlkem768x25519-sha256", "ssh-ed25519"),
        (4502, "sntrup761x25519-sha512", "rsa-sha2-512"),
    ] {
        let posture = at_port(port);
        assert_eq!(
            (posture.kind, posture.key_exchange().as_deref()),
            (Kind::Ssh, Some(method))
        );
        assert_eq!(posture.confidentiality.verdict(), Verdict::QuantumSafe);
        assert_eq!(posture.confidentiality.because(), format!("{method} negotiated"));
        assert_eq!(posture.confidentiality.sources().len(), 2, "both ends' SSH_MSG_KEXINIT");
        assert_eq!(posture.authenticity.verdict(), Verdict::Vulnerable);
        let server = &posture.server_authenticated;
        assert_eq!(server.answer(), Answer::Yes);
        assert!(server.because().contains(signature), "{}", server.because());
        assert_eq!(posture.client_authenticated.answer(), Answer::NotObservable);
        assert_eq!(posture.stayed.answer(), Answer::NotObservable);
        assert_eq!(
            [&posture.offered, &posture.preferred, &posture.negotiated].map(Reply::answer),
            [Answer::Yes; 3]
        );
        assert_eq!(posture.clear.answer(), Answer::No);
    }
    assert!(at_port(4502).server_authenticated.because().contains("3072 bits"));
}

#[test]
fn what_both_ends_have_first_in_the_clients_order_counts_and_not_what_was_offered() {
    let no = Answer::No;
    for (port, method, offered, preferred) in [
        (4503, "curve25519-sha256", Answer::Yes, Answer::Yes),
        (4504, "ecdh-sha2-nistp256", Answer::Yes, no),
        (4505, "diffie-hellman-group14-sha256", no, no),
        (4507, "diffie-hellman-group-exchange-sha256", no, no),
    ] {
        let posture = at_port(port);
        assert_eq!(posture.key_exchange().as_deref(), Some(method));
        assert_eq!(posture.confidentiality.verdict(), Verdict::Vulnerable, "{port}");
        assert_eq!(posture.server_authenticated.answer(), Answer::Yes, "{port}");
        let answers = [
            &posture.offered,
            &posture.preferred,
            &posture.negotiated,
            &posture.stayed,
        ];
        assert_eq!(answers.map(Reply::answer), [offered, preferred, no, no], "{port}");
    }
}

#[test]
fn ends_with_nothing_in_common_endanger_nothing() {
    let posture = at_port(4506);
    assert_eq!(posture.kind, Kind::SshNotAgreed);
    assert_eq!(posture.confidentiality.verdict(), Verdict::NotSeen);
    assert!(
        posture
            .confidentiality
            .because()
            .contains("no key exchange method in common")
    );
    assert_eq!(posture.offered.answer(), Answer::Yes);
}

#[test]
fn netconf_is_named_by_its_port_and_by_nothing_else() {
    let mut links = Links::default();
    for (connection, posture) in judged(|_| true) {
        let name = posture.interface.map(|interface| (interface.name, interface.by));
        assert_eq!(name.is_some(), connection.server.port() == 830);
        assert!(name.is_none_or(|name| name == ("O1", Hint::Port)));
        links.add(&Part::connection(&connection, &posture));
    }
    let network = links.finish(None);
    let link = network.links.iter().find(|link| link.name() == "O1").unwrap();
    assert_eq!(link.ssh_methods.iter().collect::<Vec<_>>(), ["mlkem768x25519-sha256"]);
    assert!(link.named_by.is_some());
}

/// Without any one of its packets a connection is never called safer than it was.
#[test]
fn a_missing_packet_makes_nothing_safe() {
    let whole = judged(|_| true);
    let mut fell = 0;
    for missing in 1..=140 {
        for (connection, posture) in judged(|number| number != missing) {
            let (_, was) = whole
                .iter()
                .find(|(known, _)| known.client == connection.client || known.server == connection.client)
                .unwrap();
            let safe = |posture: &Posture| posture.confidentiality.verdict() == Verdict::QuantumSafe;
            assert!(safe(was) || !safe(&posture), "without packet {missing}");
            fell += u64::from(safe(was) && !safe(&posture));
        }
    }
    assert!(fell > 0);
}
