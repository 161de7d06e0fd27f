//! Negotiation policy of a link: required, preferred and accepted algorithms.

mod check;
mod parse;
mod profile;

use std::time::{Duration, SystemTime};

use bartizan_registry::{NamedGroup, Safety, SignatureScheme, group, signature};
use time::{Date, OffsetDateTime};

use crate::ipsec::{IkeAuthentication, IpsecPolicy};
use crate::word::{Word, words};

pub use parse::{USABLE_GROUPS, USABLE_SIGNATURES};
pub(crate) use parse::{listed, signature_list};
pub use profile::Profile;

bartizan_registry::named! {
    /// Post-quantum requirement of a policy.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum PostQuantum, name {
        /// A handshake without them is refused. The default.
        Require = "require",
        /// They come first; a classical peer is still served, under an [`Exception`].
        Prefer = "prefer",
        /// Classical comes first; a peer that has only post-quantum algorithms is still served, under an [`Exception`].
        Allow = "allow",
        /// None is offered: the lab's classical baseline.
        Forbid = "forbid",
    }
}

/// Why, and until which day (inclusive, UTC), a classical handshake is let through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exception {
    /// The written reason.
    pub reason: String,
    /// The person or team that answers for it, where the file names one.
    pub owner: Option<String>,
    /// The last day on which it holds.
    pub expires: Date,
}

impl Exception {
    /// Reason and owner, for reports.
    #[must_use]
    pub fn why(&self) -> String {
        match &self.owner {
            Some(owner) => format!("{} (owner: {owner})", self.reason),
            None => self.reason.clone(),
        }
    }

    /// Days on which it still holds, today (UTC) among them; 0 once it has ended.
    pub fn days_left(&self, now: SystemTime) -> i64 {
        ((self.expires - day_of(now)).whole_days() + 1).max(0)
    }
}

/// The day (UTC) of a moment; the first or the last there is, where the moment lies beyond.
pub fn day_of(moment: SystemTime) -> Date {
    let seconds = match moment.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_secs()).map_or(i64::MIN, |seconds| -seconds),
    };
    let clamped = if seconds < 0 { Date::MIN } else { Date::MAX };
    OffsetDateTime::from_unix_timestamp(seconds).map_or(clamped, OffsetDateTime::date)
}

bartizan_registry::named! {
    /// TLS 1.3 cipher suites a policy can name.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum CipherSuite, name {
        /// `TLS_AES_256_GCM_SHA384` (0x1302).
        Aes256Gcm = "TLS_AES_256_GCM_SHA384",
        /// `TLS_AES_128_GCM_SHA256` (0x1301).
        Aes128Gcm = "TLS_AES_128_GCM_SHA256",
    }
}

/// Resumption of TLS sessions. A resumed handshake still exchanges fresh keys but sends no
/// certificate, so the certificate of the first handshake is checked again (dates, names,
/// revocation) each time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Resumption {
    /// Every connection is a full handshake. The default.
    Off,
    /// A session may be resumed for this long after its full handshake.
    Within(Duration),
}

bartizan_registry::named! {
    /// Handling of a missing or stale revocation list.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Revocation, name {
        /// A certificate whose issuer has no current list is refused: nothing passes once a list has run out.
        Require = "require",
        /// Lists that are there are honoured, also after they have run out; where there is none,
        /// nothing is revoked. The default: a list that was not renewed must not stop a core.
        IfPresent = "if-present",
    }
}

bartizan_registry::named! {
    /// Requirement on the cryptographic module.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Module, name {
        /// Nothing. The default.
        Any = "any",
        /// That it is validated under FIPS 140-3: where it is not, nothing starts.
        Validated = "validated",
    }
}

/// Parameters for building and judging the handshakes of a link. The lists are never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// The profile it started from.
    pub profile: Profile,
    /// Post-quantum requirement.
    pub post_quantum: PostQuantum,
    /// Groups offered and accepted, most wanted first.
    pub groups: Vec<NamedGroup>,
    /// Schemes accepted in CertificateVerify, most wanted first.
    pub signatures: Vec<SignatureScheme>,
    /// Schemes accepted as signatures on certificates of the chain and on revocation lists.
    pub chain_signatures: Vec<SignatureScheme>,
    /// Cipher suites, most wanted first.
    pub ciphers: Vec<CipherSuite>,
    /// Present exactly where classical handshakes can be let through outside the lab.
    pub exception: Option<Exception>,
    /// Resumption of sessions.
    pub resumption: Resumption,
    /// Handling of a missing revocation list.
    pub revocation: Revocation,
    /// Requirement on the cryptographic module.
    pub module: Module,
    /// Requirements on links under IPsec.
    pub ipsec: IpsecPolicy,
}

words!(Revocation, Module);

// `forbid` is the lab's: no file asks for it by a word.
impl Word for PostQuantum {
    const ALL: &'static [Self] = &[Self::Require, Self::Prefer, Self::Allow];

    fn word(self) -> &'static str {
        self.name()
    }
}

impl Policy {
    /// Returns true if a classical handshake may pass on `today` (UTC): always in the lab's
    /// baseline, and under an exception until it ends.
    #[must_use]
    pub fn admits_classical(&self, today: Date) -> bool {
        match self.post_quantum {
            PostQuantum::Require => false,
            PostQuantum::Forbid => true,
            PostQuantum::Prefer | PostQuantum::Allow => self
                .exception
                .as_ref()
                .is_some_and(|exception| today <= exception.expires),
        }
    }

    /// Schemes that certificates of IPsec links and their revocation lists may be signed with: the
    /// chain's, and those of the AUTH payload. Where a peer must prove itself by a
    /// post-quantum signature, post-quantum ones alone.
    pub fn ipsec_chain_signatures(&self) -> Vec<SignatureScheme> {
        let any = self.ipsec.authentication == IkeAuthentication::ClassicalAccepted;
        let mut schemes: Vec<SignatureScheme> = Vec::new();
        for &code in self.chain_signatures.iter().chain(&self.ipsec.signatures) {
            if (any || quantum_safe_signature(code)) && !schemes.contains(&code) {
                schemes.push(code);
            }
        }
        schemes
    }

    /// The policy as it is in effect on `today` (UTC): once an exception has ended, nothing classical is offered any more.
    #[must_use]
    pub fn in_effect(&self, today: Date) -> Self {
        let mut policy = self.clone();
        if !self.admits_classical(today) {
            policy.groups.retain(|&code| quantum_safe_group(code));
            policy.signatures.retain(|&code| quantum_safe_signature(code));
            policy.chain_signatures.retain(|&code| quantum_safe_signature(code));
            policy.ipsec.without_classical();
        }
        policy
    }
}

fn quantum_safe_group(code: NamedGroup) -> bool {
    group(code).is_some_and(|known| known.recording == Safety::QuantumSafe)
}

pub(crate) fn quantum_safe_signature(code: SignatureScheme) -> bool {
    signature(code).is_some_and(|known| known.forgery == Safety::QuantumSafe)
}
