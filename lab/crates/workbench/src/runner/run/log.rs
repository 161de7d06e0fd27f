//! The file of records: a line is on the disk before the next trial begins, and a line that was cut
//! off is put aside, not lost.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::runner::run::RunError;
use crate::runner::trial::{Damage, Records};

/// A file with an exclusive lock of its writer.
#[derive(Debug)]
pub(super) struct Log {
    path: PathBuf,
    file: File,
    /// Up to the end of the last whole line.
    length: u64,
}

impl Log {
    /// A new file; the folder is made if it is not there.
    pub(super) fn create(path: PathBuf) -> Result<Self, RunError> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(failed(folder))?;
        }
        let file = OpenOptions::new().append(true).create_new(true).open(&path);
        Self::over(file.map_err(failed(&path))?, path)
    }

    /// This file, emptied. Fails if another process writes to it.
    pub(super) fn replace(path: PathBuf) -> Result<Self, RunError> {
        let file = OpenOptions::new().append(true).create(true).open(&path);
        let mut log = Self::over(file.map_err(failed(&path))?, path)?;
        log.file.set_len(0).map_err(failed(&log.path))?;
        log.length = 0;
        Ok(log)
    }

    fn over(file: File, path: PathBuf) -> Result<Self, RunError> {
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(RunError::Unusable {
                    file: path,
                    cause: "another run is writing to it".to_owned(),
                });
            }
            Err(TryLockError::Error(source)) => return Err(failed(&path)(source)),
        }
        let length = file.metadata().map_err(failed(&path))?.len();
        Ok(Self { path, file, length })
    }

    /// One that is there, with what it holds; a last line that was cut off is moved into a file next to it.
    pub(super) fn resume(path: PathBuf) -> Result<(Self, Records, Option<PathBuf>), RunError> {
        let file = OpenOptions::new().append(true).read(true).open(&path);
        let mut log = Self::over(file.map_err(failed(&path))?, path)?;
        let records = Records::read(&log.path).map_err(failed(&log.path))?;
        let aside = match records.damage.iter().find(|damage| damage.cut) {
            Some(cut) => Some(log.put_aside(cut)?),
            None => None,
        };
        Ok((log, records, aside))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn put_aside(&mut self, cut: &Damage) -> Result<PathBuf, RunError> {
        let mut tail = Vec::new();
        self.file
            .seek(SeekFrom::Start(cut.offset))
            .and_then(|_| self.file.read_to_end(&mut tail))
            .map_err(failed(&self.path))?;
        let mut name = self.path.as_os_str().to_owned();
        name.push(".cut");
        let aside = PathBuf::from(name);
        // Another one may be there from an earlier time.
        let copy = OpenOptions::new().append(true).create(true).open(&aside);
        let mut copy = copy.map_err(failed(&aside))?;
        tail.push(b'\n');
        copy.write_all(&tail)
            .and_then(|()| copy.sync_all())
            .map_err(failed(&aside))?;
        self.file
            .set_len(cut.offset)
            .and_then(|()| self.file.sync_all())
            .map_err(failed(&self.path))?;
        self.length = cut.offset;
        Ok(aside)
    }

    /// Adds a line, and waits until the disk has it.
    pub(super) fn write(&mut self, line: &impl Serialize) -> io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        match self.file.write_all(&text).and_then(|()| self.file.sync_data()) {
            Ok(()) => {
                self.length += text.len() as u64;
                Ok(())
            }
            Err(error) => {
                // Half a line would be put aside by the next run; better none.
                let _ = self.file.set_len(self.length);
                Err(error)
            }
        }
    }
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> RunError {
    let file = path.to_owned();
    move |source| RunError::File { file, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_was_cut_off_is_put_aside_and_what_was_whole_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.jsonl");
        fs::write(&path, "{\"schema\":\"other\"}\n{\"schema\":\"bartizan-lab-tr").unwrap();
        let (mut log, records, aside) = Log::resume(path.clone()).unwrap();
        assert_eq!(records.damage.len(), 2, "{records:?}");
        let aside = aside.unwrap();
        assert_eq!(fs::read_to_string(&aside).unwrap(), "{\"schema\":\"bartizan-lab-tr\n");
        log.write(&"next").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\"schema\":\"other\"}\n\"next\"\n");
    }

    #[test]
    fn two_runs_do_not_write_to_one_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/run.jsonl");
        let _log = Log::create(path.clone()).unwrap();
        let error = Log::resume(path).unwrap_err();
        assert!(error.to_string().ends_with("another run is writing to it"), "{error}");
    }

    #[test]
    fn a_full_disk_leaves_whole_lines() {
        let path = PathBuf::from("/dev/full");
        let file = OpenOptions::new().append(true).open(&path).unwrap();
        let mut log = Log { path, file, length: 0 };
        let error = log.write(&"record").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert_eq!(log.length, 0);
    }
}
