//! Places in the headers of IP, TCP and UDP that packets are cut and put together by.

use std::net::IpAddr;
use std::ops::Range;

/// Bytes of a header of IPv4 without options, of IPv6, and of TCP without options.
pub(crate) const IPV4: usize = 20;
pub(crate) const IPV6: usize = 40;
pub(crate) const TCP_HEADER: usize = 20;
/// Number, flags and checksum in a header of TCP.
pub(crate) const NUMBER: Range<usize> = 4..8;
pub(crate) const FLAGS: usize = 13;
pub(crate) const CHECKSUM: Range<usize> = 16..18;
/// Bytes of a header of UDP, and its length and checksum.
pub(crate) const UDP_HEADER: usize = 8;
pub(crate) const UDP_LENGTH: Range<usize> = 4..6;
pub(crate) const UDP_CHECKSUM: Range<usize> = 6..8;

/// Sender and receiver of a packet whose header is whole.
pub(crate) fn addresses(packet: &[u8]) -> Option<(IpAddr, IpAddr)> {
    Some(match packet.first()? >> 4 {
        4 => {
            let address = |at: usize| packet.get(at..)?.first_chunk::<4>().map(|bytes| (*bytes).into());
            (address(12)?, address(16)?)
        }
        _ => {
            let address = |at: usize| packet.get(at..)?.first_chunk::<16>().map(|bytes| (*bytes).into());
            (address(8)?, address(24)?)
        }
    })
}
