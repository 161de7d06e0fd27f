//! Memory of a process.

use crate::Usage;

/// Bytes resident now.
///
/// # Panics
/// If no such process runs.
#[must_use]
pub fn resident(process: u32) -> u64 {
    Usage::of(process).expect("a running process").resident
}
