//! The OpenSSL that a wpa_supplicant is linked with, and whether it has a group or a scheme of signatures.
//!
//! An OpenSSL that does not know a name in its configuration ignores the line and negotiates what it likes, without a word. So it is looked at before:
//! what a library can negotiate it has the name of. Which library that is, the loader decides; it is read from a wpa_supplicant that was started and waits
//! for a configuration which never comes.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use bartizan_host::Program;

use super::ability::{DRIVER, NOWHERE, STANDARD_INPUT};
use crate::Error;

/// Time limit of the loader on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(2);
/// The parts of OpenSSL, by the beginning of their files' names.
const PARTS: [&str; 2] = ["libcrypto.so", "libssl.so"];

/// An OpenSSL, as far as it was asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Library {
    /// `OpenSSL 3.5.7 1 Jul 2026`, where it says so.
    pub version: String,
    known: BTreeSet<String>,
}

impl Library {
    /// That of a program; `wanted` are names that it is asked about. None where it has no OpenSSL, or ended before it could be looked at.
    ///
    /// # Errors
    ///
    /// [`Error::Host`]: the program cannot be started, or a library not be read.
    pub fn of(program: &dyn Fn() -> Program, wanted: &[&str]) -> Result<Option<Self>, Error> {
        let io = |action: String| |source| bartizan_host::Error::Io { action, source };
        let (reader, writer) = std::io::pipe().map_err(io("making a pipe".to_owned()))?;
        let waiting = program()
            .arguments(["-D", DRIVER, "-i", NOWHERE, "-c", STANDARD_INPUT])
            .input(reader.into())
            .start()?;
        let files = files(waiting.id());
        let read = files
            .iter()
            .map(|file| fs::read(file).map_err(io(format!("reading {}", file.display()))));
        let read: Vec<_> = read.collect::<Result<_, _>>()?;
        // It ends with its process here.
        drop((waiting, writer));
        Ok((!read.is_empty()).then(|| Self::read(&read, wanted)))
    }

    /// Returns true if it has this group or scheme.
    #[must_use]
    pub fn knows(&self, name: &str) -> bool {
        self.known.contains(name)
    }

    fn read(parts: &[Vec<u8>], wanted: &[&str]) -> Self {
        let mut library = Self {
            version: "OpenSSL".to_owned(),
            known: BTreeSet::new(),
        };
        // Texts of a library end with a zero; one may be the end of another.
        for text in parts.iter().flat_map(|part| part.split(|octet| *octet == 0)) {
            if text.starts_with(b"OpenSSL ") && text.get(8).is_some_and(u8::is_ascii_digit) && text.len() < 60 {
                library.version = String::from_utf8_lossy(text).into_owned();
            }
            for name in wanted.iter().filter(|name| text.ends_with(name.as_bytes())) {
                library.known.insert((*name).to_owned());
            }
        }
        library
    }
}

/// The parts of OpenSSL that a process has loaded, as it sees them.
fn files(process: u32) -> Vec<PathBuf> {
    let root = PathBuf::from(format!("/proc/{process}/root"));
    let deadline = Instant::now() + PATIENCE;
    loop {
        let maps = fs::read_to_string(format!("/proc/{process}/maps")).unwrap_or_default();
        if maps.is_empty() {
            // It has ended.
            return Vec::new();
        }
        let found = parts(&maps);
        if found.len() == PARTS.len() || Instant::now() >= deadline {
            let of_root = |path: &PathBuf| root.join(path.strip_prefix("/").unwrap_or(path));
            return found.iter().map(of_root).collect();
        }
        thread::sleep(POLL);
    }
}

/// The paths of OpenSSL's parts among the mappings of a process (proc_pid_maps(5)), each once.
fn parts(maps: &str) -> BTreeSet<PathBuf> {
    let paths = maps.lines().filter_map(|line| line.split_whitespace().nth(5));
    let is_part = |path: &&Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        PARTS.iter().any(|part| name.starts_with(part))
    };
    paths.map(Path::new).filter(is_part).map(Path::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_openssl_are_found_among_mappings() {
        let maps = "7f0-7f1 r--p 00000000 08:01 1 /usr/lib/x86_64-linux-gnu/libssl.so.3\n\
                    7f1-7f2 r-xp 00001000 08:01 1 /usr/lib/x86_64-linux-gnu/libssl.so.3\n\
                    7f2-7f3 rw-p 00000000 00:00 0 \n\
                    7f3-7f4 r--p 00000000 08:01 2 /usr/lib/x86_64-linux-gnu/libcrypto.so.3\n\
                    7ff-7fe r-xp 00000000 00:00 0 [vdso]\n";
        let found: Vec<_> = parts(maps).into_iter().collect();
        assert_eq!(
            found,
            [
                "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
                "/usr/lib/x86_64-linux-gnu/libssl.so.3"
            ]
            .map(PathBuf::from)
        );
    }

    #[test]
    fn name_is_known_where_a_text_of_the_library_ends_with_it() {
        let part = b"\x7fELF\0OpenSSL 3.5.7 1 Jul 2026\0MLKEM768\0X25519MLKEM768\0mldsa650\0".to_vec();
        let library = Library::read(&[part], &["X25519MLKEM768", "MLKEM768", "mldsa65"]);
        assert!(library.knows("X25519MLKEM768") && library.knows("MLKEM768") && !library.knows("mldsa65"));
        assert_eq!(library.version, "OpenSSL 3.5.7 1 Jul 2026");
    }

    #[test]
    fn program_that_ends_or_has_none_has_no_openssl() {
        assert_eq!(Library::of(&|| Program::new("true"), &["mldsa65"]).unwrap(), None);
    }
}
