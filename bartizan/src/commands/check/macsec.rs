//! MACsec links as they are in effect.

#[cfg(feature = "full")]
use std::path::Path;

use bartizan_deployment::{Cak, Interface, Keying, MacsecLink, Unencrypted};
#[cfg(feature = "full")]
use bartizan_deployment::{Deployment, Node};
#[cfg(feature = "full")]
use bartizan_macsec::link::{EapEnd, Setting};
#[cfg(feature = "full")]
use bartizan_macsec::mka::CakFile;
use serde::Serialize;

#[cfg(feature = "full")]
use super::findings::Finding;
#[cfg(feature = "full")]
use super::scope::Scope;

/// Returns the limits of wpa_supplicant at the end of a link authenticated by EAP-TLS: `up` refuses
/// these links.
#[cfg(feature = "full")]
pub(super) fn of_node(scope: Scope<'_>, node: &Node) -> Vec<Finding> {
    let settings = Setting::all(scope.deployment, node.name.as_str());
    let settings = settings.iter().filter(|setting| scope.joins(node, &setting.peer));
    let lacks = settings.filter_map(|setting| match setting.eap()? {
        EapEnd::Peer(peer) => Some((setting, peer.lacks()?)),
        EapEnd::Authenticator => None,
    });
    let finding = |(setting, lacks): (&Setting, &str)| {
        Finding::new(
            format!("{} {} -- {}", setting.interface.name(), node.name, setting.peer),
            format!(
                "{} is authenticated by wpa_supplicant's EAP-TLS, and {lacks}",
                node.name
            ),
            format!(
                "change that, write `initiator: {}`, or `keying: direct` where both ends run Bartizan",
                node.name
            ),
        )
    };
    lacks.map(finding).collect()
}

/// Files of CAKs that `up` refuses to read.
#[cfg(feature = "full")]
pub(super) fn of_files(deployment: &Deployment, node: &Node) -> Vec<Finding> {
    let settings = Setting::all(deployment, node.name.as_str());
    let files = settings
        .iter()
        .filter_map(|setting| setting.mka.as_ref()?.file.as_deref());
    let refused = files.filter_map(|file| Some((file, CakFile::new(file).changed().err()?)));
    let finding = |(file, error): (&Path, bartizan_macsec::Error)| {
        let reason = match &error {
            bartizan_macsec::Error::CakFile { reason, .. } => reason.clone(),
            other => other.to_string(),
        };
        Finding::new(file.display().to_string(), reason, error.hint().unwrap_or_default())
    };
    refused.map(finding).collect()
}

bartizan_registry::made! {
    /// A MACsec link.
    #[derive(Serialize)]
    pub(super) struct MacsecInEffect, pub(super) of(interface: &Interface, link: &MacsecLink) {
        let ends = interface.between.iter().zip(link.ports.iter().zip(&link.devices));
        let ours = ends.enumerate().filter(|(end, _)| link.is_ours(*end));
        let ends = ours.map(|(_, (node, (port, device)))| EndInEffect {
            node: node.to_string(),
            port: port.clone(),
            device: device.clone(),
        });
        ends: Vec<EndInEffect> = ends.collect(),
        cipher: &'static str = link.suite.name,
        /// `encrypt` or `integrity`.
        confidentiality: &'static str = link.confidentiality.name(),
        replay_window: u32 = link.replay_window,
        mtu: Option<u32> = link.mtu,
        /// Source of keys: `direct`, `mka` or `eap-tls`.
        keying: &'static str = link.keying.name(),
        /// Source of MKA's CAK: `exchange`, `file` or `eap-tls`.
        #[serde(skip_serializing_if = "Option::is_none")]
        cak: Option<&'static str> = match &link.keying {
            Keying::Direct => None,
            Keying::Mka(Cak::Exchange) => Some("exchange"),
            Keying::Mka(Cak::Files(_)) => Some("file"),
            Keying::EapTls => Some("eap-tls"),
        },
        initiator: String = link.initiator.to_string(),
        rekey_seconds: u64 = link.rekey.as_secs(),
        rekey_packets: u64 = link.rekey_packets,
        keys_per_exchange: u64 = link.keys_per_exchange,
        /// Protocols that pass the ports besides MACsec, EAPOL and the key exchange.
        unencrypted: Vec<&'static str> = link.unencrypted.iter().copied().map(Unencrypted::name).collect(),
    }
}

#[derive(Serialize)]
struct EndInEffect {
    node: String,
    port: String,
    device: String,
}

impl MacsecInEffect {
    /// For people.
    pub(super) fn fields(&self) -> Vec<(&'static str, String)> {
        let ends = self
            .ends
            .iter()
            .map(|end| format!("{} at {} ({})", end.node, end.port, end.device));
        let what = match self.confidentiality {
            "encrypt" => "encrypted",
            _ => "integrity alone",
        };
        let mut fields = vec![
            ("ends", ends.collect::<Vec<_>>().join("; ")),
            (
                "MACsec",
                format!("{}, {what}, replay window {}", self.cipher, self.replay_window),
            ),
            (
                "keying",
                match self.cak {
                    None => format!("{}; {} begins", self.keying, self.initiator),
                    Some("file") => format!("MKA under a CAK of a file; {} is its key server", self.initiator),
                    Some("eap-tls") => format!(
                        "MKA under a CAK of EAP-TLS; {} is the authenticator and the key server, wpa_supplicant the peer at the other end",
                        self.initiator
                    ),
                    Some(_) => format!(
                        "MKA under a CAK of an exchange; {} begins it and is the key server",
                        self.initiator
                    ),
                },
            ),
            (
                "keys change",
                match self.cak {
                    None => format!(
                        "after {} s or {} frames; another exchange after {} keys",
                        self.rekey_seconds, self.rekey_packets, self.keys_per_exchange
                    ),
                    Some("file") => format!(
                        "when the file does; one that is twice {} s old is reported",
                        self.rekey_seconds
                    ),
                    Some("eap-tls") => format!(
                        "by another authentication after {} s, which interrupts the link",
                        self.rekey_seconds
                    ),
                    Some(_) => format!(
                        "by another exchange after {} s, which interrupts the link",
                        self.rekey_seconds
                    ),
                },
            ),
        ];
        if let Some(mtu) = self.mtu {
            fields.push(("frames", format!("up to {mtu} octets")));
        }
        if !self.unencrypted.is_empty() {
            fields.push(("unencrypted", self.unencrypted.join(", ")));
        }
        fields
    }
}
