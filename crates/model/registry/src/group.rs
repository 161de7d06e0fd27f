//! TLS 1.3 named groups.

use serde::Serialize;

use crate::code::as_hex;
use crate::document::*;
use crate::name::any_is;
use crate::row::{category, cell, note};
use crate::{Category, NamedGroup, Safety, Status};

/// The kind of key exchange of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// (Elliptic-curve) Diffie-Hellman alone.
    Classical,
    /// A post-quantum KEM together with a classical exchange.
    Hybrid,
    /// A post-quantum KEM alone.
    PostQuantum,
}

/// One TLS named group. Sizes are bytes of key exchange data, without length fields.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Group {
    /// Code point.
    #[serde(serialize_with = "as_hex")]
    pub code: NamedGroup,
    /// Name in the IANA registry.
    pub name: &'static str,
    /// Its kind of key exchange.
    pub kind: Kind,
    /// Bytes in the client's key share.
    pub client_share: u16,
    /// Bytes in the server's key share.
    pub server_share: u16,
    /// Bytes of shared secret.
    pub secret: u16,
    /// NIST category; none for classical groups.
    pub category: Option<Category>,
    /// Safe against an attacker who records today and computes later.
    pub recording: Safety,
    /// The defining document.
    pub status: Status,
    /// OpenSSL's name, where OpenSSL 3.5 has the group.
    pub openssl: Option<&'static str>,
    /// rustls' name, where rustls 0.23 can negotiate or name it.
    pub rustls: Option<&'static str>,
    /// The groups a hybrid is made of, in the order of their bytes in share and secret: plain concatenation, no length
    /// fields. Empty for a group of one part.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub parts: &'static [NamedGroup],
    /// A caveat beyond the numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<&'static str>,
}

macro_rules! groups {
    ($($code:literal $name:literal $kind:ident $client:literal $server:literal $secret:literal $category:tt $status:ident
       $openssl:tt $rustls:tt [$($part:ident)*] $($note:literal)?;)*) => {
        &[$(Group {
            code: NamedGroup($code),
            name: $name,
            kind: Kind::$kind,
            client_share: $client,
            server_share: $server,
            secret: $secret,
            category: category!($category),
            recording: match Kind::$kind {
                Kind::Classical => Safety::Vulnerable,
                Kind::Hybrid | Kind::PostQuantum => Safety::QuantumSafe,
            },
            status: $status,
            openssl: cell!($openssl),
            rustls: cell!($rustls),
            parts: &[$(NamedGroup::$part),*],
            note: note!($($note)?),
        }),*]
    };
}

/// Every group this project knows, by code point.
pub static GROUPS: &[Group] = groups! {
    // code, name, kind, client share, server share, secret, category, document, OpenSSL, rustls, parts, note
    0x0001 "sect163k1"                Classical     43   43   21 - CURVES_BY_8422   "sect163k1"            -                   []                    "no group of TLS 1.3";
    0x0002 "sect163r1"                Classical     43   43   21 - CURVES_BY_8422   "sect163r1"            -                   []                    "no group of TLS 1.3";
    0x0003 "sect163r2"                Classical     43   43   21 - CURVES_BY_8422   "sect163r2"            -                   []                    "no group of TLS 1.3";
    0x0004 "sect193r1"                Classical     51   51   25 - CURVES_BY_8422   "sect193r1"            -                   []                    "no group of TLS 1.3";
    0x0005 "sect193r2"                Classical     51   51   25 - CURVES_BY_8422   "sect193r2"            -                   []                    "no group of TLS 1.3";
    0x0006 "sect233k1"                Classical     61   61   30 - CURVES_BY_8422   "sect233k1"            -                   []                    "no group of TLS 1.3";
    0x0007 "sect233r1"                Classical     61   61   30 - CURVES_BY_8422   "sect233r1"            -                   []                    "no group of TLS 1.3";
    0x0008 "sect239k1"                Classical     61   61   30 - CURVES_BY_8422   "sect239k1"            -                   []                    "no group of TLS 1.3";
    0x0009 "sect283k1"                Classical     73   73   36 - CURVES_BY_8422   "sect283k1"            -                   []                    "no group of TLS 1.3";
    0x000a "sect283r1"                Classical     73   73   36 - CURVES_BY_8422   "sect283r1"            -                   []                    "no group of TLS 1.3";
    0x000b "sect409k1"                Classical    105  105   52 - CURVES_BY_8422   "sect409k1"            -                   []                    "no group of TLS 1.3";
    0x000c "sect409r1"                Classical    105  105   52 - CURVES_BY_8422   "sect409r1"            -                   []                    "no group of TLS 1.3";
    0x000d "sect571k1"                Classical    145  145   72 - CURVES_BY_8422   "sect571k1"            -                   []                    "no group of TLS 1.3";
    0x000e "sect571r1"                Classical    145  145   72 - CURVES_BY_8422   "sect571r1"            -                   []                    "no group of TLS 1.3";
    0x000f "secp160k1"                Classical     41   41   20 - CURVES_BY_8422   "secp160k1"            -                   []                    "no group of TLS 1.3";
    0x0010 "secp160r1"                Classical     41   41   20 - CURVES_BY_8422   "secp160r1"            -                   []                    "no group of TLS 1.3";
    0x0011 "secp160r2"                Classical     41   41   20 - CURVES_BY_8422   "secp160r2"            -                   []                    "no group of TLS 1.3";
    0x0012 "secp192k1"                Classical     49   49   24 - CURVES_BY_8422   "secp192k1"            -                   []                    "no group of TLS 1.3";
    0x0013 "secp192r1"                Classical     49   49   24 - CURVES_BY_8422   "P-192"                -                   []                    "no group of TLS 1.3";
    0x0014 "secp224k1"                Classical     57   57   28 - CURVES_BY_8422   "secp224k1"            -                   []                    "no group of TLS 1.3";
    0x0015 "secp224r1"                Classical     57   57   28 - CURVES_BY_8422   "P-224"                -                   []                    "no group of TLS 1.3";
    0x0016 "secp256k1"                Classical     65   65   32 - CURVES_BY_8422   "secp256k1"            -                   []                    "no group of TLS 1.3";
    0x0017 "secp256r1"                Classical     65   65   32 - RFC_9846         "P-256"                "secp256r1"         [];
    0x0018 "secp384r1"                Classical     97   97   48 - RFC_9846         "P-384"                "secp384r1"         [];
    0x0019 "secp521r1"                Classical    133  133   66 - RFC_9846         "P-521"                "secp521r1"         [];
    0x001a "brainpoolP256r1"          Classical     65   65   32 - RFC_7027         "brainpoolP256r1"      -                   []                    "no group of TLS 1.3";
    0x001b "brainpoolP384r1"          Classical     97   97   48 - RFC_7027         "brainpoolP384r1"      -                   []                    "no group of TLS 1.3";
    0x001c "brainpoolP512r1"          Classical    129  129   64 - RFC_7027         "brainpoolP512r1"      -                   []                    "no group of TLS 1.3";
    0x001d "x25519"                   Classical     32   32   32 - RFC_9846         "X25519"               "X25519"            [];
    0x001e "x448"                     Classical     56   56   56 - RFC_9846         "X448"                 "X448"              [];
    0x001f "brainpoolP256r1tls13"     Classical     65   65   32 - RFC_8734         "brainpoolP256r1tls13" -                   [];
    0x0020 "brainpoolP384r1tls13"     Classical     97   97   48 - RFC_8734         "brainpoolP384r1tls13" -                   [];
    0x0021 "brainpoolP512r1tls13"     Classical    129  129   64 - RFC_8734         "brainpoolP512r1tls13" -                   [];
    0x0022 "GC256A"                   Classical     64   64   32 - RFC_9367         -                      -                   [];
    0x0023 "GC256B"                   Classical     64   64   32 - RFC_9367         -                      -                   [];
    0x0024 "GC256C"                   Classical     64   64   32 - RFC_9367         -                      -                   [];
    0x0025 "GC256D"                   Classical     64   64   32 - RFC_9367         -                      -                   [];
    0x0026 "GC512A"                   Classical    128  128   64 - RFC_9367         -                      -                   [];
    0x0027 "GC512B"                   Classical    128  128   64 - RFC_9367         -                      -                   [];
    0x0028 "GC512C"                   Classical    128  128   64 - RFC_9367         -                      -                   [];
    0x0029 "curveSM2"                 Classical     65   65   32 - RFC_8998         -                      -                   []                    "OpenSSL 4.0 only";
    0x0100 "ffdhe2048"                Classical    256  256  256 - RFC_7919         "ffdhe2048"            "FFDHE2048"         [];
    0x0101 "ffdhe3072"                Classical    384  384  384 - RFC_7919         "ffdhe3072"            "FFDHE3072"         [];
    0x0102 "ffdhe4096"                Classical    512  512  512 - RFC_7919         "ffdhe4096"            "FFDHE4096"         [];
    0x0103 "ffdhe6144"                Classical    768  768  768 - RFC_7919         "ffdhe6144"            "FFDHE6144"         [];
    0x0104 "ffdhe8192"                Classical   1024 1024 1024 - RFC_7919         "ffdhe8192"            "FFDHE8192"         [];
    0x0200 "MLKEM512"                 PostQuantum  800  768   32 1 TLS_MLKEM        "MLKEM512"             "MLKEM512"          []                    "rustls names it; its provider does not offer it";
    0x0201 "MLKEM768"                 PostQuantum 1184 1088   32 3 TLS_MLKEM        "MLKEM768"             "MLKEM768"          [];
    0x0202 "MLKEM1024"                PostQuantum 1568 1568   32 5 TLS_MLKEM        "MLKEM1024"            "MLKEM1024"         []                    "asked for by CNSA 2.0";
    0x023a "kyber512"                 PostQuantum  800  768   32 1 OQS              -                      -                   []                    "not interoperable with ML-KEM";
    0x023c "kyber768"                 PostQuantum 1184 1088   32 3 OQS              -                      -                   []                    "not interoperable with ML-KEM";
    0x023d "kyber1024"                PostQuantum 1568 1568   32 5 OQS              -                      -                   []                    "not interoperable with ML-KEM";
    0x11eb "SecP256r1MLKEM768"        Hybrid      1249 1153   64 3 RFC_10024        "SecP256r1MLKEM768"    "secp256r1MLKEM768" [SECP256R1 MLKEM768];
    0x11ec "X25519MLKEM768"           Hybrid      1216 1120   64 3 RFC_10024        "X25519MLKEM768"       "X25519MLKEM768"    [MLKEM768 X25519];
    0x11ed "SecP384r1MLKEM1024"       Hybrid      1665 1665   80 5 RFC_10024        "SecP384r1MLKEM1024"   -                   [SECP384R1 MLKEM1024] "rustls 0.23 neither names nor offers it";
    0x11ee "curveSM2MLKEM768"         Hybrid      1249 1153   64 3 TLS_SM2_MLKEM    -                      -                   [CURVESM2 MLKEM768]   "OpenSSL 4.0 only; not recommended by IANA; order of the parts unverified";
    0x2f3a "p256_kyber512"            Hybrid       865  833   64 1 OQS              -                      -                   [SECP256R1 KYBER512]  "sizes computed";
    0x2f3c "p384_kyber768"            Hybrid      1281 1185   80 3 OQS              -                      -                   [SECP384R1 KYBER768]  "sizes computed";
    0x2f3d "p521_kyber1024"           Hybrid      1701 1701   98 5 OQS              -                      -                   [SECP521R1 KYBER1024] "sizes computed";
    0x6399 "X25519Kyber768Draft00"    Hybrid      1216 1120   64 3 KYBER_DRAFT      -                      -                   [X25519 KYBER768];
    0x639a "SecP256r1Kyber768Draft00" Hybrid      1249 1153   64 3 KYBER_DRAFT      -                      -                   [SECP256R1 KYBER768];
    0xfe30 "X25519Kyber512Draft00"    Hybrid       832  800   64 1 KYBER_CLOUDFLARE -                      -                   [X25519 KYBER512]     "public tables disagree whether this is 0xfe30 or 0xfe31; sizes computed";
    0xfe31 "X25519Kyber768Draft00Old" Hybrid      1216 1120   64 3 KYBER_CLOUDFLARE -                      -                   [X25519 KYBER768]     "public tables disagree whether this is 0xfe30 or 0xfe31; sizes computed";
};

/// The group with this code point.
pub fn group(code: NamedGroup) -> Option<&'static Group> {
    GROUPS.iter().find(|known| known.code == code)
}

/// The group with this name, as IANA, OpenSSL or rustls write it; case, hyphens and underscores do not matter.
pub fn group_named(name: &str) -> Option<&'static Group> {
    GROUPS
        .iter()
        .find(|known| any_is([Some(known.name), known.openssl, known.rustls], name))
}
