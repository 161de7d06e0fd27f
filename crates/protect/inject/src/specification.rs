//! Additions to a pod: two containers in front of all its init containers, and their volumes.

use serde_json::{Value, json};

use crate::{REDIRECT, SIDECAR, Settings, USER};

/// The binary in both images.
const BINARY: &str = "/usr/bin/bartizan";
/// Mount point of the deployment file, in the sidecar with the files it names next to it.
const FOLDER: &str = "/etc/bartizan";
const FILE: &str = "/etc/bartizan/deployment.yaml";
/// Key of the ConfigMap.
const KEY: &str = "deployment.yaml";
/// Directory of a ledger.
const STATE: &str = "/var/lib/bartizan";
/// Mount point at which the API server's ServiceAccount plugin mounts the pod's token into every
/// container that has nothing mounted there.
const TOKEN: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// Names of the volumes.
pub(crate) const VOLUMES: [&str; 4] = [
    "bartizan-deployment",
    "bartizan-identity",
    "bartizan-ledger",
    "bartizan-no-token",
];

/// The redirect, then the sidecar. With `restartPolicy: Always` an init container goes on running
/// while those that follow run, which start once its startup probe has succeeded, and is ended
/// after the pod's own containers (Kubernetes 1.29 and later; before 1.28 the field is dropped, and
/// the pod waits for the first of them without end).
pub(crate) fn containers(node: &str, settings: &Settings) -> [Value; 2] {
    let mut both = [redirect(node, settings), sidecar(node, settings)];
    for (what, quantities) in [("requests", &settings.requests), ("limits", &settings.limits)] {
        if !quantities.is_empty() {
            both.iter_mut()
                .for_each(|container| container["resources"][what] = json!(quantities));
        }
    }
    both
}

fn redirect(node: &str, settings: &Settings) -> Value {
    let user = USER.to_string();
    let show = json!({
        "command": [BINARY, "sidecar", "redirect", "show", FILE, "--node", node, "--user", user],
    });
    json!({
        "name": REDIRECT,
        "image": settings.redirect_image,
        "command": [BINARY],
        "args": ["sidecar", "redirect", "watch", FILE, "--node", node, "--user", user],
        "restartPolicy": "Always",
        // A capability of a container is in effect for root alone: Kubernetes has no ambient ones.
        "securityContext": security(0, json!({ "drop": ["ALL"], "add": ["NET_ADMIN"] })),
        "startupProbe": probe("exec", &show, 1, 10, 60),
        "livenessProbe": probe("exec", &show, 30, 10, 3),
        "volumeMounts": [
            { "name": VOLUMES[0], "mountPath": FOLDER, "readOnly": true },
            { "name": VOLUMES[3], "mountPath": TOKEN, "readOnly": true },
        ],
    })
}

fn sidecar(node: &str, settings: &Settings) -> Value {
    let port = settings.admin_port;
    let get = |path: &str| json!({ "path": path, "port": port, "scheme": "HTTP" });
    json!({
        "name": SIDECAR,
        "image": settings.image,
        "command": [BINARY],
        "args": ["sidecar", FILE, "--node", node, "--log-format", "json"],
        "restartPolicy": "Always",
        "ports": [{ "name": "bartizan-admin", "containerPort": port, "protocol": "TCP" }],
        "securityContext": security(USER, json!({ "drop": ["ALL"] })),
        "startupProbe": probe("httpGet", &get("/ready"), 1, 5, 120),
        "readinessProbe": probe("httpGet", &get("/ready"), 5, 5, 2),
        "livenessProbe": probe("httpGet", &get("/live"), 10, 5, 3),
        "volumeMounts": [
            { "name": VOLUMES[1], "mountPath": FOLDER, "readOnly": true },
            { "name": VOLUMES[2], "mountPath": STATE },
            { "name": VOLUMES[3], "mountPath": TOKEN, "readOnly": true },
        ],
    })
}

/// Everything is said, so that nothing of the pod's own securityContext holds here.
fn security(user: u32, capabilities: Value) -> Value {
    json!({
        "runAsUser": user,
        // The owner of files in volumes of Secrets is root, and their group too, unless the pod has
        // an fsGroup, which is then among the process's groups: either way mode 0440 is enough.
        "runAsGroup": 0,
        "runAsNonRoot": user != 0,
        "privileged": false,
        "allowPrivilegeEscalation": false,
        "readOnlyRootFilesystem": true,
        "capabilities": capabilities,
        "seccompProfile": { "type": "RuntimeDefault" },
    })
}

fn probe(handler: &str, how: &Value, period: u32, timeout: u32, failures: u32) -> Value {
    json!({ handler: how, "periodSeconds": period, "timeoutSeconds": timeout, "failureThreshold": failures })
}

/// The volumes, in the order of their names in [`VOLUMES`].
pub(crate) fn volumes(node: &str, settings: &Settings) -> [Value; 4] {
    let item = |key: &str| json!({ "key": key, "path": key });
    let map = &settings.config_map;
    let secret = format!("{}{node}", settings.secret_prefix);
    [
        json!({
            "name": VOLUMES[0],
            "configMap": { "name": map, "defaultMode": 0o444, "items": [item(KEY)] },
        }),
        // One volume: certificate and file are replaced together.
        json!({
            "name": VOLUMES[1],
            "projected": {
                "defaultMode": 0o440,
                "sources": [
                    { "configMap": { "name": map, "items": [item(KEY)] } },
                    { "secret": { "name": secret, "items": [item("tls.crt"), item("tls.key"), item("ca.crt")] } },
                    // If there is no revocation list, the deployment file does not name one.
                    { "secret": { "name": secret, "items": [item("ca.crl")], "optional": true } },
                ],
            },
        }),
        json!({ "name": VOLUMES[2], "emptyDir": {} }),
        json!({ "name": VOLUMES[3], "emptyDir": {} }),
    ]
}
