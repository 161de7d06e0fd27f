//! The choices of two ends of IKEv2, from packets or from a ledger.

use bartizan_ledger as ledger;
use bartizan_registry::{self as registry, Category, TransformKind, authentication_method, x509_algorithm};
use bartizan_wire::ike::{Proof, Transform};

use super::naming::{Naming, encryption, key_exchange, signature};
use super::{AUTHENTICATED, Algorithm, CIPHER, DERIVATION, KEM, KEY_AGREEMENT, MAC, OTHER, SIGNATURE, UNKNOWN, level};

impl Algorithm {
    /// A transform that two IKEv2 ends agreed on; an additional key exchange is the same algorithm
    /// as the first would be.
    pub(in crate::cbom) fn transform(transform: Transform) -> Self {
        let kind = TransformKind::of(transform.kind);
        let known = kind.and_then(|kind| registry::transform(kind, transform.id));
        let (Some(kind), Some(known)) = (kind, known) else {
            let reference = format!("algorithm/ikev2/{}/{}", transform.kind, transform.id);
            return Self::unknown(reference, transform);
        };
        let bits = transform.key_length.map(|bits| bits.to_string());
        let length = bits.as_ref().map_or_else(String::new, |bits| format!("-{bits}"));
        let reference = format!("algorithm/ikev2/{kind}/{}{length}", transform.id);
        let name = format!("{}{length}", known.name);
        match kind {
            TransformKind::KeyExchange => {
                let role = if known.category.is_some() { KEM } else { KEY_AGREEMENT };
                let naming = key_exchange(known.name);
                // "256-bit random ECP" says to no evaluator that it is a key agreement.
                let name = match naming.family {
                    Some(family @ ("ECDH" | "FFDH")) => format!("{family}, {name}"),
                    _ => name,
                };
                Self::new(reference, name, role, naming, Some(level(known.category)))
            }
            TransformKind::Encryption => {
                let plain = known.name.trim_start_matches("ENCR_");
                let naming = Naming {
                    parameters: bits,
                    ..encryption(plain)
                };
                let role = if ["GCM", "CCM", "POLY1305", "MGM"]
                    .iter()
                    .any(|aead| plain.contains(aead))
                {
                    AUTHENTICATED
                } else if naming.family.is_some() && !plain.contains("NULL") {
                    CIPHER
                } else {
                    OTHER
                };
                let aes = plain.starts_with("AES_") && known.recording == Some(registry::Safety::QuantumSafe);
                let category = transform.key_length.filter(|_| aes).and_then(Category::of_aes);
                // A cipher that does not encrypt needs no quantum computer.
                let broken = known.recording == Some(registry::Safety::Vulnerable);
                let level = category.map(|category| category.0).or(broken.then_some(0));
                let mut algorithm = Self::new(reference, name, role, naming, level);
                algorithm.set_mode(plain);
                algorithm
            }
            TransformKind::PseudoRandomFunction => {
                let naming = Naming {
                    family: Some("IKE-PRF"),
                    parameters: Some(known.name.trim_start_matches("PRF_").replace('_', "-")),
                    ..Naming::default()
                };
                Self::new(reference, name, DERIVATION, naming, None)
            }
            TransformKind::Integrity => {
                let family = [("HMAC", "HMAC"), ("CMAC", "CMAC")]
                    .into_iter()
                    .find(|(word, _)| known.name.contains(word));
                let naming = Naming {
                    family: family.map(|(_, family)| family),
                    parameters: Some(known.name.trim_start_matches("AUTH_").replace('_', "-")),
                    ..Naming::default()
                };
                Self::new(reference, name, MAC, naming, None)
            }
            TransformKind::SequenceNumbers => Self::new(reference, name, OTHER, Naming::default(), None),
        }
    }

    /// A transform of this type that has no number: a ledger has the daemon's name for it.
    pub(in crate::cbom) fn unnumbered(kind: u8, name: &str) -> Self {
        let reference = format!("algorithm/ikev2/{kind}/{name}");
        Self::unknown(reference, name)
    }

    /// The authentication of an end of IKEv2, in the words of the daemon that wrote the ledger:
    /// `ECDSA_WITH_SHA256_DER`, `pre-shared key`.
    pub(in crate::cbom) fn proof_of_ledger(name: &str, forgery: ledger::Forgery) -> Self {
        let (role, level) = match forgery {
            // The certificates below which it signs may be classical.
            ledger::Forgery::PossibleLater if registry::mentions(name, "ml-dsa") => (SIGNATURE, None),
            ledger::Forgery::PossibleLater => (SIGNATURE, Some(level(None))),
            ledger::Forgery::NotKnown => (SIGNATURE, None),
            ledger::Forgery::AsSecretAsTheKey => (MAC, None),
            ledger::Forgery::Unknown => (UNKNOWN, None),
        };
        let reference = format!("algorithm/ikev2-authentication/{name}");
        Self::new(reference, name.to_owned(), role, signature(name), level)
    }

    /// The same as keys opened it; none where no AUTH payload was opened.
    pub(in crate::cbom) fn proof_opened(proof: &Proof) -> Option<Self> {
        let method = proof.method.as_ref()?.value;
        if let Some(oid) = &proof.algorithm {
            return Some(Self::x509(x509_algorithm(oid, None).map_or(oid, |known| known.name)));
        }
        let reference = format!("algorithm/ikev2-authentication/{method}");
        Some(match authentication_method(method) {
            Some(known) => {
                let broken = known.forgery == Some(registry::Safety::Vulnerable);
                // NULL Authentication (RFC 7619) falls without a signature.
                let signs = broken && !known.name.starts_with("NULL");
                let role = if signs { SIGNATURE } else { OTHER };
                let level = broken.then(|| level(None));
                Self::new(reference, known.name.to_owned(), role, signature(known.name), level)
            }
            None => Self::unknown(reference, format!("method {method}")),
        })
    }
}
