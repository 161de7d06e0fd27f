//! Kernel and guest of these tests.

use bartizan_testing::GuestKernel;
use bartizan_testing::{GuestTests, Results};

static TESTS: GuestTests = GuestTests {
    kernel: GuestKernel::UserMode,
    tests: &["as_root::"],
    needs: &[],
    without: None,
    at_once: "4",
    results: Results::new(),
};

/// See [`GuestTests::is_here`].
pub(crate) fn is_here() -> bool {
    TESTS.is_here()
}
