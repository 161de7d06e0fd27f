//! Behaviour of a kernel with ESP and without nftables, in a guest with such a kernel.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use bartizan_host::sctp::{Association, Opening};
use bartizan_host::{Feature, Namespace, Process, Program, Support};
use bartizan_ledger::Event;
use bartizan_pki::Algorithm;
use bartizan_testing::{GuestKernel, GuestTests, Results};
use bartizan_wire::capture::CaptureReader;
use bartizan_wire::ip;
use nix::sys::signal::{Signal, kill};
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn, sendto, socket};
use nix::unistd::Pid;
use serde_json::Value;

use super::child;
use super::egress::{Left, Sender, leaving};
use crate::stage::*;

/// Attempts in each state, each of at least one packet.
pub(super) const MANY: usize = 5;

static TESTS: GuestTests = GuestTests {
    kernel: GuestKernel::UserMode,
    tests: &[
        "as_root::guest::",
        "as_root::many::",
        "as_root::engine::two_engines",
        "as_root::engine::an_engine_of_ours",
        "as_root::data_paths::user_space_and_the_esp_of_a_kernel",
    ],
    needs: &[Feature::Esp],
    without: Some("nf_tables"),
    at_once: "3",
    results: Results::new(),
};

/// Runs these tests in a guest; false in the guest.
pub(super) fn in_a_guest() -> bool {
    if !TESTS.is_here() {
        return true;
    }
    assert_ne!(Feature::Nftables.tried(), Support::Present);
    false
}

/// Asks the RIC for an association of SCTP. No socket listens there: only the path of the INIT
/// matters.
fn attempts(host: &Namespace, [from, to]: [Ipv4Addr; 2]) -> impl FnMut() {
    let [from, to] = [(from, 0), (to, 36_421)].map(|(address, port)| SocketAddr::new(IpAddr::V4(address), port));
    let opening = Opening {
        attempts: 1,
        longest_wait: Duration::from_millis(100),
        ..Opening::default()
    };
    move || {
        let connect = || Association::connect(from, to, opening);
        let _ = host.enter(connect).expect("a namespace");
    }
}

pub(super) const INNER: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 78, 0, 1), Ipv4Addr::new(10, 78, 0, 2)];
pub(super) const OUTER: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 77, 0, 1), Ipv4Addr::new(10, 77, 0, 2)];

/// Output of `ip xfrm` on the CU.
fn xfrm(stage: &Stage, table: &str) -> String {
    let ip = Program::new("ip").arguments(["xfrm", table, "list"]).inside(&stage.cu);
    ip.run(PATIENCE).expect("ip").text()
}

fn guard(report: &Value) -> (&str, &str) {
    let of = &report["cleartext"];
    (
        of["guard"].as_str().unwrap_or_default(),
        of["by"].as_str().unwrap_or_default(),
    )
}

/// Kills a process that is stopped: this kernel (User-Mode Linux 6.12) panics where one is killed
/// in the middle of a fork.
fn kill_at_rest(process: &mut Process) {
    let id = process.id();
    kill(Pid::from_raw(i32::try_from(id).expect("a process")), Signal::SIGSTOP).expect("stopped");
    let rests = |task: PathBuf| {
        let stat = std::fs::read_to_string(task.join("stat")).unwrap_or_default();
        // One that has ended meanwhile is at rest too.
        stat.rsplit(')')
            .next()
            .is_none_or(|rest| !rest.starts_with(" R") && !rest.starts_with(" D") && !rest.starts_with(" S"))
    };
    eventually("every thread is stopped", || {
        let tasks = std::fs::read_dir(format!("/proc/{id}/task")).expect("it is there");
        let mut tasks = tasks.map(|task| task.expect("an entry").path());
        tasks.all(rests).then_some(())
    });
    process.send(libc::SIGKILL);
}

const CLOSED: (&str, &str) = ("installed", "xfrm");

#[test]
fn no_e2_packet_leaves_unencrypted_where_the_kernel_does_esp_and_has_no_nftables() {
    if in_a_guest() {
        return;
    }
    nothing_leaves_unencrypted(&Stage::set_up("hybrid", "hybrid"));
}

/// In every phase of the life of the CU's link and of its IKE daemon.
pub(super) fn nothing_leaves_unencrypted(stage: &Stage) {
    let sender = Sender::new(MANY);
    thread::scope(|scope| {
        let _stopped = sender.stopped();
        let send = attempts(&stage.cu, INNER);
        scope.spawn(|| sender.run(send));
        let before = leaving(stage, "before", || sender.many_more());
        assert!(!before.clear.is_empty() && before.protected.is_empty(), "{before:?}");

        let (ric, mut cu) = (stage.up("ric"), stage.up("cu"));
        let through = leaving(stage, "through", || {
            assert_eq!(guard(&stage.stands("cu")), CLOSED);
            sender.many_more();
            assert_eq!(stage.json("rekey", "cu", &[]).0, 0);
            sender.many_more();
            // Nothing is doubled by a second one.
            let policies = xfrm(stage, "policy").matches("ptype main").count();
            assert_eq!(stage.json("up", "cu", &[]).1["attempts"][0]["outcome"], "stood");
            assert_eq!(xfrm(stage, "policy").matches("ptype main").count(), policies);

            // charon is killed under its `up`: the kernel has its SAs and policies still.
            kill(stage.charon_process("cu").expect("it runs"), Signal::SIGKILL).expect("killed");
            let status = eventually("it ends", || cu.ended().expect("a child of ours"));
            assert_eq!(status.code(), Some(2));
            sender.many_more();
            let mut cu = stage.up("cu");
            assert_eq!(guard(&stage.stands("cu")), CLOSED);
            sender.many_more();
            // `up` is killed, and charon with it; `down` removes what SAs are left.
            kill_at_rest(&mut cu);
            eventually("charon is gone", || stage.charon_process("cu").is_none().then_some(()));
            sender.many_more();
            assert_eq!(guard(&stage.json("down", "cu", &[]).1), CLOSED);
            sender.many_more();
            let cu = stage.up("cu");
            stage.stands("cu");
            sender.many_more();
            // And in good order.
            assert_eq!(guard(&stage.json("down", "cu", &[]).1), CLOSED);
            sender.many_more();
            cu.terminate(PATIENCE).expect("it ends");
            sender.many_more();
            let (_, report) = stage.json("down", "cu", &[]);
            assert_eq!(guard(&report), CLOSED);
            assert!(
                report["cleartext"]["dropped_leaving"].as_u64() >= Some(MANY as u64),
                "{report}"
            );
        });
        assert!(through.clear.is_empty(), "{through:?}");
        assert!(through.protected.len() > MANY, "{through:?}");
        assert!(!xfrm(stage, "policy").contains("proto esp"), "charon has left nothing");

        // Until the operator removes the guard, also if a charon that was killed has left its own
        // policies.
        let mut cu = stage.up("cu");
        stage.stands("cu");
        kill_at_rest(&mut cu);
        eventually("charon is gone", || stage.charon_process("cu").is_none().then_some(()));
        assert!(xfrm(stage, "policy").contains("proto esp"));
        let (code, report) = stage.json("down", "cu", &["--unguard"]);
        assert_eq!((code, guard(&report)), (0, ("absent", "")), "{}", xfrm(stage, "policy"));
        let after = leaving(stage, "after", || sender.many_more());
        assert!(!after.clear.is_empty() && after.protected.is_empty(), "{after:?}");
        assert_eq!(xfrm(stage, "policy"), "");
        // The kernel forgets by itself, 30 s later, that it has asked for an SA of IPComp.
        let states = xfrm(stage, "state");
        assert!(!states.contains("proto esp"), "{states}");
        ric.terminate(PATIENCE).expect("it ends");
    });
}

/// An IP packet as it is, from the CU's host.
fn again(stage: &Stage, packet: &[u8]) {
    let open = || {
        socket(
            AddressFamily::Inet,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            SockProtocol::Raw,
        )
    };
    let socket = stage.cu.enter(open).expect("a namespace").expect("a socket");
    let to = SockaddrIn::new(10, 77, 0, 2, 0);
    sendto(socket.as_raw_fd(), packet, &to, MsgFlags::empty()).expect("it is sent");
}

#[test]
fn what_the_kernel_drops_of_a_link_is_counted_by_status_and_metrics_as_that_links() {
    if in_a_guest() {
        return;
    }
    let stage = Stage::set_up("hybrid", "hybrid");
    let (_ric, _cu) = (stage.up_with("ric", &["--metrics", "127.0.0.1:9464"]), stage.up("cu"));
    stage.stands("cu");
    stage.settled();
    let report = stage.stands("ric");
    let none = serde_json::json!({ "replayed": 0, "outside_window": 0, "integrity": 0 });
    assert_eq!(child(&report)["dropped"], none, "{report}");
    let mut attempt = attempts(&stage.cu, INNER);
    leaving(&stage, "some", || (0..MANY).for_each(|_| attempt()));
    let captured = std::fs::read(stage.path().join("some")).expect("a capture");
    let mut reader = CaptureReader::new();
    reader.push(&captured);
    let mut esp = None;
    while let Some(packet) = reader.next_packet().expect("whole") {
        if packet.data.get(23) == Some(&ip::ESP) {
            esp = Some(packet.data[14..].to_vec());
        }
    }
    let esp = esp.expect("ESP left");
    for _ in 0..3 {
        again(&stage, &esp);
    }
    // Ahead of what has come, so that the check value decides.
    let mut forged = esp.clone();
    forged[27] = forged[27].wrapping_add(20);
    *forged.last_mut().expect("not empty") ^= 1;
    for _ in 0..2 {
        again(&stage, &forged);
    }
    let wanted = serde_json::json!({ "replayed": 3, "outside_window": 0, "integrity": 2 });
    let report = eventually("they are counted", || {
        let (_, report) = stage.json("status", "ric", &[]);
        (child(&report)["dropped"] == wanted).then_some(report)
    });
    for (counter, least) in [("XfrmInStateSeqError", 3), ("XfrmInStateProtoError", 2)] {
        assert!(
            report["host_xfrm"][counter].as_u64() >= Some(least),
            "{counter}: {report}"
        );
    }
    let text = stage.run("status", "ric", &[]).text();
    assert!(
        text.contains("dropped: 3 replayed, 0 too late for the replay window, 2 with a wrong check value"),
        "{text}"
    );
    for (reason, count) in [("replayed", 3), ("outside-window", 0), ("integrity", 2)] {
        let wanted =
            format!("bartizan_ipsec_esp_dropped_total{{peer=\"cu\",interface=\"E2\",reason=\"{reason}\"}} {count}\n");
        eventually(&wanted, || stage.metrics("ric", 9464).contains(&wanted).then_some(()));
    }
    assert!(
        stage
            .metrics("ric", 9464)
            .contains("bartizan_ipsec_host_xfrm_total{counter=\"XfrmInStateSeqError\"}")
    );
    // They go with the SA, and stay with the link.
    assert_eq!(stage.json("rekey", "ric", &[]).0, 0);
    eventually("the old one is gone", || {
        let (_, report) = stage.json("status", "ric", &[]);
        (child(&report)["dropped"] == none).then_some(())
    });
    let wanted = "bartizan_ipsec_esp_dropped_total{peer=\"cu\",interface=\"E2\",reason=\"replayed\"} 3\n";
    assert!(stage.metrics("ric", 9464).contains(wanted));
}

/// Bytes of an IP packet of AES-GCM around this payload (RFC 4303, section 2; RFC 4106): IP header,
/// SPI and sequence number, vector, payload padded with its trailer to a multiple of 4, check
/// value.
fn esp(payload: usize) -> usize {
    20 + 8 + 8 + (payload + 2).next_multiple_of(4) + 16
}

/// The states of ESP in a listing: that the guard has asked for one of IPComp, before charon had
/// its trap, is listed too.
fn esp_states(listing: &str) -> String {
    let listing = listing.replace("\nsrc ", "\n\nsrc ");
    let states = listing.split("\n\n").filter(|state| state.contains("proto esp"));
    states.collect::<Vec<_>>().join("\n")
}

/// Sets a link up, sends in it, and takes it down: what left before, what left through it, what the
/// kernel had, what the ledger has.
fn link(settings: &str, ends: [Ipv4Addr; 2]) -> (Left, Left, String, Vec<Event>) {
    // The card of a veth pair does no ESP: the kernel does it instead.
    let engines = ["strongswan, offload: crypto"; 2];
    let stage = Stage::set_up_engines(engines, Algorithm::EcdsaP256, "hybrid", &[("E2", settings)]);
    let sender = Sender::new(MANY);
    thread::scope(|scope| {
        let _stopped = sender.stopped();
        let send = attempts(&stage.cu, ends);
        scope.spawn(|| sender.run(send));
        let before = leaving(&stage, "before", || sender.many_more());
        let (ric, cu) = (stage.up("ric"), stage.up("cu"));
        let mut states = String::new();
        let through = leaving(&stage, "through", || {
            let report = stage.stands("cu");
            assert_eq!(guard(&report), CLOSED);
            sender.many_more();
            let [mode, spi] = ["mode", "spi_in"].map(|name| child(&report)[name].as_str().expect("a text").to_owned());
            states = esp_states(&xfrm(&stage, "state"));
            assert!(states.contains(&format!("spi 0x{spi} ")), "{mode} {spi}: {states}");
        });
        for process in [cu, ric] {
            let noted = process.stderr();
            assert!(noted.contains("the interface v0 does no ESP"), "{noted}");
            process.terminate(PATIENCE).expect("it ends");
        }
        (before, through, states, events(&stage, "cu"))
    })
}

#[test]
fn mode_and_extended_sequence_numbers_of_the_file_are_those_of_kernel_wire_and_ledger() {
    if in_a_guest() {
        return;
    }
    let tunnel = "inner: { cu: [10.78.0.1], ric: [10.78.0.2] }, esn: false, replay-window: 0";
    // Everything between the nodes' own addresses: IKE and ESP pass the guard all the same.
    let transport = "mode: transport, selectors: [{ protocol: any }]";
    let cases = [(tunnel, INNER, "tunnel", false), (transport, OUTER, "transport", true)];
    for (settings, ends, mode, extended) in cases {
        let (before, through, states, events) = link(settings, ends);
        // Two of each direction where both ends began at once.
        let all = states.matches("proto esp").count();
        assert!(all == 2 || all == 4, "{states}");
        assert_eq!(states.matches(&format!(" mode {mode}")).count(), all, "{states}");
        let flagged = states.lines().filter_map(|line| line.split_once("flag "));
        let flagged = flagged.filter(|(_, flags)| flags.split(' ').any(|flag| flag == "esn"));
        assert_eq!(flagged.count(), if extended { all } else { 0 }, "{states}");
        // The line does not have an ESN's window.
        let without = states.matches("replay-window 0 ").count();
        assert!(extended || without == all, "{states}");

        // The question for an association always has the same length.
        let question = before.clear[0];
        let payload = if extended { question - 20 } else { question };
        assert!(
            through.clear.is_empty() && through.protected.len() >= MANY,
            "{through:?}"
        );
        assert!(
            through.protected.iter().all(|length| *length == esp(payload)),
            "{question}: {through:?}"
        );

        let children: Vec<_> = events
            .iter()
            .filter_map(|event| match event {
                Event::ChildSa(sa) => Some((sa.mode.to_lowercase(), sa.extended_sequence_numbers)),
                _ => None,
            })
            .collect();
        // A packet that asks for the link while it is being set up may make a second one, which is
        // deleted as a duplicate.
        let as_asked = |child: &(String, bool)| *child == (mode.to_owned(), extended);
        assert!(
            !children.is_empty() && children.iter().all(as_asked),
            "{children:?} of {events:?}"
        );
    }
}
