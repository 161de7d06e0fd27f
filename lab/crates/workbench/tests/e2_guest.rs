//! E2 over kernel SCTP, in plaintext and in ESP, keyed statically and by two charons, in a guest
//! whose kernel has both; judged outside by tshark.
//!
//! One boot for all of it: the test runs itself again in the guest, which leaves captures and what
//! it counted in a folder that both see.

#![allow(missing_docs, reason = "a test file has no readers of its documentation")]

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bartizan_host::sctp::{Arrival, Association, Listener, Opening};
use bartizan_host::{LabRoot, Program};
use bartizan_ipsec::drive::list_sas;
use bartizan_testing::{Build as _, Wiring as _};
use bartizan_testing::{Capture, Direction, Guest, Impairment};
use bartizan_workbench::stand_in::e2::ike::At;
use bartizan_workbench::stand_in::e2::link::{INTERFACE, NODE};
use bartizan_workbench::stand_in::e2::play::Faults;
use bartizan_workbench::stand_in::e2::script::{Load, Pace};
use bartizan_workbench::stand_in::e2::{End, Exchange, Ike, Link, Played, Protection, Script, Selector, play};
use serde::{Deserialize, Serialize};

/// Folder for the guest's results; set in the guest only.
const FOLDER: &str = "BARTIZAN_E2_GUEST_TEST";
/// Enough for all that the guest does on a busy machine, which has taken four minutes.
const LONG: Duration = Duration::from_secs(1800);
const PROTECTIONS: [&str; 3] = ["none", "aes256-gcm", "aes256-cbc-sha256"];
/// Captures of a link keyed by IKE: its first packet sets the SA up; it is cut for a while; a charon is killed.
const KEYED: [&str; 3] = ["trap", "cut", "killed"];
/// Capture without SAs: all of them are gone.
const RUN_OUT: &str = "run-out";

/// Counters of a run in the guest.
#[derive(Debug, Serialize, Deserialize)]
struct Counted {
    sent: usize,
    received: usize,
    lost: usize,
    loops: usize,
    reconnects: usize,
    sizes: BTreeMap<usize, usize>,
}

impl From<Played> for Counted {
    fn from(played: Played) -> Self {
        Self {
            sent: played.sent,
            received: played.received,
            lost: played.lost,
            loops: played.loops.len(),
            reconnects: played.reconnects,
            sizes: played.sizes.into_iter().collect(),
        }
    }
}

mod as_root {
    use super::*;

    #[test]
    fn e2_is_played_in_a_guest_and_nothing_protected_is_readable() {
        if let Some(folder) = env::var_os(FOLDER) {
            inside(Path::new(&folder));
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let root = LabRoot::sid().unwrap().ensure(&mut |_| {}).unwrap();
        let name = "as_root::e2_is_played_in_a_guest_and_nothing_protected_is_readable";
        let program = Guest::of(&root).unwrap().program(env::current_exe().unwrap());
        let program = program
            .arguments(["--exact", name, "--nocapture"])
            .environment(FOLDER, folder.path());
        let finished = program.run(LONG).unwrap();
        assert!(finished.text().contains("1 passed"), "{}", finished.text());
        judge(folder.path());
    }
}

/// In the guest.
fn inside(folder: &Path) {
    let link = Link::make().unwrap();
    sockets(&link);
    let load = Load {
        nodes: 1,
        pace: Pace::Recorded { faster: 30.0 },
        control: None,
        payload_protocol: None,
    };
    for name in PROTECTIONS {
        Protection::named(name)
            .unwrap()
            .set_up(&link, Selector::Sctp, folder)
            .unwrap();
        let played = captured(&link, folder, name, || run(&link, load, Faults::default()));
        write(folder, name, played);
    }
    // Still protected: four nodes in a control loop with the standard's PPID, one of which loses its association.
    let load = Load {
        nodes: 4,
        pace: Pace::Rate {
            kilobits: 400.0,
            lasting: Duration::from_secs(2),
        },
        control: Some(133),
        payload_protocol: Some(70),
    };
    let faults = Faults { abort_after: Some(3) };
    write(folder, "loop", run(&link, load, faults));
    keyed(&link, folder);
}

/// Captures the packets that leave both hosts during an action, in two files.
fn captured<T>(link: &Link, folder: &Path, name: &str, done: impl FnOnce() -> T) -> T {
    let capture = |namespace, end: &str| {
        let path = folder.join(format!("{name}-{end}.pcap"));
        Capture::start(Some(namespace), INTERFACE, path, Direction::Outbound).unwrap()
    };
    let captures = [capture(link.node(), "node"), capture(link.ric(), "ric")];
    let done = done();
    for capture in captures {
        assert!(capture.stop().unwrap().complete());
    }
    done
}

/// The link keyed by two charons, and what happens to it.
fn keyed(link: &Link, folder: &Path) {
    let root = LabRoot::sid().unwrap().ensure(&mut |_| {}).unwrap();
    Protection::named("none")
        .unwrap()
        .set_up(link, Selector::Sctp, folder)
        .unwrap();
    let mut ike = Ike::start(link, &root, folder).unwrap();
    ike.trap("x25519-ke1_mlkem768", Selector::Sctp).unwrap();
    let load = Load {
        nodes: 1,
        pace: Pace::Rate {
            kilobits: 100.0,
            lasting: Duration::from_secs(3),
        },
        control: Some(133),
        payload_protocol: None,
    };
    let played = captured(link, folder, KEYED[0], || run(link, load, Faults::default()));
    write(folder, KEYED[0], played);
    for at in At::BOTH {
        let sas = list_sas(&mut ike.client(at).unwrap()).unwrap();
        let codes: Vec<_> = sas[0].key_exchanges.iter().map(|one| one.code).collect();
        assert_eq!(codes, [Some(31), Some(36)], "{sas:?}");
        assert_eq!(sas[0].children.len(), 1, "{sas:?}");
    }
    // Nothing arrives for a second, and then everything again.
    let during = |fault: &mut dyn FnMut()| {
        std::thread::scope(|scope| {
            let played = scope.spawn(|| run(link, load, Faults::default()));
            std::thread::sleep(Duration::from_secs(1));
            fault();
            played.join().unwrap()
        })
    };
    let lose = |loss_percent| {
        for namespace in [link.node(), link.ric()] {
            let impairment = Impairment {
                loss_percent,
                ..Impairment::default()
            };
            namespace.impair(INTERFACE, &impairment).unwrap();
        }
    };
    let mut cut = || {
        lose(100.0);
        std::thread::sleep(Duration::from_secs(1));
        lose(0.0);
    };
    let played = captured(link, folder, KEYED[1], || during(&mut cut));
    write(folder, KEYED[1], played);
    // SAs in the kernel outlive their charon: E2 continues over its SA.
    let mut kill = || ike.kill(At::Node).unwrap();
    let played = captured(link, folder, KEYED[2], || during(&mut kill));
    write(folder, KEYED[2], played);
    // And without the SA nothing of E2 leaves at all.
    captured(link, folder, RUN_OUT, || {
        for namespace in [link.node(), link.ric()] {
            let flush = ["-n", namespace.name(), "xfrm", "state", "flush"];
            Program::new("ip")
                .package("iproute2")
                .arguments(flush)
                .run(LONG)
                .unwrap();
        }
        let opening = Opening {
            attempts: 3,
            longest_wait: Duration::from_millis(200),
            ..Opening::default()
        };
        let connect = || Association::connect((NODE, 0).into(), Link::ric_address(), opening);
        assert!(link.node().enter(connect).unwrap().is_err(), "nobody sets the SA up");
    });
}

fn run(link: &Link, load: Load, faults: Faults) -> Counted {
    let script = Script::new(&Exchange::flexric(), load).unwrap();
    play(&script, link, faults, Instant::now() + LONG).unwrap().into()
}

fn write(folder: &Path, name: &str, counted: Counted) {
    fs::write(
        folder.join(format!("{name}.json")),
        serde_json::to_vec(&counted).unwrap(),
    )
    .unwrap();
}

/// One association by hand: what is sent arrives whole with its stream and PPID, and each kind of end is reported.
fn sockets(link: &Link) {
    let opening = Opening {
        attempts: 2,
        longest_wait: Duration::from_millis(100),
        ..Opening::default()
    };
    let address = Link::ric_address();
    let connect = || {
        link.node()
            .enter(|| Association::connect((NODE, 0).into(), address, opening))
            .unwrap()
    };
    assert!(connect().is_err(), "nobody listens");
    let listener = link.ric().enter(|| Listener::bind(address, opening)).unwrap().unwrap();
    assert_eq!(listener.address().unwrap(), address);
    let mut node = connect().unwrap();
    let (mut ric, peer) = listener.accept().unwrap();
    assert_eq!(peer.ip(), NODE);
    for (stream, payload_protocol, size) in [(0, 0, 1), (3, 70, 2809), (9, u32::MAX, 100_000)] {
        let bytes: Vec<u8> = (0..size).map(|byte: usize| byte as u8).collect();
        node.send(stream, payload_protocol, &bytes).unwrap();
        let Arrival::Message(message) = ric.receive().unwrap() else {
            panic!("no message of {size} bytes");
        };
        assert_eq!((message.stream, message.payload_protocol), (stream, payload_protocol));
        assert_eq!(message.bytes, bytes);
    }
    assert!(node.send(10, 0, b"no such stream").is_err());
    node.set_nonblocking(true).unwrap();
    assert_eq!(node.receive().unwrap(), Arrival::Nothing);
    node.set_nonblocking(false).unwrap();
    ric.finish().unwrap();
    assert_eq!(node.receive().unwrap(), Arrival::End);
    drop((node, ric));
    let mut node = connect().unwrap();
    let (ric, _) = listener.accept().unwrap();
    ric.abort().unwrap();
    assert!(node.receive().is_err(), "an aborted association is no end in order");
}

/// Outside: the guest's captures by tshark, and its counts.
fn judge(folder: &Path) {
    let exchange = Exchange::flexric();
    let mut recorded: BTreeMap<usize, usize> = BTreeMap::new();
    for message in exchange.messages() {
        *recorded.entry(message.bytes.len()).or_default() += 1;
    }
    for name in PROTECTIONS {
        let counted: Counted = serde_json::from_slice(&fs::read(folder.join(format!("{name}.json"))).unwrap()).unwrap();
        assert_eq!(counted.sizes, recorded, "{name}: messages by size");
        assert_eq!(
            (counted.sent, counted.received, counted.reconnects),
            (5, 5, 0),
            "{name}"
        );
    }
    let both = merged(folder, "none");
    // Named by tshark, in the order of the recording.
    let names = tshark(&both, "e2ap", "_ws.col.Info").join("\n");
    let mut rest = names.as_str();
    for (word, end) in [
        ("E2setupRequest", End::Node),
        ("E2setupResponse", End::Ric),
        ("RICsubscriptionRequest", End::Ric),
        ("RICsubscriptionResponse", End::Node),
        ("RICindication", End::Node),
        ("RICsubscriptionDeleteRequest", End::Ric),
        ("RICsubscriptionDeleteResponse", End::Node),
    ] {
        let place = rest.find(word);
        rest = &rest[place.unwrap_or_else(|| panic!("{word} of {end:?} is not in\n{names}"))..];
    }
    assert_eq!(names.matches("RICindication").count(), 5, "{names}");
    assert!(tshark(&both, "sctp.data_payload_proto_id == 70", "frame.number").is_empty());
    for name in &PROTECTIONS[1..] {
        let both = merged(folder, name);
        let clear = tshark(&both, "sctp", "frame.number");
        assert!(clear.is_empty(), "{name}: packets {clear:?} are readable");
        assert!(tshark(&both, "esp", "frame.number").len() > 20, "{name}");
    }
    for name in KEYED {
        let counted: Counted = serde_json::from_slice(&fs::read(folder.join(format!("{name}.json"))).unwrap()).unwrap();
        assert!(counted.loops > 0, "{name}: {counted:?}");
        assert_eq!((counted.lost, counted.reconnects), (0, 0), "{name}");
        let both = merged(folder, name);
        let clear = tshark(&both, "sctp", "frame.number");
        assert!(clear.is_empty(), "{name}: packets {clear:?} are readable");
        assert!(tshark(&both, "esp", "frame.number").len() > 10, "{name}");
    }
    // IKE_SA_INIT, IKE_INTERMEDIATE, IKE_AUTH: the set-up is in the capture that must have nothing readable.
    let types = tshark(&merged(folder, KEYED[0]), "isakmp", "isakmp.exchangetype");
    for kind in ["34", "35", "43"] {
        assert!(types.iter().any(|found| found == kind), "{kind} is not in {types:?}");
    }
    let both = merged(folder, RUN_OUT);
    let left = tshark(&both, "sctp or esp", "frame.number");
    assert!(left.is_empty(), "without an SA packets {left:?} left");
    let counted: Counted = serde_json::from_slice(&fs::read(folder.join("loop.json")).unwrap()).unwrap();
    assert_eq!(counted.reconnects, 1);
    assert_eq!(counted.sent, counted.loops + counted.lost, "{counted:?}");
    assert!(counted.loops > 0 && counted.received <= counted.sent, "{counted:?}");
}

fn merged(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(format!("{name}.pcap"));
    let program = Program::new("mergecap")
        .package("wireshark-common")
        .argument("-w")
        .argument(&path);
    let ends = ["node", "ric"].map(|end| folder.join(format!("{name}-{end}.pcap")));
    program.arguments(ends).run(LONG).unwrap();
    path
}

fn tshark(capture: &Path, filter: &str, field: &str) -> Vec<String> {
    let program = Program::new("tshark")
        .package("tshark")
        .arguments(["-n", "-d", "sctp.port==36421,e2ap", "-r"]);
    let program = program
        .argument(capture)
        .arguments(["-Y", filter, "-T", "fields", "-e", field]);
    program.run(LONG).unwrap().text().lines().map(str::to_owned).collect()
}
