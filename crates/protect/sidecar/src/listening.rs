//! Listeners and admission: who may connect, how many, and which thread answers.

pub(crate) mod accept;
pub(crate) mod admission;
pub(crate) mod associations;
pub(crate) mod failures;
pub(crate) mod hand_out;
pub(crate) mod handshake_threads;
pub(crate) mod inbound;
pub(crate) mod outbound;
pub(crate) mod quic;
pub(crate) mod socket;
pub(crate) mod transparent;
pub(crate) mod waiting;

#[cfg(test)]
mod tests;
