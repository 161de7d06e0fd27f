//! A request to a peer's real address goes through both sidecars, or nowhere.

use std::net::TcpListener;
use std::thread;

use bartizan_host::{Error, Program};
use bartizan_testing::Discovery;

use super::{NOTHING, hear, listen};
use crate::redirect_stage::{AMF, LONG, NRF, SIDECAR, Stage, patient_curl};

#[test]
fn request_to_the_real_address_goes_through_both_sidecars_and_nothing_leaves_unencrypted() {
    let stage = Stage::new();
    let _function = stage.nrf_function();
    // The judge's counts without protection: otherwise its zeroes below would say nothing.
    let seen = stage.watch(|| {
        for url in NRF {
            assert_eq!(stage.ask_patiently(url).unwrap(), "the function itself");
        }
    });
    assert!(seen.clear_content > 4 && seen.protected == 0, "{seen:?}");

    stage.certify();
    let (_nrf, mut amf) = (stage.sidecar("nrf"), stage.sidecar("amf"));
    stage.install();
    let seen = stage.watch(|| {
        for url in NRF {
            let answer = stage.ask_patiently(url);
            assert_eq!(answer.unwrap(), "the function itself", "{url}\n{}", amf.stderr());
        }
    });
    assert!(seen.protected > 0, "{seen:?}");
    assert_eq!((seen.clear_packets, seen.clear_content), (0, 0));

    // A sidecar that is killed takes the way with it, not the guard.
    amf.send(libc::SIGKILL);
    amf.finish(LONG).unwrap();
    let seen = stage.watch(|| {
        for url in NRF {
            stage.ask(url).unwrap_err();
        }
    });
    assert_eq!(seen.clear_packets, 0, "{seen:?}");
    let _again = stage.sidecar("amf");
    assert_eq!(stage.ask_patiently(NRF[0]).unwrap(), "the function itself");
}

#[test]
fn consumer_that_discovers_a_producer_by_absolute_uri_reaches_it_and_nothing_leaves_unencrypted() {
    let stage = Stage::with_udm();
    let udm = stage.udm.as_ref().unwrap();
    let [nrf_address, udm_address] = ["10.88.0.2:8000", "10.89.0.2:8000"].map(|address| address.parse().unwrap());
    let discovery = Discovery::new(&stage.path("functions"), nrf_address, udm_address).unwrap();
    let _nrf_function = discovery.serve_nrf(&stage.nrf).unwrap();
    let _udm_function = discovery.serve_producer(udm).unwrap();
    let answered = || {
        let answer = discovery.call(&stage.amf).unwrap().unwrap();
        assert!(Discovery::is_answer(&answer), "{answer}");
    };
    let seen = stage.watch(answered);
    assert!(seen.clear_content > 4 && seen.protected == 0, "{seen:?}");

    stage.certify();
    let _sidecars = ["nrf", "udm", "amf"].map(|node| stage.sidecar(node));
    stage.install();
    let seen = stage.watch(answered);
    assert!(seen.protected > 0, "{seen:?}");
    assert_eq!((seen.clear_packets, seen.clear_content), (0, 0));
}

#[test]
fn peers_sidecar_that_is_absent_or_silent_makes_requests_fail_and_nothing_leave_unencrypted() {
    let stage = Stage::new();
    let _function = stage.nrf_function();
    stage.certify();
    let _amf = stage.sidecar("amf");
    stage.install();
    let fails = |why: &str| {
        let seen = stage.watch(|| {
            for url in NRF {
                assert!(stage.ask(url).is_err(), "{why}: {url}");
            }
        });
        assert_eq!((seen.clear_packets, seen.clear_content), (0, 0), "{why}");
    };
    fails("nobody listens");
    // One that accepts and says nothing, where the sidecar should be.
    let silent = ["10.88.0.2:7443", "[fd88::2]:7443"].map(|address| {
        let listener = stage.nrf.enter(|| TcpListener::bind(address).unwrap()).unwrap();
        let copy = listener.try_clone().unwrap();
        thread::spawn(move || {
            let mut held = Vec::new();
            while let Ok((accepted, _)) = copy.accept() {
                held.push(accepted);
            }
        });
        listener
    });
    fails("silent");
    drop(silent);
}

#[test]
fn original_destination_is_the_one_that_was_called_over_both_families() {
    let stage = Stage::new();
    listen(&stage);
    stage.install();
    for address in ["10.88.0.2:8000", "[fd88::2]:8000"] {
        assert_eq!(hear(&stage, address).unwrap(), address);
    }
    // The listener's own port can be called too; that is not a redirected connection.
    assert_eq!(
        hear(&stage, "127.0.0.1:15001").unwrap(),
        "the connection was not redirected"
    );
}

#[test]
fn sidecars_own_connections_are_not_redirected_and_its_clear_ones_refused() {
    let stage = Stage::new();
    let _function = stage.nrf_function();
    listen(&stage);
    stage.install();
    let user = SIDECAR.to_string();
    let as_sidecar = |url: &str| {
        Program::new("setpriv")
            .arguments([
                "--reuid",
                &user,
                "--clear-groups",
                "curl",
                "--silent",
                "--show-error",
                "--max-time",
                "50",
            ])
            .arguments(["--http2-prior-knowledge", &format!("{url}hello")])
            .inside(&stage.amf)
            .run(LONG)
    };
    let seen = stage.watch(|| {
        for url in NRF {
            let error = as_sidecar(url).unwrap_err().to_string();
            assert!(
                error.contains("refused") || error.contains("Couldn't connect"),
                "{error}"
            );
        }
    });
    assert_eq!(seen, NOTHING);
    // The guard, and not the redirect, refused it: without the guard it passes.
    stage.host("nft delete table inet bartizan-guard");
    stage.host("ip -4 rule flush protocol 74");
    stage.host("ip xfrm policy flush");
    assert_eq!(as_sidecar(NRF[0]).unwrap().text(), "the function itself");
    assert_eq!(hear(&stage, "10.88.0.2:8000").unwrap(), "10.88.0.2:8000");
}

#[test]
fn function_is_closed_to_the_network_and_open_on_its_own_host() {
    let stage = Stage::new();
    let _function = stage.function(&stage.amf, AMF);
    let url = format!("http://{AMF}:8000/");
    let from_afar = || patient_curl(&url).inside(&stage.nrf).run(LONG);
    assert_eq!(from_afar().unwrap().text(), "the function itself");
    stage.install();
    let seen = stage.watch(|| {
        // Refused at once, with the fence installed too: not 28, which is curl's own patience.
        let Error::Failed { status, .. } = from_afar().unwrap_err() else {
            panic!("curl did not run")
        };
        assert_eq!(status.code(), Some(7));
    });
    assert_eq!(seen.clear_content, 0, "{seen:?}");
    assert!(seen.clear_packets > 0, "no connection was tried: {seen:?}");
    assert_eq!(stage.ask_patiently(&url).unwrap(), "the function itself");
}
