//! Kernel and guest of these tests.

use std::time::Duration;

use bartizan_host::Feature;
use bartizan_testing::GuestKernel;
use bartizan_testing::{GuestTests, Results};

static TESTS: GuestTests = GuestTests {
    kernel: GuestKernel::Debian,
    needs: &[Feature::Esp, Feature::Nftables],
    at_once: "2",
    // Some minutes where nothing else runs; ten and a half were seen at a load of 15 on two processors.
    patience: Duration::from_secs(1800),
    results: Results::new(),
};

/// See [`GuestTests::is_here`].
pub(crate) fn is_here(name: &str) -> bool {
    TESTS.is_here(name)
}
