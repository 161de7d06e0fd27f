//! Names and keys of a secure association (IEEE 802.1AE, clause 7.1).

use std::fmt;

use bartizan_registry::{MACSEC_KEY_ID, MACSEC_SALT};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

/// Secure channel identifier: the MAC address of the transmitter and a port number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sci(pub [u8; 8]);

impl Sci {
    /// Builds it from an address and a port.
    pub fn new(address: [u8; 6], port: u16) -> Self {
        let mut octets = [0; 8];
        octets[..6].copy_from_slice(&address);
        octets[6..].copy_from_slice(&port.to_be_bytes());
        Self(octets)
    }

    /// From 16 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        let whole = text.len() == 16 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
        let number = u64::from_str_radix(text, 16).ok().filter(|_| whole)?;
        Some(Self(number.to_be_bytes()))
    }
}

impl fmt::Display for Sci {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|octet| write!(f, "{octet:02x}"))
    }
}

impl fmt::Debug for Sci {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sci({self})")
    }
}

/// Association number, 0 to 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct An(u8);

impl An {
    /// All of them.
    pub const ALL: [Self; 4] = [Self(0), Self(1), Self(2), Self(3)];

    /// The one after this: after 3 comes 0.
    #[must_use]
    pub const fn next(self) -> Self {
        Self((self.0 + 1) % 4)
    }

    /// As a number.
    pub const fn number(self) -> u8 {
        self.0
    }
}

impl TryFrom<u8> for An {
    type Error = String;

    fn try_from(number: u8) -> Result<Self, String> {
        match number {
            0..=3 => Ok(Self(number)),
            _ => Err(format!("{number} is no association number: they are 0 to 3")),
        }
    }
}

impl From<An> for u8 {
    fn from(an: An) -> Self {
        an.0
    }
}

impl fmt::Display for An {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Names a key without revealing anything of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyId(pub [u8; MACSEC_KEY_ID]);

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|octet| write!(f, "{octet:02x}"))
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyId({self})")
    }
}

/// A secure association key with what is derived together with it. It is wiped when it is dropped, and never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Sak {
    /// 16 or 32 octets, as the cipher suite needs.
    pub key: Zeroizing<Vec<u8>>,
    /// Its name.
    pub id: KeyId,
    /// For suites with extended packet numbers: a salt.
    pub salt: Zeroizing<[u8; MACSEC_SALT]>,
    /// For the same: the short identifier of the transmitter's channel.
    pub ssci: u32,
}

impl fmt::Debug for Sak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sak({}, {} octets)", self.id, self.key.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_is_not_printed_and_what_names_it_is() {
        let sak = Sak {
            key: Zeroizing::new(vec![0xab; 32]),
            id: KeyId([7; 16]),
            salt: Zeroizing::new([0xcd; 12]),
            ssci: 1,
        };
        let printed = format!("{sak:?}").to_lowercase();
        assert!(
            !printed.contains("abab") && !printed.contains("171") && !printed.contains("cdcd"),
            "{printed}"
        );
        assert!(printed.contains("0707"));
    }

    #[test]
    fn association_numbers_go_round_and_there_are_four() {
        assert_eq!(An::ALL.map(An::next).map(u8::from), [1, 2, 3, 0]);
        assert!(An::try_from(4).is_err());
        let sci = Sci::new([2, 0, 0, 0, 0, 0xff], 1);
        assert_eq!(sci.to_string(), "0200000000ff0001");
        assert_eq!(Sci::parse("0200000000ff0001"), Some(sci));
        assert_eq!([Sci::parse("+200000000ff0001"), Sci::parse("02")], [None, None]);
    }
}
