//! The two paths: bytes by `splice`, requests by `http2`; and the network function at their end.

pub(crate) mod function;
pub(crate) mod http2;
pub(crate) mod splice;
