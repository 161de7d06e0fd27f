//! An E2 node of the script, without socket and clock: what it sends when, and what it makes of what comes.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use super::exchange::Message;
use super::script::{Script, Step};
use super::synthetic::{self, Kind};

/// A node's place in the script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// It sends the set-up at this moment.
    SettingUp(Instant),
    AwaitingSetup,
    AwaitingSubscription,
    /// It answers the subscription at this moment.
    Subscribing(Instant),
    /// It has sent what was due and awaits the rest, counted from this moment.
    Reporting(Instant),
    /// It answers the end of the subscription at this moment.
    Leaving(Instant),
    Done,
}

/// A message to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// Stream.
    pub stream: u16,
    /// Payload protocol identifier.
    pub payload_protocol: u32,
    /// The message.
    pub bytes: Vec<u8>,
}

/// An indication and the control message that answered it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loop {
    /// Time at which the indication was handed to the kernel.
    pub sent: Instant,
    /// Until the control message was there.
    pub took: Duration,
}

/// A message that the script does not have at this place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unexpected(pub(super) String);

/// One node.
#[derive(Debug)]
pub struct Node<'a> {
    script: &'a Script,
    number: usize,
    phase: Phase,
    /// Indications sent, over all associations.
    sent: usize,
    /// Indications sent before this association.
    before: usize,
    /// Control messages to reply to.
    replies: VecDeque<u64>,
    /// Send times of indications without a control message so far, by their number in this
    /// association.
    awaiting: BTreeMap<u64, Instant>,
    /// Control messages that a lost association took with it.
    lost: usize,
    /// From each indication to its control message.
    loops: Vec<Loop>,
    /// Start of reporting. It is kept across associations.
    since: Option<Instant>,
}

impl From<&Message> for Outgoing {
    fn from(message: &Message) -> Self {
        Self {
            stream: message.stream,
            payload_protocol: message.payload_protocol,
            bytes: message.bytes.clone(),
        }
    }
}

/// Fails unless a message is the recorded one.
pub(super) fn same(step: &Step, bytes: &[u8], what: &str) -> Result<(), Unexpected> {
    if step.message.bytes == bytes {
        return Ok(());
    }
    let (wanted, arrived) = (step.message.bytes.len(), bytes.len());
    Err(Unexpected(format!(
        "{arrived} bytes came that are not the {what} of {wanted}"
    )))
}

impl<'a> Node<'a> {
    /// The node of this number, from 0, which sets up at `now`.
    #[must_use]
    pub fn new(script: &'a Script, number: usize, now: Instant) -> Self {
        Self {
            script,
            number,
            phase: Phase::SettingUp(now),
            sent: 0,
            before: 0,
            replies: VecDeque::new(),
            awaiting: BTreeMap::new(),
            lost: 0,
            loops: Vec::new(),
            since: None,
        }
    }

    /// The association was lost and there is a new one: everything from the set-up on, except
    /// indications that were sent.
    pub fn again(&mut self, now: Instant) {
        self.phase = Phase::SettingUp(now);
        self.before = self.sent;
        self.replies.clear();
        self.lost += self.awaiting.len();
        self.awaiting.clear();
    }

    /// Time of the next message to send; none while it waits for the RIC.
    #[must_use]
    pub fn due(&self) -> Option<Instant> {
        match self.phase {
            Phase::SettingUp(due) | Phase::Subscribing(due) | Phase::Leaving(due) => Some(due),
            Phase::Reporting(since) => {
                if !self.replies.is_empty() {
                    return Some(since);
                }
                let (_, due) = self.script.indication(self.number, self.sent)?;
                Some(since + due)
            }
            Phase::AwaitingSetup | Phase::AwaitingSubscription | Phase::Done => None,
        }
    }

    /// The next message to send, which counts as sent.
    pub fn next(&mut self, now: Instant) -> Option<Outgoing> {
        if self.due().is_none_or(|due| due > now) {
            return None;
        }
        match self.phase {
            Phase::SettingUp(_) => {
                self.phase = Phase::AwaitingSetup;
                Some((&self.script.setup_request.message).into())
            }
            Phase::Subscribing(_) => {
                self.phase = Phase::Reporting(*self.since.get_or_insert(now));
                Some((&self.script.subscription_response.message).into())
            }
            Phase::Leaving(_) => {
                self.phase = Phase::Done;
                Some((&self.script.delete_response.message).into())
            }
            Phase::Reporting(_) => self.report(now),
            Phase::AwaitingSetup | Phase::AwaitingSubscription | Phase::Done => None,
        }
    }

    fn report(&mut self, now: Instant) -> Option<Outgoing> {
        if let (Some(number), Some(size)) = (self.replies.pop_front(), self.script.control) {
            let like = &self.script.subscription_response.message;
            return Some(Outgoing {
                bytes: synthetic::message(Kind::Reply, number, size),
                ..like.into()
            });
        }
        if self.script.control.is_some() {
            self.awaiting.insert((self.sent - self.before) as u64, now);
        }
        let (message, _) = self.script.indication(self.number, self.sent)?;
        self.sent += 1;
        Some(message.into())
    }

    /// Takes what came from the RIC.
    ///
    /// # Errors
    /// Fails if the script has another message there.
    pub fn take(&mut self, bytes: &[u8], now: Instant) -> Result<(), Unexpected> {
        let script = self.script;
        match self.phase {
            Phase::AwaitingSetup => {
                same(&script.setup_response, bytes, "E2 Setup Response")?;
                self.phase = Phase::AwaitingSubscription;
            }
            Phase::AwaitingSubscription => {
                same(&script.subscription_request, bytes, "RIC Subscription Request")?;
                self.phase = Phase::Subscribing(now + script.subscription_response.after);
            }
            Phase::Reporting(_) => match synthetic::read(bytes) {
                Some((Kind::Control, number)) => {
                    let sent = self.awaiting.remove(&number);
                    let sent = sent.ok_or_else(|| Unexpected(format!("control {number} comes unasked")))?;
                    let took = now.saturating_duration_since(sent);
                    self.loops.push(Loop { sent, took });
                    self.replies.push_back(number);
                }
                _ => {
                    same(&script.delete_request, bytes, "RIC Subscription Delete Request")?;
                    self.phase = Phase::Leaving(now + script.delete_response.after);
                }
            },
            phase => {
                let length = bytes.len();
                return Err(Unexpected(format!(
                    "{length} bytes came that nobody waits for ({phase:?})"
                )));
            }
        }
        Ok(())
    }

    /// True if it has sent everything.
    #[must_use]
    pub fn done(&self) -> bool {
        self.phase == Phase::Done
    }

    /// Indications sent.
    #[must_use]
    pub fn sent(&self) -> usize {
        self.sent
    }

    /// From each indication to its control message, in the order in which these came.
    #[must_use]
    pub fn loops(&self) -> &[Loop] {
        &self.loops
    }

    /// Indications whose control message has not come, or never will.
    #[must_use]
    pub fn lost(&self) -> usize {
        self.lost + self.awaiting.len()
    }
}
