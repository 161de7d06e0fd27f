//! Algorithms of X.509: what a SubjectPublicKeyInfo or a signature is labelled with.

use serde::Serialize;

use crate::document::*;
use crate::name::any_is;
use crate::row::{category, cell, note};
use crate::{Category, Safety, Status};

/// The kind of algorithm that an object identifier names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum X509Use {
    /// A key that signs; where the two share an identifier, also its signatures.
    Signing,
    /// A key that others encapsulate or agree to.
    KeyEstablishment,
    /// A signature alone: the key has another identifier.
    SignatureOnly,
}

/// One algorithm of X.509.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct X509Algorithm {
    /// Object identifier, dotted.
    pub oid: &'static str,
    /// Object identifier of the parameters (the curve); none where parameters are absent, as for every post-quantum
    /// algorithm, or are not an identifier.
    pub parameters: Option<&'static str>,
    /// Name the defining document gives it.
    pub name: &'static str,
    /// The kind of algorithm that the identifier names.
    pub usage: X509Use,
    /// Bytes of the key inside the BIT STRING.
    pub public_key: Option<u16>,
    /// Bytes of the whole SubjectPublicKeyInfo in DER.
    pub spki: Option<u16>,
    /// NIST category; a composite's is that of its post-quantum part.
    pub category: Option<Category>,
    /// Against forgery for a signature, against recording for key establishment.
    pub safety: Safety,
    /// The defining document.
    pub status: Status,
    /// OpenSSL's name, where OpenSSL 3.5 has it.
    pub openssl: Option<&'static str>,
    /// A caveat beyond the numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<&'static str>,
}

// An algorithm with a category has a post-quantum part; the others fall to Shor's algorithm.
macro_rules! algorithms {
    ($($oid:literal $parameters:tt $name:literal $usage:ident $public_key:tt $spki:tt $category:tt $status:ident $openssl:tt $($note:literal)?;)*) => {
        &[$(X509Algorithm {
            oid: $oid,
            parameters: cell!($parameters),
            name: $name,
            usage: X509Use::$usage,
            public_key: cell!($public_key),
            spki: cell!($spki),
            category: category!($category),
            safety: match category!($category) {
                Some(Category(_)) => Safety::QuantumSafe,
                None => Safety::Vulnerable,
            },
            status: $status,
            openssl: cell!($openssl),
            note: note!($($note)?),
        }),*]
    };
}

/// Every algorithm of X.509 this project knows: the post-quantum ones, then composites, then classical ones.
pub static X509_ALGORITHMS: &[X509Algorithm] = algorithms! {
    // identifier, parameters, name, usage, public key, SPKI, category, document, OpenSSL, note
    "2.16.840.1.101.3.4.3.17" -                     "id-ml-dsa-44"                            Signing          1312 1334 2 RFC_9881             "ML-DSA-44";
    "2.16.840.1.101.3.4.3.18" -                     "id-ml-dsa-65"                            Signing          1952 1974 3 RFC_9881             "ML-DSA-65";
    "2.16.840.1.101.3.4.3.19" -                     "id-ml-dsa-87"                            Signing          2592 2614 5 RFC_9881             "ML-DSA-87";
    "2.16.840.1.101.3.4.3.20" -                     "id-slh-dsa-sha2-128s"                    Signing            32   50 1 RFC_9909             "SLH-DSA-SHA2-128s";
    "2.16.840.1.101.3.4.3.21" -                     "id-slh-dsa-sha2-128f"                    Signing            32   50 1 RFC_9909             "SLH-DSA-SHA2-128f";
    "2.16.840.1.101.3.4.3.22" -                     "id-slh-dsa-sha2-192s"                    Signing            48   66 3 RFC_9909             "SLH-DSA-SHA2-192s";
    "2.16.840.1.101.3.4.3.23" -                     "id-slh-dsa-sha2-192f"                    Signing            48   66 3 RFC_9909             "SLH-DSA-SHA2-192f";
    "2.16.840.1.101.3.4.3.24" -                     "id-slh-dsa-sha2-256s"                    Signing            64   82 5 RFC_9909             "SLH-DSA-SHA2-256s";
    "2.16.840.1.101.3.4.3.25" -                     "id-slh-dsa-sha2-256f"                    Signing            64   82 5 RFC_9909             "SLH-DSA-SHA2-256f";
    "2.16.840.1.101.3.4.3.26" -                     "id-slh-dsa-shake-128s"                   Signing            32   50 1 RFC_9909             "SLH-DSA-SHAKE-128s";
    "2.16.840.1.101.3.4.3.27" -                     "id-slh-dsa-shake-128f"                   Signing            32   50 1 RFC_9909             "SLH-DSA-SHAKE-128f";
    "2.16.840.1.101.3.4.3.28" -                     "id-slh-dsa-shake-192s"                   Signing            48   66 3 RFC_9909             "SLH-DSA-SHAKE-192s";
    "2.16.840.1.101.3.4.3.29" -                     "id-slh-dsa-shake-192f"                   Signing            48   66 3 RFC_9909             "SLH-DSA-SHAKE-192f";
    "2.16.840.1.101.3.4.3.30" -                     "id-slh-dsa-shake-256s"                   Signing            64   82 5 RFC_9909             "SLH-DSA-SHAKE-256s";
    "2.16.840.1.101.3.4.3.31" -                     "id-slh-dsa-shake-256f"                   Signing            64   82 5 RFC_9909             "SLH-DSA-SHAKE-256f";
    "2.16.840.1.101.3.4.3.32" -                     "id-hash-ml-dsa-44-with-sha512"           Signing             -    - 2 RFC_9881             -                         "not for X.509 (unverified)";
    "2.16.840.1.101.3.4.3.33" -                     "id-hash-ml-dsa-65-with-sha512"           Signing             -    - 3 RFC_9881             -                         "not for X.509 (unverified)";
    "2.16.840.1.101.3.4.3.34" -                     "id-hash-ml-dsa-87-with-sha512"           Signing             -    - 5 RFC_9881             -                         "not for X.509 (unverified)";
    "2.16.840.1.101.3.4.4.1"  -                     "id-alg-ml-kem-512"                       KeyEstablishment  800  822 1 RFC_9935             "ML-KEM-512";
    "2.16.840.1.101.3.4.4.2"  -                     "id-alg-ml-kem-768"                       KeyEstablishment 1184 1206 3 RFC_9935             "ML-KEM-768";
    "2.16.840.1.101.3.4.4.3"  -                     "id-alg-ml-kem-1024"                      KeyEstablishment 1568 1590 5 RFC_9935             "ML-KEM-1024";
    "1.3.6.1.5.5.7.6.37"      -                     "id-MLDSA44-RSA2048-PSS-SHA256"           Signing             -    - 2 COMPOSITE_SIGNATURES -                         "sizes unverified";
    "1.3.6.1.5.5.7.6.38"      -                     "id-MLDSA44-RSA2048-PKCS15-SHA256"        Signing             -    - 2 COMPOSITE_SIGNATURES -                         "sizes unverified";
    "1.3.6.1.5.5.7.6.39"      -                     "id-MLDSA44-Ed25519-SHA512"               Signing             -    - 2 COMPOSITE_SIGNATURES -                         "sizes unverified";
    "1.3.6.1.5.5.7.6.40"      -                     "id-MLDSA44-ECDSA-P256-SHA256"            Signing             -    - 2 COMPOSITE_SIGNATURES -                         "sizes unverified";
    "1.3.6.1.5.5.7.6.41"      -                     "id-MLDSA65-RSA3072-PSS-SHA512"           Signing             -    - 3 COMPOSITE_SIGNATURES -                         "sizes unverified";
    "1.3.6.1.5.5.7.6.42"      -                     "id-MLDSA65-RSA3072-PKCS15-SHA512"        Signing             -    - 3 COMPOSITE_SIGNATURES -                         "sizes unverified";
    "1.3.6.1.5.5.7.6.43"      -                     "id-MLDSA65-RSA4096-PSS-SHA512"           Signing             -    - 3 COMPOSITE_SIGNATURES -                         "sizes unverified";
    "1.3.6.1.5.5.7.6.44"      -                     "id-MLDSA65-RSA4096-PKCS15-SHA512"        Signing             -    - 3 COMPOSITE_SIGNATURES -                         "sizes unverified; one public table mislabels it";
    "1.3.6.1.5.5.7.6.45"      -                     "id-MLDSA65-ECDSA-P256-SHA512"            Signing             -    - 3 COMPOSITE_SIGNATURES -                         "sizes unverified";
    "1.3.6.1.5.5.7.6.46"      -                     "id-MLDSA65-ECDSA-P384-SHA512"            Signing             -    - 3 COMPOSITE_SIGNATURES -                         "sizes unverified";
    "1.3.6.1.5.5.7.6.47"      -                     "id-MLDSA65-ECDSA-brainpoolP256r1-SHA512" Signing             -    - 3 COMPOSITE_SIGNATURES -                         "sizes unverified";
    "1.3.6.1.5.5.7.6.48"      -                     "id-MLDSA65-Ed25519-SHA512"               Signing             -    - 3 COMPOSITE_SIGNATURES -                         "sizes unverified";
    "1.3.6.1.5.5.7.6.49"      -                     "id-MLDSA87-ECDSA-P384-SHA512"            Signing             -    - 5 COMPOSITE_SIGNATURES -                         "sizes unverified";
    "1.3.6.1.5.5.7.6.50"      -                     "id-MLDSA87-ECDSA-brainpoolP384r1-SHA512" Signing             -    - 5 COMPOSITE_SIGNATURES -                         "sizes unverified";
    "1.3.6.1.5.5.7.6.51"      -                     "id-MLDSA87-Ed448-SHAKE256"               Signing             -    - 5 COMPOSITE_SIGNATURES -                         "sizes unverified";
    "1.3.6.1.5.5.7.6.52"      -                     "id-MLDSA87-RSA3072-PSS-SHA512"           Signing             -    - 5 COMPOSITE_SIGNATURES -                         "sizes unverified";
    "1.3.6.1.5.5.7.6.53"      -                     "id-MLDSA87-RSA4096-PSS-SHA512"           Signing             -    - 5 COMPOSITE_SIGNATURES -                         "sizes unverified";
    "1.3.6.1.5.5.7.6.54"      -                     "id-MLDSA87-ECDSA-P521-SHA512"            Signing             -    - 5 COMPOSITE_SIGNATURES -                         "sizes unverified";
    "1.2.840.10045.2.1"       "1.2.840.10045.3.1.7" "id-ecPublicKey, P-256"                   Signing            65   91 - RFC_5480             "P-256";
    "1.2.840.10045.2.1"       "1.3.132.0.34"        "id-ecPublicKey, P-384"                   Signing            97  120 - RFC_5480             "P-384"                   "SPKI size computed";
    "1.2.840.10045.2.1"       "1.3.132.0.35"        "id-ecPublicKey, P-521"                   Signing           133  158 - RFC_5480             "P-521"                   "SPKI size computed";
    "1.2.840.10045.4.3.2"     -                     "ecdsa-with-SHA256"                       SignatureOnly       -    - - RFC_5758             "ecdsa-with-SHA256";
    "1.2.840.10045.4.3.3"     -                     "ecdsa-with-SHA384"                       SignatureOnly       -    - - RFC_5758             "ecdsa-with-SHA384";
    "1.2.840.10045.4.3.4"     -                     "ecdsa-with-SHA512"                       SignatureOnly       -    - - RFC_5758             "ecdsa-with-SHA512";
    "1.3.101.110"             -                     "id-X25519"                               KeyEstablishment   32   44 - RFC_8410             "X25519";
    "1.3.101.111"             -                     "id-X448"                                 KeyEstablishment   56   68 - RFC_8410             "X448";
    "1.3.101.112"             -                     "id-Ed25519"                              Signing            32   44 - RFC_8410             "ED25519";
    "1.3.101.113"             -                     "id-Ed448"                                Signing            57   69 - RFC_8410             "ED448";
    "1.2.840.113549.1.1.1"    -                     "rsaEncryption"                           Signing             -    - - RFC_8017             "rsaEncryption"           "the modulus decides the size";
    "1.2.840.113549.1.1.10"   -                     "id-RSASSA-PSS"                           Signing             -    - - RFC_8017             "rsassaPss"               "the modulus decides the size";
    "1.2.840.113549.1.1.11"   -                     "sha256WithRSAEncryption"                 SignatureOnly       -    - - RFC_8017             "sha256WithRSAEncryption";
    "1.2.840.113549.1.1.12"   -                     "sha384WithRSAEncryption"                 SignatureOnly       -    - - RFC_8017             "sha384WithRSAEncryption";
    "1.2.840.113549.1.1.13"   -                     "sha512WithRSAEncryption"                 SignatureOnly       -    - - RFC_8017             "sha512WithRSAEncryption";
};

/// The algorithm with this object identifier and, for an elliptic curve, the curve's: the first of an identifier's rows
/// where no parameters are given.
pub fn x509_algorithm(oid: &str, parameters: Option<&str>) -> Option<&'static X509Algorithm> {
    X509_ALGORITHMS.iter().find(|known| {
        known.oid == oid && (known.parameters.is_none() || parameters.is_none() || known.parameters == parameters)
    })
}

/// The algorithm with this name, as its document or OpenSSL write it; case, hyphens and underscores do not matter.
pub fn x509_algorithm_named(name: &str) -> Option<&'static X509Algorithm> {
    X509_ALGORITHMS
        .iter()
        .find(|known| any_is([Some(known.name), known.openssl], name))
}
