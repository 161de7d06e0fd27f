//! A peer with TLS of its own: the sidecar alone reaches it, and nothing goes past it unencrypted.

use std::fs;

use bartizan_host::Process;
use bartizan_testing::Listening as _;
use bartizan_testing::lab_root;

use super::NOTHING;
use crate::redirect_stage::{LONG, NRF, Stage, deployment};

/// The NRF with TLS of its own at port 7443 of both families; `services` has the fields of that
/// name.
fn stage(services: [&str; 2]) -> Stage {
    let stage = Stage::new();
    let text = deployment();
    let (before, rest) = text.rsplit_once("    certificate: nrf/").unwrap();
    let (_, interfaces) = rest.split_once("interfaces:").unwrap();
    let [v4, v6] = services;
    let own = format!("    tls: [{{ listen: '10.88.0.2:7443'{v4} }}, {{ listen: '[fd88::2]:7443'{v6} }}]");
    fs::write(stage.file(), format!("{before}{own}\ninterfaces:{interfaces}")).unwrap();
    stage.certify();
    stage
}

/// nghttpx with OpenSSL 3.5 on the NRF's host, and what it serves.
fn function(stage: &Stage) -> [Process; 2] {
    let behind = stage.function(&stage.nrf, "127.0.0.1");
    let mut process = lab_root()
        .command("nghttpx")
        .unwrap()
        .arguments(["--conf=/dev/null", "--single-process", "--workers=1", "--no-ocsp"])
        .arguments([
            "--require-http-scheme",
            "--ecdh-curves=X25519MLKEM768",
            "--verify-client",
        ])
        .argument(format!(
            "--verify-client-cacert={}",
            stage.path("nrf/ca.crt.pem").display()
        ))
        .arguments(["--frontend=10.88.0.2,7443", "--frontend=fd88::2,7443"])
        .argument("--backend=127.0.0.1,8000;;proto=h2")
        .argument(stage.path("nrf/nrf.key.pem"))
        .argument(stage.path("nrf/nrf.crt.pem"))
        .inside(&stage.nrf)
        .start()
        .unwrap();
    for address in ["10.88.0.2:7443", "[fd88::2]:7443"] {
        process.wait_for_port(address.parse().unwrap(), LONG).unwrap();
    }
    [behind, process]
}

const TLS_PORTS: [&str; 2] = ["http://10.88.0.2:7443/", "http://[fd88::2]:7443/"];

#[test]
fn a_function_reaches_it_by_its_service_and_nothing_leaves_unencrypted() {
    let stage = stage([", service: '10.88.0.2:8000'", ", service: '[fd88::2]:8000'"]);
    let _function = function(&stage);
    let amf = stage.sidecar("amf");
    let said = stage.install().text();
    for line in [
        "  nrf          10.88.0.2:8000\n",
        "  nrf          10.88.0.2:7443 its own TLS, for the sidecar alone\n",
    ] {
        assert!(said.contains(line), "{said}");
    }
    let seen = stage.watch(|| {
        for url in NRF {
            assert_eq!(stage.ask_patiently(url).unwrap(), "the function itself", "{url}");
        }
    });
    assert_eq!((seen.clear_packets, seen.clear_content), (0, 0));
    assert!(seen.protected > 0, "{seen:?}");
    // At its TLS port, in plaintext, without packets of the sidecar's own connections.
    drop(amf);
    let seen = stage.watch(|| {
        for url in TLS_PORTS {
            stage.ask(url).unwrap_err();
        }
    });
    assert_eq!(seen, NOTHING);
    stage.host("nft flush ruleset");
    let seen = stage.watch(|| {
        for url in NRF {
            stage.ask(url).unwrap_err();
        }
    });
    assert_eq!(seen, NOTHING, "the fence holds its service");
}

#[test]
fn without_a_service_a_function_does_not_reach_its_tls_port() {
    let stage = stage(["", ""]);
    let _function = function(&stage);
    // A further node that is redirected to: else there is nothing to install.
    let text = fs::read_to_string(stage.file()).unwrap();
    let udm = "
  udm: { function: UDM, address: 10.88.0.9, tls: [{ listen: '10.88.0.9:7443', service: '10.88.0.9:8000' }] }
interfaces:";
    fs::write(stage.file(), text.replace("\ninterfaces:", udm)).unwrap();
    stage.install();
    let seen = stage.watch(|| {
        for url in TLS_PORTS {
            stage.ask(url).unwrap_err();
        }
    });
    assert_eq!(seen, NOTHING);
    stage.redirect(&["remove"]).unwrap();
    fs::write(stage.file(), text).unwrap();
    let error = stage.redirect(&stage.with_plan("install")).unwrap_err().to_string();
    assert!(error.contains("no other node has a function to redirect to"), "{error}");
    assert!(error.contains("service: ADDRESS:PORT"), "{error}");
}
