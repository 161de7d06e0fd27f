//! Configuration of an end.

use std::sync::Arc;
use std::time::Duration;

use bartizan_wire::ike::Transform;

use crate::allowance::Pace;
use crate::credential::{Identity, SigningKey};
use crate::key_exchange::Secret;
use crate::selector::Selector;
use crate::trust::Trust;

/// Configuration of one end: its proposals, identities and times.
pub struct Config {
    /// Proposals of the IKE_SA, the best first: transforms of ENCR, PRF, KE and ADDKE, of INTEG
    /// where the cipher is no AEAD.
    pub proposals: Vec<Vec<Transform>>,
    /// The CHILD_SA that is made with it, unless this end begins with another.
    pub child: ChildConfig,
    /// Further ones, each for traffic of its own. Either end asks for them; by its traffic it is
    /// known which is meant. Their places are from 1 on, that of the first is 0.
    pub more: Vec<ChildConfig>,
    /// Identity of this end.
    pub identity: Identity,
    /// Identity that the peer must prove.
    pub peer: Identity,
    /// This end's certificate, and those that lead to an authority, in DER.
    pub certificates: Vec<Vec<u8>>,
    /// The key of the first.
    pub key: SigningKey,
    /// A secret that both ends share, besides the certificates.
    pub ppk: Option<Ppk>,
    /// Verification of the peer's proof.
    pub trust: Arc<dyn Trust>,
    /// Timers and lifetimes.
    pub timing: Timing,
    /// The longest datagram of IKE, in bytes behind its UDP header, a non-ESP marker among them;
    /// longer messages are sent in fragments where the peer takes them. Below 128 nothing fits.
    pub longest: usize,
    /// True if ESP is carried in UDP without a NAT on the path. This end then reports its address
    /// as translated, as RFC 7296, section 2.23 allows, so that the peer sends to port 4500 too.
    pub always_in_udp: bool,
}

/// A post-quantum pre-shared key. If both ends have it, every key of a CHILD_SA, and of each IKE_SA
/// that replaces the first, is derived from it.
pub struct Ppk {
    /// Identifier shared by both ends, PPK_ID_FIXED.
    pub identity: Vec<u8>,
    /// At least as many bytes as the key of the cipher that it is to protect.
    pub secret: Secret,
    /// True if a peer without it is refused.
    pub required: bool,
    /// True if it is mixed in by IKE_INTERMEDIATE, provided that the peer supports that (RFC 9867):
    /// identities and all else of IKE_AUTH are then protected by it too. Otherwise it is mixed in
    /// by IKE_AUTH (RFC 8784).
    pub early: bool,
}

/// Traffic of a CHILD_SA, and its protection.
pub struct ChildConfig {
    /// Proposals of ESP, the best first: transforms of ENCR and SN, of INTEG where the cipher is no
    /// AEAD. Transforms of KE and ADDKE say by which key exchanges a CHILD_SA is replaced; the
    /// first CHILD_SA follows from those of the IKE_SA (RFC 7296, section 1.2).
    pub proposals: Vec<Vec<Transform>>,
    /// Tunnel or transport.
    pub mode: Mode,
    /// Traffic of this end.
    pub local: Vec<Selector>,
    /// Traffic of the peer.
    pub remote: Vec<Selector>,
}

/// ESP mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Whole IP packets between gateways.
    Tunnel,
    /// The payload of packets between two hosts.
    Transport,
}

/// Timers and lifetimes of an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// Until the first retransmission of a request; each further one waits twice as long.
    pub retransmit: Duration,
    /// The longest of these waits: a peer that comes back is met within it.
    pub longest_wait: Duration,
    /// Retransmissions before a peer counts as unreachable.
    pub attempts: u32,
    /// Time for which this end keeps state that the peer has to complete: an IKE_SA whose peer has
    /// not authenticated itself, additional key exchanges that it began.
    pub half_open: Duration,
    /// Silence after which the peer is asked whether it is alive; none asks never.
    pub liveness: Option<Duration>,
    /// Until an SA that the peer did not replace when it was asked to is tried again; up to twice that, by chance.
    pub again: Duration,
    /// Lifetime of the IKE_SA; none is without end.
    pub ike: Option<Lifetime>,
    /// Lifetime of each CHILD_SA.
    pub child: Option<Lifetime>,
    /// Lifetime of the authentication of both ends, which rekeys do not renew: when they are to
    /// authenticate each other anew, and when the IKE_SA is deleted. None is without end.
    pub authentication: Option<Lifetime>,
    /// Rate at which the peer may ask for SAs, replacements included: key exchanges are work.
    /// Further requests are answered with TEMPORARY_FAILURE.
    pub asked: Pace,
}

impl Config {
    /// Every CHILD_SA that an IKE_SA may have, by place.
    pub(crate) fn children(&self) -> impl Iterator<Item = &ChildConfig> {
        std::iter::once(&self.child).chain(&self.more)
    }

    /// The one of a place.
    pub(crate) fn child_of(&self, place: usize) -> &ChildConfig {
        self.children().nth(place).unwrap_or(&self.child)
    }
}

bartizan_registry::made! {
    /// Lifetime of an SA.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Lifetime,
    /// One after which an SA is replaced, and a tenth of it to do so.
    pub of(rekey: Duration) {
        /// Age at which this end replaces it: up to a tenth earlier, by chance, so that both ends
        /// seldom do at once (RFC 7296, section 2.8.1).
        pub rekey: Duration,
        /// Age at which it is deleted if it was not replaced.
        pub expire: Duration = rekey + rekey / 10,
    }
}

impl Timing {
    /// The wait behind this one.
    pub(crate) fn longer(&self, wait: Duration) -> Duration {
        // One that begins above the bound stays as it is.
        wait.saturating_mul(2).min(self.longest_wait.max(wait))
    }

    /// Time for which a request is retransmitted before its peer counts as unreachable, and thus
    /// for which the peer's request may still arrive.
    pub(crate) fn patience(&self) -> Duration {
        let mut wait = self.retransmit;
        let mut all = wait;
        for _ in 0..self.attempts {
            wait = self.longer(wait);
            all = all.saturating_add(wait);
        }
        all
    }
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            retransmit: Duration::from_millis(500),
            longest_wait: Duration::from_secs(64),
            attempts: 7,
            half_open: Duration::from_secs(30),
            liveness: Some(Duration::from_secs(30)),
            again: Duration::from_secs(10),
            // strongSwan's.
            ike: Some(Lifetime::of(Duration::from_hours(4))),
            child: Some(Lifetime::of(Duration::from_hours(1))),
            authentication: None,
            asked: Pace {
                at_once: 32,
                each: Duration::from_secs(1),
            },
        }
    }
}
