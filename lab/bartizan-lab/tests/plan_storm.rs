//! `bartizan plan calibrate`, `storm`, `capacity` and `merge` as their users have them: records,
//! parts on several machines, exit codes.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

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

const SMALL: &[&str] = &[
    "storm",
    "--sites",
    "200",
    "--gateways",
    "2",
    "--horizon",
    "2min",
    "--loss",
    "0%..2%",
    "--suite",
    "x25519/ecdsa-p256,x25519-ke1_mlkem768/ml-dsa-65",
];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    SMALL.iter().copied().chain(more.iter().copied()).collect()
}

#[test]
fn parts_of_a_plan_merge_to_what_one_run_prints_byte_for_byte() {
    let folder = tempfile::tempdir().unwrap();
    let run = |more: &[&str]| {
        let output = plan(folder.path(), &with(more));
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        output.stdout
    };
    let whole = run(&["--seeds", "3..8", "--part", "whole.json", "--json"]);
    for (seeds, part) in [("3..4", "a.json"), ("6..8", "b.json"), ("4..6", "c.json")] {
        run(&["--seeds", seeds, "--part", part]);
    }
    let merged = plan(
        folder.path(),
        &["merge", "b.json", "a.json", "c.json", "--part", "merged.json", "--json"],
    );
    assert_eq!(merged.status.code(), Some(0), "{}", text(&merged.stderr));
    assert_eq!(text(&merged.stdout), text(&whole));
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    assert_eq!(read("merged.json"), read("whole.json"));
    let refused = |files: &[&str]| {
        let arguments: Vec<_> = std::iter::once("merge").chain(files.iter().copied()).collect();
        let output = plan(folder.path(), &arguments);
        assert_eq!(output.status.code(), Some(64), "{files:?}");
        text(&output.stderr)
    };
    assert!(
        refused(&["a.json", "b.json"]).contains("seeds 4..6 are in no part"),
        "{}",
        refused(&["a.json", "b.json"])
    );
    assert!(refused(&["a.json", "a.json"]).contains("overlap"));
    run(&["--seeds", "8..9", "--window", "20s", "--part", "other.json"]);
    assert!(refused(&["b.json", "other.json"]).contains("another plan"));
    std::fs::write(folder.path().join("no.json"), "{}").unwrap();
    assert!(refused(&["no.json"]).contains("schema none"));
}

#[test]
fn a_storm_names_records_and_papers_and_draws_a_page_that_is_xml() {
    let folder = tempfile::tempdir().unwrap();
    let output = plan(
        folder.path(),
        &with(&[
            "--seeds",
            "0..2",
            "--html",
            "storm.html",
            "--svg",
            "storm.svg",
            "--out",
            "plans",
        ]),
    );
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    for expected in [
        "experiments/sa-setup, run ",
        "experiments/crypto-cost/record.json",
        "RFC 7296",
        "not measured with this engine",
        "99 % of sites",
        "200 sites, 2 gateways of 4 cores each",
        // The executed runs and their limits.
        "seeds 0..2, ranges from the least to the greatest of 2 seeds",
        "99 of 100 sites are back after ",
        "Sites begin within 1 s (--window); ",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    assert!(folder.path().join("plans/plan-storm.json").exists());
    for page in ["storm.html", "storm.svg", "plans/plan-storm.html"] {
        let page = std::fs::read_to_string(folder.path().join(page)).unwrap();
        let page = page.replacen("<!DOCTYPE html>", "", 1);
        roxmltree::Document::parse(&page).unwrap();
        assert!(page.contains("x25519-ke1_mlkem768 ml-dsa-65"));
    }
}

#[test]
fn sites_that_do_not_come_back_in_time_are_a_finding() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = "storm --sites 300 --gateways 1 --horizon 10s --window 5s --loss 40% --suite x25519-ke1_mlkem768/ml-dsa-65 --seeds 0..2 --json";
    let output = plan(folder.path(), &arguments.split(' ').collect::<Vec<_>>());
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said["schema"], "bartizan-plan-storm/1");
    let missing = &said["variants"][0]["quantities"][4];
    assert_eq!(missing["name"], "sites not back");
    assert!(missing["spread"]["median"].as_f64().unwrap() > 0.0, "{missing}");
}

#[test]
fn absurd_networks_are_refused_with_the_bound() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, expected) in [
        (
            &["storm", "--sites", "1000000000000"][..],
            "between 1 and 1000000 sites",
        ),
        (&["storm", "--gateways", "0"], "between 1 and 2000 gateways"),
        (&["storm", "--loss", "90%"], "between 0 and 500000 millionths"),
        (
            &["storm", "--round-trip", "-5ms"],
            "time of -5000 us: it is between 0 and",
        ),
        (
            &["storm", "--horizon", "30d"],
            "horizon: 720 h, and it is between 1 s and 24 h",
        ),
        (&["storm", "--seeds", "5..5"], "write A..B"),
        (&["storm", "--suite", "x25519"], "KEY-EXCHANGE/AUTHENTICATION"),
        (&["storm", "--suite", "x25519/rsa"], "ecdsa-p256, "),
        (
            &["storm", "--suite", "frodoa3/ecdsa-p256"],
            "no record of strongswan has a set-up with frodoa3",
        ),
        (&["storm", "--resumption"], "--engine bartizan"),
        (&["storm", "--scale", "2"], "--scale-source"),
        (&["capacity", "--sites", "1000000000000"], "between 1 and 1000000 sites"),
        (&["capacity", "--target", "0%"], "between 1 and 100 %"),
        (&["storm", "--cost", "nowhere.json"], "nowhere.json: No such file"),
    ] {
        let output = plan(folder.path(), arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(64), "{arguments:?}: {said}");
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
}

#[test]
fn a_calibration_is_a_record_that_plans_read() {
    let folder = tempfile::tempdir().unwrap();
    let taken = plan(
        folder.path(),
        &["calibrate", "--samples", "3", "--file", "here.json", "--json"],
    );
    assert_eq!(taken.status.code(), Some(0), "{}", text(&taken.stderr));
    let record: Value = serde_json::from_slice(&taken.stdout).unwrap();
    assert_eq!(record["schema"], "bartizan-crypto-cost/1");
    assert!(
        record["conditions"]["kernel"].is_string()
            && record["conditions"]["library"].as_str().unwrap().contains("aws-lc-rs")
    );
    assert_eq!(std::fs::read(folder.path().join("here.json")).unwrap(), taken.stdout);
    let capacity = plan(
        folder.path(),
        &[
            "capacity",
            "--cost",
            "here.json",
            "--engine",
            "bartizan",
            "--resumption",
            "--json",
        ],
    );
    assert_eq!(capacity.status.code(), Some(0), "{}", text(&capacity.stderr));
    let said: Value = serde_json::from_slice(&capacity.stdout).unwrap();
    let rows = said["rows"].as_array().unwrap();
    assert!(rows.len() >= 7 && rows.iter().all(|row| row["erlangs"].as_f64().unwrap() > 0.0));
    assert!(said.to_string().contains("primitives: here.json"));
}

/// Before, the answer was "no difference" between suites that differ by 2.7: an assumed bound for
/// dead peer detection was 98.6 % of both.
#[test]
fn an_assumption_that_decides_the_answer_is_stated_first() {
    let folder = tempfile::tempdir().unwrap();
    let run = |more: &[&str]| {
        let arguments = [&["capacity", "--sites", "5000", "--gateways", "2"], more].concat();
        text(&plan(folder.path(), &arguments).stdout)
    };
    let by_default = run(&[]);
    let answer = by_default.lines().nth(1).unwrap();
    assert!(
        answer.starts_with("Up to 9") && answer.contains("assumed upper bound") && answer.contains("--dead-peer 0s"),
        "{answer}"
    );
    let without = run(&["--dead-peer", "0s"]);
    assert!(!without.contains("assumed upper bound"), "{without}");
}

#[test]
fn a_gateway_without_enough_cores_is_a_finding() {
    let folder = tempfile::tempdir().unwrap();
    let output = plan(
        folder.path(),
        &[
            "capacity",
            "--sites",
            "900000",
            "--gateways",
            "1",
            "--cores",
            "1",
            "--dead-peer",
            "10s",
        ],
    );
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}{}", text(&output.stderr));
    assert!(
        said.contains("grows without end") && said.contains("Kleinrock"),
        "{said}"
    );
}

#[test]
fn absurd_input_is_refused_with_the_bound_and_the_flag() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, bound, flag) in [
        (
            "storm --sites 1000000000000",
            "sites: 1000000000000 sites, and it is between 1 and 1000000 sites",
            "--sites",
        ),
        (
            "capacity --sites 1000000000000",
            "between 1 and 1000000 sites",
            "--sites",
        ),
        (
            "capacity --gateways 0",
            "between 1 and 2000 gateways (no more than sites)",
            "--gateways",
        ),
        (
            "storm --round-trip 5h",
            "round trip: 5 h, and it is between 0 ns and 60 s (a minute)",
            "--round-trip",
        ),
        (
            "storm --dead-peer 1ms",
            "period of dead peer detection: 1 ms, and it is between 10 ms and 876000 h",
            "--dead-peer",
        ),
        ("storm --loss -1%", "share of -0.01: it is between 0 and 1", "--loss"),
        (
            "storm --window -1s",
            "between 0 and 31536000000000 us (a year)",
            "--window",
        ),
        ("storm --sites -5", "invalid digit", "--sites"),
        (
            "storm --sites 1000000 --dead-peer 10ms --horizon 24h",
            "a shorter time or fewer sites",
            "--horizon",
        ),
        ("capacity --target 0%", "between 1 and 100 %", "--target"),
    ] {
        let output = plan(folder.path(), &arguments.split(' ').collect::<Vec<_>>());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(64), "{arguments}: {said}");
        assert!(said.contains(bound) && said.contains(flag), "{arguments}: {said}");
        assert!(output.stdout.is_empty(), "{arguments}");
    }
}

/// Before, measured times could be replaced by a factor or a record alone.
#[test]
fn a_set_up_that_the_user_measured_takes_the_place_of_the_records() {
    let folder = tempfile::tempdir().unwrap();
    let suite = "x25519-ke1_mlkem768/ml-dsa-65";
    let capacity = |more: &[&str]| {
        let output = plan(folder.path(), &[&["capacity", "--json"], more].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let row = |report: &Value, place: usize| report["rows"][place].clone();
    let one = ["--suite", suite];
    let by_record = row(&capacity(&one), 0);
    let by_user = row(&capacity(&[&one[..], &["--handshake", "0.8ms"]].concat()), 0);
    let double = row(&capacity(&[&one[..], &["--handshake", "1.6ms"]].concat()), 0);
    let all_at_once = |row: &Value| row["all_at_once_s"].as_f64();
    assert_ne!(all_at_once(&by_record), all_at_once(&by_user));
    let ratio = all_at_once(&double).unwrap() / all_at_once(&by_user).unwrap();
    assert!((ratio - 2.0).abs() < 0.01, "{ratio}");
    let words = by_user["sources"].to_string();
    assert!(
        words.contains("0.8 ms of the gateway's processor by --handshake"),
        "{words}"
    );
    // One of several suites changes, and a time without a suite is refused.
    let two = ["--suite", "x25519/ecdsa-p256,x25519-ke1_mlkem768/ml-dsa-65"];
    let named = format!("{suite}=0.8ms");
    let (plain, changed) = (capacity(&two), capacity(&[&two[..], &["--handshake", &named]].concat()));
    assert_eq!(row(&plain, 0), row(&changed, 0));
    assert_eq!(row(&changed, 1)["erlangs"], by_user["erlangs"]);
    for wrong in ["0.8ms", "mlkem768/ml-dsa-65=0.8ms", "0s", "soon"] {
        let output = plan(
            folder.path(),
            &[&["capacity"], &two[..], &["--handshake", wrong]].concat(),
        );
        assert_eq!(output.status.code(), Some(64), "{wrong}");
    }
}
