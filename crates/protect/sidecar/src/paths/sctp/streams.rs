//! One association over a QUIC connection: its life on one stream, and each lane of messages on another, in each direction.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use bartizan_gateway::{Association, Carriage, Lane};
use quinn::{Connection, ConnectionError, ReadError, RecvStream, SendStream, VarInt, WriteError};
use tokio::time::timeout;

use super::carrier::{Carrier, Lost};
use super::seat::Seats;
use crate::dialling::quic::{FIRST_LANES, LANES, QuicChannel, is_acknowledged};
use crate::dialling::session::Session;
use crate::life::drain::{Guard, Phase};
use crate::listening::outbound::LAST_WORD;
use crate::runtime::scratch::with_scratch;
use crate::shared::Shared;

/// With which streams are dropped that a restart has made void.
const VOID: VarInt = VarInt::from_u32(1);

/// A stream to come. It wakes the task that awaits it.
type Coming<S> = Pin<Box<dyn Future<Output = Result<S, ConnectionError>> + Send>>;

bartizan_registry::made! {
    /// A QUIC connection with the streams of an association.
    pub(crate) struct Streams,
    /// Streams of an association that is opened from here.
    pub(crate) new(channel: QuicChannel) {
        /// The next to arrive.
        accepting: Coming<RecvStream> = accepting(&channel.connection),
        channel: QuicChannel,
        control: Option<(SendStream, RecvStream)> = None,
        departing: BTreeMap<Lane, SendStream> = BTreeMap::new(),
        /// The next to depart, while the peer admits none.
        opening: Option<Coming<SendStream>> = None,
        arriving: Vec<RecvStream> = Vec::new(),
        /// Restarts of the association when its lanes were opened.
        restarts: u32 = 0,
    }
}

impl Streams {
    /// Waits until a peer opens an association; none where the connection ended before, or is to end.
    pub(crate) async fn accept(channel: QuicChannel, guard: &mut Guard) -> Option<Self> {
        let accepted = || channel.connection.accept_bi();
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

    fn write_lost(&mut self, error: WriteError) -> Lost {
        match error {
            WriteError::ConnectionLost(error) => self.lost(&error),
            WriteError::Stopped(_) => Lost::closed("the peer has given up a stream"),
            error => Lost::closed(error.to_string()),
        }
    }

    fn read_lost(&mut self, error: ReadError) -> Lost {
        match error {
            ReadError::ConnectionLost(error) => self.lost(&error),
            ReadError::Reset(_) => Lost::closed("the peer has given up a stream"),
            error => Lost::closed(error.to_string()),
        }
    }

    /// The stream of the association's life, which the initiator opens.
    fn poll_control(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Lost>> {
        if self.control.is_none() {
            // A peer allows one, so this is done at once.
            let opened = ready!(pin!(self.channel.connection.open_bi()).poll(context));
            self.control = Some(opened.map_err(|error| self.lost(&error))?);
        }
        Poll::Ready(Ok(()))
    }

    /// The stream of a lane. The peer allows as many as an association has lanes, and more when it has dropped those of before a restart.
    fn poll_lane(&mut self, lane: Lane, context: &mut Context<'_>) -> Poll<Result<(), Lost>> {
        if self.departing.contains_key(&lane) {
            return Poll::Ready(Ok(()));
        }
        let opening = self.opening.get_or_insert_with(|| {
            let connection = self.channel.connection.clone();
            Box::pin(async move { connection.open_uni().await })
        });
        let opened = ready!(opening.as_mut().poll(context));
        self.opening = None;
        let stream = opened.map_err(|error| self.lost(&error))?;
        self.departing.insert(lane, stream);
        Poll::Ready(Ok(()))
    }

    fn write_lanes(&mut self, association: &mut Association, context: &mut Context<'_>) -> Result<bool, Lost> {
        if self.restarts != association.restarts() {
            self.restarts = association.restarts();
            for mut stream in std::mem::take(&mut self.departing).into_values() {
                // One that has ended needs none.
                let _ = stream.reset(VOID);
            }
        }
        let mut moved = false;
        let waiting: Vec<Lane> = association.lane_output().map(|(lane, _)| lane).collect();
        for lane in waiting {
            if self.poll_lane(lane, context)?.is_pending() {
                continue;
            }
            let output = association.lane_output().find(|(found, _)| *found == lane);
            let (Some(stream), Some((_, octets))) = (self.departing.get_mut(&lane), output) else {
                continue;
            };
            match Pin::new(stream).poll_write(context, octets) {
                Poll::Pending => {}
                Poll::Ready(Ok(written)) => {
                    association.lane_output_taken(lane, written);
                    self.channel.session().sent(written);
                    moved |= written > 0;
                }
                // The peer has restarted, or will say why it ends.
                Poll::Ready(Err(WriteError::Stopped(_))) => {
                    let octets = octets.len();
                    association.lane_output_taken(lane, octets);
                }
                Poll::Ready(Err(error)) => return Err(self.write_lost(error)),
            }
        }
        Ok(moved)
    }

    fn write_control(&mut self, association: &mut Association, context: &mut Context<'_>) -> Result<bool, Lost> {
        let mut moved = false;
        while !association.output().is_empty() {
            if self.poll_control(context)?.is_pending() {
                break;
            }
            let Some((control, _)) = &mut self.control else { break };
            match Pin::new(control).poll_write(context, association.output()) {
                Poll::Pending => break,
                Poll::Ready(Ok(written)) => {
                    association.output_taken(written);
                    self.channel.session().sent(written);
                    moved = true;
                }
                Poll::Ready(Err(error)) => return Err(self.write_lost(error)),
            }
        }
        Ok(moved)
    }

    /// Streams of messages that the peer has opened.
    fn accept_lanes(&mut self, context: &mut Context<'_>) -> Result<(), Lost> {
        while let Poll::Ready(accepted) = self.accepting.as_mut().poll(context) {
            let connection = &self.channel.connection;
            self.accepting = accepting(connection);
            match accepted {
                Ok(stream) => self.arriving.push(stream),
                Err(error) => return Err(self.lost(&error)),
            }
            // Before the peer has to wait for it.
            if self.arriving.len() == FIRST_LANES as usize / 2 {
                self.channel
                    .connection
                    .set_max_concurrent_uni_streams(VarInt::from_u32(LANES));
            }
        }
        Ok(())
    }

    fn read_lanes(
        &mut self,
        association: &mut Association,
        context: &mut Context<'_>,
        now: Instant,
    ) -> Result<bool, Lost> {
        let (mut moved, mut index) = (false, 0);
        while let Some(stream) = self.arriving.get_mut(index) {
            let number = stream.id().index();
            if association.lane_is_void(number) {
                // One that has ended needs none.
                let _ = stream.stop(VOID);
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
                let read = stream.poll_read(context, &mut scratch[..room]);
                if let Poll::Ready(Ok(octets)) = read {
                    association.lane_received(number, &scratch[..octets], now);
                }
                read
            });
            match read {
                Poll::Pending => index += 1,
                // Its end, or what follows a restart.
                Poll::Ready(Ok(0) | Err(ReadError::Reset(_))) => {
                    self.arriving.swap_remove(index);
                    association.lane_ended(number);
                    moved = true;
                }
                Poll::Ready(Ok(octets)) => {
                    self.channel.heard(octets);
                    moved = true;
                    index += 1;
                }
                Poll::Ready(Err(error)) => return Err(self.read_lost(error)),
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
        let Some((_, control)) = &mut self.control else {
            return Ok(false);
        };
        let read = with_scratch(|scratch| {
            let read = control.poll_read(context, scratch);
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
            Poll::Ready(Err(error)) => Err(self.read_lost(error)),
        }
    }
}

/// The next stream of messages that the peer opens.
fn accepting(connection: &Connection) -> Coming<RecvStream> {
    let connection = connection.clone();
    Box::pin(async move { connection.accept_uni().await })
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
        let Some((control, _)) = &mut self.control else {
            return;
        };
        if control.write_all(association.output()).await.is_ok() && control.finish().is_ok() {
            // The close of a connection overtakes what is under way on it.
            let _ = control.stopped().await;
        }
    }

    async fn reached(&mut self) {
        is_acknowledged(&self.channel.connection).await;
    }

    async fn ended(&mut self) {
        self.channel.connection.closed().await;
    }

    fn session(&self) -> &Arc<Session> {
        self.channel.session()
    }

    fn seats(shared: &Shared) -> &Seats<Self> {
        &shared.seats.quic
    }
}
