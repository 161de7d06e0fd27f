//! Visible content of OpenSSL's handshakes.

use std::collections::{BTreeMap, BTreeSet};

use super::handshakes::{handshakes, write};
use crate::tls::agree;
use crate::tshark::{connections, inspect};

#[test]
fn every_handshake_is_read_as_tshark_reads_it() {
    let directory = tempfile::tempdir().unwrap();
    let file = write(directory.path());
    let agreed = agree(&file, &inspect(&file));
    let situations = &handshakes().situations;
    assert_eq!(agreed.client_hellos, situations.len());
    assert_eq!(agreed.server_hellos, situations.len() - 1, "one was refused");
    assert_eq!((agreed.retries, agreed.earlier_hellos), (3, 3));
    assert_eq!(agreed.alerts, 1);
    assert!(agreed.curves > 5 && agreed.signatures > 5, "{agreed:?}");
    // One of each server that TLS 1.2 and 1.1 were spoken with in full, two of a chain, and two clients'.
    assert_eq!(agreed.certificates, 14, "{agreed:?}");
}

#[test]
fn each_handshake_gets_the_answers_its_negotiation_deserves() {
    let directory = tempfile::tempdir().unwrap();
    let document = inspect(&write(directory.path()));
    let port = |value: &serde_json::Value| value["client"].as_str().unwrap().rsplit(':').next().unwrap().to_owned();
    let ours: BTreeMap<String, _> = connections(&document).iter().map(|one| (port(one), one)).collect();
    let mut groups = BTreeSet::new();
    let mut wrong = Vec::new();
    for situation in &handshakes().situations {
        let connection = ours[&situation.port.to_string()];
        let name = &situation.name;
        let group = connection["tls"]["group"]["code"].as_u64();
        if let Some(expected) = situation.group {
            assert_eq!(group, Some(u64::from(expected.0)), "{name}");
        }
        groups.extend(group);
        let questions = ["offered", "preferred", "negotiated", "stayed", "clear"];
        let answers = questions.map(|question| connection["questions"][question]["answer"].as_str().unwrap());
        let confidentiality = connection["confidentiality"]["verdict"].as_str().unwrap();
        let expected = match (situation.answers, name.as_str()) {
            // Keyed by the session before it.
            (_, "early data") => "not observable",
            (["yes", _, "yes", "yes", "no"], _) => "quantum-safe",
            ([_, _, "not observable", ..], _) => "not observable",
            ([_, _, "not seen", ..], _) => "not seen",
            ([_, _, _, _, "yes"], _) => "readable now",
            _ => "vulnerable",
        };
        if answers != situation.answers || confidentiality != expected {
            wrong.push(format!(
                "{name}: {answers:?} {confidentiality}: {}",
                connection["confidentiality"]["because"]
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(groups.len() >= 19, "every group of OpenSSL 3.5: {groups:?}");
}

#[test]
fn before_tls_1_3_each_end_is_recognised_by_scheme_key_and_certificate() {
    const NONE: &str = "no: not authenticated: it sent no certificate";
    const RSA: &str = "a key of rsaEncryption that is certified with sha256WithRSAEncryption";
    const ED25519: &str = "a key of id-Ed25519 that is certified with id-Ed25519";
    const P256: &str = "a key of id-ecPublicKey, P-256 that is certified with ecdsa-with-SHA256";
    let signed = |scheme: &str, key: &str| format!("yes: TLS 1.2, signed with {scheme}, with {key}");
    let expected = [
        ("TLS 1.2 ECDHE by RSA", signed("rsa_pss_rsae_sha256", RSA), NONE.into()),
        ("TLS 1.2 DHE", signed("rsa_pss_rsae_sha256", RSA), NONE.into()),
        ("TLS 1.2 ECDHE by Ed25519", signed("ed25519", ED25519), NONE.into()),
        (
            "TLS 1.2 ECDHE by ECDSA",
            signed("ecdsa_secp256r1_sha256", P256),
            NONE.into(),
        ),
        (
            "TLS 1.2 ECDHE by RSA-PSS",
            signed(
                "rsa_pss_pss_sha256",
                "a key of id-RSASSA-PSS that is certified with id-RSASSA-PSS",
            ),
            NONE.into(),
        ),
        (
            "TLS 1.2 RSA",
            format!("yes: TLS 1.2 has no post-quantum signature; it has {RSA}"),
            NONE.into(),
        ),
        (
            "TLS 1.2, both ends",
            // In TLS 1.2 the code point names the hash and leaves the curve to the key (RFC 8422, section 5.4).
            signed(
                "ecdsa_secp256r1_sha256",
                "a key of id-ecPublicKey, P-384 that is certified with ecdsa-with-SHA256",
            ),
            signed("ecdsa_secp256r1_sha256", P256),
        ),
        (
            "TLS 1.2, a chain and a client by Ed25519",
            signed(
                "rsa_pss_rsae_sha256",
                "a key of rsaEncryption that is certified with ecdsa-with-SHA256",
            ),
            signed("ed25519", ED25519),
        ),
        (
            "TLS 1.1",
            format!("yes: TLS 1.1 has no post-quantum signature; it has {RSA}"),
            NONE.into(),
        ),
    ];
    let directory = tempfile::tempdir().unwrap();
    let document = inspect(&write(directory.path()));
    for (name, server, client) in expected {
        let port = handshakes()
            .situations
            .iter()
            .find(|one| one.name == name)
            .unwrap()
            .port;
        let client_port = format!(":{port}");
        let ours = connections(&document).iter();
        let mut ours = ours.filter(|one| one["client"].as_str().unwrap().ends_with(&client_port));
        let questions = &ours.next().expect("the connection")["questions"];
        let answer = |end: &str| {
            let answer = &questions[end];
            format!(
                "{}: {}",
                answer["answer"].as_str().unwrap(),
                answer["because"].as_str().unwrap()
            )
        };
        assert_eq!(answer("server_authenticated"), server, "{name}");
        assert_eq!(answer("client_authenticated"), client, "{name}");
    }
}
