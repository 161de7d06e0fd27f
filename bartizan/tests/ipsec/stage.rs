//! Two network namespaces joined by a veth pair, one deployment file, a certificate authority.

use std::fs::Permissions;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use bartizan_host::{Finished, LabRoot, Namespace, Process, Program};
use bartizan_ipsec::drive::list_sas;
use bartizan_ipsec::vici::Client;
use bartizan_ledger::{Event, Reader, Why};
use bartizan_pki::{Algorithm, Authority, InitOptions, Leaf, Lifetime, Profile};
use bartizan_testing::{Build as _, Wiring as _};
use bartizan_testing::{Port, connect};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

pub(crate) use bartizan_testing::{PATIENCE, eventually};

pub(crate) struct Stage {
    pub(crate) cu: Namespace,
    pub(crate) ric: Namespace,
    pub(crate) authority: Authority,
    /// Algorithm of the authority's key and of the nodes'.
    algorithm: Algorithm,
    directory: TempDir,
}

impl Stage {
    /// Both nodes have certificates; no charon runs. `of_ric` is the policy that the RIC's own file has of the link.
    pub(crate) fn set_up(policy: &str, of_ric: &str) -> Self {
        Self::set_up_with(policy, of_ric, "inner: { cu: [10.78.0.1], ric: [10.78.0.2] }")
    }

    /// The same with these settings of the link.
    pub(crate) fn set_up_with(policy: &str, of_ric: &str, link: &str) -> Self {
        let files = [policy, of_ric].map(|policy| deployment(policy, ["strongswan"; 2], &[("E2", link)]));
        Self::of_hosts(Self::hosts(), files)
    }

    /// Both nodes with these engines, the CU's first, and keys of this kind, joined by interfaces
    /// of these kinds, each with its settings.
    pub(crate) fn set_up_engines(
        engines: [&str; 2],
        algorithm: Algorithm,
        policy: &str,
        interfaces: &[(&str, &str)],
    ) -> Self {
        let file = deployment(policy, engines, interfaces);
        Self::of_hosts_with(Self::hosts(), [file.clone(), file], algorithm)
    }

    fn hosts() -> [Namespace; 2] {
        let (cu, ric) = (Namespace::create("cu"), Namespace::create("ric"));
        let (cu, ric) = (cu.expect("a namespace"), ric.expect("a namespace"));
        connect(
            &Port::new(&cu, "v0").address("10.77.0.1/24").expect("an address"),
            &Port::new(&ric, "v0").address("10.77.0.2/24").expect("an address"),
            1500,
        )
        .expect("a veth pair");
        let ends = [
            (&cu, "10.78.0.1/32", "10.78.0.2/32", "10.77.0.2"),
            (&ric, "10.78.0.2/32", "10.78.0.1/32", "10.77.0.1"),
        ];
        for (space, inner, other, hop) in ends {
            space
                .add_address("lo", inner.parse().expect("an address"))
                .expect("an address");
            // As a host with a default route has it: what finds no SA has a way to the peer, in plaintext.
            let (other, hop) = (other.parse().expect("a network"), hop.parse().expect("an address"));
            space.add_route(other, Some(hop), "v0").expect("a route");
        }
        for (space, own, other) in [(&cu, 1, 2), (&ric, 2, 1)] {
            let ip = |arguments: &str| {
                let ip = Program::new("ip").arguments(["-n", space.name()]);
                ip.arguments(arguments.split(' ')).run(PATIENCE).expect("ip does it");
            };
            // Usable at once: without duplicate address detection.
            ip(&format!("address add fd77::{own}/64 dev v0 nodad"));
            ip(&format!("address add fd78::{own}/128 dev lo nodad"));
            ip(&format!("route add fd78::{other}/128 via fd77::{other} dev v0"));
        }
        [cu, ric]
    }

    /// The nodes in these namespaces, each with its file.
    pub(crate) fn of_hosts(hosts: [Namespace; 2], files: [String; 2]) -> Self {
        Self::of_hosts_with(hosts, files, Algorithm::EcdsaP256)
    }

    fn of_hosts_with([cu, ric]: [Namespace; 2], [of_cu, of_ric]: [String; 2], algorithm: Algorithm) -> Self {
        if [&of_cu, &of_ric].iter().any(|file| file.contains("strongswan")) {
            LabRoot::sid()
                .expect("a cache directory")
                .ensure(&mut |_| {})
                .expect("a lab root");
        }
        let directory = tempfile::tempdir().expect("a directory");
        // Certificates of two months ago have run out; the authority has not.
        let options = InitOptions::new(algorithm);
        let begun = SystemTime::now() - Duration::from_secs(60 * 24 * 3600);
        let authority = Authority::init(&directory.path().join("ca"), options, begun).expect("an authority");
        let mut stage = Self {
            cu,
            ric,
            authority,
            algorithm,
            directory,
        };
        for (file, text) in [("cu.yaml", of_cu), ("ric.yaml", of_ric)] {
            std::fs::write(stage.path().join(file), text).expect("a file");
        }
        for name in ["cu", "ric"] {
            stage.issue(name, SystemTime::now());
        }
        stage
    }

    /// A certificate as of `then`, valid for thirty days, and the revocation list of now; its serial number.
    pub(crate) fn issue(&mut self, name: &str, then: SystemTime) -> String {
        let leaf = Leaf::new(name)
            .expect("a name")
            .dns(&format!("{name}.test"))
            .expect("a name");
        let leaf = leaf
            .algorithm(self.algorithm)
            .profile(Profile::Ipsec)
            .lifetime(Lifetime::Days(30));
        let issued = self.authority.issue(&leaf, then).expect("a certificate");
        let write = |file: String, text: &str| std::fs::write(self.path().join(file), text).expect("a file");
        write(format!("{name}.crt.pem"), &issued.chain_pem());
        write(format!("{name}.key.pem"), &issued.key_pem().expect("a key"));
        self.key_mode(name, 0o600);
        write("ca.crt.pem".into(), &issued.root_pem());
        self.publish();
        issued.serial.to_string()
    }

    /// Sets the rights of a node's private key.
    pub(crate) fn key_mode(&self, name: &str, mode: u32) {
        let file = self.path().join(format!("{name}.key.pem"));
        std::fs::set_permissions(file, Permissions::from_mode(mode)).expect("set");
    }

    /// The authority's list where both nodes read it.
    pub(crate) fn publish(&mut self) {
        let lists = self.authority.refresh_lists(7, SystemTime::now()).expect("lists");
        std::fs::write(self.path().join("ca.crl.pem"), lists).expect("a file");
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Folder of a node's own charon.
    pub(crate) fn charon(&self, node: &str) -> PathBuf {
        self.path().join(format!("{node}.charon"))
    }

    pub(crate) fn space(&self, node: &str) -> &Namespace {
        if node == "cu" { &self.cu } else { &self.ric }
    }

    /// The process of a node's charon, or of the engine in its place, where one runs.
    pub(crate) fn charon_process(&self, node: &str) -> Option<Pid> {
        let inode = |path: &Path| std::fs::metadata(path).map(|known| known.ino()).ok();
        let space = inode(&Path::new("/run/netns").join(self.space(node).name()))?;
        let processes = std::fs::read_dir("/proc").expect("/proc").flatten();
        let mut charons = processes.filter(|process| {
            let name = std::fs::read_to_string(process.path().join("comm"));
            let runs = std::fs::read_to_string(process.path().join("stat"));
            let called = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
            let is_engine = called.split(|byte| *byte == 0).nth(1) == Some(b"ike-engine");
            (is_engine || name.is_ok_and(|name| name.trim() == "charon-systemd"))
                && runs.is_ok_and(|stat| !stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" Z")))
                && inode(&process.path().join("ns/net")) == Some(space)
        });
        let number = charons.next()?.file_name().to_str()?.parse().ok()?;
        Some(Pid::from_raw(number))
    }

    /// Runs `ip` on a node.
    pub(crate) fn ip(&self, node: &str, arguments: &[&str]) {
        let ip = Program::new("ip").arguments(["-n", self.space(node).name()]);
        ip.arguments(arguments).run(PATIENCE).expect("ip does it");
    }

    /// `bartizan COMMAND FILE --node NODE --directory ... MORE`, in the node's namespace.
    pub(crate) fn bartizan(&self, command: &str, node: &str, more: &[&str]) -> Program {
        let charon = self.charon(node);
        let directory = ["--directory", charon.to_str().expect("UTF-8")];
        // A peer that rekeys as well puts this end off for seconds, and a busy machine both for more.
        let patience: &[&str] = if command == "rekey" { &["--timeout", "300"] } else { &[] };
        self.bartizan_at(command, node, &[&directory, patience, more].concat())
    }

    /// The same wherever its charon is.
    pub(crate) fn bartizan_at(&self, command: &str, node: &str, more: &[&str]) -> Program {
        Program::new(env!("CARGO_BIN_EXE_bartizan"))
            .argument(command)
            .argument(self.path().join(format!("{node}.yaml")))
            .arguments(["--node", node])
            .arguments(more)
            .inside(self.space(node))
    }

    /// Runs it to its end.
    pub(crate) fn run(&self, command: &str, node: &str, more: &[&str]) -> Finished {
        let started = self.bartizan(command, node, more).start().expect("it starts");
        started.finish(PATIENCE).expect("it ends")
    }

    /// Its exit code and the JSON it prints.
    pub(crate) fn json(&self, command: &str, node: &str, more: &[&str]) -> (i32, Value) {
        let finished = self.run(command, node, &[&["--json"], more].concat());
        let code = finished.status.code().expect("no signal");
        let text = finished.text();
        let value = serde_json::from_str(&text)
            .unwrap_or_else(|error| panic!("{error}: {text}{}", String::from_utf8_lossy(&finished.stderr)));
        (code, value)
    }

    /// Response of `/metrics` at this port of the node's loopback.
    pub(crate) fn metrics(&self, node: &str, port: u16) -> String {
        let connect = || TcpStream::connect((Ipv4Addr::LOCALHOST, port));
        let mut stream = self
            .space(node)
            .enter(connect)
            .expect("a namespace")
            .expect("it is served");
        let mut text = String::new();
        stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").expect("it reads");
        stream.read_to_string(&mut text).expect("it answers");
        text
    }

    /// Waits until every SA of the node stands as its policy asks; what `status` says then.
    pub(crate) fn stands(&self, node: &str) -> Value {
        eventually("the link stands", || {
            let (code, report) = self.try_json("status", node)?;
            (code == 0).then_some(report)
        })
    }

    /// Waits until each link has one IKE_SA, the same at both ends, and none is being set up. If
    /// the initiator takes more than five seconds, the other end begins as well, and of the two
    /// possible IKE_SAs one is deleted some seconds later.
    pub(crate) fn settled(&self) {
        let sas = |node: &str| {
            let mut client = Client::connect(&self.charon(node).join("charon.vici"), PATIENCE).ok()?;
            list_sas(&mut client).ok()
        };
        eventually("each link has one IKE_SA, and none is being set up", || {
            let (cu, ric) = (sas("cu")?, sas("ric")?);
            let is_alone = |index: usize| cu[..index].iter().all(|other| other.connection != cu[index].connection);
            let same = cu.len() == ric.len() && cu.iter().all(|sa| ric.iter().any(|other| other.key == sa.key));
            let stand = cu.iter().chain(&ric).all(|sa| sa.state == "ESTABLISHED");
            (!cu.is_empty() && same && stand && (0..cu.len()).all(is_alone)).then_some(())
        });
    }

    /// The same as [`Stage::json`] while charon may be away: none where the command has nothing to print.
    pub(crate) fn try_json(&self, command: &str, node: &str) -> Option<(i32, Value)> {
        let finished = self.run(command, node, &["--json"]);
        let value = serde_json::from_str(&finished.text()).ok()?;
        Some((finished.status.code()?, value))
    }

    /// Starts `up` in a charon of our own and waits until its charon has its links loaded.
    pub(crate) fn up(&self, node: &str) -> Process {
        self.up_with(node, &[])
    }

    /// The same with more arguments.
    pub(crate) fn up_with(&self, node: &str, more: &[&str]) -> Process {
        let mut process = self
            .bartizan("up", node, &[&["--timeout", "20"], more].concat())
            .start()
            .expect("it starts");
        eventually("its links are loaded", || {
            let ended = process.ended().expect("a child of ours");
            assert!(ended.is_none(), "{node}: {ended:?}: {}", process.stderr());
            let finished = self.run("status", node, &["--json"]);
            let value: Value = serde_json::from_str(&finished.text()).ok()?;
            let links = value["links"].as_array()?;
            links.iter().all(|link| link["loaded"] == true).then_some(())
        });
        process
    }
}

/// Events in the node's ledger.
pub(crate) fn events(stage: &Stage, node: &str) -> Vec<Event> {
    let text = std::fs::read(stage.path().join(format!("{node}.ledger"))).expect("a ledger");
    // The last line may be about to be written.
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let reader = Reader::new(&text[..whole]);
    reader.map(|record| record.expect("whole").event).collect()
}

/// Reasons for which IKE_SAs ended, by a node's ledger.
pub(crate) fn ends(stage: &Stage, node: &str) -> Vec<Why> {
    let ends = events(stage, node).into_iter().filter_map(|event| match event {
        Event::SaClosed(closed) if closed.spi_in.is_none() => Some(closed.why),
        _ => None,
    });
    ends.collect()
}

fn deployment(policy: &str, engines: [&str; 2], interfaces: &[(&str, &str)]) -> String {
    let node = |name: &str, function: &str, number: u8, engine: &str| {
        format!(
            "  {name}: {{ function: {function}, address: 10.77.0.{number}, names: {{ dns: [{name}.test] }}, \
             ipsec: {{ engine: {engine}, certificate: {name}.crt.pem, key: {name}.key.pem, ledger: {name}.ledger }} }}\n"
        )
    };
    let other = match interfaces {
        [("N2", _), ..] => "AMF",
        _ => "near-RT RIC",
    };
    let interface = |(kind, link): &(&str, &str)| {
        format!("  - {{ kind: {kind}, between: [cu, ric], with: ipsec, ipsec: {{ {link} }} }}\n")
    };
    let all: String = interfaces.iter().map(interface).collect();
    format!(
        "policy: {policy}\ntrust: {{ roots: ca.crt.pem, crl: ca.crl.pem }}\nnodes:\n{}{}interfaces:\n{all}",
        node("cu", "O-CU-CP", 1, engines[0]),
        node("ric", other, 2, engines[1])
    )
}
