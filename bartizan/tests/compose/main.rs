//! The overlay for free5gc-compose, started: Docker Engine and Docker Compose of Debian 13 in
//! namespaces of their own, on this machine's kernel. `make test-compose` makes the root with them
//! and runs this. Functions are stood in for by nghttpd and curl, in a file of the shape of
//! free5gc-compose's (`base.yaml`).

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use bartizan_host::Program;
use serde_json::Value;

/// As in scripts/compose.
const NAME: &str = "trixie-1";
/// Limit for the whole test: four minutes were seen on a machine that built something else
/// meanwhile.
const LONG: Duration = Duration::from_secs(20 * 60);
/// The user of the sidecar's image.
const IMAGE_USER: u32 = 10_101;
const FUNCTIONS: [&str; 9] = ["amf", "ausf", "chf", "nrf", "nssf", "pcf", "smf", "udm", "udr"];
const ANSWERED: &str = "amf:udm udm\nudm:amf amf\nudm:nrf nrf\nnrf:amf amf\n";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn run(program: impl AsRef<Path>, arguments: &[&str], directory: &Path) -> String {
    let finished = Program::new(program.as_ref())
        .arguments(arguments)
        .directory(directory)
        .run(LONG);
    finished.unwrap_or_else(|error| panic!("{arguments:?}: {error}")).text()
}

/// Files for the engine: this program, inputs of the images, and a project of Compose with the
/// overlay, as docs/free5gc.md has it.
fn prepare(job: &Path) {
    let project = job.join("project");
    for folder in [&project.join("bartizan/network/certificates"), &job.join("repository")] {
        fs::create_dir_all(folder).unwrap();
    }
    for part in ["scripts", "deploy", "Cargo.lock"] {
        let source = repository().join(part).display().to_string();
        run("cp", &["-r", &source, "repository/"], job);
    }
    run("strip", &["-o", "bartizan", env!("CARGO_BIN_EXE_bartizan")], job);
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compose");
    for file in ["serve", "steps.sh"] {
        fs::copy(tests.join(file), job.join(file)).unwrap();
    }
    fs::copy(tests.join("base.yaml"), project.join("docker-compose.yaml")).unwrap();
    let overlay = repository().join("deploy/free5gc-compose");
    fs::copy(
        overlay.join("docker-compose.bartizan.yaml"),
        project.join("docker-compose.bartizan.yaml"),
    )
    .unwrap();
    let deployment = project.join("bartizan/network/deployment.yaml");
    fs::copy(overlay.join("deployment.yaml"), &deployment).unwrap();
    fs::set_permissions(&deployment, fs::Permissions::from_mode(0o644)).unwrap();
    let ours = env!("CARGO_BIN_EXE_bartizan");
    run(ours, &["ca", "init", "--dir", "ca", "--algorithm", "ml-dsa-65"], job);
    for node in FUNCTIONS {
        let name = format!("{node}.free5gc.org");
        let folder = project.join("bartizan/keys").join(node);
        fs::create_dir_all(&folder).unwrap();
        let out = folder.display().to_string();
        run(
            ours,
            &[
                "ca", "issue", "--dir", "ca", "--name", node, "--dns", &name, "--out", &out, "--crl",
            ],
            job,
        );
        chown(folder.join(format!("{node}.key.pem")), Some(IMAGE_USER), None).unwrap();
    }
}

/// Parent of the containers' control groups. If controllers have hierarchies of their own, it is
/// this process's, so that they share its processors; a unified hierarchy has no place for groups
/// below one with processes.
fn control_group() -> String {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap();
    let of_processors = groups.lines().find_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        controllers.split(',').any(|one| one == "cpu").then_some(path)
    });
    let above = of_processors.unwrap_or_default().trim_end_matches('/');
    format!("{above}/bartizan-compose-{}", std::process::id())
}

/// The groups stay when what was in them has ended.
fn remove(group: &str) {
    let hierarchies = fs::read_dir("/sys/fs/cgroup")
        .unwrap()
        .flatten()
        .map(|entry| entry.path());
    for hierarchy in hierarchies.chain([PathBuf::from("/sys/fs/cgroup")]) {
        let _ = Command::new("find")
            .arg(hierarchy.join(group.trim_start_matches('/')))
            .args(["-depth", "-type", "d", "-delete"])
            .output();
    }
}

/// Properties of the merged file as documented in docs/free5gc.md.
fn judge(model: &Value) {
    let services = model["services"].as_object().unwrap();
    assert_eq!(services.len(), 3 * FUNCTIONS.len() + 1);
    let mut addresses = Vec::new();
    for node in FUNCTIONS {
        let function = services[&format!("free5gc-{node}")].as_object().unwrap();
        for removed in ["networks", "expose", "ports"] {
            assert!(function.get(removed).is_none_or(Value::is_null), "{node}: {function:?}");
        }
        let shared = format!("service:{node}-network");
        let waits = &function["depends_on"];
        assert_eq!(function["network_mode"], shared.as_str());
        assert_eq!(waits[&format!("{node}-network")]["condition"], "service_healthy");
        assert_eq!(waits[&format!("{node}-network")]["restart"], true);
        // A dependency in the project's own file is kept.
        let theirs = if node == "nrf" { "db" } else { "free5gc-nrf" };
        assert_eq!(waits[theirs]["condition"], "service_started");
        let network = &services[&format!("{node}-network")]["networks"]["privnet"];
        assert_eq!(network["aliases"][0], format!("{node}.free5gc.org"));
        addresses.push(network["ipv4_address"].as_str().unwrap());
    }
    addresses.sort_unstable();
    addresses.dedup();
    assert_eq!(addresses.len(), FUNCTIONS.len());
}

mod as_root {
    use super::*;

    #[test]
    fn overlay_is_started_and_no_packet_of_sbi_is_unencrypted_whatever_is_killed_and_restarted() {
        assert!(
            nix::unistd::geteuid().is_root(),
            "NOT RUN: this test needs root (`make test-compose` as root runs it)"
        );
        let root = bartizan_host::cache()
            .expect("a cache directory")
            .join("compose")
            .join(NAME);
        assert!(
            root.is_dir(),
            "{} is not there: `make test-compose` makes it",
            root.display()
        );
        let place = tempfile::tempdir().unwrap();
        let job = place.path().join("job");
        prepare(&job);
        let group = control_group();
        let finished = Program::new("unshare")
            .arguments([
                "--mount",
                "--propagation",
                "private",
                "--net",
                "--pid",
                "--uts",
                "--ipc",
            ])
            .arguments(["--fork", "--kill-child", "bash"])
            .argument(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compose/engine.sh"))
            .argument(&root)
            .argument(place.path())
            .argument(&group)
            .start()
            .unwrap()
            .finish(LONG);
        remove(&group);
        let finished = finished.unwrap_or_else(|error| panic!("{error}"));
        let text = finished.text();
        assert!(finished.status.success(), "{text}");
        println!("{text}");
        let step = |name: &str| {
            let (_, rest) = text
                .split_once(&format!("== {name}\n"))
                .unwrap_or_else(|| panic!("no {name}: {text}"));
            rest.split("== ").next().unwrap().to_owned()
        };
        judge(&serde_json::from_str(&fs::read_to_string(job.join("model.json")).unwrap()).unwrap());
        // The function starts after its rules and its sidecar.
        let order = "start project-udm-network-1\nhealth_status: healthy project-udm-network-1\nstart project-udm-sidecar-1\nstart udm\n";
        assert_eq!(step("order"), order);
        assert_eq!(step("up"), format!("{ANSWERED}together\n"));
        // The key of its own function and no other; where the rules are written, none.
        let own = "sidecar\nca.crl.pem\nca.crt.pem\nudm.crt.pem\nudm.key.pem\nnetwork\n";
        assert_eq!(step("files"), format!("{own}# renamed\n# renamed\n"));
        assert_eq!(step("sidecar killed"), format!("the same namespace\n{ANSWERED}"));
        assert_eq!(step("watch killed"), format!("the same namespace\n{ANSWERED}"));
        assert_eq!(
            step("rules removed"),
            format!("unhealthy\nnot answered\nhealthy\n{ANSWERED}")
        );
        assert_eq!(
            step("network restarted"),
            format!("another namespace, all three in it\n{ANSWERED}")
        );
        assert_eq!(step("network recreated"), format!("together\n{ANSWERED}"));
        assert_eq!(step("down and up"), format!("0\n{ANSWERED}"));
        assert_eq!(step("unencrypted packets of SBI"), "0\n0\n");
        for capture in ["1.pcap", "2.pcap"] {
            let inspected = Program::new(env!("CARGO_BIN_EXE_bartizan"))
                .arguments([
                    "inspect",
                    capture,
                    "--json",
                    "--deployment",
                    "project/bartizan/network/deployment.yaml",
                ])
                .directory(&job)
                .start()
                .unwrap()
                .finish(LONG)
                .unwrap();
            let report: Value = serde_json::from_str(&inspected.text()).unwrap();
            let links = report["files"][0]["links"].as_array().unwrap();
            let seen: Vec<_> = links.iter().map(|link| &link["confidentiality"]["verdict"]).collect();
            // Three functions, each with the two others.
            assert_eq!(seen, ["quantum-safe"; 3], "{capture}: {report:#}");
        }
    }
}
