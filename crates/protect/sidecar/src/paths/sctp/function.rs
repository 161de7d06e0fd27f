//! The function's association in the kernel, watched by the event loop.

use std::cell::Cell;
use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll, ready};

use bartizan_gateway::{Delivery, Message, Order, PathState};
use bartizan_host::sctp::{self, Association, Event, Listener, Opening, Ordering};
use tokio::io::unix::{AsyncFd, AsyncFdReadyGuard};

/// Room for messages on their way, in bytes: the most that a kernel gives without privileges by default (`net.core.wmem_max`).
const ROOM: usize = 212_992;
/// Streams that a listener offers and admits in each direction. NGAP, E2AP, F1AP, E1AP and XnAP need two; functions ask for 2 to 30.
const STREAMS: u16 = 64;

/// One association with a function of this host.
#[derive(Debug)]
pub(crate) struct FunctionSocket {
    socket: AsyncFd<Association>,
    /// Something may be there to read that the event loop will not report again.
    unread: Cell<bool>,
}

/// Listens for associations of functions.
pub(crate) fn listen(address: SocketAddr) -> io::Result<Listener> {
    let opening = Opening {
        outbound_streams: STREAMS,
        inbound_streams: STREAMS,
        ..Opening::default()
    };
    let listener = Listener::bind(address, opening).map_err(into_io)?;
    listener.subscribe()?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// What the system said, without the place that the caller names again.
pub(crate) fn into_io(error: bartizan_host::Error) -> io::Error {
    match error {
        bartizan_host::Error::Io { source, .. } => source,
        other => io::Error::other(other),
    }
}

impl FunctionSocket {
    /// An association that a listener accepted.
    pub(crate) fn accepted(association: Association) -> io::Result<Self> {
        association.set_nonblocking(true)?;
        association.subscribe()?;
        Self::of(association)
    }

    /// Begins an association with the function at `forward`, from its own address: none of this host's others is named to it.
    pub(crate) fn begin(forward: SocketAddr, streams: bartizan_gateway::Streams) -> io::Result<Self> {
        let opening = Opening {
            outbound_streams: streams.outbound,
            inbound_streams: streams.inbound,
            ..Opening::default()
        };
        let local = SocketAddr::new(forward.ip(), 0);
        Self::of(Association::begin(local, forward, opening).map_err(into_io)?)
    }

    fn of(association: Association) -> io::Result<Self> {
        association.set_room(ROOM)?;
        Ok(Self {
            socket: association.watched()?,
            unread: Cell::new(true),
        })
    }

    pub(crate) fn streams(&self) -> io::Result<sctp::Streams> {
        self.socket.get_ref().streams()
    }

    pub(super) fn is_acknowledged(&self) -> bool {
        self.socket.get_ref().is_acknowledged().unwrap_or(false)
    }

    /// Whether an association that was begun is established.
    pub(super) fn poll_established(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            match self.socket.get_ref().outcome() {
                Err(error) if error.kind() == io::ErrorKind::NotConnected => {}
                outcome => return Poll::Ready(outcome),
            }
            // A refusal makes the socket readable alone: it has an error and a notification, and is not writable (sctp_poll, Linux 6.12).
            let mut changed = false;
            if let Poll::Ready(ready) = self.socket.poll_read_ready(context) {
                ready?.clear_ready();
                changed = true;
            }
            if let Poll::Ready(ready) = self.socket.poll_write_ready(context) {
                ready?.clear_ready();
                changed = true;
            }
            if !changed {
                return Poll::Pending;
            }
            self.unread.set(true);
        }
    }

    /// Hands a message to the kernel.
    pub(super) fn poll_send(&self, message: &Message, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Tried first: the event loop reports changes alone, and reported this socket while it was connecting.
        let mut ready: Option<AsyncFdReadyGuard<'_, Association>> = None;
        loop {
            let Delivery {
                stream,
                payload_protocol,
                order,
            } = message.delivery;
            let ordering = match order {
                Order::Ordered => Ordering::Ordered,
                Order::Unordered => Ordering::Unordered,
            };
            let sent = self
                .socket
                .get_ref()
                .send_with(stream, payload_protocol, ordering, &message.bytes);
            match sent {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if let Some(mut ready) = ready.take() {
                        ready.clear_ready();
                    }
                    ready = Some(ready!(self.socket.poll_write_ready(context))?);
                }
                sent => return Poll::Ready(sent),
            }
        }
    }

    /// What the function's association gives next, shown to `seen`.
    pub(super) fn poll_event<R>(
        &self,
        buffer: &mut Vec<u8>,
        context: &mut Context<'_>,
        seen: impl FnOnce(Event<'_>) -> R,
    ) -> Poll<io::Result<R>> {
        loop {
            let ready = match self.socket.poll_read_ready(context) {
                Poll::Ready(ready) => Some(ready?),
                Poll::Pending if self.unread.get() => None,
                Poll::Pending => return Poll::Pending,
            };
            match self.socket.get_ref().next_event(buffer) {
                // Asked again: it may have come since.
                Ok(Event::Nothing) => {
                    self.unread.set(false);
                    if let Some(mut ready) = ready {
                        ready.clear_ready();
                    }
                }
                Ok(event) => return Poll::Ready(Ok(seen(event))),
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    /// Says that nothing more will be sent.
    pub(super) fn shut_down(&self) -> io::Result<()> {
        self.socket.get_ref().finish()
    }

    /// Ends the association at once. A kernel that cannot has ended it.
    pub(crate) fn abort(self) {
        let _ = self.socket.into_inner().abort();
    }
}

/// Where a message belongs, in the words of the frames.
pub(super) fn delivery(stream: u16, payload_protocol: u32, ordering: Ordering) -> Delivery {
    Delivery {
        stream,
        payload_protocol,
        order: match ordering {
            Ordering::Ordered => Order::Ordered,
            Ordering::Unordered => Order::Unordered,
        },
    }
}

/// A path's state in the words of the frames; none where they have none.
pub(super) fn path_state(state: sctp::PathState) -> Option<PathState> {
    Some(match state {
        sctp::PathState::Available => PathState::Available,
        sctp::PathState::Unreachable => PathState::Unreachable,
        sctp::PathState::Removed => PathState::Removed,
        sctp::PathState::Added => PathState::Added,
        sctp::PathState::Primary => PathState::Primary,
        sctp::PathState::Confirmed => PathState::Confirmed,
        sctp::PathState::Other(_) => return None,
    })
}
