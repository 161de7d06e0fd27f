//! Resources of this user's processes alone: directories that no other user writes, and locks in
//! them.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::Error;

/// Interval between tries at a lock that another process holds.
const POLL: Duration = Duration::from_millis(20);

/// Write permission of group and others.
const WRITTEN_BY_OTHERS: u32 = 0o022;
/// In a directory with this bit a file belongs to its owner, even if other users may write there.
const STICKY: u32 = 0o1000;

/// Makes a directory with mode 0700 where there is none, with those above it, and sees to it that
/// no other user but root can put something else in its place or into it.
///
/// # Errors
///
/// [`Error::Unfit`] where the directory, or one above it, belongs to another user or can be written
/// by others; [`Error::Io`].
pub fn private_directory(path: &Path) -> Result<(), Error> {
    let action = || format!("making {}", path.display());
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(Error::io(action()))?;
    let whole = path.canonicalize().map_err(Error::io(action()))?;
    let own = nix::unistd::geteuid().as_raw();
    for above in whole.ancestors() {
        let known = fs::symlink_metadata(above).map_err(Error::io(action()))?;
        let is_it = above == whole;
        let reason = if known.uid() != own && (is_it || known.uid() != 0) {
            "belongs to another user"
        } else if known.mode() & WRITTEN_BY_OTHERS != 0 && (is_it || known.mode() & STICKY == 0) {
            "can be written by other users"
        } else {
            continue;
        };
        return Err(Error::Unfit {
            what: format!("the directory {}", path.display()),
            reason: format!("{} {reason}", above.display()),
        });
    }
    Ok(())
}

/// A lock on a file; it goes with the value, and with the process.
///
/// Every process that can open a file for reading can lock it (flock), so the file has mode 0600
/// and is in a directory of [`private_directory`]. It stays when the lock goes: a lock on a file
/// that is removed does not exclude a process that opened it before.
#[derive(Debug)]
pub struct FileLock {
    file: File,
}

impl Drop for FileLock {
    /// Closing would not do: a child that another thread has forked and that runs no program yet has the file open too.
    fn drop(&mut self) {
        // Nothing can be reported here; the lock goes when the last of them closes the file.
        let _ = self.file.unlock();
    }
}

impl FileLock {
    /// Waits for it, at most this long; `waiting` is called once where another process has it. None
    /// when the time is over.
    ///
    /// # Errors
    ///
    /// Those of [`private_directory`] for the directory of the file, and [`Error::Io`].
    pub fn take(path: &Path, patience: Duration, waiting: impl FnOnce()) -> Result<Option<Self>, Error> {
        private_directory(path.parent().unwrap_or(Path::new("/")))?;
        let action = || format!("locking {}", path.display());
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .custom_flags(nix::fcntl::OFlag::O_NOFOLLOW.bits())
            .open(path)
            .map_err(Error::io(action()))?;
        // One that was there before with another mode.
        let mode = fs::Permissions::from_mode(0o600);
        file.set_permissions(mode).map_err(Error::io(action()))?;
        let deadline = Instant::now() + patience;
        let mut waiting = Some(waiting);
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(Self { file })),
                Err(TryLockError::Error(error)) => return Err(Error::io(action())(error)),
                Err(TryLockError::WouldBlock) if Instant::now() >= deadline => return Ok(None),
                Err(TryLockError::WouldBlock) => {
                    if let Some(waiting) = waiting.take() {
                        waiting();
                    }
                    thread::sleep(POLL);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_waits_until_the_first_is_done_and_the_file_is_nobody_elses() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("of ours/lock");
        let first = FileLock::take(&file, Duration::ZERO, || ()).unwrap().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!((mode(file.parent().unwrap()), mode(&file)), (0o700, 0o600));
        let mut waited = false;
        let second = FileLock::take(&file, Duration::from_millis(50), || waited = true);
        assert!(second.unwrap().is_none());
        assert!(waited);
        // As in a child that another thread is forking.
        let copy = first.file.try_clone().unwrap();
        drop(first);
        assert!(FileLock::take(&file, Duration::ZERO, || ()).unwrap().is_some());
        drop(copy);
    }

    #[test]
    fn a_directory_that_others_write_or_a_link_holds_no_lock() {
        let directory = tempfile::tempdir().unwrap();
        let open = directory.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
        for below in ["lock", "below/lock"] {
            let error = FileLock::take(&open.join(below), Duration::ZERO, || ()).unwrap_err();
            assert!(
                error.to_string().ends_with("open can be written by other users"),
                "{error}"
            );
        }
        // As /tmp is: what is ours in it stays ours.
        fs::set_permissions(&open, fs::Permissions::from_mode(0o1777)).unwrap();
        assert!(
            FileLock::take(&open.join("below/lock"), Duration::ZERO, || ())
                .unwrap()
                .is_some()
        );
        let (link, aim) = (directory.path().join("lock"), directory.path().join("aim"));
        fs::write(&aim, "").unwrap();
        std::os::unix::fs::symlink(&aim, &link).unwrap();
        assert!(FileLock::take(&link, Duration::ZERO, || ()).is_err());
    }
}
