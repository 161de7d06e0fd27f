//! A namespace that is kept: file, certificates, conditions, and what is left alone.

use std::fs;

use bartizan_testing::{eventually, until};
use serde_json::json;

use crate::cluster::{CORE, Cluster};
use crate::controller::{BINARY, apply, condition, file, install, network, program, secret, start};

#[test]
fn a_network_becomes_file_and_secrets_and_says_what_is_wrong_with_it() {
    let cluster = Cluster::start();
    install(&cluster);
    // The definitions are what the binary prints, and the API server takes them.
    let printed = cluster.script(&format!("{BINARY} controller --print-crds"));
    let repository = crate::document::repository().join("deploy/helm/bartizan/crds");
    let read = |name: &str| fs::read_to_string(repository.join(name)).unwrap();
    assert_eq!(
        printed,
        format!("{}---\n{}", read("networks.yaml"), read("exceptions.yaml"))
    );
    for name in ["networks", "exceptions"] {
        cluster.works(&format!(
            "wait --for condition=Established crd {name}.bartizan.internal --timeout 30s"
        ));
        let stored = cluster.get(&format!("crd {name}.bartizan.internal"));
        let conditions = stored["status"]["conditions"].as_array().unwrap();
        assert!(
            conditions.iter().all(|one| one["type"] != "NonStructuralSchema"),
            "{conditions:?}"
        );
    }
    let explained = eventually("the API server explains it", || {
        let said = cluster.kubectl("explain network.spec.nodes.sidecar.inbound.listen");
        said.works.then_some(said.out)
    });
    assert!(explained.contains("Address and port where it listens"), "{explained}");

    let controller = start(&cluster, &[]);
    apply(&cluster, &network());
    condition(&cluster, "network core", "Issued", "AllIssued");
    condition(&cluster, "network core", "Valid", "Accepted");
    assert!(file(&cluster).contains("10.96.0.21"));
    let uid = cluster.get(&format!("--namespace {CORE} network core"))["metadata"]["uid"].clone();
    for node in ["amf", "nrf"] {
        let name = format!("bartizan-{node}");
        let stored = cluster.get(&format!("--namespace {CORE} secret {name}"));
        assert_eq!(stored["metadata"]["ownerReferences"][0]["uid"], uid);
        assert!(secret(&cluster, &name, "tls.key").starts_with("-----BEGIN PRIVATE KEY-----"));
        assert!(secret(&cluster, &name, "ca.crl").starts_with("-----BEGIN X509 CRL-----"));
        // As a pod has them, judged by another command.
        let folder = cluster.place.path(&name);
        fs::create_dir_all(&folder).unwrap();
        for key in ["tls.crt", "tls.key", "ca.crt", "ca.crl"] {
            let contents = secret(&cluster, &name, key);
            bartizan_pki::write_secret_file(&folder.join(key), contents.as_ref()).unwrap();
        }
        fs::write(folder.join("deployment.yaml"), file(&cluster)).unwrap();
        cluster.script(&format!("{BINARY} check {name}/deployment.yaml --node {node}"));
    }
    let columns = cluster.works(&format!("--namespace {CORE} get networks"));
    assert!(columns.contains("2       True    2/2"), "{columns}");

    // A mistyped key is kept by the API server, refused by the parser, and the file stays.
    let before = file(&cluster);
    let mut wrong = network();
    wrong["spec"]["nodes"]["amf"]["fuction"] = json!("AMF");
    apply(&cluster, &wrong);
    let message = condition(&cluster, "network core", "Valid", "Refused");
    assert!(
        message.starts_with("spec.nodes.amf.fuction: unknown field"),
        "{message}"
    );
    assert!(message.contains("did you mean `function`?"), "{message}");
    assert_eq!(file(&cluster), before);
    apply(&cluster, &network());
    condition(&cluster, "network core", "Valid", "Accepted");

    // Settled: nothing is written any more.
    let version =
        |object: &str| cluster.get(&format!("--namespace {CORE} {object}"))["metadata"]["resourceVersion"].clone();
    let objects = ["network core", "configmap bartizan", "secret bartizan-amf"];
    let versions = objects.map(version);
    std::thread::sleep(std::time::Duration::from_secs(8));
    assert_eq!(objects.map(version), versions);

    // A deleted Secret is made again, with a key of its own; a revoked certificate too, and the
    // list reaches the other Secret.
    let key = secret(&cluster, "bartizan-amf", "tls.key");
    cluster.works(&format!("--namespace {CORE} delete secret bartizan-amf"));
    let again = eventually("it is made again", || {
        let there = cluster
            .kubectl(&format!("--namespace {CORE} get secret bartizan-amf"))
            .works;
        there.then(|| secret(&cluster, "bartizan-amf", "tls.key"))
    });
    assert_ne!(key, again);
    let (chain, list) = (
        secret(&cluster, "bartizan-nrf", "tls.crt"),
        secret(&cluster, "bartizan-amf", "ca.crl"),
    );
    cluster.place.ca_works("revoke --dir ca free5gc.nrf");
    until("the revoked one is issued again", || {
        secret(&cluster, "bartizan-nrf", "tls.crt") != chain
    });
    until("the list reaches the other", || {
        secret(&cluster, "bartizan-amf", "ca.crl") != list
    });
    assert_eq!(secret(&cluster, "bartizan-amf", "tls.key"), again);
    // No private key is in the log, and neither is the token.
    let log = controller.stderr();
    let body: String = again.lines().nth(1).unwrap().to_owned();
    let token = cluster.place.text("token");
    assert!(!log.contains(&body) && !log.contains("PRIVATE KEY") && !log.contains(token.trim()));
    assert!(
        controller
            .terminate(std::time::Duration::from_secs(20))
            .unwrap()
            .success()
    );
}

#[test]
fn exceptions_take_effect_and_end_and_what_is_others_is_left_alone() {
    let cluster = Cluster::start();
    install(&cluster);
    cluster.works(&format!(
        "--namespace {CORE} create secret generic bartizan-amf --from-literal=tls.crt=theirs"
    ));
    let _controller = start(&cluster, &[]);
    apply(&cluster, &network());
    let message = condition(&cluster, "network core", "Issued", "ForeignSecret");
    assert!(message.contains("Secret bartizan-amf is not labelled"), "{message}");
    assert_eq!(secret(&cluster, "bartizan-amf", "tls.crt"), "theirs");
    assert!(secret(&cluster, "bartizan-nrf", "tls.crt").contains("BEGIN CERTIFICATE"));

    let exception = |name: &str, expires: &str| {
        json!({
            "apiVersion": "bartizan.internal/v1alpha1",
            "kind": "Exception",
            "metadata": { "name": name, "namespace": CORE },
            "spec": { "interface": "SBI", "between": ["nrf", "amf"], "reason": "the AMF is of 2024", "expires": expires },
        })
    };
    apply(&cluster, &exception("over", "2020-01-31"));
    condition(&cluster, "exception over", "Effective", "Expired");
    assert!(!file(&cluster).contains("transition"));
    apply(&cluster, &exception("now", "2099-12-31"));
    condition(&cluster, "exception now", "Effective", "InEffect");
    assert!(file(&cluster).contains("the AMF is of 2024"));
    cluster.works(&format!("--namespace {CORE} delete exception now"));
    until("it has ended", || !file(&cluster).contains("transition"));

    // Their Secret is gone: now it is ours, within the minute after which others' are looked at again.
    cluster.works(&format!("--namespace {CORE} delete secret bartizan-amf"));
    eventually("it is issued", || {
        let said = cluster.kubectl(&format!("--namespace {CORE} get secret bartizan-amf"));
        said.works.then_some(())
    });
    condition(&cluster, "network core", "Issued", "AllIssued");

    // An operator's own ConfigMap is read, half of it too, and never written.
    cluster.works(&format!("--namespace {CORE} delete network core"));
    cluster.works(&format!("--namespace {CORE} delete configmap bartizan"));
    let text = crate::document::deployment();
    let with_smf = text.replace("  amf:\n", "  smf:\n").replace("[amf, nrf]", "[smf, nrf]");
    let half = &with_smf[..with_smf.len() / 2 + 7];
    fs::write(cluster.place.path("half.yaml"), half).unwrap();
    fs::write(cluster.place.path("whole.yaml"), &with_smf).unwrap();
    let write = |name: &str| {
        cluster.script(&format!(
            "kubectl --namespace {CORE} create configmap bartizan --from-file=deployment.yaml={name} --dry-run=client --output yaml | kubectl apply --server-side --filename -"
        ))
    };
    write("half.yaml");
    std::thread::sleep(std::time::Duration::from_secs(5));
    assert!(
        !cluster
            .kubectl(&format!("--namespace {CORE} get secret bartizan-smf"))
            .works
    );
    assert_eq!(file(&cluster), half);
    write("whole.yaml");
    eventually("the other half is read", || {
        let said = cluster.kubectl(&format!("--namespace {CORE} get secret bartizan-smf"));
        said.works.then_some(())
    });
    assert_eq!(file(&cluster), with_smf);
}

#[test]
fn nothing_is_issued_by_a_clock_that_is_wrong() {
    let cluster = Cluster::start();
    install(&cluster);
    apply(&cluster, &network());
    // By faketime's library alone: its program ends before what it has started.
    let ahead = program(&cluster, &[])
        .environment("LD_PRELOAD", faketime())
        .environment("FAKETIME", "+40d")
        .environment("FAKETIME_DONT_FAKE_MONOTONIC", "1")
        .start()
        .unwrap();
    let message = condition(&cluster, "network core", "Issued", "ClockSkew");
    assert!(message.contains("ahead of the API server's"), "{message}");
    assert!(
        !cluster
            .kubectl(&format!("--namespace {CORE} get secret bartizan-amf"))
            .works
    );
    // The file needs no clock.
    assert!(file(&cluster).contains("10.96.0.21"));
    assert!(ahead.terminate(std::time::Duration::from_secs(20)).unwrap().success());
    // --once ends when all is written, and says by its exit code that it is.
    let once = program(&cluster, &["--once"]).start().unwrap();
    let finished = once.finish(crate::cluster::LONG).unwrap();
    assert_eq!(
        finished.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&finished.stderr)
    );
    condition(&cluster, "network core", "Issued", "AllIssued");
}

/// The library of the package faketime.
fn faketime() -> std::path::PathBuf {
    let folders = fs::read_dir("/usr/lib").unwrap().flatten();
    let mut found = folders.map(|folder| folder.path().join("faketime/libfaketimeMT.so.1"));
    found
        .find(|path| path.is_file())
        .expect("faketime: `scripts/setup kubernetes` installs it")
}
