//! The interfaces of a 5G core and of O-RAN, and what protects each.

use std::sync::Arc;
use std::time::Duration;

use crate::error::Fault;
use crate::ipsec::IpsecLink;
use crate::macsec::MacsecLink;
use crate::node::NodeName;
use crate::policy::Policy;
use crate::word::{Word, words};

bartizan_registry::named! {
    /// Interfaces by the standards' names.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[expect(missing_docs, reason = "the standards' own names")]
    pub enum InterfaceKind, name {
        Sbi = "SBI",
        N2 = "N2",
        N3 = "N3",
        N4 = "N4",
        N9 = "N9",
        N26 = "N26",
        N32 = "N32",
        E1 = "E1",
        E2 = "E2",
        F1C = "F1-C",
        F1U = "F1-U",
        Xn = "Xn",
        A1 = "A1",
        O1 = "O1",
        O2 = "O2",
        OpenFronthaul = "FH",
    }
}

bartizan_registry::named! {
    /// Protection of an interface.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Protection, name {
        /// TLS 1.3 between the sidecars of both nodes, or of one and a function with TLS of its own.
        Sidecar = "sidecar",
        /// TLS 1.3 between the sidecars of both nodes, over TCP or in QUIC, with SCTP associations inside.
        Gateway = "gateway",
        /// ESP keyed by IKEv2.
        Ipsec = "ipsec",
        /// MACsec.
        Macsec = "macsec",
        /// Nothing, by choice: it is reported as such.
        Nothing = "nothing",
    }
}

bartizan_registry::named! {
    /// Transport for SCTP associations between two gateways.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
    pub enum Carrier, name {
        /// TLS 1.3 over TCP: one stream of bytes for all streams of an association.
        #[default]
        Tls = "tls",
        /// QUIC: a stream of bytes for each stream of an association, so that a loss on one does not hold up the others.
        Quic = "quic",
    }
}

/// SCTP's own patience: the retransmissions of RFC 9260, section 16, take 63 s.
const PATIENCE: Duration = Duration::from_secs(63);
/// The longest that a function is left in the belief that its peer is there.
const MOST_PATIENCE: Duration = Duration::from_secs(3600);

/// A link between two nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Which interface of the standards it is.
    pub kind: InterfaceKind,
    /// Its two ends, in the order of the file.
    pub between: [NodeName; 2],
    /// Protection of the interface.
    pub protection: Protection,
    /// Transport for SCTP between its gateways; meaningless without gateways.
    pub carrier: Carrier,
    /// Time for which an unreachable gateway is tried before the function learns of it.
    pub patience: Duration,
    /// The policy in effect: its own, or the file's.
    pub policy: Arc<Policy>,
    /// The IPsec link: there where IPsec protects it, and only there.
    pub ipsec: Option<Box<IpsecLink>>,
    /// The MACsec link: there where MACsec protects it and the file says by which ports.
    pub macsec: Option<Box<MacsecLink>>,
}

words!(Protection, Carrier);

impl InterfaceKind {
    pub(crate) fn parse(text: &str) -> Result<Self, Fault> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.name().eq_ignore_ascii_case(text))
            .ok_or_else(|| {
                let names: Vec<_> = Self::ALL.iter().map(|kind| kind.name()).collect();
                let meant = Self::meant(text).map(|meant| format!("{meant}; ")).unwrap_or_default();
                let hint = format!("{meant}one of {}", names.join(", "));
                Fault::new("kind", format!("no interface is called `{text}`"), hint)
            })
    }

    /// The kind behind another name of the standards: a reference point between two functions of
    /// the SBI (TS 23.501, clause 4.2.7), or an interface that is two.
    fn meant(text: &str) -> Option<String> {
        const SBI: [u16; 21] = [
            5, 7, 8, 10, 11, 12, 13, 14, 15, 16, 20, 21, 22, 24, 27, 28, 31, 33, 35, 36, 40,
        ];
        let name = text.to_ascii_uppercase().replace(['-', '_', ' '], "");
        let point = name.strip_prefix('N').and_then(|number| number.parse::<u16>().ok());
        // Nnrf, Namf: a service is a letter and the function in small letters.
        let service = text.strip_prefix('N').and_then(|rest| rest.split('_').next());
        if service.is_some_and(|name| name.len() > 1 && name.bytes().all(|byte| byte.is_ascii_lowercase())) {
            return Some(format!("{text} is a service-based interface: kind: SBI"));
        }
        match (name.as_str(), point) {
            (_, Some(point)) if SBI.contains(&point) => {
                Some(format!("N{point} is a reference point of the SBI: kind: SBI"))
            }
            ("F1", _) => Some("F1 is F1-C (control plane, SCTP) and F1-U (user plane, GTP-U)".to_owned()),
            ("F1AP", _) => Some("F1AP runs on F1-C: kind: F1-C".to_owned()),
            ("NG" | "NGC" | "NGAP", _) => Some("the control plane of NG is N2: kind: N2".to_owned()),
            ("NGU", _) => Some("the user plane of NG is N3: kind: N3".to_owned()),
            ("XNC" | "XNU" | "XNAP" | "X2", _) => Some("Xn stands for both planes: kind: Xn".to_owned()),
            ("OFH" | "FRONTHAUL" | "OPENFRONTHAUL" | "ECPRI" | "CUS" | "W1", _) => {
                Some("the open fronthaul is FH: kind: FH".to_owned())
            }
            _ => None,
        }
    }

    /// Returns true if the interface runs over TCP, so that a TLS sidecar can carry it.
    #[must_use]
    pub const fn over_tcp(self) -> bool {
        matches!(self, Self::Sbi | Self::N32 | Self::A1 | Self::O1 | Self::O2)
    }

    /// Fields that protect it.
    pub const fn protections(self) -> &'static str {
        match self {
            Self::OpenFronthaul => "`with: macsec`",
            _ if self.over_tcp() => "`with: sidecar`, or `with: ipsec`",
            _ if self.over_sctp() => "`with: gateway`, or `with: ipsec`",
            _ => "`with: ipsec`",
        }
    }

    /// Returns true if PDCP between the UE and the core's side of the interface may encrypt what it
    /// carries (TS 38.323).
    #[must_use]
    pub const fn is_ciphered_above(self) -> bool {
        matches!(self, Self::OpenFronthaul | Self::F1U)
    }

    /// Returns true if the interface runs over SCTP, so that a gateway can carry it.
    #[must_use]
    pub const fn over_sctp(self) -> bool {
        matches!(self, Self::N2 | Self::E1 | Self::E2 | Self::F1C | Self::Xn)
    }
}

impl Carrier {
    pub(crate) fn parse(text: Option<&str>, protection: Protection) -> Result<Self, Fault> {
        if text.is_some() && protection != Protection::Gateway {
            let cause = format!("stands next to `with: {}`", protection.name());
            return Err(Fault::new("carrier", cause, "write `with: gateway`, or remove it"));
        }
        Self::read("carrier", text, Self::default())
    }
}

/// Parses `patience`.
pub(crate) fn patience(text: Option<&str>, protection: Protection) -> Result<Duration, Fault> {
    let Some(text) = text else { return Ok(PATIENCE) };
    if protection != Protection::Gateway {
        let cause = format!("stands next to `with: {}`", protection.name());
        return Err(Fault::new("patience", cause, "write `with: gateway`, or remove it"));
    }
    match humantime::parse_duration(text) {
        Ok(patience) if (Duration::from_secs(1)..=MOST_PATIENCE).contains(&patience) => Ok(patience),
        _ => {
            let cause = format!("`{text}` is not a duration of 1s to 1h");
            Err(Fault::new("patience", cause, "write 63s, the default, or 2m"))
        }
    }
}

impl Protection {
    /// Returns true if sidecars at both ends protect it by TLS 1.3.
    #[must_use]
    pub const fn is_by_sidecars(self) -> bool {
        matches!(self, Self::Sidecar | Self::Gateway)
    }

    pub(crate) fn parse(text: &str, kind: InterfaceKind) -> Result<Self, Fault> {
        let protection = Self::named(text)
            .ok_or_else(|| Fault::new("with", format!("nothing is called `{text}` here"), Self::hint()))?;
        if protection == Self::Sidecar && !kind.over_tcp() {
            let cause = format!("a sidecar carries TCP, and {} does not run over it", kind.name());
            return Err(Fault::new("with", cause, format!("write {}", kind.protections())));
        }
        if protection == Self::Gateway && !kind.over_sctp() {
            let cause = format!("a gateway carries SCTP, and {} does not run over it", kind.name());
            return Err(Fault::new("with", cause, format!("write {}", kind.protections())));
        }
        Ok(protection)
    }
}
