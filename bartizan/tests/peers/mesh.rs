//! A core of ten functions, each of which talks to all others, whose sidecars are replaced one after the other.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;

use bartizan_host::Process;
use bartizan_testing::loopback_addresses;

use crate::churn::{consumer_with, counts, producer_with, reached};
use crate::stage::{PATIENCE, Stage, sidecar};

const NODES: usize = 10;
/// Requests per second of each function: 500 of all.
const RATE: &str = "50";
/// More ids than a function ever asks for; each function has its own. A multiple of the number of the others.
const IDS: usize = 9 * 1000;

/// Ten functions with a sidecar each, and what ends them.
struct Mesh {
    stage: Stage,
    file: PathBuf,
    outbound: Vec<SocketAddr>,
    functions: Vec<SocketAddr>,
    running: Vec<Process>,
}

fn name(node: usize) -> String {
    format!("nf{node}")
}

impl Mesh {
    fn new() -> Self {
        let mut stage = Stage::new();
        let ports: Vec<[SocketAddr; 3]> = (0..NODES).map(|_| loopback_addresses().expect("free ports")).collect();
        let mut nodes = String::new();
        let mut roots = PathBuf::new();
        for (node, [outbound, inbound, function]) in ports.iter().enumerate() {
            let called = name(node);
            let papers = stage.issue(&called);
            write!(
                nodes,
                "  {called}:
    function: AF
    address: 127.0.0.1
    names: {{ dns: [{called}.5gc] }}
    certificate: {}
    key: {}
    sidecar:
      outbound: [ {{ listen: '{outbound}', path: http2 }} ]
      inbound: [ {{ listen: '{inbound}', forward: '{function}', path: http2 }} ]
      ledger: {}
      limits: {{ handshake: 1m, request: 1m, drain: 30s }}
",
                papers.certificate.display(),
                papers.key.display(),
                stage.path(&format!("{called}.ledger")).display(),
            )
            .expect("text");
            roots = papers.roots;
        }
        let all = (0..NODES).map(name).collect::<Vec<_>>().join(", ");
        let file = stage.write(
            "mesh.yaml",
            format!(
                "policy: hybrid
trust: {{ roots: {} }}
nodes:
{nodes}interfaces:
  - {{ kind: SBI, among: [{all}], with: sidecar }}
",
                roots.display()
            ),
        );
        let mut mesh = Self {
            stage,
            file,
            outbound: ports.iter().map(|[outbound, ..]| *outbound).collect(),
            functions: ports.iter().map(|[.., function]| *function).collect(),
            running: Vec::new(),
        };
        for node in 0..NODES {
            let started = mesh.start(node);
            mesh.running.push(started);
        }
        mesh
    }

    fn start(&self, node: usize) -> Process {
        let mut process = sidecar(&self.file, &name(node))
            .argument("--hand-over")
            .argument(self.stage.path(&format!("{}.sock", name(node))))
            .start()
            .expect("the sidecar starts");
        if let Err(error) = process.wait_for_line("ready", PATIENCE) {
            panic!("{error}\n{}", process.stderr());
        }
        process
    }

    /// Starts another one in parallel with the one that runs, which is to end by itself and in time.
    fn succeed(&mut self, node: usize) {
        let successor = self.start(node);
        let ended = std::mem::replace(&mut self.running[node], successor)
            .finish(PATIENCE)
            .expect("it ends");
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(ended.status.code(), Some(0), "{said}");
        assert!(
            said.contains("a successor serves") && !said.contains("closed connections that had not ended in time"),
            "{said}"
        );
    }

    /// Peers of a function.
    fn others(node: usize) -> Vec<usize> {
        (0..NODES).filter(|other| *other != node).collect()
    }

    /// A function's requests, to each of the others in turn.
    fn consumer(&self, node: usize) -> Process {
        let hosts: Vec<_> = Self::others(node).into_iter().map(name).collect();
        consumer_with(
            self.outbound[node],
            node * IDS,
            IDS,
            &["-rate", RATE, "-hosts", &hosts.join(",")],
        )
    }
}

/// Requests of each function to each of the others, by where they were counted: once in the
/// function that was meant, and nowhere else.
#[test]
fn ten_sidecars_each_linked_to_all_others_are_restarted_in_turn_under_load_and_no_request_fails() {
    let mut mesh = Mesh::new();
    let ids = (NODES * IDS).to_string();
    let _producers: Vec<_> = mesh
        .functions
        .iter()
        .map(|function| producer_with(*function, &["-ids", &ids]))
        .collect();
    let mut consumers: Vec<_> = (0..NODES).map(|node| mesh.consumer(node)).collect();
    // Two of each link, at least.
    for function in &mesh.functions {
        reached(*function, 20);
    }
    for node in 0..NODES {
        mesh.succeed(node);
    }
    let before: Vec<usize> = mesh.functions.iter().map(|function| processed(*function)).collect();
    for (function, before) in mesh.functions.iter().zip(before) {
        reached(*function, before + 20);
    }
    let mut asked = Vec::new();
    for consumer in &mut consumers {
        consumer.send(libc::SIGINT);
    }
    for consumer in consumers {
        let finished = consumer.finish(PATIENCE).expect("the client ends");
        let said = String::from_utf8_lossy(&finished.stderr).into_owned();
        assert!(finished.status.success(), "{said}");
        assert!(said.contains("connections refused: 0"), "{said}");
        let outcomes = finished.text().trim_end().to_owned();
        assert!(outcomes.bytes().all(|outcome| outcome == b'a'), "{outcomes}\n{said}");
        assert!(outcomes.len() < IDS, "it asked until it was stopped");
        asked.push(outcomes.len());
    }
    println!("{} requests, none lost: {asked:?}", asked.iter().sum::<usize>());
    for (producer, function) in mesh.functions.iter().enumerate() {
        for (id, count) in counts(*function).into_iter().enumerate() {
            let (consumer, number) = (id / IDS, id % IDS);
            let others = Mesh::others(consumer);
            let meant = number < asked[consumer] && others[id % others.len()] == producer;
            assert_eq!(count, u64::from(meant), "{number} of {consumer}, at {producer}");
        }
    }
}

fn processed(function: SocketAddr) -> usize {
    counts(function).iter().sum::<u64>() as usize
}
