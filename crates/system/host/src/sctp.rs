//! SCTP of the kernel, one association per socket: sctp(7), RFC 6458 section 4.
//!
//! A message is sent and received whole, with its stream and its payload protocol identifier.
//! Notifications are off unless they are asked for ([`Association::subscribe`]): an association
//! that ends shows as the end of the stream or as an error.

use std::io;
use std::mem;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};

use crate::Error;

mod event;
mod message;
mod notification;

pub use event::{Event, Ordering};
pub use message::{Arrival, Message};
pub use notification::{ErrorCause, Notification, PathState, Streams};

/// Associations that wait to be accepted: as many E2 nodes as a RIC has at once in our workloads.
const BACKLOG: libc::c_int = 128;

/// Parameters with which an end opens associations (RFC 6458, section 8.1.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opening {
    /// Outbound streams that are asked for.
    pub outbound_streams: u16,
    /// Inbound streams that are allowed.
    pub inbound_streams: u16,
    /// Number of INITs sent before the peer counts as absent.
    pub attempts: u16,
    /// The longest wait between two INIT; what is below a millisecond is cut.
    pub longest_wait: Duration,
}

impl Default for Opening {
    /// Ten streams each way (what the kernel asks for by itself), eight attempts, a second at most between two.
    fn default() -> Self {
        Self {
            outbound_streams: 10,
            inbound_streams: 10,
            attempts: 8,
            longest_wait: Duration::from_secs(1),
        }
    }
}

/// A socket that waits for associations.
#[derive(Debug)]
pub struct Listener {
    socket: Socket,
}

bartizan_registry::made! {
    /// One association.
    #[derive(Debug)]
    pub struct Association, new(socket: Socket) {
        socket: Socket,
        /// Receive buffer, kept from one message to the next: fresh pages cost more than most
        /// messages.
        buffer: Vec<u8> = Vec::new(),
        /// The beginning of a message whose rest has not come.
        partial: Vec<u8> = Vec::new(),
        /// True if the kernel says with each message if something waits behind it.
        announces: bool = false,
    }
}

/// Checks that the kernel of this machine has SCTP: a socket is made and closed.
///
/// # Errors
/// The error of the system call if it has none.
pub fn available() -> io::Result<()> {
    socket(Domain::IPV4).map(drop)
}

impl Listener {
    /// Waits for associations at this address; port 0 takes a free one.
    ///
    /// # Errors
    /// When the kernel has no SCTP, or the address is not ours or taken.
    pub fn bind(address: SocketAddr, opening: Opening) -> Result<Self, Error> {
        let failed = || Error::io(format!("listening for SCTP on {address}"));
        let socket = socket(Domain::for_address(address)).map_err(failed())?;
        configure(&socket, opening).map_err(failed())?;
        socket.set_reuse_address(true).map_err(failed())?;
        socket.bind(&address.into()).map_err(failed())?;
        socket.listen(BACKLOG).map_err(failed())?;
        Ok(Self { socket })
    }

    /// One that another process has opened.
    ///
    /// # Errors
    /// If it is no listening socket of SCTP.
    pub fn passed(descriptor: OwnedFd) -> io::Result<Self> {
        let socket = passed(descriptor)?;
        if !socket.is_listener()? {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it does not listen"));
        }
        Ok(Self { socket })
    }

    /// Its local address.
    ///
    /// # Errors
    /// When the kernel does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        let address = self.socket.local_addr()?;
        address
            .as_socket()
            .ok_or_else(|| io::Error::from(io::ErrorKind::AddrNotAvailable))
    }

    /// The next association, and the peer's address. If the listener does not block,
    /// [`io::ErrorKind::WouldBlock`] until there is one.
    ///
    /// Linux sleeps until its next tick (10 ms at 100 Hz) even where it should not block and no
    /// association waits (`sctp_wait_for_accept`, 6.12): a caller that must not block accepts only
    /// when the listener polls readable.
    ///
    /// # Errors
    /// The error of the system call.
    pub fn accept(&self) -> io::Result<(Association, SocketAddr)> {
        let (socket, peer) = self.socket.accept()?;
        // Options of an association are not taken from the listener by every kernel.
        prepare(&socket)?;
        let peer = peer.as_socket();
        let peer = peer.ok_or_else(|| io::Error::from(io::ErrorKind::AddrNotAvailable))?;
        Ok((Association::new(socket), peer))
    }

    /// Sets whether [`Listener::accept`] waits.
    ///
    /// # Errors
    /// The error of the system call.
    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.socket.set_nonblocking(nonblocking)
    }
}

impl Association {
    /// One that another process has opened.
    ///
    /// # Errors
    /// If it is no socket of SCTP.
    pub fn passed(descriptor: OwnedFd) -> io::Result<Self> {
        passed(descriptor).map(Self::new)
    }

    /// Opens an association from an address of ours (port 0 takes a free one) and waits until it is
    /// established, as long as `opening` allows.
    ///
    /// # Errors
    /// When the kernel has no SCTP, the address is not ours or taken, or the peer does not answer or refuses.
    pub fn connect(local: SocketAddr, peer: SocketAddr, opening: Opening) -> Result<Self, Error> {
        let failed = || Error::io(format!("opening an SCTP association with {peer}"));
        let socket = socket(Domain::for_address(peer)).map_err(failed())?;
        configure(&socket, opening).map_err(failed())?;
        socket.set_reuse_address(true).map_err(failed())?;
        socket.bind(&local.into()).map_err(failed())?;
        socket.connect(&peer.into()).map_err(failed())?;
        Ok(Self::new(socket))
    }

    /// Sets whether sending and receiving wait.
    ///
    /// # Errors
    /// The error of the system call.
    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.socket.set_nonblocking(nonblocking)
    }

    /// Sets the time that [`Association::receive`] waits at most.
    ///
    /// # Errors
    /// The error of the system call.
    pub fn set_patience(&self, patience: Option<Duration>) -> io::Result<()> {
        self.socket.set_read_timeout(patience)
    }

    /// Room for messages not yet read, and not yet acknowledged, in bytes; the kernel doubles it for its own use.
    ///
    /// # Errors
    /// The error of the system call.
    pub fn set_room(&self, bytes: usize) -> io::Result<()> {
        self.socket.set_recv_buffer_size(bytes)?;
        self.socket.set_send_buffer_size(bytes)
    }

    /// Ends the association at once: ABORT instead of SHUTDOWN (RFC 9260, section 9.1), with the
    /// error cause User-Initiated Abort. Linux lets only sockets of many associations give it a
    /// reason in words.
    ///
    /// # Errors
    /// The error of the system call.
    pub fn abort(self) -> io::Result<()> {
        self.socket.set_linger(Some(Duration::ZERO))
    }

    /// Says that nothing more will be sent; what was sent is still delivered (RFC 9260, section 9.2).
    ///
    /// # Errors
    /// The error of the system call.
    pub fn finish(&self) -> io::Result<()> {
        self.socket.shutdown(std::net::Shutdown::Write)
    }
}

impl AsFd for Association {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn socket(domain: Domain) -> io::Result<Socket> {
    Socket::new(domain, Type::STREAM, Some(Protocol::from(libc::IPPROTO_SCTP)))
}

fn passed(descriptor: OwnedFd) -> io::Result<Socket> {
    let socket = Socket::from(descriptor);
    if socket.protocol()? != Some(Protocol::from(libc::IPPROTO_SCTP)) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no socket of SCTP"));
    }
    socket.set_cloexec(true)?;
    Ok(socket)
}

fn configure(socket: &Socket, opening: Opening) -> io::Result<()> {
    let wait = u16::try_from(opening.longest_wait.as_millis()).unwrap_or(u16::MAX);
    let init = libc::sctp_initmsg {
        sinit_num_ostreams: opening.outbound_streams,
        sinit_max_instreams: opening.inbound_streams,
        sinit_max_attempts: opening.attempts,
        sinit_max_init_timeo: wait,
    };
    message::set(socket, libc::SCTP_INITMSG, &init)?;
    prepare(socket)
}

/// No waiting for more to bundle, and each message comes with where it belongs.
fn prepare(socket: &Socket) -> io::Result<()> {
    let on: libc::c_int = 1;
    message::set(socket, libc::SCTP_NODELAY, &on)?;
    message::set(socket, libc::SCTP_RECVRCVINFO, &on)
}

/// Largest message in bytes; E2AP has no such bound, our buffers do.
const LARGEST_MESSAGE: usize = 1 << 20;
/// Bytes read at once.
const PIECE: usize = 64 << 10;
const _: () = assert!(PIECE <= LARGEST_MESSAGE && mem::size_of::<libc::sctp_sndinfo>() == 16);
