//! UDP datagrams with the traffic class of their IP header, sent and received without an allocation.

use std::io;
use std::mem::{self, MaybeUninit};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::ptr;

use socket2::{SockAddr, SockAddrStorage};

use crate::socket_option::set;

/// Room for the control messages of one datagram, aligned as the kernel has them.
#[repr(C, align(8))]
struct Control([u8; 64]);

/// From linux/udp.h.
const UDP_SEGMENT: libc::c_int = 103;
const UDP_GRO: libc::c_int = 104;

/// Room of a tunnel's socket in bytes, each way: datagrams that arrive together take 64 kB and more
/// of it, and by what the kernel gives by itself some of them would be lost while one lot is
/// opened.
const ROOM: libc::c_int = 4 << 20;

/// A datagram that was received, or several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// Bytes of the buffer that it has.
    pub length: usize,
    /// Address of the sender.
    pub from: SocketAddr,
    /// DSCP and ECN of its IP header; zero where the socket does not report them.
    pub class: u8,
    /// Bytes of each datagram but the last where the kernel has put several of one sender together.
    pub each: Option<usize>,
}

/// Outcome of sending one datagram, or several of one lot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sent {
    /// System calls that sent datagrams.
    pub calls: usize,
    /// Datagrams that the kernel did not take.
    pub unsent: usize,
}

/// Traffic class options of a socket of this address: level, option that has them reported, control
/// message.
fn of_family(v4: bool) -> (libc::c_int, libc::c_int, libc::c_int) {
    match v4 {
        true => (libc::IPPROTO_IP, libc::IP_RECVTOS, libc::IP_TOS),
        false => (libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS, libc::IPV6_TCLASS),
    }
}

/// Prepares a socket for packets of a tunnel. It reports traffic classes, receives datagrams that
/// came together at once, has room for many, and
/// the kernel's routing rules know its packets by `mark`.
///
/// A path MTU is neither learnt nor used (`IP_PMTUDISC_OMIT`): an ICMP message that announces one
/// is not authenticated. Datagrams longer than the
/// interface's MTU are fragmented here, those longer than the path's by IPv4 routers.
///
/// # Errors
///
/// The error of the system call, as without CAP_NET_ADMIN.
pub fn carry_tunnel(socket: &UdpSocket, mark: u32) -> io::Result<()> {
    let v4 = socket.local_addr()?.is_ipv4();
    let (level, reported, _) = of_family(v4);
    let on: libc::c_int = 1;
    set(socket.as_fd(), level, reported, &on)?;
    set(socket.as_fd(), libc::IPPROTO_UDP, UDP_GRO, &on)?;
    for (past_the_limit, room) in [
        (libc::SO_RCVBUFFORCE, libc::SO_RCVBUF),
        (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF),
    ] {
        // Past the host's limit where this process may; a container's may not, and has what the limit leaves.
        set(socket.as_fd(), libc::SOL_SOCKET, past_the_limit, &ROOM)
            .or_else(|_| set(socket.as_fd(), libc::SOL_SOCKET, room, &ROOM))?;
    }
    let (discover, omit) = match v4 {
        true => (libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_OMIT),
        false => (libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_OMIT),
    };
    set(socket.as_fd(), level, discover, &omit)?;
    mark_packets(socket, mark)
}

/// Has the kernel's routing rules know the packets of a socket by this mark.
///
/// # Errors
///
/// The error of the system call, as without CAP_NET_ADMIN.
pub fn mark_packets(socket: &UdpSocket, mark: u32) -> io::Result<()> {
    set(socket.as_fd(), libc::SOL_SOCKET, libc::SO_MARK, &mark)
}

/// Sends datagrams with this traffic class, of so many bytes each, of which the last may be
/// shorter: all at once, or one by one where the kernel
/// does not take them so. It refuses a lot where a device computes no checksums (EIO), before Linux
/// 4.18 (EINVAL), where one of them exceeds the
/// interface's MTU (EMSGSIZE), and once after an earlier datagram met an error.
pub fn send_datagrams(socket: &UdpSocket, to: SocketAddr, bytes: &[u8], each: usize, class: u8) -> Sent {
    let one = |bytes| send(socket, to, bytes, None, class);
    if bytes.len() > each && send(socket, to, bytes, u16::try_from(each).ok(), class).is_ok() {
        return Sent { calls: 1, unsent: 0 };
    }
    let mut sent = Sent::default();
    for datagram in bytes.chunks(each.max(1)) {
        // The error of an earlier datagram is reported once, and leaves this one unsent.
        let done = one(datagram).or_else(|error| match error.kind() {
            io::ErrorKind::ConnectionRefused | io::ErrorKind::HostUnreachable => one(datagram),
            _ => Err(error),
        });
        match done {
            Ok(()) => sent.calls += 1,
            Err(_) => sent.unsent += 1,
        }
    }
    sent
}

fn send(socket: &UdpSocket, to: SocketAddr, bytes: &[u8], each: Option<u16>, class: u8) -> io::Result<()> {
    let (level, _, kind) = of_family(to.is_ipv4());
    let address = SockAddr::from(to);
    let mut part = libc::iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    };
    let mut control = Control([0; 64]);
    // SAFETY: all zeros are a `msghdr` without anything.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_name = address.as_ptr().cast_mut().cast();
    message.msg_namelen = address.len();
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    let value = libc::c_int::from(class);
    let (of_int, of_short) = (
        size_of::<libc::c_int>() as libc::c_uint,
        size_of::<u16>() as libc::c_uint,
    );
    // SAFETY: a message with an int and one with a short fit the 64 bytes (24 each); both headers
    // are inside of them and aligned.
    unsafe {
        let second = each.map_or(0, |_| libc::CMSG_SPACE(of_short));
        message.msg_controllen = (libc::CMSG_SPACE(of_int) + second) as usize;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = level;
        (*header).cmsg_type = kind;
        (*header).cmsg_len = libc::CMSG_LEN(of_int) as usize;
        ptr::write_unaligned(libc::CMSG_DATA(header).cast(), value);
        if let Some(each) = each {
            let header = libc::CMSG_NXTHDR(&raw const message, header);
            (*header).cmsg_level = libc::IPPROTO_UDP;
            (*header).cmsg_type = UDP_SEGMENT;
            (*header).cmsg_len = libc::CMSG_LEN(of_short) as usize;
            ptr::write_unaligned(libc::CMSG_DATA(header).cast(), each);
        }
    }
    // SAFETY: every pointer of the message is to a value that lives here, of the length given; the kernel only reads.
    let sent = unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) };
    if sent < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Receives a datagram, or several that the kernel has put together; what is longer than the buffer is cut off.
///
/// # Errors
///
/// The error of the system call, `WouldBlock` if the socket does not wait and there is no datagram.
pub fn receive_datagrams(socket: &UdpSocket, buffer: &mut [u8]) -> io::Result<Received> {
    let mut part = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    let mut control = Control([0; 64]);
    let mut storage = SockAddrStorage::zeroed();
    // SAFETY: all zeros are a `msghdr` without anything.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_name = (&raw mut storage).cast();
    message.msg_namelen = storage.size_of();
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = control.0.len();
    // SAFETY: every pointer of the message is to a value that lives here, of the length given.
    let length = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, 0) };
    let length = usize::try_from(length).map_err(|_| io::Error::last_os_error())?;
    // SAFETY: the kernel has written an address of this length into the storage.
    let address = unsafe { SockAddr::new(storage, message.msg_namelen) };
    let from = address
        .as_socket()
        .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?;
    let (class, each) = described(&message);
    Ok(Received {
        length,
        from,
        class,
        each,
    })
}

/// The traffic class among the control messages of a datagram, a byte in IPv4 and an int in IPv6,
/// and bytes of each where there are several.
fn described(message: &libc::msghdr) -> (u8, Option<usize>) {
    let (mut class, mut each) = (0, None);
    // SAFETY: the control messages are those that the kernel has written, as many bytes as it says;
    // a header is read where the macros find one, and of its data no more than its length has.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(message);
        while let Some(found) = header.as_ref() {
            let data = libc::CMSG_DATA(header);
            let length = found.cmsg_len.saturating_sub(libc::CMSG_LEN(0) as usize);
            match (found.cmsg_level, found.cmsg_type) {
                (libc::IPPROTO_IP, libc::IP_TOS) if length >= 1 => class = *data,
                (level, kind) if length >= size_of::<libc::c_int>() => {
                    let mut value = MaybeUninit::<libc::c_int>::uninit();
                    ptr::copy_nonoverlapping(data, value.as_mut_ptr().cast(), size_of::<libc::c_int>());
                    let value = value.assume_init();
                    match (level, kind) {
                        (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => class = value as u8,
                        (libc::IPPROTO_UDP, UDP_GRO) => each = usize::try_from(value).ok().filter(|each| *each > 0),
                        _ => {}
                    }
                }
                _ => {}
            }
            header = libc::CMSG_NXTHDR(message, header);
        }
    }
    (class, each)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use super::*;

    #[test]
    fn a_datagram_arrives_with_its_sender_and_the_traffic_class_it_was_sent_with() {
        for any in ["127.0.0.1:0", "[::1]:0"] {
            let [one, other] = [(); 2].map(|()| UdpSocket::bind(any));
            let (one, other) = (one.unwrap(), other.unwrap());
            let (level, reported, _) = of_family(one.local_addr().unwrap().is_ipv4());
            set(other.as_fd(), level, reported, &1_i32).unwrap();
            let mut buffer = [0; 16];
            for class in [0xb8, 0, 0x02] {
                let sent = send_datagrams(&one, other.local_addr().unwrap(), b"hello", 5, class);
                assert_eq!(sent, Sent { calls: 1, unsent: 0 });
                let received = receive_datagrams(&other, &mut buffer).unwrap();
                assert_eq!((received.class, received.length), (class, 5));
                assert_eq!(received.from, one.local_addr().unwrap());
            }
            assert_eq!(&buffer[..5], b"hello");
            // Three at once, which arrive together or by themselves.
            set(other.as_fd(), libc::IPPROTO_UDP, UDP_GRO, &1_i32).unwrap();
            let sent = send_datagrams(&one, other.local_addr().unwrap(), b"firstotherlas", 5, 0xb8);
            assert_eq!(sent.unsent, 0);
            let (mut all, mut buffer) = (Vec::new(), [0; 64]);
            while all.len() < 3 {
                let received = receive_datagrams(&other, &mut buffer).unwrap();
                assert_eq!(received.class, 0xb8);
                let each = received.each.unwrap_or(received.length);
                all.extend(buffer[..received.length].chunks(each).map(<[u8]>::to_vec));
            }
            assert_eq!(all, [&b"first"[..], b"other", b"las"]);
        }
        let unreachable = SocketAddr::from((Ipv6Addr::LOCALHOST, 9));
        let v4 = UdpSocket::bind("127.0.0.1:0").unwrap();
        assert_eq!(
            send_datagrams(&v4, unreachable, b"xyz", 1, 0),
            Sent { calls: 0, unsent: 3 }
        );
    }
}
