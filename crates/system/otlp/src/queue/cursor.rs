//! Position up to which the queue on disk was taken: a file that is replaced as a whole.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

const FILE: &str = "cursor";
const NEW: &str = "cursor.new";

/// Position of the queue's front, and lost records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cursor {
    /// Number of the first record that was not taken; records are numbered from 1.
    pub(super) next: u64,
    /// Records lost since the queue was made.
    pub(super) lost: u64,
    /// Those of them that an event has reported.
    pub(super) reported: u64,
}

impl Default for Cursor {
    fn default() -> Self {
        Self {
            next: 1,
            lost: 0,
            reported: 0,
        }
    }
}

impl Cursor {
    /// The cursor of a folder: the first one where there is none yet, and none where it cannot be read, as a loss of power may leave it.
    pub(super) fn read(folder: &Path) -> io::Result<Option<Self>> {
        match fs::read(folder.join(FILE)) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Some(Self::default())),
            Err(error) => Err(error),
        }
    }

    /// Replaces it. It is not forced to the disk: an older one after a loss of power repeats records, and loses none.
    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        let new = folder.join(NEW);
        match fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        fs::rename(&new, folder.join(FILE))
    }
}
