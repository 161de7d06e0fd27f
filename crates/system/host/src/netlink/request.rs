//! Requests with attributes, as rtnetlink(7) and generic netlink take them. A request may hold a
//! key: it is wiped when it is dropped.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;

use zeroize::Zeroizing;

use crate::socket_option;

use super::{ACKNOWLEDGE, DUMP, HEADER, ask, header};

/// Room that is taken at once: a buffer that grew would leave a copy of its content behind.
const ROOM: usize = 2048;
/// Listings that are asked for until one is consistent.
const TRIES: usize = 8;
/// Bytes of an attribute's header, and the mark of one that holds others (linux/netlink.h).
const ATTRIBUTE: usize = 4;
const NESTED: u16 = 1 << 15;
const KIND: u16 = 0x3fff;
/// The controller of generic netlink (linux/genetlink.h): its family, the question for one by name,
/// the attributes of the answer.
const CONTROLLER: u16 = 0x10;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;
/// Bytes of the header that generic netlink adds: command, version, two reserved.
const GENERIC: usize = 4;

/// The part of the kernel that a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Interfaces, addresses and routes.
    Route,
    /// A family of generic netlink.
    Generic,
    /// IPsec: security associations and policies.
    Xfrm,
    /// Rules of the packet filter.
    Netfilter,
    /// Sockets of other processes.
    Sockets,
}

impl Family {
    pub(super) fn protocol(self) -> i32 {
        match self {
            Self::Route => libc::NETLINK_ROUTE,
            Self::Generic => libc::NETLINK_GENERIC,
            Self::Xfrm => libc::NETLINK_XFRM,
            Self::Netfilter => libc::NETLINK_NETFILTER,
            Self::Sockets => libc::NETLINK_SOCK_DIAG,
        }
    }
}

/// The kernel's refusal of a request.
#[derive(Debug, thiserror::Error)]
#[error("{source}{}", .words.as_ref().map(|words| format!(": {words}")).unwrap_or_default())]
pub struct Refused {
    /// The error.
    #[source]
    pub source: io::Error,
    /// The kernel's own words about it, where it has any.
    pub words: Option<String>,
}

impl From<io::Error> for Refused {
    fn from(source: io::Error) -> Self {
        Self { source, words: None }
    }
}

/// A request that is being written.
#[must_use]
pub struct Request {
    family: Family,
    kind: u16,
    bytes: Zeroizing<Vec<u8>>,
    strict: bool,
}

impl fmt::Debug for Request {
    /// Without its content, which may be a key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (family, kind, length) = (self.family, self.kind, self.bytes.len());
        write!(f, "Request({family:?}, type {kind}, {length} bytes)")
    }
}

impl Request {
    /// A request of this type, with the fixed header that its family has in front of attributes.
    pub fn new(family: Family, kind: u16, fixed: &[u8]) -> Self {
        let mut bytes = Zeroizing::new(Vec::with_capacity(ROOM));
        bytes.extend([0; HEADER]);
        bytes.extend(fixed);
        Self {
            family,
            kind,
            bytes,
            strict: false,
        }
    }

    /// A command of a family of generic netlink.
    pub fn generic(family: u16, command: u8, version: u8) -> Self {
        Self::new(Family::Generic, family, &[command, version, 0, 0])
    }

    /// Has the kernel list no more than the request's header and attributes ask for, where it can
    /// (Linux 4.20).
    pub fn strict(mut self) -> Self {
        self.strict = true;
        self
    }

    /// Adds an attribute, filled up to a multiple of four bytes.
    pub fn attribute(mut self, kind: u16, content: &[u8]) -> Self {
        let length = u16::try_from(ATTRIBUTE + content.len()).unwrap_or(u16::MAX);
        self.bytes.extend(length.to_ne_bytes());
        self.bytes.extend(kind.to_ne_bytes());
        self.bytes.extend(content);
        let filled = self.bytes.len().next_multiple_of(4);
        self.bytes.resize(filled, 0);
        self
    }

    /// Adds an attribute that holds those which `inside` adds.
    pub fn nested(mut self, kind: u16, inside: impl FnOnce(Self) -> Self) -> Self {
        let begins = self.bytes.len();
        self = self.attribute(kind | NESTED, &[]);
        self = inside(self);
        let length = u16::try_from(self.bytes.len() - begins).unwrap_or(u16::MAX);
        self.bytes[begins..begins + 2].copy_from_slice(&length.to_ne_bytes());
        self
    }

    /// Asks the kernel to do it, in the network namespace of the calling thread.
    ///
    /// # Errors
    ///
    /// The error of the system call.
    pub fn order(mut self, flags: u16) -> Result<(), Refused> {
        self.send(ACKNOWLEDGE | flags, &mut |_| ())
    }

    /// Asks for one thing; each message of the answer is handed on without its header.
    ///
    /// # Errors
    ///
    /// The error of the system call.
    pub fn ask(mut self, each: &mut dyn FnMut(&[u8])) -> Result<(), Refused> {
        self.send(ACKNOWLEDGE, each)
    }

    /// Asks for all there is. A listing during which something changed may lack anything, so it is
    /// repeated, and nothing of it is handed on.
    ///
    /// # Errors
    ///
    /// The error of the system call; [`io::ErrorKind::Interrupted`] where each of eight listings
    /// was inconsistent.
    pub fn list(mut self, each: &mut dyn FnMut(&[u8])) -> Result<(), Refused> {
        consistent(|message| self.send(DUMP, message), each)
    }

    fn send(&mut self, flags: u16, each: &mut dyn FnMut(&[u8])) -> Result<(), Refused> {
        let length = self.bytes.len();
        self.bytes[..HEADER].copy_from_slice(&header(self.kind, flags, length));
        ask(self.family.protocol(), &self.bytes, self.strict, each)
    }
}

/// Hands on the messages of the first listing during which nothing changed.
fn consistent(
    mut listing: impl FnMut(&mut dyn FnMut(&[u8])) -> Result<(), Refused>,
    each: &mut dyn FnMut(&[u8]),
) -> Result<(), Refused> {
    let mut tries = 1;
    loop {
        let mut messages = Vec::new();
        match listing(&mut |message| messages.push(message.to_vec())) {
            Ok(()) => {
                messages.iter().for_each(|message| each(message));
                return Ok(());
            }
            Err(refused) if tries < TRIES && refused.source.kind() == io::ErrorKind::Interrupted => tries += 1,
            Err(refused) => return Err(refused),
        }
    }
}

/// The number that the kernel has given to a family of generic netlink; none where it has no such
/// family. Its module is loaded by the question.
///
/// # Errors
///
/// The error of the system call.
pub fn family(name: &str) -> Result<Option<u16>, Refused> {
    let mut found = None;
    let asked = Request::generic(CONTROLLER, GET_FAMILY, 1).attribute(FAMILY_NAME, &[name.as_bytes(), &[0]].concat());
    let done = asked.ask(&mut |message| {
        let id = attribute(message.get(GENERIC..).unwrap_or_default(), FAMILY_ID);
        found = id.and_then(|id| Some(u16::from_ne_bytes(id.try_into().ok()?)));
    });
    match done {
        Ok(()) => Ok(found),
        Err(refused) if refused.source.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(refused) => Err(refused),
    }
}

/// Attributes one behind the other: type and content of each.
#[derive(Debug, Clone)]
pub struct Attributes<'a>(&'a [u8]);

/// Reads attributes; it ends where what is left is none.
pub fn attributes(bytes: &[u8]) -> Attributes<'_> {
    Attributes(bytes)
}

/// The content of the first attribute of a kind.
pub fn attribute(bytes: &[u8], wanted: u16) -> Option<&[u8]> {
    attributes(bytes).find_map(|(kind, content)| (kind == wanted).then_some(content))
}

/// The text of an attribute, which ends with a zero byte.
pub fn text(content: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(content.split(|&byte| byte == 0).next().unwrap_or_default())
}

impl<'a> Iterator for Attributes<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let &[a, b, c, d] = self.0.first_chunk::<ATTRIBUTE>()?;
        let length = usize::from(u16::from_ne_bytes([a, b]));
        let content = self.0.get(ATTRIBUTE..length)?;
        self.0 = self.0.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((u16::from_ne_bytes([c, d]) & KIND, content))
    }
}

/// Has the kernel take the header and attributes of a listing's request for filters
/// (linux/netlink.h).
pub(super) fn strictly(socket: BorrowedFd<'_>) -> io::Result<()> {
    const GET_STRICT_CHK: libc::c_int = 12;
    let on: libc::c_int = 1;
    socket_option::set(socket, libc::SOL_NETLINK, GET_STRICT_CHK, &on)
}

/// Asks the kernel to say more about errors than their number, and to repeat no request in them: it may hold a key.
pub(super) fn with_words(socket: BorrowedFd<'_>) -> io::Result<()> {
    for option in [libc::NETLINK_EXT_ACK, libc::NETLINK_CAP_ACK] {
        let on: libc::c_int = 1;
        socket_option::set(socket, libc::SOL_NETLINK, option, &on)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn attributes_of_a_request_are_read_as_they_were_written() {
        let request = Request::generic(0x20, 4, 1)
            .attribute(1, &[1, 2, 3, 4])
            .nested(3, |inside| inside.attribute(1, &[7]).attribute(4, b"key"))
            .attribute(5, &[]);
        let read: Vec<_> = attributes(&request.bytes[HEADER + GENERIC..]).collect();
        assert_eq!(read[0], (1, &[1, 2, 3, 4][..]));
        assert_eq!((read[1].0, read[2]), (3, (5, &[][..])));
        let inside: Vec<_> = attributes(read[1].1).collect();
        assert_eq!(inside, [(1, &[7][..]), (4, &b"key"[..])]);
        assert!(!format!("{request:?}").contains("107"), "no content in {request:?}");
    }

    #[test]
    fn kernel_has_its_controller_and_no_family_of_a_made_up_name() {
        assert_eq!(family("nlctrl").unwrap(), Some(CONTROLLER));
        assert_eq!(family("bartizan-none").unwrap(), None);
    }

    #[test]
    fn listing_during_which_something_changed_is_repeated_and_nothing_of_it_is_handed_on() {
        let asked = |inconsistent: usize| {
            let (mut tries, mut given) = (0, Vec::new());
            let done = consistent(
                |message| {
                    tries += 1;
                    message(&[u8::try_from(tries).unwrap()]);
                    if tries > inconsistent {
                        Ok(())
                    } else {
                        Err(io::Error::from(io::ErrorKind::Interrupted).into())
                    }
                },
                &mut |message| given.extend(message),
            );
            (done.map_err(|refused| refused.source.kind()), tries, given)
        };
        assert_eq!(asked(0), (Ok(()), 1, vec![1]));
        assert_eq!(asked(2), (Ok(()), 3, vec![3]));
        assert_eq!(asked(TRIES), (Err(io::ErrorKind::Interrupted), TRIES, vec![]));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_to_an_end(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            prop_assert!(attributes(&bytes).count() <= bytes.len() / ATTRIBUTE);
        }
    }
}
