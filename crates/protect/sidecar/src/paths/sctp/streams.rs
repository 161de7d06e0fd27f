//! One association over a QUIC connection: its life on one stream, and each lane of messages on another, in each direction.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use bartizan_gateway::{Association, Carriage, Lane};
use quinn::{Connection, ConnectionError, ReadError, RecvStream, SendStream, VarInt, WriteError};
use tokio::time::timeout;

use super::carrier::Carrier;
use crate::dialling::quic::{FIRST_LANES, LANES, QuicChannel};
use crate::dialling::session::Session;
use crate::life::drain::{Guard, Phase};
use crate::listening::outbound::LAST_WORD;
use crate::runtime::scratch::with_scratch;

/// With which streams are dropped that a restart has made void.
const VOID: VarInt = VarInt::from_u32(1);

type Accepting = Pin<Box<dyn Future<Output = Result<RecvStream, ConnectionError>> + Send>>;
type Opening = Pin<Box<dyn Future<Output = Result<SendStream, ConnectionError>> + Send>>;

/// A QUIC connection with the streams of an association.
#[derive(Debug)]
pub(crate) struct Streams {
    channel: QuicChannel,
    control: Option<(SendStream, RecvStream)>,
    departing: BTreeMap<Lane, SendStream>,
    arriving: Vec<RecvStream>,
    accepting: Next<Accepting>,
    opening: Next<Opening>,
    /// Restarts of the association when its lanes were opened.
    restarts: u32,
}

/// The next stream of its kind.
struct Next<F>(Option<F>);

impl<F> std::fmt::Debug for Next<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Next").field(&self.0.is_some()).finish()
    }
}

impl Streams {
    /// Of an association that is opened from here.
    pub(crate) const fn new(channel: QuicChannel) -> Self {
        Self {
            channel,
            control: None,
            departing: BTreeMap::new(),
            arriving: Vec::new(),
            accepting: Next(None),
            opening: Next(None),
            restarts: 0,
        }
    }

    /// Waits until a peer opens an association; none where the connection ended before, or is to end.
    pub(crate) async fn accept(channel: QuicChannel, guard: &mut Guard) -> Option<Self> {
        let connection = channel.connection.clone();
        let control = tokio::select! {
            control = connection.accept_bi() => control.ok(),
            () = guard.reached(Phase::Draining) => {
                // Its first packet may be on its way.
                timeout(LAST_WORD, connection.accept_bi()).await.ok().and_then(Result::ok)
            }
        };
        let mut streams = Self::new(channel);
        streams.control = Some(control?);
        Some(streams)
    }

    /// Why nothing more comes or goes.
    fn lost(&mut self, error: &ConnectionError) -> String {
        self.channel.note_end(error);
        match error {
            ConnectionError::ApplicationClosed(_) | ConnectionError::ConnectionClosed(_) => {
                "closed by the peer".to_owned()
            }
            ConnectionError::TimedOut => "the peer was not heard".to_owned(),
            other => other.to_string(),
        }
    }

    fn write_lost(&mut self, error: &WriteError) -> String {
        match error {
            WriteError::ConnectionLost(error) => self.lost(error),
            other => other.to_string(),
        }
    }

    /// The stream of the association's life, which the initiator opens.
    fn poll_control(&mut self, context: &mut Context<'_>) -> Poll<Result<(), String>> {
        if self.control.is_some() {
            return Poll::Ready(Ok(()));
        }
        let connection = self.channel.connection.clone();
        // A peer allows one, so this is done at once.
        let mut opening = Box::pin(async move { connection.open_bi().await });
        match opening.as_mut().poll(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(control)) => {
                self.control = Some(control);
                Poll::Ready(Ok(()))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(self.lost(&error))),
        }
    }

    /// A stream for a lane. The peer allows as many as an association has lanes, and more when it has dropped those of before a restart.
    fn poll_open(&mut self, lane: Lane, context: &mut Context<'_>) -> Poll<Result<(), String>> {
        let connection = &self.channel.connection;
        let opening = self.opening.0.get_or_insert_with(|| {
            let connection: Connection = connection.clone();
            Box::pin(async move { connection.open_uni().await })
        });
        match opening.as_mut().poll(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(opened) => {
                self.opening.0 = None;
                match opened {
                    Ok(stream) => {
                        self.departing.insert(lane, stream);
                        Poll::Ready(Ok(()))
                    }
                    Err(error) => Poll::Ready(Err(self.lost(&error))),
                }
            }
        }
    }

    fn write_lanes(&mut self, association: &mut Association, context: &mut Context<'_>) -> Result<bool, String> {
        if self.restarts != association.restarts() {
            self.restarts = association.restarts();
            for mut stream in std::mem::take(&mut self.departing).into_values() {
                let _ = stream.reset(VOID);
            }
        }
        let mut moved = false;
        let waiting: Vec<Lane> = association.lane_output().map(|(lane, _)| lane).collect();
        for lane in waiting {
            if !self.departing.contains_key(&lane) && self.poll_open(lane, context)?.is_pending() {
                continue;
            }
            let (Some(stream), Some((_, octets))) = (
                self.departing.get_mut(&lane),
                association.lane_output().find(|(found, _)| *found == lane),
            ) else {
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
                Poll::Ready(Err(error)) => return Err(self.write_lost(&error)),
            }
        }
        Ok(moved)
    }

    fn write_control(&mut self, association: &mut Association, context: &mut Context<'_>) -> Result<bool, String> {
        let mut moved = false;
        while !association.output().is_empty() {
            if self.poll_control(context)?.is_pending() {
                break;
            }
            let Some((stream, _)) = &mut self.control else { break };
            match Pin::new(stream).poll_write(context, association.output()) {
                Poll::Pending => break,
                Poll::Ready(Ok(written)) => {
                    association.output_taken(written);
                    self.channel.session().sent(written);
                    moved = true;
                }
                Poll::Ready(Err(error)) => return Err(self.write_lost(&error)),
            }
        }
        Ok(moved)
    }

    /// Streams of messages that the peer has opened.
    fn accept_lanes(&mut self, context: &mut Context<'_>) -> Result<(), String> {
        loop {
            let connection = &self.channel.connection;
            let accepting = self.accepting.0.get_or_insert_with(|| {
                let connection: Connection = connection.clone();
                Box::pin(async move { connection.accept_uni().await })
            });
            match accepting.as_mut().poll(context) {
                Poll::Pending => return Ok(()),
                Poll::Ready(accepted) => {
                    self.accepting.0 = None;
                    match accepted {
                        Ok(stream) => {
                            self.arriving.push(stream);
                            // Before the peer has to wait for it.
                            if self.arriving.len() == FIRST_LANES as usize / 2 {
                                connection.set_max_concurrent_uni_streams(VarInt::from_u32(LANES));
                            }
                        }
                        Err(error) => return Err(self.lost(&error)),
                    }
                }
            }
        }
    }

    fn read_lanes(
        &mut self,
        association: &mut Association,
        context: &mut Context<'_>,
        now: Instant,
    ) -> Result<bool, String> {
        let (mut moved, mut index) = (false, 0);
        while let Some(stream) = self.arriving.get_mut(index) {
            let number = stream.id().index();
            if association.lane_is_void(number) {
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
                Poll::Ready(Ok(0) | Err(ReadError::Reset(_) | ReadError::ClosedStream)) => {
                    self.arriving.swap_remove(index);
                    association.lane_ended(number);
                    moved = true;
                }
                Poll::Ready(Ok(octets)) => {
                    self.channel.heard(octets);
                    moved = true;
                    index += 1;
                }
                Poll::Ready(Err(ReadError::ConnectionLost(error))) => return Err(self.lost(&error)),
                Poll::Ready(Err(error)) => return Err(error.to_string()),
            }
        }
        Ok(moved)
    }

    fn read_control(
        &mut self,
        association: &mut Association,
        context: &mut Context<'_>,
        now: Instant,
    ) -> Result<bool, String> {
        let Some((_, stream)) = &mut self.control else {
            return Ok(false);
        };
        let read = with_scratch(|scratch| {
            let read = stream.poll_read(context, scratch);
            if let Poll::Ready(Ok(octets)) = read
                && octets > 0
            {
                association.carrier_received(&scratch[..octets], now);
            }
            read
        });
        match read {
            Poll::Pending => Ok(false),
            Poll::Ready(Ok(0)) => Err("closed by the peer".to_owned()),
            Poll::Ready(Ok(octets)) => {
                self.channel.heard(octets);
                Ok(true)
            }
            Poll::Ready(Err(ReadError::ConnectionLost(error))) => Err(self.lost(&error)),
            Poll::Ready(Err(error)) => Err(error.to_string()),
        }
    }
}

impl Carrier for Streams {
    const CARRIAGE: Carriage = Carriage::Streams;

    /// Messages first: what of the association's life follows them is read after them where nothing is lost.
    fn poll_write(&mut self, association: &mut Association, context: &mut Context<'_>) -> Result<bool, String> {
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
    ) -> Result<bool, String> {
        self.accept_lanes(context)?;
        let lanes = self.read_lanes(association, context, now)?;
        Ok(lanes | self.read_control(association, context, now)?)
    }

    fn is_flushed(&self) -> bool {
        true
    }

    async fn goodbye(&mut self, association: &Association) {
        let Some((stream, _)) = &mut self.control else { return };
        if stream.write_all(association.output()).await.is_ok() && stream.finish().is_ok() {
            // The close of a connection overtakes what is under way on it.
            let _ = stream.stopped().await;
        }
    }

    fn session(&self) -> &Arc<Session> {
        self.channel.session()
    }
}
