//! The socket under TLS: shows the handshake to its watch, then reads in large pieces.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bartizan_tls::Watch;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::runtime::scratch::with_scratch;

/// The ChangeCipherSpec record that a client sends for the sake of middleboxes once it has seen the ServerHello (RFC 9846, appendix
/// D.4). It means nothing.
const DUMMY: &[u8] = &[20, 3, 3, 0, 1, 1];

bartizan_registry::made! {
    /// A socket that a TLS connection runs over.
    ///
    /// rustls asks for 4 KiB at a time, which would make five reads of one full record. The tap
    /// reads what is there in one system call and hands it on in pieces; what does not fit the
    /// first piece is kept until it is asked for, and nothing is kept between messages.
    ///
    /// A client's [`DUMMY`] on its own is kept back until its next flight, which follows once it
    /// has verified the server's: sent alone it would cost both ends a system call or two and the
    /// server a turn for nothing.
    #[derive(Debug)]
    pub(crate) struct Tap<IO>, pub(crate) new(io: IO, watch: Watch) {
        pub(crate) io: IO,
        /// Set until the handshake has ended.
        watch: Option<Watch> = Some(watch),
        shaking: bool = true,
        /// Read from the socket and not yet asked for.
        spill: Vec<u8> = Vec::new(),
        /// Bytes of `spill` that have been handed on.
        taken: usize = 0,
        /// Rest of a [`DUMMY`] that is still to be written.
        kept_back: &'static [u8] = &[],
    }
}

impl<IO> Tap<IO> {
    /// Stops showing bytes: the handshake has ended.
    pub(crate) fn handshake_ended(&mut self) {
        self.watch = None;
        self.shaking = false;
    }

    /// Goes on with the same connection by another handle of its socket.
    pub(crate) fn replace_socket(&mut self, io: IO) {
        self.io = io;
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

impl<IO: AsyncWrite + Unpin> Tap<IO> {
    /// Writes what was kept back in one system call with what comes now, and gives how much of that was written.
    fn poll_write_together(&mut self, context: &mut Context<'_>, slices: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        loop {
            let kept = self.kept_back;
            let mut together = Vec::with_capacity(1 + slices.len());
            together.push(IoSlice::new(kept));
            together.extend_from_slice(slices);
            let written = ready!(Pin::new(&mut self.io).poll_write_vectored(context, &together))?;
            self.show(written, &together);
            self.kept_back = &kept[written.min(kept.len())..];
            // A socket that takes a part of six bytes is asked for the rest: zero would mean that it takes nothing any more.
            if written > kept.len() || written == 0 {
                return Poll::Ready(Ok(written.saturating_sub(kept.len())));
            }
        }
    }

    /// Shows the watch the first `written` bytes of these.
    fn show(&self, written: usize, slices: &[IoSlice<'_>]) {
        let Some(watch) = &self.watch else { return };
        let mut left = written;
        for slice in slices {
            let shown = left.min(slice.len());
            watch.sent(&slice[..shown]);
            left -= shown;
        }
    }
}

impl<IO: AsyncWrite + Unpin> AsyncWrite for Tap<IO> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if !this.kept_back.is_empty() {
            return this.poll_write_together(context, slices);
        }
        if this.shaking && slices.iter().flat_map(|slice| slice.iter()).eq(DUMMY) {
            this.kept_back = DUMMY;
            return Poll::Ready(Ok(DUMMY.len()));
        }
        let written = ready!(Pin::new(&mut this.io).poll_write_vectored(context, slices))?;
        this.show(written, slices);
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

#[cfg(test)]
mod tests;
