//! `bartizan sidecar redirect` as its user types it, where no rule is written: this needs no root.

mod redirect_stage;

use std::process::{Command, Output};

use redirect_stage::deployment;

fn run(text: &str, arguments: &[&str]) -> Output {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("deployment.yaml"), text).unwrap();
    Command::new(env!("CARGO_BIN_EXE_bartizan"))
        .args(["sidecar", "redirect"])
        .args(arguments)
        .current_dir(place.path())
        .output()
        .unwrap()
}

/// Exit code and standard error.
fn refused(text: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let output = run(text, arguments);
    assert!(output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn rules_are_those_of_the_file() {
    let output = run(
        &deployment(),
        &[
            "install",
            "deployment.yaml",
            "--node",
            "amf",
            "--user",
            "999",
            "--dry-run",
        ],
    );
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    insta::assert_snapshot!(String::from_utf8(output.stdout).unwrap());
}

#[test]
fn file_that_would_not_hold_is_refused_with_place_and_hint() {
    let file = deployment().replace("listen: '10.88.0.1:7443'", "listen: '0.0.0.0:8000'");
    let (code, said) = refused(
        &file,
        &[
            "install",
            "deployment.yaml",
            "--node",
            "amf",
            "--user",
            "999",
            "--dry-run",
        ],
    );
    assert_eq!(code, Some(64));
    insta::assert_snapshot!("guard_over_the_sidecars_own_port", said);

    let file = deployment().replace(
        "{ listen: '127.0.0.1:15001', transparent: true }",
        "{ listen: '127.0.0.1:15001', to: nrf }",
    );
    let (code, said) = refused(&file, &["install", "deployment.yaml", "--node", "amf", "--user", "999"]);
    assert_eq!(code, Some(64));
    insta::assert_snapshot!("no_transparent_listener_on_ipv4", said);

    let file = deployment().replace("transparent: true", "to: nrf");
    let (code, said) = refused(&file, &["install", "deployment.yaml", "--node", "amf", "--user", "999"]);
    assert_eq!(code, Some(64));
    insta::assert_snapshot!("no_transparent_listener", said);
}

#[test]
fn transparent_listener_off_loopback_is_refused() {
    let file = deployment().replace("127.0.0.1:15001", "0.0.0.0:15001");
    let (code, said) = refused(&file, &["install", "deployment.yaml", "--node", "amf", "--user", "999"]);
    assert_eq!(code, Some(64));
    insta::assert_snapshot!(said);
}

#[test]
fn mistyped_commands_are_usage_errors_with_a_hint() {
    for arguments in [
        &["install", "deployment.yaml", "--node", "smf", "--user", "999"][..],
        &["install", "deployment.yaml", "--node", "amf", "--user", "root"],
        &["install", "deployment.yaml", "--node", "amf", "--user", "no-such-user"],
        &["install", "nowhere.yaml", "--node", "amf", "--user", "999"],
    ] {
        let (code, said) = refused(&deployment(), arguments);
        assert_eq!(code, Some(64), "{arguments:?}: {said}");
        assert!(
            said.starts_with("error: ") && said.contains("\nhint: "),
            "{arguments:?}: {said}"
        );
    }
    for arguments in [&["install"][..], &["remove", "deployment.yaml"], &["instal"], &[]] {
        assert_eq!(refused(&deployment(), arguments).0, Some(64), "{arguments:?}");
    }
}

#[test]
fn dry_run_of_remove_says_what_stays() {
    let output = run("", &["remove", "--keep-guard", "--dry-run"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        said,
        "would remove the redirect; guard and fence stay: requests to peers fail\n"
    );
}
