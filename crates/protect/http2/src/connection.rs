//! One end of an HTTP/2 connection.

mod receive;
mod send;
mod share;
mod stream;
mod sweep;

#[cfg(test)]
mod tests;

use crate::PREFACE;
use crate::fields::Fields;
use crate::frame::{self, Code};
use crate::hpack::{Decoder, Encoder};
use stream::{Streams, Window};

pub use receive::Received;
pub use send::Unsent;
pub use sweep::Sweeps;

/// Bytes waiting to be written beyond which bodies wait in their streams instead.
const OUT_MARK: usize = 64 * 1024;
/// Content of the PING by which we learn that the peer has seen our first GOAWAY.
const DRAINING: [u8; 8] = *b"bartizan";
/// Errors of streams, each answered with a reset, after which the connection ends: an honest peer
/// makes few. Each [`Connection::sweep`] takes one back.
const FAULTS_AT_MOST: u32 = 1024;
/// Frames that carry nothing of a message, after which the connection ends. Bytes that we send the
/// peer allow for more, since it answers them with windows, and so does time
/// ([`Connection::sweep`]).
const IDLE_FRAMES_AT_MOST: u32 = 4096;

/// This end of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Sends requests.
    Client,
    /// Answers them.
    Server,
}

/// Bounds of the state that the other end may make this one hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Streams at once.
    pub streams: u32,
    /// Bytes of one header list (SETTINGS_MAX_HEADER_LIST_SIZE), and of all interim responses to one request.
    pub header_bytes: u32,
    /// Bytes of one stream's body that were not released yet.
    pub stream_window: u32,
    /// Window of all streams together. It is given back as bytes arrive: a stream whose reader does
    /// not read holds its own window and nothing of any other stream's.
    pub connection_window: u32,
    /// Bytes of heads and bodies that may wait for the reader of one stream. Windows bound bodies only.
    pub waiting: usize,
}

/// An action of the other end. `T` is the caller's value kept with a stream.
#[derive(Debug)]
pub enum Event<T> {
    /// A request, or a response that may be an interim one (status below 200).
    Head {
        /// Its stream.
        stream: u32,
        /// The fields.
        fields: Fields,
        /// Status of a response.
        status: u16,
        /// Nothing follows.
        end: bool,
    },
    /// A piece of a body: bytes `from` up to `to` of what was received. They count against the windows until released.
    Data {
        /// Its stream.
        stream: u32,
        /// Its beginning.
        from: usize,
        /// Its end.
        to: usize,
        /// Nothing follows.
        end: bool,
    },
    /// The end of a body.
    Trailers {
        /// Its stream.
        stream: u32,
        /// The fields.
        fields: Fields,
    },
    /// A stream is over before its end: the peer has reset it, or we did because of what the peer
    /// sent, with ENHANCE_YOUR_CALM where that were interim responses without end.
    Reset {
        /// With this code.
        code: Code,
        /// The end that reset it.
        by: Role,
        /// The value kept with the stream.
        kept: Option<T>,
    },
    /// The peer will not process this request (GOAWAY).
    Unprocessed {
        /// The value kept with the stream.
        kept: Option<T>,
    },
    /// Bytes of a body that had waited for a window are on their way.
    Moved {
        /// The stream they are sent on.
        stream: u32,
        /// Their number.
        bytes: usize,
    },
}

impl<T> Event<T> {
    /// The stream of a part of a message.
    fn message(&self) -> Option<u32> {
        match self {
            Self::Head { stream, .. } | Self::Data { stream, .. } | Self::Trailers { stream, .. } => Some(*stream),
            Self::Reset { .. } | Self::Unprocessed { .. } | Self::Moved { .. } => None,
        }
    }
}

/// The connection has to end, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// The error code for the peer.
    pub code: Code,
    /// The reason for logs.
    pub why: &'static str,
}

impl Fault {
    const fn protocol(why: &'static str) -> Self {
        Self {
            code: Code::PROTOCOL_ERROR,
            why,
        }
    }

    const fn size(why: &'static str) -> Self {
        Self {
            code: Code::FRAME_SIZE_ERROR,
            why,
        }
    }

    const fn calm(why: &'static str) -> Self {
        Self {
            code: Code::ENHANCE_YOUR_CALM,
            why,
        }
    }
}

/// One end of a connection: no socket, no clock.
#[derive(Debug)]
pub struct Connection<T> {
    role: Role,
    bounds: Bounds,
    streams: Streams<T>,
    /// Frames to be written; of these the first `written` bytes are.
    out: Vec<u8>,
    written: usize,
    encoder: Encoder,
    decoder: Decoder,
    /// A header block that has begun and not ended.
    block: Option<receive::Block>,
    /// The client's preface has come; a client itself waits for none.
    begun: bool,
    /// The peer's first SETTINGS have come.
    settled: bool,
    /// Limits that the peer has set.
    theirs: Theirs,
    /// Bytes that we may send.
    send_window: i64,
    /// The most that it was.
    send_whole: i64,
    /// Bytes that the peer may send.
    receive: Window,
    /// The next stream of a client, the highest of a server.
    edge: u32,
    /// The last stream that a GOAWAY of ours lets the peer open.
    last: Option<u32>,
    /// The peer has sent GOAWAY.
    away: bool,
    faults: u32,
    /// Frames that carry nothing which the peer may still send.
    idle_frames: u32,
}

/// The peer's settings.
#[derive(Debug, Clone, Copy)]
struct Theirs {
    initial_window: i64,
    frame: usize,
    streams: u32,
}

impl<T> Connection<T> {
    /// One whose opening waits to be written.
    pub fn new(role: Role, bounds: Bounds) -> Self {
        let mut out = Vec::new();
        let push = match role {
            Role::Client => {
                out.extend_from_slice(PREFACE);
                Some((frame::ENABLE_PUSH, 0))
            }
            Role::Server => Some((frame::MAX_CONCURRENT_STREAMS, bounds.streams)),
        };
        let settings = [
            (frame::INITIAL_WINDOW_SIZE, bounds.stream_window),
            (frame::MAX_HEADER_LIST_SIZE, bounds.header_bytes),
        ];
        let settings = push.into_iter().chain(settings);
        frame::put_header(&mut out, 6 * 3, frame::SETTINGS, 0, 0);
        for (parameter, value) in settings {
            out.extend_from_slice(&parameter.to_be_bytes());
            out.extend_from_slice(&value.to_be_bytes());
        }
        // Connections begin with 65,535 bytes (section 6.9.2), and no setting changes that.
        let more = bounds.connection_window.saturating_sub(65_535);
        if more > 0 {
            frame::put_number(&mut out, frame::WINDOW_UPDATE, 0, more);
        }
        Self {
            role,
            bounds,
            streams: Streams::new(),
            out,
            written: 0,
            encoder: Encoder::new(),
            decoder: Decoder::new(),
            block: None,
            begun: role == Role::Client,
            settled: false,
            theirs: Theirs {
                initial_window: 65_535,
                frame: frame::LONGEST,
                // Until it says otherwise, what we allow ourselves.
                streams: bounds.streams,
            },
            send_window: 65_535,
            send_whole: 65_535,
            receive: Window::new(bounds.connection_window.max(65_535)),
            edge: match role {
                Role::Client => 1,
                Role::Server => 0,
            },
            last: None,
            away: false,
            faults: 0,
            idle_frames: IDLE_FRAMES_AT_MOST,
        }
    }

    /// Bytes to be written.
    pub fn output(&self) -> &[u8] {
        &self.out[self.written..]
    }

    /// So many bytes of [`Connection::output`] were written.
    pub fn wrote(&mut self, bytes: usize) {
        self.written += bytes;
        if self.written >= self.out.len() {
            self.written = 0;
            self.out.clear();
            // A connection at rest holds little.
            self.out.shrink_to(4096);
        } else if self.written > OUT_MARK {
            self.out.drain(..self.written);
            self.written = 0;
        }
    }

    /// Returns true if the peer's first SETTINGS have come.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.settled
    }

    /// The caller's value kept with a stream.
    pub fn kept(&mut self, stream: u32) -> Option<&mut T> {
        self.streams.find(stream)?.kept.as_mut()
    }

    /// Keeps something with a stream; gives it back where the stream is over.
    pub fn keep(&mut self, stream: u32, kept: T) -> Option<T> {
        match self.streams.find(stream) {
            Some(found) => found.kept.replace(kept),
            None => Some(kept),
        }
    }

    /// Takes back what was kept with a stream, which goes on.
    pub fn take_kept(&mut self, stream: u32) -> Option<T> {
        self.streams.find(stream)?.kept.take()
    }

    /// Returns true if a stream is there: neither reset nor over.
    #[must_use]
    pub fn is_open(&mut self, stream: u32) -> bool {
        self.streams.find(stream).is_some()
    }

    /// The caller's value of each stream.
    pub fn all(&mut self) -> impl Iterator<Item = (u32, &mut T)> {
        self.streams
            .all()
            .filter_map(|(id, stream)| Some((id, stream.kept.as_mut()?)))
    }

    /// Ends all streams without a word; gives what was kept with them.
    pub fn clear(&mut self) -> Vec<T> {
        self.streams.clear()
    }

    /// Number of open streams.
    pub fn open_streams(&self) -> usize {
        self.streams.open
    }

    /// Bytes of heads and bodies that wait for readers.
    pub fn waiting(&self) -> usize {
        self.streams.waiting
    }

    /// Returns true if no stream is left.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.streams.is_empty()
    }

    /// Returns true if the other end takes what is sent, so that a body would not wait behind those
    /// of others: of the connection's window there is a frame left or a quarter.
    #[must_use]
    pub fn is_window_open(&self) -> bool {
        self.send_window >= (self.send_whole / 4).min(frame::LONGEST as i64)
    }

    /// Returns true if so much waits to be written that nothing more should be sent by this
    /// connection.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.output().len() >= OUT_MARK
    }

    /// Returns true if a request may be opened now.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.role == Role::Client
            && !self.is_away()
            && self.last.is_none()
            && self.streams.open < self.theirs.streams as usize
    }

    /// The number of streams of ours that the peer allows at once.
    pub fn streams_at_most(&self) -> usize {
        self.theirs.streams as usize
    }

    /// Returns true if no further request of ours will ever be taken: the peer has said so
    /// (GOAWAY), or the numbers of streams are used up.
    #[must_use]
    pub fn is_away(&self) -> bool {
        self.away || self.edge > frame::LARGEST
    }

    /// Begins to end the connection: a server lets what is under way come in first (section 6.8).
    pub fn drain(&mut self) {
        if self.last.is_some() {
            return;
        }
        match self.role {
            Role::Server => {
                self.last = Some(frame::LARGEST);
                self.put_goaway(frame::LARGEST, Code::NO_ERROR);
                frame::put_header(&mut self.out, DRAINING.len(), frame::PING, 0, 0);
                self.out.extend_from_slice(&DRAINING);
            }
            Role::Client => {
                self.last = Some(0);
                self.put_goaway(0, Code::NO_ERROR);
            }
        }
    }

    /// Names the last request that is answered, although the peer has not shown that it saw the
    /// first GOAWAY: one that reads only while it waits for a response (libcurl) answers no PING. A
    /// later request of its is one that was not processed (section 6.8).
    pub fn conclude(&mut self) {
        if self.last == Some(frame::LARGEST) {
            self.last = Some(self.edge);
            self.put_goaway(self.edge, Code::NO_ERROR);
        }
    }

    /// Returns true if the peer knows that this is the end, and nothing is under way.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.last.is_some_and(|last| last < frame::LARGEST) && self.streams.is_empty()
    }

    /// Ends the connection with an error; what is under way is lost.
    pub fn fail(&mut self, code: Code) {
        let last = match self.role {
            Role::Server => self.edge,
            Role::Client => 0,
        };
        self.last = Some(last);
        self.put_goaway(last, code);
    }

    fn put_goaway(&mut self, last: u32, code: Code) {
        frame::put_header(&mut self.out, 8, frame::GOAWAY, 0, 0);
        self.out.extend_from_slice(&last.to_be_bytes());
        self.out.extend_from_slice(&code.0.to_be_bytes());
    }

    /// Bytes of a stream's body were handed on: the peer may send as many again.
    pub fn release(&mut self, stream: u32, bytes: usize) {
        let Some(found) = self.streams.find(stream) else {
            return;
        };
        let bytes = bytes.min(found.unreleased);
        found.unreleased -= bytes;
        if !found.remote_closed
            && let Some(more) = found.receive.release(bytes)
        {
            frame::put_number(&mut self.out, frame::WINDOW_UPDATE, stream, more);
        }
    }
}
