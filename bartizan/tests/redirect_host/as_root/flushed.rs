//! Packets that leave once rules are gone: none, as long as one of redirect, guard and fence is
//! left.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;

use bartizan_host::Program;

use super::{NOTHING, listen};
use crate::redirect_stage::{AMF, LONG, NRF, Stage, curl, patient_curl};

#[test]
fn with_the_redirect_flushed_requests_are_refused_and_nothing_leaves() {
    let stage = Stage::new();
    let _function = stage.nrf_function();
    listen(&stage);
    stage.install();
    for away in [
        "nft flush table inet bartizan-redirect",
        "nft delete table inet bartizan-redirect",
    ] {
        stage.host(away);
        let seen = stage.watch(|| {
            for url in NRF {
                let error = stage.ask_patiently(url).unwrap_err().to_string();
                assert!(
                    error.contains("refused") || error.contains("Couldn't connect"),
                    "{error}"
                );
            }
        });
        assert_eq!(seen, NOTHING, "{away}");
    }
    let guard = stage.host("nft list table inet bartizan-guard");
    assert!(!guard.contains("@services-v4 counter packets 0 "), "{guard}");
    assert!(!guard.contains("@services-v6 counter packets 0 "), "{guard}");
}

#[test]
fn with_all_of_nftables_flushed_the_fence_lets_nothing_leave() {
    let stage = Stage::new();
    let _function = stage.nrf_function();
    listen(&stage);
    stage.install();
    stage.host("nft flush ruleset");
    let seen = stage.watch(|| {
        for url in NRF {
            stage.ask(url).unwrap_err();
        }
    });
    assert_eq!(seen, NOTHING);
}

#[test]
fn without_the_fence_a_flushed_ruleset_leaks_which_is_why_it_is_the_default() {
    let stage = Stage::new();
    let _function = stage.nrf_function();
    let mut arguments = stage.with_plan("install").to_vec();
    arguments.push("--no-fence");
    let said = stage.redirect(&arguments).unwrap().text();
    assert!(
        said.contains("no fence: `nft flush ruleset` would let traffic leave unencrypted"),
        "{said}"
    );
    stage.host("nft flush ruleset");
    let seen = stage.watch(|| {
        for url in NRF {
            assert_eq!(stage.ask_patiently(url).unwrap(), "the function itself");
        }
    });
    assert!(seen.clear_content > 0, "{seen:?}");
}

#[test]
fn connection_under_way_is_cut_when_rules_go_and_its_bytes_do_not_leave() {
    for away in ["nft delete table inet bartizan-redirect", "nft flush ruleset"] {
        let stage = Stage::new();
        let _function = stage.nrf_function();
        // One that keeps what it accepts open, and hears what is said.
        let listener = stage
            .amf
            .enter(|| TcpListener::bind("127.0.0.1:15001").unwrap())
            .unwrap();
        stage.install();
        let mut consumer = stage
            .amf
            .enter(|| TcpStream::connect("10.88.0.2:8000").unwrap())
            .unwrap();
        let (mut sidecar, _) = listener.accept().unwrap();
        consumer.write_all(b"before").unwrap();
        sidecar.read_exact(&mut [0; 6]).unwrap();
        stage.host(away);
        let seen = stage.watch(|| {
            // Refused at once, or sent again and again until TCP times out: either way it stays here.
            for _ in 0..5 {
                let _ = consumer.write_all(b"PRI * HTTP/2.0 after");
                thread::sleep(std::time::Duration::from_millis(200));
            }
        });
        assert_eq!(seen, NOTHING, "{away}");
    }
}

/// A socket that is bound to a device finds its way past a rule of routing, which knows none.
#[test]
fn with_all_of_nftables_flushed_sockets_bound_to_a_device_let_nothing_leave() {
    let bound = |stage: &Stage, curl: fn(&str) -> Program| {
        for url in NRF {
            let _ = curl(url)
                .arguments(["--interface", "if!eth0"])
                .inside(&stage.amf)
                .run(LONG);
        }
    };
    let stage = Stage::new();
    let _function = stage.nrf_function();
    let seen = stage.watch(|| bound(&stage, patient_curl));
    assert!(seen.clear_content > 4, "the judge sees nothing: {seen:?}");
    stage.install();
    assert_eq!(stage.watch(|| bound(&stage, curl)), NOTHING);
    stage.host("nft flush ruleset");
    assert_eq!(stage.watch(|| bound(&stage, curl)), NOTHING);
}

/// Neither of one that listens at its real address nor of one that is bound to a device.
#[test]
fn with_all_of_nftables_flushed_the_own_function_answers_nobody_on_the_network() {
    let stage = Stage::new();
    let _functions = [AMF, "fd88::1"].map(|address| stage.function(&stage.amf, address));
    let urls = ["http://10.88.0.1:8000/", "http://[fd88::1]:8000/"];
    let from_afar =
        |curl: fn(&str) -> Program| urls.map(|url| curl(url).inside(&stage.nrf).run(LONG).map(|answer| answer.text()));
    for answer in from_afar(patient_curl) {
        assert_eq!(answer.unwrap(), "the function itself");
    }
    stage.install();
    stage.host("nft flush ruleset");
    let seen = stage.watch(|| from_afar(curl).into_iter().for_each(|answer| drop(answer.unwrap_err())));
    assert!(seen.clear_packets > 0 && seen.clear_content == 0, "{seen:?}");
    for url in urls {
        assert_eq!(stage.ask_patiently(url).unwrap(), "the function itself", "{url}");
    }
}
