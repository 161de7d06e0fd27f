//! With kube-controller-manager: pods that Deployments make, and what is deleted with its owner.

use std::time::Duration;

use bartizan_host::{Process, Program};
use bartizan_testing::{eventually, until};
use serde_json::{Value, json};

use crate::cluster::{CORE, Cluster, LONG, pod};
use crate::controller::{apply, condition, install, network, start};
use crate::stored::assert_injected;
use crate::{tools, webhook};

/// Starts Kubernetes' own controllers, those that a test here needs.
fn controllers(cluster: &Cluster, which: &str) -> Process {
    let program = Program::new(tools::folder().join("kube-controller-manager"))
        .arguments(["--kubeconfig=kubeconfig", "--leader-elect=false", "--secure-port=0"])
        .arguments([format!("--controllers={which}")])
        .directory(&cluster.place)
        .inside(&cluster.namespace)
        .log(cluster.place.path("kube-controller-manager.log"));
    program.start().unwrap()
}

fn deployment(name: &str, replicas: u32, annotations: Value) -> Value {
    let mut template = pod(name, annotations);
    template["metadata"].as_object_mut().unwrap().remove("name");
    template["metadata"]["labels"] = json!({ "app": name });
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "name": name, "namespace": CORE },
        "spec": {
            "replicas": replicas,
            "selector": { "matchLabels": { "app": name } },
            "template": { "metadata": template["metadata"], "spec": template["spec"] },
        },
    })
}

/// The pods of a Deployment that are not about to end.
fn pods(cluster: &Cluster, name: &str) -> Vec<Value> {
    let list = cluster.get(&format!("--namespace {CORE} pods --selector app={name}"));
    let all = list["items"].as_array().unwrap().iter();
    all.filter(|pod| pod["metadata"]["deletionTimestamp"].is_null())
        .cloned()
        .collect()
}

fn has_pods(cluster: &Cluster, name: &str, count: usize) -> Vec<Value> {
    eventually(&format!("{name} has {count} pods"), || {
        let pods = pods(cluster, name);
        (pods.len() == count).then_some(pods)
    })
}

/// A condition of a Deployment that holds: its message.
fn holds(cluster: &Cluster, name: &str, kind: &str) -> Option<String> {
    let stored = cluster.get(&format!("--namespace {CORE} deployment {name}"));
    let all = stored["status"]["conditions"].as_array()?.iter();
    let one = all.clone().find(|one| one["type"] == kind && one["status"] == "True")?;
    Some(one["message"].as_str().unwrap().to_owned())
}

/// Status that a kubelet would write for pods that run.
fn become_ready(cluster: &Cluster, name: &str) {
    for pod in pods(cluster, name) {
        // It may be gone by now.
        cluster.kubectl(&format!(
            "--namespace {CORE} patch pod {} --subresource status --patch {{\"status\":{{\"conditions\":[{{\"type\":\"Ready\",\"status\":\"True\"}}]}}}}",
            pod["metadata"]["name"].as_str().unwrap()
        ));
    }
}

#[test]
fn pods_of_deployments_are_injected_and_without_the_webhook_there_are_none_until_it_is_back() {
    let cluster = Cluster::start();
    let webhook = webhook::install(&cluster);
    let _controllers = controllers(&cluster, "deployment-controller,replicaset-controller");
    let node = || json!({ "bartizan/node": "amf" });
    apply(&cluster, &deployment("amf", 2, node()));
    let first = has_pods(&cluster, "amf", 2);
    for pod in &first {
        assert_injected(&pod["spec"]);
        let metadata = &pod["metadata"];
        assert_eq!(metadata["ownerReferences"][0]["kind"], "ReplicaSet");
        // The webhook has not seen the name, which the API server makes of this one afterwards.
        let prefix = metadata["generateName"].as_str().unwrap();
        assert!(metadata["name"].as_str().unwrap().starts_with(prefix));
        assert!(
            webhook.stderr().contains(&format!("pod=\"{CORE}/{prefix}\"")),
            "{}",
            webhook.stderr()
        );
    }

    // A rollout, by the page's command: no pod of before stays, and those of now are injected.
    become_ready(&cluster, "amf");
    cluster.works(&format!("--namespace {CORE} rollout restart deployment"));
    until("it is rolled out", || {
        become_ready(&cluster, "amf");
        let said = cluster.kubectl(&format!(
            "--namespace {CORE} rollout status deployment amf --timeout 1s"
        ));
        said.works && said.out.contains("successfully rolled out")
    });
    for pod in has_pods(&cluster, "amf", 2) {
        assert_injected(&pod["spec"]);
        assert!(pod["metadata"]["annotations"]["kubectl.kubernetes.io/restartedAt"].is_string());
        assert!(
            first
                .iter()
                .all(|before| before["metadata"]["uid"] != pod["metadata"]["uid"])
        );
    }

    // One that is refused: the reason is where the page says.
    apply(&cluster, &deployment("anonymous", 1, json!({})));
    let described = eventually("the ReplicaSet has an event", || {
        let described = cluster.works(&format!(
            "--namespace {CORE} describe replicaset --selector app=anonymous"
        ));
        described.contains("FailedCreate").then_some(described)
    });
    assert!(described.contains("bartizan/node"), "{described}");

    assert!(webhook.terminate(Duration::from_secs(30)).unwrap().success());
    apply(&cluster, &deployment("late", 2, node()));
    let message = eventually("a condition says it", || holds(&cluster, "late", "ReplicaFailure"));
    assert!(
        message.contains("failed calling webhook \"inject.bartizan.internal\""),
        "{message}"
    );
    let events = cluster.works(&format!(
        "--namespace {CORE} get events --field-selector involvedObject.kind=ReplicaSet,reason=FailedCreate --output jsonpath={{.items[*].message}}"
    ));
    assert!(events.contains("failed calling webhook"), "{events}");
    assert_eq!(pods(&cluster, "late").len(), 0);
    // Those that run are not touched; one that is deleted is not replaced.
    let name = pods(&cluster, "amf")[0]["metadata"]["name"]
        .as_str()
        .unwrap()
        .to_owned();
    cluster.works(&format!("--namespace {CORE} delete pod {name} --now"));
    until("the one that is missing is reported", || {
        holds(&cluster, "amf", "ReplicaFailure").is_some()
    });
    assert_eq!(pods(&cluster, "amf").len(), 1);

    // The webhook is started, and nothing else is done: ReplicaSets try again by themselves.
    let _webhook = webhook::start(&cluster);
    for name in ["late", "amf"] {
        for pod in has_pods(&cluster, name, 2) {
            assert_injected(&pod["spec"]);
        }
        until("nothing is reported any more", || {
            holds(&cluster, name, "ReplicaFailure").is_none()
        });
    }
    assert_eq!(pods(&cluster, "anonymous").len(), 0);
}

/// The names of objects of a kind that the controller has written.
fn ours(cluster: &Cluster, kind: &str) -> Vec<String> {
    let list = cluster.get(&format!(
        "--namespace {CORE} {kind} --selector app.kubernetes.io/managed-by=bartizan-controller"
    ));
    let items = list["items"].as_array().unwrap().iter();
    items
        .map(|one| one["metadata"]["name"].as_str().unwrap().to_owned())
        .collect()
}

fn uid(cluster: &Cluster) -> Value {
    cluster.get(&format!("--namespace {CORE} network core"))["metadata"]["uid"].clone()
}

fn owners(cluster: &Cluster) -> Vec<Value> {
    let list = cluster.get(&format!(
        "--namespace {CORE} configmaps,secrets --selector app.kubernetes.io/managed-by=bartizan-controller"
    ));
    let items = list["items"].as_array().unwrap().iter();
    items
        .map(|one| one["metadata"]["ownerReferences"][0]["uid"].clone())
        .collect()
}

#[test]
fn what_the_controller_has_made_is_deleted_with_its_network_and_nothing_else() {
    let cluster = Cluster::start();
    install(&cluster);
    let _controllers = controllers(&cluster, "garbage-collector-controller,namespace-controller");
    cluster.works(&format!(
        "--namespace {CORE} create secret generic theirs --from-literal=key=theirs"
    ));
    cluster.works(&format!(
        "--namespace {CORE} create configmap theirs --from-literal=key=theirs"
    ));
    let controller = start(&cluster, &[]);
    let mut with_smf = network();
    let mut smf = with_smf["spec"]["nodes"]["amf"].clone();
    smf["address"] = json!("10.96.0.29");
    smf["sidecar"]["inbound"][0]["service"] = json!("10.96.0.19:8000");
    with_smf["spec"]["nodes"]["smf"] = smf;
    apply(&cluster, &with_smf);
    condition(&cluster, "network core", "Issued", "AllIssued");
    // A node that leaves the file has its Secret until the Network is deleted.
    cluster.works(&format!(
        "--namespace {CORE} patch network core --type json --patch [{{\"op\":\"remove\",\"path\":\"/spec/nodes/smf\"}}]"
    ));
    until("the file has no smf", || {
        !crate::controller::file(&cluster).contains("smf")
    });
    assert_eq!(
        ours(&cluster, "secrets"),
        ["bartizan-amf", "bartizan-nrf", "bartizan-smf"]
    );

    for how in ["background", "foreground"] {
        cluster.works(&format!("--namespace {CORE} delete network core --cascade={how}"));
        until("all of it is deleted", || {
            ours(&cluster, "secrets").is_empty() && ours(&cluster, "configmaps").is_empty()
        });
        for kind in ["secret", "configmap"] {
            cluster.works(&format!("--namespace {CORE} get {kind} theirs"));
        }
        apply(&cluster, &network());
        condition(&cluster, "network core", "Issued", "AllIssued");
    }

    // Replaced at once, as by `kubectl replace --force`: in the end all belongs to the new one.
    cluster.works(&format!("--namespace {CORE} delete network core --wait=false"));
    until("it can be made anew", || cluster.give("create", &network()).works);
    let new = uid(&cluster);
    until("all is the new one's", || {
        let owners = owners(&cluster);
        owners.len() == 3 && owners.iter().all(|owner| *owner == new)
    });
    condition(&cluster, "network core", "Issued", "AllIssued");

    // Orphaned on purpose, while an unrelated finalizer keeps the Network: no object is given back
    // to it, which would be deleted with it after all.
    let finalizers = |list: &str| {
        cluster.works(&format!(
            "--namespace {CORE} patch network core --type merge --patch {{\"metadata\":{{\"finalizers\":[{list}]}}}}"
        ))
    };
    finalizers("\"test.5gc/keep\"");
    cluster.works(&format!(
        "--namespace {CORE} delete network core --cascade=orphan --wait=false"
    ));
    let are_orphans = || owners(&cluster) == [Value::Null, Value::Null, Value::Null];
    until("all is orphaned", are_orphans);
    let exception = json!({
        "apiVersion": "bartizan.internal/v1alpha1",
        "kind": "Exception",
        "metadata": { "name": "late", "namespace": CORE },
        "spec": { "interface": "SBI", "between": ["nrf", "amf"], "reason": "the AMF is of 2024", "expires": "2099-12-31" },
    });
    apply(&cluster, &exception);
    condition(&cluster, "exception late", "Effective", "NoNetwork");
    assert!(are_orphans());
    finalizers("");
    until("the Network is gone", || {
        !cluster.kubectl(&format!("--namespace {CORE} get network core")).works
    });
    assert!(are_orphans());
    cluster.works(&format!("--namespace {CORE} delete exception late"));
    apply(&cluster, &network());
    let new = uid(&cluster);
    until("the next Network adopts it", || {
        owners(&cluster).iter().all(|owner| *owner == new)
    });

    // A namespace that is deleted is gone in the end, whatever the controller would write meanwhile.
    cluster.works(&format!("delete namespace {CORE} --timeout {}s", LONG.as_secs()));
    assert!(!cluster.kubectl(&format!("get namespace {CORE}")).works);
    assert!(controller.terminate(Duration::from_secs(20)).unwrap().success());
}
