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

/// Links that have this member, by a string in it.
fn by_member<'a>(document: &'a Value, member: &str, key: &str) -> BTreeMap<String, &'a Value> {
    let connections = document["files"][0]["connections"].as_array().unwrap();
    let of = |connection: &'a Value| Some((connection[member][key].as_str()?.to_owned(), connection));
    connections.iter().filter_map(of).collect()
}

#[test]
fn every_proposal_and_choice_of_ike_sa_init_is_read_as_tshark_reads_it() {
    let fields = [
        "isakmp.ispi",
        "isakmp.rspi",
        "isakmp.flag_r",
        "isakmp.tf.type",
        "isakmp.tf.id.encr",
        "isakmp.tf.id.prf",
        "isakmp.tf.id.integ",
        "isakmp.tf.id.dh",
        "isakmp.tf.id",
        "isakmp.key_exchange.dh_group",
        "isakmp.notify.msgtype",
    ];
    let document = inspect("strongswan-6.1.0.pcap");
    let ours = by_member(&document, "ike", "initiator_spi");
    let filter = "isakmp.exchangetype == 34 && isakmp.tf.type && !icmp";
    let rows = tshark("strongswan-6.1.0.pcap", &[], filter, &fields);
    // The last request and the answer of each IKE_SA count.
    let mut last = BTreeMap::new();
    for row in rows {
        last.insert((row["isakmp.ispi"][0].clone(), row["isakmp.flag_r"][0].clone()), row);
    }
    assert_eq!(last.len(), 16 + 15, "16 asked, and one was refused");
    for ((spi, response), row) in last {
        let ike = &ours[&spi]["ike"];
        let (proposals, data, notified) = if response == "1" {
            assert_eq!(ike["responder_spi"].as_str().unwrap(), row["isakmp.rspi"][0]);
            let chosen = std::slice::from_ref(&ike["chosen"]);
            (chosen, "key_exchange_chosen", "notified_by_responder")
        } else {
            let offered = ike["proposals_offered"].as_array().unwrap();
            (&offered[..], "key_exchange_offered", "notified_by_initiator")
        };
        let transforms: Vec<&Value> = proposals
            .iter()
            .flat_map(|proposal| proposal["transforms"].as_array().unwrap())
            .collect();
        let of = |wanted: &dyn Fn(u64) -> bool| -> Vec<u64> {
            let wanted = transforms
                .iter()
                .filter(|transform| wanted(transform["type"].as_u64().unwrap()));
            wanted.map(|transform| transform["code"].as_u64().unwrap()).collect()
        };
        let types: Vec<u64> = transforms
            .iter()
            .map(|transform| transform["type"].as_u64().unwrap())
            .collect();
        assert_eq!(types, numbers(&row["isakmp.tf.type"]), "{spi}");
        assert_eq!(of(&|kind| kind == 1), numbers(&row["isakmp.tf.id.encr"]));
        assert_eq!(of(&|kind| kind == 2), numbers(&row["isakmp.tf.id.prf"]));
        assert_eq!(of(&|kind| kind == 3), numbers(&row["isakmp.tf.id.integ"]));
        assert_eq!(of(&|kind| kind == 4), numbers(&row["isakmp.tf.id.dh"]));
        assert_eq!(of(&|kind| (6..=12).contains(&kind)), numbers(&row["isakmp.tf.id"]));
        assert_eq!(
            vec![ike[data]["code"].as_u64().unwrap()],
            numbers(&row["isakmp.key_exchange.dh_group"])
        );
        let mut theirs = numbers(&row["isakmp.notify.msgtype"]);
        let mut notified = list(&ike[notified], "code");
        theirs.sort_unstable();
        notified.sort_unstable();
        assert_eq!(notified, theirs, "{spi}");
    }
}

#[test]
fn packets_bytes_and_times_of_every_exchange_are_those_tshark_sees() {
    let fields = [
        "isakmp.ispi",
        "isakmp.exchangetype",
        "isakmp.messageid",
        "isakmp.flag_r",
        "frame.number",
        "isakmp.length",
    ];
    let document = inspect("strongswan-6.1.0.pcap");
    let ours = by_member(&document, "ike", "initiator_spi");
    // Of several IKE_SA_INIT with the same number the order alone tells which is which: they are compared above.
    let filter = "isakmp && isakmp.exchangetype != 34 && isakmp.exchangetype != 37 && !icmp";
    let mut theirs: BTreeMap<_, Vec<(u64, u64)>> = BTreeMap::new();
    for row in tshark("strongswan-6.1.0.pcap", &[], filter, &fields) {
        let number = |field: &str| numbers(&row[field])[0];
        let key = (
            row["isakmp.ispi"][0].clone(),
            number("isakmp.exchangetype"),
            number("isakmp.messageid"),
            number("isakmp.flag_r"),
        );
        let message = (number("frame.number"), number("isakmp.length"));
        theirs.entry(key).or_default().push(message);
    }
    assert_eq!(theirs.len(), 80);
    for ((spi, kind, message_id, response), messages) in theirs {
        let exchanges = ours[&spi]["ike"]["exchanges"].as_array().unwrap();
        let exchange = exchanges
            .iter()
            .find(|exchange| exchange["code"] == kind && exchange["message_id"] == message_id)
            .unwrap();
        let half = &exchange[if response == 1 { "response" } else { "request" }];
        assert_eq!(half["first_packet"], messages[0].0);
        assert_eq!(half["last_packet"], messages[messages.len() - 1].0);
        assert_eq!(half["packets"], messages.len());
        assert_eq!(
            half["ike_fragments"],
            if messages.len() > 1 { messages.len() } else { 0 }
        );
        assert_eq!(
            half["ike_bytes"],
            messages.iter().map(|(_, length)| length).sum::<u64>()
        );
        assert_eq!(half["complete"], true);
    }
}

#[test]
fn packets_and_sequence_numbers_of_esp_are_those_tshark_counts() {
    let document = inspect("strongswan-6.1.0.pcap");
    let ours = by_member(&document, "esp", "spi");
    let mut theirs: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for row in tshark("strongswan-6.1.0.pcap", &[], "esp", &["esp.spi", "esp.sequence"]) {
        let spi = row["esp.spi"][0].trim_start_matches("0x").to_owned();
        theirs.entry(spi).or_default().push(numbers(&row["esp.sequence"])[0]);
    }
    assert_eq!((ours.len(), theirs.len()), (38, 38));
    for (spi, sequences) in theirs {
        let esp = &ours[&spi]["esp"];
        assert_eq!(esp["packets"], sequences.len());
        assert_eq!(esp["first_sequence"], sequences[0]);
        assert_eq!(esp["highest_sequence"], *sequences.iter().max().unwrap());
    }
}

#[test]
fn chunks_protocols_and_sack_delays_of_sctp_are_those_tshark_measures() {
    for (name, chunks) in [("e2-flexric-kpm.pcap", 17), ("n2-free5gc-two-registrations.pcap", 22)] {
        let document = inspect(name);
        let sctp = &document["files"][0]["connections"][0]["sctp"];
        let both = |field: &str| -> u64 {
            let sides = ["from_initiator", "from_responder"];
            sides.iter().map(|side| sctp[side][field].as_u64().unwrap()).sum()
        };
        let fields = ["sctp.data_tsn_raw", "sctp.data_payload_proto_id", "sctp.data_e_bit"];
        let rows = tshark(name, &[], "sctp.chunk_type == 0", &fields);
        let tsns: Vec<u64> = rows.iter().flat_map(|row| numbers(&row["sctp.data_tsn_raw"])).collect();
        assert_eq!(tsns.len(), chunks);
        assert_eq!(both("chunks") + both("repeated_chunks"), chunks as u64);
        let protocols: Vec<u64> = rows
            .iter()
            .flat_map(|row| numbers(&row["sctp.data_payload_proto_id"]))
            .collect();
        let protocol = &sctp["from_initiator"]["payload_protocols"][0]["payload_protocol"];
        assert!(protocols.iter().all(|theirs| protocol == theirs));
        // The same from tshark's times and numbers: each TSN that was sent once, to the first SACK that reaches it.
        let fields = [
            "frame.time_epoch",
            "ip.src",
            "sctp.data_tsn_raw",
            "sctp.sack_cumulative_tsn_ack_raw",
        ];
        let mut sent: BTreeMap<(String, u64), Vec<u64>> = BTreeMap::new();
        let mut sacks = Vec::new();
        for row in tshark(name, &[], "sctp", &fields) {
            let (seconds, fraction) = row["frame.time_epoch"][0].split_once('.').unwrap();
            let time = seconds.parse::<u64>().unwrap() * 1_000_000_000 + fraction.parse::<u64>().unwrap();
            let source = &row["ip.src"][0];
            for tsn in numbers(&row["sctp.data_tsn_raw"]) {
                sent.entry((source.clone(), tsn)).or_default().push(time);
            }
            for cumulative in numbers(&row["sctp.sack_cumulative_tsn_ack_raw"]) {
                sacks.push((source.clone(), cumulative, time));
            }
        }
        let mut delays = Vec::new();
        for ((source, tsn), times) in sent.iter().filter(|(_, times)| times.len() == 1) {
            let covers = |(from, cumulative, time): &&(String, u64, u64)| {
                from != source && cumulative >= tsn && *time >= times[0]
            };
            delays.extend(sacks.iter().find(covers).map(|(_, _, time)| time - times[0]));
        }
        let field = |field: &str| {
            let sides = ["from_initiator", "from_responder"];
            let values: Vec<u64> = sides
                .iter()
                .map(|side| sctp[side]["acknowledged_after"][field].as_u64().unwrap())
                .collect();
            values
        };
        assert_eq!(field("count").iter().sum::<u64>(), delays.len() as u64, "{name}");
        assert_eq!(
            field("total_ns").iter().sum::<u64>(),
            delays.iter().sum::<u64>(),
            "{name}"
        );
        assert_eq!(field("most_ns").iter().max(), delays.iter().max(), "{name}");
    }
}

#[test]
fn a_connection_is_named_by_the_request_that_tshark_reads_there() {
    let name = "sbi-free5gc-two-registrations.pcap";
    let fields = ["frame.number", "tcp.srcport", "http2.headers.path"];
    let mut first: BTreeMap<u64, (u64, String)> = BTreeMap::new();
    for row in tshark(name, &["-d", "tcp.port==8000,http2"], "http2.headers.path", &fields) {
        let port = numbers(&row["tcp.srcport"])[0];
        let request = (numbers(&row["frame.number"])[0], row["http2.headers.path"][0].clone());
        first.entry(port).or_insert(request);
    }
    let connections = by_client_port(&inspect(name));
    assert_eq!(connections.len(), 65);
    for (port, connection) in connections {
        let interface = &connection["interface"];
        // free5GC opens some connections and closes them unused.
        let Some((packet, path)) = first.get(&port) else {
            assert!(
                interface.is_null() && connection["http2"]["requests"] == 0,
                "{connection}"
            );
            continue;
        };
        assert_eq!(interface["name"], "SBI");
        assert_eq!(interface["known_by"], "request path");
        assert_eq!(interface["sources"][0], format!("packet {packet}"));
        let server = connection["functions"]["server"][0].as_str().unwrap().to_lowercase();
        assert!(
            path.starts_with(&format!("/n{server}-")),
            "{path} is served by {server}"
        );
    }
}
