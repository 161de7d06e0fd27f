//! Questions to the kernel over netlink(7).

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};

use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket};

/// From linux/netlink.h.
const ERROR: u16 = 2;
const DONE: u16 = 3;
const REQUEST: u16 = 1;
pub(crate) const ACKNOWLEDGE: u16 = 4;
pub(crate) const DUMP: u16 = 0x300;
/// Length of a message's header.
const HEADER: usize = 16;

/// A request of this kind, with what is behind its header.
pub(crate) fn request(kind: u16, flags: u16, content: &[u8]) -> Vec<u8> {
    let length = HEADER + content.len();
    let mut message = Vec::with_capacity(length);
    message.extend(u32::try_from(length).unwrap_or_default().to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend((REQUEST | flags).to_ne_bytes());
    // No number and no port: one question at a time on a socket of its own.
    message.extend([0; 8]);
    message.extend(content);
    message
}

/// Asks the kernel, and hands on what each message of the answer has behind its header. The request asks for all there is ([`DUMP`]) or for an
/// acknowledgement, which ends the answer.
pub(crate) fn exchange(protocol: SockProtocol, message: &[u8], each: &mut dyn FnMut(&[u8])) -> io::Result<()> {
    let socket: OwnedFd = socket(
        AddressFamily::Netlink,
        SockType::Datagram,
        SockFlag::SOCK_CLOEXEC,
        protocol,
    )?;
    send(socket.as_raw_fd(), message, MsgFlags::empty())?;
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let length = recv(socket.as_raw_fd(), &mut buffer, MsgFlags::empty())?;
        let mut rest = &buffer[..length];
        while let Some((header, _)) = rest.split_first_chunk::<HEADER>() {
            let [a, b, c, d, e, f, ..] = *header;
            let whole = usize::try_from(u32::from_ne_bytes([a, b, c, d])).unwrap_or(usize::MAX);
            let Some(content) = rest.get(HEADER..whole) else {
                return Err(io::ErrorKind::InvalidData.into());
            };
            match u16::from_ne_bytes([e, f]) {
                DONE => return Ok(()),
                ERROR => {
                    let code = content
                        .first_chunk::<4>()
                        .map_or(libc::EPROTO, |code| -i32::from_ne_bytes(*code));
                    return if code == 0 {
                        Ok(())
                    } else {
                        Err(io::Error::from_raw_os_error(code))
                    };
                }
                _ => each(content),
            }
            // Messages begin at multiples of four.
            rest = rest.get(whole.next_multiple_of(4)..).unwrap_or_default();
        }
    }
}
