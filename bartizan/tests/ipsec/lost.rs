//! Peers that are lost and come back.

use std::os::unix::net::UnixDatagram;

use bartizan_host::Program;
use bartizan_ledger::Why;
use nix::sys::signal::Signal;

use crate::stage::*;

/// The peer is asked often, so that its silence is noticed soon.
const OFTEN: &str = "inner: { cu: [10.78.0.1], ric: [10.78.0.2] }, dpd: 1s";

#[test]
fn a_peer_that_is_gone_is_reported_and_the_link_stands_again_when_it_is_back() {
    let stage = Stage::set_up_with("hybrid", "hybrid", OFTEN);
    let (ric, _cu) = (stage.up("ric"), stage.up("cu"));
    stage.stands("cu");
    drop(ric);
    // It looks alive in charon until that gives it up.
    let report = eventually("the silence is reported", || {
        let (code, report) = stage.try_json("status", "cu")?;
        (code == 1 && report["links"][0]["no_answer_since_us"].is_u64()).then_some(report)
    });
    assert_eq!(report["well"], false, "{report}");
    let _ric = stage.up("ric");
    // charon has the link a moment before the watch has heard so.
    eventually("the link stands, and its peer answers", || {
        let (code, report) = stage.try_json("status", "cu")?;
        (code == 0 && report["links"][0]["no_answer_since_us"].is_null()).then_some(())
    });
    stage.stands("ric");
    // Given up for its silence, or the peer itself reported that it has begun anew: never `deleted` without a reason.
    let ends = eventually("the end has its reason", || {
        let mut ends = ends(&stage, "cu");
        // If both ends have begun, one of the two ends.
        ends.retain(|why| !matches!(why, Why::Duplicate | Why::Replaced));
        Some(ends).filter(|ends| !ends.is_empty())
    });
    assert!(
        ends.iter()
            .all(|why| matches!(why, Why::PeerLost | Why::PeerRestarted | Why::DeletedByPeer)),
        "{ends:?}"
    );
}

#[test]
fn a_service_manager_is_notified_that_the_guard_is_installed_before_a_link_is_up_and_then_of_the_links() {
    let stage = Stage::set_up("hybrid", "hybrid");
    let path = stage.path().join("notify");
    let reported = UnixDatagram::bind(&path).expect("a socket");
    reported.set_read_timeout(Some(PATIENCE)).expect("an option");
    let next = || {
        let mut text = [0; 512];
        let length = reported.recv(&mut text).expect("it notifies");
        String::from_utf8_lossy(&text[..length]).into_owned()
    };
    let up = stage.bartizan("up", "cu", &[]).environment("NOTIFY_SOCKET", &path);
    let mut cu = up.start().expect("it starts");
    assert_eq!(next(), "STATUS=the guard is installed; no link is up yet");
    assert_eq!(next(), "READY=1");
    // No peer is there, and perhaps no charon yet.
    let mut show = Program::new(env!("CARGO_BIN_EXE_bartizan")).arguments(["guard", "show"]);
    show = show.argument(stage.path().join("cu.yaml")).arguments(["--node", "cu"]);
    show.inside(&stage.cu).run(PATIENCE).expect("it is installed");
    let _ric = stage.up("ric");
    let mut heard = Vec::new();
    while heard.last().is_none_or(|last| last != "STATUS=1 of 1 links up") {
        heard.push(next());
    }
    cu.send(Signal::SIGTERM as i32);
    while heard.last().is_none_or(|last| last != "STOPPING=1") {
        heard.push(next());
    }
}
