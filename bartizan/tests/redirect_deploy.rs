//! The files in `deploy/` match this version: units, images, the overlay for free5gc-compose, the
//! dashboard.

mod dashboard;

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use bartizan_deployment::Deployment;
use bartizan_host::{Process, Program};
use bartizan_redirect::Plan;
use bartizan_testing::loopback_addresses;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

const LONG: Duration = Duration::from_secs(60);
/// The user of the sidecar's image.
const IMAGE_USER: u32 = 10_101;
const FUNCTIONS: [&str; 9] = ["amf", "ausf", "chf", "nrf", "nssf", "pcf", "smf", "udm", "udr"];

fn deploy(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy").join(file)
}

fn text(file: &str) -> String {
    std::fs::read_to_string(deploy(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn free5gc() -> Deployment {
    let file = "free5gc-compose/deployment.yaml";
    Deployment::parse(&text(file), file, Path::new("/etc/bartizan")).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_function_of_the_free5gc_overlay_is_redirected_to_the_eight_others() {
    let deployment = free5gc();
    let nodes: Vec<_> = deployment.nodes().map(|node| node.name.to_string()).collect();
    assert_eq!(nodes, FUNCTIONS);
    for node in FUNCTIONS {
        let plan = Plan::new(&deployment, node, IMAGE_USER, SystemTime::now())
            .unwrap_or_else(|error| panic!("{node}: {error}"));
        assert_eq!(plan.services.len(), 8, "{node}");
        assert!(plan.unprotected_peers.is_empty());
        assert!(plan.services.iter().all(|service| service.address.port() == 8000));
        assert!(
            deployment
                .sidecar_peers(node)
                .any(|(peer, _)| peer.name.as_str() == "nrf")
                || node == "nrf"
        );
    }
}

#[test]
fn containers_of_the_overlay_fit_the_deployment_file() {
    let overlay: Value = serde_saphyr::from_str(&text("free5gc-compose/docker-compose.bartizan.yaml")).unwrap();
    let services = overlay["services"].as_object().unwrap();
    assert_eq!(services.len(), 3 * FUNCTIONS.len());
    let deployment = free5gc();
    for node in FUNCTIONS {
        let network = &services[&format!("{node}-network")];
        let address = deployment.node(node).unwrap().address.to_string();
        assert_eq!(network["networks"]["privnet"]["ipv4_address"], Value::String(address));
        assert_eq!(
            network["command"],
            serde_json::json!(["/etc/bartizan/deployment.yaml", node])
        );
        let shared = Value::String(format!("service:{node}-network"));
        assert_eq!(services[&format!("{node}-sidecar")]["network_mode"], shared);
        assert_eq!(services[&format!("free5gc-{node}")]["network_mode"], shared);
        // The function starts when the rules are installed, never before.
        let waits = &services[&format!("free5gc-{node}")]["depends_on"][&format!("{node}-network")];
        assert_eq!(waits["condition"], "service_healthy");
        // `compose restart NF-network` makes another namespace: what is in the old one follows.
        for (container, service) in [
            (format!("{node}-sidecar"), "sidecar"),
            (format!("free5gc-{node}"), "function"),
        ] {
            let waits = &services[&container]["depends_on"][&format!("{node}-network")];
            assert_eq!(waits["restart"], true, "{service} of {node}");
        }
        // A container has the keys and ledgers of its own function only; files that all containers
        // have are not secret.
        let mounts = |container: &str| -> Vec<String> {
            let mounts = services[container]["volumes"].as_array().unwrap().iter();
            let word =
                |mount: &Value, field: &str| mount[field].as_str().unwrap_or_else(|| panic!("{mount}")).to_owned();
            mounts
                .map(|mount| {
                    if mount["type"] == "bind" {
                        assert_eq!(
                            (&mount["read_only"], &mount["bind"]["create_host_path"]),
                            (&true.into(), &false.into())
                        );
                    }
                    format!("{} {}", word(mount, "source"), word(mount, "target"))
                })
                .collect()
        };
        let file = "./bartizan/network /etc/bartizan".to_owned();
        assert_eq!(mounts(&format!("{node}-network")), std::slice::from_ref(&file));
        assert_eq!(
            mounts(&format!("{node}-sidecar")),
            [
                file,
                format!("./bartizan/keys/{node} /etc/bartizan/certificates"),
                format!("bartizan-{node} /var/lib/bartizan"),
            ]
        );
        assert!(
            overlay["volumes"]
                .as_object()
                .unwrap()
                .contains_key(&format!("bartizan-{node}"))
        );
        // This binary accepts the commands of the containers.
        let sidecar = words(&services[&format!("{node}-sidecar")]["command"]);
        assert_eq!(sidecar, ["/etc/bartizan/deployment.yaml", "--node", node]);
        let health = words(&network["healthcheck"]["test"]);
        assert_eq!(health[..2], ["CMD", "bartizan"]);
        let file = deploy("free5gc-compose/deployment.yaml").display().to_string();
        let asked = health[2..].iter().map(|word| {
            if word.starts_with("/etc/bartizan/") {
                &file
            } else {
                word
            }
        });
        let answer = Command::new(env!("CARGO_BIN_EXE_bartizan"))
            .args(asked)
            .output()
            .unwrap();
        // No rules are installed here, or this user may not look: either way it was understood.
        assert!(matches!(answer.status.code(), Some(1 | 2)), "{answer:?}");
    }
    let user = &overlay["x-sidecar"]["user"];
    assert_eq!(*user, Value::String(format!("{IMAGE_USER}:{IMAGE_USER}")));
}

#[test]
fn commands_of_the_page_give_each_sidecar_every_file_that_it_reads_and_no_key_of_another() {
    let page = std::fs::read_to_string(deploy("../docs/free5gc.md")).unwrap();
    let begin = page.find("$ umask 022").unwrap();
    let end = begin + page[begin..].find("$ docker compose").unwrap();
    let script = page[begin..end].replace("\n$ ", "\n").replace("sudo chown", "echo");
    let script = script.strip_prefix("$ ").unwrap();
    let place = tempfile::tempdir().unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_bartizan")).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
    let shell = |script: &str| {
        let ran = Program::new("sh")
            .arguments(["-ec", &format!("umask 077\n{script}")])
            .environment("PATH", &path)
            .environment("B", deploy("..").display().to_string())
            .directory(place.path())
            .run(LONG);
        ran.unwrap_or_else(|error| panic!("{error}")).text()
    };
    let text = shell(script);
    // The keys whose owner the page changes are all that there are.
    assert_eq!(text.matches(".key.pem").count(), 2 * FUNCTIONS.len(), "{text}");
    let renewal = page.find("$ for nf in bartizan/keys/*").unwrap();
    shell(page[renewal + 2..].lines().next().unwrap());
    let names = |folder: &Path| -> BTreeSet<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    };
    let network = place.path().join("bartizan/network");
    assert_eq!(
        names(&network),
        ["certificates", "deployment.yaml"].map(str::to_owned).into()
    );
    assert_eq!(names(&network.join("certificates")), BTreeSet::new());
    for node in FUNCTIONS {
        let keys = place.path().join("bartizan/keys").join(node);
        let own = [
            "ca.crl.pem",
            "ca.crt.pem",
            &format!("{node}.crt.pem"),
            &format!("{node}.key.pem"),
        ]
        .map(str::to_owned);
        assert_eq!(names(&keys), own.into(), "{node}");
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        // Files that the image's user reads; the key is given to it.
        assert_eq!(
            [mode(&network), mode(&keys), mode(&keys.join("ca.crt.pem"))],
            [0o755, 0o755, 0o644]
        );
        assert_eq!(mode(&keys.join(format!("{node}.key.pem"))), 0o600);
        // Folders as they are over each other in the container.
        let container = place.path().join(node);
        std::fs::create_dir(&container).unwrap();
        std::fs::copy(network.join("deployment.yaml"), container.join("deployment.yaml")).unwrap();
        std::os::unix::fs::symlink(&keys, container.join("certificates")).unwrap();
        Program::new(env!("CARGO_BIN_EXE_bartizan"))
            .arguments(["check", "deployment.yaml", "--node", node])
            .directory(&container)
            .run(LONG)
            .unwrap_or_else(|error| panic!("{error}"));
    }
}

fn words(list: &Value) -> Vec<String> {
    list.as_array()
        .unwrap()
        .iter()
        .map(|word| word.as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn image_is_built_from_files_that_are_there_and_runs_as_its_own_user() {
    const INSTRUCTIONS: [&str; 11] = [
        "ARG",
        "FROM",
        "RUN",
        "WORKDIR",
        "COPY",
        "USER",
        "VOLUME",
        "ENTRYPOINT",
        "CMD",
        "ENV",
        "LABEL",
    ];
    let file = text("container/Containerfile");
    let unfolded = file
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'))
        .collect::<Vec<_>>()
        .join("\n")
        .replace("\\\n", " ");
    let mut stages = BTreeMap::<String, Vec<(String, String)>>::new();
    let mut stage = String::new();
    for line in unfolded.lines().filter(|line| !line.trim().is_empty()) {
        let (instruction, rest) = line.split_once(' ').unwrap();
        assert!(INSTRUCTIONS.contains(&instruction), "{line}");
        if instruction == "FROM" {
            stage = rest.split_once(" AS ").expect("every stage has a name").1.to_owned();
        }
        if instruction == "ARG" {
            continue;
        }
        let rest = rest.trim().to_owned();
        if matches!(instruction, "ENTRYPOINT" | "CMD") {
            let _: Vec<String> = serde_json::from_str(&rest).unwrap_or_else(|error| panic!("{line}: {error}"));
        }
        stages
            .entry(stage.clone())
            .or_default()
            .push((instruction.to_owned(), rest));
    }
    assert_eq!(stages.keys().collect::<Vec<_>>(), ["controller", "redirect", "sidecar"]);
    // The image copies the files that the script puts together.
    let script = std::fs::read_to_string(deploy("../scripts/images")).unwrap();
    for (_, copied) in stages
        .values()
        .flatten()
        .filter(|(instruction, _)| instruction == "COPY")
    {
        let source = copied.split(' ').find(|word| !word.starts_with("--")).unwrap();
        assert!(
            script.contains(&format!("$context/{}", source.trim_end_matches('/'))),
            "{copied}"
        );
    }
    for stage in ["sidecar", "controller"] {
        let user = stages[stage].iter().find(|(instruction, _)| instruction == "USER");
        assert_eq!(user.unwrap().1, format!("{IMAGE_USER}:{IMAGE_USER}"), "{stage}");
    }
    let checked = Command::new("sh")
        .arg("-n")
        .arg(deploy("container/hold"))
        .output()
        .unwrap();
    assert!(checked.status.success(), "{checked:?}");
}

/// Found with Docker Compose: a container that ended with its program was started again in another
/// namespace, and function and sidecar had no network.
#[test]
fn holder_of_a_namespace_outlives_its_program_and_ends_when_it_is_stopped() {
    let place = tempfile::tempdir().unwrap();
    let (program, started) = (place.path().join("bartizan"), place.path().join("started"));
    let script = format!("#!/bin/sh\necho $$ \"$*\" >>{}\nexec sleep 600\n", started.display());
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", place.path().display(), std::env::var("PATH").unwrap());
    let mut holder = Command::new(deploy("container/hold"))
        .args(["file", "amf"])
        .env("PATH", path)
        .spawn()
        .unwrap();
    let runs = |count: usize| {
        let begun = Instant::now();
        loop {
            let text = std::fs::read_to_string(&started).unwrap_or_default();
            let lines: Vec<_> = text.lines().map(str::to_owned).collect();
            if lines.len() == count && text.ends_with('\n') {
                let (pid, arguments) = lines[count - 1].split_once(' ').unwrap();
                assert_eq!(arguments, "sidecar redirect watch file --node amf --user 10101");
                return Pid::from_raw(pid.parse().unwrap());
            }
            assert!(begun.elapsed() < LONG, "{text}");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    kill(runs(1), Signal::SIGKILL).unwrap();
    let second = runs(2);
    kill(Pid::from_raw(holder.id().try_into().unwrap()), Signal::SIGTERM).unwrap();
    assert!(holder.wait().unwrap().success());
    assert!(kill(second, None).is_err(), "the program has ended before its holder");
}

#[test]
fn units_are_what_systemd_takes_and_give_the_sidecar_no_right() {
    // The unit files are read here in any case; systemd's own judgement follows where it is installed.
    for unit in [
        "bartizan-sidecar@.service",
        "bartizan-redirect@.service",
        "bartizan-follow@.service",
        "bartizan-guard@.service",
        "bartizan-ipsec@.service",
        "bartizan-ca.service",
        "bartizan-ca-lists.service",
        "bartizan-ca-lists.timer",
        "bartizan-enrol@.service",
        "bartizan-enrol@.timer",
    ] {
        let text = text(&format!("systemd/{unit}"));
        let mut sections = BTreeSet::new();
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            match line.strip_prefix('[') {
                Some(section) => assert!(sections.insert(section.trim_end_matches(']').to_owned()), "{line}"),
                None => assert!(
                    line.split_once('=').is_some_and(|(key, _)| !key.is_empty()),
                    "{unit}: {line}"
                ),
            }
        }
        let expected: &[&str] = match unit {
            // A timer starts it.
            "bartizan-enrol@.service" | "bartizan-ca-lists.service" => &["Service", "Unit"],
            "bartizan-enrol@.timer" | "bartizan-ca-lists.timer" => &["Install", "Timer", "Unit"],
            _ => &["Install", "Service", "Unit"],
        };
        assert_eq!(sections.into_iter().collect::<Vec<_>>(), expected, "{unit}");
    }
    let sidecar = text("systemd/bartizan-sidecar@.service");
    for line in ["User=bartizan", "CapabilityBoundingSet=", "NoNewPrivileges=yes"] {
        assert!(sidecar.lines().any(|known| known == line), "{line}");
    }
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        println!("NOT RUN: systemd is not installed: `systemd-analyze verify` has not judged the units");
        return;
    }
    let place = tempfile::tempdir().unwrap();
    for (unit, exposure) in [
        ("bartizan-sidecar@", 20),
        ("bartizan-redirect@", 30),
        ("bartizan-follow@", 30),
        ("bartizan-guard@", 30),
        // Root, for charon.
        ("bartizan-ipsec@", 80),
        ("bartizan-ca", 20),
        ("bartizan-ca-lists", 20),
        // Root, for files' owners.
        ("bartizan-enrol@", 50),
    ] {
        // systemd looks for the binary: it is the one under test.
        let text =
            text(&format!("systemd/{unit}.service")).replace("/usr/bin/bartizan", env!("CARGO_BIN_EXE_bartizan"));
        let file = place.path().join(format!("{unit}.service"));
        std::fs::write(&file, text).unwrap();
        let analyze = |arguments: &[&str], file: &Path| {
            let output = Command::new("systemd-analyze")
                .args(arguments)
                .arg(file)
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(
                output.status.success(),
                "{unit}: {said}{}",
                String::from_utf8_lossy(&output.stdout)
            );
            said
        };
        let instance = if unit.ends_with('@') { "amf" } else { "" };
        let said = analyze(
            &["verify", "--man=no"],
            &place.path().join(format!("{unit}{instance}.service")),
        );
        // A systemd before 254 does not know it, and ignores it: the unit says what it is for.
        let known = |line: &&str| !line.contains("Unknown key 'RestartMode'");
        assert!(!said.lines().filter(known).any(|line| line.contains(unit)), "{said}");
        // 0.0 is the least exposed, 10.0 the most; the threshold is in tenths.
        let threshold = format!("--threshold={exposure}");
        analyze(&["security", "--no-pager", "--offline=yes", &threshold], &file);
    }
}

/// Two sidecars, of which the NRF's starts late: every kind of metric has something to say.
struct Busy {
    _sidecars: [Process; 2],
    _place: tempfile::TempDir,
    admin: u16,
}

impl Busy {
    fn start() -> Self {
        let place = tempfile::tempdir().unwrap();
        let port: [u16; 5] = loopback_addresses().unwrap().map(|address| address.port());
        let file = place.path().join("deployment.yaml");
        let deployment = format!(
            "
trust: {{ roots: nrf/ca.crt.pem, crl: ca/crl.pem }}
nodes:
  amf:
    function: AMF
    address: 127.0.0.1
    certificate: amf/amf.crt.pem
    key: amf/amf.key.pem
    sidecar:
      outbound: [ {{ listen: '127.0.0.1:{}', to: nrf }}, {{ listen: '127.0.0.1:{}', to: nrf, path: splice }} ]
      admin: '127.0.0.1:{}'
      limits: {{ connections: 1 }}
  nrf:
    function: NRF
    address: 127.0.0.1
    certificate: nrf/nrf.crt.pem
    key: nrf/nrf.key.pem
    sidecar: {{ inbound: [ {{ listen: '127.0.0.1:{}', forward: '127.0.0.1:{}' }} ] }}
interfaces: [ {{ kind: SBI, between: [amf, nrf], with: sidecar }} ]
",
            port[0], port[1], port[2], port[3], port[4]
        );
        std::fs::write(&file, deployment).unwrap();
        let run = |arguments: &[&str]| {
            Program::new(env!("CARGO_BIN_EXE_bartizan"))
                .directory(place.path())
                .arguments(arguments)
                .run(LONG)
                .unwrap();
        };
        run(&["ca", "init", "--dir", "ca", "--algorithm", "ml-dsa-65"]);
        for node in ["amf", "nrf"] {
            run(&[
                "ca", "issue", "--dir", "ca", "--name", node, "--dns", node, "--out", node,
            ]);
        }
        run(&["ca", "crl", "--dir", "ca"]);
        let sidecar = |node: &str| {
            let mut process = Program::new(env!("CARGO_BIN_EXE_bartizan"))
                .argument("sidecar")
                .argument(&file)
                .arguments(["--node", node])
                .start()
                .unwrap();
            process.wait_for_line("ready", LONG).unwrap();
            process
        };
        let ask = || {
            Program::new("curl")
                .arguments(["--silent", "--http2-prior-knowledge", "--max-time", "50"])
                .argument(format!("http://127.0.0.1:{}/nnrf-nfm/v1", port[0]))
                .run(LONG)
                .unwrap();
        };
        let mut amf = sidecar("amf");
        amf.send(libc::SIGHUP);
        amf.wait_for_line("reloaded", LONG).unwrap();
        // First no peer; then a sidecar without a function behind it.
        ask();
        let nrf = sidecar("nrf");
        ask();
        let busy = Self {
            _sidecars: [amf, nrf],
            _place: place,
            admin: port[2],
        };
        // One connection more than the bound.
        let held: Vec<_> = (0..2)
            .map(|_| std::net::TcpStream::connect(("127.0.0.1", port[0])).unwrap())
            .collect();
        let begun = Instant::now();
        while !busy.metrics().contains("limits_reached_total") {
            assert!(begun.elapsed() < LONG, "the bound on connections was not counted");
            std::thread::sleep(Duration::from_millis(20));
        }
        drop(held);
        busy
    }

    fn metrics(&self) -> String {
        Program::new("curl")
            .arguments([
                "--silent",
                "--fail",
                &format!("http://127.0.0.1:{}/metrics", self.admin),
            ])
            .run(LONG)
            .unwrap()
            .text()
    }
}

#[test]
fn every_query_of_dashboard_and_alerts_names_exported_metrics_and_labels() {
    let metrics = Busy::start().metrics();
    dashboard::assert_exported("bartizan-sidecar.json", 20, &metrics);
    dashboard::assert_alerts("bartizan-sidecar", 6, &metrics);
}

#[test]
fn identifiers_of_a_query_are_its_metrics_labels_and_functions() {
    let words: Vec<_> = dashboard::identifiers("sum by (le) (rate(a_bucket{side=\"in out\", x!~\"[2]\"}[5m])) / 2")
        .into_iter()
        .map(|(word, _)| word)
        .collect();
    assert_eq!(words, ["sum", "by", "le", "rate", "a_bucket", "side", "x"]);
}
