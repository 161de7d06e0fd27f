//! IPsec links as they are in effect, and what in them protects less than it seems to.

use std::net::IpAddr;
use std::time::{Duration, SystemTime};

use bartizan_deployment::{
    Deployment, End, External, IkeAuthentication, IkeEngine, Interface, IpsecLink, IpsecPolicy, KeyExchange, Node,
    NodeName, Policy, Profile, day_of,
};
use bartizan_registry::{Safety, signature};
use serde::Serialize;

use super::findings::{Finding, named, of_exception, several};
use super::in_effect::ExceptionInEffect;

/// A post-quantum pre-shared key of a link: its name and place, and never itself.
#[derive(Debug, Serialize)]
pub(super) struct PpkInEffect {
    id: String,
    file: String,
    required: bool,
}

/// A link that IPsec protects.
#[derive(Serialize)]
pub(super) struct IpsecInEffect {
    pub(super) profile: &'static str,
    pub(super) post_quantum: &'static str,
    pub(super) mode: &'static str,
    pub(super) initiator: String,
    pub(super) ends: Vec<EndInEffect>,
    /// Packets that are protected, between the inner addresses.
    pub(super) protects: Vec<String>,
    /// Preshared key mixed into its keys.
    pub(super) ppk: Option<PpkInEffect>,
    /// Key exchanges of IKE_SAs, and of CHILD_SAs at every rekey.
    pub(super) key_exchanges: Vec<String>,
    pub(super) ciphers: Vec<String>,
    pub(super) prfs: Vec<String>,
    /// For ciphers that do not authenticate; empty where all do.
    pub(super) integrity: Vec<String>,
    /// `classical-accepted` or `post-quantum`.
    pub(super) authentication: &'static str,
    pub(super) signatures: Vec<String>,
    /// Reaction to an SA that violates the policy.
    pub(super) breach: &'static str,
    pub(super) exception: Option<ExceptionInEffect>,
    pub(super) extended_sequence_numbers: bool,
    pub(super) replay_window: u32,
    pub(super) ike_dscp: u8,
    pub(super) copy_dscp: &'static str,
    pub(super) ike_fragments: bool,
    pub(super) mtu: u16,
    pub(super) start: &'static str,
    /// Seconds; none stands for never.
    pub(super) rekey_ike_seconds: Option<u64>,
    pub(super) reauthentication_seconds: Option<u64>,
    pub(super) rekey_child_seconds: Option<u64>,
    pub(super) rekey_child_bytes: Option<u64>,
    pub(super) rekey_child_packets: Option<u64>,
    pub(super) dead_peer_seconds: Option<u64>,
}

/// One end of it.
#[derive(Serialize)]
pub(super) struct EndInEffect {
    pub(super) node: String,
    pub(super) outer: String,
    /// Under which address its peer reaches it, where a NAT is between them: `any` where it is not known beforehand.
    pub(super) external: Option<String>,
    pub(super) inner: Vec<String>,
}

impl EndInEffect {
    fn of(end: &End) -> Self {
        Self {
            node: end.node.to_string(),
            outer: end.outer.to_string(),
            external: match end.external {
                External::Same => None,
                External::At(address) => Some(address.to_string()),
                External::Any => Some("any".to_owned()),
            },
            inner: texts(&end.inner),
        }
    }
}

fn texts<T: ToString>(list: &[T]) -> Vec<String> {
    list.iter().map(ToString::to_string).collect()
}

impl IpsecInEffect {
    pub(super) fn of(link: &IpsecLink, policy: &Policy, now: SystemTime) -> Self {
        let in_effect = policy.in_effect(day_of(now)).ipsec;
        let seconds = |value: Option<Duration>| value.map(|value| value.as_secs());
        let all_authenticate = in_effect.ciphers.iter().all(|cipher| cipher.known().is_aead());
        Self {
            profile: policy.profile.name(),
            post_quantum: policy.post_quantum.name(),
            mode: link.mode.name(),
            initiator: link.initiator.to_string(),
            ends: link.ends.iter().map(EndInEffect::of).collect(),
            protects: texts(&link.selectors),
            key_exchanges: texts(&in_effect.key_exchanges),
            ciphers: texts(&in_effect.ciphers),
            prfs: texts(&in_effect.prfs),
            integrity: if all_authenticate {
                Vec::new()
            } else {
                texts(&in_effect.integrity)
            },
            authentication: in_effect.authentication.name(),
            signatures: texts(&in_effect.signatures),
            breach: in_effect.breach.name(),
            exception: policy
                .exception
                .as_ref()
                .map(|exception| ExceptionInEffect::of(exception, now)),
            ppk: link.ppk.as_ref().map(|ppk| PpkInEffect {
                id: ppk.identity.clone(),
                file: ppk.file.display().to_string(),
                required: ppk.required,
            }),
            extended_sequence_numbers: link.extended_sequence_numbers,
            replay_window: link.replay_window,
            ike_dscp: link.ike_dscp,
            copy_dscp: link.copy_dscp.name(),
            ike_fragments: link.ike_fragments,
            mtu: link.mtu,
            start: link.start.name(),
            rekey_ike_seconds: seconds(link.lifetimes.ike),
            reauthentication_seconds: seconds(link.lifetimes.reauthentication),
            rekey_child_seconds: seconds(link.lifetimes.child),
            rekey_child_bytes: link.lifetimes.child_bytes,
            rekey_child_packets: link.lifetimes.child_packets,
            dead_peer_seconds: seconds(link.dead_peer_delay),
        }
    }

    /// Names and values, for people.
    pub(super) fn fields(&self) -> Vec<(&'static str, String)> {
        let strength = match self.post_quantum {
            "require" => "post-quantum key exchange is required",
            "prefer" => "post-quantum key exchange is preferred",
            "allow" => "post-quantum key exchange is allowed",
            _ => "nothing post-quantum",
        };
        let mut fields = vec![("policy", format!("{}: {strength}", self.profile))];
        let ends = self.ends.iter().map(|end| {
            let at = match end.external.as_deref() {
                None => format!("{} at {}", end.node, end.outer),
                Some("any") => format!("{} at {}, behind a NAT that hides it", end.node, end.outer),
                Some(external) => format!("{} at {}, reached at {external}", end.node, end.outer),
            };
            let is_own = |inner: &String| inner.split('/').next() == Some(&end.outer);
            if end.inner.iter().all(is_own) {
                at
            } else {
                format!("{at}, for {}", end.inner.join(" "))
            }
        });
        fields.push(("ends", ends.collect::<Vec<_>>().join("; ")));
        fields.push(("protects", self.protects.join("; ")));
        fields.push((
            "mode",
            format!("{}; {} sets it up ({})", self.mode, self.initiator, self.start),
        ));
        fields.push(("key exchanges", self.key_exchanges.join(", ")));
        if let Some(PpkInEffect { id, file, required }) = &self.ppk {
            let else_ = if *required { "refused" } else { "accepted" };
            let text = format!("{id} of {file}; a peer without it is {else_}");
            fields.push(("pre-shared key", text));
        }
        fields.push(("ciphers", [&self.ciphers[..], &self.integrity].concat().join(", ")));
        fields.push(("prfs", self.prfs.join(", ")));
        fields.push((
            "authentication",
            format!("{}: {}", self.authentication, self.signatures.join(", ")),
        ));
        if let Some(exception) = &self.exception {
            fields.push(("exception", exception.text()));
        }
        let breach = match self.breach {
            "down" => "an SA that breaks the policy is taken down",
            _ => "an SA that breaks the policy is reported and left",
        };
        fields.push(("breach", breach.into()));
        fields.push(("rekey", self.rekey()));
        let window = match self.replay_window {
            0 => "off".into(),
            packets => format!("{packets} packets"),
        };
        let numbers = if self.extended_sequence_numbers {
            "64 bits"
        } else {
            "32 bits"
        };
        fields.push(("sequence", format!("{numbers}, replay window {window}")));
        fields
    }

    fn rekey(&self) -> String {
        let period = |seconds: Option<u64>| match seconds {
            Some(seconds) => format!("{seconds} s"),
            None => "never".into(),
        };
        let mut child = vec![period(self.rekey_child_seconds)];
        child.extend(self.rekey_child_bytes.map(|bytes| format!("{bytes} bytes")));
        child.extend(self.rekey_child_packets.map(|packets| format!("{packets} packets")));
        format!(
            "IKE_SA {}, CHILD_SA {}; peers prove themselves anew: {}",
            period(self.rekey_ike_seconds),
            child.join(" or "),
            period(self.reauthentication_seconds)
        )
    }
}

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
        let is_ours = |name: &NodeName| {
            let node = deployment.node(name.as_str()).and_then(|node| node.ipsec.as_ref());
            node.is_some_and(|node| node.engine == IkeEngine::Bartizan)
        };
        match interface.between.iter().all(is_ours) {
            true => Self::Bartizan,
            false => Self::WithStrongswan,
        }
    }
}

/// Limits of the node's engine for its links, and of this host's interfaces,
/// where it is the node's.
#[cfg(feature = "full")]
pub(super) fn limits(deployment: &Deployment, node: &Node) -> Vec<Finding> {
    let name = node.name.as_str();
    let remarks = bartizan_ipsec::lint::limits(deployment, name).into_iter();
    let remarks = remarks.chain(bartizan_ipsec::lint::interfaces(deployment, name));
    let finding = |remark: bartizan_ipsec::lint::Remark| {
        let about = format!("{} at {}", remark.about, node.name);
        Finding::new(about, remark.cause, remark.hint)
    };
    remarks.map(finding).collect()
}

/// Returns the findings on an IPsec link.
pub(super) fn findings(interface: &Interface, link: &IpsecLink, engines: Engines, now: SystemTime) -> Vec<Finding> {
    let policy = &interface.policy;
    let ipsec = policy.in_effect(day_of(now)).ipsec;
    let find = |finding: String, hint: &str| Finding::new(named(interface), finding, hint);
    let mut findings = Vec::new();
    if !ipsec.key_exchanges.iter().any(KeyExchange::is_quantum_safe) {
        findings.push(find(
            "is classical: what is recorded today is read by a quantum computer later".into(),
            "a lab's baseline; anywhere else write `policy: hybrid`",
        ));
    }
    for exchange in &ipsec.key_exchanges {
        if exchange.is_quantum_safe() && exchange.category().is_none_or(|category| category.0 < 2) {
            findings.push(find(
                format!("may negotiate {exchange}, of NIST category 1"),
                "a lab's choice; anywhere else leave it out of `key-exchanges`",
            ));
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
        findings.push(find(
            "accepts classical signatures, and CNSA 2.0 asks for ML-DSA-87".into(),
            "write `authentication: post-quantum` as soon as both ends can",
        ));
    }
    if !link.ike_fragments
        && let Some(exchange) = ipsec.key_exchanges.iter().find(|exchange| exchange.methods().len() > 1)
    {
        findings.push(find(
            format!("lets IKE fragment nothing, and the additional exchange of {exchange} may exceed a packet"),
            "remove `ike-fragments: false`: a lost fragment of IP loses the whole message",
        ));
    }
    findings
}

/// Nodes at the end of an IPsec link that have nothing to prove themselves with.
pub(super) fn of_node(deployment: &Deployment, node: &Node) -> Option<Finding> {
    let peers: Vec<_> = deployment
        .ipsec_links(node.name.as_str())
        .map(|(peer, ..)| peer.name.as_str())
        .collect();
    if peers.is_empty() || node.ipsec.is_some() {
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
