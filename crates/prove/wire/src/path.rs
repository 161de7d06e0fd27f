//! Encapsulation of a packet: the tags, labels and tunnels between the captured frame and the
//! packet.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use crate::proxy::Through;

bartizan_registry::named! {
    /// A tag, label or tunnel between a captured frame and a packet.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Encapsulation, name {
        /// A VLAN tag (IEEE 802.1Q, 802.1ad).
        Vlan = "VLAN",
        /// A provider backbone bridge (IEEE 802.1ah): a whole frame behind a service instance tag.
        ProviderBackbone = "PBB",
        /// FabricPath (Cisco): a whole frame in another.
        FabricPath = "FabricPath",
        /// A VN-Tag (Cisco).
        VnTag = "VN-Tag",
        /// A redundancy tag (IEEE 802.1CB).
        RedundancyTag = "R-TAG",
        /// MACsec (IEEE 802.1AE) that authenticates and does not encrypt.
        MacSecUnencrypted = "MACsec without encryption",
        /// MPLS labels (RFC 3032).
        Mpls = "MPLS",
        /// Ethernet over MPLS (RFC 4448).
        PseudoWire = "pseudowire",
        /// A network service header (RFC 8300).
        Nsh = "NSH",
        /// TRILL (RFC 6325).
        Trill = "TRILL",
        /// PPP over Ethernet (RFC 2516).
        Pppoe = "PPPoE",
        /// GRE (RFC 2784, RFC 2890; with Ethernet in it, as NVGRE, RFC 7637).
        Gre = "GRE",
        /// GRE of PPTP (RFC 2637), with PPP in it.
        Pptp = "PPTP",
        /// ERSPAN (draft-foschiano-erspan): mirrored frames.
        Erspan = "ERSPAN",
        /// IPv4 or IPv6 in IPv4 or IPv6 (RFC 2003, RFC 4213, RFC 2473).
        IpInIp = "IP in IP",
        /// Ethernet in IP (RFC 3378).
        EtherIp = "EtherIP",
        /// MPLS in IP or UDP (RFC 4023, RFC 7510).
        MplsInIp = "MPLS in IP",
        /// An authentication header (RFC 4302): integrity without confidentiality.
        Ah = "AH",
        /// L2TP version 2 or 3 (RFC 2661, RFC 3931).
        L2tp = "L2TP",
        /// VXLAN (RFC 7348).
        Vxlan = "VXLAN",
        /// VXLAN-GPE (draft-ietf-nvo3-vxlan-gpe).
        VxlanGpe = "VXLAN-GPE",
        /// Geneve (RFC 8926).
        Geneve = "Geneve",
        /// Generic UDP encapsulation (draft-ietf-intarea-gue).
        Gue = "GUE",
        /// GTP-U (TS 29.281): a user's packets.
        GtpU = "GTP-U",
        /// LISP (RFC 9300).
        Lisp = "LISP",
        /// Teredo (RFC 4380).
        Teredo = "Teredo",
        /// TZSP: mirrored frames.
        Tzsp = "TZSP",
    }
}

impl Encapsulation {
    /// Name of its number.
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

bartizan_registry::made! {
    /// One tag, label or tunnel.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub struct Layer, pub(crate) new(encapsulation: Encapsulation, number: impl Into<Option<u32>>) {
        /// Kind.
        pub encapsulation: Encapsulation = encapsulation,
        /// The ends of a tunnel, the lesser first; none of what stands in a frame.
        pub between: Option<[IpAddr; 2]> = None,
        /// Number that distinguishes it from others of its kind: VLAN id, VNI, TEID, key, label; none
        /// if it carries none.
        pub number: Option<u32> = number.into(),
    }
}

impl Layer {
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
    pub fn layers(&self) -> &[Layer] {
        self.0.as_ref().map_or(&[], |layers| &layers.layers)
    }

    /// The proxies on the way, in the order in which the stream names them.
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
