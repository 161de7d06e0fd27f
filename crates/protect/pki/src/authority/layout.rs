//! Places in an authority's directory, and the right to write there.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::records::{Entry, FILE as RECORDS, Role};
use crate::{Error, files};
use bartizan_ledger::state::{self, Owner};

/// Tries of the lock and the pause between them: ten seconds in all.
const LOCK_TRIES: u32 = if cfg!(test) { 2 } else { 200 };
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// The directory of an authority.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    pub(crate) dir: PathBuf,
}

/// The right to write in an authority's directory; the kernel takes it back when the process ends, however it ends.
#[derive(Debug)]
pub(crate) struct Lock(File);

impl Drop for Lock {
    /// Closing would not do: a child that another thread has forked and that runs no program yet has the file open too.
    fn drop(&mut self) {
        // Nothing can be reported here; the lock goes when the last of them closes the file.
        let _ = self.0.unlock();
    }
}

impl Lock {
    /// Waits for the lock of an open file; none where another process keeps it.
    pub(crate) fn take(file: File) -> io::Result<Option<Self>> {
        for _ in 0..LOCK_TRIES {
            match file.try_lock() {
                Ok(()) => return Ok(Some(Self(file))),
                Err(TryLockError::WouldBlock) => thread::sleep(LOCK_PAUSE),
                Err(TryLockError::Error(source)) => return Err(source),
            }
        }
        Ok(None)
    }
}

/// Completeness of the authority in the directory.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Wholeness {
    /// Nothing of an authority.
    Empty,
    /// A half-made authority that has issued nothing.
    Partial,
    /// A made authority whose files were not all moved to their place.
    Complete,
    /// An authority.
    Whole,
    /// Files of an authority without its records.
    Damaged(String),
}

impl Layout {
    pub(crate) fn new(dir: &Path) -> Self {
        Self { dir: dir.to_owned() }
    }

    pub(crate) fn records(&self) -> PathBuf {
        self.dir.join(RECORDS)
    }

    /// Both revocation lists, PEM.
    pub(crate) fn lists(&self) -> PathBuf {
        self.dir.join("crl.pem")
    }

    /// The private key of one of the authority's own certificates.
    pub(crate) fn key(&self, role: Role) -> PathBuf {
        self.dir.join(format!("{role}.key.pem"))
    }

    /// The private key of one of its own certificates: the first of its role has it as its file's
    /// name, those that took its place their serial number with it.
    pub(crate) fn key_of(&self, own: &Entry) -> PathBuf {
        match own.replaces {
            None => self.key(own.role),
            Some(_) => self.dir.join(format!("{}-{}.key.pem", own.role, own.serial)),
        }
    }

    /// Directory in which the successor of one of its own certificates is made.
    pub(crate) fn succession(&self) -> PathBuf {
        self.dir.join("succession.partial")
    }

    /// The newest of the authority's own certificates; of roots all that relying parties are given.
    pub(crate) fn certificate(&self, role: Role) -> PathBuf {
        self.dir.join(format!("{role}.crt.pem"))
    }

    /// Directory in which an authority is made; renamed to [`Layout::complete`] when all of it is
    /// there.
    pub(crate) fn partial(&self) -> PathBuf {
        self.dir.join("init.partial")
    }

    /// A made authority on its way into the directory.
    pub(crate) fn complete(&self) -> PathBuf {
        self.dir.join("init.complete")
    }

    /// The files of an authority in the order in which they take their place: the records last.
    fn order() -> [String; 6] {
        let (root, intermediate) = (Role::Root, Role::Intermediate);
        [
            format!("{root}.key.pem"),
            format!("{root}.crt.pem"),
            format!("{intermediate}.key.pem"),
            format!("{intermediate}.crt.pem"),
            "crl.pem".to_owned(),
            RECORDS.to_owned(),
        ]
    }

    pub(crate) fn wholeness(&self) -> Wholeness {
        if self.complete().exists() {
            return Wholeness::Complete;
        }
        if self.records().exists() {
            return Wholeness::Whole;
        }
        if let Some(file) = Self::order().into_iter().find(|file| self.dir.join(file).exists()) {
            return Wholeness::Damaged(file);
        }
        if self.partial().exists() {
            return Wholeness::Partial;
        }
        Wholeness::Empty
    }

    /// Refuses a directory without an authority; finishes one that only had to be moved into place.
    pub(crate) fn require_whole(&self) -> Result<(), Error> {
        match self.wholeness() {
            Wholeness::Whole => Ok(()),
            Wholeness::Complete => {
                let _lock = self.lock()?;
                self.move_into_place()
            }
            Wholeness::Partial => Err(Error::Unfinished(self.dir.clone())),
            Wholeness::Empty => Err(match fs::symlink_metadata(self.records()) {
                // A directory that may not be looked into says nothing of its contents.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    Error::file("look into", &self.dir)(error)
                }
                _ => Error::NoAuthority(self.dir.clone()),
            }),
            Wholeness::Damaged(file) => Err(Error::RecordsLost {
                dir: self.dir.clone(),
                file,
            }),
        }
    }

    /// Moves the files of a made authority into the directory; may be repeated after a crash.
    pub(crate) fn move_into_place(&self) -> Result<(), Error> {
        let complete = self.complete();
        if !complete.exists() {
            return Ok(());
        }
        for file in Self::order() {
            let (from, to) = (complete.join(&file), self.dir.join(&file));
            if from.exists() {
                fs::rename(&from, &to).map_err(Error::file("rename a new file to", &to))?;
            }
        }
        files::sync_directory(&self.dir)?;
        fs::remove_dir(&complete).map_err(Error::file("remove directory", &complete))?;
        files::sync_directory(&self.dir)
    }

    /// Refuses a directory that other users may write to, or that belongs to another one than these.
    pub(crate) fn require_safe(&self, owner: Owner) -> Result<(), Error> {
        state::check_directory(&self.dir, owner).map_err(Error::file("keep keys in", &self.dir))
    }

    /// Takes the lock; waits for another process that has it.
    pub(crate) fn lock(&self) -> Result<Lock, Error> {
        let path = self.dir.join("ca.lock");
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        let file = state::open(&path, &mut options).map_err(Error::file("open", &path))?;
        let lock = Lock::take(file).map_err(Error::file("lock", &path))?;
        lock.ok_or_else(|| Error::Busy(self.dir.clone()))
    }
}
