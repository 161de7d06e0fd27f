//! Two hosts on a cable, an AMF's and an NRF's, with a capture at the AMF's end: the sender's egress.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use bartizan_host::{Error, Finished, Namespace, Process, Program};
use bartizan_pki::{Algorithm, Authority, InitOptions, Leaf, Overwrite};
use bartizan_testing::Listening as _;
use bartizan_testing::{Capture, Direction, Port, connect};

pub(crate) const LONG: Duration = Duration::from_secs(60);
/// The user that the sidecars run as. It needs no entry anywhere.
pub(crate) const SIDECAR: u32 = 64_998;
pub(crate) const AMF: &str = "10.88.0.1";
pub(crate) const NRF: [&str; 2] = ["http://10.88.0.2:8000/", "http://[fd88::2]:8000/"];

pub(crate) struct Stage {
    pub(crate) amf: Namespace,
    pub(crate) nrf: Namespace,
    /// A third host on a cable of its own to the AMF's, where a test asks for it.
    pub(crate) udm: Option<Namespace>,
    place: tempfile::TempDir,
}

/// Packets visible to an eavesdropper at the AMF's end of the cable.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Packets to or from the port of a network function.
    pub(crate) clear_packets: usize,
    /// Packets with content to or from that port.
    pub(crate) clear_content: usize,
    /// Packets with content to or from the port of a sidecar.
    pub(crate) protected: usize,
}

impl Stage {
    pub(crate) fn new() -> Self {
        bartizan_testing::needs_root();
        let stage = Self {
            amf: Namespace::create("amf").unwrap(),
            nrf: Namespace::create("nrf").unwrap(),
            udm: None,
            place: tempfile::tempdir().unwrap(),
        };
        let port = |namespace, number: u8| {
            Port::new(namespace, "eth0")
                .address(&format!("10.88.0.{number}/24"))
                .unwrap()
                .address(&format!("fd88::{number}/64"))
                .unwrap()
        };
        connect(&port(&stage.amf, 1), &port(&stage.nrf, 2), 1500).unwrap();
        // The sidecars' user must reach its files.
        fs::set_permissions(stage.place.path(), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(stage.file(), deployment()).unwrap();
        fs::write(stage.path("hello"), "the function itself").unwrap();
        stage
    }

    /// With the host of a UDM, 10.89.0.2, which the NRF has no cable to.
    pub(crate) fn with_udm() -> Self {
        let mut stage = Self::new();
        let udm = Namespace::create("udm").unwrap();
        let port = |namespace, interface, address| Port::new(namespace, interface).address(address).unwrap();
        connect(
            &port(&stage.amf, "eth1", "10.89.0.1/24"),
            &port(&udm, "eth0", "10.89.0.2/24"),
            1500,
        )
        .unwrap();
        let node = "
  udm:
    function: UDM
    address: 10.89.0.2
    certificate: udm/udm.crt.pem
    key: udm/udm.key.pem
    sidecar: { inbound: [ { listen: '10.89.0.2:7443', forward: '10.89.0.2:8000' } ] }
interfaces:
  - { kind: SBI, between: [amf, udm], with: sidecar }";
        fs::write(stage.file(), deployment().replace("\ninterfaces:", node)).unwrap();
        stage.udm = Some(udm);
        stage
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.path("deployment.yaml")
    }

    /// `bartizan sidecar redirect` on the AMF's host.
    pub(crate) fn redirect(&self, arguments: &[&str]) -> Result<Finished, Error> {
        Program::new(env!("CARGO_BIN_EXE_bartizan"))
            .arguments(["sidecar", "redirect"])
            .arguments(arguments)
            .inside(&self.amf)
            .run(LONG)
    }

    pub(crate) fn install(&self) -> Finished {
        self.redirect(&self.with_plan("install")).unwrap()
    }

    pub(crate) fn with_plan(&self, action: &'static str) -> [&'static str; 6] {
        let file: &'static str = self.file().display().to_string().leak();
        [action, file, "--node", "amf", "--user", "64998"]
    }

    /// A tool of the system on the AMF's host, and what it printed.
    pub(crate) fn host(&self, command: &str) -> String {
        let (program, arguments) = command.split_once(' ').unwrap();
        Program::new(program)
            .arguments(arguments.split(' '))
            .inside(&self.amf)
            .run(LONG)
            .unwrap()
            .text()
    }

    /// The network function's request, as root; it times out after two seconds, which an answer may
    /// take on a machine that does much else.
    pub(crate) fn ask(&self, url: &str) -> Result<String, Error> {
        curl(url).inside(&self.amf).run(LONG).map(|finished| finished.text())
    }

    /// The same where there is an answer, or a refusal, however late.
    pub(crate) fn ask_patiently(&self, url: &str) -> Result<String, Error> {
        patient_curl(url)
            .inside(&self.amf)
            .run(LONG)
            .map(|finished| finished.text())
    }

    /// nghttpd on the NRF's host, at its real addresses.
    pub(crate) fn nrf_function(&self) -> [Process; 2] {
        ["10.88.0.2", "fd88::2"].map(|address| self.function(&self.nrf, address))
    }

    pub(crate) fn function(&self, namespace: &Namespace, address: &str) -> Process {
        let mut process = Program::new("nghttpd")
            .arguments(["--no-tls", "--address", address, "--htdocs"])
            .argument(self.place.path())
            .argument("8000")
            .inside(namespace)
            .start()
            .unwrap();
        let ip: IpAddr = address.parse().unwrap();
        process.wait_for_port(SocketAddr::new(ip, 8000), LONG).unwrap();
        process
    }

    /// Certificates of all nodes, readable for the sidecars' user.
    pub(crate) fn certify(&self) {
        let options = InitOptions::new(Algorithm::MlDsa65);
        let mut authority = Authority::init(&self.path("ca"), options, SystemTime::now()).unwrap();
        for node in ["amf", "nrf", "udm"] {
            let out = self.path(node);
            let leaf = Leaf::new(node).unwrap().dns(node).unwrap();
            let issued = authority.issue(&leaf, SystemTime::now()).unwrap();
            issued.write_to(&out, Overwrite::Replace).unwrap();
            chown(&out, Some(SIDECAR), Some(SIDECAR)).unwrap();
            for entry in fs::read_dir(&out).unwrap() {
                chown(entry.unwrap().path(), Some(SIDECAR), Some(SIDECAR)).unwrap();
            }
        }
    }

    /// The binary where the sidecars' user has a way to; the checkout may be elsewhere.
    pub(crate) fn binary(&self) -> PathBuf {
        let binary = self.path("bartizan");
        if !binary.exists() && fs::hard_link(env!("CARGO_BIN_EXE_bartizan"), &binary).is_err() {
            bartizan_testing::copy_program(env!("CARGO_BIN_EXE_bartizan"), &binary);
        }
        binary
    }

    /// The sidecar of a node, as its own user, serving.
    pub(crate) fn sidecar(&self, node: &str) -> Process {
        let namespace = match node {
            "amf" => &self.amf,
            "nrf" => &self.nrf,
            _ => self.udm.as_ref().expect("a stage with a UDM"),
        };
        let user = SIDECAR.to_string();
        let mut process = Program::new("setpriv")
            .arguments(["--reuid", &user, "--regid", &user, "--clear-groups"])
            .argument(self.binary())
            .argument("sidecar")
            .argument(self.file())
            .arguments(["--node", node])
            .inside(namespace)
            .start()
            .unwrap();
        process.wait_for_line("ready", LONG).unwrap();
        process
    }

    /// Packets that leave and enter the AMF's host while `work` runs.
    pub(crate) fn watch(&self, work: impl FnOnce()) -> Seen {
        let interfaces: &[&str] = if self.udm.is_some() {
            &["eth0", "eth1"]
        } else {
            &["eth0"]
        };
        let captures: Vec<_> = interfaces
            .iter()
            .map(|interface| {
                let file = self.path(&format!("{interface}.pcap"));
                Capture::start(Some(&self.amf), interface, &file, Direction::Both).unwrap()
            })
            .collect();
        work();
        let mut seen = Seen::default();
        for capture in captures {
            let file = capture.path().to_owned();
            let captured = capture.stop().unwrap();
            assert!(captured.complete(), "{captured:?}");
            let here = Seen::in_file(&file);
            seen.clear_packets += here.clear_packets;
            seen.clear_content += here.clear_content;
            seen.protected += here.protected;
        }
        seen
    }
}

impl Seen {
    fn in_file(file: &Path) -> Self {
        let count = |filter: &str| {
            let shown = Program::new("tshark")
                .arguments(["-n", "-T", "fields", "-e", "frame.number", "-Y", filter, "-r"])
                .argument(file)
                .run(LONG)
                .unwrap();
            shown.text().lines().count()
        };
        Self {
            clear_packets: count("tcp.port == 8000"),
            clear_content: count("tcp.port == 8000 && tcp.len > 0"),
            protected: count("tcp.port == 7443 && tcp.len > 0"),
        }
    }
}

/// It times out after two seconds.
pub(crate) fn curl(url: &str) -> Program {
    curl_within("2", url)
}

/// A curl with patience, for a response or a refusal.
pub(crate) fn patient_curl(url: &str) -> Program {
    curl_within("50", url)
}

fn curl_within(seconds: &str, url: &str) -> Program {
    let url = format!("{url}hello");
    Program::new("curl")
        .arguments([
            "--silent",
            "--show-error",
            "--fail",
            "--http2-prior-knowledge",
            "--max-time",
            seconds,
        ])
        .argument(url)
}

pub(crate) fn deployment() -> String {
    "
trust: { roots: nrf/ca.crt.pem }
nodes:
  amf:
    function: AMF
    address: 10.88.0.1
    certificate: amf/amf.crt.pem
    key: amf/amf.key.pem
    sidecar:
      inbound:
        - { listen: '10.88.0.1:7443', forward: '10.88.0.1:8000' }
      outbound:
        - { listen: '127.0.0.1:15001', transparent: true }
        - { listen: '[::1]:15001', transparent: true }
  nrf:
    function: NRF
    address: 10.88.0.2
    certificate: nrf/nrf.crt.pem
    key: nrf/nrf.key.pem
    sidecar:
      inbound:
        - { listen: '10.88.0.2:7443', forward: '10.88.0.2:8000' }
        - { listen: '[fd88::2]:7443', forward: '[fd88::2]:8000', service: '[fd88::2]:8000' }
interfaces:
  - { kind: SBI, between: [amf, nrf], with: sidecar }
"
    .to_owned()
}
