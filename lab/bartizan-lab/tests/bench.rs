//! `bartizan bench sidecar` as its users run it: records and their order are checked, times are not.

use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use bartizan_testing::{PATIENCE, until};
use serde_json::Value;

fn bench(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bartizan-lab"));
    command.args(["bench", "sidecar"]).args(arguments);
    command
}

fn run(arguments: &[&str]) -> Output {
    bench(arguments).output().expect("bartizan runs")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The trials of a file of records, without those of the runner's own floor.
fn records(file: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file).expect("the records");
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("a record is JSON"))
        .collect();
    assert_eq!(lines[0]["schema"], "bartizan-lab-run/1");
    let trials = lines
        .into_iter()
        .filter(|line| line["schema"] == "bartizan-lab-trial/1");
    trials.filter(|trial| trial["part"] != "runner").collect()
}

fn level<'a>(record: &'a Value, factor: &str) -> &'a str {
    record["levels"][factor].as_str().unwrap_or("-")
}

#[test]
fn a_quick_run_leaves_a_whole_record_of_every_trial_and_a_figure_of_every_way() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("trials.jsonl");
    let output = run(&["--quick", "--json", "--seed", "5", "--file", out.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));

    let records = records(&out);
    for record in &records {
        assert_eq!(record["experiment"], "bench-sidecar");
        assert_eq!(record["quick"], true);
        assert!(record["load"].is_f64() && !record["calibration"].as_array().unwrap().is_empty());
        let environment = &record["environment"];
        assert_eq!(environment["version"], env!("CARGO_PKG_VERSION"));
        assert!(environment["kernel"].as_str().is_some_and(|kernel| !kernel.is_empty()));
        assert!(environment["priority"].is_string());
        let cores = record["cores"].as_array().unwrap();
        match level(record, "placement") {
            "one-core" | "-" => assert_eq!(cores.len(), 1),
            _ => assert_eq!(Some(cores), environment["processors"].as_array()),
        }
        assert_ne!(record["outcome"], "failed", "{record}");
    }
    let trials: BTreeSet<_> = records
        .iter()
        .map(|record| {
            let part = record["part"].as_str().unwrap();
            [
                part,
                level(record, "placement"),
                level(record, "proxy"),
                level(record, "mode"),
            ]
            .map(str::to_owned)
        })
        .collect();
    for placement in ["one-core", "unpinned"] {
        for mode in ["classical", "post-quantum"] {
            for (part, proxy) in [
                ("latency", "splice"),
                ("latency", "http2"),
                ("throughput", "http2"),
                ("new-connection", "splice"),
                ("new-connection", "http2"),
                ("handshakes", "splice"),
            ] {
                let wanted = [part, placement, proxy, mode].map(str::to_owned);
                assert!(trials.contains(&wanted), "{wanted:?} in {trials:?}");
            }
            assert!(trials.contains(&["handshakes-in-memory", "-", "-", mode].map(str::to_owned)));
        }
        assert!(trials.contains(&["latency", placement, "direct", "clear"].map(str::to_owned)));
        // It takes a pair of its own for each trial, and where it runs says little.
        let memory = trials.contains(&["memory", placement, "splice", "post-quantum"].map(str::to_owned));
        assert_eq!(memory, placement == "one-core");
    }
    // Every request of `new-connection` was a full handshake: five and one to warm up.
    let fresh = |record: &&Value| record["part"] == "new-connection" && level(record, "proxy") != "direct";
    for record in records.iter().filter(fresh) {
        assert_eq!(record["facts"]["full-handshakes"], 6, "{record}");
    }
    assert_eq!(records.iter().filter(fresh).count(), 5 * 8);
    for record in records.iter().filter(|record| record["part"] == "latency") {
        let latencies = record["values"]["latency"].as_array().unwrap();
        assert!(latencies.len() == 30 && latencies.iter().all(|latency| latency.as_f64() > Some(0.0)));
        assert_eq!(level(record, "proxy") == "direct", record["values"]["cpu"].is_null());
    }

    let report: Value = serde_json::from_slice(&output.stdout).expect("the report is JSON");
    assert_eq!(report["schema"], "bartizan-bench/2");
    assert_eq!(
        (&report["trials"], &report["seed"]),
        (&Value::from(records.len()), &Value::from(5))
    );
    let figures = report["figures"].as_array().unwrap();
    for figure in figures {
        let summary = &figure["summary"];
        let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{figure}"));
        // Five repetitions are too few for an interval at 95 %.
        assert!(figure["interval"].is_null(), "{figure}");
        assert!(
            number(&summary["lower_quartile"]) <= number(&summary["upper_quartile"]),
            "{figure}"
        );
        // A look is never a verdict.
        let verdict = &figure["verdict"];
        assert!(*verdict == "no-target" || verdict["not-judged"].is_string(), "{figure}");
    }
    let judged = |figure: &&Value| !figure["target"].is_null();
    assert!(figures.iter().filter(judged).count() >= 8, "{report:#}");
}

#[test]
fn the_same_seed_gives_the_same_order_and_another_seed_another() {
    let order = |seed: &str| -> Vec<_> {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("trials.jsonl");
        let output = run(&[
            "--quick",
            "--seed",
            seed,
            "--what",
            "latency",
            "--placement",
            "one-core",
            "--file",
            out.to_str().unwrap(),
        ]);
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        records(&out)
            .iter()
            .map(|record| ["proxy", "mode"].map(|factor| level(record, factor).to_owned()))
            .collect()
    };
    let first = order("7");
    assert_eq!(first.len(), 25);
    assert_eq!(first, order("7"));
    assert_ne!(first, order("8"));
    // Each repetition takes every way once.
    for repetition in first.chunks(5) {
        assert_eq!(repetition.iter().collect::<BTreeSet<_>>().len(), 5);
    }
}

#[test]
fn a_peer_that_is_not_there_is_reported_with_what_to_do_and_the_rest_goes_on() {
    let empty = tempfile::tempdir().unwrap();
    let arguments = [
        "--quick",
        "--path",
        "splice",
        "--peer",
        "haproxy,envoy",
        "--what",
        "latency",
        "--placement",
        "one-core",
    ];
    let output = bench(&arguments).env("BARTIZAN_CACHE", empty.path()).output().unwrap();
    let (table, errors) = (String::from_utf8_lossy(&output.stdout).into_owned(), said(&output));
    assert_eq!(output.status.code(), Some(0), "{errors}");
    assert!(
        errors.contains("left out haproxy") && errors.contains("hint: as root: bartizan lab root"),
        "{errors}"
    );
    assert!(table.contains("left out: envoy") && table.contains("splice"), "{table}");
}

#[test]
fn another_build_that_is_not_there_is_reported_and_nothing_is_measured() {
    let output = run(&["--quick", "--binary", "/no/such/bartizan"]);
    assert_eq!(output.status.code(), Some(64), "{}", said(&output));
    let errors = said(&output);
    assert!(
        errors.contains("there is no file /no/such/bartizan") && errors.contains("hint: --binary takes"),
        "{errors}"
    );
}

#[test]
fn mistyped_arguments_are_named_and_nothing_is_started() {
    for (arguments, expected) in [
        (
            &["--peer", "ngins"][..],
            "it is one of nginx-stream, nginx-grpc, nginx-http2, haproxy, stunnel, ghostunnel, nghttpx, envoy",
        ),
        (&["--path", "haproxy"], "it is one of splice, http2"),
        (
            &["--what", "speed"],
            "it is one of latency, throughput, new-connection, handshakes, memory",
        ),
        (&["--placement", "two"], "it is one of one-core, unpinned"),
        (&["--repetitions", "0"], "0 is not in 1..=10000"),
        (&["--quick", "--repetitions", "3"], "cannot be used with"),
        (
            &["--quick", "--file", "/no/such/folder/trials.jsonl"],
            "--file takes a file that can be written",
        ),
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(64), "{arguments:?}: {}", said(&output));
        assert!(said(&output).contains(expected), "{arguments:?}: {}", said(&output));
    }
}

/// Processes whose command line names this folder.
fn processes_of(folder: &Path) -> Vec<String> {
    let wanted = folder.to_str().unwrap();
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = all.filter_map(|entry| std::fs::read_to_string(entry.path().join("cmdline")).ok());
    lines.filter(|line| line.contains(wanted)).collect()
}

fn end_of(child: &mut Child) -> std::process::ExitStatus {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match child.try_wait().unwrap() {
            Some(status) => return status,
            None if Instant::now() > deadline => panic!("it does not end"),
            None => sleep(Duration::from_millis(20)),
        }
    }
}

#[test]
fn ctrl_c_ends_it_with_what_was_measured_and_leaves_nothing_behind() {
    let temporary = tempfile::tempdir().unwrap();
    let kept = tempfile::tempdir().unwrap();
    let out = kept.path().join("trials.jsonl");
    let mut child = bench(&[
        "--path",
        "splice",
        "--what",
        "latency",
        "--repetitions",
        "10000",
        "--file",
    ])
    .arg(&out)
    .env("TMPDIR", temporary.path())
    .stdout(Stdio::piped())
    .stderr(Stdio::piped())
    .spawn()
    .unwrap();
    let deadline = Instant::now() + PATIENCE;
    // Some repetitions of all three routes, after the runner's own floor.
    let taken = || std::fs::read_to_string(&out).map_or(0, |text| text.matches(r#""part":"latency""#).count());
    while taken() < 12 {
        assert!(Instant::now() < deadline, "no records");
        sleep(Duration::from_millis(20));
    }
    assert!(!processes_of(temporary.path()).is_empty());
    let id = nix::unistd::Pid::from_raw(child.id().cast_signed());
    nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGINT).unwrap();
    let status = end_of(&mut child);
    assert_eq!((status.code(), status.signal()), (Some(2), None));
    let output = child.wait_with_output().unwrap();
    assert!(said(&output).contains("error: interrupted"), "{}", said(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains("added to a request"));
    assert!(!records(&out).is_empty());
    assert!(
        said(&output).contains(&format!("bartizan lab run bench-sidecar --resume={}", out.display())),
        "{}",
        said(&output)
    );
    // The kernel needs a moment for the processes that were killed last.
    until("nothing is left", || processes_of(temporary.path()).is_empty());
    assert_eq!(std::fs::read_dir(temporary.path()).unwrap().count(), 0);
}

#[test]
fn hostile_ones_take_turns_with_nobody_and_every_trial_is_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("trials.jsonl");
    let mut command = Command::new(env!("CARGO_BIN_EXE_bartizan-lab"));
    command.args([
        "bench",
        "hostile",
        "--path",
        "http2",
        "--repetitions",
        "2",
        "--requests",
        "100",
        "--json",
        "--file",
    ]);
    let output = command.arg(&out).output().expect("bartizan runs");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let records = records(&out);
    let count = |hostility: &str| {
        records
            .iter()
            .filter(|record| level(record, "hostility") == hostility)
            .count()
    };
    for hostility in ["quiet", "consumer", "producer", "unauthenticated", "neighbour"] {
        assert_eq!(count(hostility), 2, "{hostility}");
    }
    for record in &records {
        assert_eq!(record["experiment"], "bench-hostile");
        assert_eq!(
            record["values"]["latency"].as_array().map(Vec::len),
            Some(100),
            "{record}"
        );
        assert_eq!(record["values"]["p99"].as_array().map(Vec::len), Some(1), "{record}");
    }
    let report: Value = serde_json::from_slice(&output.stdout).expect("the report is JSON");
    assert_eq!(report["schema"], "bartizan-bench-hostile/2");
    let figures = report["figures"].as_array().unwrap();
    assert_eq!(figures.len(), 5);
    // Two repetitions are a look, never a verdict.
    let judged = figures
        .iter()
        .filter(|figure| figure["verdict"]["not-judged"].is_string());
    assert_eq!(judged.count(), 4, "{report:#}");
}

#[test]
fn another_build_is_measured_in_the_same_run_and_one_that_is_not_there_is_refused() {
    let latency = [
        "--quick",
        "--what",
        "latency",
        "--placement",
        "one-core",
        "--path",
        "http2",
        "--json",
        "--compare-with",
    ];
    let product = Path::new(env!("CARGO_BIN_EXE_bartizan-lab")).with_file_name("bartizan");
    let output = run(&[&latency[..], &[product.to_str().unwrap()]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let report: Value = serde_json::from_slice(&output.stdout).expect("the report is JSON");
    let figures = report["figures"].as_array().unwrap();
    let of = |figure: &str, proxy: &str| {
        let these = figures
            .iter()
            .filter(|one| one["figure"] == figure && one["proxy"] == proxy);
        these.count()
    };
    assert_eq!(
        (
            of("added", "http2"),
            of("added", "http2-other"),
            of("other-added", "http2")
        ),
        (2, 2, 2)
    );
    let refused = run(&[&latency[..], &["/nowhere/bartizan"]].concat());
    assert_eq!(refused.status.code(), Some(64));
    assert!(
        said(&refused).contains("there is no file /nowhere/bartizan"),
        "{}",
        said(&refused)
    );
}

#[test]
fn the_records_of_a_run_that_was_interrupted_are_resumed_and_reported_by_the_lab() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("trials.jsonl");
    let latency = [
        "--quick",
        "--what",
        "latency",
        "--placement",
        "one-core",
        "--path",
        "splice",
        "--seed",
        "3",
        "--file",
    ];
    let output = run(&[&latency[..], &[out.to_str().unwrap()]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let whole = records(&out);
    assert_eq!(whole.len(), 15);
    // As if it had been killed in the third repetition.
    let text = std::fs::read_to_string(&out).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let kept = lines[..lines.len() - 7].join("\n");
    std::fs::write(&out, kept + "\n").unwrap();
    let lab = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bartizan-lab"));
        command.args(arguments).current_dir(folder.path());
        command.output().expect("bartizan runs")
    };
    let resumed = lab(&["run", "bench-sidecar", &format!("--resume={}", out.display())]);
    assert_eq!(resumed.status.code(), Some(0), "{}", said(&resumed));
    let order = |records: &[Value]| -> Vec<String> {
        records
            .iter()
            .map(|record| format!("{} {}", record["trial"], record["levels"]))
            .collect()
    };
    assert_eq!(order(&records(&out)), order(&whole));
    let reported = lab(&["report", out.to_str().unwrap(), "--out", "reports", "--format", "md"]);
    assert_eq!(reported.status.code(), Some(0), "{}", said(&reported));
    let page = std::fs::read_to_string(folder.path().join("reports/bench-sidecar/report.md")).unwrap();
    assert!(page.contains("splice-post-quantum-added"), "{page}");
}
