//! A kernel that does ESP and AH, where this machine's may not: a test runs itself again in it.

use bartizan_host::Feature;

/// Runs the test of this path in a guest; false in the guest.
pub(crate) fn in_a_guest(path: &str) -> bool {
    bartizan_testing::in_a_guest(path, &[Feature::Esp])
}
