//! IKE_SAs that end: why, what is said of it, and what begins in their place.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use bartizan_host::clock;
use bartizan_ike::{Failure, IkeSa, SaId};
use bartizan_wire::ike::NotifyType;

use crate::Daemon;
use crate::association::{Sa, Stage};
use crate::reports::up;
use bartizan_ipsec::watch::NOT_ANEW;

/// Refusals of a certificate or a proof, from the words of `bartizan_ike::Anchors` to charon's
/// alerts and log.
const REFUSALS: [(&str, &str, &str); 6] = [
    ("was revoked", "cert-revoked", "certificate was revoked"),
    (
        "is not known, and must be",
        "cert-validation-failed",
        "certificate status is unknown",
    ),
    (
        "outside its dates",
        "cert-expired",
        "certificate invalid (valid from ... to ...)",
    ),
    ("leads to no authority", "cert-no-issuer", "no issuer certificate found"),
    (
        "algorithm that is not accepted",
        "authorization-failed",
        "constraint check failed",
    ),
    (
        "not of the identity",
        "peer-auth-failed",
        "no trusted certificate of that identity",
    ),
];

impl Daemon {
    /// Ends an IKE_SA together with its peer.
    pub(crate) fn close(&mut self, id: SaId) {
        if let Some(sa) = self.sas.get_mut(&id) {
            let (name, number, is_open) = (sa.connection().to_owned(), sa.number, sa.is_open());
            if sa.stage == Stage::Current {
                sa.stage = Stage::Ending;
            }
            if is_open {
                self.say(id, &format!("deleting IKE_SA {name}[{number}]"));
            }
        }
        self.endpoint.with(id, |sa| sa.close(clock::now()));
    }

    /// Ends IKE_SAs of a connection whose peers it would not accept any more, as after a new list
    /// of revoked certificates. The peer learns of it and is not
    /// waited for: nothing passes from now on.
    pub(crate) fn judge_again(&mut self, connection: &str) {
        let Some(known) = self.connection(connection) else {
            return;
        };
        let config = Arc::clone(&known.config);
        let proven = |sa: &&Sa| sa.connection() == connection && !sa.proven.is_empty();
        let of_it = self.sas.iter().filter(|(_, sa)| proven(sa));
        let refused = of_it.filter_map(|(id, sa)| Some((*id, config.trust.certify(&config.peer, &sa.proven).err()?)));
        let refused: Vec<_> = refused.collect();
        for (id, why) in refused {
            self.say_why(clock::now(), id, &Failure::Authentication(why));
            self.close(id);
            self.endpoint.with(id, IkeSa::discard);
        }
        self.settle();
    }

    pub(crate) fn closed(&mut self, now: Instant, id: SaId, failure: &Failure) {
        self.say_why(now, id, failure);
        // CHILD_SAs that no IKE_SA has any more.
        let held: BTreeSet<u32> = self.endpoint.sas().flat_map(|(_, sa)| sa.children()).collect();
        let orphans = self.children.iter().map(|child| child.inbound);
        let orphans: Vec<u32> = orphans.filter(|inbound| !held.contains(inbound)).collect();
        for inbound in orphans {
            let ends = self.children.iter_mut().filter(|child| child.inbound == inbound);
            // With its IKE_SA, not by itself.
            ends.for_each(|child| child.ending = true);
            self.forget_child(id, inbound, now);
        }
        let section = self.section(id, now);
        let Some(sa) = self.sas.remove(&id) else { return };
        if sa.established.is_some() && sa.stage != Stage::Replaced {
            self.control.event("ike-updown", &up(false, sa.connection(), section));
        }
        self.end_waiting(id, &sa, failure);
        self.refused_anew(&sa, failure);
        self.again(&sa, failure);
        self.forget_unloaded();
    }

    /// Judges the IKE_SA that a refused attempt was to succeed by the certificates that its peer has
    /// proven. The refusal itself proves nothing: a sender that sees the first request can answer it
    /// in the peer's place. Other attempts follow until the engine deletes the IKE_SA.
    fn refused_anew(&mut self, attempt: &Sa, failure: &Failure) {
        let is_refused = matches!(
            failure,
            Failure::Authentication(_) | Failure::Refused(NotifyType::AUTHENTICATION_FAILED)
        );
        let Some(old) = attempt.succeeds.filter(|_| is_refused) else {
            return;
        };
        if self.sas.get(&old).is_some_and(Sa::is_open) {
            self.say(old, &format!("the peer {NOT_ANEW}: {failure}"));
            self.judge_again(attempt.connection());
        }
    }

    /// Begins another where the connection asks for that.
    fn again(&mut self, sa: &Sa, failure: &Failure) {
        let Some(connection) = self.connection(sa.connection()) else {
            return;
        };
        let any = |way: usize| connection.children.iter().any(|child| child.again[way]);
        let [deleted, lost] = [any(0), any(1)];
        let is_alone = !self.sas.values().any(|other| other.is_of(sa.connection()));
        let wanted = match (sa.established, failure) {
            // The peer may be away for longer than any number of tries.
            // A refusal that is not authenticated may be another sender's.
            (None, Failure::Unanswered | Failure::Unauthenticated(_)) => sa.initiator,
            (None, _) => false,
            (Some(_), Failure::Unanswered) => lost,
            (Some(_), Failure::Deleted | Failure::Expired | Failure::Outdated) => deleted,
            (Some(_), _) => false,
        };
        let wanted = connection.loaded && is_alone && wanted && sa.stage == Stage::Current;
        // A lost or unreached peer has already taken its time.
        let is_slow = *failure == Failure::Unanswered;
        if wanted && (is_slow || self.may_begin_again(sa.connection(), clock::now())) {
            // A connection that cannot begin now is begun by the keeper of the links.
            let _ = self.begin(sa.connection(), None, None);
        }
    }

    /// Returns true if a connection that the peer has deleted may begin anew now. Otherwise it
    /// begins as soon as it may.
    pub(crate) fn may_begin_again(&mut self, connection: &str, now: Instant) -> bool {
        let mut connections = self.connections.iter_mut();
        let Some(connection) = connections.find(|known| known.name == connection) else {
            return false;
        };
        let may = connection.allowance.take(now);
        connection.overdue |= !may;
        may
    }

    /// An IKE_SA of a connection, one that is open where there is one, and whether it is.
    pub(crate) fn ike_sa_of(&self, connection: &str) -> Option<(SaId, bool)> {
        let of_it = self.sas.iter().filter(|(_, sa)| sa.is_of(connection));
        of_it
            .map(|(id, sa)| (*id, sa.is_open()))
            .max_by_key(|(_, is_open)| *is_open)
    }

    /// Begins what was deleted by a peer too often, now that it may.
    pub(crate) fn begin_overdue(&mut self, now: Instant) {
        let mut due = Vec::new();
        for known in self
            .connections
            .iter_mut()
            .filter(|known| known.loaded && known.overdue)
        {
            if known.allowance.take(now) {
                known.overdue = false;
                due.push(known.name.clone());
            }
        }
        for name in due {
            match self.ike_sa_of(&name) {
                Some((id, true)) => self.make_wanted(now, id, None),
                // It makes them once it is open.
                Some((_, false)) => {}
                None => _ = self.begin(&name, None, None),
            }
        }
    }

    /// Sets up what packets have asked for.
    pub(crate) fn answer_kernel(&mut self) {
        let now = clock::now();
        for number in self.data_path.asked() {
            let found = self.connections.iter().filter(|known| known.loaded).find_map(|known| {
                let mut children = known.children.iter();
                let child = children.find(|child| child.trap && child.path.reqid == number)?;
                Some((known.name.clone(), child.name.clone()))
            });
            let Some((connection, child)) = found else { continue };
            if self.has_child(&connection, &child) || !self.may_begin_again(&connection, now) {
                continue;
            }
            match self.ike_sa_of(&connection) {
                Some((id, true)) => {
                    if let Some(place) = self.place_in(id, &child) {
                        self.endpoint.with(id, |sa| sa.make_child(now, place));
                    }
                }
                Some((_, false)) => {}
                // If it cannot begin, the next packets ask again.
                None => _ = self.begin(&connection, Some(&child), None),
            }
            self.settle();
        }
    }

    fn say_why(&mut self, now: Instant, id: SaId, failure: &Failure) {
        let Some(sa) = self.sas.get(&id) else { return };
        let (name, number, open) = (sa.connection().to_owned(), sa.number, sa.established.is_some());
        let mut alerts = Vec::new();
        let line = match failure {
            Failure::Unanswered => {
                alerts.extend((!open && sa.initiator).then_some("peer-init-unreachable"));
                Some(format!("giving up after {} retransmits", sa.sent_again))
            }
            Failure::Abandoned => {
                alerts.push("half-open-timeout");
                None
            }
            Failure::Unauthenticated(latest) => return self.say_why(now, id, latest),
            Failure::Refused(kind) => {
                alerts.push(match *kind {
                    NotifyType::AUTHENTICATION_FAILED => "local-auth-failed",
                    NotifyType::NO_PROPOSAL_CHOSEN => "proposal-mismatch-ike",
                    _ => "peer-auth-failed",
                });
                Some(format!("received {kind} notify error"))
            }
            Failure::NoProposal => {
                alerts.push("proposal-mismatch-ike");
                Some(failure.to_string())
            }
            Failure::Authentication(reason) => {
                let known = REFUSALS.iter().find(|(sign, ..)| reason.contains(sign));
                if let Some((_, alert, words)) = known {
                    alerts.push(alert);
                    self.say(id, words);
                }
                alerts.push("peer-auth-failed");
                Some(failure.to_string())
            }
            Failure::Deleted => Some(format!("received DELETE for IKE_SA {name}[{number}]")),
            Failure::Expired => {
                alerts.push("ike-sa-expired");
                None
            }
            Failure::Outdated => {
                alerts.push("ike-sa-expired");
                Some(format!("the peer {NOT_ANEW} in time"))
            }
            // Said where it was begun.
            Failure::Closed | Failure::Dropped | Failure::Replaced => None,
            other => {
                alerts.push("peer-auth-failed");
                Some(other.to_string())
            }
        };
        if let Some(line) = line {
            self.say(id, &line);
        }
        for alert in alerts {
            self.alert(id, alert, now);
        }
    }
}
