//! A sidecar that has dropped its privileges still does all its work: requests, new handshakes, metrics, ledger, drain.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use bartizan_confine::{self as confine, Confinement};
use bartizan_deployment::Deployment;
use bartizan_host::{Process, Program};
use bartizan_sidecar::Sidecar;
use bartizan_testing::Listening as _;
use bartizan_testing::loopback_addresses;

const LONG: Duration = Duration::from_secs(60);
/// Set in the environment of the child that becomes the AMF's sidecar.
const PLACE: &str = "BARTIZAN_TEST_CONFINED";
const NAME: &str = "confined_sidecar_serves_dials_anew_counts_records_and_drains";

/// Ports of this machine that were free a moment ago.
struct Ports {
    inbound: u16,
    function: u16,
    outbound: u16,
    admin: u16,
}

impl Ports {
    fn free() -> Self {
        let ports = loopback_addresses().unwrap().map(|address| address.port());
        let [inbound, function, outbound, admin] = ports;
        Self {
            inbound,
            function,
            outbound,
            admin,
        }
    }

    fn deployment(&self) -> String {
        let Self {
            inbound,
            function,
            outbound,
            admin,
        } = self;
        format!(
            "
trust: {{ roots: nrf/ca.crt.pem }}
nodes:
  amf:
    function: AMF
    address: 127.0.0.1
    certificate: amf/amf.crt.pem
    key: amf/amf.key.pem
    sidecar:
      outbound: [ {{ listen: '127.0.0.1:{outbound}', to: nrf }} ]
      admin: '127.0.0.1:{admin}'
      ledger: state/ledger.jsonl
  nrf:
    function: NRF
    address: 127.0.0.1
    certificate: nrf/nrf.crt.pem
    key: nrf/nrf.key.pem
    sidecar: {{ inbound: [ {{ listen: '127.0.0.1:{inbound}', forward: '127.0.0.1:{function}' }} ] }}
interfaces: [ {{ kind: SBI, between: [amf, nrf], with: sidecar }} ]
"
        )
    }
}

fn bartizan(arguments: &[&str]) -> Program {
    Program::new(env!("CARGO_BIN_EXE_bartizan")).arguments(arguments)
}

fn nrf(file: &str) -> Process {
    let mut process = bartizan(&["sidecar", file, "--node", "nrf"]).start().unwrap();
    process.wait_for_line("ready", LONG).unwrap();
    process
}

fn curl(url: &str) -> String {
    Program::new("curl")
        .arguments([
            "--silent",
            "--show-error",
            "--fail",
            "--http2-prior-knowledge",
            "--max-time",
            "50",
            url,
        ])
        .run(LONG)
        .unwrap()
        .text()
}

#[test]
fn confined_sidecar_serves_dials_anew_counts_records_and_drains() {
    if let Some(place) = std::env::var_os(PLACE) {
        return serve_confined(Path::new(&place));
    }
    let place = tempfile::tempdir().unwrap();
    let path = |name: &str| place.path().join(name).display().to_string();
    let ports = Ports::free();
    std::fs::write(path("deployment.yaml"), ports.deployment()).unwrap();
    std::fs::write(path("hello"), "the function itself").unwrap();
    std::fs::create_dir(path("state")).unwrap();
    let ca = path("ca");
    bartizan(&["ca", "init", "--dir", &ca, "--algorithm", "ml-dsa-65"])
        .run(LONG)
        .unwrap();
    for node in ["amf", "nrf"] {
        bartizan(&[
            "ca",
            "issue",
            "--dir",
            &ca,
            "--name",
            node,
            "--dns",
            node,
            "--out",
            &path(node),
        ])
        .run(LONG)
        .unwrap();
    }
    let mut function = Program::new("nghttpd")
        .arguments([
            "--no-tls",
            "--address",
            "127.0.0.1",
            "--htdocs",
            &path(""),
            &ports.function.to_string(),
        ])
        .start()
        .unwrap();
    function
        .wait_for_port(SocketAddr::from(([127, 0, 0, 1], ports.function)), LONG)
        .unwrap();
    let peer = nrf(&path("deployment.yaml"));

    let mut confined = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", NAME, "--nocapture", "--test-threads=1"])
        .env(PLACE, place.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(confined.stdout.take().unwrap());
    let mut report = String::new();
    while !report.contains("confined\n") {
        assert_ne!(said.read_line(&mut report).unwrap(), 0, "it ended: {report}");
    }

    let url = format!("http://127.0.0.1:{}/hello", ports.outbound);
    for _ in 0..20 {
        assert_eq!(curl(&url), "the function itself", "{report}");
    }
    // Connections made after the privileges were dropped.
    peer.terminate(LONG).unwrap();
    let _peer = nrf(&path("deployment.yaml"));
    assert_eq!(curl(&url), "the function itself", "{report}");
    let metrics = Program::new("curl")
        .arguments([
            "--silent",
            "--fail",
            &format!("http://127.0.0.1:{}/metrics", ports.admin),
        ])
        .run(LONG)
        .unwrap()
        .text();
    assert!(metrics.contains("group=\"X25519MLKEM768\""), "{metrics}");
    assert!(
        metrics.contains("signature=\"ML-DSA-65\"") || metrics.contains("signature=\"mldsa65\""),
        "{metrics}"
    );

    // Its standard input closed is what it ends by.
    drop(confined.stdin.take());
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    assert!(confined.wait().unwrap().success(), "{report}{rest}");
    assert!(rest.contains("drained, 0 late"), "{rest}");
    let ledger = std::fs::read_to_string(path("state/ledger.jsonl")).unwrap();
    assert!(ledger.matches("X25519MLKEM768").count() >= 2, "{ledger}");
}

/// Runs like `bartizan sidecar`, with the privileges dropped once the ports are open.
fn serve_confined(place: &Path) {
    let file = place.join("deployment.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    let deployment = Deployment::parse(&text, "deployment.yaml", place).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build_local(tokio::runtime::LocalOptions::default())
        .unwrap();
    runtime.block_on(async {
        let running = Sidecar::start(&deployment, "amf").await.unwrap();
        let node = deployment.node("amf").unwrap();
        let (files, sidecar) = (node.files.as_ref().unwrap(), node.sidecar.as_ref().unwrap());
        let report = confine::apply(&Confinement::of_sidecar(&file, files, sidecar, None));
        println!("{report:?}");
        assert_eq!(report.failed(), None);
        println!("confined");
        let (ended, until) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
            let _ = ended.send(());
        });
        until.await.unwrap();
        println!("drained, {} late", running.drain().await);
    });
}
