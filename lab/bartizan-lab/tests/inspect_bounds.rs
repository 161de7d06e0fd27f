//! `bartizan inspect` where a capture holds more than memory does, and where it comes packed.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use bartizan_workbench::captures::{FlowKind, Flows};
use serde_json::Value;

/// The product's binary, next to the laboratory's.
fn product() -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_bartizan-lab")).with_file_name("bartizan")
}

fn bartizan(arguments: &[&str], capture: &Path) -> Output {
    let mut command = Command::new(product());
    command.env("COLUMNS", "400");
    command.args(arguments).arg(capture).output().expect("bartizan runs")
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{error}: {}", String::from_utf8_lossy(&output.stderr));
    })
}

const FLOWS: u32 = 20_000;

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
    let output = bartizan(&["inspect", "--json", "--memory", "16MB"], &capture);
    assert_eq!(output.status.code(), Some(1));
    let document = json(&output);
    let file = &document["files"][0];
    let connections = file["summary"]["connections"].as_u64().unwrap();
    assert!(connections > 1000 && connections < u64::from(FLOWS), "{connections}");
    let untracked = file["untracked"].as_u64().unwrap();
    assert!(untracked >= u64::from(FLOWS) - connections);
    let omitted = &file["omitted"][0];
    assert_eq!(omitted["what"], "of TCP connections");
    assert_eq!(omitted["count"], untracked);
    let from = omitted["first_packet"].as_u64().unwrap();
    let said = |what: &str| {
        let findings = file["findings"].as_array().unwrap().iter();
        let because = findings.filter_map(|finding| finding["because"].as_str());
        because.filter(|because| because.contains(what)).count()
    };
    assert_eq!(said(&format!("(`--memory`), from packet {from} on")), 1);

    let page = folder.path().join("page.html");
    let html = format!("--html={}", page.display());
    let table = bartizan(&["inspect", "--memory", "16MB", &html], &capture);
    assert_eq!(table.status.code(), Some(1));
    // Without a list of connections there is room for some more of them.
    let said = "of TCP connections beyond what memory has room for (`--memory`), from packet ";
    assert!(String::from_utf8_lossy(&table.stdout).contains(said));
    let marked = said.replacen('`', "<code>", 1).replacen('`', "</code>", 1);
    assert!(std::fs::read_to_string(&page).unwrap().contains(&marked));

    let output = bartizan(&["inspect", "--json", "--memory", "1GB"], &capture);
    let file = &json(&output)["files"][0];
    assert_eq!(
        (&file["summary"]["connections"], &file["untracked"], &file["omitted"]),
        (&Value::from(FLOWS), &Value::from(0), &Value::from(Vec::<Value>::new()))
    );
}

#[test]
fn hosts_whose_connections_found_no_room_have_a_link_that_is_not_seen() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("flows.pcap");
    // All of them are post-quantum TLS.
    let flows = Flows {
        count: 6000,
        kinds: vec![FlowKind::Tls],
    };
    let mut file = BufWriter::new(File::create(&path).unwrap());
    flows.write(&mut file).unwrap();
    drop(file);
    let output = bartizan(&["inspect", "--json", "--memory", "16MB"], &path);
    assert_eq!(output.status.code(), Some(1));
    let document = json(&output);
    let file = &document["files"][0];
    let from = file["omitted"][0]["first_packet"].as_u64().unwrap();
    let links = file["links"].as_array().unwrap();
    let of = |verdict: &str| {
        let judged = |link: &&Value| link["confidentiality"]["verdict"] == verdict;
        links.iter().filter(judged).collect::<Vec<_>>()
    };
    let (safe, unseen) = (of("quantum-safe"), of("not seen"));
    assert!(
        !safe.is_empty() && !unseen.is_empty(),
        "{} {}",
        safe.len(),
        unseen.len()
    );
    for link in &unseen {
        let because = link["confidentiality"]["because"].as_str().unwrap();
        assert!(because.contains("memory was full"), "{because}");
        assert_eq!(link["objections"][0]["concern"], "unproven");
    }
    // Marks of others may fall on a link's by chance.
    let before = |link: &&&Value| link["last_packet"].as_u64().unwrap() < from;
    assert!(unseen.iter().filter(before).count() <= safe.len() / 20);
    for link in &safe {
        assert!(link["last_packet"].as_u64().unwrap() < from, "{link}");
    }
}

/// The most bytes that were resident while it read so many flows of every kind.
fn peak(flows: u32, options: &[&str]) -> u64 {
    let output = Command::new(env!("CARGO_BIN_EXE_bartizan-lab"))
        .env("COLUMNS", "400")
        .args(["bench", "measured", "--kind=tls,http2,tcp,sctp,ike,esp"])
        .arg(format!("--flows={flows}"))
        .arg("--")
        .arg(product())
        .args(["inspect", "-"])
        .args(options)
        .output()
        .expect("bartizan runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let cost = json(&output);
    assert_eq!(cost["status"], 1);
    cost["peak_bytes"].as_u64().unwrap()
}

#[test]
fn a_process_grows_by_no_more_than_it_may_whatever_lives() {
    const MEMORY: u64 = 16_000_000;
    /// Besides what is counted: buffers of input and output, and the text of the report.
    const SLACK: u64 = 4_000_000;
    // 12 000 flows of six kinds take more than twice the ceiling.
    let most = MEMORY + SLACK;
    for options in [
        &["--memory=16MB"][..],
        &["--memory=16MB", "--json"],
        &["--memory=16MB", "--json", "--follow"],
    ] {
        let grown = peak(12_000, options) - peak(6, options);
        assert!(grown < most, "{grown} {options:?}");
        assert!(grown > MEMORY / 8, "{grown} {options:?}");
    }
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
    let plain = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/prove/wire/tests/data/openssl-3.5.7.pcap");
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
    let output = Command::new(env!("CARGO_BIN_EXE_bartizan-lab"))
        .env("COLUMNS", "400")
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
    // A debug build need not reach the targets.
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
