//! Resources of the controller with 5,000 pods whose sidecars it asks, printed by `make
//! test-kubernetes TEST='budget -- --nocapture'`.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bartizan_inject::SIDECAR;
use bartizan_testing::until;
use serde_json::{Value, json};

use crate::cluster::{CORE, Cluster, pod};
use crate::controller::{install, network, start};

const PODS: usize = 5_000;
const NODES: usize = 1_000;
/// Peers of a node that it has connections with.
const LINKS: usize = 20;
/// Admin port of every sidecar.
const ADMIN: u16 = 15_090;

/// Sidecars' admin ports, at whatever address of the cluster: how often each was asked.
struct Sidecars {
    asked: Arc<Mutex<BTreeMap<IpAddr, usize>>>,
}

impl Sidecars {
    fn start(cluster: &Cluster) -> Self {
        let bind = || TcpListener::bind(("0.0.0.0", ADMIN)).unwrap();
        let listener = cluster.namespace.enter(bind).unwrap();
        let asked = Arc::new(Mutex::new(BTreeMap::new()));
        let counted = Arc::clone(&asked);
        let links: Vec<_> = (0..LINKS)
            .map(|at| json!({ "peer": format!("nf-{at}"), "interface": "SBI", "connections": 4, "excepted": 0, "classical": 0 }))
            .collect();
        let state = json!({ "node": "nf", "links": links, "refused": [], "ledger_lost": 0 }).to_string();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let address = stream.local_addr().unwrap().ip();
                if answer(stream, &state) {
                    *counted.lock().unwrap().entry(address).or_default() += 1;
                }
            }
        });
        Self { asked }
    }

    /// Number of sidecars that were asked, and number of questions.
    fn asked(&self) -> (usize, usize) {
        let asked = self.asked.lock().unwrap();
        (asked.len(), asked.values().sum())
    }
}

/// Answers a request for the state; returns false for any other.
fn answer(mut stream: TcpStream, state: &str) -> bool {
    let mut head = Vec::new();
    let mut piece = [0; 512];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut piece) {
            Ok(read) if read > 0 && head.len() < 4_096 => head.extend_from_slice(&piece[..read]),
            _ => return false,
        }
    }
    let length = state.len();
    let head_of_answer =
        format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n");
    head.starts_with(b"GET /state HTTP/1.1\r\n")
        && stream.write_all(head_of_answer.as_bytes()).is_ok()
        && stream.write_all(state.as_bytes()).is_ok()
}

/// A pod as it is stored when its sidecar runs and is ready.
fn running(at: usize) -> Value {
    let node = format!("nf-{}", at % NODES);
    let mut pod = pod(&format!("pod-{at}"), json!({ "bartizan/node": node }));
    let sidecar = json!({
        "name": SIDECAR, "image": "registry.5gc/bartizan-sidecar:1", "restartPolicy": "Always",
        "readinessProbe": { "httpGet": { "path": "/ready", "port": ADMIN } },
    });
    pod["spec"]["initContainers"].as_array_mut().unwrap().insert(0, sidecar);
    let address = format!("127.1.{}.{}", at / 250, at % 250 + 1);
    pod["status"] = json!({
        "phase": "Running", "podIP": address, "podIPs": [{ "ip": address }],
        "initContainerStatuses": [{
            "name": SIDECAR, "image": "registry.5gc/bartizan-sidecar:1", "imageID": "", "ready": true, "started": true, "restartCount": 0,
            "state": { "running": { "startedAt": "2026-01-01T00:00:00Z" } },
        }],
    });
    pod
}

fn resident(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Seconds of processor time, user and system.
fn spent(process: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split_whitespace().collect();
    let ticks: f64 = fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap();
    ticks / 100.0
}

#[test]
fn five_thousand_pods_are_within_100_mb() {
    let cluster = Cluster::start();
    install(&cluster);
    let mut wide = network();
    let model = wide["spec"]["nodes"]["amf"].clone();
    for at in 0..NODES {
        let mut node = model.clone();
        node["address"] = json!(format!("10.97.{}.{}", at / 250, at % 250 + 1));
        node["sidecar"]["inbound"][0]["service"] = json!(format!("10.98.{}.{}:8000", at / 250, at % 250 + 1));
        wide["spec"]["nodes"][format!("nf-{at}")] = node;
    }
    // Larger than what `apply` keeps in an annotation.
    let said = cluster.give("create", &wide);
    assert!(said.works, "{said:?}");
    for from in (0..PODS).step_by(100) {
        let pods: Vec<Value> = (from..from + 100).map(running).collect();
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": pods });
        // The API server drops the status of a created object, which is a kubelet's to write.
        for how in ["create", "replace --subresource status"] {
            let said = cluster.give(&format!("--namespace {CORE} {how}"), &list);
            assert!(said.works, "{}", said.err);
        }
    }
    let sidecars = Sidecars::start(&cluster);
    let controller = start(&cluster, &[]);
    let began = Instant::now();
    let process = controller.id();
    // For an object of this size kubectl's whole answer is more than a test keeps.
    let status = |path: &str| {
        cluster.works(&format!(
            "--namespace {CORE} get network core --output jsonpath={{.status{path}}}"
        ))
    };
    let issued = || {
        let text = status(".issued");
        text.split('/').next().and_then(|issued| issued.parse::<usize>().ok())
    };
    until("the first are issued", || issued().unwrap_or_default() >= 20);
    let first = began.elapsed();
    let count = issued().unwrap_or_default();
    let (before, at, questions) = (spent(process), Instant::now(), sidecars.asked().1);
    until("every sidecar was asked", || {
        std::thread::sleep(Duration::from_millis(200));
        sidecars.asked().0 == PODS
    });
    let share = (spent(process) - before) / at.elapsed().as_secs_f64();
    let all = began.elapsed();
    let asked = sidecars.asked().1;
    let made = issued().unwrap_or_default() - count;
    println!(
        "{made} of {NODES} issued and {} of {PODS} sidecars asked in {:?}: {:.1} % of a core; the first were issued after {first:?}, all asked after {all:?}",
        asked - questions,
        at.elapsed(),
        share * 100.0,
    );
    assert!(made > 0, "nothing was issued while it was measured");
    assert_eq!(asked, PODS, "some were asked again before others were asked");
    assert!(all < Duration::from_secs(300), "{all:?}");
    // The number of answers is counted each minute.
    until("all are protected", || {
        status(".conditions[?(@.type==\"Protected\")].reason") == "AllProtected"
    });
    println!("at most {} kB resident", resident(process));
    assert!(resident(process) < 100_000, "{} kB", resident(process));
}
