//! One RIC and many gNBs, each with its own `up` and charon, all started at once: over IPv4 and
//! IPv6, through kernel ESP, over a path that loses.

use std::fmt::Write as _;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::{Duration, SystemTime};

use bartizan_host::sctp::{Association, Listener, Opening};
use bartizan_host::{LabRoot, Namespace, Process, Program};
use bartizan_pki::{Algorithm, Authority, InitOptions, Leaf, Lifetime};
use bartizan_testing::{Build as _, Wiring as _};
use bartizan_testing::{Capture, Direction, Impairment, Port, connect};
use bartizan_wire::capture::CaptureReader;
use bartizan_wire::ip;
use serde_json::Value;
use tempfile::TempDir;

use super::guest::in_a_guest;
use crate::stage::eventually;

const E2AP: u16 = 36_421;
const GNBS: usize = 4;
/// Patience for five charons that share a processor with other work.
const LONG: Duration = Duration::from_secs(600);

/// Each fourth gNB has IPv6 alone between itself and the RIC.
fn over_v6(gnb: usize) -> bool {
    gnb.is_multiple_of(4)
}

/// Own addresses of a node outside and inside the tunnel; the RIC is number 0.
fn outer(node: usize, v6: bool) -> String {
    if v6 {
        format!("fd77::{:x}", node + 1)
    } else {
        format!("10.77.{}.{}", node / 200, node % 200 + 1)
    }
}

fn inner(node: usize) -> [String; 2] {
    [
        format!("10.78.{}.{}", node / 200, node % 200 + 1),
        format!("fd78::{:x}", node + 1),
    ]
}

/// One file for all of them.
fn deployment(gnbs: usize) -> String {
    let mut text = "policy: hybrid\ntrust: { roots: ca.crt.pem, crl: ca.crl.pem }\nnodes:\n".to_owned();
    let mut links = "interfaces:\n".to_owned();
    let node = |name: &str, function: &str, address: String| {
        format!(
            "  {name}: {{ function: {function}, address: '{address}', names: {{ dns: [{name}.test] }}, \
             ipsec: {{ certificate: {name}.crt.pem, key: {name}.key.pem, ledger: {name}.ledger }} }}\n"
        )
    };
    text += &node("ric", "near-RT RIC", outer(0, false));
    for gnb in 1..=gnbs {
        let name = format!("gnb{gnb}");
        text += &node(&name, "gNB", outer(gnb, over_v6(gnb)));
        let [[v4, v6], [ric_v4, ric_v6]] = [inner(gnb), inner(0)];
        // Writing to a string cannot fail.
        let _ = writeln!(
            links,
            "  - {{ kind: E2, between: [{name}, ric], with: ipsec, ipsec: {{ outer: {{ ric: '{}' }}, \
             inner: {{ {name}: [{v4}, '{v6}'], ric: [{ric_v4}, '{ric_v6}'] }} }} }}",
            outer(0, over_v6(gnb))
        );
    }
    text + &links
}

struct Field {
    ric: Namespace,
    gnbs: Vec<Namespace>,
    path: Namespace,
    directory: TempDir,
}

impl Field {
    fn set_up(gnbs: usize) -> Self {
        let root = LabRoot::sid().expect("a cache directory");
        root.ensure(&mut |_| {}).expect("a lab root");
        let directory = tempfile::tempdir().expect("a directory");
        let space = |name: &str| Namespace::create(name).expect("a namespace");
        let field = Self {
            ric: space("ric"),
            gnbs: (1..=gnbs).map(|gnb| space(&format!("g{gnb}"))).collect(),
            path: space("path"),
            directory,
        };
        let mut ports = Vec::new();
        for (number, space) in field.nodes() {
            let port = format!("p{number}");
            let addresses = [
                format!("{}/16", outer(number, false)),
                format!("{}/64", outer(number, true)),
            ];
            let own = addresses.iter().fold(Port::new(space, "v0"), |port, address| {
                port.address(address).expect("an address")
            });
            connect(&own, &Port::new(&field.path, &port), 1500).expect("a cable");
            let [v4, v6] = inner(number);
            let mut lines = format!("address add {v4}/32 dev lo\naddress add {v6}/128 dev lo nodad\n");
            // A packet without an SA has a way to the peer, unencrypted.
            for (other, _) in field.nodes().filter(|(other, _)| (*other == 0) != (number == 0)) {
                let [v4, v6] = inner(other);
                let _ = writeln!(lines, "route add {v4}/32 via {}", outer(other, false));
                let _ = writeln!(lines, "route add {v6}/128 via {}", outer(other, true));
            }
            let ip = Program::new("ip")
                .arguments(["-batch", "-"])
                .text(&lines)
                .expect("a text");
            ip.inside(space)
                .run(LONG)
                .unwrap_or_else(|error| panic!("{error}\n{lines}"));
            ports.push(port);
        }
        let ports: Vec<_> = ports.iter().map(String::as_str).collect();
        field.path.bridge("switch", &ports).expect("a bridge");
        field.certify();
        field
    }

    fn nodes(&self) -> impl Iterator<Item = (usize, &Namespace)> {
        std::iter::once(&self.ric).chain(&self.gnbs).enumerate()
    }

    fn at(&self) -> &Path {
        self.directory.path()
    }

    fn certify(&self) {
        let now = SystemTime::now();
        let options = InitOptions::new(Algorithm::EcdsaP256);
        let mut authority = Authority::init(&self.at().join("ca"), options, now).expect("an authority");
        let write = |file: &str, text: &[u8]| std::fs::write(self.at().join(file), text).expect("a file");
        for (number, _) in self.nodes() {
            let name = name(number);
            let leaf = Leaf::new(&name)
                .expect("a name")
                .dns(&format!("{name}.test"))
                .expect("a name");
            let leaf = leaf.algorithm(Algorithm::EcdsaP256).lifetime(Lifetime::Days(30));
            let issued = authority.issue(&leaf, now).expect("a certificate");
            write(&format!("{name}.crt.pem"), issued.chain_pem().as_bytes());
            let (file, key) = (
                self.at().join(format!("{name}.key.pem")),
                issued.key_pem().expect("a key"),
            );
            bartizan_pki::write_secret_file(&file, key.as_bytes()).expect("a file");
            write("ca.crt.pem", issued.root_pem().as_bytes());
        }
        write("ca.crl.pem", authority.refresh_lists(7, now).expect("lists").as_bytes());
        write("e2.yaml", deployment(self.gnbs.len()).as_bytes());
    }

    /// Impairment of every packet on its way to a node.
    fn impair(&self, loss_percent: f64) {
        for (number, _) in self.nodes() {
            let impairment = Impairment {
                loss_percent,
                delay: Duration::from_millis(5),
                ..Impairment::default()
            };
            self.path.impair(&format!("p{number}"), &impairment).expect("netem");
        }
    }

    fn bartizan(&self, command: &str, number: usize, more: &[&str]) -> Program {
        let (name, space) = (name(number), self.nodes().nth(number).expect("a node").1);
        Program::new(env!("CARGO_BIN_EXE_bartizan"))
            .argument(command)
            .argument(self.at().join("e2.yaml"))
            .arguments(["--node", &name, "--directory", &self.charon(number)])
            .arguments(more)
            .inside(space)
    }

    fn charon(&self, number: usize) -> String {
        let directory = self.at().join(format!("{}.charon", name(number)));
        directory.to_str().expect("UTF-8").to_owned()
    }

    fn up(&self, number: usize) -> Process {
        let up = self.bartizan("up", number, &["--timeout", "600"]);
        up.log(self.at().join(format!("{}.up", name(number))))
            .start()
            .expect("it starts")
    }

    /// Output of `status` on the RIC; none if no charon answers yet.
    fn status(&self) -> Option<(Value, i32)> {
        let status = self.bartizan("status", 0, &["--json"]);
        let finished = status.start().and_then(|status| status.finish(LONG)).expect("it ends");
        let report = serde_json::from_str(&finished.text()).ok()?;
        Some((report, finished.status.code()?))
    }

    /// Waits until every link of the RIC stands.
    fn all_up(&self) -> Value {
        eventually("every link of the RIC stands", || {
            let (report, code) = self.status()?;
            (code == 0).then_some(report)
        })
    }

    /// Asks the RIC for an association from every gNB, over IPv4 or IPv6 in turns; how many it has accepted.
    fn associate(&self, opening: Opening, listen: bool) -> usize {
        let sockets = [0, 1].map(|family| {
            let at = SocketAddr::new(inner(0)[family].parse::<IpAddr>().expect("an address"), E2AP);
            let bound = listen.then(|| self.ric.enter(|| Listener::bind(at, Opening::default())));
            (at, bound.map(|bound| bound.expect("a namespace").expect("it listens")))
        });
        let mut stood = 0;
        for (index, space) in self.gnbs.iter().enumerate() {
            let family = index % 2;
            let from = SocketAddr::new(inner(index + 1)[family].parse::<IpAddr>().expect("an address"), 0);
            let to = sockets[family].0;
            let association = space
                .enter(|| Association::connect(from, to, opening))
                .expect("a namespace");
            stood += usize::from(association.is_ok());
        }
        stood
    }
}

fn name(number: usize) -> String {
    if number == 0 {
        "ric".to_owned()
    } else {
        format!("gnb{number}")
    }
}

fn links(report: &Value) -> impl Iterator<Item = &Value> {
    report["links"].as_array().into_iter().flatten()
}

/// Packets that nodes sent: unencrypted SCTP, and ESP.
fn counted(captures: Vec<Capture>) -> [usize; 2] {
    let each = captures.into_iter().map(of_one);
    each.fold([0; 2], |[clear, protected], [more, others]| {
        [clear + more, protected + others]
    })
}

fn of_one(capture: Capture) -> [usize; 2] {
    let path = capture.path().to_owned();
    let captured = capture.stop().expect("captured");
    assert!(captured.complete(), "{captured:?}");
    let mut reader = CaptureReader::new();
    reader.push(&std::fs::read(path).expect("a file"));
    let mut counted = [0; 2];
    while let Some(packet) = reader.next_packet().expect("whole") {
        let protocol = match packet.data.get(12..14) {
            Some([0x08, 0x00]) => packet.data.get(23),
            Some([0x86, 0xdd]) => packet.data.get(20),
            _ => None,
        };
        match protocol {
            Some(&ip::SCTP) => counted[0] += 1,
            Some(&ip::ESP) => counted[1] += 1,
            _ => {}
        }
    }
    counted
}

#[test]
fn four_gnbs_come_up_at_one_ric_over_both_families_and_a_path_that_loses() {
    if in_a_guest() {
        return;
    }
    let field = Field::set_up(GNBS);
    let impatient = Opening {
        attempts: 1,
        longest_wait: Duration::from_millis(20),
        ..Opening::default()
    };
    // Packets that a node sends: of those that it receives, a kernel shows the packet inside ESP as
    // well.
    let capture = |name: &str| -> Vec<Capture> {
        let captures = field.nodes().map(|(number, space)| {
            let file = field.at().join(format!("{name}.{number}"));
            Capture::start(Some(space), "v0", &file, Direction::Outbound).expect("a capture")
        });
        captures.collect()
    };
    // Without a guard the packets are seen.
    eventually("every gNB is seen to ask", || {
        let before = capture("before");
        field.associate(impatient, false);
        let [clear, protected] = counted(before);
        assert_eq!(protected, 0);
        (clear >= GNBS).then_some(())
    });

    field.impair(5.0);
    let through = capture("through");
    let ups: Vec<_> = field.nodes().map(|(number, _)| field.up(number)).collect();
    // A charon gets its directory when the guard is installed; it runs some time later.
    let started = |number| Path::new(&field.charon(number)).exists().then_some(());
    for (number, _) in field.nodes() {
        eventually("the guard is installed", || started(number));
    }
    field.associate(impatient, false);
    field.all_up();
    let stood = field.associate(
        Opening {
            attempts: 60,
            ..Opening::default()
        },
        true,
    );
    assert_eq!(stood, GNBS, "each has its association");

    // A rekey whose messages are lost may end later than the command that asks for it.
    let rekey = field.bartizan("rekey", 0, &["--json"]).start();
    rekey.and_then(|rekey| rekey.finish(LONG)).expect("it ends");
    let report = field.all_up();
    let [clear, protected] = counted(through);
    assert!(clear == 0 && protected >= GNBS, "{clear} {protected}");

    for link in links(&report) {
        let keyed = link["ike"][0]["key_exchanges"].as_array().map(Vec::len);
        assert_eq!(keyed, Some(2), "{link}");
    }
    for up in ups.into_iter().rev() {
        up.terminate(LONG).expect("it ends");
    }
}
