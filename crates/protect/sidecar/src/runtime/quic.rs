//! QUIC on the event loop for what carries associations: one task for a socket and all connections over it.
//!
//! The protocol is quinn's (`quinn-proto`), which does no input or output. quinn's own driver has a task, a timer and a channel of packets for
//! each connection, which hold more than the protocol does; here a packet goes from the socket to its connection, and what connections have
//! to say leaves when those that packets woke have had their turn.

mod congestion;
mod connection;
mod driver;
mod endpoint;
mod socket;

pub(crate) use self::congestion::Signalling;
pub(crate) use self::connection::{Connection, StreamError};
pub(crate) use self::endpoint::{Endpoint, Incoming};

#[cfg(test)]
mod tests;
