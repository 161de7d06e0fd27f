//! Associations as a gateway needs them: pieces of messages as they come, notifications among them,
//! and what is asked of the kernel.

use std::io;
use std::mem;
use std::net::SocketAddr;
use std::os::fd::{AsFd as _, AsRawFd, OwnedFd, RawFd};
use std::ptr;

use socket2::{Domain, Socket};
use tokio::io::Interest;
use tokio::io::unix::{AsyncFd, AsyncFdRegisterError};

use super::message::{self, PieceOf, Received};
use super::{Association, Listener, Notification, Opening, PIECE, Streams, configure, socket};
use crate::Error;

/// Delivery order of a message (RFC 9260, section 3.3.1, the U bit).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ordering {
    /// In the order of its stream.
    Ordered,
    /// As it comes.
    Unordered,
}

/// The next event of an association.
#[derive(Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A piece of a message: all of it where it is small.
    Piece {
        /// Its stream.
        stream: u16,
        /// Its payload protocol identifier.
        payload_protocol: u32,
        /// Its delivery order.
        ordering: Ordering,
        /// At most 64 KiB.
        bytes: &'a [u8],
        /// True if the message ends with it.
        last: bool,
    },
    /// Something happened to the association.
    Notification(Notification),
    /// Nothing yet.
    Nothing,
    /// The peer sends nothing more.
    End,
}

/// `struct sctp_event_subscribe` of linux/sctp.h, as far as it goes here: one octet for each kind of event.
#[repr(C)]
#[derive(Clone, Copy)]
struct Subscription {
    data_io: u8,
    association: u8,
    address: u8,
    send_failure: u8,
    peer_error: u8,
    shutdown: u8,
    partial_delivery: u8,
    adaptation_layer: u8,
    authentication: u8,
    sender_dry: u8,
}

const SUBSCRIPTION: Subscription = Subscription {
    data_io: 0,
    association: 1,
    address: 1,
    send_failure: 1,
    peer_error: 0,
    shutdown: 1,
    partial_delivery: 1,
    adaptation_layer: 0,
    authentication: 0,
    sender_dry: 0,
};

impl Listener {
    /// Has the event loop of the calling thread watch it. It must not block.
    ///
    /// # Errors
    /// If the event loop takes no descriptor more.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn watched(self) -> io::Result<AsyncFd<Self>> {
        // SAFETY: the descriptor is that of the socket, which the listener owns and never replaces.
        unsafe { AsyncFd::register_with_interest(self, Interest::READABLE) }.map_err(io::Error::from)
    }

    /// Has the associations that it accepts give notifications too.
    ///
    /// # Errors
    /// The error of the system call.
    pub fn subscribe(&self) -> io::Result<()> {
        message::set(&self.socket, libc::SCTP_EVENTS, &SUBSCRIPTION)
    }
}

impl Association {
    /// Has the event loop of the calling thread watch it for what comes. It must not block.
    ///
    /// # Errors
    /// Returns the association and an error if the event loop accepts no more descriptors.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn watched(self) -> Result<AsyncFd<Self>, (Self, io::Error)> {
        // SAFETY: the descriptor is that of the socket that the association owns and keeps.
        unsafe { AsyncFd::register_with_interest(self, Interest::READABLE) }.map_err(AsyncFdRegisterError::into_parts)
    }

    /// Has the event loop of the calling thread watch it for room, by a copy of its descriptor. The
    /// association is not closed before the copy.
    ///
    /// # Errors
    /// Returns an error if the system gives no more descriptors.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn watched_for_room(&self) -> io::Result<AsyncFd<OwnedFd>> {
        let copy = self.as_fd().try_clone_to_owned()?;
        // SAFETY: the copy stays open and the same for as long as it is owned.
        unsafe { AsyncFd::register_with_interest(copy, Interest::WRITABLE) }.map_err(io::Error::from)
    }

    /// Begins to open an association from an address of ours (port 0 takes a free one) without
    /// waiting for it; its socket does not block, and gives notifications. It is writable once it
    /// is established or refused, which [`Association::outcome`] reports.
    ///
    /// # Errors
    /// When the kernel has no SCTP, the address is not ours, or no route leads to the peer.
    pub fn begin(local: SocketAddr, peer: SocketAddr, opening: Opening) -> Result<Self, Error> {
        let failed = || Error::io(format!("opening an SCTP association with {peer}"));
        let socket = socket(Domain::for_address(peer)).map_err(failed())?;
        configure(&socket, opening).map_err(failed())?;
        socket.bind(&local.into()).map_err(failed())?;
        socket.set_nonblocking(true).map_err(failed())?;
        let association = Self::new(socket);
        association.subscribe().map_err(failed())?;
        match association.socket.connect(&peer.into()) {
            Ok(()) => Ok(association),
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(association),
            Err(error) => Err(failed()(error)),
        }
    }

    /// Has the kernel say with each message whether another waits, which
    /// [`Association::next_event_and_more`] gives. Linux has it since 3.17.
    pub fn announce(&mut self) {
        let on: libc::c_int = 1;
        self.announces = message::set(&self.socket, libc::SCTP_RECVNXTINFO, &on).is_ok();
    }

    /// Result of an opening that [`Association::begin`] began.
    ///
    /// # Errors
    /// The reason why it did not come about; [`io::ErrorKind::NotConnected`] if it has not ended
    /// yet.
    pub fn outcome(&self) -> io::Result<()> {
        match self.socket.take_error()? {
            Some(error) => Err(error),
            None => self.socket.peer_addr().map(drop),
        }
    }

    /// Has the association give notifications.
    ///
    /// # Errors
    /// The error of the system call.
    pub fn subscribe(&self) -> io::Result<()> {
        message::set(&self.socket, libc::SCTP_EVENTS, &SUBSCRIPTION)
    }

    /// The next event, without waiting where the association does not block. `buffer` is room for
    /// one piece, and may be shared by many associations.
    ///
    /// # Errors
    /// When the association was aborted or lost.
    pub fn next_event<'a>(&self, buffer: &'a mut Vec<u8>) -> io::Result<Event<'a>> {
        self.next_event_and_more(buffer).map(|(event, _)| event)
    }

    /// The same, and whether more may be there: where that is false, the kernel has nothing but
    /// what comes after this call.
    ///
    /// # Errors
    /// As [`Association::next_event`].
    pub fn next_event_and_more<'a>(&self, buffer: &'a mut Vec<u8>) -> io::Result<(Event<'a>, bool)> {
        buffer.resize(PIECE, 0);
        let Received {
            length,
            flags,
            information,
            followed,
        } = loop {
            match message::piece(&self.socket, buffer) {
                Ok(received) => break received,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok((Event::Nothing, false)),
                Err(error) => return Err(error),
            }
        };
        let bytes = &buffer[..length];
        let last = flags & libc::MSG_EOR != 0;
        let more = followed || !last || !self.announces;
        if flags & libc::MSG_NOTIFICATION != 0 {
            let read = Notification::read(bytes);
            return Ok((Event::Notification(read.unwrap_or(Notification::Other(0))), more));
        }
        let Some(PieceOf {
            stream,
            payload_protocol,
            ordering,
        }) = information
        else {
            // A message has its information; what has none and no octets is the end.
            return if length == 0 {
                Ok((Event::End, true))
            } else {
                Err(io::Error::other(
                    "the kernel does not say on which stream a message came",
                ))
            };
        };
        let piece = Event::Piece {
            stream,
            payload_protocol,
            ordering,
            bytes,
            last,
        };
        Ok((piece, more))
    }

    /// Hands a message to the kernel, which takes all of it or nothing.
    ///
    /// # Errors
    /// As [`Association::send`].
    pub fn send_with(&self, stream: u16, payload_protocol: u32, ordering: Ordering, bytes: &[u8]) -> io::Result<()> {
        let flags = match ordering {
            Ordering::Ordered => 0,
            Ordering::Unordered => libc::SCTP_UNORDERED as u16,
        };
        self.send_flagged(stream, payload_protocol, flags, bytes)
    }

    /// The stream counts that were negotiated.
    ///
    /// # Errors
    /// The error of the system call if there is no association.
    pub fn streams(&self) -> io::Result<Streams> {
        // struct sctp_status of linux/sctp.h: association, state, receive window, then short numbers.
        const INBOUND: usize = 16;
        const OUTBOUND: usize = 18;
        let mut status = [0_u8; 256];
        get(&self.socket, libc::IPPROTO_SCTP, libc::SCTP_STATUS, &mut status)?;
        let number = |at: usize| u16::from_ne_bytes([status[at], status[at + 1]]);
        Ok(Streams {
            outbound: number(OUTBOUND),
            inbound: number(INBOUND),
        })
    }

    /// Returns true if the peer has acknowledged everything that was sent.
    ///
    /// # Errors
    /// The error of the system call.
    pub fn is_acknowledged(&self) -> io::Result<bool> {
        // linux/sock_diag.h: what is queued counts until its chunks are acknowledged.
        const WMEM_QUEUED: usize = 5;
        let mut memory = [0_u8; 64];
        get(&self.socket, libc::SOL_SOCKET, libc::SO_MEMINFO, &mut memory)?;
        Ok(memory[WMEM_QUEUED * 4..][..4] == [0; 4])
    }

    /// The addresses of both ends.
    ///
    /// # Errors
    /// The error of the system call.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        let address = self.socket.local_addr()?;
        address
            .as_socket()
            .ok_or_else(|| io::Error::from(io::ErrorKind::AddrNotAvailable))
    }
}

impl AsRawFd for Association {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

impl AsRawFd for Listener {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

/// Reads an option into octets, as many as it has.
fn get(socket: &Socket, level: libc::c_int, option: libc::c_int, value: &mut [u8]) -> io::Result<()> {
    let mut length = value.len() as libc::socklen_t;
    // SAFETY: the pointer refers to live octets of the length given, which is the most that the kernel writes.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            level,
            option,
            ptr::from_mut(value).cast(),
            &raw mut length,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

const _: () = assert!(mem::size_of::<Subscription>() == 10);
