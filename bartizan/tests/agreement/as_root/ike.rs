//! Visible content of strongSwan's exchanges.

use serde_json::Value;

use super::links::{LINKS, Link, write};
use crate::ike::agree;
use crate::tshark::{connections, inspect, list};

#[test]
fn every_exchange_is_read_as_tshark_reads_it() {
    let directory = tempfile::tempdir().unwrap();
    let file = write(directory.path());
    let agreed = agree(&file, &inspect(&file));
    assert_eq!(agreed.inits, LINKS.len() * 2 - 1, "one was refused");
    // IKE_AUTH, CREATE_CHILD_SA twice; two ESP SAs of the set-up and of the rekey.
    let up = LINKS.len() - 1;
    assert!(agreed.halves >= up * 6, "{agreed:?}");
    assert_eq!(agreed.esp, up * 4);
    assert_eq!(agreed.asked_otherwise, 1);
}

/// The IKE_SAs of a link in their order, and the ESP.
fn of<'a>(document: &'a Value, link: &Link) -> [Vec<&'a Value>; 2] {
    let here = format!("10.77.{}.", link.number);
    ["ike", "esp"].map(|member| {
        let all = connections(document).iter();
        let mine = all.filter(|one| one[member].is_object() && one["client"].as_str().unwrap().starts_with(&here));
        mine.collect()
    })
}

#[test]
fn each_ike_sa_gets_the_answers_its_negotiation_deserves() {
    let directory = tempfile::tempdir().unwrap();
    let document = inspect(&write(directory.path()));
    let mut wrong = Vec::new();
    for link in &LINKS {
        let [ike, esp] = of(&document, link);
        let first = ike[0];
        let methods = list(&first["ike"]["key_exchanges"], "code");
        let expected: Vec<u64> = link.methods.iter().copied().map(u64::from).collect();
        let questions = ["offered", "preferred", "negotiated", "stayed"];
        let answers = questions.map(|question| first["questions"][question]["answer"].as_str().unwrap());
        let verdict = match link.answers[2] {
            "yes" => "quantum-safe",
            "no" => "vulnerable",
            other => other,
        };
        let verdicts: Vec<&str> = ike
            .iter()
            .chain(&esp)
            .map(|one| one["confidentiality"]["verdict"].as_str().unwrap())
            .collect();
        let clear = first["questions"]["clear"]["answer"].as_str().unwrap();
        let all_alike = verdicts.iter().all(|found| *found == verdict);
        let counts = if link.methods.is_empty() { (1, 0) } else { (2, 4) };
        if methods != expected
            || answers != link.answers
            || !all_alike
            || clear != "no"
            || (ike.len(), esp.len()) != counts
        {
            wrong.push(format!(
                "{}: {methods:?} {answers:?} {verdicts:?} clear {clear} {} IKE_SAs {} ESP: {} / {}",
                link.name,
                ike.len(),
                esp.len(),
                first["confidentiality"]["because"],
                first["questions"]["stayed"]["because"]
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
