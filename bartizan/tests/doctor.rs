//! `bartizan doctor` as its user meets it: on this machine, without rights, without programs, with
//! programs that are not what their names say.

use bartizan_testing::Build as _;
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

/// A program that prints what it is given, and ends.
fn fake(folder: &Path, name: &str, script: &str) {
    let (text, path) = (folder.join(format!("{name}.sh")), folder.join(name));
    fs::write(&text, format!("#!/bin/sh\n{script}\n")).unwrap();
    // A file that is open for writing here is open in processes that other tests are starting, and
    // cannot be run meanwhile.
    bartizan_testing::copy_program(&text, &path);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn every_feature_is_judged_and_the_exit_code_is_what_the_default_ones_say() {
    let (code, report) = json(&[], None);
    assert_eq!(report["schema"], "bartizan-doctor/1");
    for name in ["sidecar", "redirect", "ca", "inspect", "demo", "lab-root"] {
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

/// Before, it printed 590 lines, of which 495 were about experiments.
#[test]
fn without_arguments_the_report_fits_one_screen() {
    let empty = tempfile::tempdir().unwrap();
    for path in [None, Some(empty.path())] {
        let said = doctor(&[], path);
        assert!(said.out.lines().count() <= 24, "{}", said.out);
        let mut lines = said.out.lines().filter(|line| !line.contains(" hint: "));
        assert!(lines.all(|line| line.chars().count() <= 80), "{}", said.out);
        assert!(!said.out.lines().skip(1).any(|line| line.contains('…')), "{}", said.out);
        assert!(said.out.contains("sidecar      ready"), "{}", said.out);
        assert!(!said.out.contains("lab/"), "{}", said.out);
    }
    let bare = doctor(&[], Some(empty.path()));
    assert_eq!(bare.code, Some(1));
    assert!(
        bare.out.contains("  no   demo         not ready: needs "),
        "{}",
        bare.out
    );
    assert!(bare.out.contains("       hint: "), "{}", bare.out);
    let all = doctor(&["--all"], None).out;
    for heading in ["rights", "kernel", "programs", "features"] {
        assert!(all.lines().any(|line| line == heading), "{heading}: {all}");
    }
}

#[test]
fn what_is_not_ready_says_why_and_how_to_get_it() {
    let empty = tempfile::tempdir().unwrap();
    let asked = ["redirect", "demo", "ipsec", "ike-engine", "guest", "lab-root"];
    let (code, report) = json(&asked, Some(empty.path()));
    assert_eq!(code, Some(1));
    for readiness in report["features"].as_array().unwrap() {
        for need in readiness["needs"].as_array().unwrap() {
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
    let said = doctor(&["demo"], Some(empty.path()));
    assert_eq!(said.code, Some(1), "{}{}", said.out, said.err);
    assert!(said.out.contains("apt-get install curl"), "{}", said.out);
    // The command differs if it is found in /usr/sbin.
    assert!(said.out.contains("nghttpd: "), "{}", said.out);
    assert!(said.out.contains("not ready"), "{}", said.out);
}

#[test]
fn the_sidecar_needs_no_program_at_all() {
    let empty = tempfile::tempdir().unwrap();
    let (code, report) = json(&["sidecar", "ca", "inspect"], Some(empty.path()));
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
    old_strongswan(folder.path());
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
    let pki = tool(&report, "pki", folder.path());
    assert_eq!(pki["version"], "strongSwan 5.9.8 PKI tool");
    assert_eq!(pki["abilities"][0]["is"], "absent");
    let demo = feature(&report, "demo");
    assert_eq!(demo["ready"], false);
    assert!(
        demo["needs"][1]["reason"].as_str().unwrap().contains("unknown option"),
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
    let (_, report) = json(&["demo"], Some(folder.path()));
    let tools = report["tools"].as_array().unwrap();
    let of = |name: &str| tools.iter().find(|tool| tool["program"] == name).unwrap();
    assert_eq!(of("nghttpd")["is"], "absent");
    assert!(of("nghttpd")["reason"].as_str().unwrap().contains("libnghttp2"));
    // A file without execute permission is not a program.
    assert_eq!(of("curl")["reason"], "not in PATH");
}

#[test]
fn an_unknown_feature_is_a_usage_error_that_names_those_there_are() {
    let said = doctor(&["warp"], None);
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
        script.contains("sidecar redirect ca inspect demo ipsec ike-engine macsec guest lab-root"),
        "no features of doctor"
    );
}

/// A strongSwan of the time before ML-KEM, as far as programs without a daemon can be that.
fn old_strongswan(folder: &Path) {
    fake(folder, "swanctl", "echo strongSwan 5.9.8 swanctl");
    fake(
        folder,
        "pki",
        "case $1 in --help) echo strongSwan 5.9.8 PKI tool;; *) echo error: invalid key type >&2; exit 1;; esac",
    );
    fake(
        folder,
        "charon-systemd",
        "echo 'loading plugin vici failed: version mismatch' >&2; exit 1",
    );
}

fn tool<'a>(report: &'a serde_json::Value, program: &str, folder: &Path) -> &'a serde_json::Value {
    let path = folder.join(program);
    let tools = report["tools"].as_array().unwrap();
    tools
        .iter()
        .find(|tool| tool["path"] == path.to_str().unwrap())
        .unwrap()
}

mod as_root {
    use super::*;

    #[test]
    fn an_old_strongswan_in_the_path_is_started_and_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        old_strongswan(folder.path());
        // The attempt itself needs programs of the system.
        let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
        let (_, report) = json(&["ipsec"], Some(Path::new(&path)));
        let charon = tool(&report, "charon-systemd", folder.path());
        assert_eq!(charon["is"], "absent");
        assert!(
            charon["reason"].as_str().unwrap().contains("version mismatch"),
            "{charon}"
        );
        assert_eq!(charon["abilities"].as_array().unwrap().len(), 0);
    }

    /// The lab's strongSwan is a real one: what it is said to do it has done.
    #[test]
    fn strongswan_of_the_lab_root_speaks_ml_kem_and_knows_no_ml_dsa() {
        let root = bartizan_host::LabRoot::sid().unwrap().ensure(&mut |_| {}).unwrap();
        let (code, report) = json(&["ipsec"], None);
        let tools = report["tools"].as_array().unwrap();
        let of = root.directory().to_str().unwrap();
        let charon = tools
            .iter()
            .find(|tool| tool["program"] == "charon-systemd" && tool["of"] == of)
            .unwrap();
        assert!(
            charon["version"].as_str().unwrap().starts_with("strongSwan 6."),
            "{charon}"
        );
        let is = |thing: &str| {
            let abilities = charon["abilities"].as_array().unwrap();
            abilities.iter().find(|one| one["thing"] == thing).unwrap()["is"].clone()
        };
        for thing in ["charon-ml-kem", "charon-hybrid", "charon-ppk", "charon-libipsec"] {
            assert_eq!(is(thing), "present", "{thing}");
        }
        assert_eq!(is("charon-ml-dsa"), "absent");
        let ready = feature(&report, "ipsec")["ready"] == true;
        assert_eq!(code, Some(if ready { 0 } else { 1 }));
    }

    /// Root tries with all rights, and with none: the same binary as a user who owns nothing.
    #[test]
    fn rights_are_those_of_who_asks() {
        let (_, report) = json(&["redirect"], None);
        let right = |report: &serde_json::Value, thing: &str| {
            let rights = report["rights"].as_array().unwrap().clone();
            rights.into_iter().find(|one| one["thing"] == thing).unwrap()["is"].clone()
        };
        assert_eq!(right(&report, "root"), "present");
        assert_eq!(right(&report, "capture"), "present");

        let place = tempfile::tempdir().unwrap();
        let binary = place.path().join("bartizan");
        bartizan_testing::copy_program(env!("CARGO_BIN_EXE_bartizan"), &binary);
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
            .args(["doctor", "redirect", "--json"])
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
