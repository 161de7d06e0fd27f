//! Rate limits on the work that a peer may cause: with the keys, or from its address, it can ask
//! for more than it needs.

use std::time::{Duration, Instant};

/// A rate limit: a burst, and one more per interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// So many times at once.
    pub at_once: u32,
    /// And once more after each such time.
    pub each: Duration,
}

bartizan_registry::made! {
    /// Remaining allowance of a rate limit.
    #[derive(Debug, Clone, Copy)]
    pub struct Allowance,
    /// All of it.
    pub new(pace: Pace, now: Instant) {
        pace: Pace,
        left: u32 = pace.at_once,
        /// Time up to which returned allowance was counted.
        since: Instant = now,
    }
}

impl Allowance {
    /// Returns the remaining allowance now.
    pub fn left(&mut self, now: Instant) -> u32 {
        let passed = now.saturating_duration_since(self.since);
        let room = self.pace.at_once - self.left;
        let back = passed.as_nanos() / self.pace.each.as_nanos().max(1);
        match u32::try_from(back).ok().filter(|back| *back < room) {
            Some(back) => {
                self.left += back;
                self.since += self.pace.each * back;
            }
            None => {
                self.left = self.pace.at_once;
                self.since = now;
            }
        }
        self.left
    }

    /// Returns true if it is allowed now, and then counts it as done.
    pub fn take(&mut self, now: Instant) -> bool {
        let may = self.left(now) > 0;
        self.left -= u32::from(may);
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_up_comes_back_one_by_one_and_never_more_than_there_was() {
        let pace = Pace {
            at_once: 3,
            each: Duration::from_secs(10),
        };
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        let mut allowance = Allowance::new(pace, begun);
        let taken = |allowance: &mut Allowance, seconds| (0..5).filter(|_| allowance.take(at(seconds))).count();
        assert_eq!(taken(&mut allowance, 0), 3);
        assert_eq!(taken(&mut allowance, 9), 0);
        assert_eq!(taken(&mut allowance, 15), 1);
        // Half of the next one had passed.
        assert_eq!(taken(&mut allowance, 20), 1);
        assert_eq!(taken(&mut allowance, 20_000), 3);
        assert_eq!(allowance.left(at(20_000)), 0);
    }
}
