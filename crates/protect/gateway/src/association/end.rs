//! Ends of associations.

use crate::{Cause, Malformed};

/// End of an association, with the fate of its messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// Why.
    pub ending: Ending,
    /// Its messages.
    pub totals: Totals,
}

/// Messages of an association, over its restarts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Sent to the peer node.
    pub sent: u64,
    /// Their octets.
    pub sent_octets: u64,
    /// Received for the function and taken by its socket.
    pub received: u64,
    /// Their octets.
    pub received_octets: u64,
    /// Sent messages that the other function was not known to have acknowledged at the end.
    pub unacknowledged: u64,
    /// Received whole, and not taken by the function's socket before the end.
    pub undelivered: u64,
}

/// Why an association ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// A function shut it down, and the other one followed.
    ShutDown,
    /// This node's function aborted it, lost it or did not answer.
    Aborted(Cause),
    /// The peer node ended it, or its function did.
    PeerAborted(Cause),
    /// The peer node did not open the other association in time.
    NotOpened,
    /// The peer node sent nothing for as long as it may.
    Silent,
    /// The carrier ended before the association did.
    CarrierLost(String),
    /// No protected connection to the peer node came about.
    NoCarrier(String),
    /// The peer node sent what is no frame.
    Malformed(Malformed),
    /// The peer node sent a frame that does not belong there.
    Unexpected(&'static str),
    /// The peer speaks another version of frames.
    Version(u16),
    /// A message for a stream that the function's association does not have.
    NoStream {
        /// The stream.
        stream: u16,
        /// Number of streams that it has.
        granted: u16,
    },
    /// A message of more octets than [`crate::LARGEST_MESSAGE`].
    TooLarge,
    /// The node ends it: it drains, or the peer is no longer admitted.
    Dismissed(String),
}

impl Ending {
    /// A word for logs and metrics. It never changes.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::ShutDown => "shutdown",
            Self::Aborted(_) => "aborted",
            Self::PeerAborted(_) => "peer-aborted",
            Self::NotOpened => "not-opened",
            Self::Silent => "silent",
            Self::CarrierLost(_) => "carrier-lost",
            Self::NoCarrier(_) => "no-carrier",
            Self::Malformed(_) => "malformed",
            Self::Unexpected(_) => "unexpected",
            Self::Version(_) => "version",
            Self::NoStream { .. } => "no-stream",
            Self::TooLarge => "too-large",
            Self::Dismissed(_) => "dismissed",
        }
    }

    /// Cause of the ABORT to the function.
    pub fn cause(&self) -> Cause {
        let text = match self {
            Self::ShutDown => "shut down".to_owned(),
            Self::Aborted(cause) | Self::PeerAborted(cause) => return cause.clone(),
            Self::NotOpened => "the peer node did not reach its function in time".to_owned(),
            Self::Silent => "the peer node is silent".to_owned(),
            Self::CarrierLost(detail) => format!("the connection to the peer node was lost: {detail}"),
            Self::NoCarrier(detail) => format!("no protected connection to the peer node: {detail}"),
            Self::Malformed(malformed) => format!("the peer node sent a {malformed}"),
            Self::Unexpected(what) => format!("the peer node sent {what}"),
            Self::Version(version) => {
                format!("frames of version {version}, and this node speaks {}", crate::VERSION)
            }
            Self::NoStream { stream, granted } => {
                format!("a message on stream {stream}, and the function's association has {granted} streams")
            }
            Self::TooLarge => format!("a message of more than {} octets", crate::LARGEST_MESSAGE),
            Self::Dismissed(detail) => detail.clone(),
        };
        Cause::of_node(&text)
    }

    /// Returns true if an ABORT frame can reach the peer node, and is news to it.
    pub(super) const fn peer_can_be_determined(&self) -> bool {
        !matches!(
            self,
            Self::ShutDown | Self::CarrierLost(_) | Self::NoCarrier(_) | Self::PeerAborted(_)
        )
    }
}
