//! Two hosts with a cable between them, and a controller at each end that can be stopped like one that is killed: nothing is cleaned up.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use bartizan_deployment::Deployment;
use bartizan_host::{Namespace, Program};
use bartizan_ledger::{Event, Ledger, Reader};
use bartizan_macsec::Controller;
use bartizan_macsec::control::{self, Control, Question};
use bartizan_macsec::kernel::{SecY, interface};
use bartizan_macsec::link::{Setting, Status, endpoint};
use bartizan_pki::{Algorithm, Authority, InitOptions, Leaf, Overwrite, Reason};
use bartizan_testing::RootPrograms as _;
use bartizan_testing::eventually;
use bartizan_testing::{Capture, Direction, Port, connect};
use bartizan_tls::{Credentials, Endpoint};
use bartizan_wire::capture::CaptureReader;
use tempfile::TempDir;

/// Time limit of everything here: an emulated processor is shared.
pub(crate) const LONG: Duration = Duration::from_secs(240);
pub(crate) const NODES: [&str; 2] = ["odu", "oru"];
pub(crate) const PORT: &str = "eth0";
pub(crate) const DEVICE: &str = "macsec0";

pub(crate) struct Stage {
    pub(crate) hosts: [Namespace; 2],
    pub(crate) place: TempDir,
    authority: Authority,
    controllers: [Option<Running>; 2],
    /// Changed before a controller starts, where a test needs other times than the file gives.
    pub(crate) change: fn(&mut Setting),
}

struct Running {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
    reloads: Sender<Endpoint>,
}

impl Stage {
    /// With these options of the link. Addresses of the port's own would send unencrypted: it has none.
    pub(crate) fn new(options: &str) -> Self {
        let hosts = NODES.map(|name| Namespace::create(name).expect("a namespace"));
        for host in &hosts {
            let disable = || std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
            // A kernel without IPv6 has nothing to disable.
            let _ = host.enter(disable).expect("a namespace");
        }
        let [one, other] = &hosts;
        connect(&Port::new(one, PORT), &Port::new(other, PORT), 9000).expect("a cable");
        let place = tempfile::tempdir().expect("a directory");
        // The second unit is the peer at another port of the O-DU: no test starts that link.
        let options = format!("port: {{ odu: {PORT}, oru: {PORT} }}, {options}");
        let text = format!(
            "policy: hybrid\ntrust: {{ roots: ca/root.crt.pem }}\nnodes:\n  \
             odu: {{ function: O-DU, address: 10.0.0.1, certificate: odu/odu.crt.pem, key: odu/odu.key.pem }}\n  \
             oru: {{ function: O-RU, address: 10.0.0.2, certificate: oru/oru.crt.pem, key: oru/oru.key.pem }}\n  \
             oru2: {{ function: O-RU, address: 10.0.0.3, certificate: oru2/oru2.crt.pem, key: oru2/oru2.key.pem }}\ninterfaces:\n  \
             - {{ kind: FH, between: [odu, oru], with: macsec, macsec: {{ {options} }} }}\n  \
             - {{ kind: FH, between: [odu, oru2], with: macsec, macsec: {{ port: {{ odu: other0, oru2: eth0 }}, \
             device: {{ odu: macsec9, oru2: macsec0 }} }} }}\n"
        );
        std::fs::write(place.path().join("ran.yaml"), text).expect("a file");
        let ca = place.path().join("ca");
        let authority = Authority::init(&ca, InitOptions::new(Algorithm::MlDsa65), SystemTime::now()).expect("a CA");
        let script = bartizan_testing::lab_root().write_script("wpa_supplicant", &place.path().join("wpa_supplicant"));
        script.unwrap_or_else(|error| panic!("{error}"));
        let mut stage = Self {
            hosts,
            place,
            authority,
            controllers: [None, None],
            change: |_| (),
        };
        for node in NODES {
            stage.issue(node, node);
        }
        stage
    }

    /// Gives a node a certificate with this name.
    pub(crate) fn issue(&mut self, node: &str, name: &str) {
        let leaf = Leaf::new(node).expect("a name");
        self.write(node, leaf.dns(name).expect("a name"));
    }

    /// Gives a node a certificate with its name as the common name, and no DNS name.
    pub(crate) fn issue_without_dns(&mut self, node: &str) {
        let leaf = Leaf::new(node).expect("a name");
        self.write(
            node,
            leaf.uri("urn:uuid:4947a69a-f61b-4bc1-b9da-47c9c5d14b64")
                .expect("a URI"),
        );
    }

    fn write(&mut self, node: &str, leaf: Leaf) {
        let leaf = leaf.algorithm(Algorithm::MlDsa65);
        let issued = self.authority.issue(&leaf, SystemTime::now()).expect("a certificate");
        issued
            .write_to(&self.place.path().join(node), Overwrite::Replace)
            .expect("files");
    }

    /// Writes the revocation list after the certificate of a node was revoked.
    pub(crate) fn revoke(&mut self, node: &str) {
        let now = SystemTime::now();
        self.authority
            .revoke(node, Reason::KeyCompromise, now)
            .expect("a certificate");
        let list = self.authority.refresh_lists(7, now).expect("a list");
        std::fs::write(self.path("crl.pem"), list).expect("a file");
    }

    /// Has the controller of one end use the files as they are now.
    pub(crate) fn reload(&self, end: usize) {
        let running = self.controllers[end].as_ref().expect("a controller");
        running.reloads.send(self.endpoint(end)).expect("it runs");
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    fn deployment(&self) -> Deployment {
        let file = self.path("ran.yaml");
        let mut text = std::fs::read_to_string(&file).expect("a file");
        if self.path("crl.pem").exists() {
            text = text.replace("root.crt.pem }", "root.crt.pem, crl: crl.pem }");
        }
        Deployment::parse(&text, "ran.yaml", self.place.path()).unwrap_or_else(|error| panic!("{error}"))
    }

    pub(crate) fn setting(&self, end: usize) -> Setting {
        let mut settings = Setting::all(&self.deployment(), NODES[end]);
        let mut setting = settings.remove(0);
        setting.directory = self.run_directory(end);
        if let Some(mka) = &mut setting.mka {
            mka.program = Some(self.path("wpa_supplicant"));
        }
        (self.change)(&mut setting);
        setting
    }

    fn run_directory(&self, end: usize) -> PathBuf {
        self.path(&format!("run-{}", NODES[end]))
    }

    /// TLS endpoint of one end's handshakes.
    pub(crate) fn endpoint(&self, end: usize) -> Endpoint {
        let deployment = self.deployment();
        let node = deployment.node(NODES[end]).expect("a node");
        let credentials =
            Credentials::load(node.files.as_ref().expect("files")).unwrap_or_else(|error| panic!("{error}"));
        endpoint(&deployment, NODES[end], credentials).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Starts the controller of one end.
    pub(crate) fn start(&mut self, end: usize) {
        let (setting, directory) = (self.setting(end), self.run_directory(end));
        let host = self.hosts[end].name().to_owned();
        let endpoint = setting.has_certificate().then(|| self.endpoint(end));
        let ledger = Ledger::open(&self.ledger(end), NODES[end]).expect("a ledger");
        let stop = Arc::new(AtomicBool::new(false));
        let stops = Arc::clone(&stop);
        let control = Control::open(&directory)
            .expect("a directory")
            .expect("no other controller");
        let path = format!("/run/netns/{host}");
        let (reloads, reloaded) = channel();
        let thread = std::thread::spawn(move || {
            enter(&path);
            let controller = Controller::new(vec![setting], endpoint, ledger.recorder());
            let controller = controller.reloading(reloaded);
            controller.run(Some(&control), &|| stops.load(Ordering::Relaxed), &mut |_| ());
        });
        self.controllers[end] = Some(Running { stop, thread, reloads });
    }

    /// Ends it, and leaves in the kernel what is there.
    pub(crate) fn kill(&mut self, end: usize) {
        if let Some(Running { stop, thread, .. }) = self.controllers[end].take() {
            stop.store(true, Ordering::Relaxed);
            thread.join().expect("it did not panic");
        }
    }

    pub(crate) fn both_up(&mut self) {
        for end in [0, 1] {
            self.start(end);
        }
        self.until_up();
    }

    pub(crate) fn until_up(&self) {
        for end in [0, 1] {
            self.until(end, "the link is up", |status| status.up && status.peer_answers);
        }
    }

    pub(crate) fn status(&self, end: usize) -> Status {
        self.ask(end, Question::Status)
    }

    pub(crate) fn ask(&self, end: usize, question: Question) -> Status {
        // A controller among other tests on one processor may not answer within the command's time.
        let answer = eventually("an answer", || match control::ask(&self.run_directory(end), question) {
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => None,
            answer => Some(answer.expect("an answer").expect("a controller")),
        });
        answer.links.into_iter().next().expect("a link")
    }

    pub(crate) fn until(&self, end: usize, what: &str, condition: impl Fn(&Status) -> bool) -> Status {
        let deadline = Instant::now() + LONG;
        loop {
            let status = self.status(end);
            if condition(&status) {
                return status;
            }
            assert!(Instant::now() < deadline, "{what}: {} has {status:#?}", NODES[end]);
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn ledger(&self, end: usize) -> PathBuf {
        self.path(&format!("{}.ledger", NODES[end]))
    }

    /// Recorded events of an end: all of them once its controller has ended.
    pub(crate) fn recorded(&self, end: usize) -> Vec<Event> {
        let text = std::fs::read(self.ledger(end)).expect("a ledger");
        // The last line may be about to be written.
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let records = Reader::new(&text[..whole]);
        records.map(|record| record.expect("whole").event).collect()
    }

    /// The device of an end, as the kernel has it.
    pub(crate) fn secy(&self, end: usize) -> SecY {
        let open = || {
            SecY::open(DEVICE, &interface(PORT).expect("a port"))
                .expect("a device")
                .expect("it is there")
        };
        self.hosts[end].enter(open).expect("a namespace")
    }

    /// Frames that leave the port of an end while `act` runs, in full.
    pub(crate) fn leaving(&self, end: usize, act: impl FnOnce()) -> Vec<Vec<u8>> {
        let file = self.path("port.pcap");
        let capture = Capture::start(Some(&self.hosts[end]), PORT, &file, Direction::Outbound).expect("a capture");
        act();
        std::thread::sleep(Duration::from_millis(300));
        let captured = capture.stop().expect("captured");
        assert!(captured.complete(), "{captured:?}");
        frames(&file)
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        for end in [0, 1] {
            if let Some(Running { stop, .. }) = &self.controllers[end] {
                stop.store(true, Ordering::Relaxed);
            }
        }
    }
}

fn enter(path: &str) {
    let file = std::fs::File::open(path).expect("a namespace");
    nix::sched::setns(file, nix::sched::CloneFlags::CLONE_NEWNET).expect("the namespace");
}

/// The frames of a capture.
pub(crate) fn frames(file: &Path) -> Vec<Vec<u8>> {
    let mut reader = CaptureReader::new();
    reader.push(&std::fs::read(file).expect("a capture"));
    let mut frames = Vec::new();
    while let Some(packet) = reader.next_packet().expect("whole") {
        frames.push(packet.data.to_vec());
    }
    frames
}

pub(crate) fn ethertype(frame: &[u8]) -> u16 {
    u16::from_be_bytes([frame[12], frame[13]])
}

/// Hands `ip` its lines.
pub(crate) fn ip(host: &Namespace, lines: &str) {
    let ip = Program::new("ip")
        .arguments(["-batch", "-"])
        .text(lines)
        .expect("a text");
    ip.inside(host)
        .run(LONG)
        .unwrap_or_else(|error| panic!("{error}\n{lines}"));
}
