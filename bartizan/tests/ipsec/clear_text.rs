//! E2 packets in clear at the sender's egress, counted through every fault of charon and of the commands: there are none.

use std::io::Read as _;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use bartizan_host::{Capture, Direction, Program};
use bartizan_wire::capture::CaptureReader;
use bartizan_wire::{ip, udp};
use nix::sys::signal::{Signal, kill};
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn, sendto, socket};
use serde_json::Value;

use crate::stage::*;

/// Packets that are sent in each state: enough that one in clear is not missed.
const MANY: usize = 50;

/// An E2 node that never stops sending, whatever becomes of its link: SCTP from 10.78.0.1 to port 36421 of 10.78.0.2.
struct Sender {
    socket: OwnedFd,
    tried: AtomicUsize,
    stop: AtomicBool,
}

impl Sender {
    fn new(stage: &Stage) -> Self {
        let raw = || {
            socket(
                AddressFamily::Inet,
                SockType::Raw,
                SockFlag::SOCK_CLOEXEC,
                SockProtocol::Raw,
            )
        };
        Self {
            socket: stage.cu.enter(raw).expect("a namespace").expect("a socket"),
            tried: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
        }
    }

    /// Sends until it is told to stop.
    fn run(&self) {
        let mut packet = vec![
            0x45,
            0,
            0,
            0,
            0,
            0,
            0x40,
            0,
            64,
            ip::SCTP,
            0,
            0,
            10,
            78,
            0,
            1,
            10,
            78,
            0,
            2,
        ];
        packet.extend(40_000_u16.to_be_bytes());
        packet.extend(36_421_u16.to_be_bytes());
        packet.extend([0; 8]);
        packet.extend(b"an E2AP message");
        let to = SockaddrIn::new(10, 78, 0, 2, 0);
        while !self.stop.load(Ordering::Relaxed) {
            // What the host does not let out is an error here, and what this is about.
            let _ = sendto(self.socket.as_raw_fd(), &packet, &to, MsgFlags::empty());
            self.tried.fetch_add(1, Ordering::Relaxed);
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits until many more were sent.
    fn many_more(&self) {
        let wanted = self.tried.load(Ordering::Relaxed) + MANY;
        eventually("packets are sent", || {
            (self.tried.load(Ordering::Relaxed) >= wanted).then_some(())
        });
    }
}

struct Stopped<'a>(&'a Sender);

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        self.0.stop.store(true, Ordering::Relaxed);
    }
}

/// What left by the CU's interface: packets of E2 in clear, and packets of ESP.
#[derive(Debug)]
struct Left {
    clear: usize,
    protected: usize,
}

/// Captures what leaves while `act` runs.
fn leaving(stage: &Stage, name: &str, act: impl FnOnce()) -> Left {
    let path = stage.path().join(name);
    let capture = Capture::start(Some(&stage.cu), "v0", &path, Direction::Outbound).expect("a capture");
    act();
    let captured = capture.stop().expect("captured");
    assert!(captured.complete(), "{captured:?}");
    let mut bytes = Vec::new();
    let mut file = std::fs::File::open(&path).expect("a file");
    file.read_to_end(&mut bytes).expect("it is read");
    let mut reader = CaptureReader::new();
    reader.push(&bytes);
    let mut left = Left { clear: 0, protected: 0 };
    while let Some(packet) = reader.next_packet().expect("whole") {
        // Ethernet's type, then IPv4's protocol and, in UDP, the port it goes to.
        match packet.data {
            data if data.get(12..14) != Some(&[0x08, 0x00]) => {}
            data if data.get(23) == Some(&ip::SCTP) => left.clear += 1,
            data if data.get(23) == Some(&ip::ESP) => left.protected += 1,
            data if data.get(23) == Some(&ip::UDP) && data.get(36..38) == Some(&udp::IKE_NAT.to_be_bytes()) => {
                // IKE has the non-ESP marker.
                left.protected += usize::from(data.get(42..46) != Some(&[0; 4]));
            }
            _ => {}
        }
    }
    left
}

/// The node's rules as `status` and `down` tell of them.
fn dropped(report: &Value) -> u64 {
    report["clear_text"]["dropped_leaving"].as_u64().expect("a number")
}

#[test]
fn no_e2_packet_leaves_in_clear_from_up_to_down_whatever_becomes_of_charon() {
    let stage = Stage::set_up("hybrid", "hybrid");
    let sender = Sender::new(&stage);
    thread::scope(|scope| {
        let _stopped = Stopped(&sender);
        scope.spawn(|| sender.run());
        // What is counted is seen where nothing keeps it.
        let before = leaving(&stage, "before", || sender.many_more());
        assert!(before.clear > 0 && before.protected == 0, "{before:?}");

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
            assert_eq!((code, &report["clear_text"]["guard"]), (0, &"in-force".into()));
            sender.many_more();
            cu.terminate(PATIENCE).expect("it ends");
            sender.many_more();
        });
        assert_eq!(through.clear, 0, "{through:?}");
        assert!(through.protected > MANY, "{through:?}");

        // Until somebody says otherwise.
        let (code, report) = stage.json("down", "cu", &["--unguard"]);
        assert_eq!((code, &report["clear_text"]["guard"]), (0, &"absent".into()));
        for c in [
            "ip rule",
            "ip route show table all",
            "ip xfrm policy",
            "ip addr",
            "nft list ruleset",
            "ip route get 10.78.0.2 from 10.78.0.1",
            "ip neigh",
        ] {
            let out = Program::new("sh")
                .arguments(["-c", c])
                .inside(&stage.cu)
                .start()
                .unwrap()
                .finish(PATIENCE)
                .unwrap();
            eprintln!("== {c}\n{}{}", out.text(), String::from_utf8_lossy(&out.stderr));
        }
        let after = leaving(&stage, "after", || sender.many_more());
        assert!(after.clear > 0 && after.protected == 0, "{after:?}");
    });
    let tables = Program::new("nft").arguments(["list", "tables"]).inside(&stage.cu);
    assert_eq!(tables.run(PATIENCE).expect("nft").text(), "", "nothing is left behind");
    assert!(!stage.charon("cu").exists());
}

#[test]
fn a_guard_that_was_flushed_is_told_and_the_next_up_puts_it_in_force_again() {
    let stage = Stage::set_up("hybrid", "hybrid");
    let (_ric, mut cu) = (stage.up("ric"), stage.up("cu"));
    stage.stands("cu");
    cu.wait_for_line("the guard stands", PATIENCE).expect("it is told");
    let flush = Program::new("nft").arguments(["flush", "ruleset"]).inside(&stage.cu);
    flush.run(PATIENCE).expect("nft");
    let (code, report) = stage.json("status", "cu", &[]);
    assert_eq!((code, &report["well"]), (1, &false.into()));
    assert_eq!(report["clear_text"]["guard"], "absent");
    assert_eq!(
        stage.json("status", "cu", &["--no-guard"]).0,
        0,
        "the link stands all the same"
    );
    cu.wait_for_line("the guard is gone", PATIENCE).expect("it is told");
    let (code, report) = stage.json("up", "cu", &[]);
    assert_eq!((code, &report["attempts"][0]["came"]), (0, &"stood".into()));
    assert_eq!(stage.json("status", "cu", &[]).0, 0);
}
