//! Environment of these tests.

use bartizan_host::Feature;
use bartizan_testing::GuestKernel;
use bartizan_testing::{GuestTests, Results};

static TESTS: GuestTests = GuestTests {
    kernel: GuestKernel::UserMode,
    tests: &["as_root::"],
    needs: &[Feature::Macsec],
    without: None,
    // They wait for most of their time.
    at_once: "4",
    results: Results::new(),
};

/// See [`GuestTests::is_here`].
pub(crate) fn is_here() -> bool {
    // Outside of the guest, which has no network: where it is not built this says so.
    let _ = bartizan_testing::lab_root();
    TESTS.is_here()
}
