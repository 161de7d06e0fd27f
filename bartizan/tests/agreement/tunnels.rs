//! GTP-U, PFCP and GTPv2-C: types of messages, tunnels and sessions. No capture in the tree has
//! any: these are made here, header by header as TS 29.281, TS 29.244 and TS 29.274 have them.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::Path;

use serde_json::Value;

use crate::tshark::{connections, inspect, numbers, rows};

/// A user's packet: IPv4 and UDP, with unassigned addresses.
fn users_packet(last: u8) -> Vec<u8> {
    let payload = [7; 40];
    ipv4([10, 60, 0, last], [198, 51, 100, 1], 17, &udp(4000, 53, &payload))
}

fn udp(source: u16, destination: u16, payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(payload.len() + 8).unwrap();
    let mut datagram = [source, destination, length, 0].map(u16::to_be_bytes).concat();
    datagram.extend(payload);
    datagram
}

fn ipv4(source: [u8; 4], destination: [u8; 4], protocol: u8, payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(payload.len() + 20).unwrap().to_be_bytes();
    let mut packet = vec![0x45, 0, length[0], length[1], 0, 0, 0x40, 0, 64, protocol, 0, 0];
    packet.extend([source, destination].concat());
    packet.extend(payload);
    packet
}

/// A message of GTP-U, with the PDU session container of N3 where `extended`.
fn gtp_u(kind: u8, tunnel: u32, extended: bool, carried: &[u8]) -> Vec<u8> {
    let extension: &[u8] = if extended { &[0, 0, 0, 0x85, 1, 0x10, 9, 0] } else { &[] };
    let mut message = vec![if extended { 0x34 } else { 0x30 }, kind];
    let length = u16::try_from(extension.len() + carried.len()).unwrap();
    message.extend(length.to_be_bytes());
    message.extend(tunnel.to_be_bytes());
    message.extend([extension, carried].concat());
    message
}

/// A message of PFCP; `another` follows it in the same datagram.
fn pfcp(kind: u8, session: Option<u64>, another: bool) -> Vec<u8> {
    let flags = 0x20 | u8::from(session.is_some()) | u8::from(another) << 2;
    let endpoint = session.map_or_else(Vec::new, |session| session.to_be_bytes().to_vec());
    control(flags, kind, &endpoint)
}

/// A message of GTPv2-C; another follows it where it is piggybacked on.
fn gtp_c(kind: u8, tunnel: Option<u32>, another: bool) -> Vec<u8> {
    let flags = 0x40 | u8::from(tunnel.is_some()) << 3 | u8::from(another) << 4;
    let endpoint = tunnel.map_or_else(Vec::new, |tunnel| tunnel.to_be_bytes().to_vec());
    control(flags, kind, &endpoint)
}

/// With the sequence number of its request, and one information element: Cause of PFCP, Recovery of
/// GTPv2-C; what it says does not matter here.
fn control(flags: u8, kind: u8, endpoint: &[u8]) -> Vec<u8> {
    // Requests are odd below 32, and even from there on.
    let number = if kind < 32 { (kind - 1) | 1 } else { kind & !1 };
    let element: &[u8] = if flags >> 5 == 1 {
        &[0, 19, 0, 1, 1]
    } else {
        &[3, 0, 1, 0, 9]
    };
    let mut message = vec![flags, kind];
    let length = u16::try_from(endpoint.len() + 4 + element.len()).unwrap();
    message.extend(length.to_be_bytes());
    message.extend([endpoint, &[0, 0, number, 0], element].concat());
    message
}

/// Datagrams between two hosts by port, each with whether the first of them sent it.
fn datagrams() -> Vec<(u16, bool, Vec<u8>)> {
    let mut all = Vec::new();
    let mut add = |port: u16, first: bool, payload: Vec<u8>| all.push((port, first, payload));
    add(2152, true, gtp_u(1, 0, false, &[]));
    add(2152, false, gtp_u(2, 0, false, &[14, 0]));
    for number in 0..12 {
        let (up, down) = (0x100 + u32::from(number % 5), 0xffff_ff00 + u32::from(number % 3));
        add(2152, true, gtp_u(255, up, true, &users_packet(number)));
        add(2152, false, gtp_u(255, down, number % 2 == 0, &users_packet(number)));
    }
    // Ethernet in a tunnel is no IP, and an end marker carries nothing.
    add(2152, true, gtp_u(255, 0x200, true, &[0x02; 60]));
    add(2152, true, gtp_u(254, 0x100, false, &[]));
    let session = 0x8000_0000_0000_0001;
    for (first, payload) in [
        (true, pfcp(5, None, false)),
        (false, pfcp(6, None, false)),
        (true, pfcp(50, Some(0), false)),
        (false, pfcp(51, Some(session), false)),
        (true, pfcp(52, Some(2), false)),
        (false, pfcp(53, Some(session), false)),
        (
            true,
            [pfcp(52, Some(3), true), pfcp(54, Some(2), true), pfcp(1, None, false)].concat(),
        ),
        (false, pfcp(55, Some(session), false)),
    ] {
        add(8805, first, payload);
    }
    for (first, payload) in [
        (true, gtp_c(1, None, false)),
        (false, gtp_c(2, None, false)),
        (true, gtp_c(32, Some(0), false)),
        (
            false,
            [gtp_c(33, Some(0x11), true), gtp_c(95, Some(0x11), false)].concat(),
        ),
        (true, gtp_c(34, Some(0x22), false)),
        (true, gtp_c(130, Some(0x22), false)),
    ] {
        add(2123, first, payload);
    }
    all
}

/// A capture of these, IP without a link header.
fn write(file: &Path) {
    let mut bytes = 0xa1b2_c3d4_u32.to_le_bytes().to_vec();
    bytes.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 101, 0, 0, 0]);
    for (number, (port, first, payload)) in datagrams().into_iter().enumerate() {
        let [one, other] = [[10, 30, 0, 1], [10, 30, 0, 2]];
        let (source, destination) = if first { (one, other) } else { (other, one) };
        let packet = ipv4(source, destination, 17, &udp(port, port, &payload));
        let length = u32::try_from(packet.len()).unwrap();
        for field in [1_763_000_000, number as u32, length, length] {
            bytes.extend(field.to_le_bytes());
        }
        bytes.extend(packet);
    }
    std::fs::write(file, bytes).unwrap();
}

/// Number of messages of each type, and for each tunnel or session, from an end.
type Counts = BTreeMap<(bool, u64), u64>;

fn of_types(ours: &Value) -> Counts {
    let mut counts = Counts::new();
    for row in ours["messages"].as_array().unwrap() {
        for (member, first) in [("from_client", true), ("from_server", false)] {
            let count = row[member].as_u64().unwrap();
            if count > 0 {
                counts.insert((first, row["type"].as_u64().unwrap()), count);
            }
        }
    }
    counts
}

fn of_endpoints(ours: &Value) -> Counts {
    let mut counts = Counts::new();
    for (member, first) in [("endpoints_at_server", true), ("endpoints_at_client", false)] {
        for row in ours[member].as_array().unwrap() {
            let number = u64::from_str_radix(row["number"].as_str().unwrap(), 16).unwrap();
            counts.insert((first, number), row["messages"].as_u64().unwrap());
        }
    }
    counts
}

#[test]
fn types_tunnels_and_sessions_are_those_tshark_reads() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("tunnels.pcap");
    write(&file);
    let document = inspect(&file);
    let expected = [
        ("GTP-U", "gtp.message", "gtp.teid", 28),
        ("PFCP", "pfcp.msg_type", "pfcp.seid", 10),
    ];
    let expected = expected
        .into_iter()
        .chain([("GTPv2-C", "gtpv2.message_type", "gtpv2.teid", 7)]);
    let outer = connections(&document)
        .iter()
        .filter(|one| one["path"].as_array().unwrap().is_empty());
    assert_eq!(outer.count(), 3);
    for (name, kind, endpoint, messages) in expected {
        let all = connections(&document).iter();
        let mut ours = all.filter(|one| one["datagrams"]["protocol"] == name);
        let ours = &ours.next().unwrap_or_else(|| panic!("{name}"))["datagrams"];
        let (mut types, mut endpoints) = (Counts::new(), Counts::new());
        let mut in_plaintext = 0;
        for row in rows(&file, &[], kind, &["ip.src", kind, endpoint]) {
            // The outer packet's addresses stand first.
            let first = row["ip.src"][0] == Ipv4Addr::new(10, 30, 0, 1).to_string();
            in_plaintext += u64::from(row["ip.src"].len() > 1);
            for kind in numbers(&row[kind]) {
                *types.entry((first, kind)).or_default() += 1;
            }
            // Zero says that the other end's number is not known yet, or that there is none.
            for endpoint in numbers(&row[endpoint]).into_iter().filter(|number| *number != 0) {
                *endpoints.entry((first, endpoint)).or_default() += 1;
            }
        }
        assert_eq!(types.values().sum::<u64>(), messages, "{name}");
        assert_eq!(of_types(ours), types, "{name}");
        assert_eq!(of_endpoints(ours), endpoints, "{name}");
        assert_eq!(ours["user_packets_in_plaintext"], in_plaintext, "{name}");
    }
}
