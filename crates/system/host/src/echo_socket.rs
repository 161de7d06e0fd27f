//! Sockets for one question and its answer between two addresses.

use std::io::{self, ErrorKind, Read as _};
use std::net::SocketAddr;
use std::os::fd::AsFd as _;
use std::time::Duration;

use socket2::{Domain, Socket, Type};

use crate::ike_socket::{IP_XFRM_POLICY, IPV6_XFRM_POLICY};
use crate::socket_option::set;

/// The shortest wait that a socket can be given: zero would be for ever.
const LEAST: Duration = Duration::from_millis(1);

/// A UDP socket, or a raw one of another IP protocol, that exchanges messages with one address.
#[derive(Debug)]
pub struct EchoSocket {
    socket: Socket,
    is_raw: bool,
    is_ipv4: bool,
}

impl EchoSocket {
    /// A socket of this IP protocol, at a device where one is named. Ports count for UDP alone.
    ///
    /// # Errors
    ///
    /// The error of the system call: `from` is not an address of this host, a raw socket without
    /// CAP_NET_RAW.
    pub fn open(protocol: u8, from: SocketAddr, to: SocketAddr, device: Option<&str>) -> io::Result<Self> {
        let is_udp = i32::from(protocol) == libc::IPPROTO_UDP;
        let kind = if is_udp { Type::DGRAM } else { Type::RAW };
        let socket = Socket::new(Domain::for_address(to), kind, Some(i32::from(protocol).into()))?;
        if let Some(device) = device {
            socket.bind_device(Some(device.as_bytes()))?;
        }
        // A raw socket of IPv6 takes a port for the number of its protocol.
        let [from, to] = [from, to].map(|end| SocketAddr::new(end.ip(), if is_udp { end.port() } else { 0 }));
        socket.bind(&from.into())?;
        socket.connect(&to.into())?;
        Ok(Self {
            socket,
            is_raw: !is_udp,
            is_ipv4: to.is_ipv4(),
        })
    }

    /// Gives the socket a policy of its own, `xfrm_userpolicy_info` with one template: the kernel's
    /// other policies, which know a raw socket's packets by no ports, are not asked then.
    ///
    /// # Errors
    ///
    /// The error of the system call, as without CAP_NET_ADMIN.
    pub fn require(&self, policy: &[u8; 232]) -> io::Result<()> {
        let (level, option) = match self.is_ipv4 {
            true => (libc::IPPROTO_IP, IP_XFRM_POLICY),
            false => (libc::IPPROTO_IPV6, IPV6_XFRM_POLICY),
        };
        set(self.socket.as_fd(), level, option, policy)
    }

    /// Sends one message.
    ///
    /// # Errors
    ///
    /// The error of the system call, as where a rule of the host drops it.
    pub fn send(&self, message: &[u8]) -> io::Result<()> {
        self.socket.send(message).map(drop)
    }

    /// The next message from the other address; none within this time.
    ///
    /// # Errors
    ///
    /// The error of the system call, as that of an ICMP message.
    pub fn receive<'a>(&self, buffer: &'a mut [u8], wait: Duration) -> io::Result<Option<&'a [u8]>> {
        self.socket.set_read_timeout(Some(wait.max(LEAST)))?;
        let length = match (&self.socket).read(buffer) {
            Ok(length) => length,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => return Ok(None),
            Err(error) => return Err(error),
        };
        let message = &buffer[..length];
        let header = match message.first() {
            // Raw sockets of IPv4 hand over the IP header as well.
            Some(first) if self.is_raw && self.is_ipv4 => usize::from(first & 0xF) * 4,
            _ => 0,
        };
        Ok(Some(message.get(header..).unwrap_or_default()))
    }
}
