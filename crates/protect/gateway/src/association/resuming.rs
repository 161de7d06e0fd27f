//! The initiator's change from one carrier to the next.

use std::time::Instant;

use super::link::Link;
use super::{Association, Ending, State};
use crate::frame::{Decoder, Frame, Resume, VERSION};

/// The wait for the answer on a new carrier.
#[derive(Debug)]
pub(super) struct Resuming {
    answer: Decoder,
    /// None where no carrier worked.
    before: Option<Before>,
}

/// State of the carrier before, which stays in effect until the peer has answered.
#[derive(Debug, Clone, Copy)]
struct Before {
    moves: bool,
    silent: bool,
    ends: Option<Instant>,
}

impl Association {
    /// The initiator has a new carrier: what is sent and received from here on goes over it alone.
    pub fn resume(&mut self, now: Instant) {
        let Some(token) = self.token else { return };
        // One attempt after the other makes the peer's time no longer.
        let ends = self.ends.unwrap_or(now + self.patience.resume);
        // One that was not answered is replaced as if it had never been.
        self.return_to_carrier(now);
        let before = self.has_carrier().then_some(Before {
            moves: self.moves,
            silent: self.silent,
            ends: self.ends,
        });
        self.attempt = self.attempt.saturating_add(1);
        let resume = Resume {
            token,
            attempt: self.attempt,
            received: self.received(),
        };
        let mut preface = Vec::new();
        let version = VERSION;
        Frame::Resume { version, resume }.encode(&mut preface);
        self.output.begin(preface, true);
        self.lanes.begin(true);
        self.link = Link::Resuming(Resuming {
            answer: Decoder::default(),
            before,
        });
        (self.silent, self.moves) = (false, false);
        (self.heard, self.said, self.doubted) = (now, now, None);
        // The peer's system has let a connection come about.
        self.closed_ends = None;
        // For as long as there is no answer.
        self.ends = Some(ends);
    }

    /// The new carrier has failed before the peer answered on it, and the one before is still open:
    /// it is the carrier again, and a new one is wanted as before. False where none worked before.
    ///
    /// A peer that has refused the new one never left the one before. A peer that has answered, in
    /// vain, has closed it: then it ends, and the association resumes once more.
    pub fn return_to_carrier(&mut self, now: Instant) -> bool {
        let Link::Resuming(Resuming {
            before: Some(before), ..
        }) = self.link
        else {
            return false;
        };
        self.link = Link::Up;
        self.output.return_to_carrier();
        self.lanes.return_to_carrier();
        self.moves = before.moves;
        self.silent = before.silent;
        // Nothing was read from it meanwhile.
        (self.heard, self.doubted) = (now, None);
        self.open_from(now);
        if self.state != State::Ended {
            self.ends = before.ends.filter(|_| before.silent);
        }
        true
    }

    /// Octets from the initiator's new carrier, before the answer is complete; gives what follows
    /// the answer.
    pub(super) fn answer_received(&mut self, bytes: &[u8], now: Instant) -> Vec<u8> {
        let Link::Resuming(Resuming { answer, .. }) = &mut self.link else {
            return bytes.to_vec();
        };
        answer.push(bytes);
        let ending = match answer.next_frame() {
            Ok(None) => return Vec::new(),
            Ok(Some(Frame::Resumed(received))) => {
                let rest = answer.take_rest();
                self.link = Link::Up;
                self.continue_behind(&received, now);
                return rest;
            }
            Ok(Some(Frame::Unknown)) => Ending::CarrierLost(FORGOTTEN.to_owned()),
            Ok(Some(_)) => Ending::Unexpected("what is no answer"),
            Err(malformed) => Ending::Malformed(malformed),
        };
        self.lose(ending, now);
        Vec::new()
    }
}

/// The end of an association of which the peer node knows nothing.
const FORGOTTEN: &str = "its sidecar knows nothing of the association: it was restarted";
