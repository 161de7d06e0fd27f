//! Bytes between one local and one TLS connection, in both directions, with one system call per read and per write.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncBufRead, AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use crate::runtime::scratch::with_scratch;

/// Bytes that a consumer may have sent before the first answer and still be answered in its own
/// protocol where none will come. HTTP/2 gives it 65,535 bytes of body before the first SETTINGS
/// (RFC 9113, section 6.9.2).
const OPENING_AT_MOST: usize = 128 * 1024;

/// Result of a splice.
#[derive(Debug)]
pub(crate) enum Ended {
    /// Both directions were closed, or the local side broke off.
    Done,
    /// The TLS side broke off in the middle.
    Broken(io::Error),
    /// The TLS side ended before its first byte. What the local side had sent until then, if that is still known.
    Unanswered(Option<Vec<u8>>, io::Error),
    /// One direction was closed and the other sent nothing for too long.
    HalfClosed,
}

/// Copies between `local` and `tls` until both are closed.
#[derive(Debug)]
pub(crate) struct Splice<'a, L, T> {
    local: &'a mut L,
    tls: &'a mut T,
    forward: Forward,
    backward: Backward,
    /// Bytes that the local side has sent, until the TLS side answers.
    opening: Opening,
    /// A write to the TLS side that failed: its reads may still say why.
    write_failed: Option<io::Error>,
    /// Ends the wait for the other direction once one is closed.
    patience: Duration,
    deadline: Option<Pin<Box<Sleep>>>,
}

#[derive(Debug)]
enum Opening {
    /// Kept for an answer in the local side's protocol.
    Kept(Vec<u8>),
    /// Too much to keep.
    Forgotten,
    /// The TLS side has spoken.
    Over,
}

/// From the local to the TLS side.
#[derive(Debug, PartialEq)]
enum Forward {
    Open,
    /// Read, and more than TLS would take at once.
    Held(Vec<u8>, usize),
    Closing,
    Closed,
}

/// From the TLS to the local side.
#[derive(Debug, PartialEq)]
enum Backward {
    Open,
    /// The local side takes no more. What it has sent still has to arrive, so the TLS side is read to its end: to close under what it is
    /// sending would reset the connection, and take the answer with it.
    Discarding,
    Closing,
    Closed,
}

impl<'a, L, T> Splice<'a, L, T>
where
    L: AsyncRead + AsyncWrite + Unpin,
    T: AsyncBufRead + AsyncWrite + Unpin,
{
    /// Sends `first`, which was read from `local` already, then copies. `patience` bounds the wait for the end of the second
    /// direction once the first is closed; every byte that passes starts it anew.
    pub(crate) fn new(local: &'a mut L, tls: &'a mut T, first: Vec<u8>, patience: Duration) -> Self {
        let forward = if first.is_empty() {
            Forward::Open
        } else {
            Forward::Held(first.clone(), 0)
        };
        Self {
            local,
            tls,
            forward,
            backward: Backward::Open,
            opening: Opening::Kept(first),
            write_failed: None,
            patience,
            deadline: None,
        }
    }

    /// Takes the TLS side as having spoken: no answer in its place will be needed.
    pub(crate) fn answered(mut self) -> Self {
        self.opening = Opening::Over;
        self
    }

    fn poll_forward(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Side>> {
        loop {
            match &mut self.forward {
                Forward::Open => {
                    ready!(Pin::new(&mut *self.tls).poll_flush(context)).map_err(Side::Tls)?;
                    let read = with_scratch(|scratch| {
                        let mut scratch = ReadBuf::new(scratch);
                        let read = ready!(Pin::new(&mut *self.local).poll_read(context, &mut scratch));
                        if self.backward != Backward::Discarding {
                            read.map_err(Side::Local)?;
                        }
                        let read = scratch.filled();
                        if read.is_empty() {
                            self.forward = Forward::Closing;
                            return Poll::Ready(Ok(()));
                        }
                        keep(&mut self.opening, read);
                        let written = match Pin::new(&mut *self.tls).poll_write(context, read) {
                            Poll::Ready(written) => written.map_err(Side::Tls)?,
                            Poll::Pending => 0,
                        };
                        if written < read.len() {
                            self.forward = Forward::Held(read[written..].to_vec(), 0);
                        }
                        Poll::Ready(Ok(()))
                    });
                    ready!(read)?;
                    self.progress();
                }
                Forward::Held(held, from) => {
                    *from += ready!(Pin::new(&mut *self.tls).poll_write(context, &held[*from..])).map_err(Side::Tls)?;
                    if *from == held.len() {
                        self.forward = Forward::Open;
                    }
                }
                Forward::Closing => {
                    ready!(Pin::new(&mut *self.tls).poll_shutdown(context)).map_err(Side::Tls)?;
                    self.forward = Forward::Closed;
                }
                Forward::Closed => return Poll::Ready(Ok(())),
            }
        }
    }

    fn poll_backward(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Side>> {
        loop {
            match self.backward {
                Backward::Open => {
                    let chunk = ready!(Pin::new(&mut *self.tls).poll_fill_buf(context)).map_err(Side::Tls)?;
                    if chunk.is_empty() {
                        if !matches!(self.opening, Opening::Over) {
                            let closed = io::Error::new(io::ErrorKind::UnexpectedEof, "closed without an answer");
                            return Poll::Ready(Err(Side::Tls(closed)));
                        }
                        self.backward = Backward::Closing;
                        continue;
                    }
                    if !matches!(self.opening, Opening::Over) {
                        self.opening = Opening::Over;
                    }
                    match ready!(Pin::new(&mut *self.local).poll_write(context, chunk)) {
                        Ok(written) => {
                            Pin::new(&mut *self.tls).consume(written);
                            self.progress();
                        }
                        Err(error) => {
                            tracing::debug!(%error, "local side takes no more");
                            self.backward = Backward::Discarding;
                        }
                    }
                }
                Backward::Discarding => {
                    let chunk = ready!(Pin::new(&mut *self.tls).poll_fill_buf(context)).map_err(Side::Tls)?;
                    let length = chunk.len();
                    if length == 0 {
                        self.backward = Backward::Closed;
                    }
                    Pin::new(&mut *self.tls).consume(length);
                }
                Backward::Closing => {
                    ready!(Pin::new(&mut *self.local).poll_shutdown(context)).map_err(Side::Local)?;
                    self.backward = Backward::Closed;
                }
                Backward::Closed => return Poll::Ready(Ok(())),
            }
        }
    }

    fn progress(&mut self) {
        if let Some(deadline) = &mut self.deadline {
            deadline.as_mut().reset(Instant::now() + self.patience);
        }
    }

    /// The end of a splice by the side that broke, with its meaning for the local side.
    fn end(&mut self, side: Side) -> Ended {
        match side {
            Side::Local(error) => {
                tracing::debug!(%error, "local side broke off");
                Ended::Done
            }
            Side::Tls(error) => match std::mem::replace(&mut self.opening, Opening::Over) {
                Opening::Over => Ended::Broken(error),
                Opening::Forgotten => Ended::Unanswered(None, error),
                Opening::Kept(kept) => Ended::Unanswered(Some(kept), error),
            },
        }
    }
}

/// Side that an error is of.
#[derive(Debug)]
enum Side {
    Local(io::Error),
    Tls(io::Error),
}

fn keep(opening: &mut Opening, read: &[u8]) {
    if let Opening::Kept(kept) = opening {
        if kept.len() + read.len() <= OPENING_AT_MOST {
            kept.extend_from_slice(read);
        } else {
            *opening = Opening::Forgotten;
        }
    }
}

impl<L, T> Future for Splice<'_, L, T>
where
    L: AsyncRead + AsyncWrite + Unpin,
    T: AsyncBufRead + AsyncWrite + Unpin,
{
    type Output = Ended;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Ended> {
        let this = self.get_mut();
        let forward = match &this.write_failed {
            Some(_) => Poll::Pending,
            None => match this.poll_forward(context) {
                Poll::Ready(Err(Side::Tls(error))) => {
                    this.write_failed = Some(error);
                    Poll::Pending
                }
                Poll::Ready(Err(side)) => return Poll::Ready(this.end(side)),
                Poll::Ready(Ok(())) => Poll::Ready(()),
                Poll::Pending => Poll::Pending,
            },
        };
        let backward = match this.poll_backward(context) {
            Poll::Ready(Err(side)) => return Poll::Ready(this.end(side)),
            Poll::Ready(Ok(())) => Poll::Ready(()),
            Poll::Pending => Poll::Pending,
        };
        match (forward, backward, &this.write_failed) {
            (Poll::Ready(()), Poll::Ready(()), _) => return Poll::Ready(Ended::Done),
            // Everything the peer had to say has been read.
            (_, Poll::Ready(()), Some(_)) => {
                let error = this
                    .write_failed
                    .take()
                    .unwrap_or_else(|| io::ErrorKind::BrokenPipe.into());
                return Poll::Ready(this.end(Side::Tls(error)));
            }
            (Poll::Pending, Poll::Pending, None) if this.backward != Backward::Discarding => return Poll::Pending,
            _ => {}
        }
        let patience = this.patience;
        let deadline = this.deadline.get_or_insert_with(|| Box::pin(sleep(patience)));
        ready!(deadline.as_mut().poll(context));
        match this.write_failed.take() {
            Some(error) => Poll::Ready(this.end(Side::Tls(error))),
            None => Poll::Ready(Ended::HalfClosed),
        }
    }
}

#[cfg(test)]
mod tests;
