//! Files that a command reads again when they have changed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
#[cfg(feature = "full")]
use std::{thread, time::Instant};

#[cfg(feature = "full")]
use crate::Failure;

/// Interval at which files are looked at. A change is acted on once it has stood for that long: a
/// certificate and its key are two files.
pub(super) const EVERY: Duration = Duration::from_secs(2);

/// Interval at which the end is looked for in between.
#[cfg(feature = "full")]
const TURN: Duration = Duration::from_millis(100);

/// State of a file: it may be written in place or replaced by renaming, and it may become readable
/// without
/// either, by another owner or mode, which the time of the last change of status shows.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp(Option<[(i64, i64); 2]>, Option<(u64, u64, u64)>);

impl Stamp {
    fn of(file: &Path) -> Self {
        let seen = fs::metadata(file).ok();
        let times = |seen: &fs::Metadata| [(seen.mtime(), seen.mtime_nsec()), (seen.ctime(), seen.ctime_nsec())];
        Self(
            seen.as_ref().map(times),
            seen.map(|seen| (seen.dev(), seen.ino(), seen.size())),
        )
    }
}

/// The files that are read again, as they stood before they were last read.
pub(super) struct Watched {
    files: BTreeSet<PathBuf>,
    installed: Vec<Stamp>,
    last: Vec<Stamp>,
}

impl Watched {
    /// To be called before the files are read: what changes while they are is then seen as a
    /// change.
    pub(super) fn new(files: BTreeSet<PathBuf>) -> Self {
        let installed = stamps(&files);
        Self {
            last: installed.clone(),
            installed,
            files,
        }
    }

    /// Reports a change that has stood since the last look. To be asked every [`EVERY`].
    pub(super) fn has_changed(&mut self) -> bool {
        let now = stamps(&self.files);
        let is_settled = now == self.last;
        self.last = now;
        is_settled && self.last != self.installed
    }

    /// The files are about to be read as they stand. A renewal that is half written then is read
    /// again once it is whole.
    pub(super) fn reading(&mut self) {
        self.installed = stamps(&self.files);
        self.last.clone_from(&self.installed);
    }

    /// Has them read after each change, until `stop` says so.
    #[cfg(feature = "full")]
    pub(super) fn each_change(&mut self, stop: &dyn Fn() -> bool, mut read: impl FnMut() -> Result<(), Failure>) {
        let mut looked = Instant::now();
        while !stop() {
            thread::sleep(TURN);
            if looked.elapsed() < EVERY {
                continue;
            }
            looked = Instant::now();
            if !self.has_changed() {
                continue;
            }
            self.reading();
            if let Err(failure) = read() {
                tracing::error!(
                    error = failure.message(),
                    hint = failure.hints(),
                    "not reloaded: what was in effect stays in effect"
                );
            }
        }
    }

    /// These are the files from now on.
    pub(super) fn are(&mut self, files: BTreeSet<PathBuf>) {
        if files == self.files {
            return;
        }
        // A known file counts in the state that was read: a change since is still to come.
        let known: BTreeMap<PathBuf, Stamp> = std::mem::take(&mut self.files)
            .into_iter()
            .zip(std::mem::take(&mut self.installed))
            .collect();
        let mut now = Self::new(files);
        for (file, stamp) in now.files.iter().zip(&mut now.installed) {
            if let Some(read) = known.get(file) {
                stamp.clone_from(read);
            }
        }
        *self = now;
    }
}

fn stamps(files: &BTreeSet<PathBuf>) -> Vec<Stamp> {
    files.iter().map(|file| Stamp::of(file)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_while_the_files_are_read_is_still_to_come_where_others_are_watched_from_then_on() {
        let folder = tempfile::tempdir().unwrap();
        let [file, other] = ["deployment.yaml", "other.crt.pem"].map(|name| folder.path().join(name));
        fs::write(&file, "one").unwrap();
        fs::write(&other, "").unwrap();
        let mut watched = Watched::new([file.clone()].into());
        fs::write(&file, "two, read now").unwrap();
        watched.reading();
        fs::write(&file, "three, written meanwhile").unwrap();
        watched.are([file.clone(), other].into());
        assert!(watched.has_changed());
        watched.reading();
        assert!(!watched.has_changed());
    }
}
