//! Messages with what belongs to them: `sendmsg` and `recvmsg` with the control messages of RFC 6458, section 5.3.

use std::io;
use std::mem::{self, MaybeUninit};
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::ptr;

use socket2::Socket;

use crate::socket_option;

use super::{Association, LARGEST_MESSAGE, Ordering, PIECE};

/// A user message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The stream it goes on or came on.
    pub stream: u16,
    /// Payload protocol identifier that the sender gives; the standard value of E2AP is in the
    /// registry, and some senders say 0.
    pub payload_protocol: u32,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// Result of [`Association::receive`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arrival {
    /// A whole message.
    Message(Message),
    /// Nothing yet: it would have to wait, or has waited long enough.
    Nothing,
    /// The peer sends nothing more.
    End,
}

/// Result of one `recvmsg`.
pub(super) struct Received {
    pub(super) length: usize,
    pub(super) flags: libc::c_int,
    /// The message that the piece belongs to; none for a notification.
    pub(super) information: Option<PieceOf>,
    /// True if the kernel says that something waits behind it; it does where it was asked to.
    pub(super) followed: bool,
}

/// The message that a piece belongs to.
pub(super) struct PieceOf {
    pub(super) stream: u16,
    pub(super) payload_protocol: u32,
    pub(super) ordering: Ordering,
}

/// Room for two control messages of at most 48 octets with their headers, aligned as a cmsghdr must be.
type Control = [MaybeUninit<u64>; 12];

impl Association {
    /// Hands a message to the kernel, which takes all of it or nothing.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] where the association does not block and its room is full; when it is gone.
    pub fn send(&self, stream: u16, payload_protocol: u32, bytes: &[u8]) -> io::Result<()> {
        self.send_flagged(stream, payload_protocol, 0, bytes)
    }

    pub(super) fn send_flagged(&self, stream: u16, payload_protocol: u32, flags: u16, bytes: &[u8]) -> io::Result<()> {
        let information = libc::sctp_sndinfo {
            snd_sid: stream,
            snd_flags: flags,
            // The kernel passes it on as it is; on the wire it is big-endian.
            snd_ppid: payload_protocol.to_be(),
            snd_context: 0,
            snd_assoc_id: 0,
        };
        let mut part = libc::iovec {
            iov_base: bytes.as_ptr().cast_mut().cast(),
            iov_len: bytes.len(),
        };
        let mut control: Control = [MaybeUninit::uninit(); 12];
        // SAFETY: all fields of this plain C structure may be zero.
        let mut message = unsafe { mem::zeroed::<libc::msghdr>() };
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        let length = mem::size_of::<libc::sctp_sndinfo>() as libc::c_uint;
        // SAFETY: only computes a length; that of `control` is larger.
        message.msg_controllen = unsafe { libc::CMSG_SPACE(length) } as _;
        // SAFETY: the control buffer has room for this one message, so the header is not null; its
        // data may be unaligned.
        unsafe {
            let header = libc::CMSG_FIRSTHDR(&raw const message);
            (*header).cmsg_level = libc::IPPROTO_SCTP;
            (*header).cmsg_type = libc::SCTP_SNDINFO;
            (*header).cmsg_len = libc::CMSG_LEN(length) as _;
            ptr::write_unaligned(libc::CMSG_DATA(header).cast(), information);
        }
        loop {
            // SAFETY: every pointer in `message` refers to a live local or to `bytes`, which sendmsg only reads.
            let sent = unsafe { libc::sendmsg(self.socket.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) };
            match usize::try_from(sent) {
                Ok(sent) if sent == bytes.len() => return Ok(()),
                Ok(sent) => return Err(io::Error::other(format!("{sent} of {} bytes were taken", bytes.len()))),
                Err(_) => match io::Error::last_os_error() {
                    error if error.kind() == io::ErrorKind::Interrupted => {}
                    error => return Err(error),
                },
            }
        }
    }

    /// The next message.
    ///
    /// # Errors
    /// When the association was aborted or lost, or a message has more than a megabyte.
    pub fn receive(&mut self) -> io::Result<Arrival> {
        self.buffer.resize(PIECE, 0);
        loop {
            let Received {
                length,
                flags,
                information,
                ..
            } = match piece(&self.socket, &mut self.buffer) {
                Ok(received) => received,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Arrival::Nothing),
                Err(error) => return Err(error),
            };
            if length == 0 {
                return Ok(Arrival::End);
            }
            if flags & libc::MSG_NOTIFICATION != 0 {
                continue;
            }
            if self.partial.len() + length > LARGEST_MESSAGE {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("a message of more than {LARGEST_MESSAGE} bytes"),
                ));
            }
            self.partial.extend_from_slice(&self.buffer[..length]);
            if flags & libc::MSG_EOR == 0 {
                continue;
            }
            let PieceOf {
                stream,
                payload_protocol,
                ..
            } = information
                .ok_or_else(|| io::Error::other("the kernel does not say on which stream a message came"))?;
            return Ok(Arrival::Message(Message {
                stream,
                payload_protocol,
                bytes: mem::take(&mut self.partial),
            }));
        }
    }
}

/// One `recvmsg`.
pub(super) fn piece(socket: &Socket, buffer: &mut [u8]) -> io::Result<Received> {
    let mut part = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    let mut control: Control = [MaybeUninit::uninit(); 12];
    // SAFETY: all fields of this plain C structure may be zero.
    let mut message = unsafe { mem::zeroed::<libc::msghdr>() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control) as _;
    // SAFETY: every pointer in `message` refers to a live local or to `buffer` with its true length.
    let received = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, 0) };
    let Ok(received) = usize::try_from(received) else {
        return Err(io::Error::last_os_error());
    };
    // SAFETY: `message` was filled by the kernel and its control buffer is still alive.
    let (information, followed) = unsafe { information(&message) };
    Ok(Received {
        length: received,
        flags: message.msg_flags,
        information,
        followed,
    })
}

/// The message that a piece belongs to, and whether something waits behind it, by the control
/// messages.
///
/// # Safety
/// `message` was filled by `recvmsg` and its control buffer is alive.
unsafe fn information(message: &libc::msghdr) -> (Option<PieceOf>, bool) {
    let (mut piece, mut followed) = (None, false);
    // SAFETY: see above; CMSG_FIRSTHDR and CMSG_NXTHDR stay inside the control buffer and return null at its end, and
    // CMSG_DATA may be unaligned, hence read_unaligned.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(message);
        while !header.is_null() {
            match ((*header).cmsg_level, (*header).cmsg_type) {
                (libc::IPPROTO_SCTP, libc::SCTP_RCVINFO) => {
                    let information = ptr::read_unaligned(libc::CMSG_DATA(header).cast::<libc::sctp_rcvinfo>());
                    let unordered = information.rcv_flags & libc::SCTP_UNORDERED as u16 != 0;
                    piece = Some(PieceOf {
                        stream: information.rcv_sid,
                        payload_protocol: u32::from_be(information.rcv_ppid),
                        ordering: if unordered {
                            Ordering::Unordered
                        } else {
                            Ordering::Ordered
                        },
                    });
                }
                (libc::IPPROTO_SCTP, libc::SCTP_NXTINFO) => followed = true,
                _ => {}
            }
            header = libc::CMSG_NXTHDR(message, header);
        }
    }
    (piece, followed)
}

/// Sets an option of SCTP to a plain C value.
pub(super) fn set<T: Copy>(socket: &Socket, option: libc::c_int, value: &T) -> io::Result<()> {
    socket_option::set(socket.as_fd(), libc::IPPROTO_SCTP, option, value)
}
