//! Files next to the table.

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

/// Characters in a line of standard output: what COLUMNS says, else of the terminal, else 80.
pub(super) fn width() -> usize {
    const PIPED: usize = 80;
    let reported = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = || terminal_size::terminal_size_of(std::io::stdout());
    reported
        .or_else(|| terminal().map(|(width, _)| usize::from(width.0)))
        .filter(|width| *width > 0)
        .unwrap_or(PIPED)
}
