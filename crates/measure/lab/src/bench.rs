//! What a pair of proxies costs the requests that pass through it, ours beside others, in one interleaved run.
//!
//! ```text
//! client -- h2c --> proxy of the consumer == mTLS 1.3 ==> proxy of the producer -- h2c --> server
//! ```
//!
//! Client and server are our own, with as little between a request and the kernel as there can be, and the same for every route;
//! proxies are processes, configured to do the same: one worker, TLS 1.3, AES-256-GCM, both ends authenticated by certificates
//! of the same authority. [`run`] measures, [`figures`] says what it means.

mod client;
mod environment;
mod figure;
mod frame;
mod handshake;
mod hostile;
mod pair;
mod papers;
mod peer;
mod record;
mod route;
mod run;
mod server;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

pub use environment::{Environment, load_average};
pub use figure::{Figure, Name, Target, Verdict, figures};
pub(crate) use handshake::Ends;
pub use hostile::{
    HOSTILE_SCHEMA, HostileFigure, HostileOptions, HostileTrial, Hostility, attack, hostile_figures, run_hostile,
};
pub(crate) use pair::{Pair, Server};
pub(crate) use papers::Papers;
pub(crate) use peer::Reuse;
pub use peer::{Missing, Tools};
pub use record::{Cpu, Measured, Over, Record, SCHEMA};
pub use route::{Level, Mode, Placement, Proxy, Route, What};
pub(crate) use run::Site;
pub use run::{Extent, Observer, Options, run};
pub use server::serve;

/// Bytes of a request's body.
pub const REQUEST_BYTES: usize = 300;
/// Bytes of an answer's body.
pub const ANSWER_BYTES: usize = 1024;

/// Why something could not be measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The user asked for the end.
    #[error("interrupted")]
    Interrupted,
    /// A route cannot be connected to.
    #[error("connecting to {address}: {source}")]
    Connection {
        /// Where it begins.
        address: SocketAddr,
        /// What the kernel said.
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
    /// A transaction with an NRF.
    #[error(transparent)]
    Sbi(#[from] crate::stand_in::sbi::Error),
    /// Our own deployment file or credentials were refused: a mistake of ours.
    #[error("the bench's own configuration: {0}")]
    Configuration(String),
    /// A workload cannot be made ready, in the words of the process that tried.
    #[error("{error}")]
    Refused {
        /// Why.
        error: String,
        /// What to do about it.
        hint: Option<String>,
    },
    /// A file of the run.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
}

impl Error {
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |source| Self::File { path, source }
    }

    /// What the user can do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Host(error) => error.hint(),
            Self::Refused { hint, .. } => hint.clone(),
            Self::Sbi(error) => error.hint(),
            Self::File { .. } => Some("set TMPDIR to a folder that can be written, with some MB free".to_owned()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
