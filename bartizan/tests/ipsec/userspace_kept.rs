//! Nodes that do ESP themselves, while a path MTU is forged, interfaces take less than the file
//! says, and routing is changed by other programs.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::AsRawFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use bartizan_host::Program;
use bartizan_pki::Algorithm;
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn, sendto, socket};

use super::userspace::{BOTH_FAMILIES, INNER, INNER_6, bound, transfers};
use crate::stage::*;

const OURS: [&str; 2] = ["bartizan, data-path: userspace"; 2];
const POST_QUANTUM: &str = "{ profile: hybrid, ipsec: { authentication: post-quantum } }";
const OUTER: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 77, 0, 1), Ipv4Addr::new(10, 77, 0, 2)];

fn stage() -> Stage {
    Stage::set_up_engines(OURS, Algorithm::MlDsa65, POST_QUANTUM, &[("E2", BOTH_FAMILIES)])
}

/// The sum that ends an ICMP message's header (RFC 1071).
fn checksum(bytes: &[u8]) -> [u8; 2] {
    let words = bytes
        .chunks(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let sum: u32 = words.sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    (!(sum as u16)).to_be_bytes()
}

/// Sends the CU "fragmentation needed" about a datagram of UDP from and to a port, as every host can
/// who knows both addresses.
fn forge(stage: &Stage, port: u16, mtu: u16) {
    let [cu, ric] = OUTER;
    let mut quoted = vec![0x45, 0, 5, 0xdc, 0, 0, 0x40, 0, 64, 17, 0, 0];
    quoted.extend([cu.octets(), ric.octets()].concat());
    let sum = checksum(&quoted);
    quoted[10..12].copy_from_slice(&sum);
    quoted.extend([port.to_be_bytes(), port.to_be_bytes(), 1480_u16.to_be_bytes(), [0; 2]].concat());
    let mut message = [&[3, 4, 0, 0, 0, 0][..], &mtu.to_be_bytes(), &quoted].concat();
    let sum = checksum(&message);
    message[2..4].copy_from_slice(&sum);
    let send = || {
        let raw = socket(
            AddressFamily::Inet,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            SockProtocol::Icmp,
        )?;
        let to = SockaddrIn::from(SocketAddrV4::new(cu, 0));
        sendto(raw.as_raw_fd(), &message, &to, MsgFlags::empty())
    };
    stage.ric.enter(send).expect("a namespace").expect("it is sent");
}

/// One forged message stopped all TCP of a link for ten minutes, and an interface that takes less
/// than the file says for ever.
#[test]
fn tcp_goes_on_whatever_path_mtu_is_forged_and_where_an_interface_takes_less_than_the_file_says() {
    let stage = stage();
    let _both = [stage.up("ric"), stage.up("cu")];
    for node in ["cu", "ric"] {
        stage.stands(node);
    }
    stage.settled();
    let hosts = [&stage.cu, &stage.ric];
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let transfer = scope.spawn(|| transfers(hosts, INNER, || done.load(Ordering::Relaxed)));
        // A socket of the host that learns path MTUs: what it learns is the route's.
        let other = bound(&stage.cu, "10.77.0.1", 4501);
        other.send_to(b"x", ("10.77.0.2", 4501)).expect("it is sent");
        eventually("the host believes it", || {
            forge(&stage, 4500, 576);
            forge(&stage, 4501, 576);
            let route = Program::new("ip").arguments(["-n", stage.cu.name(), "route", "get", "10.77.0.2"]);
            route
                .run(PATIENCE)
                .expect("ip")
                .text()
                .contains("mtu 576")
                .then_some(())
        });
        transfers_of_another(&stage);
        for node in ["cu", "ric"] {
            stage.ip(node, &["link", "set", "v0", "mtu", "1400"]);
        }
        transfers_of_another(&stage);
        done.store(true, Ordering::Relaxed);
        assert!(transfer.join().expect("all of it comes back") > 0);
    });
    for node in ["cu", "ric"] {
        let report = stage.stands(node);
        assert_eq!(report["userspace"]["dropped"]["not-sent"], 0, "{node}: {report}");
        let said = report["interfaces"][0].as_str().expect("a remark");
        assert!(
            said.contains("the interface v0 takes packets of 1400 octets, and the file says 1500"),
            "{said}"
        );
    }
}

/// The other family, whose port is not taken.
fn transfers_of_another(stage: &Stage) {
    assert!(transfers([&stage.cu, &stage.ric], INNER_6, || true) > 0);
}

/// Rules and table were laid once: a device that was down for a moment carried nothing any more,
/// and `status` said that all is well.
#[test]
fn routing_that_another_program_has_flushed_is_installed_again_and_counted() {
    let stage = stage();
    let metrics = 9_465;
    let _ric = stage.up("ric");
    let cu = stage.up_with("cu", &["--metrics", &format!("127.0.0.1:{metrics}")]);
    stage.stands("ric");
    let report = stage.stands("cu");
    assert_eq!(
        (
            &report["userspace"]["routing_installed"],
            &report["userspace"]["routing_restored"]
        ),
        (&true.into(), &0.into())
    );
    stage.settled();
    let arrives = || {
        for [own, other] in [INNER, INNER_6] {
            let (socket, receiver) = (bound(&stage.cu, own, 7001), bound(&stage.ric, other, 7001));
            socket.send_to(b"a datagram", (other, 7001)).expect("it is sent");
            receiver.recv(&mut [0; 64]).expect("it arrives");
        }
    };
    arrives();
    let rule = |version: &'static str| move |stage: &Stage| stage.ip("cu", &[version, "rule", "del", "pref", "218"]);
    let (rule_of_v4, rule_of_v6) = (rule("-4"), rule("-6"));
    let down = |stage: &Stage| stage.ip("cu", &["link", "set", "esp-cu", "down"]);
    let up_again = |stage: &Stage| {
        down(stage);
        stage.ip("cu", &["link", "set", "esp-cu", "up"]);
    };
    let changes: [&dyn Fn(&Stage); 4] = [&rule_of_v4, &rule_of_v6, &down, &up_again];
    let restored = |more: u64| {
        eventually("it is installed again", || {
            let (code, report) = stage.try_json("status", "cu")?;
            let own = &report["userspace"];
            (code == 0 && own["routing_restored"].as_u64()? >= more && own["routing_installed"] == true).then_some(())
        });
    };
    for (before, change) in changes.into_iter().enumerate() {
        change(&stage);
        restored(before as u64 + 1);
        arrives();
    }
    // A loss that cannot be repaired is a finding for as long as it lasts.
    let disable = |value: &str| {
        let set = || std::fs::write("/proc/sys/net/ipv6/conf/esp-cu/disable_ipv6", value);
        stage.cu.enter(set).expect("a namespace").expect("set");
    };
    disable("1");
    eventually("it is a finding", || {
        let (code, report) = stage.try_json("status", "cu")?;
        (code == 1 && report["userspace"]["routing_installed"] == false).then_some(())
    });
    eventually("it is a metric", || {
        let text = stage.metrics("cu", metrics);
        let lost = "bartizan_ipsec_userspace_routing_installed 0";
        (text.contains(lost) && text.contains("bartizan_ipsec_userspace_routing_restored_total ")).then_some(())
    });
    disable("0");
    restored(5);
    arrives();
    for line in [
        "routing to the device was lost and is installed again",
        "routing to the device is lost: packets of the links are dropped",
    ] {
        eventually("it is logged", || cu.stderr().contains(line).then_some(()));
    }
}
