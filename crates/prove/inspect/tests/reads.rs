//! The lists of protocols in the documents are those that the readers go by.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use bartizan_inspect::reads;

const DOCUMENT: &str = include_str!("../../../../docs/inspect-reads.md");
/// The document's own words end here.
const BELOW: &str = "<!-- made by `bartizan inspect --reads`; a test holds it equal -->\n\n";

/// As tables of Markdown.
fn markdown() -> String {
    let mut out = String::from(
        "| over | protocol | how far | recognised by | confidentiality can be |\n| --- | --- | --- | --- | --- |\n",
    );
    for protocol in reads::protocols() {
        let reads::Protocol {
            over,
            name,
            recognised_by,
            ..
        } = &protocol;
        let names: Vec<&str> = protocol.verdicts.iter().map(|verdict| verdict.name()).collect();
        let (reading, verdicts) = (protocol.reading.name(), names.join(", "));
        let _ = writeln!(out, "| {over} | {name} | {reading} | {recognised_by} | {verdicts} |");
    }
    out += "\n| carried in | recognised by |\n| --- | --- |\n";
    for (name, marks) in reads::carriers() {
        let _ = writeln!(out, "| {name} | {marks} |");
    }
    out += "\n| frames begin with | link type |\n| --- | --- |\n";
    for (name, number) in reads::links() {
        let _ = writeln!(out, "| {name} | {number} |");
    }
    let _ = writeln!(out, "\nNeeds no judgement: {}.", reads::housekeeping().join(", "));
    out
}

#[test]
fn the_document_lists_what_the_code_reads() {
    let (_, listed) = DOCUMENT.split_once(BELOW).expect("the line above the tables");
    let made = markdown();
    assert!(
        listed == made,
        "docs/inspect-reads.md is not what is read. Below its comment it should be:\n\n{made}"
    );
}

#[test]
fn each_protocol_is_listed_once_with_a_verdict() {
    let protocols = reads::protocols();
    let names: BTreeSet<_> = protocols.iter().map(|one| (one.over, &one.name)).collect();
    assert_eq!(names.len(), protocols.len());
    for one in &protocols {
        assert!(
            !one.verdicts.is_empty() && !one.recognised_by.is_empty(),
            "{}",
            one.name
        );
    }
}

#[test]
fn lines_fit_and_json_holds_the_same_protocols() {
    let text = reads::text(72);
    assert!(text.lines().all(|line| line.chars().count() <= 72), "{text}");
    let json = reads::json();
    let listed = json["protocols"].as_array().unwrap();
    assert_eq!(listed.len(), reads::protocols().len());
    for one in listed {
        let name = one["name"].as_str().unwrap();
        assert!(text.contains(name.split(' ').next().unwrap()), "{name}");
    }
}
