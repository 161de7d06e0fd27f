//! The ledger's file: whole lines, a bound on its size, and others that write to it or move it away.
//!
//! A sidecar and its successor write to one ledger for a while, and so may a sidecar and the watch
//! over IPsec. Each writes under a lock of the file (flock), looks then whether the file still has
//! the ledger's name, and opens the one that has where it was moved away: by another writer's
//! rotation or by logrotate.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use crate::state;

/// Attempts to take the lock, and the pause in between: another writer holds it for a write,
/// without the sync.
const TRIES: usize = 200;
const PAUSE: Duration = Duration::from_millis(5);
/// Digits of the number of a file that was rotated.
const DIGITS: usize = 6;
/// Longest distance of a truncated line's begin from the end: longer lines are no records.
const LONGEST_LINE: u64 = 1 << 20;

/// Size limits of a ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes beyond which its file is rotated.
    pub size: u64,
    /// Number of rotated files that are kept; none keeps all.
    pub keep: Option<usize>,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            size: 64 << 20,
            keep: Some(20),
        }
    }
}

/// The files of the ledger at `path`, oldest first: those that were rotated, `NAME.000001` and on,
/// then the one that is written to.
///
/// # Errors
/// Its folder cannot be read.
pub fn files(path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files: Vec<_> = rotated(path)?.into_iter().map(|(_, file)| file).collect();
    if files.is_empty() || path.exists() {
        files.push(path.to_owned());
    }
    Ok(files)
}

/// Rotated files with their numbers, oldest first.
fn rotated(path: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder(path))? {
        let other = path.with_file_name(entry?.file_name());
        if let Some(number) = rotation(&other).filter(|_| other.with_extension("") == path) {
            found.push((number, other));
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Number of a file that was rotated away, as its name has it; none of the one that is written to.
pub fn rotation(file: &Path) -> Option<u64> {
    let digits = file.extension()?.to_str()?;
    let is_number = digits.len() >= DIGITS && digits.bytes().all(|digit| digit.is_ascii_digit());
    digits.parse().ok().filter(|_| is_number)
}

/// Number of files that are missing between rotated ones, which are numbered one by one.
pub fn missing(files: &[PathBuf]) -> u64 {
    let numbered = |file: &Path| Some((file.with_extension(""), rotation(file)?));
    let gap = |pair: &[PathBuf]| match (numbered(&pair[0])?, numbered(&pair[1])?) {
        ((one, first), (other, second)) if one == other => Some(second.saturating_sub(first.saturating_add(1))),
        _ => None,
    };
    files.windows(2).filter_map(gap).fold(0, u64::saturating_add)
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// An open file of lines, one JSON object each: a ledger's, or an audit log's.
#[derive(Debug)]
pub struct LedgerFile {
    path: PathBuf,
    file: File,
    form: Form,
    bounds: Bounds,
    /// Another process kept the lock the last time.
    contended: bool,
    /// The file may end with a cut line of this writer, which was reported.
    torn: bool,
    /// The error that was reported last.
    said: Option<io::ErrorKind>,
}

/// Form of a file's lines, and the file's mode.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    /// Octets that every line begins with: a cut line that does is removed.
    pub opening: &'static [u8],
    /// Mode of a new file.
    pub mode: u32,
}

impl Default for Form {
    fn default() -> Self {
        Self {
            opening: b"{\"v\":",
            mode: 0o640,
        }
    }
}

/// Result of appending lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Appended {
    /// Lines that a crash had cut, and that were removed.
    pub cut: u64,
}

/// Failure to append all lines.
#[derive(Debug)]
pub struct Unwritten {
    /// Cause.
    pub error: io::Error,
    /// Lines of them, from the first on, that stand in the file all the same.
    pub kept: u64,
}

impl From<io::Error> for Unwritten {
    fn from(error: io::Error) -> Self {
        Self { error, kept: 0 }
    }
}

/// State of the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Held {
    Alone,
    Shared,
}

impl LedgerFile {
    /// Opens the file for appending. A pipe and a device are refused: they keep no record.
    ///
    /// # Errors
    /// The file cannot be opened or made, is a symbolic link, or is no regular file.
    pub fn open(path: &Path, bounds: Bounds, form: Form) -> io::Result<Self> {
        let file = open(path, form)?;
        Ok(Self {
            path: path.to_owned(),
            file,
            form,
            bounds,
            contended: false,
            torn: false,
            said: None,
        })
    }

    /// Appends whole lines and syncs them. If that fails, the file is left without any part of
    /// them where this process has its lock. Lines that could not be synced count as unwritten.
    ///
    /// # Errors
    /// The lines cannot be written or synced.
    pub fn append(&mut self, lines: &[u8]) -> Result<Appended, Unwritten> {
        let held = self.hold();
        let appended = self.append_held(lines, held);
        if appended.is_ok() {
            self.rotate_if_full(held);
        }
        // The lines may be in a file that was rotated since: that one was synced before.
        let released = self.file.unlock();
        let appended = appended?;
        released.or_else(unsupported)?;
        self.file.sync_data()?;
        Ok(appended)
    }

    /// Looks whether the file still has the ledger's name.
    pub(crate) fn reopen(&mut self) {
        self.hold();
        let _ = self.file.unlock();
    }

    fn append_held(&mut self, lines: &[u8], held: Held) -> Result<Appended, Unwritten> {
        let mut appended = Appended::default();
        let torn = std::mem::take(&mut self.torn);
        let mut end = self.file.metadata()?.len();
        if end > 0 && !self.ends_with_a_line(end)? {
            match (held, self.begin_of_last_line(end)?) {
                (Held::Alone, Some(begin)) => {
                    self.file.set_len(begin)?;
                    (end, appended.cut) = (begin, u64::from(!torn));
                }
                // The line belongs to another writer that is not finished, or is no record of ours:
                // it is closed, and a reader reports it.
                _ => self.file.write_all(b"\n")?,
            }
        }
        let Err((error, written)) = write_lines(&mut self.file, lines) else {
            return Ok(appended);
        };
        // On a disk that is full a part may stand there; what cannot be cut off is found by the
        // next that writes.
        if held == Held::Alone && self.file.set_len(end).is_ok() {
            return Err(error.into());
        }
        let written = &lines[..written];
        self.torn = !written.is_empty() && !written.ends_with(b"\n");
        let kept = written.iter().filter(|&&byte| byte == b'\n').count() as u64;
        Err(Unwritten { error, kept })
    }

    fn ends_with_a_line(&self, end: u64) -> io::Result<bool> {
        let mut last = [0];
        self.file.read_exact_at(&mut last, end - 1)?;
        Ok(last == *b"\n")
    }

    /// Begin of the last line, if it can be a truncated record.
    fn begin_of_last_line(&mut self, end: u64) -> io::Result<Option<u64>> {
        let from = end.saturating_sub(LONGEST_LINE);
        let mut tail = Vec::new();
        self.file.seek(SeekFrom::Start(from))?;
        (&self.file).take(end - from).read_to_end(&mut tail)?;
        let begin = match tail.iter().rposition(|&byte| byte == b'\n') {
            Some(at) => at + 1,
            None if from == 0 => 0,
            None => return Ok(None),
        };
        let line = &tail[begin..];
        let opening = self.form.opening;
        let is_ours = line.starts_with(&opening[..opening.len().min(line.len())]);
        Ok(is_ours.then_some(from + begin as u64))
    }

    /// Takes the lock of the file that has the ledger's name. A process that may read the file can
    /// keep the lock from us: then it is written to all the same, and neither cut nor rotated.
    fn hold(&mut self) -> Held {
        // A lock of a file that was rotated meanwhile is none of contention: the next one is tried.
        let patient = !self.contended;
        for turn in 0..TRIES {
            match self.file.try_lock() {
                Ok(()) => {
                    self.contended = false;
                    if self.follow() {
                        return Held::Alone;
                    }
                }
                Err(fs::TryLockError::WouldBlock) if patient && turn + 1 < TRIES => sleep(PAUSE),
                Err(fs::TryLockError::WouldBlock) => break,
                Err(fs::TryLockError::Error(error)) => {
                    self.complain(&error, "its file system locks no files: it is written to without");
                    break;
                }
            }
        }
        self.contended = true;
        self.follow();
        Held::Shared
    }

    /// True where the file has the ledger's name; else opens the one that has, without a lock.
    fn follow(&mut self) -> bool {
        let same = |one: fs::Metadata, other: fs::Metadata| (one.dev(), one.ino()) == (other.dev(), other.ino());
        let named = fs::symlink_metadata(&self.path);
        if let (Ok(named), Ok(ours)) = (named, self.file.metadata())
            && same(named, ours)
        {
            return true;
        }
        match open(&self.path, self.form) {
            Ok(file) => {
                tracing::info!(ledger = %self.path.display(), "ledger opened anew: its file was moved away");
                self.file = file;
                false
            }
            Err(error) => {
                self.complain(
                    &error,
                    "it was moved away and cannot be made anew: the old file is written to",
                );
                true
            }
        }
    }

    fn rotate_if_full(&mut self, held: Held) {
        let full = self.file.metadata().is_ok_and(|now| now.len() >= self.bounds.size);
        if !full || held == Held::Shared {
            return;
        }
        if let Err(error) = self.rotate() {
            self.complain(
                &error,
                "it has reached its size and cannot be rotated: it grows on; who writes it needs the right to make files in its folder",
            );
        }
    }

    fn rotate(&mut self) -> io::Result<()> {
        let old = rotated(&self.path)?;
        let number = old.last().map_or(0, |(number, _)| *number) + 1;
        let mut name = self.path.as_os_str().to_owned();
        name.push(format!(".{number:0DIGITS$}"));
        self.file.sync_data()?;
        fs::rename(&self.path, &name)?;
        self.file = open(&self.path, self.form)?;
        let keep = self.bounds.keep.unwrap_or(usize::MAX);
        let beyond = (old.len() + 1).saturating_sub(keep).min(old.len());
        for (_, file) in &old[..beyond] {
            if let Err(error) = fs::remove_file(file) {
                self.complain(&error, "an old file of it cannot be removed");
            }
        }
        Ok(())
    }

    fn complain(&mut self, error: &io::Error, what: &'static str) {
        if self.said != Some(error.kind()) {
            tracing::error!(ledger = %self.path.display(), %error, "ledger: {what}");
        }
        self.said = Some(error.kind());
    }
}

fn open(path: &Path, form: Form) -> io::Result<File> {
    state::open_with_mode(path, OpenOptions::new().create(true).append(true).read(true), form.mode)
}

/// Writes lines; how many bytes of them were written where that fails.
fn write_lines(file: &mut impl Write, lines: &[u8]) -> Result<(), (io::Error, usize)> {
    let mut written = 0;
    while written < lines.len() {
        match file.write(&lines[written..]) {
            Ok(0) => return Err((io::ErrorKind::WriteZero.into(), written)),
            Ok(more) => written += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err((error, written)),
        }
    }
    Ok(())
}

fn unsupported(error: io::Error) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::Unsupported => Ok(()),
        _ => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk with this much room, and a signal in between.
    struct Room(usize, bool);

    impl Write for Room {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if std::mem::take(&mut self.1) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let fits = bytes.len().min(self.0).min(3);
            self.0 -= fits;
            match fits {
                0 => Err(io::ErrorKind::StorageFull.into()),
                fits => Ok(fits),
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn bytes_that_were_written_before_a_failure_are_counted() {
        assert!(write_lines(&mut Room(8, true), b"one\ntwo\n").is_ok());
        let (error, written) = write_lines(&mut Room(5, true), b"one\ntwo\n").unwrap_err();
        assert_eq!((error.kind(), written), (io::ErrorKind::StorageFull, 5));
    }

    #[test]
    fn file_that_was_rotated_after_contention_is_written_under_its_lock() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ledger");
        let mut ours = LedgerFile::open(&path, Bounds::default(), Form::default()).unwrap();
        let other = File::open(&path).unwrap();
        other.lock().unwrap();
        assert_eq!(ours.hold(), Held::Shared);
        drop(other);
        fs::rename(&path, directory.path().join("ledger.000001")).unwrap();
        assert_eq!(ours.hold(), Held::Alone);
        assert!(File::open(&path).unwrap().try_lock().is_err());
    }
}
