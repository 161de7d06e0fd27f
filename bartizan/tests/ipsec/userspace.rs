//! Nodes that do ESP themselves (`data-path: userspace`), on this machine's kernel, which need not have any.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::SystemTime;

use bartizan_host::{Namespace, Process, Program};
use bartizan_pki::{Algorithm, Reason};
use bartizan_testing::udp_at;
use bartizan_testing::{Capture, Direction};
use nix::sys::signal::{Signal, kill};
use nix::sys::socket::sockopt::RcvBufForce;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrStorage, bind, setsockopt, socket};
use serde_json::Value;

use super::egress::{GTP_U, Sender, counted, leaving};
use super::reauthentication::ikes;
use super::stderr;
use crate::stage::*;

const OURS: [&str; 2] = ["bartizan, data-path: userspace"; 2];
const POST_QUANTUM: &str = "{ profile: hybrid, ipsec: { authentication: post-quantum } }";
pub(super) const INNER: [&str; 2] = ["10.78.0.1", "10.78.0.2"];
pub(super) const INNER_6: [&str; 2] = ["fd78::1", "fd78::2"];
pub(super) const BOTH_FAMILIES: &str =
    "inner: { cu: [10.78.0.1, 'fd78::1'], ric: [10.78.0.2, 'fd78::2'] }, selectors: [{ protocol: any }]";
const OF_GTP: &str = "inner: { cu: [10.78.0.1], ric: [10.78.0.2] }, selectors: [{ protocol: udp, port: 2152 }]";
const PORT: u16 = 7000;
/// Packets that are sent in each state.
const MANY: usize = 20;
/// Receive buffer in bytes: each datagram, even a short one, takes some hundred of them.
const ROOM: usize = 16 << 20;

fn stage(link: &str) -> Stage {
    Stage::set_up_engines(OURS, Algorithm::MlDsa65, POST_QUANTUM, &[("E2", link)])
}

/// Both ends up, and the link with them.
fn up(stage: &Stage) -> [Process; 2] {
    let both = [stage.up("ric"), stage.up("cu")];
    for node in ["cu", "ric"] {
        stage.stands(node);
    }
    // Packets on their way in an IKE_SA that is deleted are lost.
    stage.settled();
    both
}

fn connect(space: &Namespace, [from, to]: [&str; 2]) -> TcpStream {
    let [from, to] = [(from, 0), (to, PORT)].map(|(address, port)| {
        let address: IpAddr = address.parse().expect("an address");
        SocketAddr::new(address, port)
    });
    let connect = || {
        let family = if to.is_ipv4() {
            AddressFamily::Inet
        } else {
            AddressFamily::Inet6
        };
        let socket = socket(family, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
        bind(socket.as_raw_fd(), &SockaddrStorage::from(from))?;
        nix::sys::socket::connect(socket.as_raw_fd(), &SockaddrStorage::from(to))?;
        nix::Result::Ok(socket)
    };
    let stream = space.enter(connect).expect("a namespace").expect("it is reached");
    let stream = TcpStream::from(stream);
    stream.set_read_timeout(Some(PATIENCE)).expect("set");
    stream
}

/// The echo was sent past the device, since rules of routing know a raw socket's packets by no ports:
/// the guard dropped it, and a link in order was a finding.
#[test]
fn an_echo_of_sctp_enters_the_sa_of_a_link_that_has_a_port() {
    let link = "inner: { cu: [10.78.0.1], ric: [10.78.0.2] }, selectors: [{ protocol: sctp, port: 36421, at: ric }]";
    let stage = stage(link);
    let _both = up(&stage);
    let (_, report) = stage.json("status", "cu", &["--probe"]);
    let child = &report["links"][0]["children"][0];
    // A kernel without SCTP at the other end gives no answer.
    let (result, detail) = (&child["echo"]["result"], child["echo"]["detail"].to_string());
    assert!(
        *result == "passed" || detail.contains("sent in ESP, no answer"),
        "{report}"
    );
    let sent = stage.stands("cu")["links"][0]["children"][0]["sas"][0]["bytes"]["sent"].as_u64();
    assert!(sent > Some(0), "{report}");
}

pub(super) fn bound(space: &Namespace, address: &str, port: u16) -> UdpSocket {
    let address: IpAddr = address.parse().expect("an address");
    let socket = space.enter(|| udp_at((address, port))).expect("a namespace");
    socket.set_read_timeout(Some(PATIENCE)).expect("set");
    // Room for seconds in which the receiver does not run.
    setsockopt(&socket, RcvBufForce, &ROOM).expect("room");
    socket
}

/// Echoes what one connection brings.
fn echo(space: &Namespace, address: &str) -> thread::JoinHandle<()> {
    let address: IpAddr = address.parse().expect("an address");
    let listener = space.enter(|| TcpListener::bind((address, PORT)));
    let listener = listener.expect("a namespace").expect("a listener");
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        // The next one may listen while this connection ends.
        drop(listener);
        let mut other = stream.try_clone().expect("the same");
        std::io::copy(&mut stream, &mut other).expect("it is copied");
    })
}

/// Sends bytes from the CU to the RIC and back over TCP until `stop`, and at least some; each byte is compared.
pub(super) fn transfers([cu, ric]: [&Namespace; 2], between: [&str; 2], stop: impl Fn() -> bool) -> usize {
    let echo = echo(ric, between[1]);
    let mut stream = connect(cu, between);
    let block: Vec<u8> = (0..64 * 1024_u32).map(|at| (at % 251) as u8).collect();
    let mut blocks = 0;
    while blocks < 16 || !stop() {
        stream.write_all(&block).expect("it is sent");
        let mut back = vec![0; block.len()];
        stream.read_exact(&mut back).expect("it comes back");
        assert_eq!(back, block);
        blocks += 1;
    }
    drop(stream);
    echo.join().expect("it ends");
    blocks * block.len()
}

#[test]
fn a_link_carries_tcp_and_long_datagrams_of_both_families_through_rekeys_and_goes_down() {
    let stage = stage(BOTH_FAMILIES);
    let metrics = 9_464;
    let ric = stage.up("ric");
    let cu = stage.up_with("cu", &["--metrics", &format!("127.0.0.1:{metrics}")]);
    stage.stands("ric");
    stage.settled();
    let report = stage.stands("cu");
    assert_eq!(
        (&report["engine"], &report["data_path"]),
        (&"bartizan".into(), &"userspace".into())
    );
    assert_eq!(report["userspace"]["device"], "esp-cu");
    // Ethernet without IPv4, UDP, and ESP with AES-GCM around what is padded to four bytes.
    assert_eq!(report["userspace"]["mtu"], 1500 - 20 - 8 - 8 - 8 - 16 - 2);
    let sa = &report["links"][0]["children"][0]["sas"][0];
    assert_eq!((&sa["mode"], &sa["udp"]), (&"TUNNEL".into(), &true.into()));

    let capture = Capture::start(Some(&stage.cu), "v0", stage.path().join("carried"), Direction::Outbound);
    let capture = capture.expect("a capture");
    for between in [INNER, INNER_6] {
        assert!(transfers([&stage.cu, &stage.ric], between, || true) > 0);
    }
    // Several segments are one packet of the device, and several datagrams one call, both ways and
    // at both ends. The number depends on other work of the machine: `esp-dataplane` measures it.
    for node in ["cu", "ric"] {
        let report = stage.stands(node);
        let work = |name: &str| report["userspace"]["work"][name].as_u64().expect("a number");
        for (few, many) in [
            ("read", "sealed"),
            ("sends", "sealed"),
            ("receives", "received"),
            ("written", "received"),
        ] {
            let (few, many) = (work(few), work(many));
            assert!(few > 0 && few < many, "{node}: {few} {many}: {report}");
        }
    }
    // Rekeyed by either end under traffic: nothing of it is lost.
    let rekeyed = AtomicBool::new(false);
    let hosts = [&stage.cu, &stage.ric];
    thread::scope(|scope| {
        let transfer = scope.spawn(|| transfers(hosts, INNER, || rekeyed.load(Ordering::Relaxed)));
        for (node, more) in [("cu", &[][..]), ("ric", &[]), ("cu", &["--ike"])] {
            assert_eq!(stage.json("rekey", node, more).0, 0, "{node}");
        }
        rekeyed.store(true, Ordering::Relaxed);
        transfer.join().expect("all of it comes back");
    });
    // Longer than the tunnel takes at once: the kernel cuts it before, and each part finds its SA.
    let (one, other) = (bound(&stage.cu, INNER[0], PORT), bound(&stage.ric, INNER[1], PORT));
    let left = leaving(&stage, "parts", || {
        one.send_to(&[7; 9000], (INNER[1], PORT)).expect("it is sent");
        let mut buffer = vec![0; 10_000];
        assert_eq!(other.recv(&mut buffer).expect("it arrives"), 9000);
    });
    // None is cut on its way: what follows a first part has no port and would not be counted.
    // Several that leave at once are seen as one.
    assert!(
        left.clear.is_empty() && left.protected.iter().sum::<usize>() > 9000,
        "{left:?}"
    );

    let protected = counted(capture);
    // Several that leave at once are seen as one.
    assert!(protected.protected.len() > 20 && protected.clear.is_empty());
    let report = stage.stands("cu");
    let dropped = &report["userspace"]["dropped"];
    for why in [
        "not-opened",
        "not-sent",
        "not-written",
        "of-other-traffic",
        "unknown-spi",
    ] {
        assert_eq!(dropped[why], 0, "{why}: {report}");
    }

    // A datagram of an unrelated sender to port 4500 belongs to no SA.
    let other = bound(&stage.ric, "10.77.0.2", 0);
    other.send_to(&[0x5a; 64], ("10.77.0.1", 4500)).expect("it is sent");
    eventually("it is counted", || {
        let counted = "bartizan_ipsec_userspace_dropped_total{reason=\"unknown-spi\"} 1";
        stage.metrics("cu", metrics).contains(counted).then_some(())
    });
    assert_eq!(stage.stands("cu")["userspace"]["dropped"]["unknown-spi"], 1);

    let (code, report) = stage.json("down", "cu", &[]);
    assert_eq!((code, &report["deleted"]), (0, &1.into()));
    for (node, process) in [("cu", cu), ("ric", ric)] {
        let status = process.terminate(PATIENCE).expect("it ends");
        assert_eq!(status.code(), Some(0), "{node}");
        for (family, inner) in [("-4", "10.78.0"), ("-6", "fd78::")] {
            let rules = Program::new("ip").arguments(["-n", stage.space(node).name(), family, "rule"]);
            let rules = rules.run(PATIENCE).expect("ip").text();
            assert!(!rules.contains(inner), "{rules}");
        }
        let links = Program::new("ip").arguments(["-n", stage.space(node).name(), "link"]);
        assert!(!links.run(PATIENCE).expect("ip").text().contains("esp-"));
    }
}

#[test]
fn a_program_that_binds_no_address_reaches_the_peer_by_the_links_own_and_others_are_not_led_to_it() {
    let stage = stage(BOTH_FAMILIES);
    let _both = up(&stage);
    for ([own, other], any, outer) in [(INNER, "0.0.0.0", "10.77.0.1"), (INNER_6, "::", "fd77::1")] {
        let there: IpAddr = other.parse().expect("an address");
        let listener = stage.ric.enter(|| TcpListener::bind((there, PORT)));
        let _listener = listener.expect("a namespace").expect("a listener");
        let receiver = bound(&stage.ric, other, PORT);
        let arrives_from = |socket: &UdpSocket| {
            socket.send_to(b"a datagram", (there, PORT)).expect("it is sent");
            let (_, from) = receiver.recv_from(&mut [0; 64]).expect("it arrives");
            from.ip().to_string()
        };
        // It stays until all is captured: what ends it would leave encrypted in the next capture.
        let mut stream = None;
        let left = leaving(&stage, &format!("unbound-{any}"), || {
            let connected = stage.cu.enter(|| TcpStream::connect((there, PORT)));
            let connected = connected.expect("a namespace").expect("it is reached");
            assert_eq!(connected.local_addr().expect("bound by now").ip().to_string(), own);
            stream = Some(connected);
            assert_eq!(arrives_from(&bound(&stage.cu, any, 0)), own);
        });
        assert!(left.clear.is_empty() && left.other.is_empty(), "{any}: {left:?}");
        // A SYN, and behind its answer an ACK and the datagram, which are seen as one where they leave at once.
        assert!(left.protected.len() >= 2, "{any}: {left:?}");
        // An address that the link is not for sends as the host routes it.
        let left = leaving(&stage, &format!("bound-{any}"), || {
            assert_eq!(arrives_from(&bound(&stage.cu, outer, 0)), outer);
        });
        drop(stream);
        assert!(left.protected.is_empty() && !left.other.is_empty(), "{any}: {left:?}");
    }
}

#[test]
fn nothing_leaves_unencrypted_whatever_becomes_of_the_engine_that_does_esp_itself() {
    let stage = stage(OF_GTP);
    let sender = Sender::new(MANY);
    let socket = bound(&stage.cu, INNER[0], GTP_U);
    thread::scope(|scope| {
        let _stopped = sender.stopped();
        // A packet that the host does not let out is an error here, and the subject of this test.
        scope.spawn(|| sender.run(|| _ = socket.send_to(b"a user's packet", (INNER[1], GTP_U))));
        let before = leaving(&stage, "before", || sender.many_more());
        assert!(!before.clear.is_empty() && before.protected.is_empty(), "{before:?}");

        let (_ric, mut cu) = (stage.up("ric"), stage.up("cu"));
        let through = leaving(&stage, "through", || {
            stage.stands("cu");
            sender.many_more();
            assert_eq!(stage.json("rekey", "cu", &[]).0, 0);
            sender.many_more();
            let engine = stage.charon_process("cu").expect("it runs");
            kill(engine, Signal::SIGSTOP).expect("stopped");
            sender.many_more();
            kill(engine, Signal::SIGCONT).expect("it goes on");
            // Killed under its `up`, which says so and ends.
            kill(engine, Signal::SIGKILL).expect("killed");
            sender.many_more();
            let status = eventually("it ends", || cu.ended().expect("a child of ours"));
            assert_eq!(status.code(), Some(2));
            let mut cu = stage.up("cu");
            stage.stands("cu");
            sender.many_more();
            cu.send(libc::SIGKILL);
            eventually("the engine is gone", || {
                stage.charon_process("cu").is_none().then_some(())
            });
            sender.many_more();
            let cu = stage.up("cu");
            stage.stands("cu");
            let (code, report) = stage.json("down", "cu", &[]);
            assert_eq!((code, &report["cleartext"]["guard"]), (0, &"installed".into()));
            sender.many_more();
            cu.terminate(PATIENCE).expect("it ends");
            sender.many_more();
        });
        assert!(through.clear.is_empty(), "{through:?}");
        assert!(through.protected.len() > MANY, "{through:?}");
        assert_eq!(stage.json("down", "cu", &["--unguard"]).0, 0);
        let after = leaving(&stage, "after", || sender.many_more());
        assert!(!after.clear.is_empty() && after.protected.is_empty(), "{after:?}");
    });
}

#[test]
fn a_link_between_the_hosts_own_addresses_is_not_led_into_itself() {
    // Selectors for one kind of packets, and for all of them.
    for link in ["", "selectors: [{ protocol: any }]"] {
        let stage = stage(link);
        let _both = up(&stage);
        let before = stage.stands("cu");
        let hosts = ["10.77.0.1", "10.77.0.2"];
        let is_all = !link.is_empty();
        let left = leaving(&stage, "hosts", || {
            transfers([&stage.cu, &stage.ric], hosts, || true);
        });
        assert_eq!(left.protected.len() > 20, is_all, "{link}: {}", left.protected.len());
        let after = stage.stands("cu");
        let sent = |report: &Value| report["links"][0]["children"][0]["sas"][0]["packets"]["sent"].as_u64();
        assert_eq!(sent(&after) > sent(&before), is_all);
    }
}

/// A running `up` never read its files again: a peer that was revoked kept its link, and came back
/// after a restart.
#[test]
fn a_new_list_ends_the_link_of_a_peer_while_up_runs_and_an_older_one_does_not_bring_it_back() {
    let mut stage = stage(BOTH_FAMILIES);
    let serial = stage.issue("cu", SystemTime::now());
    let file = stage.path().join("ca.crl.pem");
    let before = std::fs::read(&file).expect("the list");
    let [ric, _cu] = up(&stage);
    let revoked = stage
        .authority
        .revoke(&serial, Reason::KeyCompromise, SystemTime::now());
    revoked.expect("a revocation");
    stage.publish();
    let is_gone = || (ikes(&stage, "ric")? == 0).then_some(());
    eventually("the link is gone", is_gone);
    eventually("it is logged", || ric.stderr().contains("reloaded: ").then_some(()));

    std::fs::write(&file, before).expect("the older list");
    eventually("it is refused", || {
        ric.stderr()
            .contains("holds an older revocation list of ")
            .then_some(())
    });
    eventually("it is read", || {
        (ric.stderr().matches("reloaded: ").count() == 2).then_some(())
    });
    eventually("the link is gone", is_gone);
}

#[test]
fn what_the_engine_does_not_do_in_user_space_is_refused_by_name() {
    let stage = stage("mode: transport");
    let refused = stage.run("up", "cu", &[]);
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("transport"), "{}", stderr(&refused));
}
