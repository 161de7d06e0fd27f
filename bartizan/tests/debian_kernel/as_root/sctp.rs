//! Functions that cannot be pointed at their sidecar: the host's rules lead their SCTP there, and
//! nothing of it leaves unencrypted with the rules, without nftables, from before, or towards the
//! other function's real address.

use std::net::SocketAddr;
use std::time::Duration;

use bartizan_host::sctp::Ordering;
use bartizan_host::{Finished, Program};

use crate::boot::is_here;
use crate::gateway::function::{Function, Seen, accept, listen, opening, poll};
use crate::gateway::stage::{NGAP, PATIENCE, Stage, forward, protocols};

/// Waiting time for a packet that must not come: SCTP sends an INIT again after three seconds.
const SILENCE: Duration = Duration::from_secs(4);

/// Address at which a function without a sidecar calls the AMF's function.
fn real() -> SocketAddr {
    SocketAddr::from(([10, 80, 0, 2], NGAP))
}

/// Runs `bartizan sidecar redirect` on the host of a node, as far as it comes.
fn redirect(stage: &Stage, node: &str, action: &str) -> Finished {
    let program = Program::new(env!("CARGO_BIN_EXE_bartizan"))
        .arguments(["sidecar", "redirect", action])
        .argument(stage.path("net.yaml"))
        .arguments(["--node", node, "--user", "nobody"])
        .inside(stage.space(node));
    program.start().unwrap().finish(PATIENCE).unwrap()
}

fn installed(stage: &Stage, node: &str) -> String {
    let finished = redirect(stage, node, "install");
    let complaint = String::from_utf8_lossy(&finished.stderr).into_owned();
    assert!(finished.status.success(), "{complaint}");
    let shown = redirect(stage, node, "show");
    assert!(shown.status.success(), "{}", shown.text());
    finished.text()
}

fn in_space(stage: &Stage, node: &str, program: Program) {
    program.inside(stage.space(node)).run(PATIENCE).unwrap();
}

/// SCTP on the cable while something is done.
fn sctp_during(stage: &Stage, done: impl FnOnce()) -> usize {
    let capture = stage.capture();
    done();
    let path = capture.path().to_owned();
    assert!(capture.stop().unwrap().complete());
    protocols(&path).get(&132).copied().unwrap_or(0)
}

/// Returns true if an association to the AMF's real address comes up within [`SILENCE`].
fn opens(stage: &Stage) -> bool {
    let from: SocketAddr = "10.80.0.1:0".parse().unwrap();
    let begun = stage
        .gnb
        .enter(|| bartizan_host::sctp::Association::begin(from, real(), opening(4, 4)));
    let Ok(association) = begun.unwrap() else {
        return false;
    };
    let until = std::time::Instant::now() + SILENCE;
    while std::time::Instant::now() < until {
        match association.outcome() {
            Ok(()) => {
                let _ = association.abort();
                return true;
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotConnected => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(_) => return false,
        }
    }
    let _ = association.abort();
    false
}

#[test]
fn sctp_to_the_amf_s_own_address_is_led_to_the_sidecar_and_none_leaves_with_rules_or_without_nftables() {
    if !is_here() {
        return;
    }
    let stage = Stage::new("quic");
    let (_amf, _gnb) = (stage.start("amf"), stage.start("gnb"));
    // An AMF that listens at its real address as well, as one that knows of no sidecar does.
    let (waiting, unprotected) = (listen(&stage.amf, forward()), listen(&stage.amf, real()));
    let message = (1, 60, Ordering::Ordered, vec![7; 165]);

    // Without rules everything passes unencrypted: what follows can fail.
    let before = Function::open(&stage.gnb, "10.80.0.1:0", real(), opening(4, 4));
    let there = accept(&unprotected);
    let seen = sctp_during(&stage, || {
        before.send(&message);
        assert_eq!(there.next(), Seen::Message(message.clone()));
    });
    assert!(seen > 0);

    let said = installed(&stage, "gnb");
    assert!(
        said.contains("amf          10.80.0.2:38412 SCTP, led to 127.0.0.1:38412"),
        "{said}"
    );

    // Nothing more leaves on what was open before; heartbeats neither.
    let seen = sctp_during(&stage, || {
        before.send(&message);
        std::thread::sleep(SILENCE);
    });
    assert_eq!(seen, 0, "an association from before the rules");
    assert_eq!(there.next_within(Duration::from_millis(10)), None);

    // A new association arrives through both sidecars.
    let seen = sctp_during(&stage, || {
        let function = Function::open(&stage.gnb, "10.80.0.1:0", real(), opening(4, 4));
        let other = accept(&waiting);
        function.send(&message);
        assert_eq!(other.next(), Seen::Message(message.clone()));
        other.send(&message);
        assert_eq!(function.next(), Seen::Message(message.clone()));
        function.shut_down();
        assert_eq!(other.next(), Seen::ShutDown);
    });
    assert_eq!(seen, 0, "a redirected association");
    assert!(poll(&unprotected).is_none());
    assert!(stage.ended_after("gnb", 0).key.is_some());

    // All of nftables flushed: no association, and nothing on the cable.
    in_space(&stage, "gnb", Program::of_system("nft").arguments(["flush", "ruleset"]));
    let seen = sctp_during(&stage, || assert!(!opens(&stage)));
    assert_eq!(seen, 0, "the rules are flushed");
    let shown = redirect(&stage, "gnb", "show");
    assert_eq!(shown.status.code(), Some(1), "{}", shown.text());
    assert!(shown.text().contains("gateway   absent"), "{}", shown.text());

    // Without any rule on its own host the gNB does not reach the AMF's function either, once the
    // AMF's host has its rules.
    let removed = redirect_remove(&stage, "gnb");
    assert!(removed.status.success(), "{removed:?}");
    installed(&stage, "amf");
    assert!(!opens(&stage), "the AMF's function answered unencrypted");
    in_space(&stage, "amf", Program::of_system("nft").arguments(["flush", "ruleset"]));
    assert!(
        !opens(&stage),
        "the AMF's function answered unencrypted, with its host's rules flushed"
    );
}

fn redirect_remove(stage: &Stage, node: &str) -> Finished {
    let program = Program::new(env!("CARGO_BIN_EXE_bartizan")).arguments(["sidecar", "redirect", "remove"]);
    program
        .inside(stage.space(node))
        .start()
        .unwrap()
        .finish(PATIENCE)
        .unwrap()
}
