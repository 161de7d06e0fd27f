//! Shared parts of the HTTP/1.1 servers that commands run: places of connections and their eviction,
//! bounded bodies, answers, and a read-only endpoint without TLS.
#![forbid(unsafe_code)]

mod answer;
mod connections;
mod endpoint;

pub use answer::{Answer, Body, body, not_allowed, plain, typed};
pub use connections::{Connections, Place, network};
pub use endpoint::{Answering, Endpoint, Serving, metrics};
