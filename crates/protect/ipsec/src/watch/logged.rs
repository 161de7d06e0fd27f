//! Facts that only charon's log has: the peers' authentication, and the exchange of IKE messages.
//!
//! Its lines are for people and may change from version to version: what is not understood is left out, and the record says that
//! it was not seen.

use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use bartizan_ledger::Messages;

use super::ending;
use crate::drive::reason;
use crate::vici::Section;

/// Lines kept of an IKE_SA, each cut to so many characters: those that say why something was refused or ended are few.
const LINES: usize = 6;
const LINE: usize = 240;

/// Certificates of a chain.
const CHAIN: usize = 8;

/// IKE_SAs kept in mind. Attempts that never come to anything are forgotten, oldest first, beyond it.
const AT_MOST: usize = 4096;

bartizan_registry::made! {
    /// Log entries of an IKE_SA.
    #[derive(Debug, Clone)]
    pub(crate) struct SaLog, begin() {
        /// When it was first heard of.
        pub(crate) begun: Instant = Instant::now(),
        pub(crate) messages: Messages = Messages::default(),
        /// Our authentication, in charon's words.
        pub(crate) local: Option<String> = None,
        /// The peer's authentication.
        pub(crate) peer: Option<String> = None,
        /// Signature algorithms of our certificates and of the peer's; only the engine of Bartizan
        /// reports them.
        pub(crate) chains: [Vec<String>; 2] = Default::default(),
        /// Lines with the reason of a refusal or an end.
        pub(crate) lines: VecDeque<String> = VecDeque::new(),
        /// Fragments of the message that goes out, or comes in, next.
        splitting: u64 = 0,
        /// The one whose place it took by a rekey.
        before: Option<u32> = None,
    }
}

/// Tales by charon's number of the IKE_SA.
#[derive(Debug, Default)]
pub(crate) struct Logged(HashMap<u32, SaLog>);

impl Logged {
    pub(crate) fn of(&self, id: u32) -> Option<&SaLog> {
        self.0.get(&id)
    }

    /// The lines that said why something of it was refused, or ended.
    pub(crate) fn lines(&self, id: u32) -> impl Iterator<Item = &str> + Clone {
        let lines = self.0.get(&id).into_iter().flat_map(|sa_log| &sa_log.lines);
        lines.map(String::as_str)
    }

    /// Takes note of facts that an alert has and the log does not.
    pub(crate) fn note(&mut self, id: u32, line: &str) {
        self.0.entry(id).or_insert_with(SaLog::begin).keep(line);
    }

    /// Refusals that were logged until now have been used. Lines about an end stay: the refusal of
    /// what was to take the place of an SA that expired comes in the same moment, and its record
    /// may be the first.
    pub(crate) fn turn_over(&mut self, id: u32) {
        if let Some(sa_log) = self.0.get_mut(&id) {
            sa_log.lines.retain(|line| ending::tells(line));
        }
    }

    pub(crate) fn forget(&mut self, id: u32) {
        self.0.remove(&id);
    }

    /// A rekey proves nothing anew: what the one before has proven holds on.
    pub(crate) fn carry_on(&mut self, old: u32, new: u32) {
        let Some(before) = self.0.get(&old).cloned() else {
            return;
        };
        let sa_log = self.0.entry(new).or_insert_with(|| SaLog {
            lines: VecDeque::new(),
            ..before.clone()
        });
        sa_log.before = Some(old);
        sa_log.take_over(&before);
    }

    /// A line of the log: `log` events have `ikesa-uniqueid` and `msg`.
    pub(crate) fn hear(&mut self, event: &Section) {
        let Some(id) = event.number("ikesa-uniqueid").and_then(|id| id.try_into().ok()) else {
            return;
        };
        let Some(line) = event.text("msg") else { return };
        if self.0.len() >= AT_MOST && !self.0.contains_key(&id) {
            let oldest = self.0.iter().min_by_key(|(_, sa_log)| sa_log.begun).map(|(id, _)| *id);
            oldest.map(|oldest| self.0.remove(&oldest));
        }
        let sa_log = self.0.entry(id).or_insert_with(SaLog::begin);
        sa_log.hear(line);
        // The log may report a proof only after the event that reported the rekey.
        if sa_log.local.is_some() || sa_log.peer.is_some() {
            let sa_log = sa_log.clone();
            let later = self.0.values_mut().filter(|later| later.before == Some(id));
            later.for_each(|later| later.take_over(&sa_log));
        }
    }
}

impl SaLog {
    /// Takes the predecessor's authentication over, unless the IKE_SA has one of its own.
    fn take_over(&mut self, before: &Self) {
        self.local = self.local.take().or_else(|| before.local.clone());
        self.peer = self.peer.take().or_else(|| before.peer.clone());
        for (ours, theirs) in self.chains.iter_mut().zip(&before.chains) {
            if ours.is_empty() {
                ours.clone_from(theirs);
            }
        }
    }

    fn keep(&mut self, line: &str) {
        if self.lines.len() == LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(line.trim().chars().take(LINE).collect());
    }

    fn hear(&mut self, line: &str) {
        if reason::tells(line) || ending::tells(line) {
            self.keep(line);
        }
        if let Some((_, rest)) = line.split_once("authentication of '") {
            let Some((_, method)) = rest.split_once("' ") else {
                return;
            };
            let Some(method) = method.strip_suffix(" successful") else {
                return;
            };
            match method.strip_prefix("(myself) with ") {
                Some(method) => self.local = Some(bounded(method)),
                None => self.peer = method.strip_prefix("with ").map(bounded),
            }
        } else if let Some((_, rest)) = line.split_once("certificates of '") {
            let names = rest.split_once("' ").map_or("", |(_, said)| said);
            let (end, names) = match names.strip_prefix("(myself) ") {
                Some(names) => (0, names),
                None => (1, names),
            };
            let names = names.strip_prefix("are signed with ").unwrap_or_default();
            let names = names.split(", ").filter(|name| !name.is_empty());
            self.chains[end] = names.take(CHAIN).map(bounded).collect();
        } else if let Some(bytes) = line.strip_prefix("sending packet: ").and_then(size) {
            self.messages.packets.sent += 1;
            self.messages.bytes.sent += bytes;
            self.messages.fragments.sent += u64::from(self.splitting > 0);
            self.splitting = self.splitting.saturating_sub(1);
        } else if let Some(bytes) = line.strip_prefix("received packet: ").and_then(size) {
            self.messages.packets.received += 1;
            self.messages.bytes.received += bytes;
        } else if line.starts_with("received fragment #") {
            self.messages.fragments.received += 1;
        } else if let Some((_, fragments)) = line.split_once(" bytes) into ") {
            let fragments = fragments
                .strip_suffix(" fragments")
                .and_then(|count| count.parse().ok());
            self.splitting = fragments.unwrap_or_default();
        }
    }
}

/// A method's name is short; what is not is no method.
fn bounded(method: &str) -> String {
    method.chars().take(64).collect()
}

/// The bytes at the end of `... (248 bytes)`.
fn size(line: &str) -> Option<u64> {
    line.rsplit_once('(')?.1.strip_suffix(" bytes)")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of charon 6.1.0.
    #[test]
    fn a_set_up_is_recognised_by_its_log() {
        let mut logged = Logged::default();
        for line in [
            "initiating IKE_SA e2[1] to 10.77.0.2",
            "sending packet: from 10.77.0.1[500] to 10.77.0.2[500] (248 bytes)",
            "received packet: from 10.77.0.2[500] to 10.77.0.1[500] (281 bytes)",
            "splitting IKE message (1249 bytes) into 2 fragments",
            "sending packet: from 10.77.0.1[4500] to 10.77.0.2[4500] (1248 bytes)",
            "sending packet: from 10.77.0.1[4500] to 10.77.0.2[4500] (66 bytes)",
            "authentication of 'near.test' (myself) with ECDSA_WITH_SHA256_DER successful",
            "sending packet: from 10.77.0.1[4500] to 10.77.0.2[4500] (650 bytes)",
            "received fragment #1 of 2, waiting for complete IKE message",
            "authentication of 'far.test' with ED25519 successful",
            "authentication of 'far.test' with",
            "certificates of 'far.test' are signed with id-ml-dsa-65, id-ml-dsa-87",
            "certificates of 'near.test' (myself) are signed with id-ml-dsa-44",
            "sending packet: (many bytes)",
        ] {
            logged.hear(&Section::new().with("ikesa-uniqueid", "1").with("msg", line));
        }
        logged.hear(&Section::new().with("msg", "sending packet: from nobody (1 bytes)"));
        let sa_log = logged.of(1).unwrap();
        let Messages {
            packets,
            bytes,
            fragments,
        } = sa_log.messages;
        assert_eq!((packets.sent, packets.received), (4, 1));
        assert_eq!((bytes.sent, bytes.received), (248 + 1248 + 66 + 650, 281));
        assert_eq!((fragments.sent, fragments.received), (2, 1));
        assert_eq!(sa_log.local.as_deref(), Some("ECDSA_WITH_SHA256_DER"));
        assert_eq!(sa_log.peer.as_deref(), Some("ED25519"));
        assert_eq!(sa_log.chains[0], ["id-ml-dsa-44"]);
        assert_eq!(sa_log.chains[1], ["id-ml-dsa-65", "id-ml-dsa-87"]);
        logged.carry_on(1, 2);
        assert_eq!(logged.of(2).unwrap().peer.as_deref(), Some("ED25519"));
    }

    #[test]
    fn a_proof_that_is_reported_after_the_rekey_holds_for_the_one_that_took_its_place() {
        let mut logged = Logged::default();
        let hear = |logged: &mut Logged, id: &str, line: &str| {
            logged.hear(&Section::new().with("ikesa-uniqueid", id).with("msg", line));
        };
        hear(&mut logged, "1", "initiating IKE_SA e2[1] to 10.77.0.2");
        logged.carry_on(1, 2);
        hear(&mut logged, "1", "authentication of 'far.test' with ED25519 successful");
        assert_eq!(logged.of(2).unwrap().peer.as_deref(), Some("ED25519"));
        assert_eq!(logged.of(2).unwrap().local, None);
    }

    #[test]
    fn a_refusal_takes_nothing_away_from_what_is_said_of_an_end_in_the_same_moment() {
        let mut logged = Logged::default();
        let end = "closing expired CHILD_SA E2{2} with SPIs 17dc0641_i d2bf56a0_o and TS 10.78.0.1/32 === 10.78.0.2/32";
        for line in [end, "received NO_PROPOSAL_CHOSEN notify, no CHILD_SA built"] {
            logged.hear(&Section::new().with("ikesa-uniqueid", "1").with("msg", line));
        }
        assert_eq!(logged.lines(1).count(), 2);
        logged.turn_over(1);
        assert_eq!(logged.lines(1).collect::<Vec<_>>(), [end]);
    }

    #[test]
    fn attempts_without_end_are_forgotten() {
        let mut logged = Logged::default();
        for id in 0..=AT_MOST {
            logged.hear(&Section::new().with("ikesa-uniqueid", id.to_string()).with("msg", "x"));
        }
        assert_eq!(logged.0.len(), AT_MOST);
    }
}
