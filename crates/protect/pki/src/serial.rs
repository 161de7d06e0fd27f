//! Serial numbers of certificates.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::Error;

/// A positive serial number of 16 octets, 126 bits of them random (RFC 5280, section 4.1.2.2, allows 20 octets).
///
/// The second highest bit is always set, so that the number is positive, non-zero and always encoded in 16 octets.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Serial([u8; 16]);

impl Serial {
    /// A fresh number from the system's random generator; 126 bits of it are random.
    pub(crate) fn random() -> Result<Self, Error> {
        let mut octets = [0u8; 16];
        aws_lc_rs::rand::fill(&mut octets)?;
        octets[0] = octets[0] & 0x7f | 0x40;
        Ok(Self(octets))
    }

    /// The 16 octets, most significant first.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    pub(crate) fn from_bytes(octets: &[u8]) -> Result<Self, Error> {
        <[u8; 16]>::try_from(octets)
            .map(Self)
            .map_err(|_| Error::RecordsDamaged(format!("a serial number of {} octets", octets.len())))
    }

    pub(crate) fn for_rcgen(self) -> rcgen::SerialNumber {
        rcgen::SerialNumber::from_slice(&self.0)
    }
}

/// 32 hexadecimal digits, as `openssl x509 -serial` prints them, in lower case.
impl fmt::Display for Serial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|octet| write!(f, "{octet:02x}"))
    }
}

impl fmt::Debug for Serial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Serial({self})")
    }
}

impl FromStr for Serial {
    type Err = Error;

    /// Reads 32 hexadecimal digits in either case, with or without colons.
    fn from_str(text: &str) -> Result<Self, Error> {
        let unknown = || Error::UnknownCertificate(text.to_owned());
        let digits: String = text.chars().filter(|c| *c != ':').collect();
        if digits.len() != 32 || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(unknown());
        }
        u128::from_str_radix(&digits, 16)
            .map(|number| Self(number.to_be_bytes()))
            .map_err(|_| unknown())
    }
}

impl Serialize for Serial {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn random_serials_are_positive_and_sixteen_octets() {
        for _ in 0..1000 {
            let serial = Serial::random().unwrap();
            assert_eq!(serial.0[0] & 0xc0, 0x40);
        }
    }

    proptest! {
        #[test]
        fn a_printed_serial_is_read_back(octets: [u8; 16]) {
            let serial = Serial(octets);
            prop_assert_eq!(serial.to_string().parse::<Serial>().unwrap(), serial);
            prop_assert_eq!(serial.to_string().to_uppercase().parse::<Serial>().unwrap(), serial);
        }

        #[test]
        fn no_text_panics(text in ".{0,80}") {
            let _ = text.parse::<Serial>();
        }
    }
}
