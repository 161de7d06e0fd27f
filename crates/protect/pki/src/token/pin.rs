//! The PIN of a token's user.

use std::fmt;
use std::io::Read;
use std::path::Path;

use zeroize::Zeroizing;

use crate::Error;

/// Most octets of a file with a PIN.
const LARGEST: u64 = 4096;

/// A PIN, erased from memory when it goes out of scope.
#[derive(Clone, PartialEq, Eq)]
pub struct Pin(Zeroizing<String>);

impl Pin {
    /// Takes a PIN as it is; how long it must be the token decides.
    pub fn new(text: Zeroizing<String>) -> Result<Self, Error> {
        if text.is_empty() || text.contains(['\n', '\r', '\0']) {
            return Err(Error::Pin("it is empty, or holds an end of line or a zero octet"));
        }
        Ok(Self(text))
    }

    /// Reads the first line of a file.
    pub fn from_file(path: &Path) -> Result<Self, Error> {
        let read = || {
            let file = std::fs::File::open(path)?;
            let mut text = Zeroizing::new(String::with_capacity(LARGEST as usize));
            file.take(LARGEST).read_to_string(&mut text)?;
            Ok(text)
        };
        let text = read().map_err(Error::file("read the PIN in", path))?;
        Self::new(Zeroizing::new(text.lines().next().unwrap_or_default().to_owned())).map_err(|_| Error::KeyFile {
            path: path.to_owned(),
            reason: "its first line is no PIN".to_owned(),
        })
    }

    #[cfg_attr(target_feature = "crt-static", allow(dead_code, reason = "no token is logged in to"))]
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Shows nothing of the PIN.
impl fmt::Debug for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pin(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_is_the_first_line_of_its_file_and_never_shown() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pin");
        std::fs::write(&path, "1234\r\nmore\n").unwrap();
        let pin = Pin::from_file(&path).unwrap();
        assert_eq!(pin.as_str(), "1234");
        assert_eq!(format!("{pin:?}"), "Pin(..)");
        std::fs::write(&path, "\n1234\n").unwrap();
        assert!(matches!(Pin::from_file(&path), Err(Error::KeyFile { .. })));
        assert!(matches!(
            Pin::from_file(&dir.path().join("none")),
            Err(Error::File { .. })
        ));
    }
}
