//! Captures that were given twice: what they show counts once.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use bartizan_terminal::output::errln;

/// Captures, each once.
#[derive(Debug, PartialEq, Eq)]
pub struct Distinct {
    /// Those to read, in the order given.
    pub files: Vec<PathBuf>,
    /// Further ones, each behind the place of the one in `files` that it is again.
    pub again: Vec<(usize, PathBuf)>,
}

impl Distinct {
    /// Finds the same files, and files of the same bytes. What cannot be read stays among the files,
    /// so that reading it reports why, and so does standard input.
    #[must_use]
    pub fn of(given: &[PathBuf]) -> Self {
        Self::by(given, |one, other| {
            Ok(is_one_file(one, other)? || has_same_bytes(one, other)?)
        })
    }

    /// Finds the same files, for those that still grow.
    #[must_use]
    pub fn growing(given: &[PathBuf]) -> Self {
        Self::by(given, is_one_file)
    }

    fn by(given: &[PathBuf], same: impl Fn(&Path, &Path) -> io::Result<bool>) -> Self {
        let mut all = Self {
            files: Vec::with_capacity(given.len()),
            again: Vec::new(),
        };
        for file in given {
            let is_same = |known: &PathBuf| same(known, file).unwrap_or(false);
            match all.files.iter().position(is_same) {
                Some(place) => all.again.push((place, file.clone())),
                None => all.files.push(file.clone()),
            }
        }
        all
    }

    /// The captures to read. Warns of each that is given again.
    #[must_use]
    pub fn warned(self) -> Vec<PathBuf> {
        for (place, file) in &self.again {
            let known = self.files[*place].display();
            errln!("warning: {} is {known} again: it counts once", file.display());
        }
        self.files
    }
}

fn is_one_file(one: &Path, other: &Path) -> io::Result<bool> {
    let [known, found] = [one.metadata()?, other.metadata()?];
    Ok(known.is_file() && (known.dev(), known.ino()) == (found.dev(), found.ino()))
}

fn has_same_bytes(one: &Path, other: &Path) -> io::Result<bool> {
    let [known, found] = [one.metadata()?, other.metadata()?];
    if !known.is_file() || !found.is_file() || known.len() != found.len() || known.len() == 0 {
        return Ok(false);
    }
    let [mut one, mut other] = [BufReader::new(File::open(one)?), BufReader::new(File::open(other)?)];
    loop {
        let (left, right) = (one.fill_buf()?, other.fill_buf()?);
        let length = left.len().min(right.len());
        if length == 0 {
            return Ok(left.len() == right.len());
        }
        if left[..length] != right[..length] {
            return Ok(false);
        }
        one.consume(length);
        other.consume(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_by_another_name_and_one_of_the_same_bytes_are_given_again_and_others_are_not() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let write = |name: &str, bytes: &[u8]| std::fs::write(at(name), bytes).unwrap();
        write("a", &[7; 20_000]);
        write("copy", &[7; 20_000]);
        let mut other = [7; 20_000];
        other[19_999] = 8;
        write("other", &other);
        write("longer", &[7; 20_001]);
        for empty in ["empty", "empty too"] {
            write(empty, b"");
        }
        std::os::unix::fs::symlink(at("a"), at("link")).unwrap();
        let given = [
            "a",
            "link",
            "other",
            "copy",
            "longer",
            "empty",
            "empty too",
            "missing",
            "missing",
        ]
        .map(at);
        let distinct = Distinct::of(&given);
        let once = ["a", "other", "longer", "empty", "empty too", "missing", "missing"].map(at);
        assert_eq!(distinct.files, once);
        assert_eq!(distinct.again, [(0, at("link")), (0, at("copy"))]);
        assert_eq!(Distinct::growing(&given).again, [(0, at("link"))]);
    }
}
