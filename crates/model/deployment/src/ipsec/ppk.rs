//! A post-quantum pre-shared key of a link (RFC 8784).

use std::path::{Path, PathBuf};

use crate::error::Fault;
use crate::raw::RawPpk;

/// A name has at most so many characters.
const LONGEST: usize = 64;

/// A secret of both ends that is mixed into the keys of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ppk {
    /// PPK identity, the same at both ends.
    pub identity: String,
    /// The file that holds it, in hexadecimal; each host has its own copy.
    pub file: PathBuf,
    /// True if a peer without the PPK is refused.
    pub required: bool,
}

impl Ppk {
    pub(crate) fn parse(raw: &RawPpk, base: &Path) -> Result<Self, Fault> {
        let identity = raw.id.clone();
        // charon takes what looks like an address, a number or a distinguished name for one, and would call it otherwise than the peer.
        let is_letter = |c: char| c.is_ascii_alphabetic();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if !identity.starts_with(is_letter) || !identity.chars().all(is_plain) || identity.len() > LONGEST {
            let cause = format!("`{identity}` is no name of a pre-shared key");
            let hint = format!("letters, digits, `-`, `_` and `.`, a letter first, at most {LONGEST}");
            return Err(Fault::new("ppk.id", cause, hint));
        }
        Ok(Self {
            identity,
            file: base.join(&raw.file),
            required: raw.required.unwrap_or(true),
        })
    }
}
