//! The check of tests that need root.

use bartizan_host::Facts;

/// Panics where this process is not root: the test does not run, and says so.
///
/// # Panics
/// Without root.
pub fn needs_root() {
    assert!(
        Facts::gather().root,
        "NOT RUN: this test needs root (`make test` as root runs it, `-- --skip as_root` leaves it out)"
    );
}
