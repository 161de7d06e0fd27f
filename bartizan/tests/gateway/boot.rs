//! Kernel and guest of these tests.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use bartizan_host::Program;
use bartizan_testing::{GuestKernel, GuestTests, Results};

static TESTS: GuestTests = GuestTests {
    kernel: GuestKernel::UserMode,
    tests: &["as_root::"],
    needs: &[],
    without: None,
    at_once: "4",
    results: Results::new(),
};

/// Path of pycrate, which is fetched if it is absent.
pub(crate) static PYCRATE: LazyLock<Result<PathBuf, String>> = LazyLock::new(|| {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/peers");
    let fetched = Program::new(script).argument("pycrate").run(Duration::from_secs(300));
    let said = fetched.map_err(|error| error.to_string())?.text();
    let place = said.lines().find_map(|line| line.strip_prefix("peers: "));
    Ok(place.ok_or(&said)?.trim_end_matches(" is there").into())
});

/// See [`GuestTests::is_here`].
pub(crate) fn is_here() -> bool {
    // Before the guest boots, whichever test comes first: the guest has no network.
    LazyLock::force(&PYCRATE);
    TESTS.is_here()
}
