//! What the controller takes with 5,000 pods, printed by `make test-kubernetes TEST='budget -- --nocapture'`.

use std::fs;
use std::time::{Duration, Instant};

use bartizan_testing::until;
use serde_json::{Value, json};

use crate::cluster::{CORE, Cluster, pod};
use crate::controller::{install, network, start};

const PODS: usize = 5_000;
const NODES: usize = 1_000;

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
        let pods: Vec<Value> = (from..from + 100)
            .map(|at| {
                pod(
                    &format!("pod-{at}"),
                    json!({ "bartizan/node": format!("nf-{}", at % NODES) }),
                )
            })
            .collect();
        let said = cluster.give(
            &format!("--namespace {CORE} create"),
            &json!({ "apiVersion": "v1", "kind": "List", "items": pods }),
        );
        assert!(said.works, "{}", said.err);
    }
    let controller = start(&cluster, &[]);
    let began = Instant::now();
    let process = controller.id();
    // Of an object of this size kubectl's whole answer is more than a test keeps.
    let issued = || {
        let text = cluster.works(&format!(
            "--namespace {CORE} get network core --output jsonpath={{.status.issued}}"
        ));
        text.split('/').next().and_then(|issued| issued.parse::<usize>().ok())
    };
    until("the first are issued", || issued().unwrap_or_default() >= 20);
    let first = began.elapsed();
    let count = issued().unwrap_or_default();
    let (before, at) = (spent(process), Instant::now());
    std::thread::sleep(Duration::from_secs(60));
    let storm = (spent(process) - before) / at.elapsed().as_secs_f64();
    let made = issued().unwrap_or_default() - count;
    assert!(made > 0, "nothing was issued while it was measured");
    println!(
        "{made} of {NODES} issued in {:?}: {:.1} % of a core; at most {} kB resident; the first after {first:?}",
        at.elapsed(),
        storm * 100.0,
        resident(process)
    );
    assert!(resident(process) < 100_000, "{} kB", resident(process));
}
