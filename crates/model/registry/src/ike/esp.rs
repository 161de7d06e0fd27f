//! Sizes that ESP's transforms add to every packet: initialization vector, block to pad to,
//! integrity check value.

use serde::Serialize;

use super::transform::{Transform, TransformKind, transform};

/// Sizes that an encryption transform adds to an ESP packet, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct EspEncryption {
    /// Identifier of the transform (ENCR).
    pub id: u16,
    /// Bytes of initialization vector in each packet.
    pub iv: u8,
    /// Block that payload, padding and trailer fill; ESP's own alignment of four still holds.
    pub block: u8,
    /// Bytes of integrity check value, where the cipher is an AEAD.
    pub icv: Option<u8>,
    /// The defining document and section.
    pub document: &'static str,
}

/// Size that an integrity transform adds to an ESP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct EspIntegrity {
    /// Identifier of the transform (INTEG).
    pub id: u16,
    /// Bytes of integrity check value.
    pub icv: u8,
    /// The defining document and section.
    pub document: &'static str,
}

macro_rules! encryptions {
    ($($id:literal $iv:literal $block:literal $icv:tt $document:literal;)*) => {
        &[$(EspEncryption { id: $id, iv: $iv, block: $block, icv: crate::row::cell!($icv), document: $document }),*]
    };
}

/// Every encryption transform whose framing in ESP is known here, by identifier.
pub static ESP_ENCRYPTIONS: &[EspEncryption] = encryptions! {
    // id, IV, block, ICV, document
     3  8  8  - "RFC 2451, section 2";
    11  0  1  - "RFC 2410, section 2";
    12 16 16  - "RFC 3602, section 2";
    13  8  1  - "RFC 3686, section 3";
    14  8  1  8 "RFC 4309, section 3";
    15  8  1 12 "RFC 4309, section 3";
    16  8  1 16 "RFC 4309, section 3";
    18  8  1  8 "RFC 4106, section 3";
    19  8  1 12 "RFC 4106, section 3";
    20  8  1 16 "RFC 4106, section 3";
    21  8  1 16 "RFC 4543, section 3";
    23 16 16  - "RFC 4312, section 2";
    24  8  1  - "RFC 5529, section 2";
    25  8  1  8 "RFC 5529, section 2";
    26  8  1 12 "RFC 5529, section 2";
    27  8  1 16 "RFC 5529, section 2";
    28  8  1 16 "RFC 7634, section 2";
    29  0  1  8 "RFC 8750, section 3";
    30  0  1 16 "RFC 8750, section 3";
    31  0  1 16 "RFC 8750, section 3";
};

/// Every integrity transform whose check value's size is known here, by identifier.
pub static ESP_INTEGRITIES: &[EspIntegrity] = &{
    const fn row(id: u16, icv: u8, document: &'static str) -> EspIntegrity {
        EspIntegrity { id, icv, document }
    }
    [
        row(1, 12, "RFC 2403, section 2"),
        row(2, 12, "RFC 2404, section 2"),
        row(5, 12, "RFC 3566, section 4"),
        row(8, 12, "RFC 4494, section 2"),
        row(12, 16, "RFC 4868, section 2.6"),
        row(13, 24, "RFC 4868, section 2.6"),
        row(14, 32, "RFC 4868, section 2.6"),
    ]
};

/// Sizes that the encryption transform with this identifier adds to a packet.
pub fn esp_encryption(id: u16) -> Option<&'static EspEncryption> {
    ESP_ENCRYPTIONS.iter().find(|known| known.id == id)
}

/// Size that the integrity transform with this identifier adds to a packet.
pub fn esp_integrity(id: u16) -> Option<&'static EspIntegrity> {
    ESP_INTEGRITIES.iter().find(|known| known.id == id)
}

impl EspEncryption {
    /// Its row among the transforms.
    pub fn transform(&self) -> Option<&'static Transform> {
        transform(TransformKind::Encryption, self.id)
    }
}

impl EspIntegrity {
    /// Its row among the transforms.
    pub fn transform(&self) -> Option<&'static Transform> {
        transform(TransformKind::Integrity, self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_a_transform_and_an_aead_alone_has_a_check_value() {
        for known in ESP_ENCRYPTIONS {
            let transform = known.transform().unwrap();
            assert_eq!(transform.is_aead(), known.icv.is_some(), "{}", transform.name);
            // The number in a name such as ENCR_AES_CCM_12 is the bytes of its check value.
            let named = transform.name.trim_end_matches("_IIV").rsplit('_').next();
            if let (Some(Ok(bytes)), Some(icv)) = (named.map(str::parse::<u8>), known.icv) {
                assert_eq!(bytes, icv, "{}", transform.name);
            }
            assert_eq!(transform.name.ends_with("_IIV") || known.id == 11, known.iv == 0);
        }
        for known in ESP_INTEGRITIES {
            let transform = known.transform().unwrap();
            // AUTH_HMAC_SHA2_256_128 has 128 bits.
            let bits: u16 = transform.name.rsplit('_').next().unwrap().parse().unwrap();
            assert_eq!(bits, u16::from(known.icv) * 8, "{}", transform.name);
        }
    }
}
