//! Playing an exchange again: a [`Responder`] is the network functions that were called, [`play`] those that call.
//!
//! Between them may be nothing, or a pair of sidecars: each end only needs to know where to listen and where to
//! connect. Both check every byte: the responder answers only a request that was recorded, body included, and the
//! player takes only the answer that was recorded.

use std::collections::BTreeMap;
use std::net::SocketAddr;

mod channel;
mod clock;
mod lingering;
mod player;
mod record;
mod responder;
mod script;

pub use player::{Speed, play};
pub use record::{ConnectionRecord, Fault, Outcome, RequestRecord};
pub use responder::{Answered, Behaviour, Idle, Responder, Think};

/// Address of each network function, by its type: the responder itself, or the port of a sidecar.
pub type Targets = BTreeMap<String, SocketAddr>;

/// Reason why a replay cannot begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The exchange calls a network function for which no address was given.
    #[error("the exchange calls {server}, and no address is given for it")]
    NoAddress {
        /// Its type.
        server: String,
    },
    /// A socket, a thread or a runtime could not be had.
    #[error("{action}: {source}")]
    Io {
        /// The failed action.
        action: &'static str,
        /// The system's error.
        source: std::io::Error,
    },
}

impl Error {
    fn io(action: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io { action, source }
    }
}

#[cfg(test)]
mod tests;
