//! Marks by which the readers here recognise tags, labels and tunnels.

use std::fmt;

use super::tunnel::number;
use super::udp::port;
use super::{
    BACKBONE, FABRIC_PATH, MPLS_MULTICAST, MPLS_UNICAST, NSH, PPPOE_SESSION, REDUNDANCY_TAG, TRILL, VLANS, VN_TAG, gre,
};
use crate::ip;
use crate::link::ETHERTYPE_MACSEC;
use crate::path::Encapsulation;

/// Announcement of a tag, a label or a tunnel; the structure behind it has to fit as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// An EtherType.
    EtherType(u16),
    /// An IP protocol number.
    Protocol(u8),
    /// A port of UDP.
    Port(u16),
    /// A protocol type of GRE.
    Gre(u16),
    /// It looks like one behind labels of MPLS, which name nothing.
    BehindLabels,
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EtherType(kind) => write!(f, "EtherType 0x{kind:04x}"),
            Self::Protocol(number) => write!(f, "IP protocol {number}"),
            Self::Port(port) => write!(f, "UDP port {port}"),
            Self::Gre(kind) => write!(f, "GRE 0x{kind:04x}"),
            Self::BehindLabels => f.write_str("structure behind MPLS labels"),
        }
    }
}

impl Encapsulation {
    /// Marks by which it is recognised.
    pub fn marks(self) -> &'static [Mark] {
        use Mark::{BehindLabels, EtherType, Gre, Port, Protocol};
        const _: () = assert!(VLANS.len() == 4, "each has its mark below");
        match self {
            Self::Vlan => &[
                EtherType(VLANS[0]),
                EtherType(VLANS[1]),
                EtherType(VLANS[2]),
                EtherType(VLANS[3]),
            ],
            Self::ProviderBackbone => &[EtherType(BACKBONE)],
            Self::FabricPath => &[EtherType(FABRIC_PATH)],
            Self::VnTag => &[EtherType(VN_TAG)],
            Self::RedundancyTag => &[EtherType(REDUNDANCY_TAG)],
            Self::MacSecUnencrypted => &[EtherType(ETHERTYPE_MACSEC)],
            Self::Mpls => &[EtherType(MPLS_UNICAST), EtherType(MPLS_MULTICAST)],
            Self::PseudoWire => &[BehindLabels],
            Self::Nsh => &[EtherType(NSH)],
            Self::Trill => &[EtherType(TRILL)],
            Self::Pppoe => &[EtherType(PPPOE_SESSION)],
            Self::Gre => &[Protocol(number::GRE)],
            Self::Pptp => &[Gre(gre::PPP)],
            Self::Erspan => &[Gre(gre::ERSPAN_2), Gre(gre::ERSPAN_3)],
            Self::IpInIp => &[Protocol(number::IPV4), Protocol(number::IPV6), Protocol(number::IPIP)],
            Self::EtherIp => &[Protocol(number::ETHERIP), Protocol(number::ETHERNET)],
            Self::MplsInIp => &[Protocol(number::MPLS), Port(port::MPLS)],
            Self::Ah => &[Protocol(ip::AH)],
            Self::L2tp => &[Protocol(number::L2TP), Port(port::L2TP)],
            Self::Vxlan => &[Port(port::VXLAN), Port(port::VXLAN_OF_LINUX)],
            Self::VxlanGpe => &[Port(port::VXLAN_GPE)],
            Self::Geneve => &[Port(port::GENEVE)],
            Self::Gue => &[Port(port::GUE)],
            Self::GtpU => &[Port(port::GTP_U)],
            Self::Lisp => &[Port(port::LISP)],
            Self::Teredo => &[Port(port::TEREDO)],
            Self::Tzsp => &[Port(port::TZSP)],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decapsulation::frame::{Carried, reach};
    use crate::decapsulation::opens;
    use crate::ip::{Datagram, Fragment};
    use crate::path::Layer;

    /// Bytes that some reader follows: headers with few flags, and an IPv4 packet or a frame somewhere behind them.
    fn plausible() -> Vec<Vec<u8>> {
        let mut packet = vec![0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        let words = packet.as_chunks::<2>().0.iter();
        let sum: u32 = words.map(|word| u32::from(u16::from_be_bytes(*word))).sum();
        let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        packet.extend([0x9c, 0x40, 0x9c, 0x41, 0, 8, 0, 0]);
        let frame = [&[2; 12][..], &[8, 0], &packet].concat();
        let mut six = vec![0x60, 0, 0, 0, 0, 8, 17, 64];
        six.extend([1; 32]);
        six.extend(&packet[20..]);
        let headers: [&[u8]; 20] = [
            &[],
            &[0; 2],
            &[0; 4],
            &[0; 6],
            &[0, 7, 8, 0],
            &[0, 0, 0, 0, 8, 0],
            &[0, 1, 1, 64],
            &[0x11, 0, 0, 7, 0, 30, 0, 0x21],
            &[0, 2, 1, 1, 0, 0, 7, 0],
            &[0, 0, 0, 0, 0, 0, 8, 0],
            &[0, 0, 8, 0],
            &[0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x10, 7, 0, 0, 0, 0, 0, 0],
            &[0x30, 1, 0x88, 0x0b, 0, 30, 0, 7, 0, 0, 0, 1, 0x21],
            &[0x30, 0],
            &[8, 0, 0, 0, 0, 0, 7, 0],
            &[4, 0, 0, 1, 0, 0, 7, 0],
            &[0, 0, 8, 0, 0, 0, 7, 0],
            &[0, 2, 0, 7, 0, 9, 0x21],
            &[1, 0, 0, 1, 1],
            &[0x30, 255, 0, 28, 0, 0, 0, 7],
        ];
        let mut all = Vec::new();
        for inner in [&packet, &frame, &six] {
            all.extend(headers.iter().map(|header| [header, &inner[..]].concat()));
        }
        all
    }

    fn layers_of(read: impl FnOnce(&mut Vec<Layer>)) -> impl Iterator<Item = Encapsulation> {
        let mut layers = Vec::new();
        read(&mut layers);
        layers.into_iter().map(|layer| layer.encapsulation)
    }

    fn found(bytes: &[u8], protocol: u8) -> Option<Encapsulation> {
        let datagram = Datagram {
            source: "192.0.2.1".parse().unwrap(),
            destination: "192.0.2.2".parse().unwrap(),
            protocol,
            payload: bytes,
            missing: 0,
            length: 20 + bytes.len(),
            fragment: Fragment::Whole,
        };
        Some(opens(&datagram)?.layer.encapsulation)
    }

    /// Each that is found, with what it was found by.
    fn all_found() -> Vec<(Encapsulation, Mark)> {
        let mut all = Vec::new();
        let mut add = |one| {
            if !all.contains(&one) {
                all.push(one);
            }
        };
        for bytes in plausible() {
            for kind in 0..=u16::MAX {
                let first = layers_of(|layers| {
                    reach(Carried::Typed(kind, &bytes), layers);
                })
                .next();
                if let Some(first) = first {
                    add((first, Mark::EtherType(kind)));
                }
                let udp = |port: u16| {
                    let length = (8 + bytes.len() as u16).to_be_bytes();
                    [&[0x9c, 0x40][..], &port.to_be_bytes(), &length, &[0, 0], &bytes].concat()
                };
                if let Some(tunnel) = found(&udp(kind), ip::UDP) {
                    add((tunnel, Mark::Port(kind)));
                }
            }
            for protocol in (0..=u8::MAX).filter(|protocol| *protocol != ip::UDP) {
                if let Some(tunnel) = found(&bytes, protocol) {
                    add((tunnel, Mark::Protocol(protocol)));
                }
            }
        }
        all
    }

    #[test]
    fn what_is_followed_is_followed_by_its_marks_and_by_no_other_number() {
        let found = all_found();
        for (encapsulation, mark) in &found {
            // The content of GRE is recognised by GRE.
            let within = |other: &Mark| matches!((other, mark), (Mark::Gre(_), Mark::Protocol(number::GRE)));
            let marks = encapsulation.marks();
            assert!(
                marks.contains(mark) || marks.iter().any(within),
                "{encapsulation:?} is followed by {mark}, which is not listed"
            );
        }
        for encapsulation in Encapsulation::ALL {
            for mark in encapsulation.marks() {
                // These are read elsewhere, or within others.
                if matches!(mark, Mark::Gre(_) | Mark::BehindLabels | Mark::Protocol(ip::AH)) {
                    continue;
                }
                assert!(
                    found.contains(&(encapsulation, *mark)),
                    "{encapsulation:?} is not followed by {mark}"
                );
            }
        }
    }
}
