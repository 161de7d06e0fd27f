//! Socket options of an IKE daemon's UDP sockets.

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd as _;

use crate::socket_option::set;

/// From linux/in.h, linux/in6.h and linux/udp.h.
pub(crate) const IP_XFRM_POLICY: libc::c_int = 17;
pub(crate) const IPV6_XFRM_POLICY: libc::c_int = 35;
const UDP_ENCAP: libc::c_int = 100;
const UDP_ENCAP_ESPINUDP: libc::c_int = 2;

/// Bytes of `xfrm_userpolicy_info`, and where in it the family and the direction are.
const POLICY: usize = 168;
const FAMILY: usize = 40;
const DIRECTION: usize = 160;
const DIRECTIONS: [u8; 2] = [0, 1];

/// Lets the packets of this socket pass the kernel's policies of ESP in both directions: what
/// negotiates SAs cannot wait for one.
///
/// # Errors
///
/// The error of the system call, as that of a kernel without ESP, or without CAP_NET_ADMIN.
pub fn bypass_esp_policies(socket: &UdpSocket) -> io::Result<()> {
    let (level, option, family) = match socket.local_addr()? {
        address if address.is_ipv4() => (libc::IPPROTO_IP, IP_XFRM_POLICY, libc::AF_INET),
        _ => (libc::IPPROTO_IPV6, IPV6_XFRM_POLICY, libc::AF_INET6),
    };
    for direction in DIRECTIONS {
        // The action of zero lets pass.
        let mut policy = [0_u8; POLICY];
        policy[FAMILY..][..2].copy_from_slice(&(family as u16).to_ne_bytes());
        policy[DIRECTION] = direction;
        set(socket.as_fd(), level, option, &policy)?;
    }
    Ok(())
}

/// Has the kernel take ESP out of datagrams to this socket (RFC 3948); those behind a non-ESP
/// marker still arrive at it.
///
/// # Errors
///
/// The error of the system call, as that of a kernel without ESP.
pub fn carry_esp(socket: &UdpSocket) -> io::Result<()> {
    set(socket.as_fd(), libc::IPPROTO_UDP, UDP_ENCAP, &UDP_ENCAP_ESPINUDP)
}
