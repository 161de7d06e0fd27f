//! Why a sidecar could not start, by whose fault.

use std::io;
use std::net::SocketAddr;

use bartizan_deployment::Node;

/// Why a sidecar could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Configuration: the deployment file has no such node.
    #[error("no node is called `{node}`")]
    UnknownNode {
        /// The name asked for.
        node: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// Configuration: the node has no sidecar in the deployment file.
    #[error("the node `{node}` has no sidecar")]
    NoSidecar {
        /// The node.
        node: String,
        /// Remedy.
        hint: String,
    },
    /// Configuration or environment: certificate, key, roots or revocation lists.
    #[error(transparent)]
    Credentials(#[from] bartizan_tls::Error),
    /// Environment: the ledger cannot be written.
    #[error(transparent)]
    Ledger(#[from] bartizan_ledger::Error),
    /// Environment: a port cannot be listened on.
    #[error("{listener} listener {address}: {source}")]
    Listen {
        /// `inbound`, `outbound`, `admin` or what SCTP needs.
        listener: &'static str,
        /// The listener's address.
        address: SocketAddr,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// Environment: the system gives no thread, or no event loop for it.
    #[error("a thread for handshakes or requests: {source}")]
    Thread {
        /// The system's error.
        #[source]
        source: io::Error,
    },
}

impl Error {
    pub(crate) fn no_sidecar(node: &Node) -> Self {
        Self::NoSidecar {
            node: node.name.to_string(),
            hint: node.without_sidecar(),
        }
    }

    /// Returns true if the user's configuration is at fault.
    #[must_use]
    pub fn is_configuration(&self) -> bool {
        match self {
            Self::UnknownNode { .. } | Self::NoSidecar { .. } => true,
            Self::Credentials(error) => !matches!(error, bartizan_tls::Error::Ours(_)),
            Self::Ledger(_) | Self::Listen { .. } | Self::Thread { .. } => false,
        }
    }

    /// Advice for the operator.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::UnknownNode { known, .. } => Some(format!("nodes with a sidecar are {}", known.join(", "))),
            Self::NoSidecar { hint, .. } => Some(hint.clone()),
            Self::Credentials(error) => error.hint().map(str::to_owned),
            Self::Thread { .. } => Some(
                "raise the limits of tasks and open files (TasksMax=, LimitNPROC=, LimitNOFILE=; ulimit -u, -n)"
                    .to_owned(),
            ),
            Self::Ledger(_) => Some("the ledger's folder must exist and be writable by this user".to_owned()),
            Self::Listen { address, source, .. } => Some(match source.kind() {
                io::ErrorKind::AddrInUse => {
                    format!(
                        "`ss -ltnp sport = :{}` shows who has it; each sidecar needs its own",
                        address.port()
                    )
                }
                io::ErrorKind::AddrNotAvailable => format!("no interface of this host has {}", address.ip()),
                _ if matches!(
                    source.raw_os_error(),
                    Some(libc::EPROTONOSUPPORT | libc::ESOCKTNOSUPPORT)
                ) =>
                {
                    "this kernel has no SCTP: load its module (`modprobe sctp`; some distributions have it in a \
                     package of extra modules)"
                        .to_owned()
                }
                io::ErrorKind::PermissionDenied => {
                    "ports below 1024 need CAP_NET_BIND_SERVICE; choose a higher one".to_owned()
                }
                _ => "see ip(7) for what the system means".to_owned(),
            }),
        }
    }
}
