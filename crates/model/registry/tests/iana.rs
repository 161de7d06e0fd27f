//! The tables against IANA's: whatever is assigned is known, so that a capture's old algorithm is
//! called weak and not unknown.

use std::collections::BTreeSet;

use bartizan_registry::{TRANSFORMS, TransformKind, transform};

static ASSIGNED: &str = include_str!("data/ikev2-transforms.txt");

const KINDS: [(&str, TransformKind); 5] = [
    ("ENCR", TransformKind::Encryption),
    ("PRF", TransformKind::PseudoRandomFunction),
    ("INTEG", TransformKind::Integrity),
    ("KE", TransformKind::KeyExchange),
    ("SN", TransformKind::SequenceNumbers),
];

/// The first number for private use.
const PRIVATE: u16 = 1024;
/// Rows of documents that IANA has not acted on yet.
const AHEAD: &[(TransformKind, u16)] = &[(TransformKind::SequenceNumbers, 2)];

fn assigned() -> impl Iterator<Item = (TransformKind, u16, &'static str)> {
    let rows = ASSIGNED.lines().filter(|line| !line.starts_with('#'));
    rows.map(|line| {
        let mut columns = line.splitn(3, ' ');
        let mut next = || columns.next().unwrap_or_else(|| panic!("{line}"));
        let (kind, id, name) = (next(), next(), next());
        let (_, kind) = KINDS.iter().find(|(known, _)| *known == kind).unwrap();
        (*kind, id.parse().unwrap(), name)
    })
}

#[test]
fn every_ike_transform_that_iana_assigned_is_known_by_its_number_and_name() {
    let mut compared = 0;
    for (kind, id, name) in assigned() {
        let known = transform(kind, id).unwrap_or_else(|| panic!("{kind} {id}, {name}, is missing"));
        let theirs = name.to_uppercase();
        for word in known.name.to_uppercase().split(['_', ' ']) {
            assert!(
                theirs.contains(word),
                "{kind} {id} is {name} for IANA, {} here",
                known.name
            );
        }
        compared += 1;
    }
    assert!(compared >= 80, "{compared}");
}

#[test]
fn no_ike_transform_stands_here_that_iana_has_not_assigned() {
    let assigned: BTreeSet<(u8, u16)> = assigned().map(|(kind, id, _)| (kind.code(), id)).collect();
    for known in TRANSFORMS.iter().filter(|known| known.id < PRIVATE) {
        let ahead = AHEAD.contains(&(known.kind, known.id));
        assert_eq!(
            assigned.contains(&(known.kind.code(), known.id)),
            !ahead,
            "{} {}",
            known.kind,
            known.name
        );
    }
}
