//! Why the transparent way in cannot be set up, by whose fault.

use bartizan_host::Error as Host;

/// Why rules could not be derived, written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Configuration: the deployment file does not describe a transparent way in that would hold.
    #[error("{place}: {cause}")]
    Configuration {
        /// Place, as a path of keys: `nodes.amf.sidecar.outbound`.
        place: String,
        /// The fault in a sentence.
        cause: String,
        /// Advice for the operator.
        hint: String,
    },
    /// Environment: a program that writes or lists the rules is not there, may not, or failed; nothing of that transaction is installed.
    #[error(transparent)]
    Host(#[from] bartizan_host::Error),
}

impl Error {
    /// Returns true if the user's configuration is at fault.
    #[must_use]
    pub fn is_configuration(&self) -> bool {
        matches!(self, Self::Configuration { .. })
    }

    /// Advice for the operator.
    pub fn hint(&self) -> String {
        match self {
            Self::Configuration { hint, .. } => hint.clone(),
            Self::Host(Host::NotPermitted(_)) => {
                "run it as root, or with CAP_NET_ADMIN in the network function's own namespace; \
                 `--dry-run` prints the rules without writing them"
                    .to_owned()
            }
            Self::Host(error) if error.is_interface_down() => {
                "loopback is down in this network namespace: `ip link set lo up`".to_owned()
            }
            Self::Host(Host::Io { source, .. }) if source.raw_os_error() == Some(libc::EOPNOTSUPP) => {
                "the kernel needs policy routing (CONFIG_IP_MULTIPLE_TABLES); `--no-fence` does without".to_owned()
            }
            Self::Host(Host::Failed { .. } | Host::Unfit { .. }) => {
                "`--dry-run` prints the rules; nftables 0.9.8 or later is needed, and nf_tables with nat, reject and inet support in the \
                 kernel"
                    .to_owned()
            }
            Self::Host(error) => error.hint().unwrap_or_else(|| "`--dry-run` prints the rules".to_owned()),
        }
    }
}
