//! Messages on streams of the carrier that they have to themselves: those of one lane keep their order, and wait for no others.
//!
//! Nothing orders these streams with regard to each other and to the stream of the association's life, so what follows from an order
//! is said: how many messages came before a shutdown, and after how many restarts a stream was begun.

use std::collections::BTreeMap;
use std::time::Instant;

use super::output::Output;
use super::{Association, Ending, State};
use crate::frame::{self, Decoder, Delivery, Frame, LANE_HEAD, Lane, Message};

/// Octets of one read from a lane at most.
const READ: usize = 64 * 1024;

/// What the carrier between two nodes is.
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
    /// For the carrier. A lane is here from its first message on.
    departing: BTreeMap<Lane, Output>,
    /// Streams of the carrier from which messages come, by the carrier's own numbers.
    arriving: BTreeMap<u64, Arriving>,
    /// The function at the other end has shut down after so many messages, and not all of them came yet.
    shutdown_after: Option<u64>,
}

/// One stream of the carrier from which messages come.
#[derive(Debug, Default)]
struct Arriving {
    decoder: Decoder,
    /// What it began with: the lane, and the restarts before.
    head: Option<(Lane, u32)>,
    /// The message that is not whole yet.
    message: Option<Message>,
}

impl Lanes {
    /// Where a piece of a message is to be written.
    fn departing(&mut self, lane: Lane) -> &mut Output {
        let restarts = self.restarts;
        self.departing.entry(lane).or_insert_with(|| {
            let mut output = Output::default();
            Frame::Lane { lane, restarts }.encode(output.buffer());
            output
        })
    }

    /// Octets that wait for the carrier.
    pub(super) fn waiting(&self) -> usize {
        self.departing.values().map(|output| output.waiting().len()).sum()
    }

    /// Nothing of them is of use any more.
    pub(super) fn clear(&mut self) {
        self.departing.clear();
        self.arriving.clear();
        self.shutdown_after = None;
    }

    /// The association has restarted. What streams began with is kept: by it they are known to be void.
    pub(super) fn restart(&mut self) {
        self.departing.clear();
        self.shutdown_after = None;
        for arriving in self.arriving.values_mut() {
            if arriving.head.is_some_and(|(_, restarts)| restarts <= self.restarts) {
                arriving.decoder = Decoder::default();
                arriving.message = None;
            }
        }
        self.restarts = self.restarts.saturating_add(1);
    }
}

impl Association {
    /// Lanes with octets for the carrier, each on a stream of its own; [`Association::lane_output_taken`] follows.
    pub fn lane_output(&self) -> impl Iterator<Item = (Lane, &[u8])> {
        let departing = self.lanes.departing.iter();
        departing
            .map(|(lane, output)| (*lane, output.waiting()))
            .filter(|(_, waiting)| !waiting.is_empty())
    }

    /// The carrier has taken so many octets of a lane.
    pub fn lane_output_taken(&mut self, lane: Lane, octets: usize) {
        if let Some(output) = self.lanes.departing.get_mut(&lane) {
            output.take(octets);
        }
    }

    /// Restarts of the association so far. With each, the carrier drops the streams on which it sends lanes: what is left of them is void.
    #[must_use]
    pub const fn restarts(&self) -> u32 {
        self.lanes.restarts
    }

    /// How many octets may be read now from a stream with messages; none while it is not known whether they are of this association, or
    /// of what it was before or will be after a restart.
    #[must_use]
    pub fn lane_room(&self, stream: u64) -> usize {
        if self.end.is_some() || !self.opened || self.reopening {
            return 0;
        }
        match self
            .lanes
            .arriving
            .get(&stream)
            .map(|arriving| (arriving.head, &arriving.decoder))
        {
            None => LANE_HEAD,
            Some((None, decoder)) => LANE_HEAD.saturating_sub(decoder.held()),
            Some((Some((_, restarts)), _)) if restarts == self.lanes.restarts => READ,
            Some(_) => 0,
        }
    }

    /// Whether what comes on a stream with messages was sent before the last restart: the carrier closes it.
    #[must_use]
    pub fn lane_is_void(&self, stream: u64) -> bool {
        let head = self.lanes.arriving.get(&stream).and_then(|arriving| arriving.head);
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
        self.heard = now;
        self.lanes.arriving.entry(stream).or_default().decoder.push(bytes);
        while self.end.is_none() {
            let Some(arriving) = self.lanes.arriving.get_mut(&stream) else {
                return;
            };
            match arriving.decoder.next_frame() {
                Ok(Some(frame)) => self.lane_frame(stream, frame, now),
                // The first frame is no longer than that, and no more was read.
                Ok(None) if arriving.head.is_none() && arriving.decoder.held() >= LANE_HEAD => {
                    return self.fail(Ending::Unexpected("a stream without a lane"), now);
                }
                Ok(None) => return,
                Err(malformed) => return self.fail(Ending::Malformed(malformed), now),
            }
        }
    }

    /// A stream with messages has ended, or was dropped by the peer node.
    pub fn lane_ended(&mut self, stream: u64) {
        self.lanes.arriving.remove(&stream);
    }

    fn lane_frame(&mut self, stream: u64, frame: Frame, now: Instant) {
        let current = self.lanes.restarts;
        let heads = self.lanes.arriving.values().filter_map(|arriving| arriving.head);
        let rivals = heads.collect::<Vec<_>>();
        let Some(arriving) = self.lanes.arriving.get_mut(&stream) else {
            return;
        };
        let what = match (frame, arriving.head) {
            (Frame::Lane { lane, restarts }, None) => {
                if !rivals.contains(&(lane, restarts)) {
                    arriving.head = Some((lane, restarts));
                    return;
                }
                "a second stream of the same lane"
            }
            (Frame::Message(fragment), Some((lane, restarts))) if restarts == current => {
                if lane == Lane::from(fragment.delivery) {
                    let begun = arriving.message.take();
                    let begun = self.message(begun, fragment, now);
                    if let Some(arriving) = self.lanes.arriving.get_mut(&stream) {
                        arriving.message = begun;
                    }
                    return;
                }
                "a message of another lane"
            }
            (_, None) => "a stream without a lane",
            (..) => "what is no message among messages",
        };
        self.fail(Ending::Unexpected(what), now);
    }

    /// Where a piece of the function's message goes on its way to the carrier.
    pub(super) fn write_fragment(&mut self, delivery: Delivery, bytes: &[u8], last: bool) {
        let output = match self.carriage {
            Carriage::Stream => &mut self.output,
            Carriage::Streams => self.lanes.departing(delivery.into()),
        };
        frame::encode_fragment(output.buffer(), delivery, bytes, last);
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
            // Where this function has ended its association, nobody waits for what is under way.
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
