//! A test that runs itself again, alone, in a guest kernel.

use std::env;
use std::time::Duration;

use crate::guest_tests::{assert_has, own_name};
use crate::{Build as _, Guest};
use bartizan_host::{Feature, LabRoot};

/// Set in the guest only.
const INSIDE: &str = "BARTIZAN_OWN_GUEST_TEST";
/// Longer than any such test takes.
const LONG: Duration = Duration::from_secs(1800);

/// Runs the calling test in a guest; false in the guest, whose kernel has these features. Panics
/// where the test did not pass.
pub fn in_a_guest(needs: &[Feature]) -> bool {
    if env::var_os(INSIDE).is_some() {
        assert_has(needs);
        return false;
    }
    let root = LabRoot::sid().expect("a cache directory");
    let root = root.ensure(&mut |_| {}).expect("a lab root");
    let guest = Guest::of(&root).expect("a kernel");
    let finished = guest
        .program(env::current_exe().expect("a path"))
        .arguments(["--exact", &own_name(), "--nocapture"])
        .environment(INSIDE, "1")
        .start()
        .and_then(|guest| guest.finish(LONG))
        .unwrap_or_else(|error| panic!("{error}"));
    let (said, more) = (finished.text(), String::from_utf8_lossy(&finished.stderr));
    assert!(finished.status.success() && said.contains("1 passed"), "{said}{more}");
    println!("{said}");
    true
}
