//! Announcement of the end that waits for exchanges that it listens, so that the other does not
//! wait for its timer.
//!
//! Whichever end is started last, the first exchange begins at once: with the initiator last it is
//! the initiator that begins, with the responder last it announces itself. Nothing of the
//! announcement is authenticated: it costs the initiator one flight a second at most.

use std::time::{Duration, Instant};

use super::Link;
use crate::derive::Direction;
use crate::segment::Segment;

/// Least time between two announcements of the other end that have an effect.
const EVERY: Duration = Duration::from_secs(1);

/// Announcements sent and received.
#[derive(Debug, Default)]
pub(super) struct Listening {
    said: bool,
    heeded: Option<Instant>,
}

impl Listening {
    /// Returns true if it is to be announced now: once.
    fn is_to_be_said(&mut self) -> bool {
        !std::mem::replace(&mut self.said, true)
    }

    /// Returns true if an announcement has an effect now.
    fn is_heeded(&mut self, now: Instant) -> bool {
        let heeded = self
            .heeded
            .is_none_or(|before| now.saturating_duration_since(before) >= EVERY);
        if heeded {
            self.heeded = Some(now);
        }
        heeded
    }
}

impl Link {
    /// The frame that says that this end listens, where it is to be sent now.
    pub(super) fn listens(&mut self) -> Option<Vec<u8>> {
        let waits = self.exchange.is_some() && self.setting.direction == Direction::FromServer;
        (waits && self.listening.is_to_be_said()).then(|| Segment::LISTENS.write())
    }

    /// Handles the peer's announcement: an exchange that the peer missed is begun again. One that
    /// stands stays, since any host on the wire can send an announcement.
    pub(super) fn peer_listens(&mut self, now: Instant) {
        let waits = self.setting.direction == Direction::FromClient && self.current.is_none();
        if !waits || !self.listening.is_heeded(now) {
            return;
        }
        self.dial_at = self.dial_at.min(now);
        for beginning in self.beginning.values_mut() {
            beginning.session.hurry(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_said_once_and_heeded_once_a_second() {
        let (mut listening, now) = (Listening::default(), Instant::now());
        assert!(listening.is_to_be_said() && !listening.is_to_be_said());
        assert!(listening.is_heeded(now));
        assert!(!listening.is_heeded(now + EVERY / 2));
        assert!(listening.is_heeded(now + EVERY));
    }
}
