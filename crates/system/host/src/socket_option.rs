//! Socket options whose value is a plain C value, packet sockets, and results of system calls.

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::ptr;

use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

/// Opens a packet socket for whole frames (packet(7)). It receives nothing until it is bound, so that no
/// frame of another interface is ever queued.
///
/// # Errors
///
/// The error of the system call.
pub fn packet_socket(flags: SockFlag) -> io::Result<OwnedFd> {
    let kind = SockType::Raw;
    Ok(socket(
        AddressFamily::Packet,
        kind,
        flags | SockFlag::SOCK_CLOEXEC,
        None,
    )?)
}

/// Binds a packet socket to an interface, by its number, and to frames of one EtherType; 0 is none.
///
/// # Errors
///
/// The error of the system call.
pub fn bind_packets(socket: BorrowedFd<'_>, interface: libc::c_int, ethertype: u16) -> io::Result<()> {
    // SAFETY: all fields of this plain C structure may be zero.
    let mut address = unsafe { mem::zeroed::<libc::sockaddr_ll>() };
    address.sll_family = libc::AF_PACKET as _;
    // Network byte order, as packet(7) asks.
    address.sll_protocol = ethertype.to_be();
    address.sll_ifindex = interface;
    let length = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the pointer refers to a live local of the length given.
    checked(unsafe { libc::bind(socket.as_raw_fd(), ptr::from_ref(&address).cast(), length) })
}

/// Packets that a packet socket had no room for since the last call: reading the statistics resets them.
///
/// # Errors
///
/// The error of the system call.
pub fn dropped_packets(socket: BorrowedFd<'_>) -> io::Result<u64> {
    // SAFETY: all fields of this plain C structure may be zero.
    let mut statistics = unsafe { mem::zeroed::<libc::tpacket_stats>() };
    let mut length = size_of_val(&statistics) as libc::socklen_t;
    // SAFETY: the pointers refer to live locals and `length` is the size of the first.
    checked(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            ptr::from_mut(&mut statistics).cast(),
            &raw mut length,
        )
    })?;
    Ok(u64::from(statistics.tp_drops))
}

/// Sets an option to a plain C value, of the type that the option asks for.
///
/// # Errors
///
/// The error of the system call.
pub fn set<T: Copy>(socket: BorrowedFd<'_>, level: libc::c_int, option: libc::c_int, value: &T) -> io::Result<()> {
    // SAFETY: the pointer refers to a live value of the length given, which the kernel only reads.
    checked(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    })
}

/// Turns the result of a system call, 0 where it succeeded, into its error.
///
/// # Errors
///
/// The error of the system call.
pub fn checked(result: libc::c_int) -> io::Result<()> {
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
