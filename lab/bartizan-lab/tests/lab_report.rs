//! `bartizan lab report`, `compare` and `export` on files of records.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

/// A folder with one experiment of the runner's own workload, and nothing measured.
struct Bench {
    folder: tempfile::TempDir,
    digest: String,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let experiment = folder.path().join("experiments/idle");
        fs::create_dir_all(&experiment).unwrap();
        let text = "id: idle\ntitle: What doing nothing takes\nquestion: How long is nothing?\ninvalid: [A busy machine.]\nparts:\n  - id: clock\n    workload: clock\n    \
                    repetitions: 10\n    quick: { repetitions: 2 }\n    bound: 5\n    metrics: [clock, late]\nanswer: \"A look at the clock takes {median clock/clock}.\"\n";
        fs::write(experiment.join("experiment.yaml"), text).unwrap();
        let published = "paper: 3\nconditions:\n  topology: { paper: a, here: b }\n  sizes: { paper: a, here: b }\n  interval: { paper: a, here: b }\n  \
                         duration: { paper: a, here: b }\n  repetitions: { paper: a, here: b }\nvalues:\n  \
                         - { id: look, part: clock, metric: clock, statistic: median, value: 1, unit: us, place: table II }\n  \
                         - { id: span, statistic: median, value: 1, to: 2, unit: us, place: table II, needs: two clocks }\n";
        fs::write(experiment.join("published.yaml"), published).unwrap();
        let mut bench = Self {
            folder,
            digest: String::new(),
        };
        let listed = bench.run(&["list", "--json"]);
        let listing: Value =
            serde_json::from_slice(&listed.stdout).unwrap_or_else(|error| panic!("{error}: {listed:?}"));
        bench.digest = listing["experiments"][0]["digest"].as_str().unwrap().to_owned();
        bench
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn run(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_bartizan-lab"))
            .args(args)
            .args(["--experiments", "experiments"])
            .current_dir(self.path())
            .output()
            .unwrap()
    }

    /// A run of so many trials whose looks at the clock take about so many nanoseconds.
    fn record(&self, run: &str, trials: u64, clock: f64) -> PathBuf {
        let lines: Vec<String> = (0..trials)
            .map(|trial| {
                let wobble = clock * 0.001 * (trial * 7 % 5) as f64;
                json!({
                    "schema": "bartizan-lab-trial/1", "experiment": "idle", "digest": self.digest, "run": run, "part": "clock",
                    "trial": trial, "repetition": trial, "position": 0, "levels": {},
                    "began": format!("2026-11-21T10:00:{trial:02}Z"), "elapsed_ms": 3.0, "seed": 1, "quick": false, "cores": [0],
                    "load": 0.1,
                    "environment": {
                        "version": "0.1.0", "kernel": "6.1", "kernel_kind": "host", "processor": "one", "processors": [0, 1],
                        "priority": "nice -20", "autogroup": null, "namespace": "own", "programs": [],
                    },
                    "outcome": "measured",
                    "values": {"clock": [clock + wobble, clock + wobble + 1.0, clock + wobble - 1.0], "late": [50.0]},
                    "facts": {},
                })
                .to_string()
            })
            .collect();
        let folder = self.path().join("results/idle");
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join(format!("{run}.jsonl"));
        fs::write(&file, lines.join("\n") + "\n").unwrap();
        file
    }
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn a_report_of_the_newest_run_is_written_next_to_it_in_every_format() {
    let bench = Bench::new();
    bench.record("2026-11-20T10-00-00", 10, 90.0);
    bench.record("2026-11-21T10-00-00", 10, 40.0);
    let output = bench.run(&["report", "idle", "--format", "html,md,csv,json"]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let said = text(&output.stdout);
    assert!(
        said.starts_with("idle: 10 trials, ") && said.contains("A look at the clock takes 40.08\u{a0}ns ["),
        "{said}"
    );
    let read =
        |extension: &str| fs::read_to_string(bench.path().join(format!("results/idle/report.{extension}"))).unwrap();
    assert!(read("html").starts_with("<!DOCTYPE html>"));
    assert!(read("md").starts_with("# What doing nothing takes\n"));
    assert_eq!(read("csv").lines().count(), 3);
    let report: Value = serde_json::from_str(&read("json")).unwrap();
    assert_eq!(report["schema"], "bartizan-lab-report/2");
    let measured = &report["published"]["values"][0]["measured"];
    assert!((measured["ratio"].as_f64().unwrap() - 0.04).abs() < 0.001, "{measured}");
    // Nothing is left half written.
    assert!(
        fs::read_dir(bench.path().join("results/idle"))
            .unwrap()
            .all(|entry| !entry.unwrap().path().to_string_lossy().ends_with(".part"))
    );
}

#[test]
fn without_runs_the_records_kept_next_to_the_experiment_are_reported() {
    let bench = Bench::new();
    let file = bench.record("kept", 10, 40.0);
    let kept = bench.path().join("experiments/idle/records");
    fs::create_dir_all(&kept).unwrap();
    fs::rename(file, kept.join("kept.jsonl")).unwrap();
    let output = bench.run(&["report"]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    assert!(bench.path().join("experiments/idle/report.html").is_file());
    let output = bench.run(&["report", "--out", "elsewhere"]);
    assert_eq!(code(&output), 0);
    assert!(bench.path().join("elsewhere/idle/report.md").is_file());
}

#[test]
fn a_file_cut_in_half_is_named_with_its_line_and_its_good_records_are_used() {
    let bench = Bench::new();
    let file = bench.record("cut", 10, 40.0);
    let mut records = fs::read_to_string(&file).unwrap();
    records.insert_str(0, "no record\n");
    records.truncate(records.len() - 100);
    fs::write(&file, records).unwrap();
    let output = bench.run(&["report", "idle/cut", "--format", "json"]);
    assert_eq!(code(&output), 1);
    assert!(
        text(&output.stdout).starts_with("idle: 9 trials"),
        "{}",
        text(&output.stdout)
    );
    let reported = text(&output.stderr);
    assert!(
        reported.contains("results/idle/cut.jsonl:1: it is no record"),
        "{reported}"
    );
    assert!(
        reported.contains("results/idle/cut.jsonl:11: it is cut off"),
        "{reported}"
    );
    let output = bench.run(&["export", "idle/cut"]);
    assert_eq!((code(&output), text(&output.stdout).lines().count()), (1, 1 + 9 * 4));
}

#[test]
fn what_is_not_there_is_a_usage_error_or_a_failure_with_a_hint() {
    let bench = Bench::new();
    for (args, expected) in [
        (&["report"][..], 2),
        (&["report", "idle"], 2),
        (&["report", "nothing"], 64),
        (&["compare", "idle/one", "idle/two"], 64),
        (&["export"], 64),
    ] {
        let output = bench.run(args);
        assert_eq!(code(&output), expected, "{args:?}: {}", text(&output.stderr));
        assert!(
            text(&output.stderr).contains("hint: ") || args == ["export"],
            "{args:?}: {}",
            text(&output.stderr)
        );
    }
    let empty = bench.path().join("empty.jsonl");
    fs::write(&empty, "").unwrap();
    let output = bench.run(&["report", "empty.jsonl"]);
    assert_eq!(code(&output), 2);
    assert!(text(&output.stderr).contains("empty.jsonl holds no trial"));
}

#[test]
fn a_slower_run_is_worse_a_faster_one_better_and_the_same_neither() {
    let bench = Bench::new();
    bench.record("before", 20, 40.0);
    bench.record("slower", 20, 44.0);
    bench.record("same", 20, 40.0);
    let compare = |after: &str| bench.run(&["compare", "idle/before", after]);
    let slower = compare("idle/slower");
    assert_eq!(code(&slower), 1);
    let said = text(&slower.stdout);
    assert!(
        said.contains("worse") && said.ends_with("2 compared: 1 worse, 0 better\n"),
        "{said}"
    );
    assert_eq!(code(&compare("results/idle/same.jsonl")), 0);
    let faster = bench.run(&["compare", "idle/slower", "idle/before", "--json"]);
    assert_eq!(code(&faster), 0);
    let document: Value = serde_json::from_slice(&faster.stdout).unwrap();
    assert_eq!(
        (&document["schema"], &document["better"]),
        (&json!("bartizan-lab-compare/2"), &json!(1))
    );
    let change = &document["changes"][0];
    assert_eq!(
        (&change["metric"], &change["verdict"], &change["n"]),
        (&json!("clock"), &json!("less"), &json!([20, 20]))
    );
    assert!((change["ratio"]["value"].as_f64().unwrap() - 40.0 / 44.0).abs() < 1e-9);
}

#[test]
fn a_plot_that_is_not_there_is_refused_with_those_that_are() {
    let bench = Bench::new();
    bench.record("one", 10, 40.0);
    let output = bench.run(&["export", "idle", "--plot", "clock/bars"]);
    assert_eq!(code(&output), 64);
    assert!(
        text(&output.stderr).contains("has no plot clock/bars"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn published_values_are_counted_by_what_the_kept_records_compare() {
    let bench = Bench::new();
    let none = bench.run(&["published"]);
    assert_eq!(none.status.code(), Some(2), "{none:?}");
    assert!(
        String::from_utf8_lossy(&none.stderr).contains("hint: --experiments DIR"),
        "{none:?}"
    );
    let kept = bench.path().join("experiments/idle/records");
    fs::create_dir(&kept).unwrap();
    fs::copy(bench.record("a", 10, 40.0), kept.join("a.jsonl")).unwrap();
    let listed = bench.run(&["published"]);
    let text = String::from_utf8_lossy(&listed.stdout);
    assert!(listed.status.success(), "{listed:?}");
    for line in [
        "all papers: 2 values, 1 compared, 0 not comparable, 1 not measured\n",
        "  span (table II, idle): 1 to 2\u{a0}\u{b5}s; not measured: needs two clocks\n",
    ] {
        assert!(text.contains(line), "{text}");
    }
    let json: Value = serde_json::from_slice(&bench.run(&["published", "--json"]).stdout).unwrap();
    assert_eq!(json["schema"], "bartizan-lab-published/1");
    let count = json!({"values": 2, "compared": 1, "not_comparable": 0, "not_measured": 1});
    assert_eq!((&json["count"], &json["papers"][0]["count"]), (&count, &count));
    assert_eq!(json["values"][0]["result"], "compared");
}
