//! Refusals, counted: any host on the wire can cause any number of them, and a disk holds so many
//! records.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bartizan_tls::Reason;

/// Interval between records of refusals for one reason.
const EVERY: Duration = Duration::from_secs(10);

/// Refusals since each reason was recorded last. Reasons are few.
#[derive(Debug, Default)]
pub(super) struct Refusals(BTreeMap<Reason, (Instant, u64)>);

impl Refusals {
    /// Counts one; how many are to be recorded with it, where it is time to.
    pub(super) fn count(&mut self, reason: Reason, now: Instant) -> Option<u64> {
        let (recorded, waiting) = self.0.entry(reason).or_insert((now, 0));
        let first = *recorded == now && *waiting == 0;
        if !first && now.saturating_duration_since(*recorded) < EVERY {
            *waiting += 1;
            return None;
        }
        let times = *waiting + 1;
        (*recorded, *waiting) = (now, 0);
        Some(times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_is_recorded_and_those_that_follow_are_counted() {
        let (mut refusals, now) = (Refusals::default(), Instant::now());
        assert_eq!(refusals.count(Reason::Malformed, now), Some(1));
        for millisecond in 1..=500 {
            let then = now + Duration::from_millis(millisecond);
            assert_eq!(refusals.count(Reason::Malformed, then), None);
        }
        assert_eq!(refusals.count(Reason::WrongName, now), Some(1));
        assert_eq!(refusals.count(Reason::Malformed, now + EVERY), Some(501));
        assert_eq!(refusals.count(Reason::Malformed, now + EVERY * 2), Some(1));
    }
}
