//! Shared parts of the HTTP/1.1 servers that commands run: places of connections and their eviction,
//! bounded bodies, answers, protection of browsers, a read-only endpoint without TLS, and the
//! consequences of panics.
#![forbid(unsafe_code)]

mod answer;
pub mod browser;
mod connections;
mod endpoint;
mod families;
mod panics;

pub use answer::{Answer, Body, body, not_allowed, plain, typed};
pub use connections::{Connections, Place, network};
pub use endpoint::{Answering, Endpoint, Serving, metrics};
pub use panics::{Contained, contained, contained_panics, containing, end_process_on_panic};
