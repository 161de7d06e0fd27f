//! Output of `bartizan inspect --cbom`, against the published schema of CycloneDX 1.7.

mod cyclonedx;
mod inspect_stage;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use cyclonedx::{assert_published, assets, component, places, published};
use inspect_stage::{data, inspect};

/// The document made from these files, read with these ledgers.
fn document(files: &[&str], ledgers: &[&str]) -> Value {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("cbom.json");
    let mut arguments = files.to_vec();
    arguments.extend(["--cbom", out.to_str().unwrap()]);
    ledgers.iter().for_each(|ledger| arguments.extend(["--ledger", ledger]));
    let output = inspect(&data(), &arguments);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    serde_json::from_slice(&fs::read(out).unwrap()).unwrap()
}

#[test]
fn every_capture_in_the_tree_makes_a_document_that_meets_the_published_schema() {
    for file in [
        "openssl-3.5.7.pcap",
        "strongswan-6.1.0.pcap",
        "sbi-free5gc-two-registrations.pcap",
        "n2-free5gc-two-registrations.pcap",
        "e2-flexric-kpm.pcap",
        "openssh-10.0.pcap",
        "dtls-1.2-in-sctp.pcap",
    ] {
        assert_published(&document(&[file], &[]));
    }
}

#[test]
fn version_1_6_has_no_field_that_is_newer() {
    fn fields(value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(object) => object.iter().for_each(|(name, value)| {
                assert_ne!(*value, Value::Null, "{name}");
                found.insert(name.clone());
                fields(value, found);
            }),
            Value::Array(list) => list.iter().for_each(|value| fields(value, found)),
            _ => {}
        }
    }
    let newer = [
        "algorithmFamily",
        "ellipticCurve",
        "tlsGroups",
        "tlsSignatureSchemes",
        "relatedCryptographicAssets",
        "fingerprint",
    ];
    let mut found = BTreeSet::new();
    for file in ["openssl-3.5.7.pcap", "strongswan-6.1.0.pcap", "dtls-1.2-in-sctp.pcap"] {
        let document = document(&[file, "--cbom-version", "1.6"], &[]);
        assert_eq!(document["specVersion"], "1.6");
        fields(&document, &mut found);
    }
    assert!(newer.iter().all(|field| !found.contains(*field)), "{found:?}");
    assert!(
        ["curve", "oid", "signatureAlgorithmRef"]
            .iter()
            .all(|field| found.contains(*field))
    );
}

#[test]
fn the_schema_refuses_what_it_does_not_know() {
    let mut wrong = document(&["openssl-3.5.7.pcap"], &[]);
    wrong["components"][1]["cryptoProperties"]["algorithmProperties"]["primitive"] = "magic".into();
    assert!(!published().is_valid(&wrong));
}

#[test]
fn a_hybrid_handshake_names_its_group_suite_level_packets_and_capture() {
    let document = document(&["openssl-3.5.7.pcap"], &[]);
    let group = component(&document, "algorithm/tls-group/0x11ec");
    let properties = &group["cryptoProperties"]["algorithmProperties"];
    assert_eq!(
        (&properties["primitive"], &properties["nistQuantumSecurityLevel"]),
        (&"combiner".into(), &3.into())
    );
    let place = &group["evidence"]["occurrences"][0];
    assert_eq!(place["location"], "openssl-3.5.7.pcap");
    assert_eq!(
        place["additionalContext"],
        "packet 6: 127.0.0.1:54070 -> 127.0.0.1:4401"
    );
    let protocol = component(&document, "protocol/tls/0x0304/0x1302/0x11ec/-/-");
    let suite = &protocol["cryptoProperties"]["protocolProperties"]["cipherSuites"][0];
    assert_eq!(suite["tlsGroups"][0], "X25519MLKEM768");
    assert_eq!(suite["identifiers"], serde_json::json!(["0x13", "0x02"]));
    let file = component(&document, "capture/1");
    assert_eq!(
        file["hashes"][0]["content"],
        sha256sum(&data().join("openssl-3.5.7.pcap"))
    );
}

fn sha256sum(file: &Path) -> String {
    let printed = Command::new("sha256sum").arg(file).output().unwrap();
    let printed = String::from_utf8(printed.stdout).unwrap();
    printed.split(' ').next().unwrap().to_owned()
}

#[test]
fn trees_that_differ_only_in_key_exchange_make_different_documents() {
    let document = document(&["strongswan-6.1.0.pcap"], &[]);
    let protocols: Vec<&Value> = document["components"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|component| component["cryptoProperties"]["protocolProperties"]["type"] == "ike")
        .collect();
    let groups: BTreeSet<String> = protocols
        .iter()
        .map(|protocol| {
            let ke = protocol["cryptoProperties"]["protocolProperties"]["ikev2TransformTypes"]["ke"].as_array();
            let ke = ke.unwrap().iter().map(|method| method["group"].to_string());
            ke.collect::<Vec<_>>().join("+")
        })
        .collect();
    let expected = ["31", "31+36", "31+36+35", "36", "37"].map(str::to_owned);
    assert_eq!(groups, BTreeSet::from(expected));
}

#[test]
fn ledgers_supply_certificates_and_signature_schemes_and_are_named_as_their_source() {
    let document = document(
        &["sidecar-hybrid.pcap"],
        &["sidecar-hybrid.nrf.jsonl", "sidecar-hybrid.consumers.jsonl"],
    );
    assert_published(&document);
    let scheme = component(&document, "algorithm/tls-signature/0x0905");
    assert_eq!(
        scheme["cryptoProperties"]["algorithmProperties"]["nistQuantumSecurityLevel"],
        3
    );
    let places = scheme["evidence"]["occurrences"].as_array().unwrap();
    assert!(!places.is_empty());
    assert!(
        places
            .iter()
            .all(|place| place["location"].as_str().unwrap().starts_with("ledger of ")),
        "{places:#?}"
    );
    let subjects: BTreeSet<&str> = assets(&document, "certificate")
        .filter_map(|certificate| certificate["name"].as_str())
        .collect();
    assert_eq!(
        subjects,
        BTreeSet::from(["O=Bartizan, CN=consumers", "O=Bartizan, CN=nrf"])
    );
}

#[test]
fn certificates_in_plaintext_are_listed_with_the_packets_that_carried_them() {
    for (file, expected) in [
        // One certificate, which both ends of a connection show, and the server of another.
        ("openssl-3.5.7.pcap", vec!["CN=nrf.5gc"]),
        (
            "dtls-1.2-in-sctp.pcap",
            vec![
                "CN=chain.test",
                "CN=ed25519.test",
                "CN=p256.test",
                "CN=p384.test",
                "CN=rsa.test",
            ],
        ),
    ] {
        let document = document(&[file], &[]);
        assert_published(&document);
        let mut names: Vec<&str> = Vec::new();
        for certificate in assets(&document, "certificate") {
            names.push(certificate["name"].as_str().unwrap());
            let places = certificate["evidence"]["occurrences"].as_array().unwrap();
            assert!(!places.is_empty());
            assert!(
                places.iter().all(|place| place["location"] == file),
                "{file}: {places:#?}"
            );
        }
        names.sort_unstable();
        assert_eq!(names, expected, "{file}");
    }
    let document = document(&["dtls-1.2-in-sctp.pcap"], &[]);
    let key = component(&document, "algorithm/x509/id-Ed25519");
    assert_eq!(
        key["cryptoProperties"]["algorithmProperties"]["nistQuantumSecurityLevel"],
        0
    );
}

/// Records of the IKE_SA that a rekey made in situation 3, whose choice is encrypted, and of the CHILD_SA under it.
fn ledger_of_situation_3() -> String {
    let output = inspect(&data(), &["--json", "strongswan-6.1.0.pcap"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let connections = report["files"][0]["connections"].as_array().unwrap();
    let of = |member: &str, client: &str| -> Vec<&Value> {
        let here = connections
            .iter()
            .filter(|one| one["client"].as_str().unwrap().starts_with(client));
        here.map(|one| &one[member]).filter(|of| of.is_object()).collect()
    };
    let rekeyed = *of("ike", "10.77.3.1:").last().unwrap();
    assert!(rekeyed["chosen"].is_null(), "{rekeyed}");
    let key = json!({
        "protocol": "ike",
        "initiator_spi": rekeyed["initiator_spi"],
        "responder_spi": rekeyed["responder_spi"],
    });
    let spi = |client: &str| of("esp", client)[0]["spi"].clone();
    let exchanges = json!([{ "code": 31, "name": "CURVE_25519" }, { "code": 36, "name": "ML_KEM_768" }]);
    let cipher = json!({ "code": 20, "name": "AES_GCM_16", "bits": 256 });
    let accepted = json!({ "verdict": "accepted" });
    let ike = json!({
        "v": 1, "at_us": 1_795_252_095_000_000u64, "node": "cu", "event": "ike-sa", "key": key, "replaces": null, "cause": "rekey",
        "connection": "ric", "interfaces": ["E2"], "direction": "outbound", "peer": "ric", "peer_identity": "ric",
        "local_address": "10.77.3.1:500", "peer_address": "10.77.3.2:500", "key_exchanges": exchanges, "ppk": false,
        "encryption": cipher, "integrity": null, "prf": { "code": 6, "name": "PRF_HMAC_SHA2_384" },
        "authentication": { "local": "ED25519", "peer": "ECDSA_WITH_SHA256_DER", "forgery": "possible-later" },
        "messages": null, "established_s": 0, "set_up_us": null, "verdict": accepted,
    });
    let child = json!({
        "v": 1, "at_us": 1_795_252_096_000_000u64, "node": "cu", "event": "child-sa", "key": key, "spi_in": spi("10.77.3.2:"),
        "spi_out": spi("10.77.3.1:"), "cause": "rekey", "replaces": null, "connection": "ric", "child": "e2", "interface": "E2",
        "peer": "ric", "mode": "TUNNEL", "udp": true, "extended_sequence_numbers": false, "key_exchanges": exchanges,
        "encryption": cipher, "integrity": null, "local": [], "remote": [], "installed_s": 0, "verdict": accepted,
    });
    format!("{ike}\n{child}\n")
}

#[test]
fn what_ledgers_say_of_ike_and_esp_is_listed_as_their_word_with_their_hashes() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("cu.jsonl");
    fs::write(&file, ledger_of_situation_3()).unwrap();
    let name = file.to_str().unwrap();
    let informed = document(&["strongswan-6.1.0.pcap"], &[name]);
    assert_published(&informed);
    let ledger = component(&informed, "ledger/1");
    assert_eq!(
        (ledger["type"].as_str(), ledger["name"].as_str()),
        (Some("file"), Some(name))
    );
    assert_eq!(ledger["hashes"][0]["content"], sha256sum(&file));
    assert_eq!(
        ledger["properties"],
        json!([{ "name": "bartizan:records", "value": "2" }, { "name": "bartizan:ledger-of", "value": "cu" }])
    );
    let place = |protocol: &Value| -> Vec<String> {
        let of_ledger = places(protocol)
            .into_iter()
            .filter(|(location, _)| location.starts_with("ledger"));
        of_ledger
            .map(|(location, detail)| format!("{location}, {detail}"))
            .collect()
    };
    let ike = "protocol/ike/2.0/ENCR_AES_GCM_16-256/PRF_HMAC_SHA2_384/Curve25519/ke1_ml-kem-768/ECDSA_WITH_SHA256_DER";
    let by_ledger = component(&informed, ike);
    let reported = place(by_ledger);
    let at = "record of 2026-11-21T09:08:15Z";
    assert!(
        reported[0].starts_with(&format!("ledger of cu ({name}), {at}: 10.77.3.1:")),
        "{reported:?}"
    );
    let types = &by_ledger["cryptoProperties"]["protocolProperties"]["ikev2TransformTypes"];
    assert_eq!(types["ke"][1]["group"], 36);
    assert_eq!(types["auth"][0]["name"], "ECDSA_WITH_SHA256_DER");
    let esp = component(
        &informed,
        "protocol/ipsec/esp/ENCR_AES_GCM_16-256/Curve25519/32-bit Sequential Numbers/ke1_ml-kem-768",
    );
    assert_eq!(place(esp).len(), 2, "both directions: {esp:#}");
    // Without a ledger it is unknown.
    let alone = document(&["strongswan-6.1.0.pcap"], &[]);
    let all: Vec<&str> = assets(&alone, "protocol")
        .filter_map(|one| one["bom-ref"].as_str())
        .collect();
    assert!(all.contains(&"protocol/ipsec/esp") && !all.contains(&ike), "{all:?}");
}

#[test]
fn the_same_captures_make_the_same_document_and_other_ones_another_serial_number() {
    let one = document(&["openssl-3.5.7.pcap", "e2-flexric-kpm.pcap"], &[]);
    let again = document(&["openssl-3.5.7.pcap", "e2-flexric-kpm.pcap"], &[]);
    assert_eq!(one, again);
    assert_published(&one);
    assert_ne!(
        one["serialNumber"],
        document(&["openssl-3.5.7.pcap"], &[])["serialNumber"]
    );
}

#[test]
fn a_network_in_plaintext_is_not_an_empty_document() {
    let document = document(&["e2-flexric-kpm.pcap"], &[]);
    let service = &document["services"][0];
    let properties = service["properties"].as_array().unwrap();
    let of = |name: &str| {
        properties
            .iter()
            .find(|property| property["name"] == name)
            .map(|property| &property["value"])
    };
    assert_eq!(of("bartizan:interface"), Some(&"E2".into()));
    assert_eq!(of("bartizan:confidentiality"), Some(&"readable now".into()));
    assert_eq!(service["authenticated"], false);
}

#[test]
fn a_folder_that_is_not_there_is_a_failure_with_a_hint() {
    let output = inspect(&data(), &["e2-flexric-kpm.pcap", "--cbom", "nowhere/cbom.json"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("hint: "), "{output:?}");
}

#[test]
fn ssh_is_listed_by_what_was_agreed_on_and_signed_with() {
    let document = document(&["openssh-10.0.pcap"], &[]);
    let components = document["components"].as_array().unwrap();
    let properties = |component: &Value| component["cryptoProperties"].clone();
    let of_ssh: Vec<&str> = components
        .iter()
        .filter(|component| properties(component)["protocolProperties"]["type"] == "ssh")
        .map(|component| component["name"].as_str().unwrap())
        .collect();
    // One of seven connections agreed on nothing.
    assert_eq!(of_ssh.len(), 6);
    assert!(of_ssh.contains(&"SSH 2.0, mlkem768x25519-sha256, ssh-ed25519"));
    let level = |name: &str| {
        let component = components.iter().find(|component| component["name"] == name).unwrap();
        properties(component)["algorithmProperties"]["nistQuantumSecurityLevel"].clone()
    };
    assert_eq!(level("mlkem768x25519-sha256"), 3);
    assert!(level("sntrup761x25519-sha512").is_null(), "NIST did not choose it");
    assert_eq!(level("curve25519-sha256"), 0);
    assert_eq!(level("rsa-sha2-512"), 0);
}
