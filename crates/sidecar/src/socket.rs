//! Options every socket gets.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpListener, TcpStream};

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 1024;
/// A peer that vanished without a word is noticed after 15 + 3 x 5 seconds.
const KEEPALIVE: TcpKeepalive = TcpKeepalive::new()
    .with_time(Duration::from_secs(15))
    .with_interval(Duration::from_secs(5))
    .with_retries(3);

/// Sets what a TLS connection needs before its first byte: without TCP_NODELAY the flights of an ML-DSA handshake meet Nagle's
/// algorithm and the peer's delayed acknowledgement, which costs 40 ms.
pub(crate) fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    SockRef::from(stream).set_tcp_keepalive(&KEEPALIVE)
}

/// Listens on `address`, which a connection of an earlier process in TIME_WAIT does not block.
pub(crate) fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let domain = socket2::Domain::for_address(address);
    let socket = socket2::Socket::new(domain, socket2::Type::STREAM, Some(socket2::Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.set_cloexec(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}
