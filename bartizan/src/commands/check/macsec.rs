//! MACsec links as they are in force.

use bartizan_deployment::{Interface, MacsecLink, Unencrypted};
use serde::Serialize;

/// A MACsec link.
#[derive(Serialize)]
pub(super) struct MacsecInForce {
    ends: Vec<EndInForce>,
    cipher: &'static str,
    /// `encrypt` or `integrity`.
    confidentiality: &'static str,
    replay_window: u32,
    mtu: Option<u32>,
    /// Where keys come from: `direct`.
    keying: &'static str,
    initiator: String,
    rekey_seconds: u64,
    rekey_packets: u64,
    keys_per_exchange: u64,
    /// What passes the ports next to MACsec, EAPOL and the exchange of keys.
    unencrypted: Vec<&'static str>,
}

#[derive(Serialize)]
struct EndInForce {
    node: String,
    port: String,
    device: String,
}

impl MacsecInForce {
    pub(super) fn of(interface: &Interface, link: &MacsecLink) -> Self {
        let ends = interface.between.iter().zip(link.ports.iter().zip(&link.devices));
        let ends = ends.map(|(node, (port, device))| EndInForce {
            node: node.to_string(),
            port: port.clone(),
            device: device.clone(),
        });
        Self {
            ends: ends.collect(),
            cipher: link.suite.name,
            confidentiality: link.confidentiality.name(),
            replay_window: link.replay_window,
            mtu: link.mtu,
            keying: link.keying.name(),
            initiator: link.initiator.to_string(),
            rekey_seconds: link.rekey.as_secs(),
            rekey_packets: link.rekey_packets,
            keys_per_exchange: link.keys_per_exchange,
            unencrypted: link.unencrypted.iter().copied().map(Unencrypted::name).collect(),
        }
    }

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
            ("keying", format!("{}; {} begins", self.keying, self.initiator)),
            (
                "keys change",
                format!(
                    "after {} s or {} frames; another exchange after {} keys",
                    self.rekey_seconds, self.rekey_packets, self.keys_per_exchange
                ),
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
