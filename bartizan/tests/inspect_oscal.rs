//! Findings as assessment results of OSCAL: what its model demands of every document, and that
//! nothing of the report is missing.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

const CAPTURES: [&str; 3] = [
    "openssl-3.5.7.pcap",
    "n2-free5gc-two-registrations.pcap",
    "strongswan-6.1.0.pcap",
];

fn inspect(arguments: &[&str]) -> Vec<u8> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bartizan"));
    command.arg("inspect").args(arguments);
    command.current_dir(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../crates/prove/wire/tests/data"));
    let output = command.output().unwrap();
    assert_eq!(
        output.status.code(),
        Some(1),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

fn list<'a>(of: &'a Value, field: &str) -> &'a [Value] {
    let list = of[field].as_array().expect(field);
    assert!(!list.is_empty(), "{field}: the model has no empty lists");
    list
}

/// All values of fields of this name, wherever they are.
fn all<'a>(of: &'a Value, name: &str, into: &mut Vec<&'a str>) {
    match of {
        Value::Array(each) => each.iter().for_each(|one| all(one, name, into)),
        Value::Object(fields) => {
            for (field, value) in fields {
                if field == name {
                    into.push(value.as_str().unwrap());
                }
                all(value, name, into);
            }
        }
        _ => {}
    }
}

/// A capture of one packet whose IPv4 is malformed: what no conversation has is a finding without an example.
fn malformed() -> Vec<u8> {
    let mut capture = 0xa1b2_c3d4_u32.to_le_bytes().to_vec();
    capture.extend([2, 0, 4, 0]);
    for field in [0, 0, 65_535, 1, 0, 0, 18, 18] {
        capture.extend(u32::to_le_bytes(field));
    }
    capture.extend([2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0, 0, 20]);
    capture
}

#[test]
fn evidence_has_a_description_also_where_a_finding_has_no_example() {
    let scratch = tempfile::tempdir().unwrap();
    let [capture, out] = ["malformed.pcap", "results.json"].map(|name| scratch.path().join(name));
    std::fs::write(&capture, malformed()).unwrap();
    let asked = ["--json", capture.to_str().unwrap(), "--oscal", out.to_str().unwrap()];
    let report: Value = serde_json::from_slice(&inspect(&asked)).unwrap();
    assert_eq!(list(&report["files"][0], "findings")[0]["example"], Value::Null);
    let document: Value = serde_json::from_str(&std::fs::read_to_string(&out).unwrap()).unwrap();
    let observations = list(&document["assessment-results"]["results"][0], "observations");
    for observation in observations {
        for evidence in list(observation, "relevant-evidence") {
            assert!(evidence["description"].is_string(), "{evidence}");
        }
    }
}

#[test]
fn every_finding_is_an_observation_with_its_evidence_a_risk_with_its_remedy_and_speaks_against_a_control() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("results.json");
    let report: Value = serde_json::from_slice(&inspect(
        &[&["--json", "--oscal", out.to_str().unwrap()], &CAPTURES[..]].concat(),
    ))
    .unwrap();
    let document: Value = serde_json::from_str(&std::fs::read_to_string(&out).unwrap()).unwrap();
    let results = &document["assessment-results"];
    assert_eq!(results["metadata"]["oscal-version"], "1.1.3");

    let mut uuids = Vec::new();
    all(results, "uuid", &mut uuids);
    assert_eq!(uuids.iter().collect::<BTreeSet<_>>().len(), uuids.len(), "each once");
    let mut references = Vec::new();
    all(results, "href", &mut references);
    for reference in references.iter().filter_map(|reference| reference.strip_prefix('#')) {
        assert!(uuids.contains(&reference), "{reference}");
    }

    let files = report["files"].as_array().unwrap();
    for (result, file) in list(results, "results").iter().zip(files) {
        assert_eq!(result["title"], file["file"]);
        let found = list(file, "findings");
        let (observations, risks) = (list(result, "observations"), list(result, "risks"));
        assert_eq!((observations.len(), risks.len()), (found.len(), found.len()));
        let findings = list(result, "findings");
        for ((finding, observation), risk) in found.iter().zip(observations).zip(risks) {
            let because = finding["because"].as_str().unwrap();
            assert!(observation["description"].as_str().unwrap().contains(because));
            assert_eq!(risk["statement"], because);
            let remedies = list(risk, "remediations");
            assert_eq!(remedies[0]["title"], finding["remedy"]);
            if let Some(command) = finding["command"].as_str() {
                assert!(remedies[0]["description"].as_str().unwrap().contains(command));
            }
            assert_eq!(list(risk, "props")[0]["value"], finding["severity"]);
            let against = findings.iter().filter(|finding| {
                let mut related = Vec::new();
                all(finding, "observation-uuid", &mut related);
                related.contains(&observation["uuid"].as_str().unwrap())
            });
            assert!(against.count() > 0, "{observation}");
        }
        for finding in findings {
            assert_eq!(finding["target"]["status"]["state"], "not-satisfied");
        }
    }
    let resources = list(&results["back-matter"], "resources");
    assert_eq!(resources.len(), 1 + CAPTURES.len());
    for capture in &resources[1..] {
        let hash = capture["rlinks"][0]["hashes"][0]["value"].as_str().unwrap();
        assert_eq!(hash.len(), 64, "{capture}");
    }
}
