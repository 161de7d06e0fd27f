//! Encapsulation of a packet: the tags, labels and tunnels between the captured frame and the
//! packet.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use crate::listed::listed;
use crate::proxy::Through;

/// A tag, label or tunnel between a captured frame and a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Encapsulation {
    /// A VLAN tag (IEEE 802.1Q, 802.1ad).
    Vlan,
    /// A provider backbone bridge (IEEE 802.1ah): a whole frame behind a service instance tag.
    ProviderBackbone,
    /// FabricPath (Cisco): a whole frame in another.
    FabricPath,
    /// A VN-Tag (Cisco).
    VnTag,
    /// A redundancy tag (IEEE 802.1CB).
    RedundancyTag,
    /// MACsec (IEEE 802.1AE) that authenticates and does not encrypt.
    MacSecUnencrypted,
    /// MPLS labels (RFC 3032).
    Mpls,
    /// Ethernet over MPLS (RFC 4448).
    PseudoWire,
    /// A network service header (RFC 8300).
    Nsh,
    /// TRILL (RFC 6325).
    Trill,
    /// PPP over Ethernet (RFC 2516).
    Pppoe,
    /// GRE (RFC 2784, RFC 2890; with Ethernet in it, as NVGRE, RFC 7637).
    Gre,
    /// GRE of PPTP (RFC 2637), with PPP in it.
    Pptp,
    /// ERSPAN (draft-foschiano-erspan): mirrored frames.
    Erspan,
    /// IPv4 or IPv6 in IPv4 or IPv6 (RFC 2003, RFC 4213, RFC 2473).
    IpInIp,
    /// Ethernet in IP (RFC 3378).
    EtherIp,
    /// MPLS in IP or UDP (RFC 4023, RFC 7510).
    MplsInIp,
    /// An authentication header (RFC 4302): integrity without confidentiality.
    Ah,
    /// L2TP version 2 or 3 (RFC 2661, RFC 3931).
    L2tp,
    /// VXLAN (RFC 7348).
    Vxlan,
    /// VXLAN-GPE (draft-ietf-nvo3-vxlan-gpe).
    VxlanGpe,
    /// Geneve (RFC 8926).
    Geneve,
    /// Generic UDP encapsulation (draft-ietf-intarea-gue).
    Gue,
    /// GTP-U (TS 29.281): a user's packets.
    GtpU,
    /// LISP (RFC 9300).
    Lisp,
    /// Teredo (RFC 4380).
    Teredo,
    /// TZSP: mirrored frames.
    Tzsp,
}

listed!(
    Encapsulation: Vlan, ProviderBackbone, FabricPath, VnTag, RedundancyTag, MacSecUnencrypted, Mpls, PseudoWire, Nsh, Trill, Pppoe, Gre, Pptp, Erspan, IpInIp, EtherIp, MplsInIp, Ah, L2tp, Vxlan, VxlanGpe, Geneve, Gue, GtpU, Lisp, Teredo, Tzsp
);

impl Encapsulation {
    /// As reports write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Vlan => "VLAN",
            Self::ProviderBackbone => "PBB",
            Self::FabricPath => "FabricPath",
            Self::VnTag => "VN-Tag",
            Self::RedundancyTag => "R-TAG",
            Self::MacSecUnencrypted => "MACsec without encryption",
            Self::Mpls => "MPLS",
            Self::PseudoWire => "pseudowire",
            Self::Nsh => "NSH",
            Self::Trill => "TRILL",
            Self::Pppoe => "PPPoE",
            Self::Gre => "GRE",
            Self::Pptp => "PPTP",
            Self::Erspan => "ERSPAN",
            Self::IpInIp => "IP in IP",
            Self::EtherIp => "EtherIP",
            Self::MplsInIp => "MPLS in IP",
            Self::Ah => "AH",
            Self::L2tp => "L2TP",
            Self::Vxlan => "VXLAN",
            Self::VxlanGpe => "VXLAN-GPE",
            Self::Geneve => "Geneve",
            Self::Gue => "GUE",
            Self::GtpU => "GTP-U",
            Self::Lisp => "LISP",
            Self::Teredo => "Teredo",
            Self::Tzsp => "TZSP",
        }
    }

    /// Name of its number.
    #[must_use]
    pub fn number_name(self) -> &'static str {
        match self {
            Self::Vlan => "VID",
            Self::ProviderBackbone => "I-SID",
            Self::Mpls => "label",
            Self::Nsh => "path",
            Self::Pppoe | Self::L2tp | Self::Erspan => "session",
            Self::Gre => "key",
            Self::Pptp => "call",
            Self::Ah => "SPI",
            Self::Vxlan | Self::VxlanGpe | Self::Geneve => "VNI",
            Self::GtpU => "TEID",
            Self::Lisp => "instance",
            _ => "number",
        }
    }

    /// Returns true if the encapsulation may be missing or differ on the way back: a tag or a
    /// label. All packets of a conversation have the others, in either direction.
    pub(crate) fn is_tag(self) -> bool {
        matches!(
            self,
            Self::Vlan | Self::VnTag | Self::RedundancyTag | Self::Mpls | Self::Ah | Self::MacSecUnencrypted
        )
    }
}

/// One tag, label or tunnel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Layer {
    /// Kind.
    pub encapsulation: Encapsulation,
    /// The ends of a tunnel, the lesser first; none of what stands in a frame.
    pub between: Option<[IpAddr; 2]>,
    /// Number that distinguishes it from others of its kind: VLAN id, VNI, TEID, key, label; none
    /// if it carries none.
    pub number: Option<u32>,
}

impl Layer {
    pub(crate) fn new(encapsulation: Encapsulation, number: impl Into<Option<u32>>) -> Self {
        Self {
            encapsulation,
            between: None,
            number: number.into(),
        }
    }

    pub(crate) fn between(self, one: IpAddr, other: IpAddr) -> Self {
        Self {
            between: Some([one.min(other), one.max(other)]),
            ..self
        }
    }
}

impl fmt::Display for Layer {
    /// `VLAN 7`, `VXLAN 5001 between 10.0.0.1 and 10.0.0.2`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.encapsulation.name())?;
        if let Some(number) = self.number {
            match self.encapsulation {
                // As their own tools write them.
                Encapsulation::GtpU | Encapsulation::Gre | Encapsulation::Ah => write!(f, " 0x{number:x}")?,
                _ => write!(f, " {number}")?,
            }
        }
        match self.between {
            Some([one, other]) => write!(f, " between {one} and {other}"),
            None => Ok(()),
        }
    }
}

/// Encapsulation of a conversation, outermost first, and the proxies that its stream went through;
/// empty for most.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path(Option<Arc<Hops>>);

#[derive(Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Hops {
    layers: Box<[Layer]>,
    proxies: Box<[Through]>,
}

impl Path {
    /// In nothing at all.
    pub const NONE: Self = Self(None);

    pub(crate) fn new(layers: &[Layer]) -> Self {
        // A thin pointer: there is one in each link and each of a million conversations.
        Self((!layers.is_empty()).then(|| {
            Arc::new(Hops {
                layers: layers.into(),
                proxies: Box::default(),
            })
        }))
    }

    /// The same with these proxies on the way.
    pub(crate) fn through(self, proxies: impl Iterator<Item = Through>) -> Self {
        let proxies: Box<[Through]> = proxies.collect();
        if proxies.is_empty() {
            return self;
        }
        let layers = self.layers().into();
        Self(Some(Arc::new(Hops { layers, proxies })))
    }

    /// The layers, outermost first.
    #[must_use]
    pub fn layers(&self) -> &[Layer] {
        self.0.as_ref().map_or(&[], |layers| &layers.layers)
    }

    /// The proxies on the way, in the order in which the stream names them.
    #[must_use]
    pub fn proxies(&self) -> &[Through] {
        self.0.as_ref().map_or(&[], |layers| &layers.proxies)
    }

    /// Returns true if the packets are in the frames themselves.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}

impl fmt::Display for Path {
    /// Outermost first: `VLAN 7, VXLAN 5001 between 10.0.0.1 and 10.0.0.2, SOCKS5 to nrf.example:443`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let layers = self.layers().iter().map(|layer| layer as &dyn fmt::Display);
        let proxies = self.proxies().iter().map(|proxy| proxy as &dyn fmt::Display);
        for (index, one) in layers.chain(proxies).enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            one.fmt(f)?;
        }
        Ok(())
    }
}
