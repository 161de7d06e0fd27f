//! `bartizan inspect` where a capture holds more than memory does, and where it comes packed.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use bartizan_lab::captures::{FlowKind, Flows};
use serde_json::Value;

fn bartizan(arguments: &[&str], capture: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bartizan"));
    command.args(arguments).arg(capture).output().expect("bartizan runs")
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{error}: {}", String::from_utf8_lossy(&output.stderr));
    })
}

const FLOWS: u32 = 10_000;

fn flows(folder: &Path) -> PathBuf {
    let path = folder.join("flows.pcap");
    let flows = Flows {
        count: FLOWS,
        kinds: vec![FlowKind::Tcp, FlowKind::Http2],
    };
    let mut file = BufWriter::new(File::create(&path).unwrap());
    flows.write(&mut file).unwrap();
    path
}

#[test]
fn connections_beyond_memory_are_counted_and_said_to_be_a_finding() {
    let folder = tempfile::tempdir().unwrap();
    let capture = flows(folder.path());
    // 16 MB, an eighth of it for segments out of order: 2 kB for each of 7000.
    let output = bartizan(&["inspect", "--json", "--memory", "16MB"], &capture);
    assert_eq!(output.status.code(), Some(1));
    let document = json(&output);
    let file = &document["files"][0];
    assert_eq!(file["summary"]["connections"], 7000);
    assert!(file["untracked"].as_u64().unwrap() >= u64::from(FLOWS - 7000));
    let findings = file["findings"].as_array().unwrap();
    let said = |finding: &&Value| {
        finding["because"]
            .as_str()
            .is_some_and(|because| because.contains("--memory"))
    };
    assert_eq!(findings.iter().filter(said).count(), 1, "{findings:?}");

    let table = bartizan(&["inspect", "--memory", "16MB"], &capture);
    assert_eq!(table.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&table.stdout).contains("--memory"));

    let output = bartizan(&["inspect", "--json", "--memory", "64MB"], &capture);
    let file = &json(&output)["files"][0];
    assert_eq!(
        (&file["summary"]["connections"], &file["untracked"]),
        (&Value::from(FLOWS), &Value::from(0))
    );
}

#[test]
fn connections_that_memory_does_not_allow_are_not_timed_in_silence() {
    let folder = tempfile::tempdir().unwrap();
    let capture = flows(folder.path());
    let output = bartizan(&["inspect", "--timing", "--json", "--memory", "16MB"], &capture);
    assert_eq!(output.status.code(), Some(1));
    assert!(json(&output)["files"][0]["untracked"].as_u64().unwrap() > 0);
    assert!(String::from_utf8_lossy(&output.stderr).contains("--memory"));
}

#[test]
fn a_packed_capture_is_timed_as_the_capture_is() {
    let plain = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/wire/tests/data/openssl-3.5.7.pcap");
    let folder = tempfile::tempdir().unwrap();
    let packed = folder.path().join("openssl.pcap.gz");
    let mut gzip = flate2::write::GzEncoder::new(File::create(&packed).unwrap(), flate2::Compression::fast());
    gzip.write_all(&std::fs::read(&plain).unwrap()).unwrap();
    gzip.finish().unwrap();
    let timed = |capture: &Path| {
        let output = bartizan(&["inspect", "--timing", "--json"], capture);
        assert_eq!(
            output.status.code(),
            Some(0),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let document = json(&output);
        (
            document["files"][0]["connections"].clone(),
            document["files"][0]["overview"].clone(),
        )
    };
    let (connections, overview) = timed(&plain);
    assert_eq!(connections.as_array().unwrap().len(), 16);
    assert_eq!(timed(&packed), (connections, overview));
}

#[test]
fn sizes_that_are_none_are_refused() {
    for size in ["much", "1MB", "-3GB"] {
        let output = bartizan(&["inspect", "--memory", size], Path::new("-"));
        assert_eq!(output.status.code(), Some(64), "{size}");
    }
}

#[test]
fn a_bench_of_the_inspector_gives_a_figure_of_every_reader() {
    let output = Command::new(env!("CARGO_BIN_EXE_bartizan"))
        .args([
            "bench",
            "inspect",
            "--what",
            "mixed,bulk,flows",
            "--size",
            "16MB",
            "--flows",
            "2000",
        ])
        .args(["--repetitions", "2", "--json"])
        .output()
        .expect("bartizan runs");
    // Whether targets are reached is not for a debug build to say.
    assert!(
        matches!(output.status.code(), Some(0 | 1)),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let document = json(&output);
    assert_eq!(document["schema"], "bartizan-bench-inspect/1");
    let trials = document["trials"].as_array().unwrap();
    let of = |subject: &str, reader: &str| {
        let of = |trial: &&Value| trial["subject"] == subject && trial["reader"] == reader;
        trials.iter().filter(of).count()
    };
    assert_eq!(
        [
            of("mixed", "ours"),
            of("mixed", "tshark"),
            of("bulk", "ours"),
            of("flows", "ours")
        ],
        [2; 4]
    );
    for trial in trials {
        assert!(trial["cost"]["wall_ns"].as_u64().unwrap() > 0);
        assert!(trial["cost"]["peak_bytes"].as_u64().unwrap() > 1 << 20);
    }
    let figures = document["figures"].as_array().unwrap();
    for figure in figures {
        assert!(figure["summary"]["n"].as_u64().unwrap() > 0, "{figure}");
    }
    let tshark = figures
        .iter()
        .filter(|figure| figure["what"] == "mixed, times as fast as tshark");
    assert_eq!(tshark.count(), 1);
}
