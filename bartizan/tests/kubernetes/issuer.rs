//! Certificates of cert-manager: its part is played by the test and OpenSSL, and the definition of
//! its requests is one of the test's own, with the fields that matter.

use std::fs;

use bartizan_testing::{eventually, until};
use serde_json::{Value, json};

use crate::cluster::{CORE, Cluster, SYSTEM};
use crate::controller::{BINARY, NAME, apply, condition, file, install_with, network, secret, start};

fn definition() -> Value {
    let text = || json!({ "type": "string" });
    let condition = json!({ "type": "object", "required": ["type", "status"], "properties": {
        "type": text(), "status": text(), "reason": text(), "message": text(), "lastTransitionTime": text(),
    } });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": "certificaterequests.cert-manager.io", "annotations": { "api-approved.kubernetes.io": "unapproved, a test" } },
        "spec": {
            "group": "cert-manager.io",
            "scope": "Namespaced",
            "names": { "kind": "CertificateRequest", "listKind": "CertificateRequestList", "plural": "certificaterequests", "singular": "certificaterequest" },
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
                "schema": { "openAPIV3Schema": { "type": "object", "properties": {
                    "spec": { "type": "object", "required": ["request", "issuerRef"], "properties": {
                        "request": { "type": "string", "format": "byte" },
                        "issuerRef": { "type": "object", "required": ["name"], "properties": { "name": text(), "kind": text(), "group": text() } },
                        "duration": text(),
                        "isCA": { "type": "boolean" },
                        "usages": { "type": "array", "items": text() },
                    } },
                    "status": { "type": "object", "properties": {
                        "conditions": { "type": "array", "items": condition },
                        "certificate": { "type": "string", "format": "byte" },
                        "ca": { "type": "string", "format": "byte" },
                    } },
                } } },
            }],
        },
    })
}

fn request(cluster: &Cluster, name: &str) -> Value {
    eventually(&format!("{name} is asked for"), || {
        let said = cluster.kubectl(&format!(
            "--namespace {CORE} get --output json certificaterequest {name}"
        ));
        said.works.then(|| serde_json::from_str(&said.out).unwrap())
    })
}

fn patch(cluster: &Cluster, name: &str, status: &Value) {
    fs::write(
        cluster.place.path("status.json"),
        json!({ "status": status }).to_string(),
    )
    .unwrap();
    cluster.works(&format!(
        "--namespace {CORE} patch certificaterequest {name} --subresource status --type merge --patch-file status.json"
    ));
}

/// Signs a request by OpenSSL, as the issuer would.
fn sign(cluster: &Cluster, name: &str) {
    let spec = &request(cluster, name)["spec"];
    fs::write(cluster.place.path("request.b64"), spec["request"].as_str().unwrap()).unwrap();
    let encoded = cluster.script(
        "base64 -d request.b64 > request.pem && openssl req -verify -noout -in request.pem 2>/dev/null \
         && openssl x509 -req -in request.pem -CA issuer-root.pem -CAkey issuer.key -copy_extensions copy -days 1 -out leaf.pem 2>/dev/null \
         && base64 --wrap=0 leaf.pem && echo && base64 --wrap=0 issuer-root.pem",
    );
    let (certificate, root) = encoded.split_once('\n').unwrap();
    let status = json!({
        "conditions": [
            { "type": "Approved", "status": "True", "reason": "cert-manager.io", "message": "approved" },
            { "type": "Ready", "status": "True", "reason": "Issued", "message": "issued" },
        ],
        "certificate": certificate, "ca": root.trim(),
    });
    patch(cluster, name, &status);
}

#[test]
fn certificates_are_asked_of_an_issuer_with_the_rights_of_the_chart() {
    let cluster = Cluster::start();
    cluster.script(
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout issuer.key -out issuer-root.pem -days 30 -subj /CN=issuer 2>/dev/null",
    );
    install_with(
        &cluster,
        "--set controller.issuer=Issuer/core --set controller.issuerRootConfigMap=core-root",
    );
    // It may create and watch requests, and cannot answer one itself.
    let can = |verb: &str, what: &str| {
        let said = cluster.kubectl(&format!(
            "--namespace {CORE} auth can-i {verb} {what}.cert-manager.io --as system:serviceaccount:{SYSTEM}:{NAME}"
        ));
        said.out.trim() == "yes"
    };
    let mut controller = start(&cluster, &[]);
    let mut network = network();
    network["spec"]["trust"] = json!({ "roots": "ca.crt" });
    apply(&cluster, &network);
    // cert-manager is not installed yet.
    let message = condition(&cluster, "network core", "Issued", "NoAuthority");
    assert!(message.contains("hint: install cert-manager"), "{message}");
    apply(&cluster, &definition());
    cluster.works("wait --for condition=Established crd certificaterequests.cert-manager.io --timeout 30s");
    for (verb, what, may) in [
        ("create", "certificaterequests", true),
        ("delete", "certificaterequests", true),
        ("list", "certificaterequests", true),
        ("patch", "certificaterequests", false),
        ("patch", "certificaterequests/status", false),
        ("update", "certificaterequests/status", false),
    ] {
        assert_eq!(can(verb, what), may, "{verb} {what}");
    }
    // The policy of a file that names none takes no classical certificate, which is said before anything is signed.
    let message = condition(&cluster, "network core", "Issued", "PolicyRefusesKey");
    assert!(
        message.contains("its policy, hybrid, accepts no signature by"),
        "{message}"
    );
    network["spec"]["policy"] =
        json!({ "profile": "transition", "reason": "certificates of cert-manager", "expires": "2099-12-31" });
    apply(&cluster, &network);
    let message = condition(&cluster, "network core", "Issued", "Issuing");
    assert!(
        message.contains("nodes.amf: CertificateRequest bartizan-amf is not approved yet"),
        "{message}"
    );
    let stored = request(&cluster, "bartizan-amf");
    let uid = cluster.get(&format!("--namespace {CORE} network core"))["metadata"]["uid"].clone();
    assert_eq!(stored["metadata"]["ownerReferences"][0]["uid"], uid);
    assert_eq!(
        stored["spec"]["issuerRef"],
        json!({ "kind": "Issuer", "group": "cert-manager.io", "name": "core" })
    );

    // It is killed in the middle: its keys are gone, and its requests are written anew.
    controller.send(libc::SIGKILL);
    drop(controller);
    let again = start(&cluster, &[]);
    until("it is asked anew", || {
        request(&cluster, "bartizan-amf")["metadata"]["uid"] != stored["metadata"]["uid"]
    });
    sign(&cluster, "bartizan-amf");
    let denied =
        json!({ "type": "Denied", "status": "True", "reason": "policy", "message": "nrf is not allowed here" });
    request(&cluster, "bartizan-nrf");
    patch(&cluster, "bartizan-nrf", &json!({ "conditions": [denied] }));
    let message = condition(&cluster, "network core", "Issued", "Denied");
    assert!(
        message.contains("was denied: policy: nrf is not allowed here"),
        "{message}"
    );
    // After a minute the next one is approved.
    sign(&cluster, "bartizan-nrf");
    condition(&cluster, "network core", "Issued", "AllIssued");
    for node in ["amf", "nrf"] {
        let name = format!("bartizan-{node}");
        let folder = cluster.place.path(&name);
        fs::create_dir_all(&folder).unwrap();
        for key in ["tls.crt", "tls.key", "ca.crt"] {
            let contents = secret(&cluster, &name, key);
            bartizan_pki::write_secret_file(&folder.join(key), contents.as_ref()).unwrap();
        }
        fs::write(folder.join("deployment.yaml"), file(&cluster)).unwrap();
        cluster.script(&format!(
            "{BINARY} check {name}/deployment.yaml --node {node}; test $? -le 1 && \
             openssl verify -CAfile issuer-root.pem -purpose sslserver {name}/tls.crt && openssl verify -CAfile issuer-root.pem -purpose sslclient {name}/tls.crt"
        ));
        let stored = cluster.get(&format!("--namespace {CORE} secret {name}"));
        assert!(stored["data"]["ca.crl"].is_null());
        until("its request is removed", || {
            !cluster
                .kubectl(&format!("--namespace {CORE} get certificaterequest {name}"))
                .works
        });
    }
    let key = secret(&cluster, "bartizan-amf", "tls.key");
    assert!(!again.stderr().contains(key.lines().nth(1).unwrap()));
}
