//! The function's association in the kernel, watched by the event loop.

use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll, ready};

use bartizan_gateway::{Delivery, Message, Order, PathState};
use bartizan_host::sctp::{self, Association, Event, Listener, Opening, Ordering};

use crate::runtime::reactor::{Reactor, Registration};

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
    association: Association,
    registration: Registration,
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
    pub(crate) fn accepted(association: Association, reactor: &Reactor) -> io::Result<Self> {
        association.set_nonblocking(true)?;
        association.subscribe()?;
        Self::of(association, reactor, false)
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
        // Room is how it shows that it is established.
        Self::of(association, &Reactor::here()?, true)
    }

    fn of(mut association: Association, reactor: &Reactor, room: bool) -> io::Result<Self> {
        association.set_room(ROOM)?;
        association.announce();
        let registration = match reactor.register(&association, room) {
            Ok(registration) => registration,
            Err(error) => {
                let _ = association.abort();
                return Err(error);
            }
        };
        Ok(Self {
            association,
            registration,
            until_room_is_certain: 0,
        })
    }

    /// The kernel has no room.
    fn watch_for_room(&mut self) -> io::Result<()> {
        self.registration.no_room();
        if self.until_room_is_certain == 0 {
            self.registration.watch(&self.association, true)?;
        }
        self.until_room_is_certain = AT_ONCE;
        Ok(())
    }

    /// The kernel took a message.
    fn had_room(&mut self) -> io::Result<()> {
        if self.until_room_is_certain > 0 {
            self.until_room_is_certain -= 1;
            if self.until_room_is_certain == 0 {
                self.registration.watch(&self.association, false)?;
            }
        }
        Ok(())
    }

    pub(crate) fn streams(&self) -> io::Result<sctp::Streams> {
        self.association.streams()
    }

    /// Whether the function has acknowledged everything that was sent.
    pub(super) fn is_acknowledged(&self) -> bool {
        self.association.is_acknowledged().unwrap_or(false)
    }

    /// Whether an association that was begun is established.
    pub(super) fn poll_established(&self, context: &Context<'_>) -> Poll<io::Result<()>> {
        loop {
            match self.association.outcome() {
                Err(error) if error.kind() == io::ErrorKind::NotConnected => {}
                Ok(()) => return Poll::Ready(self.registration.watch(&self.association, false)),
                refused @ Err(_) => return Poll::Ready(refused),
            }
            // A refusal makes the socket readable alone: it has an error and a notification, and is not writable (sctp_poll, Linux 6.12).
            // What is there to read is still there when it is established: nobody has read it, and watching it anew reports it.
            let incoming = self.registration.poll_incoming(context).is_ready();
            let room = self.registration.poll_room(context).is_ready();
            if !incoming && !room {
                return Poll::Pending;
            }
            self.registration.nothing_incoming();
            self.registration.no_room();
        }
    }

    /// Hands a message to the kernel.
    pub(super) fn poll_send(&mut self, message: &Message, context: &Context<'_>) -> Poll<io::Result<()>> {
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
            match self
                .association
                .send_with(stream, payload_protocol, ordering, &message.bytes)
            {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
                Ok(()) => return Poll::Ready(self.had_room()),
            }
            self.watch_for_room()?;
            ready!(self.registration.poll_room(context));
        }
    }

    /// What the function's association gives next, shown to `seen`.
    pub(super) fn poll_event<R>(
        &self,
        buffer: &mut Vec<u8>,
        context: &Context<'_>,
        seen: impl FnOnce(Event<'_>) -> R,
    ) -> Poll<io::Result<R>> {
        loop {
            ready!(self.registration.poll_incoming(context));
            let (event, more) = self.association.next_event_and_more(buffer)?;
            if event == Event::Nothing {
                self.registration.nothing_incoming();
                continue;
            }
            if !more {
                // Not asked again where the kernel has nothing: what comes is reported.
                self.registration.read_all();
            }
            return Poll::Ready(Ok(seen(event)));
        }
    }

    /// Says that nothing more will be sent.
    pub(super) fn shut_down(&self) -> io::Result<()> {
        self.association.finish()
    }

    /// Ends the association at once. A kernel that cannot has ended it.
    pub(crate) fn abort(self) {
        let _ = self.association.abort();
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
