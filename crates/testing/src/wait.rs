//! Waiting for what another process or thread does.

use std::env;
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::Guest;

/// Longest wait of one step that has no scaled wait of its own, such as a program that must end.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Seconds of [`patience`], set by `scripts/run-tests` once it has measured the machine.
const SCALED: &str = "BARTIZAN_TEST_PATIENCE";

/// Longest wait of [`until`] and [`eventually`]: a minute of the reference machine.
///
/// A guest under emulation takes ten to thirty times as long.
fn patience() -> Duration {
    static ONCE: OnceLock<Duration> = OnceLock::new();
    *ONCE.get_or_init(|| {
        let scaled = env::var(SCALED).ok().and_then(|seconds| seconds.parse().ok());
        Duration::from_secs(scaled.unwrap_or(60)) * if Guest::is_here() { 8 } else { 1 }
    })
}

const PAUSE: Duration = Duration::from_millis(20);
/// Longest pause. A look that starts a program takes long, in an emulated guest for seconds: most of
/// the time is left to what is waited for.
const LONGEST: Duration = Duration::from_secs(2);

/// Polls until the condition holds.
///
/// # Panics
/// With `what`, after the scaled patience.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    eventually(what, || holds().then_some(()));
}

/// Polls until there is a value.
///
/// # Panics
/// With `what`, after the scaled patience.
pub fn eventually<T>(what: &str, mut value: impl FnMut() -> Option<T>) -> T {
    let patience = patience();
    let deadline = Instant::now() + patience;
    loop {
        let began = Instant::now();
        if let Some(found) = value() {
            return found;
        }
        let now = Instant::now();
        assert!(now < deadline, "{what}: not within {patience:?}");
        sleep((3 * (now - began)).clamp(PAUSE, LONGEST));
    }
}
