//! TLS 1.3 signature schemes.

use serde::Serialize;

use crate::{Category, Safety, SignatureScheme, Standing, State};

/// One TLS signature scheme. Sizes are bytes; a range's upper end where a size varies.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Signature {
    /// Code point.
    pub code: SignatureScheme,
    /// Name in the IANA registry.
    pub name: &'static str,
    /// Largest signature in bytes; none where the key decides.
    pub signature: Option<u16>,
    /// Public key in bytes; none where the key decides.
    pub public_key: Option<u16>,
    /// NIST category; none for classical schemes.
    pub category: Option<Category>,
    /// Safe against a forger with a quantum computer.
    pub forgery: Safety,
    /// The defining document.
    pub standing: Standing,
    /// OpenSSL's name, where OpenSSL 3.5 has the scheme.
    pub openssl: Option<&'static str>,
    /// rustls' name, where rustls 0.23 has the scheme.
    pub rustls: Option<&'static str>,
}

/// Every signature scheme this project knows, by code point.
pub static SIGNATURES: &[Signature] = &[
    Signature {
        code: SignatureScheme(0x0403),
        name: "ecdsa_secp256r1_sha256",
        signature: Some(72),
        public_key: Some(65),
        category: None,
        forgery: Safety::Vulnerable,
        standing: Standing {
            document: "RFC 9846",
            date: "",
            state: State::Rfc,
        },
        openssl: Some("ecdsa_secp256r1_sha256"),
        rustls: Some("ECDSA_NISTP256_SHA256"),
    },
    Signature {
        code: SignatureScheme(0x0905),
        name: "mldsa65",
        signature: Some(3309),
        public_key: Some(1952),
        category: Some(Category(3)),
        forgery: Safety::QuantumSafe,
        standing: Standing {
            document: "draft-ietf-tls-mldsa-06",
            date: "2026-09",
            state: State::Draft,
        },
        openssl: Some("mldsa65"),
        rustls: Some("ML_DSA_65"),
    },
];

/// The signature scheme with this code point.
#[must_use]
pub fn signature(code: SignatureScheme) -> Option<&'static Signature> {
    SIGNATURES.iter().find(|known| known.code == code)
}

/// The signature scheme with this name, as IANA, OpenSSL or rustls write it, or as FIPS 204 writes the algorithm (`ml-dsa-65`);
/// case does not matter.
#[must_use]
pub fn signature_named(name: &str) -> Option<&'static Signature> {
    let folded = name.replace('-', "").to_ascii_lowercase();
    SIGNATURES.iter().find(|known| {
        known.name.eq_ignore_ascii_case(&folded)
            || [Some(known.name), known.openssl, known.rustls]
                .into_iter()
                .flatten()
                .any(|n| n.eq_ignore_ascii_case(name))
    })
}
