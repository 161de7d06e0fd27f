//! Listening sockets that outlive a process, so that a sidecar is restarted without a moment in
//! which no process listens.
//!
//! A connection that is established while no process accepts waits in the queue of its listening socket, for as long as any process
//! holds that socket. Two routes keep it held. systemd passes sockets that it opened itself, or
//! that the previous process gave it to keep ([`passed_by_systemd`], `Notify::keep`). A running
//! sidecar passes its own sockets to its successor through a Unix socket ([`ask`], [`Post`]). Both
//! serve until the predecessor has drained. Sockets that were not passed are opened, so a start
//! after `kill -9` needs nothing that was left behind.

mod associations;
mod pass;
mod post;
mod sockets;
mod successor;
mod systemd;

use std::io;
use std::path::PathBuf;

pub use associations::Successor;
pub use post::Post;
pub(crate) use post::{LISTENER, SCTP, UDP};
pub use sockets::Sockets;
pub use successor::{Predecessor, ask};
pub use systemd::{Notify, passed_by_systemd};

/// Why sockets could not be handed over.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Environment: systemd passes sockets, and they are none a sidecar could listen on.
    #[error("file descriptor {descriptor} that systemd passes: {source}")]
    Passed {
        /// Its number.
        descriptor: i32,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// Environment: the Unix socket cannot be made or used.
    #[error("{}: {source}", path.display())]
    Socket {
        /// Its path.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// Environment: a process listens there that is not trusted with this node's connections.
    #[error("{}: belongs to the user {uid}", path.display())]
    Foreign {
        /// Its path.
        path: PathBuf,
        /// User of the process that listens there.
        uid: u32,
    },
    /// Configuration: the sidecar that listens there does not hand over.
    #[error("{}: the sidecar that runs refuses: {why}", path.display())]
    Refused {
        /// Its path.
        path: PathBuf,
        /// Its answer.
        why: String,
    },
}

impl Error {
    /// Advice for the operator.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Passed { .. } => {
                "a socket unit of a sidecar has ListenStream= with the listeners of the deployment file, and nothing else"
            }
            Self::Socket { .. } => {
                "name a socket in a folder that this user may write to, and that others may not, as /run/bartizan/NODE.sock"
            }
            Self::Foreign { .. } => "remove it, or name another socket in a folder that nobody else may write to",
            Self::Refused { .. } => {
                "each node has a socket of its own; try again when the one that runs has done what it is at"
            }
        }
    }
}
