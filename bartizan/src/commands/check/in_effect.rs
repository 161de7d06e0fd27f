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

/// One node.
#[derive(Serialize)]
pub(super) struct NodeInEffect {
    pub(super) name: String,
    pub(super) function: String,
    pub(super) address: String,
    /// Names its certificate must carry: `dns:`, `ip:`, `uri:`.
    pub(super) names: Vec<String>,
    pub(super) sidecar: Option<SidecarInEffect>,
    /// Present if the node has TLS of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tls: Option<Vec<OwnTlsInEffect>>,
    pub(super) ipsec: Option<IpsecNodeInEffect>,
}

/// A listener of a node's own TLS.
#[derive(Serialize)]
pub(super) struct OwnTlsInEffect {
    pub(super) listen: String,
    pub(super) service: String,
    /// The interface whose peers it serves.
    pub(super) interface: &'static str,
}

/// IPsec configuration of a node.
#[derive(Serialize)]
pub(super) struct IpsecNodeInEffect {
    /// `strongswan`, or `bartizan`.
    pub(super) engine: &'static str,
    /// `kernel`, or `userspace`.
    pub(super) data_path: &'static str,
    /// `no`, or `crypto`.
    pub(super) offload: &'static str,
    pub(super) certificate: String,
    pub(super) key: String,
    pub(super) roots: String,
    pub(super) crl: Option<String>,
    /// The socket of the daemon the system runs; none where Bartizan runs one of its own.
    pub(super) vici: Option<String>,
    pub(super) ledger: Option<LedgerInEffect>,
}

/// The listeners of a sidecar.
#[derive(Serialize)]
pub(super) struct SidecarInEffect {
    pub(super) inbound: Vec<InboundInEffect>,
    pub(super) outbound: Vec<OutboundInEffect>,
    pub(super) admin: Option<String>,
    pub(super) ledger: Option<LedgerInEffect>,
}

/// A listener for other sidecars.
#[derive(Serialize)]
pub(super) struct InboundInEffect {
    pub(super) listen: String,
    pub(super) forward: String,
    pub(super) service: String,
    /// The interface whose peers it serves.
    pub(super) interface: &'static str,
    pub(super) path: &'static str,
}

/// A listener for the node's own network function.
#[derive(Serialize)]
pub(super) struct OutboundInEffect {
    pub(super) listen: String,
    /// A node's name, `by-authority` or `by-destination`.
    pub(super) route: String,
    /// None where each connection's destination says it.
    pub(super) interface: Option<&'static str>,
    pub(super) path: &'static str,
    pub(super) warm: usize,
}

/// One interface.
#[derive(Serialize)]
pub(super) struct InterfaceInEffect {
    pub(super) kind: &'static str,
    pub(super) between: [String; 2],
    #[serde(rename = "with")]
    pub(super) protection: &'static str,
    /// Transport of SCTP, on interfaces that gateways protect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) carrier: Option<&'static str>,
    /// Present for protection by sidecars, or by MACsec with keys from TLS.
    pub(super) policy: Option<PolicyInEffect>,
    /// Present for protection by IPsec.
    pub(super) ipsec: Option<IpsecInEffect>,
    /// Present for protection by MACsec, if the file names the ports.
    pub(super) macsec: Option<MacsecInEffect>,
}

/// A policy as it holds on the day of the report.
#[derive(Serialize)]
pub(super) struct PolicyInEffect {
    pub(super) profile: &'static str,
    pub(super) post_quantum: &'static str,
    pub(super) groups: Vec<String>,
    pub(super) signatures: Vec<String>,
    pub(super) chain_signatures: Vec<String>,
    pub(super) ciphers: Vec<&'static str>,
    pub(super) exception: Option<ExceptionInEffect>,
    /// Seconds; none where nothing is resumed.
    pub(super) resumption_seconds: Option<u64>,
    pub(super) revocation: &'static str,
}

/// An exception, also one that has ended.
#[derive(Serialize)]
pub(super) struct LedgerInEffect {
    pub(super) file: String,
    /// Bytes beyond which it is rotated.
    pub(super) size: u64,
    /// Rotated files that are kept; all of them where there is none.
    pub(super) keep: NonZeroUsize,
}

#[derive(Serialize)]
pub(super) struct ExceptionInEffect {
    pub(super) reason: String,
    pub(super) expires: String,
    /// Days on which it still holds, today among them; 0 once it has ended.
    pub(super) days_left: i64,
}

impl NodeInEffect {
    pub(super) fn of(node: &Node) -> Self {
        let sidecar = node.sidecar.as_ref().map(|sidecar| SidecarInEffect {
            inbound: sidecar.inbound.iter().map(InboundInEffect::of).collect(),
            outbound: sidecar.outbound.iter().map(OutboundInEffect::of).collect(),
            admin: sidecar.admin.map(|address| address.to_string()),
            ledger: sidecar.ledger.as_ref().map(LedgerInEffect::of),
        });
        Self {
            name: node.name.to_string(),
            function: node.function.clone(),
            address: node.address.to_string(),
            names: names(&node.identity),
            sidecar,
            tls: node
                .tls
                .as_ref()
                .map(|own| own.iter().map(OwnTlsInEffect::of).collect()),
            ipsec: node.ipsec.as_ref().map(IpsecNodeInEffect::of),
        }
    }
}

impl IpsecNodeInEffect {
    fn of(node: &IpsecNode) -> Self {
        let shown = |path: &Path| path.display().to_string();
        Self {
            engine: node.engine.name(),
            data_path: node.data_path.name(),
            offload: node.offload.name(),
            certificate: shown(&node.certificate),
            key: shown(&node.key),
            roots: shown(&node.roots),
            crl: node.crl.as_deref().map(shown),
            vici: node.vici.as_deref().map(shown),
            ledger: node.ledger.as_ref().map(LedgerInEffect::of),
        }
    }
}

impl LedgerInEffect {
    fn of(ledger: &LedgerFile) -> Self {
        Self {
            file: ledger.file.display().to_string(),
            size: ledger.size,
            keep: ledger.keep,
        }
    }
}

impl OwnTlsInEffect {
    fn of(inbound: &Inbound) -> Self {
        Self {
            listen: inbound.listen.to_string(),
            service: inbound.service.to_string(),
            interface: inbound.interface.name(),
        }
    }
}

impl InboundInEffect {
    fn of(inbound: &Inbound) -> Self {
        Self {
            listen: inbound.listen.to_string(),
            forward: inbound.forward.to_string(),
            service: inbound.service.to_string(),
            interface: inbound.interface.name(),
            path: inbound.path.name(),
        }
    }
}

impl OutboundInEffect {
    fn of(outbound: &Outbound) -> Self {
        Self {
            listen: outbound.listen.to_string(),
            route: match &outbound.route {
                Route::To(node) => node.to_string(),
                Route::ByAuthority => "by-authority".into(),
                Route::ByDestination => "by-destination".into(),
            },
            interface: outbound.interface.map(InterfaceKind::name),
            path: outbound.path.name(),
            warm: outbound.warm,
        }
    }
}

impl InterfaceInEffect {
    pub(super) fn of(interface: &Interface, now: SystemTime) -> Self {
        // Groups and signatures are those of TLS: of a link whose keys do not come from it they say nothing.
        let by_tls = interface.protection.is_by_sidecars() || interface.macsec.is_some();
        Self {
            kind: interface.kind.name(),
            between: interface.between.each_ref().map(ToString::to_string),
            protection: interface.protection.name(),
            carrier: (interface.protection == Protection::Gateway).then(|| interface.carrier.name()),
            policy: by_tls.then(|| PolicyInEffect::of(&interface.policy, now)),
            ipsec: interface
                .ipsec
                .as_ref()
                .map(|link| IpsecInEffect::of(link, &interface.policy, now)),
            macsec: interface
                .macsec
                .as_ref()
                .map(|link| MacsecInEffect::of(interface, link)),
        }
    }
}

impl PolicyInEffect {
    fn of(policy: &Policy, now: SystemTime) -> Self {
        let in_effect = policy.in_effect(day_of(now));
        let exception = policy.exception.as_ref();
        Self {
            profile: policy.profile.name(),
            post_quantum: policy.post_quantum.name(),
            groups: in_effect.groups.iter().map(ToString::to_string).collect(),
            signatures: in_effect.signatures.iter().map(ToString::to_string).collect(),
            chain_signatures: in_effect.chain_signatures.iter().map(ToString::to_string).collect(),
            ciphers: in_effect.ciphers.iter().map(|cipher| cipher.name()).collect(),
            exception: exception.map(|exception| ExceptionInEffect::of(exception, now)),
            resumption_seconds: match policy.resumption {
                Resumption::Off => None,
                Resumption::Within(within) => Some(within.as_secs()),
            },
            revocation: match policy.revocation {
                Revocation::Require => "require",
                Revocation::IfPresent => "if-present",
            },
        }
    }
}

impl ExceptionInEffect {
    pub(super) fn of(exception: &Exception, now: SystemTime) -> Self {
        Self {
            reason: exception.reason.clone(),
            expires: exception.expires.to_string(),
            days_left: exception.days_left(now),
        }
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        let left = match self.days_left {
            0 => "ended".to_owned(),
            1 => "today is its last day".to_owned(),
            days => format!("{days} days left"),
        };
        format!("until {} ({left}): {}", self.expires, self.reason)
    }
}

/// The names of an identity as ledgers write them.
pub(super) fn names(identity: &Identity) -> Vec<String> {
    let dns = identity.dns().iter().map(|name| format!("dns:{name}"));
    let ip = identity.ip().iter().map(|address| format!("ip:{address}"));
    let uri = identity.uri().iter().map(|uri| format!("uri:{uri}"));
    dns.chain(ip).chain(uri).collect()
}
