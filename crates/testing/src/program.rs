//! Copies of programs.

use std::path::Path;
use std::process::Command;

/// Copies a program that is to be run. Another process does it: what is open for writing in this
/// one is open in every child that another thread begins meanwhile, and as long as it is the
/// program cannot be run (ETXTBSY).
#[track_caller]
pub fn copy_program(from: impl AsRef<Path>, to: impl AsRef<Path>) {
    let (from, to) = (from.as_ref(), to.as_ref());
    let copied = Command::new("cp").arg(from).arg(to).status();
    let copied = copied.unwrap_or_else(|error| panic!("cp: {error}"));
    assert!(copied.success(), "cp {} {}: {copied}", from.display(), to.display());
}
