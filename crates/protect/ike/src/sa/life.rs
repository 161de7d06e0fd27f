//! Tasks that an IKE_SA begins itself, in turn: one request is on its way at a time (RFC 7296,
//! section 2.3).

use std::time::Instant;

use bartizan_wire::ike::ExchangeType;

use super::agreement::Subject;
use super::child::Stage;
use super::open::deletion;
use super::{IkeSa, State};
use crate::config::Lifetime;
use crate::error::Failure;
use crate::event::Event;
use crate::proposal::{ESP, IKE};

/// A task of this end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Task {
    Make(Subject),
    /// Deletes the CHILD_SA by which this end receives with this SPI.
    Delete(u32),
}

impl IkeSa {
    /// Both ends are authenticated.
    pub(super) fn begin(&mut self, now: Instant, certificates: Vec<Vec<u8>>) {
        self.state = State::Established;
        let lifetime = self.config.timing.ike;
        self.rekey = lifetime.map(|lifetime| self.due(now, lifetime));
        self.expires = lifetime.map(|lifetime| now + lifetime.expire);
        if let Some(security) = &self.security {
            self.events.push_back(Event::Established {
                peer: self.config.peer.clone(),
                agreed: security.agreed.clone(),
                proofs: self.proofs.clone(),
                certificates,
            });
        }
    }

    /// Time at which an SA that begins now is replaced.
    pub(super) fn due(&mut self, now: Instant, lifetime: Lifetime) -> Instant {
        now + lifetime.rekey - self.chance.within(lifetime.rekey / 10)
    }

    /// Replaces the IKE_SA: [`Event::Rekeyed`] follows where the peer agrees.
    pub fn rekey(&mut self, now: Instant) {
        self.plan(now, Task::Make(Subject::Ike));
    }

    /// Replaces the CHILD_SA by which this end receives with this SPI.
    pub fn rekey_child(&mut self, now: Instant, inbound: u32) {
        self.plan(now, Task::Make(Subject::Child(inbound)));
    }

    /// Makes the CHILD_SA of this place where there is none: it was not asked for yet, was refused, or was deleted.
    pub fn make_child(&mut self, now: Instant, place: usize) {
        self.plan(now, Task::Make(Subject::New(place)));
    }

    /// Deletes the CHILD_SA by which this end receives with this SPI.
    pub fn delete_child(&mut self, now: Instant, inbound: u32) {
        self.retire(inbound);
        self.advance(now);
    }

    fn plan(&mut self, now: Instant, task: Task) {
        self.plan_later(task);
        self.advance(now);
    }

    pub(super) fn plan_later(&mut self, task: Task) {
        let is_under_way = matches!(task, Task::Make(subject) if self.is_initiating(subject));
        if !is_under_way && !self.tasks.contains(&task) {
            self.tasks.push_back(task);
        }
    }

    /// A CHILD_SA by which nothing is sent any more, and that this end is to delete.
    pub(super) fn retire(&mut self, inbound: u32) {
        if let Some(child) = self.child(inbound).filter(|child| child.stage != Stage::Closing) {
            child.stage = Stage::Closing;
            (child.rekey, child.expires) = (None, None);
            self.tasks.push_back(Task::Delete(inbound));
        }
    }

    /// Does what is next, where nothing is on its way.
    pub(super) fn advance(&mut self, now: Instant) {
        while self.is_established() && self.outgoing.is_none() {
            let is_settled = self.initiating.is_none() && self.responding.is_none() && self.contest.is_none();
            if is_settled && let Some(failure) = self.closing.take() {
                self.delete(now, failure);
                return;
            }
            // A replacement by the peer, or by both ends, is completed before another one begins.
            // No CHILD_SA is deleted while the IKE_SA is being replaced.
            let is_kept = !self.is_replacing_ike();
            let can = |task: &Task| match task {
                Task::Make(_) => is_settled,
                Task::Delete(_) => is_kept,
            };
            let Some(place) = self.tasks.iter().position(can) else {
                return;
            };
            let Some(task) = self.tasks.remove(place) else {
                return;
            };
            if let Err(failure) = self.perform(now, task) {
                self.fail(failure);
            }
        }
    }

    fn perform(&mut self, now: Instant, task: Task) -> Result<(), Failure> {
        match task {
            Task::Make(Subject::Child(inbound)) => match self.child(inbound) {
                Some(child) if child.stage == Stage::Live => {
                    let place = child.place;
                    self.request_new(now, (Subject::Child(inbound), place), None)
                }
                _ => Ok(()),
            },
            Task::Make(Subject::New(place)) if self.has_child(place) => Ok(()),
            Task::Make(Subject::New(place)) => self.request_new(now, (Subject::New(place), place), None),
            Task::Make(Subject::Ike) => self.request_new(now, (Subject::Ike, 0), None),
            Task::Delete(inbound) => {
                if self.child(inbound).is_none() {
                    return Ok(());
                }
                self.deleting = Some(inbound);
                let spis = inbound.to_be_bytes();
                self.ask(now, ExchangeType::INFORMATIONAL, vec![deletion(ESP, &spis)])
                    .map(drop)
            }
        }
    }

    /// Sends the peer a deletion of the IKE_SA; the reason is for this end's owner alone.
    pub(super) fn delete(&mut self, now: Instant, why: Failure) {
        self.state = State::Closing(why);
        (self.initiating, self.responding, self.contest) = (None, None, None);
        if let Err(failure) = self.ask(now, ExchangeType::INFORMATIONAL, vec![deletion(IKE, &[])]) {
            self.fail(failure);
        }
    }
}
