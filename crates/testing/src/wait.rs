//! Waiting for what another process or thread does.

use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long anything is waited for. A guest under emulation takes ten to thirty times as long as this machine, and a machine that
/// builds meanwhile as many times as it has jobs; a test that passes never waits that long.
pub const PATIENCE: Duration = Duration::from_secs(480);

const PAUSE: Duration = Duration::from_millis(20);
/// Looking takes long where it starts a program in a guest under emulation: half of the time is left to what is waited for, but for pauses of at most this.
const LONGEST: Duration = Duration::from_secs(2);

/// Polls until the condition holds.
///
/// # Panics
/// With `what`, after [`PATIENCE`].
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    eventually(what, || holds().then_some(()));
}

/// Polls until there is a value.
///
/// # Panics
/// With `what`, after [`PATIENCE`].
pub fn eventually<T>(what: &str, mut value: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let began = Instant::now();
        if let Some(found) = value() {
            return found;
        }
        let now = Instant::now();
        assert!(now < deadline, "{what}: not within {PATIENCE:?}");
        sleep((now - began).clamp(PAUSE, LONGEST));
    }
}
