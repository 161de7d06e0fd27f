//! How often a peer may make this end work: it has the keys, or the address, to ask for more than it needs.

use std::time::{Duration, Instant};

/// How often something may be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// So many times at once.
    pub at_once: u32,
    /// And once more after each such time.
    pub each: Duration,
}

/// What is left of a pace.
#[derive(Debug, Clone, Copy)]
pub struct Allowance {
    pace: Pace,
    left: u32,
    /// Up to when what came back is counted.
    since: Instant,
}

impl Allowance {
    /// All of it.
    #[must_use]
    pub fn new(pace: Pace, now: Instant) -> Self {
        Self {
            pace,
            left: pace.at_once,
            since: now,
        }
    }

    /// How often it may be done now.
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

    /// Whether it may be done now; then it counts as done.
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
