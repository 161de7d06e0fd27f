//! IKEv2 transforms (RFC 7296, section 3.3.2; additional key exchanges of RFC 9370).

use std::fmt;

use serde::Serialize;

use crate::document::*;
use crate::name::any_is;
use crate::row::{category, cell, note, safety};
use crate::{Category, Safety, Status};

/// The purpose of a transform.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TransformKind {
    /// ENCR: encrypts, and with an AEAD authenticates.
    Encryption,
    /// PRF: derives keys.
    PseudoRandomFunction,
    /// INTEG: authenticates packets.
    Integrity,
    /// KE, and ADDKE1 to ADDKE7 with the same numbers.
    KeyExchange,
    /// SN: how sequence numbers are counted.
    SequenceNumbers,
}

impl TransformKind {
    /// The transform type on the wire; 6 to 12 (ADDKE1 to ADDKE7) carry key exchange methods as 4 does.
    pub const fn code(self) -> u8 {
        match self {
            Self::Encryption => 1,
            Self::PseudoRandomFunction => 2,
            Self::Integrity => 3,
            Self::KeyExchange => 4,
            Self::SequenceNumbers => 5,
        }
    }

    /// The kind of a transform type on the wire; none for a type this project does not know.
    pub const fn of(code: u8) -> Option<Self> {
        Some(match code {
            1 => Self::Encryption,
            2 => Self::PseudoRandomFunction,
            3 => Self::Integrity,
            4 | 6..=12 => Self::KeyExchange,
            5 => Self::SequenceNumbers,
            _ => return None,
        })
    }
}

impl fmt::Display for TransformKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Encryption => "ENCR",
            Self::PseudoRandomFunction => "PRF",
            Self::Integrity => "INTEG",
            Self::KeyExchange => "KE",
            Self::SequenceNumbers => "SN",
        })
    }
}

/// One IKEv2 transform. Sizes are bytes of key exchange data, without the payload's header.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Transform {
    /// Its purpose.
    pub kind: TransformKind,
    /// Transform identifier on the wire.
    pub id: u16,
    /// Name in the IANA registry.
    pub name: &'static str,
    /// Bytes the initiator sends; only for key exchanges.
    pub initiator: Option<u16>,
    /// Bytes the responder sends; only for key exchanges.
    pub responder: Option<u16>,
    /// NIST category of a post-quantum key exchange.
    pub category: Option<Category>,
    /// For key exchanges and ciphers: safe against an attacker who records today and computes later. For a cipher it
    /// presumes a quantum-safe key exchange and a key long enough.
    pub recording: Option<Safety>,
    /// The defining document.
    pub status: Status,
    /// strongSwan's keyword in a proposal, of a method for research ours; for a cipher whose key
    /// length is an attribute, that of 256 bits.
    pub strongswan: Option<&'static str>,
    /// A caveat beyond the numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<&'static str>,
}

impl Transform {
    /// Returns true if this is a cipher that authenticates what it encrypts (RFC 5282), so that no
    /// integrity algorithm stands next to it.
    #[must_use]
    pub fn is_aead(&self) -> bool {
        self.kind == TransformKind::Encryption
            && ["GCM", "CCM", "POLY1305", "MGM", "GMAC"]
                .iter()
                .any(|mode| self.name.contains(mode))
    }

    /// Returns true if this is a cipher that hides what it is applied to, well or badly.
    #[must_use]
    pub fn encrypts(&self) -> bool {
        self.kind == TransformKind::Encryption && !["NULL", "_MAC_"].iter().any(|mode| self.name.contains(mode))
    }

    /// Returns true if its number is one that Bartizan takes for research: a KEM that is no
    /// standard, and that no other daemon knows by it.
    #[must_use]
    pub fn is_research(&self) -> bool {
        self.status == RESEARCH
    }

    /// strongSwan's keyword with a key of this many bits; none where it has no keyword, or the
    /// length is no attribute of it.
    pub fn strongswan_with_key(&self, bits: u16) -> Option<String> {
        let keyword = self.strongswan?;
        (self.kind == TransformKind::Encryption && keyword.contains("256"))
            .then(|| keyword.replacen("256", &bits.to_string(), 1))
    }
}

macro_rules! transforms {
    ($($kind:ident { $($id:literal $name:literal $initiator:tt $responder:tt $category:tt $recording:tt $status:ident $strongswan:tt $($note:literal)?;)* })*) => {
        &[$($(Transform {
            kind: TransformKind::$kind,
            id: $id,
            name: $name,
            initiator: cell!($initiator),
            responder: cell!($responder),
            category: category!($category),
            recording: safety!($recording),
            status: $status,
            strongswan: cell!($strongswan),
            note: note!($($note)?),
        },)*)*]
    };
}

/// Every transform this project knows, by type and identifier.
pub static TRANSFORMS: &[Transform] = transforms! {
    // id, name, initiator, responder, category, recording, document, strongSwan, note
    Encryption {
         1 "ENCR_DES_IV64"                 - - - broken DEPRECATED_BY_9395 -        "56 bits";
         2 "ENCR_DES"                      - - - broken DEPRECATED_BY_9395 "des"    "56 bits";
         3 "ENCR_3DES"                     - - - broken RFC_2451 "3des"             "blocks of 64 bits";
         4 "ENCR_RC5"                      - - - broken DEPRECATED_BY_9395 -        "blocks of 64 bits";
         5 "ENCR_IDEA"                     - - - broken DEPRECATED_BY_9395 -        "blocks of 64 bits";
         6 "ENCR_CAST"                     - - - broken DEPRECATED_BY_9395 "cast128" "blocks of 64 bits";
         7 "ENCR_BLOWFISH"                 - - - broken DEPRECATED_BY_9395 "blowfish256" "blocks of 64 bits";
         8 "ENCR_3IDEA"                    - - - broken DEPRECATED_BY_9395 -        "never specified";
         9 "ENCR_DES_IV32"                 - - - broken DEPRECATED_BY_9395 -        "56 bits";
        11 "ENCR_NULL"                     - - - broken RFC_2410 "null"             "does not encrypt";
        12 "ENCR_AES_CBC"                  - - - safe   RFC_3602 "aes256";
        13 "ENCR_AES_CTR"                  - - - safe   RFC_3686 "aes256ctr";
        14 "ENCR_AES_CCM_8"                - - - safe   RFC_4309 "aes256ccm8";
        15 "ENCR_AES_CCM_12"               - - - safe   RFC_4309 "aes256ccm12";
        16 "ENCR_AES_CCM_16"               - - - safe   RFC_4309 "aes256ccm16";
        18 "ENCR_AES_GCM_8"                - - - safe   RFC_4106 "aes256gcm8";
        19 "ENCR_AES_GCM_12"               - - - safe   RFC_4106 "aes256gcm12";
        20 "ENCR_AES_GCM_16"               - - - safe   RFC_4106 "aes256gcm16";
        21 "ENCR_NULL_AUTH_AES_GMAC"       - - - broken RFC_4543 "aes256gmac"       "does not encrypt";
        23 "ENCR_CAMELLIA_CBC"             - - - safe   RFC_5529 "camellia256";
        24 "ENCR_CAMELLIA_CTR"             - - - safe   RFC_5529 "camellia256ctr";
        25 "ENCR_CAMELLIA_CCM_8"           - - - safe   RFC_5529 "camellia256ccm8";
        26 "ENCR_CAMELLIA_CCM_12"          - - - safe   RFC_5529 "camellia256ccm12";
        27 "ENCR_CAMELLIA_CCM_16"          - - - safe   RFC_5529 "camellia256ccm16";
        28 "ENCR_CHACHA20_POLY1305"        - - - safe   RFC_7634 "chacha20poly1305";
        29 "ENCR_AES_CCM_8_IIV"            - - - safe   RFC_8750 -;
        30 "ENCR_AES_GCM_16_IIV"           - - - safe   RFC_8750 -;
        31 "ENCR_CHACHA20_POLY1305_IIV"    - - - safe   RFC_8750 -;
        32 "ENCR_KUZNYECHIK_MGM_KTREE"     - - - safe   RFC_9227 -;
        33 "ENCR_MAGMA_MGM_KTREE"          - - - safe   RFC_9227 -;
        34 "ENCR_KUZNYECHIK_MGM_MAC_KTREE" - - - broken RFC_9227 -                  "does not encrypt";
        35 "ENCR_MAGMA_MGM_MAC_KTREE"      - - - broken RFC_9227 -                  "does not encrypt";
    }
    PseudoRandomFunction {
        1 "PRF_HMAC_MD5"          - - - - RFC_7296 "prfmd5"     "MD5";
        2 "PRF_HMAC_SHA1"         - - - - RFC_7296 "prfsha1"    "SHA-1: excluded by TS 33.310";
        3 "PRF_HMAC_TIGER"        - - - - DEPRECATED_BY_9395 -  "deprecated";
        4 "PRF_AES128_XCBC"       - - - - RFC_4434 "prfaesxcbc";
        5 "PRF_HMAC_SHA2_256"     - - - - RFC_4868 "prfsha256";
        6 "PRF_HMAC_SHA2_384"     - - - - RFC_4868 "prfsha384";
        7 "PRF_HMAC_SHA2_512"     - - - - RFC_4868 "prfsha512";
        8 "PRF_AES128_CMAC"       - - - - RFC_4615 "prfaescmac";
        9 "PRF_HMAC_STREEBOG_512" - - - - RFC_9385 -;
    }
    Integrity {
         0 "NONE"                   - - - - RFC_7296 -         "with an AEAD";
         1 "AUTH_HMAC_MD5_96"       - - - - RFC_2403 "md5"     "MD5";
         2 "AUTH_HMAC_SHA1_96"      - - - - RFC_2404 "sha1"    "SHA-1: excluded by TS 33.310";
         3 "AUTH_DES_MAC"           - - - - DEPRECATED_BY_9395 -  "deprecated";
         4 "AUTH_KPDK_MD5"          - - - - DEPRECATED_BY_9395 -  "deprecated";
         5 "AUTH_AES_XCBC_96"       - - - - RFC_3566 "aesxcbc";
         6 "AUTH_HMAC_MD5_128"      - - - - RFC_4595 "md5_128"    "MD5; for Fibre Channel";
         7 "AUTH_HMAC_SHA1_160"     - - - - RFC_4595 "sha1_160"   "SHA-1; for Fibre Channel";
         8 "AUTH_AES_CMAC_96"       - - - - RFC_4494 "aescmac";
         9 "AUTH_AES_128_GMAC"      - - - - RFC_4543 -;
        10 "AUTH_AES_192_GMAC"      - - - - RFC_4543 -;
        11 "AUTH_AES_256_GMAC"      - - - - RFC_4543 -;
        12 "AUTH_HMAC_SHA2_256_128" - - - - RFC_4868 "sha256";
        13 "AUTH_HMAC_SHA2_384_192" - - - - RFC_4868 "sha384";
        14 "AUTH_HMAC_SHA2_512_256" - - - - RFC_4868 "sha512";
    }
    KeyExchange {
           1 "768-bit MODP"                           96    96 - broken RFC_7296          "modp768"      "must not be used (RFC 8247)";
           2 "1024-bit MODP"                         128   128 - broken RFC_7296          "modp1024"     "should not be used (RFC 8247)";
           5 "1536-bit MODP"                         192   192 - broken RFC_3526          "modp1536"     "should not be used (RFC 8247)";
          14 "2048-bit MODP"                         256   256 - broken RFC_3526          "modp2048";
          15 "3072-bit MODP"                         384   384 - broken RFC_3526          "modp3072";
          16 "4096-bit MODP"                         512   512 - broken RFC_3526          "modp4096";
          17 "6144-bit MODP"                         768   768 - broken RFC_3526          "modp6144";
          18 "8192-bit MODP"                        1024  1024 - broken RFC_3526          "modp8192";
          19 "256-bit random ECP"                     64    64 - broken RFC_5903          "ecp256"       "x and y, without the 0x04 of TLS";
          20 "384-bit random ECP"                     96    96 - broken RFC_5903          "ecp384"       "x and y, without the 0x04 of TLS";
          21 "521-bit random ECP"                    132   132 - broken RFC_5903          "ecp521"       "x and y, without the 0x04 of TLS";
          22 "1024-bit MODP with 160-bit subgroup"     -     - - broken RFC_5114          "modp1024s160" "must not be used";
          23 "2048-bit MODP with 224-bit subgroup"     -     - - broken RFC_5114          "modp2048s224" "must not be used";
          24 "2048-bit MODP with 256-bit subgroup"     -     - - broken RFC_5114          "modp2048s256" "must not be used";
          25 "192-bit random ECP"                      -     - - broken RFC_5114          "ecp192";
          26 "224-bit random ECP"                      -     - - broken RFC_5114          "ecp224";
          27 "brainpoolP224r1"                         -     - - broken RFC_6954          "ecp224bp";
          28 "brainpoolP256r1"                         -     - - broken RFC_6954          "ecp256bp";
          29 "brainpoolP384r1"                         -     - - broken RFC_6954          "ecp384bp";
          30 "brainpoolP512r1"                         -     - - broken RFC_6954          "ecp512bp";
          31 "Curve25519"                             32    32 - broken RFC_8031          "x25519";
          32 "Curve448"                               56    56 - broken RFC_8031          "x448";
          33 "GOST3410_2012_256"                       -     - - broken RFC_9385          -;
          34 "GOST3410_2012_512"                       -     - - broken RFC_9385          -;
          35 "ml-kem-512"                            800   768 1 safe   IKE_MLKEM         "mlkem512"     "approved, in the RFC Editor's queue";
          36 "ml-kem-768"                           1184  1088 3 safe   IKE_MLKEM         "mlkem768"     "approved, in the RFC Editor's queue";
          37 "ml-kem-1024"                          1568  1568 5 safe   IKE_MLKEM         "mlkem1024"    "approved, in the RFC Editor's queue; IKE_SA_INIT needs IP fragments at 1500 bytes";
        1024 "MODP_NULL"                               -     - - broken PRIVATE_USE       "modpnull"     "strongSwan's load test: no secret at all";
        1083 "FrodoKEM-640-AES"                     9616  9752 1 safe   STRONGSWAN_BRANCH "frodoa1"      "in no release";
        1084 "FrodoKEM-976-AES"                    15632 15792 3 safe   STRONGSWAN_BRANCH "frodoa3"      "in no release";
        1085 "FrodoKEM-1344-AES"                   21520 21696 5 safe   STRONGSWAN_BRANCH "frodoa5"      "in no release";
        1086 "FrodoKEM-640-SHAKE"                   9616  9752 1 safe   STRONGSWAN_BRANCH "frodos1"      "in no release";
        1087 "FrodoKEM-976-SHAKE"                  15632 15792 3 safe   STRONGSWAN_BRANCH "frodos3"      "in no release";
        1088 "FrodoKEM-1344-SHAKE"                 21520 21696 5 safe   STRONGSWAN_BRANCH "frodos5"      "in no release";
        4096 "eFrodoKEM-640-AES"                    9616  9720 1 safe   RESEARCH          "efrodo640"    "round 3, without salt, as liboqs 0.13 has it: not FrodoKEM of ISO";
        4097 "eFrodoKEM-976-AES"                   15632 15744 3 safe   RESEARCH          "efrodo976"    "round 3, without salt, as liboqs 0.13 has it: not FrodoKEM of ISO";
        4098 "eFrodoKEM-1344-AES"                  21520 21632 5 safe   RESEARCH          "efrodo1344"   "round 3, without salt, as liboqs 0.13 has it: not FrodoKEM of ISO";
        4112 "BIKE-L1 (round 4)"                    1541  1573 1 safe   RESEARCH          "bike1r4"      "round 4, as liboqs 0.13 has it; not selected";
        4113 "BIKE-L3 (round 4)"                    3083  3115 3 safe   RESEARCH          "bike3r4"      "round 4, as liboqs 0.13 has it; not selected";
        4128 "HQC-128 (round 4)"                    2249  4433 1 safe   RESEARCH          "hqc128r4"     "round 4, as liboqs 0.13 has it: not the HQC that NIST standardises";
        4129 "HQC-192 (round 4)"                    4522  8978 3 safe   RESEARCH          "hqc192r4"     "round 4, as liboqs 0.13 has it: not the HQC that NIST standardises";
        4130 "HQC-256 (round 4)"                    7245 14421 5 safe   RESEARCH          "hqc256r4"     "round 4, as liboqs 0.13 has it: not the HQC that NIST standardises";
        4144 "Classic-McEliece-348864"                 -    96 1 safe   RESEARCH          "mceliece348864" "round 4; its key of 261120 octets is longer than a payload of IKE can be (65535): never sent";
    }
    SequenceNumbers {
        0 "32-bit Sequential Numbers"                       - - - - RFC_9827 "noesn";
        1 "Partially Transmitted 64-bit Sequential Numbers" - - - - RFC_9827 "esn"   "Extended Sequence Numbers before RFC 9827";
        2 "32-bit Unspecified Numbers"                      - - - - RFC_9827 -       "from one source";
    }
};

/// The transform with this kind and identifier.
pub fn transform(kind: TransformKind, id: u16) -> Option<&'static Transform> {
    TRANSFORMS.iter().find(|known| known.kind == kind && known.id == id)
}

/// The transform of this kind with this name, as IANA or strongSwan write it; case, hyphens and underscores do not
/// matter.
pub fn transform_named(kind: TransformKind, name: &str) -> Option<&'static Transform> {
    TRANSFORMS
        .iter()
        .filter(|known| known.kind == kind)
        .find(|known| any_is([Some(known.name), known.strongswan], name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_with_authentication_are_distinguished_from_those_without() {
        let cipher = |name| transform_named(TransformKind::Encryption, name).unwrap();
        for name in ["aes256gcm16", "aes256ccm8", "chacha20poly1305", "aes256gmac"] {
            assert!(cipher(name).is_aead(), "{name}");
        }
        for name in ["aes256", "aes256ctr", "camellia256", "null"] {
            assert!(!cipher(name).is_aead(), "{name}");
        }
        assert_eq!(
            cipher("aes256gcm16").strongswan_with_key(128).as_deref(),
            Some("aes128gcm16")
        );
        assert_eq!(cipher("aes256").strongswan_with_key(192).as_deref(), Some("aes192"));
        assert_eq!(cipher("chacha20poly1305").strongswan_with_key(256), None);
    }

    #[test]
    fn a_cipher_that_encrypts_is_distinguished_from_one_that_only_authenticates() {
        let silent = TRANSFORMS
            .iter()
            .filter(|known| known.kind == TransformKind::Encryption && !known.encrypts());
        let silent: Vec<u16> = silent.map(|known| known.id).collect();
        assert_eq!(silent, [11, 21, 34, 35]);
        for id in silent {
            let known = transform(TransformKind::Encryption, id).unwrap();
            assert_eq!(known.note, Some("does not encrypt"));
        }
    }

    #[test]
    fn additional_key_exchanges_share_the_numbers_of_the_first() {
        for code in 6..=12 {
            assert_eq!(TransformKind::of(code), Some(TransformKind::KeyExchange));
        }
        assert_eq!(TransformKind::of(13), None);
    }

    #[test]
    fn every_kind_is_found_by_its_own_code() {
        for transform in TRANSFORMS {
            assert_eq!(TransformKind::of(transform.kind.code()), Some(transform.kind));
        }
    }

    #[test]
    fn frodokem_is_recognised_only_in_the_private_range() {
        for transform in TRANSFORMS.iter().filter(|known| known.name.contains("Frodo")) {
            assert!(transform.id >= 1024, "{} is not registered", transform.name);
        }
        assert!((38..1024).all(|id| crate::transform(TransformKind::KeyExchange, id).is_none()));
    }
}
