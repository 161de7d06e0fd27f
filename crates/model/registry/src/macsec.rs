//! MACsec cipher suites (IEEE 802.1AE).

use serde::{Serialize, Serializer};

use crate::document::*;
use crate::name::any_is;
use crate::row::{cell, note};
use crate::{Category, Safety, Status};

/// One MACsec cipher suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct MacsecSuite {
    /// Identifier as MKA distributes it, an EUI-64 in network byte order.
    #[serde(serialize_with = "as_eui64")]
    pub id: u64,
    /// Name in IEEE 802.1AE.
    pub name: &'static str,
    /// Bytes of secure association key.
    pub key: u8,
    /// Bits of packet number; a suite with 64 sends the low 32 alone.
    pub packet_number_bits: u8,
    /// NIST category of the cipher by definition: AES-128 is 1, AES-256 is 5.
    pub category: Category,
    /// Safe against an attacker who records today and computes later, if the CAK is: MKA is as strong as its CAK.
    pub recording: Safety,
    /// The defining document.
    pub status: Status,
    /// iproute2's name.
    pub iproute2: Option<&'static str>,
    /// A caveat beyond the numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<&'static str>,
}

fn as_eui64<S: Serializer>(id: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{id:016x}"))
}

macro_rules! suites {
    ($($id:literal $name:literal $key:literal $packet_number_bits:literal $category:literal $status:ident $iproute2:tt $($note:literal)?;)*) => {
        &[$(MacsecSuite {
            id: $id,
            name: $name,
            key: $key,
            packet_number_bits: $packet_number_bits,
            category: Category($category),
            recording: Safety::QuantumSafe,
            status: $status,
            iproute2: cell!($iproute2),
            note: note!($($note)?),
        }),*]
    };
}

/// Every MACsec cipher suite this project knows, by identifier.
pub static MACSEC_SUITES: &[MacsecSuite] = suites! {
    // id, name, bytes of key, bits of packet number, category, document, iproute2, note
    0x0080_0200_0100_0001 "GCM-AES-128 (legacy id)" 16 32 1 LINUX_LEGACY -                 "a wrong octet: accept it, send 0080c20001000001";
    0x0080_c200_0100_0001 "GCM-AES-128"             16 32 1 AE_2006      "gcm-aes-128"     "the default suite";
    0x0080_c200_0100_0002 "GCM-AES-256"             32 32 5 AEBN_2011    "gcm-aes-256"     "CNSA 2.0 needs it; no O-RAN text found asks for it";
    0x0080_c200_0100_0003 "GCM-AES-XPN-128"         16 64 1 AEBW_2013    "gcm-aes-xpn-128";
    0x0080_c200_0100_0004 "GCM-AES-XPN-256"         32 64 5 AEBW_2013    "gcm-aes-xpn-256";
};

/// Octets of the SecTAG with its EtherType and without its SCI (IEEE 802.1AE, clause 9.3).
pub const MACSEC_SECTAG: u16 = 8;
/// Octets of a secure channel identifier: a MAC address and a port.
pub const MACSEC_SCI: u16 = 8;
/// Octets of the integrity check value of every suite here.
pub const MACSEC_ICV: u16 = 16;
/// Octets of a key identifier in MKA and in the kernel (IEEE 802.1X, clause 9.8: a member identifier and a number).
pub const MACSEC_KEY_ID: usize = 16;
/// Octets of the salt of suites with extended packet numbers (IEEE 802.1AE, clause 14.7).
pub const MACSEC_SALT: usize = 12;

/// The cipher suite with this identifier.
pub fn macsec_suite(id: u64) -> Option<&'static MacsecSuite> {
    MACSEC_SUITES.iter().find(|known| known.id == id)
}

/// The cipher suite with this name, as IEEE or iproute2 write it; case, hyphens and underscores do not matter.
pub fn macsec_suite_named(name: &str) -> Option<&'static MacsecSuite> {
    MACSEC_SUITES
        .iter()
        .find(|known| any_is([Some(known.name), known.iproute2], name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_legacy_identifier_differs_in_one_octet_and_means_the_default_suite() {
        let legacy = macsec_suite(0x0080_0200_0100_0001).unwrap();
        let default = macsec_suite(0x0080_c200_0100_0001).unwrap();
        assert_eq!((legacy.id ^ default.id).count_ones(), 2);
        assert_eq!((legacy.id ^ default.id) & !(0xff << 40), 0);
        assert_eq!(
            (legacy.key, legacy.packet_number_bits),
            (default.key, default.packet_number_bits)
        );
    }

    #[test]
    fn the_key_decides_the_category() {
        for suite in MACSEC_SUITES {
            assert_eq!(
                suite.category,
                Category(if suite.key == 32 { 5 } else { 1 }),
                "{}",
                suite.name
            );
        }
    }
}
