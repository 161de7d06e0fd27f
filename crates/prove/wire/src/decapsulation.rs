//! From a captured frame, or from what a tunnel carries, to the packet in it.

mod frame;
mod gre;
mod marks;
mod mpls;
mod tunnel;
mod udp;

pub(crate) use frame::{Carried, Payload, reach};
pub use marks::Mark;
pub(crate) use tunnel::opens;

use crate::link::ETHERTYPE_MACSEC;

/// Tags, labels and tunnels that are opened before a packet is given up. Networks stack five (a
/// VLAN tag, two MPLS labels, VXLAN, a VLAN tag); the bound keeps a packet of tunnels alone from
/// costing more than one of data.
pub(crate) const DEPTH: usize = 12;

pub(crate) const IPV4: u16 = 0x0800;
pub(crate) const IPV6: u16 = 0x86dd;
const ARP: u16 = 0x0806;
const TRANSPARENT_ETHERNET: u16 = 0x6558;
const MPLS_UNICAST: u16 = 0x8847;
const MPLS_MULTICAST: u16 = 0x8848;
const PPPOE_DISCOVERY: u16 = 0x8863;
const PPPOE_SESSION: u16 = 0x8864;
const BACKBONE: u16 = 0x88e7;
const FABRIC_PATH: u16 = 0x8903;
const VN_TAG: u16 = 0x8926;
const NSH: u16 = 0x894f;
const REDUNDANCY_TAG: u16 = 0xf1c1;
const TRILL: u16 = 0x22f3;
/// 802.1Q, 802.1ad, and the values used before 802.1ad.
const VLANS: [u16; 4] = [0x8100, 0x88a8, 0x9100, 0x9200];
/// Values up to this are no EtherType but the length of an LLC frame (IEEE 802.3, clause 3.2.6).
const LONGEST_LENGTH: u16 = 1500;

/// Returns true if bytes look like an Ethernet frame that nothing announces: a known EtherType with
/// a header behind it that fits, or a length that fits.
fn looks_like_ethernet(bytes: &[u8]) -> bool {
    let Some((header, rest)) = bytes.split_first_chunk::<14>() else {
        return false;
    };
    let version = rest.first().map(|byte| byte >> 4);
    match u16::from_be_bytes([header[12], header[13]]) {
        IPV4 => version == Some(4),
        IPV6 => version == Some(6),
        ARP | MPLS_UNICAST | MPLS_MULTICAST | PPPOE_DISCOVERY | PPPOE_SESSION | BACKBONE | ETHERTYPE_MACSEC => true,
        kind if VLANS.contains(&kind) => true,
        // LLC: spanning tree, or an extension that names an EtherType.
        length if length <= LONGEST_LENGTH => {
            usize::from(length) <= rest.len() && matches!(rest, [0x42, 0x42, ..] | [0xaa, 0xaa, ..] | [0xfe, 0xfe, ..])
        }
        // Protocols that stations speak with each other.
        kind => matches!(kind, 0x88cc | 0x8809 | 0x8902 | 0x88f7 | 0x9000 | 0xaefe),
    }
}

/// Returns true if bytes are an IP packet that nothing announces: the version is right, and for
/// IPv4 the header checksum.
fn looks_like_ip(bytes: &[u8]) -> bool {
    let Some(header) = bytes.first_chunk::<20>() else {
        return false;
    };
    match header[0] >> 4 {
        4 => header[0] & 0x0f >= 5 && is_checked(bytes),
        6 => bytes.len() >= 40,
        _ => false,
    }
}

/// Verifies the checksum of an IPv4 header.
fn is_checked(bytes: &[u8]) -> bool {
    let length = usize::from(bytes[0] & 0x0f) * 4;
    let Some(header) = bytes.get(..length) else {
        return false;
    };
    let words = header
        .chunks_exact(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let sum: u32 = words.sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    (sum & 0xffff) + (sum >> 16) == 0xffff
}

#[cfg(test)]
mod tests;
