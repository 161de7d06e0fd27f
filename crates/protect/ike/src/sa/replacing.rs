//! SAs that take the place of others, also where both ends replace one at once (RFC 7296, sections
//! 2.8.1, 2.8.2 and 2.25).

use std::cmp::Ordering;
use std::time::Instant;

use super::agreement::Subject;
use super::child::Stage;
use super::life::Task;
use super::{IkeSa, State};
use crate::error::Failure;
use crate::event::{Event, Requester};

/// An SA that both ends may be replacing: what each has made so far.
pub(super) struct Contest {
    pub(super) subject: Subject,
    own: Option<Done>,
    pub(super) peers: Option<Done>,
}

/// A replacement made by one end.
pub(super) struct Done {
    /// The lower one of both nonces of its CREATE_CHILD_SA.
    pub(super) lowest: Vec<u8>,
    pub(super) successor: Successor,
}

pub(super) enum Successor {
    /// By the SPI by which this end receives.
    Child(u32),
    Ike(Box<IkeSa>),
}

impl IkeSa {
    /// Something was made that may replace something.
    pub(super) fn replaced(
        &mut self,
        now: Instant,
        subject: Subject,
        requester: Requester,
        done: Done,
    ) -> Result<(), Failure> {
        if matches!(subject, Subject::New(_)) {
            return Ok(());
        }
        let contest = self.contest.get_or_insert(Contest {
            subject,
            own: None,
            peers: None,
        });
        match requester {
            Requester::ThisEnd => contest.own = Some(done),
            Requester::Peer => contest.peers = Some(done),
        }
        self.settle(now)
    }

    /// Returns true if either end is replacing this IKE_SA.
    pub(super) fn is_replacing_ike(&self) -> bool {
        let contested = self.contest.iter().any(|contest| contest.subject == Subject::Ike);
        contested || self.is_initiating(Subject::Ike) || self.is_responding(Subject::Ike)
    }

    /// Returns true if the peer has replaced it, or is about to.
    pub(super) fn is_replaced_by_peer(&self, subject: Subject) -> bool {
        let made = |contest: &Contest| contest.subject == subject && contest.peers.is_some();
        self.is_responding(subject) || self.contest.iter().any(made)
    }

    /// If this end has made the surviving replacement, the peer does not complete its own attempt:
    /// both ends know the nonces already.
    fn forget_redundant(&mut self, subject: Subject) {
        let own = self.contest.as_ref().and_then(|contest| contest.own.as_ref());
        let theirs = self.responding.as_ref().map(|responding| &responding.agreement);
        let theirs = theirs.filter(|agreement| agreement.subject == subject);
        if let (Some(own), Some(theirs)) = (own, theirs)
            && theirs.nonces.iter().min() < Some(&own.lowest)
        {
            self.responding = None;
        }
    }

    /// Decides what takes the place of what, once no attempt is under way any more.
    pub(super) fn settle(&mut self, now: Instant) -> Result<(), Failure> {
        let Some(subject) = self.contest.as_ref().map(|contest| contest.subject) else {
            return Ok(());
        };
        self.forget_redundant(subject);
        if self.is_initiating(subject) || self.is_responding(subject) {
            return Ok(());
        }
        let Some(Contest { own, peers, .. }) = self.contest.take() else {
            return Ok(());
        };
        let (winner, loser, requester) = match (own, peers) {
            (None, None) => return Ok(()),
            (Some(own), None) => (own, None, Requester::ThisEnd),
            (None, Some(peers)) => (peers, None, Requester::Peer),
            // The one with the lowest of the four nonces is redundant. A peer that copies one of
            // the other's nonces gains nothing, but both ends must agree.
            (Some(own), Some(peers)) => match own.lowest.cmp(&peers.lowest) {
                Ordering::Less => (peers, Some(own), Requester::Peer),
                Ordering::Equal if !self.is_initiator() => (peers, Some(own), Requester::Peer),
                Ordering::Equal | Ordering::Greater => (own, Some(peers), Requester::ThisEnd),
            },
        };
        match (subject, winner.successor) {
            (Subject::Child(old), _) => {
                self.supersede_child(now, old, loser, requester);
                Ok(())
            }
            (Subject::Ike, Successor::Ike(successor)) => self.supersede(now, *successor, loser, requester),
            (Subject::Ike, Successor::Child(_)) | (Subject::New(_), _) => Ok(()),
        }
    }

    /// The end that made the surviving CHILD_SA deletes the replaced one, the other end its
    /// redundant one.
    fn supersede_child(&mut self, now: Instant, old: u32, loser: Option<Done>, requester: Requester) {
        let redundant = match loser.map(|loser| loser.successor) {
            Some(Successor::Child(inbound)) => Some(inbound),
            Some(Successor::Ike(_)) | None => None,
        };
        let (own, peers) = match requester {
            Requester::ThisEnd => (Some(old), redundant),
            Requester::Peer => (redundant, Some(old)),
        };
        if let Some(inbound) = own {
            self.retire(inbound);
        }
        let deadline = now + self.config.timing.patience();
        let of_peer = peers.and_then(|inbound| self.child(inbound));
        if let Some(child) = of_peer.filter(|child| child.stage == Stage::Live) {
            child.stage = Stage::Replaced;
            (child.rekey, child.expires) = (None, Some(deadline));
        }
    }

    fn supersede(
        &mut self,
        now: Instant,
        mut successor: Self,
        loser: Option<Done>,
        requester: Requester,
    ) -> Result<(), Failure> {
        successor.children = std::mem::take(&mut self.children);
        let is_for_child = |task: &Task| !matches!(task, Task::Make(Subject::Ike));
        successor.tasks = std::mem::take(&mut self.tasks);
        successor.tasks.retain(is_for_child);
        // The lifetime that is over is of this IKE_SA alone.
        successor.closing = self.closing.take().filter(|why| *why != Failure::Expired);
        (self.rekey, self.expires) = (None, None);
        successor.advance(now);
        self.events.push_back(Event::Rekeyed(Box::new(successor)));
        if let Some(Done {
            successor: Successor::Ike(mut redundant),
            ..
        }) = loser
        {
            match requester {
                Requester::ThisEnd => redundant.await_deletion(now),
                Requester::Peer => redundant.delete(now, Failure::Replaced),
            }
            self.events.push_back(Event::Rekeyed(redundant));
        }
        match requester {
            Requester::ThisEnd => {
                self.closing = Some(Failure::Replaced);
                self.advance(now);
            }
            Requester::Peer => self.await_deletion(now),
        }
        Ok(())
    }

    /// The peer is to delete it.
    fn await_deletion(&mut self, now: Instant) {
        self.state = State::Replaced;
        self.deadline = Some(now + self.config.timing.patience());
    }

    /// Successor of an IKE_SA that the peer deletes: the replacement that was made by then, by
    /// either end.
    pub(super) fn inherit(&mut self, now: Instant) -> Result<(), Failure> {
        let Some(contest) = self.contest.as_ref().filter(|contest| contest.subject == Subject::Ike) else {
            return Ok(());
        };
        // It forgets, or has never seen, the attempt that is not complete (RFC 7296, section 2.8.2).
        let is_made = contest.own.is_some() || contest.peers.is_some();
        (self.initiating, self.responding) = (None, None);
        if is_made { self.settle(now) } else { Ok(()) }
    }
}
