//! `bartizan doctor` as its user meets it: on this machine, without rights, without programs, with programs that are not what
//! their names say.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

struct Said {
    code: Option<i32>,
    out: String,
    err: String,
}

fn doctor(arguments: &[&str], path: Option<&Path>) -> Said {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bartizan"));
    command.arg("doctor").args(arguments);
    if let Some(path) = path {
        command.env("PATH", path);
    }
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Said {
        code: output.status.code(),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}

fn json(arguments: &[&str], path: Option<&Path>) -> (Option<i32>, serde_json::Value) {
    let said = doctor(&[arguments, &["--json"]].concat(), path);
    assert!(said.err.is_empty(), "{}", said.err);
    (said.code, serde_json::from_str(&said.out).unwrap())
}

fn feature<'a>(report: &'a serde_json::Value, name: &str) -> &'a serde_json::Value {
    let features = report["features"].as_array().unwrap();
    features.iter().find(|one| one["feature"] == name).unwrap()
}

/// A program that prints what it is told, and ends.
fn fake(folder: &Path, name: &str, script: &str) {
    let path = folder.join(name);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn every_feature_is_judged_and_the_exit_code_is_what_the_default_ones_say() {
    let (code, report) = json(&[], None);
    assert_eq!(report["schema"], "bartizan-doctor/1");
    for name in [
        "sidecar",
        "redirect",
        "ca",
        "inspect",
        "demo",
        "lab-root",
        "lab",
        "lab/paper4-tls",
    ] {
        feature(&report, name);
    }
    let ready = report["features"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["default"] == true)
        .all(|one| one["ready"] == true);
    assert_eq!(code, Some(if ready { 0 } else { 1 }));
}

#[test]
fn what_is_not_ready_says_why_and_how_to_get_it() {
    let empty = tempfile::tempdir().unwrap();
    let (_, report) = json(&[], Some(empty.path()));
    for standing in report["features"].as_array().unwrap() {
        for need in standing["needs"].as_array().unwrap() {
            if need["met"] == false {
                assert!(!need["reason"].as_str().unwrap().is_empty(), "{need}");
                assert!(!need["get"].as_str().unwrap().is_empty(), "{need}");
            }
        }
    }
}

#[test]
fn with_an_empty_path_each_program_is_named_with_the_command_that_brings_it() {
    let empty = tempfile::tempdir().unwrap();
    let said = doctor(&["--for", "demo"], Some(empty.path()));
    assert_eq!(said.code, Some(1), "{}{}", said.out, said.err);
    assert!(said.out.contains("apt-get install curl"), "{}", said.out);
    // Where /usr/sbin has it, the command is another.
    assert!(said.out.contains("nghttpd: "), "{}", said.out);
    assert!(said.out.contains("not ready"), "{}", said.out);
}

#[test]
fn the_sidecar_needs_no_program_at_all() {
    let empty = tempfile::tempdir().unwrap();
    let (code, report) = json(
        &["--for", "sidecar", "--for", "ca", "--for", "inspect"],
        Some(empty.path()),
    );
    assert_eq!(code, Some(0));
    assert_eq!(report["features"].as_array().unwrap().len(), 3);
    assert_eq!(report["tools"].as_array().unwrap().len(), 0);
}

#[test]
fn a_program_is_believed_by_what_it_does_and_not_by_what_it_says() {
    let folder = tempfile::tempdir().unwrap();
    // It claims to be new, and can make no key.
    fake(
        folder.path(),
        "openssl",
        "case $1 in version) echo OpenSSL 3.9.0;; *) echo unknown algorithm >&2; exit 1;; esac",
    );
    // It does not know the option, whatever its version.
    fake(
        folder.path(),
        "curl",
        "case $1 in --version) echo curl 99.0;; *) echo unknown option >&2; exit 2;; esac",
    );
    let (code, report) = json(&[], Some(folder.path()));
    assert_eq!(code, Some(1));
    let tools = report["tools"].as_array().unwrap();
    let openssl = tools
        .iter()
        .find(|tool| tool["program"] == "openssl" && tool["of"] == "host")
        .unwrap();
    assert_eq!(openssl["version"], "OpenSSL 3.9.0");
    for ability in openssl["abilities"].as_array().unwrap() {
        assert_eq!(ability["is"], "absent", "{ability}");
        assert!(
            ability["reason"].as_str().unwrap().contains("unknown algorithm"),
            "{ability}"
        );
    }
    let demo = feature(&report, "demo");
    assert_eq!(demo["ready"], false);
    assert!(
        demo["needs"][0]["reason"].as_str().unwrap().contains("unknown option"),
        "{demo}"
    );
}

#[test]
fn a_program_that_does_not_run_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    fake(
        folder.path(),
        "nghttpd",
        "echo cannot load libnghttp2.so.14 >&2; exit 127",
    );
    fs::write(folder.path().join("curl"), "not a program").unwrap();
    let (_, report) = json(&["--for", "demo"], Some(folder.path()));
    let tools = report["tools"].as_array().unwrap();
    let of = |name: &str| tools.iter().find(|tool| tool["program"] == name).unwrap();
    assert_eq!(of("nghttpd")["is"], "absent");
    assert!(of("nghttpd")["reason"].as_str().unwrap().contains("libnghttp2"));
    // A file that nobody may run is none.
    assert_eq!(of("curl")["reason"], "not in PATH");
}

#[test]
fn an_unknown_feature_is_a_usage_error_that_names_those_there_are() {
    let said = doctor(&["--for", "warp"], None);
    assert_eq!(said.code, Some(64));
    assert!(said.err.contains("redirect"), "{}", said.err);
}

#[test]
fn completions_know_the_features() {
    let output = Command::new(env!("CARGO_BIN_EXE_bartizan"))
        .args(["completions", "bash"])
        .output()
        .unwrap();
    let script = String::from_utf8(output.stdout).unwrap();
    assert!(
        script.contains("sidecar redirect ca inspect demo"),
        "no features of doctor"
    );
}

mod as_root {
    use super::*;

    /// Root tries with all rights, and with none: the same binary as a user who owns nothing.
    #[test]
    fn rights_are_those_of_who_asks() {
        let (_, report) = json(&["--for", "redirect"], None);
        let right = |report: &serde_json::Value, thing: &str| {
            let rights = report["rights"].as_array().unwrap().clone();
            rights.into_iter().find(|one| one["thing"] == thing).unwrap()["is"].clone()
        };
        assert_eq!(right(&report, "root"), "present");
        assert_eq!(right(&report, "capture"), "present");

        let place = tempfile::tempdir().unwrap();
        let binary = place.path().join("bartizan");
        fs::copy(env!("CARGO_BIN_EXE_bartizan"), &binary).unwrap();
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let nobody = [
            "--reuid",
            "64990",
            "--regid",
            "64990",
            "--clear-groups",
            "--inh-caps=-all",
            "--bounding-set=-all",
        ];
        let output = Command::new("setpriv")
            .args(nobody)
            .arg("--")
            .arg(&binary)
            .args(["doctor", "--for", "redirect", "--json"])
            .env("HOME", place.path())
            .current_dir(place.path())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect(&text);
        for thing in ["root", "net-admin", "sys-admin", "network-namespaces", "capture"] {
            assert_eq!(right(&report, thing), "absent", "{thing}");
        }
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(feature(&report, "redirect")["needs"][0]["met"], false);
    }
}
