//! Refused updates, and the messages that users read.

use serde_json::{Value, json};

use crate::cluster::{CORE, Cluster, pod};
use crate::webhook;

/// A pod that something is to be said against.
fn with(annotations: Value, change: impl FnOnce(&mut Value)) -> Value {
    let mut pod = pod("wrong", annotations);
    change(&mut pod["spec"]);
    pod
}

#[test]
fn pods_that_cannot_be_protected_are_refused_with_what_to_do_and_dry_runs_too() {
    let cluster = Cluster::start();
    let webhook = webhook::install(&cluster);
    let node = || json!({ "bartizan/node": "amf" });
    let context = |pod: &mut Value, key: &str, value: Value| pod["containers"][0]["securityContext"][key] = value;
    for (pod, reason) in [
        (
            with(json!({}), |_| {}),
            "the pod names no node; add the annotation `bartizan/node: NAME` to the pod template",
        ),
        (
            with(json!({ "bartizan/node": "AMF" }), |_| {}),
            "the annotation bartizan/node is `AMF`",
        ),
        (
            with(json!({ "bartizan/node": "" }), |_| {}),
            "the annotation bartizan/node is ``",
        ),
        (
            with(json!({ "bartizan/node": "amf", "bartizan/inject": "false" }), |_| {}),
            "the annotation bartizan/inject is `false`; write `enabled` or `disabled`",
        ),
        (
            with(json!({ "bartizan/node": "amf", "bartizan/trust": "upf" }), |_| {}),
            "the annotation bartizan/trust names `upf`, and the pod has no such container",
        ),
        (
            with(node(), |spec| spec["hostNetwork"] = json!(true)),
            "take `hostNetwork: true` out",
        ),
        (
            with(node(), |spec| {
                context(spec, "capabilities", json!({ "add": ["NET_ADMIN"] }));
            }),
            "amf has NET_ADMIN, with which it could pass or remove the rules",
        ),
        (
            with(node(), |spec| context(spec, "runAsUser", json!(10101))),
            "choose another",
        ),
        (
            with(node(), |spec| {
                spec["containers"][0]["volumeMounts"] = json!([{ "name": "bartizan-identity", "mountPath": "/key" }]);
                spec["volumes"] = json!([{ "name": "bartizan-identity", "secret": { "secretName": "bartizan-amf" } }]);
            }),
            "amf mounts bartizan-identity, which is for the sidecar alone",
        ),
    ] {
        for how in ["create", "create --dry-run=server", "apply --server-side"] {
            let said = cluster.give(&format!("--namespace {CORE} {how}"), &pod);
            assert!(!said.works, "{pod}: {said:?}");
            assert!(
                said.err
                    .contains("admission webhook \"inject.bartizan.internal\" denied the request: ")
                    && said.err.contains(reason),
                "{reason}: {said:?}"
            );
        }
    }
    assert!(!cluster.kubectl("--namespace free5gc get pod wrong").works);

    // Left out: a warning to the creating user, and a line in the audit log.
    let said = cluster.create(CORE, &pod("db", json!({ "bartizan/inject": "disabled" })));
    assert!(
        said.works
            && said
                .err
                .contains("Warning: bartizan/inject: disabled: this pod has no sidecar"),
        "{said:?}"
    );
    assert_eq!(
        cluster.audited("db")[0]["inject.bartizan.internal/left-out"],
        "bartizan/inject"
    );
    assert!(webhook.stderr().contains("left out by its annotation"));
    // Trusted, and said.
    let mut trusted = with(json!({ "bartizan/node": "amf", "bartizan/trust": "amf" }), |spec| {
        context(spec, "capabilities", json!({ "add": ["NET_ADMIN"], "drop": ["ALL"] }));
    });
    trusted["metadata"]["name"] = json!("trusted");
    let said = cluster.create(CORE, &trusted);
    assert!(
        said.works && said.err.contains("Warning: amf is trusted with NET_ADMIN"),
        "{said:?}"
    );
    assert_eq!(
        cluster.audited("trusted")[0]["inject.bartizan.internal/trusted"],
        "bartizan/trust: amf"
    );
    // `webhook.mandatory`, by an upgrade of the release.
    let upgraded = cluster.helm(
        "upgrade bartizan deploy/helm/bartizan --namespace bartizan-system --reuse-values --set webhook.mandatory=true",
    );
    assert!(upgraded.works, "{upgraded:?}");
    drop(webhook);
    let _webhook = webhook::start(&cluster);
    let said = cluster.create(CORE, &pod("db-2", json!({ "bartizan/inject": "disabled" })));
    assert!(!said.works && said.err.contains("--mandatory"), "{said:?}");
}

#[test]
fn of_an_injected_pod_only_its_own_can_be_changed() {
    let cluster = Cluster::start();
    let webhook = webhook::install(&cluster);
    assert!(
        cluster
            .create(CORE, &pod("amf", json!({ "bartizan/node": "amf" })))
            .works
    );
    let image = |container: &str, image: &str| {
        cluster.kubectl(&format!("--namespace {CORE} set image pod/amf {container}={image}"))
    };
    let said = image("amf", "registry.5gc/amf:2");
    assert!(said.works, "{said:?}");
    for container in ["bartizan-redirect", "bartizan-sidecar"] {
        let said = image(container, "registry.5gc/other:1");
        assert!(
            !said.works
                && said.err.contains(&format!(
                    "the image of {container} may become registry.5gc/{container}:0.1.0 and nothing else"
                )),
            "{said:?}"
        );
    }
    cluster.works("--namespace free5gc label pod amf role=active");

    // `kubectl debug`: ephemeral containers, which have a resource of their own.
    let debug = |name: &str, options: &str| {
        cluster.kubectl(&format!(
            "--namespace {CORE} debug amf --image busybox --attach=false --container {name} {options}"
        ))
    };
    let said = debug("one", "--profile general");
    assert!(!said.works && said.err.contains("one has SYS_PTRACE"), "{said:?}");
    let said = debug("two", "--profile netadmin");
    assert!(!said.works && said.err.contains("NET_ADMIN, NET_RAW"), "{said:?}");
    let said = debug("three", "--profile restricted --target bartizan-sidecar");
    assert!(
        !said.works && said.err.contains("target a container of the pod's own"),
        "{said:?}"
    );
    let said = debug("four", "--profile restricted");
    assert!(said.works, "{said:?}");
    let stored = cluster.get("--namespace free5gc pod amf");
    assert_eq!(stored["spec"]["ephemeralContainers"][0]["name"], "four");
    assert_eq!(stored["spec"]["ephemeralContainers"].as_array().unwrap().len(), 1);

    // Another image of ours, and its webhook: running pods may be led there.
    let upgraded = cluster.helm(
        "upgrade bartizan deploy/helm/bartizan --namespace bartizan-system --reuse-values --set images.sidecar=registry.5gc/bartizan-sidecar:0.2.0",
    );
    assert!(upgraded.works, "{upgraded:?}");
    drop(webhook);
    let _webhook = webhook::start(&cluster);
    let said = image("bartizan-sidecar", "registry.5gc/bartizan-sidecar:0.2.0");
    assert!(said.works, "{said:?}");
    cluster.works("--namespace free5gc delete pod amf --now --wait=false");
}
