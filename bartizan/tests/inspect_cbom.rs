//! What `bartizan inspect --cbom` writes, against the published schema of CycloneDX 1.7.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use jsonschema::{Draft, Registry, Validator};
use serde_json::Value;

fn data() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../crates/wire/tests/data")
}

fn schema(name: &str) -> Value {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/cyclonedx-1.7");
    serde_json::from_slice(&fs::read(folder.join(name)).unwrap()).unwrap()
}

/// The published schema and those it refers to: nothing is fetched.
fn published() -> Validator {
    let others = ["cryptography-defs", "jsf-0.82", "spdx"].map(|name| schema(&format!("{name}.schema.json")));
    let mut registry = Registry::new();
    for other in others {
        let id = other["$id"].as_str().unwrap().to_owned();
        registry = registry.add(id, Draft::Draft7.create_resource(other)).unwrap();
    }
    let registry = registry.prepare().unwrap();
    jsonschema::options()
        .with_draft(Draft::Draft7)
        .with_registry(&registry)
        .should_validate_formats(true)
        .build(&schema("bom-1.7.schema.json"))
        .unwrap()
}

fn inspect(directory: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bartizan"))
        .arg("inspect")
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap()
}

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

fn assert_published(document: &Value) {
    let validator = published();
    let errors: Vec<String> = validator
        .iter_errors(document)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:#?}");
    let references = |list: &str, key: &str| -> BTreeSet<String> {
        let items = document[list].as_array().unwrap().iter();
        items.map(|item| item[key].as_str().unwrap().to_owned()).collect()
    };
    let mut known = references("components", "bom-ref");
    known.extend(references("services", "bom-ref"));
    for dependency in document["dependencies"].as_array().unwrap() {
        let on = dependency["dependsOn"].as_array().unwrap().iter();
        for reference in on.chain([&dependency["ref"]]) {
            assert!(known.contains(reference.as_str().unwrap()), "{reference} is nowhere");
        }
    }
}

fn component<'a>(document: &'a Value, reference: &str) -> &'a Value {
    let mut components = document["components"].as_array().unwrap().iter();
    let found = components.find(|component| component["bom-ref"] == reference);
    found.unwrap_or_else(|| panic!("{reference} is not in {document:#}"))
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
    ] {
        assert_published(&document(&[file], &[]));
    }
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
    let printed = Command::new("sha256sum")
        .arg(data().join("openssl-3.5.7.pcap"))
        .output()
        .unwrap();
    let printed = String::from_utf8(printed.stdout).unwrap();
    assert_eq!(file["hashes"][0]["content"].as_str(), printed.split(' ').next());
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
    let certificates = document["components"].as_array().unwrap().iter();
    let certificates = certificates.filter(|component| component["cryptoProperties"]["assetType"] == "certificate");
    let subjects: BTreeSet<&str> = certificates
        .filter_map(|certificate| certificate["name"].as_str())
        .collect();
    assert_eq!(
        subjects,
        BTreeSet::from(["O=Bartizan, CN=consumers", "O=Bartizan, CN=nrf"])
    );
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
fn a_network_in_clear_is_not_an_empty_document() {
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
    assert_eq!(of("bartizan:confidentiality"), Some(&"vulnerable".into()));
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
    // Of seven connections one agreed on nothing.
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
