//! A gNB and an AMF, each with its sidecar in a network namespace of its own, joined by a veth pair.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use bartizan_host::{Namespace, Process, Program};
use bartizan_ledger::{Association, Event, Handshake, Reader, Verdict};
use bartizan_pki::{Algorithm, Authority, InitOptions, Leaf, Lifetime, Reason};
use bartizan_testing::{Capture, Direction, Port, connect};
use tempfile::TempDir;

pub(crate) use bartizan_testing::eventually;

pub(crate) const PATIENCE: Duration = Duration::from_secs(180);
/// The port of NGAP (TS 38.412, clause 7).
pub(crate) const NGAP: u16 = 38_412;

/// Carriers of SCTP between the sidecars, as the deployment file has them: each scenario is run
/// over both.
pub(crate) const CARRIERS: [&str; 2] = ["tls", "quic"];

pub(crate) struct Stage {
    pub(crate) gnb: Namespace,
    pub(crate) amf: Namespace,
    pub(crate) authority: Authority,
    serials: BTreeMap<String, String>,
    folder: TempDir,
}

/// A sidecar that runs.
pub(crate) struct Node {
    pub(crate) process: Process,
}

impl Stage {
    pub(crate) fn new(carrier: &'static str) -> Self {
        Self::on_a_path_of(1500, carrier)
    }

    /// On a cable that takes packets of so many octets.
    pub(crate) fn on_a_path_of(mtu: u16, carrier: &'static str) -> Self {
        let (gnb, amf) = (Namespace::create("gnb").unwrap(), Namespace::create("amf").unwrap());
        let port = |space, number: u8| {
            let address = format!("10.80.0.{number}/24");
            Port::new(space, "n2").address(&address).unwrap()
        };
        connect(&port(&gnb, 1), &port(&amf, 2), mtu).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let options = InitOptions::new(Algorithm::MlDsa65);
        let authority = Authority::init(&folder.path().join("ca"), options, SystemTime::now()).unwrap();
        let mut stage = Self {
            gnb,
            amf,
            authority,
            serials: BTreeMap::new(),
            folder,
        };
        for name in ["gnb", "amf"] {
            stage.issue(name);
        }
        stage.publish();
        stage.write("net.yaml", &deployment("hybrid", carrier));
        stage
    }

    fn issue(&mut self, name: &str) {
        let leaf = Leaf::new(name).unwrap().dns(&format!("{name}.test")).unwrap();
        let leaf = leaf.lifetime(Lifetime::Days(30));
        let issued = self.authority.issue(&leaf, SystemTime::now()).unwrap();
        self.write(&format!("{name}.crt.pem"), &issued.chain_pem());
        let key = issued.key_pem().unwrap();
        bartizan_pki::write_secret_file(&self.path(&format!("{name}.key.pem")), key.as_bytes()).unwrap();
        self.write("ca.crt.pem", &issued.root_pem());
        self.serials.insert(name.to_owned(), issued.serial.to_string());
    }

    /// A new certificate and key, which the node's sidecar finds by itself.
    pub(crate) fn renew(&mut self, name: &str) {
        self.issue(name);
    }

    /// Waits for the only association to use a connection with the latest certificate of `node`.
    pub(crate) fn is_carried_with_the_latest(&self, node: &str) -> Option<()> {
        let other = if node == "gnb" { "amf" } else { "gnb" };
        let shown = self.admin(other, "/connections")?;
        let shown: serde_json::Value = serde_json::from_str(shown.split("\r\n\r\n").nth(1)?).ok()?;
        let random = &shown["associations"][0]["client_random"];
        let carries = |one: &Handshake| serde_json::to_value(one.key).is_ok_and(|key| &key["client_random"] == random);
        let handshake = self.handshakes(other).into_iter().find(carries)?;
        (handshake.chain.first()?.serial == self.serials[node]).then_some(())
    }

    fn publish(&mut self) {
        let lists = self.authority.refresh_lists(7, SystemTime::now()).unwrap();
        std::fs::write(self.path("ca.crl.pem"), lists).unwrap();
    }

    /// Revokes the certificate of a node, on the list that both read.
    pub(crate) fn revoke(&mut self, name: &str) {
        let serial = self.serials[name].clone();
        self.authority
            .revoke(&serial, Reason::KeyCompromise, SystemTime::now())
            .unwrap();
        self.publish();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn space(&self, node: &str) -> &Namespace {
        if node == "gnb" { &self.gnb } else { &self.amf }
    }

    /// Starts the sidecar of a node by the file.
    pub(crate) fn start(&self, node: &str) -> Node {
        self.start_by(node, "net.yaml")
    }

    pub(crate) fn start_by(&self, node: &str, file: &str) -> Node {
        self.start_with(node, file, &[])
    }

    /// The same with these arguments.
    pub(crate) fn start_with(&self, node: &str, file: &str, arguments: &[&str]) -> Node {
        let program = Program::new(env!("CARGO_BIN_EXE_bartizan"))
            .argument("sidecar")
            .argument(self.path(file))
            .arguments(["--node", node])
            .arguments(arguments)
            .inside(self.space(node));
        let mut process = program.start().unwrap();
        eventually("the sidecar serves", || {
            assert!(process.ended().unwrap().is_none(), "{}", process.tail());
            self.admin(node, "/metrics")
        });
        Node { process }
    }

    /// Response of a node's admin port; none if it does not answer.
    pub(crate) fn admin(&self, node: &str, path: &str) -> Option<String> {
        let connect = || TcpStream::connect(("127.0.0.1", 9001));
        let mut stream = self.space(node).enter(connect).unwrap().ok()?;
        let mut text = String::new();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        )
        .ok()?;
        stream.read_to_string(&mut text).ok()?;
        Some(text)
    }

    /// Associations that have ended, by a node's ledger.
    pub(crate) fn associations(&self, node: &str) -> Vec<Association> {
        let ended = self.events(node).into_iter().filter_map(|event| match event {
            Event::Association(association) => Some(*association),
            _ => None,
        });
        ended.collect()
    }

    /// The next association of a node that ends after `before` others.
    pub(crate) fn ended_after(&self, node: &str, before: usize) -> Association {
        eventually("an association is recorded", || {
            self.associations(node).into_iter().nth(before)
        })
    }

    pub(crate) fn handshakes(&self, node: &str) -> Vec<Handshake> {
        let handshakes = self.events(node).into_iter().filter_map(|event| match event {
            Event::Handshake(handshake) => Some(*handshake),
            _ => None,
        });
        handshakes.collect()
    }

    /// The reasons of handshakes that were refused.
    pub(crate) fn refusals(&self, node: &str) -> Vec<String> {
        let refusals = self
            .handshakes(node)
            .into_iter()
            .filter_map(|handshake| match handshake.verdict {
                Verdict::Refused { reason, .. } => Some(reason),
                _ => None,
            });
        refusals.collect()
    }

    fn events(&self, node: &str) -> Vec<Event> {
        let Ok(file) = File::open(self.path(&format!("{node}.jsonl"))) else {
            return Vec::new();
        };
        let reader = Reader::new(BufReader::new(file));
        // A line may be half written.
        reader.map_while(Result::ok).map(|record| record.event).collect()
    }

    /// Everything on the cable between the two.
    pub(crate) fn capture(&self) -> Capture {
        let path = self.path("cable.pcap");
        Capture::start(Some(&self.gnb), "n2", path, Direction::Both).unwrap()
    }
}

/// IPv4 packets of a capture by protocol: 6 is TCP, 17 UDP, 132 SCTP.
pub(crate) fn protocols(file: &Path) -> BTreeMap<u8, usize> {
    let bytes = std::fs::read(file).unwrap();
    let little = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let mut counts = BTreeMap::new();
    // A file header of 24 octets, then records: 16 octets, of which the third word is the length that was kept.
    let mut at = 24;
    while at + 16 <= bytes.len() {
        let (frame, kept) = (at + 16, little(at + 8));
        // Ethernet, then IPv4, whose protocol is its tenth octet.
        if kept > 34 && bytes[frame + 12..frame + 14] == [8, 0] {
            *counts.entry(bytes[frame + 23]).or_insert(0) += 1;
        }
        at = frame + kept;
    }
    counts
}

/// Address at which the gNB's function finds the AMF.
pub(crate) fn listener() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], NGAP))
}

/// Address at which the AMF's function listens.
pub(crate) fn forward() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 5], NGAP))
}

/// The file of both, under this policy.
pub(crate) fn deployment(policy: &str, carrier: &str) -> String {
    let node = |name: &str, function: &str, number: u8, sidecar: &str| {
        format!(
            "  {name}:\n    {{ function: {function}, address: 10.80.0.{number}, names: {{ dns: [{name}.test] }}, \
             certificate: {name}.crt.pem, key: {name}.key.pem,\n      \
             sidecar: {{ {sidecar}, admin: '127.0.0.1:9001', ledger: {name}.jsonl, limits: {{ drain: 1s }} }} }}\n"
        )
    };
    format!(
        "policy: {policy}\ntrust: {{ roots: ca.crt.pem, crl: ca.crl.pem }}\nnodes:\n{}{}interfaces:\n  \
         - {{ kind: N2, between: [gnb, amf], with: gateway, carrier: {carrier} }}\n",
        node(
            "gnb",
            "gNB",
            1,
            "outbound: [{ listen: '127.0.0.1:38412', to: amf, path: sctp }]"
        ),
        node(
            "amf",
            "AMF",
            2,
            "inbound: [{ listen: '10.80.0.2:38413', forward: '127.0.0.5:38412', path: sctp }]"
        )
    )
}
