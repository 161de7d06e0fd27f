//! One `bartizan inspect` that runs, and hosts that talk next to it.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use bartizan_host::{LabRoot, Namespace, Process, Program};
use bartizan_testing::Listening as _;
use bartizan_testing::{Port, connect};
use serde_json::Value;

/// Generous: every wait ends with what is waited for.
pub(crate) const LONG: Duration = bartizan_testing::PATIENCE;

/// The network of the capture of two sidecars, and an N2 that is not in it.
pub(crate) const DEPLOYMENT: &str = "\
nodes:
  consumers: { function: AMF, address: 10.200.0.1 }
  nrf: { function: NRF, address: 10.200.0.12 }
  gnb: { function: gNB, address: 10.200.0.3 }
interfaces:
  - { kind: SBI, between: [consumers, nrf], with: sidecar }
  - { kind: N2, between: [gnb, consumers], with: ipsec }
";

pub(crate) fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../crates/prove/wire/tests/data")
        .join(name)
}

/// The records of one TCP port of the OpenSSL capture, as a capture of their own.
pub(crate) fn only_port(port: u16) -> Vec<u8> {
    let file = std::fs::read(data("openssl-3.5.7.pcap")).unwrap();
    let mut kept = file[..24].to_vec();
    let mut at = 24;
    while at < file.len() {
        let length = u32::from_le_bytes(file[at + 8..at + 12].try_into().unwrap()) as usize;
        let record = &file[at..at + 16 + length];
        // Ethernet, IPv4 without options: ports begin at byte 34 of the frame.
        let ports = [&record[16 + 34..16 + 36], &record[16 + 36..16 + 38]];
        if record[16 + 12..16 + 14] == [8, 0] && ports.contains(&&port.to_be_bytes()[..]) {
            kept.extend(record);
        }
        at += 16 + length;
    }
    kept
}

/// Exit and output of a process that ended by itself.
pub(crate) struct Said {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Said {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}", self.stderr))
    }

    /// The first event of this name.
    pub(crate) fn event(&self, name: &str) -> Value {
        let found = self.events(name).into_iter().next();
        found.unwrap_or_else(|| panic!("no {name} in {}\n{}", self.stdout, self.stderr))
    }

    pub(crate) fn events(&self, name: &str) -> Vec<Value> {
        named(&self.stdout, name)
    }
}

/// Runs it to its end, in `directory`.
pub(crate) fn inspect(directory: &Path, arguments: &[&str]) -> Said {
    let output = Command::new(env!("CARGO_BIN_EXE_bartizan"))
        .env("COLUMNS", "400")
        .arg("inspect")
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap();
    Said {
        status: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The whole lines of a text, the last of which may not have its end yet.
fn whole(text: &str) -> std::str::Lines<'_> {
    text.rfind('\n').map_or("", |end| &text[..end]).lines()
}

/// The events of this name. Only these are parsed: there may be thousands of others.
fn named(text: &str, name: &str) -> Vec<Value> {
    let name = format!("\"event\":\"{name}\"");
    let lines = whole(text).filter(|line| line.contains(&name));
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// One that runs until it is asked to end.
pub(crate) struct Followed {
    process: Option<Process>,
    /// Its output: far more than is kept of a process that runs.
    said: tempfile::NamedTempFile,
}

impl Followed {
    pub(crate) fn start(directory: &Path, arguments: &[&str]) -> Self {
        Self::run(Program::new("sh"), directory, arguments)
    }

    pub(crate) fn start_inside(namespace: &Namespace, directory: &Path, arguments: &[&str]) -> Self {
        Self::run(Program::new("sh").inside(namespace), directory, arguments)
    }

    fn run(shell: Program, directory: &Path, arguments: &[&str]) -> Self {
        let said = tempfile::NamedTempFile::new().unwrap();
        let program = shell
            .environment("COLUMNS", "400")
            .arguments(["-c", "said=$1; shift; exec \"$0\" inspect \"$@\" >\"$said\""])
            .argument(env!("CARGO_BIN_EXE_bartizan"))
            .argument(said.path().to_str().unwrap())
            .arguments(arguments)
            .directory(directory);
        Self {
            process: Some(program.start().unwrap()),
            said,
        }
    }

    /// Everything it wrote to standard output so far.
    pub(crate) fn said(&self) -> String {
        // A character may be half written.
        String::from_utf8_lossy(&std::fs::read(self.said.path()).unwrap()).into_owned()
    }

    pub(crate) fn events(&self) -> Vec<Value> {
        let said = self.said();
        whole(&said).map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub(crate) fn reported(&self, name: &str, is: impl Fn(&Value) -> bool) -> bool {
        named(&self.said(), name).iter().any(is)
    }

    /// The first event of this name that fits, once it is reported.
    pub(crate) fn wait_for(&mut self, name: &str, is: impl Fn(&Value) -> bool) -> Value {
        self.wait(name, |followed| {
            let mut events = named(&followed.said(), name).into_iter();
            events.find(|event| is(event))
        })
    }

    /// Until so many events of this name are reported.
    pub(crate) fn wait_for_many(&mut self, name: &str, many: usize) {
        self.wait(name, |followed| {
            (named(&followed.said(), name).len() >= many).then_some(())
        });
    }

    pub(crate) fn wait_for_text(&mut self, text: &str) {
        self.wait(text, |followed| followed.said().contains(text).then_some(()));
    }

    /// Its standard error so far.
    #[allow(dead_code, reason = "each test program uses its own part")]
    pub(crate) fn errors(&self) -> String {
        self.process.as_ref().expect("it runs").stderr()
    }

    pub(crate) fn wait_for_error(&mut self, text: &str) {
        self.wait(text, |followed| {
            let process = followed.process.as_ref()?;
            process.stderr().contains(text).then_some(())
        });
    }

    fn wait<T>(&mut self, what: &str, found: impl Fn(&Self) -> Option<T>) -> T {
        let begun = Instant::now();
        loop {
            if let Some(found) = found(self) {
                return found;
            }
            let (ended, errors) = match &mut self.process {
                Some(process) => (process.ended().unwrap().is_some(), process.stderr()),
                None => (true, String::new()),
            };
            // Its last output may have come after the first look.
            if let Some(found) = found(self) {
                return found;
            }
            assert!(!ended, "it ended without {what}: {}\n{errors}", self.said());
            assert!(begun.elapsed() < LONG, "no {what}: {}\n{errors}", self.said());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Sends SIGTERM; its exit code and all it said.
    pub(crate) fn terminate(&mut self) -> (i32, String) {
        self.process.as_mut().expect("it runs").send(15);
        self.ended()
    }

    /// Waits for its end.
    pub(crate) fn ended(&mut self) -> (i32, String) {
        let finished = self.process.take().expect("it runs").finish(LONG).unwrap();
        (finished.status.code().unwrap_or(-1), self.said())
    }

    /// Its memory: bytes resident now.
    pub(crate) fn resident(&self) -> u64 {
        let process = self.process.as_ref().expect("it runs");
        bartizan_testing::resident(process.id())
    }

    pub(crate) fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.send(9);
            process.finish(LONG).unwrap();
        }
    }

    /// Returns the metrics that curl gets, once they fit.
    pub(crate) fn scraped(&mut self, url: &str, inside: Option<&Namespace>, fits: impl Fn(&str) -> bool) -> String {
        self.wait(url, |_| {
            let curl = Program::new("curl")
                .package("curl")
                .arguments(["-sS", "--max-time", "120", url]);
            let curl = match inside {
                Some(namespace) => curl.inside(namespace),
                None => curl,
            };
            let finished = curl.run(LONG).unwrap();
            let text = String::from_utf8(finished.stdout).unwrap();
            fits(&text).then_some(text)
        })
    }
}

/// That a text is OpenMetrics, as far as a consumer would trip: families are declared before their
/// samples and once, counters end in `_total`, no series comes twice, and the end is marked.
pub(crate) fn assert_open_metrics(text: &str) {
    let mut types: Vec<(String, String)> = Vec::new();
    let mut series = BTreeSet::new();
    assert!(text.ends_with("# EOF\n"), "{text}");
    for line in text.lines().filter(|line| *line != "# EOF") {
        if let Some(declared) = line.strip_prefix("# TYPE ") {
            let (name, kind) = declared.split_once(' ').unwrap();
            assert!(types.iter().all(|(known, _)| known != name), "{name} twice");
            types.push((name.to_owned(), kind.to_owned()));
        } else if !line.starts_with('#') {
            let (labelled, value) = line.rsplit_once(' ').unwrap();
            assert!(value.parse::<f64>().is_ok(), "{line}");
            assert!(series.insert(labelled.to_owned()), "{labelled} twice");
            let name = labelled.split('{').next().unwrap();
            let (family, kind) = types.last().expect("a family comes before its samples");
            let expected = if kind == "counter" {
                format!("{family}_total")
            } else {
                family.clone()
            };
            assert_eq!(name, expected, "{line}");
        }
    }
    assert!(!series.is_empty());
}

/// Two hosts on a cable, a TLS server on the right one, clients on the left: OpenSSL 3.5.
pub(crate) struct Talkers {
    pub(crate) left: Namespace,
    right: Option<Namespace>,
    server: Option<Process>,
    root: LabRoot,
    place: tempfile::TempDir,
}

impl Talkers {
    const SERVER: &str = "10.66.0.2:4433";

    pub(crate) fn new() -> Self {
        bartizan_testing::needs_root();
        let root = LabRoot::trixie()
            .expect("a cache directory")
            .present()
            .expect("NOT RUN: the lab root is not there (`make setup`)");
        let mut talkers = Self {
            left: Namespace::create("left").unwrap(),
            right: None,
            server: None,
            root,
            place: tempfile::tempdir().unwrap(),
        };
        let arguments = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=nrf -days 2 -keyout key.pem -out cert.pem";
        let openssl = talkers.openssl().arguments(arguments.split(' '));
        openssl.run(LONG).unwrap();
        talkers.join();
        talkers
    }

    pub(crate) fn place(&self) -> &Path {
        self.place.path()
    }

    fn openssl(&self) -> Program {
        self.root.command("openssl").unwrap().directory(self.place.path())
    }

    /// Lays the cable, and begins to serve at its other end.
    pub(crate) fn join(&mut self) {
        let right = Namespace::create("right").unwrap();
        let port = |namespace, name, address| Port::new(namespace, name).address(address).unwrap();
        connect(
            &port(&self.left, "left", "10.66.0.1/24"),
            &port(&right, "right", "10.66.0.2/24"),
            1500,
        )
        .unwrap();
        self.server = Some(self.server(&right, Self::SERVER.parse().unwrap()));
        self.right = Some(right);
    }

    /// Takes the cable away with what is at its other end.
    pub(crate) fn cut(&mut self) {
        self.server = None;
        self.right = None;
    }

    /// A server that speaks both groups.
    pub(crate) fn server(&self, namespace: &Namespace, address: SocketAddr) -> Process {
        let arguments = "s_server -tls1_3 -groups X25519MLKEM768:x25519 -cert cert.pem -key key.pem -www -accept";
        let server = self
            .openssl()
            .arguments(arguments.split(' '))
            .argument(address.to_string());
        let mut server = server.inside(namespace).start().unwrap();
        server.wait_for_port(address, LONG).unwrap();
        server
    }

    /// A client that offers one group, and ends after its handshake or stays.
    pub(crate) fn client(&self, group: &str, stays: bool) -> Process {
        self.client_to(Self::SERVER.parse().unwrap(), group, stays)
    }

    pub(crate) fn client_to(&self, server: SocketAddr, group: &str, stays: bool) -> Process {
        let client = self
            .openssl()
            .arguments(["s_client", "-tls1_3", "-groups", group, "-connect"]);
        let client = client.argument(server.to_string());
        let client = if stays { client.argument("-ign_eof") } else { client };
        client.inside(&self.left).start().unwrap()
    }
}
