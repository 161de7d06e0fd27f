//! Carriers between two nodes: the frames of one association over a TLS connection.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use bartizan_gateway::{Association, Carriage, Loss};
use tokio::io::{AsyncRead as _, AsyncWrite as _, AsyncWriteExt as _, ReadBuf};

use super::carry::ROUNDS;
use super::seat::Seats;
use crate::dialling::channel::Channel;
use crate::dialling::session::Session;
use crate::runtime::scratch::with_scratch;
use crate::shared::Shared;

/// Why a connection carries nothing any more.
#[derive(Debug)]
pub(crate) struct Lost {
    pub(super) loss: Loss,
    pub(super) detail: String,
}

impl Lost {
    pub(super) fn closed(detail: impl Into<String>) -> Self {
        let (loss, detail) = (Loss::Closed, detail.into());
        Self { loss, detail }
    }

    pub(super) fn broken(detail: impl Into<String>) -> Self {
        let (loss, detail) = (Loss::Broken, detail.into());
        Self { loss, detail }
    }
}

/// A protected connection to the peer's sidecar that carries one association.
pub(crate) trait Carrier: Sized {
    /// Its kind, for the association.
    const CARRIAGE: Carriage;

    /// Takes what the association has for the peer, as far as that goes; whether it took anything. An error says why it is lost.
    fn poll_write(&mut self, association: &mut Association, context: &mut Context<'_>) -> Result<bool, Lost>;

    /// Hands over what came from the peer, as far as the association has room; whether anything came. An error says why it is lost.
    fn poll_read(
        &mut self,
        association: &mut Association,
        context: &mut Context<'_>,
        now: Instant,
    ) -> Result<bool, Lost>;

    /// Waits for the peer's first frame.
    fn poll_greeted(
        &mut self,
        association: &mut Association,
        context: &mut Context<'_>,
        now: Instant,
    ) -> Poll<Result<(), Lost>> {
        while !association.is_greeted() {
            if !self.poll_read(association, context, now)? {
                return Poll::Pending;
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Returns true if everything it took is on its way.
    fn is_flushed(&self) -> bool;

    /// Sends what is left of the association's life, and closes the connection once the peer has it.
    fn goodbye(&mut self, association: &Association) -> impl Future<Output = ()> + Send;

    /// Waits until the peer has what was written, where that is known.
    fn reached(&mut self) -> impl Future<Output = ()> + Send {
        async {}
    }

    /// Waits until the peer has closed the connection. What comes before is not read.
    fn ended(&mut self) -> impl Future<Output = ()> + Send;

    /// The connection's account.
    fn session(&self) -> &Arc<Session>;

    /// The associations that peers have opened over carriers of this kind.
    fn seats(shared: &Shared) -> &Seats<Self>;
}

fn failed(error: &io::Error) -> Lost {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => Lost::closed("closed by the peer without close_notify"),
        io::ErrorKind::TimedOut | io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
            Lost::broken(error.to_string())
        }
        _ => Lost::closed(error.to_string()),
    }
}

impl Channel {
    /// Returns ready once the peer sends nothing more. Data before that is dropped.
    fn poll_ended(&mut self, context: &mut Context<'_>) -> Poll<()> {
        for _ in 0..ROUNDS {
            let said = with_scratch(|scratch| {
                let mut buffer = ReadBuf::new(scratch);
                let read = Pin::new(&mut *self).poll_read(context, &mut buffer);
                read.map_ok(|()| buffer.filled().len())
            });
            match said {
                Poll::Ready(Ok(length)) if length > 0 => {}
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => return Poll::Pending,
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Carrier for Channel {
    const CARRIAGE: Carriage = Carriage::Stream;

    fn poll_write(&mut self, association: &mut Association, context: &mut Context<'_>) -> Result<bool, Lost> {
        let mut moved = false;
        while !association.output().is_empty() {
            match Pin::new(&mut *self).poll_write(context, association.output()) {
                Poll::Pending => break,
                Poll::Ready(Ok(written)) if written > 0 => {
                    association.output_taken(written);
                    self.flush = true;
                    moved = true;
                }
                Poll::Ready(Ok(_)) => return Err(Lost::closed("it takes nothing any more")),
                Poll::Ready(Err(error)) => return Err(failed(&error)),
            }
        }
        if self.flush {
            match Pin::new(&mut *self).poll_flush(context) {
                Poll::Pending => {}
                Poll::Ready(Ok(())) => self.flush = false,
                Poll::Ready(Err(error)) => return Err(failed(&error)),
            }
        }
        Ok(moved)
    }

    fn poll_read(
        &mut self,
        association: &mut Association,
        context: &mut Context<'_>,
        now: Instant,
    ) -> Result<bool, Lost> {
        let read = with_scratch(|scratch| {
            let mut buffer = ReadBuf::new(scratch);
            match Pin::new(&mut *self).poll_read(context, &mut buffer) {
                Poll::Ready(Ok(())) => {
                    let read = buffer.filled();
                    if !read.is_empty() {
                        association.carrier_received(read, now);
                    }
                    Poll::Ready(Ok(read.len()))
                }
                Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
                Poll::Pending => Poll::Pending,
            }
        });
        match read {
            Poll::Pending => Ok(false),
            Poll::Ready(Ok(0)) => Err(Lost::closed("closed by the peer")),
            Poll::Ready(Ok(_)) => Ok(true),
            Poll::Ready(Err(error)) => Err(failed(&error)),
        }
    }

    fn is_flushed(&self) -> bool {
        !self.flush
    }

    async fn goodbye(&mut self, association: &Association) {
        // A peer that does not take it learns of the end by the connection's.
        if self.write_all(association.output()).await.is_err() || self.shutdown().await.is_err() {
            return;
        }
        // A socket that is closed while something is unread, or before something comes, resets its connection: the last frames would be void where they
        // have to be sent again. The peer closes its side when it has them.
        poll_fn(|context| self.poll_ended(context)).await;
    }

    async fn ended(&mut self) {
        poll_fn(|context| self.poll_ended(context)).await;
    }

    fn session(&self) -> &Arc<Session> {
        Self::session(self)
    }

    fn seats(shared: &Shared) -> &Seats<Self> {
        &shared.seats.tls
    }
}
