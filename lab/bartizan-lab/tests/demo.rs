//! The demo, run as its user runs it: what it shows is true, and it leaves nothing behind.

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use bartizan_testing::lab_root;
use serde_json::Value;

/// The demo ends in under two minutes on an idle machine; a busy one gets more.
const PATIENCE: Duration = Duration::from_secs(300);

/// User and group id 65534 of Debian, without rights.
const NOBODY: u32 = 65_534;

fn demo() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bartizan-lab"));
    command.arg("demo").stdin(Stdio::null());
    command
}

/// Namespaces and processes that carry this id, as the host crate names and marks them.
fn left_by(demo: u32) -> Vec<String> {
    let namespaces = std::fs::read_dir("/run/netns").into_iter().flatten().flatten();
    let names = namespaces.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut left: Vec<String> = names.filter(|name| name.starts_with(&format!("btz-{demo}-"))).collect();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let status = std::fs::read_to_string(entry.path().join("status")).unwrap_or_default();
        if status.lines().any(|line| line == format!("PPid:\t{demo}")) {
            left.push(format!("process {}", entry.file_name().to_string_lossy()));
        }
    }
    left
}

fn run<'a>(report: &'a Value, case: &str) -> &'a Value {
    let runs = report["runs"].as_array().expect("runs");
    runs.iter()
        .find(|run| run["case"] == case)
        .unwrap_or_else(|| panic!("no run {case}"))
}

/// The only verdict of a run, in one of its columns.
fn verdict<'a>(run: &'a Value, column: &str) -> &'a str {
    let all = run["eavesdropper"][column].as_array().expect("verdicts");
    assert!(!all.is_empty() && all.iter().all(|one| one[0] == all[0][0]), "{all:?}");
    all[0][0].as_str().expect("a word")
}

/// By tshark 4.4 of the lab root, over both cables of the consumer: packets and bytes of network
/// functions in plaintext, and the groups that servers chose.
fn on_the_cables(folder: &Path, case: &str) -> (u64, u64, Vec<String>) {
    let root = lab_root();
    let fields = |filter: &str, field: &str| {
        let mut all = Vec::new();
        for cable in ["to-nrf", "to-udm"] {
            let tshark = root.command("tshark").expect("tshark in the lab root");
            let output = tshark
                .arguments([
                    "-n",
                    "-d",
                    "tcp.port==7443,tls",
                    "-T",
                    "fields",
                    "-e",
                    field,
                    "-Y",
                    filter,
                    "-r",
                ])
                .argument(folder.join(format!("{case}.{cable}.pcap")))
                .run(PATIENCE)
                .unwrap_or_else(|error| panic!("{error}"));
            all.extend(output.text().lines().map(str::to_owned));
        }
        all
    };
    let lengths = fields("tcp.port == 8000", "tcp.len");
    let bytes = lengths
        .iter()
        .map(|length| length.parse::<u64>().expect("a length"))
        .sum();
    let groups = fields("tls.handshake.type == 2", "tls.handshake.extensions_key_share_group");
    (lengths.len() as u64, bytes, groups)
}

/// The product's binary, next to the laboratory's.
fn product() -> std::path::PathBuf {
    Path::new(env!("CARGO_BIN_EXE_bartizan-lab")).with_file_name("bartizan")
}

/// The capture of a run between sidecars, read by `bartizan inspect`: with the ledgers no value is
/// unknown.
fn proved_by_packets_and_ledgers(run: &Path) {
    let inspect = |ledgers: &[String]| -> Value {
        let mut command = Command::new(product());
        command.args(["inspect", "--json"]).arg(run.join("link.pcap"));
        for ledger in ledgers {
            command.arg("--ledger").arg(run.join(ledger));
        }
        let output = command.output().expect("it runs");
        let words = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{words}");
        serde_json::from_slice::<Value>(&output.stdout).expect("JSON")["files"][0]["summary"].clone()
    };
    let mut ledgers = files(run);
    ledgers.retain(|name| name.ends_with(".ledger.jsonl"));
    let (alone, joined) = (inspect(&[]), inspect(&ledgers));
    let all = &joined["connections"];
    assert!(all.as_u64() > Some(0) && ledgers.len() > 1, "{all} {ledgers:?}");
    // One that was kept ready and never used looks like a refused one, without ledgers.
    let count = |verdicts: &Value, verdict: &str| verdicts[verdict].as_u64().unwrap_or(0);
    for (question, verdict) in [("authenticity", "not_observable"), ("confidentiality", "quantum_safe")] {
        let verdicts = &alone[question];
        assert!(count(verdicts, verdict) > 0, "{alone:#}");
        assert_eq!(
            Some(count(verdicts, verdict) + count(verdicts, "not_seen")),
            all.as_u64(),
            "{alone:#}"
        );
    }
    for known in [
        &alone["connections"],
        &joined["confidentiality"]["quantum_safe"],
        &joined["authenticity"]["quantum_safe"],
        &joined["in_ledger"],
    ] {
        assert_eq!(known, all, "{}: {joined:#}", run.display());
    }
}

#[test]
fn without_root_the_demo_does_what_it_can_and_says_what_it_left_out() {
    let folder = tempfile::tempdir().expect("a folder");
    // If only root may enter the build's folder, the program must be elsewhere.
    let program = folder.path().join("bartizan-lab");
    bartizan_testing::copy_program(env!("CARGO_BIN_EXE_bartizan-lab"), &program);
    bartizan_testing::copy_program(product(), folder.path().join("bartizan"));
    let everyone = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(folder.path(), everyone).expect("open to everyone");
    let mut command = Command::new(program);
    command
        .args(["demo", "--json"])
        .env("TMPDIR", folder.path())
        .env("HOME", folder.path());
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if nix::unistd::geteuid().is_root() {
        std::os::unix::process::CommandExt::gid(&mut command, NOBODY);
        std::os::unix::process::CommandExt::uid(&mut command, NOBODY);
    }
    let child = command.spawn().expect("the demo starts");
    let id = child.id();
    let output = child.wait_with_output().expect("the demo ends");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}");
    assert!(
        words.contains("left out: ") && words.contains("as root it is shown"),
        "{words}"
    );
    assert!(
        words.contains("left out: the transparent way: it needs root"),
        "{words}"
    );
    assert_eq!(left_by(id), Vec::<String>::new());
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let runs = report["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 4);
    assert!(report["transparent"].is_null());
    for run in runs {
        assert_eq!(run["requests"], report["exchange"]["answered"], "{run:#}");
        assert!(
            run["eavesdropper"].is_null(),
            "nothing was captured, so nothing is claimed: {run:#}"
        );
    }
}

fn interrupt(child: &std::process::Child) {
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).expect("a process id"));
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).expect("it lives");
}

#[test]
fn a_folder_that_is_not_empty_is_refused_before_anything_starts() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("mine"), "precious").expect("a file");
    let output = demo().arg("--out").arg(folder.path()).output().expect("it runs");
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(64), "{words}");
    assert!(words.contains("is not empty") && words.contains("hint:"), "{words}");
    assert_eq!(files(folder.path()), ["mine"]);
}

fn files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < deadline, "{what}: not within {PATIENCE:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// They make network namespaces; `-- --skip as_root` leaves them out.
mod as_root {
    use super::*;

    #[test]
    fn the_demo_proves_what_it_says_and_leaves_nothing_behind() {
        bartizan_testing::needs_root();
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = demo();
        command
            .arg("--json")
            .arg("--out")
            .arg(folder.path().join("out"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let child = command.spawn().expect("the demo starts");
        let id = child.id();
        let output = child.wait_with_output().expect("the demo ends");
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words}");
        assert_eq!(left_by(id), Vec::<String>::new());

        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON on standard output, nothing else");
        let reasons: Vec<_> = report["refusals"]
            .as_array()
            .expect("refusals")
            .iter()
            .map(|one| one["reason"].clone())
            .collect();
        assert_eq!(reasons, ["no-certificate", "unknown-ca", "no-common-group"]);
        assert_eq!(report["outer"].as_array().map(Vec::len), Some(2));

        for case in ["straight", "classical-http2", "hybrid-http2", "hybrid-splice"] {
            let run = run(&report, case);
            assert_eq!(run["errors"].as_array().map(Vec::len), Some(0), "{case}: {run:#}");
            assert_eq!(run["requests"], report["exchange"]["answered"], "{case}");
            assert_eq!(run["eavesdropper"]["dropped"], 0, "{case}: the capture must be whole");
        }
        let straight = run(&report, "straight");
        assert_eq!(verdict(straight, "confidentiality"), "readable now");
        assert!(
            straight["eavesdropper"]["readable_count"].as_u64() > Some(0),
            "identities travel unencrypted: {straight:#}"
        );
        assert_eq!(
            verdict(run(&report, "classical-http2"), "confidentiality"),
            "vulnerable"
        );
        for case in ["hybrid-http2", "hybrid-splice"] {
            let run = run(&report, case);
            assert_eq!(
                run["eavesdropper"]["kinds"].as_array().map(Vec::len),
                Some(1),
                "TLS 1.3 and nothing else: {run:#}"
            );
            assert_eq!(verdict(run, "confidentiality"), "quantum-safe");
            assert_eq!(
                verdict(run, "authenticity"),
                "not observable",
                "certificates are encrypted"
            );
            assert_eq!(verdict(run, "authenticity_by_ledger"), "quantum-safe");
            assert_eq!(run["eavesdropper"]["readable_count"], 0);
            // Every handshake on the wire is in the ledger of the sidecar that accepted it, and the
            // reverse.
            assert_eq!(run["handshakes"], run["eavesdropper"]["connections"], "{case}");
            proved_by_packets_and_ledgers(&folder.path().join("out").join(case));
        }

        let attempts = report["transparent"].as_array().expect("attempts");
        assert_eq!(attempts.len(), 5, "{attempts:#?}");
        for attempt in attempts {
            let case = attempt["case"].as_str().expect("a case");
            let answered = attempt["outcome"]["Ok"].is_string();
            let (clear_packets, clear_bytes, groups) = on_the_cables(&folder.path().join("out/transparent"), case);
            // tshark confirms the report about its own captures.
            assert_eq!(attempt["egress"]["clear_packets"], clear_packets, "{case}");
            assert_eq!(attempt["egress"]["clear_bytes"], clear_bytes, "{case}");
            match case {
                "unprotected" => assert!(answered && clear_bytes > 0 && groups.is_empty(), "{attempt:#}"),
                "redirected" => {
                    assert!(answered && clear_packets == 0, "{attempt:#}");
                    // X25519MLKEM768 is 0x11ec.
                    assert!(
                        !groups.is_empty() && groups.iter().all(|group| group == "4588"),
                        "{groups:?}"
                    );
                    assert_eq!(attempt["egress"]["groups"][0][0], "X25519MLKEM768");
                    assert_eq!(attempt["egress"]["groups"][0][1], groups.len(), "{groups:?}");
                }
                _ => assert!(!answered && clear_packets == 0, "{attempt:#}"),
            }
        }
        assert_eq!(words.matches("fails closed").count(), 3, "{words}");
    }

    /// On this machine's kernel, or where that has no SCTP in a guest's.
    #[test]
    fn n2_is_carried_whole_and_nothing_of_it_is_on_the_cable() {
        bartizan_testing::needs_root();
        let folder = tempfile::tempdir().expect("a folder");
        let out = folder.path().join("out");
        let output = demo()
            .args(["--n2", "--json", "--out"])
            .arg(&out)
            .output()
            .expect("it runs");
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words}");
        assert_eq!(words.matches("20 of 20 messages arrived").count(), 3, "{words}");
        assert!(
            words.contains("fails closed") && !words.contains("NOT AS IT MUST BE"),
            "{words}"
        );
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON on standard output, nothing else");
        assert_eq!(report["schema"], "bartizan-demo-n2/1");
        let runs = report["runs"].as_array().expect("runs");
        let between: Vec<&str> = runs.iter().filter_map(|run| run["between"].as_str()).collect();
        assert_eq!(between, ["nothing", "tls", "quic"]);
        assert!(report["killed"]["outcome"]["Err"].is_string(), "{report:#}");
        // tshark confirms the report about its own captures.
        let packets = |case: &str, filter: &str| {
            let tshark = lab_root().command("tshark").expect("tshark in the lab root");
            let arguments = ["-n", "-Y", filter, "-T", "fields", "-e", "frame.number", "-r"];
            let tshark = tshark.arguments(arguments).argument(out.join(case).join("cable.pcap"));
            tshark
                .run(PATIENCE)
                .unwrap_or_else(|error| panic!("{error}"))
                .text()
                .lines()
                .count()
        };
        for (run, case) in runs.iter().zip(["unprotected", "tls", "quic"]) {
            assert_eq!(run["sctp_packets"], packets(case, "sctp"), "{case}");
        }
        assert_eq!(packets("unprotected", "ngap"), 20);
        for case in ["tls", "quic", "killed"] {
            assert_eq!(packets(case, "sctp"), 0, "{case}");
        }
        assert!(packets("tls", "tls") > 0 && packets("quic", "quic") > 0);
    }

    #[test]
    fn a_demo_interrupted_half_way_leaves_nothing_behind() {
        bartizan_testing::needs_root();
        let mut child = demo()
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the demo starts");
        let id = child.id();
        wait_until("its namespaces are there", || !left_by(id).is_empty());
        thread::sleep(Duration::from_secs(4));
        interrupt(&child);
        let status = child.wait().expect("it ends");
        assert_eq!(status.code(), Some(2), "interrupted is a failure, said on one line");
        assert_eq!(left_by(id), Vec::<String>::new());
    }

    #[test]
    fn a_demo_that_was_killed_is_cleaned_up_by_the_next_run() {
        bartizan_testing::needs_root();
        let folder = tempfile::tempdir().expect("a folder");
        let begin = || {
            let mut command = demo();
            command
                .env("TMPDIR", folder.path())
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            let child = command.spawn().expect("the demo starts");
            let id = child.id();
            wait_until("its namespaces are there", || !left_by(id).is_empty());
            thread::sleep(Duration::from_secs(2));
            child
        };
        let mut killed = begin();
        killed.kill().expect("it lives");
        killed.wait().expect("it ends");
        assert_eq!(
            files(folder.path()).len(),
            1,
            "its folder, with its keys, is still there"
        );
        let mut next = begin();
        assert_eq!(left_by(killed.id()), Vec::<String>::new());
        interrupt(&next);
        next.wait().expect("it ends");
        assert_eq!(left_by(next.id()), Vec::<String>::new());
        assert_eq!(files(folder.path()), Vec::<String>::new());
    }
}
