//! Nodes and interfaces as they are in force on one day.

use std::num::NonZeroUsize;
use std::path::Path;
use std::time::SystemTime;

use bartizan_deployment::{
    CipherSuite, Exception, Identity, Inbound, Interface, InterfaceKind, IpsecNode, LedgerFile, Node, Outbound, Policy,
    Protection, Resumption, Revocation, Route, day_of,
};
use serde::Serialize;

use super::ipsec::IpsecInForce;
use super::macsec::MacsecInForce;

/// One node.
#[derive(Serialize)]
pub(super) struct NodeInForce {
    pub(super) name: String,
    pub(super) function: String,
    pub(super) address: String,
    /// Names its certificate must carry: `dns:`, `ip:`, `uri:`.
    pub(super) names: Vec<String>,
    pub(super) sidecar: Option<SidecarInForce>,
    pub(super) ipsec: Option<IpsecNodeInForce>,
}

/// What a node has for IPsec.
#[derive(Serialize)]
pub(super) struct IpsecNodeInForce {
    pub(super) certificate: String,
    pub(super) key: String,
    pub(super) roots: String,
    pub(super) crl: Option<String>,
    /// The socket of the daemon the system runs; none where Bartizan runs one of its own.
    pub(super) vici: Option<String>,
    pub(super) ledger: Option<LedgerInForce>,
}

/// The listeners of a sidecar.
#[derive(Serialize)]
pub(super) struct SidecarInForce {
    pub(super) inbound: Vec<InboundInForce>,
    pub(super) outbound: Vec<OutboundInForce>,
    pub(super) admin: Option<String>,
    pub(super) ledger: Option<LedgerInForce>,
}

/// A listener for other sidecars.
#[derive(Serialize)]
pub(super) struct InboundInForce {
    pub(super) listen: String,
    pub(super) forward: String,
    pub(super) service: String,
    /// The interface whose peers it serves.
    pub(super) interface: &'static str,
    pub(super) path: &'static str,
}

/// A listener for the node's own network function.
#[derive(Serialize)]
pub(super) struct OutboundInForce {
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
pub(super) struct InterfaceInForce {
    pub(super) kind: &'static str,
    pub(super) between: [String; 2],
    #[serde(rename = "with")]
    pub(super) protection: &'static str,
    /// Where sidecars protect it, or MACsec whose keys come from TLS.
    pub(super) policy: Option<PolicyInForce>,
    /// Where IPsec protects it.
    pub(super) ipsec: Option<IpsecInForce>,
    /// Where MACsec protects it and the file names the ports.
    pub(super) macsec: Option<MacsecInForce>,
}

/// A policy as it holds on the day of the report.
#[derive(Serialize)]
pub(super) struct PolicyInForce {
    pub(super) profile: &'static str,
    pub(super) post_quantum: &'static str,
    pub(super) groups: Vec<String>,
    pub(super) signatures: Vec<String>,
    pub(super) chain_signatures: Vec<String>,
    pub(super) ciphers: Vec<&'static str>,
    pub(super) exception: Option<ExceptionInForce>,
    /// Seconds; none where nothing is resumed.
    pub(super) resumption_seconds: Option<u64>,
    pub(super) revocation: &'static str,
}

/// An exception, also one that has ended.
#[derive(Serialize)]
pub(super) struct LedgerInForce {
    pub(super) file: String,
    /// Bytes beyond which it is rotated.
    pub(super) size: u64,
    /// Rotated files that are kept; all of them where there is none.
    pub(super) keep: Option<NonZeroUsize>,
}

#[derive(Serialize)]
pub(super) struct ExceptionInForce {
    pub(super) reason: String,
    pub(super) expires: String,
    /// Days on which it still holds, today among them; 0 once it has ended.
    pub(super) days_left: i64,
}

impl NodeInForce {
    pub(super) fn of(node: &Node) -> Self {
        let sidecar = node.sidecar.as_ref().map(|sidecar| SidecarInForce {
            inbound: sidecar.inbound.iter().map(InboundInForce::of).collect(),
            outbound: sidecar.outbound.iter().map(OutboundInForce::of).collect(),
            admin: sidecar.admin.map(|address| address.to_string()),
            ledger: sidecar.ledger.as_ref().map(LedgerInForce::of),
        });
        Self {
            name: node.name.to_string(),
            function: node.function.clone(),
            address: node.address.to_string(),
            names: names(&node.identity),
            sidecar,
            ipsec: node.ipsec.as_ref().map(IpsecNodeInForce::of),
        }
    }
}

impl IpsecNodeInForce {
    fn of(node: &IpsecNode) -> Self {
        let shown = |path: &Path| path.display().to_string();
        Self {
            certificate: shown(&node.certificate),
            key: shown(&node.key),
            roots: shown(&node.roots),
            crl: node.crl.as_deref().map(shown),
            vici: node.vici.as_deref().map(shown),
            ledger: node.ledger.as_ref().map(LedgerInForce::of),
        }
    }
}

impl LedgerInForce {
    fn of(ledger: &LedgerFile) -> Self {
        Self {
            file: ledger.file.display().to_string(),
            size: ledger.size,
            keep: ledger.keep,
        }
    }
}

impl InboundInForce {
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

impl OutboundInForce {
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

impl InterfaceInForce {
    pub(super) fn of(interface: &Interface, now: SystemTime) -> Self {
        // Groups and signatures are those of TLS: of a link whose keys do not come from it they say nothing.
        let by_tls = interface.protection == Protection::Sidecar || interface.macsec.is_some();
        Self {
            kind: interface.kind.name(),
            between: interface.between.each_ref().map(ToString::to_string),
            protection: interface.protection.name(),
            policy: by_tls.then(|| PolicyInForce::of(&interface.policy, now)),
            ipsec: interface
                .ipsec
                .as_ref()
                .map(|link| IpsecInForce::of(link, &interface.policy, now)),
            macsec: interface.macsec.as_ref().map(|link| MacsecInForce::of(interface, link)),
        }
    }
}

impl PolicyInForce {
    fn of(policy: &Policy, now: SystemTime) -> Self {
        let in_force = policy.in_force(day_of(now));
        let exception = policy.exception.as_ref();
        Self {
            profile: policy.profile.name(),
            post_quantum: policy.post_quantum.name(),
            groups: in_force.groups.iter().map(ToString::to_string).collect(),
            signatures: in_force.signatures.iter().map(ToString::to_string).collect(),
            chain_signatures: in_force.chain_signatures.iter().map(ToString::to_string).collect(),
            ciphers: in_force.ciphers.iter().map(|cipher| cipher_name(*cipher)).collect(),
            exception: exception.map(|exception| ExceptionInForce::of(exception, now)),
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

impl ExceptionInForce {
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
            days => format!("{days} days left"),
        };
        format!("until {} ({left}): {}", self.expires, self.reason)
    }
}

fn cipher_name(cipher: CipherSuite) -> &'static str {
    match cipher {
        CipherSuite::Aes256Gcm => "TLS_AES_256_GCM_SHA384",
        CipherSuite::Aes128Gcm => "TLS_AES_128_GCM_SHA256",
    }
}

/// The names of an identity as ledgers write them.
pub(super) fn names(identity: &Identity) -> Vec<String> {
    let dns = identity.dns().iter().map(|name| format!("dns:{name}"));
    let ip = identity.ip().iter().map(|address| format!("ip:{address}"));
    let uri = identity.uri().iter().map(|uri| format!("uri:{uri}"));
    dns.chain(ip).chain(uri).collect()
}
