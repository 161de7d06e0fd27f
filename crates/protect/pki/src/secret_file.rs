//! A file for a secret, made before the secret is.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use zeroize::Zeroizing;

use crate::Error;

/// Octets that are reserved: the secret of an invitation has 32 characters.
const ROOM: [u8; 64] = [b'\n'; 64];

/// Most octets of a file with a secret, whose first line it is.
const LARGEST: u64 = 4096;

/// The passphrase, PIN or secret in a file: its first line. No copy of the file is left in memory.
///
/// # Errors
/// The system's error, or an error that the file is too long for a secret.
pub fn secret_in(path: &Path) -> Result<Zeroizing<String>, Error> {
    // It never grows, which would leave a copy behind.
    let mut text = Zeroizing::new(String::with_capacity(2 * LARGEST as usize));
    let file = File::open(path).map_err(Error::file("read", path))?;
    let length = file.take(LARGEST + 1).read_to_string(&mut text);
    if length.map_err(Error::file("read", path))? as u64 > LARGEST {
        return Err(Error::KeyFile {
            path: path.to_owned(),
            reason: format!("too long for a secret, which has at most {LARGEST} octets with its end of line"),
        });
    }
    Ok(Zeroizing::new(text.lines().next().unwrap_or_default().to_owned()))
}

/// A new file (mode 0600) with room for the secret of an invitation. It is removed unless the secret
/// is written.
#[derive(Debug)]
pub struct SecretFile<'a> {
    path: &'a Path,
    file: Option<File>,
}

impl<'a> SecretFile<'a> {
    /// Makes the file.
    ///
    /// # Errors
    /// If it exists, or cannot be made.
    pub fn reserve(path: &'a Path) -> Result<Self, Error> {
        let mut options = File::options();
        let made = options.write(true).create_new(true).mode(0o600).open(path);
        let mut file = made.map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => Error::FileExists(path.to_owned()),
            _ => Error::file("create", path)(error),
        })?;
        let filled = file
            .write_all(&ROOM)
            .and_then(|()| file.sync_all())
            .and_then(|()| file.rewind());
        // Removed again where the disk is full.
        let reserved = Self { path, file: Some(file) };
        filled.map_err(Error::file("write", path))?;
        Ok(reserved)
    }

    /// Writes the secret and the end of its line.
    ///
    /// # Errors
    /// If it cannot be written; the file is removed.
    pub fn write(mut self, secret: &str) -> Result<(), Error> {
        let line = Zeroizing::new(format!("{secret}\n"));
        if let Some(file) = &mut self.file {
            file.write_all(line.as_bytes())
                .and_then(|()| file.set_len(line.len() as u64))
                .and_then(|()| file.sync_all())
                .map_err(Error::file("write", self.path))?;
        }
        self.file = None;
        Ok(())
    }
}

impl Drop for SecretFile<'_> {
    fn drop(&mut self) {
        if self.file.is_some() {
            // It holds no secret, and the fault is reported by the caller.
            drop(std::fs::remove_file(self.path));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A passphrase was cut without a word.
    #[test]
    fn a_secret_is_the_first_line_and_never_a_part_of_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secret");
        for (text, expected) in [
            ("1234\r\nmore\n", Some("1234")),
            ("", Some("")),
            (&"x".repeat(4097), None),
        ] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(secret_in(&path).ok().as_ref().map(|secret| secret.as_str()), expected);
        }
        std::fs::write(&path, [0xff, b'\n']).unwrap();
        assert!(matches!(secret_in(&path), Err(Error::File { .. })));
    }
}
