//! `status --probe`: echoes through the CHILD_SAs of several interfaces.

use std::net::{IpAddr, SocketAddr};
use std::thread;

use bartizan_host::Namespace;
use bartizan_testing::udp_at;
use serde_json::Value;

use super::egress::GTP_U;
use super::guest::INNER;
use crate::stage::*;

/// Number of CHILD_SAs of the CU's link with each result of `status --probe`, and the exit code.
fn probed(stage: &Stage, words: &[&str]) -> (i32, Vec<usize>, Value) {
    let (code, report) = stage.json("status", "cu", &["--probe"]);
    let children = report["links"][0]["children"].as_array().expect("a list");
    let with = |word: &&str| {
        children
            .iter()
            .filter(|child| child["echo"]["result"] == **word)
            .count()
    };
    (code, words.iter().map(with).collect(), report)
}

/// Answers the next Echo Request of GTP-U (TS 29.281, clause 7.2.2), as a user plane function does.
fn answer_gtp_u(space: &Namespace, address: IpAddr) {
    let socket = space.enter(|| udp_at((address, GTP_U))).expect("a namespace");
    socket.set_read_timeout(Some(PATIENCE)).expect("set");
    let mut message = [0; 64];
    let (length, from): (usize, SocketAddr) = socket.recv_from(&mut message).expect("a question");
    message[1] = 2;
    socket.send_to(&message[..length], from).expect("it is sent");
}

/// An echo passes through each CHILD_SA. One that is rekeyed meanwhile proves nothing, which is a
/// finding too, and is asked again.
pub(super) fn all_are_probed(stage: &Stage) {
    eventually("each echo passes", || {
        let (code, counts, report) = probed(stage, &["passed", "failed", "none"]);
        assert_eq!(counts[1], 0, "{report}");
        let all = counts[0] > 0 && counts[2] == 0;
        assert_eq!(code == 0, all, "{report}");
        all.then_some(())
    });
}

/// Every CHILD_SA of E2, N4, Xn, E1 and F1-C is probed or is said not to be: SCTP by each of the
/// six, GTP-U towards the RIC where a function answers, and neither GTP-U the other way round nor
/// PFCP.
pub(super) fn several_interfaces_are_probed(stage: &Stage) {
    let results = ["passed", "failed", "none"];
    let (code, counts, report) = probed(stage, &results);
    assert_eq!(
        (code, counts),
        (1, vec![6, 1, 3]),
        "no function answers GTP-U: {report}"
    );
    let children = report["links"][0]["children"].as_array().expect("a list");
    let failed = children.iter().find(|child| child["echo"]["result"] == "failed");
    let detail = failed.expect("there is one")["echo"]["detail"].to_string();
    assert!(detail.contains("GTP-U"), "{detail}");

    thread::scope(|scope| {
        let ric = &stage.ric;
        scope.spawn(|| answer_gtp_u(ric, INNER[1].into()));
        let (code, counts, report) = probed(stage, &results);
        assert_eq!((code, counts), (0, vec![7, 0, 3]), "{report}");
    });
}
