//! TCP connections over the loopback, and what the other end does with them.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::fd::AsRawFd as _;
use std::time::Duration;

use nix::sys::socket::sockopt::IpBindAddressNoPort;
use nix::sys::socket::{
    AddressFamily, SockFlag, SockProtocol, SockType, SockaddrIn, bind, connect, setsockopt, socket,
};

use crate::eventually;

/// Time limit of a read or write.
const PATIENCE: Duration = Duration::from_secs(60);

/// A connection from this address, one of the loopback's many, with bounded reads and writes.
///
/// # Panics
/// If no program listens.
#[must_use]
pub fn connect_from(source: [u8; 4], to: SocketAddr) -> TcpStream {
    let flags = SockFlag::SOCK_CLOEXEC;
    let socket = socket(AddressFamily::Inet, SockType::Stream, flags, SockProtocol::Tcp).expect("a socket");
    let SocketAddr::V4(to) = to else {
        panic!("{to} is not of the loopback's IPv4 addresses")
    };
    let [a, b, c, d] = source;
    // A port is taken for each peer, not for all: a flood would soon have had every one.
    setsockopt(&socket, IpBindAddressNoPort, &true).expect("an option");
    bind(socket.as_raw_fd(), &SockaddrIn::new(a, b, c, d, 0)).expect("an address");
    connect(socket.as_raw_fd(), &SockaddrIn::from(to)).expect("it listens");
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream.set_write_timeout(Some(PATIENCE)).expect("a timeout");
    stream
}

/// A UDP socket at an address that this process may have used just before.
///
/// Every child holds copies of all descriptors until it executes its program. A port therefore stays
/// taken for a moment after its socket was closed, where another thread starts a child.
///
/// # Panics
/// If the address is not to be had, for another reason or for longer than a test waits.
#[must_use]
pub fn udp_at(address: impl Into<SocketAddr>) -> UdpSocket {
    let address = address.into();
    eventually(&format!("{address} is free"), || match UdpSocket::bind(address) {
        Ok(socket) => Some(socket),
        Err(error) if error.kind() == ErrorKind::AddrInUse => None,
        Err(error) => panic!("{address}: {error}"),
    })
}

/// Returns true if the connection is open and nothing has come.
///
/// # Panics
/// If it is no socket any more.
#[must_use]
pub fn is_open(mut stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).expect("a socket");
    let read = stream.read(&mut [0]);
    read.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}

/// Returns true if the other end closes the connection, whatever it sends before.
#[must_use]
pub fn is_closed(mut stream: TcpStream) -> bool {
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).is_ok() || stream.write_all(b"x").is_err()
}

/// A port of the loopback without a listener. The kernel gives it to no connection and to no
/// program that asks for any port, however long it is not in use.
///
/// # Panics
/// If the machine has none left.
#[must_use]
pub fn free_port() -> SocketAddr {
    let [address] = crate::loopback_addresses().expect("a port");
    address
}
