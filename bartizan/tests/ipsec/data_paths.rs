//! Links whose ends are in user space, with everything that such a link carries: against strongSwan
//! on what this machine has, which without a kernel's ESP is its own (kernel-libipsec), and over
//! IPv6.

use std::fs::Permissions;
use std::net::{IpAddr, UdpSocket};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use bartizan_host::{Feature, Process, Support};
use bartizan_pki::Algorithm;
use bartizan_testing::until;
use bartizan_testing::{Capture, Direction};
use serde_json::Value;

use super::egress::{Left, PFCP, counted};
use super::engine::asks;
use super::guest::in_a_guest;
use super::userspace::{BOTH_FAMILIES as ALL, INNER, INNER_6, bound, transfers};
use crate::stage::*;

const USERSPACE: &str = "bartizan, data-path: userspace";
const STRONGSWAN: &str = "strongswan";
/// With the ESP of its kernel.
const KERNEL: &str = "bartizan";
const OUTER_6: &str = "outer: { cu: 'fd77::1', ric: 'fd77::2' }";
/// Suites, as a policy asks for them.
const GCM: &str = "aes256gcm16]";
const CHACHA: &str = "chacha20poly1305]";
const CBC: &str = "aes256], integrity: [sha384]";
/// Octets of datagrams: short ones, around what the tunnel takes (1438 octets less 28 of headers),
/// what the path takes, and such as are cut.
const SIZES: [usize; 7] = [1, 200, 1409, 1410, 1411, 1472, 9000];
/// For datagrams that are not echoed.
const NUMBERED: u16 = 7001;
const LAST: u32 = u32::MAX;
/// Numbered datagrams on their way at once: more would overflow a socket whose reader waits for a
/// processor, and that is no loss of a rekey.
const ON_THEIR_WAY: u32 = 32;

fn policy(ciphers: &str, more: &str) -> String {
    format!("{{ profile: hybrid, ipsec: {{ ciphers: [{ciphers}{more} }} }}")
}

fn is_in_user_space(engine: &str) -> bool {
    engine == USERSPACE
}

/// A link between these two, the CU's engine first, which sets it up.
struct Between {
    stage: Stage,
    engines: [&'static str; 2],
}

impl Between {
    fn set_up(engines: [&'static str; 2], ciphers: &str, link: &str) -> Self {
        Self::set_up_for("E2", engines, ciphers, link)
    }

    fn set_up_for(interface: &str, engines: [&'static str; 2], ciphers: &str, link: &str) -> Self {
        let (algorithm, more) = match engines.contains(&STRONGSWAN) {
            true => (Algorithm::EcdsaP384, ""),
            false => (Algorithm::MlDsa65, ", authentication: post-quantum"),
        };
        let stage = Stage::set_up_engines(engines, algorithm, &policy(ciphers, more), &[(interface, link)]);
        Self { stage, engines }
    }

    fn of(&self, node: &str) -> &'static str {
        self.engines[usize::from(node == "ric")]
    }

    /// Options of `up` and `status` for a kernel that cannot guard an end in user space.
    fn guarding(&self, node: &str) -> &'static [&'static str] {
        match is_in_user_space(self.of(node)) && matches!(Feature::Nftables.tried(), Support::Absent(_)) {
            true => &["--no-guard"],
            false => &[],
        }
    }

    /// Both ends up, and the link with them; carried in UDP, as both say.
    fn up(&self) -> [Process; 2] {
        let both = ["ric", "cu"].map(|node| self.stage.up_with(node, self.guarding(node)));
        for node in ["cu", "ric"] {
            let report = self.stands(node);
            let sa = &report["links"][0]["children"][0]["sas"][0];
            assert_eq!((&sa["mode"], &sa["udp"]), (&"TUNNEL".into(), &true.into()), "{report}");
        }
        // Packets on their way in an IKE_SA that is deleted are lost.
        self.stage.settled();
        both
    }

    fn stands(&self, node: &str) -> Value {
        eventually("the link stands", || {
            let (code, report) = self.stage.json("status", node, self.guarding(node));
            (code == 0).then_some(report)
        })
    }

    /// A pre-shared key where both nodes have it.
    fn share(&self, secret: &str) {
        let file = self.stage.path().join("e2.ppk");
        std::fs::write(&file, secret).expect("a file");
        std::fs::set_permissions(file, Permissions::from_mode(0o600)).expect("set");
    }

    /// Packets between the two while `act` runs, in both directions: at an end in user space, since
    /// a kernel shows decrypted packets as received by the same interface.
    fn passing(&self, name: &str, act: impl FnOnce()) -> Left {
        let path = self.stage.path().join(name);
        let end = match is_in_user_space(self.of("cu")) {
            true => &self.stage.cu,
            false => &self.stage.ric,
        };
        let capture = Capture::start(Some(end), "v0", path, Direction::Both).expect("a capture");
        act();
        counted(capture)
    }

    /// Streams begun by either end, each carried both flows, and datagrams of every size both flows, each family.
    fn carries_everything(&self) {
        let Stage { cu, ric, .. } = &self.stage;
        for [near, far] in [INNER, INNER_6] {
            assert!(transfers([cu, ric], [near, far], || true) > 0);
            assert!(transfers([ric, cu], [far, near], || true) > 0);
            let (one, other) = (bound(cu, near, NUMBERED), bound(ric, far, NUMBERED));
            for size in SIZES {
                for (from, to, address) in [(&one, &other, far), (&other, &one, near)] {
                    arrives(from, to, address, size);
                }
            }
        }
    }

    /// Each kind of rekey by either end, twice, while a stream and datagrams of both directions
    /// pass: none of it is lost.
    fn is_rekeyed_without_loss(&self) {
        let Stage { cu, ric, .. } = &self.stage;
        let done = &AtomicBool::new(false);
        let (one, other) = (bound(cu, INNER[0], NUMBERED), bound(ric, INNER[1], NUMBERED));
        thread::scope(|scope| {
            let stream = scope.spawn(|| transfers([cu, ric], INNER, || done.load(Ordering::Relaxed)));
            let flows = [("cu", &one, &other, INNER[1]), ("ric", &other, &one, INNER[0])];
            let flows = flows.map(|(node, from, to, address)| {
                let may_refuse = self.of(node) == STRONGSWAN;
                let next = Arc::new(AtomicU32::new(0));
                let seen = Arc::clone(&next);
                scope.spawn(move || sends(from, address, may_refuse, (&seen, done)));
                (node, scope.spawn(move || receives(to, &next)))
            });
            // A panic here lets the others end.
            let _done = Done(done);
            for _ in 0..2 {
                for (node, more) in [("cu", &[][..]), ("ric", &[]), ("cu", &["--ike"]), ("ric", &["--ike"])] {
                    let (code, report) = self.stage.json("rekey", node, more);
                    assert_eq!(code, 0, "{node} {more:?}: {report}");
                }
            }
            done.store(true, Ordering::Relaxed);
            assert!(stream.join().expect("all of it comes back") > 0);
            for (node, way) in flows {
                let (arrived, sent) = way.join().expect("they are received");
                assert_eq!(arrived, sent, "datagrams of {node} during rekeys: {:?}", self.engines);
            }
        });
    }

    /// Nothing was dropped by either end, as it says itself, and segments went many at once.
    fn has_dropped_nothing(&self) {
        for node in ["cu", "ric"] {
            let report = self.stands(node);
            if is_in_user_space(self.of(node)) {
                for why in [
                    "not-opened",
                    "not-sent",
                    "not-written",
                    "of-other-traffic",
                    "unknown-spi",
                    "without-sa",
                ] {
                    assert_eq!(report["userspace"]["dropped"][why], 0, "{node}, {why}: {report}");
                }
                let work = |name: &str| report["userspace"]["work"][name].as_u64().expect("a number");
                // The number that go at once depends on other work of the machine: `esp-dataplane`
                // measures it.
                for few in ["read", "sends"] {
                    assert!(work(few) < work("sealed"), "{node}: {few}: {report}");
                }
            } else {
                let dropped = &report["links"][0]["children"][0]["sas"][0]["dropped"];
                for why in ["replayed", "outside_window", "integrity"] {
                    assert!(dropped[why].as_u64().unwrap_or(0) == 0, "{node}, {why}: {report}");
                }
            }
        }
    }

    /// Neither end passes anything that is not encrypted.
    fn passes_nothing_else(&self, left: &Left) {
        let (clear, other, protected) = (&left.clear, &left.other, left.protected.len());
        assert!(
            clear.is_empty() && other.is_empty() && protected > 20,
            "{:?}: SCTP, GTP-U or PFCP {clear:?}, others {other:?}, protected {protected}",
            self.engines
        );
    }

    fn goes_down(self, both: [Process; 2]) {
        assert_eq!(self.stage.json("down", "cu", &[]).0, 0);
        for process in both {
            process.terminate(PATIENCE).expect("it ends");
        }
    }
}

/// Set when it goes.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn arrives(from: &UdpSocket, to: &UdpSocket, address: &str, size: usize) {
    let to_there: IpAddr = address.parse().expect("an address");
    let datagram: Vec<u8> = (0..size).map(|at| (at % 249) as u8).collect();
    // The kernel learns from the first that is too long what passes, and cuts the next.
    let mut buffer = vec![0; 10_000];
    from.send_to(&datagram, (to_there, NUMBERED)).expect("it is sent");
    let length = to
        .recv(&mut buffer)
        .unwrap_or_else(|error| panic!("{size} octets to {address}: {error}"));
    assert!(buffer[..length] == datagram, "{size} octets to {address}");
}

/// Numbers datagrams until `done`; the last of them says how many there were. charon deletes the
/// kernel's SA to send by as soon as there is another, and the kernel refuses what is on its way to
/// it just then (EINVAL): that is not sent.
fn sends(from: &UdpSocket, address: &str, may_refuse: bool, (next, done): (&AtomicU32, &AtomicBool)) {
    let to: IpAddr = address.parse().expect("an address");
    let mut number = 0_u32;
    let send = |first: u32, second: u32| {
        let bytes = [first.to_be_bytes(), second.to_be_bytes()].concat();
        match from.send_to(&bytes, (to, NUMBERED)) {
            Err(error) if may_refuse && error.kind() == std::io::ErrorKind::InvalidInput => false,
            sent => sent.expect("it is sent") > 0,
        }
    };
    while !done.load(Ordering::Relaxed) {
        if number - next.load(Ordering::Relaxed) < ON_THEIR_WAY {
            number += u32::from(send(number, 0));
        }
        thread::sleep(Duration::from_millis(2));
    }
    // The replaced SA may be deleted just now.
    until("the last is sent", || send(LAST, number));
}

/// Number of datagrams received before the last, and the number that the last reports. `next` is
/// the number after the newest.
fn receives(at: &UdpSocket, next: &AtomicU32) -> (u32, u32) {
    let mut arrived = 0;
    loop {
        let mut bytes = [0; 8];
        at.recv(&mut bytes).expect("it arrives");
        let [a, b, c, d, rest @ ..] = bytes;
        match u32::from_be_bytes([a, b, c, d]) {
            LAST => return (arrived, u32::from_be_bytes(rest)),
            number => {
                next.store(number + 1, Ordering::Relaxed);
                arrived += 1;
            }
        }
    }
}

/// A link of this suite between the two carries everything and is rekeyed, and takes nothing from what passes.
fn is_carried(engines: [&'static str; 2], ciphers: &str, link: &str) {
    let between = Between::set_up(engines, ciphers, link);
    let both = between.up();
    let left = between.passing("carried", || {
        between.carries_everything();
        between.is_rekeyed_without_loss();
        between.carries_everything();
    });
    between.passes_nothing_else(&left);
    between.has_dropped_nothing();
    between.goes_down(both);
}

#[test]
fn user_space_and_strongswan_on_this_machine_carry_everything_under_the_guards_of_both() {
    // kernel-libipsec counts with 32 bits.
    let link = format!("{ALL}, esn: false");
    for engines in [[USERSPACE, STRONGSWAN], [STRONGSWAN, USERSPACE]] {
        is_carried(engines, GCM, &link);
    }
}

#[test]
fn two_ends_in_user_space_are_joined_over_addresses_of_ipv6() {
    is_carried([USERSPACE; 2], GCM, &format!("{ALL}, {OUTER_6}"));
}

/// The guest's kernel has no nftables, by which an end in user space is guarded: that one goes without here.
#[test]
fn user_space_and_the_esp_of_a_kernel_carry_everything_and_lose_nothing_in_rekeys() {
    if in_a_guest() {
        return;
    }
    for (engines, ciphers) in [
        ([USERSPACE, KERNEL], GCM),
        ([KERNEL, USERSPACE], CHACHA),
        ([STRONGSWAN, USERSPACE], CBC),
    ] {
        is_carried(engines, ciphers, ALL);
    }
    for engines in [[USERSPACE, KERNEL], [STRONGSWAN, USERSPACE]] {
        datagrams_from_a_port_to_the_same_are_carried(engines);
    }
}

/// They are of two CHILD_SAs, and a kernel drops what comes by the other one than it asks about first.
fn datagrams_from_a_port_to_the_same_are_carried(engines: [&'static str; 2]) {
    let link = Between::set_up_for("N4", engines, GCM, "inner: { cu: [10.78.0.1], ric: [10.78.0.2] }");
    let both = link.up();
    let [cu, ric] = INNER.map(|address| address.parse().expect("an address"));
    let ends = [(&link.stage.cu, cu), (&link.stage.ric, ric)];
    asks(ends, PFCP);
    asks([ends[1], ends[0]], PFCP);
    for process in both {
        process.terminate(PATIENCE).expect("it ends");
    }
}

#[test]
fn a_pre_shared_key_of_the_file_is_mixed_in_whatever_the_engines_are_and_another_opens_no_link() {
    const LINK: &str = "inner: { cu: [10.78.0.1], ric: [10.78.0.2] }, selectors: [{ protocol: any }], esn: false, ppk: { id: e2-2026, file: e2.ppk }";
    for engines in [[USERSPACE; 2], [USERSPACE, STRONGSWAN], [STRONGSWAN, USERSPACE]] {
        let link = Between::set_up(engines, GCM, LINK);
        link.share(&"0f".repeat(32));
        let both = link.up();
        for node in ["cu", "ric"] {
            let report = link.stands(node);
            assert_eq!(
                report["links"][0]["ike"][0]["ppk"], true,
                "{engines:?} {node}: {report}"
            );
        }
        assert!(transfers([&link.stage.cu, &link.stage.ric], INNER, || true) > 0);
        for process in both {
            process.terminate(PATIENCE).expect("it ends");
        }
        // The peer has read the one, and this end the other: neither believes who the other is.
        let _ric = link.stage.up_with("ric", link.guarding("ric"));
        link.share(&"f0".repeat(32));
        let _cu = link.stage.up_with("cu", link.guarding("cu"));
        let report = eventually("it is refused", || {
            let (code, report) = link.stage.json("status", "cu", link.guarding("cu"));
            let is_refused = report["links"][0]["last_refusal"]["reason"].is_string();
            (code != 0 && is_refused).then_some(report)
        });
        assert_eq!(
            report["links"][0]["children"][0]["sas"],
            serde_json::json!([]),
            "{report}"
        );
    }
}
