//! The clock of deadlines.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};

/// The time of now, by a clock that counts while the machine sleeps. That of [`Instant::now`]
/// stops then (`CLOCK_MONOTONIC`), and a key that has to end would live on for as long.
pub fn now() -> Instant {
    static ASLEEP: Asleep = Asleep(AtomicU64::new(0));
    let read = |clock| clock_gettime(clock).map_or(Duration::ZERO, Duration::from);
    let (boot, monotonic) = (read(ClockId::CLOCK_BOOTTIME), read(ClockId::CLOCK_MONOTONIC));
    Instant::now() + ASLEEP.until(boot, monotonic)
}

/// Whole seconds that the machine has slept since it started. They never become fewer, however
/// long it takes from the reading of one clock to that of the other.
struct Asleep(AtomicU64);

impl Asleep {
    fn until(&self, boot: Duration, monotonic: Duration) -> Duration {
        let asleep = (boot.saturating_sub(monotonic) + Duration::from_millis(500)).as_secs();
        Duration::from_secs(self.0.fetch_max(asleep, Ordering::Relaxed).max(asleep))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_asleep_counts_and_never_shrinks() {
        let asleep = Asleep(AtomicU64::new(0));
        let millis = Duration::from_millis;
        for (boot, monotonic, seconds) in [
            (millis(5_000), millis(5_000), 0),
            (millis(3_605_000), millis(5_001), 3_600),
            (millis(3_604_400), millis(5_001), 3_600),
            // A thread that was interrupted between the two readings.
            (millis(3_605_002), millis(9_000), 3_600),
            (Duration::ZERO, millis(9_000), 3_600),
        ] {
            assert_eq!(asleep.until(boot, monotonic), Duration::from_secs(seconds));
        }
    }
}
