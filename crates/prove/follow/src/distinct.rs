//! Captures that were given twice: what they show counts once.

use std::collections::HashMap;
use std::fs::{File, Metadata};
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
    /// Finds the same files, and files of the same bytes. What cannot be read stays among the
    /// files, so that reading it reports why, and so does standard input.
    pub fn of(given: &[PathBuf]) -> Self {
        Self::by(given, |one, other| has_same_bytes(one, other).unwrap_or(false))
    }

    /// Finds the same files, for those that still grow.
    pub fn growing(given: &[PathBuf]) -> Self {
        Self::by(given, |_, _| false)
    }

    /// `same` compares files of one length.
    fn by(given: &[PathBuf], same: impl Fn(&Path, &Path) -> bool) -> Self {
        let mut all = Self {
            files: Vec::with_capacity(given.len()),
            again: Vec::new(),
        };
        let mut known = HashMap::new();
        let mut of_length: HashMap<u64, Vec<usize>> = HashMap::new();
        for file in given {
            let found = file.metadata().ok().filter(Metadata::is_file);
            let place = all.files.len();
            if let Some(found) = found {
                let identity = (found.dev(), found.ino());
                let alike = of_length.entry(found.len()).or_default();
                let first = known.get(&identity).copied();
                let first = first.or_else(|| alike.iter().copied().find(|first| same(&all.files[*first], file)));
                if let Some(first) = first {
                    all.again.push((first, file.clone()));
                    continue;
                }
                known.insert(identity, place);
                if found.len() > 0 {
                    alike.push(place);
                }
            }
            all.files.push(file.clone());
        }
        all
    }

    /// The captures to read. Warns of each that is given again.
    pub fn warned(self) -> Vec<PathBuf> {
        for (place, file) in &self.again {
            let known = self.files[*place].display();
            errln!("warning: {} is {known} again: it counts once", file.display());
        }
        self.files
    }
}

fn has_same_bytes(one: &Path, other: &Path) -> io::Result<bool> {
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
