//! IKEv2 and ESP: what was proposed and chosen, by which exchanges, under which SPIs.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::tshark::{by_member, list, numbers, rows};

/// Number of matching items.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Agreed {
    /// Last requests and answers of IKE_SA_INIT, by IKE_SA.
    pub(crate) inits: usize,
    /// Halves of later exchanges.
    pub(crate) halves: usize,
    /// ESP security associations.
    pub(crate) esp: usize,
    /// IKE_SAs whose initiator first asked for another method.
    pub(crate) asked_otherwise: usize,
}

pub(crate) fn agree(file: &Path, document: &Value) -> Agreed {
    Agreed {
        inits: inits(file, document),
        halves: halves(file, document),
        esp: esp(file, document),
        asked_otherwise: asked_otherwise(file, document),
    }
}

/// Methods of the first requests that were not the last, where they are others.
fn asked_otherwise(file: &Path, document: &Value) -> usize {
    let ours = by_member(document, "ike", "initiator_spi");
    let fields = ["isakmp.ispi", "isakmp.tf.id.dh", "isakmp.key_exchange.dh_group"];
    let filter = "isakmp.exchangetype == 34 && isakmp.tf.type && isakmp.flag_r == 0 && !icmp";
    let mut requests: BTreeMap<String, Vec<[Vec<u64>; 2]>> = BTreeMap::new();
    for row in rows(file, &[], filter, &fields) {
        let methods = [fields[1], fields[2]].map(|field| numbers(&row[field]));
        requests.entry(row["isakmp.ispi"][0].clone()).or_default().push(methods);
    }
    let mut otherwise = 0;
    for (spi, requests) in &requests {
        let ike = &ours[spi]["ike"];
        let proposals = ike["first_proposals_offered"].as_array().unwrap().iter();
        let transforms = proposals.flat_map(|proposal| proposal["transforms"].as_array().unwrap());
        let methods = transforms.filter(|transform| transform["type"] == 4);
        let proposed: Vec<u64> = methods.map(|transform| transform["code"].as_u64().unwrap()).collect();
        let data = ike["first_key_exchange_offered"]["code"].as_u64();
        let theirs = requests.first().filter(|first| Some(*first) != requests.last());
        let [their_proposed, their_data] = theirs.cloned().unwrap_or_default();
        assert_eq!(proposed, their_proposed, "{spi}");
        assert_eq!(data.into_iter().collect::<Vec<_>>(), their_data, "{spi}");
        otherwise += usize::from(theirs.is_some());
    }
    otherwise
}

/// Proposals, choice, key exchange data, notifications and SPIs of every IKE_SA_INIT.
fn inits(file: &Path, document: &Value) -> usize {
    let fields = [
        "isakmp.ispi",
        "isakmp.rspi",
        "isakmp.version",
        "isakmp.flag_r",
        "isakmp.tf.type",
        "isakmp.tf.id.encr",
        "isakmp.ike2.attr.key_length",
        "isakmp.tf.id.prf",
        "isakmp.tf.id.integ",
        "isakmp.tf.id.dh",
        "isakmp.tf.id",
        "isakmp.key_exchange.dh_group",
        "isakmp.notify.msgtype",
    ];
    let ours = by_member(document, "ike", "initiator_spi");
    let filter = "isakmp.exchangetype == 34 && isakmp.tf.type && !icmp";
    // The last request and the answer of each IKE_SA count.
    let mut last = BTreeMap::new();
    for row in rows(file, &[], filter, &fields) {
        last.insert((row["isakmp.ispi"][0].clone(), row["isakmp.flag_r"][0].clone()), row);
    }
    for ((spi, response), row) in &last {
        let ike = &ours[spi]["ike"];
        let number = |field: &str| numbers(&row[field]);
        assert_eq!(number("isakmp.version"), [0x20]);
        let (proposals, data, notified) = if response == "1" || response == "True" {
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
            let all = transforms.iter();
            let wanted = all.filter(|transform| wanted(transform["type"].as_u64().unwrap()));
            wanted.map(|transform| transform["code"].as_u64().unwrap()).collect()
        };
        let all = transforms.iter();
        let types: Vec<u64> = all
            .clone()
            .map(|transform| transform["type"].as_u64().unwrap())
            .collect();
        let bits: Vec<u64> = all.filter_map(|transform| transform["key_bits"].as_u64()).collect();
        assert_eq!(types, number("isakmp.tf.type"), "{spi}");
        assert_eq!(bits, number("isakmp.ike2.attr.key_length"), "{spi}");
        assert_eq!(of(&|kind| kind == 1), number("isakmp.tf.id.encr"), "{spi}");
        assert_eq!(of(&|kind| kind == 2), number("isakmp.tf.id.prf"), "{spi}");
        assert_eq!(of(&|kind| kind == 3), number("isakmp.tf.id.integ"), "{spi}");
        assert_eq!(of(&|kind| kind == 4), number("isakmp.tf.id.dh"), "{spi}");
        assert_eq!(of(&|kind| (6..=12).contains(&kind)), number("isakmp.tf.id"), "{spi}");
        assert_eq!(
            vec![ike[data]["code"].as_u64().unwrap()],
            number("isakmp.key_exchange.dh_group")
        );
        let mut theirs = number("isakmp.notify.msgtype");
        let mut notified = list(&ike[notified], "code");
        theirs.sort_unstable();
        notified.sort_unstable();
        assert_eq!(notified, theirs, "{spi}");
    }
    last.len()
}

/// Exchange types, message identifiers, packets and bytes of every exchange behind IKE_SA_INIT.
fn halves(file: &Path, document: &Value) -> usize {
    let fields = [
        "isakmp.ispi",
        "isakmp.exchangetype",
        "isakmp.messageid",
        "isakmp.flag_r",
        "frame.number",
        "isakmp.length",
    ];
    let ours = by_member(document, "ike", "initiator_spi");
    // Several IKE_SA_INIT with the same number are distinguished by their order alone: they are
    // compared above.
    let filter = "isakmp && isakmp.exchangetype != 34 && isakmp.exchangetype != 37 && !icmp";
    let mut theirs: BTreeMap<_, Vec<(u64, u64)>> = BTreeMap::new();
    for row in rows(file, &[], filter, &fields) {
        let number = |field: &str| numbers(&row[field])[0];
        let response = matches!(row["isakmp.flag_r"][0].as_str(), "1" | "True");
        let key = (
            row["isakmp.ispi"][0].clone(),
            number("isakmp.exchangetype"),
            number("isakmp.messageid"),
            response,
        );
        let message = (number("frame.number"), number("isakmp.length"));
        theirs.entry(key).or_default().push(message);
    }
    for ((spi, kind, message_id, response), messages) in &theirs {
        let exchanges = ours[spi]["ike"]["exchanges"].as_array().unwrap();
        let is = |exchange: &&Value| exchange["code"] == *kind && exchange["message_id"] == *message_id;
        let exchange = exchanges.iter().find(is).unwrap();
        let half = &exchange[if *response { "response" } else { "request" }];
        assert_eq!(half["first_packet"], messages[0].0);
        assert_eq!(half["packets"], messages.len());
        assert_eq!(half["complete"], true);
        // tshark does not show the order of messages that a busy machine sent again.
        if half["retransmissions"] != 0 {
            continue;
        }
        assert_eq!(half["last_packet"], messages[messages.len() - 1].0);
        let fragments = if messages.len() > 1 { messages.len() } else { 0 };
        assert_eq!(half["ike_fragments"], fragments);
        assert_eq!(
            half["ike_bytes"],
            messages.iter().map(|(_, length)| length).sum::<u64>()
        );
    }
    theirs.len()
}

/// SPIs, packets and sequence numbers of ESP.
fn esp(file: &Path, document: &Value) -> usize {
    let ours = by_member(document, "esp", "spi");
    let mut theirs: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for row in rows(file, &[], "esp", &["esp.spi", "esp.sequence"]) {
        let spi = row["esp.spi"][0].trim_start_matches("0x").to_owned();
        theirs.entry(spi).or_default().push(numbers(&row["esp.sequence"])[0]);
    }
    assert!(ours.keys().eq(theirs.keys()), "{:?}\n{:?}", ours.keys(), theirs.keys());
    for (spi, sequences) in &theirs {
        let esp = &ours[spi]["esp"];
        assert_eq!(esp["packets"], sequences.len());
        assert_eq!(esp["first_sequence"], sequences[0]);
        assert_eq!(esp["highest_sequence"], *sequences.iter().max().unwrap());
    }
    theirs.len()
}
