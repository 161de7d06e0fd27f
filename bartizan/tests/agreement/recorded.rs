//! Captures in the tree: recorded once, from real peers.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

use crate::tshark::{capture, connections, inspect, numbers, rows, wireshark};
use crate::{ike, sctp, tls};

/// Connections by client port; each capture uses a port once.
fn by_client_port(document: &Value) -> BTreeMap<u64, Value> {
    let port = |connection: &Value| {
        let client = connection["client"].as_str().unwrap();
        client.rsplit(':').next().unwrap().parse().unwrap()
    };
    let all = connections(document).iter();
    all.map(|connection| (port(connection), connection.clone())).collect()
}

#[test]
fn every_handshake_of_openssl_is_read_as_tshark_reads_it() {
    let file = capture("openssl-3.5.7.pcap");
    let agreed = tls::agree(&file, &inspect(&file));
    let expected = tls::Agreed {
        client_hellos: 16,
        earlier_hellos: 1,
        server_hellos: 15,
        retries: 1,
        curves: 2,
        signatures: 2,
        alerts: 1,
        certificates: 3,
    };
    assert_eq!(agreed, expected);
}

#[test]
fn the_handshake_of_two_sidecars_is_read_as_tshark_reads_it() {
    let file = capture("sidecar-hybrid.pcap");
    let agreed = tls::agree(&file, &inspect(&file));
    assert_eq!((agreed.client_hellos, agreed.server_hellos), (1, 1));
}

#[test]
fn every_handshake_behind_starttls_and_in_a_syn_is_read_as_tshark_reads_it() {
    for (name, handshakes, retries) in [("starttls.pcap", 10, 2), ("tcp-fast-open.pcap", 4, 1)] {
        let file = capture(name);
        let agreed = tls::agree(&file, &inspect(&file));
        let read = (agreed.client_hellos, agreed.server_hellos, agreed.retries);
        assert_eq!(read, (handshakes, handshakes, retries), "{name}");
    }
}

#[test]
fn bytes_and_packets_of_every_connection_are_those_tshark_counts() {
    for (name, connections) in [("openssl-3.5.7.pcap", 16), ("sbi-free5gc-two-registrations.pcap", 65)] {
        let ours = by_client_port(&inspect(&capture(name)));
        assert_eq!(ours.len(), connections);
        let mut theirs: BTreeMap<u64, [(u64, u64); 2]> = BTreeMap::new();
        for row in rows(&capture(name), &[], "tcp", &["tcp.srcport", "tcp.dstport", "tcp.len"]) {
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
                // Packets behind the end of a connection are not part of it.
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
    let ours = by_client_port(&inspect(&capture(name)));
    let fields = ["tcp.srcport", "http2.type", "http2.streamid"];
    let (mut frames, mut requests) = (0, 0);
    for row in rows(&capture(name), &["-d", "tcp.port==8000,http2"], "http2.type", &fields) {
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
    let mut arguments: Vec<PathBuf> = options.iter().map(PathBuf::from).collect();
    arguments.extend([capture(name), to.clone()]);
    let _ = wireshark("editcap", arguments);
    inspect(&to)
}

#[test]
fn the_formats_wireshark_writes_read_alike() {
    for name in ["openssl-3.5.7.pcap", "sbi-free5gc-two-registrations.pcap"] {
        let expected = inspect(&capture(name))["files"][0]["connections"].clone();
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
    // mergecap puts the two copies together by time, so that each packet stands next to its double.
    let _ = wireshark("mergecap", [PathBuf::from("-w"), to.clone(), from.clone(), from]);
    let twice = inspect(&to);
    let once = inspect(&capture("openssl-3.5.7.pcap"));
    let summary = |document: &Value| document["files"][0]["summary"].clone();
    assert_eq!(summary(&once), summary(&twice));
}

#[test]
fn every_exchange_of_strongswan_is_read_as_tshark_reads_it() {
    let file = capture("strongswan-6.1.0.pcap");
    let agreed = ike::agree(&file, &inspect(&file));
    // 16 IKE_SAs were asked for, and one was refused.
    let expected = ike::Agreed {
        inits: 16 + 15,
        halves: 80,
        esp: 38,
        asked_otherwise: 1,
    };
    assert_eq!(agreed, expected);
}

#[test]
fn chunks_protocols_and_sack_delays_of_sctp_are_those_tshark_measures() {
    for (name, chunks) in [("e2-flexric-kpm.pcap", 17), ("n2-free5gc-two-registrations.pcap", 22)] {
        let file = capture(name);
        assert_eq!(sctp::agree(&file, &inspect(&file)), chunks, "{name}");
    }
}

#[test]
fn a_connection_is_named_by_the_request_that_tshark_reads_there() {
    let name = "sbi-free5gc-two-registrations.pcap";
    let fields = ["frame.number", "tcp.srcport", "http2.headers.path"];
    let mut first: BTreeMap<u64, (u64, String)> = BTreeMap::new();
    for row in rows(
        &capture(name),
        &["-d", "tcp.port==8000,http2"],
        "http2.headers.path",
        &fields,
    ) {
        let port = numbers(&row["tcp.srcport"])[0];
        let request = (numbers(&row["frame.number"])[0], row["http2.headers.path"][0].clone());
        first.entry(port).or_insert(request);
    }
    let connections = by_client_port(&inspect(&capture(name)));
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

#[test]
fn what_both_ends_of_ssh_can_do_and_the_host_key_are_those_tshark_reads() {
    let file = capture("openssh-10.0.pcap");
    let fields = [
        "tcp.srcport",
        "tcp.dstport",
        "frame.number",
        "ssh.kex_algorithms",
        "ssh.server_host_key_algorithms",
        "ssh.encryption_algorithms_client_to_server",
        "ssh.host_key.type",
    ];
    let options: Vec<String> = [830, 4502, 4503, 4504, 4505, 4506, 4507]
        .iter()
        .flat_map(|port| ["-d".to_owned(), format!("tcp.port=={port},ssh")])
        .collect();
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let connections = by_client_port(&inspect(&file));
    assert_eq!(connections.len(), 7);
    let (mut lists, mut keys) = (0, 0);
    for row in rows(&file, &options, "ssh.message_code", &fields) {
        let [source, destination] = ["tcp.srcport", "tcp.dstport"].map(|field| numbers(&row[field])[0]);
        let (side, connection) = match connections.get(&source) {
            Some(connection) => ("client", connection),
            None => ("server", &connections[&destination]),
        };
        let packet = numbers(&row["frame.number"])[0];
        let end = &connection["ssh"][side];
        for (ours, theirs) in [
            ("key_exchanges_offered", "ssh.kex_algorithms"),
            ("host_keys_offered", "ssh.server_host_key_algorithms"),
            (
                "ciphers_from_client_offered",
                "ssh.encryption_algorithms_client_to_server",
            ),
        ] {
            if !row[theirs].is_empty() {
                assert_eq!(end[ours], serde_json::json!(row[theirs]), "packet {packet}");
                assert_eq!(end["kex_init_packet"], packet);
                lists += 1;
            }
        }
        if let Some(key) = row["ssh.host_key.type"].first() {
            let ours = &connection["ssh"]["host_key"];
            assert_eq!(ours["packet"], packet);
            assert_eq!(ours["key"], *key);
            keys += 1;
        }
    }
    assert_eq!((lists, keys), (7 * 2 * 3, 6));
}
