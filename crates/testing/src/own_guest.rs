//! A test that runs itself again, alone, in a guest kernel.

use std::env;
use std::time::Duration;

use crate::guest_tests::assert_has;
use crate::{Build as _, Guest};
use bartizan_host::{Feature, LabRoot};

/// Set in the guest only.
const INSIDE: &str = "BARTIZAN_OWN_GUEST_TEST";
/// Longer than any such test takes.
const LONG: Duration = Duration::from_secs(1800);

/// Runs the test of this path, as libtest names it, in a guest; false in the guest, whose kernel
/// has these features. Panics where the test did not pass.
pub fn in_a_guest(path: &str, needs: &[Feature]) -> bool {
    in_guest(path, needs, |guest| guest)
}

/// The same in a guest that the caller has changed.
pub fn in_guest(path: &str, needs: &[Feature], change: impl FnOnce(Guest) -> Guest) -> bool {
    if env::var_os(INSIDE).is_some() {
        assert_has(needs);
        return false;
    }
    let root = LabRoot::sid().expect("a cache directory");
    let root = root.ensure(&mut |_| {}).expect("a lab root");
    let guest = change(Guest::of(&root).expect("a kernel"));
    // A thousand associations take two thousand descriptors.
    let finished = guest
        .program("sh")
        .arguments(["-c", "ulimit -n 16384 && exec \"$0\" \"$@\""])
        .argument(env::current_exe().expect("a path"))
        .arguments(["--exact", path, "--nocapture"])
        .environment(INSIDE, "1")
        .start()
        .and_then(|guest| guest.finish(LONG))
        .unwrap_or_else(|error| panic!("{error}"));
    let (said, more) = (finished.text(), String::from_utf8_lossy(&finished.stderr));
    assert!(finished.status.success() && said.contains("1 passed"), "{said}{more}");
    println!("{said}");
    true
}
