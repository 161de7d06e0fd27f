//! The PIN of a token's user.

use std::fmt;
use std::path::Path;

use zeroize::Zeroizing;

use crate::{Error, secret_in};

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
        Self::new(secret_in(path)?).map_err(|_| Error::KeyFile {
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
