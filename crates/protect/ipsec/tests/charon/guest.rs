//! A kernel that does ESP and AH, where this machine's may not: a test runs itself again in it.

use std::env;
use std::time::Duration;

use bartizan_host::{Feature, Guest, LabRoot};

/// Set in the guest only.
const INSIDE: &str = "BARTIZAN_CHARON_GUEST_TEST";
const LONG: Duration = Duration::from_secs(1800);

/// Runs the test of this path in a guest; false in the guest.
pub(crate) fn in_a_guest(path: &str) -> bool {
    if env::var_os(INSIDE).is_some() {
        assert!(Feature::Esp.tried().present());
        return false;
    }
    let root = LabRoot::sid().expect("a cache directory");
    let root = root.ensure(&mut |_| {}).expect("a lab root");
    let program = Guest::of(&root)
        .expect("a kernel")
        .program(env::current_exe().expect("a path"));
    let finished = program
        .arguments(["--exact", path, "--nocapture"])
        .environment(INSIDE, "1")
        .start()
        .and_then(|guest| guest.finish(LONG))
        .unwrap_or_else(|error| panic!("{error}"));
    let (said, more) = (finished.text(), String::from_utf8_lossy(&finished.stderr));
    assert!(finished.status.success() && said.contains("1 passed"), "{said}{more}");
    true
}
