//! Errors of measurements, of stand-ins and of starting processes.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Reason why a measurement failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The user asked for the end.
    #[error("interrupted")]
    Interrupted,
    /// A route cannot be connected to.
    #[error("connecting to {address}: {source}")]
    Connection {
        /// Address at which it begins.
        address: SocketAddr,
        /// The kernel's error.
        source: io::Error,
    },
    /// A connection broke, or said nothing in time.
    #[error("the connection broke: {0}")]
    Broken(io::Error),
    /// The other side did not answer as HTTP/2 and the bench have it.
    #[error("the answer is wrong: {0}")]
    Protocol(String),
    /// A TLS handshake did not end well.
    #[error("the handshake failed: {0}")]
    Handshake(String),
    /// The environment: processes, pinning, lab roots.
    #[error(transparent)]
    Host(#[from] bartizan_host::Error),
    /// Certificates could not be made.
    #[error(transparent)]
    Certificates(#[from] bartizan_pki::Error),
    /// A MACsec device.
    #[error(transparent)]
    Macsec(#[from] bartizan_macsec::Error),
    /// A transaction with an NRF.
    #[error(transparent)]
    Sbi(#[from] crate::stand_in::sbi::Error),
    /// Our own deployment file or credentials were refused: a mistake of ours.
    #[error("the bench's own configuration: {0}")]
    Configuration(String),
    /// A workload cannot be made ready, in the words of the process that tried.
    #[error("{error}")]
    Refused {
        /// Reason, in the words of that process.
        error: String,
        /// Hint for the user.
        hint: Option<String>,
    },
    /// A file of the run.
    #[error("{path}: {source}")]
    File {
        /// Path of the file.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
}

impl Error {
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |source| Self::File { path, source }
    }

    /// Hint for the user.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Host(error) => error.hint(),
            Self::Macsec(error) => error.hint(),
            Self::Refused { hint, .. } => hint.clone(),
            Self::Sbi(error) => error.hint(),
            Self::File { .. } => Some("set TMPDIR to a folder that can be written, with some MB free".to_owned()),
            _ => None,
        }
    }
}
