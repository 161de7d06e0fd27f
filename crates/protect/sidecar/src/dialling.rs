//! Connections between sidecars: dialled, shaken hands on, kept warm.

pub(crate) mod backoff;
pub(crate) mod channel;
pub(crate) mod echo;
pub(crate) mod handshake;
pub(crate) mod quic;
pub(crate) mod refusing;
pub(crate) mod session;
pub(crate) mod tap;
#[cfg(test)]
mod tests;
pub(crate) mod turns;
pub(crate) mod warm;
