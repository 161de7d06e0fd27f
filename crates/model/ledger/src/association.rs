//! SCTP associations that were carried between two nodes.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::record::{Bytes, Direction, Key};

/// The end of an SCTP association that a gateway carried over a protected connection, or could not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Association {
    /// The key of the connection that carried it; absent where there was none.
    pub key: Option<Key>,
    /// The interface of the standards: `N2`.
    pub interface: String,
    /// Outbound where the writer's function opened it.
    pub direction: Direction,
    /// The node at the other end.
    pub peer: String,
    /// The function's end of its association with the writer; absent where none was established.
    pub function: Option<SocketAddr>,
    /// Stream counts of that association; absent where none was established.
    pub streams: Option<StreamCounts>,
    /// A stable word for how it ended: `shutdown`, `aborted`, `carrier-lost`.
    pub ending: String,
    /// The same in a sentence.
    pub detail: String,
    /// User messages sent to the peer and received from it.
    pub messages: Bytes,
    /// Their octets.
    pub bytes: Bytes,
    /// Messages sent that the other function was not known to have acknowledged at the end.
    pub unacknowledged: u64,
    /// Messages received that this node's function did not take.
    pub undelivered: u64,
    /// Microseconds from the beginning.
    pub lasted_us: u64,
}

/// Stream counts of an association (RFC 9260, section 3.3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamCounts {
    /// From its initiator.
    pub outbound: u16,
    /// To its initiator.
    pub inbound: u16,
}
