//! Timers of an association.

use std::time::Instant;

use super::link::Link;
use super::{ASKED_AT_LEAST, Association, Ending, State};
use crate::frame::Frame;

impl Association {
    /// When [`Association::handle_timeout`] is due.
    pub fn deadline(&self) -> Option<Instant> {
        let lives = self.state != State::Ended;
        let looks = lives && !self.silent && !matches!(self.link, Link::Down(_));
        let due = [
            looks.then(|| self.silent_at()),
            (lives && self.has_carrier()).then(|| self.alive_at()),
            self.ends,
            self.closed_ends,
            self.opening_ends.filter(|_| self.has_carrier()),
            self.question_due,
            self.abort_due,
        ];
        due.into_iter().flatten().min()
    }

    /// When the peer is to hear of this node, whatever there is to say.
    fn alive_at(&self) -> Instant {
        self.said + self.patience.silence / 3
    }

    fn is_doubted(&self) -> bool {
        self.doubted.is_some_and(|doubted| doubted > self.heard)
    }

    /// When the peer's silence is looked at next: after two thirds of the patience it is doubted, and it is silent where a third later, and after
    /// all of the patience, it was not heard either.
    fn silent_at(&self) -> Instant {
        let third = self.patience.silence / 3;
        match self.doubted {
            Some(doubted) if self.is_doubted() => (doubted + third).max(self.heard + self.patience.silence),
            _ => self.heard + 2 * third,
        }
    }

    /// Returns true if the function's kernel is to be asked now for acknowledgement of everything
    /// that was handed to it. Where all is acknowledged, [`Association::function_acknowledged`]
    /// comes before [`Association::handle_timeout`].
    ///
    /// A question now and then costs a call in a hundred milliseconds. A notification costs four
    /// calls for each message.
    #[must_use]
    pub fn asks_for_acknowledgement(&self, now: Instant) -> bool {
        self.question_due.is_some_and(|due| due <= now)
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        let due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        if due(self.abort_due) {
            self.abort_due = None;
            self.drop_undelivered();
        }
        if due(self.ends) || due(self.closed_ends) {
            return self.end_for_silence(now);
        }
        if self.state == State::Ended {
            return;
        }
        if !self.silent && !matches!(self.link, Link::Down(_)) && now >= self.silent_at() {
            if self.is_doubted() {
                self.silent = true;
            } else {
                self.doubted = Some(now);
                // Counted from when the peer was heard, unless this node was stopped itself.
                let ends = now + self.patience.resume.saturating_sub(2 * (self.patience.silence / 3));
                self.ends = Some(self.ends.map_or(ends, |known| known.min(ends)));
            }
        }
        // The peer answers over a carrier alone.
        if self.has_carrier() && due(self.opening_ends) {
            return self.fail(Ending::NotOpened, now);
        }
        if due(self.question_due) {
            self.question_wait = (self.question_wait * 2).min(ASKED_AT_LEAST);
            self.question_due = Some(now + self.question_wait);
        }
        if self.has_carrier() && now >= self.alive_at() {
            self.write(&Frame::Alive, now);
        }
    }
}
