//! Each link of a deployment file against what is asked of its interface.

use std::time::SystemTime;

use bartizan_deployment::{
    Confidentiality, Deployment, IkeAuthentication, Interface, InterfaceKind, KeyExchange, Mode, NodeName, Policy,
    Protection, day_of,
};
use bartizan_registry::{Safety, group, signature};
use serde::{Serialize, Serializer};

use super::budget::{Conditions, Predicted};
use super::concern::{Concern, Rule, Severity};
use super::requirement::{Requirement, Use, requirement};
use super::role::{EXPECTED, joins, role};

bartizan_registry::named! {
    /// Protection that a file gives a link, and the attacks it resists.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Given, name {
        /// Nothing: readable or forgeable today.
        Nothing = "nothing",
        /// Classical alone.
        Classical = "classical",
        /// Post-quantum where the peer offers it, classical where it does not.
        Either = "post-quantum if offered",
        /// Post-quantum, or the link is refused.
        PostQuantum = "post-quantum",
        /// This version neither sets it up nor judges it.
        Unknown = "not known",
    }
}

bartizan_registry::made! {
    /// A link and what is asked of it.
    #[derive(Debug, Clone, Serialize)]
    pub struct Link, of(
        deployment: &Deployment, interface: &Interface, asked: &'static Requirement,
        now: SystemTime, conditions: Option<&Conditions>,
    ) {
        let [one, other] = &interface.between;
        let function = |name: &str| {
            deployment
                .node(name)
                .map_or_else(String::new, |node| node.function.clone())
        };
        let policy = interface.policy.in_effect(day_of(now));
        let own_tls = |name: &NodeName| deployment.node(name.as_str()).is_some_and(|node| node.tls.is_some());
        let (recording, forgery) = match interface.between.iter().all(own_tls) {
            // No sidecar holds either end to the policy.
            true if interface.protection.is_by_sidecars() => (Given::Unknown, Given::Unknown),
            _ => given(interface, &policy),
        };
        /// Interface and ends: `E2 cu -- ric`.
        pub about: String = format!("{} {one} -- {other}", interface.kind.name()),
        /// The interface.
        pub interface: &'static str = interface.kind.name(),
        /// Its two nodes.
        pub between: [String; 2] = [one.to_string(), other.to_string()],
        /// Network functions of the two ends.
        pub functions: [String; 2] = [function(one.as_str()), function(other.as_str())],
        /// Protection that the file configures.
        #[serde(serialize_with = "protection_name")]
        pub protection: Protection = interface.protection,
        /// Requirement on this interface.
        pub requirement: &'static Requirement = asked,
        /// Confidentiality, integrity, authentication, replay protection, as far as the file gives them.
        pub gives: [bool; 4] = gives(deployment, interface),
        /// Against who records now and has a quantum computer later.
        pub recording: Given = recording,
        /// Against who forges with one.
        pub forgery: Given = forgery,
        /// Its predicted delay, where conditions were given.
        pub predicted: Option<Predicted> = conditions.map(|conditions| conditions.predict(interface)),
    }
}

fn protection_name<S: Serializer>(protection: &Protection, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(protection.name())
}

/// A deployment file, assessed.
#[derive(Debug, Clone, Serialize)]
pub struct Assessment {
    /// Its links, in the order of the file.
    pub links: Vec<Link>,
    /// Concerns about the link, worst first.
    pub concerns: Vec<Concern>,
}

impl Given {
    fn of(safe: usize, all: usize) -> Self {
        match safe {
            0 => Self::Classical,
            safe if safe == all => Self::PostQuantum,
            _ => Self::Either,
        }
    }
}

/// Holds the links of a deployment, as it is in effect now, against the standards; with conditions, predicted delays against budgets too.
pub fn assess(deployment: &Deployment, now: SystemTime, conditions: Option<&Conditions>) -> Assessment {
    let mut concerns = Vec::new();
    let mut links = Vec::new();
    for interface in deployment.interfaces() {
        let Some(asked) = requirement(interface.kind) else {
            continue;
        };
        let link = Link::of(deployment, interface, asked, now, conditions);
        concerns.extend(of_link(&link, interface));
        links.push(link);
    }
    concerns.extend(missing(deployment));
    // Stable: within a severity in the order of the file.
    concerns.sort_by_key(|concern| concern.severity);
    Assessment { links, concerns }
}

/// Confidentiality, integrity, authentication, replay protection: all or nothing, but for MACsec
/// without encryption and IPsec without a replay window, which Bartizan's own engine always has.
fn gives(deployment: &Deployment, interface: &Interface) -> [bool; 4] {
    let link = interface.ipsec.as_deref();
    let protected = interface.protection != Protection::Nothing && leaves_out(interface).is_none();
    [
        protected && !is_integrity_alone(interface),
        protected,
        protected,
        protected && link.is_none_or(|link| link.replay_window != 0 || deployment.has_own_engines(interface)),
    ]
}

/// Traffic of an IPsec link's interface that its selectors leave out.
fn leaves_out(interface: &Interface) -> Option<String> {
    let open = &interface.ipsec.as_ref()?.unprotected;
    let open: Vec<_> = open.iter().map(ToString::to_string).collect();
    (!open.is_empty()).then(|| open.join(", "))
}

fn is_integrity_alone(interface: &Interface) -> bool {
    let link = interface.macsec.as_ref();
    link.is_some_and(|link| link.confidentiality == Confidentiality::Integrity)
}

/// Against recording, and against forgery.
fn given(interface: &Interface, policy: &Policy) -> (Given, Given) {
    let safe_signatures = |codes: &[bartizan_registry::SignatureScheme]| {
        let safe = |code: &&bartizan_registry::SignatureScheme| {
            signature(**code).is_some_and(|known| known.forgery == Safety::QuantumSafe)
        };
        Given::of(codes.iter().filter(safe).count(), codes.len())
    };
    match interface.protection {
        Protection::Nothing => (Given::Nothing, Given::Nothing),
        Protection::Ipsec if leaves_out(interface).is_some() => (Given::Nothing, Given::Nothing),
        // Nothing sets up a link whose ports the file does not name.
        Protection::Macsec if interface.macsec.is_none() => (Given::Unknown, Given::Unknown),
        Protection::Macsec if is_integrity_alone(interface) => (Given::Nothing, safe_signatures(&policy.signatures)),
        // Keys of MACsec come from TLS under the same policy.
        Protection::Sidecar | Protection::Gateway | Protection::Macsec => {
            let safe = |code: &&bartizan_registry::NamedGroup| {
                group(**code).is_some_and(|known| known.recording == Safety::QuantumSafe)
            };
            let groups = &policy.groups;
            (
                Given::of(groups.iter().filter(safe).count(), groups.len()),
                safe_signatures(&policy.signatures),
            )
        }
        Protection::Ipsec => {
            let exchanges = &policy.ipsec.key_exchanges;
            let safe = exchanges
                .iter()
                .filter(|exchange| KeyExchange::is_quantum_safe(exchange))
                .count();
            let forgery = match policy.ipsec.authentication {
                IkeAuthentication::PostQuantum => safe_signatures(&policy.ipsec.signatures),
                IkeAuthentication::ClassicalAccepted => match safe_signatures(&policy.ipsec.signatures) {
                    Given::PostQuantum => Given::Either,
                    other => other,
                },
            };
            (Given::of(safe, exchanges.len()), forgery)
        }
    }
}

fn of_link(link: &Link, interface: &Interface) -> Vec<Concern> {
    let asked = link.requirement;
    let concern = |rule, severity, finding: String, hint: String, source: &str| Concern {
        rule,
        severity,
        about: link.about.clone(),
        finding,
        hint,
        source: source.to_owned(),
    };
    let mut concerns = Vec::new();
    let with = asked.met_by.first().map_or("ipsec", |protection| protection.name());
    if let [Some(one), Some(other)] = link.functions.each_ref().map(|function| role(function))
        && !joins(interface.kind, one, other)
    {
        concerns.push(concern(
            Rule::WrongEnds,
            Severity::Low,
            format!(
                "joins {} and {}, which {} does not",
                link.functions[0], link.functions[1], link.interface
            ),
            "name the interface that the two have, or correct `function`".to_owned(),
            asked.clause,
        ));
    }
    if interface.protection == Protection::Nothing {
        let finding = match asked.usage {
            Use::Required => format!(
                "is protected by nothing; {} are asked for and to be used",
                functions(asked)
            ),
            Use::OperatorDecides => format!(
                "is protected by nothing; {} are to be supported, and leaving them off is the operator's decision: an attacker on the path reads and changes it",
                functions(asked)
            ),
            Use::NotFound => "is protected by nothing".to_owned(),
        };
        concerns.push(concern(
            Rule::Unprotected,
            Severity::Critical,
            finding,
            format!("write `with: {with}`"),
            asked.clause,
        ));
        return concerns;
    }
    if !asked.met_by.contains(&interface.protection) {
        concerns.push(concern(
            Rule::OtherProtocol,
            Severity::Medium,
            format!(
                "is protected by {}, and {} is asked for",
                interface.protection.name(),
                asked.protocols
            ),
            format!("write `with: {with}`, or show that the link is secured by other means"),
            asked.clause,
        ));
    }
    if let Some(ipsec) = &interface.ipsec
        && ipsec.mode == Mode::Transport
    {
        concerns.push(concern(
            Rule::OtherProtocol,
            Severity::Low,
            "is in transport mode, which is optional to support; tunnel mode is mandatory".to_owned(),
            "make sure that both ends have it, or write `mode: tunnel`".to_owned(),
            "TS 33.501, clause 9.1.2; SRCS, clause 5.2.4",
        ));
    }
    if let Some(open) = leaves_out(interface) {
        concerns.push(concern(
            Rule::Unprotected,
            Severity::Critical,
            format!("its selectors leave out {open}: an attacker on the path reads and changes it"),
            "add the interface's own traffic to `selectors`, or remove them".to_owned(),
            asked.clause,
        ));
    }
    if is_integrity_alone(interface) {
        concerns.push(concern(
            Rule::Unprotected,
            match interface.kind.is_ciphered_above() {
                true => Severity::Low,
                false => Severity::Critical,
            },
            "is protected by MACsec without encryption: an attacker on the path reads what nothing above encrypts"
                .to_owned(),
            "write `confidentiality: encrypt`, or show that PDCP encrypts what it carries".to_owned(),
            asked.clause,
        ));
    }
    concerns.extend(quantum(link));
    if let Some(predicted) = &link.predicted
        && let Some(passed) = predicted.passed()
    {
        concerns.push(concern(
            Rule::Budget,
            Severity::Medium,
            passed,
            "shorten the path, protect in hardware, or give measured delays to `bartizan plan`".to_owned(),
            &predicted.budget.cited(),
        ));
    }
    concerns
}

/// Returns the concerns that a quantum computer causes.
fn quantum(link: &Link) -> Vec<Concern> {
    let concern = |rule, severity, finding: &str, hint: &str| Concern {
        rule,
        severity,
        about: link.about.clone(),
        finding: finding.to_owned(),
        hint: hint.to_owned(),
        source: "no 3GPP or O-RAN text asks for it; NIST IR 8547, BSI TR-02102-1".to_owned(),
    };
    let mut concerns = Vec::new();
    match link.recording {
        Given::Classical => concerns.push(concern(
            Rule::Recording,
            Severity::High,
            "negotiates classical key exchanges alone: harvest now, decrypt later",
            "write `policy: hybrid`",
        )),
        Given::Either => concerns.push(concern(
            Rule::Recording,
            Severity::High,
            "lets a peer negotiate a classical key exchange: harvest now, decrypt later",
            "write `policy: hybrid` as soon as both ends speak it",
        )),
        Given::Unknown => concerns.push(concern(
            Rule::Recording,
            Severity::Medium,
            "is left to MACsec, and the file names no ports: nothing here sets it up, and it is as safe as its keys",
            "add `macsec: { port: { NODE: eth1, ... } }`, or show by a capture and by its keys what protects the link",
        )),
        Given::PostQuantum | Given::Nothing => {}
    }
    match link.forgery {
        Given::Classical | Given::Either => concerns.push(concern(
            Rule::Forgery,
            Severity::Medium,
            "accepts classical signatures: who has a quantum computer later can pass for an end",
            "accept ML-DSA alone as soon as both ends sign with it; no release of strongSwan does",
        )),
        Given::PostQuantum | Given::Nothing | Given::Unknown => {}
    }
    concerns
}

fn functions(asked: &Requirement) -> &'static str {
    if asked.kind == InterfaceKind::OpenFronthaul {
        "authentication (shall), confidentiality, integrity and replay protection (should)"
    } else {
        "confidentiality, integrity, authentication and replay protection"
    }
}

/// Interfaces that the nodes of a file have by the standards, and the file does not name.
fn missing(deployment: &Deployment) -> Vec<Concern> {
    let mut concerns = Vec::new();
    for (kind, one, other) in EXPECTED {
        let of = |wanted| {
            deployment
                .nodes()
                .filter(move |node| role(&node.function) == Some(wanted))
        };
        for node in of(one) {
            let has = deployment
                .joined(node.name.as_str())
                .any(|(_, interface)| interface.kind == kind);
            let Some(peer) = of(other).next() else { break };
            if has {
                continue;
            }
            let clause = requirement(kind).map_or("", |asked| asked.clause);
            concerns.push(Concern {
                rule: Rule::Missing,
                severity: Severity::Low,
                about: format!("nodes.{}", node.name),
                finding: format!(
                    "({}) has no {} to {} ({}) in the file: nothing here protects or checks that link",
                    node.function,
                    kind.name(),
                    peer.name,
                    peer.function
                ),
                hint: format!(
                    "add {{ kind: {}, between: [{}, {}], with: ... }}, or leave it out knowingly",
                    kind.name(),
                    node.name,
                    peer.name
                ),
                source: clause.to_owned(),
            });
        }
    }
    concerns
}
