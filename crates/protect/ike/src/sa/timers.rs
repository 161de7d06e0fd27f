//! Timers (RFC 7296, section 2.4).

use std::time::Instant;

use bartizan_wire::ike::ExchangeType;

use super::agreement::Subject;
use super::child::ChildSa;
use super::life::Task;
use super::{IkeSa, State, Transmit};
use crate::error::Failure;

impl IkeSa {
    /// Time at which to call [`Self::handle_timeout`], unless a datagram is received before.
    pub fn timeout(&self) -> Option<Instant> {
        let again = self.outgoing.as_ref().map(|outgoing| outgoing.due);
        let abandoned = self.responding.as_ref().map(|responding| responding.deadline);
        let (rekey, expires, outdated) = self.lifetime();
        let children = self.children.iter().filter(|_| self.is_established());
        let children = children.flat_map(|child| [child.rekey, child.expires]);
        let own = [
            again,
            abandoned,
            self.deadline,
            self.liveness(),
            rekey,
            expires,
            outdated,
        ];
        own.into_iter().chain(children).flatten().min()
    }

    /// Time of the next liveness check.
    fn liveness(&self) -> Option<Instant> {
        let idle = self.is_established() && self.outgoing.is_none();
        self.config
            .timing
            .liveness
            .filter(|_| idle)
            .map(|silence| self.heard + silence)
    }

    /// Times at which the IKE_SA is replaced, is deleted, and is deleted for the age of its
    /// authentication.
    fn lifetime(&self) -> (Option<Instant>, Option<Instant>, Option<Instant>) {
        if self.is_established() && self.closing.is_none() {
            (self.rekey, self.expires, self.authentication_ends())
        } else {
            (None, None, None)
        }
    }

    /// Retransmits, ends, replaces or checks liveness, whichever is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        let is_due = |due: Option<Instant>| due.is_some_and(|due| due <= now);
        if is_due(self.deadline) {
            let closing = self.closing.take();
            self.fail(match &self.state {
                State::Replaced => Failure::Replaced,
                State::Closing(failure) => failure.clone(),
                _ => closing.unwrap_or(Failure::Abandoned),
            });
        }
        self.send_again(now);
        let abandoned = self.responding.as_ref().map(|responding| responding.deadline);
        if is_due(abandoned)
            && let Err(failure) = self.forget_responding(now)
        {
            self.fail(failure);
        }
        let (rekey, expires, outdated) = self.lifetime();
        if is_due(outdated) {
            // A peer that completes no exchange and answers no deletion gains no time by it.
            self.closing = Some(Failure::Outdated);
            self.deadline = Some(now + self.config.timing.patience());
        } else if is_due(expires) {
            self.closing = Some(Failure::Expired);
        } else if is_due(rekey) {
            self.rekey = None;
            self.plan_later(Task::Make(Subject::Ike));
        }
        self.end_children(now);
        self.advance(now);
        if is_due(self.liveness())
            && let Err(failure) = self.ask(now, ExchangeType::INFORMATIONAL, Vec::new())
        {
            self.fail(failure);
        }
    }

    /// Deletes or replaces the CHILD_SAs whose time has come.
    fn end_children(&mut self, now: Instant) {
        let is_due = |due: Option<Instant>| due.is_some_and(|due| due <= now);
        let expired: Vec<u32> = self.those(|child| is_due(child.expires));
        for inbound in expired {
            self.retire(inbound);
        }
        for inbound in self.those(|child| is_due(child.rekey)) {
            if let Some(child) = self.child(inbound) {
                child.rekey = None;
            }
            self.plan_later(Task::Make(Subject::Child(inbound)));
        }
    }

    fn those(&self, are: impl Fn(&ChildSa) -> bool) -> Vec<u32> {
        let those = self.children.iter().filter(|child| are(child));
        those.map(|child| child.inbound).collect()
    }

    fn send_again(&mut self, now: Instant) {
        let Some(outgoing) = self.outgoing.as_mut().filter(|outgoing| outgoing.due <= now) else {
            return;
        };
        if outgoing.sent_again >= self.config.timing.attempts {
            let failure = match (&self.state, self.unusable.take()) {
                (State::Closing(failure), _) => failure.clone(),
                (State::Starting(_), Some(unusable)) => Failure::Unauthenticated(Box::new(unusable)),
                _ => Failure::Unanswered,
            };
            self.fail(failure);
            return;
        }
        outgoing.sent_again += 1;
        outgoing.wait = self.config.timing.longer(outgoing.wait);
        // Many that began at once do not all come again at once.
        outgoing.due = now + outgoing.wait - self.chance.within(outgoing.wait / 10);
        let (exchange, datagrams) = (outgoing.exchange, outgoing.datagrams.clone());
        let port = self.port(exchange);
        let again = datagrams.into_iter().map(|datagram| Transmit { port, datagram });
        self.transmits.extend(again);
    }
}
