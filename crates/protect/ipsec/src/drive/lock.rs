//! One command at a time changes what a charon has loaded.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bartizan_host::{Error, FileLock};

/// Directory of the lock files. It belongs to root, with the read access of the socket's directory.
const PLACE: &str = "/run/bartizan/ipsec/locks";

/// The right to change a charon's configuration; it goes with the value, and with the process.
#[derive(Debug)]
pub struct Lock {
    _file: FileLock,
}

impl Lock {
    /// Waits for it, at most this long; `waiting` is called once where another has it. None when the time is over.
    ///
    /// # Errors
    ///
    /// The kernel's error if the directory of the socket or that of the locks cannot be used.
    pub fn take(socket: &Path, patience: Duration, waiting: impl FnOnce()) -> Result<Option<Self>, Error> {
        let file = Self::place(socket)?;
        Ok(FileLock::take(&file, patience, waiting)?.map(|file| Self { _file: file }))
    }

    /// The lock file of the charon behind this socket.
    pub(crate) fn place(socket: &Path) -> Result<PathBuf, Error> {
        Ok(Path::new(PLACE).join(name(socket)?))
    }
}

/// The same for a socket however its path is written: its directory by its number, and its name in it.
fn name(socket: &Path) -> Result<PathBuf, Error> {
    let failed = |source: io::Error| Error::Io {
        action: format!("looking at the directory of {}", socket.display()),
        source,
    };
    let directory = socket.parent().unwrap_or(Path::new("/"));
    let known = std::fs::metadata(directory).map_err(failed)?;
    let last = socket.file_name().unwrap_or_default().to_string_lossy();
    Ok(format!("{:x}-{:x}-{last}", known.dev(), known.ino()).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_has_one_lock_however_its_path_is_written() {
        let directory = tempfile::tempdir().unwrap();
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(directory.path(), &link).unwrap();
        let of = |path: &Path| name(path).unwrap();
        let socket = directory.path().join("charon.vici");
        assert_eq!(of(&socket), of(&link.join("charon.vici")));
        assert_ne!(of(&socket), of(&directory.path().join("other.vici")));
        assert!(name(&directory.path().join("absent/charon.vici")).is_err());
    }
}
