//! The key that MKA starts from, and its name.

use std::fmt;
use std::fs::{File, Metadata};
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use nix::unistd::geteuid;
use zeroize::Zeroizing;

use crate::Error;

/// Octets of a CAK that the exchange gives: MKA derives keys from it by AES-CMAC with 256 bits (IEEE 802.1X, clause 6.2.1).
pub(crate) const CAK: usize = 32;
/// Octets of its name. MKA takes 1 to 32.
pub(crate) const CKN: usize = 16;
const LONGEST_CKN: usize = 32;
/// Octets of a file with a CAK: two short lines and remarks.
const LONGEST_FILE: u64 = 4096;
/// Rights of others than the owner.
const OTHERS: u32 = 0o077;

/// The name of a CAK, which MKA sends in each frame.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Ckn(String);

impl Ckn {
    /// From 2 to 64 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        let whole = text.len().is_multiple_of(2) && (2..=LONGEST_CKN * 2).contains(&text.len());
        (whole && is_hexadecimal(text)).then(|| Self(text.to_ascii_lowercase()))
    }

    pub(crate) fn of(octets: [u8; CKN]) -> Self {
        Self(octets.iter().map(|octet| format!("{octet:02x}")).collect())
    }
}

impl fmt::Display for Ckn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A connectivity association key with its name. It is wiped when it is dropped, and never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Cak {
    /// Its name.
    pub ckn: Ckn,
    /// 32 or 64 hexadecimal digits, as wpa_supplicant reads it.
    pub(crate) digits: Zeroizing<String>,
}

impl Cak {
    pub(crate) fn of<const N: usize>(key: &Zeroizing<[u8; N]>, ckn: [u8; CKN]) -> Self {
        let mut digits = Zeroizing::new(String::with_capacity(2 * N));
        for octet in key.iter() {
            for nibble in [octet >> 4, octet & 15] {
                digits.push(char::from_digit(nibble.into(), 16).unwrap_or('0'));
            }
        }
        Self {
            ckn: Ckn::of(ckn),
            digits,
        }
    }

    /// Reads `ckn = ...` and `cak = ...`, each in hexadecimal on a line of its own; lines that begin with `#` are remarks.
    fn parse(text: &str) -> Result<Self, &'static str> {
        let (mut ckn, mut digits) = (None, None);
        let lines = text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with('#'));
        for line in lines {
            let (name, value) = line
                .split_once('=')
                .ok_or("a line is no `ckn = ...` and no `cak = ...`")?;
            match (name.trim(), value.trim()) {
                ("ckn", value) if ckn.is_none() => {
                    ckn = Some(
                        Ckn::parse(value).ok_or("the CKN is not 2 to 64 hexadecimal digits, an even number of them")?,
                    );
                }
                ("cak", value) if digits.is_none() => {
                    let whole = matches!(value.len(), 32 | 64) && is_hexadecimal(value);
                    digits = Some(
                        whole
                            .then(|| Zeroizing::new(value.to_owned()))
                            .ok_or("the CAK is not 32 or 64 hexadecimal digits")?,
                    );
                }
                ("ckn" | "cak", _) => return Err("a name is there twice"),
                _ => return Err("a line is no `ckn = ...` and no `cak = ...`"),
            }
        }
        Ok(Self {
            ckn: ckn.ok_or("it has no `ckn = ...`")?,
            digits: digits.ok_or("it has no `cak = ...`")?,
        })
    }
}

impl fmt::Debug for Cak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cak({})", self.ckn)
    }
}

fn is_hexadecimal(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

bartizan_registry::made! {
    /// A file with a CAK, which an operator or another program replaces now and then.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct CakFile,
    /// A file that was not read yet.
    pub new(path: &Path) {
        path: PathBuf = path.to_owned(),
        /// Identity of the file at the last read: device and number, size, time of the last change.
        read: Option<[i64; 5]> = None,
    }
}

impl CakFile {
    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns its content if it was not read yet or has changed since.
    ///
    /// # Errors
    ///
    /// [`Error::CakFile`]: it cannot be read, others than its owner may, or it holds something else.
    pub fn changed(&mut self) -> Result<Option<Cak>, Error> {
        let failed = |reason: String| Error::CakFile {
            path: self.path.clone(),
            reason,
        };
        // A name that leads to a pipe would wait for a writer.
        let opened = File::options()
            .read(true)
            .custom_flags(OFlag::O_NONBLOCK.bits())
            .open(&self.path);
        let file = opened.map_err(|error| failed(error.to_string()))?;
        let known = file.metadata().map_err(|error| failed(error.to_string()))?;
        if self.read == Some(identity(&known)) {
            return Ok(None);
        }
        if !known.is_file() {
            return Err(failed("it is no regular file".to_owned()));
        }
        if known.mode() & OTHERS != 0 {
            let mode = known.mode() & 0o777;
            return Err(failed(format!(
                "its mode is {mode:04o}: others than its owner may use the key"
            )));
        }
        if ![0, geteuid().as_raw()].contains(&known.uid()) {
            return Err(failed(format!("user {} owns it and may use the key", known.uid())));
        }
        let mut text = Zeroizing::new(String::with_capacity(LONGEST_FILE as usize + 1));
        let read = file.take(LONGEST_FILE + 1).read_to_string(&mut text);
        read.map_err(|error| failed(error.to_string()))?;
        if text.len() as u64 > LONGEST_FILE {
            return Err(failed(format!("it is longer than {LONGEST_FILE} octets")));
        }
        let cak = Cak::parse(&text).map_err(|reason| failed(reason.to_owned()))?;
        self.read = Some(identity(&known));
        Ok(Some(cak))
    }
}

fn identity(known: &Metadata) -> [i64; 5] {
    let number = |number: u64| number.cast_signed();
    [
        number(known.dev()),
        number(known.ino()),
        number(known.size()),
        known.mtime(),
        known.mtime_nsec(),
    ]
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = "# from the switch\nckn = 0A0b\ncak = 00112233445566778899aabbccddeeff\n";

    #[test]
    fn file_is_read_once_and_again_when_it_has_changed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cak");
        let write = |text: &str, mode| {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        };
        write(TEXT, 0o600);
        let mut file = CakFile::new(&path);
        let cak = file.changed().unwrap().unwrap();
        assert_eq!((cak.ckn.to_string().as_str(), cak.digits.len()), ("0a0b", 32));
        assert!(!format!("{cak:?}").contains("0011"));
        assert_eq!(file.changed().unwrap(), None);
        write(&TEXT.replace("0A0b", "0a0b0c"), 0o600);
        assert_eq!(file.changed().unwrap().unwrap().ckn.to_string(), "0a0b0c");
        write(&TEXT.replace("0A0b", "0a0b0c0d"), 0o640);
        let said = file.changed().unwrap_err().to_string();
        assert!(said.contains("0640"), "{said}");
        write(TEXT, 0o600);
        // Another user's key: only root can make such a file.
        if std::os::unix::fs::chown(&path, Some(12_345), None).is_ok() {
            let said = file.changed().unwrap_err().to_string();
            assert!(said.contains("user 12345 owns it"), "{said}");
        }
        fs::remove_file(&path).unwrap();
        assert!(file.changed().is_err());
    }

    #[test]
    fn text_that_holds_no_key_or_two_is_refused() {
        for (text, reason) in [
            ("", "no `ckn"),
            ("ckn = 0a\n", "no `cak"),
            ("ckn = 0\ncak = 00112233445566778899aabbccddeeff", "2 to 64"),
            ("ckn = 0a\ncak = 0011", "32 or 64"),
            ("ckn = 0a\nckn = 0b\n", "twice"),
            ("key = 0a\n", "no `ckn = ...` and no"),
            ("ckn\n", "no `ckn = ...` and no"),
        ] {
            let said = Cak::parse(text).unwrap_err();
            assert!(said.contains(reason), "{text:?}: {said}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_key_or_refused(text in ".{0,200}") {
            let _ = Cak::parse(&text);
            let _ = Ckn::parse(&text);
        }
    }
}
