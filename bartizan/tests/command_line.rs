//! Behaviour that all commands share: help pages, exit codes, `--json`, options that mean one
//! thing, and output without a reader.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn bartizan(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bartizan"));
    command
        .args(arguments)
        .env_remove("BARTIZAN_CA_PASSPHRASE")
        .stdin(Stdio::null());
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Commands that `bartizan-lab` does: their help is that of another program.
const LABORATORY: &[&str] = &[
    "bench",
    "demo",
    "lab",
    "plan calibrate",
    "plan capacity",
    "plan engines",
    "plan measured",
    "plan merge",
    "plan published",
    "plan storm",
];

/// A page of help, and the pages below it but that of `help`, which is clap's own, and those of the laboratory.
fn pages(words: &[String], found: &mut Vec<(String, String, bool)>) {
    let mut arguments: Vec<_> = words.iter().map(String::as_str).collect();
    arguments.push("--help");
    let output = bartizan(&arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{arguments:?}");
    let page = text(&output.stdout);
    let listed = page.split_once("\nCommands:\n").map_or("", |(_, rest)| rest);
    // Names stand at two spaces; what is said of them further in, or in the same line.
    let below: Vec<String> = listed
        .lines()
        .take_while(|line| line.is_empty() || line.starts_with("  "))
        .filter_map(|line| Some(line.strip_prefix("  ")?.split(' ').next()?.to_owned()))
        .filter(|name| !name.is_empty() && name != "help")
        .filter(|name| !LABORATORY.contains(&[words, std::slice::from_ref(name)].concat().join(" ").as_str()))
        .collect();
    found.push((words.join(" "), page, below.is_empty()));
    for name in below {
        pages(&[words, &[name]].concat(), found);
    }
}

/// Those that print no report, each with the reason why `--json` would say nothing.
const WITHOUT_JSON: &[(&str, &str)] = &[
    ("ca serve", "serves: its audit log is JSON"),
    ("ca withdraw", "ca invitations --json says what came of it"),
    ("completions", "prints a script"),
    (
        "controller",
        "its objects are those of the API server: kubectl --output json",
    ),
    ("guard install", "guard show --json says what came of it"),
    ("guard remove", "guard show --json says what came of it"),
    ("init", "writes a file, and prints commands for a shell"),
    ("man", "writes manual pages"),
    ("schema", "prints JSON, and nothing else"),
    (
        "sidecar",
        "serves: its log has --log-format json, its state the admin port",
    ),
    (
        "sidecar redirect install",
        "sidecar redirect show --json says what came of it",
    ),
    (
        "sidecar redirect remove",
        "sidecar redirect show --json says what came of it",
    ),
    (
        "sidecar redirect watch",
        "serves: sidecar redirect show --json says what is installed",
    ),
    ("watch", "serves: its records are the ledger"),
    ("webhook", "serves: what it answers is JSON"),
];

#[test]
fn every_help_page_has_an_example_exit_codes_and_json_and_options_mean_one_thing() {
    let mut found = Vec::new();
    pages(&[], &mut found);
    let mut faults = Vec::new();
    let (mut commands, mut without_json) = (0, BTreeSet::new());
    let mut meanings = BTreeSet::new();
    for (words, page, is_leaf) in &found {
        for line in page.lines() {
            let Some(option) = line.trim_start().strip_prefix("--") else {
                continue;
            };
            let mut parts = option.split_whitespace();
            let (name, value) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
            if line.starts_with("      --") && ["out", "for", "ledger", "dir", "file"].contains(&name) {
                meanings.insert((
                    name.to_owned(),
                    value.trim_end_matches(".jsonl>").trim_end_matches('>').to_owned(),
                ));
            }
        }
        if !is_leaf && words != "sidecar" && words != "inspect" {
            continue;
        }
        commands += 1;
        if !page.contains("Example") || !page.contains(&format!("\n  bartizan {}", words.split(' ').next().unwrap())) {
            faults.push(format!("{words}: no example"));
        }
        let codes = page.split_once("Exit codes:\n").map_or("", |(_, codes)| codes);
        if ["  0   ", "  2   ", "  64  "].iter().any(|code| !codes.contains(code)) {
            faults.push(format!("{words}: no exit codes"));
        }
        let is_json = |line: &str| {
            line.strip_prefix("      --json")
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        };
        if !page.lines().any(is_json) {
            without_json.insert(words.as_str());
        }
    }
    assert!(commands > 25, "{commands}");
    assert_eq!(faults, Vec::<String>::new());
    assert_eq!(without_json, WITHOUT_JSON.iter().map(|(words, _)| *words).collect());
    let meanings: Vec<_> = meanings
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let expected = [
        ("dir", "<DIR"),
        ("file", "<FILE"),
        ("for", "<DURATION"),
        ("ledger", "<FILE"),
        ("out", "<DIR"),
    ];
    assert_eq!(meanings, expected);
}

/// Before, `inspect -h` had 162 lines.
#[test]
fn first_screen_of_each_command_fits_40_lines_of_80_columns_and_no_example_wraps() {
    let mut found = Vec::new();
    pages(&[], &mut found);
    let (mut long, mut wrapped) = (Vec::new(), Vec::new());
    for (words, page, _) in &found {
        let mut command = bartizan(&words.split_whitespace().chain(["-h"]).collect::<Vec<_>>());
        let screen = text(&command.env("COLUMNS", "80").output().unwrap().stdout);
        let lines = screen.lines().count();
        if lines > bartizan_terminal::help::LINES {
            long.push(format!("{words}: {lines}"));
        }
        for page in [&screen, page] {
            let examples = page.split_once("\nExamples:\n").map_or("", |(_, behind)| behind);
            let examples = examples.split("\n\n").next().unwrap_or_default();
            wrapped.extend(
                examples
                    .lines()
                    .filter(|line| line.chars().count() > 80)
                    .map(str::to_owned),
            );
        }
        // Options in groups are those that the whole page has.
        let options = |page: &str| page.lines().filter(|line| line.trim_start().starts_with('-')).count();
        assert!(options(&screen) <= options(page) && options(&screen) > 0, "{words}");
    }
    assert_eq!((long, wrapped), (Vec::<String>::new(), Vec::<String>::new()));
}

/// Before, lines of 36 to 365 of these exceeded a terminal of 80 columns.
#[test]
fn tables_and_paragraphs_fit_the_columns_and_a_row_of_a_pipe_is_a_line() {
    let place = place();
    let commands = [
        &["algorithms"][..],
        &["check", "core.yaml", "--interfaces", "--budget", "--migrate"],
        &["plan", "delay"],
        &["plan", "mtu"],
        &["plan", "fronthaul"],
        &["ca", "list", "--dir", "ca"],
    ];
    for arguments in commands {
        let said = |columns: Option<&str>| {
            let mut command = bartizan(arguments);
            command.current_dir(place.path()).env_remove("COLUMNS");
            command.envs(columns.map(|columns| ("COLUMNS", columns)));
            text(&command.output().unwrap().stdout)
        };
        let whole = said(None);
        assert!(whole.lines().count() > 1, "{arguments:?}: {whole}");
        for columns in [80, 120] {
            let said = said(Some(&columns.to_string()));
            let wide = said.lines().find(|line| line.chars().count() > columns);
            assert_eq!(wide, None, "{arguments:?}, {columns}");
            // Nothing is cut.
            let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).count();
            assert!(letters(&said) >= letters(&whole) * 9 / 10, "{arguments:?}, {columns}");
        }
        assert_ne!(whole, said(Some("80")), "{arguments:?}");
    }
}

#[test]
fn help_of_a_command_is_asked_for_before_its_name_too() {
    let mut found = Vec::new();
    pages(&[], &mut found);
    let asked = |before: &[&str], words: &str, behind: &[&str]| {
        let arguments = [before, &words.split_terminator(' ').collect::<Vec<_>>(), behind].concat();
        let output = bartizan(&arguments).output().unwrap();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    for (words, page, is_leaf) in &found {
        let expected = (Some(0), page.clone(), String::new());
        assert_eq!(asked(&["help"], words, &[]), expected, "{words}");
        // Within a group as well, and it lists the command.
        if !is_leaf {
            assert_eq!(asked(&[], words, &["help"]), expected, "{words}");
            assert!(page.lines().any(|line| line.starts_with("  help ")), "{words}: {page}");
        }
    }
    let (code, _, said) = asked(&["help"], "sidecar nowhere", &[]);
    assert_eq!(code, Some(64), "{said}");
    assert!(said.contains("nowhere"), "{said}");
}

#[test]
fn the_version_at_length_names_commit_features_and_module_as_they_were_linked() {
    let output = bartizan(&["--version", "--verbose"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let said = text(&output.stdout);
    let short = text(&bartizan(&["--version"]).output().unwrap().stdout);
    assert!(said.starts_with(&short), "{said}");
    let row = |name: &str| {
        let row = said.lines().find_map(|line| line.strip_prefix(name));
        row.unwrap_or_else(|| panic!("{name}: {said}")).trim().to_owned()
    };
    // Tests of the whole workspace are built with every feature.
    assert!(row("features").split(", ").any(|feature| feature == "full"), "{said}");
    let commit = row("commit");
    let known = commit
        .get(..40)
        .is_some_and(|id| id.bytes().all(|digit| digit.is_ascii_hexdigit()));
    assert!(known || commit.starts_with("unknown: "), "{said}");
    let module = row("cryptographic module");
    assert!(
        module.starts_with("AWS-LC (aws-lc-rs ") && module.contains("FIPS"),
        "{said}"
    );
    let tokens = if cfg!(target_feature = "crt-static") {
        "no: "
    } else {
        "yes: "
    };
    assert!(row("pkcs#11").starts_with(tokens), "{said}");
    let lock = include_str!("../../Cargo.lock");
    let (_, package) = lock.split_once("name = \"aws-lc-rs\"\nversion = \"").unwrap();
    let version = package.split('"').next().unwrap();
    assert!(row("libraries").contains(&format!("aws-lc-rs {version}")), "{said}");
    // The other order is the same; alone it has no meaning.
    let other = bartizan(&["--verbose", "-V"]).output().unwrap();
    assert_eq!(text(&other.stdout), said);
    for wrong in [&["--verbose"][..], &["--verbose", "algorithms"]] {
        assert_eq!(bartizan(wrong).output().unwrap().status.code(), Some(64), "{wrong:?}");
    }
}

/// A CA with a certificate, a deployment file and nothing else.
fn place() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    let ca = |arguments: &[&str]| {
        let output = bartizan(arguments).current_dir(place.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?} {}", text(&output.stderr));
    };
    ca(&["ca", "init", "--dir", "ca", "--algorithm", "ed25519"]);
    ca(&[
        "ca", "issue", "--dir", "ca", "--name", "nrf", "--dns", "nrf", "--out", "out",
    ]);
    let network = "nodes: { amf: { function: AMF, address: 10.0.0.1 } }\n";
    std::fs::write(place.path().join("core.yaml"), network).unwrap();
    place
}

/// Commands that print something, without rights and at once.
const PRINTING: &[&[&str]] = &[
    &["--help"],
    &["--version"],
    &["--version", "--verbose"],
    &["ca", "revoke", "--help"],
    &["help", "ca", "revoke"],
    &["algorithms"],
    &["algorithms", "--json"],
    &["ca", "list", "--dir", "ca"],
    &["ca", "list", "--dir", "ca", "--json"],
    &["ca", "show", "--dir", "ca", "nrf"],
    &["ca", "show", "--dir", "ca", "nrf", "--pem"],
    &["ca", "crl", "--dir", "ca", "--file", "-"],
    &["check", "core.yaml"],
    &["check", "core.yaml", "--json"],
    &["completions", "bash"],
    &["completions", "zsh"],
    &["doctor", "ca"],
    &["schema"],
];

fn into(output: impl Into<Stdio>, arguments: &[&str], place: &Path) -> Output {
    let mut command = bartizan(arguments);
    command.current_dir(place).stdout(output).output().unwrap()
}

#[test]
fn a_closed_pipe_is_the_readers_choice_and_a_full_disk_is_a_failure() {
    let place = place();
    for arguments in PRINTING {
        let read = into(Stdio::piped(), arguments, place.path());
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let closed = into(writer, arguments, place.path());
        let said = text(&closed.stderr);
        assert_eq!(closed.status.code(), read.status.code(), "{arguments:?}: {said}");
        assert_eq!(said, text(&read.stderr), "{arguments:?}");
        if arguments
            .iter()
            .any(|argument| ["--help", "help", "--version"].contains(argument))
        {
            continue;
        }
        let full = into(
            File::options().write(true).open("/dev/full").unwrap(),
            arguments,
            place.path(),
        );
        let said = text(&full.stderr);
        assert_eq!(full.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(
            said.contains("error: standard output: No space left"),
            "{arguments:?}: {said}"
        );
    }
}

#[test]
fn a_log_on_a_terminal_is_coloured_unless_no_color_is_set() {
    let place = place();
    let [listen, forward] = bartizan_testing::loopback_addresses().unwrap();
    let network = format!(
        "trust: {{ roots: out/ca.crt.pem }}
policy: {{ profile: classical, lab: true }}
nodes:
  amf: {{ function: AMF, address: 127.0.0.2 }}
  nrf:
    function: NRF
    address: 127.0.0.1
    certificate: out/nrf.crt.pem
    key: out/nrf.key.pem
    sidecar: {{ inbound: [{{ listen: '{listen}', forward: '{forward}' }}] }}
interfaces: [{{ kind: SBI, between: [amf, nrf], with: sidecar }}]
"
    );
    std::fs::write(place.path().join("core.yaml"), network).unwrap();
    let binary = env!("CARGO_BIN_EXE_bartizan");
    for (log, no_color, coloured) in [
        ("log-unset", None, true),
        ("log-empty", Some(""), true),
        ("log-set", Some("1"), false),
    ] {
        // A terminal of its own, until the sidecar reports that it is ready or has ended. `script`
        // writes the command itself to the log, so the pattern must not match its own text; and it
        // empties a log only when it first writes to it, so each time has one of its own.
        let line = format!(
            "{binary} sidecar core.yaml --node nrf & p=$!; until grep -q '[r]eady' {log} || ! kill -0 $p; do sleep 0.1; done; kill $p; wait $p"
        );
        let mut terminal = Command::new("script");
        terminal
            .args(["-qfec", &line, log])
            .current_dir(place.path())
            .stdin(Stdio::null());
        terminal
            .env_remove("NO_COLOR")
            .envs(no_color.map(|value| ("NO_COLOR", value)));
        terminal.output().unwrap();
        let log = std::fs::read_to_string(place.path().join(log)).unwrap();
        assert!(log.contains("certificate in use"), "{log}");
        assert_eq!(log.contains("\u{1b}["), coloured, "{no_color:?}: {log}");
    }
}

#[test]
fn standard_error_that_nobody_reads_is_no_panic() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = bartizan(&["check", "nowhere.yaml"]);
    let status = command.stderr(writer).status().unwrap();
    assert_eq!(status.code(), Some(64));
}

#[test]
fn a_renewed_certificate_is_revoked_by_serial_and_dates_say_which() {
    let place = place();
    let run = |arguments: &[&str]| bartizan(arguments).current_dir(place.path()).output().unwrap();
    assert!(
        run(&["ca", "renew", "--dir", "ca", "nrf", "--out", "out", "--force"])
            .status
            .success()
    );
    let said = text(&run(&["ca", "revoke", "--dir", "ca", "nrf"]).stderr);
    let dated = said
        .lines()
        .filter(|line| line.contains(", issued 2") && line.contains(", valid until 2"))
        .count();
    assert_eq!(dated, 2, "{said}");
    // As it stands in the hint it is taken.
    let first = said
        .lines()
        .find_map(|line| Some(line.strip_prefix("hint: ")?.split_once(", issued")?.0))
        .unwrap();
    let revoked = run(&["ca", "revoke", "--dir", "ca", first, "--json"]);
    let revoked: serde_json::Value = serde_json::from_slice(&revoked.stdout).unwrap();
    assert_eq!(
        (revoked["serial"].as_str(), revoked["name"].as_str()),
        (Some(first), Some("nrf"))
    );
}

/// `up` advised to write an IPsec link where the node has a sidecar, and `watch` where it has MACsec.
#[test]
fn commands_of_ipsec_name_what_runs_the_links_that_a_node_has() {
    let place = tempfile::tempdir().unwrap();
    let network = "trust: { roots: ca.crt.pem }\nnodes:\n  \
        amf: { function: AMF, address: 10.0.0.1, certificate: amf.crt.pem, key: amf.key.pem, sidecar: { outbound: [{ listen: 127.0.0.1:8001, to: nrf }] } }\n  \
        nrf: { function: NRF, address: 10.0.0.2, certificate: nrf.crt.pem, key: nrf.key.pem, sidecar: { inbound: [{ listen: 10.0.0.2:8443, forward: 127.0.0.1:8000 }] } }\n  \
        odu: { function: O-DU, address: 10.0.0.3, certificate: odu.crt.pem, key: odu.key.pem }\n  \
        oru: { function: O-RU, address: 10.0.0.4, certificate: oru.crt.pem, key: oru.key.pem }\n\
        interfaces:\n  - { kind: SBI, between: [amf, nrf], with: sidecar }\n  \
        - { kind: FH, between: [odu, oru], with: macsec, macsec: { port: { odu: eth0, oru: eth0 } } }\n";
    std::fs::write(place.path().join("core.yaml"), network).unwrap();
    for (command, node, hint) in [
        ("up", "amf", "`bartizan sidecar core.yaml --node amf`"),
        ("rekey", "amf", "`bartizan sidecar core.yaml --node amf`"),
        ("down", "amf", "`bartizan sidecar core.yaml --node amf`"),
        ("watch", "amf", "`bartizan sidecar core.yaml --node amf`"),
        ("watch", "odu", "`bartizan up core.yaml --node odu`"),
    ] {
        let asked = [command, "core.yaml", "--node", node];
        let output = bartizan(&asked).current_dir(place.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(64), "{asked:?}");
        assert!(
            text(&output.stderr).contains(hint),
            "{asked:?}: {}",
            text(&output.stderr)
        );
    }
}

#[test]
fn an_unknown_algorithm_is_answered_with_those_there_are() {
    let output = bartizan(&["ca", "init", "--dir", "ca", "--algorithm", "rsa"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(64));
    assert!(text(&output.stderr).contains("ml-dsa-65, "), "{}", text(&output.stderr));
}

#[test]
fn commands_of_the_laboratory_are_executed_by_its_program_or_say_where_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("bartizan");
    bartizan_testing::copy_program(env!("CARGO_BIN_EXE_bartizan"), &program);
    let run = |arguments: &[&str]| {
        Command::new(&program)
            .args(arguments)
            .env("PATH", "/nowhere")
            .output()
            .unwrap()
    };
    for words in LABORATORY {
        let arguments: Vec<_> = words.split(' ').chain(["--help"]).collect();
        let output = run(&arguments);
        assert_eq!(output.status.code(), Some(2), "{words}");
        assert!(
            text(&output.stderr).contains("hint: this command belongs to the laboratory"),
            "{words}"
        );
    }
    let lab = folder.path().join("bartizan-lab");
    std::fs::write(&lab, "#!/bin/sh\necho \"$*\"\nexit 7\n").unwrap();
    std::fs::set_permissions(&lab, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    for (typed, executed) in [
        (&["lab", "run", "peers", "--quick"][..], "run peers --quick\n"),
        (&["bench", "--help"], "bench --help\n"),
        (&["plan", "storm", "--sites", "3"], "plan storm --sites 3\n"),
    ] {
        let output = run(typed);
        assert_eq!(
            (output.status.code(), text(&output.stdout).as_str()),
            (Some(7), executed)
        );
    }
}

#[test]
fn where_the_target_is_elsewhere_the_demo_is_found() {
    let output = Command::new("make")
        .args(["--dry-run", "demo"])
        .env("CARGO_TARGET_DIR", "/elsewhere")
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .output()
        .unwrap();
    let said = text(&output.stdout);
    assert!(
        said.lines()
            .any(|line| line.starts_with("/elsewhere/release/bartizan-lab demo")),
        "{said}"
    );
}

/// Behaviour for a user without rights: root runs the commands as the user with number 65534.
mod as_root {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_may_not_be_read_is_called_so() {
        let place = place();
        std::fs::set_permissions(place.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let network = "\
trust: { roots: out/ca.crt.pem }
nodes:
  nrf: { function: NRF, address: 10.0.0.1, certificate: out/nrf.crt.pem, key: out/nrf.key.pem }
";
        std::fs::write(place.path().join("core.yaml"), network).unwrap();
        std::fs::set_permissions(place.path().join("ca"), PermissionsExt::from_mode(0o700)).unwrap();
        // The folder of the test's own program may be closed to other users.
        let binary = place.path().join("bartizan");
        bartizan_testing::copy_program(env!("CARGO_BIN_EXE_bartizan"), &binary);
        let run = |arguments: &[&str]| {
            let mut command = Command::new(&binary);
            command
                .args(arguments)
                .current_dir(place.path())
                .uid(65_534)
                .gid(65_534);
            command.output().unwrap()
        };
        let list = run(&["ca", "list", "--dir", "ca"]);
        let said = text(&list.stderr);
        assert_eq!(list.status.code(), Some(2));
        assert!(
            said.contains("Permission denied") && !said.contains("no certificate authority"),
            "{said}"
        );
        assert!(said.contains("hint: run it as the user"), "{said}");
        let check = run(&["check", "core.yaml", "--node", "nrf"]);
        let said = text(&check.stdout);
        assert_eq!(check.status.code(), Some(1));
        assert!(
            said.contains("this user may not read it") && said.contains("sudo -u bartizan"),
            "{said}"
        );
        std::fs::set_permissions(place.path().join("core.yaml"), PermissionsExt::from_mode(0o600)).unwrap();
        let closed = run(&["check", "core.yaml"]);
        let said = text(&closed.stderr);
        assert_eq!(closed.status.code(), Some(64));
        assert!(
            said.contains("Permission denied") && said.contains("hint: run it as root"),
            "{said}"
        );
    }
}
