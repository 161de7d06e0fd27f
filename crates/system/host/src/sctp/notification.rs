//! Notifications of the kernel about an association: RFC 6458, section 6.1, in the layout of linux/sctp.h.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Bits of linux/sctp.h: `SCTP_SN_TYPE_BASE` and what counts from there.
mod kind {
    pub(super) const ASSOCIATION_CHANGE: u16 = 0x8001;
    pub(super) const PEER_ADDRESS_CHANGE: u16 = 0x8002;
    pub(super) const SEND_FAILED: u16 = 0x8003;
    pub(super) const SHUTDOWN: u16 = 0x8005;
    pub(super) const PARTIAL_DELIVERY: u16 = 0x8006;
}

/// Octets of `struct sockaddr_storage`.
const SOCKADDR_STORAGE: usize = 128;
/// User-Initiated Abort (RFC 9260, section 3.3.10.12).
const USER_INITIATED_ABORT: u16 = 12;

/// A change in an association's state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notification {
    /// It is established, with so many streams from us and to us.
    Up(Streams),
    /// The peer has restarted it: what was under way is void.
    Restarted(Streams),
    /// It was aborted or lost.
    Lost(ErrorCause),
    /// Its shutdown is complete.
    ShutDownComplete,
    /// The peer sends nothing more.
    ShutDown,
    /// A path changed its state.
    Path {
        /// The peer's address.
        address: Option<IpAddr>,
        /// Its state.
        state: PathState,
    },
    /// A message could not be sent.
    SendFailed {
        /// Its stream.
        stream: u16,
        /// The error cause.
        code: u32,
    },
    /// The rest of a message that was received in part does not come.
    PartialDeliveryAborted,
    /// Something that was not asked for.
    Other(u16),
}

/// Stream counts as the kernel negotiated them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Streams {
    /// From us.
    pub outbound: u16,
    /// To us.
    pub inbound: u16,
}

/// State of a path, as the kernel numbers them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PathState {
    /// The address can be reached.
    Available,
    /// It cannot.
    Unreachable,
    /// It was removed from the association.
    Removed,
    /// It was added to the association.
    Added,
    /// It became the primary path.
    Primary,
    /// The peer has confirmed it.
    Confirmed,
    /// A state this reader does not know.
    Other(u32),
}

/// Reason why an association was lost.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ErrorCause {
    /// The error cause of the peer's ABORT (RFC 9260, section 3.3.10); 0 where it had none or there was none.
    pub code: u16,
    /// The reason that a User-Initiated Abort gives.
    pub reason: String,
}

/// Whole numbers in the machine's own byte order.
fn short(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

impl Notification {
    /// Reads one; none where it is too short for its type.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        Some(match short(bytes, 0)? {
            kind::ASSOCIATION_CHANGE => {
                let streams = Streams {
                    outbound: short(bytes, 12)?,
                    inbound: short(bytes, 14)?,
                };
                match short(bytes, 8)? {
                    0 => Self::Up(streams),
                    2 => Self::Restarted(streams),
                    3 => Self::ShutDownComplete,
                    // Lost, or never established.
                    _ => Self::Lost(ErrorCause::read(bytes.get(20..).unwrap_or_default())),
                }
            }
            kind::PEER_ADDRESS_CHANGE => Self::Path {
                address: address(bytes.get(8..8 + SOCKADDR_STORAGE)?),
                state: match long(bytes, 8 + SOCKADDR_STORAGE)? {
                    0 => PathState::Available,
                    1 => PathState::Unreachable,
                    2 => PathState::Removed,
                    3 => PathState::Added,
                    4 => PathState::Primary,
                    5 => PathState::Confirmed,
                    other => PathState::Other(other),
                },
            },
            kind::SEND_FAILED => Self::SendFailed {
                code: long(bytes, 8)?,
                stream: short(bytes, 12)?,
            },
            kind::SHUTDOWN => Self::ShutDown,
            kind::PARTIAL_DELIVERY => Self::PartialDeliveryAborted,
            other => Self::Other(other),
        })
    }
}

impl ErrorCause {
    /// The first cause in what the kernel passes on of an ABORT chunk: its causes, after the
    /// chunk's header or without it.
    fn read(mut bytes: &[u8]) -> Self {
        const ABORT: u8 = 6;
        if bytes.first() == Some(&ABORT) {
            bytes = bytes.get(4..).unwrap_or_default();
        }
        let &[a, b, c, d, ref rest @ ..] = bytes else {
            return Self::default();
        };
        let (code, length) = (u16::from_be_bytes([a, b]), usize::from(u16::from_be_bytes([c, d])));
        let reason = rest.get(..length.saturating_sub(4)).unwrap_or(rest);
        Self {
            code,
            reason: if code == USER_INITIATED_ABORT {
                String::from_utf8_lossy(reason).trim_end_matches('\0').to_owned()
            } else {
                String::new()
            },
        }
    }
}

/// The address of a `struct sockaddr_storage`.
fn address(bytes: &[u8]) -> Option<IpAddr> {
    match i32::from(short(bytes, 0)?) {
        libc::AF_INET => Some(Ipv4Addr::from(<[u8; 4]>::try_from(bytes.get(4..8)?).ok()?).into()),
        libc::AF_INET6 => Some(Ipv6Addr::from(<[u8; 16]>::try_from(bytes.get(8..24)?).ok()?).into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn change(state: u16, info: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend_from_slice(&kind::ASSOCIATION_CHANGE.to_ne_bytes());
        bytes.extend_from_slice(&[0; 2]);
        bytes.extend_from_slice(&(20 + info.len() as u32).to_ne_bytes());
        for number in [state, 0, 30, 10] {
            bytes.extend_from_slice(&number.to_ne_bytes());
        }
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(info);
        bytes
    }

    #[test]
    fn changes_of_an_association_are_read_with_its_stream_counts() {
        let streams = Streams {
            outbound: 30,
            inbound: 10,
        };
        assert_eq!(Notification::read(&change(0, &[])), Some(Notification::Up(streams)));
        assert_eq!(
            Notification::read(&change(2, &[])),
            Some(Notification::Restarted(streams))
        );
        assert_eq!(
            Notification::read(&change(3, &[])),
            Some(Notification::ShutDownComplete)
        );
    }

    #[test]
    fn the_reason_of_an_abort_is_read_with_and_without_the_chunk_s_header() {
        let lost = |info: &[u8]| match Notification::read(&change(1, info)) {
            Some(Notification::Lost(cause)) => cause,
            other => panic!("{other:?}"),
        };
        let expected = ErrorCause {
            code: 12,
            reason: "gNB stops".to_owned(),
        };
        assert_eq!(lost(b"\x00\x0c\x00\x0dgNB stops\0\0\0"), expected);
        assert_eq!(lost(b"\x06\x00\x00\x11\x00\x0c\x00\x0dgNB stops\0\0\0"), expected);
        assert_eq!(lost(b""), ErrorCause::default());
        assert_eq!(lost(b"\x00\x04\x00\x04").code, 4);
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(bytes in vec(any::<u8>(), 0..300), known in 0x8000..0x800a_u16) {
            let _ = Notification::read(&bytes);
            let mut typed = known.to_ne_bytes().to_vec();
            typed.extend_from_slice(&bytes);
            let _ = Notification::read(&typed);
        }
    }
}
