//! Two real charons, kernel ESP, the guard by nftables, SCTP, and NAT next to all of it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use bartizan_host::sctp::{Association, Listener, Opening};
use bartizan_host::{Namespace, Program};
use bartizan_testing::{Port, connect};
use nix::sys::signal::{Signal, kill};
use serde_json::Value;

use super::hosts::LONG;
use crate::boot::is_here;
use crate::stage::*;

const E2AP: u16 = 36_421;

fn opening() -> Opening {
    Opening {
        attempts: 3,
        longest_wait: Duration::from_millis(300),
        ..Opening::default()
    }
}

/// Asks for an association; it needs no answer.
fn ask(space: &Namespace, from: [u8; 4], to: [u8; 4]) {
    let [from, to] =
        [(from, 0), (to, E2AP)].map(|(address, port)| SocketAddr::new(IpAddr::V4(Ipv4Addr::from(address)), port));
    let _ = space
        .enter(|| Association::connect(from, to, opening()))
        .expect("a namespace");
}

fn host(space: &Namespace, program: &str, line: &str) -> String {
    let program = Program::new(program).arguments(line.split(' ')).inside(space);
    program.run(LONG).unwrap_or_else(|error| panic!("{error}")).text()
}

fn others(stage: &Stage, rules: &str) {
    let script = format!("table inet others\ndelete table inet others\ntable inet others {{\n{rules}\n}}\n");
    let nft = Program::new("nft")
        .arguments(["-f", "-"])
        .text(&script)
        .expect("a text");
    nft.inside(&stage.cu)
        .run(LONG)
        .unwrap_or_else(|error| panic!("{error}"));
}

fn dropped<'a>(report: &'a Value, reason: &str) -> &'a Value {
    &report["cleartext"]["links"][0][reason]
}

#[test]
fn an_association_runs_through_kernel_esp_under_the_guard_and_none_leaves_without() {
    if !is_here() {
        return;
    }
    let stage = Stage::set_up("hybrid", "hybrid");
    // A container behind the CU, whose packets get the CU's address.
    let container = Namespace::create("container").expect("a namespace");
    let port = |space, address| Port::new(space, "b0").address(address).expect("an address");
    connect(
        &port(&stage.cu, "10.79.0.1/24"),
        &port(&container, "10.79.0.2/24"),
        1500,
    )
    .expect("a cable");
    host(&container, "ip", "route add default via 10.79.0.1");
    let forward = stage.cu.enter(|| std::fs::write("/proc/sys/net/ipv4/ip_forward", "1"));
    forward.expect("a namespace").expect("forwarding");
    let masquerade =
        "chain p {\ntype nat hook postrouting priority srcnat;\nip saddr 10.79.0.2 snat ip to 10.78.0.1\n}";
    others(&stage, masquerade);
    let asks = || {
        ask(&stage.cu, [10, 78, 0, 1], [10, 78, 0, 2]);
        ask(&container, [10, 79, 0, 2], [10, 78, 0, 2]);
    };
    let before = super::egress::leaving(&stage, "before", asks);
    assert!(before.clear.len() >= 2 && before.protected.is_empty(), "{before:?}");

    let (ric, mut cu) = (stage.up("ric"), stage.up("cu"));
    let report = stage.stands("cu");
    let guard = &report["cleartext"];
    assert_eq!(
        [&guard["guard"], &guard["by"], &guard["protected_by"]],
        ["installed", "nftables", "link"],
        "{report}"
    );
    assert_eq!(
        report["links"][0]["ike"][0]["key_exchanges"].as_array().map(Vec::len),
        Some(2),
        "{report}"
    );
    let through = super::egress::leaving(&stage, "through", || {
        // Both directions: what arrives through ESP is the association's other half.
        let at = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 78, 0, 2)), E2AP);
        let listener = stage
            .ric
            .enter(|| Listener::bind(at, Opening::default()))
            .expect("a namespace");
        let listener = listener.expect("it listens");
        let from = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 78, 0, 1)), 0);
        let association = stage.cu.enter(|| Association::connect(from, at, Opening::default()));
        association.expect("a namespace").expect("it is accepted");
        listener.accept().expect("it came");
        assert_eq!(stage.json("rekey", "cu", &[]).0, 0);
        asks();
    });
    assert!(through.clear.is_empty() && through.protected.len() >= 6, "{through:?}");

    // The rule that takes own packets out of the selectors.
    others(
        &stage,
        "chain p {\ntype nat hook postrouting priority srcnat;\noifname \"v0\" masquerade\n}",
    );
    let translated = super::egress::leaving(&stage, "translated", || {
        ask(&stage.cu, [10, 78, 0, 1], [10, 78, 0, 2]);
    });
    assert!(translated.clear.is_empty(), "{translated:?}");
    let (_, report) = stage.json("status", "cu", &[]);
    assert!(dropped(&report, "dropped_translated").as_u64() > Some(0), "{report}");
    others(&stage, masquerade);

    // charon is killed, and what it had in the kernel is flushed.
    kill(stage.charon_process("cu").expect("it runs"), Signal::SIGKILL).expect("killed");
    eventually("its up ends", || cu.ended().expect("a child of ours"));
    for what in ["policy", "state"] {
        host(&stage.cu, "ip", &format!("xfrm {what} flush"));
    }
    let after = super::egress::leaving(&stage, "after", asks);
    assert!(after.clear.is_empty() && after.protected.is_empty(), "{after:?}");
    ric.terminate(PATIENCE).expect("it ends");
}
