//! Files that a command reads again when they have changed, and until what they say is in effect.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
#[cfg(feature = "full")]
use std::thread;
use std::time::{Duration, Instant};

use crate::Failure;

/// Interval at which files are looked at. A change is acted on once it has stood for that long: a
/// certificate and its key are two files.
pub(super) const EVERY: Duration = Duration::from_secs(2);

/// Pause after a failed attempt. It doubles with each one that follows.
const FIRST: Duration = EVERY;
/// The longest pause between two attempts.
const LONGEST: Duration = Duration::from_secs(60);

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

bartizan_registry::made! {
    /// The files that are read again, as they stood before they were last read.
    pub(super) struct Watched,
    /// To be called before the files are read: what changes while they are is then seen as a
    /// change.
    pub(super) new(files: BTreeSet<PathBuf>) {
        let installed = stamps(&files);
        files: BTreeSet<PathBuf>,
        last: Vec<Stamp> = installed.clone(),
        installed: Vec<Stamp>,
        failed: Option<Failed> = None,
    }
}

/// A failed attempt: its cause may end without a change of any watched file, as a lock, a socket
/// or a full table of descriptors does.
struct Failed {
    cause: String,
    pause: Duration,
    again: Instant,
}

impl Watched {
    /// Reason to read the files now: a change that has stood since the last look, or an attempt
    /// that failed. To be asked every [`EVERY`].
    pub(super) fn due(&mut self, now: Instant) -> Option<&'static str> {
        if self.has_changed() {
            // Another content has a first attempt, and an error that is logged.
            self.failed = None;
            return Some("a file has changed");
        }
        let failed = self.failed.as_ref().filter(|failed| failed.again <= now);
        failed.map(|_| "the last attempt failed")
    }

    /// Reports a change that has stood since the last look.
    fn has_changed(&mut self) -> bool {
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

    /// Schedules another attempt: the files are not in effect. A cause is logged once.
    pub(super) fn not_applied(&mut self, reason: &str, failure: &Failure, now: Instant) {
        let cause = &failure.message;
        let before = self.failed.take();
        if before.as_ref().is_none_or(|before| before.cause != *cause) {
            tracing::error!(
                reason,
                error = cause,
                hint = failure.hints(),
                "not reloaded: what was in effect stays in effect, and it is tried again"
            );
        }
        let pause = before.map_or(FIRST, |before| (before.pause * 2).min(LONGEST));
        self.failed = Some(Failed {
            cause: cause.to_owned(),
            pause,
            again: now + pause,
        });
    }

    /// Ends further attempts: the files are in effect.
    pub(super) fn applied(&mut self) {
        self.failed = None;
    }

    /// Has them read after each change, and again after a failure, until `stop` says so.
    #[cfg(feature = "full")]
    pub(super) fn each_change(&mut self, stop: &dyn Fn() -> bool, mut read: impl FnMut() -> Result<(), Failure>) {
        let mut looked = Instant::now();
        while !stop() {
            thread::sleep(TURN);
            if looked.elapsed() < EVERY {
                continue;
            }
            looked = Instant::now();
            self.turn(looked, &mut read);
        }
    }

    /// A look at the files, which are read where there is a reason.
    #[cfg(feature = "full")]
    fn turn(&mut self, now: Instant, read: &mut dyn FnMut() -> Result<(), Failure>) {
        let Some(reason) = self.due(now) else { return };
        self.reading();
        match read() {
            Ok(()) => self.applied(),
            Err(failure) => self.not_applied(reason, &failure, now),
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
        now.failed = self.failed.take();
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

    /// A list that was written while another command held the lock stayed unapplied until a file
    /// changed again.
    #[cfg(feature = "full")]
    #[test]
    fn a_reload_that_failed_is_tried_again_without_a_change_after_growing_pauses() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("crl.pem");
        fs::write(&file, "old").unwrap();
        let mut watched = Watched::new([file.clone()].into());
        fs::write(&file, "the list that revokes").unwrap();
        let began = Instant::now();
        let (mut attempts, mut in_effect) = (Vec::new(), String::new());
        // The second look finds that the change stands. The lock is free from the 200th second on.
        for second in (0..600).step_by(2) {
            let mut read = || {
                attempts.push(second);
                if second < 200 {
                    return Err(Failure::new("the lock is held"));
                }
                in_effect = fs::read_to_string(&file).unwrap();
                Ok(())
            };
            watched.turn(began + Duration::from_secs(second), &mut read);
        }
        assert_eq!(in_effect, "the list that revokes");
        assert_eq!(attempts, [2, 4, 8, 16, 32, 64, 124, 184, 244]);
    }
}
