//! Frames between two nodes: what they say and how they are written.
//!
//! A frame has a header of eight octets, big-endian: type, flags, stream, length of what follows. A carrier begins with [`Frame::Open`],
//! which names the version; both ends of a carrier speak the same. Where the carrier has streams, those of messages begin with
//! [`Frame::Lane`].

mod decoder;
#[cfg(test)]
mod tests;

pub use decoder::{Decoder, Malformed};

use crate::Cause;

/// The version of these frames.
pub const VERSION: u16 = 1;
/// Octets of user data in one frame at most: a TLS record's worth (RFC 8446, section 5.1).
pub const FRAGMENT: usize = 16 * 1024;
/// Octets of one user message at most: above what a kernel takes whole by its default buffers (212,992 octets).
pub const LARGEST_MESSAGE: usize = 256 * 1024;
/// Octets of user data that one node may send before the other has handed them to its function.
pub const WINDOW: usize = 2 * LARGEST_MESSAGE;
/// What an empty message or its administration costs: each message takes this much of the window on top of its data.
pub(crate) const MESSAGE_COST: usize = 64;

pub(crate) const HEADER: usize = 8;
/// Octets of [`Frame::Lane`].
pub(crate) const LANE_HEAD: usize = HEADER + 4;
/// Payload protocol identifier before the data of a message.
pub(crate) const PPID: usize = 4;

pub(crate) mod kind {
    pub(crate) const OPEN: u8 = 1;
    pub(crate) const OPENED: u8 = 2;
    pub(crate) const MESSAGE: u8 = 3;
    pub(crate) const CREDIT: u8 = 4;
    pub(crate) const DELIVERED: u8 = 5;
    pub(crate) const ALIVE: u8 = 6;
    pub(crate) const SHUTDOWN: u8 = 7;
    pub(crate) const CLOSED: u8 = 8;
    pub(crate) const ABORT: u8 = 9;
    pub(crate) const RESTART: u8 = 10;
    pub(crate) const PATH: u8 = 11;
    pub(crate) const SEND_FAILED: u8 = 12;
    pub(crate) const LANE: u8 = 13;
    pub(crate) const SHUTDOWN_AFTER: u8 = 14;
}

pub(crate) const UNORDERED: u8 = 1;
pub(crate) const LAST: u8 = 2;

/// Whether a message may overtake others of its stream (the U bit of RFC 9260, section 3.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Order {
    /// In the order of its stream.
    Ordered,
    /// As it comes.
    Unordered,
}

/// Where a message belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Delivery {
    /// Its stream identifier.
    pub stream: u16,
    /// Its payload protocol identifier, 0 included.
    pub payload_protocol: u32,
    /// Whether it is ordered.
    pub order: Order,
}

/// Messages that keep their order, and wait for no others: those of one stream that are ordered, or those of it that are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lane {
    /// The stream identifier.
    pub stream: u16,
    /// Whether they are ordered.
    pub order: Order,
}

impl From<Delivery> for Lane {
    fn from(Delivery { stream, order, .. }: Delivery) -> Self {
        Self { stream, order }
    }
}

/// A user message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Where it belongs.
    pub delivery: Delivery,
    /// Its octets.
    pub bytes: Vec<u8>,
}

/// A piece of a user message. Those of one message follow each other; the last one says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fragment {
    /// Where the message belongs.
    pub delivery: Delivery,
    /// At most [`FRAGMENT`] octets.
    pub bytes: Vec<u8>,
    /// Whether the message ends with it.
    pub last: bool,
}

/// Stream counts of an association, as its initiator counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Streams {
    /// From the initiator.
    pub outbound: u16,
    /// To the initiator.
    pub inbound: u16,
}

/// State of one path of a multihomed association (RFC 6458, section 6.1.2).
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
}

impl PathState {
    pub(crate) const ALL: [Self; 6] = [
        Self::Available,
        Self::Unreachable,
        Self::Removed,
        Self::Added,
        Self::Primary,
        Self::Confirmed,
    ];

    /// The state in a word, for logs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Available => "available",
            Self::Unreachable => "unreachable",
            Self::Removed => "removed",
            Self::Added => "added",
            Self::Primary => "primary",
            Self::Confirmed => "confirmed",
        }
    }
}

/// What one node sends to the other about an association.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// A function has opened an association: make the same towards yours. The first frame of a carrier.
    Open {
        /// [`VERSION`].
        version: u16,
        /// Its stream counts.
        streams: Streams,
    },
    /// The association with the other function is established.
    Opened(Streams),
    /// A piece of a message.
    Message(Fragment),
    /// So many octets more may be sent.
    Credit(u32),
    /// So many messages of this association were acknowledged by the function.
    Delivered(u64),
    /// Nothing else to say: the carrier is alive.
    Alive,
    /// The function has shut the association down; all it had to say came before.
    Shutdown,
    /// The shutdown is complete.
    Closed,
    /// The association has ended at once.
    Abort(Cause),
    /// The function has restarted its association (RFC 9260, section 5.2): do the same. What was under way is void.
    Restart(Streams),
    /// A path to the function changed its state.
    Path(PathState),
    /// The function's kernel could not send a message of this stream.
    SendFailed {
        /// The message's stream.
        stream: u16,
        /// The error cause.
        code: u16,
    },
    /// What follows on this stream of the carrier are messages of this lane, sent after so many restarts.
    Lane {
        /// The lane.
        lane: Lane,
        /// Restarts of the association before.
        restarts: u32,
    },
    /// The function has shut the association down after so many messages, which may be under way on other streams of the carrier.
    ShutdownAfter(u64),
}

impl Streams {
    fn octets(self) -> [u8; 4] {
        let [a, b] = self.outbound.to_be_bytes();
        let [c, d] = self.inbound.to_be_bytes();
        [a, b, c, d]
    }
}

impl Frame {
    /// Appends the frame as it goes over the carrier.
    ///
    /// # Panics
    /// Where a fragment has more than [`FRAGMENT`] octets: a fault of the caller.
    pub fn encode(&self, to: &mut Vec<u8>) {
        match self {
            Self::Open { version, streams } => {
                header(to, kind::OPEN, 0, 0, 6);
                to.extend_from_slice(&version.to_be_bytes());
                to.extend_from_slice(&streams.octets());
            }
            Self::Opened(streams) => {
                header(to, kind::OPENED, 0, 0, 4);
                to.extend_from_slice(&streams.octets());
            }
            Self::Message(fragment) => encode_fragment(to, fragment.delivery, &fragment.bytes, fragment.last),
            Self::Credit(octets) => {
                header(to, kind::CREDIT, 0, 0, 4);
                to.extend_from_slice(&octets.to_be_bytes());
            }
            Self::Delivered(messages) => {
                header(to, kind::DELIVERED, 0, 0, 8);
                to.extend_from_slice(&messages.to_be_bytes());
            }
            Self::Alive => header(to, kind::ALIVE, 0, 0, 0),
            Self::Shutdown => header(to, kind::SHUTDOWN, 0, 0, 0),
            Self::Closed => header(to, kind::CLOSED, 0, 0, 0),
            Self::Abort(cause) => {
                let text = cause.text().as_bytes();
                header(to, kind::ABORT, 0, 0, 2 + text.len());
                to.extend_from_slice(&cause.code().to_be_bytes());
                to.extend_from_slice(text);
            }
            Self::Restart(streams) => {
                header(to, kind::RESTART, 0, 0, 4);
                to.extend_from_slice(&streams.octets());
            }
            Self::Path(state) => {
                let number = PathState::ALL.iter().position(|known| known == state);
                header(to, kind::PATH, number.unwrap_or_default() as u8, 0, 0);
            }
            Self::SendFailed { stream, code } => {
                header(to, kind::SEND_FAILED, 0, *stream, 2);
                to.extend_from_slice(&code.to_be_bytes());
            }
            Self::Lane { lane, restarts } => {
                header(to, kind::LANE, order_flag(lane.order), lane.stream, 4);
                to.extend_from_slice(&restarts.to_be_bytes());
            }
            Self::ShutdownAfter(messages) => {
                header(to, kind::SHUTDOWN_AFTER, 0, 0, 8);
                to.extend_from_slice(&messages.to_be_bytes());
            }
        }
    }
}

/// Appends a piece of a message without a copy of its own.
pub(crate) fn encode_fragment(to: &mut Vec<u8>, delivery: Delivery, bytes: &[u8], last: bool) {
    assert!(bytes.len() <= FRAGMENT, "a fragment of {} octets", bytes.len());
    let flags = order_flag(delivery.order) | if last { LAST } else { 0 };
    header(to, kind::MESSAGE, flags, delivery.stream, PPID + bytes.len());
    to.extend_from_slice(&delivery.payload_protocol.to_be_bytes());
    to.extend_from_slice(bytes);
}

const fn order_flag(order: Order) -> u8 {
    match order {
        Order::Ordered => 0,
        Order::Unordered => UNORDERED,
    }
}

fn header(to: &mut Vec<u8>, kind: u8, flags: u8, stream: u16, length: usize) {
    to.extend_from_slice(&[kind, flags]);
    to.extend_from_slice(&stream.to_be_bytes());
    // No frame is longer than a fragment.
    to.extend_from_slice(&(length as u32).to_be_bytes());
}
