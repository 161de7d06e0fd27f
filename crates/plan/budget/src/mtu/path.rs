//! Remaining MTU of a link inside nested protections.

use bartizan_registry::{IP_PACKET_MOST, IPV4_MTU_LEAST};
use thiserror::Error;

use crate::overhead::{IpVersion, OverheadError, Protection};
use crate::unit::Bytes;

/// Why there is no path MTU.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PathError {
    /// No link has such an MTU.
    #[error("an MTU of {given} bytes: it is between {IPV4_MTU_LEAST} (RFC 791) and {IP_PACKET_MOST} bytes")]
    NoLink {
        /// Bytes given.
        given: u64,
    },
    /// The layers need all of it.
    #[error("an MTU of {mtu} bytes leaves no room for an IP packet within {layers}")]
    NoRoom {
        /// The link's.
        mtu: u64,
        /// The layers, from the inside.
        layers: String,
    },
    /// A packet that is none.
    #[error(transparent)]
    Overhead(#[from] OverheadError),
}

/// The largest IP packet that passes a link of this MTU whole, within these layers, the innermost first.
///
/// Found by halving: no layer makes a larger packet smaller (a property test of `overhead`). The MTU is what stands behind the Ethernet header, MACsec's tag included,
/// as Linux counts it for the interface below MACsec.
pub fn path_mtu(mtu: Bytes, layers: &[Protection], inner: IpVersion) -> Result<Bytes, PathError> {
    if !(u64::from(IPV4_MTU_LEAST)..=u64::from(IP_PACKET_MOST)).contains(&mtu.value()) {
        return Err(PathError::NoLink { given: mtu.value() });
    }
    let fits = |packet: u64| -> bool {
        let mut size = Bytes::new(packet).ok();
        let mut version = inner;
        for layer in layers {
            size = size.and_then(|size| layer.packet(size, version).ok());
            version = layer.outer(version);
        }
        size.is_some_and(|size| size <= mtu)
    };
    let least = u64::from(inner.header().bytes);
    if !fits(least) {
        let names: Vec<&str> = layers.iter().map(Protection::name).collect();
        return Err(PathError::NoRoom {
            mtu: mtu.value(),
            layers: names.join(", "),
        });
    }
    let (mut good, mut bad) = (least, mtu.value() + 1);
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        if fits(middle) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    Ok(Bytes::new(good).unwrap_or(Bytes::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn left(mtu: u32, layers: &[&str]) -> u64 {
        let layers: Vec<Protection> = layers.iter().map(|name| name.parse().unwrap()).collect();
        path_mtu(Bytes::from(mtu), &layers, IpVersion::V4).unwrap().value()
    }

    #[test]
    fn what_is_left_is_what_strongswan_users_know() {
        assert_eq!(left(1500, &[]), 1500);
        // 20 + 8 + 8 + 16 leave 1448, of which two are the trailer.
        assert_eq!(left(1500, &["esp:aes256gcm16"]), 1446);
        assert_eq!(left(1500, &["esp:aes256gcm16,udp"]), 1438);
        // 20 + 8 + 16 + 16 leave 1440: 90 blocks, of which two bytes are the trailer.
        assert_eq!(left(1500, &["esp:aes256-sha256"]), 1438);
        assert_eq!(left(1500, &["macsec:gcm-aes-128"]), 1468);
        // 20 + 8 + 8 and the PDU session container of N3 and N9.
        assert_eq!(left(1500, &["gtp-u"]), 1456);
        assert_eq!(left(1500, &["gtp-u:no-container"]), 1464);
        assert_eq!(left(1500, &["gtp-u", "esp:aes256gcm16,udp"]), 1394);
        assert_eq!(left(1500, &["gtp-u", "esp:aes256gcm16", "macsec:gcm-aes-128"]), 1370);
        // VXLAN and Geneve carry the inner Ethernet header; their interfaces have 1450 in Linux.
        for overlay in ["vxlan", "geneve"] {
            assert_eq!(left(1500, &[overlay]), 1450, "{overlay}");
            assert_eq!(left(1500, &[&format!("{overlay}:ipv6")]), 1430, "{overlay}");
        }
        assert_eq!(left(1500, &["pppoe"]), 1492);
        assert_eq!(left(1500, &["vlan", "vlan"]), 1492);
        assert_eq!(left(1500, &["gtp-u:ipv6", "ipv6-extension:24"]), 1412);
    }

    #[test]
    fn an_mtu_that_no_link_has_is_refused_with_the_bound() {
        let refused = path_mtu(Bytes::ZERO, &[], IpVersion::V4).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "an MTU of 0 bytes: it is between 68 (RFC 791) and 65535 bytes"
        );
        let esp = "esp:aes256-sha512,udp".parse().unwrap();
        let refused = path_mtu(Bytes::from(90_u32), &[esp], IpVersion::V4).unwrap_err();
        assert!(
            refused
                .to_string()
                .contains("leaves no room for an IP packet within esp:aes256-sha512,udp")
        );
    }

    proptest! {
        #[test]
        fn the_largest_that_fits_fits_and_one_more_does_not(mtu in 200_u32..9000) {
            for name in ["esp:aes256-sha256", "esp:aes256gcm16,udp,ipv6", "macsec:gcm-aes-128"] {
                let layer: Protection = name.parse().unwrap();
                let inner = path_mtu(Bytes::from(mtu), std::slice::from_ref(&layer), IpVersion::V4).unwrap();
                let sent = |size: u64| layer.packet(Bytes::new(size).unwrap(), IpVersion::V4).unwrap().value();
                prop_assert!(sent(inner.value()) <= u64::from(mtu));
                prop_assert!(sent(inner.value() + 1) > u64::from(mtu));
            }
        }
    }
}
