//! TLS cipher suites: those of TLS 1.3, and those of TLS 1.2 that a capture of a 3GPP link shows.

use serde::Serialize;

use crate::code::as_hex;
use crate::document::*;
use crate::name::any_is;
use crate::row::{cell, note};
use crate::{Category, CipherSuite, Status};

/// The TLS version a cipher suite belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub enum TlsVersion {
    /// TLS 1.2: no post-quantum key exchange is defined for it.
    #[serde(rename = "1.2")]
    Tls12,
    /// TLS 1.3.
    #[serde(rename = "1.3")]
    Tls13,
}

/// One TLS cipher suite.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Cipher {
    /// Code point.
    #[serde(serialize_with = "as_hex")]
    pub code: CipherSuite,
    /// Name in the IANA registry.
    pub name: &'static str,
    /// Version of TLS it belongs to.
    pub version: TlsVersion,
    /// Bits of key of the record cipher.
    pub key_bits: u16,
    /// NIST category of the record cipher by definition (AES-128 is 1, AES-256 is 5); none for other ciphers.
    pub category: Option<Category>,
    /// The defining document.
    pub status: Status,
    /// OpenSSL's name.
    pub openssl: Option<&'static str>,
    /// rustls' name, where rustls 0.23 names it.
    pub rustls: Option<&'static str>,
    /// A caveat beyond the numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<&'static str>,
}

impl Cipher {
    /// Bytes of authentication tag at the end of each record: 8 of AES-CCM-8, 16 of every other
    /// AEAD (RFC 5116, RFC 6655).
    pub fn tag(&self) -> u8 {
        if self.name.contains("_CCM_8") { 8 } else { 16 }
    }

    /// Bytes of nonce that each record carries: 8 of TLS 1.2 with GCM (RFC 5288, section 3) or CCM, none of TLS 1.3
    /// (RFC 9846, section 5.3) and none of ChaCha20 (RFC 7905, section 2).
    pub fn explicit_nonce(&self) -> u8 {
        match self.version {
            TlsVersion::Tls12 if !self.name.contains("CHACHA20") => 8,
            _ => 0,
        }
    }
}

macro_rules! category_of {
    (AES $bits:literal) => {
        Category::of_aes($bits)
    };
    ($cipher:ident $bits:literal) => {
        None
    };
}

macro_rules! ciphers {
    ($($code:literal $name:literal $version:ident $cipher:ident $bits:tt $status:ident $openssl:tt $rustls:tt $($note:literal)?;)*) => {
        &[$(Cipher {
            code: CipherSuite($code),
            name: $name,
            version: TlsVersion::$version,
            key_bits: $bits,
            category: category_of!($cipher $bits),
            status: $status,
            openssl: cell!($openssl),
            rustls: cell!($rustls),
            note: note!($($note)?),
        }),*]
    };
}

/// Every cipher suite this project knows, by code point.
pub static CIPHERS: &[Cipher] = ciphers! {
    // code, name, version, record cipher and its key bits, document, OpenSSL, rustls, note
    0x009e "TLS_DHE_RSA_WITH_AES_128_GCM_SHA256"           Tls12 AES    128 RFC_5288 "DHE-RSA-AES128-GCM-SHA256"     -;
    0x009f "TLS_DHE_RSA_WITH_AES_256_GCM_SHA384"           Tls12 AES    256 RFC_5288 "DHE-RSA-AES256-GCM-SHA384"     -;
    0x00c6 "TLS_SM4_GCM_SM3"                               Tls13 SM4    128 RFC_8998 -                               -;
    0x00c7 "TLS_SM4_CCM_SM3"                               Tls13 SM4    128 RFC_8998 -                               -;
    0x1301 "TLS_AES_128_GCM_SHA256"                        Tls13 AES    128 RFC_9846 "TLS_AES_128_GCM_SHA256"        "TLS13_AES_128_GCM_SHA256";
    0x1302 "TLS_AES_256_GCM_SHA384"                        Tls13 AES    256 RFC_9846 "TLS_AES_256_GCM_SHA384"        "TLS13_AES_256_GCM_SHA384"                      "asked for by CNSA 2.0";
    0x1303 "TLS_CHACHA20_POLY1305_SHA256"                  Tls13 ChaCha 256 RFC_9846 "TLS_CHACHA20_POLY1305_SHA256"  "TLS13_CHACHA20_POLY1305_SHA256";
    0x1304 "TLS_AES_128_CCM_SHA256"                        Tls13 AES    128 RFC_9846 "TLS_AES_128_CCM_SHA256"        "TLS13_AES_128_CCM_SHA256";
    0x1305 "TLS_AES_128_CCM_8_SHA256"                      Tls13 AES    128 RFC_9846 "TLS_AES_128_CCM_8_SHA256"      "TLS13_AES_128_CCM_8_SHA256";
    0xc02b "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"       Tls12 AES    128 RFC_5289 "ECDHE-ECDSA-AES128-GCM-SHA256" "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256";
    0xc02c "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"       Tls12 AES    256 RFC_5289 "ECDHE-ECDSA-AES256-GCM-SHA384" "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384";
    0xc02f "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"         Tls12 AES    128 RFC_5289 "ECDHE-RSA-AES128-GCM-SHA256"   "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256";
    0xc030 "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"         Tls12 AES    256 RFC_5289 "ECDHE-RSA-AES256-GCM-SHA384"   "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384";
    0xcca8 "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"   Tls12 ChaCha 256 RFC_7905 "ECDHE-RSA-CHACHA20-POLY1305"   "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256";
    0xcca9 "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256" Tls12 ChaCha 256 RFC_7905 "ECDHE-ECDSA-CHACHA20-POLY1305" "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256";
    0xccaa "TLS_DHE_RSA_WITH_CHACHA20_POLY1305_SHA256"     Tls12 ChaCha 256 RFC_7905 "DHE-RSA-CHACHA20-POLY1305"     -;
};

/// The cipher suite with this code point.
pub fn cipher(code: CipherSuite) -> Option<&'static Cipher> {
    CIPHERS.iter().find(|known| known.code == code)
}

/// The cipher suite with this name, as IANA, OpenSSL or rustls write it; case, hyphens and underscores do not matter.
pub fn cipher_named(name: &str) -> Option<&'static Cipher> {
    CIPHERS
        .iter()
        .find(|known| any_is([Some(known.name), known.openssl, known.rustls], name))
}
