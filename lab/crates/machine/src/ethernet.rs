//! Whole Ethernet frames of an interface, with the kernel's times of what leaves and what arrives:
//! packet(7), and timestamping.rst of the kernel's documentation.

mod control;

use std::io;
use std::mem::{self, MaybeUninit};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::ptr;
use std::time::Duration;

use bartizan_host::socket_option::{self, checked};
use bartizan_host::{Error, interface_number};
use nix::sys::socket::SockFlag;

/// Room in the kernel for frames not yet read, in bytes.
const RECEIVE_BUFFER: libc::c_int = 32 << 20;
/// Words of eight bytes for control messages: a time in three forms, and the number of the frame it is of.
const CONTROL: usize = 32;

/// Frames that a socket receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Receives {
    /// None: it only sends.
    Nothing,
    /// Those of one EtherType, behind a VLAN tag as well: the kernel takes the tag off a frame that arrives.
    EtherType(u16),
    /// All that arrive, and those that others send by the interface.
    All,
}

/// Timestamps of departures: taken by the kernel or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Departures {
    /// It does, when it hands the frame to the driver: [`EthernetSocket::departure`]. Costs a
    /// system call for each frame.
    Stamped,
    /// It does not.
    Unstamped,
}

/// Outcome of a frame that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handed {
    /// The kernel has taken it.
    Taken,
    /// It has not: the socket has no room.
    NoRoom,
    /// The kernel has taken it and dropped it: a queue of the interface, or of the cable's other end, has no room.
    Dropped,
}

/// A frame that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Bytes of it, from its destination address on; more than the buffer has where it was cut. A
    /// VLAN tag is not among them.
    pub length: usize,
    /// Since 1970, by the kernel's clock where the frame came in from the port's driver; none where
    /// the kernel has just begun to take times.
    pub at: Option<Duration>,
}

/// Time at which a frame was handed to the driver of the port that it leaves by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    /// Its number among the frames that the kernel has taken from this socket, from 0.
    pub number: u32,
    /// Since 1970, by the kernel's clock.
    pub at: Duration,
}

/// Sends and receives whole Ethernet frames, past the IP stack.
///
/// A frame that is sent through a MACsec device leaves its port encrypted, and arrives at the other
/// end's port encrypted: both times are taken there, so that what encrypts lies before the
/// departure and what decrypts behind the arrival.
#[derive(Debug)]
pub struct EthernetSocket {
    socket: OwnedFd,
    interface: String,
}

impl EthernetSocket {
    /// Opens one on an interface of the calling thread's network namespace.
    ///
    /// # Errors
    ///
    /// [`Error::NotPermitted`], and where there is no such interface.
    pub fn open(interface: &str, receives: Receives, departures: Departures) -> Result<Self, Error> {
        let action = format!("exchanging frames on the interface {interface}");
        let index = interface_number(interface, &action)?;
        let action = || Error::io(&action);
        let socket = socket_option::packet_socket(SockFlag::SOCK_NONBLOCK).map_err(action())?;
        let socket = Self {
            socket,
            interface: interface.to_owned(),
        };
        let protocol = match receives {
            Receives::Nothing => 0,
            Receives::EtherType(ethertype) => ethertype,
            Receives::All => libc::ETH_P_ALL as u16,
        };
        let mut times = libc::SOF_TIMESTAMPING_SOFTWARE;
        if receives != Receives::Nothing {
            times |= libc::SOF_TIMESTAMPING_RX_SOFTWARE;
        }
        if departures == Departures::Stamped {
            // Only the number of a frame that left comes back, not the frame.
            times |=
                libc::SOF_TIMESTAMPING_TX_SOFTWARE | libc::SOF_TIMESTAMPING_OPT_ID | libc::SOF_TIMESTAMPING_OPT_TSONLY;
        }
        // Beyond the system's own bound only with CAP_NET_ADMIN. Frames without room are counted.
        socket
            .set(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, RECEIVE_BUFFER)
            .or_else(|_| socket.set(libc::SOL_SOCKET, libc::SO_RCVBUF, RECEIVE_BUFFER))
            .and_then(|()| socket.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPING, times as libc::c_int))
            .and_then(|()| socket_option::bind_packets(socket.as_fd(), index, protocol))
            .map_err(action())?;
        Ok(socket)
    }

    /// Sends a frame, from its destination address on, without waiting.
    ///
    /// # Errors
    ///
    /// If the interface is gone or down, or the frame is longer than its MTU allows.
    pub fn send(&self, frame: &[u8]) -> Result<Handed, Error> {
        loop {
            // SAFETY: the pointer refers to `frame`, which has this length.
            let sent = unsafe {
                libc::send(
                    self.socket.as_raw_fd(),
                    frame.as_ptr().cast(),
                    frame.len(),
                    libc::MSG_DONTWAIT,
                )
            };
            if sent >= 0 {
                return Ok(Handed::Taken);
            }
            let error = io::Error::last_os_error();
            match error.kind() {
                io::ErrorKind::Interrupted => {}
                io::ErrorKind::WouldBlock => return Ok(Handed::NoRoom),
                _ if error.raw_os_error() == Some(libc::ENOBUFS) => return Ok(Handed::Dropped),
                _ => return Err(self.failed("sending a frame on", error)),
            }
        }
    }

    /// The next frame that has arrived, into `buffer`; none where none comes for so long. Times of
    /// departures that were not asked for end the wait.
    ///
    /// # Errors
    ///
    /// If the interface is gone or went down.
    pub fn receive(&self, buffer: &mut [u8], wait: Duration) -> Result<Option<Arrival>, Error> {
        let failed = |error| self.failed("receiving frames on", error);
        loop {
            // MSG_TRUNC makes the kernel return the whole length even when the buffer is shorter.
            match self.message(buffer, libc::MSG_TRUNC) {
                Ok((length, control)) => {
                    let at = control.time;
                    return Ok(Some(Arrival { length, at }));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if !self.ready_within(libc::POLLIN, wait).map_err(failed)? {
                        return Ok(None);
                    }
                }
                Err(error) => return Err(failed(error)),
            }
        }
    }

    /// Waits until the socket has room for a frame again; whether it had in time. Times of
    /// departures that were not asked for end the wait.
    ///
    /// # Errors
    ///
    /// The error of the system call.
    pub fn room_within(&self, wait: Duration) -> Result<bool, Error> {
        let ready = self.ready_within(libc::POLLOUT, wait);
        ready.map_err(|error| self.failed("waiting for room on", error))
    }

    /// The next of the times at which frames have left, in their order; none where no more are
    /// known yet. The kernel does not keep those that are not asked for. A frame that is copied on
    /// its way has none: through a MACsec device of Linux 7.2.7 one of 3500 bytes had its time, one
    /// of 4200 bytes only with a VLAN tag.
    ///
    /// # Errors
    ///
    /// If the interface is gone or went down.
    pub fn departure(&self) -> Result<Option<Departure>, Error> {
        loop {
            match self.message(&mut [], libc::MSG_ERRQUEUE) {
                Ok((_, control)) => {
                    if let (Some(at), Some(number)) = (control.time, control.number) {
                        return Ok(Some(Departure { number, at }));
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(self.failed("asking when frames left on", error)),
            }
        }
    }

    /// Frames that arrived and found no room in the socket since the last call.
    ///
    /// # Errors
    ///
    /// The error of the system call.
    pub fn dropped(&self) -> Result<u64, Error> {
        let dropped = socket_option::dropped_packets(self.as_fd());
        dropped.map_err(|error| self.failed("reading the statistics of", error))
    }

    /// One message, without waiting: its length, and what came with it.
    fn message(&self, buffer: &mut [u8], flags: libc::c_int) -> io::Result<(usize, control::Control)> {
        // SAFETY: all fields of this plain C structure may be zero.
        let mut message = unsafe { mem::zeroed::<libc::msghdr>() };
        let mut part = libc::iovec {
            iov_base: buffer.as_mut_ptr().cast(),
            iov_len: buffer.len(),
        };
        // Aligned as a cmsghdr must be.
        let mut room = [MaybeUninit::<u64>::uninit(); CONTROL];
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        loop {
            message.msg_control = room.as_mut_ptr().cast();
            message.msg_controllen = size_of_val(&room) as _;
            // SAFETY: every pointer in `message` refers to a live local or to `buffer` with its true length.
            let received =
                unsafe { libc::recvmsg(self.socket.as_raw_fd(), &raw mut message, flags | libc::MSG_DONTWAIT) };
            if let Ok(length) = usize::try_from(received) {
                // SAFETY: `message` was filled by the kernel and its control buffer is still alive.
                return Ok((length, unsafe { control::read(&message) }));
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }

    fn ready_within(&self, events: libc::c_short, wait: Duration) -> io::Result<bool> {
        let mut poll = libc::pollfd {
            fd: self.socket.as_raw_fd(),
            events,
            revents: 0,
        };
        // Rounded up: a wait that is shorter than a millisecond would be none.
        let wait = libc::c_int::try_from(wait.as_micros().div_ceil(1000)).unwrap_or(libc::c_int::MAX);
        // SAFETY: one pollfd is passed and one is there.
        match unsafe { libc::poll(&raw mut poll, 1, wait) } {
            0 => Ok(false),
            // An error (the interface went down) is reported by the next call; times of departures are one here too.
            1.. => Ok(poll.revents & events != 0 || !self.is_error_of_times()?),
            _ => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => Ok(false),
                error => Err(error),
            },
        }
    }

    /// Returns true if nothing but times of departures waits to be read; an error of the interface
    /// is returned.
    fn is_error_of_times(&self) -> io::Result<bool> {
        let mut error: libc::c_int = 0;
        let mut length = size_of_val(&error) as libc::socklen_t;
        // SAFETY: the pointers refer to live locals and `length` is the size of the first.
        let result = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_ERROR,
                ptr::from_mut(&mut error).cast(),
                &raw mut length,
            )
        };
        checked(result)?;
        match error {
            0 => Ok(true),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }

    fn failed(&self, what: &str, error: io::Error) -> Error {
        Error::io(format!("{what} the interface {}", self.interface))(error)
    }

    fn set(&self, level: libc::c_int, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
        socket_option::set(self.socket.as_fd(), level, option, &value)
    }
}

impl AsFd for EthernetSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests;
