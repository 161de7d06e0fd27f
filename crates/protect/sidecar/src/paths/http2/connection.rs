//! One end of a connection, in whichever version of HTTP it speaks.

use std::fmt;

use bartizan_http1::{self as http1, Unopened};
use bartizan_http2::{self as http2, Bounds, Code, Event, Fault, Fields, Received, Role, Sweeps, Unsent};

/// A version of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    Http1,
    Http2,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Http1 => "HTTP/1.1",
            Self::Http2 => "HTTP/2",
        })
    }
}

/// One end of a connection. What differs between the versions is in their crates; here is what carrying requests takes.
#[derive(Debug)]
pub(super) enum Connection<T> {
    Http1(http1::Connection<T>),
    Http2(http2::Connection<T>),
}

macro_rules! either {
    ($self:expr, $connection:ident => $what:expr) => {
        match $self {
            Connection::Http1($connection) => $what,
            Connection::Http2($connection) => $what,
        }
    };
}

impl<T> Connection<T> {
    pub(super) fn new(version: Version, role: Role, bounds: Bounds) -> Self {
        match version {
            Version::Http1 => Self::Http1(http1::Connection::new(role, bounds)),
            Version::Http2 => Self::Http2(http2::Connection::new(role, bounds)),
        }
    }

    pub(super) fn version(&self) -> Version {
        match self {
            Self::Http1(_) => Version::Http1,
            Self::Http2(_) => Version::Http2,
        }
    }

    pub(super) fn output(&self) -> &[u8] {
        either!(self, one => one.output())
    }

    pub(super) fn wrote(&mut self, bytes: usize) {
        either!(self, one => one.wrote(bytes));
    }

    pub(super) fn receive(
        &mut self,
        input: &[u8],
        frames: usize,
        events: &mut Vec<Event<T>>,
    ) -> Result<Received, Fault> {
        either!(self, one => one.receive(input, frames, events))
    }

    pub(super) fn seen(&mut self) {
        either!(self, one => one.seen());
    }

    /// The other side sends nothing more. HTTP/2 announces before what that means.
    pub(super) fn finish(&mut self, clean: bool, events: &mut Vec<Event<T>>) {
        if let Self::Http1(one) = self {
            one.finish(clean, events);
        }
    }

    pub(super) fn is_settled(&self) -> bool {
        match self {
            Self::Http1(_) => true,
            Self::Http2(one) => one.is_settled(),
        }
    }

    pub(super) fn kept(&mut self, stream: u32) -> Option<&mut T> {
        either!(self, one => one.kept(stream))
    }

    pub(super) fn keep(&mut self, stream: u32, kept: T) -> Option<T> {
        either!(self, one => one.keep(stream, kept))
    }

    pub(super) fn take_kept(&mut self, stream: u32) -> Option<T> {
        either!(self, one => one.take_kept(stream))
    }

    pub(super) fn is_open(&mut self, stream: u32) -> bool {
        either!(self, one => one.is_open(stream))
    }

    pub(super) fn all(&mut self) -> impl Iterator<Item = (u32, &mut T)> {
        let (one, two) = match self {
            Self::Http1(one) => (Some(one.all()), None),
            Self::Http2(two) => (None, Some(two.all())),
        };
        one.into_iter().flatten().chain(two.into_iter().flatten())
    }

    pub(super) fn clear(&mut self) -> Vec<T> {
        either!(self, one => one.clear())
    }

    pub(super) fn open_streams(&self) -> usize {
        either!(self, one => one.open_streams())
    }

    pub(super) fn waiting(&self) -> usize {
        either!(self, one => one.waiting())
    }

    pub(super) fn is_idle(&self) -> bool {
        either!(self, one => one.is_idle())
    }

    /// The number of requests that the other end takes at once.
    pub(super) fn streams_at_most(&self) -> usize {
        match self {
            Self::Http1(_) => 1,
            Self::Http2(one) => one.streams_at_most(),
        }
    }

    pub(super) fn is_window_open(&self) -> bool {
        match self {
            Self::Http1(_) => true,
            Self::Http2(one) => one.is_window_open(),
        }
    }

    pub(super) fn is_full(&self) -> bool {
        either!(self, one => one.is_full())
    }

    pub(super) fn has_room(&self) -> bool {
        either!(self, one => one.has_room())
    }

    /// Returns true if reading would bring data that no stream may take yet. In HTTP/2 windows see
    /// to that.
    pub(super) fn is_paused(&self) -> bool {
        match self {
            Self::Http1(one) => one.is_paused(),
            Self::Http2(_) => false,
        }
    }

    /// Returns true if data that was read before can go on.
    pub(super) fn is_resumed(&self) -> bool {
        match self {
            Self::Http1(one) => one.is_resumed(),
            Self::Http2(_) => false,
        }
    }

    /// The same; asking forgets it.
    pub(super) fn take_resumed(&mut self) -> bool {
        match self {
            Self::Http1(one) => one.take_resumed(),
            Self::Http2(_) => false,
        }
    }

    /// Returns true if the other side takes no further request.
    pub(super) fn is_away(&self) -> bool {
        match self {
            Self::Http1(one) => one.is_leaving(),
            Self::Http2(one) => one.away().is_some(),
        }
    }

    /// Returns true if closing at once would take our last message from the other side.
    pub(super) fn lingers(&self) -> bool {
        match self {
            Self::Http1(one) => one.lingers(),
            Self::Http2(_) => false,
        }
    }

    /// Returns true if it ends by itself once nothing is under way.
    pub(super) fn is_leaving(&self) -> bool {
        match self {
            Self::Http1(one) => one.is_leaving(),
            Self::Http2(_) => false,
        }
    }

    /// Tells that a request was broken off in its middle, which HTTP/1.1 can say by the end of the connection only.
    pub(super) fn is_broken_off(&self) -> bool {
        match self {
            Self::Http1(one) => one.is_broken_off(),
            Self::Http2(_) => false,
        }
    }

    pub(super) fn drain(&mut self) {
        either!(self, one => one.drain());
    }

    /// Draining waits no longer for the other end to answer; HTTP/1.1 never does.
    pub(super) fn conclude(&mut self) {
        if let Self::Http2(one) = self {
            one.conclude();
        }
    }

    pub(super) fn is_drained(&self) -> bool {
        either!(self, one => one.is_drained())
    }

    pub(super) fn fail(&mut self, code: Code, why: &str) {
        match self {
            Self::Http1(one) => one.fail(code, why),
            Self::Http2(one) => one.fail(code),
        }
    }

    pub(super) fn release(&mut self, stream: u32, bytes: usize) {
        either!(self, one => one.release(stream, bytes));
    }

    pub(super) fn needs_sweeps(&self) -> bool {
        either!(self, one => one.needs_sweeps())
    }

    pub(super) fn sweep(&mut self, enough: Sweeps) -> Vec<u32> {
        either!(self, one => one.sweep(enough))
    }

    pub(super) fn longest_waiting(&mut self) -> Option<u32> {
        either!(self, one => one.longest_waiting())
    }

    pub(super) fn open(&mut self, fields: &Fields, end: bool, owner: u64, kept: T) -> Result<u32, Unopened> {
        match self {
            Self::Http1(one) => one.open(fields, end, kept),
            Self::Http2(one) => one.open(fields, end, owner, kept).ok_or(Unopened::NoRoom),
        }
    }

    pub(super) fn send_head(&mut self, stream: u32, fields: &Fields, end: bool) -> Result<(), Unsent> {
        either!(self, one => one.send_head(stream, fields, end))
    }

    pub(super) fn send_data(&mut self, stream: u32, bytes: &[u8], end: bool) -> Result<usize, Unsent> {
        either!(self, one => one.send_data(stream, bytes, end))
    }

    pub(super) fn send_trailers(&mut self, stream: u32, fields: Fields) -> Result<(), Unsent> {
        either!(self, one => one.send_trailers(stream, fields))
    }

    pub(super) fn reset(&mut self, stream: u32, code: Code) -> Option<T> {
        either!(self, one => one.reset(stream, code))
    }

    pub(super) fn refuse_rest(&mut self, stream: u32, code: Code, bytes: usize) {
        either!(self, one => one.refuse_rest(stream, code, bytes));
    }

    pub(super) fn holds(&self) -> bool {
        either!(self, one => one.holds())
    }

    pub(super) fn pump(&mut self, events: &mut Vec<Event<T>>) {
        either!(self, one => one.pump(events));
    }
}
