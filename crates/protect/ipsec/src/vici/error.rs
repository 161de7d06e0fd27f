//! Why charon did not do what it was asked, by whose fault.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use super::message::{Malformed, TooLong};

/// Failures between this process and charon.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The environment: no process listens on the socket.
    #[error("no charon answers on {}", .0.display())]
    Absent(PathBuf),
    /// The environment: the socket is there and may not be used.
    #[error("{} cannot be used: {source}", socket.display())]
    Socket {
        /// The socket that was tried.
        socket: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// charon understood and said no.
    #[error("charon refused {command}: {reason}")]
    Refused {
        /// The command.
        command: String,
        /// Its own words.
        reason: String,
    },
    /// charon has no such command or event: too old, or built without.
    #[error("this charon has no `{0}`")]
    Unknown(String),
    /// charon said nothing for too long.
    #[error("charon did not answer {command} within {within:?}")]
    Stalled {
        /// The command.
        command: String,
        /// Time limit of the answer.
        within: Duration,
    },
    /// The bytes are not VICI, or not an answer.
    #[error("what answers {command} is no charon: {cause}")]
    Nonsense {
        /// The command.
        command: String,
        /// The flaw.
        cause: Malformed,
    },
    /// charon closed the connection before it answered.
    #[error("charon went away during {0}")]
    Died(String),
    /// Ours: what was to be said does not fit.
    #[error(transparent)]
    TooLong(#[from] TooLong),
}

impl Error {
    /// Returns true if another connection to the same socket may do better: charon was away, and
    /// did not refuse.
    #[must_use]
    pub fn is_absence(&self) -> bool {
        matches!(self, Self::Absent(_) | Self::Died(_) | Self::Stalled { .. })
    }
}
