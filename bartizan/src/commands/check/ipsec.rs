//! IPsec links as they are in effect, and what in them protects less than it seems to.

mod in_effect;

#[cfg(feature = "full")]
use std::collections::HashSet;
use std::net::IpAddr;
use std::time::SystemTime;

use bartizan_deployment::{
    Breach, Deployment, IkeAuthentication, Interface, IpsecLink, IpsecPolicy, KeyExchange, Node, Profile, day_of,
};
use bartizan_registry::{Safety, signature};

use super::findings::{Finding, named, of_exception, several};
use super::scope::Scope;
use crate::commands::severity::Severity;

pub(super) use in_effect::IpsecInEffect;

/// Which IKE daemons the two ends of a link have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Engines {
    /// One of them is strongSwan's, or has none yet.
    WithStrongswan,
    /// Both are Bartizan's own.
    Bartizan,
}

impl Engines {
    pub(super) fn of(deployment: &Deployment, interface: &Interface) -> Self {
        match deployment.has_own_engines(interface) {
            true => Self::Bartizan,
            false => Self::WithStrongswan,
        }
    }
}

/// Limits of the nodes' engines for links in scope, and of this host's interfaces, where it is a
/// node's.
#[cfg(feature = "full")]
pub(super) fn limits(scope: Scope<'_>) -> Vec<Finding> {
    let deployment = scope.deployment;
    let names: HashSet<_> = scope.interfaces().map(named).collect();
    let mut findings = Vec::new();
    for node in scope.ends() {
        let name = node.name.as_str();
        let remarks = bartizan_ipsec::lint::limits(deployment, name).into_iter();
        let remarks = remarks.chain(bartizan_ipsec::lint::interfaces(deployment, name));
        let remarks = remarks.filter(|remark| names.contains(&remark.about));
        findings.extend(remarks.map(|remark| {
            let about = format!("{} at {}", remark.about, node.name);
            Finding::new(about, remark.cause, remark.hint)
        }));
    }
    findings
}

/// Returns the findings on an IPsec link.
pub(super) fn findings(interface: &Interface, link: &IpsecLink, engines: Engines, now: SystemTime) -> Vec<Finding> {
    let policy = &interface.policy;
    let ipsec = policy.in_effect(day_of(now)).ipsec;
    let find = |finding: String, hint: &str| Finding::new(named(interface), finding, hint);
    let mut findings = Vec::new();
    if !link.unprotected.is_empty() {
        let open: Vec<_> = link.unprotected.iter().map(ToString::to_string).collect();
        findings.push(
            find(
                format!(
                    "its `selectors` leave out {}: these packets leave as they are",
                    open.join(", ")
                ),
                "add the interface's own traffic, or remove `selectors`: it is then protected",
            )
            .with(Severity::Critical),
        );
    }
    if link.replay_window == 0 && engines == Engines::WithStrongswan {
        findings.push(
            find(
                "has no replay protection: a packet that is recorded can be sent again".into(),
                "remove `replay-window: 0`: TS 33.210 asks for the protection",
            )
            .with(Severity::Medium),
        );
    }
    if ipsec.breach == Breach::Report {
        findings.push(
            find(
                "leaves an SA that breaks the policy: it is reported alone".into(),
                "remove `breach: report`: such an SA is then taken down",
            )
            .with(Severity::Medium),
        );
    }
    if !ipsec.key_exchanges.iter().any(KeyExchange::is_quantum_safe) {
        findings.push(find(
            "is classical: what is recorded today is read by a quantum computer later".into(),
            "a lab's baseline; anywhere else write `policy: hybrid`",
        ));
    }
    for exchange in &ipsec.key_exchanges {
        if exchange.is_quantum_safe() && exchange.category().is_none_or(|category| category.0 < 2) {
            findings.push(
                find(
                    format!("may negotiate {exchange}, of NIST category 1"),
                    "a lab's choice; anywhere else leave it out of `key-exchanges`",
                )
                .with(Severity::Medium),
            );
        }
    }
    if let Some(exception) = &policy.exception {
        findings.push(of_exception(interface, exception, now));
    }
    if ipsec.authentication == IkeAuthentication::PostQuantum && engines == Engines::WithStrongswan {
        findings.push(find(
            "asks for post-quantum signatures in IKE_AUTH, and no released strongSwan makes or checks them".into(),
            "write `engine: bartizan` for both nodes, or `ipsec: { authentication: classical-accepted }` in its policy",
        ));
    } else if policy.profile == Profile::Cnsa2 && ipsec.authentication == IkeAuthentication::ClassicalAccepted {
        findings.push(
            find(
                "accepts classical signatures, and CNSA 2.0 asks for ML-DSA-87".into(),
                "write `authentication: post-quantum` as soon as both ends can",
            )
            .with(Severity::Medium),
        );
    }
    if !link.ike_fragments
        && let Some(exchange) = ipsec.key_exchanges.iter().find(|exchange| exchange.methods().len() > 1)
    {
        findings.push(
            find(
                format!("lets IKE fragment nothing, and the additional exchange of {exchange} may exceed a packet"),
                "remove `ike-fragments: false`: a lost fragment of IP loses the whole message",
            )
            .with(Severity::Low),
        );
    }
    findings
}

/// Nodes at the end of an IPsec link that have nothing to prove themselves with.
pub(super) fn of_node(scope: Scope<'_>, node: &Node) -> Option<Finding> {
    let peers: Vec<_> = scope
        .deployment
        .ipsec_links(node.name.as_str())
        .map(|(peer, ..)| peer.name.as_str())
        .collect();
    if node.ipsec.is_some() || !peers.iter().any(|peer| scope.joins(node, peer)) {
        return None;
    }
    let finding = format!(
        "has no certificate for IPsec, and its links to {} are to be protected by it",
        several(&peers)
    );
    Some(Finding::new(
        format!("nodes.{}", node.name),
        finding,
        format!(
            "add `ipsec: {{ certificate: FILE, key: FILE }}`; `bartizan ca issue --profile ipsec --name {}{}` makes both",
            node.name,
            bartizan_tls::issue_options(&node.identity)
        ),
    ))
}

/// Returns remarks on a link without a fault.
pub(super) fn notes(interface: &Interface, engines: Engines, now: SystemTime) -> Vec<Finding> {
    let Some(link) = &interface.ipsec else {
        return Vec::new();
    };
    let ipsec = interface.policy.in_effect(day_of(now)).ipsec;
    let mut notes = Vec::new();
    if classical_signatures(&ipsec) && ipsec.key_exchanges.iter().all(KeyExchange::is_quantum_safe) {
        notes.push(Finding::new(
            named(interface),
            "what is recorded stays safe; its peers prove themselves classically, and who can forge that later can set up SAs in their names then",
            match engines {
                Engines::WithStrongswan => {
                    "released strongSwan has no post-quantum signatures: `engine: bartizan` for both nodes has; keep certificates short-lived"
                }
                Engines::Bartizan => "write `ipsec: { authentication: post-quantum }` once both nodes have certificates of ML-DSA",
            },
        ));
    }
    if let [one, other] = &link.ends
        && !link.crosses_nat()
        && is_private(one.outer) != is_private(other.outer)
    {
        let hidden = if is_private(one.outer) { one } else { other };
        notes.push(Finding::new(
            named(interface),
            format!(
                "{} has a private address ({}) and its peer a public one: a NAT between them is not in the file",
                hidden.node, hidden.outer
            ),
            format!(
                "where there is one, write `external: {{ {}: ADDRESS }}` with the address its peer sees, or `any`",
                hidden.node
            ),
        ));
    }
    let needed = ipsec
        .key_exchanges
        .iter()
        .filter_map(|exchange| Some((exchange, link.least_init(exchange)?)))
        .find(|(_, octets)| *octets > usize::from(link.mtu));
    if let Some((exchange, octets)) = needed {
        notes.push(Finding::new(
            named(interface),
            format!(
                "IKE_SA_INIT with {exchange} takes {octets} octets or more, and a packet has {}: IP fragments it",
                link.mtu
            ),
            "IKE cannot fragment its first message (RFC 7383): begin with a small exchange, as in ecp384-ke1_mlkem1024",
        ));
    }
    notes
}

/// Returns true for an address of a private network (RFC 1918), or of one between a carrier's NAT
/// and its customers (RFC 6598).
fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_private() || address.octets()[0] == 100 && address.octets()[1] & 0xc0 == 64,
        IpAddr::V6(_) => false,
    }
}

fn classical_signatures(policy: &IpsecPolicy) -> bool {
    policy
        .signatures
        .iter()
        .any(|code| signature(*code).is_none_or(|known| known.forgery != Safety::QuantumSafe))
}
