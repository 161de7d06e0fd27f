//! What `bartizan inspect` reads, beside what tshark reads: compared as numbers, because tshark 4.0 has no names for
//! ML-KEM groups.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

fn capture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../crates/wire/tests/data")
        .join(name)
}

/// The fields of every packet that `filter` lets through: one map from field to values per packet.
fn tshark(name: &str, options: &[&str], filter: &str, fields: &[&str]) -> Vec<BTreeMap<String, Vec<String>>> {
    let mut command = Command::new("tshark");
    command
        .arg("-r")
        .arg(capture(name))
        .args(options)
        .args(["-Y", filter, "-T", "fields", "-E", "occurrence=a"]);
    command.args(["-E", "aggregator=,", "-E", "separator=/t"]);
    for field in fields {
        command.args(["-e", field]);
    }
    let output = command
        .output()
        .expect("tshark runs: `apt-get install tshark`, or `make setup`");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let row = |line: &str| {
        let values = line.split('\t').map(|cell| {
            cell.split(',')
                .filter(|value| !value.is_empty())
                .map(str::to_owned)
                .collect()
        });
        fields.iter().map(|field| (*field).to_owned()).zip(values).collect()
    };
    text.lines().map(row).collect()
}

fn inspect(name: &str) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_bartizan"))
        .args(["inspect", "--json"])
        .arg(capture(name))
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Connections by client port; each capture uses a port once.
fn by_client_port(document: &Value) -> BTreeMap<u64, Value> {
    let connections = document["files"][0]["connections"].as_array().unwrap();
    let port = |connection: &Value| {
        connection["client"]
            .as_str()
            .unwrap()
            .rsplit(':')
            .next()
            .unwrap()
            .parse()
            .unwrap()
    };
    connections
        .iter()
        .map(|connection| (port(connection), connection.clone()))
        .collect()
}

/// Code points and sizes, however tshark writes them: `0x11ec` or `4588`.
fn numbers(values: &[String]) -> Vec<u64> {
    let number = |value: &String| match value.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => value.parse(),
    };
    values.iter().map(|value| number(value).unwrap()).collect()
}

fn list(value: &Value, field: &str) -> Vec<u64> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item[field].as_u64().unwrap())
        .collect()
}

#[test]
fn every_client_hello_is_read_as_tshark_reads_it() {
    let fields = [
        "tcp.srcport",
        "tls.handshake.random",
        "tls.handshake.ciphersuite",
        "tls.handshake.extensions_supported_group",
        "tls.handshake.extensions_key_share_group",
        "tls.handshake.extensions_key_share_key_exchange_length",
        "tls.handshake.extensions.supported_version",
        "tls.handshake.sig_hash_alg",
        "tls.handshake.extensions_server_name",
        "tls.handshake.length",
    ];
    let ours = by_client_port(&inspect("openssl-3.5.7.pcap"));
    // A second ClientHello replaces the first: ours tells of the one that counts.
    let mut theirs = BTreeMap::new();
    for row in tshark("openssl-3.5.7.pcap", &[], "tls.handshake.type == 1", &fields) {
        theirs.insert(numbers(&row["tcp.srcport"])[0], row);
    }
    assert_eq!(theirs.len(), 16);
    for (port, row) in theirs {
        let tls = &ours[&port]["tls"];
        assert_eq!(tls["client_random"].as_str().unwrap(), row["tls.handshake.random"][0]);
        assert_eq!(
            tls["server_name"].as_str().unwrap(),
            row["tls.handshake.extensions_server_name"][0]
        );
        let suites: Vec<u64> = tls["cipher_suites_offered"]
            .as_array()
            .unwrap()
            .iter()
            .map(|suite| suite.as_u64().unwrap())
            .collect();
        assert_eq!(suites, numbers(&row["tls.handshake.ciphersuite"]));
        assert_eq!(
            list(&tls["groups_offered"], "code"),
            numbers(&row["tls.handshake.extensions_supported_group"])
        );
        assert_eq!(
            list(&tls["key_shares"], "code"),
            numbers(&row["tls.handshake.extensions_key_share_group"])
        );
        assert_eq!(
            list(&tls["key_shares"], "bytes"),
            numbers(&row["tls.handshake.extensions_key_share_key_exchange_length"])
        );
        assert_eq!(
            list(&tls["versions_offered"], "code"),
            numbers(&row["tls.handshake.extensions.supported_version"])
        );
        assert_eq!(
            list(&tls["signature_schemes_offered"], "code"),
            numbers(&row["tls.handshake.sig_hash_alg"])
        );
        let header = 4;
        assert_eq!(
            tls["client_hello_bytes"].as_u64().unwrap(),
            numbers(&row["tls.handshake.length"])[0] + header
        );
    }
}

#[test]
fn every_choice_of_a_server_is_read_as_tshark_reads_it() {
    const HELLO_RETRY_REQUEST: &str = "cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c";
    let fields = [
        "tcp.dstport",
        "tls.handshake.random",
        "tls.handshake.ciphersuite",
        "tls.handshake.extensions_key_share_group",
        "tls.handshake.extensions_key_share_selected_group",
        "tls.handshake.server_named_curve",
        "tls.handshake.extensions.psk.identity.selected",
    ];
    let ours = by_client_port(&inspect("openssl-3.5.7.pcap"));
    let rows = tshark("openssl-3.5.7.pcap", &[], "tls.handshake.type == 2", &fields);
    assert_eq!(rows.len(), 16);
    let mut retries = 0;
    for row in rows {
        let tls = &ours[&numbers(&row["tcp.dstport"])[0]]["tls"];
        if row["tls.handshake.random"][0] == HELLO_RETRY_REQUEST {
            retries += 1;
            let asked = numbers(&row["tls.handshake.extensions_key_share_selected_group"]);
            assert_eq!(tls["hello_retry_request"]["group"]["code"].as_u64().unwrap(), asked[0]);
            continue;
        }
        assert_eq!(
            vec![tls["cipher_suite"].as_u64().unwrap()],
            numbers(&row["tls.handshake.ciphersuite"])
        );
        // TLS 1.3 names the group in the ServerHello, TLS 1.2 the curve in the ServerKeyExchange beside it, a PSK alone
        // none.
        let group = [
            numbers(&row["tls.handshake.extensions_key_share_group"]),
            numbers(&row["tls.handshake.server_named_curve"]),
        ]
        .concat();
        assert_eq!(tls["group"]["code"].as_u64(), group.first().copied());
        let resumed = !row["tls.handshake.extensions.psk.identity.selected"].is_empty();
        assert_eq!(tls["resumed"].as_bool().unwrap(), resumed);
    }
    assert_eq!(retries, 1);
}

#[test]
fn bytes_and_packets_of_every_connection_are_those_tshark_counts() {
    for (name, connections) in [("openssl-3.5.7.pcap", 16), ("sbi-free5gc-two-registrations.pcap", 65)] {
        let ours = by_client_port(&inspect(name));
        assert_eq!(ours.len(), connections);
        let mut theirs: BTreeMap<u64, [(u64, u64); 2]> = BTreeMap::new();
        for row in tshark(name, &[], "tcp", &["tcp.srcport", "tcp.dstport", "tcp.len"]) {
            let (source, destination) = (numbers(&row["tcp.srcport"])[0], numbers(&row["tcp.dstport"])[0]);
            let (port, side) = if ours.contains_key(&source) {
                (source, 0)
            } else {
                (destination, 1)
            };
            let (packets, bytes) = &mut theirs.entry(port).or_default()[side];
            *packets += 1;
            *bytes += numbers(&row["tcp.len"])[0];
        }
        for (port, counts) in theirs {
            for (side, (packets, bytes)) in ["from_client", "from_server"].iter().zip(counts) {
                let traffic = &ours[&port][side];
                let (all, repeated) = (
                    traffic["bytes"].as_u64().unwrap(),
                    traffic["repeated_bytes"].as_u64().unwrap(),
                );
                assert_eq!(all + repeated, bytes, "{name} {port} {side}");
                // What follows the end of a connection is not part of it.
                assert!(
                    traffic["packets"].as_u64().unwrap().abs_diff(packets) <= 1,
                    "{name} {port} {side}"
                );
            }
        }
    }
}

#[test]
fn requests_and_frames_of_a_real_core_are_those_tshark_counts() {
    let name = "sbi-free5gc-two-registrations.pcap";
    let ours = by_client_port(&inspect(name));
    let fields = ["tcp.srcport", "http2.type", "http2.streamid"];
    let (mut frames, mut requests) = (0, 0);
    for row in tshark(name, &["-d", "tcp.port==8000,http2"], "http2.type", &fields) {
        let kinds = numbers(&row["http2.type"]);
        frames += kinds.len() as u64;
        if ours.contains_key(&numbers(&row["tcp.srcport"])[0]) {
            requests += kinds.iter().filter(|kind| **kind == 1).count() as u64;
        }
    }
    let sum = |field: &str| {
        ours.values()
            .map(|connection| connection["http2"][field].as_u64().unwrap())
            .sum::<u64>()
    };
    assert_eq!(sum("requests"), requests);
    assert_eq!(sum("frames_from_client") + sum("frames_from_server"), frames);
    assert!(requests > 0 && frames > requests);
}

/// The capture as `editcap` writes it with these options, read by us.
fn edited(name: &str, options: &[&str]) -> Value {
    let directory = tempfile::tempdir().unwrap();
    let to = directory.path().join(name);
    let status = Command::new("editcap")
        .args(options)
        .arg(capture(name))
        .arg(&to)
        .status();
    assert!(status.expect("editcap runs: it comes with tshark").success());
    let output = Command::new(env!("CARGO_BIN_EXE_bartizan"))
        .args(["inspect", "--json"])
        .arg(&to)
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_formats_wireshark_writes_read_alike() {
    for name in ["openssl-3.5.7.pcap", "sbi-free5gc-two-registrations.pcap"] {
        let expected = inspect(name)["files"][0]["connections"].clone();
        for format in ["pcapng", "nsecpcap", "pcap"] {
            let document = edited(name, &["-F", format]);
            assert_eq!(document["files"][0]["connections"], expected, "{name} as {format}");
        }
    }
}

#[test]
fn handshakes_that_a_snap_length_cut_are_not_called_safe() {
    let document = edited("openssl-3.5.7.pcap", &["-s", "100"]);
    let file = &document["files"][0];
    assert!(file["snapped"].as_u64().unwrap() > 100);
    assert_eq!(file["summary"]["connections"], 16);
    assert_eq!(file["summary"]["confidentiality"]["quantum_safe"], 0);
    assert_eq!(file["summary"]["confidentiality"]["vulnerable"], 0);
    assert!(
        !file["findings"].as_array().unwrap().is_empty(),
        "what is not shown to be safe is a finding"
    );
}

#[test]
fn duplicated_packets_change_nothing_but_their_count() {
    let directory = tempfile::tempdir().unwrap();
    let to = directory.path().join("twice.pcap");
    let from = capture("openssl-3.5.7.pcap");
    // mergecap puts the two copies together by time, so that each packet stands beside its double.
    let status = Command::new("mergecap")
        .arg("-w")
        .arg(&to)
        .arg(&from)
        .arg(&from)
        .status();
    assert!(status.expect("mergecap runs: it comes with tshark").success());
    let output = Command::new(env!("CARGO_BIN_EXE_bartizan"))
        .args(["inspect", "--json"])
        .arg(&to)
        .output()
        .unwrap();
    let twice: Value = serde_json::from_slice(&output.stdout).unwrap();
    let once = inspect("openssl-3.5.7.pcap");
    let summary = |document: &Value| document["files"][0]["summary"].clone();
    assert_eq!(summary(&once), summary(&twice));
}
