//! SCTP (RFC 9260): packets and chunks, and what associations carry.
//!
//! A packet is read by [`packet`], its chunks by [`Packet::chunks`]. A [`Tracker`] follows an
//! association through both directions, at any addresses of its ends, and gives an [`Association`].
//! User messages that were cut into several DATA or I-DATA chunks are counted as one; their bytes
//! are put together for the handshake of DTLS, and for SSH. In other protocols only the first is
//! read.

mod association;
mod chunk;
mod dtls;
mod named;
mod sent;
mod ssh;
mod tracker;

pub use crate::dtls::Dtls;
pub use association::{Association, Begun, Event, Roles};
pub use chunk::{Chunk, Data, Init, Packet, Sack, kind, packet};
pub use named::Named;
pub use sent::{Delays, Sent};
pub use tracker::Tracker;

#[cfg(test)]
mod tests;
