//! Nodes and interfaces as they are in effect on one day.

use std::num::NonZeroUsize;
use std::path::Path;
use std::time::SystemTime;

use bartizan_deployment::{
    Exception, Identity, Inbound, Interface, InterfaceKind, IpsecNode, LedgerFile, Node, Outbound, Policy, Protection,
    Resumption, Revocation, Route, day_of,
};
use serde::{Serialize, Serializer};

use super::ipsec::IpsecInEffect;
use super::macsec::MacsecInEffect;
use super::scope::Scope;

/// The nodes in scope, made one by one as they are written.
pub(super) struct Nodes<'a>(pub(super) Scope<'a>);

impl Nodes<'_> {
    pub(super) fn each(&self) -> impl Iterator<Item = NodeInEffect> {
        self.0.nodes().map(NodeInEffect::of)
    }
}

impl Serialize for Nodes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.each())
    }
}

/// The links in scope as in effect at a time, made one by one as they are written.
pub(super) struct Links<'a>(pub(super) Scope<'a>, pub(super) SystemTime);

impl Links<'_> {
    pub(super) fn each(&self) -> impl Iterator<Item = InterfaceInEffect> {
        self.0
            .interfaces()
            .map(|interface| InterfaceInEffect::of(interface, self.1))
    }
}

impl Serialize for Links<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.each())
    }
}

bartizan_registry::made! {
    /// One node.
    #[derive(Serialize)]
    pub(super) struct NodeInEffect, pub(super) of(node: &Node) {
        let sidecar = node.sidecar.as_ref().map(|sidecar| SidecarInEffect {
            inbound: sidecar.inbound.iter().map(InboundInEffect::of).collect(),
            outbound: sidecar.outbound.iter().map(OutboundInEffect::of).collect(),
            admin: sidecar.admin.map(|address| address.to_string()),
            ledger: sidecar.ledger.as_ref().map(LedgerInEffect::of),
        });
        pub(super) name: String = node.name.to_string(),
        pub(super) function: String = node.function.clone(),
        pub(super) address: String = node.address.to_string(),
        /// Names its certificate must carry: `dns:`, `ip:`, `uri:`.
        pub(super) names: Vec<String> = names(&node.identity),
        pub(super) sidecar: Option<SidecarInEffect> = sidecar,
        /// Present if the node has TLS of its own.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(super) tls: Option<Vec<OwnTlsInEffect>> = node
            .tls
            .as_ref()
            .map(|own| own.iter().map(OwnTlsInEffect::of).collect()),
        pub(super) ipsec: Option<IpsecNodeInEffect> = node.ipsec.as_ref().map(IpsecNodeInEffect::of),
    }
}

bartizan_registry::made! {
    /// A listener of a node's own TLS.
    #[derive(Serialize)]
    pub(super) struct OwnTlsInEffect, of(inbound: &Inbound) {
        pub(super) listen: String = inbound.listen.to_string(),
        pub(super) service: String = inbound.service.to_string(),
        /// The interface whose peers it serves.
        pub(super) interface: &'static str = inbound.interface.name(),
    }
}

bartizan_registry::made! {
    /// IPsec configuration of a node.
    #[derive(Serialize)]
    pub(super) struct IpsecNodeInEffect, of(node: &IpsecNode) {
        let shown = |path: &Path| path.display().to_string();
        /// `strongswan`, or `bartizan`.
        pub(super) engine: &'static str = node.engine.name(),
        /// `kernel`, or `userspace`.
        pub(super) data_path: &'static str = node.data_path.name(),
        /// `no`, or `crypto`.
        pub(super) offload: &'static str = node.offload.name(),
        pub(super) certificate: String = shown(&node.certificate),
        pub(super) key: String = shown(&node.key),
        pub(super) roots: String = shown(&node.roots),
        pub(super) crl: Option<String> = node.crl.as_deref().map(shown),
        /// The socket of the daemon the system runs; none where Bartizan runs one of its own.
        pub(super) vici: Option<String> = node.vici.as_deref().map(shown),
        pub(super) ledger: Option<LedgerInEffect> = node.ledger.as_ref().map(LedgerInEffect::of),
    }
}

/// The listeners of a sidecar.
#[derive(Serialize)]
pub(super) struct SidecarInEffect {
    pub(super) inbound: Vec<InboundInEffect>,
    pub(super) outbound: Vec<OutboundInEffect>,
    pub(super) admin: Option<String>,
    pub(super) ledger: Option<LedgerInEffect>,
}

bartizan_registry::made! {
    /// A listener for other sidecars.
    #[derive(Serialize)]
    pub(super) struct InboundInEffect, of(inbound: &Inbound) {
        pub(super) listen: String = inbound.listen.to_string(),
        pub(super) forward: String = inbound.forward.to_string(),
        pub(super) service: String = inbound.service.to_string(),
        /// The interface whose peers it serves.
        pub(super) interface: &'static str = inbound.interface.name(),
        pub(super) path: &'static str = inbound.path.name(),
    }
}

bartizan_registry::made! {
    /// A listener for the node's own network function.
    #[derive(Serialize)]
    pub(super) struct OutboundInEffect, of(outbound: &Outbound) {
        pub(super) listen: String = outbound.listen.to_string(),
        /// A node's name, `by-authority` or `by-destination`.
        pub(super) route: String = match &outbound.route {
            Route::To(node) => node.to_string(),
            Route::ByAuthority => "by-authority".into(),
            Route::ByDestination => "by-destination".into(),
        },
        /// None where each connection's destination says it.
        pub(super) interface: Option<&'static str> = outbound.interface.map(InterfaceKind::name),
        pub(super) path: &'static str = outbound.path.name(),
        pub(super) warm: usize = outbound.warm,
    }
}

bartizan_registry::made! {
    /// One interface.
    #[derive(Serialize)]
    pub(super) struct InterfaceInEffect, pub(super) of(interface: &Interface, now: SystemTime) {
        // Groups and signatures are those of TLS: of a link whose keys do not come from it they say nothing.
        let by_tls = interface.protection.is_by_sidecars() || interface.macsec.is_some();
        pub(super) kind: &'static str = interface.kind.name(),
        pub(super) between: [String; 2] = interface.between.each_ref().map(ToString::to_string),
        #[serde(rename = "with")]
        pub(super) protection: &'static str = interface.protection.name(),
        /// Transport of SCTP, on interfaces that gateways protect.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(super) carrier: Option<&'static str> =
            (interface.protection == Protection::Gateway).then(|| interface.carrier.name()),
        /// Present for protection by sidecars, or by MACsec with keys from TLS.
        pub(super) policy: Option<PolicyInEffect> = by_tls.then(|| PolicyInEffect::of(&interface.policy, now)),
        /// Present for protection by IPsec.
        pub(super) ipsec: Option<IpsecInEffect> = interface
            .ipsec
            .as_ref()
            .map(|link| IpsecInEffect::of(link, &interface.policy, now)),
        /// Present for protection by MACsec, if the file names the ports.
        pub(super) macsec: Option<MacsecInEffect> = interface
            .macsec
            .as_ref()
            .map(|link| MacsecInEffect::of(interface, link)),
    }
}

bartizan_registry::made! {
    /// A policy as it holds on the day of the report.
    #[derive(Serialize)]
    pub(super) struct PolicyInEffect, of(policy: &Policy, now: SystemTime) {
        let in_effect = policy.in_effect(day_of(now));
        let exception = policy.exception.as_ref();
        pub(super) profile: &'static str = policy.profile.name(),
        pub(super) post_quantum: &'static str = policy.post_quantum.name(),
        pub(super) groups: Vec<String> = in_effect.groups.iter().map(ToString::to_string).collect(),
        pub(super) signatures: Vec<String> = in_effect.signatures.iter().map(ToString::to_string).collect(),
        pub(super) chain_signatures: Vec<String> = in_effect.chain_signatures.iter().map(ToString::to_string).collect(),
        pub(super) ciphers: Vec<&'static str> = in_effect.ciphers.iter().map(|cipher| cipher.name()).collect(),
        pub(super) exception: Option<ExceptionInEffect> =
            exception.map(|exception| ExceptionInEffect::of(exception, now)),
        /// Seconds; none where nothing is resumed.
        pub(super) resumption_seconds: Option<u64> = match policy.resumption {
            Resumption::Off => None,
            Resumption::Within(within) => Some(within.as_secs()),
        },
        pub(super) revocation: &'static str = match policy.revocation {
            Revocation::Require => "require",
            Revocation::IfPresent => "if-present",
        },
    }
}

bartizan_registry::made! {
    /// An exception, also one that has ended.
    #[derive(Serialize)]
    pub(super) struct LedgerInEffect, of(ledger: &LedgerFile) {
        pub(super) file: String = ledger.file.display().to_string(),
        /// Bytes beyond which it is rotated.
        pub(super) size: u64 = ledger.size,
        /// Rotated files that are kept; all of them where there is none.
        pub(super) keep: NonZeroUsize = ledger.keep,
    }
}

bartizan_registry::made! {
    #[derive(Serialize)]
    pub(super) struct ExceptionInEffect, pub(super) of(exception: &Exception, now: SystemTime) {
        pub(super) reason: String = exception.reason.clone(),
        pub(super) owner: Option<String> = exception.owner.clone(),
        pub(super) expires: String = exception.expires.to_string(),
        /// Days on which it still holds, today among them; 0 once it has ended.
        pub(super) days_left: i64 = exception.days_left(now),
    }
}

impl ExceptionInEffect {
    /// For people.
    pub(super) fn text(&self) -> String {
        let owner = self
            .owner
            .as_ref()
            .map_or_else(String::new, |owner| format!(" (owner: {owner})"));
        let left = match self.days_left {
            0 => "ended".to_owned(),
            1 => "today is its last day".to_owned(),
            days => format!("{days} days left"),
        };
        format!("until {} ({left}): {}{owner}", self.expires, self.reason)
    }
}

/// The names of an identity as ledgers write them.
pub(super) fn names(identity: &Identity) -> Vec<String> {
    identity.written(["dns:", "ip:", "uri:"]).collect()
}
