//! Secrets that open an authority's keys.

use crate::{Passphrase, Pin};

/// Secrets to use an authority's keys: a passphrase for those that are encrypted, a PIN for those
/// in a token.
#[derive(Debug, Clone, Default)]
pub struct Secrets {
    /// Passphrase of the files.
    pub passphrase: Option<Passphrase>,
    /// PIN of every token whose URI names no file for it.
    pub pin: Option<Pin>,
}

impl From<Option<&Passphrase>> for Secrets {
    fn from(passphrase: Option<&Passphrase>) -> Self {
        Self {
            passphrase: passphrase.cloned(),
            pin: None,
        }
    }
}

impl From<&Secrets> for Secrets {
    fn from(secrets: &Secrets) -> Self {
        secrets.clone()
    }
}
