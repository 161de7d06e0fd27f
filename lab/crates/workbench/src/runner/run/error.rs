//! Errors that end a run early.

use std::io;
use std::path::PathBuf;

use crate::Error;

/// Reason for the end of a run. A failed trial does not end it: it is a record.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The user asked for the end.
    #[error("interrupted after {recorded} of {trials} trials")]
    Interrupted {
        /// Trials in the file.
        recorded: u64,
        /// Trials of the run.
        trials: u64,
    },
    /// A record cannot be written; those before it are kept.
    #[error("{file}: {source}; {recorded} of {trials} trials are recorded")]
    Disk {
        /// The file of records.
        file: PathBuf,
        /// The kernel's error.
        source: io::Error,
        /// Trials in the file.
        recorded: u64,
        /// Trials of the run.
        trials: u64,
    },
    /// A file of the run cannot be used.
    #[error("{file}: {source}")]
    File {
        /// Path of the file.
        file: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// The experiment is not the one that was recorded.
    #[error("{file} was recorded by another version of experiment {experiment}")]
    OtherExperiment {
        /// The file of records.
        file: PathBuf,
        /// Its id.
        experiment: String,
    },
    /// A file of records does not say how the run was made.
    #[error("{file}: {cause}")]
    Unusable {
        /// The file of records.
        file: PathBuf,
        /// Description of the missing record.
        cause: String,
    },
    /// There is nothing to go on with.
    #[error("no run of {experiment} is in {folder}")]
    NothingToResume {
        /// Id of the experiment.
        experiment: String,
        /// Folder in which records are searched.
        folder: PathBuf,
    },
    /// The requested run is impossible.
    #[error("{cause}")]
    Usage {
        /// Reason.
        cause: String,
        /// Correct request.
        hint: String,
    },
    /// Processes, pinning, lab roots.
    #[error(transparent)]
    Other(#[from] Error),
}

impl RunError {
    /// Hint for the user, if the message has none.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Interrupted { .. } => None,
            Self::Disk { .. } => Some("free some space, then go on with --resume".to_owned()),
            Self::File { .. } => Some("--out takes a folder that can be written".to_owned()),
            Self::OtherExperiment { .. } => Some(
                "trials of two versions cannot be put together: start anew without --resume, or bring the old file back"
                    .to_owned(),
            ),
            Self::Unusable { .. } => Some("start anew without --resume; `bartizan lab report FILE` still reads it".to_owned()),
            Self::NothingToResume { .. } => Some("leave --resume out to start one, or name its file: --resume=FILE".to_owned()),
            Self::Usage { hint, .. } => Some(hint.clone()),
            Self::Other(error) => error.hint(),
        }
    }

    /// True if the cause is in the user's input.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::Usage { .. } | Self::NothingToResume { .. } | Self::OtherExperiment { .. }
        )
    }
}

impl From<bartizan_host::Error> for RunError {
    fn from(error: bartizan_host::Error) -> Self {
        Self::Other(error.into())
    }
}
