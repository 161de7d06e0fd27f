//! Refusals: charon's alerts, and its log if it raises none.
//!
//! Alerts are stable words; the log says the rest a moment later, so a refusal waits for it, and what belongs together becomes one.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bartizan_ledger::{Asked, Direction, Event, Refuser, SaRefused};

use super::{Expectation, Notice, TELL, Watch, ending};
use crate::drive::{Cause, Reason, reason};
use crate::sa::IkeSa;
use crate::vici::Section;

/// Alerts about a refusal, with the word for it where charon's log does not give a better one, and
/// what to do. Those further down follow from those further up.
const REFUSALS: [(&str, Cause, &str); 15] = [
    (
        "cert-revoked",
        Cause::Revoked,
        "the peer needs a new certificate: `bartizan ca issue --dns NAME`",
    ),
    (
        "cert-expired",
        Cause::Expired,
        "renew it with `bartizan ca issue --dns NAME`, and compare the clocks of both hosts",
    ),
    (
        "cert-validation-failed",
        Cause::RevocationUnknown,
        "the policy requires a current revocation list: `bartizan ca crl`",
    ),
    ("cert-no-issuer", Cause::UnknownCa, UNKNOWN_CA),
    ("cert-untrusted-root", Cause::UnknownCa, UNKNOWN_CA),
    ("cert-exceeded-path-len", Cause::NotAccepted, NOT_ACCEPTED),
    ("cert-policy-violation", Cause::NotAccepted, NOT_ACCEPTED),
    ("authorization-failed", Cause::NotAccepted, NOT_ACCEPTED),
    (
        "proposal-mismatch-ike",
        Cause::NoCommonProposal,
        "both ends must name a key exchange in common",
    ),
    (
        "proposal-mismatch-child",
        Cause::NoCommonProposal,
        "both ends must name a key exchange in common",
    ),
    (
        "ts-mismatch",
        Cause::NoCommonTraffic,
        "both ends must name the same inner networks and ports",
    ),
    (
        "install-child-sa-failed",
        Cause::NotInstalled,
        "the kernel did not take the SA: the log of the IKE engine says why",
    ),
    (
        "install-child-policy-failed",
        Cause::NotInstalled,
        "the kernel did not take the policy: the log of the IKE engine says why",
    ),
    (
        "peer-auth-failed",
        Cause::NotAuthenticated,
        "the log of the IKE engine says more",
    ),
    (
        "local-auth-failed",
        Cause::PeerRefused,
        "the peer did not accept this node: `bartizan status` there, its ledger and the log of its `up` name the reason",
    ),
];

const UNKNOWN_CA: &str = "the peer's certificate must come from a root that this node trusts";
const NOT_ACCEPTED: &str = "the peer's certificate or signature is not what the policy accepts";

/// charon's line, without an alert, if no connection matches a peer's addresses.
const NO_CONNECTION: &str = "no IKE config found for ";

/// charon's lines, without an alert, about an exchange that failed under an IKE_SA that stands, at
/// the end that asked and at the one that refused.
const EXCHANGES: [&str; 5] = [
    "CHILD_SA rekeying failed, trying again in ",
    "IKE_SA rekeying failed, trying again in ",
    " notify, no CHILD_SA built",
    "unable to create CHILD_SA while ",
    "unable to rekey CHILD_SA ",
];

/// An IKE_SA whose lifetime is over.
const EXPIRED: &str = "ike-sa-expired";

/// Time that refusals of one kind go on without another notice: both ends try again every few
/// seconds, and any host can be refused.
const QUIET: Duration = Duration::from_secs(600);

/// Which refusals a notice was given of, when, and how many have come since: no more kinds than the file's connections and the words allow.
#[derive(Debug, Default)]
pub(super) struct Said(HashMap<Kind, (Instant, u64)>);

/// Connection, who began, who refused, and the word of it.
type Kind = (Option<String>, Direction, Refuser, String);

impl Said {
    /// Number of refusals since the last notice of the kind, this one included. None if it is not
    /// due.
    fn again(&mut self, refused: &SaRefused) -> Option<u64> {
        let kind = (
            refused.connection.clone(),
            refused.direction,
            refused.by,
            refused.reason.clone(),
        );
        match self.0.get_mut(&kind) {
            Some((at, times)) if at.elapsed() < QUIET => {
                *times += 1;
                None
            }
            Some((at, times)) => {
                *at = Instant::now();
                Some(std::mem::take(times) + 1)
            }
            None => {
                self.0.insert(kind, (Instant::now(), 0));
                Some(1)
            }
        }
    }

    /// Makes earlier refusals of a connection worth a notice again.
    pub(super) fn forget(&mut self, connection: &str) {
        self.0.retain(|(known, ..), _| known.as_deref() != Some(connection));
    }
}

/// A refusal that waits for charon's log.
#[derive(Debug)]
pub(super) struct Trouble {
    /// charon's number of the IKE_SA.
    id: u32,
    since: Instant,
    sa: Option<IkeSa>,
    addresses: Option<[SocketAddr; 2]>,
    /// The place of its first alert in the table.
    alert: Option<usize>,
    unreachable: bool,
}

impl Watch<'_> {
    /// An `alert` of charon.
    pub(super) fn alert(&mut self, message: &Section, notice: &mut dyn FnMut(Notice<'_>)) {
        let sa = message
            .section("ike-sa")
            .and_then(|of| of.sections().find_map(|(connection, sa)| IkeSa::read(connection, sa)));
        let (Some(kind), Some(sa)) = (message.text("type"), sa) else {
            return;
        };
        match kind {
            "retransmit-send" => self.unanswered(&sa, notice),
            "retransmit-send-cleared" => self.answered(sa.id, &sa.connection, notice),
            "peer-init-unreachable" => self.trouble(sa, None, true),
            // It is about to go, and its end says so, unless it never stood.
            "retransmit-send-timeout" if sa.state == "CONNECTING" => self.trouble(sa, None, true),
            "half-open-timeout" => self.trouble(sa, None, false),
            EXPIRED => self.logged.note(sa.id, ending::LIFETIME),
            _ => {
                if let Some(place) = REFUSALS.iter().position(|(alert, ..)| *alert == kind) {
                    self.trouble(sa, Some(place), false);
                }
            }
        }
    }

    /// A line of charon's log that no alert goes with.
    pub(super) fn overheard(&mut self, message: &Section) {
        let (Some(line), Some(id)) = (message.text("msg"), message.number("ikesa-uniqueid")) else {
            return;
        };
        let Ok(id) = u32::try_from(id) else { return };
        if EXCHANGES.iter().any(|sign| line.contains(sign))
            && let Some(sa) = self.tracked.sa(id)
        {
            self.trouble(sa.clone(), None, false);
            return;
        }
        let Some((_, rest)) = line.split_once(NO_CONNECTION) else {
            return;
        };
        let hosts = rest.split_once(',').map_or(rest, |(hosts, _)| hosts);
        let ends = hosts.split_once("...").and_then(|(here, there)| {
            let address = |text: &str| Some(SocketAddr::new(text.trim().parse().ok()?, 500));
            Some([address(here)?, address(there)?])
        });
        self.troubles.push(Trouble {
            id,
            since: Instant::now(),
            sa: None,
            addresses: ends,
            alert: None,
            unreachable: false,
        });
    }

    fn trouble(&mut self, sa: IkeSa, alert: Option<usize>, unreachable: bool) {
        match self.troubles.iter_mut().find(|known| known.id == sa.id) {
            // An alert that names the cause takes precedence over one that follows from it,
            // whenever it comes.
            Some(known) => known.alert = [known.alert, alert].into_iter().flatten().min(),
            None => self.troubles.push(Trouble {
                id: sa.id,
                since: Instant::now(),
                addresses: sa.local.zip(sa.remote).map(|(local, remote)| [local, remote]),
                sa: Some(sa),
                alert,
                unreachable,
            }),
        }
    }

    /// Records the refusals that charon's log has reported, or will not; all of them at the end.
    pub(super) fn refuse(&mut self, all: bool, notice: &mut dyn FnMut(Notice<'_>)) {
        let ready = |trouble: &mut Trouble| all || trouble.since.elapsed() >= TELL;
        let ready: Vec<_> = self.troubles.extract_if(.., ready).collect();
        for trouble in ready {
            let (refused, hint) = self.refused(&trouble);
            self.logged.turn_over(trouble.id);
            self.metrics.refused(&refused);
            self.memory.refused(&refused);
            if let Some(times) = self.said.again(&refused) {
                notice(Notice::Refused(&refused, hint, times));
            }
            self.recorder.record(Event::SaRefused(Box::new(refused)));
        }
    }

    fn refused(&self, trouble: &Trouble) -> (SaRefused, &'static str) {
        let sa = trouble.sa.as_ref();
        let reason = self.reason(trouble);
        let by_name = sa.and_then(|sa| self.expectations.of(&sa.connection));
        let expectation = by_name.or_else(|| {
            let there = trouble.addresses?[1].ip();
            let is_there = |known: &&Expectation| known.ends.as_ref().is_some_and(|ends| ends.remote == Some(there));
            let mut known = self.expectations.iter().filter(is_there);
            // Behind one NAT there may be several, and nothing says which of them it was.
            known.next().filter(|_| known.next().is_none())
        });
        // An initiator judges the responder when that has already established the IKE_SA.
        let late = reason.cause == Cause::PeerRefused;
        let others = expectation.is_some_and(|known| self.tracked.has(&known.connection, Some(trouble.id)));
        let what = match sa {
            Some(sa) if sa.stands() && !late => Asked::Exchange,
            _ if others => Asked::ReAuthentication,
            _ => Asked::SetUp,
        };
        let of_peer =
            late || trouble.unreachable || reason.sentence.contains("received ") && reason.sentence.contains(" notify");
        let mut interfaces: Vec<_> = expectation
            .into_iter()
            .flat_map(|known| known.children.iter().map(|child| child.interface.name().to_owned()))
            .collect();
        interfaces.dedup();
        let refused = SaRefused {
            key: sa.and_then(|sa| sa.key),
            connection: expectation.map(|known| known.connection.clone()),
            interfaces,
            direction: match sa {
                Some(sa) if sa.initiator => Direction::Outbound,
                _ => Direction::Inbound,
            },
            peer: expectation.map(|known| known.peer.clone()),
            peer_identity: sa.and_then(|sa| sa.peer_identity.clone()).filter(|name| name != "%any"),
            local_address: trouble.addresses.map(|[here, _]| here),
            peer_address: trouble.addresses.map(|[_, there]| there),
            what,
            by: if of_peer { Refuser::Peer } else { Refuser::Us },
            reason: reason.cause.to_string(),
            detail: reason.sentence,
        };
        (refused, reason.hint)
    }

    fn reason(&self, trouble: &Trouble) -> Reason {
        let lines = self.logged.lines(trouble.id);
        if let Some(known) = reason::known(lines) {
            return known;
        }
        if let Some((alert, cause, hint)) = trouble.alert.and_then(|place| REFUSALS.get(place)) {
            return Reason {
                cause: *cause,
                sentence: format!("alert of the IKE engine: {alert}"),
                hint,
            };
        }
        let (cause, sentence, hint) = match trouble.unreachable {
            true => (
                Cause::Unreachable,
                "no answer to the first message",
                "UDP ports 500 and 4500 must pass in both directions, and an IKE engine must run there",
            ),
            false => (
                Cause::Unfinished,
                "the peer began and did not go on",
                "the peer's log says why",
            ),
        };
        Reason {
            cause,
            sentence: sentence.to_owned(),
            hint,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_a_cause_comes_before_what_follows_from_it() {
        let place = |alert: &str| REFUSALS.iter().position(|(name, ..)| *name == alert).unwrap();
        for cause in [
            "cert-revoked",
            "cert-expired",
            "cert-no-issuer",
            "cert-untrusted-root",
            "cert-policy-violation",
        ] {
            assert!(place(cause) < place("peer-auth-failed"), "{cause}");
        }
        assert!(place("proposal-mismatch-ike") < place("local-auth-failed"));
    }
}
