//! The near-real-time RIC of the script towards one node, without socket and clock.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::node::{Outgoing, Unexpected, same};
use super::script::Script;
use super::synthetic::{self, Kind};

/// Time that a RIC which lost an association waits after the time at which everything should have
/// come.
const LINGER: Duration = Duration::from_secs(1);

/// The RIC's place in the script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    AwaitingSetup,
    /// It answers the set-up at this moment.
    Accepting(Instant),
    /// It subscribes at this moment.
    Subscribing(Instant),
    AwaitingSubscription,
    Listening,
    /// It ends the subscription at this moment.
    Ending(Instant),
    AwaitingEnd,
    Done,
}

/// The RIC towards one node, over all its associations.
#[derive(Debug)]
pub struct Ric<'a> {
    script: &'a Script,
    phase: Phase,
    /// Indications that came, over all associations.
    received: usize,
    /// In this association.
    here: u64,
    /// The number of the first of this association; on a new one it is derived from what comes, of the recorded ones.
    first: Option<usize>,
    /// Time at which the subscription ends although not everything came. Set only if an association
    /// was lost.
    over: Option<Instant>,
    /// Time of the first subscription's response.
    since: Option<Instant>,
    /// True if an association was lost.
    again: bool,
    /// Control messages to send, and when their indication came.
    controls: VecDeque<(u64, Instant)>,
    /// Control messages sent and not replied to.
    awaiting: Vec<(u64, Instant)>,
    /// From each control message to the node's reply.
    replies: Vec<Duration>,
}

impl<'a> Ric<'a> {
    /// Towards a node that nothing was heard of.
    #[must_use]
    pub fn new(script: &'a Script) -> Self {
        Self {
            script,
            phase: Phase::AwaitingSetup,
            received: 0,
            here: 0,
            first: Some(0),
            over: None,
            since: None,
            again: false,
            controls: VecDeque::new(),
            awaiting: Vec::new(),
            replies: Vec::new(),
        }
    }

    /// The node has a new association.
    pub fn again(&mut self) {
        self.phase = Phase::AwaitingSetup;
        self.here = 0;
        self.first = None;
        self.again = true;
        self.controls.clear();
        self.awaiting.clear();
    }

    /// Time of the next message to send; none while it waits for the node.
    #[must_use]
    pub fn due(&self) -> Option<Instant> {
        match self.phase {
            Phase::Accepting(due) | Phase::Subscribing(due) | Phase::Ending(due) => Some(due),
            Phase::Listening => self.controls.front().map(|(_, arrived)| *arrived).or(self.over),
            _ => None,
        }
    }

    /// The next message to send, which counts as sent.
    pub fn next(&mut self, now: Instant) -> Option<Outgoing> {
        if self.due().is_none_or(|due| due > now) {
            return None;
        }
        let script = self.script;
        match self.phase {
            Phase::Accepting(_) => {
                self.phase = Phase::Subscribing(now + script.subscription_request.after);
                Some((&script.setup_response.message).into())
            }
            Phase::Subscribing(_) => {
                self.phase = Phase::AwaitingSubscription;
                Some((&script.subscription_request.message).into())
            }
            Phase::Ending(_) => {
                self.phase = Phase::AwaitingEnd;
                Some((&script.delete_request.message).into())
            }
            Phase::Listening => {
                let Some((number, _)) = self.controls.pop_front() else {
                    self.phase = Phase::AwaitingEnd;
                    return Some((&script.delete_request.message).into());
                };
                self.awaiting.push((number, now));
                Some(Outgoing {
                    bytes: synthetic::message(Kind::Control, number, script.control.unwrap_or_default()),
                    ..(&script.subscription_request.message).into()
                })
            }
            _ => None,
        }
    }

    /// Takes what came from the node.
    ///
    /// # Errors
    /// Fails if the script has another message there.
    pub fn take(&mut self, bytes: &[u8], now: Instant) -> Result<(), Unexpected> {
        let script = self.script;
        match self.phase {
            Phase::AwaitingSetup => {
                same(&script.setup_request, bytes, "E2 Setup Request")?;
                self.phase = Phase::Accepting(now + script.setup_response.after);
            }
            Phase::AwaitingSubscription => {
                same(&script.subscription_response, bytes, "RIC Subscription Response")?;
                self.phase = Phase::Listening;
                let since = *self.since.get_or_insert(now);
                if self.again {
                    self.over = Some(now.max(since + script.lasts()) + LINGER);
                }
            }
            Phase::Listening => {
                match synthetic::read(bytes) {
                    Some((Kind::Reply, number)) => self.reply(number, now)?,
                    _ => self.indication(bytes, now)?,
                }
                self.end_if_all(now);
            }
            Phase::AwaitingEnd => {
                same(&script.delete_response, bytes, "RIC Subscription Delete Response")?;
                self.phase = Phase::Done;
            }
            phase => {
                let length = bytes.len();
                return Err(Unexpected(format!(
                    "{length} bytes came that nobody waits for ({phase:?})"
                )));
            }
        }
        Ok(())
    }

    fn indication(&mut self, bytes: &[u8], now: Instant) -> Result<(), Unexpected> {
        let matches = |&number: &usize| {
            let indication = self.script.indication(0, number);
            indication.is_some_and(|(message, _)| message.bytes == bytes)
        };
        let wanted = match self.first {
            Some(first) => Some(first + self.here as usize).filter(matches),
            None => (0..self.script.count()).find(matches),
        };
        let Some(wanted) = wanted else {
            let (length, here) = (bytes.len(), self.here);
            return Err(Unexpected(format!(
                "{length} bytes came that are not indication {here} of the association"
            )));
        };
        self.first.get_or_insert(wanted);
        if self.script.control.is_some() {
            self.controls.push_back((self.here, now));
        }
        self.received += 1;
        self.here += 1;
        Ok(())
    }

    fn reply(&mut self, number: u64, now: Instant) -> Result<(), Unexpected> {
        let place = self.awaiting.iter().position(|(sent, _)| *sent == number);
        let place = place.ok_or_else(|| Unexpected(format!("reply {number} comes unasked")))?;
        let (_, sent) = self.awaiting.swap_remove(place);
        self.replies.push(now.saturating_duration_since(sent));
        Ok(())
    }

    fn end_if_all(&mut self, now: Instant) {
        let all = self.received == self.script.count() && self.controls.is_empty() && self.awaiting.is_empty();
        if all && self.phase == Phase::Listening {
            self.phase = Phase::Ending(now + self.script.delete_request.after);
        }
    }

    /// True if everything was sent.
    #[must_use]
    pub fn done(&self) -> bool {
        self.phase == Phase::Done
    }

    /// Indications that came.
    #[must_use]
    pub fn received(&self) -> usize {
        self.received
    }

    /// From each control message to the node's reply.
    #[must_use]
    pub fn replies(&self) -> &[Duration] {
        &self.replies
    }
}

#[cfg(test)]
mod tests;
