//! IPsec links as they are in effect.

use std::time::{Duration, SystemTime};

use bartizan_deployment::{End, External, IpsecLink, Policy, day_of};
use serde::Serialize;

use crate::commands::check::in_effect::ExceptionInEffect;

/// A post-quantum pre-shared key of a link: its name and place, and never itself.
#[derive(Debug, Serialize)]
pub(in crate::commands::check) struct PpkInEffect {
    id: String,
    file: String,
    required: bool,
}

/// A link that IPsec protects.
#[derive(Serialize)]
pub(in crate::commands::check) struct IpsecInEffect {
    pub(in crate::commands::check) profile: &'static str,
    pub(in crate::commands::check) post_quantum: &'static str,
    pub(in crate::commands::check) mode: &'static str,
    pub(in crate::commands::check) initiator: String,
    pub(in crate::commands::check) ends: Vec<EndInEffect>,
    /// Packets that are protected, between the inner addresses.
    pub(in crate::commands::check) protects: Vec<String>,
    /// Preshared key mixed into its keys.
    pub(in crate::commands::check) ppk: Option<PpkInEffect>,
    /// Key exchanges of IKE_SAs, and of CHILD_SAs at every rekey.
    pub(in crate::commands::check) key_exchanges: Vec<String>,
    pub(in crate::commands::check) ciphers: Vec<String>,
    pub(in crate::commands::check) prfs: Vec<String>,
    /// For ciphers that do not authenticate; empty where all do.
    pub(in crate::commands::check) integrity: Vec<String>,
    /// `classical-accepted` or `post-quantum`.
    pub(in crate::commands::check) authentication: &'static str,
    pub(in crate::commands::check) signatures: Vec<String>,
    /// Reaction to an SA that violates the policy.
    pub(in crate::commands::check) breach: &'static str,
    pub(in crate::commands::check) exception: Option<ExceptionInEffect>,
    pub(in crate::commands::check) extended_sequence_numbers: bool,
    pub(in crate::commands::check) replay_window: u32,
    pub(in crate::commands::check) ike_dscp: u8,
    pub(in crate::commands::check) copy_dscp: &'static str,
    pub(in crate::commands::check) ike_fragments: bool,
    pub(in crate::commands::check) mtu: u16,
    pub(in crate::commands::check) start: &'static str,
    /// Seconds; none stands for never.
    pub(in crate::commands::check) rekey_ike_seconds: Option<u64>,
    pub(in crate::commands::check) reauthentication_seconds: Option<u64>,
    pub(in crate::commands::check) rekey_child_seconds: Option<u64>,
    pub(in crate::commands::check) rekey_child_bytes: Option<u64>,
    pub(in crate::commands::check) rekey_child_packets: Option<u64>,
    pub(in crate::commands::check) dead_peer_seconds: Option<u64>,
}

/// One end of it.
#[derive(Serialize)]
pub(in crate::commands::check) struct EndInEffect {
    pub(in crate::commands::check) node: String,
    pub(in crate::commands::check) outer: String,
    /// Under which address its peer reaches it, where a NAT is between them: `any` where it is not known beforehand.
    pub(in crate::commands::check) external: Option<String>,
    pub(in crate::commands::check) inner: Vec<String>,
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
    pub(in crate::commands::check) fn of(link: &IpsecLink, policy: &Policy, now: SystemTime) -> Self {
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
    pub(in crate::commands::check) fn fields(&self) -> Vec<(&'static str, String)> {
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
