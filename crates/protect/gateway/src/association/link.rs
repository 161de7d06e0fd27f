//! The connection between the two nodes of an association, which the association outlives.
//!
//! Each node counts the octets that it has received on each stream, and keeps those of its own that
//! the peer is not known to have. A new carrier begins with both counts, and each node continues
//! behind what the other has: every octet is read once and in its order, over however many carriers
//! it comes.

use std::time::Instant;

use super::resuming::Resuming;
use super::{Association, Ending, Side, State};
use crate::frame::{Frame, Received, Resume, Token, WINDOW};

/// Octets received and not reported after which a report goes with what is written anyway.
const REPORT_WITH: u64 = 8 * 1024;
/// Octets received and not reported after which a report is written by itself.
const REPORT_AT: u64 = 64 * 1024;
/// Octets kept for the peer beyond which nothing is read from the function.
pub(super) const KEPT: usize = 2 * WINDOW;
/// Octets kept for a peer that reports nothing of what it receives.
pub(super) const KEPT_AT_MOST: usize = 4 * WINDOW;

/// Why a carrier has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Loss {
    /// The peer's system has closed it: the peer node has ended, or is about to continue over
    /// another.
    Closed,
    /// Nothing passes, and neither end has closed it.
    Broken,
}

/// The carrier of an association.
#[derive(Debug)]
pub(super) enum Link {
    /// Frames pass.
    Up,
    /// The initiator waits for the answer on a new one.
    Resuming(Resuming),
    /// There is none.
    Down(String),
}

/// Octets received of one stream.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counted {
    pub(super) received: u64,
    reported: u64,
}

impl Counted {
    /// So many octets, of which the peer learns with the next carrier.
    pub(super) const fn of(received: u64) -> Self {
        let reported = received;
        Self { received, reported }
    }

    pub(super) const fn add(&mut self, octets: usize) {
        self.received += octets as u64;
    }

    pub(super) const fn unreported(self) -> u64 {
        self.received - self.reported
    }

    /// Number of octets to report; none where the peer knows it.
    pub(super) fn report(&mut self) -> Option<u64> {
        let news = self.unreported() > 0;
        self.reported = self.received;
        news.then_some(self.received)
    }
}

impl Association {
    /// By which the peer knows the association; none before it is opened.
    pub const fn token(&self) -> Option<Token> {
        self.token
    }

    /// Reports that a new carrier is needed: [`Association::resume`] follows.
    #[must_use]
    pub fn wants_carrier(&self) -> bool {
        if self.side == Side::Responder || self.is_over() {
            return false;
        }
        matches!(self.link, Link::Down(_)) || (self.state != State::Ended && (self.silent || self.moves))
    }

    /// Reports that frames pass.
    #[must_use]
    pub const fn has_carrier(&self) -> bool {
        matches!(self.link, Link::Up)
    }

    /// Reports that the initiator waits for the answer on a new carrier.
    #[must_use]
    pub const fn is_resuming(&self) -> bool {
        matches!(self.link, Link::Resuming(_))
    }

    /// Wants the association to continue over a new carrier, though this one works: a certificate
    /// has changed, or ends soon.
    pub fn renew_carrier(&mut self, now: Instant) {
        if self.state == State::Ended {
            return;
        }
        match self.side {
            Side::Initiator => self.moves = true,
            Side::Responder => self.write(&Frame::Move, now),
        }
    }

    /// Request to resume, by the peer that has begun this carrier.
    pub const fn resumes(&self) -> Option<&Resume> {
        self.resumes.as_ref()
    }

    /// Reports that the peer's first frame has come.
    #[must_use]
    pub const fn is_greeted(&self) -> bool {
        self.opened || self.resumes.is_some() || self.end.is_some()
    }

    /// Has the peer learn that there is no such association.
    pub fn refuse_resume(&mut self, now: Instant) {
        self.resumes = None;
        self.write(&Frame::Unknown, now);
        self.finish(Ending::Unexpected("a token of no association"));
    }

    /// The responder continues over a new carrier, which begins with the answer; false where the
    /// wish is void, and the carrier is to be closed.
    pub fn resumed(&mut self, resume: &Resume, now: Instant) -> bool {
        if self.side == Side::Initiator || Some(resume.token) != self.token || resume.attempt <= self.attempt {
            return false;
        }
        self.attempt = resume.attempt;
        let mut preface = Vec::new();
        Frame::Resumed(self.received()).encode(&mut preface);
        self.output.begin(preface, false);
        self.lanes.begin(false);
        self.link = Link::Up;
        self.continue_behind(&resume.received, now);
        true
    }

    /// Positions up to which this node has received.
    pub(super) fn received(&self) -> Received {
        Received {
            restarts: self.restarts(),
            life: self.counted.received,
            lanes: self.lanes.received(),
        }
    }

    /// The time for an opening begins anew: the peer was not reached before.
    pub(super) fn open_from(&mut self, now: Instant) {
        self.opening_ends = self.opening_ends.map(|_| now + self.patience.opening);
    }

    /// Frames pass again.
    pub(super) fn continue_behind(&mut self, received: &Received, now: Instant) {
        self.is_heard(now);
        self.said = now;
        self.open_from(now);
        let known = self.output.continue_at(received.life) & self.lanes.continue_at(received);
        if !known && self.state != State::Ended {
            self.fail(Ending::Unexpected("a position that cannot be"), now);
        }
        if self.state == State::Ended {
            self.ends = Some(now + self.patience.resume);
        }
    }

    /// The carrier has ended, or there is none: `detail` says why. The association continues over
    /// another, if one comes in time.
    pub fn carrier_ended(&mut self, loss: Loss, detail: &str, now: Instant) {
        if self.state == State::Ended && !self.is_kept_for_the_peer() {
            return self.give_up();
        }
        if !matches!(self.link, Link::Down(_)) {
            self.link = Link::Down(detail.to_owned());
            self.lanes.drop_carrier();
        }
        // A carrier that ends in vain does not make the peer's time longer.
        self.ends.get_or_insert(now + self.patience.resume);
        let asked = self.asked.is_some_and(|asked| now < asked + self.patience.silence);
        if loss == Loss::Closed && !asked {
            self.closed_ends.get_or_insert(now + self.patience.closed);
        }
    }

    /// The peer node has refused the carrier: it would refuse every other.
    pub fn carrier_refused(&mut self, detail: &str, now: Instant) {
        self.lose(Ending::CarrierLost(detail.to_owned()), now);
    }

    /// Ended, and the peer is to learn it over another carrier.
    fn is_kept_for_the_peer(&self) -> bool {
        self.output.unsent() > 0
    }

    /// Nothing is sent any more.
    pub(super) fn give_up(&mut self) {
        self.output.clear();
        self.lanes.clear();
        (self.ends, self.closed_ends) = (None, None);
        if matches!(self.link, Link::Resuming(_)) {
            self.link = Link::Down(String::new());
        }
    }

    /// The peer was not reached in time.
    pub(super) fn end_for_silence(&mut self, now: Instant) {
        (self.ends, self.closed_ends) = (None, None);
        if self.state == State::Ended {
            return self.give_up();
        }
        let ending = match &self.link {
            Link::Down(detail) => Ending::CarrierLost(detail.clone()),
            Link::Up | Link::Resuming(_) => Ending::Silent,
        };
        self.lose(ending, now);
    }

    /// Ends without a word to the peer.
    pub(super) fn lose(&mut self, ending: Ending, now: Instant) {
        if self.state != State::Ended {
            // Messages that were received whole are still handed over before the abort.
            self.abort_function(ending.cause(), now);
            self.finish(ending);
        }
        self.give_up();
    }

    /// The peer is there.
    pub(super) const fn is_heard(&mut self, now: Instant) {
        self.heard = now;
        self.doubted = None;
        self.silent = false;
        (self.ends, self.closed_ends) = (None, None);
    }

    /// Octets that the peer may not have, on all streams.
    pub(super) fn kept(&self) -> usize {
        self.output.kept() + self.lanes.kept()
    }

    fn unreported(&self) -> u64 {
        self.counted.unreported() + self.lanes.unreported()
    }

    /// Says what was received, next to what is written anyway.
    pub(super) fn report_received(&mut self) {
        if let Some(octets) = self.counted.report() {
            Frame::Received { lane: None, octets }.encode(self.output.buffer());
        }
        for (lane, octets) in self.lanes.report() {
            let lane = Some(lane);
            Frame::Received { lane, octets }.encode(self.output.buffer());
        }
    }

    /// Something is written: what was received goes with it, if it is worth that.
    pub(super) fn report_with_others(&mut self) {
        if self.unreported() >= REPORT_WITH {
            self.report_received();
        }
    }

    /// Keeps what the peer keeps, and what is kept for it, within bounds.
    pub(super) fn bound_what_is_kept(&mut self, now: Instant) {
        if self.state == State::Ended {
            return;
        }
        if self.unreported() >= REPORT_AT && self.has_carrier() {
            self.report_received();
            self.said = now;
        }
        if self.kept() > KEPT_AT_MOST {
            self.fail(Ending::Unexpected("no report of what it received"), now);
        }
    }

    /// The peer has received so many octets of a stream.
    pub(super) fn peer_has(&mut self, lane: Option<crate::Lane>, octets: u64, now: Instant) {
        let known = match lane {
            None => self.output.acknowledge(octets),
            Some(lane) => self.lanes.acknowledge(lane, octets),
        };
        if !known {
            self.fail(Ending::Unexpected("a report of what was not sent"), now);
        }
    }
}
