//! TCP sockets of a network namespace, listed and ended by the kernel itself (`sock_diag(7)`).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::Error;
use crate::netlink::{Family, Request};

/// From linux/sock_diag.h and linux/tcp_states.h.
const BY_FAMILY: u16 = 20;
const DESTROY: u16 = 21;
/// From SYN-SENT to CLOSING, without LISTEN (10) and those that only wait (6, 7, 12).
const OPEN: u32 = 0b1011_0011_1110;
const TCP: u8 = 6;
/// Length of a socket's identity in requests and answers.
const IDENTITY: usize = 48;

bartizan_registry::made! {
    /// An open TCP connection, one end of it.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Connection,
    /// An `inet_diag_msg`.
    read(message: &[u8]) -> Option<Self> {
        let family = *message.first()?;
        let identity: [u8; IDENTITY] = message.get(4..4 + IDENTITY)?.try_into().ok()?;
        let port = |at: usize| u16::from_be_bytes([identity[at], identity[at + 1]]);
        let address = |at: usize| -> IpAddr {
            let bytes: [u8; 16] = identity[at..at + 16].try_into().unwrap_or_default();
            if i32::from(family) == libc::AF_INET {
                Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3]).into()
            } else {
                IpAddr::from(Ipv6Addr::from(bytes)).to_canonical()
            }
        };
        /// Address of this host.
        pub local: SocketAddr = SocketAddr::new(address(4), port(0)),
        /// Address of the other end, as the program that made the connection knows it.
        pub remote: SocketAddr = SocketAddr::new(address(20), port(2)),
        family: u8,
        identity: [u8; IDENTITY],
    }
}

impl Connection {
    /// Those of this network namespace.
    ///
    /// # Errors
    ///
    /// If the kernel has no `inet_diag`.
    pub fn all() -> Result<Vec<Self>, Error> {
        let mut found = Vec::new();
        for family in [libc::AF_INET, libc::AF_INET6] {
            let family = u8::try_from(family).unwrap_or_default();
            let listed =
                request(BY_FAMILY, family, &[0; IDENTITY]).list(&mut |message| found.extend(Self::read(message)));
            listed.map_err(|refused| Error::io("listing TCP connections")(refused.source))?;
        }
        Ok(found)
    }

    /// Ends it, at both ends: a reset is sent, and the program that has it gets an error. One that
    /// has ended by itself is no error.
    ///
    /// # Errors
    ///
    /// Without CAP_NET_ADMIN, and where the kernel cannot (CONFIG_INET_DIAG_DESTROY).
    pub fn reset(&self) -> Result<(), Error> {
        match request(DESTROY, self.family, &self.identity).order(0) {
            Err(refused) if refused.source.raw_os_error() == Some(libc::ENOENT) => Ok(()),
            done => done.map_err(|refused| Error::io("resetting a TCP connection")(refused.source)),
        }
    }
}

/// A message with an `inet_diag_req_v2`.
fn request(kind: u16, family: u8, identity: &[u8; IDENTITY]) -> Request {
    let mut content = vec![family, TCP, 0, 0];
    content.extend(OPEN.to_ne_bytes());
    content.extend(identity);
    Request::new(Family::Sockets, kind, &content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn both_ends_of_a_connection_are_listed_over_both_families() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let listener = TcpListener::bind(address).unwrap();
            let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let ends = (stream.local_addr().unwrap(), stream.peer_addr().unwrap());
            let all = Connection::all().unwrap();
            for (local, remote) in [ends, (ends.1, ends.0)] {
                assert!(
                    all.iter().any(|found| (found.local, found.remote) == (local, remote)),
                    "{local} {remote}"
                );
            }
        }
    }
}
