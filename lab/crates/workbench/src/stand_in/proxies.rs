//! Pairs of proxies with a client and a server of our own around them, for the workloads that compare them.
//!
//! ```text
//! client -- h2c --> proxy of the consumer == mTLS 1.3 ==> proxy of the producer -- h2c --> server
//! ```
//!
//! Client and server are our own, with as little between a request and the kernel as there can be,
//! and the same for every route; proxies are processes, configured to do the same: one worker (but
//! where several are what is measured), TLS 1.3, AES-256-GCM, both ends authenticated by
//! certificates of the same authority.

mod client;
mod frame;
mod handshake;
mod hostile;
mod pair;
mod papers;
mod peer;
mod route;
mod server;
mod site;
mod traced;
mod workers;

pub(crate) use handshake::Ends;
pub(crate) use hostile::Arena;
pub use hostile::{Hostility, attack};
pub(crate) use pair::{Pair, Server};
pub(crate) use papers::Papers;
pub(crate) use peer::Reuse;
pub use peer::{Missing, Tools, product};
pub use route::{Level, Mode, Placement, Proxy, Route, What};
pub use server::serve;
pub(crate) use site::{Cpu, Measured, Site};
pub(crate) use traced::Traced;
pub(crate) use workers::Crowd;

/// Bytes of a request's body.
pub const REQUEST_BYTES: usize = 300;
/// Bytes of an answer's body.
pub const ANSWER_BYTES: usize = 1024;

#[cfg(test)]
mod tests;
