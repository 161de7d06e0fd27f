//! `bartizan init`: what it writes is accepted as it is, and the commands that it prints make all that the file names.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use bartizan_deployment::{Deployment, Protection};

const KINDS: [&[&str]; 5] = [
    &["free5gc"],
    &["open5gs"],
    &["e2"],
    &["e2", "--engine", "bartizan"],
    &["fronthaul"],
];

fn bartizan(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bartizan"));
    command
        .args(arguments)
        .current_dir(folder)
        .env_remove("BARTIZAN_CA_PASSPHRASE")
        .stdin(Stdio::null());
    command.output().unwrap()
}

/// The commands as a shell runs them, which ends with the first that fails or finds something.
fn shell(folder: &Path, commands: &[u8]) -> Output {
    let binary = Path::new(env!("CARGO_BIN_EXE_bartizan"));
    let path = format!(
        "{}:{}",
        binary.parent().unwrap().display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let mut command = Command::new("sh");
    command
        .args(["-ec", &String::from_utf8_lossy(commands)])
        .current_dir(folder)
        .env("PATH", path)
        .env_remove("BARTIZAN_CA_PASSPHRASE")
        .stdin(Stdio::null());
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn parsed(file: &Path) -> Deployment {
    let read = fs::read_to_string(file).unwrap();
    Deployment::parse(&read, "core.yaml", Path::new("")).unwrap()
}

#[test]
fn each_kind_s_commands_make_every_file_that_check_asks_for_on_every_node() {
    for kind in KINDS {
        let place = tempfile::tempdir().unwrap();
        let output = bartizan(place.path(), &[&["init"], kind].concat());
        let kind = kind.join(" ");
        assert_eq!(output.status.code(), Some(0), "{kind}: {}", text(&output.stderr));
        assert_eq!(
            text(&output.stderr),
            "wrote core.yaml\nwrote bartizan.schema.json, for editors\n"
        );
        let deployment = parsed(&place.path().join("core.yaml"));
        let nodes: Vec<_> = deployment.nodes().map(|node| node.name.to_string()).collect();
        // Each node's files are looked at, and exit code 1 of a finding ends the shell.
        let commands = text(&output.stdout);
        for node in &nodes {
            let check = format!("bartizan check core.yaml --node {node}\n");
            assert!(commands.contains(&check), "{kind}: {commands}");
        }
        let ran = shell(place.path(), &output.stdout);
        let said = text(&ran.stdout) + &text(&ran.stderr);
        assert_eq!(ran.status.code(), Some(0), "{kind}: {said}");
        // Changes alone: each node's check printed the whole network, 1,227 lines for free5GC.
        assert!(said.lines().count() < 80, "{kind}: {said}");
        let keys = fs::read_dir(place.path().join("certificates")).unwrap();
        let keys = keys.filter(|file| {
            let name = file.as_ref().unwrap().file_name();
            name.to_string_lossy().ends_with(".key.pem")
        });
        assert_eq!(keys.count(), nodes.len(), "{kind}");
    }
}

#[test]
fn each_kind_protects_by_what_its_interface_takes() {
    for (kind, links, by) in [
        ("free5gc", 21, Protection::Sidecar),
        ("open5gs", 45, Protection::Sidecar),
        ("e2", 1, Protection::Ipsec),
        ("fronthaul", 1, Protection::Macsec),
    ] {
        let place = tempfile::tempdir().unwrap();
        let file = format!("{kind}.yaml");
        assert!(
            bartizan(place.path(), &["init", kind, "--file", &file])
                .status
                .success()
        );
        let deployment = parsed(&place.path().join(&file));
        // Comments name the file that was written.
        assert!(
            !fs::read_to_string(place.path().join(&file))
                .unwrap()
                .contains("core.yaml"),
            "{kind}"
        );
        assert_eq!(deployment.interfaces().len(), links, "{kind}");
        assert!(deployment.interfaces().iter().all(|link| link.protection == by));
        // Each function of a core is reached by a certificate of its own, and redirects what it sends.
        if by == Protection::Sidecar {
            let redirects = |node: &bartizan_deployment::Node| {
                let sidecar = node.sidecar.as_ref().unwrap();
                sidecar.inbound.len() == 1 && sidecar.outbound.len() == 1
            };
            assert!(deployment.nodes().all(redirects), "{kind}");
        }
    }
}

#[test]
fn engine_of_e2_is_written_to_both_nodes_with_ml_dsa_certificates() {
    let place = tempfile::tempdir().unwrap();
    let output = bartizan(place.path(), &["init", "e2", "--engine", "bartizan"]);
    let commands = text(&output.stdout);
    assert!(
        commands.contains("ca init --dir ipsec-ca --algorithm ml-dsa-65"),
        "{commands}"
    );
    let deployment = parsed(&place.path().join("core.yaml"));
    let of_ours = |node: &bartizan_deployment::Node| {
        node.ipsec.as_ref().map(|ipsec| ipsec.engine) == Some(bartizan_deployment::IkeEngine::Bartizan)
    };
    assert!(deployment.nodes().all(of_ours));
    for wrong in [["open5gs", "--engine", "bartizan"], ["e2", "--engine", "charon"]] {
        let refused = bartizan(place.path(), &[&["init"], &wrong[..]].concat());
        assert_eq!(refused.status.code(), Some(64), "{}", text(&refused.stderr));
    }
}

#[test]
fn a_file_that_is_there_is_replaced_only_by_force() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("core.yaml");
    fs::write(&file, "mine\n").unwrap();
    let refused = bartizan(place.path(), &["init", "e2"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(refused.stdout.is_empty(), "{}", text(&refused.stdout));
    let said = text(&refused.stderr);
    assert!(said.contains("core.yaml: ") && said.contains("hint: "), "{said}");
    assert!(said.contains("--force"), "{said}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine\n");
    assert!(bartizan(place.path(), &["init", "e2", "--force"]).status.success());
    assert_eq!(parsed(&file).nodes().count(), 2);
    // A link is replaced, and not what it leads to.
    let other = place.path().join("other.yaml");
    fs::write(&other, "theirs\n").unwrap();
    let link = place.path().join("link.yaml");
    std::os::unix::fs::symlink(&other, &link).unwrap();
    let through = bartizan(place.path(), &["init", "e2", "--file", "link.yaml"]);
    assert_eq!(through.status.code(), Some(2));
    let forced = bartizan(place.path(), &["init", "e2", "--file", "link.yaml", "--force"]);
    assert!(forced.status.success());
    assert_eq!(fs::read_to_string(&other).unwrap(), "theirs\n");
}

/// `ca issue` failed at the other authority's root, after half of the commands.
#[test]
fn two_kinds_in_one_folder_would_share_files_and_nothing_is_written() {
    let place = tempfile::tempdir().unwrap();
    assert!(bartizan(place.path(), &["init", "e2"]).status.success());
    let second = ["init", "fronthaul", "--file", "fronthaul.yaml"];
    let refused = bartizan(place.path(), &second);
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(
        text(&refused.stderr),
        "error: core.yaml has certificates in the same files: certificates/ca.crt.pem\n\
         hint: give another folder by --file, or share them by --force\n"
    );
    assert!(refused.stdout.is_empty() && !place.path().join("fronthaul.yaml").exists());
    assert!(
        bartizan(place.path(), &[&second[..], &["--force"]].concat())
            .status
            .success()
    );
}

/// The name of a temporary file stood there, which the user had never given.
#[test]
fn a_folder_that_is_not_there_is_named_with_the_command_that_makes_it() {
    let place = tempfile::tempdir().unwrap();
    let output = bartizan(place.path(), &["init", "open5gs", "--file", "away/core.yaml"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        text(&output.stderr),
        "error: away/core.yaml: No such file or directory (os error 2)\nhint: make the folder first: mkdir -p away\n"
    );
}

/// `--force` made an ordinary file of the machine's /dev/null.
#[test]
fn what_is_no_file_is_never_replaced_and_nothing_is_written() {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(place.path().join("folder")).unwrap();
    let pipe = place.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    std::os::unix::fs::symlink(&pipe, place.path().join("link")).unwrap();
    for file in ["folder", "pipe", "link", ".", "/"] {
        for force in [&[][..], &["--force"]] {
            let arguments = [&["init", "e2", "--file", file][..], force].concat();
            let refused = bartizan(place.path(), &arguments);
            let said = text(&refused.stderr);
            assert_eq!(refused.status.code(), Some(2), "{arguments:?}: {said}");
            assert!(
                said.contains(&format!("error: {file}: is there and is no file\nhint: ")),
                "{said}"
            );
            assert!(refused.stdout.is_empty());
        }
    }
    // One file cannot be both.
    for force in [&[][..], &["--force"]] {
        let arguments = [&["init", "e2", "--file", "bartizan.schema.json"][..], force].concat();
        let refused = bartizan(place.path(), &arguments);
        assert_eq!(refused.status.code(), Some(64), "{}", text(&refused.stderr));
    }
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 3);
    assert!(std::os::unix::fs::FileTypeExt::is_fifo(
        &fs::metadata(&pipe).unwrap().file_type()
    ));
}

#[test]
fn a_folder_that_is_missing_is_named_and_nothing_is_printed() {
    let place = tempfile::tempdir().unwrap();
    let output = bartizan(place.path(), &["init", "e2", "--file", "nowhere/core.yaml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("hint: make the folder first: mkdir -p nowhere"));
    assert!(output.stdout.is_empty());
}

#[test]
fn commands_fit_a_file_in_a_folder_whose_name_a_shell_would_split() {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(place.path().join("site 7's")).unwrap();
    let output = bartizan(place.path(), &["init", "fronthaul", "--file", "site 7's/ran.yaml"]);
    let ran = shell(place.path(), &output.stdout);
    assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stderr));
    assert!(place.path().join("site 7's/certificates/odu.key.pem").exists());
}

#[test]
fn a_hyphen_prints_the_file_and_writes_nothing() {
    let place = tempfile::tempdir().unwrap();
    let output = bartizan(place.path(), &["init", "open5gs", "--file", "-"]);
    assert!(Deployment::parse(&text(&output.stdout), "-", Path::new("")).is_ok());
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
}

#[test]
fn the_schema_that_the_first_line_names_is_next_to_the_file_and_accepts_it() {
    let place = tempfile::tempdir().unwrap();
    for kind in KINDS {
        let kind = kind[0];
        let file = format!("{kind}.yaml");
        assert!(
            bartizan(place.path(), &["init", kind, "--force", "--file", &file])
                .status
                .success()
        );
        let written = fs::read_to_string(place.path().join(&file)).unwrap();
        let first = written.lines().next().unwrap();
        let named = first.strip_prefix("# yaml-language-server: $schema=").unwrap();
        let schema = fs::read(place.path().join(named)).unwrap();
        assert_eq!(schema, bartizan(place.path(), &["schema"]).stdout);
        let schema: serde_json::Value = serde_json::from_slice(&schema).unwrap();
        let read: serde_json::Value = serde_saphyr::from_str(&written).unwrap();
        let validator = jsonschema::draft7::new(&schema).unwrap();
        assert!(validator.is_valid(&read), "{kind}: {:?}", validator.validate(&read));
    }
    // A schema that is not of this version is not replaced in passing, and nothing else is written.
    let other = place.path().join("bartizan.schema.json");
    fs::write(&other, "{}\n").unwrap();
    let refused = bartizan(place.path(), &["init", "e2", "--file", "new.yaml"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("bartizan.schema.json"));
    assert!(!place.path().join("new.yaml").exists());
}

const SBI: &str = "../crates/prove/wire/tests/data/sbi-free5gc-two-registrations.pcap";
const N2: &str = "../crates/prove/wire/tests/data/n2-free5gc-two-registrations.pcap";
const E2: &str = "../crates/prove/wire/tests/data/e2-flexric-kpm.pcap";
const MACSEC: &str = "../crates/prove/wire/tests/data/macsec.pcap";
const SSH: &str = "../crates/prove/wire/tests/data/openssh-10.0.pcap";

fn data(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    path.canonicalize().unwrap().display().to_string()
}

#[test]
fn a_file_from_captures_names_what_they_show_and_check_lists_what_is_to_decide() {
    let place = tempfile::tempdir().unwrap();
    let captures = [SBI, N2, E2].map(data);
    let from: Vec<&str> = captures.iter().flat_map(|file| ["--from", file]).collect();
    let output = bartizan(place.path(), &[&["init"], from.as_slice()].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let deployment = parsed(&place.path().join("core.yaml"));
    let links = deployment.interfaces().iter().map(|interface| {
        let [one, other] = interface
            .between
            .each_ref()
            .map(|node| deployment.node(node.as_str()).unwrap());
        let (kind, by) = (interface.kind.name(), interface.protection.name());
        format!("{kind} {} {} {by}", one.function, other.function)
    });
    let links: Vec<_> = links.collect();
    let has = |line: &str| assert!(links.iter().any(|link| link == line), "{line}: {links:#?}");
    has("SBI unknown NRF sidecar");
    has("SBI unknown UDR sidecar");
    has("N2 AMF gNB ipsec");
    has("E2 near-RT RIC E2 node ipsec");
    let nrf = deployment.nodes().find(|node| node.function == "NRF").unwrap();
    let listener = &nrf.sidecar.as_ref().unwrap().inbound[0];
    assert_eq!(
        listener.service,
        "127.0.0.10:8000".parse().unwrap(),
        "the port of the capture"
    );
    let written = fs::read_to_string(place.path().join("core.yaml")).unwrap();
    assert!(
        written.contains("# seen: SBI, known by request path, HTTP/2 in plaintext: confidentiality readable now, authenticity vulnerable\n"),
        "{written}"
    );
    assert!(
        written.contains("TODO: this address asks as AMF, AUSF, PCF, UDM\n"),
        "{written}"
    );

    let check = bartizan(place.path(), &["check", "core.yaml", "--quiet"]);
    assert_eq!(check.status.code(), Some(1));
    let check = bartizan(place.path(), &["check", "core.yaml", "--json"]);
    let said: serde_json::Value = serde_json::from_slice(&check.stdout).unwrap();
    let about: Vec<_> = said["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| &finding["finding"])
        .collect();
    assert_eq!(about, ["is to be decided"], "{said:#}");
    // With that decided, the printed commands make every file that the nodes need.
    // Functions of one host, as in a capture of loopback, have one network namespace each.
    let decided = written
        .replace("function: unknown", "function: SCP")
        .replace("127.0.0.", "10.9.8.")
        .replace("10.9.8.1:15001", "127.0.0.1:15001");
    fs::write(place.path().join("core.yaml"), decided).unwrap();
    let ran = shell(place.path(), &output.stdout);
    assert_eq!(ran.status.code(), Some(0), "{}{}", text(&ran.stdout), text(&ran.stderr));
}

#[test]
fn what_no_link_can_have_is_a_comment_and_a_capture_without_any_link_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let [macsec, ssh, n2] = [MACSEC, SSH, N2].map(data);
    let output = bartizan(place.path(), &["init", "--from", &macsec, "--from", &n2, "--file", "-"]);
    let written = text(&output.stdout);
    assert!(
        written.contains("\n# 02:00:5e:10:01:01 and 02:00:5e:10:01:02: FH, known by first message, "),
        "{written}"
    );
    assert!(
        written.contains("\n# 10.9.0.1 and 10.9.0.2: UDP, not recognised: confidentiality not observable"),
        "{written}"
    );
    assert!(
        written.contains("kind: N2, between: [amf, gnb], with: ipsec"),
        "{written}"
    );

    for (arguments, code, cause) in [
        (
            &["--from", &ssh][..],
            2,
            "show no interface of a mobile network between two addresses",
        ),
        (&["--from", "absent.pcap"], 2, "absent.pcap: No such file"),
        (&["--from", "."], 2, ".: is a directory"),
        (&["--from", &n2, "e2"], 64, "cannot be used with"),
        (&[], 64, "required"),
    ] {
        let output = bartizan(place.path(), &[&["init"], arguments].concat());
        assert_eq!(
            output.status.code(),
            Some(code),
            "{arguments:?}: {}",
            text(&output.stderr)
        );
        assert!(
            text(&output.stderr).contains(cause),
            "{arguments:?}: {}",
            text(&output.stderr)
        );
        assert!(!place.path().join("core.yaml").exists());
    }
}
