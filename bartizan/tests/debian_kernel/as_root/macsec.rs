//! The open fronthaul by the binary: guard, controllers that are killed, and what leaves and arrives at the port.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use bartizan_host::{Finished, FrameSocket, Namespace, Process, Program};
use bartizan_pki::{Algorithm, Authority, InitOptions, Leaf, Overwrite};
use bartizan_registry::ethertype::{EAPOL, ECPRI, LOCAL_EXPERIMENTAL, MACSEC, PTP};
use bartizan_testing::RootPrograms as _;
use bartizan_testing::{Capture, Direction, Port, connect};
use bartizan_testing::{eventually, until};
use bartizan_wire::capture::CaptureReader;
use serde_json::Value;
use tempfile::TempDir;

use super::hosts::{LONG, batch};
use crate::boot::is_here;

const NODES: [&str; 2] = ["odu", "oru"];
/// IPv4 and IPv6, as a host's own stack sends them.
const IP: [u16; 2] = [0x0800, 0x86dd];

struct Fronthaul {
    hosts: [Namespace; 2],
    controllers: [Option<Process>; 2],
    place: TempDir,
}

impl Fronthaul {
    fn new(options: &str) -> Self {
        let hosts = NODES.map(|name| Namespace::create(name).expect("a namespace"));
        let [one, other] = &hosts;
        let port = |host, address| Port::new(host, "eth0").address(address).expect("an address");
        connect(&port(one, "10.77.0.1/24"), &port(other, "10.77.0.2/24"), 1600).expect("a cable");
        let fronthaul = Self {
            hosts,
            controllers: [None, None],
            place: tempfile::tempdir().expect("a directory"),
        };
        let text = format!(
            "policy: hybrid\ntrust: {{ roots: ca.crt.pem }}\nnodes:\n  \
             odu: {{ function: O-DU, address: 10.77.0.1, certificate: odu.crt.pem, key: odu.key.pem }}\n  \
             oru: {{ function: O-RU, address: 10.77.0.2, certificate: oru.crt.pem, key: oru.key.pem }}\ninterfaces:\n  \
             - {{ kind: FH, between: [odu, oru], with: macsec, macsec: {{ port: {{ odu: eth0, oru: eth0 }}, {options} }} }}\n"
        );
        std::fs::write(fronthaul.file(), text).expect("a file");
        let out = fronthaul.place.path();
        let options = InitOptions::new(Algorithm::MlDsa65);
        let mut authority = Authority::init(&out.join("ca"), options, SystemTime::now()).expect("a CA");
        for node in NODES {
            let leaf = Leaf::new(node).and_then(|leaf| leaf.dns(node)).expect("a name");
            let issued = authority.issue(&leaf, SystemTime::now()).expect("a certificate");
            issued.write_to(out, Overwrite::Replace).expect("files");
        }
        let programs = out.join("programs");
        std::fs::create_dir(&programs).expect("a directory");
        let script = bartizan_testing::lab_root().write_script("wpa_supplicant", &programs.join("wpa_supplicant"));
        script.unwrap_or_else(|error| panic!("{error}"));
        fronthaul
    }

    fn file(&self) -> PathBuf {
        self.place.path().join("fh.yaml")
    }

    fn command(&self, end: usize, words: &[&str]) -> Program {
        let (command, rest) = words.split_first().expect("a command");
        let directory = self.place.path().join(format!("run-{}", NODES[end]));
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{path}", self.place.path().join("programs").display());
        Program::new(env!("CARGO_BIN_EXE_bartizan"))
            .environment("PATH", path)
            .argument(command)
            .argument(self.file())
            .arguments(["--node", NODES[end], "--directory"])
            .argument(directory)
            .arguments(rest)
            .inside(&self.hosts[end])
    }

    fn run(&self, end: usize, words: &[&str]) -> Finished {
        let process = self.command(end, words).start();
        process.and_then(|process| process.finish(LONG)).expect("it ends")
    }

    fn up(&mut self, end: usize) {
        let ledger = self.place.path().join(format!("{}.ledger", NODES[end]));
        let ledger = ledger.to_str().expect("a path").to_owned();
        self.controllers[end] = Some(
            self.command(end, &["up", "--ledger", &ledger])
                .start()
                .expect("it starts"),
        );
    }

    fn kill(&mut self, end: usize) {
        let mut controller = self.controllers[end].take().expect("it runs");
        controller.send(libc::SIGKILL);
        controller.finish(LONG).expect("it ends");
    }

    /// Output of `status --json`, with its exit code.
    fn status(&self, end: usize) -> (Option<i32>, Value) {
        let finished = self.run(end, &["status", "--json"]);
        let json = serde_json::from_str(&finished.text()).unwrap_or_default();
        (finished.status.code(), json)
    }

    fn until_well(&self, end: usize) -> Value {
        eventually(&format!("{} is well", NODES[end]), || {
            let (code, status) = self.status(end);
            (code == Some(0)).then_some(status)
        })
    }

    fn until_trouble(&self, end: usize, words: &str) {
        until(words, || {
            let (code, status) = self.status(end);
            let trouble = status["links"][0]["trouble"].as_str().unwrap_or_default();
            code == Some(1) && trouble.contains(words)
        });
    }

    /// Waits for the guard. Packets of the host's own stack before that are not judged.
    fn until_guarded(&self, end: usize) {
        until("it is guarded", || self.status(end).1["guard"]["guard"] == "installed");
    }

    fn dropped(&self, end: usize, side: &str) -> u64 {
        let (_, status) = self.status(end);
        status["guard"]["dropped"][0][side]
            .as_u64()
            .unwrap_or_else(|| panic!("{status:#}"))
    }

    /// Sends a frame of each kind past the MACsec device, as a program or the host's stack would.
    fn past_the_device(&self, end: usize) {
        self.past_the_device_by(end, "eth0");
    }

    fn past_the_device_by(&self, end: usize, port: &str) {
        let send = || {
            for kind in [ECPRI, PTP, IP[0], IP[1], 0x0806] {
                let mut socket = FrameSocket::open(port, [2, 0, 0, 0, 7, 7], kind).expect("a socket");
                // A packet that a guard drops is an error here, which is ignored.
                let _ = socket.send(&[0x45; 100]);
            }
        };
        self.hosts[end].enter(send).expect("a namespace");
        self.ping(end, "10.77.0.2");
    }

    /// For any address, the ARP request leaves first.
    fn ping(&self, end: usize, address: &str) {
        let send = || {
            let socket = std::net::UdpSocket::bind("0.0.0.0:0").expect("a socket");
            let _ = socket.send_to(b"ping", (address, 9));
        };
        self.hosts[end].enter(send).expect("a namespace");
        std::thread::sleep(Duration::from_millis(200));
    }

    /// Frames by EtherType that leave the port while `act` runs.
    fn leaving(&mut self, end: usize, act: impl FnOnce(&mut Self)) -> BTreeMap<u16, usize> {
        self.passing(end, Direction::Outbound, act)
    }

    fn passing(&mut self, end: usize, direction: Direction, act: impl FnOnce(&mut Self)) -> BTreeMap<u16, usize> {
        let file = self.place.path().join("eth0.pcap");
        let capture = Capture::start(Some(&self.hosts[end]), "eth0", &file, direction).expect("a capture");
        act(self);
        std::thread::sleep(Duration::from_millis(300));
        assert!(capture.stop().expect("captured").complete());
        let mut reader = CaptureReader::new();
        reader.push(&std::fs::read(&file).expect("a capture"));
        let mut kinds = BTreeMap::new();
        while let Some(packet) = reader.next_packet().expect("whole") {
            *kinds
                .entry(u16::from_be_bytes([packet.data[12], packet.data[13]]))
                .or_default() += 1;
        }
        kinds
    }

    /// Numbered frames through the MACsec device, the way that eCPRI goes; how many arrive.
    fn through_the_device(&self, frames: u64) -> u64 {
        let open = |end: usize| {
            let open = || FrameSocket::open("macsec0", [2, 0, 0, 0, 8, end as u8], ECPRI).expect("a socket");
            self.hosts[end].enter(open).expect("a namespace")
        };
        let (mut out, mut back) = (open(0), open(1));
        let mut arrived = 0;
        let mut take = |wait: Duration| {
            let deadline = Instant::now() + wait;
            loop {
                while let Some(frame) = back.receive().expect("received") {
                    let number = u64::from_be_bytes(*frame.first_chunk().expect("a number"));
                    assert_eq!(number, arrived, "a frame is lost");
                    arrived += 1;
                }
                if arrived == frames || Instant::now() >= deadline {
                    return;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        for number in 0..frames {
            out.send(&[&number.to_be_bytes()[..], &[0; 200]].concat())
                .expect("sent");
            take(Duration::ZERO);
            std::thread::sleep(Duration::from_millis(2));
        }
        take(LONG);
        arrived
    }
}

#[test]
fn fronthaul_is_up_with_nothing_else_on_its_port_and_stays_so_when_its_controllers_are_killed() {
    if !is_here() {
        return;
    }
    let mut fronthaul = Fronthaul::new("mtu: 1500, rekey: 1h");
    let before = fronthaul.leaving(0, |fronthaul| fronthaul.past_the_device(0));
    // Without a guard the frames are seen.
    assert!(
        before.contains_key(&ECPRI) && before.contains_key(&PTP) && before.contains_key(&0x0806),
        "{before:?}"
    );

    fronthaul.up(0);
    fronthaul.until_guarded(0);
    let kinds = fronthaul.leaving(0, |fronthaul| {
        fronthaul.up(1);
        for end in [0, 1] {
            let status = fronthaul.until_well(end);
            let link = &status["links"][0];
            assert_eq!(link["exchange"]["group"], "X25519MLKEM768", "{status:#}");
            assert_eq!(link["mtu"], 1568, "{status:#}");
        }
        fronthaul.past_the_device(0);
        assert_eq!(fronthaul.through_the_device(100), 100);
    });
    let passed: Vec<u16> = kinds.keys().copied().collect();
    assert_eq!(passed, [LOCAL_EXPERIMENTAL, MACSEC], "{kinds:?}");
    assert!(fronthaul.dropped(0, "leaving") >= 5);

    // In the middle of a rekey: whatever it was about to do, frames go on.
    std::thread::scope(|scope| {
        let command = fronthaul.command(0, &["rekey", "--exchange"]);
        scope.spawn(move || {
            let _ = command.start().and_then(|process| process.finish(LONG));
        });
        std::thread::sleep(Duration::from_millis(150));
        fronthaul.kill(0);
        assert_eq!(fronthaul.through_the_device(100), 100);
    });
    let (code, status) = fronthaul.status(0);
    assert_eq!((code, &status["controller"]), (Some(1), &Value::from(false)));
    let killed = fronthaul.leaving(0, |fronthaul| fronthaul.past_the_device(0));
    assert!(killed.keys().all(|kind| *kind == MACSEC), "{killed:?}");
    fronthaul.up(0);
    fronthaul.until_well(0);
    let rekeyed = fronthaul.run(0, &["rekey"]);
    assert_eq!(
        rekeyed.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&rekeyed.stderr)
    );
    assert_eq!(fronthaul.through_the_device(50), 50);

    // Down: the port passes nothing, either way, until the guard is removed as well.
    let down = fronthaul.run(0, &["down", "--json"]);
    assert_eq!(down.status.code(), Some(0), "{}", String::from_utf8_lossy(&down.stderr));
    let arriving = fronthaul.run(1, &["down"]);
    assert_eq!(
        arriving.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&arriving.stderr)
    );
    let after = fronthaul.leaving(0, |fronthaul| fronthaul.past_the_device(0));
    assert_eq!(after, BTreeMap::new());
    assert_eq!(fronthaul.run(0, &["down", "--unguard"]).status.code(), Some(0));
    let open = fronthaul.leaving(0, |fronthaul| fronthaul.past_the_device(0));
    assert!(open.contains_key(&ECPRI), "{open:?}");
    // The peer's guard stands alone: what arrives unencrypted goes no further.
    assert!(fronthaul.dropped(1, "arriving") >= 5);
}

#[test]
fn ptp_passes_where_the_file_names_it_and_a_port_that_is_too_small_is_refused_with_the_numbers() {
    if !is_here() {
        return;
    }
    let mut fronthaul = Fronthaul::new("unencrypted: [ptp]");
    // Others that stand on the port: what they send leaves by it.
    batch(
        &fronthaul.hosts[0],
        "link add link eth0 name v5 type vlan id 5\naddress add 10.5.0.1/24 dev v5\nlink set v5 up\n\
         link add link eth0 name m0 type macvlan mode bridge\naddress add 10.6.0.1/24 dev m0\nlink set m0 up\n",
    );
    for neighbour in ["10.5.0.2", "10.6.0.2"] {
        let open = fronthaul.leaving(0, |fronthaul| fronthaul.ping(0, neighbour));
        assert!(!open.is_empty(), "{neighbour}");
    }
    fronthaul.up(0);
    fronthaul.until_guarded(0);
    let kinds = fronthaul.leaving(0, |fronthaul| {
        fronthaul.past_the_device(0);
        fronthaul.ping(0, "10.5.0.2");
        fronthaul.ping(0, "10.6.0.2");
    });
    assert!(kinds.contains_key(&PTP), "{kinds:?}");
    assert!(
        kinds
            .keys()
            .all(|kind| [PTP, LOCAL_EXPERIMENTAL, MACSEC].contains(kind)),
        "{kinds:?}"
    );
    let text = std::fs::read_to_string(fronthaul.file())
        .expect("a file")
        .replace("unencrypted: [ptp]", "mtu: 1600");
    std::fs::write(fronthaul.file(), text).expect("a file");
    let refused = fronthaul.run(1, &["up"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(
        said.contains("an MTU of 1600: MACsec adds 32 octets, which leaves 1568"),
        "{said}"
    );
    assert!(said.contains("hint: `ip link set eth0 mtu 1632`"), "{said}");
}

#[test]
fn port_that_is_renamed_or_made_anew_passes_nothing_unencrypted_and_is_reported() {
    if !is_here() {
        return;
    }
    let mut fronthaul = Fronthaul::new("mtu: 1500");
    fronthaul.up(0);
    fronthaul.until_guarded(0);
    fronthaul.up(1);
    for end in [0, 1] {
        fronthaul.until_well(end);
    }
    let allowed = |kinds: &BTreeMap<u16, usize>| kinds.keys().all(|kind| [LOCAL_EXPERIMENTAL, MACSEC].contains(kind));
    // A frame from the O-DU's port arrives at the O-RU's, under any name of the port.
    let arrived = fronthaul.passing(1, Direction::Inbound, |fronthaul| {
        batch(&fronthaul.hosts[0], "link set eth0 name eth9\n");
        fronthaul.past_the_device_by(0, "eth9");
        fronthaul.until_trouble(0, "the port eth0 is called eth9 now");
        fronthaul.until_guarded(0);
        fronthaul.past_the_device_by(0, "eth9");
        assert_eq!(fronthaul.through_the_device(30), 30);
    });
    assert!(arrived.contains_key(&MACSEC) && allowed(&arrived), "{arrived:x?}");
    assert!(fronthaul.dropped(0, "leaving") >= 10);
    batch(&fronthaul.hosts[0], "link set eth9 name eth0\n");
    fronthaul.until_well(0);

    // The port is deleted, and another one is moved to this host, not up: its controller sets it
    // up, and the host's stack sends as it comes up.
    batch(&fronthaul.hosts[0], "link delete eth0\n");
    fronthaul.until_trouble(0, "no interface eth0");
    batch(
        &fronthaul.hosts[1],
        "link add eth0 mtu 1600 type veth peer name new0 mtu 1600\nlink set eth0 up\n",
    );
    let arrived = fronthaul.passing(1, Direction::Inbound, |fronthaul| {
        let host = fronthaul.hosts[0].name().to_owned();
        batch(&fronthaul.hosts[1], &format!("link set new0 netns {host} name eth0\n"));
        for end in [0, 1] {
            fronthaul.until_well(end);
        }
        fronthaul.past_the_device(0);
        assert_eq!(fronthaul.through_the_device(30), 30);
    });
    assert!(
        arrived.contains_key(&LOCAL_EXPERIMENTAL) && allowed(&arrived),
        "{arrived:x?}"
    );
}

#[test]
fn port_keyed_by_mka_passes_its_protocols_alone_while_the_cak_changes_and_when_its_daemons_are_killed() {
    if !is_here() {
        return;
    }
    let mut fronthaul = Fronthaul::new("keying: mka, cipher: gcm-aes-128");
    let ckn = |status: &Value| status["links"][0]["mka"]["ckn"].clone();
    let other = |fronthaul: &Fronthaul, end: usize, before: &Value| {
        eventually("another CAK", || {
            let (code, status) = fronthaul.status(end);
            // None is there between two: frames still pass under the last key.
            let now = ckn(&status);
            (code == Some(0) && !now.is_null() && now != *before).then_some(now)
        })
    };
    fronthaul.up(0);
    fronthaul.until_guarded(0);
    let kinds = fronthaul.leaving(0, |fronthaul| {
        fronthaul.up(1);
        fronthaul.past_the_device(0);
        let first = other(fronthaul, 0, &Value::Null);
        assert_eq!(other(fronthaul, 1, &Value::Null), first);
        assert_eq!(fronthaul.through_the_device(50), 50);

        // While the CAK changes, and nothing is keyed.
        std::thread::scope(|scope| {
            let command = fronthaul.command(0, &["rekey", "--exchange"]);
            scope.spawn(move || command.start().and_then(|process| process.finish(LONG)));
            for _ in 0..10 {
                fronthaul.past_the_device(0);
            }
        });
        let second = other(fronthaul, 0, &first);
        assert_eq!(other(fronthaul, 1, &first), second);
        assert_eq!(fronthaul.through_the_device(50), 50);

        // wpa_supplicant killed: another one, with another CAK.
        let (_, status) = fronthaul.status(0);
        kill_process(&status["links"][0]["mka"]["process"]);
        fronthaul.past_the_device(0);
        let third = other(fronthaul, 0, &second);
        assert_eq!(other(fronthaul, 1, &second), third);

        // The controller killed, and its successor: the same.
        fronthaul.kill(0);
        let (code, alone) = fronthaul.status(0);
        assert_eq!(
            (code, &alone["links"][0]["up"]),
            (Some(1), &Value::from(true)),
            "{alone:#}"
        );
        fronthaul.past_the_device(0);
        assert_eq!(fronthaul.through_the_device(50), 50);
        // Both killed: what the kernel has ends with the peer's patience, and the port stays shut.
        kill_process(&status_process(fronthaul, 1));
        let pid = fronthaul.place.path().join("run-odu/eth0.mka.pid");
        let pid: u64 = std::fs::read_to_string(pid)
            .expect("a file")
            .trim()
            .parse()
            .expect("a number");
        kill_process(&Value::from(pid));
        fronthaul.past_the_device(0);
        fronthaul.up(0);
        let fourth = other(fronthaul, 0, &third);
        assert_eq!(other(fronthaul, 1, &third), fourth);
        assert_eq!(fronthaul.through_the_device(50), 50);
    });
    let passed: Vec<u16> = kinds.keys().copied().collect();
    assert_eq!(passed, [EAPOL, LOCAL_EXPERIMENTAL, MACSEC], "{kinds:x?}");
    assert!(fronthaul.dropped(0, "leaving") >= 20);

    let process = status_process(&fronthaul, 0).as_u64().expect("it runs");
    for end in [0, 1] {
        let down = fronthaul.run(end, &["down", "--json"]);
        assert_eq!(down.status.code(), Some(0), "{}", String::from_utf8_lossy(&down.stderr));
    }
    assert!(
        !std::path::Path::new(&format!("/proc/{process}")).exists(),
        "wpa_supplicant runs still"
    );
    let after = fronthaul.leaving(0, |fronthaul| fronthaul.past_the_device(0));
    assert_eq!(after, BTreeMap::new());
}

#[test]
fn port_keyed_after_eap_tls_passes_eapol_and_macsec_alone_while_it_is_rekeyed_and_when_its_controllers_are_killed() {
    if !is_here() {
        return;
    }
    let mut fronthaul = Fronthaul::new("keying: eap-tls, cipher: gcm-aes-128");
    let key = |status: &Value| status["links"][0]["sends"]["key_id"].clone();
    let other = |fronthaul: &Fronthaul, before: &Value| {
        eventually("another key", || {
            let [(one, status), (two, peers)] = [0, 1].map(|end| fronthaul.status(end));
            let keys = [key(&status), key(&peers)];
            ([one, two] == [Some(0); 2] && keys[0] == keys[1] && keys[0] != *before).then_some([status, peers])
        })
    };
    fronthaul.up(0);
    fronthaul.until_guarded(0);
    let kinds = fronthaul.leaving(0, |fronthaul| {
        fronthaul.up(1);
        fronthaul.past_the_device(0);
        let [authenticator, peer] = other(fronthaul, &Value::Null);
        let link = &authenticator["links"][0];
        assert_eq!(
            (
                &link["keying"],
                &link["exchange"]["group"],
                &link["exchange"]["peer_signature"]
            ),
            (&"eap-tls".into(), &"X25519MLKEM768".into(), &"mldsa65".into()),
            "{authenticator:#}"
        );
        assert_eq!(peer["links"][0]["eap"]["group"], "X25519MLKEM768", "{peer:#}");
        assert_eq!(fronthaul.through_the_device(50), 50);
        let text = fronthaul.run(1, &["status"]).text();
        assert!(
            text.contains("wpa_supplicant is authenticated: X25519MLKEM768"),
            "{text}"
        );

        let mut before = key(&authenticator);
        for end in [0, 1] {
            let rekeyed = fronthaul.run(end, &["rekey", "--timeout", "120"]);
            let said = String::from_utf8_lossy(&rekeyed.stderr);
            assert!(said.is_empty(), "{end}: {said}");
            fronthaul.past_the_device(0);
            before = key(&other(fronthaul, &before)[0]);
        }
        for end in [0, 1] {
            fronthaul.kill(end);
        }
        fronthaul.past_the_device(0);
        assert_eq!(fronthaul.through_the_device(50), 50);
        for end in [0, 1] {
            fronthaul.up(end);
        }
        assert_eq!(fronthaul.until_well(1)["links"][0]["sends"]["key_id"], before);
    });
    let passed: Vec<u16> = kinds.keys().copied().collect();
    assert_eq!(passed, [EAPOL, MACSEC], "{kinds:x?}");
    assert!(fronthaul.dropped(0, "leaving") >= 20);
    let processes = [0, 1].map(|end| status_process(&fronthaul, end).as_u64().expect("it runs"));
    for end in [0, 1] {
        let down = fronthaul.run(end, &["down", "--json"]);
        assert_eq!(down.status.code(), Some(0), "{}", String::from_utf8_lossy(&down.stderr));
    }
    for process in processes {
        assert!(
            !std::path::Path::new(&format!("/proc/{process}")).exists(),
            "wpa_supplicant runs still"
        );
    }
    let after = fronthaul.leaving(0, |fronthaul| fronthaul.past_the_device(0));
    assert_eq!(after, BTreeMap::new());
}

fn status_process(fronthaul: &Fronthaul, end: usize) -> Value {
    fronthaul.status(end).1["links"][0]["mka"]["process"].clone()
}

fn kill_process(process: &Value) {
    let process = process.as_u64().expect("a process").to_string();
    Program::new("kill")
        .arguments(["-KILL", &process])
        .run(LONG)
        .expect("it runs");
}
