//! Captures and their comparison.

use std::fmt::Write;
use std::net::Ipv4Addr;

use serde_json::json;

use super::capture::connections;
use super::stage::grows_with;

const READ: &[i32] = &[0, 1];

/// A capture of this many links, each of a client of its own with its own server.
fn links(count: usize) -> Vec<u8> {
    let address = |first: u32, number: usize| Ipv4Addr::from(first + u32::try_from(number).unwrap());
    connections((0..count).map(|number| [address(0x0a00_0001, number), address(0x0b00_0001, number)]))
}

/// Records of handshakes of a thousand peers, each with that of its end; none is of a capture.
fn records(count: usize) -> String {
    let mut text = String::new();
    for number in 0..count {
        let (at, peer) = (1_700_000_000_000_000 + number * 80, number % 1_000);
        let key = json!({ "protocol": "tls", "client_random": format!("{number:064x}") });
        let certificate = json!({
            "subject": format!("CN=amf{peer}"), "serial": "01", "names": [format!("dns:amf{peer}.5gc")],
            "public_key": "id-ml-dsa-65", "signature": "id-ml-dsa-65", "not_after": 1_803_008_886,
            "sha256": format!("{peer:064x}"),
        });
        let handshake = json!({
            "v": 1, "at_us": at, "node": "nrf", "event": "handshake", "key": key, "interface": "SBI",
            "direction": "inbound", "peer": format!("amf{peer}"), "local_address": "10.0.0.1:443",
            "peer_address": format!("{}:{}", Ipv4Addr::from(0x0a01_0000 + u32::try_from(peer).unwrap()), 1_024 + number / 1_000),
            "negotiated": null, "chain": [certificate], "bytes": { "sent": 1, "received": 1 },
            "times": { "connect_us": 0, "handshake_us": 1_840 }, "verdict": { "verdict": "accepted" },
        });
        let closed = json!({
            "v": 1, "at_us": at + 40, "node": "nrf", "event": "closed", "key": key,
            "bytes": { "sent": 1, "received": 1 }, "lasted_us": 40,
        });
        writeln!(text, "{handshake}\n{closed}").unwrap();
    }
    text
}

#[test]
fn ledgers_next_to_a_capture_grow_with_their_records() {
    let place = tempfile::tempdir().unwrap();
    let [capture, ledger] = ["links.pcap", "nrf.ledger"].map(|name| place.path().join(name));
    std::fs::write(&capture, links(10)).unwrap();
    grows_with("inspect --ledger", 1_000, READ, |size| {
        std::fs::write(&ledger, records(size)).unwrap();
        let [capture, ledger] = [&capture, &ledger].map(|path| path.to_str().unwrap());
        ["inspect", capture, "--ledger", ledger].map(str::to_owned).to_vec()
    });
}

#[test]
fn inspect_grows_with_links() {
    let place = tempfile::tempdir().unwrap();
    let capture = place.path().join("links.pcap");
    grows_with("inspect", 500, READ, |size| {
        std::fs::write(&capture, links(size)).unwrap();
        ["inspect", capture.to_str().unwrap()].map(str::to_owned).to_vec()
    });
}

#[test]
fn comparison_of_two_captures_grows_with_their_links() {
    let place = tempfile::tempdir().unwrap();
    let [before, after] = ["before.pcap", "after.pcap"].map(|name| place.path().join(name));
    grows_with("inspect diff", 500, READ, |size| {
        std::fs::write(&before, links(size)).unwrap();
        std::fs::write(&after, links(size + size / 10)).unwrap();
        let [before, after] = [&before, &after].map(|path| path.to_str().unwrap());
        ["inspect", "diff", before, after].map(str::to_owned).to_vec()
    });
}
