//! `bartizan controller` against a stand-in of the API server, for faults that a real one cannot be made to have.

#[path = "api_server/mod.rs"]
mod api_server;
#[path = "authority/mod.rs"]
mod authority;
#[path = "controller/issuer.rs"]
mod issuer;
#[path = "controller/states.rs"]
mod states;

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use bartizan_host::{Process, Program};
use bartizan_testing::until;
use data_encoding::BASE64;

use api_server::{ApiServer, Fault};
use authority::Place;

/// A controller with an authority, over a stand-in with these faults.
fn started(faults: &[(&'static str, Fault)]) -> (Place, ApiServer, Process) {
    started_after(faults, |_| ())
}

/// The same after something else was done to the stand-in.
fn started_after(faults: &[(&'static str, Fault)], before: impl FnOnce(&ApiServer)) -> (Place, ApiServer, Process) {
    let place = Place::new();
    place.ca_works("init --dir cluster-ca --algorithm ecdsa-p256");
    place.ca_works("issue --dir cluster-ca --name api --dns api.test --ip 127.0.0.1 --out cluster");
    place.ca_works("init --dir ca --algorithm ml-dsa-65");
    std::fs::write(place.path("token"), "a-token\n").unwrap();
    let server = ApiServer::start(&place.path("cluster"), faults);
    before(&server);
    let controller = controller(&place, &server)
        .arguments(["--listen=127.0.0.1:0"])
        .environment("BARTIZAN_LOG", "debug")
        .start()
        .unwrap();
    (place, server, controller)
}

/// A controller of one namespace that asks this server.
fn controller(place: &Place, server: &ApiServer) -> Program {
    controller_by("--ca=ca", place, server)
}

/// The same, with certificates of this authority or issuer.
fn controller_by(source: &str, place: &Place, server: &ApiServer) -> Program {
    Program::new(env!("CARGO_BIN_EXE_bartizan"))
        .arguments(["controller", source, "--namespace=core"])
        .arguments(["--lease=core-controller", "--lease-namespace=core"])
        .arguments([format!("--server=https://{}", server.address())])
        .arguments(["--ca-file=cluster/ca.crt.pem", "--token-file=token"])
        .directory(place)
}

/// A controller over a stand-in with these faults, each for the first request that its text is found in.
fn recovers_from(faults: &[(&'static str, Fault)], log: &[&str]) {
    let (_place, server, controller) = started(faults);
    until("everything is written", || {
        server.is_written() && server.unmet().is_empty()
    });
    // Each fault was met, and nothing was issued twice because of it.
    assert_eq!(server.created("bartizan-amf"), 1);
    assert_eq!(server.created("bartizan-nrf"), 1);
    until("the second Network's file is there", || {
        server.rename_node();
        server.created("bartizan-smf") == 1
    });
    let printed = controller.stderr();
    let address = printed
        .split("address=")
        .nth(1)
        .unwrap()
        .split_whitespace()
        .next()
        .unwrap();
    assert_eq!(get(address, "/live").0, 200);
    assert_eq!(get(address, "/ready").0, 200);
    let counted = [
        "certificates_total 3",
        "leading 1",
        "refused_namespaces 0",
        "writes_total{object=\"secret\"} 3",
    ];
    // They count once the answer is there.
    until("what was written is counted", || {
        let (status, metrics) = get(address, "/metrics");
        assert_eq!(status, 200);
        counted
            .iter()
            .all(|line| metrics.contains(&format!("bartizan_controller_{line}\n")))
    });
    for wanted in log {
        until(wanted, || controller.stderr().contains(wanted));
    }
    assert!(controller.terminate(Duration::from_secs(120)).unwrap().success());
    assert_eq!(server.holder(), "");
}

/// Status and body.
fn get(address: &str, path: &str) -> (u16, String) {
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

#[test]
fn the_charts_definitions_are_what_the_command_prints() {
    let printed = Command::new(env!("CARGO_BIN_EXE_bartizan"))
        .args(["controller", "--print-crds"])
        .output()
        .unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/helm/bartizan/crds");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let stored = format!("{}---\n{}", read("networks.yaml"), read("exceptions.yaml"));
    assert_eq!(String::from_utf8(printed.stdout).unwrap(), stored);
}

#[test]
fn a_root_that_takes_the_place_of_another_reaches_secrets_and_the_controller_begins_anew() {
    let (place, server, mut controller) = started(&[]);
    until("everything is written", || server.is_written());
    let roots = |name: &str| {
        let secret = server.secret(name)?;
        let text = BASE64.decode(secret["data"]["ca.crt"].as_str()?.as_bytes()).ok()?;
        Some(String::from_utf8(text).ok()?.matches("BEGIN CERTIFICATE").count())
    };
    assert_eq!(roots("bartizan-amf"), Some(1));
    place.ca_works("rollover publish-root --dir ca");
    // Others follow when what was just written is old enough to be what is observed.
    server.rename_node();
    until("both roots", || roots("bartizan-smf") == Some(2));
    place.ca_works("rollover activate-root --dir ca --anyway");
    server.put_pod("amf-0", "amf", "127.0.0.1:1".parse().unwrap());
    until("its end", || controller.ended().unwrap().is_some());
    let said = controller.stderr();
    assert!(
        said.contains("the authority signs by another certificate than when"),
        "{said}"
    );
}

/// A list longer than what is read of an answer failed, again and again, and nothing was issued anywhere.
#[test]
fn long_secrets_of_others_are_listed_in_shorter_pages() {
    let (_place, server, controller) = started_after(&[], |server| server.put_long_secrets(12));
    until("everything is written", || server.is_written());
    assert!(!controller.stderr().contains("bytes"), "{}", controller.stderr());
}

#[test]
fn refused_requests_are_repeated_and_nothing_is_issued_twice() {
    recovers_from(
        &[
            ("GET /api/v1/namespaces/core/secrets?limit", Fault::Status(401)),
            (
                "GET /apis/bartizan.internal/v1alpha1/namespaces/core/networks?limit",
                Fault::Status(500),
            ),
            (
                "POST /apis/coordination.k8s.io/v1/namespaces/core/leases",
                Fault::Status(409),
            ),
            ("POST /api/v1/namespaces/core/configmaps", Fault::Status(500)),
            (
                "PATCH /apis/bartizan.internal/v1alpha1/namespaces/core/networks/core/status",
                Fault::Busy,
            ),
        ],
        &["the API server answers 401", "the API server answers 500"],
    );
}

/// Each conflict cost a certificate: a user who annotates Secrets in a loop filled the authority's disk.
#[test]
fn a_write_that_conflicts_is_tried_again_with_the_certificate_that_was_made() {
    // One for each of two nodes.
    let faults = [("POST /api/v1/namespaces/core/secrets", Fault::Status(409)); 2];
    let (place, server, controller) = started(&faults);
    until("everything is written", || {
        server.is_written() && server.unmet().is_empty()
    });
    let listed = place.ca_works("list --dir ca --json");
    assert_eq!(listed.matches("\"network-function\"").count(), 2, "{listed}");
    assert!(controller.terminate(Duration::from_secs(120)).unwrap().success());
}

#[test]
fn a_watch_that_is_too_old_lists_again_whichever_way_it_is_said() {
    recovers_from(
        &[
            ("networks?watch", Fault::Status(410)),
            ("secrets?watch", Fault::TooOldEvent),
        ],
        &["the version is too old: listing again"],
    );
}

/// Versions that were too old again and again had everything listed without a pause.
#[test]
fn a_watch_that_is_too_old_again_and_again_counts_as_one_that_fails() {
    recovers_from(
        &[("networks?watch", Fault::Status(410)); 3],
        &["cannot follow objects kind=Network why=\"the version is too old: listing again\""],
    );
}

#[test]
fn half_an_event_is_none_and_is_read_again() {
    recovers_from(
        &[
            ("networks?watch", Fault::HalfEvent),
            ("pods?watch", Fault::Closed),
            ("configmaps?watch", Fault::NoJson),
        ],
        &["a watch broke"],
    );
}
