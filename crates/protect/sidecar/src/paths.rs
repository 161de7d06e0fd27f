//! The three paths: bytes by `splice`, requests by `http2`, SCTP associations by `sctp`; and the network function at their end.

pub(crate) mod function;
pub(crate) mod http2;
pub(crate) mod sctp;
pub(crate) mod splice;
