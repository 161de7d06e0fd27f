//! Addresses with the bits of them that count.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An address prefix: `10.0.0.66/32`, `2001:db8:0:1::/64`. Bits beyond its length are zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix {
    address: IpAddr,
    length: u8,
}

/// Distinguished part of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Precision {
    /// A host: an IPv4 address, or as a rule a /64 of IPv6.
    Host,
    /// A /24 of IPv4, a /48 of IPv6.
    Site,
    Family,
}

impl Precision {
    pub(crate) const FALLING: [Self; 3] = [Self::Host, Self::Site, Self::Family];
}

impl Prefix {
    /// The first `length` bits of an address, or all of them where it has no more. An IPv4 address
    /// written as IPv6 is an IPv4 address.
    pub fn new(address: IpAddr, length: u8) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => {
                let length = length.min(32);
                let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
                Self {
                    address: Ipv4Addr::from(u32::from(address) & mask).into(),
                    length,
                }
            }
            IpAddr::V6(address) => {
                let length = length.min(128);
                let mask = u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
                Self {
                    address: Ipv6Addr::from(u128::from(address) & mask).into(),
                    length,
                }
            }
        }
    }

    pub(crate) fn of(address: IpAddr, precision: Precision) -> Self {
        let length = match (address.to_canonical(), precision) {
            (IpAddr::V4(_), Precision::Host) => 32,
            (IpAddr::V4(_), Precision::Site) => 24,
            (IpAddr::V6(_), Precision::Host) => 64,
            (IpAddr::V6(_), Precision::Site) => 48,
            (_, Precision::Family) => 0,
        };
        Self::new(address, length)
    }

    /// Returns true if an address begins with these bits.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_ipv4() == self.address.is_ipv4() && Self::new(address, self.length) == *self
    }

    /// All addresses of its family.
    pub fn family(&self) -> Self {
        Self::new(self.address, 0)
    }

    fn parse(text: &str) -> Option<Self> {
        let (address, length) = text.split_once('/')?;
        let (address, length) = (address.parse().ok()?, length.parse().ok()?);
        let prefix = Self::new(address, length);
        (prefix.length == length && prefix.address == address).then_some(prefix)
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

impl Serialize for Prefix {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Prefix {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("a prefix is an address and its bits, 10.0.0.0/24"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_prefix_keeps_the_bits_it_counts() {
        let of = |address: &str, length| Prefix::new(address.parse().unwrap(), length).to_string();
        assert_eq!(of("10.1.2.3", 32), "10.1.2.3/32");
        assert_eq!(of("10.1.2.3", 24), "10.1.2.0/24");
        assert_eq!(of("10.1.2.3", 0), "0.0.0.0/0");
        assert_eq!(of("2001:db8:0:1:2::3", 64), "2001:db8:0:1::/64");
        assert_eq!(of("::ffff:10.1.2.3", 32), "10.1.2.3/32");
        assert_eq!(of("::1", 0), "::/0");
    }

    #[test]
    fn an_address_of_the_other_family_is_in_no_prefix() {
        let all = Prefix::new("0.0.0.0".parse().unwrap(), 0);
        assert!(all.contains("192.0.2.1".parse().unwrap()));
        assert!(all.contains("::ffff:192.0.2.1".parse().unwrap()));
        assert!(!all.contains("2001:db8::1".parse().unwrap()));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(address: IpAddr, length: u8) {
            let prefix = Prefix::new(address, length);
            prop_assert!(prefix.contains(address));
            prop_assert_eq!(Prefix::parse(&prefix.to_string()), Some(prefix));
        }

        #[test]
        fn no_text_panics(text in ".{0,40}") {
            let _ = Prefix::parse(&text);
        }
    }
}
