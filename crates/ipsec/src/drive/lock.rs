//! One command at a time changes what a charon has loaded.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// How often a lock that another holds is tried.
const POLL: Duration = Duration::from_millis(20);

/// The right to change a charon's configuration; it goes with the value, and with the process.
///
/// It is a lock on the directory of the socket: no file of ours is left beside it.
#[derive(Debug)]
pub struct Lock {
    _directory: File,
}

impl Lock {
    /// Waits for it, at most this long; `waiting` is called once where another has it. None when the time is over.
    ///
    /// # Errors
    ///
    /// What the kernel says when the directory cannot be opened.
    pub fn take(socket: &Path, patience: Duration, waiting: impl FnOnce()) -> io::Result<Option<Self>> {
        let directory = File::open(socket.parent().unwrap_or(Path::new("/")))?;
        let deadline = Instant::now() + patience;
        let mut waiting = Some(waiting);
        loop {
            match directory.try_lock() {
                Ok(()) => return Ok(Some(Self { _directory: directory })),
                Err(TryLockError::Error(error)) => return Err(error),
                Err(TryLockError::WouldBlock) if Instant::now() >= deadline => return Ok(None),
                Err(TryLockError::WouldBlock) => {
                    if let Some(waiting) = waiting.take() {
                        waiting();
                    }
                    std::thread::sleep(POLL);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_waits_until_the_first_is_done() {
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("charon.vici");
        let first = Lock::take(&socket, Duration::ZERO, || ()).unwrap().unwrap();
        let mut told = false;
        assert!(
            Lock::take(&socket, Duration::from_millis(50), || told = true)
                .unwrap()
                .is_none()
        );
        assert!(told);
        drop(first);
        assert!(Lock::take(&socket, Duration::ZERO, || ()).unwrap().is_some());
    }
}
