//! SCTP: chunks, payload protocols and how long they waited for their SACK.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::tshark::{numbers, rows};

/// Compares a capture of one association and one payload protocol; returns the number of its DATA
/// chunks.
pub(crate) fn agree(file: &Path, document: &Value) -> usize {
    let sctp = &document["files"][0]["connections"][0]["sctp"];
    let both = |field: &str| -> u64 {
        let sides = ["from_initiator", "from_responder"];
        sides.iter().map(|side| sctp[side][field].as_u64().unwrap()).sum()
    };
    let fields = ["sctp.data_tsn_raw", "sctp.data_payload_proto_id", "sctp.data_e_bit"];
    let data = rows(file, &[], "sctp.chunk_type == 0", &fields);
    let tsns: Vec<u64> = data.iter().flat_map(|row| numbers(&row["sctp.data_tsn_raw"])).collect();
    assert_eq!(both("chunks") + both("repeated_chunks"), tsns.len() as u64);
    let protocols: Vec<u64> = data
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
    for row in rows(file, &[], "sctp", &fields) {
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
        let covers =
            |(from, cumulative, time): &&(String, u64, u64)| from != source && cumulative >= tsn && *time >= times[0];
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
    assert_eq!(field("count").iter().sum::<u64>(), delays.len() as u64);
    assert_eq!(field("total_ns").iter().sum::<u64>(), delays.iter().sum::<u64>(),);
    assert_eq!(field("most_ns").iter().max(), delays.iter().max());
    tsns.len()
}
