//! Certificates that ledgers tell of, or that packets show.

use bartizan_ledger as ledger;
use bartizan_wire::keys;
use serde_json::{Value, json};

use super::algorithm::Algorithm;
use super::evidence::instant;

/// A certificate as a component of the document.
pub(super) struct Described {
    pub(super) reference: String,
    pub(super) name: String,
    /// `certificateProperties`.
    pub(super) properties: Value,
    /// Its key's and its issuer's.
    pub(super) algorithms: [Algorithm; 2],
}

impl Described {
    /// One that a ledger tells of.
    pub(super) fn of_ledger(certificate: &ledger::Certificate) -> Self {
        let mut described = Self::new(
            &certificate.subject,
            [&certificate.public_key, &certificate.signature],
            certificate.not_after,
            &certificate.sha256,
        );
        described.properties["serialNumber"] = json!(certificate.serial);
        if !is_hash(&certificate.sha256) {
            described.reference = format!("certificate/{}/{}", certificate.subject, certificate.serial);
        }
        if !certificate.names.is_empty() {
            described.properties["certificateExtensions"] = json!([{
                "commonExtensionName": "subjectAlternativeName",
                "commonExtensionValue": certificate.names.join(", "),
            }]);
        }
        described
    }

    /// One that packets show, in plaintext or as keys opened them.
    pub(super) fn shown(certificate: &keys::Certificate) -> Self {
        Self::new(
            &certificate.subject,
            [&certificate.public_key, &certificate.signature],
            certificate.not_after,
            &certificate.sha256,
        )
    }

    fn new(subject: &str, algorithms: [&str; 2], not_after: i64, sha256: &str) -> Self {
        let [key, signature] = algorithms.map(Algorithm::x509);
        let end = u128::try_from(not_after).unwrap_or(0) * 1_000_000_000;
        let mut properties = json!({
            "subjectName": subject,
            "notValidAfter": instant(end),
            "certificateFormat": "X.509",
            "relatedCryptographicAssets": [
                { "type": "algorithm", "ref": signature.reference },
                { "type": "publicKey", "ref": key.reference },
            ],
        });
        if is_hash(sha256) {
            properties["fingerprint"] = json!({ "alg": "SHA-256", "content": sha256 });
        }
        Self {
            reference: format!("certificate/{sha256}"),
            name: subject.to_owned(),
            properties,
            algorithms: [key, signature],
        }
    }
}

fn is_hash(sha256: &str) -> bool {
    sha256.len() == 64 && sha256.bytes().all(|digit| digit.is_ascii_hexdigit())
}
