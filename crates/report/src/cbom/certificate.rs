//! Certificates that ledgers tell of.

use bartizan_ledger::Certificate;
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
    pub(super) fn new(certificate: &Certificate) -> Self {
        let key = Algorithm::x509(&certificate.public_key);
        let signature = Algorithm::x509(&certificate.signature);
        let end = u128::try_from(certificate.not_after).unwrap_or(0) * 1_000_000_000;
        let mut properties = json!({
            "subjectName": certificate.subject,
            "serialNumber": certificate.serial,
            "notValidAfter": instant(end),
            "certificateFormat": "X.509",
            "relatedCryptographicAssets": [
                { "type": "algorithm", "ref": signature.reference },
                { "type": "publicKey", "ref": key.reference },
            ],
        });
        let whole = certificate.sha256.len() == 64 && certificate.sha256.bytes().all(|digit| digit.is_ascii_hexdigit());
        if whole {
            properties["fingerprint"] = json!({ "alg": "SHA-256", "content": certificate.sha256 });
        }
        if !certificate.names.is_empty() {
            properties["certificateExtensions"] = json!([{
                "commonExtensionName": "subjectAlternativeName",
                "commonExtensionValue": certificate.names.join(", "),
            }]);
        }
        Self {
            reference: format!("certificate/{}/{}", certificate.sha256, certificate.serial),
            name: certificate.subject.clone(),
            properties,
            algorithms: [key, signature],
        }
    }
}
