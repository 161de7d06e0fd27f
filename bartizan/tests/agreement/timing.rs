//! Counts of `bartizan inspect --timing`, compared with those of tshark: packet by packet, with
//! packets lost, repeated and reordered as well.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::tshark::{ENDS, Row, capture, ends, numbers, rows};

/// One TCP packet, as tshark has it.
struct Packet {
    number: u64,
    time_ns: u64,
    bytes: u64,
    stream: u64,
    source: String,
    payload: u64,
    retransmission: bool,
    out_of_order: bool,
}

fn tshark(file: &Path) -> Vec<Packet> {
    let fields = [
        "frame.number",
        "frame.time_epoch",
        "frame.len",
        "tcp.stream",
        "tcp.len",
        "tcp.analysis.retransmission",
        "tcp.analysis.out_of_order",
    ];
    let packet = |row: Row| {
        let one = |field: &str| numbers(&row[field])[0];
        let (seconds, fraction) = row["frame.time_epoch"][0].split_once('.').unwrap();
        Packet {
            number: one("frame.number"),
            time_ns: seconds.parse::<u64>().unwrap() * 1_000_000_000 + fraction.parse::<u64>().unwrap(),
            bytes: one("frame.len"),
            stream: one("tcp.stream"),
            source: ends(&row).0.to_string(),
            payload: one("tcp.len"),
            retransmission: !row["tcp.analysis.retransmission"].is_empty(),
            out_of_order: !row["tcp.analysis.out_of_order"].is_empty(),
        }
    };
    let all = [&fields[..], &ENDS].concat();
    rows(file, &[], "tcp", &all).into_iter().map(packet).collect()
}

fn timing(file: &Path) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_bartizan"))
        .args(["inspect", "--timing", "--json"])
        .arg(file)
        .output()
        .unwrap();
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice::<Value>(&output.stdout).unwrap()["files"][0].clone()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no count"))
}

/// Result of a comparison.
#[derive(Default)]
struct Compared {
    handshakes: usize,
    /// Segments sent again and out of order.
    again: u64,
    late: u64,
    /// Number of segments that one tool takes for retransmitted and the other for reordered.
    distinguished_otherwise: u64,
}

/// Compares everything. Both tools guess by its time if a segment behind the highest one was sent
/// again or overtaken. The number of different guesses is given.
fn compare(file: &Path) -> Compared {
    let packets = tshark(file);
    let by_number: BTreeMap<u64, &Packet> = packets.iter().map(|packet| (packet.number, packet)).collect();
    let document = timing(file);
    let connections = document["connections"].as_array().unwrap();
    assert!(!connections.is_empty());
    let mut compared = Compared::default();
    for connection in connections {
        let first = number(&connection["first_packet"]);
        let range = first..=number(&connection["last_packet"]);
        let stream = by_number[&first].stream;
        let of_stream: Vec<_> = packets.iter().filter(|packet| packet.stream == stream).collect();
        for (end, direction) in [("client", "from_client"), ("server", "from_server")] {
            let sent: Vec<_> = of_stream
                .iter()
                .filter(|packet| connection[end] == packet.source.as_str() && range.contains(&packet.number))
                .collect();
            let sum = |of: fn(&Packet) -> u64| sent.iter().map(|packet| of(packet)).sum::<u64>();
            let expected = [
                ("packets", sent.len() as u64),
                ("frame_bytes", sum(|packet| packet.bytes)),
                ("payload_bytes", sum(|packet| packet.payload)),
                ("data_packets", sum(|packet| u64::from(packet.payload > 0))),
            ];
            for (field, expected) in expected {
                let counted = number(&connection[direction][field]);
                assert_eq!(
                    counted,
                    expected,
                    "{field} {direction} of stream {stream} in {}",
                    file.display()
                );
            }
            let [again, late] = ["retransmitted", "out_of_order"].map(|field| number(&connection[direction][field]));
            let [expected_again, expected_late] = [
                sum(|packet| u64::from(packet.retransmission)),
                sum(|packet| u64::from(packet.out_of_order)),
            ];
            compared.again += again;
            compared.late += late;
            compared.distinguished_otherwise += again.abs_diff(expected_again) + late.abs_diff(expected_late);
        }
        let handshake = &connection["handshake"];
        if handshake.is_null() {
            continue;
        }
        compared.handshakes += 1;
        let (hello, finished) = (
            number(&handshake["hello_packet"]),
            number(&handshake["finished_packet"]),
        );
        let within: Vec<_> = of_stream
            .iter()
            .filter(|packet| (hello..=finished).contains(&packet.number))
            .collect();
        let gaps: Vec<_> = within
            .windows(2)
            .map(|pair| pair[1].time_ns - pair[0].time_ns)
            .collect();
        let ours: Vec<_> = handshake["gaps_ms"]
            .as_array()
            .unwrap()
            .iter()
            .map(nanoseconds)
            .collect();
        assert_eq!(ours, gaps);
        assert_eq!(
            nanoseconds(&handshake["duration_ms"]),
            by_number[&finished].time_ns - by_number[&hello].time_ns
        );
        if let Some(syn) = handshake["syn_packet"].as_u64() {
            assert_eq!(
                nanoseconds(&handshake["from_syn_ms"]),
                by_number[&finished].time_ns - by_number[&syn].time_ns
            );
        }
        let bytes: u64 = within.iter().map(|packet| packet.bytes).sum();
        assert_eq!(
            number(&handshake["client_frame_bytes"]) + number(&handshake["server_frame_bytes"]),
            bytes
        );
    }
    compared
}

fn nanoseconds(milliseconds: &Value) -> u64 {
    (milliseconds.as_f64().unwrap() * 1e6).round() as u64
}

#[test]
fn packets_times_and_handshakes_of_openssl_are_those_tshark_counts() {
    // Sixteen connections, of which one was refused.
    let compared = compare(&capture("openssl-3.5.7.pcap"));
    assert_eq!((compared.handshakes, compared.distinguished_otherwise), (15, 0));
}

#[test]
fn packets_times_and_handshakes_of_a_sidecar_are_those_tshark_counts() {
    let compared = compare(&capture("sidecar-hybrid.pcap"));
    assert_eq!((compared.handshakes, compared.distinguished_otherwise), (1, 0));
}

#[test]
fn connections_in_plaintext_and_what_they_sent_again_are_those_tshark_counts() {
    let compared = compare(&capture("sbi-free5gc-two-registrations.pcap"));
    assert_eq!((compared.handshakes, compared.distinguished_otherwise), (0, 0));
}

/// The records of a pcap file, each with its header.
fn records(bytes: &[u8]) -> (&[u8], Vec<Vec<u8>>) {
    let (header, mut rest) = bytes.split_at(24);
    let mut records = Vec::new();
    while !rest.is_empty() {
        let length = u32::from_le_bytes(rest[8..12].try_into().unwrap()) as usize;
        let (record, behind) = rest.split_at(16 + length);
        records.push(record.to_vec());
        rest = behind;
    }
    (header, records)
}

/// Gives the times in `order` to the records that now stand in this order.
fn put_in_order(records: &mut [Vec<u8>], times: &[[u8; 8]]) {
    for (record, time) in records.iter_mut().zip(times) {
        record[..8].copy_from_slice(time);
    }
}

#[test]
fn what_is_lost_repeated_and_reordered_is_reported_as_tshark_tells_it() {
    let bytes = fs::read(capture("openssl-3.5.7.pcap")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (mut behind, mut otherwise) = (0, 0);
    for seed in 0..24_u64 {
        let (header, mut records) = records(&bytes);
        // A small generator will do: every packet is lost, repeated 1 to 8 packets later, or
        // swapped with the next, one in ten.
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut draw = |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below
        };
        let mut index = 0;
        while index + 10 < records.len() {
            match draw(30) {
                0 => drop(records.remove(index)),
                1 => {
                    let copy = records[index].clone();
                    let place = index + 1 + usize::try_from(draw(8)).unwrap();
                    records.insert(place, copy);
                }
                2 => records.swap(index, index + 1),
                _ => {}
            }
            index += 1;
        }
        let mut times: Vec<[u8; 8]> = records.iter().map(|record| record[..8].try_into().unwrap()).collect();
        times.sort_by_key(|time| {
            let (seconds, micros) = time.split_at(4);
            (
                u32::from_le_bytes(seconds.try_into().unwrap()),
                u32::from_le_bytes(micros.try_into().unwrap()),
            )
        });
        put_in_order(&mut records, &times);
        let file = folder.path().join(format!("{seed}.pcap"));
        fs::write(&file, [header, &records.concat()].concat()).unwrap();
        let compared = compare(&file);
        behind += compared.again + compared.late;
        otherwise += compared.distinguished_otherwise;
    }
    assert!(
        behind > 100 && otherwise * 10 < behind,
        "{behind} behind, {otherwise} distinguished otherwise"
    );
}
