//! Pods that are to be injected, as the API server stores them.

use serde_json::{Value, json};

use crate::cluster::{CORE, Cluster, pod};
use crate::webhook;
use bartizan_testing::eventually;

const OURS: [&str; 2] = ["bartizan-redirect", "bartizan-sidecar"];
/// Path at which the plugin ServiceAccount mounts tokens.
const TOKEN: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

fn names(list: &Value) -> Vec<&str> {
    let all = list.as_array().into_iter().flatten();
    all.map(|one| one["name"].as_str().unwrap()).collect()
}

/// The volumes that containers have at the place of the token.
fn token_of(container: &Value) -> Vec<&str> {
    let mounts = container["volumeMounts"].as_array().unwrap().iter();
    mounts
        .filter(|mount| mount["mountPath"] == TOKEN)
        .map(|mount| mount["name"].as_str().unwrap())
        .collect()
}

pub(crate) fn assert_injected(spec: &Value) {
    assert_eq!(names(&spec["initContainers"]), [OURS[0], OURS[1], "wait"]);
    assert_eq!(names(&spec["containers"]), ["amf"]);
    for place in [0, 1] {
        let container = &spec["initContainers"][place];
        assert_eq!(container["restartPolicy"], "Always", "{container}");
        assert_eq!(
            container["resources"]["requests"],
            json!({ "cpu": "50m", "memory": "64Mi" })
        );
        assert_eq!(token_of(container), ["bartizan-no-token"]);
    }
    assert_eq!(spec["initContainers"][2]["restartPolicy"], Value::Null);
    let volumes = names(&spec["volumes"]);
    let token = volumes
        .iter()
        .find(|name| name.starts_with("kube-api-access-"))
        .unwrap();
    for container in [&spec["initContainers"][2], &spec["containers"][0]] {
        assert_eq!(token_of(container), [*token]);
    }
    for name in [
        "bartizan-deployment",
        "bartizan-identity",
        "bartizan-ledger",
        "bartizan-no-token",
    ] {
        assert_eq!(volumes.iter().filter(|one| **one == name).count(), 1, "{volumes:?}");
    }
    let identity = &spec["volumes"][volumes.iter().position(|one| *one == "bartizan-identity").unwrap()]["projected"];
    assert_eq!(identity["defaultMode"], 0o440);
    assert_eq!(identity["sources"][0]["configMap"]["name"], "bartizan");
    assert_eq!(identity["sources"][1]["secret"]["name"], "bartizan-amf");
    let items = identity["sources"][1]["secret"]["items"].as_array().unwrap();
    let keys: Vec<_> = items.iter().map(|item| item["key"].as_str().unwrap()).collect();
    assert_eq!(keys, ["tls.crt", "tls.key", "ca.crt"]);
    assert_eq!(identity["sources"][2]["secret"]["optional"], true);
}

#[test]
fn a_pod_is_stored_with_both_containers_in_front_and_with_them_once() {
    let cluster = Cluster::start();
    let webhook = webhook::install(&cluster);
    let node = json!({ "bartizan/node": "amf" });
    let created = cluster.create(CORE, &pod("amf", node.clone()));
    assert!(created.works && created.err.is_empty(), "{created:?}");
    let stored = cluster.get("--namespace free5gc pod amf");
    assert_injected(&stored["spec"]);
    let audited = cluster.audited("amf");
    assert_eq!(audited[0]["inject.bartizan.internal/node"], "amf", "{audited:?}");

    // As it is stored, once more: with all that the API server has filled in, and nothing is put in twice.
    let mut again = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "amf-2", "annotations": node } });
    again["spec"] = stored["spec"].clone();
    let created = cluster.create(CORE, &again);
    assert!(created.works, "{created:?}");
    assert_eq!(cluster.get("--namespace free5gc pod amf-2")["spec"], stored["spec"]);
    assert!(
        webhook.stderr().contains("allowed as it is pod=\"free5gc/amf-2\""),
        "{}",
        webhook.stderr()
    );

    // Nothing is stored of a dry run, and what it answers is injected all the same.
    let dry = cluster.give(
        "--namespace free5gc create --dry-run=server --output json",
        &pod("dry", node.clone()),
    );
    assert!(dry.works, "{dry:?}");
    assert_injected(&serde_json::from_str::<Value>(&dry.out).unwrap()["spec"]);
    assert!(!cluster.kubectl("--namespace free5gc get pod dry").works);

    // Applied twice, by either way: the second time nothing is taken out of the stored object, and
    // no field manager is in conflict.
    for (name, how) in [("applied", ""), ("applied-by-server", " --server-side")] {
        for _ in 0..2 {
            let applied = cluster.give(&format!("--namespace free5gc apply{how}"), &pod(name, node.clone()));
            assert!(applied.works, "{applied:?}");
            assert_injected(&cluster.get(&format!("--namespace free5gc pod {name}"))["spec"]);
        }
    }

    // Two configurations that lead to it, as while one release replaces another: the second call
    // finds what the first has put in.
    let mut other = cluster.get(&format!("mutatingwebhookconfiguration {}", webhook::CONFIGURATION));
    other["metadata"] = json!({ "name": "another-release" });
    assert!(cluster.give("create", &other).works);
    // API servers read configurations a little later than they store them.
    let calls = |pod: &str| webhook.stderr().matches(&format!("pod=\"free5gc/{pod}\"")).count();
    let twice = eventually("both are called", || {
        let name = format!("twice-{}", std::time::UNIX_EPOCH.elapsed().unwrap().as_millis());
        let created = cluster.create(CORE, &pod(&name, node.clone()));
        assert!(created.works, "{created:?}");
        (calls(&name) > 1).then_some(name)
    });
    assert_injected(&cluster.get(&format!("--namespace free5gc pod {twice}"))["spec"]);

    // The API server's Go offers ML-KEM, so nothing of that was said.
    assert!(!webhook.stderr().contains("no ML-KEM"), "{}", webhook.stderr());
}
