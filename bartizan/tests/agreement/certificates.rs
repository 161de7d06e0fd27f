//! Certificates in plaintext: the same bytes, and in them the same algorithms.

use aws_lc_rs::digest::{SHA256, digest};
use bartizan_registry::x509_algorithm_named;
use serde_json::Value;

use crate::tshark::Row;

/// tshark's field for the object identifiers of algorithms in a certificate.
pub(crate) const ALGORITHMS: &str = "x509af.algorithm.id";

/// One message's certificates as we read them hold those bytes that tshark shows (`field`), and
/// name those algorithms that it finds in them. Says how many they are.
pub(crate) fn agree(ours: &Value, row: &Row, field: &str) -> usize {
    let ours = ours.as_array().expect("certificates were read");
    let theirs = &row[field];
    assert_eq!(ours.len(), theirs.len(), "{ours:?}");
    for (ours, der) in ours.iter().zip(theirs) {
        assert_eq!(ours["sha256"], hexadecimal(digest(&SHA256, &bytes(der)).as_ref()));
    }
    let identifier = |name: &Value| {
        let name = name.as_str().unwrap();
        x509_algorithm_named(name).map_or(name, |known| known.oid).to_owned()
    };
    // As they stand there: the signature's, the key's, the signature's again.
    let ours: Vec<String> = ours
        .iter()
        .flat_map(|one| [&one["signature"], &one["public_key"], &one["signature"]].map(identifier))
        .collect();
    // Parameters of RSA-PSS are hashes and a mask.
    let parameter = |oid: &&String| oid.starts_with("2.16.840.1.101.3.4.2.") || *oid == "1.2.840.113549.1.1.8";
    let theirs: Vec<&String> = row[ALGORITHMS].iter().filter(|oid| !parameter(oid)).collect();
    assert_eq!(ours.iter().collect::<Vec<_>>(), theirs);
    ours.len() / 3
}

fn bytes(text: &str) -> Vec<u8> {
    let digits: Vec<char> = text.chars().filter(char::is_ascii_hexdigit).collect();
    let byte = |pair: &[char]| u8::from_str_radix(&pair.iter().collect::<String>(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
