//! One QUIC connection, as its one user sees it.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::Bytes;
use quinn_proto::{ConnectionError, ConnectionHandle, Dir, Event, ReadError, StreamId, VarInt, WriteError};

use super::endpoint::Shared;

/// A connection, which is closed when this is dropped. One task at a time waits for it.
pub(crate) struct Connection(Arc<Link>);

/// What the endpoint has of a connection.
pub(super) struct Link {
    pub(super) handle: ConnectionHandle,
    endpoint: Arc<Shared>,
    /// It is among those that have something to do.
    pub(super) queued: AtomicBool,
    state: Mutex<State>,
}

pub(super) struct State {
    pub(super) protocol: quinn_proto::Connection,
    /// The peer has answered.
    answered: bool,
    established: bool,
    pub(super) ended: Option<ConnectionError>,
    /// Acknowledgements received, where more are waited for.
    life: Option<u64>,
    waits: Option<Waker>,
    /// When it has a turn whatever happens.
    pub(super) armed: Option<Instant>,
}

/// Why a stream gives or takes nothing.
#[derive(Debug)]
pub(crate) enum StreamError {
    /// The connection has ended.
    Lost(ConnectionError),
    /// The peer wants no more of it, or has no more for it.
    Void,
    /// It was closed from here.
    Closed,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link")
            .field("handle", &self.handle.0)
            .finish_non_exhaustive()
    }
}

impl Link {
    pub(super) fn new(
        handle: ConnectionHandle,
        protocol: quinn_proto::Connection,
        endpoint: &Arc<Shared>,
    ) -> Arc<Self> {
        Arc::new(Self {
            handle,
            endpoint: Arc::clone(endpoint),
            queued: AtomicBool::new(false),
            state: Mutex::new(State {
                protocol,
                answered: false,
                established: false,
                ended: None,
                life: None,
                waits: None,
                armed: None,
            }),
        })
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the endpoint send what there is to be sent.
    pub(super) fn queue(self: &Arc<Self>) {
        if !self.queued.swap(true, Ordering::SeqCst) {
            self.endpoint.queue(Arc::clone(self));
        }
    }

    /// The endpoint carries nothing any more.
    pub(super) fn abandon(&self) {
        let mut state = self.lock();
        state.ended.get_or_insert(ConnectionError::LocallyClosed);
        let waits = state.waits.take();
        drop(state);
        if let Some(waker) = waits {
            waker.wake();
        }
    }
}

impl State {
    /// What has happened; whom to tell, where something has.
    pub(super) fn notice(&mut self) -> Option<Waker> {
        let mut happened = false;
        while let Some(event) = self.protocol.poll() {
            happened = true;
            match event {
                Event::HandshakeDataReady => self.answered = true,
                Event::Connected => self.established = true,
                Event::ConnectionLost { reason } => {
                    self.ended.get_or_insert(reason);
                }
                Event::Stream(_) | Event::DatagramReceived | Event::DatagramsUnblocked => {}
            }
        }
        if self.life.is_some_and(|before| self.acknowledgements() > before) {
            self.life = None;
            happened = true;
        }
        if happened { self.waits.take() } else { None }
    }

    /// Frames by which the peer has acknowledged something: none comes from anybody else.
    fn acknowledgements(&self) -> u64 {
        self.protocol.stats().frame_rx.acks
    }

    /// Has this task woken for what happens next.
    fn wait<T>(&mut self, context: &Context<'_>) -> Poll<T> {
        match &mut self.waits {
            Some(known) => known.clone_from(context.waker()),
            none => *none = Some(context.waker().clone()),
        }
        Poll::Pending
    }

    /// The same, unless nothing will.
    fn wait_unless_ended<T>(&mut self, context: &Context<'_>) -> Poll<Result<T, ConnectionError>> {
        match &self.ended {
            Some(error) => Poll::Ready(Err(error.clone())),
            None => self.wait(context),
        }
    }
}

impl Connection {
    pub(super) fn new(link: Arc<Link>) -> Self {
        Self(link)
    }

    /// Whether the peer has answered, or the connection has ended before.
    pub(crate) fn poll_answered(&self, context: &Context<'_>) -> Poll<()> {
        let mut state = self.0.lock();
        if state.answered || state.ended.is_some() {
            return Poll::Ready(());
        }
        state.wait(context)
    }

    /// Whether the handshake is complete, or why it failed.
    pub(crate) fn poll_established(&self, context: &Context<'_>) -> Poll<Result<(), ConnectionError>> {
        let mut state = self.0.lock();
        if state.established {
            return Poll::Ready(Ok(()));
        }
        state.wait_unless_ended(context)
    }

    /// Asks the peer for a sign of life: how many there were before, and the time of a round trip.
    pub(crate) fn send_ping(&self) -> (u64, Duration) {
        let mut state = self.0.lock();
        state.protocol.ping();
        let before = (state.acknowledgements(), state.protocol.rtt());
        drop(state);
        self.0.queue();
        before
    }

    /// Waits for a sign of life since; false where the connection has ended.
    pub(crate) fn poll_life(&self, before: u64, context: &Context<'_>) -> Poll<bool> {
        let mut state = self.0.lock();
        if state.ended.is_some() {
            return Poll::Ready(false);
        }
        if state.acknowledgements() > before {
            return Poll::Ready(true);
        }
        state.life = Some(before);
        state.wait(context)
    }

    /// Why it has ended, once it has.
    pub(crate) fn poll_ended(&self, context: &Context<'_>) -> Poll<ConnectionError> {
        let mut state = self.0.lock();
        match &state.ended {
            Some(error) => Poll::Ready(error.clone()),
            None => state.wait(context),
        }
    }

    /// The next stream that the peer has opened.
    pub(crate) fn poll_accept(&self, kind: Dir, context: &Context<'_>) -> Poll<Result<StreamId, ConnectionError>> {
        let mut state = self.0.lock();
        let accepted = state.protocol.streams().accept(kind);
        match accepted {
            Some(stream) => {
                drop(state);
                // The peer may open another.
                self.0.queue();
                Poll::Ready(Ok(stream))
            }
            None => state.wait_unless_ended(context),
        }
    }

    /// A new stream, once the peer admits one more. It learns of it with the first octets.
    pub(crate) fn poll_open(&self, kind: Dir, context: &Context<'_>) -> Poll<Result<StreamId, ConnectionError>> {
        let mut state = self.0.lock();
        if let Some(error) = &state.ended {
            return Poll::Ready(Err(error.clone()));
        }
        let opened = state.protocol.streams().open(kind);
        match opened {
            Some(stream) => Poll::Ready(Ok(stream)),
            None => state.wait(context),
        }
    }

    /// Admits so many streams of the peer's at a time.
    pub(crate) fn admit_streams(&self, kind: Dir, streams: u32) {
        self.0
            .lock()
            .protocol
            .set_max_concurrent_streams(kind, VarInt::from_u32(streams));
        self.0.queue();
    }

    /// How many of these octets a stream takes.
    pub(crate) fn poll_write(
        &self,
        stream: StreamId,
        octets: &[u8],
        context: &Context<'_>,
    ) -> Poll<Result<usize, StreamError>> {
        let mut state = self.0.lock();
        if let Some(error) = &state.ended {
            return Poll::Ready(Err(StreamError::Lost(error.clone())));
        }
        let written = state.protocol.send_stream(stream).write(octets);
        match written {
            Ok(written) => {
                drop(state);
                self.0.queue();
                Poll::Ready(Ok(written))
            }
            Err(WriteError::Blocked) => state.wait(context),
            Err(WriteError::Stopped(_)) => Poll::Ready(Err(StreamError::Void)),
            Err(WriteError::ClosedStream) => Poll::Ready(Err(StreamError::Closed)),
        }
    }

    /// What came on a stream, also after the connection has ended; nothing at its end.
    pub(crate) fn poll_read(
        &self,
        stream: StreamId,
        room: &mut [u8],
        context: &Context<'_>,
    ) -> Poll<Result<usize, StreamError>> {
        let mut state = self.0.lock();
        let mut receiving = state.protocol.recv_stream(stream);
        let Ok(mut chunks) = receiving.read(true) else {
            // Its end was read with the last octets.
            return Poll::Ready(Ok(0));
        };
        let mut read = 0;
        let outcome = loop {
            if read == room.len() {
                break None;
            }
            match chunks.next(room.len() - read) {
                Ok(Some(chunk)) => {
                    let to = read + chunk.bytes.len();
                    room[read..to].copy_from_slice(&chunk.bytes);
                    read = to;
                }
                ended => break Some(ended),
            }
        };
        let owes = chunks.finalize().should_transmit();
        let polled = match outcome {
            _ if read > 0 => Poll::Ready(Ok(read)),
            Some(Err(ReadError::Reset(_))) => Poll::Ready(Err(StreamError::Void)),
            Some(Err(ReadError::Blocked)) => state.wait_unless_ended(context).map_err(StreamError::Lost),
            _ => Poll::Ready(Ok(0)),
        };
        drop(state);
        if owes {
            self.0.queue();
        }
        polled
    }

    /// Says that nothing follows on a stream; false where there is no such stream any more.
    pub(crate) fn finish(&self, stream: StreamId) -> bool {
        let finished = self.0.lock().protocol.send_stream(stream).finish().is_ok();
        self.0.queue();
        finished
    }

    /// Whether the peer has everything of a stream that was finished, or wants no more of it, or is gone.
    pub(crate) fn poll_finished(&self, stream: StreamId, context: &Context<'_>) -> Poll<()> {
        let mut state = self.0.lock();
        let stopped = state.protocol.send_stream(stream).stopped();
        match stopped {
            Ok(None) if state.ended.is_none() => state.wait(context),
            _ => Poll::Ready(()),
        }
    }

    /// Takes back what a stream has not delivered.
    pub(crate) fn reset(&self, stream: StreamId, code: VarInt) {
        // One that has ended needs none.
        let _ = self.0.lock().protocol.send_stream(stream).reset(code);
        self.0.queue();
    }

    /// Wants no more of a stream.
    pub(crate) fn stop(&self, stream: StreamId, code: VarInt) {
        // One that has ended needs none.
        let _ = self.0.lock().protocol.recv_stream(stream).stop(code);
        self.0.queue();
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.waits = None;
        if !state.protocol.is_closed() {
            state.protocol.close(Instant::now(), VarInt::from_u32(0), Bytes::new());
        }
        state.ended.get_or_insert(ConnectionError::LocallyClosed);
        drop(state);
        self.0.queue();
    }
}
