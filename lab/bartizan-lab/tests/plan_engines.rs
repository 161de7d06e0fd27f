//! `bartizan plan engines`: costs and memory of engines come from records of the lab, those that are built in too.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

fn plan(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bartizan-lab"))
        .arg("plan")
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn experiments() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../experiments")
}

/// The files of records of an experiment; none where it was not measured yet.
fn records(experiment: &str) -> Vec<String> {
    let Ok(folder) = std::fs::read_dir(experiments().join(experiment).join("records")) else {
        return Vec::new();
    };
    let mut files: Vec<_> = folder
        .map(|file| file.unwrap().path().to_str().unwrap().to_owned())
        .filter(|name| name.ends_with(".jsonl.gz"))
        .collect();
    files.sort();
    files
}

/// A trial of sa-memory as the lab writes it.
fn trial(run: &str, key_exchange: &str, twin: bool, values: &Value) -> String {
    let record = json!({
        "schema": "bartizan-lab-trial/1", "experiment": "sa-memory", "digest": "d", "run": run, "part": "kept", "trial": 0, "repetition": 0, "position": 0,
        "levels": { "key-exchange": key_exchange, "authentication": "ecdsa-p256" }, "twin": twin, "began": "2026-11-25T00:00:00Z", "elapsed_ms": 1.5,
        "seed": 2, "quick": false, "cores": [0], "load": 0.5,
        "environment": { "version": "0", "kernel": "6", "kernel_kind": "host", "processor": "x", "processors": [0], "priority": "", "autogroup": null,
            "namespace": "own", "programs": ["strongSwan 6.1.0"] },
        "outcome": "measured", "values": values, "facts": { "esp": "kernel" }
    });
    record.to_string() + "\n"
}

#[test]
fn what_is_built_in_is_what_the_committed_records_give() {
    let built_in = experiments().join("crypto-cost/engines.json");
    let files: Vec<String> = ["sa-setup", "sa-memory", "peers", "scale"]
        .into_iter()
        .flat_map(records)
        .collect();
    let arguments: Vec<&str> = ["engines", "--json"]
        .into_iter()
        .chain(files.iter().map(String::as_str))
        .collect();
    let collected = plan(&experiments(), &arguments);
    assert_eq!(collected.status.code(), Some(0), "{}", text(&collected.stderr));
    if std::env::var_os("UPDATE_ENGINES").is_some() {
        std::fs::write(&built_in, &collected.stdout).unwrap();
    }
    assert_eq!(
        text(&collected.stdout),
        std::fs::read_to_string(&built_in).unwrap(),
        "records changed: UPDATE_ENGINES=1 cargo test -p bartizan --test plan_engines, and look at docs/plan-storms.md"
    );
}

#[test]
fn memory_of_sas_is_that_of_the_newest_record_and_capacity_multiplies_it_by_its_sites() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let mut lines = String::new();
    // An older run of the same, which does not count.
    lines += &trial(
        "2026-11-01T000000Z",
        "x25519",
        false,
        &json!({ "responder-per-sa": [999.0] }),
    );
    for (process, kernel) in [(19.0, 3.0), (21.0, 5.0), (20.0, 4.0)] {
        let values = json!({ "idle": [7.0], "initiator-per-sa": [18.0], "responder-per-sa": [process], "kernel-per-sa": [kernel] });
        lines += &trial("2026-11-25T000000Z", "x25519", false, &values);
    }
    // A twin says what two of the same differ by, and is none of the trials.
    lines += &trial(
        "2026-11-25T000000Z",
        "x25519",
        true,
        &json!({ "responder-per-sa": [500.0], "kernel-per-sa": [500.0] }),
    );
    // A charon that does ESP itself has no kernel's part.
    lines += &trial(
        "2026-11-25T000000Z",
        "x25519-ke1_mlkem768",
        false,
        &json!({ "responder-per-sa": [30.5] }),
    );
    std::fs::write(folder.join("memory.jsonl"), lines).unwrap();
    let set_ups = records("sa-setup").pop().unwrap();
    let collected = plan(folder, &["engines", &set_ups, "memory.jsonl", "--file", "engines.json"]);
    assert_eq!(collected.status.code(), Some(0), "{}", text(&collected.stderr));
    let said = text(&collected.stdout);
    assert!(
        said.contains("experiments/sa-memory, run 2026-11-25T000000Z, part kept"),
        "{said}"
    );
    let engines: Value = serde_json::from_slice(&std::fs::read(folder.join("engines.json")).unwrap()).unwrap();
    let memory = engines["engines"][0]["memory"].as_array().unwrap();
    assert_eq!(memory.len(), 2, "{memory:?}");
    assert_eq!(
        (&memory[0]["n"], &memory[0]["process_bytes"], &memory[0]["kernel_bytes"]),
        (&json!(3), &json!(20_000), &json!(4_000))
    );
    assert_eq!(
        (&memory[1]["process_bytes"], &memory[1]["kernel_bytes"]),
        (&json!(30_500), &Value::Null)
    );

    let capacity = plan(
        folder,
        &[
            "capacity",
            "--sites",
            "1000",
            "--gateways",
            "4",
            "--engine-cost",
            "engines.json",
            "--suite",
            "x25519/ecdsa-p256,x25519-ke1_mlkem768/ml-dsa-65,x25519-ke1_mlkem1024/ecdsa-p256",
            "--json",
        ],
    );
    assert_eq!(capacity.status.code(), Some(0), "{}", text(&capacity.stderr));
    let report: Value = serde_json::from_slice(&capacity.stdout).unwrap();
    assert_eq!(report["memory"], json!([]));
    let rows = report["rows"].as_array().unwrap();
    let bytes: Vec<_> = rows.iter().map(|row| row["memory_bytes"].as_u64().unwrap()).collect();
    // 250 sites of a gateway; of a key exchange that was not measured the most of those that were.
    assert_eq!(bytes, [24_000 * 250, 30_500 * 250, 30_500 * 250]);
    let sources = |row: &Value| row["sources"].to_string();
    assert!(
        sources(&rows[0]).contains("20000 of the process, 4000 of the kernel"),
        "{}",
        rows[0]
    );
    assert!(
        sources(&rows[1]).contains("with ecdsa-p256, taken for ml-dsa-65 too"),
        "{}",
        rows[1]
    );
    assert!(sources(&rows[2]).contains("the most of those measured"), "{}", rows[2]);
}

#[test]
fn without_a_record_no_memory_is_given_and_the_answer_says_what_would_do() {
    let place = tempfile::tempdir().unwrap();
    let set_ups = records("sa-setup").pop().unwrap();
    let collected = plan(place.path(), &["engines", &set_ups, "--file", "engines.json"]);
    assert!(text(&collected.stdout).contains("memory of an SA: in none of these records"));
    let arguments = [
        "capacity",
        "--engine-cost",
        "engines.json",
        "--suite",
        "x25519/ecdsa-p256",
    ];
    let said = text(&plan(place.path(), &arguments).stdout);
    assert!(
        said.contains("no record")
            && said.contains("bartizan lab run sa-memory")
            && said.contains("Otero-García et al. 2025, section VI"),
        "{said}"
    );
}

#[test]
fn set_ups_and_primitives_of_two_processors_are_named_and_those_of_one_are_not() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let read = |name: &str| -> Value {
        let text = std::fs::read_to_string(experiments().join("crypto-cost").join(name)).unwrap();
        serde_json::from_str(&text).unwrap()
    };
    let mut engines = read("engines.json");
    let primitives = read("record.json")["conditions"]["processor"].clone();
    for (processor, is_named) in [(json!("another processor"), true), (primitives, false)] {
        engines["engines"][0]["processor"] = processor;
        std::fs::write(folder.join("engines.json"), engines.to_string()).unwrap();
        let arguments = [
            "capacity",
            "--engine-cost",
            "engines.json",
            "--suite",
            "x25519/ecdsa-p256",
        ];
        let output = plan(folder, &arguments);
        let said = text(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{said}{}", text(&output.stderr));
        let caution = "set-ups were measured on another processor, primitives on";
        assert_eq!(said.contains(caution), is_named, "{said}");
    }
}

#[test]
fn records_without_set_ups_and_files_that_are_none_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    std::fs::write(
        folder.join("engines.json"),
        r#"{"schema":"bartizan-engine-cost/1","engines":[]}"#,
    )
    .unwrap();
    let of_sizes = records("e2-sizes").pop().unwrap();
    for (arguments, expected) in [
        (
            &["engines", &of_sizes][..],
            "no set-up of an engine is in these records",
        ),
        (&["engines", "nowhere.jsonl"], "nowhere.jsonl: No such file"),
        (
            &["capacity", "--engine-cost", "engines.json"],
            "schema bartizan-engine-cost/1: this reads bartizan-engine-cost/2",
        ),
    ] {
        let output = plan(folder, arguments);
        assert_eq!(output.status.code(), Some(64), "{arguments:?}");
        assert!(
            text(&output.stderr).contains(expected),
            "{arguments:?}: {}",
            text(&output.stderr)
        );
    }
}
