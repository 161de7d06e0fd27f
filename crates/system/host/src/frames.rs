//! Frames of one EtherType on one interface: packet(7).

use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, SockFlag, recv, send};

use crate::socket_option;
use crate::{Error, interface_number};

/// Destination of the frames of a port's own protocols (IEEE 802.1X, clause 11.1.1): no bridge
/// forwards them.
pub const PAE_GROUP_ADDRESS: [u8; 6] = [0x01, 0x80, 0xc2, 0, 0, 0x03];

/// Bytes of an Ethernet header: two addresses and the EtherType.
const HEADER: usize = 14;
/// The longest payload that is received, in octets: a jumbo frame's. A longer one is cut.
const LONGEST: usize = 9216;

/// Sends and receives frames of one EtherType to the group address of ports, past the IP stack.
#[derive(Debug)]
pub struct FrameSocket {
    socket: OwnedFd,
    interface: String,
    header: [u8; HEADER],
    buffer: Vec<u8>,
}

/// A frame that was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceivedFrame<'a> {
    /// The address that it comes from.
    pub source: [u8; 6],
    /// Octets behind its EtherType.
    pub payload: &'a [u8],
}

impl FrameSocket {
    /// Opens one on an interface of the calling thread's network namespace; `address` is what frames come from.
    ///
    /// # Errors
    ///
    /// [`Error::NotPermitted`], and where there is no such interface.
    pub fn open(interface: &str, address: [u8; 6], ethertype: u16) -> Result<Self, Error> {
        let action = format!("exchanging frames on the interface {interface}");
        let index = interface_number(interface, &action)?;
        let socket = socket_option::packet_socket(SockFlag::SOCK_NONBLOCK).map_err(Error::io(&action))?;
        let mut header = [0; HEADER];
        header[..6].copy_from_slice(&PAE_GROUP_ADDRESS);
        header[6..12].copy_from_slice(&address);
        header[12..].copy_from_slice(&ethertype.to_be_bytes());
        let frames = Self {
            socket,
            interface: interface.to_owned(),
            header,
            buffer: Vec::new(),
        };
        socket_option::bind_packets(frames.as_fd(), index, ethertype).map_err(Error::io(&action))?;
        frames.join(index).map_err(Error::io(&action))?;
        Ok(frames)
    }

    /// Sends a frame with this payload. One that finds no room is lost, as on any wire.
    ///
    /// # Errors
    ///
    /// If the interface is gone or down, or the payload is longer than its MTU.
    pub fn send(&mut self, payload: &[u8]) -> Result<(), Error> {
        self.buffer.clear();
        self.buffer.extend(self.header);
        self.buffer.extend(payload);
        match send(self.socket.as_raw_fd(), &self.buffer, MsgFlags::MSG_DONTWAIT) {
            Ok(_) | Err(Errno::EAGAIN | Errno::EINTR | Errno::ENOBUFS) => Ok(()),
            Err(error) => Err(self.failed("sending a frame on", error.into())),
        }
    }

    /// The payload of the next frame, without waiting; none where none is there.
    ///
    /// # Errors
    ///
    /// If the interface is gone or went down.
    pub fn receive(&mut self) -> Result<Option<&[u8]>, Error> {
        Ok(self.receive_from()?.map(|frame| frame.payload))
    }

    /// The same, with the address that it comes from.
    ///
    /// # Errors
    ///
    /// As [`FrameSocket::receive`].
    pub fn receive_from(&mut self) -> Result<Option<ReceivedFrame<'_>>, Error> {
        self.buffer.resize(HEADER + LONGEST, 0);
        let length = loop {
            match recv(self.socket.as_raw_fd(), &mut self.buffer, MsgFlags::MSG_DONTWAIT) {
                Ok(length) => break length,
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => {
                    // Room for the longest frame is no port's to keep while none comes.
                    self.buffer = Vec::new();
                    return Ok(None);
                }
                Err(error) => return Err(self.failed("receiving frames on", error.into())),
            }
        };
        // The kernel gives a socket of this kind whole frames.
        let mut source = [0; 6];
        source.copy_from_slice(&self.buffer[6..12]);
        Ok(Some(ReceivedFrame {
            source,
            payload: self.buffer.get(HEADER..length).unwrap_or_default(),
        }))
    }

    fn failed(&self, what: &str, error: io::Error) -> Error {
        Error::io(format!("{what} the interface {}", self.interface))(error)
    }

    /// A port filters group addresses that no program has asked for.
    fn join(&self, index: libc::c_int) -> io::Result<()> {
        // SAFETY: all fields of this plain C structure may be zero.
        let mut membership = unsafe { mem::zeroed::<libc::packet_mreq>() };
        membership.mr_ifindex = index;
        membership.mr_type = libc::PACKET_MR_MULTICAST as _;
        membership.mr_alen = PAE_GROUP_ADDRESS.len() as _;
        membership.mr_address[..6].copy_from_slice(&PAE_GROUP_ADDRESS);
        socket_option::set(
            self.socket.as_fd(),
            libc::SOL_PACKET,
            libc::PACKET_ADD_MEMBERSHIP,
            &membership,
        )
    }
}

impl AsFd for FrameSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
