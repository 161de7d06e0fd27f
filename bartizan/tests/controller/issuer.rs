//! Certificates of an issuer of cert-manager, which the tests play: what it is asked for, what is
//! taken of its answers and what is refused.

use std::time::Duration;

use bartizan_host::Process;
use bartizan_testing::{eventually, until};
use data_encoding::BASE64;
use serde_json::{Value, json};

use crate::api_server::{ApiServer, Fault};
use crate::authority::Place;

struct Stage {
    place: Place,
    server: ApiServer,
}

impl Stage {
    fn new(faults: &[(&'static str, Fault)]) -> Self {
        let place = Place::new();
        place.ca_works("init --dir cluster-ca --algorithm ecdsa-p256");
        place.ca_works("issue --dir cluster-ca --name api --dns api.test --ip 127.0.0.1 --out cluster");
        // The issuer, and another with which it has nothing to do.
        place.ca_works("init --dir issuer --algorithm ecdsa-p256");
        place.ca_works("init --dir another --algorithm ecdsa-p256");
        std::fs::write(place.path("token"), "a-token\n").unwrap();
        let server = ApiServer::start(&place.path("cluster"), faults);
        Self { place, server }
    }

    fn start(&self, more: &[&str]) -> Process {
        super::controller_by("--issuer=ClusterIssuer/core", &self.place, &self.server)
            .arguments(more)
            .environment("BARTIZAN_LOG", "debug")
            .start()
            .unwrap()
    }

    fn asked(&self, name: &str) -> Value {
        eventually("it is asked for", || self.server.request(name))
    }

    /// Status of the request with this authority's signature, as cert-manager answers.
    fn signed(&self, authority: &str, request: &Value, options: &str) -> Value {
        let csr = BASE64
            .decode(request["spec"]["request"].as_str().unwrap().as_bytes())
            .unwrap();
        std::fs::write(self.place.path("request.pem"), csr).unwrap();
        self.place.ca_works(&format!(
            "sign --dir {authority} --csr request.pem --name leaf --out signed --force {options}"
        ));
        let encoded = |name: &str| BASE64.encode(&std::fs::read(self.place.path(name)).unwrap());
        json!({
            "conditions": [
                { "type": "Approved", "status": "True", "reason": "cert-manager.io", "message": "" },
                { "type": "Ready", "status": "True", "reason": "Issued", "message": "Certificate fetched from issuer successfully" },
            ],
            "certificate": encoded("signed/leaf.crt.pem"),
            "ca": encoded("signed/ca.crt.pem"),
        })
    }

    /// Waits for the condition `Issued` to have this reason and to say this.
    fn says(&self, reason: &str, text: &str) {
        eventually(
            &format!("Issued is {reason}: {text}: {:?}", self.server.condition("Issued")),
            || {
                let (found, message) = self.server.condition("Issued")?;
                (found == reason && message.contains(text)).then_some(())
            },
        );
    }

    fn secret(&self, name: &str, key: &str) -> Option<String> {
        let stored = self.server.secret(name)?;
        let value = stored["data"][key].as_str()?;
        Some(String::from_utf8(BASE64.decode(value.as_bytes()).unwrap()).unwrap())
    }
}

#[test]
fn certificates_are_asked_for_taken_and_their_requests_removed() {
    let stage = Stage::new(&[(
        "DELETE /apis/cert-manager.io/v1/namespaces/core/certificaterequests/bartizan-nrf",
        Fault::Status(500),
    )]);
    let controller = stage.start(&[]);
    let request = stage.asked("bartizan-amf");
    let spec = &request["spec"];
    assert_eq!(
        spec["issuerRef"],
        json!({ "kind": "ClusterIssuer", "group": "cert-manager.io", "name": "core" })
    );
    assert_eq!(
        spec["usages"],
        json!(["digital signature", "server auth", "client auth"])
    );
    assert_eq!((&spec["isCA"], &spec["duration"]), (&json!(false), &json!("7776000s")));
    let meta = &request["metadata"];
    assert_eq!(meta["labels"]["app.kubernetes.io/managed-by"], "bartizan-controller");
    assert_eq!(meta["annotations"]["bartizan/node"], "amf");
    assert_eq!(meta["ownerReferences"][0]["uid"], "one");
    stage.says(
        "Issuing",
        "nodes.amf: CertificateRequest bartizan-amf is not approved yet",
    );
    for name in ["bartizan-amf", "bartizan-nrf"] {
        let signed = stage.signed("issuer", &stage.asked(name), "--accept-san");
        stage.server.answer(name, signed);
    }
    until("both are written", || stage.server.is_written());
    stage.says("AllIssued", "2 of 2");
    until("the requests are removed, although removing one failed", || {
        ["bartizan-amf", "bartizan-nrf"]
            .iter()
            .all(|name| stage.server.request(name).is_none())
    });
    assert!(stage.server.unmet().is_empty());
    assert_eq!(
        (
            stage.server.created("bartizan-amf"),
            stage.server.created("bartizan-nrf")
        ),
        (2, 2)
    );
    let stored = stage.server.secret("bartizan-amf").unwrap();
    assert_eq!(
        stored["metadata"]["annotations"]["bartizan/issuer"],
        "ClusterIssuer.cert-manager.io/core"
    );
    assert!(stored["data"]["ca.crl"].is_null());
    assert_eq!(
        stage.secret("bartizan-amf", "ca.crt").unwrap(),
        stage.place.text("signed/ca.crt.pem")
    );
    let key = stage.secret("bartizan-amf", "tls.key").unwrap();
    let secret = key.lines().nth(1).unwrap();
    assert!(!controller.stderr().contains(secret) && !controller.stderr().contains("PRIVATE KEY"));
    assert!(!request.to_string().contains(secret));
    // It is as it should be: a controller that starts again asks for nothing.
    assert!(controller.terminate(Duration::from_secs(120)).unwrap().success());
    let mut again = stage.start(&[]);
    again.wait_for_line("leading", Duration::from_secs(60)).unwrap();
    std::thread::sleep(Duration::from_secs(5));
    assert_eq!(stage.server.created("bartizan-amf"), 2);
}

#[test]
fn what_is_not_issued_is_said_with_its_reason_and_its_request_is_removed() {
    for (kind, reason) in [
        ("Denied", "Denied"),
        ("InvalidRequest", "InvalidRequest"),
        ("Ready", "Failed"),
    ] {
        let stage = Stage::new(&[]);
        let _controller = stage.start(&[]);
        stage.asked("bartizan-amf");
        let status = if kind == "Ready" { "False" } else { "True" };
        let condition = json!({ "type": kind, "status": status, "reason": if kind == "Ready" { "Failed" } else { "policy" }, "message": "the name amf is not allowed" });
        stage
            .server
            .answer("bartizan-amf", json!({ "conditions": [condition] }));
        stage.says(reason, "the name amf is not allowed");
        until("it is removed", || stage.server.request("bartizan-amf").is_none());
        assert!(stage.server.secret("bartizan-amf").is_none());
    }
}

#[test]
fn an_answer_that_is_not_what_was_asked_for_is_not_written() {
    let stage = Stage::new(&[]);
    let root = "--issuer-root=root.pem";
    std::fs::copy(stage.place.path("issuer/root.crt.pem"), stage.place.path("root.pem")).unwrap();
    // Each by a controller of its own, which asks anew: after a refusal one waits for a minute.
    let refused = |answer: &dyn Fn(&Value) -> Value, says: &str| {
        let controller = stage.start(&[root]);
        let request = eventually("it is asked anew", || {
            let request = stage.server.request("bartizan-amf");
            request.filter(|one| one["status"].is_null())
        });
        stage.server.answer("bartizan-amf", answer(&request));
        stage.says("Failed", says);
        assert!(stage.server.secret("bartizan-amf").is_none());
        assert!(controller.terminate(Duration::from_secs(120)).unwrap().success());
        request
    };
    let first = refused(
        &|request| stage.signed("issuer", request, "--dns amf --dns upf"),
        "has the name dns:upf, which was not asked for",
    );
    // The key of the first controller's request is gone with it: what its successor asks for is another.
    refused(&|_| stage.signed("issuer", &first, "--accept-san"), "is of another key");
    refused(
        &|request| stage.signed("issuer", request, "--dns upf"),
        "lacks the name dns:amf",
    );
    refused(
        &|request| stage.signed("another", request, "--accept-san"),
        "no root that the chain",
    );
    // No certificate at all, and no Base64.
    for (text, says) in [("AAAA", "holds no certificate"), ("%", "is not Base64")] {
        let ready = json!({ "type": "Ready", "status": "True" });
        refused(&|_| json!({ "conditions": [ready.clone()], "certificate": text }), says);
    }
}

#[test]
fn a_request_that_somebody_deletes_is_said_and_one_of_before_a_crash_is_removed_and_asked_again() {
    let stage = Stage::new(&[]);
    let controller = stage.start(&[]);
    let before = ["bartizan-amf", "bartizan-nrf"].map(|name| stage.asked(name));
    stage.server.delete_request("bartizan-amf");
    stage.says("Failed", "CertificateRequest bartizan-amf was deleted by somebody else");
    // As kill -9: nothing is released, nothing removed.
    drop(controller);
    assert!(stage.server.request("bartizan-nrf").is_some());
    stage
        .server
        .answer("bartizan-nrf", stage.signed("issuer", &before[1], "--accept-san"));
    let _again = stage.start(&[]);
    let after = eventually("it is asked anew", || {
        stage
            .server
            .request("bartizan-nrf")
            .filter(|one| one["metadata"]["uid"] != before[1]["metadata"]["uid"])
    });
    assert_ne!(after["spec"]["request"], before[1]["spec"]["request"]);
    for name in ["bartizan-amf", "bartizan-nrf"] {
        let signed = stage.signed("issuer", &stage.asked(name), "--accept-san");
        stage.server.answer(name, signed);
    }
    until("both are written", || stage.server.is_written());
    // One for each node at any time.
    assert_eq!(stage.server.created("bartizan-nrf"), 3);
}

#[test]
fn what_the_api_server_refuses_is_said() {
    let stage = Stage::new(&[
        (
            "GET /apis/cert-manager.io/v1/namespaces/core/certificaterequests?limit",
            Fault::Status(404),
        ),
        (
            "POST /apis/cert-manager.io/v1/namespaces/core/certificaterequests",
            Fault::Status(403),
        ),
    ]);
    stage.server.put_request("bartizan-nrf");
    let _controller = stage.start(&[]);
    stage.says("NoAuthority", "hint: install cert-manager");
    stage.says("Failed", "CertificateRequest bartizan-amf: the API server answers 403");
    stage.says(
        "Failed",
        "there is a CertificateRequest bartizan-nrf that is not this controller's",
    );
    assert_eq!(
        stage.server.request("bartizan-nrf").unwrap()["metadata"]["uid"],
        "theirs"
    );
}

#[test]
fn options_that_cannot_work_are_refused() {
    for (options, says) in [
        (&["--issuer=Issuer/core", "--ca=ca"][..], "cannot be used with"),
        (&["--issuer=core"], "KIND/NAME is meant"),
        (
            &["--issuer=Issuer/core", "--key-algorithm=ml-dsa-65"],
            "knows no ML-DSA",
        ),
        (&["--ca=ca", "--issuer-root=x"], "--issuer"),
        (&["--issuer=Issuer/core", "--issuer-root=missing.pem"], "missing.pem"),
        (&[], "--ca"),
    ] {
        let place = Place::new();
        std::fs::write(place.path("token"), "a-token\n").unwrap();
        place.ca_works("init --dir cluster-ca --algorithm ecdsa-p256");
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_bartizan"))
            .args([
                "controller",
                "--server=https://127.0.0.1:1",
                "--ca-file=cluster-ca/root.crt.pem",
                "--token-file=token",
                "--lease=core-controller",
                "--lease-namespace=core",
            ])
            .args(options)
            .current_dir(place.as_ref())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(says), "{options:?}: {said}");
    }
}
