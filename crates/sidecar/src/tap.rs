//! The socket under TLS: shows the handshake to its watch, then reads in large pieces.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bartizan_tls::Watch;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::scratch::with_scratch;

/// A socket that a TLS connection runs over.
///
/// rustls asks for 4 KiB at a time, which would make five reads of one full record. The tap reads what is there in one system
/// call and hands it on in pieces; what does not fit the first piece is kept until it is asked for, and nothing is kept between
/// messages.
#[derive(Debug)]
pub(crate) struct Tap<IO> {
    io: IO,
    /// Set until the handshake has ended.
    watch: Option<Watch>,
    /// Read from the socket and not yet asked for.
    spill: Vec<u8>,
    /// How much of `spill` has been handed on.
    taken: usize,
}

impl<IO> Tap<IO> {
    pub(crate) fn new(io: IO, watch: Watch) -> Self {
        Self {
            io,
            watch: Some(watch),
            spill: Vec::new(),
            taken: 0,
        }
    }

    /// Stops showing bytes: the handshake has ended.
    pub(crate) fn handshake_ended(&mut self) {
        self.watch = None;
    }
}

impl<IO: AsyncRead + Unpin> AsyncRead for Tap<IO> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.taken == this.spill.len() {
            let read = with_scratch(|scratch| {
                let mut scratch = ReadBuf::new(scratch);
                ready!(Pin::new(&mut this.io).poll_read(context, &mut scratch))?;
                let read = scratch.filled();
                let fits = read.len().min(buffer.remaining());
                buffer.put_slice(&read[..fits]);
                this.taken = 0;
                this.spill.clear();
                if fits < read.len() {
                    this.spill.extend_from_slice(&read[fits..]);
                } else if this.spill.capacity() > 0 {
                    this.spill = Vec::new();
                }
                if let Some(watch) = &this.watch {
                    watch.received(read);
                }
                Poll::Ready(Ok(()))
            });
            return read;
        }
        let left = &this.spill[this.taken..];
        let fits = left.len().min(buffer.remaining());
        buffer.put_slice(&left[..fits]);
        this.taken += fits;
        Poll::Ready(Ok(()))
    }
}

impl<IO: AsyncWrite + Unpin> AsyncWrite for Tap<IO> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = ready!(Pin::new(&mut this.io).poll_write(context, bytes))?;
        if let Some(watch) = &this.watch {
            watch.sent(&bytes[..written]);
        }
        Poll::Ready(Ok(written))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = ready!(Pin::new(&mut this.io).poll_write_vectored(context, slices))?;
        if let Some(watch) = &this.watch {
            let mut left = written;
            for slice in slices {
                let shown = left.min(slice.len());
                watch.sent(&slice[..shown]);
                left -= shown;
            }
        }
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_shutdown(context)
    }
}
