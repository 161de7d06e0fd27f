//! The redirect of the SBI together with an IPsec link between the same hosts, and sockets that are
//! bound to a VRF, which this kernel has.

use std::io::Read as _;

use bartizan_host::{Namespace, Program};
use bartizan_testing::{Capture, Direction};
use bartizan_wire::capture::CaptureReader;
use bartizan_wire::ip;

use super::hosts::{LONG, batch};
use crate::boot::is_here;
use crate::redirect_stage::{NRF, Stage};

const ENDS: [&str; 2] = ["10.88.0.1", "10.88.0.2"];
const KEY: &str = "0x000102030405060708090a0b0c0d0e0f10111213";

/// Packets on the cable.
#[derive(Debug, Default)]
struct Passed {
    /// TCP to or from the port of a network function.
    clear: usize,
    /// TCP to or from the port of a sidecar.
    tls: usize,
    esp: usize,
}

/// Packets from the AMF's host while `act` runs.
fn leaving(stage: &Stage, act: impl FnOnce()) -> Passed {
    let file = stage.path("esp.pcap");
    let capture = Capture::start(Some(&stage.amf), "eth0", &file, Direction::Outbound).expect("a capture");
    act();
    assert!(capture.stop().expect("captured").complete());
    let mut bytes = Vec::new();
    std::fs::File::open(&file)
        .and_then(|mut file| file.read_to_end(&mut bytes))
        .expect("a file");
    let mut reader = CaptureReader::new();
    reader.push(&bytes);
    let mut passed = Passed::default();
    while let Some(packet) = reader.next_packet().expect("whole") {
        let data = packet.data;
        if data.get(12..14) != Some(&[0x08, 0x00]) {
            continue;
        }
        let ports = data
            .get(34..38)
            .map(|ports| [[ports[0], ports[1]], [ports[2], ports[3]]].map(u16::from_be_bytes));
        match (data.get(23), ports) {
            (Some(&ip::ESP), _) => passed.esp += 1,
            (Some(&ip::TCP), Some(ports)) if ports.contains(&8000) => passed.clear += 1,
            (Some(&ip::TCP), Some(ports)) if ports.contains(&7443) => passed.tls += 1,
            _ => {}
        }
    }
    passed
}

/// A request to the NRF's own address, which may take as long as it does in an emulated machine.
fn ask(stage: &Stage, options: &[&str], seconds: &str) -> Result<String, bartizan_host::Error> {
    let curl = Program::new("curl").arguments([
        "--silent",
        "--show-error",
        "--fail",
        "--http2-prior-knowledge",
        "--max-time",
        seconds,
    ]);
    let curl = curl.arguments(options).argument(format!("{}hello", NRF[0]));
    curl.inside(&stage.amf).run(LONG).map(|finished| finished.text())
}

/// Everything between the two hosts in ESP, as charon would key it.
fn key(space: &Namespace, [own, other]: [&str; 2]) {
    let mut lines = String::new();
    for (from, to, spi) in [(ENDS[0], ENDS[1], 0x1000), (ENDS[1], ENDS[0], 0x2000)] {
        lines += &format!(
            "xfrm state add src {from} dst {to} proto esp spi {spi:#x} reqid 9 mode transport aead rfc4106(gcm(aes)) {KEY} 128\n"
        );
    }
    for (direction, from, to) in [("out", own, other), ("in", other, own)] {
        lines += &format!(
            "xfrm policy add src {from}/32 dst {to}/32 dir {direction} priority 370000 tmpl src {from} dst {to} proto esp reqid 9 mode transport\n"
        );
    }
    batch(space, &lines);
}

fn unkey(space: &Namespace) {
    batch(space, "xfrm policy deleteall priority 370000\nxfrm state flush\n");
}

#[test]
fn requests_pass_both_sidecars_and_esp_and_nothing_of_them_leaves_otherwise() {
    if !is_here() {
        return;
    }
    let stage = Stage::new();
    let _function = stage.function(&stage.nrf, ENDS[1]);
    let before = leaving(&stage, || {
        assert_eq!(ask(&stage, &[], "240").expect("an answer"), "the function itself");
    });
    assert!(before.clear > 3 && before.tls == 0 && before.esp == 0, "{before:?}");
    stage.certify();
    let (_nrf, amf) = (stage.sidecar("nrf"), stage.sidecar("amf"));
    stage.install();
    key(&stage.amf, ENDS);
    key(&stage.nrf, [ENDS[1], ENDS[0]]);
    let answered = || {
        let answer = ask(&stage, &[], "240").unwrap_or_else(|error| panic!("{error}\n{}", amf.stderr()));
        assert_eq!(answer, "the function itself");
    };
    let through = leaving(&stage, answered);
    assert!(through.esp > 0 && through.clear == 0 && through.tls == 0, "{through:?}");
    let shown = stage.redirect(&stage.with_plan("show")).expect("installed").text();
    assert_eq!(shown, "redirect  installed\nguard     installed\nfence     installed\n");
    // ESP goes, as when a charon ends: what remains is TLS.
    for space in [&stage.amf, &stage.nrf] {
        unkey(space);
    }
    let without = leaving(&stage, answered);
    assert!(without.esp == 0 && without.clear == 0 && without.tls > 0, "{without:?}");
    // And the packet filter after it.
    stage.host("nft flush ruleset");
    let flushed = leaving(&stage, || drop(ask(&stage, &[], "5").expect_err("an answer")));
    assert_eq!(flushed.clear, 0, "{flushed:?}");
}

#[test]
fn sockets_bound_to_a_vrf_or_a_device_let_nothing_leave_without_nftables() {
    if !is_here() {
        return;
    }
    let stage = Stage::new();
    batch(
        &stage.amf,
        "link add red type vrf table 100\nlink set red up\nroute add table 100 10.88.0.2 dev eth0\n",
    );
    let bound = || {
        for device in ["if!red", "if!eth0"] {
            let _ = ask(&stage, &["--interface", device], "5");
        }
    };
    let before = leaving(&stage, bound);
    assert!(before.clear > 1, "{before:?}");
    stage.install();
    stage.host("nft flush ruleset");
    let after = leaving(&stage, bound);
    assert_eq!(after.clear, 0, "{after:?}");
}
