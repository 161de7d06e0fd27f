//! The primitives under protocols: KEMs and signatures, with the sizes their specifications give.

use serde::Serialize;

use crate::document::*;
use crate::name::any_is;
use crate::row::{category, cell, note};
use crate::{Category, Safety, Status};

/// The purpose of a primitive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// Key encapsulation: its output is a ciphertext.
    Kem,
    /// Signature: its output is a signature.
    Signature,
}

/// One KEM or signature algorithm. Sizes are bytes; none where this project has seen no value.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Primitive {
    /// Name its specification gives it.
    pub name: &'static str,
    /// Its purpose.
    pub purpose: Purpose,
    /// NIST category; none for classical signatures.
    pub category: Option<Category>,
    /// Bytes of public key.
    pub public_key: Option<u32>,
    /// Bytes of secret key in its expanded form.
    pub secret_key: Option<u32>,
    /// Bytes of the seed a secret key grows from, where the specification has one.
    pub seed: Option<u8>,
    /// Bytes of ciphertext or signature, the largest where it varies.
    pub output: Option<u32>,
    /// Bytes of shared secret, for a KEM.
    pub shared_secret: Option<u8>,
    /// Against recording for a KEM, against forgery for a signature.
    pub safety: Safety,
    /// The defining document.
    pub status: Status,
    /// OpenSSL's name, where OpenSSL 3.5 has it.
    pub openssl: Option<&'static str>,
    /// The name in aws-lc-rs, the provider under rustls here.
    pub aws_lc_rs: Option<&'static str>,
    /// strongSwan's keyword, in a release or in the branch the note names.
    pub strongswan: Option<&'static str>,
    /// A caveat beyond the numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<&'static str>,
}

// A primitive with a category is a post-quantum one; the others fall to Shor's algorithm.
macro_rules! primitives {
    ($($purpose:ident { $($name:literal $category:tt $public_key:tt $secret_key:tt $seed:tt $output:tt $shared_secret:tt $status:ident
       $openssl:tt $aws_lc_rs:tt $strongswan:tt $($note:literal)?;)* })*) => {
        &[$($(Primitive {
            name: $name,
            purpose: Purpose::$purpose,
            category: category!($category),
            public_key: cell!($public_key),
            secret_key: cell!($secret_key),
            seed: cell!($seed),
            output: cell!($output),
            shared_secret: cell!($shared_secret),
            safety: match category!($category) {
                Some(Category(_)) => Safety::QuantumSafe,
                None => Safety::Vulnerable,
            },
            status: $status,
            openssl: cell!($openssl),
            aws_lc_rs: cell!($aws_lc_rs),
            strongswan: cell!($strongswan),
            note: note!($($note)?),
        },)*)*]
    };
}

/// Every KEM and signature this project knows.
pub static PRIMITIVES: &[Primitive] = primitives! {
    // name, category, public key, secret key, seed, output, shared secret, document, OpenSSL,
    // aws-lc-rs, strongSwan, note
    Kem {
        "ML-KEM-512"               1     800  1632 64   768 32 FIPS_203      "ML-KEM-512"  "ML_KEM_512"  "mlkem512";
        "ML-KEM-768"               3    1184  2400 64  1088 32 FIPS_203      "ML-KEM-768"  "ML_KEM_768"  "mlkem768";
        "ML-KEM-1024"              5    1568  3168 64  1568 32 FIPS_203      "ML-KEM-1024" "ML_KEM_1024" "mlkem1024" "asked for by CNSA 2.0";
        "FrodoKEM-640"             1    9616 19888  -  9752 16 FRODO_640     -             -             "frodoa1"   "salted; not recommended for general use; strongSwan branch only";
        "FrodoKEM-976"             3   15632 31296  - 15792 24 FRODO_ISO     -             -             "frodoa3"   "salted; strongSwan branch only";
        "FrodoKEM-1344"            5   21520 43088  - 21696 32 FRODO_ISO     -             -             "frodoa5"   "salted; strongSwan branch only";
        "eFrodoKEM-640"            1    9616 19888  -  9720 16 FRODO_ROUND_3 -             -             -           "liboqs names it plain FrodoKEM; not interoperable with the salted one";
        "eFrodoKEM-976"            3   15632 31296  - 15744 24 FRODO_ROUND_3 -             -             -           "liboqs names it plain FrodoKEM; not interoperable with the salted one";
        "eFrodoKEM-1344"           5   21520 43088  - 21632 32 FRODO_ROUND_3 -             -             -           "liboqs names it plain FrodoKEM; not interoperable with the salted one";
        "HQC-1"                    1    2241  2321  -  4433 32 HQC_2025      -             -             -           "coming standard; no NIST draft seen";
        "HQC-3"                    3    4514  4602  -  8978 32 HQC_2025      -             -             -           "coming standard; no NIST draft seen";
        "HQC-5"                    5    7237  7333  - 14421 32 HQC_2025      -             -             -           "coming standard; no NIST draft seen";
        "HQC-128"                  1    2249  2305  -  4433 64 HQC_ROUND_4   -             -             -;
        "HQC-192"                  3    4522  4586  -  8978 64 HQC_ROUND_4   -             -             -;
        "HQC-256"                  5    7245  7317  - 14421 64 HQC_ROUND_4   -             -             -;
        "HQC-128 (round 3)"        1    2249  2289  -  4481 64 HQC_ROUND_3   -             -             -;
        "HQC-192 (round 3)"        3    4522  4562  -  9026 64 HQC_ROUND_3   -             -             -;
        "HQC-256 (round 3)"        5    7245  7285  - 14469 64 HQC_ROUND_3   -             -             -;
        "BIKE-L1"                  1    1541  5223  -  1573 32 BIKE_ROUND_4  -             -             -;
        "BIKE-L3"                  3    3083 10105  -  3115 32 BIKE_ROUND_4  -             -             -;
        "BIKE-L5"                  5    5122 16494  -  5154 32 BIKE_ROUND_4  -             -             -;
        "Classic-McEliece-348864"  1  261120  6492  -    96 32 MCELIECE      -             -             -           "secret key unverified";
        "Classic-McEliece-460896"  3  524160 13608  -   156 32 MCELIECE      -             -             -           "secret key unverified";
        "Classic-McEliece-6688128" 5 1044992 13932  -   208 32 MCELIECE      -             -             -           "secret key unverified; older releases: ciphertext 32 more, secret 40 less";
        "Classic-McEliece-6960119" 5 1047319 13948  -   194 32 MCELIECE      -             -             -           "secret key unverified; older releases: ciphertext 32 more, secret 40 less";
        "Classic-McEliece-8192128" 5 1357824 14120  -   208 32 MCELIECE      -             -             -           "secret key unverified; older releases: ciphertext 32 more, secret 40 less";
    }
    Signature {
        "ML-DSA-44"          2 1312 2560 32  2420 - FIPS_204   "ML-DSA-44"          "ML_DSA_44"              "mldsa44" "strongSwan branch only";
        "ML-DSA-65"          3 1952 4032 32  3309 - FIPS_204   "ML-DSA-65"          "ML_DSA_65"              "mldsa65" "strongSwan branch only";
        "ML-DSA-87"          5 2592 4896 32  4627 - FIPS_204   "ML-DSA-87"          "ML_DSA_87"              "mldsa87" "asked for by CNSA 2.0; strongSwan branch only";
        "SLH-DSA-SHA2-128s"  1   32   64  -  7856 - FIPS_205   "SLH-DSA-SHA2-128s"  -                        -;
        "SLH-DSA-SHA2-128f"  1   32   64  - 17088 - FIPS_205   "SLH-DSA-SHA2-128f"  -                        -;
        "SLH-DSA-SHA2-192s"  3   48   96  - 16224 - FIPS_205   "SLH-DSA-SHA2-192s"  -                        -;
        "SLH-DSA-SHA2-192f"  3   48   96  - 35664 - FIPS_205   "SLH-DSA-SHA2-192f"  -                        -;
        "SLH-DSA-SHA2-256s"  5   64  128  - 29792 - FIPS_205   "SLH-DSA-SHA2-256s"  -                        -;
        "SLH-DSA-SHA2-256f"  5   64  128  - 49856 - FIPS_205   "SLH-DSA-SHA2-256f"  -                        -;
        "SLH-DSA-SHAKE-128s" 1   32   64  -  7856 - FIPS_205   "SLH-DSA-SHAKE-128s" -                        -;
        "SLH-DSA-SHAKE-128f" 1   32   64  - 17088 - FIPS_205   "SLH-DSA-SHAKE-128f" -                        -;
        "SLH-DSA-SHAKE-192s" 3   48   96  - 16224 - FIPS_205   "SLH-DSA-SHAKE-192s" -                        -;
        "SLH-DSA-SHAKE-192f" 3   48   96  - 35664 - FIPS_205   "SLH-DSA-SHAKE-192f" -                        -;
        "SLH-DSA-SHAKE-256s" 5   64  128  - 29792 - FIPS_205   "SLH-DSA-SHAKE-256s" -                        -;
        "SLH-DSA-SHAKE-256f" 5   64  128  - 49856 - FIPS_205   "SLH-DSA-SHAKE-256f" -                        -;
        "FN-DSA-512"         1    -    -  -     - - FN_DSA     -                    -                        -         "Falcon; not in CNSA 2.0";
        "FN-DSA-1024"        5    -    -  -     - - FN_DSA     -                    -                        -         "Falcon; not in CNSA 2.0";
        "ECDSA P-256"        -   65   32  -    72 - FIPS_186_5 "P-256"              "ECDSA_P256_SHA256_ASN1" -;
        "ECDSA P-384"        -   97   48  -   104 - FIPS_186_5 "P-384"              "ECDSA_P384_SHA384_ASN1" -;
        "ECDSA P-521"        -  133   66  -   139 - FIPS_186_5 "P-521"              "ECDSA_P521_SHA512_ASN1" -;
        "Ed25519"            -   32   32  -    64 - RFC_8032   "ED25519"            "ED25519"                -;
        "Ed448"              -   57   57  -   114 - RFC_8032   "ED448"              -                        -;
    }
};

/// The primitive with this name, as its specification, OpenSSL, aws-lc-rs or strongSwan write it; case, hyphens and
/// underscores do not matter.
pub fn primitive(name: &str) -> Option<&'static Primitive> {
    PRIMITIVES.iter().find(|known| {
        any_is(
            [Some(known.name), known.openssl, known.aws_lc_rs, known.strongswan],
            name,
        )
    })
}

/// Every primitive for this purpose.
pub fn primitives(purpose: Purpose) -> impl Iterator<Item = &'static Primitive> {
    PRIMITIVES.iter().filter(move |known| known.purpose == purpose)
}
