//! Errors of the machine, by whose fault.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

/// Reason why the machine did not give what was asked of it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The environment: this user may not do it.
    #[error("{0} is not permitted: this needs root")]
    NotPermitted(String),
    /// The environment: a program that is called by name is not there.
    #[error("the program `{program}` is not installed")]
    MissingProgram {
        /// The program as it was called.
        program: String,
        /// The Debian package that has it, when known.
        package: Option<&'static str>,
    },
    /// The environment: packages could not be fetched.
    #[error("the packages could not be fetched from {mirror}: {reason}")]
    NoNetwork {
        /// The mirror that they should have come from.
        mirror: String,
        /// The last lines of the program that tried.
        reason: String,
    },
    /// The environment: a file system is full, or has too little left to begin.
    #[error("the disk is full under {place}: {reason}")]
    DiskFull {
        /// The directory that was written to.
        place: String,
        /// Space left and space needed, or the program's own words.
        reason: String,
    },
    /// The environment: there is no lab root for this processor.
    #[error("there is no lab root for the {0} architecture (only x86_64 and aarch64)")]
    Architecture(&'static str),
    /// A lab root was built and is not what it should be.
    #[error("the lab root at {place} is not usable: {reason}")]
    LabRoot {
        /// The directory of the root.
        place: String,
        /// Its fault.
        reason: String,
    },
    /// A program ran and did not end with status 0.
    #[error("`{program}` ended with {status}{}", indented(.tail))]
    Failed {
        /// The command line.
        program: String,
        /// Its exit status.
        status: ExitStatus,
        /// The last lines it wrote.
        tail: String,
    },
    /// A program did not do in time what it should.
    #[error("`{program}` did not {what} within {within:?}{}", indented(.tail))]
    Late {
        /// The command line.
        program: String,
        /// The event that was waited for, as a verb phrase.
        what: String,
        /// Time that was waited.
        within: Duration,
        /// The last lines it wrote.
        tail: String,
    },
    /// A program printed more than is kept: what is left lacks its beginning, and is not read.
    #[error("`{program}` printed {printed} bytes, and {kept} are read at most")]
    TooLong {
        /// The command line.
        program: String,
        /// Bytes of its standard output.
        printed: usize,
        /// The bound.
        kept: usize,
    },
    /// The environment: the kernel was built without it, or its module is not there.
    #[error("this kernel has no {feature}: {reason}")]
    KernelLacks {
        /// The feature that it lacks.
        feature: crate::Feature,
        /// In its own words.
        reason: String,
    },
    /// Configuration: a name or address that the kernel cannot take.
    #[error("{what}: {reason}")]
    Unfit {
        /// The value and what it was meant for.
        what: String,
        /// The reason.
        reason: String,
    },
    /// The kernel or a file refused.
    #[error("{action}: {source}")]
    Io {
        /// The action that was tried.
        action: String,
        /// The kernel's error.
        source: io::Error,
    },
}

impl Error {
    /// Returns true if what failed is an interface that is there and down: sockets on it are of use
    /// again when it is up.
    #[must_use]
    pub fn is_interface_down(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NetworkDown)
    }

    /// Advice to the user, for a `hint:` line.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotPermitted(_) => Some("run it as root, for example with sudo".to_owned()),
            Self::MissingProgram {
                package: Some(package), ..
            } => Some(format!("apt-get install {package}")),
            Self::NoNetwork { .. } => Some(
                "the mirror is taken from apt's configuration; set BARTIZAN_DEBIAN_MIRROR to use another".to_owned(),
            ),
            Self::DiskFull { .. } => {
                Some("free some space, or set BARTIZAN_CACHE to a directory on another file system".to_owned())
            }
            Self::KernelLacks { .. } => Some("a guest's kernel has it (docs/guest.md): --kernel guest".to_owned()),
            Self::LabRoot { place, .. } => Some(format!("remove {place} and try again")),
            Self::MissingProgram { package: None, .. }
            | Self::Architecture(_)
            | Self::Failed { .. }
            | Self::Late { .. }
            | Self::TooLong { .. }
            | Self::Unfit { .. }
            | Self::Io { .. } => None,
        }
    }

    /// For `map_err`: an I/O error with what was tried; a refusal for want of privilege becomes
    /// [`Error::NotPermitted`].
    pub fn io(action: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let action = action.into();
        move |source| match source.kind() {
            io::ErrorKind::PermissionDenied if !nix::unistd::geteuid().is_root() => Self::NotPermitted(action),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull {
                place: action,
                reason: source.to_string(),
            },
            _ => Self::Io { action, source },
        }
    }

    /// For `map_err`: the same for an error number of `nix`.
    pub fn errno(action: impl Into<String>) -> impl FnOnce(nix::Error) -> Self {
        let wrap = Self::io(action);
        move |errno| wrap(io::Error::from(errno))
    }
}

/// The tail of a program's output on lines of its own, or nothing.
fn indented(tail: &str) -> String {
    tail.trim_end().lines().map(|line| format!("\n    {line}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tail_of_a_failed_program_stands_on_lines_of_its_own() {
        use std::os::unix::process::ExitStatusExt as _;
        let error = Error::Failed {
            program: "nginx -t".to_owned(),
            status: ExitStatus::from_raw(256),
            tail: "first\nsecond\n".to_owned(),
        };
        assert_eq!(
            error.to_string(),
            "`nginx -t` ended with exit status: 1\n    first\n    second"
        );
    }

    #[test]
    fn missing_program_says_how_to_get_it() {
        let error = Error::MissingProgram {
            program: "debootstrap".to_owned(),
            package: Some("debootstrap"),
        };
        assert_eq!(error.to_string(), "the program `debootstrap` is not installed");
        assert_eq!(error.hint().as_deref(), Some("apt-get install debootstrap"));
    }
}
