//! Why an endpoint could not be made: by whose fault.

use std::io;
use std::path::PathBuf;

use bartizan_deployment::InterfaceKind;

/// Errors of an endpoint, before any packet.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The environment: a file cannot be read.
    #[error("{}: {source}", file.display())]
    Unreadable {
        /// The file as the deployment names it.
        file: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// Configuration: certificate, key, roots or revocation lists are not what the deployment needs.
    #[error("{place}: {cause}")]
    Credentials {
        /// The file, or `certificate`, `key`, `roots`, `crl` where the bytes came from elsewhere.
        place: String,
        /// The flaw in a sentence.
        cause: String,
        /// Advice for the operator.
        hint: String,
    },
    /// Configuration: no interface that a sidecar protects joins this node to that one.
    #[error("no {} interface with a sidecar joins this node to `{peer}`", interface.name())]
    UnknownPeer {
        /// The name asked for.
        peer: String,
        /// The interface asked for.
        interface: InterfaceKind,
    },
    /// Configuration: a policy asks for a validated cryptographic module, and this build has none.
    #[error(
        "{} requires a validated cryptographic module, and this build has {}",
        .0,
        crate::module()
    )]
    Module(String),
    /// Ours: rustls refused a configuration made here.
    #[error("TLS configuration: {0}")]
    Ours(#[from] rustls::Error),
}

impl Error {
    /// Advice for the operator, where there is more to say than the message does.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Unreadable { .. } => Some("check the path in the deployment file and the permissions of the file"),
            Self::Credentials { hint, .. } => Some(hint),
            Self::UnknownPeer { .. } => Some("add `{ kind: SBI, between: [...], with: sidecar }` to interfaces"),
            Self::Module(_) => Some(
                "remove `module: validated` where no validation is owed; a build with a validated module does not exist yet",
            ),
            Self::Ours(_) => Some("this is a fault of bartizan: please report it with the deployment file"),
        }
    }
}
