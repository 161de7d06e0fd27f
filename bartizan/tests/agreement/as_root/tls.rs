//! What OpenSSL's handshakes show.

use std::collections::{BTreeMap, BTreeSet};

use super::handshakes::{handshakes, write};
use crate::tls::agree;
use crate::tshark::{connections, inspect};

#[test]
fn every_handshake_is_read_as_tshark_reads_it() {
    let directory = tempfile::tempdir().unwrap();
    let file = write(directory.path());
    let agreed = agree(&file, &inspect(&file));
    let situations = &handshakes().situations;
    assert_eq!(agreed.client_hellos, situations.len());
    assert_eq!(agreed.server_hellos, situations.len() - 1, "one was refused");
    assert_eq!((agreed.retries, agreed.earlier_hellos), (3, 3));
    assert_eq!(agreed.alerts, 1);
    assert!(agreed.curves > 5 && agreed.signatures > 5, "{agreed:?}");
}

#[test]
fn each_handshake_gets_the_answers_its_negotiation_deserves() {
    let directory = tempfile::tempdir().unwrap();
    let document = inspect(&write(directory.path()));
    let port = |value: &serde_json::Value| value["client"].as_str().unwrap().rsplit(':').next().unwrap().to_owned();
    let ours: BTreeMap<String, _> = connections(&document).iter().map(|one| (port(one), one)).collect();
    let mut groups = BTreeSet::new();
    let mut wrong = Vec::new();
    for situation in &handshakes().situations {
        let connection = ours[&situation.port.to_string()];
        let name = &situation.name;
        let group = connection["tls"]["group"]["code"].as_u64();
        if let Some(expected) = situation.group {
            assert_eq!(group, Some(u64::from(expected.0)), "{name}");
        }
        groups.extend(group);
        let questions = ["offered", "preferred", "negotiated", "stayed", "clear"];
        let answers = questions.map(|question| connection["questions"][question]["answer"].as_str().unwrap());
        let confidentiality = connection["confidentiality"]["verdict"].as_str().unwrap();
        let expected = match (situation.answers, name.as_str()) {
            // Keyed by the session before it.
            (_, "early data") => "not observable",
            (["yes", _, "yes", "yes", "no"], _) => "quantum-safe",
            ([_, _, "not observable", ..], _) => "not observable",
            ([_, _, "not seen", ..], _) => "not seen",
            _ => "vulnerable",
        };
        if answers != situation.answers || confidentiality != expected {
            wrong.push(format!(
                "{name}: {answers:?} {confidentiality}: {}",
                connection["confidentiality"]["because"]
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(groups.len() >= 19, "every group of OpenSSL 3.5: {groups:?}");
}
