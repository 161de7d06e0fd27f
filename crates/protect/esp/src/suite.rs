//! Algorithms that protect an SA, and the bytes they take of each packet.

use bartizan_registry::{EspEncryption, EspIntegrity, TransformKind, esp_encryption, esp_integrity, transform};

use crate::error::Unusable;
use crate::{HEADER, TRAILER, ccm};

/// Size of the sequence numbers of an SA, in bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SequenceNumbers {
    /// 32: the SA ends after 2^32 - 1 packets.
    Bits32,
    /// 64, of which packets carry the lower half (ESN; RFC 4303, section 2.2.1).
    Extended,
}

impl SequenceNumbers {
    /// The half of a number that packets do not carry, where there is one.
    pub(crate) fn upper(self, sequence: u64) -> Option<[u8; 4]> {
        match self {
            Self::Bits32 => None,
            Self::Extended => Some(((sequence >> 32) as u32).to_be_bytes()),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Encryption {
    AesGcm128,
    AesGcm192,
    AesGcm256,
    AesCcm128,
    AesCcm192,
    AesCcm256,
    ChaCha20Poly1305,
    AesCbc128,
    AesCbc192,
    AesCbc256,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Integrity {
    HmacSha256,
    HmacSha384,
    HmacSha512,
}

impl Integrity {
    /// Bytes of its key: those of the hash (RFC 4868, section 2.1.1).
    pub(crate) const fn key(self) -> usize {
        match self {
            Self::HmacSha256 => 32,
            Self::HmacSha384 => 48,
            Self::HmacSha512 => 64,
        }
    }
}

impl Encryption {
    /// Bytes of its key, and of the salt behind that (RFC 4106, section 8.1; RFC 4309, section 7.1;
    /// RFC 7634, section 2).
    pub(crate) const fn key(self) -> (usize, usize) {
        match self {
            Self::AesGcm128 => (16, 4),
            Self::AesGcm192 => (24, 4),
            Self::AesGcm256 | Self::ChaCha20Poly1305 => (32, 4),
            Self::AesCcm128 => (16, ccm::SALT),
            Self::AesCcm192 => (24, ccm::SALT),
            Self::AesCcm256 => (32, ccm::SALT),
            Self::AesCbc128 => (16, 0),
            Self::AesCbc192 => (24, 0),
            Self::AesCbc256 => (32, 0),
        }
    }
}

bartizan_registry::made! {
    /// The algorithms of an SA, negotiated as transforms of IKEv2.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct Suite, new(encryption: Encryption, framing: &EspEncryption, integrity: Option<Integrity>, icv: u8) {
        pub(crate) encryption: Encryption,
        pub(crate) integrity: Option<Integrity>,
        /// Bytes of initialization vector.
        pub(crate) iv: usize = framing.iv.into(),
        /// The cipher's.
        block: usize = framing.block.into(),
        /// Bytes of integrity check value.
        pub(crate) icv: usize = icv.into(),
    }
}

impl Suite {
    /// The suite of these transforms: ENCR with its key length attribute, and INTEG where the
    /// cipher is no AEAD. An INTEG of zero is none.
    ///
    /// # Errors
    /// If one is not implemented here, or they do not go together.
    pub fn of(encryption: u16, key_bits: Option<u16>, integrity: Option<u16>) -> Result<Self, Unusable> {
        let unknown = Unusable::Encryption(encryption);
        let framing = esp_encryption(encryption).ok_or(unknown)?;
        let cipher = match (framing.transform().ok_or(unknown)?.name, key_bits) {
            ("ENCR_AES_GCM_16", Some(128)) => Encryption::AesGcm128,
            ("ENCR_AES_GCM_16", Some(192)) => Encryption::AesGcm192,
            ("ENCR_AES_GCM_16", Some(256)) => Encryption::AesGcm256,
            // The framing gives the length of the integrity check value.
            ("ENCR_AES_CCM_8" | "ENCR_AES_CCM_12" | "ENCR_AES_CCM_16", Some(128)) => Encryption::AesCcm128,
            ("ENCR_AES_CCM_8" | "ENCR_AES_CCM_12" | "ENCR_AES_CCM_16", Some(192)) => Encryption::AesCcm192,
            ("ENCR_AES_CCM_8" | "ENCR_AES_CCM_12" | "ENCR_AES_CCM_16", Some(256)) => Encryption::AesCcm256,
            ("ENCR_AES_CBC", Some(128)) => Encryption::AesCbc128,
            ("ENCR_AES_CBC", Some(192)) => Encryption::AesCbc192,
            ("ENCR_AES_CBC", Some(256)) => Encryption::AesCbc256,
            // Its key length is fixed, and no attribute (RFC 7634, section 4).
            ("ENCR_CHACHA20_POLY1305", None) => Encryption::ChaCha20Poly1305,
            (
                "ENCR_AES_GCM_16"
                | "ENCR_AES_CCM_8"
                | "ENCR_AES_CCM_12"
                | "ENCR_AES_CCM_16"
                | "ENCR_AES_CBC"
                | "ENCR_CHACHA20_POLY1305",
                bits,
            ) => {
                let bits = bits.unwrap_or_default();
                return Err(Unusable::KeyLength { bits });
            }
            _ => return Err(unknown),
        };
        let integrity = integrity.filter(|id| *id != 0);
        match (framing.icv, integrity) {
            (Some(icv), None) => Ok(Self::new(cipher, framing, None, icv)),
            (None, Some(id)) => {
                let (algorithm, proof) = hmac(id).ok_or(Unusable::Integrity(id))?;
                Ok(Self::new(cipher, framing, Some(algorithm), proof.icv))
            }
            _ => Err(Unusable::Combination),
        }
    }

    /// Bytes of its keys: of the cipher with its salt, and of the integrity algorithm.
    pub fn keys(self) -> (usize, usize) {
        let (key, salt) = self.encryption.key();
        (key + salt, self.integrity.map_or(0, Integrity::key))
    }

    /// Bytes of initialization vector, of a block that content is padded to, and of integrity check value.
    pub fn framing(self) -> (usize, usize, usize) {
        (self.iv, self.block, self.icv)
    }

    /// To a multiple of which content and trailer are padded (RFC 4303, section 2.4).
    fn align(self) -> usize {
        self.block.max(bartizan_registry::Header::ESP_ALIGNMENT.bytes.into())
    }

    /// Bytes of keys that one direction takes from KEYMAT: encryption key, salt, integrity key (RFC
    /// 7296, section 2.17).
    pub fn key_material(self) -> usize {
        let (encryption, integrity) = self.keys();
        encryption + integrity
    }

    /// Bytes in front of the payload: SPI, sequence number and initialization vector.
    pub fn headroom(self) -> usize {
        HEADER + self.iv
    }

    /// Bytes of the ESP packet that holds this much payload.
    pub fn sealed_length(self, payload: usize) -> usize {
        self.headroom() + (payload + TRAILER).next_multiple_of(self.align()) + self.icv
    }

    /// Returns true if a packet of this length can be one of the suite.
    pub(crate) fn fits(self, packet: usize) -> bool {
        let sealed = packet.checked_sub(self.headroom() + self.icv);
        sealed.is_some_and(|sealed| sealed >= TRAILER && sealed.is_multiple_of(self.align()))
    }
}

fn hmac(id: u16) -> Option<(Integrity, &'static EspIntegrity)> {
    let algorithm = match transform(TransformKind::Integrity, id)?.name {
        "AUTH_HMAC_SHA2_256_128" => Integrity::HmacSha256,
        "AUTH_HMAC_SHA2_384_192" => Integrity::HmacSha384,
        "AUTH_HMAC_SHA2_512_256" => Integrity::HmacSha512,
        _ => return None,
    };
    Some((algorithm, esp_integrity(id)?))
}
