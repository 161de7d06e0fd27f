//! The webhook over HTTPS: what it answers, what it bounds, and how it ends.

use std::fs;
use std::io::Write as _;
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use bartizan_host::Program;
use bartizan_testing::until;
use serde_json::{Value, json};

use crate::AMF;
use crate::authority::Place;
use crate::redirect_stage::LONG;
use crate::webhook::{Webhook, issue};

#[test]
fn pods_are_injected_refused_and_left_out_over_https() {
    let webhook = Webhook::start(Place::new(), &[]);
    let review: Value = serde_json::from_str(AMF).unwrap();
    let pod = webhook.injected(&review);
    let init = pod["spec"]["initContainers"].as_array().unwrap();
    let names: Vec<_> = init.iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["bartizan-redirect", "bartizan-sidecar", "wait-nrf"]);
    assert_eq!(init[0]["image"], "registry.5gc/bartizan-redirect:1");
    // This binary accepts the commands of the containers.
    let mut understood = 0;
    for container in &init[..2] {
        let probes = ["startupProbe", "livenessProbe"].map(|probe| &container[probe]["exec"]["command"]);
        let run = [words(&container["command"]), words(&container["args"])].concat();
        for line in probes
            .map(words)
            .into_iter()
            .chain([run])
            .filter(|line| !line.is_empty())
        {
            assert_eq!(line[0], "/usr/bin/bartizan");
            // Arguments are parsed before the file is read, which is not there.
            let answer = Command::new(env!("CARGO_BIN_EXE_bartizan"))
                .args(&line[1..])
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&answer.stderr).into_owned();
            assert!(
                said.contains("/etc/bartizan/deployment.yaml: No such file"),
                "{line:?}: {said}"
            );
            understood += 1;
        }
    }
    assert_eq!(understood, 4);
    let mut other = review.clone();
    other["request"]["object"]["spec"]["hostNetwork"] = json!(true);
    let refused = webhook.review(&other.to_string());
    assert_eq!(refused.status, 200);
    let answer: Value = serde_json::from_str(&refused.body).unwrap();
    assert_eq!(answer["response"]["allowed"], false);
    assert!(
        answer["response"]["status"]["message"]
            .as_str()
            .unwrap()
            .starts_with("hostNetwork"),
        "{answer}"
    );
    other["request"]["object"]["metadata"]["annotations"] = json!({ "bartizan/inject": "disabled" });
    let left_out: Value = serde_json::from_str(&webhook.review(&other.to_string()).body).unwrap();
    assert_eq!(left_out["response"]["allowed"], true);
    until("the log says so", || {
        let said = webhook.process.stderr();
        ["injected", "refused", "left out by its annotation"]
            .iter()
            .all(|line| said.contains(line))
    });
    assert!(
        webhook
            .process
            .stderr()
            .contains("free5gc/core-free5gc-amf-amf-6c9f7d5b8d-")
    );
}

fn words(list: &Value) -> Vec<String> {
    let all = list.as_array().into_iter().flatten();
    all.map(|word| word.as_str().unwrap().to_owned()).collect()
}

/// They took every place, and neither an API server nor the kubelet was answered.
#[test]
fn connections_of_one_address_that_ask_nothing_leave_places_for_others() {
    let webhook = Webhook::start(Place::new(), &[]);
    let held: Vec<TcpStream> = (0..256).map(|_| TcpStream::connect(webhook.address).unwrap()).collect();
    assert_eq!(webhook.curl("/ready", &["--interface", "127.0.0.2"]).status, 200);
    drop(held);
}

#[test]
fn what_is_no_review_gets_one_that_refuses_and_bounds_hold() {
    let webhook = Webhook::start(Place::new(), &["--mandatory"]);
    let json_header = ["--header", "Content-Type: application/json"];
    let long = webhook.file("long", &b" ".repeat((3 << 20) + 1));
    let deep = webhook.file("deep", &b"[".repeat(100_000));
    let none = webhook.file("none", b"");
    let beta = webhook.file(
        "beta",
        AMF.replace("admission.k8s.io/v1", "admission.k8s.io/v1beta1")
            .as_bytes(),
    );
    for (file, status, code, reason) in [
        (&long, 413, 400, "more than 3145728 bytes"),
        (&deep, 400, 400, "no JSON"),
        (&none, 400, 400, "no JSON"),
        (&beta, 200, 400, "admission.k8s.io/v1beta1"),
    ] {
        let answered = webhook.curl("/inject", &[&json_header[..], &["--data-binary", file]].concat());
        let answer: Value = serde_json::from_str(&answered.body).unwrap();
        assert_eq!(answered.status, status, "{answer}");
        assert_eq!(answer["response"]["allowed"], false);
        assert_eq!(answer["response"]["status"]["code"], code);
        assert!(
            answer["response"]["status"]["message"]
                .as_str()
                .unwrap()
                .contains(reason),
            "{answer}"
        );
    }
    assert_eq!(webhook.curl("/inject", &["--data-binary", &beta]).status, 415);
    assert_eq!(webhook.curl("/inject", &[]).status, 405);
    assert_eq!(webhook.curl("/", &[]).status, 404);
    assert_eq!(webhook.curl("/live", &[]).status, 200);
    assert_eq!(webhook.curl("/ready", &[]).body, "ready\n");
    let left_out = AMF.replace("\"bartizan/node\": \"amf\"", "\"bartizan/inject\": \"disabled\"");
    assert!(webhook.review(&left_out).body.contains("--mandatory"));
    // Connections without a request do not delay others.
    let silent: Vec<_> = (0..100).map(|_| TcpStream::connect(webhook.address).unwrap()).collect();
    let mut plain = TcpStream::connect(webhook.address).unwrap();
    plain.write_all(b"POST /inject HTTP/1.1\r\n\r\n").unwrap();
    assert_eq!(webhook.review(AMF).status, 200);
    drop(silent);
}

#[test]
fn a_certificate_is_exchanged_while_it_serves_and_a_half_written_one_is_not() {
    let webhook = Webhook::start(Place::with_openssl(), &["--drain", "0"]);
    // OpenSSL 3.5 speaks ML-KEM with it, as Go from 1.24 on does.
    let handshake = webhook.place.openssl(&format!(
        "s_client -connect {} -CAfile tls/ca.crt.pem -verify_return_error -groups X25519MLKEM768",
        webhook.address
    ));
    assert_eq!(handshake.code, 0, "{handshake:?}");
    assert!(handshake.out.contains("X25519MLKEM768"), "{handshake:?}");
    let first = serial(&handshake.out);
    // The key of another certificate: the pair is refused, the one before is kept.
    let certificate = fs::read(webhook.place.path("tls/webhook.crt.pem")).unwrap();
    issue(&webhook.place, "");
    let newer = fs::read(webhook.place.path("tls/webhook.crt.pem")).unwrap();
    fs::write(webhook.place.path("tls/webhook.crt.pem"), &certificate).unwrap();
    until("the half is logged", || {
        webhook.process.stderr().contains("the one before is kept")
    });
    assert_eq!(webhook.review(AMF).status, 200);
    fs::write(webhook.place.path("tls/webhook.crt.pem"), &newer).unwrap();
    until("the new one is shown", || {
        let said = webhook
            .place
            .openssl(&format!("s_client -connect {} -CAfile tls/ca.crt.pem", webhook.address));
        said.code == 0 && serial(&said.out) != first
    });
    let Webhook { process, .. } = webhook;
    let status = process.terminate(LONG).unwrap();
    assert!(status.success(), "{status:?}");
}

/// The certificate that a client of OpenSSL was shown.
fn serial(said: &str) -> String {
    let begin = said
        .find("-----BEGIN CERTIFICATE-----")
        .unwrap_or_else(|| panic!("{said}"));
    let end = begin + said[begin..].find("-----END CERTIFICATE-----").unwrap();
    said[begin..end].to_owned()
}

#[test]
fn it_ends_after_the_answers_under_way_and_is_not_ready_before() {
    let mut webhook = Webhook::start(Place::new(), &["--drain", "15"]);
    webhook.process.send(libc::SIGTERM);
    until("it drains", || webhook.process.stderr().contains("draining"));
    // A client that comes while routes still lead here is served.
    let ready = webhook.curl("/ready", &[]);
    assert_eq!((ready.status, ready.body.as_str()), (503, "draining\n"));
    assert_eq!(webhook.review(AMF).status, 200);
    let status = webhook.process.finish(Duration::from_secs(120)).unwrap().status;
    assert!(status.success());
}

#[test]
fn a_wrong_start_is_a_usage_error_with_a_hint() {
    let place = Place::new();
    let run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_bartizan"))
            .args(["webhook", "--image", "a", "--redirect-image", "b"])
            .args(arguments)
            .current_dir(&place)
            .output()
            .unwrap();
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    let (code, said) = run(&["--certificate", "none", "--key", "none"]);
    assert_eq!(code, Some(64));
    assert!(said.contains("none: No such file"), "{said}");
    for (option, value) in [
        ("--config-map", "A"),
        ("--config-map", "a-"),
        ("--secret-prefix", "-"),
        ("--image", "a b"),
        ("--admin-port", "0"),
        ("--requests", "cpu=-1"),
        ("--limits", "disk=1Gi"),
    ] {
        let (code, said) = run(&["--certificate", "none", "--key", "none", option, value]);
        assert_eq!(code, Some(64), "{option} {value}: {said}");
    }
    // A certificate that no API server can verify is used, and said.
    place.ca_works("init --dir ca --algorithm ml-dsa-65");
    issue(&place, "");
    let mut process = Program::new(env!("CARGO_BIN_EXE_bartizan"))
        .arguments([
            "webhook",
            "--image",
            "a",
            "--redirect-image",
            "b",
            "--listen",
            "127.0.0.1:0",
        ])
        .arguments(["--certificate", "tls/webhook.crt.pem", "--key", "tls/webhook.key.pem"])
        .directory(&place)
        .start()
        .unwrap();
    process.wait_for_line("ready", LONG).unwrap();
    let said = process.stderr();
    assert!(said.contains("verifies no ML-DSA"), "{said}");
}

/// A file of `deploy/helm`.
fn chart(file: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../deploy/helm")
        .join(file);
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{file}: {error}"))
}

#[test]
fn the_charts_name_what_the_command_takes() {
    let help = Command::new(env!("CARGO_BIN_EXE_bartizan"))
        .args(["webhook", "--help"])
        .output()
        .unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let deployment = chart("bartizan/templates/deployment.yaml");
    let options: Vec<_> = deployment
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- --"))
        .map(|option| option.split('=').next().unwrap())
        // Those by the name of a value: `sidecar.requests`, `sidecar.limits`.
        .map(|option| if option.starts_with('{') { "requests" } else { option })
        .collect();
    assert_eq!(options.len(), 11, "{options:?}");
    for option in options {
        assert!(help.contains(&format!("--{option}")), "{option}");
    }
    for path in ["/ready", "/live"] {
        assert!(
            deployment.contains(&format!("path: {path},")) && help.contains(path),
            "{path}"
        );
    }
    // The chart's values are the defaults of the command.
    let values: Value = serde_saphyr::from_str(&chart("bartizan/values.yaml")).unwrap();
    for (option, value) in [
        ("config-map", &values["configMap"]),
        ("secret-prefix", &values["secretPrefix"]),
        ("admin-port", &values["adminPort"]),
        ("drain", &values["webhook"]["drainSeconds"]),
    ] {
        let of = &help[help.find(&format!("--{option} <")).unwrap()..];
        let default = of.split("[default: ").nth(1).and_then(|rest| rest.split(']').next());
        assert_eq!(default.unwrap(), value.to_string().trim_matches('"'), "{option}");
    }
    // Every function of free5gc-helm's overlay is a node, with a Service of its sidecar.
    let values: Value = serde_saphyr::from_str(&chart("free5gc/values.yaml")).unwrap();
    let services = chart("free5gc/services.yaml");
    let mut nodes = 0;
    for (name, annotations) in values.as_object().unwrap().iter().filter_map(|(key, chart)| {
        let name = key.strip_prefix("free5gc-")?;
        Some((name, &chart[name]["podAnnotations"]))
    }) {
        let Some(node) = annotations["bartizan/node"].as_str() else {
            assert_eq!(annotations["bartizan/inject"], "disabled", "{name}");
            continue;
        };
        assert_eq!(node, name);
        assert!(
            services.contains(&format!("name: bartizan-{node}\n")) && services.contains(&format!("nf: {node} }}")),
            "{node}"
        );
        nodes += 1;
    }
    assert_eq!(nodes, 9);
}
