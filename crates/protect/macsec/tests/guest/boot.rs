//! Environment of these tests.

use std::time::Duration;

use bartizan_host::Feature;
use bartizan_testing::GuestKernel;
use bartizan_testing::{GuestTests, Results};

static TESTS: GuestTests = GuestTests {
    kernel: GuestKernel::UserMode,
    needs: &[Feature::Macsec],
    at_once: "2",
    // A minute where nothing else runs.
    patience: Duration::from_secs(1800),
    results: Results::new(),
};

/// See [`GuestTests::is_here`].
pub(crate) fn is_here(name: &str) -> bool {
    // Outside of the guest, which has no network: where it is not built this says so.
    let _ = bartizan_testing::lab_root();
    TESTS.is_here(name)
}
