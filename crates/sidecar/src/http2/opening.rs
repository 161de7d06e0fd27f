//! The client's connection preface, sent together with what follows it.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::answer::PREFACE;

/// Slices of one write that are sent with the preface; what is beyond them follows by the next.
const SLICES: usize = 8;

/// Holds the first write, which is the preface (RFC 9113, section 3.4), back until SETTINGS and the first request can leave with
/// it.
///
/// A server begins to count idle time with the preface. Where it allows a millisecond, a request that leaves by a later system
/// call may find the connection ended.
#[derive(Debug)]
pub(super) struct Opening<IO> {
    io: IO,
    /// What was taken and is not written yet: all of the preface or its end.
    held: &'static [u8],
    began: bool,
}

impl<IO> Opening<IO> {
    pub(super) fn new(io: IO) -> Self {
        Self {
            io,
            held: &[],
            began: false,
        }
    }
}

impl<IO: AsyncWrite + Unpin> Opening<IO> {
    /// Writes what is held, and `slices` after it. Gives how many bytes of `slices` were written.
    fn poll_write_after(&mut self, context: &mut Context<'_>, slices: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        while !self.held.is_empty() {
            let mut together = [IoSlice::new(self.held); SLICES];
            let count = slices.len().min(SLICES - 1);
            for (place, slice) in together[1..].iter_mut().zip(slices) {
                *place = IoSlice::new(slice);
            }
            let written = ready!(Pin::new(&mut self.io).poll_write_vectored(context, &together[..=count]))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            let of_held = written.min(self.held.len());
            self.held = &self.held[of_held..];
            if written > of_held {
                return Poll::Ready(Ok(written - of_held));
            }
        }
        Pin::new(&mut self.io).poll_write_vectored(context, slices)
    }
}

impl<IO: AsyncWrite + Unpin> AsyncWrite for Opening<IO> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if !this.began {
            this.began = true;
            if bytes == PREFACE {
                this.held = PREFACE;
                return Poll::Ready(Ok(PREFACE.len()));
            }
        }
        if this.held.is_empty() {
            return Pin::new(&mut this.io).poll_write(context, bytes);
        }
        this.poll_write_after(context, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.get_mut().poll_write_after(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        while !this.held.is_empty() {
            ready!(this.poll_write_after(context, &[]))?;
        }
        Pin::new(&mut this.io).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_shutdown(context)
    }
}

impl<IO: AsyncRead + Unpin> AsyncRead for Opening<IO> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_read(context, buffer)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn the_preface_leaves_with_what_follows_it_and_bytes_keep_their_order() {
        // A pipe of five bytes makes every write a partial one.
        for size in [5, 1024] {
            let (ours, mut theirs) = tokio::io::duplex(size);
            let mut opening = Opening::new(ours);
            opening.write_all(PREFACE).await.unwrap();
            let mut nothing = [0; 1];
            let early = tokio::time::timeout(std::time::Duration::from_millis(20), theirs.read(&mut nothing)).await;
            assert!(early.is_err(), "the preface left alone");
            tokio::spawn(async move {
                opening.write_all(b"settings and headers").await.unwrap();
                opening.shutdown().await.unwrap();
            });
            let mut all = Vec::new();
            theirs.read_to_end(&mut all).await.unwrap();
            assert_eq!(all, [PREFACE, b"settings and headers"].concat());
        }
    }
}
