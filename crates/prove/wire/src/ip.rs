//! IPv4 (RFC 791) and IPv6 (RFC 8200): headers, and packets put together again from their fragments.

mod fragments;

pub use fragments::{Abandoned, FragmentLimits, Fragments, Taken};

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::housekeeping::are_items;

/// IP protocol number of ICMP.
pub const ICMP: u8 = 1;
/// IP protocol number of IGMP.
pub const IGMP: u8 = 2;
/// IP protocol number of TCP.
pub const TCP: u8 = 6;
/// IP protocol number of UDP.
pub const UDP: u8 = 17;
/// Next header of an IPv6 packet with a fragment header (RFC 8200, section 4.5).
const IPV6_FRAGMENT: u8 = 44;
/// IP protocol number of ESP.
pub const ESP: u8 = 50;
/// IP protocol number of the authentication header.
pub const AH: u8 = 51;
/// IP protocol number of ICMP for IPv6.
pub const ICMPV6: u8 = 58;
/// Next header of an IPv6 packet without a payload (RFC 8200, section 4.7).
pub const NO_NEXT_HEADER: u8 = 59;
/// IP protocol number of SCTP.
pub const SCTP: u8 = 132;

/// Protocols with which hosts maintain a network and which carry no user data, by name. A packet
/// counts only within the bounds of its kind, and in IPv6 without a next header if nothing follows.
pub const HOUSEKEEPING: &[(u8, &str)] = &[
    (ICMP, "ICMP"),
    (IGMP, "IGMP"),
    (ICMPV6, "ICMPv6"),
    (NO_NEXT_HEADER, "IPv6 without a next header"),
];

/// Extension headers followed before an IPv6 packet is given up.
const EXTENSION_HEADERS: usize = 8;

/// One IP packet without its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// Sender.
    pub source: IpAddr,
    /// Receiver.
    pub destination: IpAddr,
    /// Protocol of the payload; for IPv6, behind the extension headers.
    pub protocol: u8,
    /// The captured payload, without padding of the link.
    pub payload: &'a [u8],
    /// Bytes of payload that were sent and not captured (snap length).
    pub missing: usize,
    /// Bytes of the packet as it was sent, headers included.
    pub length: usize,
    /// Fragmentation. The payload of a fragment cannot be read alone.
    pub fragment: Fragment,
}

/// Fragmentation of an IP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fragment {
    /// The packet is whole.
    Whole,
    /// It is one of several parts.
    Part {
        /// Identification set by the sender; 16 bits in IPv4.
        identification: u32,
        /// Offset of this fragment in the packet's payload, in bytes.
        offset: u32,
        /// True if more fragments follow (MF).
        more: bool,
    },
}

/// Reads the header of an IPv4 or IPv6 packet; none where it is not one, or is shorter than its header.
pub fn datagram(packet: &[u8]) -> Option<Datagram<'_>> {
    match packet.first()? >> 4 {
        4 => ipv4(packet),
        6 => ipv6(packet),
        _ => None,
    }
}

fn ipv4(packet: &[u8]) -> Option<Datagram<'_>> {
    let header = packet.first_chunk::<20>()?;
    let header_length = usize::from(header[0] & 0x0f) * 4;
    let total = usize::from(u16::from_be_bytes([header[2], header[3]]));
    // Zero is what Linux writes for packets over 65535 bytes that segmentation offload has not cut yet.
    let total = if total == 0 { packet.len() } else { total };
    if header_length < 20 || total < header_length {
        return None;
    }
    let fragmentation = u16::from_be_bytes([header[6], header[7]]);
    // The lower 13 bits are the offset; 0x2000 is "more fragments".
    let fragment = if fragmentation & 0x3fff == 0 {
        Fragment::Whole
    } else {
        Fragment::Part {
            identification: u32::from(u16::from_be_bytes([header[4], header[5]])),
            offset: u32::from(fragmentation & 0x1fff) * 8,
            more: fragmentation & 0x2000 != 0,
        }
    };
    let captured = &packet[..total.min(packet.len())];
    Some(Datagram {
        source: Ipv4Addr::from(*header[12..].first_chunk::<4>()?).into(),
        destination: Ipv4Addr::from(*header[16..].first_chunk::<4>()?).into(),
        protocol: header[9],
        payload: captured.get(header_length..)?,
        missing: total - captured.len(),
        length: total,
        fragment,
    })
}

fn ipv6(packet: &[u8]) -> Option<Datagram<'_>> {
    let (header, rest) = packet.split_first_chunk::<40>()?;
    let length = usize::from(u16::from_be_bytes([header[4], header[5]]));
    // Zero: a jumbogram, or segmentation offload as in IPv4.
    let length = if length == 0 { rest.len() } else { length };
    let payload = &rest[..length.min(rest.len())];
    let missing = length - payload.len();
    let (protocol, payload, fragment) = extensions(header[6], payload)?;
    Some(Datagram {
        source: Ipv6Addr::from(*header[8..].first_chunk::<16>()?).into(),
        destination: Ipv6Addr::from(*header[24..].first_chunk::<16>()?).into(),
        protocol,
        payload,
        missing,
        length: header.len() + length,
        fragment,
    })
}

/// Follows extension headers of IPv6 up to what they carry, or up to an authentication header.
fn extensions(mut protocol: u8, mut payload: &[u8]) -> Option<(u8, &[u8], Fragment)> {
    let mut fragment = Fragment::Whole;
    for _ in 0..EXTENSION_HEADERS {
        let extension = match protocol {
            // Hop-by-hop, routing, destination options, mobility: a length in units of eight bytes, not counting the
            // first.
            0 | 43 | 60 | 135 => (usize::from(*payload.get(1)?) + 1) * 8,
            IPV6_FRAGMENT => {
                let place = u16::from_be_bytes([*payload.get(2)?, *payload.get(3)?]);
                // Offset in the upper 13 bits, "more fragments" in the lowest: both zero in an "atomic" fragment (RFC
                // 6946).
                if place & 0xfff9 != 0 {
                    let identification = payload.get(4..8)?.first_chunk::<4>()?;
                    fragment = Fragment::Part {
                        identification: u32::from_be_bytes(*identification),
                        offset: u32::from(place & 0xfff8),
                        more: place & 1 != 0,
                    };
                }
                8
            }
            _ => break,
        };
        protocol = *payload.first()?;
        payload = payload.get(extension..)?;
        if fragment != Fragment::Whole {
            break;
        }
    }
    Some((protocol, payload, fragment))
}

/// A packet put together from parts: of IPv6 behind the extension headers that were in them; none
/// where these do not follow the standard.
pub(crate) fn put_together<'a>(datagram: &Datagram<'_>, protocol: u8, payload: &'a [u8]) -> Option<Datagram<'a>> {
    let (protocol, payload, fragment) = match datagram.source {
        IpAddr::V4(_) => (protocol, payload, Fragment::Whole),
        IpAddr::V6(_) => extensions(protocol, payload)?,
    };
    (fragment == Fragment::Whole).then_some(Datagram {
        source: datagram.source,
        destination: datagram.destination,
        protocol,
        payload,
        missing: 0,
        length: datagram.length,
        fragment,
    })
}

/// Options of IPv6 that are known (IANA, Destination Options and Hop-by-Hop Options).
const OPTIONS: &[u8] = &[
    0x04, // tunnel encapsulation limit
    0x05, // router alert
    0x07, // CALIPSO
    0x08, // SMF
    0x0f, // performance and diagnostic metrics
    0x11, // IOAM
    0x12, // alternate marking
    0x23, // RPL
    0x26, // quick start
    0x30, // least MTU of a path
    0x31, // IOAM
    0x32, // alternate marking
    0x63, // RPL
    0x6d, // MPL
    0x8b, // ILNP nonce
    0x8c, // line identification
    0xc2, // jumbo payload
    0xc9, // home address
];

/// The extension header of an IPv6 packet, by its number, with data in it that is no known option:
/// the ends may exchange anything there, whatever else the packet carries. `protocol` is what
/// `rest` begins with.
pub(crate) fn unread_options(mut protocol: u8, mut rest: &[u8]) -> Option<u8> {
    const HOP_BY_HOP: u8 = 0;
    const DESTINATION: u8 = 60;
    for _ in 0..EXTENSION_HEADERS {
        let length = match protocol {
            HOP_BY_HOP | 43 | DESTINATION | 135 => (usize::from(*rest.get(1)?) + 1) * 8,
            _ => return None,
        };
        let options = rest.get(2..length.min(rest.len()))?;
        if matches!(protocol, HOP_BY_HOP | DESTINATION) && !are_items(options, option) {
            return Some(protocol);
        }
        protocol = *rest.first()?;
        rest = rest.get(length..)?;
    }
    None
}

/// Length of the first of some options of IPv6: known, or padding of zeros.
fn option(options: &[u8]) -> Option<usize> {
    const PAD1: u8 = 0;
    const PADN: u8 = 1;
    let &kind = options.first()?;
    if kind == PAD1 {
        return Some(1);
    }
    let end = 2 + usize::from(*options.get(1)?);
    let is_known = match kind {
        PADN => options[2..end.min(options.len())].iter().all(|byte| *byte == 0),
        kind => OPTIONS.contains(&kind),
    };
    is_known.then_some(end)
}

/// The options of an IPv4 packet, if one of them is unknown or something stands behind their end.
pub(crate) fn unread_options_of_ipv4(packet: &[u8]) -> Option<&[u8]> {
    let options = packet.get(20..usize::from(packet.first()? & 0x0f) * 4)?;
    (!are_items(options, option_of_ipv4)).then_some(options)
}

/// Length of the first of some options of IPv4 that IANA knows.
fn option_of_ipv4(options: &[u8]) -> Option<usize> {
    const END: u8 = 0;
    const NOTHING: u8 = 1;
    match *options.first()? {
        END => options.iter().all(|byte| *byte == 0).then_some(options.len()),
        NOTHING => Some(1),
        // Routes, times, alerts, labels, sizes of paths.
        7 | 11 | 12 | 25 | 68 | 82 | 130 | 131 | 133 | 134 | 136 | 137 | 147 | 148 => options
            .get(1)
            .map(|length| usize::from(*length))
            .filter(|length| *length >= 2),
        _ => None,
    }
}

/// The packet behind an authentication header (RFC 4302, section 2): its length is in units of four bytes, minus two.
pub(crate) fn behind_authentication<'a>(datagram: &Datagram<'a>) -> Option<Datagram<'a>> {
    let &[protocol, length, ..] = datagram.payload.first_chunk::<12>()?;
    let rest = datagram.payload.get((usize::from(length) + 2) * 4..)?;
    let (protocol, payload, fragment) = match datagram.source {
        IpAddr::V4(_) => (protocol, rest, Fragment::Whole),
        IpAddr::V6(_) => extensions(protocol, rest)?,
    };
    Some(Datagram {
        protocol,
        payload,
        fragment,
        ..*datagram
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ipv4_packet(total: u16, fragmentation: u16, payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, TCP, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        packet[2..4].copy_from_slice(&total.to_be_bytes());
        packet[6..8].copy_from_slice(&fragmentation.to_be_bytes());
        packet.extend(payload);
        packet
    }

    fn ipv6_packet(next: u8, payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x60, 0, 0, 0, 0, 0, next, 64];
        packet[4..6].copy_from_slice(&u16::try_from(payload.len()).unwrap().to_be_bytes());
        packet.extend([0; 32]);
        packet.extend(payload);
        packet
    }

    #[test]
    fn padding_of_short_ethernet_frames_is_not_payload() {
        let packet = ipv4_packet(22, 0, b"ab\0\0\0\0");
        let read = datagram(&packet).unwrap();
        assert_eq!((read.payload, read.missing), (&b"ab"[..], 0));
    }

    #[test]
    fn a_snapped_packet_says_how_much_is_missing() {
        let packet = ipv4_packet(1500, 0, b"abc");
        let read = datagram(&packet).unwrap();
        assert_eq!((read.payload, read.missing), (&b"abc"[..], 1477));
    }

    #[test]
    fn first_middle_and_last_fragments_are_parts_and_do_not_fragment_is_not() {
        let part = |offset, more| Fragment::Part {
            identification: 0,
            offset,
            more,
        };
        for (fragmentation, expected) in [
            (0x2000, part(0, true)),
            (0x2010, part(128, true)),
            (0x0010, part(128, false)),
            (0x4000, Fragment::Whole),
        ] {
            let packet = ipv4_packet(21, fragmentation, b"x");
            assert_eq!(datagram(&packet).unwrap().fragment, expected, "{fragmentation:#06x}");
        }
    }

    #[test]
    fn ipv6_extension_headers_lead_to_tcp() {
        // Hop-by-hop (8 bytes), destination options (16 bytes), an atomic fragment header, then TCP.
        let mut payload = vec![60, 0, 0, 0, 0, 0, 0, 0];
        payload.extend([44, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        payload.extend([TCP, 0, 0, 0, 0, 0, 0, 0]);
        payload.extend(b"segment");
        let packet = ipv6_packet(0, &payload);
        let read = datagram(&packet).unwrap();
        assert_eq!(
            (read.protocol, read.payload, read.fragment),
            (TCP, &b"segment"[..], Fragment::Whole)
        );
    }

    #[test]
    fn ipv6_fragments_are_parts() {
        let packet = ipv6_packet(44, &[TCP, 0, 0, 1, 0, 0, 0, 0, b'x']);
        let expected = Fragment::Part {
            identification: 0,
            offset: 0,
            more: true,
        };
        assert_eq!(datagram(&packet).unwrap().fragment, expected);
    }

    #[test]
    fn headers_that_contradict_themselves_are_no_datagram() {
        assert_eq!(datagram(&[]), None);
        assert_eq!(datagram(&[0x44; 60]), None, "IHL of four words");
        assert_eq!(
            datagram(&ipv4_packet(19, 0, b"")),
            None,
            "total length below the header"
        );
        assert_eq!(
            datagram(&ipv6_packet(0, &[TCP, 255])),
            None,
            "an extension header beyond the end"
        );
    }
}
