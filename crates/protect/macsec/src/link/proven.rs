//! The authentication that the keys of a link rest on, judged for as long as they are used.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bartizan_tls::{Endpoint, Established, Refusal};

use super::kept::Proof;

/// The longest without a judgement where nothing has changed.
pub(super) const EVERY: Duration = Duration::from_secs(60);
/// Time before the end of the peer's certificate at which the peer is asked to prove itself by the
/// next one.
const EARLY: Duration = Duration::from_secs(300);

bartizan_registry::made! {
    /// The peer's proof, and when it is judged next.
    #[derive(Debug)]
    pub(super) struct Proven,
    /// By a handshake that has just ended. It may have begun before the files changed, so it is
    /// judged at the next look.
    pub(super) by(established: Arc<Established>, before: Option<&Self>, now: Instant) {
        pub(super) established: Arc<Established>,
        judge_at: Instant = now,
        /// The end of a certificate before which another exchange was asked for.
        asked: Option<SystemTime> = before.and_then(|before| before.asked),
    }
}

/// Fate of the keys.
#[derive(Debug)]
pub(super) enum Judged {
    Stands,
    /// The peer's certificate ends soon.
    Renew,
    /// Such a handshake would be refused now.
    Refused(Refusal),
}

impl Proven {
    /// The same for a successor of this process.
    pub(super) fn proof(&self) -> Proof {
        Proof {
            chain: self.established.facts.chain().map(<[u8]>::to_vec).collect(),
            negotiated: Some(self.established.negotiated.clone()),
        }
    }

    /// Has it judged at the next look.
    pub(super) fn hurry(&mut self, now: Instant) {
        self.judge_at = now;
    }

    /// When the first certificate of the peer's chain ends.
    pub(super) fn ends(&self) -> SystemTime {
        let first = self
            .established
            .chain
            .iter()
            .map(|certificate| certificate.not_after)
            .min();
        let seconds = first.and_then(|first| u64::try_from(first).ok()).unwrap_or_default();
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    /// Judges it where that is due: by the roots, lists, policy and clock of `endpoint`.
    pub(super) fn judge(&mut self, endpoint: &Endpoint, now: Instant, today: SystemTime) -> Judged {
        let ends = self.ends();
        if now < self.judge_at && today <= ends {
            return Judged::Stands;
        }
        self.judge_at = now + EVERY;
        if let Err(refusal) = endpoint.judge_again(&self.established.facts) {
            return Judged::Refused(refusal);
        }
        if ends <= today + EARLY && self.asked.replace(ends) != Some(ends) {
            return Judged::Renew;
        }
        Judged::Stands
    }
}
