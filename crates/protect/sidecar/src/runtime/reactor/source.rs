//! What a loop watches.

use std::io::{self, IoSlice, Read as _, Write as _};
use std::net::TcpStream as Socket;
use std::os::fd::{AsFd, BorrowedFd};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker, ready};

use nix::sys::epoll::{EpollEvent, EpollFlags};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::{Reactor, interest, lock};

/// What is known of a descriptor.
#[derive(Debug)]
pub(super) struct Source {
    incoming: Side,
    room: Side,
    /// The end has come, after which nothing is reported.
    ended: AtomicBool,
}

#[derive(Debug)]
struct Side {
    ready: AtomicBool,
    waits: Mutex<Option<Waker>>,
}

impl Default for Source {
    fn default() -> Self {
        // Tried first: nothing was reported yet.
        let side = || Side {
            ready: AtomicBool::new(true),
            waits: Mutex::new(None),
        };
        Self {
            incoming: side(),
            room: side(),
            ended: AtomicBool::new(false),
        }
    }
}

impl Side {
    fn report(&self) {
        self.ready.store(true, Ordering::SeqCst);
        let waits = lock(&self.waits).take();
        if let Some(waker) = waits {
            waker.wake();
        }
    }

    fn poll(&self, context: &Context<'_>) -> Poll<()> {
        if self.ready.load(Ordering::SeqCst) {
            return Poll::Ready(());
        }
        let mut waits = lock(&self.waits);
        match &mut *waits {
            Some(known) => known.clone_from(context.waker()),
            none => *none = Some(context.waker().clone()),
        }
        drop(waits);
        // It may have been reported meanwhile, by another thread.
        if self.ready.load(Ordering::SeqCst) {
            return Poll::Ready(());
        }
        Poll::Pending
    }
}

impl Source {
    pub(super) fn report(&self, events: EpollFlags) {
        let end = EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLHUP | EpollFlags::EPOLLERR;
        if events.intersects(end) {
            self.ended.store(true, Ordering::SeqCst);
        }
        if events.intersects(EpollFlags::EPOLLIN | end) {
            self.incoming.report();
        }
        if events.intersects(EpollFlags::EPOLLOUT | EpollFlags::EPOLLHUP | EpollFlags::EPOLLERR) {
            self.room.report();
        }
    }
}

/// A descriptor that is watched. Its owner closes it, which is the end of that.
#[derive(Debug)]
pub(crate) struct Registration {
    reactor: Reactor,
    number: u64,
    source: Arc<Source>,
}

impl Registration {
    pub(super) const fn new(reactor: Reactor, number: u64, source: Arc<Source>) -> Self {
        Self {
            reactor,
            number,
            source,
        }
    }

    /// Has room watched, or no longer, and what there is of it reported.
    ///
    /// # Errors
    /// What the kernel says.
    pub(crate) fn watch(&self, io: impl AsFd, room: bool) -> io::Result<()> {
        let mut event = EpollEvent::new(interest(room), self.number);
        self.reactor.0.epoll.modify(io, &mut event).map_err(io::Error::from)
    }

    /// Whether something may have come.
    pub(crate) fn poll_incoming(&self, context: &Context<'_>) -> Poll<()> {
        self.source.incoming.poll(context)
    }

    /// Everything that came was read, but for the end.
    pub(crate) fn read_all(&self) {
        if !self.source.ended.load(Ordering::SeqCst) {
            self.source.incoming.ready.store(false, Ordering::SeqCst);
        }
    }

    /// The kernel had nothing, not even an end.
    pub(crate) fn nothing_incoming(&self) {
        self.source.ended.store(false, Ordering::SeqCst);
        self.source.incoming.ready.store(false, Ordering::SeqCst);
    }

    /// Whether there may be room.
    pub(crate) fn poll_room(&self, context: &Context<'_>) -> Poll<()> {
        self.source.room.poll(context)
    }

    /// There was none.
    pub(crate) fn no_room(&self) {
        self.source.room.ready.store(false, Ordering::SeqCst);
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        lock(&self.reactor.0.sources).remove(&self.number);
    }
}

/// A TCP connection that a loop watches.
#[derive(Debug)]
pub(crate) struct TcpStream {
    socket: Socket,
    registration: Registration,
}

impl TcpStream {
    /// # Errors
    /// Where it cannot be watched.
    pub(crate) fn new(socket: Socket, reactor: &Reactor) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        // TCP reports room only after there was none.
        let registration = reactor.register(&socket, true)?;
        Ok(Self { socket, registration })
    }

    /// Does this until the kernel takes it, or there is no room.
    fn poll_write_by<R>(
        &mut self,
        context: &Context<'_>,
        mut write: impl FnMut(&mut Socket) -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        loop {
            ready!(self.registration.poll_room(context));
            match write(&mut self.socket) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.registration.no_room(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                written => return Poll::Ready(written),
            }
        }
    }
}

impl AsFd for TcpStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl AsyncRead for TcpStream {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        loop {
            ready!(this.registration.poll_incoming(context));
            let room = buffer.initialize_unfilled();
            let whole = room.len();
            match this.socket.read(room) {
                Ok(read) => {
                    if read > 0 && read < whole {
                        this.registration.read_all();
                    }
                    buffer.advance(read);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => this.registration.nothing_incoming(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl AsyncWrite for TcpStream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.get_mut().poll_write_by(context, |socket| socket.write(bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.get_mut()
            .poll_write_by(context, |socket| socket.write_vectored(slices))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.socket.shutdown(std::net::Shutdown::Write))
    }
}
