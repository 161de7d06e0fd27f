//! A file that another program still writes, read as it grows, by name: as `tail -F` does.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A file followed by its name.
#[derive(Debug)]
pub(crate) struct Tail {
    path: PathBuf,
    file: File,
    /// Bytes of the file that were read.
    read: u64,
}

/// Outcome of reading on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Grown {
    /// So many bytes more.
    Bytes(usize),
    /// Nothing, yet.
    Nothing,
    /// The file has ended: another stands in its place, or it begins anew. What comes next is that one's beginning.
    Replaced,
}

impl Tail {
    /// Begins at the file's first byte.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        if file.metadata()?.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        Ok(Self {
            path: path.to_owned(),
            file,
            read: 0,
        })
    }

    /// Device and inode of the file that is being read.
    pub(crate) fn identity(&self) -> io::Result<(u64, u64)> {
        self.file.metadata().map(|now| (now.dev(), now.ino()))
    }

    /// Reads on. The old file is read to its end before the one that took its place.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> io::Result<Grown> {
        loop {
            match self.file.read(buffer) {
                Ok(0) => break,
                Ok(length) => {
                    self.read += length as u64;
                    return Ok(Grown::Bytes(length));
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if self.file.metadata()?.len() < self.read {
            // The writer truncated the file: its contents are new.
            self.file.seek(SeekFrom::Start(0))?;
            self.read = 0;
            return Ok(Grown::Replaced);
        }
        // Between a file's renaming and the next one's making there is none of this name.
        let Ok(named) = std::fs::metadata(&self.path) else {
            return Ok(Grown::Nothing);
        };
        if is_same(&named, &self.file.metadata()?) {
            return Ok(Grown::Nothing);
        }
        // The writer may have extended the old file between the last read and the creation of the
        // new file.
        match self.file.read(buffer)? {
            0 => {}
            length => {
                self.read += length as u64;
                return Ok(Grown::Bytes(length));
            }
        }
        match File::open(&self.path) {
            Ok(file) => {
                (self.file, self.read) = (file, 0);
                Ok(Grown::Replaced)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Grown::Nothing),
            Err(error) => Err(error),
        }
    }
}

fn is_same(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::*;

    fn all(tail: &mut Tail) -> (Vec<u8>, bool) {
        let (mut read, mut replaced) = (Vec::new(), false);
        let mut buffer = [0; 3];
        loop {
            match tail.read(&mut buffer).unwrap() {
                Grown::Bytes(length) => read.extend_from_slice(&buffer[..length]),
                Grown::Replaced => replaced = true,
                Grown::Nothing => return (read, replaced),
            }
        }
    }

    #[test]
    fn what_is_appended_comes_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("growing");
        fs::write(&path, "one").unwrap();
        let mut tail = Tail::open(&path).unwrap();
        assert_eq!(all(&mut tail), (b"one".to_vec(), false));
        let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b" and two").unwrap();
        assert_eq!(all(&mut tail), (b" and two".to_vec(), false));
        assert_eq!(all(&mut tail), (Vec::new(), false));
    }

    #[test]
    fn a_file_that_is_renamed_is_read_to_its_end_before_the_one_in_its_place() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("capture");
        fs::write(&path, "old").unwrap();
        let mut tail = Tail::open(&path).unwrap();
        assert_eq!(all(&mut tail), (b"old".to_vec(), false));
        let mut old = fs::OpenOptions::new().append(true).open(&path).unwrap();
        fs::rename(&path, directory.path().join("capture.1")).unwrap();
        old.write_all(b" to the end").unwrap();
        assert_eq!(all(&mut tail), (b" to the end".to_vec(), false));
        fs::write(&path, "new").unwrap();
        assert_eq!(all(&mut tail), (b"new".to_vec(), true));
    }

    #[test]
    fn a_file_that_is_cut_begins_anew() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("capture");
        fs::write(&path, "a long beginning").unwrap();
        let mut tail = Tail::open(&path).unwrap();
        all(&mut tail);
        fs::write(&path, "new").unwrap();
        assert_eq!(all(&mut tail), (b"new".to_vec(), true));
    }
}
