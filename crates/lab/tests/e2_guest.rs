//! E2 over kernel SCTP, in clear and in ESP, in a guest whose kernel has both; judged outside by tshark.
//!
//! One boot for all of it: the test runs itself again in the guest, which leaves captures and what it counted in a folder that
//! both see.

#![allow(missing_docs, reason = "a test file has no readers of its documentation")]

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bartizan_host::sctp::{Arrival, Association, Listener, Opening};
use bartizan_host::{Capture, Direction, Guest, LabRoot, Program};
use bartizan_lab::e2::link::{INTERFACE, NODE};
use bartizan_lab::e2::play::Faults;
use bartizan_lab::e2::script::{Load, Pace};
use bartizan_lab::e2::{End, Exchange, Link, Played, Protection, Script, Selector, play};
use serde::{Deserialize, Serialize};

/// Where the guest leaves what it found; set in the guest only.
const FOLDER: &str = "BARTIZAN_E2_GUEST_TEST";
const LONG: Duration = Duration::from_secs(240);
const PROTECTIONS: [&str; 3] = ["none", "aes256-gcm", "aes256-cbc-sha256"];

/// What the guest counted in a run.
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
        let root = LabRoot::trixie().unwrap().ensure(&mut |_| {}).unwrap();
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
        let capture = |namespace, end: &str| {
            let path = folder.join(format!("{name}-{end}.pcap"));
            Capture::start(Some(namespace), INTERFACE, path, Direction::Outbound).unwrap()
        };
        let captures = [capture(link.node(), "node"), capture(link.ric(), "ric")];
        let played = run(&link, load, Faults::default());
        for capture in captures {
            assert!(capture.stop().unwrap().complete());
        }
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

/// One association by hand: what is sent arrives whole with its stream and PPID, and each kind of end is told.
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
