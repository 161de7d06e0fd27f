//! A payload in pieces.

use bartizan_registry::{FRAGMENT_UNIT, Header};
use serde::Serialize;

use crate::overhead::IpVersion;
use crate::unit::Bytes;

/// Strategy for filling fragments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Filling {
    /// All but the last to the brim, as IP and most senders do.
    Full,
    /// All alike, but for a byte: as many pieces, none of them larger than it must be.
    Even,
}

/// More pieces than one payload is cut into.
const MOST_PIECES: u64 = 1_000_000;

/// A payload in as few pieces as fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Fragments {
    payload: Bytes,
    room: Bytes,
    count: u64,
    filling: Filling,
}

impl Fragments {
    /// Pieces of `room` bytes at most; `None` where there is no room, nothing to send, or a million pieces would not do.
    pub fn of(payload: Bytes, room: Bytes, filling: Filling) -> Option<Self> {
        let count = payload.pieces_of(room)?;
        (1..=MOST_PIECES).contains(&count).then_some(Self {
            payload,
            room,
            count,
            filling,
        })
    }

    /// Number of fragments.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Their sizes, in order.
    pub fn sizes(&self) -> impl Iterator<Item = Bytes> + use<> {
        let (payload, room, count, filling) = (self.payload.value(), self.room.value(), self.count, self.filling);
        (0..count).filter_map(move |index| {
            let size = match filling {
                Filling::Full => room.min(payload - index * room),
                Filling::Even => payload / count + u64::from(index < payload % count),
            };
            Bytes::new(size).ok()
        })
    }
}

/// Into how many IP fragments a packet goes on a link with this MTU; `None` where not even eight bytes fit behind the headers.
///
/// Data of all but the last comes in units of eight bytes (RFC 791, section 3.1); IPv6 adds a fragment header to each (RFC 8200, section 4.5).
pub fn ip_fragments(packet: Bytes, mtu: Bytes, version: IpVersion) -> Option<u64> {
    if packet <= mtu {
        return Some(1);
    }
    let header = Bytes::from(version.header().bytes);
    let more = match version {
        IpVersion::V4 => Bytes::ZERO,
        IpVersion::V6 => Bytes::from(Header::IPV6_FRAGMENT.bytes),
    };
    let last = mtu.beyond(header + more);
    let room = Bytes::new(last.value() / u64::from(FRAGMENT_UNIT) * u64::from(FRAGMENT_UNIT)).ok()?;
    // The last may end anywhere.
    let others = packet.beyond(header).beyond(last).pieces_of(room)?;
    Some(others + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes(bytes: u32) -> Bytes {
        Bytes::from(bytes)
    }

    #[test]
    fn a_packet_of_1796_bytes_is_two_fragments_at_1500() {
        assert_eq!(ip_fragments(bytes(1796), bytes(1500), IpVersion::V4), Some(2));
        assert_eq!(ip_fragments(bytes(1500), bytes(1500), IpVersion::V4), Some(1));
        assert_eq!(ip_fragments(bytes(3000), bytes(1500), IpVersion::V4), Some(3));
        assert_eq!(ip_fragments(bytes(100), bytes(27), IpVersion::V4), None);
        // 1472 and 1479 bytes behind the headers: the last is no multiple of eight.
        assert_eq!(ip_fragments(bytes(2971), bytes(1499), IpVersion::V4), Some(2));
        assert_eq!(ip_fragments(bytes(2972), bytes(1499), IpVersion::V4), Some(3));
    }

    proptest! {
        #[test]
        fn pieces_add_up_and_none_is_too_large(payload in 1_u32..100_000, room in 1_u32..9000) {
            for filling in [Filling::Full, Filling::Even] {
                let pieces = Fragments::of(bytes(payload), bytes(room), filling).unwrap();
                let sizes: Vec<u64> = pieces.sizes().map(Bytes::value).collect();
                prop_assert_eq!(sizes.len() as u64, pieces.count());
                prop_assert_eq!(sizes.iter().sum::<u64>(), u64::from(payload));
                prop_assert!(sizes.iter().all(|size| *size <= u64::from(room) && *size > 0));
                if filling == Filling::Even {
                    prop_assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1);
                }
            }
        }

        #[test]
        fn a_larger_mtu_never_needs_more_fragments(packet in 100_u32..65_000, mtu in 100_u32..9000) {
            for version in [IpVersion::V4, IpVersion::V6] {
                let count = |mtu| ip_fragments(bytes(packet), bytes(mtu), version).unwrap();
                prop_assert!(count(mtu + 1) <= count(mtu));
            }
        }

        #[test]
        fn even_halves_are_never_slower_on_a_curve_that_steepens(payload in 5000_u32..8000, room in 4500_u32..5000) {
            // Jensen: of sums of a convex function of parts of one whole, that of equal parts is least.
            let sum = |filling| Fragments::of(bytes(payload), bytes(room), filling).unwrap().sizes()
                .map(|size| (size.value() as f64).powi(2)).sum::<f64>();
            prop_assert!(sum(Filling::Even) <= sum(Filling::Full) + 1.0);
        }
    }
}
