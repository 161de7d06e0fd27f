//! A webhook that does not answer, or that no API server believes: nothing starts unprotected.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::cluster::{CORE, Cluster, SYSTEM, pod};
use crate::webhook;

fn annotated(name: &str) -> Value {
    pod(name, json!({ "bartizan/node": "amf" }))
}

#[test]
fn without_the_webhook_no_pod_of_an_opted_in_namespace_is_created_or_changed() {
    let cluster = Cluster::start();
    let webhook = webhook::install(&cluster);
    assert!(cluster.create(CORE, &annotated("amf")).works);
    assert!(webhook.terminate(Duration::from_secs(30)).unwrap().success());
    for pod in [
        annotated("late"),
        pod("left-out", json!({ "bartizan/inject": "disabled" })),
    ] {
        for how in ["create", "create --dry-run=server"] {
            let said = cluster.give(&format!("--namespace {CORE} {how}"), &pod);
            assert!(
                !said.works
                    && said.err.contains("failed calling webhook \"inject.bartizan.internal\"")
                    && said.err.contains("connection refused"),
                "{said:?}"
            );
        }
    }
    // A pod that runs: its labels no, its status, its binding to a machine and its deletion yes.
    let said = cluster.kubectl("--namespace free5gc label pod amf role=active");
    assert!(!said.works && said.err.contains("failed calling webhook"), "{said:?}");
    let ready = json!({ "status": { "conditions": [{ "type": "Ready", "status": "True" }] } });
    cluster.works(&format!(
        "--namespace free5gc patch pod amf --subresource status --patch {}",
        ready.to_string().replace(' ', "")
    ));
    let binding = json!({
        "apiVersion": "v1", "kind": "Binding", "metadata": { "name": "amf" }, "target": { "apiVersion": "v1", "kind": "Node", "name": "one" },
    });
    let said = cluster.give("create --raw /api/v1/namespaces/free5gc/pods/amf/binding", &binding);
    assert!(said.works, "{said:?}");
    assert_eq!(cluster.get("--namespace free5gc pod amf")["spec"]["nodeName"], "one");
    cluster.works("--namespace free5gc delete pod amf --now --wait=false");
    // Namespaces that have not opted in are not asked about, and the webhook's own and kube-system
    // neither, whatever their labels.
    for namespace in ["default", "kube-system", SYSTEM] {
        if namespace != "default" {
            cluster.has_account(namespace);
            cluster.works(&format!("label namespace {namespace} bartizan/inject=enabled"));
        }
        let said = cluster.create(namespace, &pod("other", json!({})));
        assert!(said.works, "{said:?}");
    }
    // The way out of an emergency: a pod without a sidecar.
    cluster.works("label namespace free5gc bartizan/inject-");
    bartizan_testing::until("the API server has seen the label go", || {
        cluster.create(CORE, &annotated("emergency")).works
    });
    let stored = cluster.get("--namespace free5gc pod emergency");
    assert_eq!(stored["spec"]["initContainers"].as_array().unwrap().len(), 1);
    cluster.works("label namespace free5gc bartizan/inject=enabled");

    // One that hangs is waited for as long as the chart says.
    let mut webhook = webhook::start(&cluster);
    bartizan_testing::until("it is asked again", || {
        webhook.stderr().contains("injected") || !cluster.create(CORE, &annotated("again")).works
    });
    webhook.send(libc::SIGSTOP);
    let began = Instant::now();
    let said = cluster.create(CORE, &annotated("hangs"));
    assert!(
        !said.works && said.err.contains("context deadline exceeded"),
        "{said:?}"
    );
    assert!(began.elapsed() >= Duration::from_secs(5), "{:?}", began.elapsed());
    webhook.send(libc::SIGCONT);
    let said = cluster.create(CORE, &annotated("goes-on"));
    assert!(said.works, "{said:?}");
}

#[test]
fn a_certificate_that_the_api_server_cannot_verify_lets_nothing_through() {
    let cluster = Cluster::start();
    let webhook = webhook::install(&cluster);
    let name = "bartizan-webhook.bartizan-system.svc";
    // Ours of ML-DSA, one for another name, and one whose root is not the configuration's.
    cluster.place.ca_works("init --dir mldsa-ca --algorithm ml-dsa-65");
    cluster
        .place
        .ca_works(&format!("issue --dir mldsa-ca --name webhook --dns {name} --out mldsa"));
    cluster
        .place
        .ca_works("issue --dir webhook-ca --name webhook --dns another.bartizan-system.svc --out another");
    cluster.place.ca_works("init --dir foreign-ca --algorithm ecdsa-p256");
    cluster.place.ca_works(&format!(
        "issue --dir foreign-ca --name webhook --dns {name} --out foreign"
    ));
    std::fs::copy(
        cluster.place.path("webhook/ca.crt.pem"),
        cluster.place.path("foreign/ca.crt.pem"),
    )
    .unwrap();
    for (folder, reason) in [
        ("mldsa", "tls: "),
        ("another", "x509: certificate is valid for another.bartizan-system.svc"),
        ("foreign", "x509: certificate signed by unknown authority"),
    ] {
        webhook::exchange(&cluster, &webhook, folder);
        let said = bartizan_testing::eventually("the API server has the new root", || {
            let said = cluster.create(CORE, &annotated("unverified"));
            println!("{folder}: {}", said.err.trim());
            (!said.works && said.err.contains(reason)).then_some(said)
        });
        assert!(said.err.contains("failed calling webhook"), "{said:?}");
        assert!(!cluster.kubectl("--namespace free5gc get pod unverified").works);
    }
    webhook::exchange(&cluster, &webhook, "webhook");
    bartizan_testing::until("the first certificate is believed again", || {
        cluster.create(CORE, &annotated("verified")).works
    });
}
