//! Frames that carry no IP: what they are, and between which stations.

use std::borrow::Cow;
use std::fmt;

use crate::housekeeping;

/// A station's address (IEEE 802, EUI-48).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Station(pub [u8; 6]);

impl fmt::Display for Station {
    /// `02:00:5e:10:00:01`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// Protocol of a frame that carries no IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FrameProtocol {
    /// By EtherType.
    Type(u16),
    /// By the destination's service access point (IEEE 802.2).
    Llc(u8),
    /// By Cisco's extension of that (SNAP).
    Cisco(u16),
    /// By the extension of another organisation.
    Snap(u16),
    /// By protocol number of PPP.
    Ppp(u16),
    /// A pseudowire of MPLS that carries no Ethernet, or whose control word hides it.
    PseudoWire,
    /// Operation of MPLS itself (RFC 5586).
    AssociatedChannel,
    /// Beneath more tags and labels than are followed.
    Deep,
}

const NAMED: &[(FrameProtocol, &str)] = &[
    (FrameProtocol::Type(0x0806), "ARP"),
    (FrameProtocol::Type(0x0842), "Wake-on-LAN"),
    (FrameProtocol::Type(0x22f0), "AVTP"),
    (FrameProtocol::Type(0x6003), "DECnet"),
    (FrameProtocol::Type(0x8035), "RARP"),
    (FrameProtocol::Type(0x809b), "AppleTalk"),
    (FrameProtocol::Type(0x8137), "IPX"),
    (FrameProtocol::Type(0x8808), "MAC control"),
    (FrameProtocol::Type(0x8809), "slow protocols"),
    (FrameProtocol::Type(0x8863), "PPPoE discovery"),
    (FrameProtocol::Type(0x8864), "PPPoE"),
    (FrameProtocol::Type(0x888e), "EAPOL"),
    (FrameProtocol::Type(0x8892), "PROFINET"),
    (FrameProtocol::Type(0x88a2), "ATA over Ethernet"),
    (FrameProtocol::Type(0x88a4), "EtherCAT"),
    (FrameProtocol::Type(0x88b8), "GOOSE"),
    (FrameProtocol::Type(0x88ba), "Sampled Values"),
    (FrameProtocol::Type(0x88c7), "802.11 pre-authentication"),
    (FrameProtocol::Type(0x88cc), "LLDP"),
    (FrameProtocol::Type(0x88dc), "WSMP"),
    (FrameProtocol::Type(0x88e1), "HomePlug"),
    (FrameProtocol::Type(0x88e5), "MACsec"),
    (FrameProtocol::Type(0x88f5), "MVRP"),
    (FrameProtocol::Type(0x88f6), "MMRP"),
    (FrameProtocol::Type(0x88f7), "PTP"),
    (FrameProtocol::Type(0x88f8), "NC-SI"),
    (FrameProtocol::Type(0x8902), "CFM"),
    (FrameProtocol::Type(0x8906), "FCoE"),
    (FrameProtocol::Type(0x890d), "802.11"),
    (FrameProtocol::Type(0x8914), "FIP"),
    (FrameProtocol::Type(0x8915), "RoCE"),
    (FrameProtocol::Type(0x894f), "NSH"),
    (FrameProtocol::Type(0x9000), "loopback test"),
    (FrameProtocol::Type(0xaefe), "eCPRI"),
    (FrameProtocol::Type(0xfc3d), "RoE"),
    (FrameProtocol::Llc(0x42), "STP"),
    (FrameProtocol::Llc(0xfe), "OSI"),
    (FrameProtocol::Llc(0xe0), "IPX"),
    (FrameProtocol::Llc(0xf0), "NetBIOS"),
    (FrameProtocol::Cisco(0x2000), "CDP"),
    (FrameProtocol::Cisco(0x2003), "VTP"),
    (FrameProtocol::Cisco(0x2004), "DTP"),
    (FrameProtocol::Cisco(0x0111), "UDLD"),
    (FrameProtocol::Cisco(0x010b), "PVST"),
    (FrameProtocol::Ppp(0x8021), "PPP IPCP"),
    (FrameProtocol::Ppp(0x8057), "PPP IPV6CP"),
    (FrameProtocol::Ppp(0xc021), "PPP LCP"),
    (FrameProtocol::Ppp(0xc023), "PPP PAP"),
    (FrameProtocol::Ppp(0xc223), "PPP CHAP"),
    (FrameProtocol::Ppp(0xc227), "PPP EAP"),
    (FrameProtocol::Ppp(0x00fd), "PPP compressed or encrypted"),
    (FrameProtocol::Ppp(0x0053), "PPP encrypted"),
    (FrameProtocol::PseudoWire, "MPLS pseudowire"),
    (FrameProtocol::AssociatedChannel, "MPLS associated channel"),
    (FrameProtocol::Deep, "frames beneath too many tags and tunnels"),
];

impl FrameProtocol {
    /// Those that have a name here.
    pub fn named() -> impl Iterator<Item = Self> {
        NAMED.iter().map(|(known, _)| *known)
    }

    /// Its name.
    pub fn name(self) -> Cow<'static, str> {
        let known = NAMED.iter().find(|(known, _)| *known == self).map(|(_, name)| *name);
        match (known, self) {
            (Some(name), _) => name.into(),
            (None, Self::Type(kind)) => format!("EtherType 0x{kind:04x}").into(),
            (None, Self::Llc(point)) => format!("LLC 0x{point:02x}").into(),
            (None, Self::Cisco(kind)) => format!("SNAP of Cisco 0x{kind:04x}").into(),
            (None, Self::Snap(kind)) => format!("SNAP 0x{kind:04x}").into(),
            (None, Self::Ppp(kind)) => format!("PPP 0x{kind:04x}").into(),
            (None, _) => "frames".into(),
        }
    }

    /// Returns true if stations and bridges maintain the network with this protocol and it carries
    /// no user data: a frame within the bounds of its kind needs no judgement.
    #[must_use]
    pub fn is_housekeeping(self) -> bool {
        housekeeping::is_frame(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_no_judgement_is_a_short_list_with_names() {
        let housekeeping = (0..=u16::MAX)
            .map(FrameProtocol::Type)
            .filter(|kind| kind.is_housekeeping());
        for kind in housekeeping {
            assert!(FrameProtocol::named().any(|known| known == kind), "{kind:?}");
        }
        // Keys of MACsec, plain fronthaul and storage are no housekeeping.
        for kind in [0x888e, 0x88e5, 0xaefe, 0x8906, 0x88f7, 0x1234] {
            assert!(!FrameProtocol::Type(kind).is_housekeeping(), "0x{kind:04x}");
        }
        assert!(FrameProtocol::Llc(0x42).is_housekeeping());
        assert!(!FrameProtocol::Llc(0x43).is_housekeeping());
        // PAP sends a password.
        assert!(!FrameProtocol::Ppp(0xc023).is_housekeeping());
    }

    #[test]
    fn each_type_has_one_name() {
        for (index, (protocol, name)) in NAMED.iter().enumerate() {
            // IPX and others came in more than one kind of frame.
            let other = |(other, called): &(FrameProtocol, &str)| {
                other != protocol
                    && (called != name || std::mem::discriminant(other) != std::mem::discriminant(protocol))
            };
            assert!(NAMED[index + 1..].iter().all(other), "{name}");
        }
        assert_eq!(FrameProtocol::Type(0x1234).name(), "EtherType 0x1234");
        assert_eq!(Station([2, 0, 0x5e, 0x10, 0, 1]).to_string(), "02:00:5e:10:00:01");
    }
}
