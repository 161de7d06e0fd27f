//! Messages on streams of the carrier that they have to themselves: those of one lane keep their order, and wait for no others.
//!
//! Nothing orders these streams with regard to each other and to the stream of the association's life, so what follows from an order
//! is said: how many messages came before a shutdown, and after how many restarts a stream was begun.

use std::collections::BTreeMap;
use std::time::Instant;

use super::link::Counted;
use super::output::Output;
use super::{Association, Ending, State};
use crate::frame::{Decoder, Frame, LANE_HEAD, Lane, MOST_LANES, Message, Received};

/// Octets of one read from a lane at most.
const READ: usize = 64 * 1024;

/// Kind of the carrier between two nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Carriage {
    /// One reliable ordered byte stream.
    Stream,
    /// Reliable ordered byte streams, of which one is for the association's life and one for each [`Lane`] and direction.
    Streams,
}

/// The lanes of one association.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    /// Restarts of the association: what was sent before the last of them is void.
    restarts: u32,
    /// Restarts that the peer has named on a new carrier. Those beyond `restarts` are on their way.
    awaited: u32,
    /// It is not known yet where the peer continues.
    held_back: bool,
    /// For the peer. A lane is here from its first message on.
    pub(super) departing: BTreeMap<Lane, Output>,
    /// From the peer since the last restart, over however many carriers.
    pub(super) arriving: BTreeMap<Lane, Arriving>,
    /// Streams of the carrier from which messages come, by the carrier's own numbers.
    streams: BTreeMap<u64, Stream>,
    /// The same of the carrier before, which may be returned to.
    streams_before: BTreeMap<u64, Stream>,
    /// The function at the other end has shut down after so many messages, and not all of them came yet.
    shutdown_after: Option<u64>,
}

/// A lane from which messages come.
#[derive(Debug, Default)]
pub(super) struct Arriving {
    pub(super) counted: Counted,
    pub(super) decoder: Decoder,
    /// The message that is not whole yet.
    pub(super) message: Option<Message>,
}

/// One stream of the carrier from which messages come.
#[derive(Debug, Default)]
struct Stream {
    /// Reads its head.
    decoder: Decoder,
    /// The head: the lane, and the restarts before.
    head: Option<(Lane, u32)>,
}

impl Lanes {
    /// Output that a piece of a message is to be written to.
    pub(super) fn departing(&mut self, lane: Lane) -> &mut Output {
        let (restarts, held_back) = (self.restarts, self.held_back);
        self.departing
            .entry(lane)
            .or_insert_with(|| Output::beginning_with(&head(lane, restarts), held_back))
    }

    /// Those of an association that has restarted so often.
    pub(super) fn after(restarts: u32) -> Self {
        Self {
            restarts,
            ..Self::default()
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.departing.is_empty() && self.arriving.is_empty()
    }

    pub(super) const fn restarts(&self) -> u32 {
        self.restarts
    }

    /// No restart and no shutdown is on its way.
    pub(super) const fn can_be_handed_over(&self) -> bool {
        self.shutdown_after.is_none() && self.awaited <= self.restarts
    }

    /// Octets that wait for the carrier.
    pub(super) fn waiting(&self) -> usize {
        self.departing.values().map(Output::unsent).sum()
    }

    /// Octets that the peer may not have.
    pub(super) fn kept(&self) -> usize {
        self.departing.values().map(Output::kept).sum()
    }

    /// Nothing of them is of use any more.
    pub(super) fn clear(&mut self) {
        self.departing.clear();
        self.arriving.clear();
        self.drop_carrier();
        self.shutdown_after = None;
    }

    /// The association has restarted. Heads of streams are kept: by them the streams are known to
    /// be void.
    pub(super) fn restart(&mut self) {
        self.departing.clear();
        self.arriving.clear();
        self.shutdown_after = None;
        self.restarts = self.restarts.saturating_add(1);
    }

    /// The streams of the carrier are gone.
    pub(super) fn drop_carrier(&mut self) {
        self.streams.clear();
        self.streams_before.clear();
    }

    /// A new carrier: each lane begins a stream of its own there, which may have to wait until the
    /// peer says where it continues.
    pub(super) fn begin(&mut self, held_back: bool) {
        self.streams_before = std::mem::take(&mut self.streams);
        self.held_back = held_back;
        for (lane, output) in &mut self.departing {
            output.begin(head(*lane, self.restarts), held_back);
        }
    }

    /// The carrier before is the carrier again, and its streams go on.
    pub(super) fn return_to_carrier(&mut self) {
        self.streams = std::mem::take(&mut self.streams_before);
        self.held_back = false;
        for output in self.departing.values_mut() {
            output.return_to_carrier();
        }
    }

    /// Octets received of each lane.
    pub(super) fn received(&self) -> Vec<(Lane, u64)> {
        let lanes = self.arriving.iter();
        lanes
            .map(|(lane, arriving)| (*lane, arriving.counted.received))
            .collect()
    }

    /// Reports a message that is not whole yet.
    pub(super) fn has_begun_message(&self) -> bool {
        let begun = |arriving: &Arriving| arriving.message.is_some() || arriving.decoder.held() > 0;
        self.arriving.values().any(begun)
    }

    pub(super) fn unreported(&self) -> u64 {
        self.arriving
            .values()
            .map(|arriving| arriving.counted.unreported())
            .sum()
    }

    /// Octets received of lanes of which the peer does not know it.
    pub(super) fn report(&mut self) -> Vec<(Lane, u64)> {
        let lanes = self.arriving.iter_mut();
        lanes
            .filter_map(|(lane, arriving)| Some((*lane, arriving.counted.report()?)))
            .collect()
    }

    /// The peer has so many octets of a lane; false where that cannot be. One that is not here was
    /// of the association before a restart. Before an awaited restart a report may count octets that
    /// were dropped for it.
    pub(super) fn acknowledge(&mut self, lane: Lane, octets: u64) -> bool {
        self.awaited > self.restarts
            || self
                .departing
                .get_mut(&lane)
                .is_none_or(|output| output.acknowledge(octets))
    }

    /// Each lane continues behind what the peer has of it; false where that cannot be.
    pub(super) fn continue_at(&mut self, received: &Received) -> bool {
        self.held_back = false;
        self.streams_before.clear();
        if received.restarts > self.restarts {
            // The peer's restart is on its way: nothing of these is wanted.
            self.awaited = received.restarts;
            self.departing.clear();
            return true;
        }
        // A peer that has not heard of a restart has nothing of what was sent since.
        let current = received.restarts == self.restarts;
        let positions: BTreeMap<_, _> = received.lanes.iter().copied().filter(|_| current).collect();
        let mut known = positions.keys().all(|lane| self.departing.contains_key(lane));
        for (lane, output) in &mut self.departing {
            known &= output.continue_at(positions.get(lane).copied().unwrap_or_default());
        }
        known
    }
}

/// First frame of a carrier's stream.
fn head(lane: Lane, restarts: u32) -> Vec<u8> {
    let mut head = Vec::new();
    Frame::Lane { lane, restarts }.encode(&mut head);
    head
}

impl Association {
    /// Lanes with octets for the carrier, each on a stream of its own; [`Association::lane_output_taken`] follows.
    pub fn lane_output(&self) -> impl Iterator<Item = (Lane, &[u8])> {
        let departing = self.lanes.departing.iter();
        departing
            .filter(|(_, output)| output.unsent() > 0 && !output.held_back && self.has_carrier())
            .map(|(lane, output)| (*lane, output.waiting()))
    }

    /// The carrier has taken so many octets of a lane.
    pub fn lane_output_taken(&mut self, lane: Lane, octets: usize) {
        if let Some(output) = self.lanes.departing.get_mut(&lane) {
            output.take(octets);
        }
    }

    /// Restarts of the association so far. With each, the carrier drops the streams on which it sends lanes: what is left of them is void.
    pub const fn restarts(&self) -> u32 {
        self.lanes.restarts
    }

    /// Octets that may be read now from a stream with messages. None while it is not known if they
    /// are of this association, or of the one before or after a restart.
    pub fn lane_room(&self, stream: u64) -> usize {
        if self.end.is_some() || !self.opened || self.reopening || !self.has_carrier() {
            return 0;
        }
        match self.lanes.streams.get(&stream) {
            None => LANE_HEAD,
            Some(Stream { head: None, decoder }) => LANE_HEAD.saturating_sub(decoder.held()),
            Some(Stream {
                head: Some((_, restarts)),
                ..
            }) if *restarts == self.lanes.restarts => READ,
            Some(_) => 0,
        }
    }

    /// Returns true if the data of a stream with messages was sent before the last restart: the
    /// carrier closes the stream.
    #[must_use]
    pub fn lane_is_void(&self, stream: u64) -> bool {
        let head = self.lanes.streams.get(&stream).and_then(|stream| stream.head);
        head.is_some_and(|(_, restarts)| restarts < self.lanes.restarts)
    }

    /// Octets from a stream with messages, at most as many as [`Association::lane_room`].
    pub fn lane_received(&mut self, stream: u64, bytes: &[u8], now: Instant) {
        if self.end.is_some() {
            return;
        }
        if self.carriage == Carriage::Stream {
            return self.fail(Ending::Unexpected("messages on a stream of their own"), now);
        }
        if !self.has_carrier() || bytes.is_empty() {
            return;
        }
        self.is_heard(now);
        let known = self.lanes.streams.entry(stream).or_default();
        let Some((lane, restarts)) = known.head else {
            known.decoder.push(bytes);
            return self.lane_head(stream, now);
        };
        if restarts == self.lanes.restarts {
            let arriving = self.lanes.arriving.entry(lane).or_default();
            arriving.counted.add(bytes.len());
            arriving.decoder.push(bytes);
            self.lane_frames(lane, now);
            self.bound_what_is_kept(now);
        }
    }

    /// A stream with messages has ended, or was dropped by the peer node.
    pub fn lane_ended(&mut self, stream: u64) {
        self.lanes.streams.remove(&stream);
    }

    /// Reads what a stream begins with.
    fn lane_head(&mut self, stream: u64, now: Instant) {
        let heads: Vec<_> = self.lanes.streams.values().filter_map(|stream| stream.head).collect();
        let Some(known) = self.lanes.streams.get_mut(&stream) else {
            return;
        };
        let what = match known.decoder.next_frame() {
            Ok(Some(Frame::Lane { lane, restarts })) if heads.contains(&(lane, restarts)) => {
                "a second stream of the same lane"
            }
            Ok(Some(Frame::Lane { lane, .. }))
                if heads.len() >= MOST_LANES
                    || (self.lanes.arriving.len() >= MOST_LANES && !self.lanes.arriving.contains_key(&lane)) =>
            {
                "more lanes than there are"
            }
            Ok(Some(Frame::Lane { lane, restarts })) => {
                known.head = Some((lane, restarts));
                return;
            }
            // The first frame is no longer than that, and no more was read.
            Ok(None) if known.decoder.held() < LANE_HEAD => return,
            Ok(_) => "a stream without a lane",
            Err(malformed) => return self.fail(Ending::Malformed(malformed), now),
        };
        self.fail(Ending::Unexpected(what), now);
    }

    /// Reads the messages of a lane.
    fn lane_frames(&mut self, lane: Lane, now: Instant) {
        while self.end.is_none()
            && let Some(arriving) = self.lanes.arriving.get_mut(&lane)
        {
            match arriving.decoder.next_frame() {
                Ok(Some(Frame::Message(fragment))) if Lane::from(fragment.delivery) == lane => {
                    let begun = arriving.message.take();
                    let begun = self.message(begun, fragment, now);
                    if let Some(arriving) = self.lanes.arriving.get_mut(&lane) {
                        arriving.message = begun;
                    }
                }
                Ok(Some(Frame::Message(_))) => self.fail(Ending::Unexpected("a message of another lane"), now),
                Ok(Some(_)) => self.fail(Ending::Unexpected("what is no message among messages"), now),
                Ok(None) => return,
                Err(malformed) => self.fail(Ending::Malformed(malformed), now),
            }
        }
    }

    /// The frame by which the peer learns that the function has shut down.
    pub(super) fn shutdown_frame(&self) -> Frame {
        match self.carriage {
            Carriage::Stream => Frame::Shutdown,
            Carriage::Streams => Frame::ShutdownAfter(self.counts.sent),
        }
    }

    /// The function at the other end has shut down after so many messages.
    pub(super) fn shut_down_after(&mut self, messages: u64, now: Instant) {
        match self.state {
            State::Opening | State::Established if self.lanes.shutdown_after.is_none() => {
                self.lanes.shutdown_after = Some(messages);
                self.shut_down_when_all_came(now);
            }
            // This function has ended its association and waits for no message under way.
            State::ShuttingDown => self.shut_down(now),
            _ => self.fail(Ending::Unexpected("a second shutdown"), now),
        }
    }

    /// Follows a shutdown once every message before it has come.
    pub(super) fn shut_down_when_all_came(&mut self, now: Instant) {
        let Some(messages) = self.lanes.shutdown_after else {
            return;
        };
        if self.counts.received > messages {
            return self.fail(Ending::Unexpected("a message after the shutdown"), now);
        }
        if self.counts.received == messages {
            self.lanes.shutdown_after = None;
            self.shut_down(now);
        }
    }
}
