//! Peers that give no answer, out of charon's alerts about messages that it sends again.
//!
//! They are counted by IKE_SA: one that the peer has forgotten goes unanswered while another is answered. A link is silent when none of
//! its IKE_SAs is answered.

use std::collections::HashMap;
use std::time::SystemTime;

use bartizan_ledger::Why;

use super::track::Tracked;
use super::{Notice, Silence, Watch};
use crate::sa::IkeSa;

/// Retransmissions without an answer from which on a peer counts as silent: one may be lost on the way.
const SILENT: u32 = 2;

/// State of messages without an answer.
#[derive(Debug, Default)]
pub(super) struct DeadPeers {
    /// By charon's number of the IKE_SA, established or not.
    unanswered: HashMap<u32, Silence>,
    /// IKE_SAs that were given up, by connection: their peers have not answered since.
    given_up: HashMap<String, Silence>,
    /// Those that a notice was given of, by connection.
    noticed: HashMap<String, Silence>,
}

impl DeadPeers {
    /// Returns true if messages of this IKE_SA have gone unanswered for so often that its peer
    /// counts as silent.
    pub(super) fn is_silent(&self, id: u32) -> bool {
        self.unanswered
            .get(&id)
            .is_some_and(|silence| silence.retransmissions >= SILENT)
    }

    /// Returns true if the last message to the peer of this connection was answered, in any IKE_SA.
    pub(super) fn is_answered(&self, connection: &str, tracked: &Tracked) -> bool {
        self.of(connection, tracked).is_none()
    }

    /// That of a link: none where one of its established IKE_SAs has nothing unanswered.
    fn of(&self, connection: &str, tracked: &Tracked) -> Option<&Silence> {
        if tracked.of(connection).any(|id| !self.unanswered.contains_key(&id)) {
            return None;
        }
        let unanswered = self.unanswered.values().chain(self.given_up.values());
        unanswered
            .filter(|silence| silence.connection == connection)
            .min_by_key(|silence| silence.since)
    }

    /// Takes note of an answer in this IKE_SA: other attempts, and those that were given up, are over.
    fn answered(&mut self, id: u32, connection: &str, tracked: &Tracked) {
        self.given_up.remove(connection);
        self.unanswered.retain(|other, silence| {
            *other != id && (silence.connection != connection || tracked.of(connection).any(|stands| stands == *other))
        });
    }

    /// Takes note of the end of an IKE_SA, or of an attempt at one.
    fn ended(&mut self, id: u32, connection: &str, why: Why, tracked: &Tracked) {
        let silence = self.unanswered.remove(&id);
        if tracked.has(connection, None) {
            return;
        }
        match (why, silence) {
            (Why::PeerLost, Some(silence)) => {
                self.given_up.entry(connection.to_owned()).or_insert(silence);
            }
            (Why::PeerLost, None) => {}
            // Any other end: no message waits for an answer any more, which does not mean that
            // there was one.
            _ => {
                self.given_up.remove(connection);
                self.noticed.remove(connection);
            }
        }
    }

    /// Forgets all of it: charon is no more.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

impl Watch<'_> {
    /// charon has sent a message again.
    pub(super) fn unanswered(&mut self, sa: &IkeSa, notice: &mut dyn FnMut(Notice<'_>)) {
        let Some(expected) = self.expectations.of(&sa.connection) else {
            return;
        };
        let known = self.silences.unanswered.entry(sa.id).or_insert_with(|| Silence {
            connection: sa.connection.clone(),
            peer: expected.peer.clone(),
            since: SystemTime::now(),
            retransmissions: 0,
            stands: false,
        });
        known.retransmissions += 1;
        known.stands = sa.stands();
        self.see_silence(&sa.connection, notice);
    }

    /// The peer has answered in this IKE_SA, or has set it up.
    pub(super) fn answered(&mut self, id: u32, connection: &str, notice: &mut dyn FnMut(Notice<'_>)) {
        self.silences.answered(id, connection, &self.tracked);
        self.see_silence(connection, notice);
    }

    /// An IKE_SA has ended, for this reason.
    pub(super) fn silence_ended(&mut self, id: u32, connection: &str, why: Why, notice: &mut dyn FnMut(Notice<'_>)) {
        self.silences.ended(id, connection, why, &self.tracked);
        self.see_silence(connection, notice);
    }

    /// Attempts that charon lists no more have ended without an event.
    pub(super) fn forget_unlisted(&mut self, listed: &[u32], notice: &mut dyn FnMut(Notice<'_>)) {
        let unanswered = self.silences.unanswered.iter();
        let gone: Vec<_> = unanswered
            .filter(|(id, _)| !listed.contains(id) && self.tracked.connection(**id).is_none())
            .map(|(id, silence)| (*id, silence.connection.clone()))
            .collect();
        for (id, connection) in gone {
            self.silence_ended(id, &connection, Why::Deleted, notice);
        }
        self.tell_silence();
    }

    /// Says where a link has become silent, or is so no more.
    fn see_silence(&mut self, connection: &str, notice: &mut dyn FnMut(Notice<'_>)) {
        match self.silences.of(connection, &self.tracked).cloned() {
            Some(silence) => {
                if silence.retransmissions >= SILENT && !self.silences.noticed.contains_key(connection) {
                    notice(Notice::Silent(&silence));
                    self.silences.noticed.insert(connection.to_owned(), silence);
                }
            }
            None => {
                if let Some(silence) = self.silences.noticed.remove(connection) {
                    notice(Notice::Answers(&silence));
                }
            }
        }
        self.tell_silence();
    }

    /// For `status` and the metrics.
    pub(super) fn tell_silence(&mut self) {
        for expected in self.expectations.iter() {
            let silence = self.silences.of(&expected.connection, &self.tracked);
            let since = silence.map(|silence| silence.since);
            self.metrics.no_answer(&expected.connection, since);
            self.memory.silent(&expected.connection, since);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bartizan_ledger::Verdict;

    use super::*;
    use crate::vici::Section;

    const LINK: &str = "cu--ric";

    fn established(tracked: &mut Tracked, id: u32) {
        let logged = Section::new()
            .with("uniqueid", id.to_string())
            .with("state", "ESTABLISHED")
            .with("initiator-spi", format!("{id:016x}"))
            .with("responder-spi", "eef74d6b20dd86e3");
        let sa = IkeSa::read(LINK, &logged).unwrap();
        tracked.is_new(&sa, sa.key.unwrap(), &Verdict::Accepted);
    }

    /// A message in an IKE_SA, established or not, went unanswered that many seconds after 1970.
    fn unanswered(silences: &mut DeadPeers, id: u32, since: u64) {
        let silence = Silence {
            connection: LINK.to_owned(),
            peer: "ric".to_owned(),
            since: SystemTime::UNIX_EPOCH + Duration::from_secs(since),
            retransmissions: SILENT,
            stands: true,
        };
        silences.unanswered.insert(id, silence);
    }

    fn since(silences: &DeadPeers, tracked: &Tracked) -> Option<u64> {
        let silence = silences.of(LINK, tracked)?;
        Some(silence.since.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs())
    }

    #[test]
    fn a_link_is_silent_where_none_of_its_ike_sas_is_answered() {
        let (mut silences, mut tracked) = (DeadPeers::default(), Tracked::default());
        established(&mut tracked, 1);
        unanswered(&mut silences, 1, 10);
        assert_eq!(since(&silences, &tracked), Some(10));
        // Set up anew by a peer that has forgotten the first.
        established(&mut tracked, 2);
        silences.answered(2, LINK, &tracked);
        assert_eq!(since(&silences, &tracked), None);
        assert!(silences.is_silent(1) && !silences.is_silent(2));
        // The first is given up while the second is established.
        tracked.close(1, None, Why::PeerLost);
        silences.ended(1, LINK, Why::PeerLost, &tracked);
        assert_eq!(since(&silences, &tracked), None);
        // And the peer goes for good.
        unanswered(&mut silences, 2, 20);
        assert_eq!(since(&silences, &tracked), Some(20));
    }

    #[test]
    fn a_silence_goes_on_through_attempts_until_there_is_an_answer() {
        let (mut silences, mut tracked) = (DeadPeers::default(), Tracked::default());
        established(&mut tracked, 1);
        unanswered(&mut silences, 1, 10);
        tracked.close(1, None, Why::PeerLost);
        silences.ended(1, LINK, Why::PeerLost, &tracked);
        assert_eq!(since(&silences, &tracked), Some(10));
        unanswered(&mut silences, 2, 40);
        assert_eq!(since(&silences, &tracked), Some(10));
        // It was refused: that is an answer.
        silences.answered(2, LINK, &tracked);
        assert_eq!(since(&silences, &tracked), None);
        // One that was taken down is not waited for.
        established(&mut tracked, 3);
        unanswered(&mut silences, 3, 50);
        tracked.close(3, None, Why::Deleted);
        silences.ended(3, LINK, Why::Deleted, &tracked);
        assert_eq!(since(&silences, &tracked), None);
    }
}
