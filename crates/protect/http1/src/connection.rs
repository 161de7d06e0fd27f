//! One end of an HTTP/1.1 connection.

mod receive;
mod send;

pub use send::{Unopened, is_repeatable};

use std::collections::VecDeque;

use bartizan_http2::{Bounds, Code, Fields, Role, Sweeps};

use crate::body::Body;
use crate::head::Scan;
use crate::write::{self, Framing};

/// Bytes waiting to be written beyond which bodies wait instead.
const OUT_MARK: usize = 64 * 1024;
/// Bytes that a client may send ahead of the response to its former request.
const AHEAD_AT_MOST: usize = 64 * 1024;
/// A body moves on where its reader takes this much, or all that waits, as with HTTP/2.
const LEAST: usize = 16 * 1024;

bartizan_registry::made! {
    /// One end of a connection: no socket, no clock. It carries one message in each direction at a
    /// time, each under the number that a stream of HTTP/2 would have. Bytes that a client sends ahead
    /// wait unread.
    #[derive(Debug)]
    pub struct Connection<T>,
    /// One that has carried nothing.
    pub new(role: Role, bounds: Bounds) {
        role: Role,
        bounds: Bounds,
        /// Bytes to be written; of these the first `written` are.
        out: Vec<u8> = Vec::new(),
        written: usize = 0,
        next: u32 = 1,
        stream: Option<Stream<T>> = None,
        /// The next head, as far as it has come.
        scan: Scan = Scan::default(),
        /// Bytes of a head that has begun, and sweeps since.
        begun: usize = 0,
        begun_still: u32 = 0,
        /// An empty line before this request was passed over (RFC 9112, section 2.2).
        blank: bool = false,
        /// Bytes received that wait for the response under way.
        ahead: usize = 0,
        /// Something received before can go on.
        resumed: bool = false,
        /// No message after this one.
        closing: bool = false,
        /// Nothing more: what is under way, if anything, has been broken off.
        ended: bool = false,
        /// Status that is answered to the client where the connection fails.
        status: u16 = 400,
    }
}

/// One request and its response.
#[derive(Debug)]
struct Stream<T> {
    id: u32,
    kept: Option<T>,
    is_head: bool,
    is_http10: bool,
    /// A request that may be sent again where its connection ends without a response (RFC 9110,
    /// section 9.2.2), on a connection that may have ended before it.
    repeatable: bool,
    incoming: Incoming,
    outgoing: Outgoing,
    /// Received and not released.
    unreleased: usize,
    held: Option<Held>,
    /// Bytes of interim responses.
    interim: usize,
    refusal: Option<Refusal>,
}

#[derive(Debug)]
enum Incoming {
    /// The head of a response.
    Head,
    Body(Body),
    Done,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outgoing {
    /// The head of a response.
    Head,
    Body(Framing),
    Done,
}

/// Bytes to be sent, and the action after them.
#[derive(Debug, Default)]
struct Held {
    bytes: VecDeque<u8>,
    after: After,
    still: u32,
    moved: usize,
}

#[derive(Debug, Default)]
enum After {
    #[default]
    More,
    End,
    Trailers(Fields),
}

/// The refused rest of a request.
#[derive(Debug)]
struct Refusal {
    left: usize,
    still: u32,
}

impl Held {
    fn size(&self) -> usize {
        let trailers = match &self.after {
            After::Trailers(fields) => fields.size(),
            After::More | After::End => 0,
        };
        self.bytes.len() + trailers
    }
}

impl<T> Stream<T> {
    fn is_received(&self) -> bool {
        matches!(self.incoming, Incoming::Done)
    }

    fn is_complete(&self) -> bool {
        self.is_received() && self.outgoing == Outgoing::Done
    }
}

impl<T> Connection<T> {
    fn find(&mut self, id: u32) -> Option<&mut Stream<T>> {
        self.stream.as_mut().filter(|stream| stream.id == id)
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
            self.out.shrink_to(4096);
        } else if self.written > OUT_MARK {
            self.out.drain(..self.written);
            self.written = 0;
        }
    }

    /// The caller's value kept with a stream.
    pub fn kept(&mut self, stream: u32) -> Option<&mut T> {
        self.find(stream)?.kept.as_mut()
    }

    /// Keeps something with a stream; gives it back where the stream is over.
    pub fn keep(&mut self, stream: u32, kept: T) -> Option<T> {
        match self.find(stream) {
            Some(found) => found.kept.replace(kept),
            None => Some(kept),
        }
    }

    /// Takes back what was kept with a stream, which goes on.
    pub fn take_kept(&mut self, stream: u32) -> Option<T> {
        self.find(stream)?.kept.take()
    }

    /// Returns true if a stream is there.
    #[must_use]
    pub fn is_open(&mut self, stream: u32) -> bool {
        self.find(stream).is_some()
    }

    /// The caller's value of the stream under way.
    pub fn all(&mut self) -> impl Iterator<Item = (u32, &mut T)> {
        let stream = self.stream.as_mut();
        stream
            .into_iter()
            .filter_map(|stream| Some((stream.id, stream.kept.as_mut()?)))
    }

    /// Ends what is under way without a word; gives what was kept with it.
    pub fn clear(&mut self) -> Vec<T> {
        self.ended = true;
        let stream = self.stream.take();
        stream.and_then(|stream| stream.kept).into_iter().collect()
    }

    /// Number of open streams: none or one.
    pub fn open_streams(&self) -> usize {
        usize::from(self.stream.is_some())
    }

    /// Returns true if no stream is left.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.stream.is_none()
    }

    /// Bytes of bodies that wait for their reader.
    pub fn waiting(&self) -> usize {
        let held = self.stream.as_ref().and_then(|stream| stream.held.as_ref());
        held.map_or(0, Held::size)
    }

    /// Returns true if so much waits to be written that nothing more should be sent by this
    /// connection.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.output().len() >= OUT_MARK
    }

    /// Returns true if a request may be sent now.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.role == Role::Client && self.stream.is_none() && !self.is_leaving()
    }

    /// Returns true if a request was received whole and its response is under way: the client may
    /// have closed its half, and reads on.
    #[must_use]
    pub fn is_answering(&self) -> bool {
        self.role == Role::Server && self.stream.as_ref().is_some_and(Stream::is_received)
    }

    /// Returns true if it takes no further message.
    #[must_use]
    pub fn is_leaving(&self) -> bool {
        self.closing || self.ended
    }

    /// Returns true if a request of ours was broken off: its response is waited for in vain.
    #[must_use]
    pub fn is_broken_off(&self) -> bool {
        self.role == Role::Client && self.ended && self.stream.is_some()
    }

    /// Returns true if reading would bring bytes that the caller cannot take yet.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        let window = self.bounds.stream_window as usize;
        let spent = |stream: &Stream<T>| stream.refusal.as_ref().is_some_and(|refusal| refusal.left == 0);
        let stream = self.stream.as_ref();
        self.ahead >= AHEAD_AT_MOST || stream.is_some_and(|stream| stream.unreleased >= window || spent(stream))
    }

    /// Returns true if something received before can go on. Asking forgets it.
    pub fn take_resumed(&mut self) -> bool {
        std::mem::take(&mut self.resumed)
    }

    /// The same without forgetting it.
    #[must_use]
    pub fn is_resumed(&self) -> bool {
        self.resumed
    }

    /// Returns true if the peer may be sending bytes that are not read: to close at once would take
    /// our last word from it.
    #[must_use]
    pub fn lingers(&self) -> bool {
        self.role == Role::Server && self.ended
    }

    /// Begins to end the connection: what is under way comes to its end, and is the last.
    pub fn drain(&mut self) {
        self.closing = true;
    }

    /// Returns true if this is the end, and nothing is under way.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.ended || (self.closing && self.stream.is_none() && self.begun == 0)
    }

    /// Ends the connection with an error; what is under way is lost. A client that has had nothing
    /// of a response is answered with the reason.
    pub fn fail(&mut self, code: Code, why: &str) {
        let unreported = self
            .stream
            .as_ref()
            .is_none_or(|stream| stream.outgoing == Outgoing::Head);
        if self.role == Role::Server && unreported && !self.ended {
            let status = match code {
                Code::ENHANCE_YOUR_CALM => 429,
                _ => self.status,
            };
            write::last_word(status, why, &mut self.out);
        }
        self.ended = true;
    }

    /// Bytes of a stream's body were handed on.
    pub fn release(&mut self, stream: u32, bytes: usize) {
        let window = self.bounds.stream_window as usize;
        let Some(found) = self.find(stream) else { return };
        let before = found.unreleased;
        found.unreleased -= bytes.min(before);
        if before >= window && found.unreleased < window {
            self.resumed = true;
        }
    }

    /// Returns true if something here changes with time.
    #[must_use]
    pub fn needs_sweeps(&self) -> bool {
        let refused = self.stream.as_ref().is_some_and(|stream| stream.refusal.is_some());
        self.begun > 0 || self.waiting() > 0 || refused
    }

    /// To be called at regular intervals. Gives the stream whose reader has not taken what waits
    /// for it in so many sweeps: it is the caller's to reset. A head that has begun and does not
    /// end, and a refused body, end the connection.
    pub fn sweep(&mut self, enough: Sweeps) -> Vec<u32> {
        if self.begun > 0 && self.stream.is_none() {
            self.begun_still += 1;
            if self.begun_still > enough.stalled && !self.ended {
                self.status = 408;
                self.fail(Code::PROTOCOL_ERROR, "the head of the request did not end");
            }
        }
        let Some(stream) = &mut self.stream else {
            return Vec::new();
        };
        if let Some(refusal) = &mut stream.refusal {
            refusal.still += 1;
            if refusal.still > enough.refused && stream.outgoing == Outgoing::Done {
                self.ended = true;
            }
        }
        let Some(held) = &mut stream.held else {
            return Vec::new();
        };
        if held.moved >= LEAST {
            (held.still, held.moved) = (0, 0);
        } else {
            held.still += 1;
            if held.still > enough.stalled {
                return vec![stream.id];
            }
        }
        Vec::new()
    }

    /// The stream under way, where something waits for its reader.
    pub fn longest_waiting(&mut self) -> Option<u32> {
        self.stream
            .as_ref()
            .filter(|stream| stream.held.is_some())
            .map(|stream| stream.id)
    }

    /// The events of what was received were looked at.
    pub fn seen(&mut self) {
        if self.stream.as_ref().is_some_and(Stream::is_complete) {
            self.over();
        }
    }

    /// Both messages are complete.
    fn over(&mut self) {
        self.stream = None;
        if self.ahead > 0 {
            self.ahead = 0;
            self.resumed = true;
        }
    }
}

#[cfg(test)]
mod tests;
