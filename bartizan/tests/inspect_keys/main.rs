//! `bartizan inspect --keylog` on what real peers sent: OpenSSL 3.5, curl and nghttpd of the lab
//! root; tshark has the same keys and must see the same.

#[path = "../cyclonedx/mod.rs"]
mod cyclonedx;
mod probe;
mod stage;

use bartizan_testing::Listening as _;
use std::net::{Ipv4Addr, SocketAddr};

use serde_json::Value;

use stage::{Client, Identity, PATIENCE, Stage, Tap};

/// One handshake and a line each way, between a server of `own` and a client, as `sbi.pcap`; gives
/// what the client said.
fn exchange(stage: &Stage, own: &Identity, client: Option<&Identity>, arguments: &str) -> String {
    conversation(stage, own, client, arguments, |client| client.say("hello", "olleh"))
}

fn conversation(
    stage: &Stage,
    own: &Identity,
    client: Option<&Identity>,
    arguments: &str,
    talk: impl FnOnce(&mut Client),
) -> String {
    let (server, address) = stage.server(own, client, "-alpn h2,http/1.1");
    let tap = Tap::before(address);
    let mut speaker = stage.client(tap.address, client, arguments);
    talk(&mut speaker);
    let said = speaker.end();
    tap.write(&stage.path("sbi.pcap"));
    drop(server);
    said
}

fn connection(document: &Value) -> &Value {
    let connections = document["files"][0]["connections"].as_array().unwrap();
    assert_eq!(connections.len(), 1);
    &connections[0]
}

fn opened(stage: &Stage) -> Value {
    connection(&stage.json(&["sbi.pcap", "--keylog", "keys.log"])).clone()
}

fn because(connection: &Value, question: &str) -> String {
    let reply = &connection["questions"][question];
    let (answer, because) = (&reply["answer"], &reply["because"]);
    format!("{}: {}", answer.as_str().unwrap(), because.as_str().unwrap())
}

/// Key, scheme as OpenSSL shows it and as tshark numbers it, and whether it withstands a forger.
const KEYS: [(&str, &str, u64, &str); 7] = [
    ("ml-dsa-44", "mldsa44", 0x0904, "quantum-safe"),
    ("ml-dsa-65", "mldsa65", 0x0905, "quantum-safe"),
    ("ml-dsa-87", "mldsa87", 0x0906, "quantum-safe"),
    (
        "ec -pkeyopt ec_paramgen_curve:P-256",
        "ecdsa_secp256r1_sha256",
        0x0403,
        "vulnerable",
    ),
    (
        "ec -pkeyopt ec_paramgen_curve:P-384",
        "ecdsa_secp384r1_sha384",
        0x0503,
        "vulnerable",
    ),
    ("ed25519", "ed25519", 0x0807, "vulnerable"),
    ("rsa:2048", "rsa_pss_rsae_sha256", 0x0804, "vulnerable"),
];

#[test]
fn how_both_ends_signed_is_what_openssl_and_tshark_say() {
    for (newkey, scheme, code, verdict) in KEYS {
        let stage = Stage::new();
        let (nrf, amf) = (stage.identity("nrf", newkey), stage.identity("amf", newkey));
        let said = exchange(&stage, &nrf, Some(&amf), "-tls1_3 -alpn h2");
        assert!(said.contains(&format!("Peer signature type: {scheme}\n")), "{said}");
        let connection = opened(&stage);
        let tls = &connection["tls"];
        for end in ["server_signature", "client_signature"] {
            assert_eq!(tls[end]["code"], code, "{newkey}");
        }
        let theirs = stage.tshark("sbi.pcap", "tls.handshake.type == 15", "tls.handshake.sig_hash_alg");
        let theirs: Vec<u64> = theirs
            .iter()
            .map(|value| u64::from_str_radix(value.trim_start_matches("0x"), 16).unwrap())
            .filter(|value| *value == code)
            .collect();
        assert_eq!(theirs, [code, code], "both ends, by tshark");
        for end in ["server_authenticated", "client_authenticated"] {
            let said = because(&connection, end);
            assert!(
                said.starts_with(&format!("yes: signed with {scheme}, as the keys given show")),
                "{said}"
            );
        }
        assert_eq!(
            connection["authenticity"]["verdict"], verdict,
            "{newkey}: {}",
            connection["authenticity"]
        );
        assert_eq!(connection["confidentiality"]["verdict"], "quantum-safe");
        let opened = &tls["opened"];
        assert_eq!(
            (&opened["alpn"], &opened["certificate_requested"]),
            (&"h2".into(), &true.into())
        );
        assert_eq!(opened["server_certificates"][0]["subject"], "CN=nrf");
        assert_eq!(opened["client_certificates"][0]["subject"], "CN=amf");
        assert_eq!(opened["wrong_secrets"].as_array().unwrap().len(), 0);
        assert_eq!(connection["in_ledger"], false);
    }
}

#[test]
fn chains_that_keys_opened_are_in_the_bill_of_materials_and_no_secret_is() {
    let stage = Stage::new();
    let (nrf, amf) = (stage.identity("nrf", "ml-dsa-65"), stage.identity("amf", "ml-dsa-44"));
    exchange(&stage, &nrf, Some(&amf), "-tls1_3");
    let connection = opened(&stage);
    stage.inspect(&["sbi.pcap", "--keylog", "keys.log", "--cbom", "cbom.json"]);
    let text = std::fs::read_to_string(stage.path("cbom.json")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    cyclonedx::assert_published(&document);
    for (end, subject, key) in [
        ("server", "CN=nrf", "id-ml-dsa-65"),
        ("client", "CN=amf", "id-ml-dsa-44"),
    ] {
        let shown = &connection["tls"]["opened"][format!("{end}_certificates")][0];
        let sha256 = shown["sha256"].as_str().unwrap();
        let certificate = cyclonedx::component(&document, &format!("certificate/{sha256}"));
        assert_eq!(certificate["name"], subject);
        let properties = &certificate["cryptoProperties"]["certificateProperties"];
        assert_eq!(properties["fingerprint"]["content"], sha256);
        assert_eq!(
            properties["relatedCryptographicAssets"][1]["ref"],
            format!("algorithm/x509/{key}")
        );
        let scheme = connection["tls"][format!("{end}_signature")]["code"].as_u64().unwrap();
        let scheme = cyclonedx::component(&document, &format!("algorithm/tls-signature/0x{scheme:04x}"));
        for component in [certificate, scheme] {
            let places = cyclonedx::places(component);
            let opened =
                |(file, detail): &(&str, &str)| *file == "sbi.pcap" && detail.ends_with(", opened by the keys given");
            assert!(!places.is_empty() && places.iter().all(opened), "{places:?}");
        }
    }
    let secrets = std::fs::read_to_string(stage.path("keys.log")).unwrap();
    for secret in secrets.lines().filter_map(|line| line.split(' ').nth(2)) {
        assert!(!text.contains(secret), "a secret was written");
    }
    // Without keys they are not visible.
    stage.inspect(&["sbi.pcap", "--cbom", "cbom.json"]);
    let document: Value = serde_json::from_slice(&std::fs::read(stage.path("cbom.json")).unwrap()).unwrap();
    assert_eq!(cyclonedx::assets(&document, "certificate").count(), 0);
}

#[test]
fn two_dates_are_compared_by_what_keys_open_of_both() {
    let stage = Stage::new();
    let (nrf, amf) = (stage.identity("nrf", "ml-dsa-65"), stage.identity("amf", "ml-dsa-65"));
    exchange(&stage, &nrf, Some(&amf), "-tls1_3");
    std::fs::rename(stage.path("sbi.pcap"), stage.path("monday.pcap")).unwrap();
    let classical = stage.identity("classical", "ed25519");
    exchange(&stage, &classical, Some(&amf), "-tls1_3");
    let diff = |arguments: &[&str]| -> (Option<i32>, Value) {
        let output = stage.inspect(&[&["diff", "monday.pcap", "sbi.pcap", "--json"], arguments].concat());
        let document = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
        (output.status.code(), document)
    };
    // The tap writes the same addresses each time: it is one link on two dates.
    let (code, document) = diff(&["--keylog", "keys.log"]);
    let authenticity = &document["changes"][0]["authenticity"];
    assert_eq!(
        (&authenticity["before"], &authenticity["after"]),
        (&"quantum-safe".into(), &"vulnerable".into())
    );
    assert_eq!((code, document["worse"].as_u64()), (Some(1), Some(1)));
    let (code, document) = diff(&[]);
    assert_eq!((code, document["worse"].as_u64()), (Some(0), Some(0)), "{document:#}");
    let output = stage.inspect(&["diff", "monday.pcap", "sbi.pcap", "--ike-keys", "keys.log"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("not a table of IKE keys"));
}

#[test]
fn a_classical_end_next_to_a_post_quantum_one_is_enough_for_a_forger() {
    let stage = Stage::new();
    let (nrf, amf) = (stage.identity("nrf", "ml-dsa-65"), stage.identity("amf", "ed25519"));
    exchange(&stage, &nrf, Some(&amf), "-tls1_3");
    let connection = opened(&stage);
    assert!(because(&connection, "server_authenticated").contains("id-ml-dsa-65"));
    assert_eq!(connection["authenticity"]["verdict"], "vulnerable");
    assert!(
        connection["authenticity"]["because"]
            .as_str()
            .unwrap()
            .contains("ed25519")
    );
}

#[test]
fn a_client_that_was_not_asked_is_not_authenticated() {
    let stage = Stage::new();
    exchange(&stage, &stage.identity("nrf", "ml-dsa-65"), None, "-tls1_3");
    let connection = opened(&stage);
    assert_eq!(
        because(&connection, "client_authenticated"),
        "no: not authenticated: the server did not ask it to be, as the keys given show"
    );
    assert_eq!(connection["authenticity"]["verdict"], "vulnerable");
    assert!(because(&connection, "server_authenticated").starts_with("yes"));
}

#[test]
fn a_connection_without_its_line_is_judged_as_without_a_key_log() {
    let stage = Stage::new();
    exchange(&stage, &stage.identity("nrf", "ml-dsa-65"), None, "-tls1_3");
    let of_another = std::fs::read_to_string(stage.path("keys.log")).unwrap();
    let random = of_another.lines().find(|line| !line.starts_with('#')).unwrap();
    let random = random.split(' ').nth(1).unwrap();
    std::fs::write(stage.path("other.log"), of_another.replace(random, &"ab".repeat(32))).unwrap();
    let [with, without] =
        [&["sbi.pcap", "--keylog", "other.log"][..], &["sbi.pcap"]].map(|arguments| stage.json(arguments));
    assert_eq!(with, without);
    assert_eq!(connection(&with)["authenticity"]["verdict"], "not observable");
}

#[test]
fn every_cipher_is_opened_through_a_change_of_keys() {
    let stage = Stage::new();
    let own = stage.identity("nrf", "ml-dsa-44");
    for (name, code) in [
        ("TLS_AES_128_GCM_SHA256", 0x1301),
        ("TLS_AES_256_GCM_SHA384", 0x1302),
        ("TLS_CHACHA20_POLY1305_SHA256", 0x1303),
    ] {
        conversation(&stage, &own, None, &format!("-tls1_3 -ciphersuites {name}"), |client| {
            client.say("before", "erofeb");
            // Sends a KeyUpdate and asks for one.
            client.say("K", "KEYUPDATE");
            client.say("behind", "dniheb");
        });
        let connection = opened(&stage);
        let opened = &connection["tls"]["opened"];
        assert_eq!(connection["tls"]["cipher_suite"], code);
        assert_eq!(
            (&opened["key_updates_by_client"], &opened["key_updates_by_server"]),
            (&1.into(), &1.into())
        );
        for (opened, all) in [
            (
                &opened["records_from_client"],
                &connection["tls"]["protected_records_from_client"],
            ),
            (
                &opened["records_from_server"],
                &connection["tls"]["protected_records_from_server"],
            ),
        ] {
            assert_eq!(opened, all, "{name}");
        }
        assert_eq!(
            (&opened["client_not_opened"], &opened["server_not_opened"]),
            (&Value::Null, &Value::Null)
        );
        assert_eq!(opened["tickets"], 2);
    }
}

#[test]
fn a_cipher_that_is_not_opened_is_said_to_be_none() {
    let stage = Stage::new();
    let own = stage.identity("nrf", "ml-dsa-44");
    let (server, address) = stage.server(&own, None, "-ciphersuites TLS_AES_128_CCM_SHA256");
    let tap = Tap::before(address);
    let mut client = stage.client(tap.address, None, "-tls1_3 -ciphersuites TLS_AES_128_CCM_SHA256");
    client.say("hello", "olleh");
    client.end();
    tap.write(&stage.path("sbi.pcap"));
    drop(server);
    let connection = opened(&stage);
    let said = connection["tls"]["opened"]["server_not_opened"].as_str().unwrap();
    assert!(
        said.starts_with("no key was given for the handshake, or its cipher is not opened"),
        "{said}"
    );
    assert_eq!(connection["authenticity"]["verdict"], "not observable");
    assert_eq!(connection["contradictions"].as_array().unwrap().len(), 0);
}

#[test]
fn tls_1_2_is_opened_by_its_master_secret() {
    let stage = Stage::new();
    let own = stage.identity("nrf", "rsa:2048");
    for name in [
        "ECDHE-RSA-AES128-GCM-SHA256",
        "ECDHE-RSA-AES256-GCM-SHA384",
        "ECDHE-RSA-CHACHA20-POLY1305",
    ] {
        exchange(&stage, &own, None, &format!("-tls1_2 -cipher {name}"));
        let connection = opened(&stage);
        let tls = &connection["tls"];
        assert_eq!(
            tls["opened"]["records_from_client"], tls["protected_records_from_client"],
            "{name}"
        );
        assert_eq!(
            tls["opened"]["records_from_server"], tls["protected_records_from_server"],
            "{name}"
        );
        assert!(tls["opened"]["records_from_server"].as_u64().unwrap() >= 2);
        assert_eq!(connection["confidentiality"]["verdict"], "vulnerable");
        assert_eq!(connection["authenticity"]["verdict"], "vulnerable");
    }
}

#[test]
fn a_resumed_session_is_authenticated_by_the_one_before() {
    let stage = Stage::new();
    let own = stage.identity("nrf", "ml-dsa-65");
    let (server, address) = stage.server(&own, None, "");
    for option in ["-sess_out", "-sess_in"] {
        let tap = Tap::before(address);
        let mut client = stage.client(tap.address, None, &format!("-tls1_3 {option} session.pem"));
        // The tickets come behind the handshake and before the answer.
        client.say("hello", "olleh");
        client.end();
        tap.write(&stage.path("sbi.pcap"));
    }
    drop(server);
    let connection = opened(&stage);
    assert_eq!(connection["tls"]["resumed"], true);
    assert!(connection["tls"]["opened"]["server_finished_packet"].is_u64());
    assert_eq!(connection["tls"]["opened"]["server_certificates"], Value::Null);
    assert_eq!(connection["authenticity"]["verdict"], "not observable");
}

#[test]
fn a_server_that_the_client_refused_is_not_called_authenticated() {
    let stage = Stage::new();
    let (nrf, other) = (stage.identity("nrf", "ml-dsa-65"), stage.identity("other", "ml-dsa-65"));
    let trusted = format!("-tls1_3 -verify_return_error -CAfile {}", other.certificate.display());
    conversation(&stage, &nrf, None, &trusted, |client| client.wait_for("CONNECTED"));
    let connection = opened(&stage);
    let said = because(&connection, "server_authenticated");
    assert!(
        said.starts_with("not seen: not established: refused (unknown_ca from the client)"),
        "{said}"
    );
    assert_eq!(connection["authenticity"]["verdict"], "not seen");
}

#[test]
fn http2_inside_tls_shows_its_requests_and_the_tokens_in_them() {
    let stage = Stage::new();
    let own = stage.identity("nrf", "ec -pkeyopt ec_paramgen_curve:P-256");
    std::fs::write(stage.path("index.html"), "answered\n").unwrap();
    // {"alg":"RS256"}
    let token = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhbWYifQ.c2lnbmF0dXJl";
    std::fs::write(stage.path("body"), format!("access_token={token}&")).unwrap();
    // {"alg":"ES256"}
    let in_header = "authorization: Bearer eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhbWYifQ.c2lnbmF0dXJl";
    let address = SocketAddr::from((own_address(), 8443));
    let mut server = stage
        .program("nghttpd")
        .argument(format!("--address={}", address.ip()))
        .argument("-d")
        .argument(stage.path(""))
        .argument(address.port().to_string())
        .arguments([&own.key, &own.certificate])
        .start()
        .expect("nghttpd starts");
    server.wait_for_port(address, PATIENCE).expect("it listens");
    let tap = Tap::before(address);
    let url = format!("https://127.0.0.1:{}/index.html", tap.address.port());
    stage
        .program("curl")
        .environment("SSLKEYLOGFILE", stage.path("keys.log"))
        .arguments([
            "-sk",
            "--http2",
            "-H",
            in_header,
            "--data-binary",
            "@body",
            &url,
            "-o",
            "one",
            &url,
            "-o",
            "other",
        ])
        .run(PATIENCE)
        .expect("curl is answered");
    tap.write(&stage.path("sbi.pcap"));
    drop(server);
    let connection = opened(&stage);
    assert_eq!(connection["kind"], "TLS 1.3");
    let http2 = &connection["tls"]["opened"]["http2"];
    assert_eq!(http2["requests"], 2);
    let kinds = stage.tshark("sbi.pcap", "http2", "http2.type");
    let frames = ["frames_from_client", "frames_from_server"].map(|side| http2[side].as_u64().unwrap());
    assert_eq!(frames.iter().sum::<u64>(), kinds.len() as u64, "frames, by tshark");
    assert_eq!(connection["questions"]["clear"]["answer"], "no");
    let detail = connection["above_transport"].as_array().unwrap();
    let said: Vec<&str> = detail.iter().map(|hole| hole["because"].as_str().unwrap()).collect();
    for algorithm in ["RS256", "ES256"] {
        assert!(said.iter().any(|because| because.contains(algorithm)), "{said:?}");
    }
}

/// An address of loopback that no other process of tests has, so that any port of it is free.
fn own_address() -> Ipv4Addr {
    let [_, _, high, low] = std::process::id().to_be_bytes();
    Ipv4Addr::new(127, 83, high, low)
}

#[test]
fn secrets_in_the_capture_itself_serve_as_well() {
    let stage = Stage::new();
    let (nrf, amf) = (stage.identity("nrf", "ml-dsa-65"), stage.identity("amf", "ml-dsa-65"));
    exchange(&stage, &nrf, Some(&amf), "-tls1_3");
    stage
        .program("editcap")
        .arguments(["--inject-secrets", "tls,keys.log", "sbi.pcap", "with.pcapng"])
        .run(PATIENCE)
        .expect("editcap runs");
    let document = stage.json(&["with.pcapng"]);
    assert_eq!(connection(&document), &opened(&stage));
    assert_eq!(stage.inspect(&["with.pcapng"]).status.code(), Some(0));
}

/// The key log with the secret of this label changed, and the number of its line.
fn spoilt(stage: &Stage, label: &str) -> u64 {
    let text = std::fs::read_to_string(stage.path("keys.log")).unwrap();
    let mut number = 0;
    let lines = text.lines().enumerate().map(|(index, line)| {
        if !line.starts_with(label) {
            return line.to_owned();
        }
        number = index as u64 + 1;
        let (rest, last) = line.split_at(line.len() - 1);
        format!("{rest}{}", if last == "0" { '1' } else { '0' })
    });
    let spoilt: Vec<String> = lines.collect();
    std::fs::write(stage.path("spoilt.log"), spoilt.join("\n")).unwrap();
    number
}

#[test]
fn a_wrong_secret_is_a_contradiction_that_names_its_line() {
    let stage = Stage::new();
    let (nrf, amf) = (stage.identity("nrf", "ml-dsa-65"), stage.identity("amf", "ml-dsa-65"));
    exchange(&stage, &nrf, Some(&amf), "-tls1_3");
    for (label, authenticity) in [
        ("SERVER_HANDSHAKE_TRAFFIC_SECRET", "not observable"),
        ("CLIENT_HANDSHAKE_TRAFFIC_SECRET", "not observable"),
        ("SERVER_TRAFFIC_SECRET_0", "quantum-safe"),
        ("CLIENT_TRAFFIC_SECRET_0", "quantum-safe"),
    ] {
        let line = spoilt(&stage, label);
        let document = stage.json(&["sbi.pcap", "--keylog", "spoilt.log"]);
        let connection = connection(&document);
        let what = format!("the secret in line {line} of spoilt.log does not open what it names");
        assert_eq!(connection["contradictions"], serde_json::json!([what]), "{label}");
        assert_eq!(connection["authenticity"]["verdict"], authenticity, "{label}");
        let output = stage.inspect(&["sbi.pcap", "--keylog", "spoilt.log"]);
        assert_eq!(output.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&output.stdout).contains(&what));
    }
}

#[test]
fn a_key_log_that_is_none_is_refused_by_line_and_never_quoted() {
    let stage = Stage::new();
    exchange(&stage, &stage.identity("nrf", "ml-dsa-44"), None, "-tls1_3");
    let good = std::fs::read_to_string(stage.path("keys.log")).unwrap();
    let secret = good.lines().find(|line| !line.starts_with('#')).unwrap();
    let secret = secret.rsplit(' ').next().unwrap();
    let write = |text: &str| std::fs::write(stage.path("bad.log"), text).unwrap();
    let run = || {
        let output = stage.inspect(&["sbi.pcap", "--keylog", "bad.log"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let all = format!("{said}{}", String::from_utf8_lossy(&output.stdout));
        assert!(!all.contains(&secret[..16]), "a secret was printed: {all}");
        (output.status.code(), said)
    };
    // Only the last line is cut: what stands before it serves.
    write(good.trim_end().strip_suffix(|_| true).unwrap());
    let (code, said) = run();
    let number = good.lines().count();
    assert_eq!(code, Some(1), "the client was not authenticated");
    assert!(said.contains(&format!("warning: bad.log: line {number}: ")), "{said}");
    write(&format!("SERVER_TRAFFIC_SECRET_0 {secret}"));
    let (code, said) = run();
    assert_eq!(code, Some(2));
    assert!(
        said.contains("line 1: not a label") && said.contains("error: bad.log: not a key log"),
        "{said}"
    );
    assert!(said.contains("hint: a key log is"), "{said}");
    write("");
    assert!(run().1.contains("holds no secrets"));
    std::fs::remove_file(stage.path("bad.log")).unwrap();
    let (code, said) = run();
    assert_eq!(code, Some(2));
    assert!(
        said.contains("bad.log: No such file") && said.contains("hint:"),
        "{said}"
    );
}
