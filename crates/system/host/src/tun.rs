//! TUN devices: IP packets that the kernel routes to a program, and back.

use std::fs::File;
use std::io::{self, IoSlice, Read as _, Write as _};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt as _;

use crate::socket_option::checked;

const DEVICE: &str = "/dev/net/tun";
/// Bytes of a device's name with the zero behind it, and of `struct ifreq` (linux/if.h).
const NAME: usize = 16;
const REQUEST: usize = 40;
/// From linux/if_tun.h. The last one refuses a device that is there already: it could be one that others read.
const FLAGS: libc::c_int = libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR | libc::IFF_TUN_EXCL;
/// Work that the kernel may leave to the reader (linux/if_tun.h): checksums, and segments of TCP
/// over IPv4 and IPv6, with congestion signalled.
const LEFT: libc::c_ulong = 0x01 | 0x02 | 0x04 | 0x08;
/// The same with datagrams of UDP over IPv4 and IPv6, since Linux 6.2.
const LEFT_WITH_DATAGRAMS: libc::c_ulong = LEFT | 0x20 | 0x40;

/// A TUN device of this process, whose packets have a description before them (`virtio_net_hdr`, 10
/// bytes), in the network namespace of the thread that made it. It goes with this value, and with
/// the process whatever ends that: routes that lead to it go with it.
#[derive(Debug)]
pub struct Tun {
    file: File,
    /// Its name.
    pub name: String,
    /// Returns true if several datagrams of UDP pass it at once, both ways, as segments of TCP do.
    pub datagrams: bool,
}

impl Tun {
    /// Makes it; nothing waits in its calls.
    ///
    /// # Errors
    ///
    /// The error of the system call: without /dev/net/tun or CAP_NET_ADMIN, or where a device has
    /// that name.
    pub fn create(name: &str) -> io::Result<Self> {
        if name.is_empty() || name.len() >= NAME {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "a device's name has 1 to 15 bytes",
            ));
        }
        let file = File::options()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(DEVICE)?;
        let mut request = [0_u8; REQUEST];
        request[..name.len()].copy_from_slice(name.as_bytes());
        request[NAME..][..2].copy_from_slice(&(FLAGS as u16).to_ne_bytes());
        // SAFETY: the kernel reads and writes a `struct ifreq`, which the buffer is as long as.
        checked(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, request.as_mut_ptr()) })?;
        // SAFETY: the kernel takes a number and no pointer.
        let leave = |what: libc::c_ulong| checked(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETOFFLOAD, what) });
        // An older kernel does not know the latter.
        let datagrams = leave(LEFT_WITH_DATAGRAMS).is_ok();
        if !datagrams {
            leave(LEFT)?;
        }
        Ok(Self {
            file,
            name: name.to_owned(),
            datagrams,
        })
    }

    /// The next packet that was routed to it, behind its description; how many bytes of the buffer both have.
    ///
    /// # Errors
    ///
    /// The error of the system call, `WouldBlock` if there is no packet.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        (&self.file).read(buffer)
    }

    /// Hands the kernel a packet that arrived by it, in parts: its description and what is behind that.
    ///
    /// # Errors
    ///
    /// The error of the system call.
    pub fn write(&self, parts: [&[u8]; 2]) -> io::Result<()> {
        (&self.file).write_vectored(&parts.map(IoSlice::new)).map(drop)
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
