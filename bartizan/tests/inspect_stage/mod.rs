//! `bartizan inspect` on the captures of this tree.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The folder of captures.
pub(crate) fn data() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../crates/prove/wire/tests/data")
}

/// Runs in `directory`, so that outputs name files without their place on this machine.
pub(crate) fn inspect(directory: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bartizan"))
        .env("COLUMNS", "400")
        .arg("inspect")
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap()
}
