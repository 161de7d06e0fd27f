//! `bartizan probe` of OpenSSL 3.5, nginx over QUIC, a recorded OpenSSH 10, and servers that do not answer.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::{Command, Output};
use std::thread;
use std::time::Instant;

use bartizan_wire::CapturePart;
use bartizan_wire::capture::CaptureReader;
use serde_json::Value;

use crate::stage::{PATIENCE, Stage};

fn probe(server: SocketAddr, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bartizan"))
        .env("COLUMNS", "200")
        .args(["probe", &server.to_string()])
        .args(arguments)
        .output()
        .expect("bartizan runs")
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

/// The values of an answer, and its finding.
fn answer(document: &Value, question: &str) -> (Vec<String>, Option<String>) {
    let mut answers = document["answers"].as_array().unwrap().iter();
    let found = answers.find(|answer| answer["question"] == question);
    let found = found.unwrap_or_else(|| panic!("no {question} in {document}"));
    let values = found["values"].as_array().unwrap().iter();
    let values = values.map(|value| value.as_str().unwrap().to_owned()).collect();
    (values, found["finding"].as_str().map(str::to_owned))
}

fn values(document: &Value, question: &str) -> Vec<String> {
    answer(document, question).0
}

fn is_finding(document: &Value, question: &str) -> bool {
    answer(document, question).1.is_some()
}

#[test]
fn a_strict_server_of_openssl_is_clean_and_every_group_and_suite_of_it_is_found() {
    let stage = Stage::new();
    let own = stage.identity("strict", "ml-dsa-65");
    let groups = "-tls1_3 -groups X25519MLKEM768:SecP256r1MLKEM768:SecP384r1MLKEM1024";
    let suites = "-ciphersuites TLS_AES_256_GCM_SHA384";
    let (_server, address) = stage.server(&own, None, &format!("{groups} {suites} -num_tickets 3"));
    let output = probe(address, &["--json"]);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let document = json(&output);
    assert_eq!(document["schema"], "bartizan-probe/1");
    assert_eq!(values(&document, "versions"), ["TLS 1.3"]);
    let mut groups = values(&document, "groups");
    groups.sort();
    assert_eq!(groups, ["SecP256r1MLKEM768", "SecP384r1MLKEM1024", "X25519MLKEM768"]);
    assert_eq!(values(&document, "classical-only client"), ["refused"]);
    assert_eq!(values(&document, "suites of TLS 1.3"), ["TLS_AES_256_GCM_SHA384"]);
    assert_eq!(values(&document, "signature"), ["mldsa65"]);
    let certificates = values(&document, "certificates");
    assert!(certificates[0].starts_with("CN=strict: key id-ml-dsa-65, signed with id-ml-dsa-65, ends 20"));
    assert_eq!(values(&document, "resumption"), ["3 tickets"]);
    assert_eq!(values(&document, "0-RTT"), ["not permitted"]);
    // The inspector has the same handshake, as packets.
    let file = &document["inspect"]["files"][0];
    let connections = file["connections"].as_array().unwrap();
    assert_eq!(connections.len(), 1);
    assert_eq!(connections[0]["confidentiality"]["verdict"], "quantum-safe");
}

/// The certificates that are not shown may be classical.
#[test]
fn a_chain_that_is_longer_than_what_is_shown_of_it_is_a_finding() {
    let stage = Stage::new();
    let own = stage.identity("long", "ml-dsa-44");
    let certificate = std::fs::read_to_string(&own.certificate).unwrap();
    let classical = std::fs::read_to_string(stage.identity("classical", "rsa:2048").certificate).unwrap();
    for (more, last, is_long) in [(9, "", false), (9, classical.as_str(), true)] {
        let chain = [&certificate.repeat(more), last].concat();
        std::fs::write(stage.path("chain.pem"), chain).unwrap();
        let arguments = "-tls1_3 -groups X25519MLKEM768 -cert_chain chain.pem";
        let (_server, address) = stage.server(&own, None, arguments);
        let output = probe(address, &["--json"]);
        let document = json(&output);
        assert_eq!(values(&document, "certificates").len(), 10, "{document}");
        assert_eq!(is_finding(&document, "certificates"), is_long, "{document}");
        assert_eq!(output.status.code(), Some(i32::from(is_long)));
    }
}

#[test]
fn a_server_with_defaults_admits_classical_clients_and_older_versions() {
    let stage = Stage::new();
    let own = stage.identity("defaults", "rsa:2048");
    let (_server, address) = stage.server(&own, None, "-max_early_data 16384");
    let output = probe(address, &["--json", "--server-name", "nrf.example"]);
    assert_eq!(output.status.code(), Some(1));
    let document = json(&output);
    assert_eq!(values(&document, "versions"), ["TLS 1.3", "TLS 1.2"]);
    let groups = values(&document, "groups");
    for group in ["X25519MLKEM768", "x25519", "secp256r1", "x448", "secp521r1"] {
        assert!(groups.iter().any(|found| found == group), "{group} in {groups:?}");
    }
    assert_eq!(groups[0], "X25519MLKEM768");
    assert_eq!(values(&document, "classical-only client"), ["admitted with x25519"]);
    assert!(values(&document, "suites of TLS 1.2").contains(&"TLS_RSA_WITH_AES_128_CBC_SHA".to_owned()));
    assert!(values(&document, "0-RTT")[0].starts_with("permitted, 16384 bytes"));
    for question in ["versions", "classical-only client", "signature", "certificates"] {
        assert!(is_finding(&document, question), "{question}");
    }
    assert!(!is_finding(&document, "groups"));
    // A hybrid handshake and a classical one between the same ends are a downgrade to the inspector.
    let text = String::from_utf8(probe(address, &[]).stdout).unwrap();
    assert!(
        text.contains("downgrade: 1 link: first TLS 1.3 with X25519MLKEM768, then TLS 1.3 with x25519"),
        "{text}"
    );
}

#[test]
fn a_server_of_tls_1_2_alone_is_a_finding_without_a_report() {
    let stage = Stage::new();
    let own = stage.identity("old", "rsa:2048");
    let (_server, address) = stage.server(&own, None, "-tls1_2 -cipher ECDHE-RSA-AES128-GCM-SHA256");
    let output = probe(address, &["--json"]);
    assert_eq!(
        output.status.code(),
        Some(1),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let document = json(&output);
    assert_eq!(values(&document, "versions"), ["TLS 1.2"]);
    assert!(is_finding(&document, "versions"));
    let suites = values(&document, "suites of TLS 1.2");
    assert_eq!(suites, ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"]);
    assert!(document["inspect"].is_null());
}

#[test]
fn a_server_that_requires_a_certificate_is_asked_as_far_as_it_answers() {
    let stage = Stage::new();
    let own = stage.identity("server", "ml-dsa-65");
    let client = stage.identity("client", "ml-dsa-65");
    let (_server, address) = stage.server(&own, Some(&client), "-tls1_3 -groups X25519MLKEM768");
    let document = json(&probe(address, &["--json"]));
    assert_eq!(values(&document, "groups"), ["X25519MLKEM768"]);
    assert_eq!(values(&document, "signature"), ["mldsa65"]);
    assert!(
        values(&document, "handshake")[0].contains("CertificateRequired"),
        "{document}"
    );
    let connections = &document["inspect"]["files"][0]["connections"];
    assert_eq!(
        connections[0]["confidentiality"]["verdict"], "not seen",
        "{connections}"
    );
}

#[test]
fn nginx_over_quic_shows_its_groups_and_what_it_signs_with() {
    let stage = Stage::new();
    let own = stage.identity("quic", "rsa:2048");
    let free = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let folder = stage.path("");
    let (folder, certificate, key) = (folder.display(), own.certificate.display(), own.key.display());
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("{kind}_temp_path {folder}/{kind};\n"))
        .concat();
    let configuration = format!(
        "daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log stderr; events {{}}
         http {{ access_log off; {temporary} server {{ listen {address} quic; ssl_certificate {certificate};
         ssl_certificate_key {key}; ssl_protocols TLSv1.3; ssl_ecdh_curve X25519MLKEM768:X25519; }} }}"
    );
    std::fs::write(stage.path("nginx.conf"), configuration).unwrap();
    let nginx = stage
        .program("nginx")
        .arguments([Path::new("-c"), &stage.path("nginx.conf")]);
    let nginx = nginx.start().expect("nginx starts");
    // A port over UDP shows no listener: the probe asks until there is one.
    let deadline = Instant::now() + PATIENCE;
    let output = loop {
        let output = probe(address, &["--quic", "--json", "--timeout", "10s"]);
        if output.status.code() != Some(2) || Instant::now() > deadline {
            break output;
        }
    };
    assert_eq!(
        output.status.code(),
        Some(1),
        "{} {}",
        String::from_utf8_lossy(&output.stderr),
        nginx.stderr()
    );
    let document = json(&output);
    assert_eq!(values(&document, "groups"), ["X25519MLKEM768", "x25519"]);
    assert_eq!(values(&document, "classical-only client"), ["admitted with x25519"]);
    assert!(values(&document, "signature")[0].starts_with("rsa_pss"));
    let rows = document["inspect"]["files"][0]["connections"].as_array().unwrap();
    let verdicts: Vec<_> = rows.iter().map(|row| &row["confidentiality"]["verdict"]).collect();
    assert_eq!(verdicts, ["quantum-safe", "vulnerable"], "{document}");
}

/// The bytes that the server of the capture's port 830 sent: OpenSSH 10.0 with its defaults.
fn recorded() -> Vec<u8> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/prove/wire/tests/data/openssh-10.0.pcap");
    let mut reader = CaptureReader::new();
    reader.push(&std::fs::read(data).unwrap());
    let mut bytes = Vec::new();
    while let Some(part) = reader.next_part().unwrap() {
        let CapturePart::Packet(packet) = part else { continue };
        // Ethernet, IPv4 without options, TCP.
        let segment = &packet.data[34..];
        if u16::from_be_bytes([segment[0], segment[1]]) == 830 {
            let header = usize::from(segment[12] >> 4) * 4;
            let length = usize::from(u16::from_be_bytes([packet.data[16], packet.data[17]])) - 20;
            bytes.extend(&segment[header..length]);
        }
    }
    bytes
}

/// A server that runs `serve` for each connection, as long as the test does.
fn server(serve: impl Fn(TcpStream) + Send + Sync + Copy + 'static) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || serve(stream));
        }
    });
    address
}

#[test]
fn openssh_shows_its_methods_and_what_was_signed_for_another_is_no_proof() {
    let address = server(|mut stream| {
        let _ = stream.write_all(&recorded());
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let output = probe(address, &["--ssh", "--json"]);
    assert_eq!(
        output.status.code(),
        Some(1),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let document = json(&output);
    assert_eq!(
        values(&document, "identification"),
        ["SSH-2.0-OpenSSH_10.0p2 Debian-7+deb13u4"]
    );
    assert_eq!(values(&document, "key exchanges")[0], "mlkem768x25519-sha256");
    assert_eq!(
        values(&document, "classical-only client"),
        ["admitted with curve25519-sha256"]
    );
    // A recording has signed the exchange that it was part of.
    assert_eq!(
        values(&document, "one exchange"),
        ["mlkem768x25519-sha256: the signature does not fit"]
    );
    assert!(is_finding(&document, "one exchange") && is_finding(&document, "proof"));
    let ssh = &document["inspect"]["files"][0]["connections"][0];
    assert_eq!(ssh["confidentiality"]["verdict"], "quantum-safe", "{ssh}");
}

#[test]
fn servers_that_refuse_close_are_silent_send_garbage_or_never_end_are_distinguished() {
    let gone = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .unwrap()
        .local_addr()
        .unwrap();
    let closed = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let unheard = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let closing = server(drop);
    let garbage = server(|mut stream| {
        let _ = stream.write_all(&[b'x'; 100_000]);
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let endless = server(|mut stream| while stream.write_all(&[b'\n'; 4096]).is_ok() {});
    // A handshake message in records without end: it has the length of a ServerHello that never comes.
    let records = server(|mut stream| while stream.write_all(&[22, 3, 3, 0, 4, 2, 0xff, 0xff, 0xff]).is_ok() {});
    let short = ["--timeout", "300ms"];
    let cases: [(SocketAddr, &[&str], &str); 14] = [
        (closed, &["--quic"], "cannot be reached: Connection refused"),
        (closed, &["--ike"], "cannot be reached: Connection refused"),
        (gone, &[], "cannot be reached: Connection refused"),
        (gone, &["--ssh"], "cannot be reached: Connection refused"),
        (silent.local_addr().unwrap(), &short, "does not answer in time"),
        (
            silent.local_addr().unwrap(),
            &["--ssh", "--timeout", "300ms"],
            "does not answer in time",
        ),
        (
            unheard.local_addr().unwrap(),
            &["--quic", "--timeout", "300ms"],
            "does not answer in time",
        ),
        (
            unheard.local_addr().unwrap(),
            &["--ike", "--timeout", "300ms"],
            "does not answer in time",
        ),
        (closing, &[], "closes the connection without an answer"),
        (closing, &["--ssh"], "closes the connection without an answer"),
        (garbage, &[], "does not answer as TLS"),
        (garbage, &["--ssh"], "does not answer as SSH"),
        (endless, &["--ssh"], "does not answer as SSH: no identification"),
        (records, &[], "does not answer as TLS"),
    ];
    for (address, arguments, message) in cases {
        let output = probe(address, arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(
            said.starts_with(&format!("error: {address}: {message}")),
            "{arguments:?}: {said}"
        );
        assert!(said.contains("\nhint: "), "{said}");
        assert!(output.stdout.is_empty());
    }
    for (server, code) in [
        ("127.0.0.1", 64),
        ("127.0.0.1:port", 64),
        ("no.such.name.invalid:443", 2),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_bartizan"))
            .args(["probe", server])
            .output()
            .unwrap();
        assert_eq!(
            output.status.code(),
            Some(code),
            "{server}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}
