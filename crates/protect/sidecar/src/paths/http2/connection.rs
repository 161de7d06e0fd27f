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

/// Methods that both versions have: `fn` takes a reference, `mut fn` a mutable one.
macro_rules! of_both {
    (
        $(fn $name:ident($this:ident $(, $argument:ident: $type:ty)*) $(-> $given:ty)?;)+
        $(mut fn $name_mut:ident($this_mut:ident $(, $argument_mut:ident: $type_mut:ty)*) $(-> $given_mut:ty)?;)+
    ) => {
        $(pub(super) fn $name(&$this $(, $argument: $type)*) $(-> $given)? {
            match $this {
                Self::Http1(one) => one.$name($($argument),*),
                Self::Http2(one) => one.$name($($argument),*),
            }
        })+
        $(pub(super) fn $name_mut(&mut $this_mut $(, $argument_mut: $type_mut)*) $(-> $given_mut)? {
            match $this_mut {
                Self::Http1(one) => one.$name_mut($($argument_mut),*),
                Self::Http2(one) => one.$name_mut($($argument_mut),*),
            }
        })+
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

    of_both! {
        fn output(self) -> &[u8];
        fn open_streams(self) -> usize;
        fn waiting(self) -> usize;
        fn is_idle(self) -> bool;
        fn is_full(self) -> bool;
        fn has_room(self) -> bool;
        fn is_drained(self) -> bool;
        fn needs_sweeps(self) -> bool;
        fn holds(self) -> bool;
        mut fn wrote(self, bytes: usize);
        mut fn receive(self, input: &[u8], frames: usize, events: &mut Vec<Event<T>>) -> Result<Received, Fault>;
        mut fn seen(self);
        mut fn kept(self, stream: u32) -> Option<&mut T>;
        mut fn keep(self, stream: u32, kept: T) -> Option<T>;
        mut fn take_kept(self, stream: u32) -> Option<T>;
        mut fn is_open(self, stream: u32) -> bool;
        mut fn clear(self) -> Vec<T>;
        mut fn drain(self);
        mut fn release(self, stream: u32, bytes: usize);
        mut fn sweep(self, enough: Sweeps) -> Vec<u32>;
        mut fn longest_waiting(self) -> Option<u32>;
        mut fn send_head(self, stream: u32, fields: &Fields, end: bool) -> Result<(), Unsent>;
        mut fn send_data(self, stream: u32, bytes: &[u8], end: bool) -> Result<usize, Unsent>;
        mut fn send_trailers(self, stream: u32, fields: Fields) -> Result<(), Unsent>;
        mut fn reset(self, stream: u32, code: Code) -> Option<T>;
        mut fn refuse_rest(self, stream: u32, code: Code, bytes: usize);
        mut fn pump(self, events: &mut Vec<Event<T>>);
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

    pub(super) fn all(&mut self) -> impl Iterator<Item = (u32, &mut T)> {
        let (one, two) = match self {
            Self::Http1(one) => (Some(one.all()), None),
            Self::Http2(two) => (None, Some(two.all())),
        };
        one.into_iter().flatten().chain(two.into_iter().flatten())
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

    /// Returns true if reading would bring data that no stream may take yet. In HTTP/2 windows see
    /// to that.
    pub(super) fn is_paused(&self) -> bool {
        matches!(self, Self::Http1(one) if one.is_paused())
    }

    /// Returns true if data that was read before can go on.
    pub(super) fn is_resumed(&self) -> bool {
        matches!(self, Self::Http1(one) if one.is_resumed())
    }

    /// The same; asking forgets it.
    pub(super) fn take_resumed(&mut self) -> bool {
        match self {
            Self::Http1(one) => one.take_resumed(),
            Self::Http2(_) => false,
        }
    }

    /// Returns true if a client that sends nothing more has its response yet to come. A client of
    /// HTTP/2 says so by the end of its stream; where it ends its connection too it can open no
    /// window, so its requests are cancelled.
    pub(super) fn is_answering(&self) -> bool {
        matches!(self, Self::Http1(one) if one.is_answering())
    }

    /// Returns true if the other side takes no further request.
    pub(super) fn is_away(&self) -> bool {
        match self {
            Self::Http1(one) => one.is_leaving(),
            Self::Http2(one) => one.is_away(),
        }
    }

    /// Returns true if closing at once would take our last message from the other side.
    pub(super) fn lingers(&self) -> bool {
        matches!(self, Self::Http1(one) if one.lingers())
    }

    /// Returns true if it ends by itself once nothing is under way.
    pub(super) fn is_leaving(&self) -> bool {
        matches!(self, Self::Http1(one) if one.is_leaving())
    }

    /// Tells that a request was broken off in its middle, which HTTP/1.1 can say by the end of the connection only.
    pub(super) fn is_broken_off(&self) -> bool {
        matches!(self, Self::Http1(one) if one.is_broken_off())
    }

    /// Draining waits no longer for the other end to answer; HTTP/1.1 never does.
    pub(super) fn conclude(&mut self) {
        if let Self::Http2(one) = self {
            one.conclude();
        }
    }

    pub(super) fn fail(&mut self, code: Code, why: &str) {
        match self {
            Self::Http1(one) => one.fail(code, why),
            Self::Http2(one) => one.fail(code),
        }
    }

    pub(super) fn open(&mut self, fields: &Fields, end: bool, owner: u64, kept: T) -> Result<u32, Unopened> {
        match self {
            Self::Http1(one) => one.open(fields, end, kept),
            Self::Http2(one) => one.open(fields, end, owner, kept).ok_or(Unopened::NoRoom),
        }
    }
}
