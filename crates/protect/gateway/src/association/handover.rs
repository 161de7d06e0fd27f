//! The state by which another process of the node continues an association.
//!
//! Octets of the function that the peer may not have, and octets of the peer that the function does
//! not have, are part of it, with their positions: the other process resumes as after the loss of a
//! carrier. Numbers have eight octets, big-endian; octets have their number before them. The process
//! that gives it is one of the same user, yet every value is checked.

use std::collections::VecDeque;
use std::time::Instant;

use super::lanes::{Arriving, Carriage, Lanes};
use super::link::{Counted, KEPT_AT_MOST, Link};
use super::output::Output;
use super::{ASKED_AFTER, Association, Command, Counts, Patience, Side, State, Totals};
use crate::frame::{Decoder, Delivery, FRAGMENT, Frame, LARGEST_MESSAGE, Lane, MOST_LANES, Message, Order};
use crate::frame::{Streams, Token, WINDOW};

/// Version of this form.
const FORM: u64 = 1;
/// Octets of a state at most: what is kept for both ends, and a piece of a frame of each lane.
pub const LARGEST_STATE: usize = 16 * WINDOW;
/// Octets of a frame that is not whole.
const PIECE: usize = 2 * FRAGMENT;

/// No count comes near it.
const MOST: u64 = u64::MAX >> 2;

/// Writes a state.
#[derive(Default)]
struct Writer(Vec<u8>);

/// Reads one.
struct Reader<'a>(&'a [u8]);

impl Writer {
    fn number(&mut self, number: impl Into<u64>) {
        self.0.extend(number.into().to_be_bytes());
    }

    fn octets(&mut self, octets: &[u8]) {
        self.number(octets.len() as u64);
        self.0.extend_from_slice(octets);
    }

    fn lane(&mut self, Lane { stream, order }: Lane) {
        self.number(stream);
        self.number(order == Order::Unordered);
    }

    fn delivery(&mut self, delivery: Delivery) {
        self.lane(delivery.into());
        self.number(delivery.payload_protocol);
    }

    fn message(&mut self, Message { delivery, bytes }: &Message) {
        self.delivery(*delivery);
        self.octets(bytes);
    }

    /// One that may be missing.
    fn partial(&mut self, message: Option<&Message>) {
        self.number(message.is_some());
        if let Some(message) = message {
            self.message(message);
        }
    }
}

impl Reader<'_> {
    fn number<T: TryFrom<u64>>(&mut self) -> Option<T> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        let number = Some(u64::from_be_bytes(*number)).filter(|number| *number <= MOST)?;
        T::try_from(number).ok()
    }

    fn flag(&mut self) -> Option<bool> {
        let number: u8 = self.number()?;
        (number <= 1).then_some(number == 1)
    }

    fn octets(&mut self, most: usize) -> Option<Vec<u8>> {
        let length = self.number().filter(|length| *length <= most)?;
        let (octets, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(octets.to_vec())
    }

    fn lane(&mut self) -> Option<Lane> {
        let stream = self.number()?;
        let order = if self.flag()? { Order::Unordered } else { Order::Ordered };
        Some(Lane { stream, order })
    }

    fn delivery(&mut self) -> Option<Delivery> {
        let Lane { stream, order } = self.lane()?;
        let payload_protocol = self.number()?;
        Some(Delivery {
            stream,
            payload_protocol,
            order,
        })
    }

    fn message(&mut self) -> Option<Message> {
        Some(Message {
            delivery: self.delivery()?,
            bytes: self.octets(LARGEST_MESSAGE)?,
        })
    }

    fn partial(&mut self) -> Option<Option<Message>> {
        Some(if self.flag()? { Some(self.message()?) } else { None })
    }

    fn decoder(&mut self) -> Option<Decoder> {
        let mut decoder = Decoder::default();
        decoder.push(&self.octets(PIECE)?);
        Some(decoder)
    }

    fn output(&mut self) -> Option<Output> {
        let acknowledged = self.number()?;
        Some(Output::continued(acknowledged, self.octets(KEPT_AT_MOST)?))
    }

    fn streams(&mut self) -> Option<Streams> {
        Some(Streams {
            outbound: self.number()?,
            inbound: self.number()?,
        })
    }
}

impl Association {
    /// State by which another process continues the association over another carrier; none while it
    /// is opened, restarted or ended. Nothing is read from the function or the carrier from then on:
    /// [`Association::handed_over`] follows, or the association goes on here.
    #[must_use]
    pub fn hand_over(&self) -> Option<Vec<u8>> {
        let (token, streams) = (self.token?, self.granted?);
        let stands = self.state == State::Established && self.opened && !self.reopening && self.end.is_none();
        let messages = self.commands.iter().map(|command| match command {
            Command::Send(message) => Some(message),
            Command::Connect(_) | Command::Shutdown | Command::Abort(_) => None,
        });
        let messages: Vec<_> = messages.collect::<Option<_>>()?;
        if !stands || !self.lanes.can_be_handed_over() {
            return None;
        }
        let mut to = Writer::default();
        to.number(FORM);
        to.number(self.side == Side::Responder);
        to.number(self.carriage == Carriage::Streams);
        to.0.extend(token.0);
        to.number(self.attempt);
        for count in [streams.outbound, streams.inbound] {
            to.number(count);
        }
        let (mut counts, mut totals) = (self.counts, self.totals);
        for count in counts.fields().into_iter().chain(totals.fields()) {
            to.number(*count);
        }
        for octets in [self.used, self.owed, self.credit] {
            to.number(octets as u64);
        }
        to.number(self.departing.is_some());
        if let Some((delivery, sent)) = self.departing {
            to.delivery(delivery);
            to.number(sent as u64);
        }
        to.number(messages.len() as u64);
        messages.into_iter().for_each(|message| to.message(message));
        to.number(self.counted.received);
        to.octets(self.decoder.rest());
        to.partial(self.arriving.as_ref());
        let (acknowledged, kept) = self.output.kept_octets();
        let mut kept = kept.to_vec();
        // As `handed_over` will have written.
        if self.asks_to_move() {
            Frame::Move.encode(&mut kept);
        }
        to.number(acknowledged);
        to.octets(&kept);
        self.lanes.write(&mut to);
        (to.0.len() <= LARGEST_STATE).then_some(to.0)
    }

    /// The other process has it. What is left to write goes over the carrier, and nothing else.
    pub fn handed_over(&mut self) {
        if self.asks_to_move() {
            Frame::Move.encode(self.output.buffer());
        }
    }

    /// The initiator is asked for the carrier to the other process.
    const fn asks_to_move(&self) -> bool {
        matches!(self.side, Side::Responder) && self.has_carrier()
    }

    /// Continues the association of this state, which has no carrier yet; none where it is no state.
    #[must_use]
    pub fn taken_over(state: &[u8], patience: Patience, now: Instant) -> Option<Self> {
        let mut from = Reader(state);
        if state.len() > LARGEST_STATE || from.number::<u64>()? != FORM {
            return None;
        }
        let side = if from.flag()? { Side::Responder } else { Side::Initiator };
        let carriage = if from.flag()? {
            Carriage::Streams
        } else {
            Carriage::Stream
        };
        let (token, rest) = from.0.split_first_chunk()?;
        from.0 = rest;
        let mut association = Self::new(side, carriage, patience, now);
        association.token = Some(Token(*token));
        association.attempt = from.number()?;
        association.has_streams(from.streams()?);
        (association.state, association.opened) = (State::Established, true);
        association.opening_ends = None;
        let counts = association.counts.fields();
        for count in counts.into_iter().chain(association.totals.fields()) {
            *count = from.number()?;
        }
        association.used = from.number()?;
        association.owed = from.number()?;
        association.credit = from.number()?;
        if from.flag()? {
            association.departing = Some((from.delivery()?, from.number().filter(|sent| *sent <= LARGEST_MESSAGE)?));
        }
        let waiting: u64 = from.number()?;
        let mut commands = VecDeque::new();
        for _ in 0..waiting {
            commands.push_back(Command::Send(from.message()?));
        }
        association.commands = commands;
        association.counted = Counted::of(from.number()?);
        association.decoder = from.decoder()?;
        association.arriving = from.partial()?;
        association.output = from.output()?;
        association.lanes = Lanes::read(&mut from)?;
        let Counts {
            sent,
            acknowledged,
            received,
            handed,
            confirmed,
            reported,
        } = association.counts;
        let counts = acknowledged <= sent && reported <= confirmed && confirmed <= handed;
        let windows =
            association.owed <= association.used && association.used <= WINDOW && association.credit <= WINDOW;
        let messages = handed.checked_add(waiting) == Some(received);
        let lanes = carriage == Carriage::Streams || association.lanes.is_empty();
        if !(from.0.is_empty() && counts && windows && messages && lanes && association.kept() <= KEPT_AT_MOST) {
            return None;
        }
        if confirmed < handed {
            association.question_due = Some(now + ASKED_AFTER);
        }
        association.link = Link::Down("its sidecar was started anew".to_owned());
        association.ends = Some(now + patience.resume);
        Some(association)
    }
}

impl Counts {
    /// All of them, in the order of the state.
    fn fields(&mut self) -> [&mut u64; 6] {
        let Self {
            sent,
            acknowledged,
            received,
            handed,
            confirmed,
            reported,
        } = self;
        [sent, acknowledged, received, handed, confirmed, reported]
    }
}

impl Totals {
    /// All of them, in the order of the state.
    fn fields(&mut self) -> [&mut u64; 6] {
        [
            &mut self.sent,
            &mut self.sent_octets,
            &mut self.received,
            &mut self.received_octets,
            &mut self.unacknowledged,
            &mut self.undelivered,
        ]
    }
}

impl Lanes {
    fn write(&self, to: &mut Writer) {
        to.number(self.restarts());
        to.number(self.departing.len() as u64);
        for (lane, output) in &self.departing {
            let (acknowledged, kept) = output.kept_octets();
            to.lane(*lane);
            to.number(acknowledged);
            to.octets(kept);
        }
        to.number(self.arriving.len() as u64);
        for (lane, arriving) in &self.arriving {
            to.lane(*lane);
            to.number(arriving.counted.received);
            to.octets(arriving.decoder.rest());
            to.partial(arriving.message.as_ref());
        }
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        let mut lanes = Self::after(from.number()?);
        for _ in 0..from.number().filter(|count| *count <= MOST_LANES)? {
            let lane = from.lane()?;
            lanes.departing.insert(lane, from.output()?);
        }
        for _ in 0..from.number().filter(|count| *count <= MOST_LANES)? {
            let lane = from.lane()?;
            let arriving = Arriving {
                counted: Counted::of(from.number()?),
                decoder: from.decoder()?,
                message: from.partial()?,
            };
            lanes.arriving.insert(lane, arriving);
        }
        Some(lanes)
    }
}
