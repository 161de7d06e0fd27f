//! UDP sockets in an event loop.

use std::io;
use std::net::UdpSocket;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Has the event loop of the calling thread watch a socket for what comes, and for nothing else: Linux reports room after each packet that has
/// left (`sock_def_write_space`, 6.12), also where there was room before, and each report would wake the thread. The socket must not block.
///
/// # Errors
/// Where the event loop takes no descriptor more.
///
/// # Panics
/// Outside of a tokio runtime.
pub fn watched_for_packets(socket: UdpSocket) -> io::Result<AsyncFd<UdpSocket>> {
    // SAFETY: the descriptor is that of the socket, which owns it and never replaces it.
    unsafe { AsyncFd::register_with_interest(socket, Interest::READABLE) }.map_err(io::Error::from)
}
