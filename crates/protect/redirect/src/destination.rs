//! Original destinations of redirected connections.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;

use socket2::SockRef;

/// Original destination of an accepted connection that the packet filter redirected:
/// `SO_ORIGINAL_DST`, or `IP6T_SO_ORIGINAL_DST` for IPv6.
///
/// # Errors
/// [`io::ErrorKind::NotFound`] for a connection that was not redirected but made to the listener itself: routing it by its
/// destination would send it back here for ever.
pub fn original_destination(socket: &impl AsFd) -> io::Result<SocketAddr> {
    let not_redirected = || io::Error::new(io::ErrorKind::NotFound, "the connection was not redirected");
    let socket = SockRef::from(socket);
    let local = canonical(socket.local_addr()?.as_socket()).ok_or_else(not_redirected)?;
    let original = match local.ip() {
        IpAddr::V4(_) => socket.original_dst_v4(),
        IpAddr::V6(_) => socket.original_dst_v6(),
    };
    match original {
        Ok(address) => canonical(address.as_socket())
            .filter(|original| *original != local)
            .ok_or_else(not_redirected),
        // The kernel follows no connections here (no NAT rule is installed), or not this one.
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENOPROTOOPT)) => Err(not_redirected()),
        Err(error) => Err(error),
    }
}

/// IPv4 in IPv6 form, as a dual-stack listener sees it, is IPv4.
fn canonical(address: Option<SocketAddr>) -> Option<SocketAddr> {
    address.map(|address| SocketAddr::new(address.ip().to_canonical(), address.port()))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn connection_made_to_the_listener_itself_was_not_redirected() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let listener = TcpListener::bind(address).unwrap();
            let _consumer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (accepted, _) = listener.accept().unwrap();
            let error = original_destination(&accepted).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::NotFound, "{address}: {error}");
        }
    }
}
