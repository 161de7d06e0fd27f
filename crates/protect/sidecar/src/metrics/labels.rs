//! Label sets. Every value is from the deployment file, the registry or a fixed list, except services, which are bounded.

use bartizan_ledger::Negotiated;
use prometheus_client::encoding::{EncodeLabelValue, LabelValueEncoder};

bartizan_registry::named! {
    /// The listener that accepted the traffic.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub(crate) enum Side, as_str {
        /// From other sidecars to the network function.
        Inbound = "inbound",
        /// From the network function to other sidecars.
        Outbound = "outbound",
    }
}

impl EncodeLabelValue for Side {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> Result<(), std::fmt::Error> {
        EncodeLabelValue::encode(&self.as_str(), encoder)
    }
}

bartizan_registry::label_sets! {
    pub(super) SideLabels { pub(super) side: Side }
    pub(super) SidePeerLabels { side: Side, peer: String }
    pub(super) HandshakeLabels {
        side: Side, peer: String, group: String, signature: String, cipher: String, resumed: &'static str, verdict: &'static str
    }
    pub(super) AssociationLabels { side: Side, peer: String, ending: &'static str }
    pub(super) PeerReasonLabels { side: Side, peer: String, reason: &'static str }
    pub(super) BytesLabels { side: Side, peer: String, direction: &'static str }
    pub(super) LocalLabels { pub(super) side: Side, pub(super) path: &'static str }
    pub(super) LimitLabels { pub(super) limit: &'static str }
    pub(super) ClientErrorLabels { pub(super) side: Side, pub(super) reason: &'static str }
    pub(super) ResultLabels { pub(super) result: &'static str }
    pub(super) RulesLabels { pub(super) rules: &'static str }
    pub(crate) ServiceLabels {
        pub(crate) side: Side, pub(crate) consumer: String, pub(crate) producer: String, pub(crate) service: String
    }
    pub(super) RequestLabels { side: Side, consumer: String, producer: String, service: String, status: String }
}

impl ServiceLabels {
    /// The other end, as seen from this sidecar.
    pub(crate) fn peer(&self) -> &str {
        match self.side {
            Side::Inbound => &self.consumer,
            Side::Outbound => &self.producer,
        }
    }
}

impl HandshakeLabels {
    pub(super) fn of(side: Side, peer: &str, negotiated: &Negotiated, excepted: bool) -> Self {
        Self {
            side,
            peer: peer.to_owned(),
            group: negotiated.group.name.clone(),
            signature: negotiated
                .peer_signature
                .as_ref()
                .map_or_else(|| "none".to_owned(), |code| code.name.clone()),
            cipher: negotiated.cipher.name.clone(),
            resumed: if negotiated.resumed { "yes" } else { "no" },
            verdict: if excepted { "excepted" } else { "accepted" },
        }
    }
}

impl RequestLabels {
    pub(super) fn of(of: &ServiceLabels, status: String) -> Self {
        Self {
            side: of.side,
            consumer: of.consumer.clone(),
            producer: of.producer.clone(),
            service: of.service.clone(),
            status,
        }
    }
}
