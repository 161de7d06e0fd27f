//! Packets of an interface, as they come.

use std::time::Duration;

use crate::Error;

mod feed;
mod socket;

pub use feed::{Batch, Fed, Feed, Frame, interfaces};
pub use socket::{Packet, PacketSocket, Side};

/// Bytes of a packet that are kept at most: as tcpdump does, more than any packet has.
pub const SNAP_LENGTH: usize = 262_144;

/// Time that a read waits on the socket before the stop flag is read again.
const WAIT: Duration = Duration::from_millis(20);

/// Opens a packet socket on the loopback of the calling thread's namespace and closes it.
pub(crate) fn try_on_loopback() -> Result<(), Error> {
    PacketSocket::open("lo").map(drop)
}
