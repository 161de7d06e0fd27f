//! Algorithms as CycloneDX describes them, from the registry's names.

mod ikev2;
mod naming;

use std::fmt::Display;

use bartizan_registry::{self as registry, Category, CipherSuite, Kind, NamedGroup, Safety, SignatureScheme, X509Use};
use serde_json::{Map, Value, json};

use self::naming::{Naming, encryption, key_exchange, oid, signature};

/// An algorithm as a component of the document.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Algorithm {
    /// Identity of the algorithm: two algorithms with one reference are one.
    pub(super) reference: String,
    pub(super) name: String,
    /// `algorithmProperties`.
    pub(super) properties: Value,
    /// Its object identifier, where one exists.
    pub(super) oid: Option<&'static str>,
    /// Algorithms that it is composed of.
    pub(super) parts: Vec<Algorithm>,
}

/// The kind of primitive of an algorithm, and its uses.
type Role = (&'static str, &'static [&'static str]);

const KEM: Role = ("kem", &["encapsulate", "decapsulate"]);
// Both ends make a key pair. Evaluators take `keyderive` for a derivation from keys, which no
// quantum computer breaks.
const KEY_AGREEMENT: Role = ("key-agree", &["keygen"]);
const COMBINER: Role = ("combiner", &["keygen"]);
const SIGNATURE: Role = ("signature", &["sign", "verify"]);
const AUTHENTICATED: Role = ("ae", &["encrypt", "decrypt"]);
const CIPHER: Role = ("block-cipher", &["encrypt", "decrypt"]);
const HASH: Role = ("hash", &["digest"]);
const MAC: Role = ("mac", &["tag"]);
const DERIVATION: Role = ("kdf", &["keyderive"]);
const OTHER: Role = ("other", &["other"]);
const UNKNOWN: Role = ("unknown", &["unknown"]);

impl Algorithm {
    /// One that the registry does not know.
    fn unknown(reference: String, name: impl Display) -> Self {
        Self::new(reference, name.to_string(), UNKNOWN, Naming::default(), None)
    }

    fn new(
        reference: String,
        name: impl Into<String>,
        (primitive, functions): Role,
        naming: Naming,
        level: Option<u8>,
    ) -> Self {
        let name = name.into();
        let oid = oid(&name, &naming);
        let mut properties = Map::new();
        properties.insert("primitive".into(), json!(primitive));
        properties.insert("cryptoFunctions".into(), json!(functions));
        let mut put = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                properties.insert(key.into(), value);
            }
        };
        put("algorithmFamily", naming.family.map(Value::from));
        put("ellipticCurve", naming.curve.map(Value::from));
        put("parameterSetIdentifier", naming.parameters.map(Value::from));
        put("nistQuantumSecurityLevel", level.map(Value::from));
        Self {
            reference,
            name,
            properties: Value::Object(properties),
            oid,
            parts: Vec::new(),
        }
    }

    /// A TLS group.
    pub(super) fn group(code: NamedGroup) -> Self {
        let reference = format!("algorithm/tls-group/0x{:04x}", code.0);
        let Some(known) = registry::group(code) else {
            return Self::unknown(reference, code);
        };
        let role = match known.kind {
            Kind::Classical => KEY_AGREEMENT,
            Kind::Hybrid => COMBINER,
            Kind::PostQuantum => KEM,
        };
        let naming = match known.kind {
            Kind::Hybrid => Naming {
                parameters: Some(known.name.to_owned()),
                ..Naming::default()
            },
            Kind::Classical | Kind::PostQuantum => key_exchange(known.name),
        };
        let level = Some(level(known.category));
        let mut algorithm = Self::new(reference, known.name, role, naming, level);
        algorithm.parts = known.parts.iter().map(|&part| Self::group(part)).collect();
        algorithm
    }

    /// A TLS signature scheme.
    pub(super) fn scheme(code: SignatureScheme) -> Self {
        let reference = format!("algorithm/tls-signature/0x{:04x}", code.0);
        match registry::signature(code) {
            Some(known) => {
                let (naming, level) = (signature(known.name), Some(level(known.category)));
                Self::new(reference, known.name, SIGNATURE, naming, level)
            }
            // A pair of hash and signature algorithm of TLS 1.2.
            None if registry::signature_safety(code).is_some() => {
                let (naming, level) = (Naming::default(), Some(level(None)));
                Self::new(reference, code.to_string(), SIGNATURE, naming, level)
            }
            None => Self::unknown(reference, code),
        }
    }

    /// A key exchange method of SSH.
    pub(super) fn ssh_key_exchange(name: &str) -> Self {
        let reference = format!("algorithm/ssh-key-exchange/{name}");
        let naming = Naming {
            parameters: Some(name.to_owned()),
            ..Naming::default()
        };
        let Some(known) = registry::ssh_key_exchange(name) else {
            return Self::unknown(reference, name);
        };
        match known.recording {
            // All that are defined mix a KEM with an elliptic curve; not each has a category.
            Safety::QuantumSafe => {
                let level = known.category.map(|category| category.0);
                Self::new(reference, name.to_owned(), COMBINER, naming, level)
            }
            Safety::Vulnerable => Self::new(reference, name.to_owned(), KEY_AGREEMENT, naming, Some(level(None))),
        }
    }

    /// A signature algorithm of SSH.
    pub(super) fn ssh_signature(name: &str) -> Self {
        let reference = format!("algorithm/ssh-signature/{name}");
        let known = registry::ssh_public_key(name).filter(|known| known.forgery == Safety::Vulnerable);
        let (role, level) = match known {
            Some(_) => (SIGNATURE, Some(level(None))),
            None => (UNKNOWN, None),
        };
        Self::new(reference, name.to_owned(), role, Naming::default(), level)
    }

    /// The record cipher and the hash of a TLS cipher suite; none where the registry does not know it.
    pub(super) fn of_suite(code: CipherSuite) -> Vec<Self> {
        let Some(known) = registry::cipher(code) else {
            return Vec::new();
        };
        let Some((cipher, hash)) = known.name.rsplit_once('_') else {
            return Vec::new();
        };
        let cipher = cipher
            .split_once("_WITH_")
            .map_or_else(|| cipher.trim_start_matches("TLS_"), |(_, cipher)| cipher);
        let name = cipher.replace('_', "-");
        let naming = Naming {
            parameters: Some(known.key_bits.to_string()),
            ..encryption(cipher)
        };
        let level = known.category.map(|category| category.0);
        let reference = format!("algorithm/cipher/{name}");
        let mut record = Self::new(reference, name, AUTHENTICATED, naming, level);
        record.set_mode(cipher);
        let (family, name) = match hash.strip_prefix("SHA") {
            Some(bits) => ("SHA-2", format!("SHA-{bits}")),
            None => ("SM3", hash.to_owned()),
        };
        let naming = Naming {
            family: Some(family),
            parameters: hash.strip_prefix("SHA").map(str::to_owned),
            ..Naming::default()
        };
        vec![
            record,
            Self::new(format!("algorithm/hash/{name}"), name, HASH, naming, None),
        ]
    }

    /// An algorithm of X.509 by the name a ledger gives it.
    pub(super) fn x509(name: &str) -> Self {
        let reference = format!("algorithm/x509/{name}");
        let Some(known) = registry::x509_algorithm_named(name) else {
            return Self::unknown(reference, name);
        };
        let role = match known.usage {
            X509Use::Signing | X509Use::SignatureOnly => SIGNATURE,
            X509Use::KeyEstablishment if known.category.is_some() => KEM,
            X509Use::KeyEstablishment => KEY_AGREEMENT,
        };
        let naming = match known.usage {
            X509Use::KeyEstablishment => key_exchange(known.name.trim_start_matches("id-").trim_start_matches("alg-")),
            X509Use::Signing | X509Use::SignatureOnly => signature(known.name.trim_start_matches("id-")),
        };
        let level = Some(level(known.category));
        Self::new(reference, known.name, role, naming, level)
    }

    fn set_mode(&mut self, cipher: &str) {
        let modes = ["gcm", "ccm", "cbc", "ctr"];
        let cipher = cipher.to_ascii_lowercase();
        let mode = modes
            .into_iter()
            .find(|mode| cipher.split('_').any(|word| word == *mode));
        if let (Some(mode), Value::Object(properties)) = (mode, &mut self.properties) {
            properties.insert("mode".into(), json!(mode));
        }
    }
}

/// An algorithm that falls to a quantum computer meets no category: CycloneDX writes 0.
fn level(category: Option<Category>) -> u8 {
    category.map_or(0, |category| category.0)
}

#[cfg(test)]
mod tests;
