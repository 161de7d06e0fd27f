//! An established TLS connection and its account.

use std::io::{self, IoSlice};
use std::os::fd::AsFd as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bartizan_tls::Watch;
use tokio::io::{AsyncBufRead, AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio_rustls::TlsStream;

use crate::dialling::session::Session;
use crate::dialling::tap::Tap;

bartizan_registry::made! {
    /// An established TLS connection. Counts what it carries, and takes the end of the connection
    /// for a refusal where it comes before the peer's first byte.
    #[derive(Debug)]
    pub(crate) struct Channel, pub(crate) new(tls: TlsStream<Tap<TcpStream>>, session: Arc<Session>, watch: Watch) {
        tls: TlsStream<Tap<TcpStream>>,
        session: Arc<Session>,
        /// Set until the peer's first byte.
        watch: Option<Watch> = Some(watch),
        /// Frames were written that it may still hold. Only of use to the `sctp` path.
        pub(crate) flush: bool = false,
    }
}

/// An established TLS connection that no event loop watches, on its way from one thread to another.
#[derive(Debug)]
pub(crate) struct Detached {
    channel: Channel,
    /// The same socket once more, to be watched by the next.
    socket: std::net::TcpStream,
}

impl Detached {
    /// Has the event loop of the calling thread watch it. What was read before stays with it.
    pub(crate) fn attach(self) -> io::Result<Channel> {
        let Self { mut channel, socket } = self;
        let socket = TcpStream::from_std(socket)?;
        channel.tls.get_mut().0.replace_socket(socket);
        Ok(channel)
    }

    /// Has the event loop of another thread watch it.
    pub(crate) fn attach_to(self, other: &Handle) -> io::Result<Channel> {
        let _context = other.enter();
        self.attach()
    }
}

impl Channel {
    /// Makes it ready for another thread.
    pub(crate) fn detach(self) -> io::Result<Detached> {
        // A copy of the descriptor: the stream is taken from its event loop where it is dropped, in `attach`.
        let socket = self.tls.get_ref().0.io.as_fd().try_clone_to_owned()?;
        Ok(Detached {
            channel: self,
            socket: socket.into(),
        })
    }

    pub(crate) fn session(&self) -> &Arc<Session> {
        &self.session
    }

    fn ended(&mut self, error: &io::Error) {
        if let Some(watch) = self.watch.take()
            && self.session.leg.direction == bartizan_ledger::Direction::Outbound
        {
            self.session.refuse(watch.failed(error));
        }
    }

    /// A write failed: what the peer sent before it closed, if it is there, is the better reason.
    fn write_failed(&mut self, context: &mut Context<'_>, error: io::Error) -> io::Error {
        if self.watch.is_some() {
            match Pin::new(&mut self.tls).poll_fill_buf(context) {
                Poll::Ready(Err(sent)) => self.ended(&sent),
                _ => self.ended(&error),
            }
        }
        error
    }

    fn written(&mut self, context: &mut Context<'_>, written: io::Result<usize>) -> io::Result<usize> {
        let written = written.map_err(|error| self.write_failed(context, error))?;
        self.session.sent(written);
        Ok(written)
    }

    fn heard(&mut self, bytes: usize) {
        self.session.received(bytes);
        if self.watch.is_some() {
            self.watch = None;
        }
    }
}

fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "closed by the peer")
}

impl AsyncRead for Channel {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let result = ready!(Pin::new(&mut this.tls).poll_read(context, buffer));
        match &result {
            Ok(()) => match buffer.filled().len() - before {
                0 if buffer.remaining() > 0 => this.ended(&closed()),
                read => this.heard(read),
            },
            Err(error) => this.ended(error),
        }
        Poll::Ready(result)
    }
}

impl AsyncBufRead for Channel {
    fn poll_fill_buf(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        let this = self.get_mut();
        // The borrow of what is returned would last through the error's arm: ask first, then take what is there.
        match ready!(Pin::new(&mut this.tls).poll_fill_buf(context)) {
            Ok([]) => this.ended(&closed()),
            Ok(_) => {}
            Err(error) => {
                this.ended(&error);
                return Poll::Ready(Err(error));
            }
        }
        Pin::new(&mut this.tls).poll_fill_buf(context)
    }

    fn consume(self: Pin<&mut Self>, bytes: usize) {
        let this = self.get_mut();
        this.heard(bytes);
        Pin::new(&mut this.tls).consume(bytes);
    }
}

impl AsyncWrite for Channel {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = ready!(Pin::new(&mut this.tls).poll_write(context, bytes));
        Poll::Ready(this.written(context, written))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = ready!(Pin::new(&mut this.tls).poll_write_vectored(context, slices));
        Poll::Ready(this.written(context, written))
    }

    fn is_write_vectored(&self) -> bool {
        self.tls.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().tls).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().tls).poll_shutdown(context)
    }
}
