//! Two controllers: one acts. It is killed, it ends, the API server goes and comes back.

use std::time::{Duration, Instant};

use bartizan_testing::{eventually, until};
use serde_json::json;

use crate::cluster::{CORE, Cluster, SYSTEM};
use crate::controller::{NAME, apply, condition, install, network, start};

fn holder(cluster: &Cluster) -> String {
    let lease = cluster.get(&format!("--namespace {SYSTEM} lease {NAME}"));
    lease["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned()
}

/// A Network with one more node.
fn with(node: &str) -> serde_json::Value {
    let mut network = network();
    let mut more = network["spec"]["nodes"]["amf"].clone();
    more["address"] = json!("10.96.0.29");
    more["sidecar"]["inbound"][0]["service"] = json!("10.96.0.19:8000");
    network["spec"]["nodes"][node] = more;
    network
}

fn is_issued(cluster: &Cluster, node: &str) {
    eventually(&format!("{node} is issued"), || {
        let said = cluster.kubectl(&format!("--namespace {CORE} get secret bartizan-{node}"));
        said.works.then_some(())
    });
}

#[test]
fn another_takes_over_when_the_leader_is_killed_and_at_once_when_it_ends() {
    let cluster = Cluster::start();
    install(&cluster);
    let mut first = start(&cluster, &[]);
    until("the first leads", || first.stderr().contains("leading me="));
    let second = start(&cluster, &[]);
    apply(&cluster, &network());
    condition(&cluster, "network core", "Issued", "AllIssued");
    assert!(first.stderr().contains("issued namespace"));
    assert!(!second.stderr().contains("leading me=") && !second.stderr().contains("issued namespace"));
    let held = holder(&cluster);
    let killed = Instant::now();
    first.send(libc::SIGKILL);
    apply(&cluster, &with("smf"));
    is_issued(&cluster, "smf");
    // Not before the Lease had been unchanged for its fifteen seconds.
    assert!(killed.elapsed() >= Duration::from_secs(10), "{:?}", killed.elapsed());
    assert_ne!(holder(&cluster), held);
    assert!(second.stderr().contains("leading me="));

    let third = start(&cluster, &[]);
    let ended = Instant::now();
    assert!(second.terminate(Duration::from_secs(20)).unwrap().success());
    until("the third leads", || third.stderr().contains("leading me="));
    assert!(ended.elapsed() < Duration::from_secs(12), "{:?}", ended.elapsed());
}

#[test]
fn an_api_server_that_comes_back_is_followed_again() {
    let mut cluster = Cluster::start();
    install(&cluster);
    let controller = start(&cluster, &[]);
    apply(&cluster, &network());
    condition(&cluster, "network core", "Issued", "AllIssued");
    cluster.stop_server();
    until("it does not lead without a Lease", || {
        controller.stderr().contains("not leading any more")
    });
    cluster.restart_server();
    apply(&cluster, &with("smf"));
    is_issued(&cluster, "smf");
    condition(&cluster, "network core", "Issued", "AllIssued");
    // Nothing was issued a second time.
    let log = controller.stderr();
    for node in ["amf", "nrf", "smf"] {
        assert_eq!(log.matches(&format!("node=\"{node}\" why=")).count(), 1, "{log}");
    }
}
