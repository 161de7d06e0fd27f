//! Age of the authentication of both ends. Rekeys do not renew it, and the IKE_SA ends with it
//! (RFC 4478).

use std::time::{Duration, Instant};

use bartizan_wire::ike::{Body, Message, NotifyType, Party};

use super::IkeSa;

/// Shortest AUTH_LIFETIME that this end follows: a proof costs both ends a signature.
const SHORTEST: Duration = Duration::from_secs(10);

/// The authentication of an IKE_SA, and of those that take its place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Proof {
    since: Instant,
    /// The role of this end in it.
    role: Party,
    /// Time at which this end is to be done before the responder deletes the IKE_SA
    /// (AUTH_LIFETIME).
    wanted: Option<Instant>,
}

/// The content of AUTH_LIFETIME in a message, in seconds.
fn lifetime(message: &Message<'_>) -> Option<Duration> {
    message.payloads.iter().find_map(|payload| match payload.body {
        Body::Notify { kind, data, .. } if kind == NotifyType::AUTH_LIFETIME => {
            let seconds = data.try_into().map(u32::from_be_bytes).ok()?;
            Some(Duration::from_secs(seconds.into()))
        }
        _ => None,
    })
}

impl IkeSa {
    /// Time at which both ends authenticated each other. A rekeyed IKE_SA keeps it.
    pub fn authenticated(&self) -> Option<Instant> {
        self.proof.map(|proof| proof.since)
    }

    /// Time at which this end is to begin another IKE_SA that authenticates both ends anew. The
    /// responder waits for half of the time that is left: the initiator comes first.
    pub fn authentication_due(&self) -> Option<Instant> {
        let proof = self.proof.filter(|_| self.is_established())?;
        let own = self.config.timing.authentication.map(|lifetime| {
            let late = lifetime.expire.saturating_sub(lifetime.rekey) / 2;
            proof.since
                + lifetime.rekey
                + if proof.role == Party::Initiator {
                    Duration::ZERO
                } else {
                    late
                }
        });
        own.into_iter().chain(proof.wanted).min()
    }

    /// Time at which the IKE_SA is deleted, unless another has succeeded it.
    pub(super) fn authentication_ends(&self) -> Option<Instant> {
        let lifetime = self.config.timing.authentication?;
        self.proof.map(|proof| proof.since + lifetime.expire)
    }

    /// Starts the time: both ends are authenticated.
    pub(super) fn prove_now(&mut self, now: Instant) {
        self.proof = Some(Proof {
            since: now,
            role: self.role,
            wanted: None,
        });
    }

    /// Seconds until this end deletes the IKE_SA: what a responder says by AUTH_LIFETIME.
    pub(super) fn authentication_lifetime(&self) -> Option<[u8; 4]> {
        let lifetime = self.config.timing.authentication?;
        u32::try_from(lifetime.expire.as_secs()).ok().map(u32::to_be_bytes)
    }

    /// Follows an AUTH_LIFETIME of the peer, and leaves as much of it as [`crate::Lifetime::of`].
    pub(super) fn follow_lifetime(&mut self, now: Instant, message: &Message<'_>) {
        if let (Some(proof), Some(lifetime)) = (&mut self.proof, lifetime(message)) {
            proof.wanted = Some(now + (lifetime - lifetime / 11).max(SHORTEST));
        }
    }
}
