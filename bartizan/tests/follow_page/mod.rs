//! The page of what is followed, over HTTP as a browser asks for it.

mod browser;

use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::follow_stage::{Followed, LONG, inspect, only_port};

struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn has(&self, header: &str) -> bool {
        self.head.lines().any(|line| line.eq_ignore_ascii_case(header))
    }
}

fn request(address: SocketAddr, text: &str) -> Answer {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer}"));
    Answer {
        status: head[9..12].parse().unwrap(),
        head: head.to_owned(),
        body: body.to_owned(),
    }
}

fn get(address: SocketAddr, target: &str) -> Answer {
    request(address, &format!("GET {target} HTTP/1.1\r\nHost: {address}\r\n\r\n"))
}

/// A client of the page: its state, and the last update that it received.
struct Browser {
    address: SocketAddr,
    known: String,
    /// Links that he has, and findings.
    links: std::collections::BTreeMap<u64, Value>,
    findings: std::collections::BTreeMap<u64, Value>,
    handshakes: Vec<Value>,
    longest: usize,
}

impl Browser {
    fn new(address: SocketAddr) -> Self {
        Self {
            address,
            known: String::new(),
            links: Default::default(),
            findings: Default::default(),
            handshakes: Vec::new(),
            longest: 0,
        }
    }

    /// Asks for what has changed, and for all of a link.
    fn ask(&mut self, link: Option<u64>) -> Value {
        let link = link.map_or_else(String::new, |id| format!("&link={id}"));
        let answer = get(self.address, &format!("/state?{}{link}", self.known));
        assert_eq!(answer.status, 200, "{}", answer.body);
        assert!(!answer.body.contains(['<', '>', '&']), "{}", answer.body);
        self.longest = self.longest.max(answer.body.len());
        let state: Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!(state["schema"], "bartizan-live/1");
        if state["whole"] == true {
            self.links.clear();
            self.findings.clear();
            self.handshakes.clear();
        }
        let rows = |name: &str| state[name].as_array().unwrap().clone();
        for (kept, name, gone) in [
            (&mut self.links, "links", "links_gone"),
            (&mut self.findings, "findings", "findings_gone"),
        ] {
            for id in rows(gone) {
                kept.remove(&id.as_u64().unwrap());
            }
            kept.extend(rows(name).into_iter().map(|row| (row["id"].as_u64().unwrap(), row)));
        }
        self.handshakes.extend(rows("handshakes"));
        let (run, version) = (state["run"].as_str().unwrap(), &state["version"]);
        self.known = format!("run={run}&version={version}&map={}", state["map_version"]);
        state
    }

    fn wait(&mut self, what: &str, is: impl Fn(&Self) -> bool) {
        let begun = Instant::now();
        while !is(self) {
            assert!(
                begun.elapsed() < LONG,
                "no {what}: {:?} {:?}",
                self.links,
                self.findings
            );
            self.ask(None);
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// Follows a file, with the page at a free port.
fn followed(directory: &Path, more: &[&str]) -> (Followed, SocketAddr) {
    let arguments = [
        &["capture.pcap", "--follow", "--json", "--http", "127.0.0.1:0"][..],
        more,
    ]
    .concat();
    let mut followed = Followed::start(directory, &arguments);
    let begin = followed.wait_for("begin", |_| true);
    let address = begin["http"].as_str().unwrap().parse().unwrap();
    (followed, address)
}

fn append(path: &Path, bytes: &[u8]) {
    OpenOptions::new()
        .append(true)
        .open(path)
        .unwrap()
        .write_all(bytes)
        .unwrap();
}

#[test]
fn the_page_is_served_whole_and_its_state_is_that_of_the_report() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("capture.pcap");
    fs::write(&path, only_port(4401)).unwrap();
    let (mut followed, address) = followed(directory.path(), &[]);
    for (target, kind) in [
        ("/", "text/html; charset=utf-8"),
        ("/page.css", "text/css; charset=utf-8"),
        ("/page.js", "text/javascript; charset=utf-8"),
        ("/icon.svg", "image/svg+xml"),
    ] {
        let answer = get(address, target);
        assert_eq!(answer.status, 200);
        assert!(
            answer.has(&format!("content-type: {kind}")) && !answer.body.is_empty(),
            "{}",
            answer.head
        );
        let policy = answer
            .head
            .lines()
            .find(|line| line.starts_with("content-security-policy: "));
        let policy = policy.unwrap();
        assert!(
            policy.contains("default-src 'none'") && policy.contains("script-src 'self'"),
            "{policy}"
        );
        assert!(answer.has("x-content-type-options: nosniff"), "{}", answer.head);
    }
    let mut browser = Browser::new(address);
    browser.wait("link", |browser| browser.links.len() == 1);
    let first = browser.links.values().next().unwrap().clone();
    assert_eq!(first["confidentiality"], "quantum-safe");
    assert_eq!(first["key_exchange"], "X25519MLKEM768");
    browser.wait("handshake", |browser| browser.handshakes.len() == 1);
    assert_eq!(browser.handshakes[0]["packet"], 6);
    let detail = browser.ask(first["id"].as_u64())["detail"].clone();
    assert_eq!(detail["confidentiality"]["sources"], json!(["packet 6"]));
    assert_eq!(detail["phases"][0]["occasion"], "set up");

    // Another link: what is new is given, with what to do about it.
    append(&path, &only_port(4403)[24..]);
    browser.wait("finding", |browser| {
        browser.findings.values().any(|one| one["concern"] == "confidentiality")
    });
    let finding = browser
        .findings
        .values()
        .find(|one| one["concern"] == "confidentiality")
        .unwrap();
    assert_eq!(
        finding["changes"][0],
        json!({ "file": "openssl.cnf", "entry": "Groups = X25519MLKEM768" })
    );
    assert_eq!(
        (&finding["command"], &finding["about"]),
        (&json!("bartizan sidecar FILE --node A"), &json!("key-exchange"))
    );
    assert_eq!(browser.links.len(), 2);
    browser.wait("two handshakes", |browser| browser.handshakes.len() == 2);
    let nothing = browser.ask(None);
    assert_eq!(
        (&nothing["whole"], &nothing["links"], &nothing["map"]),
        (&json!(false), &json!([]), &json!(null))
    );
    let (status, _) = followed.terminate();
    let report = followed.wait_for("report", |_| true)["report"].clone();
    assert_eq!(status, 1);
    let links = report["files"][0]["links"].as_array().unwrap();
    let shown: Vec<_> = browser
        .links
        .values()
        .map(|link| [&link["confidentiality"], &link["authenticity"]])
        .collect();
    let reported: Vec<_> = links
        .iter()
        .map(|link| [&link["confidentiality"]["verdict"], &link["authenticity"]["verdict"]])
        .collect();
    assert_eq!(shown, reported);
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn whoever_asks_for_another_host_or_for_more_than_reading_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("capture.pcap"), only_port(4401)).unwrap();
    let (mut followed, address) = followed(directory.path(), &["--http-name", "tap1.example"]);
    let host = |host: &str| request(address, &format!("GET /state HTTP/1.1\r\nHost: {host}\r\n\r\n")).status;
    assert_eq!(["localhost:1", "127.0.0.1", "tap1.example"].map(host), [200; 3]);
    assert_eq!(["evil.example", "127.0.0.1.evil.example:80"].map(host), [421; 2]);
    assert_eq!(request(address, "GET /state HTTP/1.0\r\n\r\n").status, 421);
    let post = request(
        address,
        &format!("POST /state HTTP/1.1\r\nHost: {address}\r\nContent-Length: 0\r\n\r\n"),
    );
    assert_eq!(post.status, 405);
    assert_eq!(get(address, "/../etc/passwd").status, 404);
    assert_eq!(get(address, "/metrics").status, 404);
    let (status, _) = followed.terminate();
    assert_eq!(status, 0);
    // A listening address that other hosts reach is refused, and may be insisted on.
    let refused = inspect(directory.path(), &["capture.pcap", "--follow", "--http", "0.0.0.0:0"]);
    assert_eq!(refused.status, 64);
    assert!(refused.stderr.contains("no login and no TLS"), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("hint: ") && refused.stderr.contains("ssh -L"),
        "{}",
        refused.stderr
    );
    let arguments = [
        "capture.pcap",
        "--follow",
        "--packets",
        "1",
        "--http",
        "0.0.0.0:0",
        "--http-allow-remote",
    ];
    // One packet shows nothing.
    assert_eq!(inspect(directory.path(), &arguments).status, 1);
    for arguments in [
        &["--http", "127.0.0.1:0", "capture.pcap"][..],
        &["--follow", "--http-allow-remote", "capture.pcap"],
    ] {
        assert_eq!(inspect(directory.path(), arguments).status, 64, "{arguments:?}");
    }
}

#[test]
fn browsers_that_stall_hold_up_neither_the_inspection_nor_for_long_each_other() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("capture.pcap");
    fs::write(&path, only_port(4401)).unwrap();
    let (mut followed, address) = followed(directory.path(), &[]);
    // More than are served at a time: some say nothing, some stop in the middle, some never read.
    let stalled: Vec<TcpStream> = (0..20)
        .map(|number| {
            let mut stream = TcpStream::connect(address).unwrap();
            let said = [
                "",
                "GET /state HTTP/1.1\r\nHo",
                "GET /page.js HTTP/1.1\r\nHost: localhost\r\n\r\n",
            ][number % 3];
            stream.write_all(said.as_bytes()).unwrap();
            stream
        })
        .collect();
    append(&path, &only_port(4403)[24..]);
    followed.wait_for("finding", |event| event["concern"] == "confidentiality");
    let mut browser = Browser::new(address);
    browser.wait("link", |browser| !browser.links.is_empty());
    let (status, _) = followed.terminate();
    assert_eq!((status, stalled.len()), (1, 20));
}

/// Regression: each of these had one of sixteen places for five seconds, and a real client came
/// after all of them.
#[test]
fn connections_that_ask_for_nothing_make_room_for_one_that_does() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("capture.pcap"), only_port(4401)).unwrap();
    let (mut followed, address) = followed(directory.path(), &[]);
    let silent: Vec<TcpStream> = (0..400)
        .map(|_| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(b"GET /state HTTP/1.1\r\nHo").unwrap();
            stream
        })
        .collect();
    let mut browser = Browser::new(address);
    browser.wait("link", |browser| !browser.links.is_empty());
    followed.terminate();
    assert_eq!(silent.len(), 400);
}

const ASKS: [u8; 4] = [10, 0, 0, 1];
const ANSWERS: [u8; 4] = [10, 0, 0, 2];

/// A capture of raw IP, in microseconds.
fn header() -> Vec<u8> {
    let words = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65535, 101];
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// A TCP segment as a record of it.
fn segment(ends: [([u8; 4], u16); 2], numbers: [u32; 2], flags: u8, payload: &[u8]) -> Vec<u8> {
    let [(source, source_port), (destination, destination_port)] = ends;
    let mut packet = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, 6, 0, 0];
    packet.extend(source);
    packet.extend(destination);
    packet.extend(
        [source_port, destination_port]
            .iter()
            .flat_map(|port| port.to_be_bytes()),
    );
    packet.extend(numbers.iter().flat_map(|number| number.to_be_bytes()));
    packet.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
    packet.extend(payload);
    let length = u16::try_from(packet.len()).unwrap();
    packet[2..4].copy_from_slice(&length.to_be_bytes());
    record(&packet)
}

/// A packet as a record of it.
fn record(packet: &[u8]) -> Vec<u8> {
    let length = u32::try_from(packet.len()).unwrap();
    let words = [1_763_000_000_u32, 0, length, length];
    let head = words.into_iter().flat_map(u32::to_le_bytes);
    head.chain(packet.iter().copied()).collect()
}

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

#[test]
fn names_that_packets_and_files_carry_reach_the_page_as_text() {
    const NAME: &str = "<img/src=x/onerror=alert(1)>&amp;\"'";
    let directory = tempfile::tempdir().unwrap();
    let file = "<script>alert(2)<\u{7f}\u{202e}br>.pcap";
    // A tunnel through a proxy, whose client chose the name of its destination.
    let asked = format!("CONNECT {NAME}:443 HTTP/1.1\r\nHost: {NAME}\r\n\r\n");
    let (ours, theirs) = ((ASKS, 40000), (ANSWERS, 3128));
    let (there, back) = ([ours, theirs], [theirs, ours]);
    let after = 1 + u32::try_from(asked.len()).unwrap();
    let granted = b"HTTP/1.1 200 OK\r\n\r\n";
    let capture = [
        header(),
        segment(there, [0, 0], 0x02, b""),
        segment(back, [0, 1], 0x12, b""),
        segment(there, [1, 1], 0x18, asked.as_bytes()),
        segment(back, [1, after], 0x18, granted),
        segment(there, [after, 1 + granted.len() as u32], 0x18, PREFACE),
    ];
    fs::write(directory.path().join(file), capture.concat()).unwrap();
    fs::copy(directory.path().join(file), directory.path().join("capture.pcap")).unwrap();
    let (mut followed, address) = followed(directory.path(), &[file]);
    let mut browser = Browser::new(address);
    browser.wait("link of each file", |browser| browser.links.len() == 2);
    browser.wait("findings", |browser| browser.findings.len() >= 4);
    for link in browser.links.values() {
        // As it was sent, and as nothing but characters: `Browser` has looked that no markup is in the JSON.
        assert!(link["path"].as_str().unwrap().contains(NAME), "{link}");
    }
    let state = Browser::new(address).ask(None);
    let sources = state["sources"].as_array().unwrap();
    let name = sources
        .iter()
        .find_map(|one| one["name"].as_str().filter(|name| name.contains("alert")));
    assert_eq!(name.unwrap(), "<script>alert(2)<??br>.pcap");
    assert!(!get(address, "/").body.contains("alert"));
    let (status, _) = followed.terminate();
    assert_eq!(status, 1);
}

#[test]
fn hundreds_of_links_and_a_thousand_events_each_second_stay_within_bounds() {
    const LINKS: u16 = 3000;
    const AT_ONCE: u16 = 100;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("capture.pcap");
    fs::write(&path, header()).unwrap();
    let (mut followed, address) = followed(directory.path(), &[]);
    let mut browser = Browser::new(address);
    let mut file = File::options().append(true).open(&path).unwrap();
    let begun = Instant::now();
    // Each link is seen, and has two findings: three events.
    for first in (0..LINKS).step_by(AT_ONCE.into()) {
        for number in first..first + AT_ONCE {
            let [high, low] = number.to_be_bytes();
            let ends = [([10, 9, high, low], 40000), ([10, 1, 1, 1], 8000)];
            file.write_all(&segment(ends, [1, 1], 0x18, PREFACE)).unwrap();
        }
        browser.ask(browser.links.keys().next().copied());
        std::thread::sleep(Duration::from_millis(30));
    }
    let total = |state: &Value| {
        state["counts"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|one| one["links"].as_u64())
            .sum::<u64>()
    };
    let state = loop {
        let state = browser.ask(None);
        if total(&state) == u64::from(LINKS) {
            break state;
        }
        assert!(begun.elapsed() < LONG, "{}", total(&state));
        std::thread::sleep(Duration::from_millis(100));
    };
    assert!(state["events_total"].as_u64().unwrap() >= 3 * u64::from(LINKS));
    assert_eq!(state["findings_total"], 2 * u64::from(LINKS));
    assert_eq!((browser.links.len(), browser.findings.len()), (1000, 1000));
    assert!(
        browser
            .findings
            .values()
            .all(|finding| finding["severity"] == "critical")
    );
    assert!(browser.longest < 3 << 20, "{} bytes", browser.longest);
    let map = get(address, "/state");
    assert!(map.body.len() < 3 << 20, "{} bytes", map.body.len());
    let map: Value = serde_json::from_str(&map.body).unwrap();
    assert_eq!(map["map"]["nodes"].as_array().unwrap().len(), 200);
    let resident = followed.resident();
    assert!(resident < 300 << 20, "{resident} bytes");
    let (status, _) = followed.terminate();
    assert_eq!(status, 1);
}
