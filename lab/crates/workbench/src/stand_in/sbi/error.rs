//! Errors of a transaction, by whose fault.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use http::StatusCode;

/// Reason why a transaction failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Configuration: not the address of an NRF.
    #[error("`{url}` is not the address of an NRF: {reason}")]
    Url {
        /// The given text.
        url: String,
        /// Description of the fault.
        reason: String,
    },
    /// Configuration: a name that cannot be resolved.
    #[error("{url}: {source}")]
    Unresolved {
        /// URL of the NRF.
        url: String,
        /// The resolver's error.
        source: io::Error,
    },
    /// Configuration: this deployment cannot be played so.
    #[error("{0}")]
    Unplayable(String),
    /// Environment: the address does not answer TCP.
    #[error("connecting to {url}: {source}")]
    Unreachable {
        /// URL of the NRF.
        url: String,
        /// The kernel's error.
        source: io::Error,
    },
    /// The TLS handshake failed.
    #[error("TLS with {url}: {detail}")]
    Tls {
        /// URL of the NRF.
        url: String,
        /// Error of rustls or of our own checks.
        detail: String,
        /// Hint for the user.
        hint: String,
    },
    /// The peer does not speak HTTP/2.
    #[error("{url} does not speak HTTP/2: {detail}")]
    NotHttp2 {
        /// URL of the NRF.
        url: String,
        /// Description of the response.
        detail: String,
    },
    /// The connection broke before the answer was there.
    #[error("{what} at {url}: the connection broke: {detail}")]
    Broken {
        /// Name of the request.
        what: String,
        /// URL of the NRF.
        url: String,
        /// Description of the failure.
        detail: String,
    },
    /// No answer in time.
    #[error("{what} at {url}: no answer within {within:?}")]
    Late {
        /// Name of the request.
        what: String,
        /// URL of the NRF.
        url: String,
        /// The time limit.
        within: Duration,
    },
    /// The NRF answered, and not as asked.
    #[error("{what} at {url}: answered {status}{detail}")]
    Answered {
        /// Name of the request: `registration (PUT /nnrf-nfm/v1/...)`.
        what: String,
        /// URL of the NRF.
        url: String,
        /// The status.
        status: StatusCode,
        /// Detail from the body, begun with a separator; empty if the body has none.
        detail: String,
    },
    /// The NRF answered with the right status and the wrong content.
    #[error("{what} at {url}: {reason}")]
    Shape {
        /// Name of the request.
        what: String,
        /// URL of the NRF.
        url: String,
        /// Description of the fault.
        reason: String,
    },
    /// Our own configuration was refused: a mistake of ours.
    #[error("the lab's own configuration: {0}")]
    Configuration(String),
    /// Certificates could not be made.
    #[error(transparent)]
    Certificates(#[from] bartizan_pki::Error),
    /// Credentials or roots.
    #[error(transparent)]
    Credentials(#[from] bartizan_tls::Error),
    /// The environment: processes, ports.
    #[error(transparent)]
    Host(#[from] bartizan_host::Error),
    /// A file.
    #[error("{}: {source}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// A runtime, a socket.
    #[error("{action}: {source}")]
    Io {
        /// The failed action.
        action: &'static str,
        /// The kernel's error.
        source: io::Error,
    },
}

impl Error {
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |source| Self::File { path, source }
    }

    pub(crate) fn io(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, source }
    }

    /// Hint for the user.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let said = match self {
            Self::Url { .. } => "write http://HOST:PORT or https://HOST:PORT, for example http://10.100.200.2:8000",
            Self::Unresolved { .. } => "write the NRF's IP address, or a name that resolves here",
            Self::Unreachable { .. } => {
                "is an NRF listening there, and may this host reach it? free5GC: `sbi` in nrfcfg.yaml; Open5GS: `sbi` in nrf.yaml"
            }
            Self::NotHttp2 { .. } => {
                "an NRF speaks HTTP/2: with http:// by prior knowledge, with https:// by ALPN h2. Does the scheme fit, and is this its SBI port and not a console?"
            }
            Self::Answered { status, .. } => match status.as_u16() {
                401 => {
                    "the NRF asks for an OAuth 2.0 access token, which the lab does not fetch: switch it off for the measurement (free5GC: `oauth: false` under `sbi` of nrfcfg.yaml)"
                }
                403 => {
                    "the NRF does not let this client do that: is the type of function or the client's certificate allowed?"
                }
                404 => {
                    "is this an NRF? It must have /nnrf-nfm/v1/nf-instances and /nnrf-disc/v1/nf-instances, without a prefix"
                }
                _ => return None,
            },
            Self::Shape { .. } => "is this an NRF's SBI port, and not a console or a gateway before it?",
            Self::Tls { hint, .. } => hint,
            Self::Credentials(error) => return error.hint().map(str::to_owned),
            Self::Host(error) => return error.hint(),
            Self::File { .. } => "set TMPDIR to a folder that can be written, with some MB free",
            _ => return None,
        };
        Some(said.to_owned())
    }
}
