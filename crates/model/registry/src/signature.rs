//! TLS 1.3 signature schemes.

use serde::Serialize;

use crate::code::as_hex;
use crate::document::*;
use crate::name::any_is;
use crate::row::{category, cell, note};
use crate::{Category, Safety, SignatureScheme, Status};

/// One TLS signature scheme. Sizes are bytes; a range's upper end where a size varies.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Signature {
    /// Code point.
    #[serde(serialize_with = "as_hex")]
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
    pub status: Status,
    /// OpenSSL's name, where OpenSSL 3.5 has the scheme.
    pub openssl: Option<&'static str>,
    /// rustls' name, where rustls 0.23 has the scheme.
    pub rustls: Option<&'static str>,
    /// A caveat beyond the numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<&'static str>,
}

// A scheme with a category is a post-quantum one; the others all fall to Shor's algorithm.
macro_rules! signatures {
    ($($code:literal $name:literal $signature:tt $public_key:tt $category:tt $status:ident $openssl:tt $rustls:tt $($note:literal)?;)*) => {
        &[$(Signature {
            code: SignatureScheme($code),
            name: $name,
            signature: cell!($signature),
            public_key: cell!($public_key),
            category: category!($category),
            forgery: match category!($category) {
                Some(Category(_)) => Safety::QuantumSafe,
                None => Safety::Vulnerable,
            },
            status: $status,
            openssl: cell!($openssl),
            rustls: cell!($rustls),
            note: note!($($note)?),
        }),*]
    };
}

/// Every signature scheme this project knows, by code point.
pub static SIGNATURES: &[Signature] = signatures! {
    // code, name, signature, public key, category, document, OpenSSL, rustls, note
    0x0201 "rsa_pkcs1_sha1"                        -    - - SHA1_BY_9846 "rsa_pkcs1_sha1"                    "RSA_PKCS1_SHA1"        "SHA-1: certificates only, and to be refused";
    0x0203 "ecdsa_sha1"                            -    - - SHA1_BY_9846 "ecdsa_sha1"                        "ECDSA_SHA1_Legacy"     "SHA-1: certificates only, and to be refused";
    0x0401 "rsa_pkcs1_sha256"                      -    - - RFC_9846     "rsa_pkcs1_sha256"                  "RSA_PKCS1_SHA256"      "certificates only in TLS 1.3";
    0x0403 "ecdsa_secp256r1_sha256"               72   65 - RFC_9846     "ecdsa_secp256r1_sha256"            "ECDSA_NISTP256_SHA256";
    0x0501 "rsa_pkcs1_sha384"                      -    - - RFC_9846     "rsa_pkcs1_sha384"                  "RSA_PKCS1_SHA384"      "certificates only in TLS 1.3";
    0x0503 "ecdsa_secp384r1_sha384"              104   97 - RFC_9846     "ecdsa_secp384r1_sha384"            "ECDSA_NISTP384_SHA384";
    0x0601 "rsa_pkcs1_sha512"                      -    - - RFC_9846     "rsa_pkcs1_sha512"                  "RSA_PKCS1_SHA512"      "certificates only in TLS 1.3";
    0x0603 "ecdsa_secp521r1_sha512"              139  133 - RFC_9846     "ecdsa_secp521r1_sha512"            "ECDSA_NISTP521_SHA512";
    0x0708 "sm2sig_sm3"                           72   65 - RFC_8998     -                                   -                       "OpenSSL 4.0 (unverified)";
    0x0709 "gostr34102012_256a"                   64   64 - RFC_9367     -                                   -                       "sizes computed";
    0x070a "gostr34102012_256b"                   64   64 - RFC_9367     -                                   -                       "sizes computed";
    0x070b "gostr34102012_256c"                   64   64 - RFC_9367     -                                   -                       "sizes computed";
    0x070c "gostr34102012_256d"                   64   64 - RFC_9367     -                                   -                       "sizes computed";
    0x070d "gostr34102012_512a"                  128  128 - RFC_9367     -                                   -                       "sizes computed";
    0x070e "gostr34102012_512b"                  128  128 - RFC_9367     -                                   -                       "sizes computed";
    0x070f "gostr34102012_512c"                  128  128 - RFC_9367     -                                   -                       "sizes computed";
    0x0804 "rsa_pss_rsae_sha256"                   -    - - RFC_9846     "rsa_pss_rsae_sha256"               "RSA_PSS_SHA256";
    0x0805 "rsa_pss_rsae_sha384"                   -    - - RFC_9846     "rsa_pss_rsae_sha384"               "RSA_PSS_SHA384";
    0x0806 "rsa_pss_rsae_sha512"                   -    - - RFC_9846     "rsa_pss_rsae_sha512"               "RSA_PSS_SHA512";
    0x0807 "ed25519"                              64   32 - RFC_9846     "ed25519"                           "ED25519";
    0x0808 "ed448"                               114   57 - RFC_9846     "ed448"                             "ED448"                 "rustls names it; its provider does not offer it";
    0x0809 "rsa_pss_pss_sha256"                    -    - - RFC_9846     "rsa_pss_pss_sha256"                -;
    0x080a "rsa_pss_pss_sha384"                    -    - - RFC_9846     "rsa_pss_pss_sha384"                -;
    0x080b "rsa_pss_pss_sha512"                    -    - - RFC_9846     "rsa_pss_pss_sha512"                -;
    0x081a "ecdsa_brainpoolP256r1tls13_sha256"    72   65 - RFC_8734     "ecdsa_brainpoolP256r1tls13_sha256" -                       "signature size computed";
    0x081b "ecdsa_brainpoolP384r1tls13_sha384"   104   97 - RFC_8734     "ecdsa_brainpoolP384r1tls13_sha384" -                       "signature size computed";
    0x081c "ecdsa_brainpoolP512r1tls13_sha512"   137  129 - RFC_8734     "ecdsa_brainpoolP512r1tls13_sha512" -                       "signature size computed";
    0x0904 "mldsa44"                            2420 1312 2 TLS_MLDSA    "mldsa44"                           "ML_DSA_44";
    0x0905 "mldsa65"                            3309 1952 3 TLS_MLDSA    "mldsa65"                           "ML_DSA_65";
    0x0906 "mldsa87"                            4627 2592 5 TLS_MLDSA    "mldsa87"                           "ML_DSA_87"             "asked for by CNSA 2.0";
    0x0911 "slhdsa_sha2_128s"                   7856   32 1 TLS_SLHDSA   -                                   -;
    0x0912 "slhdsa_sha2_128f"                  17088   32 1 TLS_SLHDSA   -                                   -;
    0x0913 "slhdsa_sha2_192s"                  16224   48 3 TLS_SLHDSA   -                                   -;
    0x0914 "slhdsa_sha2_192f"                  35664   48 3 TLS_SLHDSA   -                                   -;
    0x0915 "slhdsa_sha2_256s"                  29792   64 5 TLS_SLHDSA   -                                   -;
    0x0916 "slhdsa_sha2_256f"                  49856   64 5 TLS_SLHDSA   -                                   -;
    0x0917 "slhdsa_shake_128s"                  7856   32 1 TLS_SLHDSA   -                                   -;
    0x0918 "slhdsa_shake_128f"                 17088   32 1 TLS_SLHDSA   -                                   -;
    0x0919 "slhdsa_shake_192s"                 16224   48 3 TLS_SLHDSA   -                                   -;
    0x091a "slhdsa_shake_192f"                 35664   48 3 TLS_SLHDSA   -                                   -;
    0x091b "slhdsa_shake_256s"                 29792   64 5 TLS_SLHDSA   -                                   -;
    0x091c "slhdsa_shake_256f"                 49856   64 5 TLS_SLHDSA   -                                   -;
};

/// The signature scheme with this code point.
pub fn signature(code: SignatureScheme) -> Option<&'static Signature> {
    SIGNATURES.iter().find(|known| known.code == code)
}

/// The safety of a scheme from a forger with a quantum computer; none where nothing is known of it.
/// A pair of a hash and a signature algorithm, as TLS 1.2 has them (RFC 5246, section 7.4.1.4.1;
/// RFC 9189, section 6 for GOST), is classical whichever it is.
pub fn signature_safety(code: SignatureScheme) -> Option<Safety> {
    let pair = pair_name(code.0).map(|_| Safety::Vulnerable);
    signature(code).map(|known| known.forgery).or(pair)
}

/// The name of a pair of TLS 1.2, such as `ecdsa_sha224`.
pub(crate) fn pair_name(code: u16) -> Option<String> {
    const HASHES: [&str; 7] = ["none", "md5", "sha1", "sha224", "sha256", "sha384", "sha512"];
    const SIGNATURES: [&str; 4] = ["anonymous", "rsa", "dsa", "ecdsa"];
    let [hash, signature] = code.to_be_bytes().map(usize::from);
    match (HASHES.get(hash), SIGNATURES.get(signature)) {
        (Some(hash), Some(signature)) => Some(format!("{signature}_{hash}")),
        (Some(hash), None) => Some(format!("signature(0x{signature:02x})_{hash}")),
        (None, _) if matches!(code, 0x0840 | 0x0841) => Some(format!("gostr34102012_{}", 256 << (code & 1))),
        (None, _) => None,
    }
}

/// The signature scheme with this name, as IANA, OpenSSL or rustls write it, or as FIPS 204 writes the algorithm
/// (`ml-dsa-65`); case, hyphens and underscores do not matter.
pub fn signature_named(name: &str) -> Option<&'static Signature> {
    SIGNATURES
        .iter()
        .find(|known| any_is([Some(known.name), known.openssl, known.rustls], name))
}
