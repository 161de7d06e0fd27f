//! Authentication behind the keys of a link: judged while they are used, and written down for a
//! successor.

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use bartizan_tls::Established;

use super::proven::{Judged, Proven};
use super::{Link, UNPROVEN, kept, record};
use crate::boot::Boot;

impl Link {
    /// The peer has proven itself to this process.
    pub(super) fn proven_by(&mut self, established: Arc<Established>, now: Instant) {
        self.proven = Some(Proven::by(established, self.proven.as_ref(), now));
        self.left = None;
        self.kept.proven();
    }

    /// Deadline of the keys by the peer's certificate, or by the record of a predecessor.
    pub(super) fn certificate_ends(&self, now: Instant) -> Option<SystemTime> {
        let of_record = self.left.as_ref().and_then(|left| left.ends);
        let of_record = of_record.map(|at| SystemTime::now() + at.saturating_duration_since(now));
        self.proven.as_ref().map(Proven::ends).or(of_record)
    }

    /// Writes the record that a successor of this process judges the keys by.
    pub(super) fn keep(&mut self, now: Instant) {
        let Some((authenticated, ends, names)) = self.keyer.facts(&self.kept.installed) else {
            return;
        };
        let certificate_ends = self.certificate_ends(now);
        let (proven, left) = (&self.proven, &self.left);
        let proof = || match (proven, left) {
            (Some(proven), _) => proven.proof(),
            (None, left) => left.as_ref().map(|left| left.proof.clone()).unwrap_or_default(),
        };
        let facts = kept::Facts {
            names,
            authenticated,
            ends,
            certificate_ends,
            proof: &proof,
        };
        if let Err(error) = self.kept.save(&self.setting, facts, now, &Boot::now()) {
            let hint = "a controller that is started now removes the keys that it finds";
            self.seen
                .trouble(&format!("the keys are not recorded ({error}): {hint}"));
        }
    }

    /// Judges what the keys rest on by the files and the date of now.
    pub(super) fn judge(&mut self, now: Instant) {
        let endpoint = self.exchange.as_ref().map(|(endpoint, _)| endpoint);
        let endpoint = endpoint.or_else(|| self.eap.as_ref().map(|port| &port.endpoint));
        if let Some(left) = &mut self.left {
            let judged = endpoint.map_or(Ok(()), |endpoint| left.judge(&self.setting, endpoint, now));
            let said = match judged {
                Ok(()) if left.ends.is_some_and(|at| at <= now) => UNPROVEN.to_owned(),
                Ok(()) => return,
                Err(refusal) => {
                    self.recorder
                        .record(record::no_longer_admitted(&self.setting, &refusal, None));
                    refusal.detail
                }
            };
            self.keyer.end(now);
            return self.cease(&said, now);
        }
        let (Some(endpoint), Some(proven)) = (endpoint, &mut self.proven) else {
            return;
        };
        match proven.judge(endpoint, now, SystemTime::now()) {
            Judged::Stands => {}
            Judged::Renew => self.rekey(true, now),
            Judged::Refused(refusal) => {
                let event = record::no_longer_admitted(&self.setting, &refusal, Some(&proven.established));
                self.recorder.record(event);
                tracing::warn!(link = %self.setting.name, hint = %refusal.hint, "the peer would be refused now: {refusal}");
                self.keyer.end(now);
                self.cease(&refusal.detail, now);
            }
        }
    }
}
