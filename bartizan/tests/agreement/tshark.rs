//! tshark 4.4 out of the lab root, and ourselves: the same capture, read by both.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use bartizan_testing::Tshark;
use serde_json::Value;

pub(crate) use bartizan_testing::{PATIENCE, Row, eventually, lab_root as root, numbers, wireshark};

/// The fields of every packet that `filter` lets through.
pub(crate) fn rows(file: &Path, options: &[&str], filter: &str, fields: &[&str]) -> Vec<Row> {
    let pairs = options.chunks_exact(2);
    let tshark = pairs.fold(Tshark::new(), |tshark, pair| tshark.option(pair[0], pair[1]));
    tshark.rows(file, filter, fields)
}

/// The fields that [`ends`] needs.
pub(crate) const ENDS: [&str; 6] = ["ip.src", "ip.dst", "ipv6.src", "ipv6.dst", "tcp.srcport", "tcp.dstport"];

/// Source and destination of a packet.
pub(crate) fn ends(row: &Row) -> (SocketAddr, SocketAddr) {
    let end = |v4: &str, v6: &str, port: &str| {
        let address = row[v4].first().or(row[v6].first()).expect("an address");
        SocketAddr::new(address.parse().unwrap(), u16::try_from(numbers(&row[port])[0]).unwrap())
    };
    (
        end("ip.src", "ipv6.src", "tcp.srcport"),
        end("ip.dst", "ipv6.dst", "tcp.dstport"),
    )
}

pub(crate) fn capture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../crates/prove/wire/tests/data")
        .join(name)
}

/// Our report on a capture.
pub(crate) fn inspect(file: &Path) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_bartizan"))
        .args(["inspect", "--json"])
        .arg(file)
        .output()
        .unwrap();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

pub(crate) fn connections(document: &Value) -> &Vec<Value> {
    document["files"][0]["connections"].as_array().unwrap()
}

/// Connections by client and server; each capture has a pair once.
pub(crate) fn by_ends(document: &Value) -> BTreeMap<(SocketAddr, SocketAddr), &Value> {
    let end = |connection: &Value, side: &str| connection[side].as_str().unwrap().parse().unwrap();
    let all = connections(document).iter();
    let found: BTreeMap<_, _> = all
        .map(|connection| ((end(connection, "client"), end(connection, "server")), connection))
        .collect();
    assert_eq!(
        found.len(),
        connections(document).len(),
        "a pair of ports was used twice"
    );
    found
}

/// Connections that have this member, by a string in it.
pub(crate) fn by_member<'a>(document: &'a Value, member: &str, key: &str) -> BTreeMap<String, &'a Value> {
    let of = |connection: &'a Value| Some((connection[member][key].as_str()?.to_owned(), connection));
    connections(document).iter().filter_map(of).collect()
}

/// A field of each item of a list.
pub(crate) fn list(value: &Value, field: &str) -> Vec<u64> {
    let items = value.as_array().unwrap().iter();
    items.map(|item| item[field].as_u64().unwrap()).collect()
}

#[test]
fn the_judge_is_tshark_4_4() {
    let version = wireshark("tshark", ["--version"]);
    assert!(version.starts_with("TShark (Wireshark) 4.4."), "{version}");
}
