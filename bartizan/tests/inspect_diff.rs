//! `bartizan inspect diff`: two dates of a network.

mod inspect_stage;

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use inspect_stage::{data, inspect};

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The JSON report of a capture in the tree.
fn report(file: &str) -> Value {
    serde_json::from_slice(&inspect(&data(), &[file, "--json"]).stdout).unwrap()
}

fn write(directory: &Path, name: &str, report: &Value) {
    fs::write(directory.join(name), report.to_string()).unwrap();
}

#[test]
fn a_capture_and_its_report_are_the_same_date() {
    let scratch = tempfile::tempdir().unwrap();
    for file in [
        "strongswan-6.1.0.pcap",
        "openssl-3.5.7.pcap",
        "sbi-free5gc-two-registrations.pcap",
    ] {
        fs::copy(data().join(file), scratch.path().join("now.pcap")).unwrap();
        write(scratch.path(), "then.json", &report(file));
        let output = inspect(scratch.path(), &["diff", "then.json", "now.pcap"]);
        assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
        assert!(stdout(&output).contains("summary: 0 worse, 0 appeared, 0 vanished, 0 better, 0 changed, "));
    }
}

#[test]
fn a_link_that_falls_is_named_with_its_reason_and_packets_and_ends_with_1() {
    let scratch = tempfile::tempdir().unwrap();
    let after = report("e2-flexric-kpm.pcap");
    let mut before = after.clone();
    before["files"][0]["links"][0]["confidentiality"]["verdict"] = "quantum-safe".into();
    write(scratch.path(), "monday.json", &before);
    write(scratch.path(), "friday.json", &after);
    let output = inspect(scratch.path(), &["diff", "monday.json", "friday.json"]);
    assert_eq!(output.status.code(), Some(1));
    let text = stdout(&output);
    assert!(
        text.contains("quantum-safe -> readable now: sent unencrypted: SCTP without DTLS or IPsec [packets 14-44]"),
        "{text}"
    );
    assert!(
        text.contains("summary: 1 worse, 0 appeared, 0 vanished, 0 better, 0 changed, 0 same"),
        "{text}"
    );
    let back = inspect(scratch.path(), &["diff", "friday.json", "monday.json", "--json"]);
    assert_eq!(back.status.code(), Some(0));
    let document: Value = serde_json::from_slice(&back.stdout).unwrap();
    assert_eq!(
        (&document["schema"], &document["worse"]),
        (&"bartizan-inspect-diff/1".into(), &0.into())
    );
    assert_eq!(document["changes"][0]["change"], "better");
    assert_eq!(document["changes"][0]["interface"], "E2");
}

#[test]
fn links_that_appear_and_vanish_are_reported_and_a_vulnerable_one_that_appears_is_a_finding() {
    let files = ["e2-flexric-kpm.pcap", "n2-free5gc-two-registrations.pcap"];
    let output = inspect(&data(), &[&["diff"][..], &files].concat());
    assert_eq!(output.status.code(), Some(1));
    let text = stdout(&output);
    assert!(text.contains("summary: 0 worse, 1 appeared, 1 vanished"), "{text}");
    assert!(text.contains("of what appeared 1 is not shown to be safe"), "{text}");
}

#[test]
fn words_of_a_report_cannot_move_the_cursor() {
    let scratch = tempfile::tempdir().unwrap();
    let mut before = report("e2-flexric-kpm.pcap");
    write(scratch.path(), "a.json", &before);
    before["files"][0]["links"][0]["authenticity"]["verdict"] = "\u{1b}[2Jsafe".into();
    write(scratch.path(), "b.json", &before);
    let output = inspect(scratch.path(), &["diff", "a.json", "b.json"]);
    assert!(!stdout(&output).contains('\u{1b}'));
}

#[test]
fn what_is_no_report_or_was_not_read_whole_is_refused_with_a_hint() {
    let scratch = tempfile::tempdir().unwrap();
    write(scratch.path(), "good.json", &report("e2-flexric-kpm.pcap"));
    fs::write(
        scratch.path().join("other.json"),
        "{\"schema\": \"something/1\", \"files\": []}",
    )
    .unwrap();
    fs::write(scratch.path().join("broken.json"), "{").unwrap();
    let mut cut = fs::read(data().join("e2-flexric-kpm.pcap")).unwrap();
    cut.truncate(cut.len() - 7);
    fs::write(scratch.path().join("cut.pcap"), cut).unwrap();
    // Links that memory had no room for would seem to have vanished.
    for (name, field) in [("untracked.json", "untracked"), ("omitted.json", "omitted")] {
        let mut report = report("e2-flexric-kpm.pcap");
        report["files"][0][field] = match field {
            "omitted" => json!([{ "what": "in links", "count": 1, "unit": "connection", "first_packet": 3 }]),
            _ => 7.into(),
        };
        write(scratch.path(), name, &report);
    }
    for file in [
        "other.json",
        "broken.json",
        "cut.pcap",
        "missing.json",
        "untracked.json",
        "omitted.json",
    ] {
        let output = inspect(scratch.path(), &["diff", "good.json", file]);
        assert_eq!(output.status.code(), Some(2), "{file}");
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(words.contains(file) && words.contains("hint: "), "{words}");
    }
}

#[test]
fn a_capture_called_diff_is_read_by_its_place() {
    let scratch = tempfile::tempdir().unwrap();
    fs::copy(data().join("e2-flexric-kpm.pcap"), scratch.path().join("diff")).unwrap();
    let output = inspect(scratch.path(), &["./diff"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).starts_with("./diff: 44 packets"), "{}", stdout(&output));
    assert_eq!(inspect(scratch.path(), &["diff"]).status.code(), Some(64));
}

#[test]
fn dates_that_show_nothing_or_networks_that_look_like_one_are_not_compared_for_the_better() {
    let scratch = tempfile::tempdir().unwrap();
    fs::write(
        scratch.path().join("none.json"),
        r#"{"schema": "bartizan-inspect/1", "files": []}"#,
    )
    .unwrap();
    let report = report("e2-flexric-kpm.pcap");
    write(scratch.path(), "some.json", &report);
    let nothing = "limit:  before and after: nothing was seen that carries data";
    let output = inspect(scratch.path(), &["diff", "none.json", "none.json"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains(nothing), "{}", stdout(&output));
    // All that was there may be in what the second date does not show.
    let output = inspect(scratch.path(), &["diff", "some.json", "none.json", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["changes"][0]["change"], "worse");
    assert_eq!(document["limits"][0]["after"], true);
    let [mut before, mut after] = [report.clone(), report];
    let untagged = json!({
        "concern": "unproven",
        "because": "of LINUX_SLL2 (`tcpdump -i any`), which loses VLAN tags: networks with the same addresses look like one",
        "example": null,
    });
    for report in [&mut before, &mut after] {
        report["files"][0]["findings"]
            .as_array_mut()
            .unwrap()
            .push(untagged.clone());
    }
    after["files"][0]["links"][0]["confidentiality"]["verdict"] = "quantum-safe".into();
    write(scratch.path(), "monday.json", &before);
    write(scratch.path(), "friday.json", &after);
    let output = inspect(scratch.path(), &["diff", "monday.json", "friday.json"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("0 better, 1 changed"), "{}", stdout(&output));
}
