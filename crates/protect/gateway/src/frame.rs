//! Frames between two nodes: what they say and how they are written.
//!
//! A frame has a header of eight octets, big-endian: type, flags, stream, length of what follows. A
//! carrier begins with [`Frame::Open`] or [`Frame::Resume`], which name the version; both ends of a
//! carrier speak the same. Where the carrier has streams, those of messages begin with
//! [`Frame::Lane`].
//!
//! The octets of frames are counted in each direction, on each stream, over all carriers of an
//! association. [`Frame::Resume`], [`Frame::Resumed`], [`Frame::Unknown`] and [`Frame::Lane`]
//! belong to one carrier and are not counted.

mod decoder;
mod encode;
#[cfg(test)]
mod tests;

pub use decoder::{Decoder, Malformed};

pub(crate) use encode::encode_fragment;

use crate::Cause;

/// The version of these frames.
pub const VERSION: u16 = 1;
/// Octets of user data in one frame at most: a TLS record's worth (RFC 8446, section 5.1).
pub const FRAGMENT: usize = 16 * 1024;
/// Octets of one user message at most: above what a kernel takes whole by its default buffers (212,992 octets).
pub const LARGEST_MESSAGE: usize = 256 * 1024;
/// Octets of user data that one node may send before the other has handed them to its function.
pub const WINDOW: usize = 2 * LARGEST_MESSAGE;
/// Administrative cost of a message, also of an empty one: each message takes this much of the
/// window on top of its data.
pub(crate) const MESSAGE_COST: usize = 64;

pub(crate) const HEADER: usize = 8;
/// Octets of [`Frame::Lane`].
pub(crate) const LANE_HEAD: usize = HEADER + 4;
/// Octets of [`Received`] before its lanes.
pub(crate) const RECEIVED_HEAD: usize = 12;
/// Octets of each of its lanes.
pub(crate) const RECEIVED_LANE: usize = 11;
/// Octets of [`Frame::Resume`] before what was received.
pub(crate) const RESUME_HEAD: usize = 2 + Token::LENGTH + 4;
/// Lanes of one direction at most.
pub(crate) const MOST_LANES: usize = 256;
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
    pub(crate) const RESUME: u8 = 15;
    pub(crate) const RESUMED: u8 = 16;
    pub(crate) const UNKNOWN: u8 = 17;
    pub(crate) const RECEIVED: u8 = 18;
    pub(crate) const MOVE: u8 = 19;
}

pub(crate) const UNORDERED: u8 = 1;
pub(crate) const LAST: u8 = 2;
/// On [`Frame::Received`]: of a lane.
pub(crate) const OF_LANE: u8 = 2;

/// By which the two nodes know an association: random octets of its initiator.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Token(pub [u8; Token::LENGTH]);

impl Token {
    /// Octets of a token.
    pub const LENGTH: usize = 16;
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

/// Octets that a node has received of an association, over all its carriers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Received {
    /// Restarts of the association before.
    pub restarts: u32,
    /// Octets of the association's life; of everything where the carrier is one stream.
    pub life: u64,
    /// Octets of each lane since the last restart.
    pub lanes: Vec<(Lane, u64)>,
}

/// The wish of an association's initiator to continue over a new carrier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resume {
    /// The association.
    pub token: Token,
    /// Number of the attempt: one that is not higher than the last is void.
    pub attempt: u32,
    /// Octets that the initiator has received.
    pub received: Received,
}

/// Order of a message with regard to others of its stream (the U bit of RFC 9260, section 3.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Order {
    /// In the order of its stream.
    Ordered,
    /// As it comes.
    Unordered,
}

/// Stream, payload protocol and order of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Delivery {
    /// Its stream identifier.
    pub stream: u16,
    /// Its payload protocol identifier, 0 included.
    pub payload_protocol: u32,
    /// Ordered or unordered delivery.
    pub order: Order,
}

/// Messages that keep their order, and wait for no others: those of one stream that are ordered, or those of it that are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lane {
    /// The stream identifier.
    pub stream: u16,
    /// Ordered or unordered delivery.
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
    /// Stream, payload protocol and order.
    pub delivery: Delivery,
    /// Its octets.
    pub bytes: Vec<u8>,
}

/// A piece of a user message. Those of one message follow each other; the last one says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fragment {
    /// Stream, payload protocol and order of the message.
    pub delivery: Delivery,
    /// At most [`FRAGMENT`] octets.
    pub bytes: Vec<u8>,
    /// True for the last piece of the message.
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

bartizan_registry::named! {
    /// State of one path of a multihomed association (RFC 6458, section 6.1.2).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum PathState, name {
        /// The address can be reached.
        Available = "available",
        /// It cannot.
        Unreachable = "unreachable",
        /// It was removed from the association.
        Removed = "removed",
        /// It was added to the association.
        Added = "added",
        /// It became the primary path.
        Primary = "primary",
        /// The peer has confirmed it.
        Confirmed = "confirmed",
    }
}

/// A frame between two nodes about an association.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// A function has opened an association: make the same towards yours. The first frame of a carrier.
    Open {
        /// [`VERSION`].
        version: u16,
        /// By which the association is known from then on.
        token: Token,
        /// Its stream counts.
        streams: Streams,
    },
    /// The association with the other function is established.
    Opened {
        /// Restarts of the association before.
        restarts: u32,
        /// The stream counts that the function granted.
        streams: Streams,
    },
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
    /// First frame of a carrier's stream: the messages that follow on it are of this lane, sent
    /// after so many restarts.
    Lane {
        /// The lane.
        lane: Lane,
        /// Restarts of the association before.
        restarts: u32,
    },
    /// The function has shut the association down after so many messages, which may be under way on other streams of the carrier.
    ShutdownAfter(u64),
    /// The association continues over this carrier: the first frame of the initiator, which waits
    /// for the answer.
    Resume {
        /// [`VERSION`].
        version: u16,
        /// Which one, and from where.
        resume: Resume,
    },
    /// The answer: octets that the responder has received.
    Resumed(Received),
    /// The other answer: there is no such association.
    Unknown,
    /// Octets received of a stream; the sender need not keep them.
    Received {
        /// The lane; none for the association's life.
        lane: Option<Lane>,
        /// Since the association began.
        octets: u64,
    },
    /// The responder wants the association to continue over a new carrier.
    Move,
}
