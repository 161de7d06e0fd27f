//! `bartizan inspect --follow` and `--interface`: what is reported while packets come, and the report at the end.

mod browser;
#[allow(dead_code, reason = "each test program uses its own part")]
mod dashboard;
mod follow_page;
mod follow_stage;

use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

use bartizan_testing::{free_port, until};
use follow_stage::{Followed, assert_open_metrics, data, inspect, only_port};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;

/// Sizes of pieces, some of them smaller than any header.
fn pieces(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut sizes = [1usize, 7, 15, 16, 24, 100, 1500, 3, 4096, 33].into_iter().cycle();
    std::iter::from_fn(move || {
        let size = sizes.next()?.min(bytes.len());
        let (piece, rest) = bytes.split_at(size);
        bytes = rest;
        (!piece.is_empty()).then_some(piece)
    })
}

fn append(path: &Path, bytes: &[u8]) {
    let mut file = OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(bytes).unwrap();
}

#[test]
fn a_capture_that_grows_by_pieces_cut_anywhere_ends_in_the_report_of_the_whole_file() {
    for name in ["openssl-3.5.7.pcap", "n2-free5gc-two-registrations.pcap"] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("growing.pcap");
        let whole = fs::read(data(name)).unwrap();
        let (first, second) = whole.split_at(whole.len() / 2 + 5);
        fs::write(&path, &first[..10]).unwrap();
        let mut followed = Followed::start(directory.path(), &["growing.pcap", "--follow"]);
        followed.wait_for_text("following growing.pcap");
        let mut file = File::options().append(true).open(&path).unwrap();
        for piece in pieces(&first[10..]) {
            file.write_all(piece).unwrap();
        }
        // Reported long before the file is whole.
        followed.wait_for_text("  link-seen  ");
        for piece in pieces(second) {
            file.write_all(piece).unwrap();
        }
        let (status, said) = followed.terminate();
        let offline = inspect(directory.path(), &["growing.pcap"]);
        assert!(
            said.ends_with(&offline.stdout),
            "{name}:\n{said}\n--\n{}",
            offline.stdout
        );
        assert_eq!((status, offline.status), (1, 1), "{name}");
    }
}

#[test]
fn a_safe_link_ends_clean_and_a_capture_cut_in_its_last_record_is_no_failure() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hybrid.pcap");
    let capture = only_port(4401);
    fs::write(&path, &capture).unwrap();
    append(&path, &capture[24..30]);
    let mut followed = Followed::start(directory.path(), &["hybrid.pcap", "--follow", "--json"]);
    let seen = followed.wait_for("link-seen", |_| true);
    assert_eq!(seen["schema"], "bartizan-events/1");
    assert_eq!(seen["confidentiality"]["verdict"], "quantum-safe");
    assert_eq!(seen["confidentiality"]["sources"], json!(["packet 6"]));
    assert_eq!(seen["key_exchange"], "X25519MLKEM768");
    let (status, _) = followed.terminate();
    let end = followed.wait_for("end", |_| true);
    assert_eq!((status, &end["open"]), (0, &json!({})));
    let report = followed.wait_for("report", |_| true);
    assert_eq!(report["report"]["schema"], "bartizan-inspect/1");
    assert_eq!(report["report"]["files"][0]["links"].as_array().unwrap().len(), 1);
}

/// Before, nothing said so until the end, which the other source may put off for months, and the
/// report called it complete.
#[test]
fn a_source_that_fails_is_reported_at_once_and_its_report_says_where() {
    let directory = tempfile::tempdir().unwrap();
    let [good, bad] = ["good.pcap", "bad.pcap"].map(|name| directory.path().join(name));
    fs::write(&good, only_port(4401)).unwrap();
    fs::write(&bad, only_port(4401)).unwrap();
    let mut followed = Followed::start(directory.path(), &["good.pcap", "bad.pcap", "--follow", "--json"]);
    followed.wait_for("link-seen", |event| event["source"] == "bad.pcap");
    // A record of 4 GB.
    append(&bad, &[0xff; 16]);
    let failed = followed.wait_for("source-failed", |_| true);
    assert_eq!(failed["source"], "bad.pcap");
    let because = failed["because"].as_str().unwrap();
    assert!(because.contains("damaged at byte"), "{because}");
    // The other one is followed on.
    append(&good, &only_port(4403)[24..]);
    followed.wait_for("finding", |event| event["source"] == "good.pcap");
    let (status, _) = followed.terminate();
    assert_eq!(status, 2);
    let report = followed.wait_for("report", |_| true);
    let files = &report["report"]["files"];
    assert_eq!(
        (&files[0]["complete"], &files[1]["complete"]),
        (&json!(true), &json!(false))
    );
    assert!(because.ends_with(files[1]["damage"].as_str().unwrap()), "{files}");
}

/// Input that ends in the middle of a record, or before the first one, was not ended by its writer:
/// `ssh` lost its host.
#[test]
fn standard_input_that_breaks_off_is_a_failure_as_without_following() {
    let directory = tempfile::tempdir().unwrap();
    let capture = only_port(4401);
    for (name, bytes) in [
        ("cut", &capture[..capture.len() - 3]),
        ("empty", &capture[..0]),
        ("whole", &capture[..]),
    ] {
        fs::write(directory.path().join(name), bytes).unwrap();
        let input = fs::File::open(directory.path().join(name)).unwrap();
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_bartizan"))
            .args(["inspect", "--follow", "--json", "-"])
            .stdin(input)
            .output()
            .unwrap();
        let broken = name != "whole";
        assert_eq!(output.status.code(), Some(if broken { 2 } else { 0 }), "{name}");
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(said.contains("\"event\":\"source-failed\""), broken, "{said}");
        assert_eq!(said.contains("\"complete\":true"), !broken, "{said}");
    }
}

/// An ARP packet so many seconds after 1970.
fn arp(seconds: u32) -> Vec<u8> {
    let head = [seconds, 0, 42, 42].map(u32::to_le_bytes).concat();
    [
        &head[..],
        &[0xff; 6],
        &[2, 0, 0, 0, 0, 1, 8, 6, 0, 1, 8, 0, 6, 4, 0, 1],
        &[1; 20],
    ]
    .concat()
}

/// Before, nothing was said of it, and the exit code was that of a clean network.
#[test]
fn a_vulnerable_link_is_found_also_where_newer_packets_are_read_before_anybody_looks() {
    let capture = only_port(4403);
    let began = u32::from_le_bytes(capture[24..28].try_into().unwrap());
    let (head, records) = capture.split_at(24);
    // The file is two hours old when it is first read; the clock of the capture was two hours ahead, and set back.
    let behind = [head, records, &arp(began + 7200)].concat();
    let set_back = [head, &arp(began + 7200), records].concat();
    for (name, capture) in [("behind.pcap", behind), ("set-back.pcap", set_back)] {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join(name), capture).unwrap();
        let mut followed = Followed::start(directory.path(), &[name, "--follow", "--json"]);
        followed.wait_for("finding", |event| event["concern"] == "confidentiality");
        let (status, _) = followed.terminate();
        assert_eq!(status, 1, "{name}");
    }
}

/// A capture of one IPv4 packet: the first part of a UDP datagram whose rest never comes.
fn first_part() -> Vec<u8> {
    let packet = [
        &[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0][..],
        &[0x45, 0, 0, 36, 0, 7, 0x20, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2],
        &[0x12, 0x34, 0x08, 0x68, 0, 100, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8],
    ]
    .concat();
    let length = u32::try_from(packet.len()).unwrap();
    let record = [1_700_000_000, 0, length, length].map(u32::to_le_bytes).concat();
    [&only_port(4403)[..24], &record, &packet].concat()
}

/// Before, they were in the report and in no event, and the exit code was that of a clean network.
#[test]
fn parts_of_a_packet_whose_rest_never_comes_are_found_while_it_is_waited_for_and_at_the_end() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("part.pcap"), first_part()).unwrap();
    let read = inspect(directory.path(), &["part.pcap"]);
    assert_eq!(read.status, 1, "{}", read.stderr);
    // At once, where nothing more can come.
    let capture = fs::File::open(directory.path().join("part.pcap")).unwrap();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_bartizan"))
        .args(["inspect", "--follow", "-"])
        .stdin(capture)
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("UDP fragments that do not make a whole packet"), "{said}");
    // After half a window, where it may.
    let arguments = ["part.pcap", "--follow", "--json", "--window", "12s"];
    let mut followed = Followed::start(directory.path(), &arguments);
    followed.wait_for("finding", |event| event["concern"] == "unproven");
    let (status, _) = followed.terminate();
    assert_eq!(status, 1);
}

/// Before, reading one waited for its writer, and with it events, other sources, metrics and the end by a signal.
#[test]
fn a_named_pipe_is_followed_while_its_writer_is_silent() {
    let directory = tempfile::tempdir().unwrap();
    let [path, other] = ["pipe", "silent"].map(|name| directory.path().join(name));
    let made = std::process::Command::new("mkfifo").args([&path, &other]).status();
    assert!(made.unwrap().success());
    let mut followed = Followed::start(directory.path(), &["silent", "pipe", "--follow", "--json"]);
    let mut writer = fs::OpenOptions::new().write(true).open(&path).unwrap();
    writer.write_all(&only_port(4403)).unwrap();
    followed.wait_for("finding", |event| event["source"] == "pipe");
    let (status, _) = followed.terminate();
    assert_eq!(status, 1);
    let report = followed.wait_for("report", |_| true);
    let file = &report["report"]["files"][1];
    assert_eq!(
        (&file["complete"], &file["summary"]["by_group"]),
        (&json!(true), &json!({ "x25519": 1 }))
    );
}

/// A reader that stops without closing the pipe. Before, the first signal did nothing, and a
/// service manager killed the process.
#[test]
fn an_end_that_is_asked_for_comes_though_nobody_reads() {
    let directory = tempfile::tempdir().unwrap();
    fs::copy(data("openssl-3.5.7.pcap"), directory.path().join("link.pcap")).unwrap();
    for form in [&["--json"][..], &[]] {
        let (_reader, mut writer) = std::io::pipe().unwrap();
        // Nearly all that it holds.
        writer.write_all(&[b'\n'; 65_024]).unwrap();
        let metrics = free_port().to_string();
        let arguments = [
            "inspect",
            "--follow",
            "link.pcap",
            "--html",
            "page.html",
            "--metrics",
            &metrics,
        ];
        let child = Command::new(env!("CARGO_BIN_EXE_bartizan"))
            .args([&arguments[..], form].concat())
            .current_dir(directory.path())
            .stdout(writer)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // It answers once signals raise a flag.
        until("metrics", || {
            let mut answer = [0];
            let asked = TcpStream::connect(&metrics).and_then(|mut stream| {
                stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
                stream.read(&mut answer)
            });
            asked.is_ok_and(|read| read == 1)
        });
        kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM).unwrap();
        let output = child.wait_with_output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(
            errors.contains("took nothing more, and the last lines are lost"),
            "{errors}"
        );
        // Output to other places was written.
        fs::remove_file(directory.path().join("page.html")).unwrap();
    }
}

#[test]
fn a_page_that_cannot_be_written_does_not_cost_the_report() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("a.pcap"), only_port(4401)).unwrap();
    let nowhere = ["--html", "nowhere/page.html", "--json"];
    let followed = inspect(
        directory.path(),
        &[&["--follow", "--for", "1s", "a.pcap"][..], &nowhere].concat(),
    );
    assert_eq!(followed.status, 2);
    assert!(followed.stderr.contains("nowhere/page.html"), "{}", followed.stderr);
    assert_eq!(followed.event("report")["report"]["files"][0]["complete"], true);
    let read = inspect(directory.path(), &[&["a.pcap"][..], &nowhere].concat());
    assert_eq!(read.status, 2);
    assert_eq!(read.json()["files"][0]["complete"], true);
}

#[test]
fn a_capture_that_is_rotated_is_followed_into_the_next_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("capture.pcap");
    fs::write(&path, only_port(4401)).unwrap();
    let mut followed = Followed::start(directory.path(), &["capture.pcap", "--follow", "--json"]);
    followed.wait_for("link-seen", |event| {
        event["confidentiality"]["verdict"] == "quantum-safe"
    });
    // The old one is written to after it was renamed, and ends in the middle of a record.
    fs::rename(&path, directory.path().join("capture.pcap.1")).unwrap();
    append(&directory.path().join("capture.pcap.1"), &[0; 7]);
    fs::write(directory.path().join("new"), only_port(4403)).unwrap();
    fs::rename(directory.path().join("new"), &path).unwrap();
    let rotated = followed.wait_for("rotation", |_| true);
    assert_eq!(rotated["incomplete"], true);
    let weaker = followed.wait_for("finding", |event| event["concern"] == "confidentiality");
    assert_eq!(weaker["key_exchange"], "x25519");
    let (status, _) = followed.terminate();
    let report = followed.wait_for("report", |_| true);
    let file = &report["report"]["files"][0];
    assert_eq!(status, 1);
    assert_eq!(file["summary"]["by_group"], json!({ "X25519MLKEM768": 1, "x25519": 1 }));
    // Packets are numbered on.
    fs::write(directory.path().join("first.pcap"), only_port(4401)).unwrap();
    let first = inspect(directory.path(), &["first.pcap", "--json"]).json()["files"][0]["packets"].clone();
    let link = &file["links"][1];
    assert_eq!(link["first_packet"].as_u64().unwrap(), first.as_u64().unwrap() + 1);
}

#[test]
fn a_record_that_comes_after_the_packets_joins_and_changes_the_verdict() {
    let directory = tempfile::tempdir().unwrap();
    fs::copy(data("sidecar-hybrid.pcap"), directory.path().join("link.pcap")).unwrap();
    let ledgers = ["sidecar-hybrid.consumers.jsonl", "sidecar-hybrid.nrf.jsonl"];
    for ledger in ledgers {
        fs::write(directory.path().join(ledger), "").unwrap();
    }
    let mut arguments = vec!["link.pcap", "--follow", "--json", "--grace", "10m"];
    arguments.extend(ledgers.iter().flat_map(|ledger| ["--ledger", ledger]));
    let mut followed = Followed::start(directory.path(), &arguments);
    followed.wait_for("link-seen", |event| {
        event["authenticity"]["verdict"] == "not observable"
    });
    for ledger in ledgers {
        let text = fs::read(data(ledger)).unwrap();
        // A line is a record once it has its end.
        let (first, second) = text.split_at(text.len() / 2);
        append(&directory.path().join(ledger), first);
        append(&directory.path().join(ledger), second);
    }
    let changed = followed.wait_for("verdict-changed", |event| event["to"]["authenticity"] == "quantum-safe");
    assert_eq!(changed["from"]["authenticity"], "not observable");
    assert_eq!(changed["to"]["confidentiality"], "quantum-safe");
    let sources = changed["authenticity"]["sources"].to_string();
    assert!(sources.contains("ledger of"), "{sources}");
    let (status, _) = followed.terminate();
    let report = followed.wait_for("report", |_| true)["report"].clone();
    assert_eq!(status, 0);
    let mut arguments = vec!["link.pcap", "--json"];
    arguments.extend(ledgers.iter().flat_map(|ledger| ["--ledger", ledger]));
    let mut offline = inspect(directory.path(), &arguments).json();
    // The live report has links, not each connection.
    offline["files"][0]["connections"] = json!([]);
    assert_eq!(report, offline);
}

#[test]
fn a_ledger_that_says_otherwise_is_a_contradiction() {
    let directory = tempfile::tempdir().unwrap();
    fs::copy(data("sidecar-hybrid.pcap"), directory.path().join("link.pcap")).unwrap();
    let ledger = fs::read_to_string(data("sidecar-hybrid.nrf.jsonl")).unwrap();
    let group = "\"group\":{\"code\":4588";
    assert!(ledger.contains(group), "{ledger}");
    fs::write(
        directory.path().join("nrf.jsonl"),
        ledger.replace(group, "\"group\":{\"code\":29"),
    )
    .unwrap();
    let arguments = ["link.pcap", "--follow", "--json", "--ledger", "nrf.jsonl"];
    let mut followed = Followed::start(directory.path(), &arguments);
    let reported = followed.wait_for("contradiction", |event| event["state"] == "new");
    assert!(
        reported["because"]
            .as_str()
            .unwrap()
            .contains("the packets show group X25519MLKEM768"),
        "{reported}"
    );
    assert_eq!(reported["sources"].as_array().unwrap().len(), 2);
    let (status, _) = followed.terminate();
    assert_eq!(status, 1);
}

/// TLS connections that stay open after the ClientHello, of which memory has room for a part:
/// nearly 2 kB for each, and less than half of 16 MB is for what lives. Each is the first one of a
/// capture, with other ports.
fn too_many(path: &Path) -> u64 {
    const HEAD: usize = 24;
    const RECORD: usize = 16;
    let capture = fs::read(data("openssl-3.5.7.pcap")).unwrap();
    let mut packets = Vec::new();
    let mut rest = &capture[HEAD..];
    // SYN, SYN and ACK, ACK, ClientHello.
    for _ in 0..4 {
        let length = u32::from_le_bytes(rest[8..12].try_into().unwrap()) as usize;
        let (packet, after) = rest.split_at(RECORD + length);
        packets.push(packet.to_vec());
        rest = after;
    }
    // Ethernet and IPv4 without options stand before TCP. The ends are hosts of their own.
    const ADDRESSES: usize = RECORD + 14 + 12;
    const PORTS: usize = ADDRESSES + 8;
    let client: [u8; 2] = packets[0][PORTS..PORTS + 2].try_into().unwrap();
    let from_client: Vec<bool> = packets
        .iter()
        .map(|packet| packet[PORTS..PORTS + 2] == client)
        .collect();
    for (packet, from_client) in packets.iter_mut().zip(&from_client) {
        let [one, other] = if *from_client { [1, 2] } else { [2, 1] };
        packet[ADDRESSES..PORTS].copy_from_slice(&[10, 9, 0, one, 10, 9, 0, other]);
    }
    let mut file = std::io::BufWriter::new(File::create(path).unwrap());
    file.write_all(&capture[..HEAD]).unwrap();
    for port in 20_000..24_000_u16 {
        for (packet, from_client) in packets.iter_mut().zip(&from_client) {
            let at = if *from_client { PORTS } else { PORTS + 2 };
            packet[at..at + 2].copy_from_slice(&port.to_be_bytes());
            file.write_all(packet).unwrap();
        }
    }
    file.flush().unwrap();
    16_000
}

#[test]
fn what_memory_does_not_allow_to_follow_is_reported_and_stands() {
    let directory = tempfile::tempdir().unwrap();
    let packets = too_many(&directory.path().join("flows.pcap")).to_string();
    let arguments = ["flows.pcap", "--follow", "--json", "--memory", "16MB"];
    let said = inspect(directory.path(), &[&arguments[..], &["--packets", &packets]].concat());
    assert_eq!(said.status, 1);
    assert!(said.event("ceiling")["packets"].as_u64().unwrap() >= 1);
    let of_the_source = said
        .events("finding")
        .into_iter()
        .find(|event| event["concern"] == "unproven" && event["because"].as_str().unwrap().contains("--memory"));
    assert_eq!(of_the_source.unwrap()["link"], json!(null));
}

#[test]
fn a_safe_link_whose_next_connection_finds_no_room_is_not_called_safe_any_more() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("capture.pcap");
    let new = directory.path().join("new");
    let safe = only_port(4401);
    fs::write(&path, &safe).unwrap();
    // The captures are of different years.
    let arguments = ["capture.pcap", "--follow", "--json", "--memory", "16MB"];
    let years = ["--window", "100years", "--forget", "100years"];
    let mut followed = Followed::start(directory.path(), &[&arguments[..], &years].concat());
    let seen = followed.wait_for("link-seen", |_| true);
    assert_eq!(seen["confidentiality"]["verdict"], "quantum-safe");
    // Reported when a file is read to its end and the next one is there.
    let next = |followed: &mut Followed, rotations| {
        fs::rename(&new, &path).unwrap();
        followed.wait_for_many("rotation", rotations);
    };
    too_many(&new);
    next(&mut followed, 1);
    fs::write(&new, &safe).unwrap();
    next(&mut followed, 2);
    let (status, _) = followed.terminate();
    assert_eq!(status, 1);
    let reported = |event: &serde_json::Value| event["link"] == seen["link"];
    let changed = followed.wait_for("verdict-changed", reported);
    assert_eq!(changed["to"]["confidentiality"], "not seen");
    let because = changed["confidentiality"]["because"].as_str().unwrap();
    assert!(because.starts_with("memory was full"), "{because}");
    followed.wait_for("finding", |event| reported(event) && event["concern"] == "unproven");
    let report = followed.wait_for("report", |_| true)["report"].clone();
    let file = &report["files"][0];
    let from = file["omitted"][0]["first_packet"].as_u64().unwrap();
    for link in file["links"].as_array().unwrap() {
        let safe = link["confidentiality"]["verdict"] == "quantum-safe";
        assert!(!safe || link["last_packet"].as_u64().unwrap() < from, "{link}");
        assert!(!safe || link["first_packet"] != 1, "{link}");
    }
}

#[test]
fn an_interface_of_the_file_that_nobody_saw_is_reported_after_a_time_and_cleared_when_it_is_seen() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("network.yaml"), follow_stage::DEPLOYMENT).unwrap();
    let path = directory.path().join("link.pcap");
    fs::write(&path, "").unwrap();
    let arguments = [
        "link.pcap",
        "--follow",
        "--json",
        "--deployment",
        "network.yaml",
        "--grace",
        "1s",
    ];
    let mut followed = Followed::start(directory.path(), &arguments);
    let of = |interface: &'static str, state: &'static str| {
        move |event: &serde_json::Value| event["link"]["interface"] == interface && event["state"] == state
    };
    followed.wait_for("not-seen", of("SBI", "new"));
    followed.wait_for("not-seen", of("N2", "new"));
    append(&path, &fs::read(data("sidecar-hybrid.pcap")).unwrap());
    followed.wait_for("not-seen", of("SBI", "cleared"));
    let seen = followed.wait_for("link-seen", |event| event["link"]["interface"] == "SBI");
    assert_eq!(seen["link"]["ends"], json!(["consumers", "nrf"]));
    let (status, _) = followed.terminate();
    let end = followed.wait_for("end", |_| true);
    assert_eq!((status, &end["open"]), (1, &json!({ "not seen": 1 })));
}

#[test]
fn metrics_are_open_metrics_with_links_by_verdict_and_findings_by_concern() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("link.pcap"), only_port(4403)).unwrap();
    let arguments = ["link.pcap", "--follow", "--json", "--metrics", "127.0.0.1:0"];
    let mut followed = Followed::start(directory.path(), &arguments);
    let begin = followed.wait_for("begin", |_| true);
    let url = format!("http://{}/metrics", begin["metrics"].as_str().unwrap());
    followed.wait_for("finding", |event| event["concern"] == "confidentiality");
    let metrics = followed.scraped(&url, None, |text| text.contains("bartizan_inspect_findings{"));
    assert_open_metrics(&metrics);
    dashboard::assert_exported("bartizan-follow.json", 15, &metrics);
    for line in [
        "bartizan_inspect_links{interface=\"-\",confidentiality=\"vulnerable\",authenticity=\"not observable\"} 1",
        "bartizan_inspect_findings{concern=\"confidentiality\"} 1",
        "bartizan_inspect_dropped_packets_total{source=\"link.pcap\"} 0",
        "bartizan_inspect_links_without_series 0",
        // There from the start: its first is an increase.
        "bartizan_inspect_events_total{event=\"downgrade\"} 0",
    ] {
        assert!(
            metrics.lines().any(|found| found == line),
            "{line} is not in\n{metrics}"
        );
    }
    followed.terminate();
}

#[test]
fn what_cannot_be_followed_is_said_with_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let missing = inspect(at, &["--follow", "nothing.pcap"]);
    assert_eq!(missing.status, 2);
    assert!(
        missing
            .stderr
            .contains("hint: a capture that is followed must be there"),
        "{}",
        missing.stderr
    );
    let unknown = inspect(at, &["--interface", "lo0"]);
    assert_eq!(unknown.status, 2);
    assert!(
        unknown.stderr.contains("there is no interface `lo0` here"),
        "{}",
        unknown.stderr
    );
    assert!(unknown.stderr.contains("did you mean `lo`?"), "{}", unknown.stderr);
    fs::write(at.join("text"), "this is no capture, whatever it is").unwrap();
    let text = inspect(at, &["--follow", "text"]);
    assert_eq!(text.status, 2);
    assert!(text.stderr.contains("neither pcap nor pcapng"), "{}", text.stderr);
    for arguments in [
        &["--interface", "lo", "some.pcap"][..],
        &["--follow"],
        &["--packets", "3", "some.pcap"],
        &["--metrics", "127.0.0.1:0", "some.pcap"],
        &["--follow", "--window", "1ms", "some.pcap"],
    ] {
        assert_eq!(inspect(at, arguments).status, 64, "{arguments:?}");
    }
}

#[test]
fn a_bound_on_packets_ends_it_after_so_many() {
    let directory = tempfile::tempdir().unwrap();
    fs::copy(data("openssl-3.5.7.pcap"), directory.path().join("some.pcap")).unwrap();
    let said = inspect(
        directory.path(),
        &["some.pcap", "--follow", "--packets", "40", "--json"],
    );
    let end = said.event("end");
    assert_eq!(end["reason"], "packets");
    assert_eq!(said.event("report")["report"]["files"][0]["packets"], 40);
}

#[cfg(target_os = "linux")]
mod as_root {
    use std::net::SocketAddr;
    use std::process::Command;
    use std::time::{Duration, Instant};

    use bartizan_host::Program;

    use super::follow_stage::{Followed, LONG, Talkers, assert_open_metrics};

    #[test]
    fn a_link_is_reported_while_it_lives_and_again_when_it_gets_better_and_worse() {
        let talkers = Talkers::new();
        let arguments = [
            "--interface",
            "left",
            "--follow",
            "--json",
            "--window",
            "4s",
            "--metrics",
            "127.0.0.1:0",
        ];
        let mut followed = Followed::start_inside(&talkers.left, talkers.place(), &arguments);
        let begin = followed.wait_for("begin", |_| true);
        let url = format!("http://{}/metrics", begin["metrics"].as_str().unwrap());

        // A classical connection that stays open: it is judged before it ends.
        let open = talkers.client("x25519", true);
        let seen = followed.wait_for("link-seen", |_| true);
        assert_eq!(seen["confidentiality"]["verdict"], "vulnerable");
        assert_eq!(seen["source"], "left");
        followed.wait_for("finding", |event| {
            event["concern"] == "confidentiality" && event["state"] == "new"
        });
        let metrics = followed.scraped(&url, Some(&talkers.left), |text| {
            text.contains("bartizan_inspect_live{source=\"left\",kind=\"tcp\"} 1")
                && text.contains("bartizan_inspect_findings{concern=\"confidentiality\"} 1")
        });
        assert_open_metrics(&metrics);
        assert!(
            metrics.contains("bartizan_inspect_packets_total{source=\"left\",direction=\"out\"} "),
            "{metrics}"
        );
        drop(open);

        // Hybrid ones, until the classical one has left the window.
        let begun = Instant::now();
        while !followed.reported("finding", |event| {
            event["concern"] == "confidentiality" && event["state"] == "cleared"
        }) {
            assert!(begun.elapsed() < LONG, "{}", followed.said());
            talkers.client("X25519MLKEM768", false).finish(LONG).unwrap();
        }
        let first = followed.wait_for("verdict-changed", |_| true);
        assert_eq!(first["from"]["confidentiality"], "vulnerable");
        let better = followed.wait_for("verdict-changed", |event| {
            event["to"]["confidentiality"] == "quantum-safe"
        });
        assert_eq!(better["key_exchange"], "X25519MLKEM768");

        talkers.client("x25519", false).finish(LONG).unwrap();
        let worse = followed.wait_for("downgrade", |event| event["state"] == "new");
        let order = ["link-seen", "finding", "verdict-changed", "downgrade"].map(|name| {
            followed
                .events()
                .iter()
                .position(|event| event["event"] == name)
                .unwrap()
        });
        assert!(order.is_sorted(), "{order:?}");
        assert!(worse["sources"].to_string().contains("packet"), "{worse}");

        let (status, _) = followed.terminate();
        assert_eq!(status, 1);
        let report = followed.wait_for("report", |_| true)["report"].clone();
        let groups = &report["files"][0]["summary"]["by_group"];
        assert_eq!(groups["x25519"], 2);
        assert!(groups["X25519MLKEM768"].as_u64().unwrap() >= 1);
        assert_eq!(report["files"][0]["dropped_at_capture"], 0);
    }

    #[test]
    fn a_capture_of_an_interface_ends_in_the_report_that_a_file_of_it_would() {
        let talkers = Talkers::new();
        let mut captured = Followed::start_inside(&talkers.left, talkers.place(), &["--interface", "left", "--json"]);
        captured.wait_for_error("capturing on left");
        talkers.client("X25519MLKEM768", false).finish(LONG).unwrap();
        let (status, said) = captured.terminate();
        let document: serde_json::Value = serde_json::from_str(&said).unwrap();
        let file = &document["files"][0];
        assert_eq!(status, 0, "{said}");
        assert_eq!(file["file"], "left");
        assert_eq!(file["links"][0]["confidentiality"]["verdict"], "quantum-safe");
        assert_eq!(file["connections"][0]["tls"]["group"]["name"], "X25519MLKEM768");
        assert_eq!(file["connections"][0]["start"], "syn");
    }

    #[test]
    fn an_interface_that_vanishes_ends_a_capture_with_what_was_seen_and_is_waited_for_when_followed() {
        let mut talkers = Talkers::new();
        let place = talkers.place().to_owned();
        let mut captured = Followed::start_inside(&talkers.left, &place, &["--interface", "left"]);
        captured.wait_for_error("capturing on left");
        let mut followed =
            Followed::start_inside(&talkers.left, &place, &["--interface", "left", "--follow", "--json"]);
        followed.wait_for("begin", |_| true);
        talkers.client("x25519", false).finish(LONG).unwrap();
        followed.wait_for("link-seen", |_| true);
        talkers.cut();
        followed.wait_for("interface-down", |_| true);
        let (status, said) = captured.ended();
        assert_eq!(status, 1);
        assert!(said.contains("x25519 negotiated"), "{said}");
        assert!(said.contains("the interface went down, or is gone, after "), "{said}");
        talkers.join();
        let begun = Instant::now();
        while !followed.reported("interface-back", |_| true) {
            assert!(begun.elapsed() < LONG, "{}", followed.said());
            talkers.client("x25519", false).finish(LONG).unwrap();
        }
        let (status, _) = followed.terminate();
        assert_eq!(status, 1);
    }

    #[test]
    fn nothing_is_left_of_one_that_is_killed() {
        let talkers = Talkers::new();
        let mut followed = Followed::start_inside(&talkers.left, talkers.place(), &["--interface", "left", "--follow"]);
        followed.wait_for_text("following left");
        let sockets = || {
            let packet = Program::new("cat")
                .argument("/proc/self/net/packet")
                .inside(&talkers.left);
            packet.run(LONG).unwrap().text().lines().count()
        };
        let promiscuous = || {
            let link = Program::new("ip")
                .arguments(["-details", "link", "show", "left"])
                .inside(&talkers.left);
            !link.run(LONG).unwrap().text().contains("promiscuity 0")
        };
        assert!(sockets() == 2 && promiscuous(), "a heading and a socket");
        followed.kill();
        let begun = Instant::now();
        while sockets() != 1 || promiscuous() {
            assert!(begun.elapsed() < LONG);
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    #[test]
    fn without_the_right_to_capture_it_says_which_right_is_missing() {
        let said = Command::new("setpriv")
            .args(["--inh-caps=-all", "--bounding-set=-all", "--no-new-privs"])
            .arg(env!("CARGO_BIN_EXE_bartizan"))
            .args(["inspect", "--interface", "lo"])
            .output()
            .unwrap();
        let errors = String::from_utf8(said.stderr).unwrap();
        assert_eq!(said.status.code(), Some(2), "{errors}");
        assert!(errors.contains("this needs CAP_NET_RAW"), "{errors}");
        assert!(errors.contains("setcap cap_net_raw+ep"), "{errors}");
    }

    #[test]
    fn two_interfaces_are_distinguished() {
        let talkers = Talkers::new();
        let arguments = ["--interface", "left", "--interface", "lo", "--follow", "--json"];
        let mut followed = Followed::start_inside(&talkers.left, talkers.place(), &arguments);
        followed.wait_for("begin", |_| true);
        talkers.client("x25519", false).finish(LONG).unwrap();
        followed.wait_for("link-seen", |event| event["source"] == "left");
        let here: SocketAddr = "127.0.0.1:4433".parse().unwrap();
        let _server = talkers.server(&talkers.left, here);
        talkers.client_to(here, "X25519MLKEM768", false).finish(LONG).unwrap();
        let seen = followed.wait_for("link-seen", |event| event["source"] == "lo");
        assert_eq!(seen["confidentiality"]["verdict"], "quantum-safe");
        followed.terminate();
        let report = followed.wait_for("report", |_| true)["report"].clone();
        assert_eq!(report["files"].as_array().unwrap().len(), 2);
        // Loopback shows each packet twice; it is counted once.
        assert_eq!(report["files"][1]["connections"], serde_json::json!([]));
        assert_eq!(report["files"][1]["summary"]["connections"], 1);
    }
}
