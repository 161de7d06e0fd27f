//! Questions to the kernel over netlink(7), and orders.

mod changes;
mod listener;
mod request;

use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};

use nix::sys::socket::{MsgFlags, recv, send};
use socket2::{Domain, Protocol, Socket, Type};

pub use changes::InterfaceChanges;
pub use listener::Listener;
pub use request::{Attributes, Family, Refused, Request, attribute, attributes, family, text};

/// From linux/netlink.h.
const ERROR: u16 = 2;
const DONE: u16 = 3;
const REQUEST: u16 = 1;
const ACKNOWLEDGE: u16 = 4;
const DUMP: u16 = 0x300;
/// The flag of a listing during which something changed.
const INCONSISTENT: u16 = 0x10;
/// Length of a message's header.
const HEADER: usize = 16;
/// Flags of an answer: the request is not repeated in it, and attributes say more about the error.
const CAPPED: u16 = 0x100;
const EXTENDED: u16 = 0x200;
/// The attribute with the kernel's words about an error.
const MESSAGE: u16 = 1;

/// The header of a request. No number and no port: one question at a time on a socket of its own.
fn header(kind: u16, flags: u16, length: usize) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..4].copy_from_slice(&u32::try_from(length).unwrap_or_default().to_ne_bytes());
    header[4..6].copy_from_slice(&kind.to_ne_bytes());
    header[6..8].copy_from_slice(&(REQUEST | flags).to_ne_bytes());
    header
}

/// The same with the kernel's words about an error. A listing that ends with an error, or during
/// which something changed, is one
/// ([`io::ErrorKind::Interrupted`]): it may lack anything.
fn ask(protocol: i32, message: &[u8], strict: bool, each: &mut dyn FnMut(&[u8])) -> Result<(), Refused> {
    let domain = Domain::from(libc::AF_NETLINK);
    let socket: OwnedFd = Socket::new(domain, Type::DGRAM, Some(Protocol::from(protocol)))?.into();
    // An old kernel has no such words; the error number is there all the same.
    let _ = request::with_words(socket.as_fd());
    if strict {
        // An old kernel lists more than was asked for.
        let _ = request::strictly(socket.as_fd());
    }
    send(socket.as_raw_fd(), message, MsgFlags::empty()).map_err(io::Error::from)?;
    let mut inconsistent = false;
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let length = recv(socket.as_raw_fd(), &mut buffer, MsgFlags::empty()).map_err(io::Error::from)?;
        let mut rest = &buffer[..length];
        while let Some((header, _)) = rest.split_first_chunk::<HEADER>() {
            let [a, b, c, d, e, f, g, h, ..] = *header;
            let whole = usize::try_from(u32::from_ne_bytes([a, b, c, d])).unwrap_or(usize::MAX);
            let Some(content) = rest.get(HEADER..whole) else {
                return Err(io::Error::from(io::ErrorKind::InvalidData).into());
            };
            let flags = u16::from_ne_bytes([g, h]);
            inconsistent |= flags & INCONSISTENT != 0;
            match u16::from_ne_bytes([e, f]) {
                kind @ (DONE | ERROR) => {
                    let absent = if kind == DONE { 0 } else { libc::EPROTO };
                    let code = content
                        .first_chunk::<4>()
                        .map_or(absent, |code| -i32::from_ne_bytes(*code));
                    return if code == 0 && inconsistent {
                        Err(io::Error::from(io::ErrorKind::Interrupted).into())
                    } else if code <= 0 {
                        Ok(())
                    } else {
                        Err(Refused {
                            source: io::Error::from_raw_os_error(code),
                            words: words(content, flags),
                        })
                    };
                }
                _ => each(content),
            }
            // Messages begin at multiples of four.
            rest = rest.get(whole.next_multiple_of(4)..).unwrap_or_default();
        }
    }
}

/// Gives the messages of a datagram that the kernel has sent by itself; it ends where what is left is none.
fn messages(datagram: &[u8], each: &mut dyn FnMut(u16, &[u8])) {
    let mut rest = datagram;
    while let Some((&[a, b, c, d, e, f, ..], _)) = rest.split_first_chunk::<HEADER>() {
        let whole = usize::try_from(u32::from_ne_bytes([a, b, c, d])).unwrap_or(usize::MAX);
        let Some(content) = rest.get(HEADER..whole) else {
            return;
        };
        each(u16::from_ne_bytes([e, f]), content);
        // Messages begin at multiples of four.
        rest = rest.get(whole.next_multiple_of(4)..).unwrap_or_default();
    }
}

/// The kernel's words in an error message: behind the code, and the request or its header.
fn words(content: &[u8], flags: u16) -> Option<String> {
    if flags & EXTENDED == 0 {
        return None;
    }
    let request = content.get(4..)?;
    let repeated = match flags & CAPPED {
        0 => usize::try_from(u32::from_ne_bytes(*request.first_chunk()?)).ok()?,
        _ => HEADER,
    };
    let rest = request.get(repeated.next_multiple_of(4)..)?;
    Some(text(attribute(rest, MESSAGE)?).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request of this kind, with what is behind its header.
    fn request(kind: u16, flags: u16, content: &[u8]) -> Vec<u8> {
        let length = HEADER + content.len();
        let mut message = Vec::with_capacity(length);
        message.extend(header(kind, flags, length));
        message.extend(content);
        message
    }

    #[test]
    fn messages_of_a_datagram_are_given_one_by_one_until_one_is_cut_off() {
        let mut bytes = [request(23, 0, &[1, 2, 3]), vec![0], request(24, 0, &[])].concat();
        bytes.extend(request(25, 0, &[9; 40]));
        bytes.truncate(bytes.len() - 1);
        let mut given = Vec::new();
        messages(&bytes, &mut |kind, content| given.push((kind, content.to_vec())));
        assert_eq!(given, [(23, vec![1, 2, 3]), (24, Vec::new())]);
        messages(&[0; HEADER], &mut |_, _| panic!("a header of no length"));
    }

    #[test]
    fn words_of_the_kernel_are_found_behind_a_request_that_is_repeated_or_cut() {
        let words_of_it = [&[14, 0, 1, 0][..], b"too small\0", &[0, 0]].concat();
        let cut = [&(-22i32).to_ne_bytes()[..], &header(5, 0, 99), &words_of_it].concat();
        assert_eq!(words(&cut, CAPPED | EXTENDED).as_deref(), Some("too small"));
        let whole = request(5, 0, &[1; 8]);
        let repeated = [&(-22i32).to_ne_bytes()[..], &whole, &words_of_it].concat();
        assert_eq!(words(&repeated, EXTENDED).as_deref(), Some("too small"));
        assert_eq!(words(&repeated, 0), None);
        assert_eq!(words(&[0; 7], EXTENDED), None);
    }
}
