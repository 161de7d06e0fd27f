//! Connections held, a storm and bodies, small: every metric is there and says what it must.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Runs a part alone, twice where its factor has two levels, and gives the trials by their levels.
fn trials(part: &str) -> Vec<(BTreeMap<String, String>, Value)> {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("experiments/small");
    fs::create_dir_all(&place).unwrap();
    let text = format!("id: small\ntitle: small\nquestion: does it work?\ninvalid: [ nothing ]\nparts:\n{part}");
    fs::write(place.join("experiment.yaml"), text).unwrap();
    let results = folder.path().join("results");
    let output = Command::new(env!("CARGO_BIN_EXE_bartizan-lab"))
        .args(["run", "small", "--experiments"])
        .arg(folder.path().join("experiments"))
        .arg("--out")
        .arg(&results)
        .output()
        .unwrap();
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(output.status.code(), Some(0), "{said}");
    let lines = records(&results);
    let records: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let trials: Vec<_> = records
        .into_iter()
        .filter(|record| record["schema"] == "bartizan-lab-trial/1" && record["part"] == "small")
        .map(|record| {
            let levels = serde_json::from_value(record["levels"].clone()).unwrap();
            (levels, record)
        })
        .collect();
    assert!(!trials.is_empty(), "{said}");
    for (levels, outcome) in &trials {
        assert!(values(outcome).is_some(), "{levels:?}: {outcome}");
    }
    trials
}

/// All lines of all record files below a folder.
fn records(folder: &Path) -> String {
    let mut text = String::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            text += &records(&path);
        } else if path.extension().is_some_and(|extension| extension == "jsonl") {
            text += &fs::read_to_string(path).unwrap();
        }
    }
    text
}

/// The samples of a trial that was measured.
fn values(record: &Value) -> Option<&Value> {
    record.get("values")
}

fn only(outcome: &Value, metric: &str) -> f64 {
    let samples = values(outcome).unwrap()[metric]
        .as_array()
        .unwrap_or_else(|| panic!("{metric}: {outcome}"));
    assert_eq!(samples.len(), 1, "{metric}");
    samples[0].as_f64().unwrap()
}

#[test]
fn connections_are_held_and_each_costs_memory() {
    let trials = trials(
        "  - { id: small, workload: hold, factors: [ { name: path, levels: [splice, http2] }, { name: held, levels: [\"1\", \"60\"] } ],\n\
         \x20     parameters: { requests: 10, idle: 200 }, repetitions: 1, quick: { repetitions: 1 }, warm-up: 0, bound: 120,\n\
         \x20     metrics: [memory, memory-per-connection, latency, idle-cpu, handshakes] }\n",
    );
    assert_eq!(trials.len(), 4);
    for (levels, outcome) in &trials {
        assert_eq!(values(outcome).unwrap()["latency"].as_array().unwrap().len(), 10);
        assert!(only(outcome, "memory") > 1.0 && only(outcome, "handshakes") > 0.0);
        if levels["held"] == "60" {
            assert!(only(outcome, "memory-per-connection") > 1.0, "{outcome}");
        }
    }
}

#[test]
fn a_storm_is_served_and_sessions_are_resumed_where_the_sidecar_went_on() {
    let trials = trials(
        "  - { id: small, workload: storm, factors: [ { name: resumption, levels: [\"off\", \"on\"] }, { name: after, levels: [restart, cut] } ],\n\
         \x20     parameters: { peers: 30 }, repetitions: 1, quick: { repetitions: 1 }, warm-up: 0, bound: 120,\n\
         \x20     metrics: [all-served, served-after, handshakes, failures, resumed, memory-high-water, cpu] }\n",
    );
    assert_eq!(trials.len(), 4);
    for (levels, outcome) in &trials {
        assert_eq!(values(outcome).unwrap()["served-after"].as_array().unwrap().len(), 30);
        // A sidecar keeps sessions in its memory: those of the one before are gone with it.
        let expected = if levels["resumption"] == "on" && levels["after"] == "cut" {
            100.0
        } else {
            0.0
        };
        assert_eq!(only(outcome, "resumed"), expected, "{levels:?}");
    }
}

#[test]
fn bodies_pass_whole_on_every_path() {
    let trials = trials(
        "  - { id: small, workload: body, factors: [ { name: path, levels: [direct, splice, http2] }, { name: bytes, levels: [\"1024\", \"1048576\"] } ],\n\
         \x20     parameters: { requests: 8 }, repetitions: 1, quick: { repetitions: 1 }, warm-up: 0, bound: 120, metrics: [latency, throughput, cpu] }\n",
    );
    assert_eq!(trials.len(), 6);
    for (levels, outcome) in &trials {
        assert_eq!(values(outcome).unwrap()["latency"].as_array().unwrap().len(), 8);
        assert!(only(outcome, "throughput") > 0.0);
        assert_eq!(
            values(outcome).unwrap().get("cpu").is_some(),
            levels["path"] != "direct"
        );
    }
}
