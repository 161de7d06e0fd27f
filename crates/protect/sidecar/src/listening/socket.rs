//! Options every socket gets.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpListener, TcpStream};

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 1024;
/// A peer that vanished without a word is noticed after 15 + 3 x 5 seconds where nothing is under
/// way to it.
const KEEPALIVE: TcpKeepalive = TcpKeepalive::new()
    .with_time(Duration::from_secs(15))
    .with_interval(Duration::from_secs(5))
    .with_retries(3);

/// Longest time that data of requests and responses goes unacknowledged, where no reader may stall
/// for as long.
const UNACKNOWLEDGED: Duration = Duration::from_secs(20);

/// Ends a connection of requests whose other end has vanished. Linux sends no keepalive while data
/// is unacknowledged, and repeats that for a quarter of an hour. A window that stays closed counts
/// as well, so the time is longer than a reader may stall. Bytes of `splice` have no such bound: a
/// reader there may rest for as long as it wants, and has what its own socket would give it.
pub(crate) fn expect_acknowledgements(stream: &TcpStream, stall: Duration) {
    let within = UNACKNOWLEDGED.max(2 * stall);
    if let Err(error) = SockRef::from(stream).set_tcp_user_timeout(Some(within)) {
        tracing::debug!(%error, "a connection whose other end disappears is noticed late");
    }
}

/// Sets what a TLS connection needs before its first byte: without TCP_NODELAY the flights of an ML-DSA handshake meet Nagle's
/// algorithm and the peer's delayed acknowledgement, which costs 40 ms.
pub(crate) fn prepare(stream: &TcpStream) -> io::Result<()> {
    prepare_any(&SockRef::from(stream))
}

fn prepare_any(socket: &socket2::Socket) -> io::Result<()> {
    socket.set_tcp_nodelay(true)?;
    socket.set_tcp_keepalive(&KEEPALIVE)
}

/// A listening socket that another process has opened, as if it had been opened here.
///
/// # Errors
/// Fails if it is no listening socket of TCP.
pub(crate) fn passed(descriptor: OwnedFd) -> io::Result<std::net::TcpListener> {
    let wrong = |what| io::Error::new(io::ErrorKind::InvalidInput, what);
    let socket = socket2::Socket::from(descriptor);
    let family = socket.local_addr()?.domain();
    let inet = family == socket2::Domain::IPV4 || family == socket2::Domain::IPV6;
    if socket.r#type()? != socket2::Type::STREAM || !inet {
        return Err(wrong("it is no socket of TCP"));
    }
    if !socket.is_listener()? {
        return Err(wrong("it does not listen"));
    }
    socket.set_nonblocking(true)?;
    socket.set_cloexec(true)?;
    prepare_any(&socket)?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// A socket of UDP that another process has opened.
///
/// # Errors
/// Fails if it is none.
pub(crate) fn passed_udp(descriptor: OwnedFd) -> io::Result<std::net::UdpSocket> {
    let socket = socket2::Socket::from(descriptor);
    if socket.r#type()? != socket2::Type::DGRAM || socket.local_addr()?.as_socket().is_none() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no socket of UDP"));
    }
    socket.set_cloexec(true)?;
    Ok(socket.into())
}

/// Listens on `address`, which a connection of an earlier process in TIME_WAIT does not block. Connections that it accepts are
/// prepared: Linux hands these options of a listening socket on.
pub(crate) fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let domain = socket2::Domain::for_address(address);
    let socket = socket2::Socket::new(domain, socket2::Type::STREAM, Some(socket2::Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.set_cloexec(true)?;
    prepare_any(&socket)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_connection_is_prepared_by_the_listener_that_accepts_it() {
        let listener = listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (accepted, _) = listener.accept().await.unwrap();
        let accepted = SockRef::from(&accepted);
        assert!(accepted.tcp_nodelay().unwrap());
        assert!(accepted.keepalive().unwrap());
        assert_eq!(accepted.tcp_keepalive_time().unwrap(), Duration::from_secs(15));
        assert_eq!(accepted.tcp_keepalive_interval().unwrap(), Duration::from_secs(5));
        assert_eq!(accepted.tcp_keepalive_retries().unwrap(), 3);
        assert_eq!(accepted.tcp_user_timeout().unwrap(), None);
    }

    /// Linux counts a window that stays closed as well.
    #[tokio::test]
    async fn acknowledgements_are_expected_for_longer_than_a_reader_may_stall() {
        let listener = listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        for (stall, within) in [(10, 20), (30, 60)] {
            expect_acknowledgements(&client, Duration::from_secs(stall));
            let set = SockRef::from(&client).tcp_user_timeout().unwrap();
            assert_eq!(set, Some(Duration::from_secs(within)));
        }
    }
}
