//! The function's association in the kernel, watched by the event loop.

use std::cell::Cell;
use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll, ready};

use bartizan_gateway::{Delivery, Message, Order, PathState};
use bartizan_host::sctp::{self, Association, Event, Listener, Opening, Ordering};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Room for messages on their way, in bytes: the most that a kernel gives without privileges by default (`net.core.wmem_max`).
const ROOM: usize = 212_992;
/// Streams that a listener offers and admits in each direction. NGAP, E2AP, F1AP, E1AP and XnAP need two; functions ask for 2 to 30.
const STREAMS: u16 = 64;

/// Messages that the kernel takes at once after one that it did not, before the event loop stops watching for room.
const AT_ONCE: u8 = 64;

/// One association with a function of this host.
///
/// The event loop watches it for what comes. It is watched for room only while the kernel takes nothing, or took nothing shortly before: each
/// acknowledgement makes room, and each would wake the thread for nothing.
#[derive(Debug)]
pub(crate) struct FunctionSocket {
    /// None where the event loop did not take it again: it is aborted then.
    socket: Option<AsyncFd<Association>>,
    /// Something may be there to read that the event loop will not report again.
    unread: Cell<bool>,
    /// Messages to be taken at once before room is of no interest any more; none where it is of none.
    until_room_is_certain: u8,
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
        let mut begun = Self::of(Association::begin(local, forward, opening).map_err(into_io)?)?;
        // Room is how it shows that it is established.
        begun.watch_for_room()?;
        Ok(begun)
    }

    fn of(association: Association) -> io::Result<Self> {
        association.set_room(ROOM)?;
        Ok(Self {
            socket: Some(association.watched(Interest::READABLE)?),
            unread: Cell::new(true),
            until_room_is_certain: 0,
        })
    }

    fn socket(&self) -> io::Result<&AsyncFd<Association>> {
        self.socket.as_ref().ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// Has the event loop watch for other events, and report those that there are.
    fn watch(&mut self, interest: Interest) -> io::Result<()> {
        if let Some(socket) = self.socket.take() {
            self.socket = Some(socket.into_inner().watched(interest)?);
        }
        self.unread.set(true);
        Ok(())
    }

    fn watch_for_room(&mut self) -> io::Result<()> {
        if self.until_room_is_certain == 0 {
            self.watch(Interest::READABLE | Interest::WRITABLE)?;
        }
        self.until_room_is_certain = AT_ONCE;
        Ok(())
    }

    /// The kernel took a message.
    fn had_room(&mut self) -> io::Result<()> {
        if self.until_room_is_certain > 0 {
            self.until_room_is_certain -= 1;
            if self.until_room_is_certain == 0 {
                self.watch(Interest::READABLE)?;
            }
        }
        Ok(())
    }

    pub(crate) fn streams(&self) -> io::Result<sctp::Streams> {
        self.socket()?.get_ref().streams()
    }

    /// Whether the function has acknowledged everything that was sent.
    pub(super) fn is_acknowledged(&self) -> bool {
        self.socket()
            .and_then(|socket| socket.get_ref().is_acknowledged())
            .unwrap_or(false)
    }

    /// Whether an association that was begun is established.
    pub(super) fn poll_established(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let socket = self.socket()?;
            match socket.get_ref().outcome() {
                Err(error) if error.kind() == io::ErrorKind::NotConnected => {}
                outcome => {
                    self.until_room_is_certain = 0;
                    return Poll::Ready(outcome.and_then(|()| self.watch(Interest::READABLE)));
                }
            }
            // A refusal makes the socket readable alone: it has an error and a notification, and is not writable (sctp_poll, Linux 6.12).
            let mut changed = false;
            if let Poll::Ready(ready) = socket.poll_read_ready(context) {
                ready?.clear_ready();
                changed = true;
            }
            if let Poll::Ready(ready) = socket.poll_write_ready(context) {
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
    pub(super) fn poll_send(&mut self, message: &Message, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Delivery {
            stream,
            payload_protocol,
            order,
        } = message.delivery;
        let ordering = match order {
            Order::Ordered => Ordering::Ordered,
            Order::Unordered => Ordering::Unordered,
        };
        loop {
            // Tried first: there is room nearly always.
            let socket = self.socket()?.get_ref();
            match socket.send_with(stream, payload_protocol, ordering, &message.bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
                Ok(()) => return Poll::Ready(self.had_room()),
            }
            self.watch_for_room()?;
            // Room that there was before is no answer to what was just said: the event loop reports what comes, and the kernel is asked once more.
            ready!(self.socket()?.poll_write_ready(context))?.clear_ready();
        }
    }

    /// What the function's association gives next, shown to `seen`.
    pub(super) fn poll_event<R>(
        &self,
        buffer: &mut Vec<u8>,
        context: &mut Context<'_>,
        seen: impl FnOnce(Event<'_>) -> R,
    ) -> Poll<io::Result<R>> {
        let socket = self.socket()?;
        loop {
            let ready = match socket.poll_read_ready(context) {
                Poll::Ready(ready) => Some(ready?),
                Poll::Pending if self.unread.get() => None,
                Poll::Pending => return Poll::Pending,
            };
            let (event, more) = socket.get_ref().next_event_and_more(buffer)?;
            // Not asked again where the kernel has nothing: what comes is reported.
            self.unread.set(more);
            if !more && let Some(mut ready) = ready {
                ready.clear_ready();
            }
            if event != Event::Nothing {
                return Poll::Ready(Ok(seen(event)));
            }
        }
    }

    /// Says that nothing more will be sent.
    pub(super) fn shut_down(&self) -> io::Result<()> {
        self.socket()?.get_ref().finish()
    }

    /// Ends the association at once. A kernel that cannot has ended it.
    pub(crate) fn abort(self) {
        if let Some(socket) = self.socket {
            let _ = socket.into_inner().abort();
        }
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
