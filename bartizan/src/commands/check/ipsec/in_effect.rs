//! IPsec links as they are in effect.

use std::time::{Duration, SystemTime};

use bartizan_deployment::{End, External, IpsecLink, Policy, day_of};
use serde::Serialize;

use crate::commands::check::in_effect::ExceptionInEffect;

/// A post-quantum pre-shared key of a link: its name and place, and never itself.
#[derive(Debug, Serialize)]
pub(crate) struct PpkInEffect {
    id: String,
    file: String,
    required: bool,
}

bartizan_registry::made! {
    /// A link that IPsec protects.
    #[derive(Serialize)]
    pub(crate) struct IpsecInEffect, pub(crate) of(
        link: &IpsecLink, policy: &Policy, now: SystemTime,
    ) {
        let in_effect = policy.in_effect(day_of(now)).ipsec;
        let seconds = |value: Option<Duration>| value.map(|value| value.as_secs());
        let all_authenticate = in_effect.ciphers.iter().all(|cipher| cipher.known().is_aead());
        pub(crate) profile: &'static str = policy.profile.name(),
        pub(crate) post_quantum: &'static str = policy.post_quantum.name(),
        pub(crate) mode: &'static str = link.mode.name(),
        pub(crate) initiator: String = link.initiator.to_string(),
        pub(crate) ends: Vec<EndInEffect> = link.ends.iter().map(EndInEffect::of).collect(),
        /// Packets that are protected, between the inner addresses.
        pub(crate) protects: Vec<String> = texts(&link.selectors),
        /// Preshared key mixed into its keys.
        pub(crate) ppk: Option<PpkInEffect> = link.ppk.as_ref().map(|ppk| PpkInEffect {
            id: ppk.identity.clone(),
            file: ppk.file.display().to_string(),
            required: ppk.required,
        }),
        /// Key exchanges of IKE_SAs, and of CHILD_SAs at every rekey.
        pub(crate) key_exchanges: Vec<String> = texts(&in_effect.key_exchanges),
        pub(crate) ciphers: Vec<String> = texts(&in_effect.ciphers),
        pub(crate) prfs: Vec<String> = texts(&in_effect.prfs),
        /// For ciphers that do not authenticate; empty where all do.
        pub(crate) integrity: Vec<String> = if all_authenticate {
            Vec::new()
        } else {
            texts(&in_effect.integrity)
        },
        /// `classical-accepted` or `post-quantum`.
        pub(crate) authentication: &'static str = in_effect.authentication.name(),
        pub(crate) signatures: Vec<String> = texts(&in_effect.signatures),
        /// Reaction to an SA that violates the policy.
        pub(crate) breach: &'static str = in_effect.breach.name(),
        pub(crate) exception: Option<ExceptionInEffect> = policy
            .exception
            .as_ref()
            .map(|exception| ExceptionInEffect::of(exception, now)),
        pub(crate) extended_sequence_numbers: bool = link.extended_sequence_numbers,
        pub(crate) replay_window: u32 = link.replay_window,
        pub(crate) ike_dscp: u8 = link.ike_dscp,
        pub(crate) copy_dscp: &'static str = link.copy_dscp.name(),
        pub(crate) ike_fragments: bool = link.ike_fragments,
        pub(crate) mtu: u16 = link.mtu,
        pub(crate) start: &'static str = link.start.name(),
        /// Seconds; none stands for never.
        pub(crate) rekey_ike_seconds: Option<u64> = seconds(link.lifetimes.ike),
        pub(crate) reauthentication_seconds: Option<u64> = seconds(link.lifetimes.reauthentication),
        pub(crate) rekey_child_seconds: Option<u64> = seconds(link.lifetimes.child),
        pub(crate) rekey_child_bytes: Option<u64> = link.lifetimes.child_bytes,
        pub(crate) rekey_child_packets: Option<u64> = link.lifetimes.child_packets,
        pub(crate) dead_peer_seconds: Option<u64> = seconds(link.dead_peer_delay),
    }
}

bartizan_registry::made! {
    /// One end of it.
    #[derive(Serialize)]
    pub(crate) struct EndInEffect, of(end: &End) {
        pub(crate) node: String = end.node.to_string(),
        pub(crate) outer: String = end.outer.to_string(),
        /// Under which address its peer reaches it, where a NAT is between them: `any` where it is not known beforehand.
        pub(crate) external: Option<String> = match end.external {
            External::Same => None,
            External::At(address) => Some(address.to_string()),
            External::Any => Some("any".to_owned()),
        },
        pub(crate) inner: Vec<String> = texts(&end.inner),
    }
}

fn texts<T: ToString>(list: &[T]) -> Vec<String> {
    list.iter().map(ToString::to_string).collect()
}

impl IpsecInEffect {
    /// Names and values, for people.
    pub(crate) fn fields(&self) -> Vec<(&'static str, String)> {
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
            // The engine of Bartizan has one of 32 packets then.
            0 => "off with strongSwan".into(),
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
