//! The table against Wireshark's: a program we did not write, fed by IANA's registries.

use std::collections::HashMap;
use std::process::Command;

use bartizan_registry::{CIPHERS, GROUPS, NamedGroup, SIGNATURES, TRANSFORMS, TransformKind, group, transform};

/// Entries for which Wireshark's name is not IANA's: its own slips, OQS test points that were
/// registered to others since, and other words for one curve.
const OTHER_NAMES: &[(&str, u16, &str)] = &[
    ("tls.handshake.extensions_supported_group", 0x0200, "frodo640aes"),
    ("tls.handshake.extensions_supported_group", 0x0201, "frodo640shake"),
    ("tls.handshake.extensions_supported_group", 0x0202, "frodo976aes"),
    ("isakmp.tf.id.prf", 4, "PRF_AES128_CBC"),
    ("isakmp.tf.id.dh", 27, "224-bit Brainpool ECP group"),
    ("isakmp.tf.id.dh", 28, "256-bit Brainpool ECP group"),
    ("isakmp.tf.id.dh", 29, "384-bit Brainpool ECP group"),
    ("isakmp.tf.id.dh", 30, "512-bit Brainpool ECP group"),
];

/// `tshark -G values`: one line per value, `V`, field, value, name.
struct Values(HashMap<(String, u64), String>);

impl Values {
    fn read() -> Self {
        let output = Command::new("tshark")
            .args(["-G", "values"])
            .output()
            .expect("tshark is part of this project's test machine");
        assert!(output.status.success());
        let text = String::from_utf8_lossy(&output.stdout);
        let values = text.lines().filter_map(|line| {
            let mut columns = line.split('\t');
            if columns.next() != Some("V") {
                return None;
            }
            let (field, value, name) = (columns.next()?, columns.next()?, columns.next()?);
            let value = match value.strip_prefix("0x") {
                Some(digits) => u64::from_str_radix(digits, 16).ok()?,
                None => value.parse().ok()?,
            };
            Some(((field.to_owned(), value), name.to_owned()))
        });
        Self(values.collect())
    }

    fn name(&self, field: &str, value: u16) -> Option<&str> {
        let theirs = self.0.get(&(field.to_owned(), u64::from(value))).map(String::as_str)?;
        (!OTHER_NAMES.contains(&(field, value, theirs))).then_some(theirs)
    }
}

#[test]
fn wireshark_gives_tls_code_points_the_same_names() {
    let values = Values::read();
    let mut compared = 0;
    let mut compare = |field: &str, code: u16, name: &str| {
        if let Some(theirs) = values.name(field, code) {
            // A newer Wireshark marks what was withdrawn: `X25519Kyber768Draft00 (OBSOLETE)`.
            let theirs = theirs.trim_end_matches(" (OBSOLETE)");
            assert!(
                name.starts_with(theirs),
                "0x{code:04x} is {theirs} for Wireshark, {name} here"
            );
            compared += 1;
        }
    };
    for known in GROUPS.iter().filter(|known| !matches!(known.code.0, 0xfe30 | 0xfe31)) {
        compare("tls.handshake.extensions_supported_group", known.code.0, known.name);
    }
    for known in SIGNATURES {
        compare("tls.handshake.sig_hash_alg", known.code.0, known.name);
    }
    for known in CIPHERS {
        compare("tls.handshake.ciphersuite", known.code.0, known.name);
    }
    assert!(compared >= 40, "only {compared} names were compared");
}

#[test]
fn wireshark_knows_the_registered_ike_transforms_under_the_same_numbers() {
    let values = Values::read();
    let mut compared = 0;
    for known in TRANSFORMS {
        let (field, ours) = match known.kind {
            TransformKind::Encryption => ("isakmp.tf.id.encr", known.name),
            TransformKind::PseudoRandomFunction => ("isakmp.tf.id.prf", known.name),
            TransformKind::Integrity => ("isakmp.tf.id.integ", known.name),
            TransformKind::KeyExchange => ("isakmp.tf.id.dh", known.name),
            TransformKind::SequenceNumbers => continue,
        };
        if let Some(theirs) = values.name(field, known.id) {
            assert!(
                alike(theirs, ours),
                "{field} {} is {theirs} for Wireshark, {ours} here",
                known.id
            );
            compared += 1;
        }
    }
    assert!(compared >= 45, "only {compared} names were compared");
}

#[test]
fn whatever_wireshark_names_of_ike_and_of_registered_tls_groups_is_known() {
    let values = Values::read();
    // Groups over GF(2^N), which no standard of IKEv2 took over.
    let never = |field: &str, id: u16| field == "isakmp.tf.id.dh" && matches!(id, 3 | 4 | 6..=13);
    let (mut known, mut missing) = (0, Vec::new());
    for ((field, value), name) in &values.0 {
        let Ok(id) = u16::try_from(*value) else { continue };
        let found = match field.as_str() {
            "isakmp.tf.id.encr" => transform(TransformKind::Encryption, id).is_some(),
            "isakmp.tf.id.prf" => transform(TransformKind::PseudoRandomFunction, id).is_some(),
            "isakmp.tf.id.integ" => transform(TransformKind::Integrity, id).is_some(),
            "isakmp.tf.id.dh" => transform(TransformKind::KeyExchange, id).is_some(),
            // Those of the OQS project stand behind.
            "tls.handshake.extensions_supported_group" if id < 0x0200 => group(NamedGroup(id)).is_some(),
            _ => continue,
        };
        let nothing = ["reserved", "unassigned", "undefined"]
            .iter()
            .any(|word| name.to_lowercase().contains(word));
        if found {
            known += 1;
        } else if !nothing && !never(field, id) {
            missing.push(format!("{field} {id}: {name}"));
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
    assert!(known >= 105, "{known}");
}

/// Wireshark writes `AES-GCM with a 16 octet ICV` where IANA writes `ENCR_AES_GCM_16`: the words
/// decide, not their order.
fn alike(theirs: &str, ours: &str) -> bool {
    let theirs = theirs.to_ascii_uppercase();
    ours.to_ascii_uppercase()
        .split(['_', '-', ' '])
        .filter(|word| !matches!(*word, "ENCR" | "PRF" | "AUTH"))
        .all(|word| theirs.contains(word))
}
