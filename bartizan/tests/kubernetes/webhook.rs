//! The webhook as the chart deploys it: with the arguments of its Deployment, the files of its
//! Secret, at the address of its Service.

use std::fs;

use bartizan_host::{Process, Program};
use bartizan_testing::until;
use data_encoding::BASE64;

use crate::cluster::{CORE, Cluster, LONG, SYSTEM};
use crate::document;

pub(crate) const NAME: &str = "bartizan-webhook";
pub(crate) const CONFIGURATION: &str = "bartizan-webhook-bartizan-system";

/// Installs the chart by the page's commands, starts the webhook, and opts the namespace in by the page's commands.
pub(crate) fn install(cluster: &Cluster) -> Process {
    cluster.script(&document::commands("helm install bartizan "));
    let webhook = start(cluster);
    cluster.works(&format!("create namespace {CORE}"));
    cluster.has_account(CORE);
    cluster.place.ca_works("init --dir ca --algorithm ml-dsa-65");
    cluster.script(&document::commands("bartizan/inject=enabled"));
    webhook
}

/// Starts it, as a kubelet would one pod of its Deployment.
pub(crate) fn start(cluster: &Cluster) -> Process {
    write_secret(cluster);
    let deployment = cluster.get(&format!("--namespace {SYSTEM} deployment {NAME}"));
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["command"], serde_json::json!(["/usr/bin/bartizan"]));
    let service = cluster.get(&format!("--namespace {SYSTEM} service {NAME}"));
    let address = service["spec"]["clusterIP"].as_str().unwrap().to_owned();
    let folder = cluster.place.path("secret").display().to_string();
    let arguments = container["args"].as_array().unwrap().iter().map(|argument| {
        let argument = argument.as_str().unwrap();
        argument
            .replace("/etc/bartizan-webhook", &folder)
            .replace("--listen=0.0.0.0:9443", &format!("--listen={address}:443"))
    });
    let mut process = Program::new(env!("CARGO_BIN_EXE_bartizan"))
        .arguments(arguments)
        .directory(&cluster.place)
        .inside(&cluster.namespace)
        .start()
        .unwrap();
    process.wait_for_line("ready: POST /inject", LONG).unwrap();
    process
}

/// Files that a kubelet writes into the volume of the Secret.
pub(crate) fn write_secret(cluster: &Cluster) {
    let secret = cluster.get(&format!("--namespace {SYSTEM} secret bartizan-webhook-tls"));
    let folder = cluster.place.path("secret");
    fs::create_dir_all(&folder).unwrap();
    for (key, value) in secret["data"].as_object().unwrap() {
        let bytes = BASE64.decode(value.as_str().unwrap().as_bytes()).unwrap();
        bartizan_pki::write_secret_file(&folder.join(key), &bytes).unwrap();
    }
}

/// Another certificate, in a folder with its root, into the Secret and the volume, and its root into the configuration.
pub(crate) fn exchange(cluster: &Cluster, webhook: &Process, folder: &str) {
    let before = webhook.stderr().matches("certificate scheme").count();
    cluster.script(&format!(
        "kubectl --namespace {SYSTEM} create secret generic bartizan-webhook-tls --dry-run=client --output yaml \
           --from-file=tls.crt={folder}/webhook.crt.pem --from-file=tls.key={folder}/webhook.key.pem | kubectl replace --filename -\n\
         kubectl patch mutatingwebhookconfiguration {CONFIGURATION} --type json --patch \
           '[{{\"op\": \"replace\", \"path\": \"/webhooks/0/clientConfig/caBundle\", \"value\": \"'$(base64 --wrap=0 {folder}/ca.crt.pem)'\"}}]'"
    ));
    write_secret(cluster);
    until("the webhook shows it", || {
        webhook.stderr().matches("certificate scheme").count() > before
    });
}
