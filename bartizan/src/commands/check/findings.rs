//! Findings on a deployment: protections weaker than they seem.

use std::time::SystemTime;

use bartizan_deployment::{
    Confidentiality, Deployment, Exception, Interface, InterfaceKind, Node, PostQuantum, Profile, Protection,
    meant_function,
};
use bartizan_registry::NamedGroup;
use serde::Serialize;

use super::decrypted;
use super::ipsec::{self, Engines};
#[cfg(feature = "full")]
use super::macsec;
use super::notes::leads_to;
use super::scope::Scope;
use crate::commands::accept::Acceptance;
use crate::commands::severity::Severity;

bartizan_registry::made! {
    /// Something the file's author should look at.
    #[derive(Serialize)]
    pub(super) struct Finding,
    /// A finding of high severity: most are faults that keep something from working as the file has
    /// it.
    pub(super) new(about: impl Into<String>, finding: impl Into<String>, hint: impl Into<String>) {
        /// Subject of the finding: `SBI amf -- nrf`, `nodes.nrf.certificate`.
        pub(super) about: String = about.into(),
        pub(super) finding: String = finding.into(),
        pub(super) hint: String = hint.into(),
        /// None for a remark.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(super) severity: Option<Severity> = Some(Severity::High),
        /// None where it is not accepted.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(super) accepted: Option<Acceptance> = None,
    }
}

impl Finding {
    /// The same with another severity.
    pub(super) fn with(self, severity: Severity) -> Self {
        Self {
            severity: Some(severity),
            ..self
        }
    }
}

/// Name of an interface in messages.
pub(super) fn named(interface: &Interface) -> String {
    let [one, other] = &interface.between;
    format!("{} {one} -- {other}", interface.kind.name())
}

/// Names in a message: a hub of a country has tens of thousands.
pub(super) fn several(names: &[&str]) -> String {
    const SHOWN: usize = 12;
    match names.split_at_checked(SHOWN) {
        Some((shown, more)) if !more.is_empty() => format!("{} and {} more", shown.join(", "), more.len()),
        _ => names.join(", "),
    }
}

/// Returns the findings on the interfaces in scope and on the nodes at their ends.
pub(super) fn of(scope: Scope<'_>, now: SystemTime) -> Vec<Finding> {
    let deployment = scope.deployment;
    let interfaces = scope.interfaces();
    let mut findings: Vec<_> = interfaces
        .flat_map(|interface| of_interface(deployment, interface, now))
        .collect();
    let bare = |node: &&Node| node.sidecar.is_none() && node.tls.is_none();
    for node in scope.ends().filter(bare) {
        let relying = deployment
            .sidecar_peers(node.name.as_str())
            .map(|(peer, _)| peer.name.as_str());
        let relying: Vec<_> = relying.collect();
        if relying.iter().any(|peer| scope.joins(node, peer)) {
            let finding = format!(
                "has no sidecar, and its links to {} are to be protected by one",
                several(&relying)
            );
            let hint = "add `sidecar: { ... }` to it, or `tls: [...]` where its function has TLS of its own";
            findings.push(Finding::new(format!("nodes.{}", node.name), finding, hint));
        }
    }
    if deployment.nodes().next().is_none() {
        let hint = "add the network functions: nodes: { nrf: { function: NRF, address: 10.0.0.2 } }";
        findings.push(Finding::new(
            "nodes",
            "the file names no node: it protects nothing",
            hint,
        ));
    } else if deployment.interfaces().is_empty() {
        let hint = "add what joins the nodes: interfaces: [{ kind: SBI, between: [amf, nrf], with: sidecar }]";
        let finding = "the file names no interface: it protects nothing";
        findings.push(Finding::new("interfaces", finding, hint));
    }
    findings.extend(scope.ends().filter_map(|node| ipsec::of_node(scope, node)));
    #[cfg(feature = "full")]
    findings.extend(scope.ends().flat_map(|node| macsec::of_node(scope, node)));
    #[cfg(feature = "full")]
    findings.extend(ipsec::limits(scope));
    findings.extend(scope.nodes().flat_map(decrypted::leaves));
    findings.extend(
        scope
            .node
            .and_then(|node| decrypted::not_redirected(deployment, node, now)),
    );
    findings.extend(scope.nodes().filter_map(mistyped_function));
    findings.extend(unconnected(scope));
    findings.extend(scope.nodes().filter_map(|node| listening_for_nobody(deployment, node)));
    findings
}

/// A function by whose name no interface knows which end listens.
fn mistyped_function(node: &Node) -> Option<Finding> {
    // As `init --from` writes it.
    if node.function.eq_ignore_ascii_case("unknown") {
        let (about, hint) = (
            format!("nodes.{}.function", node.name),
            "write what it is: AMF, gNB, near-RT RIC",
        );
        return Some(Finding::new(about, "is to be decided", hint).with(Severity::Medium));
    }
    let meant = meant_function(&node.function)?;
    Some(
        Finding::new(
            format!("nodes.{}.function", node.name),
            format!("{} is no function that is known here", node.function),
            format!("write {meant} if that is meant"),
        )
        .with(Severity::Low),
    )
}

/// Interfaces between two nodes of which neither has a listener for them, or neither calls the
/// other: nothing is connected.
fn unconnected(scope: Scope<'_>) -> impl Iterator<Item = Finding> {
    let deployment = scope.deployment;
    let with_sidecar = scope
        .interfaces()
        .filter(|interface| interface.protection.is_by_sidecars());
    with_sidecar.filter_map(|interface| {
        let nodes = interface.between.each_ref();
        let nodes = nodes.map(|name| deployment.node(name.as_str()));
        let [Some(one), Some(other)] = nodes else {
            return None;
        };
        // A node without either is a finding of its own, and so are two with TLS of their own.
        let has_sidecar = |node: &Node| node.sidecar.is_some();
        let has_either = |node: &Node| has_sidecar(node) || node.tls.is_some();
        if !(has_either(one) && has_either(other) && (has_sidecar(one) || has_sidecar(other))) {
            return None;
        }
        let kind = interface.kind.name();
        let mut listeners = one.inbound().iter().chain(other.inbound());
        if !listeners.any(|inbound| inbound.interface == interface.kind) {
            let finding = format!("no inbound listener at either end belongs to {kind}: nothing can be connected");
            let hint = format!("add one with `interface: {kind}` to the node that is called");
            return Some(Finding::new(named(interface), finding, hint));
        }
        if calls(one, other, interface.kind) || calls(other, one, interface.kind) {
            return None;
        }
        let finding =
            format!("no outbound listener at either end leads to {kind} of the other: what calls goes past it");
        let hint = "add one to the node that calls: sidecar: { outbound: [{ listen: 127.0.0.1:8001, to: NODE }] }";
        Some(Finding::new(named(interface), finding, hint).with(Severity::Medium))
    })
}

/// Returns true if the file has a way by which `one` calls `other` over this interface.
fn calls(one: &Node, other: &Node, kind: InterfaceKind) -> bool {
    let mut outbound = one.sidecar.iter().flat_map(|sidecar| &sidecar.outbound);
    let is_called = other.inbound().iter().any(|inbound| inbound.interface == kind);
    is_called && (one.tls.is_some() || outbound.any(|outbound| leads_to(outbound, other, kind)))
}

/// A listener that no interface leads to.
fn listening_for_nobody(deployment: &Deployment, node: &Node) -> Option<Finding> {
    let listens = !node.inbound().is_empty();
    let field = if node.tls.is_some() { "tls" } else { "sidecar.inbound" };
    let alone = deployment.sidecar_peers(node.name.as_str()).next().is_none();
    (listens && alone).then(|| {
        let finding = "no interface with a sidecar joins the node: no node may connect";
        let hint = "add its interfaces, `with: sidecar`";
        Finding::new(format!("nodes.{}.{field}", node.name), finding, hint).with(Severity::Low)
    })
}

fn of_interface(deployment: &Deployment, interface: &Interface, now: SystemTime) -> Vec<Finding> {
    let find = |finding: String, hint: &str| Finding::new(named(interface), finding, hint);
    match interface.protection {
        Protection::Nothing => vec![of_nothing(interface, now).with(Severity::Critical)],
        Protection::Macsec => of_macsec(interface, now),
        Protection::Ipsec => {
            let link = interface.ipsec.as_deref();
            let engines = Engines::of(deployment, interface);
            link.map(|link| ipsec::findings(interface, link, engines, now))
                .unwrap_or_default()
        }
        Protection::Sidecar | Protection::Gateway => {
            let mut findings = of_policy(interface, now);
            let own = |name| deployment.node(name).is_some_and(|node| node.tls.is_some());
            if interface.between.iter().all(|name| own(name.as_str())) {
                findings.push(
                    find(
                        "both ends have TLS of their own: no sidecar holds either to the policy".into(),
                        "give one of them a sidecar, or show by a capture what they negotiate: `bartizan inspect`",
                    )
                    .with(Severity::Medium),
                );
            }
            findings
        }
    }
}

fn of_macsec(interface: &Interface, now: SystemTime) -> Vec<Finding> {
    let find = |finding: &str, hint: &str| Finding::new(named(interface), finding, hint);
    let Some(link) = &interface.macsec else {
        let finding = "is left to MACsec, and the file names no ports: nothing sets it up";
        let hint = "add `macsec: { port: { NODE: eth1, ... } }`, or show by a capture what protects it";
        return vec![find(finding, hint).with(Severity::Medium)];
    };
    let mut findings = match link.has_exchange() {
        true => of_policy(interface, now),
        false => vec![
            find(
                "is keyed by MKA under a CAK of a file: no exchange shows where it comes from, and the policy judges none",
                "write `keying: direct`, or `keying: mka` without `cak`, where both ends run Bartizan",
            )
            .with(Severity::Medium),
        ],
    };
    if link.confidentiality == Confidentiality::Integrity && !interface.kind.is_ciphered_above() {
        let finding = "is not encrypted by MACsec nor above it: an attacker on the path reads it";
        findings.push(find(finding, "write `confidentiality: encrypt`").with(Severity::Critical));
    }
    findings
}

/// Left unprotected by choice, and until when: the policy's exception says it.
fn of_nothing(interface: &Interface, now: SystemTime) -> Finding {
    let find = |finding: String, hint: &str| Finding::new(named(interface), finding, hint);
    let protect = &format!("write {}", interface.kind.protections());
    let Some(exception) = &interface.policy.exception else {
        return find(
            "is protected by nothing, and no day is set for that to end: an attacker who records it reads it".into(),
            &format!(
                "{protect}; where that must wait, say until when: \
                 `policy: {{ profile: transition, reason: \"...\", expires: 2027-06-30 }}`"
            ),
        );
    };
    let (reason, expires) = (exception.why(), exception.expires);
    match exception.days_left(now) {
        0 if interface.kind.over_tcp() => find(
            format!(
                "is protected by nothing, for which the exception ended with {expires}: `sidecar redirect` refuses it since ({reason})"
            ),
            protect,
        ),
        0 => find(
            format!("is protected by nothing, for which the exception ended with {expires} ({reason})"),
            protect,
        ),
        1 => find(
            format!("is protected by nothing, today for the last time: {reason}"),
            protect,
        ),
        days => find(
            format!("is protected by nothing for another {days} days, until {expires}: {reason}"),
            protect,
        ),
    }
}

fn of_policy(interface: &Interface, now: SystemTime) -> Vec<Finding> {
    let policy = &interface.policy;
    let find = |finding: String, hint: &str| Finding::new(named(interface), finding, hint);
    let mut findings = Vec::new();
    if policy.profile == Profile::Classical || policy.post_quantum == PostQuantum::Forbid {
        findings.push(find(
            "is classical: what is recorded today is read by a quantum computer later".into(),
            "a lab's baseline; anywhere else write `policy: hybrid`",
        ));
    }
    if policy.groups.contains(&NamedGroup::MLKEM512) {
        findings.push(
            find(
                "may negotiate MLKEM512, of NIST category 1".into(),
                "a lab's choice; anywhere else leave it out of `groups`",
            )
            .with(Severity::Medium),
        );
    }
    if let Some(exception) = &policy.exception {
        findings.push(of_exception(interface, exception, now));
    }
    findings
}

pub(super) fn of_exception(interface: &Interface, exception: &Exception, now: SystemTime) -> Finding {
    let (reason, expires) = (exception.why(), exception.expires);
    match exception.days_left(now) {
        0 => Finding::new(
            named(interface),
            format!("its exception ended with {expires}: classical handshakes are refused since ({reason})"),
            "write `policy: hybrid`, or a new end where the reason still holds",
        )
        .with(Severity::Medium),
        1 => Finding::new(
            named(interface),
            format!("lets classical handshakes through, today for the last time: {reason}"),
            "prepare for refusals tomorrow, or write a new end",
        ),
        days => Finding::new(
            named(interface),
            format!("lets classical handshakes through for another {days} days, until {expires}: {reason}"),
            "write `policy: hybrid` as soon as both ends speak it",
        ),
    }
}
