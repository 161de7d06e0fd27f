//! E2 packets in plaintext at the sender's egress, counted through every fault of charon and of the
//! commands: there are none.

use std::os::fd::{AsRawFd as _, OwnedFd};
use std::thread;

use bartizan_host::{Namespace, Program};
use bartizan_wire::ip;
use nix::sys::signal::{Signal, kill};
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn, sendto, socket};
use nix::unistd::Pid;
use serde_json::Value;

use super::egress::{Sender, leaving};
use crate::stage::*;

/// Packets that are sent in each state: enough that one in plaintext is not missed.
const MANY: usize = 50;

/// An SCTP packet from 10.78.0.1 to port 36421 of 10.78.0.2, as the host's kernel without SCTP would send it.
pub(super) fn raw(stage: &Stage) -> impl FnMut() + Send {
    sctp(&stage.cu, [([10, 78, 0, 1], 40_000), ([10, 78, 0, 2], 36_421)])
}

/// An SCTP packet from an address and port to another.
pub(super) fn sctp(host: &Namespace, [from, to]: [([u8; 4], u16); 2]) -> impl FnMut() + Send + use<> {
    let ports = [from.1, to.1].map(u16::to_be_bytes).concat();
    packet(
        host,
        [from.0, to.0],
        ip::SCTP,
        &[&ports[..], &[0; 8], b"an E2AP message"].concat(),
    )
}

/// "Port unreachable" from an address to another, which quotes a packet of this protocol the other way.
pub(super) fn icmp_error(host: &Namespace, ends: [[u8; 4]; 2], protocol: u8) -> impl FnMut() + Send + use<> {
    let [from, to] = ends;
    let quoted = [
        &[0x45, 0, 0, 60, 0, 0, 0x40, 0, 64, protocol, 0, 0],
        &to[..],
        &from[..],
        &[0; 40],
    ]
    .concat();
    packet(host, ends, 1, &[&[3, 3, 0, 0, 0, 0, 0, 0], &quoted[..]].concat())
}

/// Sends a packet that the host makes no other way.
fn packet(host: &Namespace, [from, to]: [[u8; 4]; 2], protocol: u8, content: &[u8]) -> impl FnMut() + Send + use<> {
    let raw = || {
        socket(
            AddressFamily::Inet,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            SockProtocol::Raw,
        )
    };
    let socket: OwnedFd = host.enter(raw).expect("a namespace").expect("a socket");
    let mut packet = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, protocol, 0, 0];
    packet.extend(from.into_iter().chain(to));
    packet.extend(content);
    let [a, b, c, d] = to;
    let to = SockaddrIn::new(a, b, c, d, 0);
    move || {
        // A packet that the host does not let out is an error here, and the subject of this test.
        let _ = sendto(socket.as_raw_fd(), &packet, &to, MsgFlags::empty());
    }
}

/// The node's rules as `status` and `down` tell of them.
fn dropped(report: &Value) -> u64 {
    report["cleartext"]["dropped_leaving"].as_u64().expect("a number")
}

#[test]
fn no_e2_packet_leaves_unencrypted_from_up_to_down_whatever_becomes_of_charon() {
    let stage = Stage::set_up("hybrid", "hybrid");
    let sender = Sender::new(MANY);
    thread::scope(|scope| {
        let _stopped = sender.stopped();
        let send = raw(&stage);
        scope.spawn(|| sender.run(send));
        // Without a guard the packets are seen.
        let before = leaving(&stage, "before", || sender.many_more());
        assert!(!before.clear.is_empty() && before.protected.is_empty(), "{before:?}");

        let (_ric, mut cu) = (stage.up("ric"), stage.up("cu"));
        let through = leaving(&stage, "through", || {
            stage.stands("cu");
            sender.many_more();
            assert_eq!(stage.json("rekey", "cu", &[]).0, 0);
            sender.many_more();
            assert_eq!(stage.json("rekey", "cu", &["--ike"]).0, 0);
            sender.many_more();

            let charon = stage.charon_process("cu").expect("it runs");
            kill(charon, Signal::SIGSTOP).expect("stopped");
            sender.many_more();
            kill(charon, Signal::SIGCONT).expect("it goes on");
            stage.stands("cu");

            // charon is killed under its `up`, which says so and ends.
            kill(charon, Signal::SIGKILL).expect("killed");
            sender.many_more();
            let status = eventually("it ends", || cu.ended().expect("a child of ours"));
            assert_eq!(status.code(), Some(2));
            assert!(cu.stderr().contains("error: charon ended by itself"), "{}", cu.stderr());
            let mut cu = stage.up("cu");
            stage.stands("cu");
            // `up` is killed, and charon with it.
            cu.send(libc::SIGKILL);
            eventually("charon is gone", || stage.charon_process("cu").is_none().then_some(()));
            sender.many_more();
            let cu = stage.up("cu");
            let report = stage.stands("cu");
            assert!(dropped(&report) > 0, "{report}");
            sender.many_more();

            // Half-way down and down.
            let (code, report) = stage.json("down", "cu", &[]);
            assert_eq!((code, &report["cleartext"]["guard"]), (0, &"installed".into()));
            sender.many_more();
            cu.terminate(PATIENCE).expect("it ends");
            sender.many_more();
        });
        assert!(through.clear.is_empty(), "{through:?}");
        assert!(through.protected.len() > MANY, "{through:?}");

        // Until the operator removes the guard.
        let (code, report) = stage.json("down", "cu", &["--unguard"]);
        assert_eq!((code, &report["cleartext"]["guard"]), (0, &"absent".into()));
        let after = leaving(&stage, "after", || sender.many_more());
        assert!(!after.clear.is_empty() && after.protected.is_empty(), "{after:?}");
    });
    let tables = Program::new("nft").arguments(["list", "tables"]).inside(&stage.cu);
    assert_eq!(tables.run(PATIENCE).expect("nft").text(), "", "nothing is left behind");
    assert!(!stage.charon("cu").exists());
}

#[test]
fn a_guard_that_was_flushed_or_changed_is_reported_and_installed_again_but_not_one_that_was_removed() {
    let stage = Stage::set_up("hybrid", "hybrid");
    let (_ric, mut cu) = (stage.up("ric"), stage.up("cu"));
    stage.stands("cu");
    cu.wait_for_line("the guard is installed", PATIENCE)
        .expect("it is reported");
    let flush = || {
        let nft = Program::new("nft").arguments(["flush", "ruleset"]).inside(&stage.cu);
        nft.run(PATIENCE).expect("nft");
    };
    // While its keeper is stopped.
    let up = Pid::from_raw(i32::try_from(cu.id()).expect("a process"));
    kill(up, Signal::SIGSTOP).expect("stopped");
    flush();
    let (code, report) = stage.json("status", "cu", &[]);
    assert_eq!((code, &report["well"]), (1, &false.into()));
    assert_eq!(report["cleartext"]["guard"], "absent");
    assert_eq!(
        stage.json("status", "cu", &["--no-guard"]).0,
        0,
        "the link stands all the same"
    );
    let (code, report) = stage.json("up", "cu", &[]);
    assert_eq!((code, &report["attempts"][0]["outcome"]), (0, &"stood".into()));
    assert_eq!(stage.json("status", "cu", &[]).0, 0);
    kill(up, Signal::SIGCONT).expect("it goes on");

    flush();
    cu.wait_for_line("guard=\"gone\"", PATIENCE).expect("it is reported");
    // The report may be of the first loss, as the keeper that was stopped has seen it; then the
    // second is repaired next.
    stage.stands("cu");
    // So is one that was changed.
    let nft = |line: &str| {
        let nft = Program::new("nft").argument(line).inside(&stage.cu);
        nft.run(PATIENCE).expect("nft");
    };
    for (line, said) in [
        (
            "add table inet bartizan-ipsec-cu { flags dormant; }",
            "the table has the flag dormant",
        ),
        (
            "insert rule inet bartizan-ipsec-cu leaving accept",
            "the chain leaving has another rule at 1",
        ),
        (
            "flush table inet bartizan-ipsec-cu",
            "the chain leaving lacks its rule 1",
        ),
        (
            "flush chain inet bartizan-ipsec-cu leaving-ric-E2",
            "the chain leaving-ric-E2 lacks its rule 1",
        ),
    ] {
        kill(up, Signal::SIGSTOP).expect("stopped");
        nft(line);
        let (code, report) = stage.json("status", "cu", &[]);
        assert_eq!(
            (code, &report["cleartext"]["guard"]),
            (1, &"damaged".into()),
            "{report}"
        );
        assert!(
            report["cleartext"]["differences"].to_string().contains(said),
            "{report}"
        );
        kill(up, Signal::SIGCONT).expect("it goes on");
        cu.wait_for_line(said, PATIENCE).expect("it is reported");
        assert_eq!(stage.stands("cu")["cleartext"]["guard"], "installed");
    }
    // A guard that the operator removes stays removed.
    assert_eq!(stage.json("down", "cu", &["--unguard"]).0, 0);
    cu.wait_for_line("the guard was lost: ", PATIENCE)
        .expect("it is reported");
    let (_, report) = stage.json("status", "cu", &[]);
    assert_eq!(report["cleartext"]["guard"], "absent");
}
