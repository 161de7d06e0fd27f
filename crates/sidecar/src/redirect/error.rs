//! Why the transparent way in cannot be set up, by whose fault.

use std::io;

/// Why rules could not be derived, written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Configuration: the deployment file does not describe a transparent way in that would hold.
    #[error("{place}: {cause}")]
    Configuration {
        /// Where, as a path of keys: `nodes.amf.sidecar.outbound`.
        place: String,
        /// What is wrong there.
        cause: String,
        /// What to do next.
        hint: String,
    },
    /// Environment: a program that writes the rules is not there.
    #[error("the program `{program}` is not installed")]
    MissingProgram {
        /// The program as it is called.
        program: &'static str,
        /// The package that has it in Debian.
        package: &'static str,
    },
    /// Environment: this user may not change the host's packet filter or routing.
    #[error("`{program}` may not change this host's network: {said}")]
    NotPermitted {
        /// The program that was refused.
        program: &'static str,
        /// Its own words.
        said: String,
    },
    /// Environment: the program ran and failed; nothing of that transaction is in force.
    #[error("`{program}` refused: {said}")]
    Refused {
        /// The program.
        program: &'static str,
        /// Its own words.
        said: String,
    },
    /// Environment: the program could not be run or talked to.
    #[error("running `{program}`: {source}")]
    Run {
        /// The program.
        program: &'static str,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Environment: the answer is not what this version of the program is known to print.
    #[error("`{program}` printed what cannot be read: {detail}")]
    Unreadable {
        /// The program.
        program: &'static str,
        /// Where reading stopped.
        detail: String,
    },
}

impl Error {
    /// Whether what the user wrote is at fault.
    #[must_use]
    pub fn is_configuration(&self) -> bool {
        matches!(self, Self::Configuration { .. })
    }

    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Configuration { hint, .. } => hint.clone(),
            Self::MissingProgram { package, .. } => format!("install it: `apt-get install {package}`"),
            Self::NotPermitted { .. } => {
                "run it as root, or with CAP_NET_ADMIN in the network function's own namespace; \
                 `--dry-run` prints the rules without writing them"
                    .to_owned()
            }
            Self::Refused { program: "nft", .. } => {
                "`--dry-run` prints the rules; the kernel needs nf_tables with nat, reject and inet support".to_owned()
            }
            Self::Refused { said, .. } if said.contains("not up") => {
                "loopback is down in this network namespace: `ip link set lo up`".to_owned()
            }
            Self::Refused { .. } => {
                "the kernel needs policy routing (CONFIG_IP_MULTIPLE_TABLES); `--no-fence` does without".to_owned()
            }
            Self::Run { program, .. } => format!("try `{program}` by hand"),
            Self::Unreadable { .. } => "nftables 0.9.8 or later is needed".to_owned(),
        }
    }
}
