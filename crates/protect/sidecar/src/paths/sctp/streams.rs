//! One association over a QUIC connection: its life on one stream, and each lane of messages on another, in each direction.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use bartizan_gateway::{Association, Carriage, Lane};
use quinn_proto::{ConnectionError, Dir, StreamId, VarInt};
use tokio::time::timeout;

use super::carrier::{Carrier, Lost};
use super::seat::Seats;
use crate::dialling::quic::{FIRST_LANES, LANES, QuicChannel};
use crate::dialling::session::Session;
use crate::life::drain::{Guard, Phase};
use crate::listening::outbound::LAST_WORD;
use crate::runtime::quic::StreamError;
use crate::runtime::scratch::with_scratch;
use crate::shared::Shared;

/// With which streams are dropped that a restart has made void.
const VOID: VarInt = VarInt::from_u32(1);

/// A QUIC connection with the streams of an association.
#[derive(Debug)]
pub(crate) struct Streams {
    channel: QuicChannel,
    control: Option<StreamId>,
    departing: BTreeMap<Lane, StreamId>,
    arriving: Vec<StreamId>,
    /// Restarts of the association when its lanes were opened.
    restarts: u32,
}

impl Streams {
    /// Of an association that is opened from here.
    pub(crate) const fn new(channel: QuicChannel) -> Self {
        Self {
            channel,
            control: None,
            departing: BTreeMap::new(),
            arriving: Vec::new(),
            restarts: 0,
        }
    }

    /// Waits until a peer opens an association; none where the connection ended before, or is to end.
    pub(crate) async fn accept(channel: QuicChannel, guard: &mut Guard) -> Option<Self> {
        let accepted = || poll_fn(|context| channel.connection.poll_accept(Dir::Bi, context));
        let control = tokio::select! {
            control = accepted() => control.ok(),
            () = guard.reached(Phase::Draining) => {
                // Its first packet may be on its way.
                timeout(LAST_WORD, accepted()).await.ok().and_then(Result::ok)
            }
        };
        let mut streams = Self::new(channel);
        streams.control = Some(control?);
        Some(streams)
    }

    /// Why nothing more comes or goes.
    fn lost(&mut self, error: &ConnectionError) -> Lost {
        self.channel.note_end(error);
        match error {
            ConnectionError::ApplicationClosed(_) | ConnectionError::ConnectionClosed(_) => {
                Lost::closed("closed by the peer")
            }
            ConnectionError::TimedOut => Lost::broken("the peer was not heard"),
            other => Lost::closed(other.to_string()),
        }
    }

    fn stream_lost(&mut self, error: &StreamError) -> Lost {
        match error {
            StreamError::Lost(error) => self.lost(error),
            StreamError::Void => Lost::closed("the peer has given up a stream"),
            StreamError::Closed => Lost::closed("a stream is closed"),
        }
    }

    /// The stream of the association's life, which the initiator opens.
    fn poll_control(&mut self, context: &Context<'_>) -> Poll<Result<StreamId, Lost>> {
        if let Some(control) = self.control {
            return Poll::Ready(Ok(control));
        }
        // A peer allows one, so this is done at once.
        let opened = ready!(self.channel.connection.poll_open(Dir::Bi, context));
        Poll::Ready(match opened {
            Ok(control) => {
                self.control = Some(control);
                Ok(control)
            }
            Err(error) => Err(self.lost(&error)),
        })
    }

    /// The stream of a lane. The peer allows as many as an association has lanes, and more when it has dropped those of before a restart.
    fn poll_lane(&mut self, lane: Lane, context: &Context<'_>) -> Poll<Result<StreamId, Lost>> {
        if let Some(stream) = self.departing.get(&lane) {
            return Poll::Ready(Ok(*stream));
        }
        let opened = ready!(self.channel.connection.poll_open(Dir::Uni, context));
        Poll::Ready(match opened {
            Ok(stream) => {
                self.departing.insert(lane, stream);
                Ok(stream)
            }
            Err(error) => Err(self.lost(&error)),
        })
    }

    fn write_lanes(&mut self, association: &mut Association, context: &mut Context<'_>) -> Result<bool, Lost> {
        if self.restarts != association.restarts() {
            self.restarts = association.restarts();
            for stream in std::mem::take(&mut self.departing).into_values() {
                self.channel.connection.reset(stream, VOID);
            }
        }
        let mut moved = false;
        let waiting: Vec<Lane> = association.lane_output().map(|(lane, _)| lane).collect();
        for lane in waiting {
            let Poll::Ready(stream) = self.poll_lane(lane, context)? else {
                continue;
            };
            let Some((_, octets)) = association.lane_output().find(|(found, _)| *found == lane) else {
                continue;
            };
            match self.channel.connection.poll_write(stream, octets, context) {
                Poll::Pending => {}
                Poll::Ready(Ok(written)) => {
                    association.lane_output_taken(lane, written);
                    self.channel.session().sent(written);
                    moved |= written > 0;
                }
                // The peer has restarted, or will say why it ends.
                Poll::Ready(Err(StreamError::Void)) => {
                    let octets = octets.len();
                    association.lane_output_taken(lane, octets);
                }
                Poll::Ready(Err(error)) => return Err(self.stream_lost(&error)),
            }
        }
        Ok(moved)
    }

    fn write_control(&mut self, association: &mut Association, context: &mut Context<'_>) -> Result<bool, Lost> {
        let mut moved = false;
        while !association.output().is_empty() {
            let Poll::Ready(stream) = self.poll_control(context)? else {
                break;
            };
            match self
                .channel
                .connection
                .poll_write(stream, association.output(), context)
            {
                Poll::Pending => break,
                Poll::Ready(Ok(written)) => {
                    association.output_taken(written);
                    self.channel.session().sent(written);
                    moved = true;
                }
                Poll::Ready(Err(error)) => return Err(self.stream_lost(&error)),
            }
        }
        Ok(moved)
    }

    /// Streams of messages that the peer has opened.
    fn accept_lanes(&mut self, context: &mut Context<'_>) -> Result<(), Lost> {
        loop {
            let connection = &self.channel.connection;
            match connection.poll_accept(Dir::Uni, context) {
                Poll::Pending => return Ok(()),
                Poll::Ready(Ok(stream)) => {
                    self.arriving.push(stream);
                    // Before the peer has to wait for it.
                    if self.arriving.len() == FIRST_LANES as usize / 2 {
                        connection.admit_streams(Dir::Uni, LANES);
                    }
                }
                Poll::Ready(Err(error)) => return Err(self.lost(&error)),
            }
        }
    }

    fn read_lanes(
        &mut self,
        association: &mut Association,
        context: &mut Context<'_>,
        now: Instant,
    ) -> Result<bool, Lost> {
        let (mut moved, mut index) = (false, 0);
        while let Some(&stream) = self.arriving.get(index) {
            let number = stream.index();
            if association.lane_is_void(number) {
                self.channel.connection.stop(stream, VOID);
                self.arriving.swap_remove(index);
                association.lane_ended(number);
                moved = true;
                continue;
            }
            let room = association.lane_room(number);
            if room == 0 {
                index += 1;
                continue;
            }
            let read = with_scratch(|scratch| {
                let room = room.min(scratch.len());
                let read = self.channel.connection.poll_read(stream, &mut scratch[..room], context);
                if let Poll::Ready(Ok(octets)) = read {
                    association.lane_received(number, &scratch[..octets], now);
                }
                read
            });
            match read {
                Poll::Pending => index += 1,
                // Its end, or what follows a restart.
                Poll::Ready(Ok(0) | Err(StreamError::Void)) => {
                    self.arriving.swap_remove(index);
                    association.lane_ended(number);
                    moved = true;
                }
                Poll::Ready(Ok(octets)) => {
                    self.channel.heard(octets);
                    moved = true;
                    index += 1;
                }
                Poll::Ready(Err(error)) => return Err(self.stream_lost(&error)),
            }
        }
        Ok(moved)
    }

    fn read_control(
        &mut self,
        association: &mut Association,
        context: &mut Context<'_>,
        now: Instant,
    ) -> Result<bool, Lost> {
        let Some(stream) = self.control else {
            return Ok(false);
        };
        let read = with_scratch(|scratch| {
            let read = self.channel.connection.poll_read(stream, scratch, context);
            if let Poll::Ready(Ok(octets)) = read
                && octets > 0
            {
                association.carrier_received(&scratch[..octets], now);
            }
            read
        });
        match read {
            Poll::Pending => Ok(false),
            Poll::Ready(Ok(0)) => Err(Lost::closed("closed by the peer")),
            Poll::Ready(Ok(octets)) => {
                self.channel.heard(octets);
                Ok(true)
            }
            Poll::Ready(Err(error)) => Err(self.stream_lost(&error)),
        }
    }
}

impl Carrier for Streams {
    const CARRIAGE: Carriage = Carriage::Streams;

    /// Messages first: what of the association's life follows them is read after them where nothing is lost.
    fn poll_write(&mut self, association: &mut Association, context: &mut Context<'_>) -> Result<bool, Lost> {
        // The peer sees streams of messages once it has seen that of the association.
        let opens = self.control.is_none() && self.write_control(association, context)?;
        let lanes = self.write_lanes(association, context)?;
        Ok(opens | lanes | self.write_control(association, context)?)
    }

    fn poll_read(
        &mut self,
        association: &mut Association,
        context: &mut Context<'_>,
        now: Instant,
    ) -> Result<bool, Lost> {
        self.accept_lanes(context)?;
        let lanes = self.read_lanes(association, context, now)?;
        Ok(lanes | self.read_control(association, context, now)?)
    }

    fn is_flushed(&self) -> bool {
        true
    }

    async fn goodbye(&mut self, association: &Association) {
        let Some(stream) = self.control else { return };
        let connection = &self.channel.connection;
        let mut octets = association.output();
        while !octets.is_empty() {
            match poll_fn(|context| connection.poll_write(stream, octets, context)).await {
                Ok(written) => octets = &octets[written..],
                Err(_) => return,
            }
        }
        if connection.finish(stream) {
            // The close of a connection overtakes what is under way on it.
            poll_fn(|context| connection.poll_finished(stream, context)).await;
        }
    }

    fn session(&self) -> &Arc<Session> {
        self.channel.session()
    }

    fn seats(shared: &Shared) -> &Seats<Self> {
        &shared.seats.quic
    }
}
