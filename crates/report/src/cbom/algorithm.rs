//! Algorithms as CycloneDX describes them, from the registry's names.

use bartizan_registry::{
    self as registry, Category, CipherSuite, Kind, NamedGroup, Safety, SignatureScheme, TransformKind, X509Use,
};
use bartizan_wire::ike::Transform;
use serde_json::{Map, Value, json};

/// An algorithm as a component of the document.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Algorithm {
    /// What other components call it by: two algorithms with one reference are one.
    pub(super) reference: String,
    pub(super) name: String,
    /// `algorithmProperties`.
    pub(super) properties: Value,
    /// What it is made of.
    pub(super) parts: Vec<Algorithm>,
}

/// What kind of primitive an algorithm is, and what it is used for.
type Role = (&'static str, &'static [&'static str]);

const KEM: Role = ("kem", &["encapsulate", "decapsulate"]);
const KEY_AGREEMENT: Role = ("key-agree", &["keyderive"]);
const COMBINER: Role = ("combiner", &["keyderive"]);
const SIGNATURE: Role = ("signature", &["sign", "verify"]);
const AUTHENTICATED: Role = ("ae", &["encrypt", "decrypt", "tag"]);
const CIPHER: Role = ("block-cipher", &["encrypt", "decrypt"]);
const HASH: Role = ("hash", &["digest"]);
const MAC: Role = ("mac", &["tag"]);
const DERIVATION: Role = ("kdf", &["keyderive"]);
const OTHER: Role = ("other", &["other"]);
const UNKNOWN: Role = ("unknown", &["unknown"]);

/// Family, elliptic curve and parameter set, as CycloneDX lists them; empty where its lists have none.
#[derive(Debug, Default, PartialEq, Eq)]
struct Naming {
    family: Option<&'static str>,
    curve: Option<String>,
    parameters: Option<String>,
}

impl Algorithm {
    fn new(reference: String, name: String, (primitive, functions): Role, naming: Naming, level: Option<u8>) -> Self {
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
            parts: Vec::new(),
        }
    }

    /// A TLS group.
    pub(super) fn group(code: NamedGroup) -> Self {
        let reference = format!("algorithm/tls-group/0x{:04x}", code.0);
        let Some(known) = registry::group(code) else {
            return Self::new(reference, code.to_string(), UNKNOWN, Naming::default(), None);
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
        let mut algorithm = Self::new(
            reference,
            known.name.to_owned(),
            role,
            naming,
            Some(level(known.category)),
        );
        algorithm.parts = known.parts.iter().map(|&part| Self::group(part)).collect();
        algorithm
    }

    /// A TLS signature scheme.
    pub(super) fn scheme(code: SignatureScheme) -> Self {
        let reference = format!("algorithm/tls-signature/0x{:04x}", code.0);
        match registry::signature(code) {
            Some(known) => {
                let level = Some(level(known.category));
                Self::new(
                    reference,
                    known.name.to_owned(),
                    SIGNATURE,
                    signature(known.name),
                    level,
                )
            }
            None => Self::new(reference, code.to_string(), UNKNOWN, Naming::default(), None),
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
            return Self::new(reference, name.to_owned(), UNKNOWN, Naming::default(), None);
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
        let mut record = Self::new(
            format!("algorithm/cipher/{name}"),
            name,
            AUTHENTICATED,
            naming,
            known.category.map(|category| category.0),
        );
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

    /// A transform that two IKEv2 ends agreed on; an additional key exchange is the same algorithm as the first would be.
    pub(super) fn transform(transform: Transform) -> Self {
        let kind = TransformKind::of(transform.kind);
        let known = kind.and_then(|kind| registry::transform(kind, transform.id));
        let (Some(kind), Some(known)) = (kind, known) else {
            let reference = format!("algorithm/ikev2/{}/{}", transform.kind, transform.id);
            return Self::new(reference, transform.to_string(), UNKNOWN, Naming::default(), None);
        };
        let bits = transform.key_length.map(|bits| bits.to_string());
        let length = bits.as_ref().map_or_else(String::new, |bits| format!("-{bits}"));
        let reference = format!("algorithm/ikev2/{kind}/{}{length}", transform.id);
        let name = format!("{}{length}", known.name);
        match kind {
            TransformKind::KeyExchange => {
                let role = if known.category.is_some() { KEM } else { KEY_AGREEMENT };
                Self::new(
                    reference,
                    name,
                    role,
                    key_exchange(known.name),
                    Some(level(known.category)),
                )
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
                let mut algorithm = Self::new(reference, name, role, naming, category.map(|category| category.0));
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

    /// An algorithm of X.509 by the name a ledger gives it.
    pub(super) fn x509(name: &str) -> Self {
        let reference = format!("algorithm/x509/{name}");
        let Some(known) = registry::x509_algorithm_named(name) else {
            return Self::new(reference, name.to_owned(), UNKNOWN, Naming::default(), None);
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
        Self::new(
            reference,
            known.name.to_owned(),
            role,
            naming,
            Some(level(known.category)),
        )
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

/// What falls to a quantum computer meets no category: CycloneDX writes 0.
fn level(category: Option<Category>) -> u8 {
    category.map_or(0, |category| category.0)
}

fn digits(name: &str) -> Option<String> {
    let digits: String = name.chars().filter(char::is_ascii_digit).collect();
    (!digits.is_empty()).then_some(digits)
}

/// What CycloneDX calls a key exchange by.
fn key_exchange(name: &str) -> Naming {
    let plain = name.to_ascii_lowercase().replace(['-', '_'], "");
    let elliptic = |curve: String| Naming {
        family: Some("ECDH"),
        parameters: curve.rsplit('/').next().map(str::to_owned),
        curve: Some(curve),
    };
    if let Some(size) = plain.strip_prefix("mlkem") {
        return Naming {
            family: Some("ML-KEM"),
            parameters: Some(size.to_owned()),
            curve: None,
        };
    }
    if plain.ends_with("25519") {
        return elliptic("other/Curve25519".into());
    }
    if plain.ends_with("448") && !plain.contains("bit") {
        return elliptic("other/Curve448".into());
    }
    if plain.starts_with("secp") {
        return elliptic(format!("secg/{plain}"));
    }
    if plain.contains("bitrandomecp") {
        return elliptic(format!("secg/secp{}r1", plain.trim_end_matches("bitrandomecp")));
    }
    if plain.starts_with("brainpoolp") {
        return elliptic(format!("brainpool/{}", name.trim_end_matches("tls13")));
    }
    if plain == "curvesm2" {
        return elliptic("oscaa/SM2".into());
    }
    let family = if plain.starts_with("ffdhe") || plain.contains("modp") {
        Some("FFDH")
    } else if plain.starts_with("gost") {
        Some("GOST")
    } else {
        None
    };
    let parameters = match family {
        // "2048-bit MODP with 224-bit subgroup": the modulus comes first.
        Some("FFDH") => digits(plain.split("bit").next().unwrap_or(&plain)),
        _ => Some(name.to_owned()),
    };
    Naming {
        family,
        parameters,
        curve: None,
    }
}

/// What CycloneDX calls a signature by.
fn signature(name: &str) -> Naming {
    let plain = name.to_ascii_lowercase().replace(['-', '_', ' ', ','], "");
    let of = |family, curve: Option<&str>, parameters: Option<String>| Naming {
        family: Some(family),
        curve: curve.map(str::to_owned),
        parameters,
    };
    if let Some(size) = plain.strip_prefix("mldsa").filter(|size| size.len() == 2) {
        return of("ML-DSA", None, Some(size.to_owned()));
    }
    if let Some(set) = plain.strip_prefix("slhdsa") {
        let set = match set.strip_prefix("sha2") {
            Some(rest) => format!("SHA2-{rest}"),
            None => format!("SHAKE-{}", set.trim_start_matches("shake")),
        };
        return of("SLH-DSA", None, Some(set));
    }
    // A composite, or a pre-hashed one: no family of CycloneDX is right for it.
    if plain.contains("mldsa") {
        return Naming {
            parameters: Some(name.to_owned()),
            ..Naming::default()
        };
    }
    if plain.contains("ed25519") {
        return of("EdDSA", Some("other/Ed25519"), Some("Ed25519".into()));
    }
    if plain.contains("ed448") {
        return of("EdDSA", Some("other/Ed448"), Some("Ed448".into()));
    }
    if plain.contains("ecdsa") || plain.contains("ecpublickey") {
        let curves = [
            ("secp256r1", "secg/secp256r1"),
            ("secp384r1", "secg/secp384r1"),
            ("secp521r1", "secg/secp521r1"),
            ("ecpublickeyp256", "secg/secp256r1"),
            ("ecpublickeyp384", "secg/secp384r1"),
            ("ecpublickeyp521", "secg/secp521r1"),
            ("brainpoolp256r1", "brainpool/brainpoolP256r1"),
            ("brainpoolp384r1", "brainpool/brainpoolP384r1"),
            ("brainpoolp512r1", "brainpool/brainpoolP512r1"),
        ];
        let curve = curves
            .into_iter()
            .find(|(word, _)| plain.contains(word))
            .map(|(_, curve)| curve);
        return of(
            "ECDSA",
            curve,
            curve.and_then(|curve| curve.rsplit('/').next()).map(str::to_owned),
        );
    }
    if plain.contains("pss") {
        return of("RSASSA-PSS", None, None);
    }
    if plain.contains("pkcs1") || plain.ends_with("withrsaencryption") {
        return of("RSASSA-PKCS1", None, None);
    }
    if plain.starts_with("sm2") {
        return of("SM2", Some("oscaa/SM2"), None);
    }
    Naming::default()
}

/// What CycloneDX calls a cipher by, without its key length.
fn encryption(name: &str) -> Naming {
    let families = [
        ("AES", "AES"),
        ("CHACHA20", "ChaCha20"),
        ("CAMELLIA", "CAMELLIA"),
        ("SM4", "SM4"),
        ("KUZNYECHIK", "GOST"),
        ("MAGMA", "GOST"),
    ];
    let family = families.into_iter().find(|(word, _)| name.contains(word));
    Naming {
        family: family.map(|(_, family)| family),
        ..Naming::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(algorithm: &Algorithm, key: &str) -> Value {
        algorithm.properties.get(key).cloned().unwrap_or(Value::Null)
    }

    #[test]
    fn a_hybrid_group_is_a_combiner_of_its_two_parts_with_their_category() {
        let hybrid = Algorithm::group(NamedGroup::X25519MLKEM768);
        assert_eq!(of(&hybrid, "primitive"), "combiner");
        assert_eq!(of(&hybrid, "nistQuantumSecurityLevel"), 3);
        let [kem, curve] = &hybrid.parts[..] else {
            panic!("{hybrid:?}")
        };
        assert_eq!(
            (of(kem, "algorithmFamily"), of(kem, "parameterSetIdentifier")),
            (json!("ML-KEM"), json!("768"))
        );
        assert_eq!(of(kem, "primitive"), "kem");
        assert_eq!(of(curve, "ellipticCurve"), "other/Curve25519");
        assert_eq!(of(curve, "nistQuantumSecurityLevel"), 0);
    }

    #[test]
    fn a_classical_group_never_has_a_level_above_0() {
        for known in registry::GROUPS.iter().filter(|known| known.kind == Kind::Classical) {
            let algorithm = Algorithm::group(known.code);
            assert_eq!(of(&algorithm, "nistQuantumSecurityLevel"), 0, "{}", known.name);
            assert_ne!(of(&algorithm, "algorithmFamily"), Value::Null, "{}", known.name);
        }
    }

    #[test]
    fn a_suite_is_its_record_cipher_and_its_hash() {
        let suite = Algorithm::of_suite(CipherSuite::AES_256_GCM_SHA384);
        let names: Vec<&str> = suite.iter().map(|algorithm| algorithm.name.as_str()).collect();
        assert_eq!(names, ["AES-256-GCM", "SHA-384"]);
        assert_eq!(of(&suite[0], "mode"), "gcm");
        assert_eq!(of(&suite[0], "nistQuantumSecurityLevel"), 5);
        for known in registry::CIPHERS {
            assert_eq!(Algorithm::of_suite(known.code).len(), 2, "{}", known.name);
        }
        assert_eq!(Algorithm::of_suite(CipherSuite(0xfafa)), []);
    }

    #[test]
    fn an_unknown_code_point_stays_visible_as_a_number() {
        let unknown = Algorithm::group(NamedGroup(0x4444));
        assert_eq!(
            (unknown.name.as_str(), of(&unknown, "primitive")),
            ("unknown(0x4444)", json!("unknown"))
        );
        assert_eq!(of(&unknown, "nistQuantumSecurityLevel"), Value::Null);
    }

    #[test]
    fn a_composite_of_x509_is_not_called_ml_dsa_alone() {
        let composite = Algorithm::x509("id-MLDSA65-ECDSA-P256-SHA512");
        assert_eq!(of(&composite, "algorithmFamily"), Value::Null);
        assert_eq!(of(&Algorithm::x509("id-ml-dsa-65"), "algorithmFamily"), "ML-DSA");
        assert_eq!(of(&Algorithm::x509("ecdsa-with-SHA256"), "nistQuantumSecurityLevel"), 0);
    }
}
