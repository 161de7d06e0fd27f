//! One end of a connection with its socket: read by the task that owns it, written by each task
//! that has something to send.
//!
//! A request that is read from one connection leaves by another in the same turn of the same task, and so does its response. Two
//! ports are never borrowed at once.

use std::cell::{RefCell, RefMut};
use std::fmt;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker, ready};

use bartizan_deployment::Limits;
use bartizan_http2::{Bounds, Event, Fault, Role};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::budget::Reader;
use super::connection::{Connection, Version};
use crate::runtime::scratch::SCRATCH;

/// Output beyond which nothing more is read: a peer that asks and does not read the answers is read from no more.
const UNHEARD: usize = 256 * 1024;
/// Frames in one turn of a task. Then others have theirs, however much a connection has to say.
const FRAMES_PER_TURN: usize = 128;
/// Reads in one turn, of up to [`SCRATCH`] bytes.
const READS_PER_TURN: u32 = 2;

thread_local! {
    /// Bytes that were read last. A connection at rest holds no buffer; sockets below have one of
    /// their own ([`crate::runtime::scratch`]).
    static INPUT: RefCell<Box<[u8]>> = RefCell::new(vec![0; SCRATCH].into_boxed_slice());
}

/// A socket, encrypted or not.
pub(super) trait Socket: AsyncRead + AsyncWrite + Unpin {}

impl<S: AsyncRead + AsyncWrite + Unpin> Socket for S {}

/// One end of a connection. `T` is kept with each stream.
pub(super) struct Port<T>(RefCell<Inside<T>>);

/// Interior of a port.
pub(super) struct Inside<T> {
    pub(super) connection: Connection<T>,
    socket: Box<dyn Socket>,
    /// Reader that is charged for data waiting here, and the amount when it was charged last.
    reader: Rc<Reader>,
    charged: usize,
    /// The task that reads.
    owner: Option<Waker>,
    /// The owner waits until the socket takes more.
    blocked: bool,
    /// Nothing was read because too much waits to be written: the owner reads on once it is.
    unheard: bool,
    /// A write has failed. What the other side sent before may still be read.
    broken: bool,
    /// Nothing new begins: it ends when nothing is under way.
    pub(super) leaving: bool,
    /// Nothing has been asked of it: it sends nothing, so that it holds nothing at the other end.
    unused: bool,
    /// Its owner has gone.
    over: bool,
    /// Reads that gave something.
    pub(super) heard: u64,
}

bartizan_registry::made! {
    /// State that the owner keeps between its turns.
    #[derive(Debug)]
    pub(super) struct Inbox<T>,
    /// With what was read already.
    pub(super) new(first: Vec<u8>) {
        /// Whole frames may be in `rest`.
        fresh: bool = !first.is_empty(),
        /// Bytes that were read and not used yet.
        rest: Vec<u8> = first,
        /// The other side sends nothing more.
        pub(super) ended: bool = false,
        events: Vec<Event<T>> = Vec::new(),
    }
}

bartizan_registry::made! {
    /// Remaining work of a turn.
    #[derive(Debug)]
    pub(super) struct Turn, pub(super) new() {
        frames: usize = FRAMES_PER_TURN,
        reads: u32 = READS_PER_TURN,
    }
}

/// Progress of a read.
#[derive(Debug)]
pub(super) enum Progress {
    /// Something was read.
    Data,
    /// The other side ends here; whether it did so between frames.
    End { clean: bool },
    /// It was enough for one turn: the task has been woken for the next.
    Yielded,
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
    /// Returns true if no bytes wait to be used.
    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }
}

impl<T> fmt::Debug for Port<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Port").finish_non_exhaustive()
    }
}

impl<T> Port<T> {
    pub(super) fn new(
        (version, role): (Version, Role),
        bounds: Bounds,
        socket: impl Socket + 'static,
        reader: Rc<Reader>,
    ) -> Self {
        Self(RefCell::new(Inside {
            connection: Connection::new(version, role, bounds),
            socket: Box::new(socket),
            reader,
            charged: 0,
            owner: None,
            blocked: false,
            unheard: false,
            broken: false,
            leaving: false,
            unused: role == Role::Client,
            over: false,
            heard: 0,
        }))
    }

    /// Its interior, for as long as no other port is borrowed.
    pub(super) fn inside(&self) -> RefMut<'_, Inside<T>> {
        self.0.borrow_mut()
    }

    /// Sends what was put into it. For others than the owner.
    pub(super) fn flush(&self) {
        self.inside().flush();
    }

    /// The owner's turn: remembers the task to wake.
    pub(super) fn enter(&self, context: &Context<'_>) -> RefMut<'_, Inside<T>> {
        let mut inside = self.inside();
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
                let mut inside = self.inside();
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
                inside.charge();
            }
            inbox.events.drain(..).for_each(|event| each(event, &[]));
            if self.inside().connection.output().is_empty() {
                return Poll::Ready(Ok(()));
            }
        }
    }

    /// Reads once, as far as the turn allows, and gives each event with the bytes it speaks of.
    pub(super) fn poll_receive(
        &self,
        context: &mut Context<'_>,
        turn: &mut Turn,
        inbox: &mut Inbox<T>,
        mut each: impl FnMut(Event<T>, &[u8]),
    ) -> Poll<Result<Progress, Stop>> {
        if turn.frames == 0 || (turn.reads == 0 && !inbox.fresh) {
            context.waker().wake_by_ref();
            return Poll::Ready(Ok(Progress::Yielded));
        }
        INPUT.with(|input| {
            // The buffer is never borrowed twice: the code below reads no other port.
            let Ok(mut input) = input.try_borrow_mut() else {
                context.waker().wake_by_ref();
                return Poll::Pending;
            };
            let read = {
                let mut inside = self.inside();
                if inside.connection.output().len() > UNHEARD && inside.blocked {
                    inside.unheard = true;
                    return Poll::Pending;
                }
                if inside.connection.take_resumed() {
                    inbox.fresh |= !inbox.rest.is_empty();
                } else if inside.connection.is_paused() {
                    // The task that lets it go on wakes the owner.
                    return Poll::Pending;
                }
                if std::mem::take(&mut inbox.fresh) {
                    0
                } else {
                    let mut buffer = ReadBuf::new(&mut input);
                    let polled = match inbox.ended {
                        true => Ok(()),
                        false => ready!(Pin::new(&mut inside.socket).poll_read(context, &mut buffer)),
                    };
                    turn.reads -= 1;
                    match (polled, buffer.filled().len()) {
                        (Ok(()), read @ 1..) => {
                            inside.heard += 1;
                            read
                        }
                        // A client may close its half behind its last request. The task that
                        // completes the response wakes the owner.
                        (Ok(()), 0) if inside.connection.is_answering() => {
                            inbox.ended = true;
                            if inbox.rest.is_empty() {
                                inside.connection.drain();
                            }
                            return Poll::Pending;
                        }
                        (ended, _) => {
                            inside.connection.finish(ended.is_ok(), &mut inbox.events);
                            drop(inside);
                            inbox.events.drain(..).for_each(|event| each(event, &[]));
                            self.inside().connection.seen();
                            return Poll::Ready(match ended {
                                Ok(()) => Ok(Progress::End {
                                    clean: inbox.rest.is_empty(),
                                }),
                                Err(error) => Err(Stop::Broken(error)),
                            });
                        }
                    }
                }
            };
            let mut rest = std::mem::take(&mut inbox.rest);
            let bytes = if rest.is_empty() {
                &input[..read]
            } else {
                rest.extend_from_slice(&input[..read]);
                &rest[..]
            };
            let received = {
                let mut inside = self.inside();
                let received = inside.connection.receive(bytes, turn.frames, &mut inbox.events);
                inside.charge();
                received
            };
            inbox.events.drain(..).for_each(|event| each(event, bytes));
            self.inside().connection.seen();
            let received = received.map_err(Stop::Fault)?;
            turn.frames -= received.frames;
            inbox.fresh = received.more;
            if rest.is_empty() {
                inbox.rest.extend_from_slice(&input[received.used..read]);
            } else if received.used < rest.len() {
                rest.drain(..received.used);
                inbox.rest = rest;
            }
            if inbox.events.capacity() > 64 {
                inbox.events = Vec::new();
            }
            Poll::Ready(Ok(Progress::Data))
        })
    }

    /// Writes what is left to write and closes our half; then reads, where the other side would lose it otherwise.
    pub(super) async fn shutdown(&self) {
        std::future::poll_fn(|context| {
            let mut inside = self.inside();
            if !inside.broken && ready!(inside.poll_write_out(context)).is_err() {
                return Poll::Ready(());
            }
            Pin::new(&mut inside.socket).poll_shutdown(context).map(drop)
        })
        .await;
        if !self.inside().connection.lingers() {
            return;
        }
        std::future::poll_fn(|context| {
            let (mut inside, mut rest) = (self.inside(), [0; 4096]);
            loop {
                let mut rest = ReadBuf::new(&mut rest);
                let read = ready!(Pin::new(&mut inside.socket).poll_read(context, &mut rest));
                if read.is_err() || rest.filled().is_empty() {
                    return Poll::Ready(());
                }
            }
        })
        .await;
    }

    /// The owner goes: nothing can be opened or sent any more. Gives what was kept with streams.
    pub(super) fn end(&self) -> Vec<T> {
        let mut inside = self.inside();
        inside.over = true;
        let kept = inside.connection.clear();
        inside.charge();
        kept
    }
}

impl<T> Inside<T> {
    /// Returns true if a stream may be opened on it.
    pub(super) fn has_room(&mut self) -> bool {
        if self.connection.is_full() {
            self.flush();
        }
        !self.over && !self.broken && !self.leaving && !self.connection.is_full() && self.connection.has_room()
    }

    /// Looks at what has become of its streams since the last tick ([`Connection::sweep`]).
    pub(super) fn sweep(&mut self, limits: &Limits) -> Vec<u32> {
        self.connection.sweep(super::sweeps(limits, self.reader.location))
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

    /// The reader of what is sent by it.
    pub(super) fn reader(&self) -> &Rc<Reader> {
        &self.reader
    }

    /// Returns true if its reader leaves more waiting than its share.
    pub(super) fn is_over_budget(&self) -> bool {
        self.charged > 0 && self.reader.is_over()
    }

    /// Charges what waits here.
    pub(super) fn charge(&mut self) {
        let now = self.connection.waiting();
        self.reader.changed(self.charged, now);
        self.charged = now;
    }

    fn wake(&self) {
        if let Some(owner) = &self.owner {
            owner.wake_by_ref();
        }
    }

    pub(super) fn flush(&mut self) {
        if self.over {
            return;
        }
        // Only the owner waits for the socket, and its waker must stay registered.
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
        let waited = self.charged > 0;
        self.charge();
        let waits = self.charged > 0 && (!waited || self.reader.is_over());
        let leaving = self.leaving || self.connection.is_leaving();
        let ends = self.connection.is_drained() || (leaving && self.connection.is_idle());
        if waits || ends || self.connection.is_resumed() {
            self.wake();
        }
    }

    fn poll_write_out(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.unused || (self.connection.output().is_empty() && !self.blocked) {
            return Poll::Ready(Ok(()));
        }
        loop {
            let output = self.connection.output();
            if output.is_empty() {
                break;
            }
            let written = ready!(Pin::new(&mut self.socket).poll_write(context, output))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.connection.wrote(written);
        }
        Pin::new(&mut self.socket).poll_flush(context)
    }
}
