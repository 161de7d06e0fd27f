//! DTLS 1.2 of OpenSSL 3.5, put into SCTP as N2, Xn, F1 and E1 carry it.

use std::fs::{self, File};
use std::io::Write as _;
use std::net::SocketAddr;

use bartizan_host::Namespace;
use bartizan_testing::{Capture, Direction};
use serde_json::Value;

use super::in_sctp::{Built, Chunks, datagrams};
use crate::dtls::agree;
use crate::tshark::{PATIENCE, by_ends, inspect, root};

/// A handshake, how it is put into SCTP, and what a specialist says of it.
struct Situation {
    /// The server's port over UDP.
    port: u16,
    payload_protocol: u32,
    interface: &'static str,
    server: &'static str,
    client: &'static str,
    chunks: Chunks,
    /// True if the server of DTLS set the association up.
    called_home: bool,
    group: &'static str,
    /// Authentication of each end, if any.
    proofs: [&'static str; 2],
    certificates: usize,
}

const NONE: &str = "no: not authenticated: it sent no certificate";
const RSA: &str = "yes: DTLS 1.2, signed with rsa_pss_rsae_sha256, with a key of rsaEncryption that is certified with \
                   sha256WithRSAEncryption";
const P256: &str = "yes: DTLS 1.2, signed with ecdsa_secp256r1_sha256, with a key of id-ecPublicKey, P-256 that is certified with \
                    ecdsa-with-SHA256";
// The code point names the hash and leaves the curve to the key (RFC 8422, section 5.4).
const P384: &str = "yes: DTLS 1.2, signed with ecdsa_secp256r1_sha256, with a key of id-ecPublicKey, P-384 that is certified with \
                    ecdsa-with-SHA256";
// A client's key: a server of OpenSSL has no cipher for such a key in DTLS 1.2, as it has in TLS
// 1.2.
const ED25519: &str = "yes: DTLS 1.2, signed with ed25519, with a key of id-Ed25519 that is certified with id-Ed25519";
const CHAIN: &str = "yes: DTLS 1.2, signed with rsa_pss_rsae_sha256, with a key of rsaEncryption that is certified with \
                     ecdsa-with-SHA256";

const SITUATIONS: [Situation; 4] = [
    Situation {
        port: 14_501,
        payload_protocol: 66,
        interface: "N2",
        server: "-cert rsa.crt -key rsa.key",
        client: "-groups X25519",
        chunks: Chunks::Whole,
        called_home: false,
        group: "x25519",
        proofs: [RSA, NONE],
        certificates: 1,
    },
    Situation {
        port: 14_502,
        payload_protocol: 67,
        interface: "Xn",
        server: "-cert p256.crt -key p256.key -Verify 1",
        client: "-groups P-256 -cert rsa.crt -key rsa.key",
        chunks: Chunks::Of(300),
        called_home: true,
        group: "secp256r1",
        proofs: [P256, RSA],
        certificates: 2,
    },
    Situation {
        port: 14_503,
        payload_protocol: 68,
        interface: "F1",
        server: "-cert p384.crt -key p384.key -Verify 1",
        client: "-groups P-521:P-384:P-256 -cert p256.crt -key p256.key",
        chunks: Chunks::OutOfOrder(100),
        called_home: false,
        group: "secp521r1",
        proofs: [P384, P256],
        certificates: 2,
    },
    // Datagrams of at most 300 bytes: OpenSSL cuts its certificates into handshake fragments.
    Situation {
        port: 14_504,
        payload_protocol: 69,
        interface: "E1",
        server: "-cert chain.crt -key chain.key -cert_chain p256.crt -Verify 1 -mtu 300",
        client: "-groups P-384 -cert ed25519.crt -key ed25519.key -mtu 300",
        chunks: Chunks::Of(200),
        called_home: false,
        group: "secp384r1",
        proofs: [CHAIN, ED25519],
        certificates: 3,
    },
];

/// Keys and certificates that the ends show.
const CERTIFICATES: [(&str, &str); 5] = [
    ("rsa", "rsa:2048"),
    ("p256", "ec -pkeyopt ec_paramgen_curve:P-256"),
    ("p384", "ec -pkeyopt ec_paramgen_curve:P-384"),
    ("ed25519", "ed25519"),
    ("chain", "rsa:2048 -CA p256.crt -CAkey p256.key"),
];

/// The datagrams of all of them, captured.
fn captured() -> Vec<u8> {
    let space = Namespace::create("dtls").expect("a namespace");
    let (root, directory) = (root(), tempfile::tempdir().expect("a directory"));
    let openssl = |arguments: &str| {
        let openssl = root.command("openssl").expect("openssl in the lab root");
        openssl
            .arguments(arguments.split_whitespace())
            .directory(directory.path())
    };
    for (name, key) in CERTIFICATES {
        let made = openssl(&format!(
            "req -x509 -newkey {key} -nodes -keyout {name}.key -out {name}.crt -subj /CN={name}.test -days 2"
        ));
        made.run(PATIENCE).expect("a certificate");
    }
    let said = directory.path().join("said");
    File::create(&said)
        .and_then(|mut file| file.write_all(b"a message\n"))
        .expect("a file");
    let file = directory.path().join("dtls.pcap");
    let capture = Capture::start(Some(&space), "lo", &file, Direction::Both).expect("a capture");
    for situation in &SITUATIONS {
        let Situation {
            port, server, client, ..
        } = situation;
        // Its input stays open: at its end the server would stop.
        let (input, held) = std::io::pipe().expect("a pipe");
        let server = openssl(&format!("s_server -dtls1_2 -accept 127.0.0.1:{port} {server}"));
        let mut server = server.inside(&space).input(input.into()).start().expect("a server");
        server.wait_for_line("ACCEPT", PATIENCE).expect("it listens");
        // Says its line and leaves.
        let client = openssl(&format!("s_client -dtls1_2 -connect 127.0.0.1:{port} {client}"));
        let input = File::open(&said).expect("a line");
        let client = client.inside(&space).input(input.into()).run(PATIENCE);
        client.expect("a handshake");
        server.wait_for_line("a message", PATIENCE).expect("it was reported");
        drop(held);
    }
    let captured = capture.stop().expect("a capture");
    assert!(captured.complete(), "{captured:?}");
    fs::read(&file).expect("the capture")
}

/// Ends of the nth association: at ports that tell nothing.
fn ends(nth: usize) -> [SocketAddr; 2] {
    let end = |last: usize, port: u16| SocketAddr::new([10, 66, nth as u8, last as u8].into(), port);
    [end(1, 50_001), end(2, 50_000)]
}

#[test]
fn dtls_1_2_in_sctp_shows_its_handshake_and_is_vulnerable_by_construction() {
    let directory = tempfile::tempdir().unwrap();
    let over_udp = directory.path().join("dtls.pcap");
    let capture = captured();
    fs::write(&over_udp, &capture).unwrap();
    let mut built = Built::new();
    for (nth, situation) in SITUATIONS.iter().enumerate() {
        let mut datagrams = datagrams(&capture, situation.port);
        assert!(datagrams.len() > 5, "{}", situation.port);
        if situation.called_home {
            datagrams
                .iter_mut()
                .for_each(|(from_server, _)| *from_server = !*from_server);
        }
        built.association(ends(nth), situation.payload_protocol, situation.chunks, &datagrams);
    }
    let in_sctp = directory.path().join("sctp.pcap");
    fs::write(&in_sctp, built.file()).unwrap();
    let document = inspect(&in_sctp);
    let associations = by_ends(&document);
    assert_eq!(associations.len(), SITUATIONS.len());
    for (nth, situation) in SITUATIONS.iter().enumerate() {
        let [one, other] = ends(nth);
        let ours = associations[&(one, other)];
        judged(situation, ours);
        let shown = agree(&over_udp, situation.port, ours);
        assert_eq!(shown, situation.certificates, "{}", situation.interface);
    }
}

fn judged(situation: &Situation, ours: &Value) {
    let name = situation.interface;
    assert_eq!(ours["kind"], "DTLS over SCTP", "{name}");
    assert_eq!(ours["interface"]["name"], name);
    assert_eq!(ours["interface"]["known_by"], "PPID", "{name}");
    assert_eq!(ours["sctp"]["plain_messages"], 0, "{name}");
    let dtls = &ours["sctp"]["dtls"];
    assert_eq!(dtls["group"]["name"], situation.group, "{name}");
    assert_eq!(
        dtls["client"],
        if situation.called_home {
            "responder"
        } else {
            "initiator"
        }
    );
    let question = |question: &str| {
        let answer = &ours["questions"][question];
        format!(
            "{}: {}",
            answer["answer"].as_str().unwrap(),
            answer["because"].as_str().unwrap()
        )
    };
    assert_eq!(question("offered"), "no: the client does not offer DTLS 1.3", "{name}");
    for asked in ["preferred", "negotiated", "stayed", "clear"] {
        assert!(
            question(asked).starts_with("no: "),
            "{name}: {asked} {}",
            question(asked)
        );
    }
    // The ends of the association, in the order of DTLS.
    let mut proofs = ["server_authenticated", "client_authenticated"].map(question);
    if situation.called_home {
        proofs.reverse();
    }
    assert_eq!(proofs, situation.proofs, "{name}");
    for verdict in ["confidentiality", "authenticity"] {
        assert_eq!(ours[verdict]["verdict"], "vulnerable", "{name}");
    }
    assert_eq!(
        ours["confidentiality"]["because"],
        format!(
            "DTLS 1.2 over SCTP with {}: quantum-vulnerable by construction, as no post-quantum key exchange is defined below \
             DTLS 1.3",
            situation.group
        )
    );
}
