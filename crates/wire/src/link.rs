//! From a captured frame to the packet in it.

/// What a captured frame begins with: a `LINKTYPE_` value of draft-ietf-opsawg-pcaplinktype.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkType(pub u16);

impl LinkType {
    /// BSD loopback: address family in the capturing host's byte order.
    pub const NULL: Self = Self(0);
    /// Ethernet.
    pub const ETHERNET: Self = Self(1);
    /// IP without a link header.
    pub const RAW: Self = Self(101);
    /// OpenBSD loopback: address family in network byte order.
    pub const LOOP: Self = Self(108);
    /// Linux "cooked" capture.
    pub const LINUX_SLL: Self = Self(113);
    /// IPv4 without a link header.
    pub const IPV4: Self = Self(228);
    /// IPv6 without a link header.
    pub const IPV6: Self = Self(229);
    /// Linux "cooked" capture, version 2.
    pub const LINUX_SLL2: Self = Self(276);

    /// `LINKTYPE_RAW` as some systems' own `DLT_RAW` values leak it into files.
    const DLT_RAW: [Self; 2] = [Self(12), Self(14)];
}

/// What a frame carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network<'a> {
    /// An IPv4 or IPv6 packet; its first four bits say which.
    Ip(&'a [u8]),
    /// Something else, by its EtherType.
    Other(u16),
    /// The link type is not read.
    UnknownLink,
    /// The frame is shorter than its headers.
    Short,
}

/// EtherType of a MACsec frame (IEEE 802.1AE).
pub const ETHERTYPE_MACSEC: u16 = 0x88e5;
const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
/// 802.1Q, 802.1ad, and the value used before 802.1ad.
const ETHERTYPES_VLAN: [u16; 3] = [0x8100, 0x88a8, 0x9100];
/// More tags than any network stacks.
const VLAN_TAGS: usize = 4;

/// Reads the link header of `frame`.
#[must_use]
pub fn network(link: LinkType, frame: &[u8]) -> Network<'_> {
    let read = match link {
        LinkType::ETHERNET => ethernet(frame),
        LinkType::RAW | LinkType::IPV4 | LinkType::IPV6 => Some(Network::Ip(frame)),
        LinkType::LINUX_SLL => frame
            .split_at_checked(16)
            .and_then(|(header, rest)| tagged(&header[14..], rest)),
        LinkType::LINUX_SLL2 => frame
            .split_at_checked(20)
            .and_then(|(header, rest)| tagged(header, rest)),
        LinkType::NULL | LinkType::LOOP => loopback(frame),
        link if LinkType::DLT_RAW.contains(&link) => Some(Network::Ip(frame)),
        _ => Some(Network::UnknownLink),
    };
    read.unwrap_or(Network::Short)
}

fn ethernet(frame: &[u8]) -> Option<Network<'_>> {
    let (header, rest) = frame.split_at_checked(14)?;
    tagged(&header[12..], rest)
}

/// Follows VLAN tags from the EtherType that `kind` begins with.
fn tagged<'a>(kind: &[u8], mut rest: &'a [u8]) -> Option<Network<'a>> {
    let mut ethertype = u16::from_be_bytes(*kind.first_chunk()?);
    for _ in 0..VLAN_TAGS {
        if !ETHERTYPES_VLAN.contains(&ethertype) {
            break;
        }
        let (tag, inner) = rest.split_first_chunk::<4>()?;
        ethertype = u16::from_be_bytes([tag[2], tag[3]]);
        rest = inner;
    }
    Some(match ethertype {
        ETHERTYPE_IPV4 | ETHERTYPE_IPV6 => Network::Ip(rest),
        other => Network::Other(other),
    })
}

fn loopback(frame: &[u8]) -> Option<Network<'_>> {
    let (family, rest) = frame.split_first_chunk::<4>()?;
    // Address families are small numbers, so one byte of the four tells in either byte order. IPv6 is 10, 24, 28 or 30
    // by system.
    let small = family.iter().fold(0, |sum, byte| sum | byte);
    Some(match small {
        2 | 10 | 24 | 28 | 30 => Network::Ip(rest),
        _ => Network::Other(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ethernet_frame(types: &[u16], payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![0; 12];
        for (index, kind) in types.iter().enumerate() {
            if index > 0 {
                frame.extend([0, 7]);
            }
            frame.extend(kind.to_be_bytes());
        }
        frame.extend(payload);
        frame
    }

    #[test]
    fn two_vlan_tags_are_followed_to_the_packet() {
        let frame = ethernet_frame(&[0x88a8, 0x8100, 0x0800], b"packet");
        assert_eq!(network(LinkType::ETHERNET, &frame), Network::Ip(b"packet"));
    }

    #[test]
    fn endless_vlan_tags_end() {
        let frame = ethernet_frame(&[0x8100; 600], b"");
        assert_eq!(network(LinkType::ETHERNET, &frame), Network::Other(0x8100));
    }

    #[test]
    fn macsec_is_named_by_its_ethertype() {
        let frame = ethernet_frame(&[ETHERTYPE_MACSEC], b"sealed");
        assert_eq!(network(LinkType::ETHERNET, &frame), Network::Other(ETHERTYPE_MACSEC));
    }

    #[test]
    fn loopback_family_is_read_in_both_byte_orders() {
        assert_eq!(network(LinkType::NULL, &[2, 0, 0, 0, 0x45]), Network::Ip(&[0x45]));
        assert_eq!(network(LinkType::LOOP, &[0, 0, 0, 24, 0x60]), Network::Ip(&[0x60]));
    }

    #[test]
    fn cooked_captures_carry_their_ethertype_at_either_end() {
        let mut cooked = [0; 16];
        cooked[14] = 0x08;
        assert_eq!(
            network(LinkType::LINUX_SLL, &[&cooked[..], b"packet"].concat()),
            Network::Ip(b"packet")
        );
        let mut cooked = [0; 20];
        cooked[..2].copy_from_slice(&[0x86, 0xdd]);
        assert_eq!(
            network(LinkType::LINUX_SLL2, &[&cooked[..], b"packet"].concat()),
            Network::Ip(b"packet")
        );
    }

    #[test]
    fn a_frame_shorter_than_its_header_is_short() {
        for link in [
            LinkType::ETHERNET,
            LinkType::LINUX_SLL,
            LinkType::LINUX_SLL2,
            LinkType::NULL,
        ] {
            assert_eq!(network(link, &[0; 3]), Network::Short);
        }
    }
}
