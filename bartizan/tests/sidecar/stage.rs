//! An authority, deployment files, sidecars and the programs on both outer ends, all on loopback
//! and all ended with the test.

use std::fmt::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use bartizan_host::{Finished, Process, Program};
use bartizan_ledger::{Event, Handshake, Reader, Record, Verdict};
use bartizan_pki::{Algorithm, Authority, InitOptions, Issued, Leaf, Lifetime, Reason};
use bartizan_testing::Listening as _;
use bartizan_testing::lab_root;
use bartizan_testing::loopback_addresses;
use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::FormatItem;
use time::macros::format_description;

pub(crate) use bartizan_testing::until;

/// Long enough for a machine that builds something else during the tests.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// As faketime reads it, in UTC.
const MOMENT: &[FormatItem<'_>] = format_description!("@[year]-[month]-[day] [hour]:[minute]:[second]");

/// A folder with an authority and what its nodes need.
pub(crate) struct Stage {
    folder: tempfile::TempDir,
    authority: Authority,
}

/// Path of a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    Splice,
    Http2,
}

/// All four pairs that can be made of two paths.
pub(crate) const PAIRS: [(By, By); 4] = [
    (By::Splice, By::Splice),
    (By::Http2, By::Http2),
    (By::Splice, By::Http2),
    (By::Http2, By::Splice),
];

/// Certificate, key and roots of a node, as paths.
#[derive(Debug, Clone)]
pub(crate) struct Papers {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
    pub(crate) roots: PathBuf,
    pub(crate) serial: String,
}

/// Deployment file of a pair `amf` -> `nrf`, with everything that a test may vary.
#[derive(Debug, Clone)]
pub(crate) struct Pair {
    pub(crate) outbound: By,
    pub(crate) inbound: By,
    pub(crate) policy: String,
    pub(crate) warm: usize,
    pub(crate) limits: String,
    pub(crate) amf_names: String,
    pub(crate) nrf_names: String,
    /// `to: nrf`, or nothing to route by authority.
    pub(crate) to: String,
    pub(crate) crl: Option<PathBuf>,
    pub(crate) ports: Ports,
}

/// Ports of a pair.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ports {
    /// The network function behind `nrf`.
    pub(crate) function: SocketAddr,
    /// Outbound listener of `amf`'s sidecar.
    pub(crate) outbound: SocketAddr,
    /// TLS listener of `nrf`'s sidecar.
    pub(crate) inbound: SocketAddr,
    pub(crate) amf_admin: SocketAddr,
    pub(crate) nrf_admin: SocketAddr,
}

/// A pair that runs.
pub(crate) struct Running {
    pub(crate) amf: Node,
    pub(crate) nrf: Node,
    pub(crate) ports: Ports,
}

/// A running sidecar.
pub(crate) struct Node {
    pub(crate) process: Process,
    pub(crate) ledger: PathBuf,
    pub(crate) admin: SocketAddr,
}

impl By {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Splice => "splice",
            Self::Http2 => "http2",
        }
    }
}

impl Ports {
    pub(crate) fn free() -> Self {
        let [function, outbound, inbound, amf_admin, nrf_admin] = loopback_addresses().expect("free ports");
        Self {
            function,
            outbound,
            inbound,
            amf_admin,
            nrf_admin,
        }
    }
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self::with(Algorithm::MlDsa65)
    }

    pub(crate) fn with(algorithm: Algorithm) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let authority = Authority::init(
            &folder.path().join("ca"),
            InitOptions::new(algorithm),
            SystemTime::now(),
        );
        Self {
            authority: authority.expect("an authority"),
            folder,
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).expect("a file");
        path
    }

    fn papers(&self, issued: &Issued) -> Papers {
        let serial = issued.serial.to_string();
        let key = self.write(&format!("{serial}.key"), issued.key_pem().expect("a key"));
        let mut permissions = std::fs::metadata(&key).expect("the key's file").permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o600);
        std::fs::set_permissions(&key, permissions).expect("a private key");
        Papers {
            certificate: self.write(&format!("{serial}.crt"), issued.chain_pem()),
            key,
            roots: self.write(&format!("{serial}.ca"), issued.root_pem()),
            serial,
        }
    }

    /// A good certificate for `NAME.5gc`.
    pub(crate) fn issue(&mut self, name: &str) -> Papers {
        self.issue_at(name, SystemTime::now(), 90)
    }

    /// One that ended yesterday.
    pub(crate) fn issue_expired(&mut self, name: &str) -> Papers {
        let last_week = SystemTime::now() - Duration::from_secs(8 * 86_400);
        self.issue_at(name, last_week, 7)
    }

    /// One that ends at this moment.
    pub(crate) fn issue_until(&mut self, name: &str, not_after: SystemTime) -> Papers {
        let not_before = SystemTime::now() - Duration::from_secs(300);
        self.issue_with(name, SystemTime::now(), Lifetime::Between { not_before, not_after })
    }

    /// One that begins at this moment.
    pub(crate) fn issue_from(&mut self, name: &str, not_before: SystemTime) -> Papers {
        let not_after = not_before + Duration::from_secs(30 * 86_400);
        self.issue_with(name, SystemTime::now(), Lifetime::Between { not_before, not_after })
    }

    fn issue_at(&mut self, name: &str, at: SystemTime, days: u32) -> Papers {
        self.issue_with(name, at, Lifetime::Days(days))
    }

    fn issue_with(&mut self, name: &str, at: SystemTime, lifetime: Lifetime) -> Papers {
        let leaf = Leaf::new(name)
            .and_then(|leaf| leaf.dns(&format!("{name}.5gc")))
            .expect("a name")
            .lifetime(lifetime);
        let issued = self.authority.issue(&leaf, at).expect("a certificate");
        self.papers(&issued)
    }

    /// Revokes a certificate and gives the file of the new list.
    pub(crate) fn revoke(&mut self, papers: &Papers) -> PathBuf {
        let revoked = self
            .authority
            .revoke(&papers.serial, Reason::KeyCompromise, SystemTime::now());
        revoked.expect("a revocation");
        let list = self.authority.crl().expect("a list");
        self.write("crl.pem", list)
    }

    /// Writes a deployment file in which `amf` has `amf` and `nrf` has `nrf`.
    pub(crate) fn deployment(&self, name: &str, pair: &Pair, amf: &Papers, nrf: &Papers) -> PathBuf {
        let Ports {
            function,
            outbound,
            inbound,
            amf_admin,
            nrf_admin,
        } = pair.ports;
        let mut text = String::new();
        let crl = pair
            .crl
            .as_ref()
            .map_or_else(String::new, |crl| format!(", crl: {}", crl.display()));
        let (amf_ledger, nrf_ledger) = (self.ledger(name, "amf"), self.ledger(name, "nrf"));
        // A YAML file of one's own making is best read as it will lie there.
        write!(
            text,
            "policy: {policy}
trust: {{ roots: {roots}{crl} }}
nodes:
  amf:
    function: AMF
    address: 127.0.0.1
    names: {{ dns: [{amf_names}] }}
    certificate: {amf_certificate}
    key: {amf_key}
    sidecar:
      outbound:
        - {{ listen: '{outbound}', {to} path: {outbound_path}, warm: {warm} }}
      admin: '{amf_admin}'
      ledger: {amf_ledger}
      limits: {{ {limits} }}
  nrf:
    function: NRF
    address: 127.0.0.1
    names: {{ dns: [{nrf_names}] }}
    certificate: {nrf_certificate}
    key: {nrf_key}
    sidecar:
      inbound:
        - {{ listen: '{inbound}', forward: '{function}', path: {inbound_path} }}
      admin: '{nrf_admin}'
      ledger: {nrf_ledger}
      limits: {{ {limits} }}
interfaces:
  - {{ kind: SBI, between: [amf, nrf], with: sidecar }}
",
            policy = pair.policy,
            roots = amf.roots.display(),
            amf_names = pair.amf_names,
            nrf_names = pair.nrf_names,
            amf_certificate = amf.certificate.display(),
            amf_key = amf.key.display(),
            nrf_certificate = nrf.certificate.display(),
            nrf_key = nrf.key.display(),
            to = pair.to,
            warm = pair.warm,
            limits = pair.bounds(),
            outbound_path = pair.outbound.word(),
            inbound_path = pair.inbound.word(),
            amf_ledger = amf_ledger.display(),
            nrf_ledger = nrf_ledger.display(),
        )
        .expect("text");
        self.write(&format!("{name}.yaml"), text)
    }

    fn ledger(&self, deployment: &str, node: &str) -> PathBuf {
        self.path(&format!("{deployment}.{node}.ledger"))
    }

    /// Starts the sidecar of `node` and waits until it says that it is ready.
    pub(crate) fn start(&self, deployment: &Path, node: &str, admin: SocketAddr) -> Node {
        self.start_with(deployment, node, admin, &[])
    }

    /// The same with these arguments.
    pub(crate) fn start_with(&self, deployment: &Path, node: &str, admin: SocketAddr, arguments: &[&str]) -> Node {
        let name = deployment.file_stem().expect("a name").to_string_lossy().into_owned();
        Node {
            process: ready(sidecar(deployment, node).arguments(arguments)),
            ledger: self.ledger(&name, node),
            admin,
        }
    }

    /// The same with its clock at this moment.
    pub(crate) fn start_at(&self, moment: OffsetDateTime, deployment: &Path, node: &str, admin: SocketAddr) -> Node {
        let name = deployment.file_stem().expect("a name").to_string_lossy().into_owned();
        let program = Program::new("faketime")
            .package("faketime")
            .environment("TZ", "UTC")
            // Timers go on by the machine's own clock.
            .environment("FAKETIME_DONT_FAKE_MONOTONIC", "1")
            .arguments(["-f", &moment.format(MOMENT).expect("a moment")])
            .argument(env!("CARGO_BIN_EXE_bartizan"))
            .argument("sidecar")
            .argument(deployment)
            .arguments(["--node", node, "--no-confine"]);
        let process = ready(program);
        // Both are open, and stay behind where faketime is killed.
        for file in ["faketime_shm", "sem.faketime_sem"] {
            std::fs::remove_file(format!("/dev/shm/{file}_{}", process.id())).expect("a file of faketime");
        }
        Node {
            process,
            ledger: self.ledger(&name, node),
            admin,
        }
    }

    /// Starts both sidecars of a pair that trusts each other.
    pub(crate) fn run(&mut self, pair: &Pair) -> Running {
        let (amf, nrf) = (self.issue("amf"), self.issue("nrf"));
        self.run_with(pair, &amf, &nrf)
    }

    pub(crate) fn run_with(&self, pair: &Pair, amf: &Papers, nrf: &Papers) -> Running {
        let file = self.deployment("pair", pair, amf, nrf);
        Running {
            nrf: self.start(&file, "nrf", pair.ports.nrf_admin),
            amf: self.start(&file, "amf", pair.ports.amf_admin),
            ports: pair.ports,
        }
    }

    /// nghttpd without TLS, answering from this folder. `arguments` go before its port.
    pub(crate) fn nghttpd(&self, function: SocketAddr, arguments: &[&str]) -> Process {
        let mut process = Program::new("nghttpd")
            .package("nghttp2-server")
            .arguments(["--no-tls", "-a", "127.0.0.1", "-d"])
            .argument(self.folder.path())
            .arguments(arguments)
            .argument(function.port().to_string())
            .start()
            .expect("nghttpd starts");
        process.wait_for_port(function, PATIENCE).expect("nghttpd listens");
        process
    }
}

/// `bartizan sidecar FILE --node NODE`.
/// A sidecar that says that it is ready.
fn ready(sidecar: Program) -> Process {
    let mut process = sidecar.start().expect("the sidecar starts");
    if let Err(error) = process.wait_for_line("ready", PATIENCE) {
        panic!("{error}\n{}", process.stderr());
    }
    process
}

pub(crate) fn sidecar(deployment: &Path, node: &str) -> Program {
    Program::new(env!("CARGO_BIN_EXE_bartizan"))
        .argument("sidecar")
        .argument(deployment)
        .arguments(["--node", node, "--log", "info,bartizan_sidecar=debug"])
}

impl Pair {
    /// `limits` with those in time that the test does not name: by default a handshake has five
    /// seconds and a request ten, which a machine that does much else passes.
    fn bounds(&self) -> String {
        let mut all = self.limits.clone();
        for (name, time) in [("handshake", "1m"), ("request", "1m"), ("drain", "30s")] {
            let named = format!("{name}:");
            if all.split(',').any(|limit| limit.trim_start().starts_with(&named)) {
                continue;
            }
            if !all.is_empty() {
                all += ", ";
            }
            all += &format!("{named} {time}");
        }
        all
    }

    /// Hybrid, one connection dialled ahead, bounds in time that no load passes.
    pub(crate) fn new(outbound: By, inbound: By) -> Self {
        Self {
            outbound,
            inbound,
            policy: "hybrid".to_owned(),
            warm: 1,
            limits: String::new(),
            amf_names: "amf.5gc".to_owned(),
            nrf_names: "nrf.5gc".to_owned(),
            to: "to: nrf,".to_owned(),
            crl: None,
            ports: Ports::free(),
        }
    }
}

/// curl with HTTP/2 by prior knowledge, quiet. It times out after a while.
pub(crate) fn curl(arguments: &[&str]) -> Program {
    Program::new("curl")
        .package("curl")
        .arguments(["--silent", "--show-error", "--max-time", "50"])
        .arguments(arguments)
}

/// Runs curl with HTTP/2 and gives status, media type and body.
pub(crate) fn get(url: &str) -> (u16, String, String) {
    ask(&["--http2-prior-knowledge", url])
}

/// The same with these arguments to curl.
pub(crate) fn ask(arguments: &[&str]) -> (u16, String, String) {
    let mut all = vec!["--write-out", "\n%{http_code} %{content_type}"];
    all.extend(arguments);
    let finished = curl(&all).run(PATIENCE).expect("curl succeeds").text();
    let (body, line) = finished.rsplit_once('\n').expect("curl's last line");
    let (status, media_type) = line.split_once(' ').expect("status and type");
    (
        status.parse().expect("a status"),
        media_type.to_owned(),
        body.to_owned(),
    )
}

/// An answer that must be ProblemDetails.
pub(crate) fn problem(answer: &(u16, String, String)) -> Value {
    assert_eq!(answer.1, "application/problem+json", "{answer:?}");
    serde_json::from_str(&answer.2).expect("ProblemDetails")
}

impl Node {
    /// Response of the admin port at `path`.
    pub(crate) fn admin(&self, path: &str) -> (u16, String) {
        let (status, _, body) = ask(&[&format!("http://{}{path}", self.admin)]);
        (status, body)
    }

    /// The value of the first metric whose line begins with `name` and has all of `parts`.
    pub(crate) fn metric(&self, name: &str, parts: &[&str]) -> Option<f64> {
        let (_, text) = self.admin("/metrics");
        let line = text
            .lines()
            .find(|line| line.starts_with(name) && parts.iter().all(|part| line.contains(part)))?;
        line.rsplit_once(' ')?.1.parse().ok()
    }

    pub(crate) fn state(&self) -> Value {
        let (_, text) = self.admin("/state");
        serde_json::from_str(&text).expect("JSON")
    }

    pub(crate) fn connections(&self) -> Vec<Value> {
        let (_, text) = self.admin("/connections");
        let all: Value = serde_json::from_str(&text).expect("JSON");
        all["connections"].as_array().expect("a list").clone()
    }

    /// The ledger as it is, with the files that were rotated.
    pub(crate) fn records(&self) -> Vec<Record> {
        let mut records = Vec::new();
        for file in bartizan_ledger::files(&self.ledger).expect("the ledger") {
            let mut lines = std::fs::read(file).expect("a file of the ledger");
            // The last line may be half written as yet.
            let whole = lines.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
            lines.truncate(whole);
            let whole = Reader::new(lines.as_slice()).map(|record| record.expect("a whole record"));
            records.extend(whole);
        }
        records
    }

    /// Handshakes of the ledger that `wanted` accepts, once there is one: the ledger writes in batches.
    pub(crate) fn handshakes(&self, wanted: impl Fn(&Handshake) -> bool) -> Vec<Handshake> {
        let mut found = Vec::new();
        until("a handshake in the ledger", || {
            found = self
                .records()
                .into_iter()
                .filter_map(|record| match record.event {
                    Event::Handshake(handshake) if wanted(&handshake) => Some(*handshake),
                    _ => None,
                })
                .collect();
            !found.is_empty()
        });
        found
    }

    /// Waits until the ledger has a refusal for this reason.
    pub(crate) fn refused(&self, reason: &str) -> Handshake {
        let is = |handshake: &Handshake| matches!(&handshake.verdict, Verdict::Refused { reason: word, .. } if word == reason);
        self.handshakes(is).remove(0)
    }
}

/// Runs a program to its end.
pub(crate) fn finish(program: Program) -> Finished {
    program.start().expect("it starts").finish(PATIENCE).expect("it ends")
}

/// OpenSSL's client towards an inbound listener, offering these groups; with the certificate of a
/// node where it has one.
pub(crate) fn openssl(inbound: SocketAddr, groups: &str, papers: Option<&Papers>) -> Program {
    let root = lab_root();
    let client = root.command("openssl").expect("openssl in the lab root");
    let inbound = inbound.to_string();
    let client = client.arguments(["s_client", "-connect", &inbound, "-groups", groups, "-alpn", "h2"]);
    let Some(papers) = papers else { return client };
    client
        .argument("-cert")
        .argument(&papers.certificate)
        .argument("-key")
        .argument(&papers.key)
        .argument("-CAfile")
        .argument(&papers.roots)
}
