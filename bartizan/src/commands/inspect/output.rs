//! Files beside the table.

use std::fs;
use std::path::Path;

use crate::Failure;

/// Writes a document where its user wants it, a device or a pipe included.
pub(super) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| {
        Failure::new(format!("{}: {error}", path.display()))
            .hint("name a file in a folder that exists and may be written to")
    })
}
