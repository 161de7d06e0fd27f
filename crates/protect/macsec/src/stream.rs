//! A conversation: an ordered stream of octets each way over frames that may be lost, for TLS to run in.
//!
//! TCP over IP would do as well, and would need more: addresses on the port, neighbour discovery, and a host's whole IP stack behind a port
//! whose guard is to pass nothing but what makes keys. Here one EtherType is enough. A link has no router that drops under load, so this
//! does no more than it must: a window, acknowledgements, and everything anew from the first missing octet after a time.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::segment::{self, From, Segment};

/// Octets that may be under way: a flight of TLS with ML-DSA-87 chains fits.
const WINDOW: usize = 64 << 10;
/// Octets that wait to be sent: no handshake and no list of messages takes as much.
const MOST_WAITING: usize = 512 << 10;
/// Until what was not acknowledged is sent again; twice as long each time, up to the second.
const FIRST_AGAIN: Duration = Duration::from_millis(100);
const LAST_AGAIN: Duration = Duration::from_secs(1);
/// A peer that acknowledges nothing for so long is gone.
const PATIENCE: Duration = Duration::from_secs(5);

/// A conversation that ended without being ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// Nothing was acknowledged for as long as it may take.
    #[error("the peer does not answer")]
    Silent,
    /// More waits to be sent than ever should, or as much was sent as can be counted.
    #[error("the conversation has no room left")]
    Full,
}

bartizan_registry::made! {
    /// One end of a conversation.
    #[derive(Debug)]
    pub struct Stream,
    /// One end; `mtu` is how many octets a frame's payload may have.
    pub new(from: From, conversation: u64, mtu: u32) {
        let mtu = usize::try_from(mtu).unwrap_or(usize::MAX).min(9000);
        from: From,
        conversation: u64,
        /// Octets of payload that a frame carries.
        room: usize = mtu.saturating_sub(segment::HEADER).max(1),
        /// Unacknowledged octets, from `acknowledged` on; the first `sent` octets of it were sent.
        waiting: VecDeque<u8> = VecDeque::new(),
        acknowledged: u32 = 0,
        sent: usize = 0,
        /// Next octet of the peer's stream.
        expected: u32 = 0,
        owes_acknowledgement: bool = false,
        again: Duration = FIRST_AGAIN,
        again_at: Option<Instant> = None,
        silent_since: Option<Instant> = None,
    }
}

impl Stream {
    /// Its number.
    pub const fn conversation(&self) -> u64 {
        self.conversation
    }

    /// Adds octets to what is sent.
    ///
    /// # Errors
    ///
    /// [`Broken::Full`].
    pub fn write(&mut self, octets: &[u8]) -> Result<(), Broken> {
        let all = self.waiting.len() + octets.len();
        if all > MOST_WAITING
            || u32::try_from(all)
                .ok()
                .and_then(|all| self.acknowledged.checked_add(all))
                .is_none()
        {
            return Err(Broken::Full);
        }
        self.waiting.extend(octets);
        Ok(())
    }

    /// Takes a segment of the other end; what it adds to the stream is returned.
    pub fn receive<'a>(&mut self, segment: &Segment<'a>, now: Instant) -> &'a [u8] {
        if segment.from == self.from || segment.conversation != self.conversation {
            return &[];
        }
        if let Some(newly) = segment.acknowledgement.checked_sub(self.acknowledged) {
            let newly = usize::try_from(newly).unwrap_or(usize::MAX);
            if newly > 0 && newly <= self.sent {
                self.waiting.drain(..newly);
                self.sent -= newly;
                if self.waiting.is_empty() {
                    // A handshake took kilobytes; what follows are words now and then.
                    self.waiting = VecDeque::new();
                }
                self.acknowledged = segment.acknowledgement;
                self.again = FIRST_AGAIN;
                self.again_at = (self.sent > 0).then(|| now + self.again);
                self.silent_since = (!self.waiting.is_empty()).then_some(now);
            }
        }
        if segment.payload.is_empty() {
            return &[];
        }
        // Old segments are acknowledged again: the acknowledgement was lost. The other end sends
        // early ones again.
        self.owes_acknowledgement = true;
        let known = self
            .expected
            .checked_sub(segment.sequence)
            .and_then(|known| usize::try_from(known).ok());
        let fresh = known.and_then(|known| segment.payload.get(known..)).unwrap_or_default();
        match u32::try_from(fresh.len())
            .ok()
            .and_then(|fresh| self.expected.checked_add(fresh))
        {
            Some(expected) => {
                self.expected = expected;
                fresh
            }
            None => &[],
        }
    }

    /// Sends the segments that are due now.
    ///
    /// # Errors
    ///
    /// [`Broken::Silent`].
    pub fn poll(&mut self, now: Instant, send: &mut dyn FnMut(Vec<u8>)) -> Result<(), Broken> {
        if !self.waiting.is_empty() {
            let since = *self.silent_since.get_or_insert(now);
            if now.saturating_duration_since(since) >= PATIENCE {
                return Err(Broken::Silent);
            }
        }
        if self.again_at.is_some_and(|at| at <= now) {
            self.sent = 0;
            self.again = (self.again * 2).min(LAST_AGAIN);
            self.again_at = None;
        }
        while self.sent < self.waiting.len().min(WINDOW) {
            let until = (self.sent + self.room).min(self.waiting.len()).min(WINDOW);
            let payload: Vec<u8> = self.waiting.range(self.sent..until).copied().collect();
            send(self.segment(self.sent, &payload).write());
            self.sent = until;
            self.again_at.get_or_insert(now + self.again);
            self.owes_acknowledgement = false;
        }
        if self.owes_acknowledgement {
            send(self.segment(self.sent, &[]).write());
            self.owes_acknowledgement = false;
        }
        Ok(())
    }

    /// Sends again at once what the other end has taken nothing of: it did not listen yet, and does now.
    pub fn hurry(&mut self, now: Instant) {
        if self.acknowledged == 0 && self.again_at.is_some() {
            self.again_at = Some(now);
            self.again = FIRST_AGAIN / 2;
        }
    }

    /// When [`Stream::poll`] is to be called at the latest.
    pub fn wake(&self) -> Option<Instant> {
        self.again_at
    }

    fn segment<'a>(&self, at: usize, payload: &'a [u8]) -> Segment<'a> {
        Segment {
            from: self.from,
            conversation: self.conversation,
            // Both fit: `write` lets no more in.
            sequence: self.acknowledged.wrapping_add(u32::try_from(at).unwrap_or_default()),
            acknowledgement: self.expected,
            payload,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Carries what each sends to the other; frames that `lost` names by their number do not arrive.
    fn carry(ends: &mut [Stream; 2], lost: &dyn Fn(usize) -> bool, rounds: u32) -> [Vec<u8>; 2] {
        let (mut read, mut number, mut now) = ([Vec::new(), Vec::new()], 0, Instant::now());
        for _ in 0..rounds {
            for end in [0, 1] {
                let mut frames = Vec::new();
                ends[end].poll(now, &mut |frame| frames.push(frame)).unwrap();
                for frame in frames {
                    number += 1;
                    if !lost(number) {
                        let segment = Segment::read(&frame).unwrap();
                        read[1 - end].extend(ends[1 - end].receive(&segment, now));
                    }
                }
            }
            now += Duration::from_millis(20);
        }
        read
    }

    fn ends() -> [Stream; 2] {
        [Stream::new(From::Client, 7, 1500), Stream::new(From::Server, 7, 1500)]
    }

    proptest! {
        #[test]
        fn octets_arrive_once_and_in_order_whichever_frames_are_lost(
            lengths in [0..200_000usize, 0..40_000usize], lose in proptest::collection::btree_set(1..200usize, 0..40),
        ) {
            let mut ends = ends();
            let sent = lengths.map(|length| (0..length).map(|index| (index % 251) as u8).collect::<Vec<_>>());
            for end in [0, 1] {
                ends[end].write(&sent[end]).unwrap();
            }
            let read = carry(&mut ends, &|number| lose.contains(&number), 400);
            prop_assert!(read[1] == sent[0] && read[0] == sent[1]);
        }
    }

    #[test]
    fn flight_leaves_at_once_and_in_frames_that_the_port_takes() {
        let mut stream = Stream::new(From::Client, 7, 1500);
        stream.write(&[1; 20_000]).unwrap();
        let mut frames = Vec::new();
        stream.poll(Instant::now(), &mut |frame| frames.push(frame)).unwrap();
        assert_eq!(frames.len(), 20_000_usize.div_ceil(1500 - segment::HEADER));
        assert!(frames.iter().all(|frame| frame.len() <= 1500));
    }

    #[test]
    fn peer_that_acknowledges_nothing_is_given_up_and_what_waits_has_a_bound() {
        let (mut stream, now) = (Stream::new(From::Client, 7, 1500), Instant::now());
        stream.write(b"hello").unwrap();
        let mut sent = 0;
        let mut count = |_: Vec<u8>| sent += 1;
        for tenth in 0..49 {
            stream
                .poll(now + Duration::from_millis(100) * tenth, &mut count)
                .unwrap();
        }
        assert_eq!(stream.poll(now + PATIENCE, &mut count), Err(Broken::Silent));
        assert!((5..12).contains(&sent), "{sent}");
        assert_eq!(stream.write(&vec![0; MOST_WAITING]), Err(Broken::Full));
    }

    #[test]
    fn what_nobody_took_is_sent_again_at_once_when_the_other_end_listens_and_what_was_taken_is_not() {
        let ([mut client, mut server], now) = (ends(), Instant::now());
        client.write(b"hello").unwrap();
        let sent = |client: &mut Stream, now| {
            let mut frames = Vec::new();
            client.poll(now, &mut |frame| frames.push(frame)).unwrap();
            frames
        };
        let first = sent(&mut client, now);
        let later = now + Duration::from_millis(30);
        assert!(sent(&mut client, later).is_empty());
        client.hurry(later);
        assert_eq!(sent(&mut client, later), first);
        // And after the time of the first time again.
        assert!(sent(&mut client, later + Duration::from_millis(90)).is_empty());
        assert_eq!(sent(&mut client, later + Duration::from_millis(100)), first);
        server.receive(&Segment::read(&first[0]).unwrap(), later);
        let acknowledgement = sent(&mut server, later);
        client.receive(&Segment::read(&acknowledgement[0]).unwrap(), later);
        client.hurry(later);
        assert!(sent(&mut client, later).is_empty());
    }

    #[test]
    fn segments_of_another_conversation_and_our_own_that_come_back_change_nothing() {
        let [mut client, _] = ends();
        let own = Segment {
            from: From::Client,
            conversation: 7,
            sequence: 0,
            acknowledgement: 0,
            payload: b"x",
        };
        assert!(client.receive(&own, Instant::now()).is_empty());
        let other = Segment {
            from: From::Server,
            conversation: 8,
            ..own
        };
        assert!(client.receive(&other, Instant::now()).is_empty());
        let acknowledges_too_much = Segment {
            from: From::Server,
            acknowledgement: 900,
            payload: b"y",
            ..own
        };
        assert_eq!(client.receive(&acknowledges_too_much, Instant::now()), b"y");
    }
}
