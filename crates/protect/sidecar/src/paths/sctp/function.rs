//! The function's association in the kernel, watched by the event loop.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::task::{Context, Poll, ready};

use bartizan_gateway::{Delivery, Message, Order, PathState};
use bartizan_host::sctp::{self, Association, Event, Listener, Opening, Ordering};
use tokio::io::unix::AsyncFd;
use tokio::runtime::Handle;

/// Room for messages on their way, in bytes: the most that a kernel gives without privileges by default (`net.core.wmem_max`).
const ROOM: usize = 212_992;
/// Streams that a listener offers and admits in each direction. NGAP, E2AP, F1AP, E1AP and XnAP need two; functions ask for 2 to 30.
const STREAMS: u16 = 64;

/// Messages that the kernel takes at once after one that it did not, before the event loop stops watching for room.
const AT_ONCE: u8 = 64;

/// One association with a function of this host.
///
/// The event loop watches it for what comes. It is watched for room only while the kernel takes
/// nothing, or took nothing shortly before: each acknowledgement makes room, and each would wake
/// the thread for nothing.
#[derive(Debug)]
pub(crate) struct FunctionSocket {
    /// Watches for room, by a descriptor of its own. It is dropped before the association: a socket
    /// is closed with its last descriptor.
    room: Option<AsyncFd<OwnedFd>>,
    association: AsyncFd<Association>,
    /// Messages to be taken at once before room is of no interest any more.
    until_room_is_certain: u8,
}

/// Listens for associations of functions.
pub(crate) fn listen(address: SocketAddr) -> io::Result<Listener> {
    let opening = Opening {
        outbound_streams: STREAMS,
        inbound_streams: STREAMS,
        ..Opening::default()
    };
    listens(Listener::bind(address, opening).map_err(into_io)?)
}

/// A listener that another process may have opened.
pub(crate) fn listens(listener: Listener) -> io::Result<Listener> {
    listener.subscribe()?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// The system's error, without the place that the caller names again.
pub(crate) fn into_io(error: bartizan_host::Error) -> io::Error {
    match error {
        bartizan_host::Error::Io { source, .. } => source,
        other => io::Error::other(other),
    }
}

impl FunctionSocket {
    /// An association that a listener accepted, to be carried by another thread. One that cannot be
    /// watched is aborted.
    pub(crate) fn accepted(association: Association, carriers: &Handle) -> io::Result<Self> {
        association.set_nonblocking(true)?;
        association.subscribe()?;
        let _context = carriers.enter();
        Self::of(association).map_err(aborted)
    }

    /// An association that another process has carried, to be carried by another thread. One that
    /// cannot be is still that process's.
    pub(super) fn continued(association: Association, carriers: &Handle) -> io::Result<Self> {
        // It is one that stands.
        association.streams()?;
        let _context = carriers.enter();
        Self::of(association).map_err(|(_, error)| error)
    }

    /// Begins an association with the function at `forward`, from its own address: none of this host's others is named to it.
    pub(crate) fn begin(forward: SocketAddr, streams: bartizan_gateway::Streams) -> io::Result<Self> {
        let opening = Opening {
            outbound_streams: streams.outbound,
            inbound_streams: streams.inbound,
            ..Opening::default()
        };
        let local = SocketAddr::new(forward.ip(), 0);
        let association = Association::begin(local, forward, opening).map_err(into_io)?;
        let mut socket = Self::of(association).map_err(aborted)?;
        // Room is how it shows that it is established.
        socket.room = Some(socket.association.get_ref().watched_for_room()?);
        Ok(socket)
    }

    fn of(mut association: Association) -> Result<Self, (Association, io::Error)> {
        if let Err(error) = association.set_room(ROOM) {
            return Err((association, error));
        }
        association.announce();
        Ok(Self {
            room: None,
            association: association.watched()?,
            until_room_is_certain: 0,
        })
    }

    /// The kernel took a message.
    fn had_room(&mut self) {
        self.until_room_is_certain = self.until_room_is_certain.saturating_sub(1);
        if self.until_room_is_certain == 0 {
            self.room = None;
        }
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.association.get_ref().as_fd()
    }

    pub(crate) fn streams(&self) -> io::Result<sctp::Streams> {
        self.association.get_ref().streams()
    }

    /// Returns true if the function has acknowledged everything that was sent.
    pub(super) fn is_acknowledged(&self) -> bool {
        self.association.get_ref().is_acknowledged().unwrap_or(false)
    }

    /// Ready once an association that was begun is established or refused.
    pub(super) fn poll_established(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            // A refusal makes the socket readable alone: it has an error and a notification, and is
            // not writable (sctp_poll, Linux 6.12). Readiness is read first: what happens after
            // `outcome` is reported again.
            let incoming = self.association.poll_read_ready(context)?;
            let room = self.room.as_ref().map(|room| room.poll_write_ready(context));
            let room = room.unwrap_or(Poll::Pending)?;
            match self.association.get_ref().outcome() {
                Err(error) if error.kind() == io::ErrorKind::NotConnected => {}
                Ok(()) => break,
                refused @ Err(_) => return Poll::Ready(refused),
            }
            if incoming.is_pending() && room.is_pending() {
                return Poll::Pending;
            }
            if let Poll::Ready(mut incoming) = incoming {
                incoming.clear_ready();
            }
            if let Poll::Ready(mut room) = room {
                room.clear_ready();
            }
        }
        self.room = None;
        Poll::Ready(Ok(()))
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
            let association = self.association.get_ref();
            match association.send_with(stream, payload_protocol, ordering, &message.bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
                Ok(()) => {
                    self.had_room();
                    return Poll::Ready(Ok(()));
                }
            }
            let room = match self.room.take() {
                Some(room) => room,
                None => association.watched_for_room()?,
            };
            self.until_room_is_certain = AT_ONCE;
            let room = self.room.insert(room);
            ready!(room.poll_write_ready(context))?.clear_ready();
        }
    }

    /// Shows the next event of the function's association to `seen`.
    pub(super) fn poll_event<R>(
        &self,
        buffer: &mut Vec<u8>,
        context: &mut Context<'_>,
        seen: impl FnOnce(Event<'_>) -> R,
    ) -> Poll<io::Result<R>> {
        loop {
            let mut incoming = ready!(self.association.poll_read_ready(context))?;
            let (event, more) = self.association.get_ref().next_event_and_more(buffer)?;
            if !more {
                // Not asked again where the kernel has nothing: what comes is reported.
                incoming.clear_ready();
            }
            if event != Event::Nothing {
                return Poll::Ready(Ok(seen(event)));
            }
        }
    }

    /// Says that nothing more will be sent.
    pub(super) fn shut_down(&self) -> io::Result<()> {
        self.association.get_ref().finish()
    }

    /// Ends the association at once. A kernel that cannot has ended it.
    pub(crate) fn abort(self) {
        drop(self.room);
        let _ = self.association.into_inner().abort();
    }
}

/// Ends an association that cannot be watched.
fn aborted((association, error): (Association, io::Error)) -> io::Error {
    let _ = association.abort();
    error
}

/// Stream, payload protocol and order of a message, in the terms of the frames.
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
