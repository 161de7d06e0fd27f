//! The proxy next to a network function: clear HTTP/2 on its own host, post-quantum TLS 1.3 between hosts.
//!
//! [`Sidecar::bind`] opens, and [`Bound::serve`] serves, the listeners that a node of the deployment file asks for. An outbound
//! listener takes what the network function sends and carries it to a peer's sidecar; an inbound listener takes what peers'
//! sidecars send and hands it to the network function. Each does so on one of two paths: `splice` copies bytes at the lowest cost, `http2` routes, pools and
//! counts requests one by one. `docs/sidecar.md` describes both, `docs/sidecar-reference.md` their bounds and what they count.
#![deny(unsafe_code)]

mod admin;
mod answers;
mod dialling;
mod error;
mod life;
mod listening;
mod metrics;
mod paths;
mod routing;
mod runtime;
mod shared;
mod sidecar;
#[cfg(test)]
mod tests {
    pub(crate) mod stage;
}
pub mod traces;
mod worker;

pub use dialling::echo::{Answer, Echoed, echo};
pub use error::Error;
pub use life::handover;
pub use life::reload::Reloaded;
pub use sidecar::{Bound, Running, Sidecar};
