//! Kernel and guest of these tests.

use bartizan_host::Feature;
use bartizan_testing::GuestKernel;
use bartizan_testing::{GuestTests, Results};

static TESTS: GuestTests = GuestTests {
    kernel: GuestKernel::Debian,
    tests: &["as_root::"],
    needs: &[Feature::Esp, Feature::Nftables],
    without: None,
    at_once: "2",
    results: Results::new(),
};

/// See [`GuestTests::is_here`].
pub(crate) fn is_here() -> bool {
    TESTS.is_here()
}
