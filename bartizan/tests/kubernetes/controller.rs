//! The controller as the chart deploys it: with the arguments of its Deployment, and the rights of its ServiceAccount.

use bartizan_host::{Process, Program};
use bartizan_testing::eventually;
use data_encoding::BASE64;
use serde_json::{Value, json};

use crate::cluster::{CORE, Cluster, LONG, SYSTEM};
use crate::document;

pub(crate) const NAME: &str = "bartizan-controller";

/// Installs the chart with the controller enabled, in a cluster whose namespace [`CORE`] it keeps.
pub(crate) fn install(cluster: &Cluster) {
    install_with(cluster, "--set controller.authority.claim=ca");
}

/// The same by these values instead of an authority on a volume.
pub(crate) fn install_with(cluster: &Cluster, values: &str) {
    for namespace in [SYSTEM, CORE] {
        cluster.works(&format!("create namespace {namespace}"));
        cluster.has_account(namespace);
    }
    cluster.place.ca_works("init --dir ca --algorithm ml-dsa-65");
    let installed = cluster.helm(&format!(
        "install bartizan deploy/helm/bartizan --namespace {SYSTEM} --set images.sidecar=registry.5gc/bartizan-sidecar:1 \
         --set images.redirect=registry.5gc/bartizan-redirect:1 --set webhook.caBundle=AA== --set controller.enabled=true \
         --set images.controller=registry.5gc/bartizan-controller:1 --set controller.namespaces={{{CORE}}} {values}"
    ));
    assert!(installed.works, "{installed:?}");
    // No server answers for the webhook here, and pods are not to be injected.
    cluster.works("delete mutatingwebhookconfiguration bartizan-webhook-bartizan-system");
    cluster.script(&format!("kubectl --namespace {SYSTEM} create token {NAME} > token"));
}

/// The program that starts one, as a kubelet would.
pub(crate) fn program(cluster: &Cluster, more: &[&str]) -> Program {
    let deployment = cluster.get(&format!("--namespace {SYSTEM} deployment {NAME}"));
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    let arguments: Vec<String> = container["args"]
        .as_array()
        .unwrap()
        .iter()
        .map(|argument| {
            argument
                .as_str()
                .unwrap()
                .replace("/var/lib/bartizan-ca/ca", "ca")
                .replace("/etc/bartizan-issuer/ca.crt", "issuer-root.pem")
        })
        .filter(|argument| !argument.starts_with("--listen="))
        .collect();
    assert!(arguments.contains(&"--namespace=free5gc".to_owned()), "{arguments:?}");
    let api = [
        "--server=https://127.0.0.1:6443",
        "--ca-file=cluster/ca.crt.pem",
        "--token-file=token",
    ];
    Program::new(BINARY)
        .environment("BARTIZAN_LOG", "debug")
        .arguments(arguments)
        .arguments(api)
        .arguments(more)
        .directory(&cluster.place)
        .inside(&cluster.namespace)
}

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_bartizan");

pub(crate) fn start(cluster: &Cluster, more: &[&str]) -> Process {
    let mut process = program(cluster, more).start().unwrap();
    process.wait_for_line("ready: everything is listed", LONG).unwrap();
    process
}

/// The page's deployment file as a Network.
pub(crate) fn network() -> Value {
    let spec: Value = serde_saphyr::from_str(&document::deployment()).unwrap();
    json!({
        "apiVersion": "bartizan.internal/v1alpha1",
        "kind": "Network",
        "metadata": { "name": "core", "namespace": CORE },
        "spec": spec,
    })
}

pub(crate) fn apply(cluster: &Cluster, object: &Value) {
    let said = cluster.give("apply", object);
    assert!(said.works, "{said:?}");
}

/// Waits for a condition of an object to have a reason; gives its message.
pub(crate) fn condition(cluster: &Cluster, object: &str, kind: &str, reason: &str) -> String {
    eventually(&format!("{object} has {kind} {reason}"), || {
        let stored = cluster.get(&format!("--namespace {CORE} {object}"));
        let all = stored["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let one = all.into_iter().find(|one| one["type"] == kind)?;
        (one["reason"] == reason).then(|| one["message"].as_str().unwrap().to_owned())
    })
}

pub(crate) fn secret(cluster: &Cluster, name: &str, key: &str) -> String {
    let stored = cluster.get(&format!("--namespace {CORE} secret {name}"));
    let value = stored["data"][key]
        .as_str()
        .unwrap_or_else(|| panic!("{name}: no {key}"));
    String::from_utf8(BASE64.decode(value.as_bytes()).unwrap()).unwrap()
}

/// The deployment file of the ConfigMap.
pub(crate) fn file(cluster: &Cluster) -> String {
    let stored = cluster.get(&format!("--namespace {CORE} configmap bartizan"));
    stored["data"]["deployment.yaml"].as_str().unwrap().to_owned()
}
