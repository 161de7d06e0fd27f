//! One end of an HTTP/2 connection with its socket: read by the task that owns it, written by whoever has something to send.
//!
//! A request that is read from one connection leaves by another in the same turn of the same task, and so does its response. Two
//! ports are never locked at once.

use std::cell::RefCell;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use bartizan_http2::{Bounds, Connection, Event, Fault, Role};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::scratch::SCRATCH;

/// Output beyond which nothing more is read: whoever asks and does not listen to the answers is not asked for more.
const UNHEARD: usize = 256 * 1024;

thread_local! {
    /// What was read last. A connection at rest holds no buffer; sockets below have one of their own ([`crate::scratch`]).
    static INPUT: RefCell<Box<[u8]>> = RefCell::new(vec![0; SCRATCH].into_boxed_slice());
}

/// A socket, in clear or not.
pub(super) trait Socket: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Socket for S {}

/// One end of a connection. `T` is kept with each stream.
pub(super) struct Port<T>(Mutex<Inside<T>>);

/// What the lock of a port guards.
pub(super) struct Inside<T> {
    pub(super) connection: Connection<T>,
    socket: Box<dyn Socket>,
    /// The task that reads.
    owner: Option<Waker>,
    /// The owner waits until the socket takes more.
    blocked: bool,
    /// Nothing was read because too much waits to be written: the owner reads on once it is.
    unheard: bool,
    /// A write has failed. What the other side said before may still be read.
    broken: bool,
    /// Nothing new begins: it ends when nothing is under way.
    pub(super) leaving: bool,
    /// Nothing has been asked of it: it says nothing, so that it holds nothing at the other end.
    unused: bool,
    /// Its owner has gone.
    over: bool,
}

/// What the owner keeps between its turns.
#[derive(Debug)]
pub(super) struct Inbox<T> {
    /// The beginning of a frame that is not whole yet.
    rest: Vec<u8>,
    /// `rest` was not looked at yet.
    fresh: bool,
    events: Vec<Event<T>>,
}

/// What a turn of reading came to.
#[derive(Debug)]
pub(super) enum Turn {
    /// Something was read.
    Read,
    /// The other side ends here; whether it did so between frames.
    End { clean: bool },
}

/// Why reading cannot go on.
#[derive(Debug)]
pub(super) enum Stop {
    /// The socket broke.
    Broken(io::Error),
    /// The other side broke the rules.
    Fault(Fault),
}

impl<T> Inbox<T> {
    /// With what was read already.
    pub(super) fn new(first: Vec<u8>) -> Self {
        Self {
            fresh: !first.is_empty(),
            rest: first,
            events: Vec::new(),
        }
    }
}

impl<T> fmt::Debug for Port<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Port").finish_non_exhaustive()
    }
}

impl<T> Port<T> {
    pub(super) fn new(role: Role, bounds: Bounds, socket: impl Socket + 'static) -> Self {
        Self(Mutex::new(Inside {
            connection: Connection::new(role, bounds),
            socket: Box::new(socket),
            owner: None,
            blocked: false,
            unheard: false,
            broken: false,
            leaving: false,
            unused: role == Role::Client,
            over: false,
        }))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Inside<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends what was put into it. For others than the owner.
    pub(super) fn flush(&self) {
        self.lock().flush();
    }

    /// The owner's turn: remembers whom to wake.
    pub(super) fn enter(&self, context: &Context<'_>) -> MutexGuard<'_, Inside<T>> {
        let mut inside = self.lock();
        if !inside
            .owner
            .as_ref()
            .is_some_and(|owner| owner.will_wake(context.waker()))
        {
            inside.owner = Some(context.waker().clone());
        }
        inside
    }

    /// Sends what there is, then what had to wait for room. For the owner.
    pub(super) fn poll_flush(
        &self,
        context: &mut Context<'_>,
        inbox: &mut Inbox<T>,
        mut each: impl FnMut(Event<T>, &[u8]),
    ) -> Poll<io::Result<()>> {
        loop {
            {
                let mut inside = self.lock();
                if inside.broken {
                    return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
                }
                let polled = inside.poll_write_out(context);
                inside.blocked = polled.is_pending();
                if let Poll::Ready(Err(_)) = polled {
                    inside.broken = true;
                }
                ready!(polled)?;
                if std::mem::take(&mut inside.unheard) {
                    context.waker().wake_by_ref();
                }
                if !inside.connection.holds() {
                    return Poll::Ready(Ok(()));
                }
                inside.connection.pump(&mut inbox.events);
            }
            inbox.events.drain(..).for_each(|event| each(event, &[]));
            if self.lock().connection.output().is_empty() {
                return Poll::Ready(Ok(()));
            }
        }
    }

    /// Reads once and gives each event with the bytes it speaks of.
    pub(super) fn poll_receive(
        &self,
        context: &mut Context<'_>,
        inbox: &mut Inbox<T>,
        mut each: impl FnMut(Event<T>, &[u8]),
    ) -> Poll<Result<Turn, Stop>> {
        INPUT.with(|input| {
            // Nobody lends it to anybody else: what follows reads no other port.
            let Ok(mut input) = input.try_borrow_mut() else {
                context.waker().wake_by_ref();
                return Poll::Pending;
            };
            let read = if std::mem::take(&mut inbox.fresh) {
                0
            } else {
                let mut inside = self.lock();
                if inside.connection.output().len() > UNHEARD && inside.blocked {
                    inside.unheard = true;
                    return Poll::Pending;
                }
                let mut buffer = ReadBuf::new(&mut input);
                let polled = ready!(Pin::new(&mut inside.socket).poll_read(context, &mut buffer));
                if let Err(error) = polled {
                    return Poll::Ready(Err(Stop::Broken(error)));
                }
                match buffer.filled().len() {
                    0 => {
                        return Poll::Ready(Ok(Turn::End {
                            clean: inbox.rest.is_empty(),
                        }));
                    }
                    read => read,
                }
            };
            let mut rest = std::mem::take(&mut inbox.rest);
            let bytes = if rest.is_empty() {
                &input[..read]
            } else {
                rest.extend_from_slice(&input[..read]);
                &rest[..]
            };
            let received = self.lock().connection.receive(bytes, &mut inbox.events);
            inbox.events.drain(..).for_each(|event| each(event, bytes));
            self.lock().connection.seen();
            let used = received.map_err(Stop::Fault)?;
            if rest.is_empty() {
                inbox.rest.extend_from_slice(&input[used..read]);
            } else if used < rest.len() {
                rest.drain(..used);
                inbox.rest = rest;
            }
            if inbox.events.capacity() > 64 {
                inbox.events = Vec::new();
            }
            Poll::Ready(Ok(Turn::Read))
        })
    }

    /// Says what is left to say and closes our half.
    pub(super) async fn shutdown(&self) {
        std::future::poll_fn(|context| {
            let mut inside = self.lock();
            if !inside.broken && ready!(inside.poll_write_out(context)).is_err() {
                return Poll::Ready(());
            }
            Pin::new(&mut inside.socket).poll_shutdown(context).map(drop)
        })
        .await;
    }

    /// The owner goes: nothing can be opened or sent any more. Gives what was kept with streams.
    pub(super) fn end(&self) -> Vec<T> {
        let mut inside = self.lock();
        inside.over = true;
        inside.connection.clear()
    }
}

impl<T> Inside<T> {
    /// Whether something may be opened on it.
    pub(super) fn has_room(&self) -> bool {
        !self.over && !self.broken && !self.leaving && self.connection.has_room()
    }

    /// Something is asked of it.
    pub(super) fn used(&mut self) {
        self.unused = false;
    }

    /// Has it end when nothing is under way.
    pub(super) fn leave(&mut self) {
        self.leaving = true;
        self.wake();
    }

    fn wake(&self) {
        if let Some(owner) = &self.owner {
            owner.wake_by_ref();
        }
    }

    fn flush(&mut self) {
        if self.over {
            return;
        }
        // Whoever waits for the socket is the owner, and must stay so.
        if !self.blocked && !self.broken {
            let mut nobody = Context::from_waker(Waker::noop());
            match self.poll_write_out(&mut nobody) {
                Poll::Ready(Ok(())) => {
                    if self.connection.holds() {
                        self.wake();
                    }
                }
                Poll::Ready(Err(_)) => {
                    self.broken = true;
                    self.wake();
                }
                Poll::Pending => {
                    self.blocked = true;
                    self.wake();
                }
            }
        }
        if self.connection.is_drained() || (self.leaving && self.connection.is_idle()) {
            self.wake();
        }
    }

    fn poll_write_out(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.unused || (self.connection.output().is_empty() && !self.blocked) {
            return Poll::Ready(Ok(()));
        }
        while !self.connection.output().is_empty() {
            let written = ready!(Pin::new(&mut self.socket).poll_write(context, self.connection.output()))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.connection.wrote(written);
        }
        Pin::new(&mut self.socket).poll_flush(context)
    }
}
