//! Signature schemes: code point, verifier, and what keys and certificates are labelled with.

use bartizan_registry::{Safety, SignatureScheme, signature};
use rustls::pki_types::SignatureVerificationAlgorithm;
use webpki::aws_lc_rs as algorithm;
use x509_parser::x509::{AlgorithmIdentifier, SubjectPublicKeyInfo};

type Verifier = &'static dyn SignatureVerificationAlgorithm;

/// Every scheme this project can verify, with the object identifier of its signatures and of its keys (RFC 9881, RFC 5758,
/// RFC 5480, RFC 8410).
static USABLE: &[(SignatureScheme, Verifier, &str, KeyLabel)] = &[
    (
        SignatureScheme::MLDSA44,
        algorithm::ML_DSA_44,
        "2.16.840.1.101.3.4.3.17",
        KeyLabel::Same,
    ),
    (
        SignatureScheme::MLDSA65,
        algorithm::ML_DSA_65,
        "2.16.840.1.101.3.4.3.18",
        KeyLabel::Same,
    ),
    (
        SignatureScheme::MLDSA87,
        algorithm::ML_DSA_87,
        "2.16.840.1.101.3.4.3.19",
        KeyLabel::Same,
    ),
    (
        SignatureScheme::ECDSA_SECP256R1_SHA256,
        algorithm::ECDSA_P256_SHA256,
        "1.2.840.10045.4.3.2",
        KeyLabel::Curve("1.2.840.10045.3.1.7"),
    ),
    (
        SignatureScheme::ECDSA_SECP384R1_SHA384,
        algorithm::ECDSA_P384_SHA384,
        "1.2.840.10045.4.3.3",
        KeyLabel::Curve("1.3.132.0.34"),
    ),
    (
        SignatureScheme::ED25519,
        algorithm::ED25519,
        "1.3.101.112",
        KeyLabel::Same,
    ),
];

const EC_PUBLIC_KEY: &str = "1.2.840.10045.2.1";

/// Label of a scheme's key in a SubjectPublicKeyInfo.
enum KeyLabel {
    /// By the identifier of its signatures.
    Same,
    /// As `id-ecPublicKey` on this curve.
    Curve(&'static str),
}

/// Every scheme that can be verified, quantum-safe ones first.
pub(crate) fn usable() -> impl Iterator<Item = SignatureScheme> {
    USABLE.iter().map(|usable| usable.0)
}

/// The verifier of this scheme's signatures.
pub(crate) fn verifier(code: SignatureScheme) -> Option<Verifier> {
    USABLE.iter().find(|usable| usable.0 == code).map(|usable| usable.1)
}

/// The scheme in which a key signs CertificateVerify: TLS 1.3 leaves these keys no choice (RFC 9846, section 4.2.3).
pub(crate) fn of_key(key: &SubjectPublicKeyInfo<'_>) -> Option<SignatureScheme> {
    let (oid, parameters) = label(&key.algorithm);
    let usable = USABLE.iter().find(|usable| match &usable.3 {
        KeyLabel::Same => usable.2 == oid,
        KeyLabel::Curve(curve) => oid == EC_PUBLIC_KEY && parameters.as_deref() == Some(curve),
    });
    usable.map(|usable| usable.0)
}

/// The scheme of a signature on a certificate.
pub(crate) fn of_signature(algorithm: &AlgorithmIdentifier<'_>) -> Option<SignatureScheme> {
    let oid = algorithm.algorithm.to_id_string();
    USABLE.iter().find(|usable| usable.2 == oid).map(|usable| usable.0)
}

/// Object identifier of an algorithm and, where it has a curve, the curve's; dotted.
pub(crate) fn label(algorithm: &AlgorithmIdentifier<'_>) -> (String, Option<String>) {
    let curve = algorithm.parameters.as_ref().and_then(|any| any.as_oid().ok());
    (algorithm.algorithm.to_id_string(), curve.map(|oid| oid.to_id_string()))
}

/// Returns true if a quantum computer does not help to forge its signatures.
pub(crate) fn quantum_safe(code: SignatureScheme) -> bool {
    signature(code).is_some_and(|known| known.forgery == Safety::QuantumSafe)
}

/// The name that `bartizan ca init --algorithm` has for the key of a scheme.
pub(crate) fn command_line_name(code: SignatureScheme) -> &'static str {
    match code {
        SignatureScheme::MLDSA44 => "ml-dsa-44",
        SignatureScheme::MLDSA87 => "ml-dsa-87",
        SignatureScheme::ECDSA_SECP256R1_SHA256 => "ecdsa-p256",
        SignatureScheme::ECDSA_SECP384R1_SHA384 => "ecdsa-p384",
        SignatureScheme::ED25519 => "ed25519",
        _ => "ml-dsa-65",
    }
}

/// Ours as rustls writes it.
pub(crate) fn to_rustls(code: SignatureScheme) -> rustls::SignatureScheme {
    rustls::SignatureScheme::from(code.0)
}

/// The scheme as this crate writes it.
pub(crate) fn from_rustls(scheme: rustls::SignatureScheme) -> SignatureScheme {
    SignatureScheme(u16::from(scheme))
}
