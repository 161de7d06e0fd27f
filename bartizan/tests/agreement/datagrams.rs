//! QUIC and DTLS over UDP: each handshake of the recorded captures as tshark reads it, which opens Initial packets too.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::tshark::{Row, capture, connections, inspect, list, numbers, rows};

/// Offer and choice in each connection of a server's port, in order.
type Agreed = BTreeMap<u64, Vec<(String, Vec<u64>, Vec<u64>, Option<u64>)>>;

fn port(end: &Value) -> u64 {
    end.as_str().unwrap().rsplit(':').next().unwrap().parse().unwrap()
}

/// By us: those in which the server chose something.
fn ours(file: &str, member: &str) -> Agreed {
    let mut agreed = Agreed::new();
    for connection in connections(&inspect(&capture(file))) {
        let facts = &connection["datagrams"][member];
        let Some(suite) = facts["cipher_suite"].as_u64() else {
            continue;
        };
        let random = facts["client_random"].as_str().unwrap().to_owned();
        let offered = list(&facts["groups_offered"], "code");
        let suites: Vec<u64> = serde_json::from_value(facts["cipher_suites_offered"].clone()).unwrap();
        let group = facts["group"]["code"].as_u64();
        let chosen = (random, [offered, suites].concat(), vec![suite], group);
        agreed.entry(port(&connection["server"])).or_default().push(chosen);
    }
    agreed
}

/// By tshark, with the fields of one protocol: `tls` in QUIC, `dtls`.
fn theirs(file: &str, protocol: &str, options: &[&str], ports: std::ops::Range<u64>) -> Agreed {
    let field = |name: &str| format!("{protocol}.handshake.{name}");
    let names = [
        "type",
        "random",
        "extensions_supported_group",
        "ciphersuite",
        "extensions_key_share_group",
        "server_named_curve",
    ];
    let names: Vec<String> = names.iter().map(|name| field(name)).collect();
    let mut fields: Vec<&str> = names.iter().map(String::as_str).collect();
    fields.extend(["udp.srcport", "udp.dstport"]);
    let filter = format!("{0} == 1 || {0} == 2 || {0} == 12", field("type"));
    let mut agreed = Agreed::new();
    let mut hellos: BTreeMap<u64, Row> = BTreeMap::new();
    for row in rows(&capture(file), options, &filter, &fields) {
        let of = |name: &str| numbers(&row[&field(name)]);
        let (source, destination) = (numbers(&row["udp.srcport"])[0], numbers(&row["udp.dstport"])[0]);
        let kinds = of("type");
        if kinds.contains(&1) && ports.contains(&destination) && !row[&field("random")].is_empty() {
            hellos.insert(destination, row);
        } else if ports.contains(&source) {
            let curve = of("server_named_curve").first().copied();
            let done = agreed.entry(source).or_default();
            let group = of("extensions_key_share_group").first().copied();
            // A HelloRetryRequest has a random of its own (RFC 9846, section 4.2.3), and names a group without a share.
            let retry = row[&field("random")]
                .iter()
                .any(|random| random.starts_with("cf21ad74e59a6111"));
            if kinds.contains(&2) && !retry && !of("ciphersuite").is_empty() && (protocol == "dtls" || group.is_some())
            {
                let hello = &hellos[&source];
                let offered = |name: &str| numbers(&hello[&field(name)]);
                done.push((
                    hello[&field("random")][0].clone(),
                    [offered("extensions_supported_group"), offered("ciphersuite")].concat(),
                    of("ciphersuite"),
                    group.or(curve),
                ));
            } else if let (Some(last), Some(curve)) = (done.last_mut(), curve) {
                last.3 = Some(curve);
            }
        }
    }
    agreed.retain(|_, done| !done.is_empty());
    agreed
}

#[test]
fn every_handshake_of_quic_is_read_as_tshark_reads_it() {
    let ours = ours("quic.pcap", "quic");
    assert_eq!(ours.values().map(Vec::len).sum::<usize>(), 13);
    assert_eq!(ours, theirs("quic.pcap", "tls", &[], 4500..4600));
}

#[test]
fn every_handshake_of_dtls_over_udp_is_read_as_tshark_reads_it() {
    let mut ours = ours("dtls.pcap", "dtls");
    assert_eq!(ours.values().map(Vec::len).sum::<usize>(), 8);
    // tshark does not reassemble the second handshake between the same sockets: it shows no curve.
    ours.get_mut(&4608).unwrap()[1].3 = None;
    let options = ["-d", "udp.port==4601-4608,dtls"];
    assert_eq!(ours, theirs("dtls.pcap", "dtls", &options, 4600..4700));
}

#[test]
fn every_handshake_of_dtls_1_3_by_nss_is_read_as_tshark_reads_it() {
    let ours = ours("dtls13.pcap", "dtls");
    let groups: Vec<_> = ours.values().flatten().map(|(.., group)| *group).collect();
    assert_eq!(groups, [4588, 29, 29, 24].map(Some));
    let options = ["-d", "udp.port==4701-4704,dtls"];
    assert_eq!(ours, theirs("dtls13.pcap", "dtls", &options, 4700..4800));
}
