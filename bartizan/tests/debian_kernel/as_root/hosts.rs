//! Two hosts of an N3 link, a gNB's and a UPF's, keyed by hand, and a third behind the gNB's: by veth in the guest.

use std::io::Read as _;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::time::Duration;

use bartizan_host::{Finished, Namespace, Program};
use bartizan_testing::{Capture, Direction, Port, connect};
use bartizan_wire::capture::CaptureReader;
use bartizan_wire::ip;
use serde_json::Value;
use tempfile::TempDir;

/// Patience for a program at emulated speed.
pub(super) const LONG: Duration = bartizan_testing::PATIENCE;
/// Packets of each attempt.
pub(super) const MANY: usize = 3;
pub(super) const GTP_U: u16 = 2152;
/// A key of 16 bytes and a salt of four (RFC 4106, section 8.1); it protects packets of tests.
const KEY: &str = "0x0102030405060708090a0b0c0d0e0f1011121314";

pub(super) const GNB: &str = "10.78.0.1";
pub(super) const GNB_V6: &str = "fd78::1";
pub(super) const UPF: &str = "10.78.0.2";
pub(super) const UPF_V6: &str = "fd78::2";
/// The third host, in a network that the link is for.
pub(super) const BEHIND: &str = "10.79.0.2";
/// The same, in one that it is not for: a container's.
pub(super) const CONTAINER: &str = "10.80.0.2";

pub(super) struct Hosts {
    pub(super) gnb: Namespace,
    pub(super) upf: Namespace,
    pub(super) third: Namespace,
    place: TempDir,
}

/// Packets that left by the gNB's interface to the UPF.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Left {
    /// Unencrypted packets to or from the link's networks, and fragments of such.
    pub(super) clear: usize,
    /// ESP.
    pub(super) protected: usize,
}

impl Hosts {
    pub(super) fn new() -> Self {
        let [gnb, upf, third] = ["gnb", "upf", "third"].map(|name| Namespace::create(name).expect("a namespace"));
        let port = |space, interface, addresses: &[&str]| {
            addresses.iter().fold(Port::new(space, interface), |port, address| {
                port.address(address).expect("an address")
            })
        };
        connect(
            &port(&gnb, "v0", &["10.77.0.1/24", "fd77::1/64"]),
            &port(&upf, "v0", &["10.77.0.2/24", "fd77::2/64"]),
            1500,
        )
        .expect("a cable");
        connect(
            &port(&gnb, "b0", &["10.79.0.1/24", "10.80.0.1/24"]),
            &port(&third, "b0", &["10.79.0.2/24", "10.80.0.2/24"]),
            1500,
        )
        .expect("a cable");
        let hosts = Self {
            gnb,
            upf,
            third,
            place: tempfile::tempdir().expect("a directory"),
        };
        for (space, lines) in [
            (
                &hosts.gnb,
                "address add 10.78.0.1/32 dev lo\naddress add fd78::1/128 dev lo nodad\n\
                 route add 10.78.0.2 via 10.77.0.2\nroute add fd78::2 via fd77::2\n",
            ),
            (
                &hosts.upf,
                "address add 10.78.0.2/32 dev lo\naddress add fd78::2/128 dev lo nodad\n\
                 route add 10.78.0.1 via 10.77.0.1\nroute add fd78::1 via fd77::1\n\
                 route add 10.79.0.0/24 via 10.77.0.1\nroute add 10.80.0.0/24 via 10.77.0.1\n",
            ),
            (&hosts.third, "route add default via 10.79.0.1\n"),
        ] {
            batch(space, lines);
        }
        let forward = hosts.gnb.enter(|| std::fs::write("/proc/sys/net/ipv4/ip_forward", "1"));
        forward.expect("a namespace").expect("forwarding");
        std::fs::write(
            hosts.file(),
            format!(
                "nodes:\n  gnb: {{ function: gNB, address: 10.77.0.1 }}\n  upf: {{ function: UPF, address: 10.77.0.2 }}\ninterfaces:\n  \
                 - {{ kind: N3, between: [gnb, upf], with: ipsec, ipsec: {{ inner: {{ gnb: [{GNB}, 10.79.0.0/24, '{GNB_V6}'], \
                 upf: [{UPF}, '{UPF_V6}'] }} }} }}\n"
            ),
        )
        .expect("a file");
        hosts.reach_each_other();
        hosts
    }

    /// Waits until packets pass in both directions that tests use: an IPv6 address joins its
    /// multicast group on a work queue of the kernel, and a neighbour that is asked for before is
    /// asked for again only a second later (RFC 4861, RETRANS_TIMER).
    fn reach_each_other(&self) {
        for (space, from, to) in [(&self.gnb, GNB_V6, UPF_V6), (&self.third, BEHIND, UPF)] {
            let [from, to] = [from, to].map(|address| address.parse::<IpAddr>().expect("an address"));
            let [sender, receiver] = [(space, from), (&self.upf, to)].map(|(space, address)| {
                let socket = space.enter(|| UdpSocket::bind((address, 0))).expect("a namespace");
                socket.expect("a socket")
            });
            let at = receiver.local_addr().expect("an address");
            receiver
                .set_read_timeout(Some(Duration::from_millis(100)))
                .expect("a timeout");
            let arrived = (0..600).any(|_| {
                // An error of the path, as that no neighbour answers, is of an earlier packet.
                let _ = sender.send_to(b"there?", at);
                receiver.recv(&mut [0; 16]).is_ok()
            });
            assert!(arrived, "no packet from {from} reaches {to} within a minute");
        }
    }

    fn file(&self) -> PathBuf {
        self.place.path().join("n3.yaml")
    }

    /// `bartizan guard ACTION` of the gNB on its host.
    pub(super) fn guard(&self, action: &str) -> Finished {
        let mut program = Program::new(env!("CARGO_BIN_EXE_bartizan")).arguments(["guard", action]);
        if action != "remove" {
            program = program.argument(self.file());
        }
        if action == "show" {
            program = program.argument("--json");
        }
        let process = program.arguments(["--node", "gnb"]).inside(&self.gnb).start();
        process.and_then(|process| process.finish(LONG)).expect("it ends")
    }

    pub(super) fn install(&self) {
        let installed = self.guard("install");
        let said = String::from_utf8_lossy(&installed.stderr).into_owned();
        assert_eq!(installed.status.code(), Some(0), "{said}");
    }

    /// Output of `guard show`.
    pub(super) fn shown(&self) -> Value {
        serde_json::from_str(&self.guard("show").text()).expect("JSON")
    }

    /// Output of `nft` on the gNB's host.
    pub(super) fn listed(&self, what: &[&str]) -> String {
        let nft = Program::new("nft").arguments(what).inside(&self.gnb);
        nft.run(LONG).expect("nft").text()
    }

    /// Number of packets that the guard has dropped for this reason: `leaving`, `translated`,
    /// `arriving`.
    pub(super) fn dropped(&self, reason: &str) -> u64 {
        let counter = format!("{reason}-upf-N3");
        let text = self.listed(&["list", "counter", "inet", "bartizan-ipsec-gnb", &counter]);
        let words: Vec<_> = text.split_whitespace().collect();
        let place = words.iter().position(|word| *word == "packets").expect("a counter");
        words[place + 1].parse().expect("a number")
    }

    /// The link keyed by hand in both directions, for all that it is for, under the number that the
    /// guard knows its packets by.
    pub(super) fn key(&self) {
        let nft = Program::new("nft")
            .arguments(["list", "table", "inet", "bartizan-ipsec-gnb"])
            .inside(&self.gnb);
        let listed = nft.run(LONG).expect("nft").text();
        let (_, rest) = listed.split_once("ipsec out reqid ").expect("the guard's table");
        // One for what is asked of either end, in one set.
        let number = rest
            .split(|letter: char| !letter.is_ascii_digit())
            .find(|word| !word.is_empty())
            .expect("a number");
        self.key_as(
            number,
            "10.77.0.2",
            &[(GNB, UPF), ("10.79.0.0/24", UPF), (GNB_V6, UPF_V6)],
            &self.upf,
        );
    }

    /// SAs to `gateway`, whose host is given, and policies of this number from each network to each other one.
    pub(super) fn key_as(&self, number: &str, gateway: &str, networks: &[(&str, &str)], host: &Namespace) {
        let ends = ["10.77.0.1", gateway];
        for (space, here) in [(&self.gnb, 0), (host, 1)] {
            let mut lines = String::new();
            for (from, to, spi) in [(ends[0], ends[1], 0x1000), (ends[1], ends[0], 0x2000)] {
                lines += &format!(
                    "xfrm state add src {from} dst {to} proto esp spi {spi:#x} reqid {number} mode tunnel flag af-unspec \
                     aead rfc4106(gcm(aes)) {KEY} 128\n"
                );
            }
            for (ours, theirs) in networks {
                let (local, remote) = if here == 0 { (ours, theirs) } else { (theirs, ours) };
                let [own, other] = [ends[here], ends[1 - here]];
                for (direction, from, to, outer) in [
                    ("out", local, remote, [own, other]),
                    ("in", remote, local, [other, own]),
                    ("fwd", remote, local, [other, own]),
                ] {
                    lines += &format!(
                        "xfrm policy add src {from} dst {to} dir {direction} tmpl src {} dst {} proto esp reqid {number} mode tunnel\n",
                        outer[0], outer[1]
                    );
                }
            }
            batch(space, &lines);
        }
    }

    /// No SA and no policy any more, at both ends.
    pub(super) fn unkey(&self) {
        for space in [&self.gnb, &self.upf] {
            batch(space, "xfrm policy flush\nxfrm state flush\n");
        }
    }

    /// Unrelated rules on the gNB's host. They replace the previous ones.
    pub(super) fn others(&self, rules: &str) {
        let script = format!("table inet others\ndelete table inet others\ntable inet others {{\n{rules}\n}}\n");
        let nft = Program::new("nft")
            .arguments(["-f", "-"])
            .text(&script)
            .expect("a text");
        nft.inside(&self.gnb)
            .run(LONG)
            .unwrap_or_else(|error| panic!("{error}"));
    }

    /// Packets from the gNB's host to the UPF's while `act` runs.
    pub(super) fn leaving(&self, act: impl FnOnce()) -> Left {
        captured(
            &self.gnb,
            "v0",
            Direction::Outbound,
            &self.place.path().join("v0.pcap"),
            act,
        )
    }
}

fn captured(
    space: &Namespace,
    interface: &str,
    direction: Direction,
    file: &std::path::Path,
    act: impl FnOnce(),
) -> Left {
    let capture = Capture::start(Some(space), interface, file, direction).expect("a capture");
    act();
    // A packet in a queue of the kernel leaves within this time.
    std::thread::sleep(Duration::from_millis(300));
    let captured = capture.stop().expect("captured");
    assert!(captured.complete(), "{captured:?}");
    let mut bytes = Vec::new();
    let mut file = std::fs::File::open(file).expect("a file");
    file.read_to_end(&mut bytes).expect("it is read");
    let mut reader = CaptureReader::new();
    reader.push(&bytes);
    let mut left = Left::default();
    while let Some(packet) = reader.next_packet().expect("whole") {
        let data = packet.data;
        let protocol = match data.get(12..14) {
            Some([0x08, 0x00]) => data.get(23),
            Some([0x86, 0xdd]) => data.get(20),
            _ => None,
        };
        match protocol {
            Some(&ip::ESP) => left.protected += 1,
            // UDP, IPv6's fragments and SCTP; nothing else of what a test sends is of the link.
            Some(&(ip::UDP | 44 | ip::SCTP)) => left.clear += 1,
            _ => {}
        }
    }
    left
}

/// Hands `ip` its lines.
pub(super) fn batch(space: &Namespace, lines: &str) {
    let ip = Program::new("ip")
        .arguments(["-batch", "-"])
        .text(lines)
        .expect("a text");
    ip.inside(space)
        .run(LONG)
        .unwrap_or_else(|error| panic!("{error}\n{lines}"));
}

/// Sends some datagrams of this many bytes from an address and port to another; what the kernel
/// does not let out is an error here and of no interest.
pub(super) fn send(space: &Namespace, [from, to]: [(&str, u16); 2], bytes: usize) {
    let [from, to] =
        [from, to].map(|(address, port)| SocketAddr::new(address.parse::<IpAddr>().expect("an address"), port));
    space
        .enter(|| {
            let socket = UdpSocket::bind(from).expect("a socket");
            for _ in 0..MANY {
                let _ = socket.send_to(&vec![b'x'; bytes], to);
            }
        })
        .expect("a namespace");
}
