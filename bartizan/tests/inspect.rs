//! `bartizan inspect` as its user meets it: tables, exit codes, messages.

#[path = "inspect/against.rs"]
mod against;
mod inspect_stage;

use std::fs;
use std::io::Write;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use inspect_stage::{data, inspect as inspect_in};

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn json_of(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The records of one TCP port of the OpenSSL capture, as a capture of their own.
fn only_port(port: u16) -> Vec<u8> {
    let file = fs::read(data().join("openssl-3.5.7.pcap")).unwrap();
    let mut kept = file[..24].to_vec();
    let mut at = 24;
    while at < file.len() {
        let length = u32::from_le_bytes(file[at + 8..at + 12].try_into().unwrap()) as usize;
        let record = &file[at..at + 16 + length];
        // Ethernet, IPv4 without options: ports begin at byte 34 of the frame.
        let ports = [&record[16 + 34..16 + 36], &record[16 + 36..16 + 38]];
        if record[16 + 12..16 + 14] == [8, 0] && ports.contains(&&port.to_be_bytes()[..]) {
            kept.extend(record);
        }
        at += 16 + length;
    }
    kept
}

/// Standard output, whatever the width of its lines.
fn words(output: &Output) -> String {
    stdout(output).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A ledger line about the handshake with this client random, as the sidecar of one end writes it.
fn ledger_line(random: &str, direction: &str) -> String {
    let certificate = json!({
        "subject": "CN=nrf.5gc", "serial": "01", "names": ["dns:nrf.5gc"], "public_key": "id-ml-dsa-65",
        "signature": "id-ml-dsa-65", "not_after": 2_000_000_000, "sha256": "00",
    });
    let signature = json!({ "code": 0x0905, "name": "mldsa65" });
    let record = json!({
        "v": 1, "at_us": 1_795_233_001_000_000_u64, "node": if direction == "outbound" { "amf" } else { "nrf" },
        "event": "handshake", "key": { "protocol": "tls", "client_random": random }, "interface": "SBI",
        "direction": direction, "peer": null, "local_address": "127.0.0.1:1", "peer_address": "127.0.0.1:2",
        "negotiated": {
            "version": "TLS 1.3", "cipher": { "code": 0x1302, "name": "TLS_AES_256_GCM_SHA384" },
            "group": { "code": 0x11ec, "name": "X25519MLKEM768" }, "local_signature": signature,
            "peer_signature": signature, "resumed": false, "hello_retry": false,
        },
        "chain": [certificate], "bytes": { "sent": 1, "received": 1 }, "times": { "connect_us": 1, "handshake_us": 1 },
        "verdict": { "verdict": "accepted" },
    });
    format!("{record}\n")
}

#[test]
fn a_table_of_a_real_core_names_every_link_as_clear() {
    let output = inspect_in(&data(), &["--alike", "sbi-free5gc-two-registrations.pcap"]);
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!("free5gc", stdout(&output));
}

#[test]
fn a_table_of_every_situation_reads_as_documented() {
    let output = inspect_in(&data(), &["--alike", "openssl-3.5.7.pcap"]);
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!("openssl", stdout(&output));
}

#[test]
fn dtls_in_sctp_reads_as_documented() {
    let output = inspect_in(&data(), &["--all", "dtls-1.2-in-sctp.pcap"]);
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!("dtls", stdout(&output));
}

#[test]
fn json_of_one_connection_has_the_documented_shape() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("hybrid.pcap"), only_port(4401)).unwrap();
    let output = inspect_in(directory.path(), &["hybrid.pcap", "--json"]);
    insta::assert_json_snapshot!("json", json_of(&output));
}

#[test]
fn a_hybrid_link_alone_is_clean_and_says_what_it_could_not_see() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("hybrid.pcap"), only_port(4401)).unwrap();
    let output = inspect_in(directory.path(), &["hybrid.pcap"]);
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    assert!(stdout(&output).contains("1 connection: authenticity not observable"));
}

#[test]
fn ledgers_of_both_ends_make_authenticity_observable() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("hybrid.pcap"), only_port(4401)).unwrap();
    let without = json_of(&inspect_in(directory.path(), &["hybrid.pcap", "--json"]));
    let random = without["files"][0]["connections"][0]["tls"]["client_random"]
        .as_str()
        .unwrap();
    for (name, direction) in [("amf.jsonl", "outbound"), ("nrf.jsonl", "inbound")] {
        fs::write(directory.path().join(name), ledger_line(random, direction)).unwrap();
    }
    let arguments = [
        "hybrid.pcap",
        "--json",
        "--ledger",
        "amf.jsonl",
        "--ledger",
        "nrf.jsonl",
    ];
    let output = inspect_in(directory.path(), &arguments);
    let connection = &json_of(&output)["files"][0]["connections"][0];
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(connection["authenticity"]["verdict"], "quantum-safe");
    assert_eq!(connection["tls"]["client_signature"]["name"], "mldsa65");
    assert_eq!(connection["in_ledger"], true);
}

#[test]
fn a_link_between_two_sidecars_is_proved_by_its_packets_and_both_ledgers() {
    let ledgers = ["sidecar-hybrid.consumers.jsonl", "sidecar-hybrid.nrf.jsonl"];
    let judged = |ledgers: &[&str]| {
        let mut arguments = vec!["sidecar-hybrid.pcap", "--json"];
        for ledger in ledgers {
            arguments.extend(["--ledger", ledger]);
        }
        let output = inspect_in(&data(), &arguments);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        json_of(&output)["files"][0]["connections"][0].clone()
    };
    assert_eq!(judged(&[])["authenticity"]["verdict"], "not observable");
    for one in ledgers {
        assert_eq!(
            judged(&[one])["authenticity"]["verdict"],
            "not observable",
            "{one} alone"
        );
    }
    let both = judged(&ledgers);
    assert_eq!(both["confidentiality"]["verdict"], "quantum-safe");
    assert_eq!(both["authenticity"]["verdict"], "quantum-safe");
    assert_eq!(both["contradictions"], json!([]));
    assert_eq!(both["tls"]["server_signature"]["name"], "mldsa65");
    assert_eq!(both["tls"]["client_signature"]["name"], "mldsa65");

    // The flights on the wire are the bytes the server's sidecar counted; the client's last one holds its first request
    // too.
    let lines = fs::read_to_string(data().join(ledgers[1])).unwrap();
    let record: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    let flights: Vec<u64> = (0..3)
        .map(|index| both["tls"]["flights"][index]["bytes"].as_u64().unwrap())
        .collect();
    assert_eq!(record["bytes"]["sent"], flights[1]);
    let received = record["bytes"]["received"].as_u64().unwrap();
    assert!(
        received <= flights[0] + flights[2] && received > flights[0],
        "{received} {flights:?}"
    );
}

#[test]
fn a_capture_on_standard_input_is_read() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_bartizan"))
        .env("COLUMNS", "400")
        .args(["inspect", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&only_port(4403)).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("x25519 negotiated: a classical key exchange"));
}

#[test]
fn several_captures_are_reported_one_after_the_other() {
    let files = ["openssl-3.5.7.pcap", "sbi-free5gc-two-registrations.pcap"];
    let output = inspect_in(&data(), &[files[0], files[1], "--json"]);
    let names: Vec<_> = json_of(&output)["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file["file"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(names, files);
}

#[test]
fn a_missing_file_does_not_cost_what_the_others_say() {
    let output = inspect_in(&data(), &["none.pcap", "openssl-3.5.7.pcap", "README.md"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stdout(&output).starts_with("openssl-3.5.7.pcap: "));
    assert!(stderr(&output).starts_with("error: none.pcap: "));
    assert!(stderr(&output).contains("hint: README.md: "));
}

#[test]
fn a_cut_capture_is_judged_as_far_as_it_goes_and_fails_with_the_place() {
    let directory = tempfile::tempdir().unwrap();
    let whole = only_port(4401);
    fs::write(directory.path().join("cut.pcap"), &whole[..whole.len() - 10]).unwrap();
    let output = inspect_in(directory.path(), &["cut.pcap"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stdout(&output).contains("X25519MLKEM768"), "the good part is reported");
    let message = stderr(&output);
    assert!(message.starts_with("error: cut.pcap: cut at byte "), "{message}");
    assert!(
        message.contains("hint: the capture was still being written"),
        "{message}"
    );
    let document = json_of(&inspect_in(directory.path(), &["cut.pcap", "--json"]));
    assert_eq!(document["files"][0]["complete"], false);
}

#[test]
fn what_cannot_be_read_is_named_with_cause_and_hint() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("empty.pcap"), b"").unwrap();
    fs::write(
        directory.path().join("letter.pcap"),
        b"Dear reader, this is no capture.",
    )
    .unwrap();
    fs::write(directory.path().join("small.pcap.xz"), b"\xfd7zXZ\0\0\x04").unwrap();
    fs::write(directory.path().join("cut.pcap.gz"), [0x1f, 0x8b, 8, 0, 0, 0, 0, 0]).unwrap();
    for (name, cause, hint) in [
        ("none.pcap", "No such file or directory", "tcpdump -w FILE"),
        (".", "is a directory", "bartizan inspect ./*.pcap"),
        ("empty.pcap", "the capture is empty", "stopped before its first packet"),
        (
            "letter.pcap",
            "neither pcap nor pcapng: it begins with 44 65 61 72",
            "dumpcap",
        ),
        (
            "small.pcap.xz",
            "the capture is compressed with xz",
            "xz -dc FILE | bartizan inspect -",
        ),
        (
            "cut.pcap.gz",
            "damaged at byte 0: it cannot be unpacked",
            "copy it again",
        ),
    ] {
        let output = inspect_in(directory.path(), &[name]);
        assert_eq!(output.status.code(), Some(2), "{name}");
        assert_eq!(stdout(&output), "", "{name}");
        let message = stderr(&output);
        assert!(message.starts_with(&format!("error: {name}: {cause}")), "{message}");
        let hints = message.lines().filter(|line| line.starts_with("hint: "));
        assert!(hints.into_iter().any(|line| line.contains(hint)), "{message}");
    }
}

#[test]
fn files_of_a_ledger_that_were_rotated_are_read_and_refusals_it_counts_are_reported() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("hybrid.pcap"), only_port(4401)).unwrap();
    let without = json_of(&inspect_in(directory.path(), &["hybrid.pcap", "--json"]));
    let random = without["files"][0]["connections"][0]["tls"]["client_random"]
        .as_str()
        .unwrap();
    let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
    write("amf.jsonl", &ledger_line(random, "outbound"));
    write("nrf.jsonl.000001", &ledger_line(random, "inbound"));
    let counted = |count: u64| {
        let record = json!({
            "v": 1, "at_us": 1_763_000_000_000_000_u64, "node": "nrf", "event": "refusals", "protocol": "tls",
            "interface": "SBI", "direction": "inbound", "peer": null, "reason": "malformed", "from": "10.0.0.66/32",
            "count": count, "since_us": 0, "until_us": 1,
        });
        format!("{record}\n")
    };
    write("nrf.jsonl.000002", &counted(40_000));
    write("nrf.jsonl", &counted(4593));
    // A pattern of the shell names files that are read as the ledger's anyway: none is read twice.
    for ledgers in [
        &["amf.jsonl", "nrf.jsonl"][..],
        &["amf.jsonl", "nrf.jsonl", "nrf.jsonl.000001", "nrf.jsonl.000002"],
    ] {
        let arguments = ledgers.iter().flat_map(|ledger| ["--ledger", ledger]);
        let arguments: Vec<_> = ["hybrid.pcap", "--json"].into_iter().chain(arguments).collect();
        let output = inspect_in(directory.path(), &arguments);
        let file = &json_of(&output)["files"][0];
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert_eq!(file["connections"][0]["authenticity"]["verdict"], "quantum-safe");
        assert_eq!(
            file["notes"],
            json!([
                "44593 refusals: counted by the ledger of nrf without a record of each: malformed, from 10.0.0.66/32"
            ])
        );
    }
}

#[test]
fn a_ledger_that_is_none_is_refused_and_a_damaged_line_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("hybrid.pcap"), only_port(4401)).unwrap();
    fs::write(directory.path().join("letter.txt"), "no\nledger\n").unwrap();
    let output = inspect_in(directory.path(), &["hybrid.pcap", "--ledger", "letter.txt"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("letter.txt: not a ledger"),
        "{}",
        stderr(&output)
    );

    let damaged = format!("{}not a record\n", ledger_line(&"ab".repeat(32), "inbound"));
    fs::write(directory.path().join("damaged.jsonl"), damaged).unwrap();
    let output = inspect_in(directory.path(), &["hybrid.pcap", "--ledger", "damaged.jsonl"]);
    // The record that was there may have contradicted another.
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("findings: 1 medium"));
    assert!(
        stderr(&output).contains("warning: damaged.jsonl: line 2"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn mistyped_arguments_are_usage_errors() {
    for arguments in [&[][..], &["--legder", "x", "y.pcap"], &["x.pcap", "--ledger"]] {
        assert_eq!(inspect_in(&data(), arguments).status.code(), Some(64), "{arguments:?}");
    }
}

#[test]
fn names_from_the_network_cannot_move_the_cursor() {
    let directory = tempfile::tempdir().unwrap();
    let mut file = only_port(4401);
    let name = b"nrf.5gc";
    let place = file.windows(name.len()).position(|window| window == name).unwrap();
    file[place..place + name.len()].copy_from_slice(b"\x1b[2J\r\nx");
    fs::write(directory.path().join("hostile.pcap"), file).unwrap();
    let output = inspect_in(directory.path(), &["--alike", "hostile.pcap"]);
    assert!(stdout(&output).contains("name      ?[2J??x"), "{}", stdout(&output));
    assert!(!output.stdout.iter().any(|byte| matches!(byte, 0x1b | b'\r')));
}

#[test]
fn names_of_files_control_no_terminal_and_are_no_formula() {
    let directory = tempfile::tempdir().unwrap();
    let name = "=x\u{1b}]0;y\u{7}.pcap";
    fs::copy(data().join("sidecar-hybrid.pcap"), directory.path().join(name)).unwrap();
    let timing = inspect_in(directory.path(), &[name, "--timing", "--csv"]);
    let row = stdout(&timing).lines().nth(1).unwrap().to_owned();
    assert!(row.starts_with("'=x?]0;y?.pcap,1,"), "{row}");
    let failed = inspect_in(directory.path(), &["not there\u{1b}[2J"]);
    assert!(
        stderr(&failed).starts_with("error: not there?[2J: "),
        "{}",
        stderr(&failed)
    );
}

/// A TCP segment from a client of its own, as a record of a raw-IP capture.
fn segment(client: u32, flags: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, 0];
    packet.extend(u16::try_from(40 + payload.len()).unwrap().to_be_bytes());
    packet.extend([0, 0, 0, 0, 64, 6, 0, 0]);
    packet.extend((0x0a00_0000 + client).to_be_bytes());
    packet.extend([192, 0, 2, 1, 0x9c, 0x40, 0x1f, 0x40]);
    packet.extend([
        0,
        0,
        0,
        u8::from(flags == 0x10),
        0,
        0,
        0,
        0,
        0x50,
        flags,
        0,
        0,
        0,
        0,
        0,
        0,
    ]);
    packet.extend(payload);
    let length = u32::try_from(packet.len()).unwrap().to_le_bytes();
    [&[0; 8][..], &length, &length, &packet].concat()
}

#[test]
fn a_finding_beyond_the_rows_of_the_table_is_still_a_finding() {
    let directory = tempfile::tempdir().unwrap();
    let mut file = vec![
        0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 101, 0, 0, 0,
    ];
    for client in 0..10_000 {
        file.extend(segment(client, 0x02, b""));
    }
    let silent = directory.path().join("silent.pcap");
    fs::write(&silent, &file).unwrap();
    let nothing = "nothing was seen that carries data";
    let output = inspect_in(directory.path(), &["silent.pcap"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains(nothing), "{}", stdout(&output));
    file.extend(segment(10_000, 0x02, b""));
    file.extend(segment(10_000, 0x10, b"GET / HTTP/1.1\r\n\r\n"));
    fs::write(directory.path().join("clear.pcap"), &file).unwrap();
    let output = inspect_in(directory.path(), &["clear.pcap"]);
    assert_eq!(output.status.code(), Some(1));
    let text = stdout(&output);
    assert!(
        text.contains("readable now: 1 connection: sent unencrypted: HTTP/1 without TLS"),
        "{text}"
    );
    assert!(text.contains("1 connection: counted in the summary only"));
}

#[test]
fn e2_and_n2_in_plaintext_and_every_situation_of_strongswan_read_as_documented() {
    let arguments = ["--alike", "e2-flexric-kpm.pcap", "n2-free5gc-two-registrations.pcap"];
    let output = inspect_in(&data(), &arguments);
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!("sctp", stdout(&output));
    let output = inspect_in(&data(), &["--alike", "strongswan-6.1.0.pcap"]);
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!("strongswan", stdout(&output));
}

#[test]
fn a_rekey_without_a_post_quantum_exchange_is_a_finding_of_its_own() {
    let output = inspect_in(&data(), &["--json", "strongswan-6.1.0.pcap"]);
    let file = &json_of(&output)["files"][0];
    let regressions: Vec<&Value> = file["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["concern"] == "regression")
        .collect();
    // Situations 5 and 6, and the IKE_SAs that rekeys made of theirs.
    assert_eq!(regressions.len(), 4);
    for finding in regressions {
        let example = finding["example"].as_str().unwrap();
        assert!(
            example.starts_with("10.77.5.") || example.starts_with("10.77.6."),
            "{example}"
        );
    }
}

#[test]
fn a_packed_capture_reads_as_the_one_it_was_made_of() {
    let plain = inspect_in(&data(), &["--json", "e2-flexric-kpm.pcap"]);
    let directory = tempfile::tempdir().unwrap();
    let to = directory.path().join("e2-flexric-kpm.pcap");
    fs::copy(data().join("e2-flexric-kpm.pcap"), &to).unwrap();
    let status = Command::new("gzip").arg("-k").arg(&to).status();
    assert!(status.expect("gzip runs: it is essential in Debian").success());
    let packed = inspect_in(directory.path(), &["--json", "e2-flexric-kpm.pcap.gz"]);
    let connections = |output: &Output| json_of(output)["files"][0]["connections"].clone();
    assert_eq!(connections(&plain), connections(&packed));
}

#[test]
fn a_reader_that_closes_the_pipe_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_bartizan"))
        .env("COLUMNS", "400")
        .args(["inspect", "--json", "openssl-3.5.7.pcap"])
        .current_dir(data())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(stderr(&output), "");
    assert_eq!(output.status.code(), Some(1));
}

/// Both ends of the recorded N2 and E2 links, one between sidecars, and a node that no capture
/// shows.
const NETWORK: &str = "
nodes:
  amf: { function: AMF, address: 127.0.0.18 }
  gnb: { function: gNB, address: 127.0.0.100 }
  cu: { function: O-CU-CP, address: 10.9.1.2 }
  ric: { function: near-RT RIC, address: 10.9.0.1 }
  nrf: { function: NRF, address: 10.200.0.12 }
  consumers: { function: AMF, address: 10.200.0.1 }
interfaces:
  - { kind: N2, between: [amf, gnb], with: nothing, policy: { profile: transition, reason: no IPsec yet, expires: 2099-01-01 } }
  - { kind: SBI, between: [consumers, nrf], with: sidecar }
  - { kind: E2, between: [cu, ric], with: ipsec }
";

fn with_network(text: &str, captures: &[&str]) -> Output {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("network.yaml");
    fs::write(&file, text).unwrap();
    let arguments = [&["--deployment", file.to_str().unwrap()], captures].concat();
    inspect_in(&data(), &arguments)
}

#[test]
fn links_of_real_peers_read_as_documented() {
    let output = inspect_in(&data(), &["n2-free5gc-two-registrations.pcap", "strongswan-6.1.0.pcap"]);
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!("links", stdout(&output));
}

#[test]
fn a_deployment_file_names_every_link_and_misses_those_it_does_not_see() {
    let captures = ["n2-free5gc-two-registrations.pcap", "sidecar-hybrid.pcap"];
    let output = with_network(NETWORK, &captures);
    assert_eq!(output.status.code(), Some(1), "E2 is in the file and in no capture");
    insta::assert_snapshot!("links_deployed", stdout(&output));
}

#[test]
fn a_network_that_is_all_there_and_keeps_its_policies_is_clean() {
    let text = NETWORK
        .lines()
        .filter(|line| !line.contains("kind: E2") && !line.contains("kind: N2"))
        .collect::<Vec<_>>();
    let output = with_network(&text.join("\n"), &["sidecar-hybrid.pcap"]);
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
}

#[test]
fn a_link_that_is_not_in_the_file_is_a_finding_though_it_is_safe() {
    let text = NETWORK
        .lines()
        .filter(|line| !line.contains("kind: SBI"))
        .collect::<Vec<_>>();
    let output = with_network(&text.join("\n"), &["--json", "sidecar-hybrid.pcap"]);
    assert_eq!(output.status.code(), Some(1));
    let file = &json_of(&output)["files"][0];
    let link = &file["links"][0];
    assert_eq!(link["in_deployment"], "no");
    assert_eq!(link["ends"][0]["node"], "consumers");
    assert_eq!(link["confidentiality"]["verdict"], "quantum-safe");
    assert_eq!(link["objections"][0]["concern"], "not in the file");
    assert_eq!(file["findings"][0]["concern"], "not in the file");
    assert_eq!(file["links_not_seen"], json!([0, 1]));
}

#[test]
fn a_deployment_file_that_cannot_be_read_is_a_usage_error() {
    for text in ["nodes: [", "nodes: {}\nlinks: []\n"] {
        let output = with_network(text, &["sidecar-hybrid.pcap"]);
        assert_eq!(output.status.code(), Some(64));
        assert!(stderr(&output).contains("network.yaml"), "{}", stderr(&output));
    }
}

#[test]
fn subscribers_that_the_null_scheme_does_not_conceal_are_a_finding_above_the_transport() {
    let captures = [
        "n2-free5gc-two-registrations.pcap",
        "sbi-free5gc-two-registrations.pcap",
    ];
    for capture in captures {
        let output = inspect_in(&data(), &["--json", capture]);
        let file = &json_of(&output)["files"][0];
        let findings = file["findings"].as_array().unwrap();
        let finding = findings
            .iter()
            .find(|finding| finding["concern"] == "above the transport");
        let because = finding.unwrap()["because"].as_str().unwrap();
        assert!(because.contains("null scheme"), "{because}");
        let holes = file["connections"].as_array().unwrap().iter();
        let seen: u64 = holes
            .flat_map(|connection| connection["above_transport"].as_array().unwrap())
            .map(|hole| hole["count"].as_u64().unwrap())
            .sum();
        assert!(
            seen >= 4,
            "two registrations, each on its way to several functions: {seen}"
        );
    }
}

#[test]
fn a_ledger_is_printed_for_people_with_what_is_missing_and_inspect_names_the_command() {
    let directory = tempfile::tempdir().unwrap();
    let ledger = |arguments: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_bartizan"))
            .arg("ledger")
            .args(arguments)
            .current_dir(directory.path())
            .output()
            .unwrap()
    };
    let file = directory.path().join("amf.ledger");
    let good = ledger_line(&"ab".repeat(32), "outbound").trim_end().to_owned() + "\n";
    fs::write(&file, &good).unwrap();
    let output = ledger(&["amf.ledger"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    let row = "amf   127.0.0.1:2  SBI        out        X25519MLKEM768  mldsa65    accepted  handshake";
    assert!(text.contains(row), "{text}");
    assert!(
        text.contains("1 record of 1 node: 1 accepted, 0 excepted, 0 refused, 0 ended\n1 on SBI\n"),
        "{text}"
    );
    assert!(!text.contains("missing"), "{text}");

    // A refusal, a gap, a line that a crash cut, and a rotated file that is gone.
    let accepted = r#""verdict":{"verdict":"accepted"}"#;
    assert!(good.contains(accepted), "{good}");
    let refusal = r#""verdict":{"verdict":"refused","reason":"revoked","detail":"the \u001b certificate"}"#;
    let refused = good.replace(accepted, refusal);
    let gap = r#"{"v":1,"at_us":1795233001000001,"node":"amf","event":"lost","records":7}"#;
    fs::write(&file, format!("{refused}{gap}\n{}", &good[..40])).unwrap();
    for number in ["000002", "000004"] {
        fs::write(directory.path().join(format!("amf.ledger.{number}")), &good).unwrap();
    }
    let output = ledger(&["amf.ledger"]);
    assert_eq!(output.status.code(), Some(1));
    let text = stdout(&output);
    assert!(text.contains("refused   revoked: the ? certificate\n"), "{text}");
    assert!(
        text.contains("4 records of 1 node: 2 accepted, 0 excepted, 1 refused, 0 ended"),
        "{text}"
    );
    let missing = "missing: 7 records lost by their writers, 1 line damaged or cut, 1 file of rotated ledgers\n";
    assert!(text.contains(missing), "{text}");
    assert!(
        stderr(&output).contains("amf.ledger: line 3: cut off"),
        "{}",
        stderr(&output)
    );

    let json = json_of(&ledger(&["amf.ledger", "--json"]));
    assert_eq!(json["schema"], "bartizan-ledger/1");
    assert_eq!(json["records"].as_array().unwrap().len(), 4);
    assert_eq!(json["records"][2]["verdict"], "refused");
    assert_eq!(json["records"][2]["group"], "X25519MLKEM768");
    assert_eq!(json["totals"]["lost"], 7);
    // Gaps have no peer: they may hide records of each.
    let other = json_of(&ledger(&["amf.ledger", "--json", "--peer", "nrf"]));
    // A connection that was ended has a key and no peer: it may be of each.
    let ended = json!({
        "v": 1, "at_us": 1_795_232_899_100_000_u64, "node": "nrf", "event": "closed",
        "key": { "protocol": "tls", "client_random": "ab".repeat(32) },
        "bytes": { "sent": 91, "received": 4400 }, "lasted_us": 612,
        "refused": { "reason": "expired", "detail": "a certificate of the peer ended" },
    });
    fs::write(directory.path().join("any.ledger"), format!("{ended}\n")).unwrap();
    assert_eq!(ledger(&["any.ledger", "--peer", "nrf"]).status.code(), Some(1));
    assert_eq!(other["totals"]["records"], 1);
    let later = json_of(&ledger(&[
        "amf.ledger",
        "--json",
        "--since",
        "2026-11-21T03:50:01.000001Z",
    ]));
    assert_eq!(later["records"].as_array().unwrap().len(), 1, "{later}");
    assert_eq!(ledger(&["amf.ledger", "--since", "noon"]).status.code(), Some(64));
    fs::write(directory.path().join("text"), "text\n").unwrap();
    for absent in ["text", "absent.ledger"] {
        assert_eq!(ledger(&[absent]).status.code(), Some(2), "{absent}");
    }

    fs::write(directory.path().join("gap.ledger"), gap).unwrap();
    let output = inspect_in(directory.path(), &["gap.ledger"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("hint: a ledger is printed by `bartizan ledger gap.ledger`"));
    assert!(stderr(&output).contains("--ledger LEDGER"));
}
