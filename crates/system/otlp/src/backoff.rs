//! Pause before a request is repeated.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(30);
/// Upper bound of the pause that a collector may request: the queue has no room for more.
const LONGEST_ASKED: Duration = Duration::from_secs(300);

/// Pauses that double, each shortened by chance so that many senders do not come back at the same time.
#[derive(Debug, Default)]
pub struct Backoff {
    failed: u32,
}

impl Backoff {
    /// The pause after another failure; `chance` is from 0 to 1, and `asked` what the collector asked for, which is never shortened.
    pub fn pause(&mut self, chance: f64, asked: Option<Duration>) -> Duration {
        let doubled = FIRST.saturating_mul(1 << self.failed.min(16)).min(LONGEST);
        self.failed = self.failed.saturating_add(1);
        let own = doubled.mul_f64(0.5 + chance.clamp(0.0, 1.0) / 2.0);
        match asked {
            Some(asked) => asked.min(LONGEST_ASKED) + own.min(FIRST),
            None => own,
        }
    }

    /// It was taken. Spans begin anew with each batch.
    pub fn reset(&mut self) {
        self.failed = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_to_a_bound_and_begin_anew_after_a_success() {
        let mut backoff = Backoff::default();
        let pauses: Vec<_> = (0..9).map(|_| backoff.pause(1.0, None).as_millis()).collect();
        assert_eq!(pauses, [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
        backoff.reset();
        assert_eq!(backoff.pause(0.0, None).as_millis(), 250);
    }

    #[test]
    fn what_the_collector_asks_for_is_never_shortened_and_bounded() {
        let mut backoff = Backoff::default();
        for chance in [0.0, 0.5, 1.0] {
            assert!(backoff.pause(chance, Some(Duration::from_secs(7))) >= Duration::from_secs(7));
        }
        assert!(backoff.pause(1.0, Some(Duration::MAX)) < Duration::from_secs(301));
    }
}
