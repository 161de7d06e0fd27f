//! Notifications of the kernel over netlink(7), to groups of listeners.

use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, NetlinkAddr, bind, recv};
use socket2::{Domain, Protocol, Socket, Type};

use super::{Family, messages};

/// Bytes of one datagram of the kernel's.
const LARGEST: usize = 64 * 1024;

/// A socket that hears groups of a family.
#[derive(Debug)]
pub struct Listener(OwnedFd);

impl Listener {
    /// Hears these groups, a bit for each, in the network namespace of the calling thread.
    ///
    /// # Errors
    ///
    /// The error of the system call, as that of a kernel without the family.
    pub fn join(family: Family, groups: u32) -> io::Result<Self> {
        let protocol = Some(Protocol::from(family.protocol()));
        let socket = Socket::new(Domain::from(libc::AF_NETLINK), Type::DGRAM, protocol)?;
        socket.set_nonblocking(true)?;
        let socket: OwnedFd = socket.into();
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, groups))?;
        Ok(Self(socket))
    }

    /// Gives every message that has come: its type, and what is behind its header. Messages that
    /// came while the socket was full are lost.
    ///
    /// # Errors
    ///
    /// The error of the system call.
    pub fn receive(&self, each: &mut dyn FnMut(u16, &[u8])) -> io::Result<()> {
        let mut buffer = vec![0; LARGEST];
        loop {
            match recv(self.0.as_raw_fd(), &mut buffer, MsgFlags::empty()) {
                Ok(length) => messages(&buffer[..length], each),
                Err(Errno::EAGAIN) => return Ok(()),
                Err(Errno::EINTR | Errno::ENOBUFS) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RTMGRP_LINK, and the message about a new interface (linux/rtnetlink.h).
    const LINKS: u32 = 1;
    const NEW_LINK: u16 = 16;

    #[test]
    fn what_the_kernel_says_to_a_group_is_heard_and_nothing_is_waited_for() {
        let listener = Listener::join(Family::Route, LINKS).unwrap();
        let mut heard = Vec::new();
        listener.receive(&mut |kind, _| heard.push(kind)).unwrap();
        assert!(heard.iter().all(|kind| *kind >= NEW_LINK), "{heard:?}");
    }
}
